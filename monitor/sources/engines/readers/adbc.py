"""Rows through ADBC into Arrow, where no value becomes a Python object: SQLite's and PostgreSQL's."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import adbc_driver_manager
import pyarrow as pa

from monitor.records.winning_rows import Batches
from monitor.sources.engines.readers import sqlite_typing
from monitor.sources.sql.statements import Statement

_SMALL = 1_000  # rows of a batch of a small query: drivers make room for all of them


@dataclass(frozen=True, slots=True)
class AdbcSession:
    """A connection in a transaction."""

    connection: Any
    batch_rows: int
    # of a statement whose batches have about so many rows, as its driver takes them.
    options: Callable[[str, int], dict[str, str]]
    # ends the connection where the driver waits longer than it may; around each call that waits.
    bounded: Callable[[], AbstractContextManager[None]] = nullcontext
    by_value: bool = False  # a column has values of several types, as SQLite's have: see `sqlite_typing`

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        if self.by_value:
            return sqlite_typing.read_typed(statement, self.fetch_table)
        table = self.fetch_table(statement.sql_text())
        return table.rename_columns([output.name for output in statement.outputs])

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement, about `batch_rows` at a time."""
        if self.by_value:
            yield from sqlite_typing.read_typed_batches(statement, self.stream_batches)
            return
        names = [output.name for output in statement.outputs]
        for table in self.stream_batches(statement.sql_text()):
            yield table.rename_columns(names)

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        columns = self.fetch_table(sql, _SMALL).columns
        if self.by_value:
            columns = map(sqlite_typing.decode_texts, columns)
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names and Arrow types of a query's columns."""
        return {field.name: field.type for field in self.fetch_table(sql, _SMALL).schema}

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        with translate_driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.execute(sql)

    def fetch_table(self, sql: str, rows: int | None = None) -> pa.Table:
        """Result as the driver types it; `rows`: of a batch."""
        with translate_driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**self.options(sql, rows or self.batch_rows))
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def stream_batches(self, sql: str) -> Batches:
        """Result batch by batch, the first of them empty."""
        with translate_driver_errors(), ExitStack() as stack:
            cursor = self.connection.cursor()
            stack.callback(self._close_cursor, cursor)
            cursor.adbc_statement.set_options(**self.options(sql, self.batch_rows))
            with self.bounded():
                cursor.execute(sql)
            reader = cursor.fetch_record_batch()
            yield reader.schema.empty_table()
            while (batch := self._next_batch(reader)) is not None:
                yield pa.Table.from_batches([batch])

    def _next_batch(self, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
        with self.bounded():
            return next(reader, None)

    def _close_cursor(self, cursor: Any) -> None:
        with self.bounded():
            cursor.close()


@contextmanager
def translate_driver_errors() -> Iterator[None]:
    """Arrow's errors as the driver's: a stream that breaks off does not tell its driver's own."""
    try:
        yield
    except TimeoutError as error:
        silent = adbc_driver_manager.AdbcStatusCode.TIMEOUT
        raise adbc_driver_manager.OperationalError(str(error), status_code=silent) from error
    except (pa.ArrowException, OSError) as error:
        unknown = adbc_driver_manager.AdbcStatusCode.UNKNOWN
        raise adbc_driver_manager.OperationalError(str(error), status_code=unknown) from error
