"""Rows of files: each session is a connection to a DuckDB in memory, and sees tables that Arrow reads."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from monitor.core.clock import SECOND, format_duration
from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable, without_quotes
from monitor.core.secrets import hide_secrets
from monitor.core.version import install_command
from monitor.records.winning_rows import Batches
from monitor.sources.engines import columnar
from monitor.sources.engines.engine import DriverText, Engine
from monitor.sources.engines.lake import (
    FILES_OF,
    LISTING,
    TABLE_OF,
    FilesSince,
    parse_files_since,
    parse_narrowed_name,
)
from monitor.sources.engines.readers.file_bounds import BoundedFiles
from monitor.sources.engines.readers.lake_answers import place_error
from monitor.sources.engines.readers.lake_formats import ChangedFiles, LakeTable
from monitor.sources.engines.readers.lake_place import LakePlace, arrow_listing, open_place
from monitor.sources.engines.schemes import engine_of_lake
from monitor.sources.sql.statements import Statement
from monitor.sources.sql.time_ranges import TimesOfRows
from monitor.specs.deadlines import answered_within
from monitor.specs.model_spec import SourceSpec
from monitor.specs.urls import fill_url

# Nothing is loaded, fetched or written by DuckDB itself: Arrow alone reads files.
_CLOSED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
}
_NAMED = re.compile(r'\b(?:FROM|JOIN)\s+("(?:[^"]|"")+"|[^\s()",;]+)', re.IGNORECASE)


@dataclass(slots=True)
class LakeSession:
    """Tables of a place, each opened when a statement names it first."""

    connection: Any
    place: LakePlace
    tables: dict[str, LakeTable]  # that sessions opened before: what is known of their files is kept
    batch_rows: int
    _opened: set[str] = field(default_factory=set)
    _files: dict[str, BoundedFiles] = field(default_factory=dict)

    def read_table(self, statement: Statement) -> pa.Table:
        """All rows of a statement."""
        return columnar.cast_columns(statement, self._run_sql(statement.sql_text()).to_arrow_table())

    def read_batches(self, statement: Statement) -> Batches:
        """Rows of a statement, about `batch_rows` at a time, the first batch empty."""
        reader = self._run_sql(statement.sql_text()).to_arrow_reader(self.batch_rows)
        yield columnar.cast_columns(statement, reader.schema.empty_table())
        for batch in reader:
            yield columnar.cast_columns(statement, pa.Table.from_batches([batch]))

    def read_rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a small query."""
        if sql.startswith(FILES_OF):
            return [(line,) for line in self._describe_files(sql)]
        if sql.startswith(TABLE_OF):
            return self._describe_table(sql.removeprefix(TABLE_OF).strip())
        rows: list[tuple[Any, ...]] = self._run_sql(sql).fetchall()
        return rows

    def describe_query(self, sql: str) -> dict[str, object]:
        """Names of a query's columns and their types."""
        return {str(name): str(kind) for name, kind, *_ in self._run_sql(f"DESCRIBE {sql}").fetchall()}

    def run_command(self, sql: str) -> None:
        """Run a statement without rows."""
        self.connection.execute(sql)

    def _run_sql(self, sql: str) -> Any:
        for name in _named_tables(sql):
            if name not in self._opened:
                self._open_table(name)
        return self.connection.execute(sql)

    def _describe_files(self, sql: str) -> Iterator[str]:
        """How many files and bytes of each table a statement may read."""
        for name in _named_tables(sql):
            table, times = parse_narrowed_name(name)
            found = self._find_files(table)
            if found is not None:
                counts = [_measure_files(found, wanted) for wanted in (times, None)]
                (files, size), (all_files, all_size) = counts
                yield (
                    f'table "{table}": {files:,} of {all_files:,} files, '
                    f"{size / 1e6:,.1f} of {all_size / 1e6:,.1f} MB, of these the columns that are named"
                )

    def _describe_table(self, name: str) -> list[tuple[Any, ...]]:
        """Format, number of files and partitions of a table; no row: there is none."""
        table, times = parse_narrowed_name(name)
        files = self._find_files(table)
        if files is None:
            return []
        found = self.tables[table]
        return [(found.title, len(files.choose_files(times)), json.dumps(found.partitions()))]

    def _open_table(self, name: str) -> None:
        table, times = parse_narrowed_name(name)
        if name.startswith(LISTING):
            names = self.place.list_tables(name.removeprefix(LISTING))
            self.connection.register(name, arrow_listing(names))
        elif (files := self._find_files(table)) is not None:
            self.connection.register(name, files.dataset(times))
        self._opened.add(name)

    def position_of(self, name: str) -> str:
        """Where a table stands now; empty: there is none."""
        return "" if self._find_files(name) is None else self.tables[name].position()

    def _find_files(self, name: str) -> BoundedFiles | None:
        """Files of a table as the session saw them first."""
        if (since := parse_files_since(name)) is not None:
            named, which, position = since
            changed = self.tables[named].find_changed_files(position)
            return changed.gone if which is FilesSince.GONE else changed.came
        if name not in self._files:
            table = self.tables.get(name) or self.place.find_table(name)
            if table is None:
                return None
            self.tables[name], self._files[name] = table, table.open_files()
        return self._files[name]


class LakeReader:
    """A place of files by its URL."""

    def __init__(self, spec: SourceSpec) -> None:
        self.engine: Engine = engine_of_lake()
        self._written, self._batch_rows = (spec.url, spec.catalog or ""), spec.batch_rows
        self._shown = spec.url.partition("?")[0].rstrip("/")
        self._timeout = spec.statement_timeout
        self._lock = threading.Lock()
        self._opened: tuple[tuple[str, str], LakePlace, dict[str, LakeTable]] | None = None
        # In memory, and empty: to make one takes as long as reading 10,000 rows. Tables are a session's own.
        self._database = self._of_duckdb().connect(config=_CLOSED)

    @contextmanager
    def open_session(self) -> Iterator[LakeSession]:
        """A connection to a database in memory, and a clock that ends what takes too long.

        Raises
        ------
        SourceUnavailable
            if the files cannot be reached.
        SourceError
            if a statement is refused, or a table's format is not read.
        """
        duckdb = self._of_duckdb()
        late = threading.Event()
        with self._database.cursor() as connection:
            clock = threading.Timer(self._timeout / SECOND, _interrupt, (connection, late))
            clock.daemon = True
            clock.start()
            try:
                connection.execute("SET TimeZone = 'UTC'")
                place, tables = self._current_place()
                if place.probe is not None:
                    place.probe.require_answer()
                yield LakeSession(connection, place, tables, self._batch_rows)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self._translate_error(error, late=late.is_set()) from error
            finally:
                clock.cancel()

    def position_of(self, name: str) -> str:
        """Where a table stands now."""
        with self.open_session() as session:
            return session.position_of(name)

    def find_changed_files(self, name: str, position: str) -> ChangedFiles:
        """What became of the files of a table since a position: see `LakeTable`."""
        with self.open_session() as session:
            session.position_of(name)  # opens it, should the place have been opened anew meanwhile
            return session.tables[name].find_changed_files(position)

    def close(self) -> None:
        """End connections to a catalogue; no file is kept open."""
        self._database.close()
        with self._lock:
            if self._opened is not None and (catalog := self._opened[1].catalog) is not None:
                catalog.close()
            self._opened = None

    def _current_place(self) -> tuple[LakePlace, dict[str, LakeTable]]:
        try:
            url, catalog = map(fill_url, self._written)
        except ValueError as error:
            raise SourceUnavailable(f"{self._shown}: {error}") from None
        with self._lock:
            if self._opened is None or self._opened[0] != (url, catalog):
                place = open_place(url, answered_within(self._timeout), catalog or None)
                self._opened = (url, catalog), place, {}
            return self._opened[1:]

    def _of_duckdb(self) -> Any:
        try:
            import duckdb
        except ImportError as error:
            raise SourceError(
                f"{self._shown}: files are read by DuckDB: {install_command('files')}"
            ) from error
        return duckdb

    def _translate_error(self, error: Exception, *, late: bool) -> SourceError:
        """What an error of Arrow or DuckDB says of the files or of the statement."""
        said = str(error)
        if isinstance(error, OSError) or _OF_ARROW.text in said:
            opened = self._opened
            return place_error(self._shown, said, opened[1].endpoint if opened else "")
        reason = next(iter(hide_secrets(said).strip().splitlines()), type(error).__name__)
        if late:
            return SourceUnavailable(
                f"{self._shown} ended a query; the source's statement_timeout is "
                f"{format_duration(self._timeout)}: allow more",
                DatabaseTrouble.TIMEOUT,
            )
        part = next(iter(getattr(error, "__notes__", ())), "a query")
        return SourceError(f"{self._shown} refuses {part}: {without_quotes(reason)}")


_OF_ARROW = DriverText(
    "duckdb", "arrow_scan: get_next failed(): IOError", "it has no code for what Arrow says"
)


def _interrupt(connection: Any, late: threading.Event) -> None:
    late.set()
    connection.interrupt()


def _named_tables(sql: str) -> Iterator[str]:
    """Names that follow FROM and JOIN."""
    for match in _NAMED.finditer(sql):
        yield match[1][1:-1].replace('""', '"') if match[1].startswith('"') else match[1]


def _measure_files(files: BoundedFiles, times: TimesOfRows | None) -> tuple[int, int]:
    """Files that may hold rows of some times, and their bytes."""
    found = files.choose_files(times)
    held = [one.buffer.size for one in found if one.buffer is not None]
    infos = files.place.get_file_info([one.path for one in found if one.buffer is None])
    return len(found), sum(held) + sum(info.size or 0 for info in infos)
