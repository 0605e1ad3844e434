"""Days judged against the budget of false alerts: each part of a day once, in the order of their due moments.

What is watched of a part's segments is a watch of its own: the whole's days are the same without it.
The first days of a part are kept as they were counted: of them is made what is watched. All are judged by
the records of the days before. So everything follows from the table `days`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from monitor.alerts.alert_rules import Acceptance
from monitor.core.change import Change, ChangeEffect, OutcomeCounts
from monitor.core.clock import DAY, LAST
from monitor.core.text import content_hash
from monitor.evidence.day_record import NO_CHANGE, DayRecord, DayValues, pack_day, unpack_day
from monitor.evidence.day_values import day_values, new_versions
from monitor.evidence.describing import ColumnMean, DayContext, OngoingChange, describe_subjects
from monitor.evidence.judging import AlertBudget, JudgedDay, accept_changes, judge_day, with_acceptances
from monitor.evidence.score_residuals import count_outcomes
from monitor.evidence.segment_attribution import ChangeCounts, find_holding_segment, without_repeats_of_whole
from monitor.evidence.watch import (
    RESIDUALS,
    DailyStatistic,
    SubjectGroup,
    Watch,
    known_moments,
    make_segment_watch,
    make_watch,
)
from monitor.measures.catalogue.daily_measures import CHANGE, EVIDENCE, FEWEST_DAYS, REMEMBERED_DAYS
from monitor.measures.measure_options import FEATURE
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.shift.score_effects import ScoreEffects, find_change_effect
from monitor.pipeline.cycle_model import CountedModel, CycleModel
from monitor.pipeline.model_panes import ModelPanes
from monitor.pipeline.pane_counting import renew_lease
from monitor.pipeline.sequential.day_rows import (
    budget_rows,
    count_recent_alerts,
    learning_row,
    select_evident_rows,
    subject_rows,
    watched_subject,
)
from monitor.pipeline.sequential.due_days import DayReader, DueDay, JudgingProgress, due_days
from monitor.pipeline.sequential.unfolding_days import (
    REMEMBERED,
    UnfoldingLabels,
    enter_unfolding_day,
    feed_change,
    follows_unfolding,
    look_slow,
    relation_change,
    unfolding_key,
    unpack_unfolding_day,
)
from monitor.records.codec import decode_strata, encode_parts
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.model_table import BudgetTable
from monitor.specs.protocols import Lease
from monitor.specs.stored_rows import KeptDay, ModelState
from monitor.states.grids import NumericGrid
from monitor.states.strata import WHOLE, Strata, select_segments
from monitor.store.sql_store import SqlStore
from monitor.windows.day_moments import zone_of_days
from monitor.windows.strata_folding import fold_strata
from monitor.windows.window_ends import count_epoch_days

_WEEK = 7


class PartKey(NamedTuple):
    """A part of a model, or the segments of it."""

    part: PaneHalf
    segmented: bool


ALL_LABELS = PartKey(PaneHalf.LABELS, False)


@dataclass(frozen=True, slots=True)
class WatchedPart:
    """One part of a model, or its segments, as far as its days have been judged."""

    days: tuple[KeptDay, ...] = ()  # those that were judged last, oldest first: as many as are remembered
    first_strata: tuple[Strata, ...] = ()  # counters of these days, until something is watched
    first_key: str = ""  # under which the first days are kept; empty: as `first_days_key` has it
    watch: Watch | None = None  # None: it is not yet known what
    history: tuple[DayRecord, ...] = ()  # records of the days before the newest one
    newest: JudgedDay | None = None  # the newest day, judged
    # by subject what is counted of the change that stands.
    ongoing: Mapping[str, OngoingChange] = field(default_factory=dict)
    # of all labels, where they are slow: what they say as they unfold.
    unfolding: UnfoldingLabels = field(default_factory=UnfoldingLabels)
    # day_means, means_until: means of the numbers of a day, in their own unit; where it ends.
    day_means: Mapping[str, float] = field(default_factory=dict)
    means_until: int = 0

    @property
    def newest_day_end(self) -> int:
        """End of the newest day; 0: there is none."""
        return self.days[-1].end if self.days else 0

    @property
    def records(self) -> list[DayRecord]:
        """Records of the days, the newest the last."""
        return [*self.history, *([] if self.newest is None else [self.newest.record])]


@dataclass(frozen=True, slots=True)
class JudgedDays:
    """What a cycle adds."""

    days: list[KeptDay] = field(default_factory=list)  # to be kept
    # (when it was due, rows) of each day that rules judge now.
    rounds: list[tuple[int, list[MeasurementRow]]] = field(default_factory=list)
    rows: list[MeasurementRow] = field(default_factory=list)  # of the newest days: what is shown
    # of each day the rows of subjects with some evidence.
    kept: list[MeasurementRow] = field(default_factory=list)
    # parts, to be remembered once the days are committed.
    watched: Mapping[PartKey, WatchedPart] = field(default_factory=dict)


def read_watched_parts(model: CountedModel, store: SqlStore, due: int = LAST) -> dict[PartKey, WatchedPart]:
    """Parts of a model as their days were judged last, from the store; `due`: last by a moment."""
    return {key: _read_part(model, store, key, due) for key in _part_keys(model)}


def newest_day_rows(
    model: CountedModel, parts: Mapping[PartKey, WatchedPart], as_of: int, first_as_of: int | None
) -> list[MeasurementRow]:
    """What is said of the newest days, and of the budget; `first_as_of`: of the model's first cycle."""
    budget = model.spec.budget
    if budget is None:
        return []
    rows = [row for key in parts for row in _rows_of_part(model, key, parts, as_of)]
    end = max(
        (watched_part.days[-1].end for watched_part in parts.values() if watched_part.days), default=as_of
    )
    began = (as_of if first_as_of is None else first_as_of) - max(model.spec.keys.every, DAY)
    alerts = sum(
        count_recent_alerts(watched_part.days, watched_part.records, began) for watched_part in parts.values()
    )
    return [*rows, *budget_rows(end, budget.false_alerts, alerts)]


def judge_days(  # noqa: PLR0913
    model: CycleModel,
    panes: ModelPanes,
    watched: Mapping[PartKey, WatchedPart],
    state: ModelState,
    as_of: int,
    *,
    last_as_of: int | None,
    uncounted: frozenset[int],
    seen_rows: Mapping[int, int],
    accepted: Iterable[Acceptance],
    lease: Lease | None = None,
) -> JudgedDays:
    """Judge the days that have become due.

    Parameters
    ----------
    watched
        as the days were committed last.
    last_as_of
        of the cycle before: days that were due by then are learned from, but not told. None: there was none,
        and the newest day is told: what is broken as the monitor begins is not passed over.
    uncounted
        starts of panes that wait, or lack a part.
    seen_rows
        rows that the cycle found to have changed, by pane start.
    accepted
        changes that are expected; those of rules on other measures are of no evidence.
    lease
        renewed before each day.
    """
    if model.spec.budget is None:
        return JudgedDays()
    daily = {rule.name for rule in model.spec.rules if rule.measure == EVIDENCE}
    accepted = [one for one in accepted if one.series.rule in daily]
    # As the monitor begins the newest day is told, whatever the hour: what is broken then is not passed over.
    told_after = as_of - max(model.spec.keys.every, DAY) if last_as_of is None else last_as_of
    reader = DayReader(model, panes, as_of, uncounted, seen_rows)
    parts = {key: _with_counts(reader, watched_part) for key, watched_part in watched.items()}
    judged_days = JudgedDays(watched=parts)
    many = due_days(model, panes, state, _find_judging_progress(parts), as_of)
    newest = max((due for due in many if due.part is PaneHalf.RECORDS), default=None)
    for due in many:
        renew_lease(model, lease)
        # Labels so far are looked at before the labels' own newest day is entered, which tells of them.
        if newest is not None and due.at == newest.at and ALL_LABELS in parts:
            parts[ALL_LABELS], kept = _follow_unfolding(reader, parts[ALL_LABELS], newest, accepted)
            judged_days.days.extend(kept)
            newest = None
        strata = reader.read_strata(due)
        earlier = [name for name, first in panes.version_starts.items() if first < due.start]
        rows_to_judge: list[MeasurementRow] = []
        # The whole and its segments may have come differently far: each takes a day once. The whole comes
        # first, as a segment's change is compared with it.
        behind = [
            key
            for key, watched_part in parts.items()
            if key.part is due.part and watched_part.newest_day_end <= due.start
        ]
        for key in behind:
            entry = _DayEntry(model, key, due, strata, accepted, earlier)
            part, days = entry.enter_day(parts[key], parts[PartKey(due.part, False)])
            part = replace(part, unfolding=parts[key].unfolding)
            parts[key] = part = _with_counts(reader, part, strata)
            judged_days.days.extend(days)
            if due.at > told_after:
                rows = _rows_of_part(model, key, parts, as_of)
                rows_to_judge.extend(rows)
                if part.watch is not None and part.history:
                    judged_days.kept.extend(select_evident_rows(rows, part.watch, part.history[-1]))
        judged_days.rounds.extend([(due.at, rows_to_judge)] if rows_to_judge else [])
    judged_days.rows.extend(newest_day_rows(model, parts, as_of, state.first_as_of))
    return judged_days


def watch_of_first_days(counting: Counting, key: PartKey, strata: Sequence[Strata], age: int) -> Watch:
    """What is watched, made of the counters of the first days; `age`: of their labels, in days."""
    pooled = fold_strata(counting.layout_of(key.part), strata)
    if key.segmented:
        return make_segment_watch(counting, key.part, pooled)
    return make_watch(counting, key.part, pooled, age)


def first_days_key(counting: Counting, key: PartKey, *, again: bool = False) -> str:
    """Key of the first days: what they are counted by, whether they are segments, or taken anew."""
    stored = counting.hash_stored_layout(counting.layout_of(key.part))
    apart = [*(["segments"] if key.segmented else []), *(["again"] if again else [])]
    return content_hash([stored, *apart]) if apart else stored


def read_first_days(
    counting: Counting, model: str, store: SqlStore, key: PartKey, due: int = LAST
) -> tuple[str, list[KeptDay]]:
    """The days of which is made what is watched, and the key under which they are kept.

    Days that were taken at an age at which no label was in are not gone on with: earlier versions of the
    monitor learnt an age of one day where labels took longer than the fortnight that they had seen.
    """
    again = False
    if key.part is PaneHalf.LABELS:
        whole, layout = first_days_key(counting, PartKey(key.part, False)), counting.layout_of(key.part)
        of_whole = store.ledger.read_days(model, key.part, whole, FEWEST_DAYS, due=due)
        again = bool(of_whole) and not any(
            len(counters.index) for day in of_whole for counters in decode_strata(day.blob, layout).values()
        )
    name = first_days_key(counting, key, again=again)
    return name, store.ledger.read_days(model, key.part, name, FEWEST_DAYS, due=due)


def _part_keys(model: CountedModel) -> list[PartKey]:
    """What is judged, the whole before the segments of it."""
    if model.spec.budget is None:
        return []
    parts = tuple(PaneHalf) if model.reading.labelled else (PaneHalf.RECORDS,)
    segmented = (False, True) if model.counting.segments else (False,)
    return [PartKey(part, of) for part in parts for of in segmented]


def _find_judging_progress(parts: Mapping[PartKey, WatchedPart]) -> JudgingProgress:
    """As far as all that is watched of a part has been judged."""
    ends: dict[PaneHalf, int] = {}
    age: int | None = None
    for key, watched_part in parts.items():
        end = watched_part.newest_day_end
        ends[key.part] = min(end, ends.get(key.part, end))
        # The age is learnt once: all days of labels have the same.
        if key.part is PaneHalf.LABELS and age is None and watched_part.days:
            age = watched_part.days[0].age
    return JudgingProgress(ends.get(PaneHalf.RECORDS) or None, ends.get(PaneHalf.LABELS) or None, age)


def _rows_of_part(
    model: CountedModel, key: PartKey, parts: Mapping[PartKey, WatchedPart], as_of: int
) -> list[MeasurementRow]:
    """What is said of a part's newest day; nothing of segments of which nothing is judged yet."""
    watched_part, budget = parts[key], model.spec.budget
    end = watched_part.days[-1].end if watched_part.days else as_of
    if watched_part.watch is None or watched_part.newest is None or budget is None:
        return [] if key.segmented else [learning_row(key.part, end, len(watched_part.first_strata))]
    context = DayContext(
        unusual=is_unusual_day(budget, watched_part.newest.record.day),
        ongoing=watched_part.ongoing,
        day_means=watched_part.day_means,
        watched_subjects=sum(len(each.watch.subjects) for each in parts.values() if each.watch is not None),
    )
    whole = parts[PartKey(key.part, False)].newest or watched_part.newest
    n = int(whole.record.samples[0])
    rows = [
        row
        for verdict in describe_subjects(
            watched_part.watch, watched_part.newest, make_alert_budget(budget), context
        )
        for row in subject_rows(
            verdict,
            watched_part.ongoing.get(verdict.subject),
            end=end,
            n=n,
            segmented=watched_part.watch.segmented,
        )
    ]
    return _with_unfolding_rows(model, watched_part, rows) if key == ALL_LABELS else rows


def _with_unfolding_rows(
    model: CountedModel, watched_part: WatchedPart, rows: Sequence[MeasurementRow]
) -> list[MeasurementRow]:
    """Rows in which what labels say so far stands where their own days say nothing yet."""
    unfolding, watch = watched_part.unfolding.newest, watched_part.watch
    changes: dict[str, tuple[float, Change]] = {}
    if unfolding is not None and watch is not None and unfolding.relation.since > 0:
        change = relation_change(model, unfolding, watched_part.days[-1].age)
        changes[""] = unfolding.relation.evidence, change
    if unfolding is not None and unfolding.feed.since > 0:
        changes[SubjectGroup.LABELS.value] = unfolding.feed.evidence, feed_change(unfolding)
    # What was accepted by its first labels is not told anew by its last ones.
    accepted = set[str]()
    if unfolding is not None:
        of_labels = SubjectGroup.LABELS.value
        accepted |= {""} if unfolding.relation.since < 0 else set()
        accepted |= {of_labels} if unfolding.feed.since < 0 else set()
    stands = {row.subject for row in rows if row.measure == EVIDENCE and (row.measurement.value or 0.0) > 1}
    told = {subject: each for subject, each in changes.items() if subject not in stands}

    def with_change(row: MeasurementRow) -> MeasurementRow:
        if row.subject in accepted and row.measure == EVIDENCE and (row.measurement.value or 0.0) > 1:
            return replace(row, measurement=replace(row.measurement, value=1.0))
        if row.subject not in told or row.measure not in (EVIDENCE, CHANGE):
            return row
        evidence, change = told[row.subject]
        result = replace(row.measurement, reason=None, value=change.size, detail=None)
        if row.measure == EVIDENCE:
            result = replace(result, value=evidence, change=change)
        return replace(row, measurement=result)

    return [with_change(row) for row in rows]


def _follow_unfolding(
    reader: DayReader, watched_part: WatchedPart, due: DueDay, accepted: Iterable[Acceptance]
) -> tuple[WatchedPart, list[KeptDay]]:
    """The labels' part after a day of records more, and what is to be kept of the labels so far."""
    model, spec = reader.model, reader.model.spec.budget
    if spec is None or not follows_unfolding(model.counting, watched_part.watch):
        return watched_part, []
    if watched_part.watch is None and not look_slow(reader, due):
        return watched_part, []
    number = count_epoch_days(due.start, zone_of_days(model.reading.zone, model.reading.pane))
    budget = make_alert_budget(spec)
    whole = [one for one in accepted if not one.series.segment]
    moments = {
        subject: max(one.since for one in whole if watched_subject(one.series.subject) == subject)
        for subject in {watched_subject(one.series.subject) for one in whole}
    }
    entered, kept = enter_unfolding_day(
        reader, watched_part.unfolding, watched_part.watch, due, number, budget, moments
    )
    return replace(watched_part, unfolding=entered), [] if kept is None else [kept]


def _read_unfolding(model: CountedModel, store: SqlStore, due: int) -> UnfoldingLabels:
    key = unfolding_key(model.counting)
    days = store.ledger.read_days(model.name, PaneHalf.LABELS, key, REMEMBERED, due=due)
    return UnfoldingLabels(tuple(unpack_unfolding_day(day.blob) for day in days))


def _read_part(model: CountedModel, store: SqlStore, key: PartKey, due: int) -> WatchedPart:
    layout = model.counting.layout_of(key.part)
    unfolding = UnfoldingLabels()
    if key == ALL_LABELS and follows_unfolding(model.counting, None):
        unfolding = _read_unfolding(model, store, due)
    first_key, first = read_first_days(model.counting, model.name, store, key, due)
    strata = tuple(decode_strata(day.blob, layout) for day in first)
    not_watched = WatchedPart(
        days=tuple(first), first_strata=strata, first_key=first_key, unfolding=unfolding
    )
    if len(first) < FEWEST_DAYS:
        return not_watched
    watch = watch_of_first_days(model.counting, key, strata, first[0].age)
    days = store.ledger.read_days(model.name, key.part, watch.key, REMEMBERED_DAYS + 1, due=due)
    if not days:  # this version watches otherwise than the one that judged them
        return not_watched
    *before, last = with_acceptances(watch, [unpack_day(day.blob, watch) for day in days])
    # Of a day only its record is kept. Judged once more it says again what was said of it, but what stands is
    # as it was kept.
    values = DayValues(last.day, last.values, last.samples, last.hits, last.trials)
    newest = replace(_judge_part(model, watch, before, values), record=last)
    return WatchedPart(
        days=tuple(days), watch=watch, history=tuple(before), newest=newest, unfolding=unfolding
    )


@dataclass(frozen=True, slots=True)
class _DayEntry:
    """A due day of a part, and all that is needed to let it in."""

    model: CycleModel
    key: PartKey
    due: DueDay
    strata: Strata
    accepted: Iterable[Acceptance]
    earlier_versions: Collection[str]  # those that had records before it

    def enter_day(self, watched_part: WatchedPart, whole: WatchedPart) -> tuple[WatchedPart, list[KeptDay]]:
        """The part with one day more, and what is to be kept."""
        strata, due = self._select_own_strata(), self.due
        key = watched_part.first_key or first_days_key(self.model.counting, self.key)
        day = KeptDay(key=key, part=due.part, start=due.start, end=due.end, due=due.due, age=due.age)
        if watched_part.watch is not None:
            entered = self._judge_next_day(watched_part, whole, day, strata, self.earlier_versions)
            return entered, [entered.days[-1]]
        # Days that are kept as counted, though enough: another version of the monitor watched otherwise.
        if len(watched_part.first_strata) == FEWEST_DAYS:
            made = self._make_watched_part(watched_part.days, watched_part.first_strata)
            entered = self._judge_next_day(made, whole, day, strata, self.earlier_versions)
            return entered, [*made.days, entered.days[-1]]
        day = replace(day, blob=encode_parts([PanePart(due.start, strata)])[0])
        days, first = (*watched_part.days, day), (*watched_part.first_strata, strata)
        if len(days) < FEWEST_DAYS:
            return WatchedPart(days=days, first_strata=first, first_key=key), [day]
        made = self._make_watched_part(days, first)
        return made, [day, *made.days]

    def _select_own_strata(self) -> Strata:
        """Of the whole all but segments, of segments the chosen ones."""
        if not self.key.segmented:
            return {stratum: each for stratum, each in self.strata.items() if stratum.segment is None}
        chosen = select_segments(self.strata, self.model.counting.segments)
        return {stratum: each for stratum, each in self.strata.items() if stratum in chosen}

    def _make_watched_part(self, days: Sequence[KeptDay], strata: Sequence[Strata]) -> WatchedPart:
        """What is watched, made of the first days, which are then judged one after the other."""
        watch = watch_of_first_days(self.model.counting, self.key, strata, days[0].age)
        watched_part = WatchedPart(watch=watch)
        for day, counted in zip(days, strata, strict=True):
            watched_part = self._judge_next_day(watched_part, WatchedPart(), day, counted)
        return watched_part

    def _judge_next_day(
        self,
        watched_part: WatchedPart,
        whole: WatchedPart,
        day: KeptDay,
        strata: Strata,
        earlier_versions: Collection[str] = (),
    ) -> WatchedPart:
        """The part after a day more, judged by those before it."""
        model, watch, records = self.model, watched_part.watch, watched_part.records
        if watch is None:
            return watched_part
        if records:
            # What was accepted since the last day was due counts from then on, also where a later tick finds
            # both days.
            records[-1] = accept_changes(
                watch, records[-1], self._list_accepted_subjects(watched_part.days[-1], day.due)
            )
        number = count_epoch_days(day.start, zone_of_days(model.reading.zone, model.reading.pane))
        values = day_values(watch, model.counting, strata, number, earlier_versions)
        newest = _judge_part(model, watch, records, values)
        of_whole = next((each for each in reversed(whole.records) if each.day == number), None)
        if watch.segmented and whole.watch is not None and of_whole is not None:
            record = without_repeats_of_whole(watch, newest.record, whole.watch, of_whole)
            newest = replace(newest, record=record)
        judged = replace(day, key=watch.key, blob=pack_day(newest.record))
        days = (*watched_part.days, judged)[-REMEMBERED_DAYS - 1 :]
        return replace(watched_part, days=days, history=tuple(records[-REMEMBERED_DAYS:]), newest=newest)

    def _list_accepted_subjects(self, last: KeptDay, before: int) -> list[str]:
        """Subjects whose change of the last day was accepted before the next is due.

        What hours told of it may have been accepted before the day was over.
        """
        return [
            one.series.segment or watched_subject(one.series.subject)
            for one in self.accepted
            if bool(one.series.segment) is self.key.segmented
            and (one.end == last.end if one.since < one.end else last.due <= one.since < before)
        ]


def _judge_part(
    model: CountedModel, watch: Watch, records: Sequence[DayRecord], values: DayValues
) -> JudgedDay:
    spec = model.spec.budget or BudgetTable()
    unusual = is_unusual_day(spec, values.day)
    return judge_day(watch, records, values, budget=make_alert_budget(spec), unusual=unusual)


def make_alert_budget(spec: BudgetTable) -> AlertBudget:
    """What may be told, as it is configured."""
    return AlertBudget(false_alerts=spec.false_alerts, smallest=spec.smallest)


def is_unusual_day(spec: BudgetTable, day: int) -> bool:
    """Whether a day, counted from 1970, is one that nothing is judged of."""
    return any(first <= day <= last for first, last in spec.unusual_days)


# What is counted of changes that stand: which segment holds each, and means of the columns.


def _with_counts(reader: DayReader, watched_part: WatchedPart, strata: Strata | None = None) -> WatchedPart:
    """A part with what is counted of changes that stand, and with the means of its newest day.

    `strata` is what that day held; None: it is counted again, from panes if these show it.
    """
    watch = watched_part.watch
    if watch is None or watched_part.newest is None:
        return watched_part
    last = watched_part.days[-1]
    watched_part = replace(watched_part, ongoing=_ongoing_changes(reader, watched_part, watch))
    if watched_part.means_until == last.end or last.part is PaneHalf.LABELS or watch.segmented:
        return watched_part
    newest = DueDay(last.due, last.part, last.start, last.end, last.due, last.age)
    moments = _column_moments(reader.model, reader.read_strata(newest) if strata is None else strata)
    return replace(
        watched_part, day_means={name: mean for name, (mean, _) in moments.items()}, means_until=last.end
    )


def _ongoing_changes(reader: DayReader, watched_part: WatchedPart, watch: Watch) -> dict[str, OngoingChange]:
    """Changes that stand, by subject.

    The days of a change, and the 7 before it, are counted as of the moment at which it was found: a restart
    and a late tick find the same. Cost: none where nothing stands; else once a change, from panes if these
    show it.
    """
    records, counting = watched_part.records, reader.model.counting
    record, by_segment = records[-1], bool(counting.segments) and not watch.segmented
    effects = None if watch.segmented else reader.model.score_effects
    ongoing: dict[str, OngoingChange] = {}
    for subject in np.flatnonzero(record.since > NO_CHANGE):
        name, since, found = (
            watch.subjects[subject],
            int(record.since[subject]),
            int(record.evidence_from[subject]),
        )
        # Counted once a change, as of the day on which it was found: later days do not move it.
        if name in watched_part.ongoing and watched_part.ongoing[name].found == found:
            ongoing[name] = watched_part.ongoing[name]
            continue
        is_log = watch.groups[subject] is SubjectGroup.LOG
        level = _level_series(watch, int(subject))
        by = int(record.found_by[subject])
        is_residual = by < len(watch.series) and bool(watch.is_residual[by])
        moves = effects is not None and watch.groups[subject] is SubjectGroup.FEATURE
        # Nothing that is told of such a change is counted.
        if not (level or is_log or by_segment or is_residual or moves):
            continue
        spans = _change_and_prior_spans(reader.model, watched_part.days, since, found)
        if spans is None:
            continue
        during, before = spans
        strata_before = reader.read_strata(before)
        needs_days = is_log or by_segment or is_residual or moves
        strata_during = reader.read_strata(during) if needs_days else {}
        counts = ChangeCounts(
            by=by,
            sign=-1.0 if record.size[subject] < 0 else 1.0,
            during=strata_during,
            before=strata_before,
            days_during=(during.end - during.start) / DAY,
            days_before=(before.end - before.start) / DAY,
        )
        week_before = [each for each in records if since - _WEEK <= each.day < since]
        usual = _column_moments(reader.model, strata_before).get(name)
        old = [version for version, first in reader.panes.version_starts.items() if first < during.start]
        ongoing[name] = OngoingChange(
            found=found,
            segment=find_holding_segment(watch, counting, counts) if by_segment else None,
            mean=_usual_mean(usual, np.asarray([each.values[level] for each in week_before])),
            versions=tuple(new_versions(watch, strata_during, old)) if is_log else (),
            effect=_change_effect(reader.model, effects, name, counts) if moves else None,
            outcomes=_count_change_outcomes(watch, counting, strata_during, records, by)
            if is_residual
            else None,
        )
    return ongoing


def _change_effect(
    model: CycleModel, effects: ScoreEffects | None, subject: str, counts: ChangeCounts
) -> ChangeEffect | None:
    """What a feature does to the mean score in the days of its change, against the week before."""
    if effects is None or WHOLE not in counts.during or WHOLE not in counts.before:
        return None
    move = effects.explain_move(counts.during[WHOLE], counts.before[WHOLE], model.spec.keys.level)
    return find_change_effect(move, subject.removeprefix(FEATURE))


def _count_change_outcomes(
    watch: Watch, counting: Counting, strata: Strata, records: Sequence[DayRecord], by: int
) -> OutcomeCounts | None:
    """Outcomes since a change of labels against scores began, and how many were expected of its days."""
    one = watch.series[by]
    since, found = int(records[-1].since[one.subject]), int(records[-1].evidence_from[one.subject])
    levels = np.stack([each.level for each in records if since <= each.day <= found])
    # The usual level and slope of the days of the change; unknown ones are as in the first days.
    pair = [
        next(
            at
            for at, other in enumerate(watch.series)
            if (other.subject, other.statistic, other.cell) == (one.subject, statistic, one.cell)
        )
        for statistic in RESIDUALS
    ]
    level, slope = (
        float(known.mean()) if len(known := levels[np.isfinite(levels[:, at]), at]) else 0.0 for at in pair
    )
    whole = watch.subject_strata(strata, one.subject).get(WHOLE)
    if whole is None:
        return None
    return count_outcomes(watch.score_maps, counting, whole.make_dense(), one.cell, (level, slope))


def _level_series(watch: Watch, subject: int) -> list[int]:
    """The series of a subject's level; empty: it is no number."""
    return [
        at
        for at, one in enumerate(watch.series)
        if one.subject == subject and one.statistic is DailyStatistic.LEVEL
    ]


def _usual_mean(moments: tuple[float, float] | None, levels: np.ndarray) -> ColumnMean | None:
    """Mean of usual days, with their level."""
    known = levels[np.isfinite(levels)]
    return ColumnMean(*moments, float(known.mean())) if moments is not None and len(known) else None


def _column_moments(model: CycleModel, strata: Strata) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of numbers, in the unit of their columns."""
    if WHOLE not in strata or "moments" not in strata[WHOLE].layout.blocks_by_name:
        return {}
    moments = known_moments(model.counting, strata[WHOLE].make_dense())
    grids = {
        name: grid for name, grid in model.counting.output_grids.items() if isinstance(grid, NumericGrid)
    }
    return {
        name: (grids[name].centre + mean * grids[name].scale, deviation * grids[name].scale)
        for name, (mean, deviation) in moments.items()
        if name in grids
    }


def _change_and_prior_spans(
    model: CycleModel, days: Sequence[KeptDay], since: int, found: int
) -> tuple[DueDay, DueDay] | None:
    """The days of a change up to the one on which it was found, and the week before; None: not known."""
    zone = zone_of_days(model.reading.zone, model.reading.pane)
    by_number = {count_epoch_days(day.start, zone): day for day in days}
    if since not in by_number or found not in by_number:
        return None
    first, last = by_number[since].start, by_number[found]
    return (
        DueDay(last.due, last.part, first, last.end, last.due, last.age),
        DueDay(last.due, last.part, first - _WEEK * DAY, first, last.due, last.age),
    )
