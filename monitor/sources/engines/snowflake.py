"""Snowflake, by its ADBC driver.

What is written in small letters is a name that nobody quoted; one between double quotes is what they hold.
"""

import re
from pathlib import Path
from typing import ClassVar

from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.engines.any_adbc import arrow_type_name
from monitor.sources.engines.readers.adbc_connection import AdbcConnection
from monitor.sources.engines.warehouse import WarehouseEngine
from monitor.sources.sql.statements import ColumnKind, ReadSession
from monitor.specs.deadlines import CONNECTED
from monitor.specs.model_spec import Relation

_DRIVER = "adbc.snowflake.sql."
_CLIENT = f"{_DRIVER}client_option."
_UNQUOTED = re.compile(r"[a-z_][a-z0-9_$]*")
_NORMAL = re.compile(r"[A-Z_][A-Z0-9_$]*")  # as Snowflake keeps what nobody quoted
_QUOTED = re.compile(r'"(?:[^"]|"")+"')  # a name as its own SQL quotes it
_DOT = re.compile(r'\.(?=(?:[^"]*"[^"]*")*[^"]*$)')  # none between quotes
_SIGN_IN = (
    "Snowflake ends sign-in by a password alone: the url names behind its ? a private_key (of a key pair, as "
    "${file:/run/secrets/key.p8}), a token (a programmatic access token), or an oauth_token"
)
# The driver would fetch ten parts of a result at once, and keep two hundred batches.
_STATEMENT = {"adbc.rpc.result_queue_size": "4", "adbc.snowflake.rpc.prefetch_concurrency": "2"}
_OPTIONS = {  # of the URL, as the driver calls them
    "warehouse": f"{_DRIVER}warehouse",
    "role": f"{_DRIVER}role",
    "region": f"{_DRIVER}region",
    "host": f"{_DRIVER}uri.host",
    "port": f"{_DRIVER}uri.port",
    "protocol": f"{_DRIVER}uri.protocol",
}


class SnowflakeEngine(WarehouseEngine):
    """A warehouse of Snowflake. Statements of a session see the moment at which each of them runs."""

    title: ClassVar[str] = "Snowflake"
    untested: ClassVar[str] = (
        "Snowflake was tested by an emulator alone: compare a day with a count of your own"
    )
    explain: ClassVar[str] = "EXPLAIN USING TEXT"
    escapes_texts: ClassVar[bool] = True

    def common_type(self, kind: str) -> str:
        """Its driver tells types as Arrow has them."""
        return arrow_type_name(kind)

    def quote_name(self, name: str) -> str:
        """A name; one in small letters is that which Snowflake keeps in capitals, one in quotes is quoted."""
        if _QUOTED.fullmatch(name):
            return name
        return super().quote_name(name.upper() if _UNQUOTED.fullmatch(name) else name)

    def parts_of(self, name: str) -> list[str]:
        """Database, schema and table; a dot between double quotes is a part of a name."""
        return _DOT.split(name)

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types by names as they are configured."""
        return {as_written(name): kind for name, kind in super().types_of(session, relation).items()}

    def cast_time(self, ref: str, kind: ColumnKind) -> str:  # noqa: ARG002 -- of every kind it is an instant
        """Microseconds: a time of its own is two numbers, of which a driver may miss that they are NULL."""
        return f"DATE_PART(EPOCH_MICROSECOND, {ref})"

    def micros_sql(self, column: str) -> str:
        """They are microseconds already."""
        return column

    def list_tables(self, session: ReadSession) -> list[str]:
        """Tables and views of the database's schemas, those of other schemas with the schema."""
        rows = session.read_rows(
            "SELECT CASE WHEN table_schema <> CURRENT_SCHEMA() THEN table_schema END AS other_schema, "
            "table_name FROM information_schema.tables WHERE table_schema <> 'INFORMATION_SCHEMA'"
        )
        return sorted(
            ".".join(as_written(str(part), marks='."') for part in row if part is not None) for row in rows
        )

    def connect(self, url: URL, limit: float) -> AdbcConnection:
        """Sign in; sessions are in UTC, and the service ends what takes too long."""
        try:
            import adbc_driver_snowflake
        except ImportError as error:
            raise SourceError(f"Snowflake needs its driver: {install_command('snowflake')}") from error
        seconds = str(round(limit))
        database, *schema = (*self.database_of(url), "")
        options = {
            "username": url.username or "",
            f"{_DRIVER}account": url.host or "",
            f"{_DRIVER}db": database.upper() if _UNQUOTED.fullmatch(database) else database,
            f"{_DRIVER}schema": "".join(
                part.upper() if _UNQUOTED.fullmatch(part) else part for part in schema
            ),
            f"{_CLIENT}app_name": "monitor",
            f"{_CLIENT}login_timeout": f"{CONNECTED:.0f}s",
            f"{_CLIENT}request_timeout": f"{seconds}s",
            f"{_CLIENT}disable_telemetry": "true",
            f"{_CLIENT}use_high_precision": "false",
            f"{_CLIENT}max_timestamp_precision": "microseconds",
            "TIMEZONE": "UTC",
            "TIMESTAMP_TYPE_MAPPING": "TIMESTAMP_NTZ",
            "STATEMENT_TIMEOUT_IN_SECONDS": seconds,
            "QUERY_TAG": "monitor",
        }
        query = {name: str(value) for name, value in url.query.items()}
        options |= {_OPTIONS[name]: value for name, value in query.items() if name in _OPTIONS}
        options |= _sign_in_options(url, query)
        library = Path(adbc_driver_snowflake.__file__).with_name("libadbc_driver_snowflake.so")
        return AdbcConnection(
            str(library),
            {name: value for name, value in options.items() if value},
            _STATEMENT,
        )


def _sign_in_options(url: URL, query: dict[str, str]) -> dict[str, str]:
    """How to sign in: by a key pair, a programmatic access token, or OAuth."""
    if url.password is not None:
        raise SourceError(_SIGN_IN)
    if token := query.get("token"):
        return {f"{_DRIVER}auth_type": "auth_pat", f"{_CLIENT}auth_token": token}
    if token := query.get("oauth_token"):
        return {f"{_DRIVER}auth_type": "auth_oauth", f"{_CLIENT}auth_token": token}
    if key := query.get("private_key"):
        return {
            f"{_DRIVER}auth_type": "auth_jwt",
            f"{_CLIENT}jwt_private_key_pkcs8_value": key,
            f"{_CLIENT}jwt_private_key_pkcs8_password": query.get("private_key_passphrase", ""),
        }
    raise SourceError(_SIGN_IN)


def as_written(name: str, *, marks: str = "") -> str:
    """A name as it is configured; in quotes if it holds a mark that would cut it."""
    if _NORMAL.fullmatch(name):
        return name.lower()
    # Others would be taken for a name that nobody quoted, or for what is between their quotes.
    mistaken = _UNQUOTED.fullmatch(name) or _QUOTED.fullmatch(name) or any(mark in name for mark in marks)
    return '"' + name.replace('"', '""') + '"' if mistaken else name
