"""What a judged day says of each subject: its evidence, and the `Change` that it is of, in people's units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.change import (
    Change,
    ChangeEffect,
    ExpectedBand,
    MissingShare,
    NotJudged,
    OutcomeCounts,
    SegmentShare,
    UnitFigures,
    iso_date,
)
from monitor.evidence.change_sizes import (
    as_stability_index,
    change_size,
    readable_value,
    rescale_smallest_sizes,
)
from monitor.evidence.day_record import NO_CHANGE, DayRecord
from monitor.evidence.judging import MONTH, AlertBudget, JudgedDay
from monitor.evidence.watch import STATISTICS, DailyStatistic, SubjectGroup, Watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS, FEWEST_RECORDS

_WEEK = 7
_MUCH = 2  # times the smallest size that is told
_BAND = 2.0  # standard deviations
_FITS, _NEAR = 0.1, 1.0  # sd by which a day's mean may differ from its level; a mean of days from usual ones
_LARGEST = 1e6  # of evidence that is told: more says no more


@dataclass(frozen=True, slots=True)
class ColumnMean:
    """Mean of a number in the unit of its column: as it is, whatever its level is clipped to."""

    # mean, deviation, level: of usual days: in the unit of the column, and the level of the same days.
    mean: float
    deviation: float
    level: float = 0.0
    of_day: float | None = None  # mean of the judged day; None: not known

    def mean_of_level(self, level: float) -> float:
        """Mean of a day that is expected to have a level."""
        return self.mean + (level - self.level) * self.deviation

    def check_several_days(self, level: float, several: float) -> "ColumnMean | None":
        """What levels of several days mean; None: numbers of the judged day, or of others, may be clipped."""
        if self.of_day is None or abs(several - self.level) > _NEAR:
            off = math.inf
        else:
            off = self.mean_of_level(level) - self.of_day
        return replace(self, of_day=None) if abs(off) <= _FITS * self.deviation else None


@dataclass(frozen=True, slots=True)
class OngoingChange:
    """What is counted of a change that stands, once it is found."""

    found: int  # day on which it was found
    segment: SegmentShare | None  # which holds it; None: it is not counted by segment
    mean: ColumnMean | None  # of the week before; None: it is of no number, or it is not known
    versions: tuple[str, ...] = ()  # of a fault of the log: those that were new
    effect: ChangeEffect | None = None  # of a feature on the mean score
    outcomes: OutcomeCounts | None = None  # of labels that differ from what scores promise


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectVerdict:
    """What is said of a subject on a day. Nothing in it is NaN or infinite."""

    subject: str
    group: SubjectGroup
    # as a multiple of what an alert needs: above 1 if, and only if, a change stands; then that with which it
    # was found.
    evidence: float
    # stands, begins: a change stands; it was found on this day.
    stands: bool
    begins: bool
    # smallest change that would be found within 7 days: a size, or what it is in the stability index; None:
    # not yet known.
    detectable: float | None
    # why that is more than twice the smallest that is told: True, as days differ by themselves; False, as
    # records are few; None: it is not.
    drifts: bool | None
    # why none of the series was judged; `change.not_judged`: why the values were not.
    not_judged: NotJudged | None
    change: Change


@dataclass(frozen=True, slots=True)
class DayContext:
    """What is known besides the days themselves."""

    unusual: bool = False  # the day is one that is known to be like no other
    # by subject what is counted of the change that stands.
    ongoing: Mapping[str, OngoingChange] = field(default_factory=dict)
    # means of numbers on the judged day, in the unit of their columns.
    day_means: Mapping[str, float] = field(default_factory=dict)
    watched_subjects: int | None = None  # of the whole model


def describe_subjects(
    watch: Watch, judged_day: JudgedDay, budget: AlertBudget, context: DayContext | None = None
) -> list[SubjectVerdict]:
    """What is told of every subject, in the order of the watch."""
    context = DayContext() if context is None else context
    any_size, strongest = judged_day.weighed.ignore_change_size().subject_evidence(watch)
    detectable = _detectable_changes(watch, judged_day, budget)
    found = []
    for subject, name in enumerate(watch.subjects):
        stands, record = bool(judged_day.record.since[subject] > NO_CHANGE), judged_day.record
        series = np.flatnonzero(watch.series_subject == subject)
        smallest, drifts = detectable.get(subject, (None, None))
        by = int((record.found_by if stands else strongest)[subject])
        change = _describe_change(watch, judged_day, subject, by, context)
        usual_since = int(judged_day.usual_since[subject])
        evidence = min(float(record.evidence[subject]), _LARGEST)
        evident = min(float(any_size[subject]), _LARGEST)
        if stands:
            since: str | None = iso_date(int(record.since[subject]))
        elif evident > 1:
            # Evident, but smaller than what is told: it has a beginning all the same.
            since = change.since
        else:
            since = None
        change = replace(
            change,
            since=since,
            usual_since=iso_date(usual_since) if usual_since else None,
            evidence_any_size=evident,
            chance_months=_chance_months(watch, subject, by, evidence if stands else evident, budget),
            learned_days=int(judged_day.expectation.days[series].max(initial=0)),
            not_judged=_why_no_values(watch, judged_day, subject, unusual=context.unusual),
            missing=_missing_share(watch, judged_day, subject),
            watched_subjects=context.watched_subjects,
            segment=context.ongoing[name].segment if name in context.ongoing else None,
            effect=context.ongoing[name].effect if name in context.ongoing else None,
            outcomes=context.ongoing[name].outcomes if name in context.ongoing else None,
            day=iso_date(record.day),
        )
        found.append(
            SubjectVerdict(
                subject=name,
                group=watch.groups[subject],
                evidence=evidence,
                stands=stands,
                begins=stands and int(record.evidence_from[subject]) == record.day,
                detectable=smallest,
                drifts=drifts,
                not_judged=_why_not_judged(watch, judged_day, series, unusual=context.unusual),
                change=change,
            )
        )
    return found


def expected_band(level: float, deviation: float) -> tuple[float, float]:
    """Ends of the band that a value was expected in."""
    return level - _BAND * deviation, level + _BAND * deviation


def column_unit_figures(
    watch: Watch,
    record: DayRecord,
    levels: Floats,
    at: int,
    figures: tuple[float, float, float],
    mean: ColumnMean | None,
) -> UnitFigures | None:
    """A value and its band in the unit of the column; None: not known, or it would tell another story.

    Parameters
    ----------
    levels
        expected ones, by series.
    figures
        value, low and high of series `at`, in standard deviations.
    """
    one = watch.series[at]
    cells = watch.cells.get(watch.subjects[one.subject])
    figures_in_unit: list[float | None]
    if cells is None or one.statistic not in (DailyStatistic.LEVEL, DailyStatistic.SPREAD):
        return None
    if one.statistic is DailyStatistic.LEVEL:
        if mean is None:
            return None
        figures_in_unit = [mean.mean_of_level(figure) for figure in figures]
        if mean.of_day is not None:
            figures_in_unit[0] = mean.of_day
    elif figures[0] != record.values[at]:  # of several days, whose levels differ
        return None
    else:
        usual = float(levels[at - 1])  # the level of a number stands before its spread
        of_figures = (float(record.values[at - 1]), usual, usual)
        pairs = zip(figures, of_figures, strict=True)
        figures_in_unit = [cells.estimate_unit_deviation(spread, level) for spread, level in pairs]
    value, low, high = figures_in_unit
    if value is None or low is None or high is None or not low < high:
        return None
    # Coarse cells may put a value on the other side of its band than it is on in standard deviations.
    side = (figures[0] > figures[2]) - (figures[0] < figures[1])
    return UnitFigures(value, low, high) if side == (value > high) - (value < low) else None


def _describe_change(
    watch: Watch, judged_day: JudgedDay, subject: int, by: int, context: DayContext
) -> Change:
    """The change that the evidence is of. While one stands it may be told as it was found."""
    stands = bool(judged_day.record.since[subject] > NO_CHANGE)
    size_found = float(judged_day.record.size[subject]) if stands else 0.0
    if by < 0:
        return Change()
    if by >= len(watch.series):
        return _fault_change(watch, judged_day, by - len(watch.series), size_found)
    return _series_change(
        watch, judged_day, by, size_found, _column_mean(watch, judged_day, subject, context)
    )


def _series_change(
    watch: Watch, judged_day: JudgedDay, at: int, size_found: float, mean: ColumnMean | None
) -> Change:
    one, record = watch.series[at], judged_day.record
    if judged_day.expectation.days[at] < FEWEST_DAYS:
        return Change(kind=one.statistic.value, category=one.category)
    level = float(judged_day.expectation.level[at])
    low, high = expected_band(level, float(judged_day.expectation.deviation[at]))
    side = int(np.argmax(judged_day.gathered.evidence[:, at]))
    size, span = float(judged_day.gathered.size[side, at]), int(judged_day.gathered.span[side, at])
    value, averaged_days = float(record.values[at]), 1
    # A day within its band shows nothing alone: the mean of the days that show the change most does.
    if span > 1 and not (value < low or value > high):
        value, averaged_days = level + float(judged_day.gathered.away[side, at]), span
    # A day without a value, while the change stands: as it was found.
    if size_found and not np.isfinite(value):
        value, averaged_days, side, mean = level + size_found, 0, int(size_found < 0), None
    if mean is not None and averaged_days > 1:
        mean = mean.check_several_days(float(record.values[at]), value)
    known, figures = bool(np.isfinite(value)), (value, low, high)
    ends = sorted(readable_value(one.statistic, end) for end in (low, high))
    as_index = as_stability_index(one.statistic, size)
    return Change(
        kind=one.statistic.value,
        category=one.category,
        rises=side == 0,
        observed=readable_value(one.statistic, value) if known else None,
        expected=ExpectedBand(*ends),
        averaged_days=averaged_days,
        in_unit=column_unit_figures(watch, record, judged_day.expectation.level, at, figures, mean)
        if known
        else None,
        size=size if as_index is None else as_index,
        since=iso_date(judged_day.days[-span]),
    )


def _fault_change(watch: Watch, judged_day: JudgedDay, fault: int, share_found: float) -> Change:
    """A fault's share; of a day without it, while the change stands, the share with which it was found."""
    share = float(judged_day.faults.share[fault]) or share_found
    return Change(
        kind=watch.faults[fault].name,
        observed=share,
        expected=ExpectedBand(0.0, float(judged_day.faults.largest[fault])),
        size=share,
        since=iso_date(judged_day.record.day),
    )


def _column_mean(watch: Watch, judged_day: JudgedDay, subject: int, context: DayContext) -> ColumnMean | None:
    """What levels of a subject mean; of one that is as ever by the first days. None: it is not known."""
    name = watch.subjects[subject]
    cells, ongoing = watch.cells.get(name), context.ongoing.get(name)
    mean = None if ongoing is None else ongoing.mean
    is_as_ever = not (judged_day.record.since[subject] > NO_CHANGE or judged_day.usual_since[subject])
    if is_as_ever and cells is not None and cells.deviation:
        mean = ColumnMean(cells.centre + cells.middle * cells.scale, cells.deviation * cells.scale)
    of_day = context.day_means.get(name)
    return None if mean is None or of_day is None else replace(mean, of_day=of_day)


def _chance_months(watch: Watch, subject: int, by: int, evidence: float, budget: AlertBudget) -> float | None:
    """By chance so much evidence is found once in so many months, at most; None: nothing is apparent."""
    is_fault = by >= len(watch.series)
    weight = float(watch.fault_weight[by - len(watch.series)] if is_fault else watch.subject_weight[subject])
    return evidence * budget.evidence_needed / (MONTH * weight) if evidence > 0 and weight > 0 else None


def _missing_share(watch: Watch, judged_day: JudgedDay, subject: int) -> MissingShare | None:
    """Share that is missing, and what was expected at most, of the series or the fault that follows it."""
    is_missing = watch.series_statistic == STATISTICS.index(DailyStatistic.MISSING)
    for at in np.flatnonzero((watch.series_subject == subject) & is_missing).tolist():
        value, expectation = float(judged_day.record.values[at]), judged_day.expectation
        _, usual = expected_band(float(expectation.level[at]), float(expectation.deviation[at]))
        if not np.isfinite([value, usual]).all():
            return None
        return MissingShare(*(readable_value(DailyStatistic.MISSING, share) for share in (value, usual)))
    for at, fault in enumerate(watch.faults):
        if fault.subject == subject and fault.name == DailyStatistic.MISSING:
            return MissingShare(float(judged_day.faults.share[at]), float(judged_day.faults.largest[at]))
    return None


def _why_no_values(watch: Watch, judged_day: JudgedDay, subject: int, *, unusual: bool) -> NotJudged | None:
    """Why the values of a subject were not judged, though perhaps how many of them are missing."""
    if watch.groups[subject] is SubjectGroup.LOG:
        return None
    of_values = watch.series_statistic != STATISTICS.index(DailyStatistic.MISSING)
    series = np.flatnonzero((watch.series_subject == subject) & of_values)
    return _why_not_judged(watch, judged_day, series, unusual=unusual)


def _why_not_judged(watch: Watch, judged_day: JudgedDay, series: Ints, *, unusual: bool) -> NotJudged | None:
    """Why none of some series was judged; None: one was."""
    record = judged_day.record
    if not len(series):
        return NotJudged.NOT_CHOSEN if watch.segmented else NotJudged.NOT_FOLLOWED
    if unusual:
        return NotJudged.UNUSUAL
    if np.isfinite(record.surprise[series]).any():
        return None
    if not np.isfinite(record.values[series]).any():
        n = float(record.samples[watch.series_sample[series]].max())
        if n == 0 and watch.groups[watch.series_subject[series[0]]] is not SubjectGroup.PERFORMANCE:
            return NotJudged.NO_RECORDS
        return NotJudged.TOO_FEW if n < FEWEST_RECORDS else NotJudged.UNDEFINED
    learned = int(judged_day.expectation.days[series].max(initial=0))
    return NotJudged.LEARNING if learned < FEWEST_DAYS else NotJudged.TOO_FEW


def _detectable_changes(
    watch: Watch, judged_day: JudgedDay, budget: AlertBudget
) -> dict[int, tuple[float, bool | None]]:
    """Smallest change of each subject's first series that would be found within 7 days; why no smaller one.

    √(2·ln(c/w)/7) standard deviations of independent days, times the slowness; not less than what is told.
    """
    found: dict[int, tuple[float, bool | None]] = {}
    told = rescale_smallest_sizes(watch.series_statistic, watch.smallest_size, budget.smallest)
    need = np.sqrt(2 * np.log(np.maximum(budget.evidence_needed / watch.series_weight, np.e)) / _WEEK)
    away = need * judged_day.expectation.deviation * judged_day.expectation.slowness
    is_known = judged_day.expectation.days >= FEWEST_DAYS
    level = np.where(is_known, judged_day.expectation.level, 0.0)
    size = change_size(watch.series_statistic, level, np.where(is_known, away, 0.0))
    for at in np.flatnonzero(is_known)[::-1]:
        smallest = float(max(abs(size[at]), told[at]))
        as_index = as_stability_index(STATISTICS[watch.series_statistic[at]], smallest)
        drifts = bool(judged_day.expectation.effect[at] > 0.5) if smallest > _MUCH * told[at] > 0 else None
        found[int(watch.series_subject[at])] = (smallest if as_index is None else as_index, drifts)
    return found
