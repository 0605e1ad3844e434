"""ClickHouse, a server or in this process: it has no transactions, so each statement sees its own moment."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError

from monitor.sources.engines.columnar import ColumnarEngine
from monitor.sources.sql.sql_names import backslash_escaped
from monitor.sources.sql.statements import ColumnKind

_EMBEDDED = "chdb"  # whose own cursor makes rows of text
_LONGEST = {"max_query_size": 2**24, "max_ast_elements": 2**20, "max_expanded_ast_elements": 2**22}
_CASTS = {ColumnKind.TEXT: "toString", ColumnKind.NUMBER: "toFloat64", ColumnKind.EPOCH: "toInt64"}
_LEAST = "-1.7976931348623157e+308"  # below all edges


class ClickhouseEngine(ColumnarEngine):
    """What several statements count is compared: see `one_snapshot`."""

    counts: ClassVar[bool] = True
    escapes_texts: ClassVar[bool] = True

    def quote_name(self, name: str) -> str:
        """A name, escaped as a text is."""
        return backslash_escaped(name, "`")

    def cast_sql(self, ref: str, kind: ColumnKind) -> str:
        """Functions that keep NULL."""
        return f"{_CASTS[kind]}({ref})"

    def cast_time(self, ref: str, kind: ColumnKind) -> str:  # noqa: ARG002 -- all are in UTC
        """Microseconds."""
        return f"toDateTime64({ref}, 6, 'UTC')"

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """Times in UTC, and what is not there NULL, as it is everywhere else; long statements."""
        wanted = {"session_timezone": "'UTC'", "join_use_nulls": 1, "group_by_use_nulls": 1}
        return tuple(f"SET {name} = {value}" for name, value in (wanted | _LONGEST).items())

    def fetch_arrow(self, connection: sa.Connection, sql: str) -> pa.Table | None:
        """What runs in this process hands over a table; a server's driver rows."""
        if self.name != _EMBEDDED:
            return None
        driver: Any = connection.connection.dbapi_connection
        try:
            return driver._conn._conn.query(sql, "ArrowTable")  # noqa: SLF001 -- its one way to a table
        except Exception as error:
            raise DatabaseError(sql, None, error) from error

    def is_of_driver(self, error: Exception) -> bool:
        """What runs in this process raises errors that its own dialect does not know."""
        return type(error).__module__.startswith(_EMBEDDED)

    def micros_sql(self, column: str) -> str:
        """Microseconds of a timestamp."""
        return f"toUnixTimestamp64Micro({column})"

    def bigint_sql(self, sql: str) -> str:
        """A plain cast looks at what lies behind a NULL, too."""
        return f"accurateCastOrNull({sql}, 'Int64')"

    def cell_sql(self, sql: str, edges: Sequence[str], first: int) -> str:
        """A binary search of its own."""
        bounds = f"[{', '.join([_LEAST, *edges])}]"
        cells = ", ".join(str(first + at) for at in range(len(edges) + 1))
        return f"transform(roundDown({sql}, {bounds}), {bounds}, [{cells}], 0)"
