"""Statements that SQLite and PostgreSQL spell alike but SQLAlchemy builds by dialect."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Table, literal_column
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ValuesBase
from sqlalchemy.types import BigInteger

Insert: TypeAlias = postgresql.Insert | sqlite.Insert
Params: TypeAlias = dict[str, Any]

_NOW = {
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
}


def database_now(connection: Connection) -> ColumnElement[int]:
    """The database's own clock, microseconds UTC; exact to 0.1 ms."""
    return literal_column(_NOW[connection.dialect.name], BigInteger)


def insert(connection: Connection, table: Table) -> Insert:
    """An insert that knows `on_conflict_do_…`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def put(connection: Connection, table: Table, rows: Sequence[Params]) -> None:
    """Insert rows, or replace those of the same primary key."""
    if not rows:
        return
    statement = insert(connection, table)
    key = [column.name for column in table.primary_key]
    rest = {name: statement.excluded[name] for name in rows[0] if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=key, set_=rest), rows)


def add(connection: Connection, table: Table, rows: Sequence[Params]) -> None:
    """Insert rows; one whose primary key is there already is left as it is."""
    if rows:
        connection.execute(insert(connection, table).on_conflict_do_nothing(), rows)


def write_many(
    connection: Connection, statement: ValuesBase, table: Table, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Execute an insert for a thousand rows in each cycle.

    Plain tuples where the driver takes them: SQLAlchemy's own handling of the values costs more than
    SQLite's of the rows.

    Parameters
    ----------
    rows
        values of all columns, in the order of the table.
    """
    if not rows:
        return
    names = table.columns.keys()
    if connection.dialect.positional:
        written = statement.compile(dialect=connection.dialect, column_keys=names)
        connection.exec_driver_sql(str(written), list(rows))
    else:
        connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])
