"""Numbers: errors of a regression model."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from monitor.core.interval import Interval
from monitor.core.measurement import Measurement, Reason
from monitor.measures.ask import Ask, Result
from monitor.measures.intervals import normal
from monitor.measures.moments import mean
from monitor.states import sums
from monitor.states.views import Sums

_R2_MOMENTS = (
    "quartic_error",
    "cubed_label",
    "quartic_label",
    "squared_error_label",
    "squared_error_squared_label",
)


def mean_squared_error(errors: Sums, level: float = 0.95) -> Measurement:
    """Mean of (prediction - label)², with a normal interval by the fourth moment of the error."""
    return mean(errors, "squared_error", "quartic_error", level)


def root_mean_squared_error(squared: Measurement) -> Measurement:
    """Square root of a mean squared error; its interval by the delta method: half width / (2 · value)."""
    if squared.value is None:
        return squared
    value, interval = math.sqrt(squared.value), None
    if squared.interval is not None and value > 0:
        half = (squared.interval.upper - squared.value) / (2 * value)
        interval = Interval(max(0.0, value - half), value + half, squared.interval.level)
    return replace(squared, value=value, interval=interval)


def mean_absolute_error(errors: Sums, level: float = 0.95) -> Measurement:
    """Mean of |prediction - label|, with a normal interval."""
    return mean(errors, "absolute_error", "squared_error", level)


def r2_score(errors: Sums, level: float = 0.95) -> Measurement:
    """Coefficient of determination 1 - A / (B - C²); A, B, C the means of error², label² and label.

    The interval is the delta method's, on the 3 x 3 covariance of these means. With a large mean of the
    labels B - C² loses nothing but the rounding of the labels themselves: it is a difference of integers.

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
    a, b, c = (errors.mean(term) for term in ("squared_error", "squared_label", "label"))
    spread = b - c * c
    if spread <= _rounding(errors, c):
        return Measurement.absent(Reason.UNDEFINED, n=n)
    value = float(1 - a / spread)
    interval = None
    if not any(errors.out_of_range(term) for term in _R2_MOMENTS):
        interval = normal(value, float(_r2_variance(errors, a, b, c)) / n, level, highest=1.0)
    return Measurement(value=value, n=n, interval=interval)


def results(errors: Sums, ask: Ask) -> Iterator[Result]:
    """All measures of a regression model."""
    squared = mean_squared_error(errors, ask.level)
    yield Result("mean_squared_error", "", squared)
    yield Result("root_mean_squared_error", "", root_mean_squared_error(squared))
    yield Result("mean_absolute_error", "", mean_absolute_error(errors, ask.level))
    yield Result("r2_score", "", r2_score(errors, ask.level))


def _rounding(errors: Sums, c: Fraction) -> Fraction:
    """Bound of what rounding labels and their squares can add to B - C²: equal labels stay below it."""
    scale, square = (errors.scales[errors.terms.index(term)] for term in ("label", "squared_label"))
    return (Fraction(square) + (2 * abs(c) + Fraction(scale)) * Fraction(scale)) / (2 * sums.HALF)


def _r2_variance(errors: Sums, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """Variance of one record's influence on R²: g' Σ g, g the gradient in (A, B, C)."""
    fourth, third_y, fourth_y, a_y, a_yy = (errors.mean(term) for term in _R2_MOMENTS)
    spread = b - c * c
    g = (-1 / spread, a / spread**2, -2 * a * c / spread**2)
    covariance = (
        (fourth - a * a, a_yy - a * b, a_y - a * c),
        (a_yy - a * b, fourth_y - b * b, third_y - b * c),
        (a_y - a * c, third_y - b * c, spread),
    )
    return sum((g[i] * g[j] * covariance[i][j] for i in range(3) for j in range(3)), start=Fraction(0))
