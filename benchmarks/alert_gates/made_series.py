"""Days without any change, or with one: numbers as `evidence.day_values` makes them, without any rows.

A number of n records is 19 independent sums: level, spread, skew and 16 that make up its shape. Each varies
by 1/n from sampling, and by days: effects with autocorrelation, part of which all numbers share.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats
from monitor.evidence.day_record import DayRecord, DayValues
from monitor.evidence.judging import AlertBudget, JudgedDay, judge_day
from monitor.evidence.watch import (
    FAULTS_SHARE,
    GROUP_SHARES,
    RESIDUALS,
    STATISTIC_SHARES,
    DailyStatistic,
    SubjectGroup,
    Watch,
    WatchedFault,
    WatchedSeries,
)
from monitor.records.pane import PaneHalf

SUMS = 19
LEVELS = 5  # of a category
SHAPED = (DailyStatistic.LEVEL, DailyStatistic.SPREAD, DailyStatistic.SKEW, DailyStatistic.SHAPE)
_USUAL_SHARES = np.asarray([0.4, 0.3, 0.16, 0.1, 0.04])


@dataclass(frozen=True)
class Noise:
    """How days differ where nothing happens.

    Parameters
    ----------
    sd
        of the effect of a day on the level, in standard deviations of the records: the median of the
        numbers'. On the spread half of it, on the skew a third, and so on.
    design
        design effect 1 + sd²·n of all sums alike; 0: `sd` holds.
    likeness
        autocorrelation at lag 1 of the effects of days.
    common
        share of their variance that all numbers have in common.
    weekend
        days that have half of the records, and numbers of their own.
    heavy
        effects of days are Student's t with 4 degrees of freedom.
    walk
        standard deviation a day of a random walk of level, spread and skew.
    """

    name: str
    sd: float = 0.0
    design: float = 0.0
    likeness: float = 0.3
    common: float = 0.3
    weekend: bool = False
    heavy: bool = False
    walk: float = 0.0


@dataclass(frozen=True)
class Change:
    """What happens to the first number, or to the first category, from a day on."""

    day: int
    level: float = 0.0  # in standard deviations
    widens: float = 0.0  # factor of the standard deviation less 1
    stuck: float = 0.0  # share of the records at one value
    share: float = 1.0  # factor of the fourth level's share


def watch(features: int) -> Watch:
    """A model of so many features, every fifth a category, with a score, performance, faults."""
    categories = features // 5
    numbers = features - categories
    each = GROUP_SHARES[SubjectGroup.FEATURE] / features
    series: list[WatchedSeries] = []
    for subject in range(numbers):
        series += [WatchedSeries(subject, trait, 0, each * STATISTIC_SHARES[trait]) for trait in SHAPED]
    for subject in range(numbers, features):
        weight = each * STATISTIC_SHARES[DailyStatistic.SHARE] / LEVELS
        series += [WatchedSeries(subject, DailyStatistic.SHARE, 0, weight, cell) for cell in range(LEVELS)]
    score, performance, records = features, features + 1, features + 2
    series += [
        WatchedSeries(score, trait, 0, GROUP_SHARES[SubjectGroup.SCORE] * STATISTIC_SHARES[trait])
        for trait in SHAPED
    ]
    series += [
        WatchedSeries(performance, trait, 1, GROUP_SHARES[SubjectGroup.PERFORMANCE] * STATISTIC_SHARES[trait])
        for trait in RESIDUALS
    ]
    series.append(WatchedSeries(records, DailyStatistic.RECORDS, 0, GROUP_SHARES[SubjectGroup.RECORDS]))
    faults = [
        WatchedFault(subject, fault, FAULTS_SHARE / 2 / features / 2, least)
        for subject in range(features)
        for fault, least in (("missing", 0.05), ("invalid", 0.01))
    ]
    names = [f"feature:{at}" for at in range(features)]
    groups = [SubjectGroup.FEATURE] * features
    return Watch(
        PaneHalf.RECORDS,
        (*names, "score", "performance", "records"),
        (*groups, SubjectGroup.SCORE, SubjectGroup.PERFORMANCE, SubjectGroup.RECORDS),
        tuple(series),
        tuple(faults),
        2,
        {},
    )


def days(
    features: int,
    noise: Noise,
    records: int,
    length: int,
    rng: np.random.Generator,
    change: Change | None = None,
) -> Iterator[DayValues]:
    """Days of such a model."""
    categories = features // 5
    numbers = features - categories + 1  # the score is one
    n = np.full(length, float(records))
    weekend = np.arange(length) % 7 >= 5
    if noise.weekend:
        n[weekend] *= 0.5
    sd = _sds(noise, records, numbers, rng)
    sums = rng.normal(size=(length, numbers, SUMS)) / np.sqrt(n)[:, None, None]
    fades = np.ones(SUMS) if noise.design else 1 / np.arange(1, SUMS + 1)
    sums += sd[:, None] * fades * _effects(noise, length, (numbers, SUMS), rng)
    if noise.weekend:
        sums[weekend] += rng.normal(0, 0.1, (numbers, SUMS)) / np.arange(1, SUMS + 1)
    sums[:, :, :3] += noise.walk * np.cumsum(rng.normal(size=(length, numbers, 3)), axis=0)
    shares = _shares(noise, categories, n, records, rng)
    worse = rng.normal(size=(length, 2)) / np.sqrt(n[:, None] / 8) + 0.1 * _sds(noise, records, 1, rng)
    worse += _effects(noise, length, (2,), rng) * _sds(noise, records, 2, rng)
    count = n * np.exp(rng.normal(0, 0.05, length))
    if change is not None:
        _apply(change, sums, shares)
    rates = np.where(rng.random(2 * features) < 0.2, 0.003, 0.0)
    for day in range(length):
        shape = np.cbrt(np.square(sums[day, :, 3:]).sum(axis=1))
        values = np.column_stack([sums[day, :, :3], shape])
        yield DayValues(
            20_000 - 20_000 % 7 + day,
            np.concatenate(
                [
                    values[1:].ravel(),
                    shares[day].ravel(),
                    values[0],
                    [-1.2 + worse[day, 0], 0.45 + 0.5 * worse[day, 1]],
                    [np.log(count[day])],
                ]
            ).astype(np.float32),
            np.asarray([n[day], n[day] / 8], dtype=np.float32),
            rng.binomial(int(n[day]), rates * rng.gamma(4.0, 0.25, len(rates))).astype(np.int32),
            np.full(len(rates), n[day], dtype=np.int32),
        )


def run(of: Watch, made: Iterator[DayValues], budget: AlertBudget) -> Iterator[JudgedDay]:
    """Judge day after day."""
    rows: list[DayRecord] = []
    for day in made:
        judged = judge_day(of, rows[-56:], day, budget=budget)
        rows.append(judged.record)
        yield judged


def begun(of: Watch, judged: JudgedDay) -> list[str]:
    """Subjects whose alert begins on the day."""
    row = judged.record
    return [of.subjects[at] for at in np.flatnonzero((row.since > 0) & (row.evidence_from == row.day))]


def _sds(noise: Noise, records: int, numbers: int, rng: np.random.Generator) -> Floats:
    if noise.design:
        return np.full(numbers, np.sqrt((noise.design - 1) / records))
    return noise.sd * np.exp(rng.normal(0, 0.5, numbers))


def _effects(noise: Noise, length: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Effects of days with variance 1."""
    own = _alike(noise, length, shape, rng)
    common = _alike(noise, length, (1,) * (len(shape) - 1) + shape[-1:], rng)
    return np.sqrt(noise.common) * common + np.sqrt(1 - noise.common) * own


def _alike(noise: Noise, length: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    if noise.heavy:
        shocks = rng.standard_t(4, (length + 50, *shape)) / np.sqrt(2)
    else:
        shocks = rng.normal(size=(length + 50, *shape))
    left = np.sqrt(1 - noise.likeness**2)
    for day in range(1, len(shocks)):
        shocks[day] = noise.likeness * shocks[day - 1] + left * shocks[day]
    return shocks[50:]


def _shares(noise: Noise, categories: int, n: Floats, records: int, rng: np.random.Generator) -> Floats:
    usual = 2 * np.arcsin(np.sqrt(_USUAL_SHARES))
    length = len(n)
    drawn = usual + rng.normal(size=(length, categories, LEVELS)) / np.sqrt(n)[:, None, None]
    effects = _effects(noise, length, (categories, LEVELS), rng)
    return np.clip(drawn + _sds(noise, records, categories, rng)[:, None] * effects, 0.0, np.pi)


def _apply(change: Change, sums: Floats, shares: Floats) -> None:
    """Shift what a change shifts, in the numbers' own terms."""
    after = slice(change.day, None)
    sums[after, 1, 0] += change.level
    if change.level:
        sums[after, 1, 1] += change.level**2 / np.sqrt(2)
    sums[after, 1, 1] += ((1 + change.widens) ** 2 - 1) / np.sqrt(2)
    if change.stuck:  # at a value 1.5 standard deviations up, in one of 20 cells
        sums[after, 1, 0] += change.stuck * 1.5
        sums[after, 1, 1] += change.stuck * 1.25 / np.sqrt(2)
        sums[after, 1, 3] += change.stuck * np.sqrt(19 - 1.5**2 - 0.8)
    if change.share != 1.0:
        share = np.minimum(_USUAL_SHARES[2] * change.share, 1.0)
        shares[after, 0, 2] += 2 * np.arcsin(np.sqrt(share)) - 2 * np.arcsin(np.sqrt(_USUAL_SHARES[2]))
