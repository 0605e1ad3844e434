"""The SQL that the monitor will run, with the database's plan: written by the very code that runs it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.core.clock import DAY, floor_to
from monitor.core.secrets import hide_secrets
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.records.winning_rows import Batches
from monitor.sources.engines.engine import Engine, RowReader
from monitor.sources.sql.statements import ReadSession, Statement
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec
from monitor.specs.read_ranges import (
    audit_ranges,
    changed_labels_range,
    changed_records_range,
    counted_ranges,
    oldest_pane,
    pane_ranges,
)


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A statement, and its plan row by row as the engine tells it."""

    sql: str
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class PlanningSession:
    """A session that asks for plans instead of rows; small questions about the tables are passed on."""

    session: ReadSession
    engine: Engine
    plans: list[QueryPlan]

    def read_table(self, statement: Statement) -> pa.Table:
        """No rows."""
        self._note_plan(statement.sql_text())
        return statement.empty_table()

    def read_batches(self, statement: Statement) -> Batches:
        """One batch without rows."""
        self._note_plan(statement.sql_text())
        yield statement.empty_table()

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query; counts, which may read a table whole, are 0."""
        if not sql.startswith("SELECT count("):
            return self.session.read_rows(sql)
        self._note_plan(sql)
        return [(0,)]

    def describe_query(self, sql: str) -> dict[str, object]:
        """Columns of a query, as the driver describes them."""
        return self.session.describe_query(sql)

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        self.session.run_command(sql)

    def _note_plan(self, sql: str) -> None:
        plan = self.session.read_rows(f"{self.engine.explain} {sql}")
        self.plans.append(QueryPlan(sql, tuple(plan)))


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    """A statement, what it is for, and its plan line by line; `every`: cycle or audit."""

    purpose: str
    every: str
    sql: str
    plan: tuple[str, ...]
    billed: int | None = None  # bytes, where the database tells them


@dataclass(frozen=True, slots=True)
class PlanReader:
    """A reader whose sessions ask for plans."""

    reader: RowReader
    plans: list[QueryPlan] = field(default_factory=list)

    @property
    def engine(self) -> Engine:
        """The engine whose plans they are."""
        return self.reader.engine

    @contextmanager
    def open_session(self) -> Iterator[PlanningSession]:
        """Session of the real reader."""
        with self.reader.open_session() as session:
            yield PlanningSession(session, self.reader.engine, self.plans)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.reader.close()


@dataclass(frozen=True, slots=True)
class _SourceStep:
    """A method of the source as a cycle or an audit calls it."""

    every: str
    purpose: str
    run: Callable[[SqlSource], object]


def explain_model(
    model: ModelSpec, source: SqlSource, counting: Counting, as_of: int
) -> list[ExplainedQuery]:
    """Statements of a cycle and of an audit, with their plans; no row of a record is read.

    Parameters
    ----------
    counting
        grids of the model, with its reading.
    as_of
        the cycle's; statements of panes are shown with the newest, and with scattered ones.
    """
    queries = []
    whole = model.labels is not None and bool(source.why_labels_counted_whole(model))
    steps = _cycle_steps(model, counting, as_of, whole=whole)
    for step in (*steps, *_audit_steps(model, counting, as_of)):
        reader = PlanReader(source.reader)
        step.run(source.planning_source(reader))
        for plan in reader.plans:
            lines = tuple(hide_secrets(reader.engine.plan_line(row)) for row in plan.rows)
            billed = reader.engine.bytes_of_plan(plan.rows)
            queries.append(ExplainedQuery(step.purpose, step.every, hide_secrets(plan.sql), lines, billed))
    return queries


def bill_line(queries: Sequence[ExplainedQuery], cycle: int, audit: int, price: float | None) -> str:
    """What a cycle, an audit and a month are billed by; empty where nothing tells.

    Parameters
    ----------
    cycle, audit
        microseconds between two of them.
    price
        dollars a TiB.
    """
    billed = {
        every: sum(query.billed or 0 for query in queries if query.every == every)
        for every in ("cycle", "audit")
    }
    if price is None or not any(billed.values()):
        return ""
    month = 30 * DAY * (billed["cycle"] / cycle + billed["audit"] / audit)
    return (
        f"a cycle is billed by {billed['cycle'] / 1e9:,.2f} GB, an audit by {billed['audit'] / 1e9:,.2f} GB; "
        f"a month by {month / 1e9:,.0f} GB, about ${month / 2**40 * price:,.2f} at ${price:g} a TiB"
    )


def _cycle_steps(model: ModelSpec, counting: Counting, as_of: int, *, whole: bool) -> Iterator[_SourceStep]:
    """Statements of a cycle; `whole`: its labels are never counted by difference."""
    reading, since = counting.reading, as_of - model.keys.every - model.keys.reading.overlap
    bounds = changed_records_range(model, reading, as_of, first=False)
    logged = model.predictions.column_of("logged_at") is not None
    first = floor_to(since, reading.pane) if logged else bounds[0]
    newest = list(range(first, as_of + 1, reading.pane))
    # Labels come late, to panes that lie apart: a database may plan these otherwise than neighbours.
    scattered = [floor_to(first - back, reading.pane) for back in (9 * DAY, 5 * DAY, 2 * DAY)]

    def count(planning: SqlSource, part: PaneHalf, starts: list[int]) -> object:
        ranges = counted_ranges(starts, reading, as_of)
        panes = np.asarray(starts, dtype=np.int64)
        return planning.count_panes(model, part, ranges, counting, panes=panes, as_of=as_of)

    def records(planning: SqlSource) -> object:
        asked = since if logged else None
        return list(planning.read_changed_records(model, since=asked, as_of=as_of, bounds=bounds))

    yield _SourceStep("cycle", "rows logged since the last cycle", records)
    yield _SourceStep(
        "cycle", "rows of the newest panes", lambda planning: count(planning, PaneHalf.RECORDS, newest)
    )
    if model.labels is None:
        return

    reached = changed_labels_range(model, reading, as_of)

    def labels(planning: SqlSource) -> object:
        asked = None if model.labels is None or model.labels.column_of("reported_at") is None else since
        return list(planning.read_changed_labels(model, since=asked, as_of=as_of, bounds=reached))

    def relabelled(planning: SqlSource) -> object:
        cursor = as_of - model.keys.every
        return list(planning.read_relabelled(model, since=since, cursor=cursor, as_of=as_of, bounds=reached))

    if whole:
        yield _SourceStep("cycle", "labels reported since the last cycle", labels)
    else:
        yield _SourceStep("cycle", "records whose labels were reported since the last cycle", relabelled)
    yield _SourceStep(
        "cycle",
        "outputs and labels of the newest panes",
        lambda planning: count(planning, PaneHalf.LABELS, newest),
    )
    yield _SourceStep(
        "cycle",
        "outputs and labels of scattered panes",
        lambda planning: count(planning, PaneHalf.LABELS, scattered),
    )


def _audit_steps(model: ModelSpec, counting: Counting, as_of: int) -> Iterator[_SourceStep]:
    reading = counting.reading
    asked = audit_ranges(reading, as_of, as_of - DAY)
    yield _SourceStep(
        "audit",
        "all rows of two horizons, compared with what is stored",
        lambda planning: list(
            planning.read_changed_records(model, since=None, as_of=as_of, bounds=asked.log)
        ),
    )
    yield _SourceStep(
        "audit",
        "rows without id or time",
        lambda planning: planning.count_incomplete_rows(model, as_of=as_of, bounds=asked.log),
    )
    yield _SourceStep(
        "audit",
        "rows with event times far off",
        lambda planning: planning.count_misdated_rows(
            model, since=as_of - DAY, as_of=as_of, recent=asked.recent, ever=asked.ever
        ),
    )
    yield _SourceStep(
        "audit",
        "ids in several panes",
        lambda planning: planning.count_repeated_ids(model, as_of=as_of, bounds=asked.repeated),
    )
    if model.labels is None:
        return
    panes = list(range(oldest_pane(reading, as_of), floor_to(as_of, reading.pane), reading.pane))
    yield _SourceStep(
        "audit",
        "outputs and labels of the horizon, compared with what is stored",
        lambda planning: planning.read_records_with_labels(model, pane_ranges(panes, reading.pane)),
    )
    yield _SourceStep(
        "audit", "labels without a prediction", lambda planning: planning.count_orphans(model, asked.orphans)
    )
