"""Rows through ADBC into Arrow: SQLite files and PostgreSQL. No value becomes a Python object."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import adbc_driver_manager
import pyarrow as pa
from sqlalchemy import exc, pool

from monitor.core.clock import SECOND
from monitor.core.errors import SourceError, SourceUnavailable, Trouble
from monitor.records.rows import Batches
from monitor.sources.address import Address, libpq_uri, sqlite_uri
from monitor.sources.engines import sqlite_typing
from monitor.sources.engines.engine import Dialect, dialect_of
from monitor.sources.failures import refused, trouble_of_state, unavailable
from monitor.sources.sql.statements import Statement
from monitor.specs.deadlines import CONNECTED, MARK, answered_within, end_marked, libpq_options, within
from monitor.specs.model import SourceSpec

_BUSY_TIMEOUT_MS = 10_000
_SMALL = 1_000  # rows of a batch of a small query: SQLite's driver makes room for all of them
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
    bounded
        ends the connection where the driver waits longer than it may; around each call that waits.
    """

    connection: Any
    dialect: str
    batch_rows: int
    bounded: Callable[[], AbstractContextManager[None]] = nullcontext

    def read(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        if self.dialect == "sqlite":
            return sqlite_typing.read(statement, self._fetch)
        table = self._fetch(statement.text())
        return table.rename_columns([output.name for output in statement.outputs])

    def batches(self, statement: Statement) -> Batches:
        """Rows of a statement, about `batch_rows` at a time."""
        if self.dialect == "sqlite":
            yield from sqlite_typing.batches(statement, self._stream)
            return
        names = [output.name for output in statement.outputs]
        for table in self._stream(statement.text()):
            yield table.rename_columns(names)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        table = self._fetch(sql, _SMALL)
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def described(self, sql: str) -> dict[str, object]:
        """Names and Arrow types of a query's columns."""
        return {field.name: field.type for field in self._fetch(sql, _SMALL).schema}

    def settle(self, sql: str) -> None:
        """Run a statement without rows."""
        with _driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.execute(sql)

    def _fetch(self, sql: str, rows: int | None = None) -> pa.Table:
        with _driver_errors(), self.bounded(), self.connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**self._options(sql, rows or self.batch_rows))
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def _stream(self, sql: str) -> Batches:
        with _driver_errors(), ExitStack() as stack:
            cursor = self.connection.cursor()
            stack.callback(self._closed, cursor)
            cursor.adbc_statement.set_options(**self._options(sql, self.batch_rows))
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

    def _options(self, sql: str, rows: int) -> dict[str, str]:
        if self.dialect == "sqlite":
            return {"adbc.sqlite.query.batch_rows": str(rows)}
        copied = not sql.startswith("EXPLAIN")  # COPY takes queries only
        return {
            "adbc.postgresql.batch_size_hint_bytes": str(rows * _BYTES_A_ROW),
            "adbc.postgresql.use_copy": "true" if copied else "false",
        }


class SqliteReader:
    """A SQLite file, opened anew and read-only for every session."""

    def __init__(self, spec: SourceSpec, address: Address, file: Path) -> None:
        self.dialect: Dialect = dialect_of(address.url)
        self._file, self._address, self._batch_rows = file, address, spec.batch_rows

    @contextmanager
    def session(self) -> Iterator[AdbcSession]:
        """Open the file; close it in any case."""
        if not self._file.is_file():
            raise SourceUnavailable(f"{self._address.shown}: there is no file {self._file}")
        import adbc_driver_sqlite.dbapi  # a second, where pandas is installed: not before it is needed

        try:
            connection = adbc_driver_sqlite.dbapi.connect(sqlite_uri(self._file), autocommit=True)
        except adbc_driver_manager.Error as error:
            raise unavailable(self._address, error) from error
        with connection:
            session = AdbcSession(connection, "sqlite", self._batch_rows)
            try:
                session.rows(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
                session.settle("BEGIN")
                yield session
                session.settle("COMMIT")
            except adbc_driver_manager.Error as error:
                raise self._failure(session, error) from error

    def close(self) -> None:
        """Nothing is kept open."""

    def _failure(self, session: AdbcSession, error: adbc_driver_manager.Error) -> SourceError:
        """Locked, no database, or a statement that it refuses: asked of the file, not of the message."""
        with suppress(adbc_driver_manager.Error):
            session.settle("ROLLBACK")
        try:
            session.rows("PRAGMA busy_timeout = 0")
            session.rows("SELECT count(*) AS tables FROM sqlite_master")
        except adbc_driver_manager.Error as again:
            return unavailable(self._address, again)
        return refused(self._address, error)


class PostgresReader:
    """PostgreSQL; connections are pooled, every session is one read-only transaction."""

    def __init__(self, spec: SourceSpec, address: Address) -> None:
        self.dialect: Dialect = dialect_of(address.url)
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
        with _driver_errors(), within(self._limit, end):
            uri = libpq_uri(url.update_query_dict(options))
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
            return AdbcSession(connection, "postgresql", self._batch_rows, bounded)

        begun = session(CONNECTED)
        begun.settle("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        begun.settle(f"SET LOCAL statement_timeout = {self._timeout * 1000 // SECOND}")
        begun.settle("SET LOCAL TIME ZONE 'UTC'")
        return session(self._limit)


@contextmanager
def _driver_errors() -> Iterator[None]:
    """Arrow's errors as the driver's: a stream that breaks off does not tell its driver's own."""
    try:
        yield
    except TimeoutError as error:
        silent = adbc_driver_manager.AdbcStatusCode.TIMEOUT
        raise adbc_driver_manager.OperationalError(str(error), status_code=silent) from error
    except (pa.ArrowException, OSError) as error:
        unknown = adbc_driver_manager.AdbcStatusCode.UNKNOWN
        raise adbc_driver_manager.OperationalError(str(error), status_code=unknown) from error


def _answers(session: AdbcSession) -> bool:
    """Whether a connection lives on after an error that does not say so."""
    try:
        session.settle("ROLLBACK")
        session.rows("SELECT 1 AS one")
    except adbc_driver_manager.Error:
        return False
    return True
