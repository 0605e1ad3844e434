"""The SQL that the monitor will run, with the database's plan: written by the very code that runs it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from monitor.core.clock import DAY, floor_to
from monitor.core.secrets import hide
from monitor.sources.dialects import Dialect
from monitor.sources.plans import Plan, Planned
from monitor.sources.source import SqlSource
from monitor.sources.statements import Reader
from monitor.specs.model import ModelSpec


@dataclass(frozen=True, slots=True)
class Query:
    """A statement, what it is for, and its plan line by line; `every`: cycle or audit."""

    purpose: str
    every: str
    sql: str
    plan: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _PlanReader:
    """A reader whose sessions ask for plans."""

    reader: Reader
    found: list[Plan] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        """How the engine writes names."""
        return self.reader.dialect

    @contextmanager
    def session(self) -> Iterator[Planned]:
        """Session of the real reader."""
        with self.reader.session() as session:
            yield Planned(session, self.reader.dialect.name, self.found)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()


@dataclass(frozen=True, slots=True)
class _Step:
    """A method of the source as a cycle or an audit calls it."""

    every: str
    purpose: str
    run: Callable[[SqlSource], object]


def explain_model(model: ModelSpec, source: SqlSource, as_of: int) -> list[Query]:
    """Statements of a cycle and of an audit, with their plans; no row of a record is read.

    Parameters
    ----------
    as_of
        the cycle's; statements of panes are shown with the newest, and with scattered ones.
    """
    steps = [*_of_cycle(model, as_of), *_of_audit(model, as_of)]
    return [query for step in steps for query in _queries(step, source)]


def _of_cycle(model: ModelSpec, as_of: int) -> Iterator[_Step]:
    pane, since = model.reading.pane, as_of - model.every - model.overlap
    logged = model.predictions.column("logged_at") is not None
    bounds = _bounds(model, as_of, logged=logged)
    newest = (floor_to(since, pane) if logged else bounds[0], floor_to(as_of, pane) + pane)
    starts = [floor_to(newest[0] - back, pane) for back in (9 * DAY, 5 * DAY, 2 * DAY)]
    scattered = [(start, start + pane) for start in starts]
    yield _Step(
        "cycle",
        "rows logged since the last cycle",
        lambda one: list(
            one.changed_records(model, since=since if logged else None, as_of=as_of, bounds=bounds)
        ),
    )
    yield _Step("cycle", "rows of the newest panes", lambda one: one.records(model, [newest]))
    if model.labels is None:
        return
    dated = model.labels.column("reported_at") is not None
    reached = _bounds(model, as_of, logged=dated)
    yield _Step(
        "cycle",
        "labels reported since the last cycle",
        lambda one: list(
            one.changed_labels(model, since=since if dated else None, as_of=as_of, bounds=reached)
        ),
    )
    yield _Step("cycle", "outputs and labels of the newest panes", lambda one: one.labelled(model, [newest]))
    yield _Step("cycle", "outputs and labels of scattered panes", lambda one: one.labelled(model, scattered))


def _of_audit(model: ModelSpec, as_of: int) -> Iterator[_Step]:
    reading = model.reading
    first = as_of - 2 * reading.horizon
    bounds, known = (first, as_of + reading.horizon), (first, as_of + reading.tolerance + 1)
    yield _Step(
        "audit",
        "all rows of two horizons, compared with what is stored",
        lambda one: list(one.changed_records(model, since=None, as_of=as_of, bounds=bounds)),
    )
    yield _Step("audit", "rows without id or time", lambda one: one.strays(model, as_of=as_of, bounds=bounds))
    yield _Step(
        "audit", "ids in several panes", lambda one: one.repeated_ids(model, as_of=as_of, bounds=known)
    )
    if model.labels is None:
        return
    counted = (_oldest(model, as_of), floor_to(as_of, reading.pane))
    yield _Step(
        "audit",
        "outputs and labels of the horizon, compared with what is stored",
        lambda one: one.labelled(model, [counted]),
    )
    yield _Step("audit", "labels without a prediction", lambda one: one.orphans(model, (first, as_of + 1)))


def _bounds(model: ModelSpec, as_of: int, *, logged: bool) -> tuple[int, int]:
    """Event times that a cycle looks through; the last ones where no column tells which rows are new."""
    oldest = _oldest(model, as_of)
    if not logged:
        oldest = max(oldest, floor_to(as_of - model.lookback, model.reading.pane))
    return (oldest, as_of + model.reading.tolerance + 1)


def _oldest(model: ModelSpec, as_of: int) -> int:
    return -(-(as_of - model.reading.horizon) // model.reading.pane) * model.reading.pane


def _queries(step: _Step, source: SqlSource) -> Iterator[Query]:
    planning = _PlanReader(source.reader)
    step.run(SqlSource(planning))
    for plan in planning.found:
        lines = tuple(hide(_line(plan.dialect, row)) for row in plan.rows)
        yield Query(step.purpose, step.every, hide(plan.sql), lines)


def _line(dialect: str, row: tuple[Any, ...]) -> str:
    if dialect == "sqlite":
        return str(row[3])
    return str(row[0]) if len(row) == 1 else " | ".join("" if part is None else str(part) for part in row)
