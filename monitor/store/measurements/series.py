"""Measurement rows into the tables behind the views: what names a row is numbered, and written once."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Table, and_, exists, select

from monitor.store.statements import Insert, insert_of, rows_given, write_many
from monitor.store.tables import current_rows, revisions, series, snapshot_rows, snapshots

Row = tuple[Any, ...]

_NAMES = tuple(snapshots.columns.keys())  # those of `current` too
_REVISION = tuple(name for name in _NAMES if name in revisions.c)
_SERIES = tuple(name for name in _NAMES if name in series.c)


def write_current(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert rows of `current`, none of which is there; values as `columns.values_of` orders them."""
    _number(connection, series, _SERIES, rows)
    write_many(connection, _writing(connection.dialect.name, current_rows), _NAMES, rows)


def write_snapshots(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert rows of `snapshots`; what is there already is left as it is."""
    _number(connection, series, _SERIES, rows)
    _number(connection, revisions, _REVISION, rows)
    write_many(connection, _writing(connection.dialect.name, snapshot_rows), _NAMES, rows)


def _number(connection: Connection, table: Table, names: Sequence[str], rows: Collection[Row]) -> None:
    """Give numbers to what has none."""
    places = [_NAMES.index(name) for name in names]
    keys = dict.fromkeys(tuple(row[place] for place in places) for row in rows)
    write_many(connection, _numbering(connection.dialect.name, table, tuple(names)), names, list(keys))


@lru_cache(maxsize=8)
def _numbering(dialect: str, table: Table, names: tuple[str, ...]) -> Insert:
    given = rows_given(dialect, [table.c[name] for name in names])
    # numbers of PostgreSQL's sequences are gone once they are drawn: none is for what is there
    missing = select(*given.c).where(~exists(table.c.id).where(_same(table, given)))
    return insert_of(dialect, table).from_select(names, missing).on_conflict_do_nothing()


@lru_cache(maxsize=8)
def _writing(dialect: str, table: Table) -> Insert:
    given = rows_given(dialect, list(snapshots.columns))
    numbers: dict[str, ColumnElement[int]] = {"series": series.c.id, "revision": revisions.c.id}
    values = [numbers[name] if name in numbers else given.c[name] for name in table.columns.keys()]
    rows = select(*values).where(_same(series, given))
    statement = insert_of(dialect, table)
    if table is current_rows:
        return statement.from_select(table.columns.keys(), rows)
    kept = rows.where(_same(revisions, given))
    return statement.from_select(table.columns.keys(), kept).on_conflict_do_nothing()


def _same(table: Table, given: FromClause) -> ColumnElement[bool]:
    return and_(*(column == given.c[column.name] for column in table.c if column.name in given.c))
