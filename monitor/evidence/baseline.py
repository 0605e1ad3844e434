"""What is expected of a day: level, weekday, likeness of neighbours, tails, from the last 56 days.

All series at once: arrays have the shape (days, series) or (series,).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Bools, Floats, Ints
from monitor.evidence.day_record import DayRecord
from monitor.evidence.watch import STATISTICS, DailyStatistic, Watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS, REMEMBERED_DAYS

HALF_LIFE = 21.0  # days, after which a day weighs half
PSEUDO_DAYS = 14.0  # days that what is expected of all series weighs
HEAVY_TAILS = 6.0  # excess kurtosis of Student's t with 5 degrees of freedom
# Correlation of neighbouring days that is expected of effects of days, at lags 1 and 2.
LEAST_AUTOCORRELATION = (0.5, 0.25)
CLIP_DEVIATIONS = 4.0  # standard deviations
_BELIEVED = 0.1  # of the smallest size that is told: no smaller deviation of days is believed
_WEEK = 7
_SMALL = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class PastDays:
    """Records of the days before, one below the other: arrays of shape (days, …)."""

    days: Ints
    values: Floats
    learned: Floats
    samples: Floats
    hits: Ints
    trials: Ints
    # of each subject: days that are learned from: no change stood on them, and none was taken for what is
    # expected after them.
    usable: Bools
    # of each series: days of a change that may have begun. They are not learned from while that is open,
    # unless fewer than 14 days were left: else a change would be what is expected before it is found.
    suspected: Bools

    @classmethod
    def from_records(cls, watch: Watch, records: Sequence[DayRecord], suspected: Bools) -> "PastDays":
        """Arrays of records, oldest first."""

        def stacked(name: str, width: int, kind: Any) -> NDArray[Any]:
            arrays = [getattr(record, name) for record in records]
            return np.stack(arrays).astype(kind) if arrays else np.empty((0, width), dtype=kind)

        days = np.asarray([record.day for record in records], dtype=np.int64)
        series, faults = len(watch.series), len(watch.faults)
        return cls(
            days,
            stacked("values", series, np.float64),
            stacked("learned", series, np.float64),
            stacked("samples", watch.sample_count, np.float64),
            stacked("hits", faults, np.int64),
            stacked("trials", faults, np.int64),
            _usable_days(days, records, len(watch.subjects)),
            suspected,
        )

    def learned_days(self, watch: Watch) -> "LearnedDays":
        """What each series is learned from."""
        learned = np.where(self.usable[:, watch.series_subject], self.learned, np.nan)
        unsuspected = np.where(self.suspected, np.nan, learned)
        enough = np.isfinite(unsuspected).sum(axis=0) >= FEWEST_DAYS
        return LearnedDays(
            self.days,
            np.where(enough, unsuspected, learned),
            self.samples[:, watch.series_sample],
            watch.series_statistic,
            watch.has_sampling_variance,
            _BELIEVED * watch.smallest_size,
        )

    def usually_empty(self, watch: Watch) -> Bools:
        """Numbers of records that are 0 on half of the days: of a log in bursts none of them is unusual."""
        if not len(self.days):
            return np.zeros(len(watch.series), dtype=np.bool_)
        usual = np.median(self.samples, axis=0)[watch.series_sample]
        empty: Bools = (watch.series_statistic == STATISTICS.index(DailyStatistic.RECORDS)) & (usual < 1)
        return empty

    def values_days_back(self, day: int, days: int) -> Floats:
        """Values so many days before a day; NaN where there are none."""
        at = np.flatnonzero(self.days == day - days)
        return self.values[at[0]] if len(at) else np.full(self.values.shape[1], np.nan)


def _usable_days(days: Ints, records: Sequence[DayRecord], subjects: int) -> Bools:
    if not records:
        return np.ones((0, subjects), dtype=np.bool_)
    learned_from = records[-1].learned_from
    since = np.stack([record.since for record in records])
    # A change makes its days unusable from its first one on, though it is found later.
    first = np.where(since > learned_from, since, days[:, None] + 1)
    usable: Bools = days[:, None] < np.minimum.accumulate(first[::-1])[::-1]
    return usable & (days[:, None] >= learned_from)


@dataclass(frozen=True, slots=True, eq=False)
class LearnedDays:
    """What the days before say."""

    days: Ints  # int64, shape (days,): ascending
    values: Floats  # shape (days, series): learned values; NaN: none
    samples: Floats  # shape (days, series): sample sizes
    statistic: Ints  # int64, shape (series,): series of one statistic inform one another
    sampled: Floats  # shape (series,): 1 where the sampling variance is 1/n, else 0
    least: Floats  # shape (series,): smallest standard deviation that is believed


@dataclass(frozen=True, slots=True, eq=False)
class DayExpectation:
    """What is expected of a day, by series."""

    days: Ints  # learned ones; below 14 of them the other fields mean nothing
    level: Floats  # of this weekday
    deviation: Floats  # standard deviation of the day's value
    surprise: Floats  # of the day's value: standard normal if nothing changed; NaN: no value, or too few days
    effect: Floats  # share of a day's variance that is not sampling's: days differ by themselves
    # how much harder a lasting change is to see than in independent days: √((1 + r)/(1 - r)) of an AR(1) with
    # autocorrelation r.
    slowness: Floats


def expect_day(
    learned: LearnedDays, day: int, value: Floats, sample: Floats, before: Floats
) -> DayExpectation:
    """What is expected of a day's values, and how surprising they are.

    Parameters
    ----------
    value, sample
        shape (series,): of the day; NaN: none.
    before
        shape (2, series): values of the day before, and of that before it; NaN: none.
    """
    has = np.isfinite(learned.values)
    days = has.sum(axis=0)
    judged = days >= FEWEST_DAYS
    usual_sample = _median_samples(learned.samples, has)
    scale = _variance_scales(learned.samples, usual_sample)

    # The level: a mean of the learned days. One of 21 days ago weighs half, one of few records less.
    recency = np.exp2(-(day - learned.days) / HALF_LIFE)[:, None]
    weight = np.where(has, recency / scale, 0.0)
    values = np.where(has, learned.values, 0.0)
    level = (weight * values).sum(axis=0) / np.maximum(weight.sum(axis=0), _SMALL)

    # Weekdays differ from it, as far as they surely do.
    week = _weekday_offsets(learned, weight, np.where(has, values - level, 0.0))
    offsets = week.offsets
    expected = level + offsets[day % _WEEK]

    # What is left varies: at least as sampling makes it, and by the least that is believed of a series.
    residual = np.where(has, (values - level - offsets[learned.days % _WEEK]) / np.sqrt(scale), 0.0)
    # The level costs one number, the offsets as many as they follow their days.
    freedom = np.maximum(days - 1 - week.used, 1.0)
    variance = np.square(residual).sum(axis=0) / freedom
    sampling = learned.sampled / np.maximum(usual_sample, 1.0)
    variance = np.maximum(variance, np.maximum(sampling, np.square(learned.least)))
    effect = np.clip(1.0 - sampling / np.maximum(variance, _SMALL), 0.0, 1.0)
    spread = np.sqrt(np.maximum(variance, _SMALL))
    deviation = spread * np.sqrt(_variance_scales(sample, usual_sample))

    # Neighbouring days are alike: part of what the two days before were off by is expected of this one too.
    correlation = _autocorrelations(learned, residual, has, week.used, effect, judged)
    neighbours = [(before[lag] - level - offsets[(day - 1 - lag) % _WEEK]) / spread for lag in (0, 1)]
    neighbours = [
        np.where(np.isfinite(one), np.clip(one, -CLIP_DEVIATIONS, CLIP_DEVIATIONS), np.nan)
        for one in neighbours
    ]
    carried, left, slowness = _carry_over(correlation, neighbours)

    # The surprise: a Student's t whose tails are as heavy as the days', made standard normal.
    error = week.expectation_variance(day, weight, scale)
    # Neighbours take a part of the variance away; that of what is expected itself comes on top.
    whitened = ((value - expected) / deviation - carried) / np.sqrt(left * (1.0 + error))
    tails = _inverse_freedom(learned.statistic, residual / spread, has, effect, judged)
    # Few days to learn from make tails heavy, and so do the days themselves: 1/freedom of both adds up.
    surprise = normal_scores(whitened, 1.0 / (1.0 / freedom + tails))
    return DayExpectation(
        days=days,
        level=expected,
        deviation=deviation,
        surprise=np.where(judged & np.isfinite(value), surprise, np.nan),
        effect=effect,
        slowness=slowness,
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
class _WeekdayOffsets:
    """Offsets of weekdays: shape (7, series); how many numbers they cost; how far each follows its days."""

    offsets: Floats
    used: Floats
    follows: Floats
    weekday: Ints

    def expectation_variance(self, day: int, weight: Floats, scale: Floats) -> Floats:
        """Variance of what is expected of a day, in units of a day's own."""
        square = np.square(weight) * scale
        whole = square.sum(axis=0) / np.maximum(np.square(weight.sum(axis=0)), _SMALL)
        same = self.weekday == day % _WEEK
        own = square[same].sum(axis=0) / np.maximum(np.square(weight[same].sum(axis=0)), _SMALL)
        follows = self.follows[day % _WEEK]
        error: Floats = whole + np.square(follows) * np.maximum(own - whole, 0.0)
        return error


def _weekday_offsets(learned: LearnedDays, weight: Floats, away: Floats) -> _WeekdayOffsets:
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
    # F, the variance between weekdays by that within them: about 1 if they do not differ. Half its own and
    # half that of its kind, as eight of each weekday say little.
    ratio = np.where(plain > _SMALL, between / np.maximum(inside, _SMALL * np.maximum(plain, _SMALL)), 1.0)
    ratio = np.minimum(ratio, 1e3)
    ratio = (ratio + _mean_by_statistic(learned.statistic, ratio, count >= FEWEST_DAYS)) / 2
    usual = mass.sum(axis=0) / np.maximum(groups, 1)
    with np.errstate(divide="ignore"):
        # Credibility of a mean of mass m is m / (m + k), k the variance within by that between: usual mass /
        # (F - 1).
        shrunk = np.where(ratio > 1, usual / np.maximum(ratio - 1, _SMALL), np.inf)
    follows = np.where(there, mass / np.maximum(mass + shrunk, _SMALL), 0.0)
    # Seven offsets from one level are six numbers.
    used = follows.sum(axis=0) * (_WEEK - 1) / _WEEK
    return _WeekdayOffsets(follows * means, used, follows, weekday)


def _autocorrelations(
    learned: LearnedDays, residual: Floats, has: Bools, used: Floats, effect: Floats, judged: Bools
) -> tuple[Floats, Floats]:
    """Autocorrelations at lags 1 and 2: own ones, drawn to those of the kind, never below them."""
    span = REMEMBERED_DAYS + 1
    at = learned.days - learned.days[-1] + span - 1 if len(learned.days) else learned.days
    dense, there = np.zeros((span, residual.shape[1])), np.zeros((span, residual.shape[1]), dtype=bool)
    dense[at], there[at] = residual, has
    count = np.maximum(has.sum(axis=0), 1)
    power = np.square(dense).sum(axis=0) / count
    found = []
    for lag, least in zip((1, 2), LEAST_AUTOCORRELATION, strict=True):
        pairs = (there[lag:] & there[:-lag]).sum(axis=0)
        product = (dense[lag:] * dense[:-lag]).sum(axis=0) / np.maximum(pairs, 1)
        # What is left of days by whose own mean and offsets they were judged looks less alike than the days
        # are, by about 1/n for the level: that is added again.
        alike = np.where(power > _SMALL**2, product / np.maximum(power, _SMALL**2), 0.0)
        own = alike + (1 + used / 2) / count
        pooled = np.maximum(_mean_by_statistic(learned.statistic, own, judged), 0.0)
        prior = np.maximum(pooled, least * effect)
        shrunk = (pairs * own + PSEUDO_DAYS * prior) / (pairs + PSEUDO_DAYS)
        found.append(np.clip(np.maximum(shrunk, pooled), 0.0, 0.98))
    return found[0], found[1]


def yule_walker(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """AR(2) of two autocorrelations: both coefficients, and the share of the variance that is left."""
    second = np.maximum(second, 2 * np.square(first) - 1 + 0.02)  # within the triangle of stationarity
    rest = 1 - np.square(first)
    one, two = first * (1 - second) / rest, (second - np.square(first)) / rest
    return one, two, np.clip(1 - one * first - two * second, 0.02, 1.0)


def _carry_over(correlation: tuple[Floats, Floats], around: list[Floats]) -> tuple[Floats, Floats, Floats]:
    """What the two days before let expect, the share of the variance that is left, and the slowness."""
    first, second = correlation
    one, two, left = yule_walker(first, second)
    has = [np.isfinite(each) for each in around]
    near, far = (np.where(there, each, 0.0) for there, each in zip(has, around, strict=True))
    # Where one of both days has no value, the other is carried over alone by its own correlation.
    cases = [has[0] & has[1], has[0], has[1]]
    carried = np.select(cases, [one * near + two * far, first * near, second * far], 0.0)
    share = np.select(cases, [left, 1 - np.square(first), 1 - np.square(second)], 1.0)
    return carried, share, np.sqrt(left) / np.maximum(1 - one - two, 0.02)


def _inverse_freedom(statistic: Ints, residual: Floats, has: Bools, effect: Floats, judged: Bools) -> Floats:
    """One by the freedom of Student's t that is as heavy as the days: heavy until they show otherwise."""
    count = np.maximum(has.sum(axis=0), 1)
    second = np.square(residual).sum(axis=0) / count
    fourth = np.square(np.square(residual)).sum(axis=0) / count
    own = np.where(second > _SMALL, fourth / np.maximum(np.square(second), _SMALL), 3.0) - 3.0
    own = np.maximum(own, _mean_by_statistic(statistic, own, judged))
    # Only the days' own part of the variance has heavy tails; of fourth powers it is the square of its share.
    excess = (count * own + PSEUDO_DAYS * HEAVY_TAILS * np.square(effect)) / (count + PSEUDO_DAYS)
    excess = np.maximum(excess, 0.0)
    # Student's t has the excess kurtosis 6 / (freedom - 4).
    rarer: Floats = excess / (4 * excess + 6)
    return rarer


def _mean_by_statistic(statistic: Ints, value: Floats, judged: Bools) -> Floats:
    """Mean over the judged series of each series' kind; 0 without any."""
    count = np.bincount(statistic, judged)
    total = np.bincount(statistic, np.where(judged, value, 0.0))
    mean: Floats = (total / np.maximum(count, 1))[statistic]
    return mean


def _median_samples(samples: Floats, has: Bools) -> Floats:
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


def _variance_scales(samples: Floats, middle: Floats) -> Floats:
    """Variance of a day of so many records, in units of a usual day's: half of it is the day's own."""
    usable = np.where(np.isfinite(samples) & (samples > 0), samples, middle)
    return 0.5 + 0.5 * middle / usable
