"""Rows through ADBC into Arrow, where no value becomes a Python object; PostgreSQL's pool of connections."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import adbc_driver_manager
import pyarrow as pa
from sqlalchemy import exc, pool

from monitor.core.clock import SECOND
from monitor.core.errors import Trouble
from monitor.records.rows import Batches
from monitor.sources.address import Address
from monitor.sources.engines.engine import Engine, trouble_of_state
from monitor.sources.engines.readers import sqlite_typing
from monitor.sources.failures import refused, unavailable
from monitor.sources.sql.statements import Statement
from monitor.specs.deadlines import CONNECTED, MARK, answered_within, end_marked, libpq_options, within
from monitor.specs.model import SourceSpec
from monitor.specs.urls import libpq_uri

_SMALL = 1_000  # rows of a batch of a small query: drivers make room for all of them
_BYTES_A_ROW = 200  # of a batch in memory: PostgreSQL's batches are asked for by size
_LOST = (
    adbc_driver_manager.AdbcStatusCode.IO,
    adbc_driver_manager.AdbcStatusCode.CANCELLED,
    adbc_driver_manager.AdbcStatusCode.TIMEOUT,
)


@dataclass(frozen=True, slots=True)
class AdbcSession:
    """A connection in a transaction.

    Parameters
    ----------
    options
        of a statement whose batches have about so many rows, as its driver takes them.
    bounded
        ends the connection where the driver waits longer than it may; around each call that waits.
    by_value
        a column has values of several types, as SQLite's have: see `sqlite_typing`.
    """

    connection: Any
    batch_rows: int
    options: Callable[[str, int], dict[str, str]]
    bounded: Callable[[], AbstractContextManager[None]] = nullcontext
    by_value: bool = False

    def read(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        if self.by_value:
            return sqlite_typing.read(statement, self.fetch)
        table = self.fetch(statement.text())
        return table.rename_columns([output.name for output in statement.outputs])

    def batches(self, statement: Statement) -> Batches:
        """Rows of a statement, about `batch_rows` at a time."""
        if self.by_value:
            yield from sqlite_typing.batches(statement, self.stream)
            return
        names = [output.name for output in statement.outputs]
        for table in self.stream(statement.text()):
            yield table.rename_columns(names)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        table = self.fetch(sql, _SMALL)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def described(self, sql: str) -> dict[str, object]:
        """Names and Arrow types of a query's columns."""
        return {field.name: field.type for field in self.fetch(sql, _SMALL).schema}

    def settle(self, sql: str) -> None:
        """Run a statement without rows."""
        with driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.execute(sql)

    def fetch(self, sql: str, rows: int | None = None) -> pa.Table:
        """Result as the driver types it; `rows`: of a batch."""
        with driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**self.options(sql, rows or self.batch_rows))
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def stream(self, sql: str) -> Batches:
        """Result batch by batch, the first of them empty."""
        with driver_errors(), ExitStack() as stack:
            cursor = self.connection.cursor()
            stack.callback(self._closed, cursor)
            cursor.adbc_statement.set_options(**self.options(sql, self.batch_rows))
            with self.bounded():
                cursor.execute(sql)
            reader = cursor.fetch_record_batch()
            yield reader.schema.empty_table()
            while (batch := self._next(reader)) is not None:
                yield pa.Table.from_batches([batch])

    def _next(self, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
        with self.bounded():
            return next(reader, None)

    def _closed(self, cursor: Any) -> None:
        with self.bounded():
            cursor.close()


@contextmanager
def driver_errors() -> Iterator[None]:
    """Arrow's errors as the driver's: a stream that breaks off does not tell its driver's own."""
    try:
        yield
    except TimeoutError as error:
        silent = adbc_driver_manager.AdbcStatusCode.TIMEOUT
        raise adbc_driver_manager.OperationalError(str(error), status_code=silent) from error
    except (pa.ArrowException, OSError) as error:
        unknown = adbc_driver_manager.AdbcStatusCode.UNKNOWN
        raise adbc_driver_manager.OperationalError(str(error), status_code=unknown) from error


class PostgresReader:
    """PostgreSQL; connections are pooled, every session is one read-only transaction."""

    def __init__(self, spec: SourceSpec, address: Address) -> None:
        self.engine: Engine = address.engine
        self._address, self._batch_rows = address, spec.batch_rows
        self._timeout, self._most = spec.statement_timeout, spec.max_connections
        self._limit = answered_within(spec.statement_timeout)
        self._pool = pool.QueuePool(
            self._connect, pool_size=spec.max_connections, max_overflow=0, reset_on_return=None, timeout=600
        )

    @contextmanager
    def session(self) -> Iterator[AdbcSession]:
        """Take a connection, begin, read, end."""
        connection, session = self._begin()
        try:
            yield session
            session.settle("COMMIT")
        except adbc_driver_manager.Error as error:
            trouble = trouble_of_state(error.sqlstate)
            if error.sqlstate is None and (error.status_code in _LOST or not _answers(session)):
                trouble = Trouble.NO_ANSWER
            connection.invalidate()
            if trouble is None:
                raise refused(self._address, error) from error
            raise unavailable(self._address, error, trouble, limit=self._timeout) from error
        except BaseException:
            with suppress(adbc_driver_manager.Error):
                session.settle("ROLLBACK")
            raise
        finally:
            connection.close()

    def close(self) -> None:
        """Close the pooled connections."""
        self._pool.dispose()

    def _connect(self) -> Any:
        import adbc_driver_postgresql.dbapi

        url = self._address.now()
        options = libpq_options(url.query)
        end = partial(end_marked, int(options[MARK]))
        with driver_errors(), within(self._limit, end):
            uri = libpq_uri(*url.update_query_dict(options)[1:])
            connection = adbc_driver_postgresql.dbapi.connect(uri, autocommit=True)
        connection.end = end
        return connection

    def _begin(self) -> tuple[pool.PoolProxiedConnection, AdbcSession]:
        """Begin on a connection that lives: those that died since they were used last are replaced."""
        for left in range(self._most, -1, -1):
            try:
                connection = self._pool.connect()
            except (adbc_driver_manager.Error, exc.TimeoutError) as error:
                raise unavailable(self._address, error) from error
            try:
                return connection, self._settled(connection)
            except adbc_driver_manager.Error as error:
                connection.invalidate()
                connection.close()
                silent = error.status_code is adbc_driver_manager.AdbcStatusCode.TIMEOUT
                if silent or not left:
                    raise unavailable(self._address, error) from error
        raise AssertionError

    def _settled(self, connection: pool.PoolProxiedConnection) -> AdbcSession:
        def session(seconds: float) -> AdbcSession:
            bounded = partial(within, seconds, connection.end)
            return AdbcSession(connection, self._batch_rows, _postgres_options, bounded)

        begun = session(CONNECTED)
        begun.settle("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        begun.settle(f"SET LOCAL statement_timeout = {self._timeout * 1000 // SECOND}")
        begun.settle("SET LOCAL TIME ZONE 'UTC'")
        return session(self._limit)


def _answers(session: AdbcSession) -> bool:
    """Whether a connection lives on after an error that does not say so."""
    try:
        session.settle("ROLLBACK")
        session.rows("SELECT 1 AS one")
    except adbc_driver_manager.Error:
        return False
    return True


def _postgres_options(sql: str, rows: int) -> dict[str, str]:
    copied = not sql.startswith("EXPLAIN")  # COPY takes queries only
    return {
        "adbc.postgresql.batch_size_hint_bytes": str(rows * _BYTES_A_ROW),
        "adbc.postgresql.use_copy": "true" if copied else "false",
    }
