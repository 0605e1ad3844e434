"""Numbers: errors of a regression model."""

import math
from collections.abc import Iterator
from dataclasses import replace

from monitor.core.measurement import LEVEL, Interval, Measurement, Reason
from monitor.measures.options import Options, Result
from monitor.measures.statistics.intervals import normal
from monitor.measures.statistics.moments import mean
from monitor.states import sums
from monitor.states.views import Sums

_R2_MOMENTS = (
    "quartic_error",
    "cubed_label",
    "quartic_label",
    "squared_error_label",
    "squared_error_squared_label",
)


def mean_squared_error(errors: Sums, level: float = LEVEL) -> Measurement:
    """Mean of (prediction - label)², with a normal interval by the fourth moment of the error."""
    return mean(errors, "squared_error", "quartic_error", level)


def root(squared: Measurement) -> Measurement:
    """Square root of a mean squared error, or of a ratio of two.

    Its interval is the delta method's: half width / (2 · value).
    """
    if squared.value is None:
        return squared
    value, interval = math.sqrt(squared.value), None
    if squared.interval is not None and value > 0:
        half = (squared.interval.upper - squared.value) / (2 * value)
        interval = Interval(max(0.0, value - half), value + half, squared.interval.level)
    return replace(squared, value=value, interval=interval)


def mean_absolute_error(errors: Sums, level: float = LEVEL) -> Measurement:
    """Mean of |prediction - label|, with a normal interval."""
    return mean(errors, "absolute_error", "squared_error", level)


def bias(errors: Sums, level: float = LEVEL) -> Measurement:
    """Mean of prediction - label, with a normal interval."""
    return mean(errors, "error", "squared_error", level, lowest=-math.inf)


def mean_absolute_percentage_error(errors: Sums, percentages: Sums, level: float = LEVEL) -> Measurement:
    """Mean of |prediction - label| / |label|, with a normal interval; ``undefined`` where a label is 0."""
    n = errors.n("error")
    if n > percentages.n("percentage"):
        return Measurement.absent(Reason.UNDEFINED, n=n)
    return mean(percentages, "percentage", "squared_percentage", level)


def sum_of(mean_of: Measurement, factor: float = 1.0) -> Measurement:
    """Sum that belongs to a mean, times a factor: of these records, hence without an interval."""
    if mean_of.value is None:
        return mean_of
    return replace(mean_of, value=mean_of.value * mean_of.n * factor, interval=None)


def relative_squared_error(errors: Sums, level: float = LEVEL) -> Measurement:
    """Mean squared error / that of always saying the labels' mean: A / (B - C²).

    A, B, C are the means of error², label² and label. The interval is the delta method's, on the 3 x 3
    covariance of these means. With a large mean of the labels B - C² loses nothing but the rounding of the
    labels themselves: it is a difference of integers.

    Returns
    -------
    Measurement
        ``undefined`` where all labels are equal (one record is such a case).
    """
    n = errors.n("squared_error")
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    if any(errors.out_of_range(term) for term in ("squared_error", "squared_label", "label")):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    if equal_labels(errors):
        return Measurement.absent(Reason.UNDEFINED, n=n)
    value, interval = errors.units("squared_error") * n * sums.HALF / _spread(errors), None
    if not any(errors.out_of_range(term) for term in _R2_MOMENTS):
        interval = normal(value, _ratio_variance(errors) / n, level, lowest=0.0)
    return Measurement(value=value, n=n, interval=interval)


def complement(ratio: Measurement) -> Measurement:
    """1 - a ratio: R² of the relative squared error, the skill of an error relative to a baseline's."""
    if ratio.value is None:
        return ratio
    interval = ratio.interval
    if interval is not None:
        interval = replace(interval, lower=1 - interval.upper, upper=1 - interval.lower)
    return replace(ratio, value=1 - ratio.value, interval=interval)


def equal_labels(errors: Sums) -> bool:
    """Whether all labels are equal: what rounding labels and their squares can add to B - C² is left out."""
    n, first = errors.n("label") * sums.HALF, errors.units("label")
    return _spread(errors) * sums.HALF <= (n + abs(first)) * n


def results(errors: Sums, percentages: Sums, options: Options) -> Iterator[Result]:
    """All measures of a regression model that need sums alone."""
    level = options.level
    squared, relative = mean_squared_error(errors, level), relative_squared_error(errors, level)
    measurements = {
        "mean_squared_error": squared,
        "root_mean_squared_error": root(squared),
        "sum_of_squared_errors": sum_of(squared),
        "half_sum_of_squared_errors": sum_of(squared, 0.5),
        "mean_absolute_error": mean_absolute_error(errors, level),
        "bias": bias(errors, level),
        "mean_absolute_percentage_error": mean_absolute_percentage_error(errors, percentages, level),
        "r2_score": complement(relative),
        "relative_squared_error": relative,
        "relative_root_mean_squared_error": root(relative),
    }
    yield from (Result(name, "", measurement) for name, measurement in measurements.items())


def _spread(errors: Sums) -> int:
    """B - C², the labels' variance, times (n · 2^40)² and over the scale squared."""
    n, first = errors.n("label") * sums.HALF, errors.units("label")
    return n * errors.units("squared_label") - first * first


def _ratio_variance(errors: Sums) -> float:
    """Variance of one record's influence on A / (B - C²): (error² - ratio · (label - C)²) / (B - C²).

    That is (E[e⁴] - A² - 2 r (E[e² d²] - A S) + r² (E[d⁴] - S²)) / S², d = label - C, S = B - C², r = A / S:
    in integers over one denominator, divided once. The scale cancels.
    """
    n = errors.n("label") * sums.HALF
    a, b, c = (errors.units(term) for term in ("squared_error", "squared_label", "label"))
    fourth, y3, y4, a_y, a_yy = (errors.units(term) for term in _R2_MOMENTS)
    spread = _spread(errors)
    of_error = fourth * n - a * a
    joint = a_yy * n * n - 2 * c * a_y * n + c * c * a - a * spread
    of_label = y4 * n**3 - 4 * c * y3 * n**2 + 6 * c * c * b * n - 3 * c**4 - spread * spread
    numerator = of_error * spread * spread - 2 * a * spread * joint + a * a * of_label
    return max(0, numerator) * n * n / spread**4
