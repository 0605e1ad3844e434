"""Measures of numbers once more, besides the four in `oracle`: by NumPy and scikit-learn."""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from oracle import Expected, How, Key, Log, mean, valid
from scipy import stats
from sklearn import metrics

QUANTILES = {"error_p05": 0.05, "error_p25": 0.25, "error_median": 0.5, "error_p75": 0.75, "error_p95": 0.95}


def measured(log: Log, told: pd.DataFrame) -> Iterator[tuple[Key, Expected]]:
    """Sums, bias, percentages, order statistics, and errors relative to a baseline."""
    rows = told[told["known"] & valid(told, "prediction", log)]
    label, said = rows["label"].to_numpy(dtype=float), rows["prediction"].to_numpy(dtype=float)
    error, n = said - label, len(rows)
    half = float(stats.norm.ppf(0.975) * stats.sem(error)) if n > 1 else math.nan
    bias = float(error.mean())
    yield ("bias", ""), Expected(bias, n=n, bounds=(bias - half, bias + half) if half > 1e-12 else None)
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
    squared = 1 - float(metrics.r2_score(label, said)) if several else None
    absolute = float(metrics.d2_absolute_error_score(label, said)) if several else None
    yield ("relative_squared_error", ""), Expected(squared, n=n)
    yield (
        ("relative_root_mean_squared_error", ""),
        Expected(None if squared is None else math.sqrt(squared), n=n),
    )
    yield ("relative_absolute_error", ""), Expected(None if absolute is None else 1 - absolute, How.WITHIN, n)
    yield ("d2_absolute_error_score", ""), Expected(absolute, How.WITHIN, n)


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
