"""An engine that monitor does not know: SQLite as a stranger would write it, with the URL scheme "kept".

It is all that `monitor` needs to read another database: one class on the Protocol, and one row of the table.
"""

from pathlib import Path
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError

from monitor.core.errors import DatabaseTrouble
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.engines.engine import Engine
from monitor.sources.engines.schemes import UrlScheme
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, WantedKind
from monitor.specs.model_spec import Relation

_UNREACHABLE = (5, 6, 10, 11, 14, 26)  # busy, locked, I/O, corrupt, cannot open, not a database


class KeptDialect(SQLiteDialect_pysqlite):
    """What SQLAlchemy must know of it: most databases bring theirs with their driver."""

    name = "kept"
    supports_statement_cache = True


registry.register("kept", __name__, "KeptDialect")


class Kept(Engine):
    """A file of declared types; a transaction is one snapshot."""

    one_snapshot: ClassVar[bool] = True
    explain: ClassVar[str] = "EXPLAIN QUERY PLAN"

    def list_tables(self, session: ReadSession) -> list[str]:
        """Names of the tables and views."""
        rows = session.read_rows("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        return sorted(str(row[0]) for row in rows)

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as declared; of a query none."""
        if relation.table is None:
            return super().types_of(session, relation)
        rows = session.read_rows(f"PRAGMA table_info({self.quote_name(relation.table)})")
        if not rows:
            raise self.missing_table_error(session, relation.table)
        return {str(row[1]): str(row[2]).lower() for row in rows}

    def output_column(
        self, want: WantedKind, name: str, ref: str, kind: str, unit: str | None = None
    ) -> OutputColumn:
        """Texts are cast: an id that is a number reads as it does elsewhere."""
        if want is WantedKind.TEXT:
            return OutputColumn(name, f"CAST({ref} AS TEXT)", ColumnKind.TEXT)
        return super().output_column(want, name, ref, kind, unit)

    def can_use_index(self, session: ReadSession, item: str, condition: str, *, leading: bool = True) -> bool:  # noqa: ARG002
        """Whether the plan searches."""
        plan = session.read_rows(f"{self.explain} SELECT 1 FROM {item} WHERE {condition}")
        return any(str(row[3]).startswith("SEARCH") for row in plan)

    def plan_line(self, row: tuple[Any, ...]) -> str:
        """What a step of a plan does."""
        return str(row[3])

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """A read transaction."""
        return "PRAGMA query_only = 1", "BEGIN"

    def database_file(self, url: URL) -> Path | None:
        """The file, whole."""
        return Path(str(url.database)).resolve()

    def make_sqlalchemy_engine(self, address: DatabaseAddress, connections: int, limit: float) -> sa.Engine:  # noqa: ARG002
        """A connection a session."""
        return sa.create_engine(address.url, poolclass=sa.NullPool)

    def trouble_of(self, error: DBAPIError) -> DatabaseTrouble | None:
        """By the driver's code."""
        code = getattr(error.orig, "sqlite_errorcode", 0)
        return DatabaseTrouble.NO_ANSWER if code & 0xFF in _UNREACHABLE else None


ROW = {"kept": UrlScheme(Kept)}
