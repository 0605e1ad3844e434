"""Days judged against the budget of false alerts: each part of a day once, in the order of their due moments.

What is watched of a part's segments is a watch of its own: the whole's days are the same without it.
The first days of a part are kept as they were counted: of them is made what is watched. All are judged by
the rows of the days before. So everything follows from the table `days`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from monitor.alerts.rules import Acceptance
from monitor.core.clock import DAY, LAST
from monitor.core.text import content_hash
from monitor.evidence.daily import day_values
from monitor.evidence.days import DayRow, DayValues, pack, unpack
from monitor.evidence.expected import FEWEST
from monitor.evidence.judging import AlertBudget, Judged, accept, as_judged_by, step
from monitor.evidence.making import watch_of, watch_of_segments
from monitor.evidence.segments import told_with_whole
from monitor.evidence.telling import judgements
from monitor.evidence.watched import Watch
from monitor.measures.catalogue.daily import EVIDENCE, REMEMBERED
from monitor.measures.rows import MeasurementRow
from monitor.pipeline.count import renew
from monitor.pipeline.model import CountedModel, Model
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.day_rows import (
    budget_rows,
    learning_rows,
    rows_of,
    told_lately,
    watched_as,
    with_evidence,
)
from monitor.pipeline.sequential.days import DueDay, JudgedUntil, due_days, strata_of
from monitor.pipeline.sequential.standing import StandingChange, means_of, standing_now
from monitor.records.codec import decode, encode
from monitor.records.counting import Counting
from monitor.records.pane import PanePart, Part
from monitor.specs.model import BudgetSpec
from monitor.specs.protocols import Lease, Store
from monitor.specs.rows import Day, ModelState
from monitor.states.strata import Strata, segments_of
from monitor.windows.days import zone_of_days
from monitor.windows.fold import fold
from monitor.windows.units import number_of

PartKey: TypeAlias = tuple[Part, bool]
"""A part of a model; True: of it the segments."""


@dataclass(frozen=True, slots=True)
class WatchedPart:
    """One part of a model, or its segments, as far as its days have been judged.

    Parameters
    ----------
    days
        those that were judged last, oldest first: as many as are remembered.
    first
        counters of these days, until something is watched.
    watch
        None: it is not yet known what.
    history
        rows of the days before the newest one.
    newest
        the newest day, judged.
    standing
        by subject what is counted of the change that stands.
    means, meant
        means of the numbers of a day, in their own unit; where it ends.
    """

    days: tuple[Day, ...] = ()
    first: tuple[Strata, ...] = ()
    watch: Watch | None = None
    history: tuple[DayRow, ...] = ()
    newest: Judged | None = None
    standing: Mapping[str, StandingChange] = field(default_factory=dict)
    means: Mapping[str, float] = field(default_factory=dict)
    meant: int = 0

    @property
    def until(self) -> int:
        """End of the newest day; 0: there is none."""
        return self.days[-1].end if self.days else 0

    @property
    def rows(self) -> list[DayRow]:
        """Rows of the days, the newest the last."""
        return [*self.history, *([] if self.newest is None else [self.newest.row])]


@dataclass(frozen=True, slots=True)
class JudgedDays:
    """What a cycle adds.

    Parameters
    ----------
    days
        to be kept.
    rounds
        (when it was due, rows) of each day that rules judge now.
    rows
        of the newest days: what is shown.
    kept
        of each day the rows of subjects with some evidence.
    watched
        parts, to be remembered once the days are committed.
    """

    days: list[Day] = field(default_factory=list)
    rounds: list[tuple[int, list[MeasurementRow]]] = field(default_factory=list)
    rows: list[MeasurementRow] = field(default_factory=list)
    kept: list[MeasurementRow] = field(default_factory=list)
    watched: Mapping[PartKey, WatchedPart] = field(default_factory=dict)


def read_watched(model: Model) -> dict[PartKey, WatchedPart]:
    """Parts of a model as their days were judged last, from the store."""
    return read_parts(model, model.store)


def read_parts(model: CountedModel, store: Store, due: int = LAST) -> dict[PartKey, WatchedPart]:
    """The same; `due`: as they were judged last by a moment."""
    return {of: _read(model, store, of, due) for of in _parts(model)}


def rows_of_newest(
    model: CountedModel, parts: Mapping[PartKey, WatchedPart], as_of: int, first_as_of: int | None
) -> list[MeasurementRow]:
    """What is said of the newest days, and of the budget; `first_as_of`: of the model's first cycle."""
    budget = model.spec.budget
    if budget is None:
        return []
    rows = [row for of in parts for row in _rows(model, of, parts, as_of)]
    end = max((one.days[-1].end for one in parts.values() if one.days), default=as_of)
    began = (as_of if first_as_of is None else first_as_of) - max(model.spec.every, DAY)
    told = sum(told_lately(one.days, one.rows, began) for one in parts.values())
    return [*rows, *budget_rows(end, budget.false_alerts, told)]


def judge_days(
    model: Model,
    panes: Panes,
    watched: Mapping[PartKey, WatchedPart],
    state: ModelState,
    as_of: int,
    *,
    last_as_of: int | None,
    uncounted: frozenset[int],
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
    accepted
        changes that are expected; those of rules on other measures are of no evidence.
    lease
        renewed before each day.
    """
    if model.spec.budget is None:
        return JudgedDays()
    daily = {rule.name for rule in model.spec.rules if rule.measure == EVIDENCE}
    accepted = [one for one in accepted if one.series.rule in daily]
    parts = dict(watched)
    told_after = as_of - max(model.spec.every, DAY) if last_as_of is None else last_as_of
    judged = JudgedDays(watched=parts)

    seen = model, panes, as_of, uncounted
    parts.update({of: _with_standing(one, *seen) for of, one in parts.items()})
    for due in due_days(model, panes, state, _judged_until(parts), as_of):
        renew(model, lease)
        strata = strata_of(model, panes, due, as_of, uncounted)
        earlier = [name for name, first in panes.versions.items() if first < due.start]
        said: list[MeasurementRow] = []
        for of in [of for of, one in parts.items() if of[0] is due.part and one.until <= due.start]:
            entered, days = _entered(model, parts, of, due, strata, accepted, earlier)
            parts[of] = entered = _with_standing(entered, *seen, strata)
            judged.days.extend(days)
            if due.at > told_after:
                rows = _rows(model, of, parts, as_of)
                said.extend(rows)
                if entered.watch is not None and entered.history:
                    judged.kept.extend(with_evidence(rows, entered.watch, entered.history[-1]))
        judged.rounds.extend([(due.at, said)] if said else [])
    judged.rows.extend(rows_of_newest(model, parts, as_of, state.first_as_of))
    return judged


def _with_standing(
    one: WatchedPart,
    model: Model,
    panes: Panes,
    as_of: int,
    uncounted: frozenset[int],
    strata: Strata | None = None,
) -> WatchedPart:
    """A part with what is counted of changes that stand, and with the means of its newest day.

    Parameters
    ----------
    strata
        what that day held; None: it is counted again, from panes if these show it.
    """
    if one.watch is None or one.newest is None:
        return one
    last, of = one.days[-1], (one.days, one.watch, one.rows, one.standing)
    one = replace(one, standing=standing_now(model, panes, *of, as_of, uncounted))
    if one.meant == last.end or last.part is Part.LABELS or of[1].segmented:
        return one
    newest = DueDay(last.due, last.part, last.start, last.end, last.due, last.age)
    strata = strata_of(model, panes, newest, as_of, uncounted) if strata is None else strata
    means = {name: mean for name, (mean, _) in means_of(model, strata).items()}
    return replace(one, means=means, meant=last.end)


def _judged_until(parts: Mapping[PartKey, WatchedPart]) -> JudgedUntil:
    """As far as all that is watched of a part has been judged."""
    until = {
        part: min(one.until for of, one in parts.items() if of[0] is part) or None
        for part in {part for part, _ in parts}
    }
    age = next((day.age for of, one in parts.items() if of[0] is Part.LABELS for day in one.days), None)
    return JudgedUntil(until.get(Part.RECORDS), until.get(Part.LABELS), age)


def _rows(
    model: CountedModel, of: PartKey, parts: Mapping[PartKey, WatchedPart], as_of: int
) -> list[MeasurementRow]:
    """What is said of a part's newest day; nothing of segments of which nothing is judged yet."""
    watched, (part, segments) = parts[of], of
    budget, end = model.spec.budget, watched.days[-1].end if watched.days else as_of
    if watched.watch is None or watched.newest is None or budget is None:
        return [] if segments else list(learning_rows(part, end, len(watched.first)))
    unusual = _unusual(budget, watched.newest.row.day)
    usual = {name: one.means for name, one in watched.standing.items() if one.means is not None}
    means = usual, watched.means
    told = judgements(watched.watch, watched.newest, budget=_budget(budget), unusual=unusual, means=means)
    newest = parts[part, False].newest or watched.newest
    n = int(newest.row.samples[0])
    subjects = sum(len(one.watch.subjects) for one in parts.values() if one.watch is not None)
    day = watched.newest.row.day
    of_segments = watched.watch.segmented
    standing = watched.standing
    return list(rows_of(end, told, day=day, n=n, subjects=subjects, standing=standing, segmented=of_segments))


def _parts(model: CountedModel) -> Sequence[PartKey]:
    """What is judged, the whole before the segments of it."""
    if model.spec.budget is None:
        return ()
    parts = tuple(Part) if model.reading.labelled else (Part.RECORDS,)
    return [(part, of) for part in parts for of in ((False, True) if model.counting.segments else (False,))]


def _read(model: CountedModel, store: Store, of: PartKey, due: int) -> WatchedPart:
    part, _ = of
    layout = model.counting.layout(part)
    first = store.days(model.name, part, counted_as(model.counting, of), FEWEST, due=due)
    counted = tuple(decode(day.blob, layout) for day in first)
    if len(first) < FEWEST:
        return WatchedPart(days=tuple(first), first=counted)
    watch = watch_from(model.counting, of, counted)
    days = store.days(model.name, part, watch.key, REMEMBERED + 1, due=due)
    if not days:  # this version watches otherwise than the one that judged them
        return WatchedPart(days=tuple(first), first=counted)
    *before, last = as_judged_by(watch, [unpack(day.blob, watch) for day in days])
    values = DayValues(last.day, last.values, last.samples, last.hits, last.trials)
    newest = replace(_judged(model, watch, before, values), row=last)
    return WatchedPart(days=tuple(days), watch=watch, history=tuple(before), newest=newest)


def _entered(
    model: Model,
    parts: Mapping[PartKey, WatchedPart],
    of: PartKey,
    due: DueDay,
    strata: Strata,
    accepted: Iterable[Acceptance],
    earlier: Collection[str],
) -> tuple[WatchedPart, list[Day]]:
    """A part with one day more, and what is to be kept."""
    watched, part, whole = parts[of], due.part, parts[due.part, False]
    key = counted_as(model.counting, of)
    day = Day(key=key, part=part, start=due.start, end=due.end, due=due.due, age=due.age)
    chosen = segments_of(strata, model.counting.segments) if of[1] else ()
    strata = {
        stratum: counters
        for stratum, counters in strata.items()
        if (stratum in chosen if of[1] else stratum.segment is None)
    }
    accepted = [one for one in accepted if bool(one.series.segment) is of[1]]
    if watched.watch is not None:
        entered = _after(model, watched, whole, day, strata, accepted, earlier)
        return entered, [entered.days[-1]]
    if len(watched.first) == FEWEST:
        made = _made(model, of, watched.days, watched.first, accepted)
        entered = _after(model, made, whole, day, strata, accepted, earlier)
        return entered, [*made.days, entered.days[-1]]
    day = replace(day, blob=encode([PanePart(due.start, strata)])[0])
    days, first = (*watched.days, day), (*watched.first, strata)
    if len(days) < FEWEST:
        return WatchedPart(days=days, first=first), [day]
    made = _made(model, of, days, first, accepted)
    return made, [day, *made.days]


def _after(
    model: Model,
    watched: WatchedPart,
    whole: WatchedPart,
    day: Day,
    strata: Strata,
    accepted: Iterable[Acceptance],
    earlier: Collection[str] = (),
) -> WatchedPart:
    """A watched part after one day more; `earlier`: versions that had records before it."""
    watch, rows = watched.watch, watched.rows
    if watch is None:
        return watched
    if rows:
        before = watched.days[-1].due
        expected = [one.series for one in accepted if before <= one.since < day.due]
        rows[-1] = accept(watch, rows[-1], [one.segment or watched_as(one.subject) for one in expected])
    number = number_of(day.start, zone_of_days(model.reading.zone, model.reading.pane))
    values = day_values(watch, model.counting, strata, number, earlier)
    newest = _judged(model, watch, rows, values)
    of_whole = next((row for row in reversed(whole.rows) if row.day == number), None)
    if watch.segmented and whole.watch is not None and of_whole is not None:
        newest = replace(newest, row=told_with_whole(watch, newest.row, whole.watch, of_whole))
    kept = replace(day, key=watch.key, blob=pack(newest.row))
    days = (*watched.days, kept)[-REMEMBERED - 1 :]
    return replace(watched, days=days, history=tuple(rows[-REMEMBERED:]), newest=newest)


def _made(
    model: Model,
    of: PartKey,
    days: Sequence[Day],
    counted: Sequence[Strata],
    accepted: Iterable[Acceptance],
) -> WatchedPart:
    """What is watched, made of the first days, which are then judged one after the other."""
    watched = WatchedPart(watch=watch_from(model.counting, of, counted))
    for day, strata in zip(days, counted, strict=True):
        watched = _after(model, watched, WatchedPart(), day, strata, accepted)
    return watched


def watch_from(counting: Counting, of: PartKey, counted: Sequence[Strata]) -> Watch:
    """What is watched, made of the counters of the first days."""
    part, segments = of
    pooled = fold(counting.layout(part), counted)
    return (watch_of_segments if segments else watch_of)(counting, part, pooled)


def _judged(model: CountedModel, watch: Watch, rows: Sequence[DayRow], values: DayValues) -> Judged:
    budget = model.spec.budget or BudgetSpec()
    return step(watch, rows, values, budget=_budget(budget), unusual=_unusual(budget, values.day))


def counted_as(counting: Counting, of: PartKey) -> str:
    """Key of the first days: what they are counted by, and whether they are segments."""
    part, segments = of
    key = counting.stored_as(counting.layout(part))
    return content_hash([key, "segments"]) if segments else key


def _budget(spec: BudgetSpec) -> AlertBudget:
    return AlertBudget(false_alerts=spec.false_alerts, smallest=spec.smallest)


def _unusual(spec: BudgetSpec, number: int) -> bool:
    return any(first <= number <= last for first, last in spec.unusual_days)
