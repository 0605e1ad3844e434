"""Rows through SQLAlchemy, some thousand at a time: every engine that has no Arrow driver here."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError, SQLAlchemyError

from monitor.core.clock import SECOND
from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.core.version import install_command
from monitor.records.winning_rows import Batches
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.driver_failures import refused_error, unavailable_error
from monitor.sources.engines import columnar
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.statements import (
    INT64_MAX,
    ColumnKind,
    Statement,
    concat_mixed_tables,
    merge_number_columns,
    merge_text_columns,
    text_or_digits,
)
from monitor.specs.deadlines import answered_within
from monitor.specs.model_spec import SourceSpec


@dataclass(frozen=True, slots=True)
class FetchmanySession:
    """A connection in a transaction."""

    connection: sa.Connection
    batch_rows: int
    engine: Engine

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        return concat_mixed_tables(list(self.read_batches(statement)))

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement, `batch_rows` at a time; of column stores all at once."""
        table = self.engine.fetch_arrow(self.connection, statement.sql_text())
        if table is not None:
            yield columnar.cast_columns(statement, table)
            return
        sql = self.engine.fetched_sql(statement)
        nothing = True
        with self._run_sql(sql, stream_results=True) as result:
            for rows in result.partitions(self.batch_rows):
                yield make_batch(statement, rows)
                nothing = False
        if nothing:
            yield statement.empty_table()

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        with self._run_sql(sql) as result:
            return [tuple(row) for row in result]

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and what the driver describes them by: code of the type, lengths."""
        with self._run_sql(sql) as result:
            return {column[0]: tuple(column[1:]) for column in result.cursor.description or ()}

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        self._run_sql(sql).close()

    def _run_sql(self, sql: str, *, stream_results: bool = False) -> sa.CursorResult[Any]:
        options = {"no_parameters": True, "stream_results": stream_results}
        try:
            return self.connection.exec_driver_sql(sql, execution_options=options)
        except Exception as error:
            if self.engine.is_of_driver(error):
                raise DatabaseError(sql, None, error) from error
            raise


class FetchmanyReader:
    """Any database that SQLAlchemy knows."""

    def __init__(self, spec: SourceSpec, address: DatabaseAddress, extra: str | None = None) -> None:
        self.engine: Engine = address.engine
        self._address, self._batch_rows = address, spec.batch_rows
        self._timeout, limit = spec.statement_timeout, answered_within(spec.statement_timeout)
        try:
            self._pool = self.engine.make_sqlalchemy_engine(address, spec.max_connections, limit)
        except (SQLAlchemyError, ImportError) as error:
            hint = f": {install_command(extra)}" if extra else ""
            raise SourceError(f"{address.shown}: {error}{hint}") from error

    @contextmanager
    def open_session(self) -> Iterator[FetchmanySession]:
        """Take a connection, begin, read, end."""
        file = self._address.file
        if file is not None and not file.is_file():
            raise SourceUnavailable(f"{self._address.shown}: there is no file {file}")
        try:
            with self._pool.connect() as connection:
                session = FetchmanySession(connection, self._batch_rows, self.engine)
                for setting in self.engine.session_settings(connection, self._timeout * 1000 // SECOND):
                    session.run_command(setting)
                yield session
        except SQLAlchemyError as error:
            if isinstance(error, DBAPIError):
                trouble = self.engine.trouble_of(error)
            else:
                trouble = DatabaseTrouble.NO_ANSWER if isinstance(error, sa.exc.TimeoutError) else None
            if trouble is None:
                raise refused_error(self._address, error) from error
            raise unavailable_error(self._address, error, trouble, limit=self._timeout) from error

    def close(self) -> None:
        """Close the pooled connections."""
        self._pool.dispose()


def make_batch(statement: Statement, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Column batch of some rows."""
    columns = zip(*rows, strict=True)
    return pa.table(
        {
            output.name: _make_column(output.kind, list(values))
            for output, values in zip(statement.outputs, columns, strict=True)
        }
    )


def _make_column(kind: ColumnKind, values: list[Any]) -> pa.ChunkedArray:
    match kind:
        case ColumnKind.TEXT:
            return _chunked_array(
                [None if value is None else _category_text(value) for value in values], pa.string()
            )
        case ColumnKind.NUMBER:
            return merge_number_columns(*_numbers_and_texts(values, float))
        case ColumnKind.VALUE:
            return merge_text_columns(*_numbers_and_texts(values, float))
        case _:
            return _moments_column(kind, values)


def _moments_column(kind: ColumnKind, values: list[Any]) -> pa.ChunkedArray:
    sample = next((value for value in values if value is not None), None)
    zoned = kind is ColumnKind.INSTANT or (isinstance(sample, datetime) and sample.tzinfo is not None)
    if kind in (ColumnKind.INSTANT, ColumnKind.NAIVE) or isinstance(sample, date):
        if any(isinstance(value, str) for value in values):
            return _chunked_array([_invalid_date_text(value, zoned=zoned) for value in values], pa.string())
        return _chunked_array(
            [None if value is None else _as_datetime(value, zoned=zoned) for value in values],
            pa.timestamp("us", "UTC" if zoned else None),
        )
    return merge_text_columns(*_numbers_and_texts(values, _whole_number))


def _as_datetime(value: date, *, zoned: bool) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
    if not zoned:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _invalid_date_text(value: date | str | None, *, zoned: bool) -> str | None:
    """Text of a time where one in its column is none, as MariaDB's 0000-00-00 00:00:00 is."""
    if value is None or isinstance(value, str):
        return value if value is None or not zoned else f"{value}Z"
    return f"{_as_datetime(value, zoned=False).replace(tzinfo=None)}{'Z' if zoned else ''}"


def _numbers_and_texts(
    values: list[Any], convert: Callable[[Any], int | float]
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Numbers and texts of one column, each with nulls where the other stands."""
    is_number = [isinstance(value, int | float | Decimal) for value in values]
    numbers = [convert(value) if there else None for value, there in zip(values, is_number, strict=True)]
    texts = [
        None if there or value is None else _decode_text(value)
        for value, there in zip(values, is_number, strict=True)
    ]
    return _chunked_array(numbers, pa.float64() if convert is float else pa.int64()), _chunked_array(
        texts, pa.string()
    )


def _whole_number(value: float | Decimal) -> int:
    """Nearest int64 towards zero, as SQLite casts."""
    return 0 if math.isnan(value) else int(max(min(value, INT64_MAX), -INT64_MAX - 1))


def _category_text(value: Any) -> str:
    return text_or_digits(value) if isinstance(value, bytes) else _decode_text(value)


def _decode_text(value: Any) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)


def _chunked_array(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])
