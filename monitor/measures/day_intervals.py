"""Days: intervals of measures whose records of one day depend on one another."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import scipy

from monitor.core.measurement import LEVEL, Interval, Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection, Measure, MeasureFamily, MeasureUnit
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import score_bounds, student_interval
from monitor.states.counters import Counters

FEWEST = 20  # days, below which they do not show how much they differ
_ROUNDING = 1e-12  # of a value: what left-out values may differ by though they are equal
Key: TypeAlias = tuple[str, str]  # measure and subject


def without_day(whole: Counters, day: Counters) -> Counters:
    """Sum of all days but one. Exact: it equals the merge of the others."""
    return Counters.from_dense(whole.layout, whole.dense_counts() - day.dense_counts())


def jackknife_results(
    results: Iterable[MeasureResult], left_out: Sequence[Iterable[MeasureResult]], level: float = LEVEL
) -> dict[Key, Measurement]:
    """Give intervals by the jackknife of days to the results that had one and can have one by days.

    Measures that are no smooth function of the counts (maxima, quantiles of cells) lose theirs.

    Parameters
    ----------
    results
        of all days.
    left_out
        the same measures without the first day, without the second, ….
    """
    if len(left_out) < FEWEST:
        return {}
    by_day = [{_result_key(result): result.measurement for result in of_day} for of_day in left_out]
    changed: dict[Key, Measurement] = {}
    for result in results:
        measure, key, whole = BY_NAME[result.measure], _result_key(result), result.measurement
        if whole.interval is None:
            continue
        if not measure.smooth:
            changed[key] = replace(whole, interval=None)
        elif interval := jackknife_interval(
            measure, whole, [named[key] for named in by_day if key in named], level
        ):
            changed[key] = replace(whole, interval=interval)
    return changed


def jackknife_interval(
    measure: Measure, whole: Measurement, left_out: Sequence[Measurement], level: float = LEVEL
) -> Interval | None:
    """Interval of a value from the D values without one day each: the delete-one jackknife [1]_.

    The variance is (D - 1)/D · Σ(v_i - mean v)², the quantile Student's with D - 1 degrees of freedom. A
    ratio between 0 and 1 has the score interval of v (1 - v) / variance independent records [2]_, any other
    value the t interval. A total is taken per record, times the records.

    Returns
    -------
    Interval | None
        None where fewer than 20 days have a record of the measure, where it has no value without one of them,
        or where no day makes a difference.

    References
    ----------
    .. [1] Efron & Tibshirani (1993). An Introduction to the Bootstrap, section 11.
    .. [2] Dean & Pagano (2015). Evaluating confidence interval methods for binomial proportions in clustered
       surveys. J. Surv. Stat. Methodol. 3:484.
    """
    # Without a day that has no record of the measure nothing is left out: it counts as no day.
    others = [measurement for measurement in left_out if measurement.n != whole.n]
    values = np.asarray([measurement.value for measurement in others if measurement.value is not None])
    days, value = len(others), whole.value
    if value is None or days < FEWEST or len(values) < days:
        return None
    if measure.total:
        values = values * (whole.n / np.asarray([measurement.n for measurement in others]))
    variance = float(np.square(values - values.mean()).sum()) * (days - 1) / days
    # Values that differ by rounding alone would have an interval of no width.
    if variance <= (_ROUNDING * value) ** 2:
        return None
    if measure.unit is MeasureUnit.RATIO and measure.family is not MeasureFamily.COMPARISON:
        if not 0 < value < 1:
            return None
        t = float(scipy.special.stdtrit(days - 1, 0.5 + level / 2))
        return Interval(*score_bounds(value, value * (1 - value) / variance, t), level)
    interval = student_interval(value, variance, days - 1, level)
    lowest = 0.0 if measure.direction is BetterDirection.LOWER and value >= 0 else -math.inf
    return interval and replace(interval, lower=max(lowest, interval.lower))


def _result_key(result: MeasureResult) -> Key:
    return result.measure, result.subject
