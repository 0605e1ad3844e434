"""Scores and classes: discrimination, calibration, gains and profit."""
