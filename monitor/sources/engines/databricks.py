"""Databricks SQL, by its own client. Not tested against the service."""

from typing import Any, ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.engines.readers.dbapi_connection import DbapiConnection
from monitor.sources.engines.warehouse import INSTANT, NAIVE, WarehouseEngine
from monitor.sources.sql.statements import ColumnKind, ReadSession

_SIGN_IN = "a url of Databricks is databricks://token:${TOKEN}@HOST?http_path=/sql/1.0/warehouses/ID&catalog=ml&schema=serving"


class DatabricksEngine(WarehouseEngine):
    """A SQL warehouse."""

    title: ClassVar[str] = "Databricks"
    untested: ClassVar[str] = (
        "Databricks SQL was not tested against the service: compare a day with a count of your own"
    )
    casts: ClassVar = {ColumnKind.TEXT: "STRING", ColumnKind.NUMBER: "DOUBLE", ColumnKind.EPOCH: "BIGINT"}
    literals: ClassVar = {NAIVE: "TIMESTAMP_NTZ"}
    escapes_texts: ClassVar[bool] = True
    type_names: ClassVar = {
        **dict.fromkeys(("string", "varchar", "char"), "varchar"),
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "bigint"),
        **dict.fromkeys(("float", "double"), "double"),
        "decimal": "decimal",
        "boolean": "boolean",
        "date": "date",
        "timestamp": INSTANT,
        "timestamp_ntz": NAIVE,
    }

    def list_tables(self, session: ReadSession) -> list[str]:
        """Tables and views of the schema."""
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        return sorted(str(row[0]) for row in session.read_rows(sql))

    def micros_sql(self, column: str) -> str:
        """What has no zone is of the session's, UTC."""
        return f"unix_micros(CAST({column} AS TIMESTAMP))"

    def connect(self, url: URL, limit: float) -> DbapiConnection:
        """Sign in by a token."""
        try:
            from databricks import sql
        except ImportError as error:
            raise SourceError(f"Databricks needs its client: {install_command('databricks')}") from error
        query = {name: str(value) for name, value in url.query.items()}
        if not (url.host and url.password and "http_path" in query):
            raise SourceError(_SIGN_IN)

        def connect() -> Any:
            return sql.connect(
                server_hostname=url.host,
                http_path=query["http_path"],
                access_token=url.password,
                catalog=query.get("catalog"),
                schema=query.get("schema"),
                session_configuration={"timezone": "UTC", "STATEMENT_TIMEOUT": str(round(limit))},
                user_agent_entry="monitor",
                enable_telemetry=False,
                _socket_timeout=limit,
            )

        return DbapiConnection(connect)
