"""Databases that the tests of sources fill and read."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import make_url

from monitor.core.errors import DatabaseTrouble, SourceUnavailable
from monitor.records.winning_rows import Batches
from monitor.sources import SqlSource, open_source
from monitor.sources.engines.engine import Engine, RowReader
from monitor.sources.sql.statements import ReadSession, Statement, concat_mixed_tables
from monitor.specs.model_spec import SourceSpec

_OF_MARIADB = {"text": "varchar(191)", "timestamp": "datetime(6)"}  # which an index and a microsecond fit


def whole(batches: Batches) -> pa.Table:
    """All rows of some batches."""
    return concat_mixed_tables(list(batches))


@dataclass
class Database:
    """A database that a test fills, and sources that read it."""

    url: str
    reader: str
    opened: list[SqlSource] = field(default_factory=list)

    @property
    def engine(self) -> str:
        """sqlite, postgresql or mariadb."""
        return make_url(self.url).get_backend_name()

    @property
    def postgres(self) -> bool:
        return self.engine == "postgresql"

    def run(self, *statements: str) -> None:
        """Run statements."""
        self._fill(statements, "", ())

    def create(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]] = ()) -> None:
        """Create a table (its name as SQL) and fill it."""
        kinds = _OF_MARIADB if self.engine == "mariadb" else {}
        typed = ", ".join(f'"{name}" {kinds.get(kind, kind)}' for name, kind in columns.items())
        self._fill([f"CREATE TABLE {table} ({typed})"], table, rows)

    def _fill(self, statements: Sequence[str], table: str, rows: Sequence[Sequence[Any]]) -> None:
        fill = {"sqlite": _fill_sqlite, "postgresql": _fill_postgresql, "mariadb": _fill_mariadb}
        fill[self.engine](self.url, statements, table, rows)

    def source(self, *, batch_rows: int = 20_000) -> SqlSource:
        """A source on this database, closed at the end of the test."""
        spec = SourceSpec(name="source", url=self.url, batch_rows=batch_rows)
        self.opened.append(open_source(spec, reader=self.reader))
        return self.opened[-1]


def _fill_sqlite(url: str, statements: Sequence[str], table: str, rows: Sequence[Sequence[Any]]) -> None:
    file = sqlite3.connect(url.removeprefix("sqlite:///"))
    for statement in statements:
        file.execute(statement)
    if rows:
        holes = ", ".join("?" for _ in rows[0])
        file.executemany(f"INSERT INTO {table} VALUES ({holes})", rows)
    file.commit()
    file.close()


def _fill_postgresql(url: str, statements: Sequence[str], table: str, rows: Sequence[Sequence[Any]]) -> None:
    with psycopg.connect(url.replace("+psycopg", "")) as server, server.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.encode())
        if rows:
            with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)


def _fill_mariadb(url: str, statements: Sequence[str], table: str, rows: Sequence[Sequence[Any]]) -> None:
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as server:
        server.exec_driver_sql("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
        for statement in statements:
            server.exec_driver_sql(statement.replace("%", "%%"))
        if rows:
            holes = ", ".join("%s" for _ in rows[0])
            server.exec_driver_sql(
                f"INSERT INTO {table.replace('%', '%%')} VALUES ({holes})", [tuple(row) for row in rows]
            )


@dataclass
class WatchedReader:
    """A reader that keeps its SQL; a test may step in before each statement that reads rows."""

    reader: RowReader
    before: Callable[[int], None] = lambda _read: None  # is given how many such statements came before
    seen: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)  # those of `seen` that read rows

    @property
    def engine(self) -> Engine:
        return self.reader.engine

    @contextmanager
    def open_session(self) -> Iterator[ReadSession]:
        with self.reader.open_session() as session:
            yield _WatchedSession(session, self)

    def close(self) -> None:
        self.reader.close()


@dataclass
class _WatchedSession:
    session: ReadSession
    watched: WatchedReader

    def read_table(self, statement: Statement) -> pa.Table:
        self._note(statement)
        return self.session.read_table(statement)

    def read_batches(self, statement: Statement) -> Batches:
        self._note(statement)
        return self.session.read_batches(statement)

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        self.watched.seen.append(sql)
        return self.session.read_rows(sql)

    def describe_query(self, sql: str) -> dict[str, object]:
        self.watched.seen.append(sql)
        return self.session.describe_query(sql)

    def run_command(self, sql: str) -> None:
        self.session.run_command(sql)

    def _note(self, statement: Statement) -> None:
        self.watched.seen.append(statement.sql_text())
        self.watched.read.append(statement.sql_text())
        self.watched.before(len(self.watched.read) - 1)


def recorded(database: Database) -> tuple[SqlSource, list[str]]:
    """A source that fetches rows, and the list to which it adds every SELECT that it runs."""
    source = open_source(SourceSpec(name="source", url=database.url), reader="fetchmany")
    reader = WatchedReader(source.reader)
    return SqlSource(reader), reader.seen


def ended_by(troubles: list[DatabaseTrouble | None]) -> Callable[[int], None]:
    """Ends a statement by the first of these that is left, if that is any, and takes it off."""

    def end(_read: int) -> None:
        trouble = troubles.pop(0) if troubles else None
        if trouble is not None:
            raise SourceUnavailable("ended for the sake of others", trouble)

    return end
