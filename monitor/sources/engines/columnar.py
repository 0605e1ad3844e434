"""What DuckDB and ClickHouse do in their own way: types, casts, results in Arrow, settings."""

from typing import Any

import pyarrow as pa
from sqlalchemy.exc import DatabaseError

from monitor.core.errors import SourceError
from monitor.sources.sql.statements import TYPES, Kind, Output, Statement

DUCKDB = "duckdb"
EXTRAS = {DUCKDB: "duckdb", "chdb": "chdb", "clickhousedb": "clickhouse"}
CLICKHOUSE = ("chdb", "clickhousedb")  # in this process; a server
_LONGEST = {"max_query_size": 2**24, "max_ast_elements": 2**20, "max_expanded_ast_elements": 2**22}
_WHOLE = (
    *("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
)
_NUMBERS = (
    *(*_WHOLE, "ubigint", "hugeint", "uint64", "int128", "decimal", "boolean", "bool"),
    *("float", "double", "float32", "float64"),
)
_TEXTS = ("varchar", "enum", "uuid", "string", "fixedstring", "enum8", "enum16")
_INSTANTS = ("timestamp with time zone", "datetime", "datetime64")
_NAIVE = ("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "date", "date32")
_WRAPPERS = ("nullable(", "lowcardinality(")


def is_columnar(dialect: str) -> bool:
    """Whether a dialect is that of a column store."""
    return dialect == DUCKDB or is_clickhouse(dialect)


def is_clickhouse(dialect: str) -> bool:
    """Whether a dialect is that of ClickHouse, in this process or on a server."""
    return dialect in CLICKHOUSE


def settings(dialect: str) -> tuple[str, ...]:
    """Statements that make a session's times UTC, and what is not there NULL, as it is everywhere else."""
    if dialect == DUCKDB:
        return ("SET TimeZone = 'UTC'",)
    if is_clickhouse(dialect):
        wanted = {"session_timezone": "'UTC'", "join_use_nulls": 1, "group_by_use_nulls": 1}
        return tuple(f"SET {name} = {value}" for name, value in (wanted | _LONGEST).items())
    return ()


def plain(kind: str) -> str:
    """Type without its arguments, and without what ClickHouse wraps around it."""
    for wrapper in _WRAPPERS:
        if kind.startswith(wrapper):
            return plain(kind.removeprefix(wrapper).removesuffix(")"))
    return kind.partition("(")[0].strip()


def is_number(kind: str) -> bool:
    """Whether a type holds numbers, or true and false."""
    return plain(kind) in _NUMBERS


def is_text(kind: str) -> bool:
    """Whether a type holds texts."""
    return plain(kind) in _TEXTS


def is_time(kind: str) -> bool:
    """Whether a type holds times or dates."""
    return plain(kind) in (*_INSTANTS, *_NAIVE)


def is_naive(kind: str) -> bool:
    """Whether a type holds dates, or times without a zone."""
    return plain(kind) in _NAIVE


def text(dialect: str, name: str, ref: str, kind: str) -> Output:
    """Column of texts."""
    if not (is_number(kind) or is_text(kind) or is_time(kind)):
        raise _refusal(name, ref, kind, "text")
    return Output(name, _cast(dialect, ref, "VARCHAR", "toString"), Kind.TEXT)


def number(dialect: str, name: str, ref: str, kind: str) -> Output:
    """Column of doubles; texts are parsed later: a cast that fails would end the query."""
    if is_number(kind) or not kind:  # an expression of ours has no type to be looked up
        return Output(name, _cast(dialect, ref, "DOUBLE", "toFloat64"), Kind.NUMBER)
    if is_text(kind):
        return text(dialect, name, ref, kind)
    raise _refusal(name, ref, kind, "number")


def value(dialect: str, name: str, ref: str, kind: str) -> Output:
    """Column of doubles where it holds numbers, else of texts."""
    return (number if is_number(kind) else text)(dialect, name, ref, kind)


def time(dialect: str, name: str, ref: str, kind: str) -> Output:
    """Column of timestamps, of int64 or of texts."""
    if is_time(kind):
        exact = "TIMESTAMP" if is_naive(kind) else "TIMESTAMPTZ"
        sql = f"toDateTime64({ref}, 6, 'UTC')" if is_clickhouse(dialect) else f"CAST({ref} AS {exact})"
        return Output(name, sql, Kind.NAIVE if is_naive(kind) else Kind.INSTANT)
    if plain(kind) in _WHOLE:
        return Output(name, _cast(dialect, ref, "BIGINT", "toInt64"), Kind.EPOCH)
    if is_text(kind):
        return text(dialect, name, ref, kind)
    raise _refusal(name, ref, kind, "time")


def told(code: object) -> str:
    """Type of a column by a driver's description of it."""
    return str(code[0] if isinstance(code, tuple) else code).lower()


def arrow(connection: Any, sql: str) -> pa.Table | None:
    """Result of a statement in Arrow, which these drivers hand over at once; None: this one does not.

    Parameters
    ----------
    connection
        of SQLAlchemy.
    """
    dialect = connection.dialect.name
    if dialect == DUCKDB:
        cursor = connection.exec_driver_sql(sql, execution_options={"no_parameters": True}).cursor
        table = cursor.to_arrow_table()
    elif dialect == "chdb":  # the driver's own cursor makes rows of text of it
        table = _of_chdb(connection, sql)
    else:
        return None
    return table


def _of_chdb(connection: Any, sql: str) -> pa.Table:
    driver = connection.connection.dbapi_connection
    try:
        return driver._conn._conn.query(sql, "ArrowTable")  # noqa: SLF001 -- its one way to a table
    except Exception as error:
        raise DatabaseError(sql, None, error) from error


def typed(statement: Statement, table: pa.Table) -> pa.Table:
    """Columns of a statement of a result in Arrow, whose types are the engine's."""
    columns = zip(statement.outputs, table.columns, strict=True)
    return pa.table({output.name: _typed(output.kind, column) for output, column in columns})


def _typed(kind: Kind, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if kind is Kind.NAIVE and column.type != pa.timestamp("us"):  # ClickHouse: of UTC, as the session is
        column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None))).cast(pa.timestamp("us"))
    return column.cast(TYPES[kind])


def _cast(dialect: str, ref: str, kind: str, function: str) -> str:
    """A cast that keeps NULL."""
    return f"{function}({ref})" if is_clickhouse(dialect) else f"CAST({ref} AS {kind})"


def _refusal(name: str, ref: str, kind: str, want: str) -> SourceError:
    return SourceError(
        f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which is not read as a {want}: "
        "cast it in a view or in `query`"
    )
