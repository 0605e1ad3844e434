"""Trino, and what speaks as it does, by its own client. Not tested against a server."""

from typing import Any, ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.engines.readers.dbapi_connection import DbapiConnection
from monitor.sources.engines.warehouse import INSTANT, NAIVE, WarehouseEngine
from monitor.sources.sql.statements import ReadSession


class TrinoEngine(WarehouseEngine):
    """A cluster, a catalogue and a schema."""

    title: ClassVar[str] = "Trino"
    untested: ClassVar[str] = "Trino was not tested against a server: compare a day with a count of your own"
    type_names: ClassVar = {
        **dict.fromkeys(("varchar", "char", "uuid"), "varchar"),
        **dict.fromkeys(("tinyint", "smallint", "integer", "bigint"), "bigint"),
        **dict.fromkeys(("real", "double"), "double"),
        "decimal": "decimal",
        "boolean": "boolean",
        "date": "date",
        "timestamp": NAIVE,
        "timestamp with time zone": INSTANT,
    }

    def list_tables(self, session: ReadSession) -> list[str]:
        """Tables and views of the schema."""
        return sorted(str(row[0]) for row in session.read_rows("SHOW TABLES"))

    def micros_sql(self, column: str) -> str:
        """Seconds, and what is left: a double holds it to half a microsecond until 2106.

        A day has no seconds to be cut at, and one of the session, UTC, is an instant as all others are.
        """
        instant = f"CAST({column} AS TIMESTAMP(6) WITH TIME ZONE)"
        seconds = f"to_unixtime(date_trunc('second', {instant}))"
        rest = f"CAST(round((to_unixtime({instant}) - {seconds}) * 1e6) AS BIGINT)"
        return f"CAST({seconds} AS BIGINT) * 1000000 + {rest}"

    def connect(self, url: URL, limit: float) -> DbapiConnection:
        """Sign in by a password or a token (?token=…), over HTTPS unless http_scheme says otherwise."""
        try:
            from trino import auth, dbapi
        except ImportError as error:
            raise SourceError(f"Trino needs its client: {install_command('trino')}") from error
        query = {name: str(value) for name, value in url.query.items()}
        catalog, schema, *_ = (*self.database_of(url), "", "")
        secure = query.get("http_scheme", "https") == "https"
        if url.password and not secure:
            raise SourceError("Trino takes no password over http: leave http_scheme away")
        signed: Any = auth.BasicAuthentication(url.username, url.password) if url.password else None
        if token := query.get("token"):
            signed = auth.JWTAuthentication(token)

        def connect() -> Any:
            return dbapi.connect(
                host=url.host or "localhost",
                port=url.port or (443 if secure else 8080),
                user=url.username or "monitor",
                catalog=catalog or None,
                schema=schema or None,
                http_scheme="https" if secure else "http",
                auth=signed,
                source="monitor",
                timezone="UTC",
                request_timeout=limit,
                max_attempts=2,
                session_properties={"query_max_run_time": f"{round(limit)}s"},
            )

        return DbapiConnection(connect)
