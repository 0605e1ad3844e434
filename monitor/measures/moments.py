"""Moments: means of exact sums, and their variances."""

from fractions import Fraction

from monitor.core.measurement import Measurement, Reason
from monitor.measures.intervals import normal
from monitor.states.sums import HALF
from monitor.states.views import Sums


def mean(sums: Sums, term: str, square: str, level: float, *, lowest: float = 0.0) -> Measurement:
    """Mean of a term that is `lowest` at least, with the normal interval that the mean of its square gives.

    The scale of the square is that of the term, squared. In integers, divided once: as exact as fractions,
    at a tenth of their cost.
    """
    n = sums.n(term)
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    if sums.out_of_range(term):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    first, second, scale = sums.units(term), sums.units(square), sums.scale(term)
    value, interval = first / (n * HALF) * scale, None
    if n > 1 and not sums.out_of_range(square):
        variance = max(0, n * second * HALF - first * first) / (n * (n - 1) * HALF * HALF)
        interval = normal(value, variance * scale * scale / n, level, lowest=lowest)
    return Measurement(value=value, n=n, interval=interval)


def variance_of(first: Fraction, second: Fraction, n: int) -> float:
    """Sample variance (n - 1) of the exact first two moments; 0 for one record, never negative."""
    return max(0.0, float((second - first * first) * n / (n - 1))) if n > 1 else 0.0
