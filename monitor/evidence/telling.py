"""What is told of each subject of a judged day: plain numbers, or the reason why there are none."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from monitor.core.typing import Floats, Ints
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.expected import FEWEST
from monitor.evidence.judging import MONTH, AlertBudget, Judged
from monitor.evidence.making import FEWEST_RECORDS
from monitor.evidence.sizes import floors, index, plain, sizes
from monitor.evidence.standing import WeighedEvidence
from monitor.evidence.watched import KINDS, Trait, Watch, WatchGroup

_WEEK = 7
_MUCH = 2  # times the smallest size that is told
_BAND = 2.0  # standard deviations
_FITS, _NEAR = 0.1, 1.0  # sd by which a day's mean may differ from its level; a mean of days from usual ones
_LARGEST = 1e6  # of evidence that is told: more says no more


class NotJudged(StrEnum):
    """Why the series of a subject were not judged on a day. Its faults are judged all the same."""

    LEARNING = "learning"
    TOO_FEW = "too_few"
    NO_RECORDS = "no_records"
    UNDEFINED = "undefined"
    UNUSUAL = "unusual"
    NOT_FOLLOWED = "not_followed"
    NOT_CHOSEN = "not_chosen"


@dataclass(frozen=True, slots=True)
class Means:
    """Means of a number that changed, in its own unit: as it is, whatever its level is clipped to.

    Parameters
    ----------
    mean, deviation
        of the numbers of usual days.
    level
        of those days.
    now
        mean of the judged day; None: not known.
    """

    mean: float
    deviation: float
    level: float = 0.0
    now: float | None = None

    def at(self, level: float) -> float:
        """Mean of a day that is expected to have a level."""
        return self.mean + (level - self.level) * self.deviation

    def of_several(self, level: float, several: float) -> "Means | None":
        """What levels of several days mean; None: numbers of the judged day, or of others, may be clipped."""
        off = math.inf if self.now is None or abs(several - self.level) > _NEAR else self.at(level) - self.now
        return replace(self, now=None) if abs(off) <= _FITS * self.deviation else None


KnownMeans: TypeAlias = tuple[Mapping[str, Means], Mapping[str, float]]
"""Of usual days of the numbers whose changes stand, and of the judged day, by subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is said of a subject on a day. Nothing in it is NaN or infinite.

    Parameters
    ----------
    subject, group
        as in the watch.
    evidence
        as a multiple of what an alert needs: above 1 if, and only if, a change stands; then that with which
        it was found.
    apparent
        of the day, without regard to the size: above 1 it is evident, but too small to be told.
    stands, begins
        a change stands; it was found on this day.
    since
        first day of the change, in days since 1970-01-01; None: none is apparent, nor stands.
    usual_since
        first day of the change that no longer stands as it is what is expected now: it has not gone back.
    what
        trait or fault that has most of the evidence; None: nothing is judged.
    level
        name of the level, of a `share` or `base_rate`.
    rises
        the value is larger than expected.
    value
        as people read it: shares between 0 and 1, records, AUC, errors; of level, spread, skew in standard
        deviations of usual days, 0 being usual; of a shape χ².
    over
        days that the value is the mean of: 1, the day alone, where that lies outside of `expected`; 0: the
        day has none, and the value is that with which the change was found.
    expected
        the band of two standard deviations that such a weekday was expected in, in the same unit; of a fault
        from 0 to the largest share of the days before.
    in_unit
        of a level or spread: the mean, or about the standard deviation, in the numbers' own unit, and the
        band that was expected; None: not known, or cells are too coarse to tell them apart.
    size
        of the change, in the unit of `sizes.sizes`; of a fault its share. Positive.
    index
        what it is in the stability index; None of what has none.
    months
        by chance so much evidence is found once in so many months, at most; None: nothing is apparent.
    detectable
        smallest change that would be found within 7 days: a size, or what it is in the stability index; None:
        not yet known.
    drifts
        it is more than twice the smallest that is told: True, as days differ by themselves; False, as records
        are few; None: it is not.
    days
        learned days.
    unjudged
        why the series were not judged; None: some were.
    unvalued
        why its values were not, though perhaps how many of them are missing.
    missing
        share of the day's records without a value, and the largest one that was expected; None: not followed.
    """

    subject: str
    group: WatchGroup
    evidence: float
    apparent: float
    stands: bool
    begins: bool
    since: int | None
    usual_since: int | None
    what: str | None
    level: str
    rises: bool
    value: float | None
    expected: tuple[float, float] | None
    over: int
    in_unit: tuple[float, float, float] | None
    size: float
    index: float | None
    months: float | None
    detectable: float | None
    drifts: bool | None
    days: int
    unjudged: NotJudged | None
    unvalued: NotJudged | None
    missing: tuple[float, float] | None


def judgements(
    watch: Watch,
    judged: Judged,
    *,
    budget: AlertBudget,
    unusual: bool = False,
    means: KnownMeans = ({}, {}),
) -> list[Judgement]:
    """What is told of every subject, in the order of the watch."""
    apparent = _apparent(watch, judged)
    detectable = _detectable(watch, judged, budget)
    return [
        _judgement(watch, judged, subject, apparent, detectable, budget, unusual=unusual, means=means)
        for subject in range(len(watch.subjects))
    ]


def _judgement(
    watch: Watch,
    judged: Judged,
    subject: int,
    apparent: tuple[Floats, Ints],
    detectable: Mapping[int, tuple[float, bool | None]],
    budget: AlertBudget,
    *,
    unusual: bool,
    means: KnownMeans,
) -> Judgement:
    row = judged.row
    series = np.flatnonzero(watch.subject == subject)
    of_values = series[watch.kind[series] != KINDS.index(Trait.MISSING)]
    stands = bool(row.since[subject] > NEVER)
    evidence = min(float(row.evidence[subject]), _LARGEST)
    seen, by = (
        min(float(apparent[0][subject]), _LARGEST),
        int(row.by[subject] if stands else apparent[1][subject]),
    )
    shown, as_found = (evidence, float(row.size[subject])) if stands else (seen, 0.0)
    if by >= len(watch.series):
        said = _of_fault(watch, judged, by, as_found)
    else:
        said = _of_series(watch, judged, by, _means(watch, judged, subject, means, stands=stands), as_found)
    weight = float(watch.subject_weight[subject]) if by < len(watch.series) else _weight_of(watch, by)
    found = detectable.get(subject)
    return Judgement(
        subject=watch.subjects[subject],
        group=watch.groups[subject],
        evidence=evidence,
        apparent=seen,
        stands=stands,
        begins=stands and int(row.reset[subject]) == row.day,
        since=int(row.since[subject]) if stands else (said.since if seen > 1 else None),
        usual_since=int(judged.usual_since[subject]) or None,
        what=said.what,
        level=said.level,
        rises=said.rises,
        value=said.value,
        expected=said.expected,
        over=said.over,
        in_unit=said.in_unit,
        size=said.size,
        index=said.index,
        months=shown * budget.needed / (MONTH * weight) if shown > 0 and weight > 0 else None,
        detectable=None if found is None else found[0],
        drifts=None if found is None else found[1],
        days=int(judged.expectation.days[series].max(initial=0)),
        unjudged=_unjudged(watch, judged, series, unusual=unusual),
        unvalued=_unjudged(watch, judged, of_values, unusual=unusual)
        if watch.groups[subject] is not WatchGroup.LOG
        else None,
        missing=_missing(watch, judged, subject),
    )


def _missing(watch: Watch, judged: Judged, subject: int) -> tuple[float, float] | None:
    """Share that is missing, and what was expected at most, of the series or the fault that follows it."""
    missing = KINDS.index(Trait.MISSING)
    for at in np.flatnonzero((watch.subject == subject) & (watch.kind == missing)).tolist():
        now, expectation = float(judged.row.values[at]), judged.expectation
        _, usual = expected_band(float(expectation.level[at]), float(expectation.deviation[at]))
        known = np.isfinite([now, usual]).all()
        return (plain(Trait.MISSING, now), plain(Trait.MISSING, usual)) if known else None
    for at, fault in enumerate(watch.faults):
        if fault.subject == subject and fault.fault == Trait.MISSING:
            return float(judged.faults.share[at]), float(judged.faults.largest[at])
    return None


@dataclass(frozen=True, slots=True)
class _Said:
    since: int | None = None
    what: str | None = None
    level: str = ""
    rises: bool = True
    value: float | None = None
    expected: tuple[float, float] | None = None
    over: int = 1
    in_unit: tuple[float, float, float] | None = None
    size: float = 0.0
    index: float | None = None


def _means(watch: Watch, judged: Judged, subject: int, means: KnownMeans, *, stands: bool) -> Means | None:
    """What levels of a subject mean, of one that is as ever by the first days; None: it is not known."""
    (known, now), name = means, watch.subjects[subject]
    cells = watch.cells.get(name)
    usual = known.get(name)
    if not (stands or judged.usual_since[subject] or cells is None or not cells.deviation):
        usual = Means(cells.centre + cells.middle * cells.scale, cells.deviation * cells.scale)
    return replace(usual, now=now[name]) if usual is not None and name in now else None


def _of_series(watch: Watch, judged: Judged, at: int, means: Means | None, as_found: float) -> _Said:
    """A series on the day; of a day without a value, while the change stands, as it was found."""
    if at < 0:
        return _Said()
    one, row = watch.series[at], judged.row
    if judged.expectation.days[at] < FEWEST:
        return _Said(what=one.trait.value, level=one.level)
    level = float(judged.expectation.level[at])
    low, high = expected_band(level, float(judged.expectation.deviation[at]))
    side = int(np.argmax(judged.gathered.evidence[:, at]))
    size, span = float(judged.gathered.size[side, at]), int(judged.gathered.span[side, at])
    value, over = float(row.values[at]), 1
    if span > 1 and not (value < low or value > high):
        value, over = level + float(judged.gathered.away[side, at]), span
    if as_found and not np.isfinite(value):
        value, over, side, means = level + as_found, 0, int(as_found < 0), None
    band = sorted(plain(one.trait, bound) for bound in (low, high))
    worse = one.trait is Trait.AUC
    if means is not None and over > 1:
        means = means.of_several(float(row.values[at]), value)
    figures = value, low, high
    own = in_unit(watch, row, judged.expectation.level, at, figures, means) if np.isfinite(value) else None
    return _Said(
        since=judged.days[-span],
        what=one.trait.value,
        level=one.level,
        rises=(side == 0) != worse,
        value=plain(one.trait, value) if np.isfinite(value) else None,
        expected=(band[0], band[1]),
        over=over,
        in_unit=own,
        size=size,
        index=index(one.trait, size),
    )


def expected_band(level: float, deviation: float) -> tuple[float, float]:
    """Ends of the band that a value was expected in."""
    return level - _BAND * deviation, level + _BAND * deviation


def in_unit(
    watch: Watch,
    row: DayRow,
    levels: Floats,
    at: int,
    figures: tuple[float, float, float],
    means: Means | None,
) -> tuple[float, float, float] | None:
    """A value and its band in the unit of the numbers, by the expected levels, where that tells anything."""
    one = watch.series[at]
    cells = watch.cells.get(watch.subjects[one.subject])
    if cells is None or one.trait not in (Trait.LEVEL, Trait.SPREAD):
        return None
    value: float | None
    low: float | None
    high: float | None
    if one.trait is Trait.LEVEL:
        if means is None:
            return None
        value, low, high = (means.at(figure) for figure in figures)
        value = value if means.now is None else means.now
    elif figures[0] != row.values[at]:  # of several days, whose levels differ
        return None
    else:
        usual = float(levels[at - 1])  # the level of a number stands before its spread
        about = (float(row.values[at - 1]), usual, usual)
        value, low, high = (cells.half_width(*pair) for pair in zip(figures, about, strict=True))
    if value is None or low is None or high is None or not low < high:
        return None
    way = (figures[0] > figures[2]) - (figures[0] < figures[1])
    return (value, low, high) if way == (value > high) - (value < low) else None


def _of_fault(watch: Watch, judged: Judged, at: int, as_found: float) -> _Said:
    """A fault's share; of a day without it, while the change stands, the share with which it was found."""
    fault = at - len(watch.series)
    share = float(judged.faults.share[fault]) or as_found
    return _Said(
        since=judged.row.day,
        what=watch.faults[fault].fault,
        value=share,
        expected=(0.0, float(judged.faults.largest[fault])),
        size=share,
    )


def _weight_of(watch: Watch, by: int) -> float:
    return float(watch.fault_weight[by - len(watch.series)])


def _apparent(watch: Watch, judged: Judged) -> tuple[Floats, Ints]:
    """Evidence of each subject whatever the size, and by what."""
    whole = judged.weighed.series.sum(axis=0)
    return WeighedEvidence(judged.weighed.series, whole, judged.weighed.faults).by_subject(watch)


def _unjudged(watch: Watch, judged: Judged, series: Ints, *, unusual: bool) -> NotJudged | None:
    """Why none of some series was judged; None: one was."""
    if not len(series):
        return NotJudged.NOT_CHOSEN if watch.segmented else NotJudged.NOT_FOLLOWED
    if unusual:
        return NotJudged.UNUSUAL
    if np.isfinite(judged.row.surprise[series]).any():
        return None
    if not np.isfinite(judged.row.values[series]).any():
        n = float(judged.row.samples[watch.sample[series]].max())
        if n == 0 and watch.groups[watch.subject[series[0]]] is not WatchGroup.PERFORMANCE:
            return NotJudged.NO_RECORDS
        return NotJudged.TOO_FEW if n < FEWEST_RECORDS else NotJudged.UNDEFINED
    learned = int(judged.expectation.days[series].max(initial=0))
    return NotJudged.LEARNING if learned < FEWEST else NotJudged.TOO_FEW


def _detectable(watch: Watch, judged: Judged, budget: AlertBudget) -> dict[int, tuple[float, bool | None]]:
    """Smallest change of each subject's first series that would be found within 7 days; why no smaller one.

    √(2·ln(c/w)/7) standard deviations of independent days, times the slowness; not less than what is told.
    """
    found: dict[int, tuple[float, bool | None]] = {}
    told = floors(watch.kind, watch.floor, budget.smallest)
    need = np.sqrt(2 * np.log(np.maximum(budget.needed / watch.weight, np.e)) / _WEEK)
    away = need * judged.expectation.deviation * judged.expectation.slowness
    known = judged.expectation.days >= FEWEST
    size = sizes(watch.kind, np.where(known, judged.expectation.level, 0.0), np.where(known, away, 0.0))
    for at in np.flatnonzero(known)[::-1]:
        trait = KINDS[watch.kind[at]]
        smallest = float(max(abs(size[at]), told[at]))
        as_index = index(trait, smallest)
        drifts = bool(judged.expectation.effect[at] > 0.5) if smallest > _MUCH * told[at] > 0 else None
        found[int(watch.subject[at])] = (smallest if as_index is None else as_index, drifts)
    return found
