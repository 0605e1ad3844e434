"""SQLite: files, opened read-only; types are those of each value."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import adbc_driver_manager
import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.driver_failures import refused_error, unavailable_error
from monitor.sources.engines.engine import Engine
from monitor.sources.engines.readers.adbc import AdbcSession
from monitor.sources.engines.readers.sqlite_typing import time_text_sql
from monitor.sources.sql.sql_names import text_literal
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, Statement
from monitor.sources.sql.time_ranges import (
    SAMPLES,
    ComparableTime,
    Interval,
    TimeColumn,
    TimeShape,
    shape_by_texts,
    shape_epoch_times,
)
from monitor.specs.model_spec import Relation, SourceSpec
from monitor.specs.urls import sqlite_file

_BUSY_TIMEOUT_MS = 10_000
_UNREACHABLE = (5, 6, 10, 11, 14, 26)  # busy, locked, I/O, corrupt, cannot open, not a database
_DATE = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*"


class SqliteEngine(Engine):
    """A file that other processes write; a read transaction holds one state of it."""

    title: ClassVar[str] = "SQLite files"
    one_snapshot: ClassVar[bool] = True
    has_arrow: ClassVar[bool] = True
    paced: ClassVar[bool] = True
    explain: ClassVar[str] = "EXPLAIN QUERY PLAN"

    def list_tables(self, session: ReadSession) -> list[str]:
        """Names of the tables and views."""
        sql = "SELECT '' AS name UNION ALL SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        return sorted(str(row[0]) for row in session.read_rows(sql) if row[0])

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as declared; of a query none."""
        if relation.table is None:
            return dict.fromkeys(self.describe_relation(session, relation), "")
        *schema, table = relation.table.split(".")
        owner = "".join(f"{self.quote_name(part)}." for part in schema)
        rows = session.read_rows(f"PRAGMA {owner}table_xinfo({self.quote_name(table)})")
        if not rows:
            raise self.missing_table_error(session, relation.table)
        return {str(row[1]): str(row[2] or "").lower() for row in rows if row[6] != 1}

    def readable_sql(self, sql: str) -> str:
        """A value of any type as text."""
        return f"CAST({sql} AS TEXT)"

    def fetched_sql(self, statement: Statement) -> str:
        """What shall be text is cast, so that numbers read as they do elsewhere; a blob is no time."""
        selected = ", ".join(map(_fetched_output_sql, statement.outputs))
        return f"{statement.before}SELECT {selected} {statement.body}"

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By the types of some values; texts among epochs are cast, or sort behind all numbers."""
        ref = time.sql
        rows = session.read_rows(
            f"SELECT typeof({ref}) AS kind, CAST({ref} AS TEXT) AS value FROM {time_column.item} "
            f"WHERE {ref} IS NOT NULL LIMIT {SAMPLES}"
        )
        kinds = {str(row[0]) for row in rows}
        if not rows:
            return replace(time, shape=TimeShape.NOTHING)
        if time_column.unit is not None:
            if kinds == {"text"} and not any(_is_number(str(value)) for _, value in rows):
                return time  # as on other engines: parsing decides
            if "text" not in kinds:
                return replace(time, shape=TimeShape.EPOCH, odd=f"{ref} >= ''")
            return replace(time, shape=TimeShape.EPOCH, sql=f"CAST({ref} AS INTEGER)")
        if kinds <= {"integer", "real"}:
            shape_epoch_times(time_column, time)  # refuses them
        return shape_by_texts(
            time, [str(value) for kind, value in rows if kind == "text"], _no_date_condition(ref)
        )

    def range_rows_sql(self, intervals: Sequence[Interval]) -> str:
        """Intervals as rows of values."""
        return "VALUES " + ", ".join(f"({lo}, {hi})" for lo, hi in intervals)

    def range_join_sql(self, item: str, alias: str, covering: str, condition: str) -> tuple[str, str]:  # noqa: ARG002
        """CROSS JOIN holds SQLite to the order of the tables."""
        return f"r CROSS JOIN {item}", condition

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """By bytes, whatever the collation of a column; an index of that collation finds them."""
        same = f"{right} = {left}"
        return same if "int" in left_kind and "int" in right_kind else f"{same} AND {same} COLLATE BINARY"

    def group_key(self, ref: str, kind: str) -> str:  # noqa: ARG002
        """Text, by bytes."""
        return f"CAST({ref} AS TEXT) COLLATE BINARY"

    def mixes_ids(self, session: ReadSession, item: str, ref: str, kind: str) -> bool:
        """Whether values of several types are there, which differ though their texts may be equal.

        A column of a declared type holds no text that reads as one of its numbers.
        """
        kinds = (f"{ref} < ''", f"{ref} >= '' AND {ref} < x''", f"{ref} >= x''")
        asked = ", ".join(f"EXISTS (SELECT 1 FROM {item} WHERE {some})" for some in kinds)
        number, of_text, blob = map(bool, session.read_rows(f"SELECT {asked}")[0])
        return (blob and (number or of_text)) or (number and of_text and kind in ("", "blob"))

    def can_use_index(self, session: ReadSession, item: str, condition: str, *, leading: bool = True) -> bool:  # noqa: ARG002
        """Whether the plan searches, and skips no first column of an index."""
        plan = session.read_rows(f"EXPLAIN QUERY PLAN SELECT 1 FROM {item} WHERE {condition}")
        return any(str(row[3]).startswith("SEARCH") and "(ANY(" not in str(row[3]) for row in plan)

    def unindexed_sql(self, sql: str) -> str:
        """A plus keeps SQLite from an index: it has no figures to choose between two by."""
        return f"+{sql}"

    def plan_line(self, row: tuple[Any, ...]) -> str:
        """What a step of a plan does."""
        return str(row[3])

    def primary_key(self, session: ReadSession, table: str) -> tuple[str, ...]:
        """Columns of the declared key."""
        name = text_literal(table.rsplit(".", maxsplit=1)[-1])
        sql = f"SELECT name FROM pragma_table_info({name}) WHERE pk > 0 ORDER BY pk"
        return tuple(str(row[0]) for row in session.read_rows(sql))

    def kind_of_table(self, session: ReadSession, table: str) -> str:
        """view, or table."""
        name = text_literal(table.rsplit(".", maxsplit=1)[-1])
        sql = f"SELECT count(*) AS views FROM sqlite_master WHERE type = 'view' AND name = {name}"
        return "view" if session.read_rows(sql)[0][0] else "table"

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """A read transaction from the first SELECT on; the file is opened read-only."""
        return ("BEGIN",)

    def database_file(self, url: URL) -> Path | None:
        """The file, whole."""
        if url.database in (None, "", ":memory:"):
            return None
        return sqlite_file(str(url.database)).resolve()

    def why_no_source(self, url: URL) -> str | None:
        """A database in memory has no log."""
        if self.database_file(url) is not None:
            return None
        return "a source on SQLite is a file, as in sqlite:///predictions.db"

    def make_sqlalchemy_engine(self, address: DatabaseAddress, connections: int, limit: float) -> sa.Engine:  # noqa: ARG002
        """A connection a session: nothing is kept open."""
        file = f"file:{quote(str(_database_file(address)))}"
        url = sa.URL.create(self.name, database=file, query={"mode": "ro", "uri": "true"})
        timeout = {"timeout": _BUSY_TIMEOUT_MS / 1_000}
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=timeout)
        sa.event.listen(engine, "connect", _decode_anything)
        return engine

    def make_reader(self, spec: SourceSpec, address: DatabaseAddress) -> "SqliteReader":
        """Rows through ADBC."""
        return SqliteReader(spec, address)

    def trouble_of(self, error: DBAPIError) -> DatabaseTrouble | None:
        """By SQLite's own code."""
        code = getattr(error.orig, "sqlite_errorcode", None)
        if code is None:
            return super().trouble_of(error)
        return DatabaseTrouble.NO_ANSWER if code & 0xFF in _UNREACHABLE else None


class SqliteReader:
    """A SQLite file, opened anew and read-only for every session."""

    def __init__(self, spec: SourceSpec, address: DatabaseAddress) -> None:
        self.engine: Engine = address.engine
        self._file, self._address, self._batch_rows = _database_file(address), address, spec.batch_rows

    @contextmanager
    def open_session(self) -> Iterator[AdbcSession]:
        """Open the file; close it in any case."""
        if not self._file.is_file():
            raise SourceUnavailable(f"{self._address.shown}: there is no file {self._file}")
        import adbc_driver_sqlite.dbapi  # a second, where pandas is installed: not before it is needed

        try:
            uri = f"file:{quote(str(self._file))}?mode=ro"
            connection = adbc_driver_sqlite.dbapi.connect(uri, autocommit=True)
        except adbc_driver_manager.Error as error:
            raise unavailable_error(self._address, error) from error
        with connection:
            session = AdbcSession(connection, self._batch_rows, _batch_options, by_value=True)
            try:
                session.read_rows(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
                session.run_command("BEGIN")
                yield session
                session.run_command("COMMIT")
            except adbc_driver_manager.Error as error:
                raise self._classify_error(session, error) from error

    def close(self) -> None:
        """Nothing is kept open."""

    def _classify_error(self, session: AdbcSession, error: adbc_driver_manager.Error) -> SourceError:
        """Locked, no database, or a statement that it refuses: asked of the file, not of the message."""
        with suppress(adbc_driver_manager.Error):
            session.run_command("ROLLBACK")
        try:
            session.read_rows("PRAGMA busy_timeout = 0")
            session.read_rows("SELECT count(*) AS tables FROM sqlite_master")
        except adbc_driver_manager.Error as again:
            return unavailable_error(self._address, again)
        return refused_error(self._address, error)


def _fetched_output_sql(output: OutputColumn) -> str:
    match output.kind:
        case ColumnKind.TEXT:
            return f"CAST({output.sql} AS TEXT)"
        case ColumnKind.MOMENT | ColumnKind.EPOCH:
            return f"CASE WHEN {output.sql} < '' THEN {output.sql} ELSE {time_text_sql(output.sql)} END"
        case _:
            return output.sql


def _batch_options(sql: str, rows: int) -> dict[str, str]:  # noqa: ARG001 -- PostgreSQL's depend on it
    return {"adbc.sqlite.query.batch_rows": str(rows)}


def _database_file(address: DatabaseAddress) -> Path:
    assert address.file is not None  # see `why_no_source`
    return address.file


def _decode_anything(connection: Any, _record: object) -> None:
    """SQLite does not check that text is UTF-8: what is not stays bytes."""

    def decoded(raw: bytes) -> str | bytes:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw

    connection.text_factory = decoded


def _no_date_condition(ref: str) -> str:
    """Condition of what does not begin as a time does: a blob neither, whatever its bytes say."""
    return f"(typeof({ref}) = 'blob' OR {ref} NOT GLOB {text_literal(_DATE)})"


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
