"""Days judged against the budget of false alerts: each part of a day once, in the order of their due moments.

The first days of a part are kept as they were counted: of them is made what is watched. All are judged by
the rows of the days before. So everything follows from the table `days`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from monitor.alerts.rules import Acceptance
from monitor.core.clock import DAY
from monitor.evidence.daily import day_values
from monitor.evidence.days import REMEMBERED, DayRow, DayValues, pack, unpack
from monitor.evidence.expected import FEWEST
from monitor.evidence.judging import AlertBudget, Judged, accept, as_judged_by, step
from monitor.evidence.making import watch_of
from monitor.evidence.telling import judgements
from monitor.evidence.watched import Watch
from monitor.measures.catalogue.daily import EVIDENCE
from monitor.measures.rows import MeasurementRow
from monitor.pipeline.count import renew
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.day_rows import (
    budget_rows,
    learning_rows,
    rows_of,
    told_lately,
    watched_as,
    with_evidence,
)
from monitor.pipeline.sequential.days import DueDay, JudgedUntil, counts_of, due_days
from monitor.pipeline.sequential.standing import StandingChange, standing_now
from monitor.records.codec import decode, encode
from monitor.records.pane import PanePart, Part
from monitor.specs.model import BudgetSpec
from monitor.specs.protocols import Lease
from monitor.specs.rows import Day, ModelState
from monitor.states.strata import Strata
from monitor.windows.days import zone_of_days
from monitor.windows.fold import fold
from monitor.windows.units import number_of


@dataclass(frozen=True, slots=True)
class WatchedPart:
    """One part of a model, as far as its days have been judged.

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
        by subject what is counted of the change that stands; None: not of the newest day yet.
    """

    days: tuple[Day, ...] = ()
    first: tuple[Strata, ...] = ()
    watch: Watch | None = None
    history: tuple[DayRow, ...] = ()
    newest: Judged | None = None
    standing: Mapping[str, StandingChange] = field(default_factory=dict)

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
    watched: Mapping[Part, WatchedPart] = field(default_factory=dict)


def read_watched(model: Model) -> dict[Part, WatchedPart]:
    """Parts of a model as their days were judged last, from the store."""
    return {part: _read(model, part) for part in _parts(model)}


def judge_days(
    model: Model,
    panes: Panes,
    watched: Mapping[Part, WatchedPart],
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
    until = {part: one.days[-1].end for part, one in parts.items() if one.days}
    age = next((day.age for day in parts.get(Part.LABELS, WatchedPart()).days), None)
    judged = JudgedDays(watched=parts)
    known = JudgedUntil(until.get(Part.RECORDS), until.get(Part.LABELS), age)

    def with_standing(one: WatchedPart) -> WatchedPart:
        if one.watch is None or one.newest is None:
            return one
        of = one.days, one.watch, one.rows, one.standing
        return replace(one, standing=standing_now(model, panes, *of, as_of, uncounted))

    parts.update({part: with_standing(one) for part, one in parts.items()})
    for due in due_days(model, panes, state, known, as_of):
        renew(model, lease)
        strata = counts_of(model, panes, due, as_of, uncounted)
        earlier = [name for name, first in panes.versions.items() if first < due.start]
        entered, days = _entered(model, parts[due.part], due, strata, accepted, earlier)
        parts[due.part] = entered = with_standing(entered)
        if due.at > told_after:
            rows = _rows(model, due.part, parts, as_of)
            judged.rounds.append((due.at, rows))
            if entered.watch is not None and entered.history:
                judged.kept.extend(with_evidence(rows, entered.watch, entered.history[-1]))
        judged.days.extend(days)
    judged.rows.extend(row for part in parts for row in _rows(model, part, parts, as_of))
    end = max((one.days[-1].end for one in parts.values() if one.days), default=as_of)
    began = (as_of if state.first_as_of is None else state.first_as_of) - max(model.spec.every, DAY)
    told = sum(told_lately(one.days, one.rows, began) for one in parts.values())
    judged.rows.extend(budget_rows(end, model.spec.budget.false_alerts, told))
    return judged


def _rows(model: Model, part: Part, parts: Mapping[Part, WatchedPart], as_of: int) -> list[MeasurementRow]:
    """What is said of a part's newest day."""
    watched = parts[part]
    budget, end = model.spec.budget, watched.days[-1].end if watched.days else as_of
    if watched.watch is None or watched.newest is None or budget is None:
        return list(learning_rows(part, end, len(watched.first)))
    unusual = _unusual(budget, watched.newest.row.day)
    means = {name: one.means for name, one in watched.standing.items() if one.means is not None}
    told = judgements(watched.watch, watched.newest, budget=_budget(budget), unusual=unusual, means=means)
    n = int(watched.newest.row.samples[0])
    subjects = sum(len(one.watch.subjects) for one in parts.values() if one.watch is not None)
    day = watched.newest.row.day
    return list(rows_of(end, told, day=day, n=n, subjects=subjects, standing=watched.standing))


def _parts(model: Model) -> Sequence[Part]:
    if model.spec.budget is None:
        return ()
    return tuple(Part) if model.reading.labelled else (Part.RECORDS,)


def _read(model: Model, part: Part) -> WatchedPart:
    layout = model.counting.layout(part)
    first = model.store.days(model.name, part, _counted(model, part), FEWEST)
    counted = tuple(decode(day.blob, layout) for day in first)
    if len(first) < FEWEST:
        return WatchedPart(days=tuple(first), first=counted)
    watch = watch_of(model.counting, part, fold(layout, counted))
    days = model.store.days(model.name, part, watch.key, REMEMBERED + 1)
    if not days:  # this version watches otherwise than the one that judged them
        return WatchedPart(days=tuple(first), first=counted)
    *before, last = as_judged_by(watch, [unpack(day.blob, watch) for day in days])
    values = DayValues(last.day, last.values, last.samples, last.hits, last.trials)
    newest = replace(_judged(model, watch, before, values), row=last)
    return WatchedPart(days=tuple(days), watch=watch, history=tuple(before), newest=newest)


def _entered(
    model: Model,
    watched: WatchedPart,
    due: DueDay,
    strata: Strata,
    accepted: Iterable[Acceptance],
    earlier: Collection[str],
) -> tuple[WatchedPart, list[Day]]:
    """A part with one day more, and what is to be kept."""
    day = Day(
        key=_counted(model, due.part), part=due.part, start=due.start, end=due.end, due=due.due, age=due.age
    )
    if watched.watch is not None:
        entered = _after(model, watched, day, strata, accepted, earlier)
        return entered, [entered.days[-1]]
    if len(watched.first) == FEWEST:
        made = _made(model, watched.days, watched.first, accepted)
        entered = _after(model, made, day, strata, accepted, earlier)
        return entered, [*made.days, entered.days[-1]]
    day = replace(day, blob=encode([PanePart(due.start, strata)])[0])
    days, first = (*watched.days, day), (*watched.first, strata)
    if len(days) < FEWEST:
        return WatchedPart(days=days, first=first), [day]
    made = _made(model, days, first, accepted)
    return made, [day, *made.days]


def _after(
    model: Model,
    watched: WatchedPart,
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
        expected = [one.series.subject for one in accepted if before <= one.since < day.due]
        rows[-1] = accept(watch, rows[-1], [watched_as(subject) for subject in expected])
    number = number_of(day.start, zone_of_days(model.reading.zone, model.reading.pane))
    values = day_values(watch, model.counting, strata, number, earlier)
    newest = _judged(model, watch, rows, values)
    kept = replace(day, key=watch.key, blob=pack(newest.row))
    days = (*watched.days, kept)[-REMEMBERED - 1 :]
    return replace(watched, days=days, history=tuple(rows[-REMEMBERED:]), newest=newest)


def _made(
    model: Model, days: Sequence[Day], counted: Sequence[Strata], accepted: Iterable[Acceptance]
) -> WatchedPart:
    """What is watched, made of the first days, which are then judged one after the other."""
    part = days[0].part
    watched = WatchedPart(watch=watch_of(model.counting, part, fold(model.counting.layout(part), counted)))
    for day, strata in zip(days, counted, strict=True):
        watched = _after(model, watched, day, strata, accepted)
    return watched


def _judged(model: Model, watch: Watch, rows: Sequence[DayRow], values: DayValues) -> Judged:
    budget = model.spec.budget or BudgetSpec()
    return step(watch, rows, values, budget=_budget(budget), unusual=_unusual(budget, values.day))


def _counted(model: Model, part: Part) -> str:
    """Key of the first days: what they are counted by."""
    return model.counting.stored_as(model.counting.layout(part))


def _budget(spec: BudgetSpec) -> AlertBudget:
    return AlertBudget(false_alerts=spec.false_alerts, smallest=spec.smallest)


def _unusual(spec: BudgetSpec, number: int) -> bool:
    return any(first <= number <= last for first, last in spec.unusual_days)
