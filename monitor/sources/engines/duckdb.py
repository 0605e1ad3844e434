"""DuckDB: a file that this process reads; while it does, no other can write it."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import URL

from monitor.sources.engines.columnar import ColumnarEngine, same_id_by_try


class DuckdbEngine(ColumnarEngine):
    """A file; the transaction that SQLAlchemy begins is one snapshot."""

    one_snapshot: ClassVar[bool] = True
    counts: ClassVar[bool] = True

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """Texts by bytes, whatever the collation of their columns."""
        if left_kind == right_kind == "varchar":
            return f"{right} COLLATE C = {left} COLLATE C"
        return same_id_by_try(left, right, left_kind, right_kind)

    def group_key(self, ref: str, kind: str) -> str:
        """Texts by bytes."""
        return f"{ref} COLLATE C" if kind == "varchar" else ref

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """Times in UTC; it has no limit of time."""
        return ("SET TimeZone = 'UTC'",)

    def driver_arguments(self, url: URL, limit: float) -> Mapping[str, Any]:  # noqa: ARG002
        """Nothing is written."""
        return {"read_only": True}

    def fetch_arrow(self, connection: sa.Connection, sql: str) -> pa.Table:
        """The driver's own way."""
        result = connection.exec_driver_sql(sql, execution_options={"no_parameters": True})
        cursor: Any = result.cursor
        return cursor.to_arrow_table()

    def micros_sql(self, column: str) -> str:
        """Microseconds of a timestamp."""
        return f"epoch_us({column})"
