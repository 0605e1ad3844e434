"""Values: where the numbers of an output or a feature lie; missing, invalid and unseen values."""

import math
from collections.abc import Iterator

import numpy as np

from monitor.core.measurement import LEVEL, Detail, Interval, Measurement, Reason
from monitor.core.typing import Counts, Ints
from monitor.measures.against import FIGURES
from monitor.measures.options import Result
from monitor.measures.shift.cells import Expected
from monitor.measures.statistics.intervals import Moments, moments_of, normal, rate, welch
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.views import Histogram, Sums


def results(
    expected: Expected, index: Ints, value: Counts, sums: Sums | None, level: float, absent: Reason
) -> Iterator[Result]:
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
    ends = np.asarray([start + grid.regular for _, start, grid in numbers], dtype=np.int64)
    bounds = zip(np.searchsorted(index, starts).tolist(), np.searchsorted(index, ends).tolist(), strict=True)
    for (name, start, grid), (first, last) in zip(numbers, bounds, strict=True):
        if sums is not None and name in expected.moments:
            now = moments_of(sums, name)
            yield from _of_moments(name, grid, now, expected.moments[name], level, absent)
        yield from _of_cells(name, grid, index[first:last] - start, value[first:last], level, absent)


def _of_moments(
    subject: str, grid: NumericGrid, now: Moments, then: Moments, level: float, absent: Reason
) -> Iterator[Result]:
    n, reason = int(now.n), absent if now.reason is Reason.NO_RECORDS else now.reason
    if reason is not None:
        for name in ("mean", "standard_deviation", "standardized_mean_difference"):
            yield Result(name, subject, Measurement.absent(reason, n=n))
        return
    value, variance = grid.centre + grid.scale * now.mean, now.variance * grid.scale * grid.scale
    interval = normal(value, variance / n, level) if n > 1 else None
    usual = (grid.centre + grid.scale * then.mean, None, None, int(then.n))
    beside = None if then.reason is not None else Detail(FIGURES, (usual,))
    yield Result("mean", subject, Measurement(value=value, n=n, interval=interval, detail=beside))
    spread = Measurement.absent(Reason.OUT_OF_RANGE if n > 1 else Reason.UNDEFINED, n=n)
    if math.isfinite(variance):
        spread = Measurement(value=math.sqrt(variance), n=n)
    yield Result("standard_deviation", subject, spread)
    yield Result("standardized_mean_difference", subject, standardized_difference(now, then, level))


def standardized_difference(now: Moments, then: Moments, level: float = LEVEL) -> Measurement:
    """Difference of the means in units of both sides' standard deviation; both in units of one grid.

    Returns
    -------
    Measurement
        or ``no_reference``; ``undefined`` without spread, or of one number.
    """
    n = int(now.n)
    if then.reason is not None:
        return Measurement.absent(Reason.NO_REFERENCE, n=n)
    if n > 1 and not math.isfinite(now.variance):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    pooled = math.sqrt((now.variance + then.variance) / 2)
    if not pooled > 0:
        return Measurement.absent(Reason.UNDEFINED, n=n)
    interval = None
    if min(now.n, then.n) > 1:
        sides = [(side.mean, side.variance, side.n) for side in (now, then)]
        difference = welch(sides[0], sides[1], level)
        interval = (
            None
            if difference is None
            else Interval(difference.lower / pooled, difference.upper / pooled, level)
        )
    return Measurement(value=(now.mean - then.mean) / pooled, n=n, interval=interval)


def _of_cells(
    subject: str, grid: NumericGrid, cells: Ints, counts: Counts, level: float, absent: Reason
) -> Iterator[Result]:
    n = int(counts.sum())
    edges = (grid.lower, *grid.edges, grid.upper)
    if n == 0:
        low = high = Measurement.absent(absent, n=0)
    else:
        first, last = int(cells[0]), int(cells[-1])
        low = _edge(edges[first], edges[first + 1], n, lower_one=True)
        high = _edge(edges[last], edges[last + 1], n, lower_one=False)
    yield Result("minimum", subject, low)
    yield Result("maximum", subject, high)
    if math.isinf(grid.lower) and math.isinf(grid.upper) and grid.scale:
        beyond = int(counts[(cells == 0) | (cells == grid.regular - 1)].sum())
        yield Result("out_of_range_rate", subject, rate(beyond, n, level, absent))


def _edge(lower: float, upper: float, n: int, *, lower_one: bool) -> Measurement:
    if math.isinf(lower) or math.isinf(upper):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    value = lower if lower_one else float(np.nextafter(upper, -np.inf))
    return Measurement(value=value, n=n, resolution=upper - lower)


def quality_results(
    subject: str, histogram: Histogram, absent: Reason, level: float = LEVEL
) -> Iterator[Result]:
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
        yield Result(name, subject, rate(count, n, level, absent))
