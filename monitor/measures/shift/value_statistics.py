"""Values: where the numbers of an output or a feature lie; missing, invalid and unseen values."""

import math
from collections.abc import Iterator

import numpy as np

from monitor.core.array_types import Counts, Ints
from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.measures.statistics.intervals import (
    SampleMoments,
    moments_of,
    normal_interval,
    rate_measurement,
    welch_interval,
)
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.views import CellHistogram, ExactSums


def value_results(
    expected: ExpectedCells, index: Ints, value: Counts, sums: ExactSums | None, level: float, absent: Reason
) -> Iterator[MeasureResult]:
    """All measures of where the numbers lie.

    Parameters
    ----------
    index, value
        counts of the window at positions of the vector that the subjects lie in, ascending.
    sums
        moments of the window; None: they are not counted.
    absent
        reason of a subject without a record.
    """
    numbers = [
        (subject.name, subject.start, subject.grid)
        for subject in expected.subjects
        if isinstance(subject.grid, NumericGrid)
    ]
    starts = np.asarray([start for _, start, _ in numbers], dtype=np.int64)
    ends = np.asarray([start + grid.regular_size for _, start, grid in numbers], dtype=np.int64)
    bounds = zip(np.searchsorted(index, starts).tolist(), np.searchsorted(index, ends).tolist(), strict=True)
    for (name, start, grid), (first, last) in zip(numbers, bounds, strict=True):
        if sums is not None and name in expected.moments:
            now = moments_of(sums, name)
            yield from _moment_results(name, grid, now, expected.moments[name], level, absent)
        yield from _extreme_results(name, grid, index[first:last] - start, value[first:last], level, absent)


def _moment_results(
    subject: str, grid: NumericGrid, now: SampleMoments, then: SampleMoments, level: float, absent: Reason
) -> Iterator[MeasureResult]:
    n, reason = int(now.n), absent if now.reason is Reason.NO_RECORDS else now.reason
    if reason is not None:
        for name in ("mean", "standard_deviation", "standardized_mean_difference"):
            yield MeasureResult(name, subject, Measurement.without_value(reason, n=n))
        return
    value, variance = grid.centre + grid.scale * now.mean, now.variance * grid.scale * grid.scale
    interval = normal_interval(value, variance / n, level) if n > 1 else None
    usual = (grid.centre + grid.scale * then.mean, None, None, int(then.n))
    beside = None if then.reason is not None else DetailTable(FIGURES, (usual,))
    yield MeasureResult("mean", subject, Measurement(value=value, n=n, interval=interval, detail=beside))
    spread = Measurement.without_value(Reason.OUT_OF_RANGE if n > 1 else Reason.UNDEFINED, n=n)
    if math.isfinite(variance):
        spread = Measurement(value=math.sqrt(variance), n=n)
    yield MeasureResult("standard_deviation", subject, spread)
    yield MeasureResult("standardized_mean_difference", subject, standardized_difference(now, then, level))


def standardized_difference(now: SampleMoments, then: SampleMoments, level: float = LEVEL) -> Measurement:
    """Difference of the means in units of both sides' standard deviation; both in units of one grid.

    Returns
    -------
    Measurement
        or ``no_reference``; ``undefined`` without spread, or of one number.
    """
    n = int(now.n)
    if then.reason is not None:
        return Measurement.without_value(Reason.NO_REFERENCE, n=n)
    if n > 1 and not math.isfinite(now.variance):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    pooled = math.sqrt((now.variance + then.variance) / 2)
    if not pooled > 0:
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    interval = None
    if min(now.n, then.n) > 1:
        sides = [(side.mean, side.variance, side.n) for side in (now, then)]
        difference = welch_interval(sides[0], sides[1], level)
        interval = (
            None
            if difference is None
            else Interval(difference.lower / pooled, difference.upper / pooled, level)
        )
    return Measurement(value=(now.mean - then.mean) / pooled, n=n, interval=interval)


def _extreme_results(
    subject: str, grid: NumericGrid, cells: Ints, counts: Counts, level: float, absent: Reason
) -> Iterator[MeasureResult]:
    n = int(counts.sum())
    edges = (grid.lower, *grid.edges, grid.upper)
    if n == 0:
        low = high = Measurement.without_value(absent, n=0)
    else:
        first, last = int(cells[0]), int(cells[-1])
        low = _extreme_measurement(edges[first], edges[first + 1], n, lower_one=True)
        high = _extreme_measurement(edges[last], edges[last + 1], n, lower_one=False)
    yield MeasureResult("minimum", subject, low)
    yield MeasureResult("maximum", subject, high)
    if math.isinf(grid.lower) and math.isinf(grid.upper) and grid.scale:
        beyond = int(counts[(cells == 0) | (cells == grid.regular_size - 1)].sum())
        yield MeasureResult("out_of_range_rate", subject, rate_measurement(beyond, n, level, absent))


def _extreme_measurement(lower: float, upper: float, n: int, *, lower_one: bool) -> Measurement:
    if math.isinf(lower) or math.isinf(upper):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    value = lower if lower_one else float(np.nextafter(upper, -np.inf))
    return Measurement(value=value, n=n, resolution=upper - lower)


def quality_results(
    subject: str, histogram: CellHistogram, absent: Reason, level: float = LEVEL
) -> Iterator[MeasureResult]:
    """Rates of one output or feature, with Wilson's interval; numbers cannot be unseen.

    Parameters
    ----------
    absent
        reason where the subject has no record.
    """
    counts = {"missing_rate": histogram.missing, "invalid_rate": histogram.invalid}
    if isinstance(histogram.grid, CategoryGrid):
        counts["unseen_rate"] = histogram.unseen
    n = histogram.n
    for name, count in counts.items():
        yield MeasureResult(name, subject, rate_measurement(count, n, level, absent))
