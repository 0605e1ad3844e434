"""Numbers: errors of a regression model, from sums, and by cell."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import LEVEL, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.intervals import mean_measurement, normal_interval
from monitor.states.error_tables import ErrorTable, LabelErrors
from monitor.states.sums import HALF
from monitor.states.views import ExactSums

_R2_MOMENTS = (
    "quartic_error",
    "cubed_label",
    "quartic_label",
    "squared_error_label",
    "squared_error_squared_label",
)
_FINE, _COARSE = 1e-6, 0.1  # shares of a mean that its terms' rounding may be, unsaid; at all
QUANTILES = {"error_p05": 5, "error_p25": 25, "error_median": 50, "error_p75": 75, "error_p95": 95}
_RELATIVE = ("relative_absolute_error", "d2_absolute_error_score")


def mean_squared_error(errors: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean of (prediction - label)², with a normal interval by the fourth moment of the error."""
    return _attach_rounding_error(
        mean_measurement(errors, "squared_error", "quartic_error", level), errors, "squared_error"
    )


def square_root(squared: Measurement) -> Measurement:
    """Square root of a mean squared error, or of a ratio of two.

    Its interval is the delta method's: half width / (2 · value).
    """
    if squared.value is None:
        return squared
    value, interval = math.sqrt(squared.value), None
    if squared.interval is not None and value > 0:
        half = (squared.interval.upper - squared.value) / (2 * value)
        interval = Interval(max(0.0, value - half), value + half, squared.interval.level)
    resolution = min(
        squared.resolution / (2 * value) if value > 0 else math.inf, math.sqrt(squared.resolution)
    )
    return replace(squared, value=value, interval=interval, resolution=resolution)


def _attach_rounding_error(mean: Measurement, errors: ExactSums, term: str) -> Measurement:
    """A mean with the half unit that each term is rounded by, where that is more than a millionth of it.

    So it is where errors are tiny beside the scale: beside the spread of the reference's labels. More than a
    tenth: ``out_of_range``. Where no error is as large as half a unit, all are taken to be 0.
    """
    if mean.value is None or not errors.units_of("absolute_error"):
        return mean
    return _attach_resolution(errors.scale_of(term) / (2 * HALF), mean, mean.value)


def _attach_resolution(resolution: float, mean: Measurement, size: float) -> Measurement:
    if resolution <= _FINE * size:
        return mean
    if resolution > _COARSE * size:
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=mean.n)
    return replace(mean, resolution=resolution)


def mean_absolute_error(errors: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean of |prediction - label|, with a normal interval."""
    return _attach_rounding_error(
        mean_measurement(errors, "absolute_error", "squared_error", level), errors, "absolute_error"
    )


def mean_bias(errors: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean of prediction - label, with a normal interval."""
    return mean_measurement(errors, "error", "squared_error", level, lowest=-math.inf)


def mean_absolute_percentage_error(
    errors: ExactSums, percentages: ExactSums, level: float = LEVEL
) -> Measurement:
    """Mean of |prediction - label| / |label|, with a normal interval; ``undefined`` where a label is 0."""
    n = errors.count_of("error")
    if n > percentages.count_of("percentage"):
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    return mean_measurement(percentages, "percentage", "squared_percentage", level)


def sum_from_mean(mean_of: Measurement, factor: float = 1.0) -> Measurement:
    """Sum that belongs to a mean, times a factor: of these records, hence without an interval."""
    if mean_of.value is None:
        return mean_of
    times = mean_of.n * factor
    return replace(mean_of, value=mean_of.value * times, interval=None, resolution=mean_of.resolution * times)


def relative_squared_error(errors: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean squared error / that of always saying the labels' mean: A / (B - C²).

    A, B, C are the means of error², label² and label. The interval is the delta method's, on the 3 x 3
    covariance of these means. With a large mean of the labels B - C² loses nothing but the rounding of the
    labels themselves: it is a difference of integers.

    Returns
    -------
    Measurement
        ``undefined`` where all labels are equal (one record is such a case).
    """
    n = errors.count_of("squared_error")
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    if any(errors.count_out_of_range(term) for term in ("squared_error", "squared_label", "label")):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    if has_equal_labels(errors):
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    spread, interval = _scaled_label_variance(errors), None
    value = errors.units_of("squared_error") * n * HALF / spread
    if not any(errors.count_out_of_range(term) for term in _R2_MOMENTS):
        interval = normal_interval(value, _ratio_variance(errors) / n, level, lowest=0.0)
    # Each term was rounded by half a unit at most.
    labels = abs(errors.units_of("label"))
    rounded = (1 + value) * n * n * HALF / 2 + value * n * labels
    return _attach_resolution(rounded / spread, Measurement(value=value, n=n, interval=interval), 1.0)


def complement_ratio(ratio: Measurement) -> Measurement:
    """1 - a ratio: R² of the relative squared error, the skill of an error relative to a baseline's."""
    if ratio.value is None:
        return ratio
    interval = ratio.interval
    if interval is not None:
        interval = replace(interval, lower=1 - interval.upper, upper=1 - interval.lower)
    return replace(ratio, value=1 - ratio.value, interval=interval)


def has_equal_labels(errors: ExactSums) -> bool:
    """Whether all labels are equal: what rounding labels and their squares can add to B - C² is left out."""
    n, first = errors.count_of("label") * HALF, errors.units_of("label")
    return _scaled_label_variance(errors) * HALF <= (n + abs(first)) * n


def regression_results(
    errors: ExactSums, percentages: ExactSums, options: MeasureOptions
) -> Iterator[MeasureResult]:
    """All measures of a regression model that need sums alone."""
    level = options.level
    squared, relative = mean_squared_error(errors, level), relative_squared_error(errors, level)
    measurements = {
        "mean_squared_error": squared,
        "root_mean_squared_error": square_root(squared),
        "sum_of_squared_errors": sum_from_mean(squared),
        "half_sum_of_squared_errors": sum_from_mean(squared, 0.5),
        "mean_absolute_error": mean_absolute_error(errors, level),
        "bias": mean_bias(errors, level),
        "mean_absolute_percentage_error": mean_absolute_percentage_error(errors, percentages, level),
        "r2_score": complement_ratio(relative),
        "relative_squared_error": relative,
        "relative_root_mean_squared_error": square_root(relative),
    }
    yield from (MeasureResult(name, "", measurement) for name, measurement in measurements.items())


def _scaled_label_variance(errors: ExactSums) -> int:
    """B - C², the labels' variance, times (n · 2^40)² and over the scale squared."""
    n, first = errors.count_of("label") * HALF, errors.units_of("label")
    return n * errors.units_of("squared_label") - first * first


def _ratio_variance(errors: ExactSums) -> float:
    """Variance of one record's influence on A / (B - C²): (error² - ratio · (label - C)²) / (B - C²).

    That is (E[e⁴] - A² - 2 r (E[e² d²] - A S) + r² (E[d⁴] - S²)) / S², d = label - C, S = B - C², r = A / S:
    in integers over one denominator, divided once. The scale cancels.
    """
    n = errors.count_of("label") * HALF
    a, b, c = (errors.units_of(term) for term in ("squared_error", "squared_label", "label"))
    fourth, y3, y4, a_y, a_yy = (errors.units_of(term) for term in _R2_MOMENTS)
    spread = _scaled_label_variance(errors)
    of_error = fourth * n - a * a
    joint = a_yy * n * n - 2 * c * a_y * n + c * c * a - a * spread
    of_label = y4 * n**3 - 4 * c * y3 * n**2 + 6 * c * c * b * n - 3 * c**4 - spread * spread
    numerator = of_error * spread * spread - 2 * a * spread * joint + a * a * of_label
    return max(0, numerator) * n * n / spread**4


@dataclass(frozen=True, slots=True)
class OrderedCells:
    """Cells that hold records, ascending."""

    # lower, upper: bounds, infinite where open, in the unit of the labels.
    lower: Floats
    upper: Floats
    up_to: Ints  # records of the cell and of those below it

    @property
    def n(self) -> int:
        """All records."""
        return int(self.up_to[-1]) if len(self.up_to) else 0


def order_signed_errors(table: ErrorTable) -> OrderedCells:
    """Errors, ascending."""
    used = np.flatnonzero(table.counts)
    return _order_cells(table, used, table.counts[used])


def order_absolute_errors(table: ErrorTable) -> OrderedCells:
    """Absolute errors, ascending: cells of opposite errors together."""
    middle = len(table.edges) // 2
    folded = table.counts[middle:].copy()
    folded[1:] += table.counts[middle - 1 :: -1]
    used = np.flatnonzero(folded)
    return _order_cells(table, used + middle, folded[used])


def error_quantile(cells: OrderedCells, percent: int, level: float = LEVEL) -> Measurement:
    """Value that a percentage of the records does not exceed, from the middles of cells.

    The order statistic of rank ⌈n · percent / 100⌉, or the mean of it and the next where that is whole
    (definition 2 of [1]_): the usual median. The exact value lies within the resolution, half a cell's width.
    The interval reaches from the lower edge of one order statistic's cell to the upper edge of another's, the
    ranks from the binomial distribution [2]_: it holds the true quantile at least as often as it says.

    Returns
    -------
    Measurement
        or ``no_labels``; ``out_of_range`` in an open cell. Without an interval where n is too small for one.

    References
    ----------
    .. [1] Hyndman & Fan (1996). Sample quantiles in statistical packages. Am. Stat. 50:361.
    .. [2] Conover (1999). Practical Nonparametric Statistics, 3rd ed., section 3.2.
    """
    rank, rest = divmod(cells.n * percent, 100)
    value = _median_of_cells(cells, [rank + 1, rank + 1] if rest else [rank, rank + 1])
    if value.value is None:
        return value
    return replace(value, interval=_quantile_interval(cells, percent / 100, level))


def median_absolute_error(magnitudes: OrderedCells, level: float = LEVEL) -> Measurement:
    """Median of |prediction - label|."""
    median = error_quantile(magnitudes, 50, level)
    if median.interval is None:
        return median
    return replace(median, interval=replace(median.interval, lower=max(0.0, median.interval.lower)))


def max_error(magnitudes: OrderedCells) -> Measurement:
    """Largest |prediction - label|."""
    return _median_of_cells(magnitudes, [magnitudes.n, magnitudes.n])


@dataclass(frozen=True, slots=True)
class MedianBaseline:
    """Absolute errors of always saying the median label, in units of the scale."""

    # lowest, highest: bounds of their sum; equal where no cell holds the median between its records.
    lowest: float
    highest: float
    distances: Floats  # of the labels from the median, by cell, on average


def median_baseline(labels: LabelErrors) -> MedianBaseline | None:
    """Sum of |label - median| from sums by cell; None where the median lies in an open cell.

    Outside the cell that holds the median all distances have one sign, so that the cells' sums give them
    exactly. Within it, of n labels with mean y in [a, b], the distances from y sum to at most
    2 n (b - y)(y - a) / (b - a), which is reached if all lie at its edges [1]_. The sum is a convex
    function of the point, smallest at the median and of slope below n there: replacing the n labels by their
    mean gives the lower bound, the distances from y the upper one.

    References
    ----------
    .. [1] Edmundson (1956). Bounds on the expectation of a convex function of a random variable. RAND P-982.
    """
    n, (sums, _) = labels.n, labels.sums
    total, up_to = int(n.sum()), np.cumsum(n)
    first, last = np.searchsorted(up_to, [(total + 1) // 2, total // 2 + 1]).tolist()
    if first in (0, len(labels.edges)) or last in (0, len(labels.edges)):
        return None
    mean = sums / np.maximum(n, 1)
    if first != last:
        point, spread = float(labels.edges[first]), 0.0
    else:
        a, b = labels.edges[first - 1 : first + 1].tolist()
        point = float(mean[first])
        spread = 2 * max(0.0, (b - point) * (point - a)) / (b - a)
    distances = np.where(n > 0, np.abs(mean - point), 0.0)
    lowest = float(n @ distances)
    distances[first] += spread / 2
    return MedianBaseline(lowest, lowest + int(n[first]) * spread, distances)


def relative_absolute_error(errors: ExactSums, labels: LabelErrors, level: float = LEVEL) -> Measurement:
    """Mean absolute error / that of always saying the median label.

    The interval is the delta method's: a record's influence is (|error| - ratio · distance) / mean distance,
    and that of the median itself is none, for the baseline is smallest there. Distances are those of the
    labels' cells.

    Returns
    -------
    Measurement
        its resolution is half the distance of what the bounds of the baseline give; ``undefined`` where all
        labels are equal or in one cell.
    """
    n = errors.count_of("absolute_error")
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    if int(labels.n.sum()) != n:
        return Measurement.without_value(Reason.NOT_COUNTED, n=n)
    terms = ("absolute_error", "squared_label", "label")
    baseline = None if labels.records_out_of_range else median_baseline(labels)
    if baseline is None or any(errors.count_out_of_range(term) for term in terms):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    if has_equal_labels(errors) or baseline.lowest <= 0:
        return Measurement.without_value(Reason.UNDEFINED, n=n)
    total = errors.units_of("absolute_error") / HALF
    low, high = total / baseline.highest, total / baseline.lowest
    value = low + (high - low) / 2
    interval = None
    if not errors.count_out_of_range("squared_error"):
        squared = errors.units_of("squared_error") / (n * HALF)
        distances = baseline.distances
        mean_distance = float(labels.n @ distances) / n
        cross = float(labels.sums[1] @ distances) / n
        square = float(labels.n @ distances**2) / n
        variance = (squared - 2 * value * cross + value * value * square) / mean_distance**2
        interval = normal_interval(value, variance / n, level, lowest=0.0)
    return Measurement(value=value, n=n, interval=interval, resolution=(high - low) / 2)


def cell_based_results(
    errors: ExactSums, table: ErrorTable, labels: LabelErrors, options: MeasureOptions
) -> Iterator[MeasureResult]:
    """All measures of a regression model that need cells: the whole's alone are counted."""
    level, n = options.level, errors.count_of("error")
    if n and not table.counts.any():
        names = (*QUANTILES, "median_absolute_error", "max_error", *_RELATIVE)
        yield from (
            MeasureResult(name, "", Measurement.without_value(Reason.NOT_COUNTED, n=n)) for name in names
        )
        return
    ordered, magnitudes = order_signed_errors(table), order_absolute_errors(table)
    for name, percent in QUANTILES.items():
        yield MeasureResult(name, "", error_quantile(ordered, percent, level))
    yield MeasureResult("median_absolute_error", "", median_absolute_error(magnitudes, level))
    yield MeasureResult("max_error", "", max_error(magnitudes))
    relative = relative_absolute_error(errors, labels, level)
    for name, measurement in zip(_RELATIVE, (relative, complement_ratio(relative)), strict=True):
        yield MeasureResult(name, "", measurement)


def _order_cells(table: ErrorTable, cells: Ints, counts: Ints) -> OrderedCells:
    bounds = np.concatenate([[-np.inf], table.edges, [np.inf]]) * table.scale
    return OrderedCells(bounds[cells], bounds[cells + 1], np.cumsum(counts))


def _median_of_cells(cells: OrderedCells, ranks: Sequence[int]) -> Measurement:
    """Mean of two order statistics, each taken as the middle of its cell."""
    if cells.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    at = np.searchsorted(cells.up_to, ranks)
    lower, upper = float(cells.lower[at].sum()), float(cells.upper[at].sum())
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=cells.n)
    return Measurement(value=(lower + upper) / 4, n=cells.n, resolution=(upper - lower) / 4)


def _quantile_interval(cells: OrderedCells, share: float, level: float) -> Interval | None:
    """Between the order statistics of ranks B and B' + 1, B and B' the binomial's quantiles."""
    n, tail = cells.n, 0.5 - level / 2
    low, high = (math.ceil(rank) for rank in scipy.special.bdtrik([tail, 1 - tail], n, share).tolist())
    if low < 1 or high >= n:
        return None
    first, last = np.searchsorted(cells.up_to, [low, high + 1]).tolist()
    lower, upper = float(cells.lower[first]), float(cells.upper[last])
    return Interval(lower, upper, level) if math.isfinite(lower) and math.isfinite(upper) else None
