"""Judging a day: found by its evidence, a change stands until its days are back, or are what is expected."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.evidence.baseline import CLIP_DEVIATIONS, DayExpectation, PastDays, expect_day
from monitor.evidence.change_sizes import rescale_smallest_sizes
from monitor.evidence.day_record import NO_CHANGE, DayHistory, DayRecord, DayValues, select_days_before
from monitor.evidence.fault_evidence import FaultVerdicts, judge_faults
from monitor.evidence.shiryaev_roberts import (
    GatheredEvidence,
    accumulate_past_evidence,
    gather_evidence,
    suspected_days,
)
from monitor.evidence.watch import DailyStatistic, Watch
from monitor.measures.catalogue.daily_measures import FEWEST_DAYS

MONTH = 30.0  # days that a budget is stated for
HOURS_SHARE = 0.05  # of the budget, which gross faults spend that hours tell; days have the rest
LONGEST_DAYS = 28  # that a change stands, before it is what is expected
BACK_DAYS = 3  # of which most must be back
MOST_EVIDENCE = 1e30  # still a number in single precision


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertBudget:
    """What may be told.

    Raises
    ------
    ValueError
        if nothing or everything would be told.
    """

    false_alerts: float = 1.0  # in 30 days, over all that is watched of a model, both parts of it
    smallest: float = 0.1  # stability index of the smallest change that is told; 0: whatever is evident

    def __post_init__(self) -> None:
        if not 0 < self.false_alerts < np.inf:
            raise ValueError(f"false_alerts: a number above 0: got {self.false_alerts}")
        if not 0 <= self.smallest < np.inf:
            raise ValueError(f"smallest: a stability index, 0 or more: got {self.smallest}")

    @property
    def evidence_needed(self) -> float:
        """Evidence that an alert of a day needs."""
        return MONTH / (self.false_alerts * (1 - HOURS_SHARE))


@dataclass(frozen=True, slots=True, eq=False)
class WeighedEvidence:
    """Evidence as multiples of what an alert needs."""

    series: Floats  # shape (2, series): of either side, whatever the size
    large_enough: Floats  # shape (series,): of the sides whose size is told
    faults: Floats  # shape (faults,)

    def subject_evidence(self, watch: Watch) -> tuple[Floats, Ints]:
        """Evidence told of each subject, and the series, or series + fault, with most of it; -1: none."""
        subjects = len(watch.subjects)
        # Evidence of a subject's series adds up, as their weights do; a fault tells alone.
        total = np.bincount(watch.series_subject, self.large_enough, minlength=subjects)
        every = np.concatenate([self.large_enough, self.faults])
        subject = np.concatenate([watch.series_subject, watch.fault_subject])
        strongest = np.full(subjects, -1)
        order = np.argsort(every, kind="stable")
        strongest[subject[order]] = order  # the last one, that with most, stays
        of_fault = np.zeros(subjects)
        np.maximum.at(of_fault, watch.fault_subject, self.faults)
        strongest = np.where(of_fault > total, strongest, self._strongest_series(watch, strongest))
        return np.minimum(np.maximum(total, of_fault), MOST_EVIDENCE), strongest

    def ignore_change_size(self) -> "WeighedEvidence":
        """The same, as if a change of any size were told."""
        return replace(self, large_enough=self.series.sum(axis=0))

    def _strongest_series(self, watch: Watch, strongest: Ints) -> Ints:
        """Series that tells each subject's change: the level, where it suffices alone: it is read first."""
        chosen = strongest.copy()
        is_level = np.asarray([one.statistic is DailyStatistic.LEVEL for one in watch.series], dtype=bool)
        order = np.lexsort((self.large_enough, is_level & (self.large_enough > 1.0)))
        chosen[watch.series_subject[order]] = order
        return chosen


@dataclass(frozen=True, slots=True, eq=False)
class JudgedDay:
    """A judged day: `record` is kept, the others are what `describe_subjects` words."""

    record: DayRecord
    days: tuple[int, ...]  # of the records that it was judged by, and its own
    expectation: DayExpectation
    gathered: GatheredEvidence
    weighed: WeighedEvidence
    faults: FaultVerdicts
    # shape (subjects,): first day of a change that is what is expected now; 0: there is none.
    usual_since: Ints


def judge_day(
    watch: Watch, history: DayHistory, day: DayValues, *, budget: AlertBudget, unusual: bool = False
) -> JudgedDay:
    """Judge a day by the 56 days before it. A pure function of records as they are kept.

    Parameters
    ----------
    history
        records of this watch: earlier ones and later ones change nothing.
    unusual
        the day is known to be like no other: it is neither judged nor learned from.
    """
    records = select_days_before(history, day.day)
    so_far = accumulate_past_evidence(watch, records)
    past = PastDays.from_records(watch, records, suspected_days(watch, records, so_far))
    value = np.full(len(watch.series), np.nan) if unusual else day.values.astype(np.float64)
    expectation = expect_day(
        past.learned_days(watch),
        day.day,
        np.where(past.usually_empty(watch), np.nan, value),
        day.samples.astype(np.float64)[watch.series_sample],
        np.stack([past.values_days_back(day.day, 1), past.values_days_back(day.day, 2)]),
    )
    last = records[-1] if records else _blank_record(watch)
    record = _record_of_day(day, value, expectation, last, unusual=unusual)
    gathered = gather_evidence(watch, [*records, record], expectation.level, so_far)
    # Weights sum to less than 1: so the bound on false alerts is that of one series, whatever depends on
    # what.
    evidence = gathered.evidence * watch.series_weight / budget.evidence_needed
    smallest = rescale_smallest_sizes(watch.series_statistic, watch.smallest_size, budget.smallest)
    large_enough = np.where(gathered.size >= smallest, evidence, 0.0).sum(axis=0)
    faults, fault_evidence = _judge_faults(watch, past, record)
    weighed = WeighedEvidence(evidence, large_enough, fault_evidence / budget.evidence_needed)
    record = _with_ongoing(watch, [*records, record], value, weighed, gathered, faults)
    return JudgedDay(
        record,
        tuple(one.day for one in [*records, record]),
        expectation,
        gathered,
        weighed,
        faults,
        _find_usual_since(watch, [*records, record]),
    )


def restore_fault_verdicts(watch: Watch, history: DayHistory, record: DayRecord) -> FaultVerdicts:
    """What was said of the faults of a day that is kept."""
    records = select_days_before(history, record.day)
    none_suspected = np.zeros((len(records), len(watch.series)), dtype=np.bool_)
    return _judge_faults(watch, PastDays.from_records(watch, records, none_suspected), record)[0]


def accept_changes(watch: Watch, record: DayRecord, subjects: Collection[str]) -> DayRecord:
    """The last record with the changes that stand of some subjects taken for what is expected.

    What is learned begins with the first day of the change: for 14 days nothing else is judged of them.
    """
    chosen_mask = np.isin(np.asarray(watch.subjects), list(subjects)) & (record.since > NO_CHANGE)
    return replace(
        record,
        since=np.where(chosen_mask, NO_CHANGE, record.since).astype(np.int32),
        found_by=np.where(chosen_mask, -1, record.found_by).astype(np.int32),
        size=np.where(chosen_mask, 0.0, record.size).astype(np.float32),
        evidence=np.where(chosen_mask, 0.0, record.evidence).astype(np.float32),
        evidence_from=np.where(chosen_mask, record.day, record.evidence_from).astype(np.int32),
        learned_from=np.where(chosen_mask, record.since, record.learned_from).astype(np.int32),
    )


def with_acceptances(watch: Watch, records: Sequence[DayRecord]) -> list[DayRecord]:
    """Records as they are kept, with what `accept_changes` took of each before the next day was judged."""

    def accepted(record: DayRecord, after: DayRecord) -> list[str]:
        chosen = (record.since > NO_CHANGE) & (after.learned_from == record.since)
        # A change that ended by itself has begun its evidence anew, and stands no longer.
        chosen &= (after.evidence_from == record.day) | (after.since > NO_CHANGE)
        return [watch.subjects[at] for at in np.flatnonzero(chosen)]

    found = [(record, accepted(record, after)) for record, after in pairwise(records)]
    return [
        *(accept_changes(watch, record, subjects) if subjects else record for record, subjects in found),
        *records[-1:],
    ]


def _blank_record(watch: Watch) -> DayRecord:
    """What is remembered before the first day."""
    series, faults, subjects = len(watch.series), len(watch.faults), len(watch.subjects)
    unknown, zeros = np.full(series, np.nan, np.float32), np.zeros(subjects, np.float32)
    never, no_faults = np.zeros(subjects, np.int32), np.zeros(faults, np.int32)
    return DayRecord(
        day=0,
        values=unknown,
        samples=np.zeros(watch.sample_count, np.float32),
        hits=no_faults,
        trials=no_faults,
        learned=unknown,
        away=unknown,
        surprise=unknown,
        deviation=unknown,
        since=never,
        found_by=never - 1,
        size=zeros,
        evidence=zeros,
        evidence_from=never,
        learned_from=never,
    )


def _record_of_day(
    day: DayValues, value: Floats, expectation: DayExpectation, last: DayRecord, *, unusual: bool
) -> DayRecord:
    """The day's record, with what stood the day before."""
    far, judged = CLIP_DEVIATIONS * expectation.deviation, np.isfinite(expectation.surprise)
    # One wild day must not move what is expected of the next ones.
    clipped = np.clip(value, expectation.level - far, expectation.level + far)
    return replace(
        last,
        day=day.day,
        values=day.values,
        samples=day.samples,
        hits=np.zeros_like(day.hits) if unusual else day.hits,
        trials=np.zeros_like(day.trials) if unusual else day.trials,
        learned=np.where(expectation.days >= FEWEST_DAYS, clipped, value).astype(np.float32),
        away=np.where(judged, value - expectation.level, np.nan).astype(np.float32),
        surprise=expectation.surprise.astype(np.float32),
        deviation=np.where(judged, expectation.deviation, np.nan).astype(np.float32),
    )


def _judge_faults(watch: Watch, past: PastDays, record: DayRecord) -> tuple[FaultVerdicts, Floats]:
    """What is said of the day's faults, and their evidence: weight by chance, 0 where none is told."""
    verdicts = judge_faults(
        record.day - past.days,
        past.hits,
        past.trials,
        past.usable[:, watch.fault_subject],
        (record.hits.astype(np.int64), record.trials.astype(np.int64)),
        watch.fault_smallest_share,
    )
    evidence = watch.fault_weight / np.maximum(verdicts.rarity, 1.0 / MOST_EVIDENCE)
    return verdicts, np.where(verdicts.rarity < 1, np.minimum(evidence, MOST_EVIDENCE), 0.0)


def _with_ongoing(
    watch: Watch,
    records: Sequence[DayRecord],
    value: Floats,
    weighed: WeighedEvidence,
    gathered: GatheredEvidence,
    faults: FaultVerdicts,
) -> DayRecord:
    """The day's record, the last one, with the changes that stand after it; before, those of the day before.

    A change stands from the day on that it is found: until most of 3 days are back, at half of its size or
    less, or 28 days have passed since it began. Then its days are what is expected.
    """
    record = records[-1]
    stood = record.since > NO_CHANGE
    back = stood & _find_returned_subjects(watch, records[-BACK_DAYS:])
    lasted = stood & ~back & (record.day - record.since >= LONGEST_DAYS)
    ends, goes_on = back | lasted, stood & ~(back | lasted)
    evidence, strongest = weighed.subject_evidence(watch)
    found = ~stood & (evidence > 1.0)
    first_day, size = _first_day_and_size(watch, records, strongest, found, gathered, faults)
    # While a change stands its days are kept as they are: if it lasts, they are what is learned.
    learned = np.where((found | goes_on | lasted)[watch.series_subject], value, record.learned)
    return replace(
        record,
        learned=learned.astype(np.float32),
        since=np.select([found, ends], [first_day, NO_CHANGE], record.since).astype(np.int32),
        found_by=np.select([found, ends], [strongest, -1], record.found_by).astype(np.int32),
        size=np.select([found, ends], [size, 0.0], record.size).astype(np.float32),
        evidence=np.select([goes_on, ends], [record.evidence, 0.0], evidence).astype(np.float32),
        evidence_from=np.where(found | ends, record.day, record.evidence_from).astype(np.int32),
        learned_from=np.where(lasted, record.since, record.learned_from).astype(np.int32),
    )


def _first_day_and_size(
    watch: Watch,
    records: Sequence[DayRecord],
    strongest: Ints,
    found: Bools,
    gathered: GatheredEvidence,
    faults: FaultVerdicts,
) -> tuple[Ints, Floats]:
    """Of what is found: a fault begins on its day, a series with the span that shows it most."""
    first_day, size = np.full(len(strongest), records[-1].day), np.zeros(len(strongest))
    for subject in np.flatnonzero(found):
        at = int(strongest[subject])
        if at >= len(watch.series):
            size[subject] = faults.share[at - len(watch.series)]
        else:
            side = int(np.argmax(gathered.evidence[:, at]))
            first_day[subject] = records[-int(gathered.span[side, at])].day
            size[subject] = gathered.away[side, at]
    return first_day, size


def _find_returned_subjects(watch: Watch, records: Sequence[DayRecord]) -> Bools:
    """Subjects of which the mean of the last days is less than half of the size that was found.

    A day without a value changes nothing: else the days before the change would speak for it.
    """
    record, series = records[-1], len(watch.series)
    away = np.stack([one.away for one in records]).astype(np.float64)
    hits, trials = (np.stack([getattr(one, name) for one in records]) for name in ("hits", "trials"))
    shares = np.where(trials > 0, hits / np.maximum(trials, 1), np.nan)
    every = np.concatenate([away, shares], axis=1)
    has = np.isfinite(every)
    mean = np.where(has, every, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    # One place more, for subjects of which nothing stands.
    mean, has_day = np.append(mean, 0.0), np.append(has[-1], np.False_)
    is_known = (record.found_by >= 0) & (record.found_by < series + len(watch.faults))
    at = np.where(is_known, record.found_by, len(mean) - 1)
    size = record.size.astype(np.float64)
    back: Bools = has_day[at] & (mean[at] * np.sign(size) < np.abs(size) / 2)
    return back


def _find_usual_since(watch: Watch, records: Sequence[DayRecord]) -> Ints:
    """First day of the change that is now what is expected, by subject: it did not go back. 0: there is none.

    A change that goes back ends too, but what is learned does not begin anew with it. A fault that goes away
    later is no change: it is looked at itself.
    """
    since, evidence_from, learned_from = (
        np.stack([getattr(one, name) for one in records])
        for name in ("since", "evidence_from", "learned_from")
    )
    days = np.asarray([one.day for one in records])[:, None]
    before = np.concatenate([learned_from[:1], learned_from[:-1]])
    # What is learned begins anew only where a change became what is expected; evidence does so with any
    # beginning or end. Of the last of these it is asked which it was.
    taken = (since == NO_CHANGE) & (learned_from != before)
    ended = taken | ((evidence_from == days) & (days > days[0]))
    last, subjects = len(records) - 1 - np.argmax(ended[::-1], axis=0), np.arange(since.shape[1])
    lasts = taken[last, subjects] & ~_find_gone_faults(watch, records, np.maximum(last - 1, 0))
    return np.where(lasts, learned_from[last, subjects], NO_CHANGE).astype(np.int64)


def _find_gone_faults(watch: Watch, records: Sequence[DayRecord], stood: Ints) -> Bools:
    """Subjects whose fault has gone away: the last days have less than half of the share that was found.

    `stood` is, of each subject, the position of a day on which its change stood.
    """
    subjects, series = np.arange(len(stood)), len(watch.series)
    found_by, size = (
        np.stack([getattr(one, name) for one in records])[stood, subjects] for name in ("found_by", "size")
    )
    hits, trials = (sum(getattr(one, name) for one in records[-BACK_DAYS:]) for name in ("hits", "trials"))
    share = np.append(np.where(trials > 0, hits / np.maximum(trials, 1), np.nan), np.nan)
    is_fault = (found_by >= series) & (found_by < series + len(watch.faults))
    at = np.where(is_fault, found_by - series, len(watch.faults))
    gone: Bools = share[at] < np.abs(size) / 2
    return gone
