"""Rows through SQLAlchemy, some thousand at a time: every engine that has no Arrow driver here."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from monitor.core.clock import SECOND
from monitor.core.errors import SourceError, SourceUnavailable, Trouble
from monitor.records.rows import Batches
from monitor.sources.address import Address, sqlite_uri
from monitor.sources.engines import columnar, mysql
from monitor.sources.engines.engine import Dialect, dialect_of
from monitor.sources.failures import refused, trouble_of_mysql, trouble_of_state, unavailable
from monitor.sources.sql.statements import Kind, Statement, concat, join_numbers, join_texts
from monitor.specs.deadlines import CONNECTED, answered_within, bound_waits, libpq_options
from monitor.specs.model import SourceSpec

_BUSY_TIMEOUT_S = 10
_MYSQL_DRIVERS = ("pymysql", "mysqldb", "MySQLdb")  # as URLs and as modules are called
_INT64_MAX = 2**63 - 1
_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}  # where the URL names none
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
        """Rows of a statement, `batch_rows` at a time; of column stores all at once."""
        table = columnar.arrow(self.connection, statement.text())
        if table is not None:
            yield columnar.typed(statement, table)
            return
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

    def described(self, sql: str) -> dict[str, object]:
        """Names of a query's columns, and what the driver describes them by: code of the type, lengths."""
        with self._run(sql) as result:
            return {column[0]: tuple(column[1:]) for column in result.cursor.description or ()}

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
        self._timeout = spec.statement_timeout
        try:
            self.dialect: Dialect = dialect_of(address.url)
            self._engine = _engine(address, spec.max_connections, answered_within(spec.statement_timeout))
        except (SQLAlchemyError, ImportError) as error:
            hint = ": install monitor[mariadb]" if mysql.is_mysql(address.dialect) else ""
            raise SourceError(f"{address.shown}: {error}{hint}") from error

    @contextmanager
    def session(self) -> Iterator[FetchmanySession]:
        """Take a connection, begin, read, end."""
        file = self._address.file
        if file is not None and not file.is_file():
            raise SourceUnavailable(f"{self._address.shown}: there is no file {file}")
        try:
            with self._engine.connect() as connection:
                session = FetchmanySession(connection, self._batch_rows)
                for setting in self._settings(connection):
                    session.settle(setting)
                yield session
        except SQLAlchemyError as error:
            trouble = _trouble(error)
            if trouble is None:
                raise refused(self._address, error) from error
            raise unavailable(self._address, error, trouble, limit=self._timeout) from error

    def close(self) -> None:
        """Close the pooled connections."""
        self._engine.dispose()

    def _settings(self, connection: sa.Connection) -> tuple[str, ...]:
        """Statements that make a read-only transaction of one snapshot, in UTC, with a limit of time."""
        if self.dialect.name == "postgresql":
            limit = f"SET LOCAL statement_timeout = {self._timeout * 1000 // SECOND}"
            snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
            return snapshot, limit, "SET LOCAL TIME ZONE 'UTC'"
        if self.dialect.name == "sqlite":
            return ("BEGIN",)
        if mysql.is_mysql(self.dialect.name):
            mariadb = bool(getattr(connection.dialect, "is_mariadb", False))
            return mysql.settings(mariadb=mariadb, timeout_ms=self._timeout * 1000 // SECOND)
        return columnar.settings(self.dialect.name)


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


def _engine(address: Address, connections: int, limit: float) -> sa.Engine:
    if address.file is not None:
        file, _, mode = sqlite_uri(address.file).partition("?mode=")
        url = sa.URL.create("sqlite", database=file, query={"mode": mode, "uri": "true"})
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args={"timeout": _BUSY_TIMEOUT_S})
        sa.event.listen(engine, "connect", _decode_anything)
        return engine
    url = address.url
    if url.drivername in _DRIVERS:
        url = url.set(drivername=f"{url.drivername}+{_DRIVERS[url.drivername]}")
    engine = sa.create_engine(
        url,
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,
        pool_timeout=600,
        connect_args=_arguments(url, limit),
    )
    if engine.driver == "psycopg":
        sa.event.listen(engine, "connect", partial(bound_waits, limit), insert=True)
    if engine.driver == "pymysql":
        sa.event.listen(engine, "handle_error", _let_go)
    if address.written or engine.dialect.driver == "pymysql":
        sa.event.listen(engine, "do_connect", partial(_connect, address))
    return engine


def _arguments(url: sa.URL, limit: float) -> dict[str, Any]:
    """What a driver is told beside the URL."""
    arguments: dict[str, Any] = {}
    if url.get_backend_name() == "postgresql":
        arguments = {"application_name": "monitor", **libpq_options()}
    elif url.get_driver_name() in _MYSQL_DRIVERS:
        waits = math.ceil(limit)
        arguments = {"connect_timeout": round(CONNECTED), "read_timeout": waits, "write_timeout": waits}
    elif url.get_backend_name() == columnar.DUCKDB:
        return {"read_only": True}
    return {name: value for name, value in arguments.items() if name not in url.query}


def _connect(
    address: Address, dialect: sa.Dialect, _record: object, _args: object, parameters: dict[str, Any]
) -> Any:
    """Connect with what the files of the URL hold now; PyMySQL would send a password as Latin-1."""
    positional, named = dialect.create_connect_args(address.now())
    if dialect.driver == "pymysql" and "password" in named:
        named["password"] = str(named["password"]).encode()
    return dialect.connect(*positional, **{**parameters, **named})


def _let_go(context: sa.ExceptionContext) -> None:
    """PyMySQL would go on to read a result whose connection was lost, and fail where nobody expects it."""
    result = getattr(getattr(context.execution_context, "cursor", None), "_result", None)
    if context.is_disconnect and result is not None:
        result.unbuffered_active = False


def _decode_anything(connection: Any, _record: object) -> None:
    """SQLite does not check that text is UTF-8: what is not is replaced."""
    connection.text_factory = lambda raw: raw.decode(errors="replace")


def _trouble(error: SQLAlchemyError) -> Trouble | None:
    """Why the database does not answer; None: the statement is wrong."""
    if not isinstance(error, DBAPIError):
        return Trouble.NO_ANSWER if isinstance(error, sa.exc.TimeoutError) else None
    number = next(iter(getattr(error.orig, "args", ())), None)
    if type(error.orig).__module__.startswith(_MYSQL_DRIVERS) and isinstance(number, int):
        return trouble_of_mysql(number)
    state = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return trouble_of_state(state)
    code = getattr(error.orig, "sqlite_errorcode", None)
    lost = error.connection_invalidated or isinstance(error, sa.exc.OperationalError)
    if code is not None:
        lost = code & 0xFF in _SQLITE_UNREACHABLE
    return Trouble.NO_ANSWER if lost else None


def _column(kind: Kind, values: list[Any]) -> pa.ChunkedArray:
    match kind:
        case Kind.TEXT:
            return _chunked([None if value is None else _name(value) for value in values], pa.string())
        case Kind.NUMBER:
            return join_numbers(*_apart(values, float))
        case Kind.VALUE:
            return join_texts(*_apart(values, float))
        case _:
            return _moments(kind, values)


def _moments(kind: Kind, values: list[Any]) -> pa.ChunkedArray:
    sample = next((value for value in values if value is not None), None)
    zoned = kind is Kind.INSTANT or (isinstance(sample, datetime) and sample.tzinfo is not None)
    if kind in (Kind.INSTANT, Kind.NAIVE) or isinstance(sample, date):
        if any(isinstance(value, str) for value in values):
            return _chunked([_no_date(value, zoned=zoned) for value in values], pa.string())
        return _chunked(
            [None if value is None else _datetime(value, zoned=zoned) for value in values],
            pa.timestamp("us", "UTC" if zoned else None),
        )
    return join_texts(*_apart(values, _whole))


def _datetime(value: date, *, zoned: bool) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time.min)
    if not zoned:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _no_date(value: date | str | None, *, zoned: bool) -> str | None:
    """Text of a time where one in its column is none, as MariaDB's 0000-00-00 00:00:00 is."""
    if value is None or isinstance(value, str):
        return value if value is None or not zoned else f"{value}Z"
    return f"{_datetime(value, zoned=False).replace(tzinfo=None)}{'Z' if zoned else ''}"


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


def _name(value: Any) -> str:
    """Text of an id or a category; bytes that are no text are told apart by their hexadecimal digits."""
    try:
        return value.decode() if isinstance(value, bytes) else _text(value)
    except UnicodeDecodeError:
        return str(value.hex())


def _chunked(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])
