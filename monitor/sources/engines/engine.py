"""What an engine is: all that one kind of database does in its own way. Defaults are those of any SQL."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.sql.compiler import IdentifierPreparer

from monitor.core.errors import DatabaseTrouble, SourceError
from monitor.sources.sql.sql_names import backslash_escaped, suggest_name, text_literal
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, Statement, WantedKind
from monitor.sources.sql.table_files import TableFiles
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    DayColumn,
    DayShape,
    Interval,
    TimeColumn,
    TimesOfRows,
    shape_by_values,
)
from monitor.specs.model_spec import Relation, SourceSpec

if TYPE_CHECKING:
    from monitor.sources.database_address import DatabaseAddress

# SQLSTATEs: connection, resources, operator, system, account, no such database
_UNREACHABLE = ("08", "53", "57", "58", "28", "3D000")
_TIMEOUT = "57014"
_CONFLICT = ("40001", "40P01")  # a standby's recovery cancels a statement; deadlock
PLAIN_KINDS = {
    WantedKind.TEXT: ColumnKind.TEXT,
    WantedKind.NUMBER: ColumnKind.NUMBER,
    WantedKind.VALUE: ColumnKind.VALUE,
}


@dataclass(frozen=True, slots=True)
class DriverText:
    """A text in a driver's message that decides what is done, since the driver has no code for it."""

    driver: str
    text: str
    why: str


class RowReader(Protocol):
    """A way to fetch rows."""

    @property
    def engine(self) -> "Engine":
        """The engine that is read."""
        ...

    def open_session(self) -> AbstractContextManager[ReadSession]:
        """Connect, begin; end the transaction in any case.

        Raises
        ------
        SourceUnavailable
            if the database does not answer.
        SourceError
            if it refuses a statement.
        """
        ...

    def close(self) -> None:
        """Close the connections that are kept."""
        ...


class Engine(Protocol):
    """One kind of database.

    Parameters
    ----------
    name
        as SQLAlchemy calls its dialect; `title`: as messages do, where they name it.
    preparer
        quotes names.
    one_snapshot
        what a session reads by several statements is one state of the tables; else it is compared.
    counts
        panes counted by its GROUP BY are proven equal to those counted here, by our tests.
    can_be_proven
        only its user can prove it: `monitor check --prove`.
    most_grouped
        outputs and features whose cells one statement counts.
    has_arrow
        it is read through ADBC, unless another reader is asked for.
    paced
        a cursor may stand open for long: no timeout of a server runs on.
    has_indexes
        that a user can make; else a slice of time is found by the bounds of files.
    skips_by_bounds
        it skips parts of a table: ranges are told as conditions.
    hashes_joins
        labels of many predictions are found without an index on their ids.
    integer
        type of an integer that a statement makes; empty: none is told.
    explain
        what stands before a statement whose plan is wanted.
    driver
        of SQLAlchemy, where a URL names none.
    scans_are_paid
        what statements read is paid: none goes through all partitions of a table.
    dollars_per_tib
        price of what statements read, where that is what is paid.
    untested
        what `check` says of a service that no test of ours has reached.
    escapes_texts
        a backslash in a literal of a text begins an escape; two quotes are not one everywhere.
    """

    name: str
    preparer: IdentifierPreparer
    title: ClassVar[str] = ""
    one_snapshot: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    can_be_proven: ClassVar[bool] = False
    most_grouped: ClassVar[int] = 1_000
    has_arrow: ClassVar[bool] = False
    paced: ClassVar[bool] = False
    has_indexes: ClassVar[bool] = True
    skips_by_bounds: ClassVar[bool] = False
    hashes_joins: ClassVar[bool] = False
    integer: ClassVar[str] = ""
    explain: ClassVar[str] = "EXPLAIN"
    driver: ClassVar[str | None] = None
    scans_are_paid: ClassVar[bool] = False
    dollars_per_tib: ClassVar[float | None] = None
    untested: ClassVar[str] = ""
    escapes_texts: ClassVar[bool] = False

    def __init__(self, name: str, preparer: IdentifierPreparer) -> None:
        self.name, self.preparer = name, preparer

    def quote_name(self, name: str) -> str:
        """A name of one part, always quoted."""
        return str(self.preparer.quote_identifier(name))

    def quote_table(self, name: str) -> str:
        """A table's name, split at dots."""
        return ".".join(self.quote_name(part) for part in name.split("."))

    def text_literal(self, value: str) -> str:
        """Literal of a text; by default a backslash is a character like others, as in standard SQL."""
        return backslash_escaped(value, "'") if self.escapes_texts else text_literal(value)

    def relation_sql(self, relation: Relation, alias: str) -> str:
        """A relation as an item of FROM; the owner's own SQL stands alone on its lines."""
        if relation.query is not None:
            item = f"(\n{relation.query.rstrip().rstrip(';')}\n)"
        else:
            item = self.quote_table(relation.table or "")
        if relation.where is not None:
            item = f"(SELECT * FROM {item} AS t WHERE (\n{relation.where}\n))"
        return f"{item} AS {alias}"

    def narrowed_sql(self, relation: Relation, alias: str, times: TimesOfRows) -> str | None:  # noqa: ARG002
        """A relation without the parts that hold no row of some times, as an item of FROM; None: all of it.

        Conditions pick the rows all the same; this is for engines that do not find parts by any of ours.
        """
        return None

    def day_column(self, ref: str, kind: str) -> DayColumn | None:
        """A qualified column of days, by the database's type of it; None: it holds none."""
        shape = self.day_shape(kind)
        return None if shape is None else DayColumn(ref, shape)

    def split_groups(self, session: ReadSession, rows: str, key: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Conditions that cut rows (FROM … WHERE …) into pieces that each hold all of a key, or none."""
        return [""]

    def list_tables(self, session: ReadSession) -> list[str]:  # noqa: ARG002 -- a catalogue that nobody knows
        """Names of the tables and views, as far as the database tells."""
        return []

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """The database's types by column, in the table's order; lower case, empty where there are none.

        Raises
        ------
        SourceError
            if there is no such table.
        """
        return dict.fromkeys(self.describe_relation(session, relation), "")

    def describe_relation(self, session: ReadSession, relation: Relation) -> dict[str, object]:
        """Columns as the driver describes them: no planner touches a table for a condition that is false."""
        return session.describe_query(f"SELECT * FROM {self.relation_sql(relation, 'q')} WHERE 1 = 0 LIMIT 0")

    def look_at_files(self, session: ReadSession, relation: Relation) -> TableFiles | None:  # noqa: ARG002
        """Files of a table; None: it is no table of files."""
        return None

    def count_files(
        self,
        session: ReadSession,  # noqa: ARG002
        relation: Relation,  # noqa: ARG002
        times: TimesOfRows,  # noqa: ARG002
    ) -> int | None:
        """How many of them may hold rows of some times."""
        return None

    def missing_table_error(self, session: ReadSession, name: str) -> SourceError:
        """What is said of a table that is not there."""
        return SourceError(
            f'there is no table or view "{name}"{suggest_name(name, self.list_tables(session))}'
        )

    def output_column(
        self, want: WantedKind, name: str, ref: str, kind: str, unit: str | None = None
    ) -> OutputColumn:
        """Column of a SELECT that reads a role.

        Parameters
        ----------
        ref
            qualified column.
        kind
            the database's type of it.
        unit
            of integer epochs.

        Raises
        ------
        SourceError
            if the type cannot be read as what is wanted; the message names column and type.
        """
        of_time = ColumnKind.MOMENT if unit is None else ColumnKind.EPOCH
        column_kind = PLAIN_KINDS.get(want, of_time)
        if column_kind is ColumnKind.NUMBER:
            plain = not any(part in kind for part in ("char", "clob", "text", "blob"))
        else:
            plain = "int" in kind
        return OutputColumn(name, ref, column_kind, plain)

    def day_shape(self, kind: str) -> DayShape | None:
        """How a column of days is written, by the database's type of it; None: it holds none."""
        if any(part in kind for part in ("int", "numeric", "decimal")):
            return DayShape.DIGITS
        return DayShape.TEXT if kind == "date" or "time" not in kind else None

    def readable_sql(self, sql: str) -> str:
        """A value of which the text is looked at, as the driver hands it over."""
        return sql

    def fetched_sql(self, statement: Statement) -> str:
        """SQL of a statement whose rows are fetched by SQLAlchemy."""
        return statement.sql_text()

    def fetch_arrow(self, connection: sa.Connection, sql: str) -> pa.Table | None:  # noqa: ARG002 -- most drivers hand over rows
        """Result in Arrow, where the driver of SQLAlchemy hands it over at once."""
        return None

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """Column of times as it can be compared; `time` is not yet."""
        return shape_by_values(session, time_column, time)

    def range_rows_sql(self, intervals: Sequence[Interval]) -> str:
        """Intervals as a query with the columns lo and hi."""
        return " UNION ALL ".join(f"SELECT {lo} AS lo, {hi} AS hi" for lo, hi in intervals)

    def range_join_sql(self, item: str, alias: str, covering: str, condition: str) -> tuple[str, str] | None:  # noqa: ARG002
        """FROM and WHERE of rows that an index finds by the ranges r(lo, hi); None: each is compared.

        Parameters
        ----------
        covering, condition
            of all ranges together; of a row and r.
        """
        return None

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:  # noqa: ARG002
        """Condition that an id of a prediction is one of a label, whatever their types are."""
        return f"{right} = {left}"

    def group_key(self, ref: str, kind: str) -> str:  # noqa: ARG002
        """What to group by: equal where the texts are, whatever a collation holds equal."""
        return ref

    def mixes_ids(self, session: ReadSession, item: str, ref: str, kind: str) -> bool:  # noqa: ARG002
        """Whether ids of a column may be unequal though their texts are equal, as in one without a type."""
        return False

    def can_use_index(self, session: ReadSession, item: str, condition: str, *, leading: bool = True) -> bool:  # noqa: ARG002
        """Whether an index finds the rows of a condition, as the planner says.

        Parameters
        ----------
        leading
            only one that begins with what the condition is about: any other is read whole.
        """
        return False

    def prunes_partitions(self, session: ReadSession, item: str, narrow: str, wide: str) -> bool:  # noqa: ARG002
        """Whether a narrow condition reads fewer partitions than a wide one, as the planner says."""
        return False

    def unindexed_sql(self, sql: str) -> str | None:  # noqa: ARG002
        """An expression that no index serves; None where the planner chooses well between two."""
        return None

    def plan_line(self, row: tuple[Any, ...]) -> str:
        """A row of a plan as people read it."""
        return str(row[0]) if len(row) == 1 else " | ".join("" if cell is None else str(cell) for cell in row)

    def bytes_of_plan(self, rows: Sequence[tuple[Any, ...]]) -> int | None:  # noqa: ARG002
        """Bytes that a statement would be billed by, as its plan tells; None: it does not."""
        return None

    def primary_key(self, session: ReadSession, table: str) -> tuple[str, ...]:  # noqa: ARG002
        """Columns of the declared key in its order, as far as the database tells."""
        return ()

    def kind_of_table(self, session: ReadSession, table: str) -> str:  # noqa: ARG002
        """view, partitioned, or table."""
        return "table"

    def largest_partition(self, session: ReadSession, table: str, column: str) -> str | None:  # noqa: ARG002
        """Largest partition of a table that is partitioned by a column, as it stands in FROM."""
        return None

    def prefixed_columns(self, session: ReadSession, table: str) -> set[str]:  # noqa: ARG002
        """Columns of which an index holds a prefix only."""
        return set()

    def index_clause(self, kind: str) -> str:  # noqa: ARG002
        """What is created for a kind of table."""
        return "INDEX"

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """Statements that begin a read-only transaction of one snapshot in UTC, with a limit of time."""
        return ()

    def database_file(self, url: URL) -> Path | None:  # noqa: ARG002
        """File that a URL names, of a database that is one."""
        return None

    def why_no_source(self, url: URL) -> str | None:  # noqa: ARG002
        """Why a URL is none of a source."""
        return None

    def driver_arguments(self, url: URL, limit: float) -> Mapping[str, Any]:  # noqa: ARG002
        """What the driver is told beside the URL; `limit`: seconds that an answer may take."""
        return {}

    def make_sqlalchemy_engine(self, address: "DatabaseAddress", connections: int, limit: float) -> sa.Engine:
        """SQLAlchemy's engine: connections are pooled, and asked whether they live."""
        url = address.url
        if self.driver is not None and url.drivername == url.get_backend_name():
            url = url.set(drivername=f"{url.drivername}+{self.driver}")
        engine = sa.create_engine(
            url,
            pool_size=connections,
            max_overflow=0,
            pool_pre_ping=True,
            pool_timeout=600,
            connect_args=dict(self.driver_arguments(url, limit)),
        )
        if address.written:
            sa.event.listen(engine, "do_connect", address.connect)
        return engine

    def connection_arguments(self, driver: str, named: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Arguments of a connection, as a driver takes them."""
        return named

    def make_reader(self, spec: SourceSpec, address: "DatabaseAddress") -> RowReader:  # noqa: ARG002
        """Its own way to fetch rows, if it has one: see `has_arrow`."""
        raise SourceError(f"{address.shown}: no driver hands over Arrow")

    def trouble_of(self, error: DBAPIError) -> DatabaseTrouble | None:
        """Why the database does not answer; None: the statement is wrong."""
        state = getattr(error.orig, "sqlstate", None)
        if state is not None:
            return trouble_of_state(state)
        lost = error.connection_invalidated or isinstance(error, OperationalError)
        return DatabaseTrouble.NO_ANSWER if lost else None

    def is_of_driver(self, error: Exception) -> bool:  # noqa: ARG002
        """Whether an error is one of the driver that SQLAlchemy does not know as such."""
        return False

    def may_quote(self, error: BaseException) -> bool:  # noqa: ARG002
        """Whether a message of an error without a state may quote what stands in a row."""
        return False

    def micros_sql(self, column: str) -> str:
        """SQL of the microseconds of a timestamp."""
        return f"CAST(extract(epoch FROM {column}) * 1000000 AS BIGINT)"

    def bigint_sql(self, sql: str) -> str:
        """SQL of a whole number as an integer."""
        return f"CAST({sql} AS BIGINT)"

    def json_value_sql(self, ref: str, kind: str, key: str, *, is_number: bool) -> str:  # noqa: ARG002
        """SQL of the value of a key of a column of a type that holds JSON objects, maybe as text."""
        value = f"{ref}->>{self.text_literal(key)}"
        return f"CAST({value} AS double precision)" if is_number else value

    def cell_sql(self, sql: str, edges: Sequence[str], first: int) -> str | None:  # noqa: ARG002
        """Position of a finite number among ascending edges, by a binary search; None: by comparisons.

        Parameters
        ----------
        edges
            literals of doubles.
        first
            position of what lies below the first.
        """
        return None


def trouble_of_state(sqlstate: str | None) -> DatabaseTrouble | None:
    """What an SQLSTATE says of a database that cannot serve us now; None: it can, the statement is wrong."""
    match sqlstate:
        case None:
            return None
        case _ if sqlstate == _TIMEOUT:
            return DatabaseTrouble.TIMEOUT
        case _ if sqlstate in _CONFLICT:
            return DatabaseTrouble.CONFLICT
        case _:
            return DatabaseTrouble.NO_ANSWER if sqlstate.startswith(_UNREACHABLE) else None


def type_refusal(want: WantedKind, name: str, ref: str, kind: str) -> SourceError:
    """What is said of a column whose type is not read as what is wanted."""
    return SourceError(
        f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which is not read as a {want}: "
        "cast it in a view or in `query`"
    )
