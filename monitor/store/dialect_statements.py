"""Statements that SQLite and PostgreSQL spell alike but SQLAlchemy builds by dialect.

What every cycle runs is built once: building a statement costs more than SQLite's running it.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Table,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.types import BigInteger

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql  # a tenth of a second: imported where it is used

Insert: TypeAlias = "postgresql.Insert | sqlite.Insert"
Params: TypeAlias = dict[str, Any]

_NOW = {
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
}


def database_now(connection: Connection) -> ColumnElement[int]:
    """The database's own clock, microseconds UTC; exact to 0.1 ms."""
    return clock_of(connection.dialect.name)


def clock_of(dialect: str) -> ColumnElement[int]:
    """Clock of the databases of a dialect."""
    return literal_column(_NOW[dialect], BigInteger)


def insert_statement(connection: Connection, table: Table) -> Insert:
    """An insert that knows `on_conflict_do_…`."""
    return insert_of(connection.dialect.name, table)


def insert_of(dialect: str, table: Table) -> Insert:
    """Insert of a dialect."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def put_rows(connection: Connection, table: Table, rows: Sequence[Params]) -> None:
    """Insert rows, or replace those of the same primary key."""
    if rows:
        connection.execute(_replace_statement(connection.dialect.name, table, tuple(rows[0])), rows)


@lru_cache(maxsize=64)
def _replace_statement(dialect: str, table: Table, names: tuple[str, ...]) -> Insert:
    statement = insert_of(dialect, table)
    key = [column.name for column in table.primary_key]
    rest = {name: statement.excluded[name] for name in names if name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=rest)


def insert_missing(connection: Connection, table: Table, rows: Sequence[Params]) -> None:
    """Insert rows; one whose primary key is there already is left as it is."""
    if rows:
        connection.execute(insert_statement(connection, table).on_conflict_do_nothing(), rows)


def bind_rows(dialect: str, columns: Iterable[ColumnElement[Any]]) -> dict[str, ColumnElement[Any]]:
    """Values of a row that `write_many` hands to a statement, by the columns' names.

    Measured, of a thousand rows: SQLAlchemy's own handling of single rows costs more than SQLite's of plain
    tuples, and five times more than PostgreSQL's of one statement with an array for each column.
    """
    if dialect != "postgresql":
        return {column.name: bindparam(column.name, type_=column.type) for column in columns}
    arrays = {column.name: bindparam(column.name, type_=ARRAY(column.type)) for column in columns}
    rows = func.unnest(*arrays.values()).table_valued(*arrays, name="given").render_derived()
    return dict(rows.c)


def insert_bound_rows(
    dialect: str,
    table: Table,
    values: dict[str, ColumnElement[Any]],
    condition: ColumnElement[bool] | None = None,
) -> Insert:
    """Insert of values that are made of `bind_rows`, of rows for which the condition holds."""
    statement = insert_of(dialect, table)
    if dialect != "postgresql" and condition is None:
        return statement.values(values).inline()  # RETURNING of many rows fails from Python 3.12 on
    rows = select(*values.values())
    return statement.from_select(list(values), rows if condition is None else rows.where(condition))


_COUNTED = {"preserve_rowcount": True}  # of an INSERT


def write_many(
    connection: Connection, statement: Insert, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> int:
    """Run a statement on values of `bind_rows`: their names, and many rows of them in this order.

    Returns how many rows it has written.
    """
    if not rows:
        return 0
    if connection.dialect.name == "postgresql":
        arrays = (list(values) for values in zip(*rows, strict=True))
        values = dict(zip(names, arrays, strict=True))
        return connection.execute(statement, values, execution_options=_COUNTED).rowcount
    text, asked = _sqlite_sql(statement)
    return connection.exec_driver_sql(text, list(map(itemgetter(*map(names.index, asked)), rows))).rowcount


@lru_cache(maxsize=16)
def _sqlite_sql(statement: Insert) -> tuple[str, tuple[str, ...]]:
    """SQL for SQLite's own driver, and the name of the value at each of its places."""
    compiled = statement.compile(dialect=sqlite.dialect())
    return str(compiled), tuple(compiled.positiontup or ())
