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
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from monitor.core.clock import SECOND
from monitor.core.errors import SourceError, SourceUnavailable
from monitor.records.rows import Batches
from monitor.sources.address import Address, sqlite_uri
from monitor.sources.dialects import Dialect, dialect_of
from monitor.sources.failures import refused, unavailable, unreachable_state
from monitor.sources.statements import Kind, Statement, concat, join_numbers, join_texts
from monitor.specs.model import SourceSpec

_BUSY_TIMEOUT_S = 10
_INT64_MAX = 2**63 - 1
_SQLITE_UNREACHABLE = (5, 6, 10, 11, 14, 26)  # busy, locked, I/O, corrupt, cannot open, not a database


@dataclass(frozen=True, slots=True)
class FetchmanySession:
    """A connection in a transaction."""

    connection: sa.Connection
    batch_rows: int

    def read(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        return concat(list(self.batches(statement)))

    def batches(self, statement: Statement) -> Batches:
        """Rows of a statement, `batch_rows` at a time."""
        sql = cast_texts(statement) if self.connection.dialect.name == "sqlite" else statement.text()
        nothing = True
        with self._run(sql, stream_results=True) as result:
            for rows in result.partitions(self.batch_rows):
                yield batch(statement, rows)
                nothing = False
        if nothing:
            yield statement.empty()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        with self._run(sql) as result:
            return [tuple(row) for row in result]

    def names(self, sql: str) -> list[str]:
        """Names of a query's columns."""
        with self._run(sql) as result:
            return list(result.keys())

    def settle(self, sql: str) -> None:
        """Run a statement without rows."""
        self._run(sql).close()

    def _run(self, sql: str, *, stream_results: bool = False) -> sa.CursorResult[Any]:
        options = {"no_parameters": True, "stream_results": stream_results}
        return self.connection.exec_driver_sql(sql, execution_options=options)


class FetchmanyReader:
    """Any database that SQLAlchemy knows."""

    def __init__(self, spec: SourceSpec, address: Address) -> None:
        self._address, self._batch_rows = address, spec.batch_rows
        self._timeout_ms = spec.statement_timeout * 1000 // SECOND
        try:
            self.dialect: Dialect = dialect_of(address.url)
            self._engine = _engine(address, spec.max_connections)
        except (SQLAlchemyError, ImportError) as error:
            raise SourceError(f"{address.shown}: {address.hide(str(error))}") from error

    @contextmanager
    def session(self) -> Iterator[FetchmanySession]:
        """Take a connection, begin, read, end."""
        file = self._address.file
        if file is not None and not file.is_file():
            raise SourceUnavailable(f"{self._address.shown}: there is no file {file}")
        try:
            with self._engine.connect() as connection:
                session = FetchmanySession(connection, self._batch_rows)
                if self.dialect.name == "postgresql":
                    session.settle("SET TRANSACTION READ ONLY")
                    session.settle(f"SET LOCAL statement_timeout = {self._timeout_ms}")
                    session.settle("SET LOCAL TIME ZONE 'UTC'")
                yield session
        except SQLAlchemyError as error:
            raise (unavailable if _unreachable(error) else refused)(self._address, error) from error

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose()


def cast_texts(statement: Statement) -> str:
    """SQL for SQLite: what shall be text is cast there, so that numbers read as they do elsewhere."""
    selected = ", ".join(
        f"CAST({output.sql} AS TEXT)" if output.kind is Kind.TEXT else output.sql
        for output in statement.outputs
    )
    return f"{statement.before}SELECT {selected} {statement.body}"


def batch(statement: Statement, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Column batch of some rows."""
    columns = zip(*rows, strict=True)
    return pa.table(
        {
            output.name: _column(output.kind, list(values))
            for output, values in zip(statement.outputs, columns, strict=True)
        }
    )


def _engine(address: Address, connections: int) -> sa.Engine:
    if address.file is not None:
        file, _, mode = sqlite_uri(address.file).partition("?mode=")
        url = sa.URL.create("sqlite", database=file, query={"mode": mode, "uri": "true"})
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": _BUSY_TIMEOUT_S})
        sa.event.listen(engine, "connect", _decode_anything)
        return engine
    url = address.url
    arguments: dict[str, Any] = {}
    if address.dialect == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        arguments = {"application_name": "monitor", "connect_timeout": 10}
        arguments = {name: value for name, value in arguments.items() if name not in url.query}
    return sa.create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,
        pool_timeout=600,
        connect_args=arguments,
    )


def _decode_anything(connection: Any, _record: object) -> None:
    """SQLite does not check that text is UTF-8: what is not is replaced."""
    connection.text_factory = lambda raw: raw.decode(errors="replace")


def _unreachable(error: SQLAlchemyError) -> bool:
    if not isinstance(error, DBAPIError):
        return isinstance(error, sa.exc.TimeoutError)
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_UNREACHABLE
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return unreachable_state(state)
    return error.connection_invalidated or isinstance(error, sa.exc.OperationalError)


def _column(kind: Kind, values: list[Any]) -> pa.ChunkedArray:
    match kind:
        case Kind.TEXT:
            return _chunked([None if value is None else _text(value) for value in values], pa.string())
        case Kind.NUMBER:
            return join_numbers(*_apart(values, float))
        case Kind.VALUE:
            return join_texts(*_apart(values, float))
        case _:
            return _moments(kind, values)


def _moments(kind: Kind, values: list[Any]) -> pa.ChunkedArray:
    sample = next((value for value in values if value is not None), None)
    if isinstance(sample, date):
        zoned = isinstance(sample, datetime) and sample.tzinfo is not None
        return _chunked(
            [None if value is None else _datetime(value, zoned=zoned) for value in values],
            pa.timestamp("us", "UTC" if zoned else None),
        )
    if kind in (Kind.INSTANT, Kind.NAIVE):
        return _chunked(values, pa.timestamp("us", "UTC" if kind is Kind.INSTANT else None))
    return join_texts(*_apart(values, _whole))


def _datetime(value: date, *, zoned: bool) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
    return moment.astimezone(UTC) if zoned else moment


def _apart(
    values: list[Any], convert: Callable[[Any], int | float]
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Numbers and texts of one column, each with nulls where the other stands."""
    is_number = [isinstance(value, int | float | Decimal) for value in values]
    numbers = [convert(value) if there else None for value, there in zip(values, is_number, strict=True)]
    texts = [
        None if there or value is None else _text(value)
        for value, there in zip(values, is_number, strict=True)
    ]
    return _chunked(numbers, pa.float64() if convert is float else pa.int64()), _chunked(texts, pa.string())


def _whole(value: float | Decimal) -> int:
    """Nearest int64 towards zero, as SQLite casts."""
    return 0 if math.isnan(value) else int(max(min(value, _INT64_MAX), -_INT64_MAX - 1))


def _text(value: Any) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)


def _chunked(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])
