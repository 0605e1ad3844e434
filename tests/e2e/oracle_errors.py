"""Measures of numbers once more: by NumPy and scikit-learn, from predictions and labels."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from oracle import Expected, How, Key, Log, mean, valid
from sklearn import metrics

QUANTILES = {"error_p05": 0.05, "error_p25": 0.25, "error_median": 0.5, "error_p75": 0.75, "error_p95": 0.95}


def measured(log: Log, told: pd.DataFrame) -> Iterator[tuple[Key, Expected]]:
    """Means, sums, percentages, order statistics, and errors relative to a baseline."""
    rows = told[told["known"] & valid(told, "prediction", log)]
    label, said = rows["label"].to_numpy(dtype=float), rows["prediction"].to_numpy(dtype=float)
    error, n = said - label, len(rows)
    yield from _means(label, said)
    yield ("bias", ""), mean(error, float(error.mean()), lowest=-math.inf)
    squares = float((error**2).sum())
    yield ("sum_of_squared_errors", ""), Expected(squares, n=n)
    yield ("half_sum_of_squared_errors", ""), Expected(squares / 2, n=n)
    share = Expected(None)
    if n and (label != 0).all():
        percentage = float(metrics.mean_absolute_percentage_error(label, said))
        share = mean(np.abs(error / label), percentage)
    yield ("mean_absolute_percentage_error", ""), share
    yield from _order_statistics(label, said, error)
    several = len(set(label)) > 1
    determined = float(metrics.r2_score(label, said)) if several else None
    squared = None if determined is None else 1 - determined
    absolute = float(metrics.d2_absolute_error_score(label, said)) if several else None
    yield ("r2_score", ""), Expected(determined, n=n)
    yield ("relative_squared_error", ""), Expected(squared, n=n)
    yield (
        ("relative_root_mean_squared_error", ""),
        Expected(None if squared is None else math.sqrt(squared), n=n),
    )
    yield ("relative_absolute_error", ""), Expected(None if absolute is None else 1 - absolute, How.WITHIN, n)
    yield ("d2_absolute_error_score", ""), Expected(absolute, How.WITHIN, n)


def _means(label: np.ndarray, said: np.ndarray) -> Iterator[tuple[Key, Expected]]:
    squared = mean((said - label) ** 2, float(metrics.mean_squared_error(label, said)))
    root, bounds = float(metrics.root_mean_squared_error(label, said)), None
    if squared.bounds is not None and squared.value is not None:
        half = (squared.bounds[1] - squared.value) / (2 * root)
        bounds = (max(0.0, root - half), root + half)
    yield ("mean_squared_error", ""), squared
    yield ("root_mean_squared_error", ""), Expected(root, n=len(label), bounds=bounds)
    absolute = float(metrics.mean_absolute_error(label, said))
    yield ("mean_absolute_error", ""), mean(np.abs(said - label), absolute)


def _order_statistics(
    label: np.ndarray, said: np.ndarray, error: np.ndarray
) -> Iterator[tuple[Key, Expected]]:
    n = len(error)
    for name, share in QUANTILES.items():
        value = float(np.quantile(error, share, method="averaged_inverted_cdf"))
        yield (name, ""), Expected(value, How.WITHIN, n)
    median = float(metrics.median_absolute_error(label, said))
    yield ("median_absolute_error", ""), Expected(median, How.WITHIN, n)
    yield ("max_error", ""), Expected(float(metrics.max_error(label, said)), How.WITHIN, n)
