"""What a planner says of the very statements that are run: their plans, and whether slices of them pay."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from monitor.records.rows import Batches
from monitor.sources.dialects import Dialect
from monitor.sources.indexes import count_rows
from monitor.sources.mysql import is_mysql
from monitor.sources.statements import Session, Statement
from monitor.specs.protocols import Range

Read = Callable[[Session, Range], Batches]

_SHARE = 64  # of a span: what a slice of it costs is asked of such a part
_COUNTED = 20_000_000  # rows up to which SQLite, which has no figures of its own, counts them
_BELIEF = re.compile(r"cost=[\d.]+\.\.([\d.]+) rows=(\d+)")
_COLUMNS_OF_MYSQL = 12  # MariaDB: 10
_WHOLE = ("ALL", "index")  # how MariaDB and MySQL call a table, or an index, that is read whole


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement, and its plan row by row as the engine tells it."""

    sql: str
    rows: tuple[tuple[Any, ...], ...]
    dialect: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A session that asks for plans instead of rows; small questions about the tables are passed on."""

    session: Session
    dialect: str
    found: list[Plan]

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
        asked = "EXPLAIN QUERY PLAN" if self.dialect == "sqlite" else "EXPLAIN"
        plan = self.session.rows(f"{asked} {sql}")
        self.found.append(Plan(sql, tuple(plan), self.dialect))


def expected_rows(
    session: Session, dialect: Dialect, read: Read, predictions: Read, span: Range, slice_of: int
) -> int | None:
    """Rows of a span; None where they are, or may be, many and a slice costs about as much as all of them.

    Parameters
    ----------
    read
        reads a piece of the span.
    predictions
        the same, without a join: by it PostgreSQL is judged, which may rather read all labels with each
        slice than take long over one statement.
    slice_of
        rows of a slice.
    """
    middle, half = sum(span) // 2, max((span[1] - span[0]) // _SHARE // 2, 1)
    judged = predictions if dialect.name == "postgresql" else read
    narrow = _plans(session, dialect, judged, (middle - half, middle + half))
    pays = all(_pays(*pair) for pair in zip(narrow, _plans(session, dialect, judged, span), strict=True))
    if dialect.name == "sqlite" and not pays:
        return None  # counting would read it whole, too
    rows = sum(believed_rows(session, plan) for plan in _plans(session, dialect, read, span))
    return rows if pays or rows <= slice_of else None


def _plans(session: Session, dialect: Dialect, read: Read, piece: Range) -> list[Plan]:
    planned = Planned(session, dialect.name, [])
    for _ in read(planned, piece):
        pass
    return planned.found


def believed_rows(session: Session, plan: Plan) -> int:
    """Rows of a statement, as the planner believes; where it has no beliefs they are counted."""
    if plan.dialect == "sqlite":
        return count_rows(session, f"({plan.sql}) AS these", most=_COUNTED).n
    if is_mysql(plan.dialect):
        rows = (str(row[_at(row) + 5] or 0) for row in plan.rows)
        return max(int(one.partition(" ")[0]) for one in rows)  # MariaDB: "40 (3%)" past a filter of rowids
    believed = _belief(plan)
    return 0 if believed is None else int(believed[2])


def _pays(narrow: Plan, whole: Plan) -> bool:
    """Whether a slice costs at most half of the whole, or reads no table, and no index, whole."""
    if narrow.dialect == "sqlite":
        lines = [str(row[3]) for row in narrow.rows]
        return not any(line.startswith("SCAN") or "AUTOMATIC" in line or "(ANY(" in line for line in lines)
    if is_mysql(narrow.dialect):
        return not reads_whole(narrow)
    one, all_of_it = _belief(narrow), _belief(whole)
    return one is not None and all_of_it is not None and 2 * float(one[1]) <= float(all_of_it[1])


def reads_whole(plan: Plan) -> bool:
    """Whether MariaDB or MySQL reads a table, or an index, whole."""
    return any(row[_at(row)] in _WHOLE for row in plan.rows)


def _at(row: tuple[Any, ...]) -> int:
    """Where a row of a plan tells the access: MySQL names the partitions before it."""
    return 4 if len(row) == _COLUMNS_OF_MYSQL else 3


def _belief(plan: Plan) -> re.Match[str] | None:
    return _BELIEF.search(str(plan.rows[0][0])) if plan.dialect == "postgresql" else None
