"""Load the bundled logs into a database, as a user's service would have written them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

TABLES = ("predictions", "labels")
INDEXES = (
    ("predictions", ("event_time",)),
    ("predictions", ("logged_at",)),
    ("predictions", ("prediction_id",)),
    ("labels", ("reported_at",)),
    ("labels", ("prediction_id", "revision", "reported_at", "late")),  # all that is read of a label
)
_ROWS = 5_000
_KINDS: tuple[tuple[Callable[[pa.DataType], bool], sa.types.TypeEngine[Any]], ...] = (
    (pa.types.is_timestamp, sa.DateTime(timezone=True)),
    (pa.types.is_boolean, sa.Boolean()),
    (pa.types.is_integer, sa.BigInteger()),
    (pa.types.is_floating, sa.Float(53)),
    (pa.types.is_string, sa.Text()),
)


def load_logs(url: str, files: Path) -> int:
    """Write the tables of the logs, unless they are there; return the number of rows written.

    Parameters
    ----------
    url
        SQLAlchemy URL of the database.
    files
        directory of predictions.parquet and labels.parquet.
    """
    target = make_url(url)
    rows = 0
    for name in TABLES:
        table = widen_floats(pq.read_table(files / f"{name}.parquet"))
        if target.get_backend_name() == "sqlite":
            rows += _load_into_sqlite(target, name, table)
        else:
            rows += _load_into_database(target, name, table)
    return rows


def widen_floats(table: pa.Table) -> pa.Table:
    """Single-precision columns as doubles: what a database would hold."""
    fields = [
        field.with_type(pa.float64()) if pa.types.is_float32(field.type) else field for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _load_into_sqlite(target: URL, name: str, table: pa.Table) -> int:
    with adbc_driver_sqlite.dbapi.connect(target.database) as connection:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
            if cursor.fetchone() != (0,):
                return 0
            cursor.adbc_ingest(name, _convert_for_sqlite(table), mode="create")
            for index, columns in _table_indexes(name, table):
                listed = ", ".join(f'"{column}"' for column in columns)
                cursor.execute(f'CREATE INDEX "{index}" ON "{name}" ({listed})')
        connection.commit()
    return int(table.num_rows)


def _table_indexes(name: str, table: pa.Table) -> Iterator[tuple[str, list[str]]]:
    """Name of each index of a table, and its columns as far as they are there."""
    for owner, columns in INDEXES:
        if owner == name:
            yield f"{name}_{columns[0]}", [column for column in columns if column in table.column_names]


def _convert_for_sqlite(table: pa.Table) -> pa.Table:
    """Times as ISO-8601 text and truth values as integers: SQLite has neither type."""
    return pa.table({name: _sqlite_column(table[name]) for name in table.column_names})


def _sqlite_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column.cast(pa.timestamp("s", "UTC"), safe=False), "%Y-%m-%d %H:%M:%S")
    return column.cast(pa.int64()) if pa.types.is_boolean(column.type) else column


def _load_into_database(target: URL, name: str, table: pa.Table) -> int:
    engine = sa.create_engine(target)
    try:
        if sa.inspect(engine).has_table(name):
            return 0
        with engine.begin() as connection:
            described = sa.Table(name, sa.MetaData(), *(_sql_column(field) for field in table.schema))
            for index, columns in _table_indexes(name, table):
                sa.Index(index, *(described.c[column] for column in columns))
            described.create(connection)
            for batch in table.to_batches(_ROWS):
                connection.execute(described.insert(), batch.to_pylist())
    finally:
        engine.dispose()
    return int(table.num_rows)


def _sql_column(field: pa.Field) -> sa.Column[Any]:
    for belongs, kind in _KINDS:
        if belongs(field.type):
            return sa.Column(field.name, kind)
    raise AssertionError(f"no type for {field}")


def flights_directory() -> Path:
    """Directory of `predictions.parquet`, `labels.parquet` and `reference.parquet`."""
    return Path(__file__).with_name("data")
