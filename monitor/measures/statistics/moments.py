"""Moments: means of exact sums, and their variances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from monitor.core.measurement import Measurement, Reason
from monitor.measures.statistics.intervals import normal
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


@dataclass(frozen=True, slots=True)
class Moments:
    """Mean and sample variance of n numbers, in units of the grid's scale from its centre.

    Parameters
    ----------
    reason
        why there are none.
    """

    n: float
    mean: float = 0.0
    variance: float = 0.0
    reason: Reason | None = None


def moments_of(sums: Sums, name: str) -> Moments:
    """Moments of one number of the records."""
    n = sums.n(name)
    if n == 0 or sums.out_of_range(name):
        return Moments(n, reason=Reason.OUT_OF_RANGE if n else Reason.NO_RECORDS)
    first, second = sums.units(name), sums.units(f"{name}²")
    if n == 1 or sums.out_of_range(f"{name}²"):
        return Moments(n, first / (n * HALF), math.nan)
    variance = max(0, n * second * HALF - first * first) / (n * (n - 1) * HALF * HALF)
    return Moments(n, first / (n * HALF), variance)


def mixed(parts: Sequence[tuple[float, Moments]]) -> Moments:
    """Moments to expect of several references in given shares; as sure as records worth as much.

    Parameters
    ----------
    parts
        (share, moments); the shares add up to 1.
    """
    if any(moments.reason is not None or not moments.n for _, moments in parts):
        return Moments(0, reason=Reason.NO_REFERENCE)
    mean = math.fsum(share * moments.mean for share, moments in parts)
    spread = math.fsum(share * (moments.variance + (moments.mean - mean) ** 2) for share, moments in parts)
    return Moments(1 / math.fsum(share**2 / moments.n for share, moments in parts), mean, spread)
