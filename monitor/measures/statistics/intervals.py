"""Means of exact sums, and intervals of rates, means and their differences, in closed form."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import scipy

from monitor.core.array_types import Floats, Singles
from monitor.core.measurement import LEVEL, Interval, Measurement, RateMethod, Reason, difference_interval
from monitor.states.sums import HALF
from monitor.states.views import ExactSums

RateInterval: TypeAlias = Callable[[int, int, float], Interval]
_STEPS = 2**40


@lru_cache(maxsize=64)
def normal_quantile(level: float) -> float:
    """Two-sided quantile z of the standard normal distribution."""
    return float(scipy.special.ndtri(0.5 + level / 2))


def wilson_interval(successes: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a rate [1]_.

    Parameters
    ----------
    successes, n
        0 <= successes <= n, n > 0.

    References
    ----------
    .. [1] Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22:209.

    >>> interval = wilson_interval(90, 100)
    >>> round(interval.lower, 6), round(interval.upper, 6)
    (0.825634, 0.944771)
    """
    lower, upper = score_bounds(successes / n, n, normal_quantile(level))
    return Interval(0.0 if successes == 0 else lower, 1.0 if successes == n else upper, level)


def score_bounds(share: float, trials: float, z: float) -> tuple[float, float]:
    """Bounds of the score interval of a share, z standard deviations away, within [0, 1]."""
    z2 = z * z
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Interval:
    """Clopper & Pearson's interval of a rate [1]_: it holds the true rate with at least this probability.

    The bounds are quantiles of beta distributions: of Beta(s, n - s + 1) and of Beta(s + 1, n - s).

    Parameters
    ----------
    successes, n
        0 <= successes <= n, n > 0.

    References
    ----------
    .. [1] Clopper & Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
       binomial. Biometrika 26:404.

    >>> interval = clopper_pearson(90, 100)
    >>> round(interval.lower, 6), round(interval.upper, 6)
    (0.823777, 0.950995)
    """
    failures, tail = n - successes, (1 - level) / 2
    lower = float(scipy.special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    upper = float(scipy.special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(lower, upper, level)


RATE_INTERVALS: dict[RateMethod, RateInterval] = {
    "wilson": wilson_interval,
    "clopper-pearson": clopper_pearson,
}


def rate_measurement(
    successes: int, n: int, level: float, otherwise: Reason, bounds: RateInterval = wilson_interval
) -> Measurement:
    """Share with its interval, Wilson's unless another is asked for, or a reason where n is 0."""
    if n == 0:
        return Measurement.without_value(otherwise, n=0)
    return Measurement(value=successes / n, n=n, interval=bounds(successes, n, level))


def newcombe_difference(
    first: tuple[int, int], second: tuple[int, int], level: float = LEVEL
) -> tuple[float, Interval]:
    """Difference of two rates, first - second, with Newcombe's hybrid score interval (method 10) [1]_.

    Parameters
    ----------
    first, second
        (successes, n), n > 0.

    References
    ----------
    .. [1] Newcombe (1998). Interval estimation for the difference between independent proportions.
       Statist. Med. 17:873.

    >>> difference, interval = newcombe_difference((56, 70), (48, 80))
    >>> round(difference, 4), round(interval.lower, 4), round(interval.upper, 4)
    (0.2, 0.0524, 0.3339)
    """
    p1, p2 = first[0] / first[1], second[0] / second[1]
    interval = difference_interval(
        (p1, wilson_interval(*first, level)), (p2, wilson_interval(*second, level))
    )
    return p1 - p2, Interval(max(-1.0, interval.lower), min(1.0, interval.upper), level)


def normal_interval(
    value: float,
    variance: float,
    level: float,
    *,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Interval | None:
    """Interval of a normal estimate of known variance, cut to its range; None without variance."""
    if not (0 < variance < math.inf):
        return None
    half = normal_quantile(level) * math.sqrt(variance)
    return Interval(max(lowest, value - half), min(highest, value + half), level)


def student_interval(value: float, variance: float, freedom: float, level: float) -> Interval | None:
    """Student's t interval of an estimate of estimated variance; None without variance."""
    if not (0 < variance < math.inf and freedom > 0):
        return None
    half = float(scipy.special.stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(variance)
    return Interval(value - half, value + half, level)


def welch_interval(
    first: tuple[float, float, float], second: tuple[float, float, float], level: float = LEVEL
) -> Interval | None:
    """Welch's interval of a difference of means, first - second [1]_.

    Parameters
    ----------
    first, second
        (mean, sample variance, n), n > 1.

    References
    ----------
    .. [1] Welch (1947). The generalization of "Student's" problem. Biometrika 34:28.
    """
    of_first, of_second = first[1] / first[2], second[1] / second[2]
    if of_first + of_second <= 0:
        return None
    freedom = (of_first + of_second) ** 2 / (of_first**2 / (first[2] - 1) + of_second**2 / (second[2] - 1))
    return student_interval(first[0] - second[0], of_first + of_second, freedom, level)


def percentile_intervals(draws: Floats, level: float) -> list[Interval | None]:
    """Percentile intervals of bootstrap draws, one a row; None where half of a row or more is NaN.

    Quantiles are interpolated as NumPy does. Cost: one sort of all rows.

    Parameters
    ----------
    draws
        shape (statistics, resamples).
    """
    # NaN is sorted last: of a row with any the draws before it are its finite ones.
    ordered = np.sort(draws, axis=1)
    shares = 0.5 - level / 2, 0.5 + level / 2
    lower, upper = (row_quantiles(ordered, share) for share in shares)
    bounds: list[tuple[float, float] | None] = list(zip(lower, upper, strict=True))
    for row in np.flatnonzero(np.isnan(ordered[:, -1])).tolist():
        finite = ordered[row : row + 1, : np.count_nonzero(~np.isnan(ordered[row]))]
        enough = 2 * finite.shape[1] > ordered.shape[1]
        bounds[row] = (
            (row_quantiles(finite, shares[0])[0], row_quantiles(finite, shares[1])[0]) if enough else None
        )
    return [None if pair is None else Interval(*pair, level) for pair in bounds]


def row_quantiles(ordered: Floats | Singles, share: float) -> list[float]:
    """Quantile of each ordered row, as NumPy interpolates it, in the rows' own precision."""
    at = share * (ordered.shape[1] - 1)
    below = int(at)
    lower, upper = ordered[:, below], ordered[:, min(below + 1, ordered.shape[1] - 1)]
    interpolated: list[float] = (lower + (upper - lower) * ordered.dtype.type(at - below)).tolist()
    return interpolated


def find_root(function: Callable[[float], float], start: float, end: float) -> float:
    """Where a continuous function is zero, between two places where it has other signs. Cost: 41 calls.

    Found by halving, to a 2**40th of the way: 1e-12.

    >>> round(find_root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    begins = function(start) > 0

    def place(step: int) -> float:
        return start + (end - start) * (step / _STEPS)

    def beyond(step: int) -> bool:
        value = function(place(step))
        return value == 0 or (value > 0) != begins

    return place(bisect_left(range(_STEPS), True, key=beyond))


def mean_measurement(
    sums: ExactSums, term: str, square: str, level: float, *, lowest: float = 0.0
) -> Measurement:
    """Mean of a term that is `lowest` at least, with the normal interval that the mean of its square gives.

    The scale of the square is that of the term, squared. In integers, divided once: as exact as fractions,
    at a tenth of their cost.
    """
    n = sums.count_of(term)
    if n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    if sums.count_out_of_range(term):
        return Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
    first, second, scale = sums.units_of(term), sums.units_of(square), sums.scale_of(term)
    value, interval = first / (n * HALF) * scale, None
    if n > 1 and not sums.count_out_of_range(square):
        variance = sample_variance(first, second, n)
        interval = normal_interval(value, variance * scale * scale / n, level, lowest=lowest)
    return Measurement(value=value, n=n, interval=interval)


def sample_variance(first: int, second: int, n: int) -> float:
    """Sample variance of n > 1 numbers, from their sum and that of their squares, in units of 2^-40."""
    return max(0, n * second * HALF - first * first) / (n * (n - 1) * HALF * HALF)


@dataclass(frozen=True, slots=True)
class SampleMoments:
    """Mean and sample variance of n numbers, in units of the grid's scale from its centre."""

    n: float
    mean: float = 0.0
    variance: float = 0.0
    reason: Reason | None = None  # why there are none


def moments_of(sums: ExactSums, name: str) -> SampleMoments:
    """Moments of one number of the records."""
    n = sums.count_of(name)
    if n == 0 or sums.count_out_of_range(name):
        return SampleMoments(n, reason=Reason.OUT_OF_RANGE if n else Reason.NO_RECORDS)
    first, second = sums.units_of(name), sums.units_of(f"{name}²")
    if n == 1 or sums.count_out_of_range(f"{name}²"):
        return SampleMoments(n, first / (n * HALF), math.nan)
    return SampleMoments(n, first / (n * HALF), sample_variance(first, second, n))


def mix_moments(parts: Sequence[tuple[float, SampleMoments]]) -> SampleMoments:
    """Moments to expect of several references in given shares; as sure as records worth as much.

    Parameters
    ----------
    parts
        (share, moments); the shares add up to 1.
    """
    if any(moments.reason is not None or not moments.n for _, moments in parts):
        return SampleMoments(0, reason=Reason.NO_REFERENCE)
    mean = math.fsum(share * moments.mean for share, moments in parts)
    spread = math.fsum(share * (moments.variance + (moments.mean - mean) ** 2) for share, moments in parts)
    # The variance within the references, and that between their means; n as that of one sample whose mean is
    # as sure.
    return SampleMoments(1 / math.fsum(share**2 / moments.n for share, moments in parts), mean, spread)
