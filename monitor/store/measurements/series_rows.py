"""Measurement rows into the tables behind the views: what names a row is numbered, and written once."""

from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any
from zlib import crc32

from sqlalchemy import ColumnElement, Connection, Table, and_, exists, func, select

from monitor.store.dialect_statements import Insert, bind_rows, insert_bound_rows, write_many
from monitor.store.tables.measurement_schema import (
    current,
    current_rows,
    details,
    row_sets,
    series,
    snapshot_rows,
    snapshots,
)

Row = tuple[Any, ...]
Values = dict[str, ColumnElement[Any]]

_NAMES = tuple(snapshots.columns.keys())  # those of `current` too
_KEPT = (*_NAMES, details.c.checksum.name)
_SERIES = tuple(name for name in _NAMES if name in series.c)
_ROW_SET = tuple(name for name in _NAMES if name in row_sets.c)
_DETAIL = "model", details.c.checksum.name, "detail"
key_of_kept = itemgetter(*(_NAMES.index(column.name) for column in snapshots.primary_key))
_TEXT = _NAMES.index("detail")


def write_current(connection: Connection, rows: Sequence[Row]) -> bool:
    """Insert rows of `current`, as `columns.values_of` orders values; False: some name has no number yet."""
    return write_many(connection, _writing_current(connection.dialect.name), _NAMES, rows) == len(rows)


def write_snapshots(connection: Connection, rows: Sequence[Row]) -> None:
    """Insert rows of `snapshots`, none of which is there; of those with the same key the first."""
    dialect, kept = connection.dialect.name, {key_of_kept(row): row for row in reversed(rows)}
    rows = [(*row, None if row[_TEXT] is None else crc32(row[_TEXT].encode())) for row in kept.values()]
    number_series(connection, rows)
    write_many(connection, _numbering_row_sets(dialect), _ROW_SET, _distinct_names(rows, _ROW_SET))
    with_detail = [row for row in rows if row[_TEXT] is not None]
    write_many(connection, _numbering_details(dialect), _DETAIL, _distinct_names(with_detail, _DETAIL))
    write_many(connection, _writing_snapshots(dialect), _KEPT, rows)


def number_series(connection: Connection, rows: Sequence[Row]) -> None:
    """Number what names these rows, where it has no number."""
    write_many(
        connection, _numbering_series(connection.dialect.name), _SERIES, _distinct_names(rows, _SERIES)
    )


def _distinct_names(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return list(dict.fromkeys(map(itemgetter(*map(_KEPT.index, names)), rows)))


@lru_cache(maxsize=2)
def _numbering_series(dialect: str) -> Insert:
    values = bind_rows(dialect, (series.c[name] for name in _SERIES))
    # numbers of PostgreSQL's sequences are gone once they are drawn: none is for what is there
    missing = _missing_condition(series, values) if dialect == "postgresql" else None
    return insert_bound_rows(dialect, series, values, missing).on_conflict_do_nothing()


@lru_cache(maxsize=2)
def _numbering_row_sets(dialect: str) -> Insert:
    values = bind_rows(dialect, (row_sets.c[name] for name in _ROW_SET))
    return insert_bound_rows(dialect, row_sets, values, _missing_condition(row_sets, values))


@lru_cache(maxsize=2)
def _numbering_details(dialect: str) -> Insert:
    values = bind_rows(dialect, (details.c.model, details.c.checksum, snapshots.c.detail))
    values["text"] = values.pop("detail")
    return insert_bound_rows(dialect, details, values, _missing_condition(details, values))


@lru_cache(maxsize=2)
def _writing_current(dialect: str) -> Insert:
    values = bind_rows(dialect, current.columns)
    numbered = _order_values(current_rows, values | {"series": series.c.id})
    return insert_bound_rows(dialect, current_rows, numbered, _same_condition(series, values))


@lru_cache(maxsize=2)
def _writing_snapshots(dialect: str) -> Insert:
    values = bind_rows(dialect, (*snapshots.columns, details.c.checksum))
    numbers = {
        "row_set": _number_of(row_sets, values),
        "series": _number_of(series, values),
        "detail": _number_of(details, values | {"text": values["detail"]}),
    }
    return insert_bound_rows(dialect, snapshot_rows, _order_values(snapshot_rows, values | numbers))


def _order_values(table: Table, values: Values) -> Values:
    return {column.name: values[column.name] for column in table.c}


def _number_of(table: Table, values: Values) -> ColumnElement[int]:
    # replays write details beside the live run: on PostgreSQL one may be there twice
    number = table.c.id if table is series else func.min(table.c.id)
    return select(number).where(_same_condition(table, values)).scalar_subquery()


def _missing_condition(table: Table, values: Values) -> ColumnElement[bool]:
    return ~exists(table.c.id).where(_same_condition(table, values))


def _same_condition(table: Table, values: Values) -> ColumnElement[bool]:
    pairs = [(column, values[column.name]) for column in table.c if column.name in values]
    return and_(*(ours.is_not_distinct_from(its) if ours.nullable else ours == its for ours, its in pairs))
