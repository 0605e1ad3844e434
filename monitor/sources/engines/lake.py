"""Files of a lake, by SQL: DuckDB joins and filters what Arrow reads of Parquet files and Delta tables."""

import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from enum import StrEnum
from typing import Any, ClassVar

from monitor.core.errors import SourceError
from monitor.sources.engines.columnar import ColumnarEngine, same_id_by_try
from monitor.sources.sql.sql_names import name_nearest
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql.table_files import TableFiles
from monitor.sources.sql.time_ranges import TimesOfRows
from monitor.specs.model_spec import Relation

LISTING = "tables of the place"  # a view of every session, with the column name
FILES_OF = "FILES OF"  # what a statement begins with whose files are wanted, not its rows
TABLE_OF = "TABLE OF"  # what stands before a name of which format and files are wanted; it may be narrowed
_GROUPED = 1_000_000  # rows of a piece
_NARROWED = "?rows="  # what follows it in a name says which rows are wanted


class FilesSince(StrEnum):
    """Files of a table that went since a position, and those that came."""

    GONE = "?gone="
    CAME = "?came="


class LakeEngine(ColumnarEngine):
    """Files. A session opens a table once, so its statements read the same files."""

    title: ClassVar[str] = "files"
    one_snapshot: ClassVar[bool] = True
    has_indexes: ClassVar[bool] = False
    explain: ClassVar[str] = FILES_OF

    def quote_table(self, name: str) -> str:
        """A path below the source's place is one name."""
        return self.quote_name(name)

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """Texts by bytes."""
        return same_id_by_try(left, right, left_kind, right_kind)

    def narrowed_sql(self, relation: Relation, alias: str, times: TimesOfRows) -> str | None:
        """The files that hold such rows, as a table whose name says what is wanted of it.

        DuckDB hands no condition with OR or IS NULL to Arrow, which would then read every file.
        """
        if relation.table is None:
            return None
        return self.relation_sql(replace(relation, table=narrowed_name(relation.table, times)), alias)

    def split_groups(self, session: ReadSession, rows: str, key: Sequence[str]) -> Sequence[str]:
        """By a hash: DuckDB groups in this process, whose memory ten million ids would fill."""
        ((count,),) = session.read_rows(f"SELECT count(*) {rows}")
        pieces = -(-count // _GROUPED) or 1
        return [f" AND hash({', '.join(key)}) % {pieces} = {at}" for at in range(pieces)]

    def list_tables(self, session: ReadSession, below: str = "") -> list[str]:
        """Folders and files of the source's place, or of a folder below it, named from the place on."""
        return [name for (name,) in session.read_rows(f"SELECT name FROM {self.quote_name(LISTING + below)}")]

    def missing_table_error(self, session: ReadSession, name: str) -> SourceError:
        """What is there in its place: its neighbours in the folder."""
        folder = name.strip("/").rpartition("/")[0]
        return SourceError(
            f'there is no table "{name}"{name_nearest(name, self.list_tables(session, folder))}'
        )

    def look_at_files(self, session: ReadSession, relation: Relation) -> TableFiles | None:
        """Format and files of a table; None: there is none, or the owner's own query."""
        found = None if relation.table is None else _describe_table(session, relation.table)
        return None if found is None else TableFiles(found[0], int(found[1]), tuple(json.loads(found[2])))

    def count_files(self, session: ReadSession, relation: Relation, times: TimesOfRows) -> int | None:
        """Files that may hold rows of some times."""
        if relation.table is None:
            return None
        found = _describe_table(session, narrowed_name(relation.table, times))
        return None if found is None else int(found[1])

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types as DuckDB calls those of Arrow."""
        if relation.table is not None and _describe_table(session, relation.table) is None:
            raise self.missing_table_error(session, relation.table)
        return super().types_of(session, relation)


def _describe_table(session: ReadSession, name: str) -> tuple[Any, ...] | None:
    rows = session.read_rows(f"{TABLE_OF} {name}")
    return rows[0] if rows else None


def narrowed_name(table: str, times: TimesOfRows) -> str:
    """Name of a table of which only the rows of some times are wanted."""
    return f"{table}{_NARROWED}{json.dumps(astuple(times))}"


def files_since_name(table: str, which: FilesSince, position: str) -> str:
    """Name of the files that a table lost, or got, since a position."""
    return f"{table}{which}{position}"


def parse_files_since(name: str) -> tuple[str, FilesSince, str] | None:
    """A table, which of its files, and since when; None: it is no such name."""
    for which in FilesSince:
        table, mark, position = name.partition(which)
        if mark:
            return table, which, position
    return None


def parse_narrowed_name(name: str) -> tuple[str, TimesOfRows | None]:
    """A table and what is wanted of it; None: all.

    >>> times = TimesOfRows("at", "date", None, ((0, 1),), undated=True)
    >>> parse_narrowed_name(narrowed_name("scores", times)) == ("scores", times)
    True
    """
    table, narrowed, text = name.partition(_NARROWED)
    if not narrowed:
        return table, None
    column, kind, unit, ranges, undated, zone, partition = json.loads(text)
    spans = tuple((lo, hi) for lo, hi in ranges)
    days = None if partition is None else (partition[0], partition[1])
    return table, TimesOfRows(column, kind, unit, spans, undated, zone, days)
