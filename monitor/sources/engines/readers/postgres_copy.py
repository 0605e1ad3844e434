"""Rows of PostgreSQL, by COPY through ADBC: its pool of connections, its transactions, their limits."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import adbc_driver_manager
from adbc_driver_manager import AdbcStatusCode
from sqlalchemy import exc, pool

from monitor.core.clock import SECOND
from monitor.core.errors import DatabaseTrouble
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.driver_failures import refused_error, unavailable_error
from monitor.sources.engines.engine import Engine, trouble_of_state
from monitor.sources.engines.readers.adbc import AdbcSession, translate_driver_errors
from monitor.specs.deadlines import (
    CONNECTED,
    MARK,
    answered_within,
    end_marked_sockets,
    enforce_deadline,
    libpq_options,
)
from monitor.specs.model_spec import SourceSpec
from monitor.specs.urls import libpq_uri

_BYTES_A_ROW = 200  # of a batch in memory: batches are asked for by size
_LOST = (AdbcStatusCode.IO, AdbcStatusCode.CANCELLED, AdbcStatusCode.TIMEOUT)


def transaction_settings(limit_ms: int) -> tuple[str, str]:
    """Settings of a transaction that reads, beside its snapshot."""
    return f"SET LOCAL statement_timeout = {limit_ms}", "SET LOCAL TIME ZONE 'UTC'"


class PostgresReader:
    """Rows by COPY; connections are pooled, every session is one read-only transaction."""

    def __init__(self, spec: SourceSpec, address: DatabaseAddress) -> None:
        self.engine: Engine = address.engine
        self._address, self._batch_rows = address, spec.batch_rows
        self._timeout, self._most = spec.statement_timeout, spec.max_connections
        self._limit = answered_within(spec.statement_timeout)
        self._pool = pool.QueuePool(
            self._open_connection,
            pool_size=spec.max_connections,
            max_overflow=0,
            reset_on_return=None,
            timeout=600,
        )

    @contextmanager
    def open_session(self) -> Iterator[AdbcSession]:
        """Take a connection, begin, read, end."""
        connection, session = self._begin_session()
        try:
            yield session
            session.run_command("COMMIT")
        except adbc_driver_manager.Error as error:
            trouble = trouble_of_state(error.sqlstate)
            if error.sqlstate is None and (error.status_code in _LOST or not _is_alive(session)):
                trouble = DatabaseTrouble.NO_ANSWER
            connection.invalidate()
            if trouble is None:
                raise refused_error(self._address, error) from error
            raise unavailable_error(self._address, error, trouble, limit=self._timeout) from error
        except BaseException:
            with suppress(adbc_driver_manager.Error):
                session.run_command("ROLLBACK")
            raise
        finally:
            connection.close()

    def close(self) -> None:
        """Close the pooled connections."""
        self._pool.dispose()

    def _open_connection(self) -> Any:
        import adbc_driver_postgresql.dbapi

        url = self._address.current_url()
        options = libpq_options(url.query)
        end = partial(end_marked_sockets, int(options[MARK]))
        with translate_driver_errors(), enforce_deadline(self._limit, end):
            uri = libpq_uri(*url.update_query_dict(options)[1:])
            connection = adbc_driver_postgresql.dbapi.connect(uri, autocommit=True)
        connection.end = end
        return connection

    def _begin_session(self) -> tuple[pool.PoolProxiedConnection, AdbcSession]:
        """Begin on a connection that lives: those that died since they were used last are replaced."""
        for left in range(self._most, -1, -1):
            try:
                connection = self._pool.connect()
            except (adbc_driver_manager.Error, exc.TimeoutError) as error:
                raise unavailable_error(self._address, error) from error
            try:
                return connection, self._configure_session(connection)
            except adbc_driver_manager.Error as error:
                connection.invalidate()
                connection.close()
                silent = error.status_code is AdbcStatusCode.TIMEOUT
                if silent or not left:
                    raise unavailable_error(self._address, error) from error
        raise AssertionError

    def _configure_session(self, connection: pool.PoolProxiedConnection) -> AdbcSession:
        def session(seconds: float) -> AdbcSession:
            bounded = partial(enforce_deadline, seconds, connection.end)
            return AdbcSession(connection, self._batch_rows, _batch_options, bounded)

        begun = session(CONNECTED)
        begun.run_command("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for setting in transaction_settings(self._timeout * 1000 // SECOND):
            begun.run_command(setting)
        return session(self._limit)


def _is_alive(session: AdbcSession) -> bool:
    """Whether a connection lives on after an error that does not say so."""
    try:
        session.run_command("ROLLBACK")
        session.read_rows("SELECT 1 AS one")
    except adbc_driver_manager.Error:
        return False
    return True


def _batch_options(sql: str, rows: int) -> dict[str, str]:
    copied = not sql.startswith("EXPLAIN")  # COPY takes queries only
    return {
        "adbc.postgresql.batch_size_hint_bytes": str(rows * _BYTES_A_ROW),
        "adbc.postgresql.use_copy": "true" if copied else "false",
    }
