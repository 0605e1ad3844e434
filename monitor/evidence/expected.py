"""What is expected of a day: level, weekday, likeness of neighbours, tails, from the last 56 days.

All series at once: arrays have the shape (days, series) or (series,).
"""

from dataclasses import dataclass

import numpy as np

from monitor.core.typing import Bools, Floats, Ints
from monitor.measures.catalogue.daily import REMEMBERED

FEWEST = 14  # learned days, below which nothing is judged
HALF_LIFE = 21.0  # days, after which a day weighs half
PSEUDO = 14.0  # days that what is expected of all series weighs
HEAVY = 6.0  # excess kurtosis of Student's t with 5 degrees of freedom
LIKE = (0.5, 0.25)  # likeness of neighbouring days that is expected of effects of days, at lags 1 and 2
CLIPPED = 4.0  # standard deviations
_WEEK = 7
_SMALL = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class LearnedDays:
    """What the days before say.

    Parameters
    ----------
    days
        int64, shape (days,): ascending.
    values
        shape (days, series): learned values; NaN: none.
    samples
        shape (days, series): sample sizes.
    kind
        int64, shape (series,): series of a kind inform one another.
    sampled
        shape (series,): 1 where the sampling variance is 1/n, else 0.
    least
        shape (series,): smallest standard deviation that is believed.
    """

    days: Ints
    values: Floats
    samples: Floats
    kind: Ints
    sampled: Floats
    least: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What is expected of a day, by series.

    Parameters
    ----------
    days
        learned ones; below 14 of them the other fields mean nothing.
    level
        of this weekday.
    deviation
        standard deviation of the day's value.
    surprise
        of the day's value: standard normal if nothing changed; NaN: no value, or too few days.
    effect
        share of a day's variance that is not sampling's: days differ by themselves.
    slowness
        how much harder a lasting change is to see than in independent days: √((1 + r)/(1 - r)) of an
        AR(1) with autocorrelation r.
    """

    days: Ints
    level: Floats
    deviation: Floats
    surprise: Floats
    effect: Floats
    slowness: Floats


def expect(learned: LearnedDays, day: int, value: Floats, sample: Floats, before: Floats) -> Expectation:
    """What is expected of a day's values, and how surprising they are.

    Parameters
    ----------
    value, sample
        shape (series,): of the day; NaN: none.
    before
        shape (2, series): values of the day before, and of that before it; NaN: none.
    """
    has = np.isfinite(learned.values)
    count = has.sum(axis=0)
    middle = _medians(learned.samples, has)
    scale = _scales(learned.samples, middle)
    recent = np.exp2(-(day - learned.days) / HALF_LIFE)[:, None]
    weight = np.where(has, recent / scale, 0.0)
    values = np.where(has, learned.values, 0.0)
    level = (weight * values).sum(axis=0) / np.maximum(weight.sum(axis=0), _SMALL)
    week = _weekdays(learned, weight, np.where(has, values - level, 0.0))
    offsets, used = week.offsets, week.used
    residual = np.where(has, (values - level - offsets[learned.days % _WEEK]) / np.sqrt(scale), 0.0)
    freedom = np.maximum(count - 1 - used, 1.0)
    variance = np.square(residual).sum(axis=0) / freedom
    sampling = learned.sampled / np.maximum(middle, 1.0)
    variance = np.maximum(variance, np.maximum(sampling, np.square(learned.least)))
    effect = np.clip(1.0 - sampling / np.maximum(variance, _SMALL), 0.0, 1.0)
    judged = count >= FEWEST
    likeness = _likeness(learned, residual, has, used, effect, judged)
    today = _scales(sample, middle)
    here = level + offsets[day % _WEEK]
    spread = np.sqrt(np.maximum(variance, _SMALL))
    around = [(before[lag] - level - offsets[(day - 1 - lag) % _WEEK]) / spread for lag in (0, 1)]
    around = [np.where(np.isfinite(one), np.clip(one, -CLIPPED, CLIPPED), np.nan) for one in around]
    carried, left, passed = _carried(likeness, around)
    error = week.error(day, weight, scale)
    whitened = ((value - here) / (spread * np.sqrt(today)) - carried) / np.sqrt(left * (1.0 + error))
    tails = _tails(learned.kind, residual / spread, has, effect, judged)
    surprise = normal_scores(whitened, 1.0 / (1.0 / freedom + tails))
    return Expectation(
        days=count,
        level=here,
        deviation=spread * np.sqrt(today),
        surprise=np.where(judged & np.isfinite(value), surprise, np.nan),
        effect=effect,
        slowness=passed,
    )


def normal_scores(t: Floats, freedom: Floats) -> Floats:
    """Standard normal quantile of a Student t: closely [1]_, and finite however far out.

    References
    ----------
    .. [1] Wallace (1959). Bounds on normal approximations to Student's and the chi-square distributions.
       Ann. Math. Statist. 30:1121.
    """
    with np.errstate(invalid="ignore"):
        far = np.sqrt(freedom * np.log1p(np.square(t) / freedom))
        return np.sign(t) * (8 * freedom + 1) / (8 * freedom + 3) * far


@dataclass(frozen=True, slots=True, eq=False)
class _Week:
    """Offsets of weekdays: shape (7, series); how many numbers they cost; how far each follows its days."""

    offsets: Floats
    used: Floats
    follows: Floats
    weekday: Ints

    def error(self, day: int, weight: Floats, scale: Floats) -> Floats:
        """Variance of what is expected of a day, in units of a day's own."""
        square = np.square(weight) * scale
        whole = square.sum(axis=0) / np.maximum(np.square(weight.sum(axis=0)), _SMALL)
        same = self.weekday == day % _WEEK
        own = square[same].sum(axis=0) / np.maximum(np.square(weight[same].sum(axis=0)), _SMALL)
        follows = self.follows[day % _WEEK]
        error: Floats = whole + np.square(follows) * np.maximum(own - whole, 0.0)
        return error


def _weekdays(learned: LearnedDays, weight: Floats, away: Floats) -> _Week:
    """Weekday's offsets, shrunk by how much weekdays differ: of the series, and of all of its kind."""
    weekday = learned.days % _WEEK
    held = [weekday == each for each in range(_WEEK)]
    mass = np.stack([weight[same].sum(axis=0) for same in held])
    means = np.stack([(weight[same] * away[same]).sum(axis=0) for same in held]) / np.maximum(mass, _SMALL)
    there = mass > 0
    groups = there.sum(axis=0)
    count = (weight > 0).sum(axis=0)
    between = (mass * np.square(means)).sum(axis=0) / np.maximum(groups - 1, 1)
    inside = (weight * np.square(away - means[weekday])).sum(axis=0) / np.maximum(count - groups, 1)
    plain = (weight * np.square(away)).sum(axis=0) / np.maximum(count - 1, 1)
    ratio = np.where(plain > _SMALL, between / np.maximum(inside, _SMALL * np.maximum(plain, _SMALL)), 1.0)
    ratio = np.minimum(ratio, 1e3)
    ratio = (ratio + _by_kind(learned.kind, ratio, count >= FEWEST)) / 2
    usual = mass.sum(axis=0) / np.maximum(groups, 1)
    with np.errstate(divide="ignore"):
        shrunk = np.where(ratio > 1, usual / np.maximum(ratio - 1, _SMALL), np.inf)
    follows = np.where(there, mass / np.maximum(mass + shrunk, _SMALL), 0.0)
    used = follows.sum(axis=0) * (_WEEK - 1) / _WEEK
    return _Week(follows * means, used, follows, weekday)


def _likeness(
    learned: LearnedDays, residual: Floats, has: Bools, used: Floats, effect: Floats, judged: Bools
) -> tuple[Floats, Floats]:
    """Autocorrelations at lags 1 and 2: own ones, drawn to those of the kind, never below them."""
    span = REMEMBERED + 1
    at = learned.days - learned.days[-1] + span - 1 if len(learned.days) else learned.days
    dense, there = np.zeros((span, residual.shape[1])), np.zeros((span, residual.shape[1]), dtype=bool)
    dense[at], there[at] = residual, has
    count = np.maximum(has.sum(axis=0), 1)
    power = np.square(dense).sum(axis=0) / count
    found = []
    for lag, least in zip((1, 2), LIKE, strict=True):
        pairs = (there[lag:] & there[:-lag]).sum(axis=0)
        product = (dense[lag:] * dense[:-lag]).sum(axis=0) / np.maximum(pairs, 1)
        own = (
            np.where(power > _SMALL**2, product / np.maximum(power, _SMALL**2), 0.0) + (1 + used / 2) / count
        )
        pooled = np.maximum(_by_kind(learned.kind, own, judged), 0.0)
        prior = np.maximum(pooled, least * effect)
        drawn = (pairs * own + PSEUDO * prior) / (pairs + PSEUDO)
        found.append(np.clip(np.maximum(drawn, pooled), 0.0, 0.98))
    return found[0], found[1]


def yule_walker(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """AR(2) of two autocorrelations: both coefficients, and the share of the variance that is left."""
    second = np.maximum(second, 2 * np.square(first) - 1 + 0.02)  # within the triangle of stationarity
    rest = 1 - np.square(first)
    one, two = first * (1 - second) / rest, (second - np.square(first)) / rest
    return one, two, np.clip(1 - one * first - two * second, 0.02, 1.0)


def _carried(likeness: tuple[Floats, Floats], around: list[Floats]) -> tuple[Floats, Floats, Floats]:
    """What the two days before let expect, the share of the variance that is left, and the slowness."""
    first, second = likeness
    one, two, left = yule_walker(first, second)
    has = [np.isfinite(each) for each in around]
    near, far = (np.where(there, each, 0.0) for there, each in zip(has, around, strict=True))
    cases = [has[0] & has[1], has[0], has[1]]
    carried = np.select(cases, [one * near + two * far, first * near, second * far], 0.0)
    share = np.select(cases, [left, 1 - np.square(first), 1 - np.square(second)], 1.0)
    return carried, share, np.sqrt(left) / np.maximum(1 - one - two, 0.02)


def _tails(kind: Ints, residual: Floats, has: Bools, effect: Floats, judged: Bools) -> Floats:
    """One by the freedom of Student's t that is as heavy as the days: heavy until they show otherwise."""
    count = np.maximum(has.sum(axis=0), 1)
    second = np.square(residual).sum(axis=0) / count
    fourth = np.square(np.square(residual)).sum(axis=0) / count
    own = np.where(second > _SMALL, fourth / np.maximum(np.square(second), _SMALL), 3.0) - 3.0
    own = np.maximum(own, _by_kind(kind, own, judged))
    excess = (count * own + PSEUDO * HEAVY * np.square(effect)) / (count + PSEUDO)
    excess = np.maximum(excess, 0.0)
    rarer: Floats = excess / (4 * excess + 6)
    return rarer


def _by_kind(kind: Ints, value: Floats, judged: Bools) -> Floats:
    """Mean over the judged series of each series' kind; 0 without any."""
    count = np.bincount(kind, judged)
    total = np.bincount(kind, np.where(judged, value, 0.0))
    mean: Floats = (total / np.maximum(count, 1))[kind]
    return mean


def _medians(samples: Floats, has: Bools) -> Floats:
    """Median sample size of the learned days; 1 without any."""
    if not has.any():
        return np.ones(samples.shape[1])
    ordered = np.sort(np.where(has, samples, np.inf), axis=0)
    count = has.sum(axis=0)
    last = len(ordered) - 1
    low, high = (np.clip(at, 0, last) for at in ((count - 1) // 2, count // 2))
    columns = np.arange(samples.shape[1])
    both = (ordered[low, columns] + ordered[high, columns]) / 2
    return np.where((count > 0) & (both > 0) & np.isfinite(both), both, 1.0)


def _scales(samples: Floats, middle: Floats) -> Floats:
    """Variance of a day of so many records, in units of a usual day's: half of it is the day's own."""
    usable = np.where(np.isfinite(samples) & (samples > 0), samples, middle)
    return 0.5 + 0.5 * middle / usable
