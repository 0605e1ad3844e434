"""The SQL that the monitor will run, with the database's plan: written by the very code that runs it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.core.clock import DAY, floor_to
from monitor.core.secrets import hide
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.records.rows import Batches
from monitor.sources.engines.engine import Engine, Reader
from monitor.sources.source import SqlSource
from monitor.sources.sql.statements import Session, Statement
from monitor.specs.model import ModelSpec
from monitor.specs.reads import (
    audit_ranges,
    changed_labels_range,
    changed_records_range,
    counted_ranges,
    oldest_pane,
    pane_ranges,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement, and its plan row by row as the engine tells it."""

    sql: str
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A session that asks for plans instead of rows; small questions about the tables are passed on."""

    session: Session
    engine: Engine
    plans: list[Plan]

    def read(self, statement: Statement) -> pa.Table:
        """No rows."""
        self._note(statement.text())
        return statement.empty()

    def batches(self, statement: Statement) -> Batches:
        """One batch without rows."""
        self._note(statement.text())
        yield statement.empty()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query; counts, which may read a table whole, are 0."""
        if not sql.startswith("SELECT count("):
            return self.session.rows(sql)
        self._note(sql)
        return [(0,)]

    def described(self, sql: str) -> dict[str, object]:
        """Columns of a query, as the driver describes them."""
        return self.session.described(sql)

    def settle(self, sql: str) -> None:
        """Run a statement without rows."""
        self.session.settle(sql)

    def _note(self, sql: str) -> None:
        plan = self.session.rows(f"{self.engine.explain} {sql}")
        self.plans.append(Plan(sql, tuple(plan)))


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
    plans: list[Plan] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        """The engine whose plans they are."""
        return self.reader.engine

    @contextmanager
    def session(self) -> Iterator[Planned]:
        """Session of the real reader."""
        with self.reader.session() as session:
            yield Planned(session, self.reader.engine, self.plans)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()


@dataclass(frozen=True, slots=True)
class _Step:
    """A method of the source as a cycle or an audit calls it."""

    every: str
    purpose: str
    run: Callable[[SqlSource], object]


def explain_model(model: ModelSpec, source: SqlSource, counting: Counting, as_of: int) -> list[Query]:
    """Statements of a cycle and of an audit, with their plans; no row of a record is read.

    Parameters
    ----------
    counting
        grids of the model, with its reading.
    as_of
        the cycle's; statements of panes are shown with the newest, and with scattered ones.
    """
    queries = []
    whole = model.labels is not None and bool(source.counts_labels_whole(model))
    steps = _of_cycle(model, counting, as_of, whole=whole)
    for step in (*steps, *_of_audit(model, counting, as_of)):
        reader = _PlanReader(source.reader)
        step.run(source.planning(reader))
        for plan in reader.plans:
            lines = tuple(hide(reader.engine.plan_line(row)) for row in plan.rows)
            queries.append(Query(step.purpose, step.every, hide(plan.sql), lines))
    return queries


def _of_cycle(model: ModelSpec, counting: Counting, as_of: int, *, whole: bool) -> Iterator[_Step]:
    """Statements of a cycle; `whole`: its labels are never counted by difference."""
    reading, since = counting.reading, as_of - model.every - model.overlap
    bounds = changed_records_range(model, reading, as_of, first=False)
    logged = model.predictions.column("logged_at") is not None
    first = floor_to(since, reading.pane) if logged else bounds[0]
    newest = list(range(first, as_of + 1, reading.pane))
    scattered = [floor_to(first - back, reading.pane) for back in (9 * DAY, 5 * DAY, 2 * DAY)]

    def count(planning: SqlSource, part: Part, starts: list[int]) -> object:
        ranges = counted_ranges(starts, reading, as_of)
        panes = np.asarray(starts, dtype=np.int64)
        return planning.counted(model, part, ranges, counting, panes=panes, as_of=as_of)

    def records(planning: SqlSource) -> object:
        asked = since if logged else None
        return list(planning.changed_records(model, since=asked, as_of=as_of, bounds=bounds))

    yield _Step("cycle", "rows logged since the last cycle", records)
    yield _Step("cycle", "rows of the newest panes", lambda planning: count(planning, Part.RECORDS, newest))
    if model.labels is None:
        return

    reached = changed_labels_range(model, reading, as_of)

    def labels(planning: SqlSource) -> object:
        asked = None if model.labels is None or model.labels.column("reported_at") is None else since
        return list(planning.changed_labels(model, since=asked, as_of=as_of, bounds=reached))

    def relabelled(planning: SqlSource) -> object:
        cursor = as_of - model.every
        return list(planning.relabelled(model, since=since, cursor=cursor, as_of=as_of, bounds=reached))

    if whole:
        yield _Step("cycle", "labels reported since the last cycle", labels)
    else:
        yield _Step("cycle", "records whose labels were reported since the last cycle", relabelled)
    yield _Step(
        "cycle",
        "outputs and labels of the newest panes",
        lambda planning: count(planning, Part.LABELS, newest),
    )
    yield _Step(
        "cycle",
        "outputs and labels of scattered panes",
        lambda planning: count(planning, Part.LABELS, scattered),
    )


def _of_audit(model: ModelSpec, counting: Counting, as_of: int) -> Iterator[_Step]:
    reading = counting.reading
    asked = audit_ranges(reading, as_of, as_of - DAY)
    yield _Step(
        "audit",
        "all rows of two horizons, compared with what is stored",
        lambda planning: list(planning.changed_records(model, since=None, as_of=as_of, bounds=asked.log)),
    )
    yield _Step(
        "audit",
        "rows without id or time",
        lambda planning: planning.strays(model, as_of=as_of, bounds=asked.log),
    )
    yield _Step(
        "audit",
        "rows with event times far off, of those logged since the last audit",
        lambda planning: planning.misdated_rows(
            model, since=as_of - DAY, as_of=as_of, recent=asked.recent, ever=asked.ever
        ),
    )
    yield _Step(
        "audit",
        "ids in several panes",
        lambda planning: planning.repeated_ids(model, as_of=as_of, bounds=asked.repeated),
    )
    if model.labels is None:
        return
    panes = list(range(oldest_pane(reading, as_of), floor_to(as_of, reading.pane), reading.pane))
    yield _Step(
        "audit",
        "outputs and labels of the horizon, compared with what is stored",
        lambda planning: planning.labelled(model, pane_ranges(panes, reading.pane)),
    )
    yield _Step(
        "audit", "labels without a prediction", lambda planning: planning.orphans(model, asked.orphans)
    )
