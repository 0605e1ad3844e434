"""Kept measurements into files: Parquet and CSV, OpenMetrics; and into data frames."""
