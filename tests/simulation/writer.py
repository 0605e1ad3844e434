"""Apply a plan to a database, as the services of a user would have: rows come, change and go over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, Double, SmallInteger, String, Table

from simulation.changes import DELETE, INSERT, UPDATE, Changes
from simulation.plan import Plan

FEATURE = "temp"  # the column that may be dropped
_NEVER = np.iinfo(np.int64).min

_METADATA = sa.MetaData()
_PREDICTIONS = Table(
    "predictions",
    _METADATA,
    sa.Column("row", BigInteger, primary_key=True, autoincrement=False, quote=True),
    sa.Column("id", BigInteger, index=True),
    sa.Column("event_time", BigInteger, index=True),
    sa.Column("logged_at", BigInteger, index=True),
    sa.Column("model_version", String(8)),
    sa.Column("score", Double),
    sa.Column(FEATURE, Double),
    sa.Column("carrier", String(8)),
)
_LABELS = Table(
    "labels",
    _METADATA,
    sa.Column("row", BigInteger, primary_key=True, autoincrement=False, quote=True),
    sa.Column("id", BigInteger, index=True),
    sa.Column("label", SmallInteger),
    sa.Column("reported_at", BigInteger, index=True),
    sa.Column("revision", SmallInteger),
)


@dataclass(slots=True)
class Log:
    """A simulated log in a database; it holds what was visible at the moment it stands at.

    Parameters
    ----------
    now
        the virtual moment up to which the plan was applied.
    """

    plan: Plan
    now: int = _NEVER

    def create(self, connection: Connection) -> None:
        """Make the two tables, empty."""
        _METADATA.create_all(connection)

    def advance(self, connection: Connection, until: int) -> None:
        """Apply what happens after `now`, up to a moment."""
        for moment in [moment for moment in self.plan.dropped or () if self.now < moment <= until]:
            self._until(connection, moment)
            self._alter(connection)
        self._until(connection, until)

    def _until(self, connection: Connection, moment: int) -> None:
        self._apply(connection, _PREDICTIONS, self.plan.predictions, moment)
        self._apply(connection, _LABELS, self.plan.labels, moment)
        self.now = moment

    def _apply(self, connection: Connection, table: Table, changes: Changes, until: int) -> None:
        first, last = np.searchsorted(changes.at, [self.now, until], side="right")
        due = changes.take(slice(int(first), int(last)))
        absent = {FEATURE} if self._is_dropped else set()
        values = [column.name for column in table.c if column.name not in absent]
        others = [name for name in values if name != "row"]
        same = table.c.row == sa.bindparam("of_row")
        for action, statement, names in (
            (INSERT, sa.insert(table), values),
            (UPDATE, sa.update(table).where(same).values(_bound(others)), ["of_row", *others]),
            (DELETE, sa.delete(table).where(same), ["of_row"]),
        ):
            rows = _rows(due.take(due.action == action), names)
            if rows:
                connection.execute(statement, rows)

    @property
    def _is_dropped(self) -> bool:
        return self.plan.dropped is not None and self.plan.dropped[0] <= self.now < self.plan.dropped[1]

    def _alter(self, connection: Connection) -> None:
        change = f"DROP COLUMN {FEATURE}" if self._is_dropped else f"ADD COLUMN {FEATURE} DOUBLE PRECISION"
        connection.execute(sa.text(f"ALTER TABLE predictions {change}"))


def _bound(names: Sequence[str]) -> dict[str, sa.BindParameter[Any]]:
    return {name: sa.bindparam(name) for name in names}


def _rows(changes: Changes, names: Sequence[str]) -> list[dict[str, Any]]:
    """Rows as a driver wants them; NaN is NULL."""
    columns = {name: changes.columns[name.removeprefix("of_")] for name in names}
    rows: list[dict[str, Any]] = pa.table(
        {name: pa.array(column, from_pandas=True) for name, column in columns.items()}
    ).to_pylist()
    return rows
