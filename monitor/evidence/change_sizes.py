"""Sizes: how large a change is, in the unit in which its smallest told size is stated; and for people."""

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.evidence.watch import STATISTICS, DailyStatistic

_SHARES = (
    DailyStatistic.SHARE,
    DailyStatistic.MISSING,
    DailyStatistic.COVERAGE,
    DailyStatistic.ERROR_RATE,
    DailyStatistic.BASE_RATE,
)
HALF_A_RECORD = 0.5  # added to a day's number of records: the logarithm of none is known too
INDEX_STATISTICS = (DailyStatistic.LEVEL, DailyStatistic.SPREAD, DailyStatistic.SKEW)
"""Sizes that are roots of what they add to the stability index: about the square of each."""


def change_size(statistic: Ints, level: Floats, away: Floats) -> Floats:
    """Size of changes by `away` from `level`: missing values in shares, χ² of a shape.

    Level, spread, skew are in standard deviations; shares of categories, errors, labels on the arcsine scale;
    records and RMSE as logarithms; residuals in log odds, of numbers in usual errors.
    """
    size = away.copy()
    for each, measure in (
        (DailyStatistic.MISSING, shares_of_arcsine),
        (DailyStatistic.SHAPE, _cube_values),
    ):
        at = statistic == STATISTICS.index(each)
        size[at] = measure(level[at] + away[at]) - measure(level[at])
    return size


def rescale_smallest_sizes(statistic: Ints, usual: Floats, smallest_index: float) -> Floats:
    """Smallest sizes that are told, where the smallest stability index is another than 0.1."""
    ratio = smallest_index / 0.1
    is_root = np.isin(statistic, [STATISTICS.index(one) for one in INDEX_STATISTICS])
    is_index = statistic == STATISTICS.index(DailyStatistic.SHAPE)
    return np.where(is_root, usual * np.sqrt(ratio), np.where(is_index, usual * ratio, usual))


def shares_of_arcsine(arcsine: Floats) -> Floats:
    """Shares of values on the scale 2·asin√share."""
    return np.square(np.sin(np.clip(arcsine, 0.0, np.pi) / 2))


def arcsine_share(hits: float, n: float) -> float:
    """2·asin√((k + ⅜)/(n + ¾)): variance 1/n [1]_.

    References
    ----------
    .. [1] Anscombe (1948). The transformation of Poisson, binomial and negative-binomial data.
       Biometrika 35:246.
    """
    return float(2 * np.arcsin(np.sqrt((hits + 0.375) / (n + 0.75))))


def readable_value(statistic: DailyStatistic, value: float) -> float:
    """Value of a series as people read it: shares, records, areas, errors; others as they are."""
    if statistic in _SHARES:
        return float(shares_of_arcsine(np.asarray(value)))
    if statistic is DailyStatistic.RECORDS:
        return float(max(0.0, np.round(np.exp(min(value, 700.0)) - HALF_A_RECORD)))
    if statistic is DailyStatistic.RMSE:
        return float(np.exp(np.clip(value, -700.0, 700.0)))
    if statistic is DailyStatistic.SHAPE:
        return float(_cube_values(np.asarray(value)))
    return value


def additive_value(statistic: DailyStatistic, value: float) -> float:
    """Value of a series as the mean that it is of: shares, squared errors; others as they are.

    What parts of the records add to it adds up to its change.
    """
    if statistic is DailyStatistic.RMSE:
        return readable_value(statistic, value) ** 2
    return readable_value(statistic, value) if statistic in _SHARES else value


def as_stability_index(statistic: DailyStatistic, size: float) -> float | None:
    """About how much a change of a number adds to the stability index; None of other statistics."""
    if statistic in INDEX_STATISTICS:
        return size * size
    return size if statistic is DailyStatistic.SHAPE else None


def _cube_values(value: Floats) -> Floats:
    return np.asarray(value**3, dtype=np.float64)
