"""Where the demo's data lies, in a checkout and in an installed wheel alike."""

from pathlib import Path


def flights() -> Path:
    """Directory of `predictions.parquet`, `labels.parquet` and `reference.parquet`."""
    return Path(__file__).with_name("data")
