"""Amazon Redshift, by its own driver. Not tested against the service."""

from typing import Any, ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.engines.readers.dbapi_connection import DbapiConnection
from monitor.sources.engines.warehouse import INSTANT, NAIVE, WarehouseEngine
from monitor.sources.sql.statements import ColumnKind, ReadSession

_TYPES = {  # numbers of types, which PostgreSQL gave them
    16: "boolean",
    20: "bigint",
    21: "smallint",
    23: "integer",
    700: "real",
    701: "double",
    1700: "numeric",
    25: "text",
    1042: "char",
    1043: "varchar",
    1082: "date",
    1114: "timestamp",
    1184: "timestamptz",
}


class RedshiftEngine(WarehouseEngine):
    """A cluster, or a workgroup without servers."""

    title: ClassVar[str] = "Redshift"
    untested: ClassVar[str] = (
        "Redshift was not tested against the service: compare a day with a count of your own"
    )
    casts: ClassVar = {
        ColumnKind.TEXT: "VARCHAR(1024)",
        ColumnKind.NUMBER: "DOUBLE PRECISION",
        ColumnKind.EPOCH: "BIGINT",
    }
    escapes_texts: ClassVar[bool] = True
    longest_name: ClassVar[int | None] = 127
    type_names: ClassVar = {
        **dict.fromkeys(("varchar", "text", "char"), "varchar"),
        **dict.fromkeys(("smallint", "integer", "bigint"), "bigint"),
        **dict.fromkeys(("real", "double"), "double"),
        "numeric": "decimal",
        "boolean": "boolean",
        "date": "date",
        "timestamp": NAIVE,
        "timestamptz": INSTANT,
    }

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """Texts with the blanks at their end, which it leaves out where it compares."""
        same = super().same_id(left, right, left_kind, right_kind)
        alike = left_kind == right_kind == "varchar"
        return f"{same} AND LENGTH({right}) = LENGTH({left})" if alike else same

    def group_key(self, ref: str, kind: str) -> str:
        """Texts with the blanks at their end."""
        return f"{ref} || '.'" if kind == "varchar" else ref

    def list_tables(self, session: ReadSession) -> list[str]:
        """Tables and views; those of other schemas than public with the schema."""
        rows = session.read_rows(
            "SELECT CASE WHEN table_schema = 'public' THEN '' ELSE table_schema || '.' END || table_name "
            "FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        return sorted(str(name) for (name,) in rows)

    def micros_sql(self, column: str) -> str:
        """A whole number; what has a zone becomes a time of the session's, UTC."""
        return f"DATEDIFF(microsecond, CAST('1970-01-01' AS TIMESTAMP), CAST({column} AS TIMESTAMP))"

    def connect(self, url: URL, limit: float) -> DbapiConnection:
        """Sign in by a password, or by a role: iam=true and what else the driver takes."""
        try:
            import redshift_connector
        except ImportError as error:
            raise SourceError(f"Redshift needs its driver: {install_command('redshift')}") from error
        given: dict[str, Any] = {
            name: {"true": True, "false": False}.get(str(value), value) for name, value in url.query.items()
        }
        wanted = {
            "host": url.host,
            "port": url.port,
            "database": url.database,
            "user": url.username,
            "password": url.password,
            "application_name": "monitor",
            "timeout": round(limit),
        }
        given |= {name: value for name, value in wanted.items() if value is not None}
        settings = f"SET statement_timeout TO {round(limit * 1_000)}", "SET timezone TO 'UTC'"
        return DbapiConnection(
            lambda: redshift_connector.connect(**given),
            settings,
            lambda code: _TYPES.get(code, f"type {code}"),
        )
