"""Days judged against the budget of false alerts: each part of a day once, in the order of their due moments.

The first days of a part are kept as they were counted: of them is made what is watched. All later ones are
judged by the rows of the days before. So everything follows from the table `days`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from zoneinfo import ZoneInfo

from monitor.alerts.rules import Acceptance
from monitor.core.clock import to_datetime
from monitor.evidence.daily import day_values
from monitor.evidence.days import REMEMBERED, DayRow, DayValues, pack, unpack
from monitor.evidence.expected import FEWEST
from monitor.evidence.judging import AlertBudget, Judged, accept, step
from monitor.evidence.making import watch_of
from monitor.evidence.telling import judgements
from monitor.evidence.watched import Watch
from monitor.measures.rows import MeasurementRow
from monitor.pipeline.model import Model
from monitor.pipeline.panes import Panes
from monitor.pipeline.sequential.day_rows import learning_rows, rows_of, watched_as, with_evidence
from monitor.pipeline.sequential.days import DueDay, JudgedUntil, counts_of, due_days
from monitor.records.codec import decode, encode
from monitor.records.pane import PanePart, Part
from monitor.specs.model import BudgetSpec
from monitor.specs.rows import Day, ModelState
from monitor.states.strata import Strata
from monitor.windows.days import zone_of_days
from monitor.windows.fold import fold

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Watched:
    """One part of a model, as far as its days have been judged.

    Parameters
    ----------
    days
        those that were judged last, oldest first: as many as are remembered.
    first
        (day, counters) of the first days, until something is watched.
    watch
        None: it is not yet known what.
    history
        rows of the days before the newest one.
    newest
        the newest day, judged.
    """

    days: tuple[Day, ...] = ()
    first: tuple[tuple[int, Strata], ...] = ()
    watch: Watch | None = None
    history: tuple[DayRow, ...] = ()
    newest: Judged | None = None


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
    watched: Mapping[Part, Watched] = field(default_factory=dict)


def read_watched(model: Model) -> dict[Part, Watched]:
    """Parts of a model as their days were judged last, from the store."""
    return {part: _read(model, part) for part in _parts(model)}


def judge_days(
    model: Model,
    panes: Panes,
    watched: Mapping[Part, Watched],
    state: ModelState,
    as_of: int,
    *,
    last_as_of: int | None,
    uncounted: frozenset[int],
    accepted: Iterable[Acceptance],
) -> JudgedDays:
    """Judge the days that have become due.

    Parameters
    ----------
    watched
        as the days were committed last.
    last_as_of
        of the cycle before: days that were due by then are learned from, but not told. None: there was none,
        and what has just become due is told.
    uncounted
        starts of panes that wait, or lack a part.
    accepted
        changes that are expected.
    """
    if model.spec.budget is None:
        return JudgedDays()
    parts = dict(watched)
    told_after = as_of - model.spec.every if last_as_of is None else last_as_of
    until = {part: one.days[-1].end for part, one in parts.items() if one.days}
    age = next((day.age for day in parts.get(Part.LABELS, Watched()).days), None)
    judged = JudgedDays(watched=parts)
    known = JudgedUntil(until.get(Part.RECORDS), until.get(Part.LABELS), age)
    for due in due_days(model, panes, state, known, as_of):
        strata = counts_of(model, panes, due, as_of, uncounted)
        parts[due.part], day = _entered(model, parts[due.part], due, strata, accepted)
        judged.days.append(day)
        if due.at > told_after:
            rows = _rows(model, due.part, parts[due.part])
            judged.rounds.append((due.at, rows))
            judged.kept.extend(with_evidence(rows))
    judged.rows.extend(row for part, one in parts.items() for row in _rows(model, part, one))
    return judged


def _rows(model: Model, part: Part, watched: Watched) -> list[MeasurementRow]:
    """What is said of a part's newest day."""
    budget, end = model.spec.budget, watched.days[-1].end if watched.days else 0
    if watched.watch is None or watched.newest is None or budget is None:
        return list(learning_rows(part, end, len(watched.first)))
    unusual = _unusual(budget, watched.newest.row.day)
    told = judgements(watched.watch, watched.newest, budget=_budget(budget), unusual=unusual)
    return list(rows_of(end, told, n=int(watched.newest.row.samples.max(initial=0.0))))


def _parts(model: Model) -> Sequence[Part]:
    if model.spec.budget is None:
        return ()
    return tuple(Part) if model.reading.labelled else (Part.RECORDS,)


def _read(model: Model, part: Part) -> Watched:
    kept = model.store.days(model.name, part, _counted(model, part), FEWEST)
    layout = model.counting.layout(part)
    watched = Watched()
    for day in kept:
        watched = _learned(model, watched, part, day, decode(day.blob, layout))
    if watched.watch is None or watched.newest is None:
        return watched
    days = model.store.days(model.name, part, watched.watch.key, REMEMBERED + 1)
    if not days:
        return watched
    rows = [*watched.history, watched.newest.row, *(unpack(day.blob, watched.watch) for day in days)]
    return _judged_again(model, watched, [*watched.days, *days], rows)


def _judged_again(model: Model, watched: Watched, days: Sequence[Day], rows: Sequence[DayRow]) -> Watched:
    """The newest day judged once more, by the rows before it: what is said of it is not kept."""
    watch, budget, last = watched.watch, model.spec.budget, rows[-1]
    if watch is None or budget is None:
        return watched
    values = DayValues(last.day, last.values, last.samples, last.hits, last.trials)
    before = tuple(rows[:-1][-REMEMBERED:])
    judged = step(watch, before, values, budget=_budget(budget), unusual=_unusual(budget, last.day))
    return Watched(
        days=tuple(days[-REMEMBERED:]),
        watch=watch,
        history=before,
        newest=replace(judged, row=last),
    )


def _entered(
    model: Model, watched: Watched, due: DueDay, strata: Strata, accepted: Iterable[Acceptance]
) -> tuple[Watched, Day]:
    """A part with one day more, and the day as it is kept."""
    number, budget = _number(model, due.start), model.spec.budget
    day = Day(
        key=_counted(model, due.part), part=due.part, start=due.start, end=due.end, due=due.due, age=due.age
    )
    watch, newest = watched.watch, watched.newest
    if watch is None or newest is None or budget is None:
        blob = encode([PanePart(due.start, strata)])[0]
        return _learned(model, watched, due.part, replace(day, blob=blob), strata), replace(day, blob=blob)
    before = watched.days[-1].due
    expected = [one.series.subject for one in accepted if before <= one.since < due.due]
    last = accept(watch, newest.row, [watched_as(subject) for subject in expected])
    history = (*watched.history, last)[-REMEMBERED:]
    judged = step(
        watch,
        history,
        day_values(watch, model.counting, strata, number),
        budget=_budget(budget),
        unusual=_unusual(budget, number),
    )
    day = replace(day, key=watch.key, blob=pack(judged.row))
    days = (*watched.days, day)[-REMEMBERED:]
    return Watched(days=days, watch=watch, history=history, newest=judged), day


def _learned(model: Model, watched: Watched, part: Part, day: Day, strata: Strata) -> Watched:
    """A part with one of its first days more; with the last of them it is known what is watched."""
    budget = model.spec.budget
    first = (*watched.first, (_number(model, day.start), strata))
    days = (*watched.days, day)
    if len(first) < FEWEST or budget is None:
        return Watched(days=days, first=first)
    watch = watch_of(
        model.counting, part, fold(model.counting.layout(part), [counted for _, counted in first])
    )
    rows: list[DayRow] = []
    judged = None
    for number, counted in first:
        rows += [] if judged is None else [judged.row]
        values = day_values(watch, model.counting, counted, number)
        judged = step(watch, rows, values, budget=_budget(budget), unusual=_unusual(budget, number))
    return Watched(days=days, watch=watch, history=tuple(rows), newest=judged)


def _counted(model: Model, part: Part) -> str:
    """Key of the first days: what they are counted by."""
    return model.counting.stored_as(model.counting.layout(part))


def _number(model: Model, start: int) -> int:
    """Days since 1970-01-01 of a day's date."""
    zone = ZoneInfo(zone_of_days(model.reading.zone, model.reading.pane))
    return to_datetime(start).astimezone(zone).date().toordinal() - _EPOCH


def _budget(spec: BudgetSpec) -> AlertBudget:
    return AlertBudget(false_alerts=spec.false_alerts, smallest=spec.smallest)


def _unusual(spec: BudgetSpec, number: int) -> bool:
    return any(first <= number <= last for first, last in spec.unusual_days)
