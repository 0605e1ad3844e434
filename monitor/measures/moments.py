"""Moments: means of exact sums, and their variances."""

from fractions import Fraction

from monitor.core.measurement import Measurement, Reason
from monitor.measures.intervals import normal
from monitor.states.views import Sums


def mean(sums: Sums, term: str, square: str, level: float) -> Measurement:
    """Mean of a non-negative term, with the normal interval that the mean of its square gives."""
    n = sums.n(term)
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    if sums.out_of_range(term):
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    value = sums.mean(term)
    variance = None if sums.out_of_range(square) else variance_of(value, sums.mean(square), n)
    interval = normal(float(value), variance / n, level, lowest=0.0) if variance is not None else None
    return Measurement(value=float(value), n=n, interval=interval)


def variance_of(first: Fraction, second: Fraction, n: int) -> float:
    """Sample variance (n - 1) of the exact first two moments; 0 for one record, never negative."""
    return max(0.0, float((second - first * first) * n / (n - 1))) if n > 1 else 0.0
