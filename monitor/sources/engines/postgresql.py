"""PostgreSQL: types by its catalogue, plans by its planner, rows by COPY through ADBC."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import URL

from monitor.core.errors import SourceError
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.engines.engine import Engine, type_refusal
from monitor.sources.engines.readers.postgres_copy import PostgresReader, transaction_settings
from monitor.sources.sql.sql_names import text_literal
from monitor.sources.sql.statements import (
    INT64_MAX,
    ColumnKind,
    OutputColumn,
    ReadSession,
    WantedKind,
    has_equality,
)
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    Interval,
    TimeColumn,
    TimeShape,
    sample_texts_near,
    shape_by_texts,
    shape_epoch_times,
)
from monitor.specs.deadlines import bound_waits, libpq_options
from monitor.specs.model_spec import Relation, SourceSpec

_INTEGERS = ("smallint", "integer", "bigint")
_WHOLE = (*_INTEGERS, "oid")
_NUMBERS = (*_WHOLE, "real", "double precision", "numeric")
_AS_NUMERIC = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_DATES = ("timestamp with time zone", "timestamp without time zone", "date")
_TEXTS = ("text", "character varying", "character", "citext", "name", "enum")
_ALIKE = ("text", "character varying")
_REFUSED = ("money", "interval", "bytea")
# Infinities, and what Python has no year for, are read as these.
_FIRST, _LAST = ("0001-01-01 00:00:00", "9999-12-31 23:59:59.999999")
_BELOW_DOMAINS = (
    "WITH RECURSIVE d(type, base, kind) AS ("
    "SELECT oid, typbasetype, typtype FROM pg_type WHERE oid = c.type UNION ALL "
    "SELECT b.oid, b.typbasetype, b.typtype FROM pg_type AS b JOIN d ON b.oid = d.base"
    ") SELECT type, kind FROM d WHERE base = 0"
)
_LITERAL = re.compile(r"'(?:[^']|'')*'(::[a-z0-9_ ]+)?")  # whose type may be named as a column is


class PostgresqlEngine(Engine):
    """A server; a transaction is one snapshot by REPEATABLE READ, which a standby allows too."""

    title: ClassVar[str] = "PostgreSQL"
    one_snapshot: ClassVar[bool] = True
    counts: ClassVar[bool] = True
    has_arrow: ClassVar[bool] = True
    hashes_joins: ClassVar[bool] = True
    integer: ClassVar[str] = "integer"
    driver: ClassVar[str | None] = "psycopg"

    def list_tables(self, session: ReadSession) -> list[str]:
        """Names of the tables and views; those of other schemas with the schema."""
        schema = "CASE WHEN table_schema IN ('public', current_schema()) THEN '' ELSE table_schema || '.' END"
        sql = (
            f"SELECT ({schema} || table_name)::text FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        return sorted(str(row[0]) for row in session.read_rows(sql))

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types of the columns, which the planner knows without a row; domains are taken off."""
        if relation.table is not None:
            rows = session.read_rows(f"SELECT ({self._regclass_sql(relation.table)} IS NOT NULL)::int")
            if rows[0][0] != 1:
                raise self.missing_table_error(session, relation.table)
        names = list(self.describe_relation(session, relation))
        if not names:
            return {}
        listed = ", ".join(
            f"({at}, pg_typeof(q.{self.quote_name(name)})::oid)" for at, name in enumerate(names)
        )
        sql = (
            "SELECT (CASE t.kind WHEN 'e' THEN 'enum' ELSE format_type(t.type, NULL) END)::text AS type "
            f"FROM (SELECT 1) AS one LEFT JOIN {self.relation_sql(relation, 'q')} ON false "
            f"CROSS JOIN LATERAL (VALUES {listed}) AS c(at, type) "
            f"CROSS JOIN LATERAL ({_BELOW_DOMAINS}) AS t ORDER BY c.at"
        )
        return {name: str(row[0]) for name, row in zip(names, session.read_rows(sql), strict=True)}

    def output_column(
        self,
        want: WantedKind,
        name: str,
        ref: str,
        kind: str,
        unit: str | None = None,  # noqa: ARG002
    ) -> OutputColumn:
        """A cast that no value of the type makes fail."""
        refused = kind in _REFUSED or kind.endswith("[]")
        if want is WantedKind.TIME:
            refused = refused or kind not in (*_DATES, *_NUMBERS, *_TEXTS)
        if refused:
            raise type_refusal(want, name, ref, kind)
        if name.partition(":")[0] == "id" and not has_equality(kind):
            raise SourceError(
                f"column {ref.partition('.')[2]} ({name}) has the type {kind}, which cannot be compared as "
                "an id is: cast it in a view or in `query`"
            )
        match want:
            case WantedKind.TIME:
                return _time_output(name, ref, kind)
            case WantedKind.NUMBER:
                return _number_output(name, ref, kind)
            case WantedKind.VALUE if kind in _NUMBERS:
                return _number_output(name, ref, kind)
            case _ if kind in _INTEGERS:
                return OutputColumn(name, ref, ColumnKind.TEXT, plain=True)
            case _:
                return OutputColumn(name, f"{ref}::text", ColumnKind.TEXT)

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By its type; texts by bytes, by which an index of another collation cannot be used."""
        if time_column.kind in _DATES:
            return replace(
                time, shape=TimeShape.INSTANT if time_column.kind == _DATES[0] else TimeShape.NAIVE
            )
        if time_column.kind in _NUMBERS:
            return shape_epoch_times(time_column, time)
        if time_column.unit is not None:
            return time
        ref = f"{time.sql}::text"
        rows = session.read_rows(
            f"SELECT pg_collation_for({ref}) AS name FROM (SELECT 1) AS one LEFT JOIN "
            f"{time_column.item} ON false"
        )
        by_bytes = session.read_rows(f"SELECT ('a' COLLATE {rows[0][0]} > 'B')::int AS by_bytes")[0][0] == 1
        time = replace(time, sql=ref if by_bytes else f'{ref} COLLATE "C"')
        return shape_by_texts(
            time, sample_texts_near(session, time_column, time), rf"{ref} !~ '^\d{{4}}-\d\d-\d\d'"
        )

    def range_rows_sql(self, intervals: Sequence[Interval]) -> str:
        """Intervals as rows of values."""
        return "VALUES " + ", ".join(f"({lo}, {hi})" for lo, hi in intervals)

    def range_join_sql(self, item: str, alias: str, covering: str, condition: str) -> tuple[str, str]:
        """The covering range lets the planner leave partitions out; OFFSET 0 keeps it from comparing all.

        Else it would compare every row with every range.
        """
        inner = f"SELECT * FROM {item} WHERE {covering} AND {condition} OFFSET 0"
        return f"r CROSS JOIN LATERAL ({inner}) AS {alias}", "1 = 1"

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """Of types that are not compared, as numbers or as text; an index is used where they are."""
        cast = "" if left_kind == right_kind else "::text"
        for alike, how in ((_WHOLE, ""), (_ALIKE, ""), (_AS_NUMERIC, "::numeric")):
            if left_kind in alike and right_kind in alike:
                cast = how
                break
        same = f"{right}{cast} = {left}{cast}"
        return f"{same} AND {right}::text = {left}::text" if left_kind == right_kind == "citext" else same

    def group_key(self, ref: str, kind: str) -> str:
        """Text by bytes: equal numbers may be written in several ways, and letters in two."""
        return ref if kind in (*_WHOLE, "uuid") else f'{ref}::text COLLATE "C"'

    def can_use_index(self, session: ReadSession, item: str, condition: str, *, leading: bool = True) -> bool:
        """By a plan without scans of whole tables and without pruning: a condition may hit no partition."""
        settings = ("enable_seqscan", "enable_partition_pruning")
        for setting in settings:
            session.run_command(f"SET LOCAL {setting} = off")
        plan = session.read_rows(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {item} WHERE {condition}")[0][0]
        for setting in settings:
            session.run_command(f"SET LOCAL {setting} TO DEFAULT")
        used = list(_index_scans(json.loads(plan) if isinstance(plan, str) else plan))
        return any(not leading or _is_leading_column(session, *scan) for scan in used)

    def prunes_partitions(self, session: ReadSession, item: str, narrow: str, wide: str) -> bool:
        """By the tables that plans name."""
        plans = (session.read_rows(f"EXPLAIN SELECT 1 FROM {item} WHERE {where}") for where in (narrow, wide))
        few, many = (sum(" on " in str(line[0]) for line in plan) for plan in plans)
        return few < many

    def primary_key(self, session: ReadSession, table: str) -> tuple[str, ...]:
        """Columns of the declared key."""
        sql = (
            "SELECT a.attname::text AS name FROM pg_index AS x JOIN pg_attribute AS a "
            "ON a.attrelid = x.indrelid AND a.attnum = ANY(x.indkey) WHERE x.indisprimary "
            f"AND x.indrelid = {self._regclass_sql(table)} "
            "ORDER BY array_position(x.indkey::int2[], a.attnum)"
        )
        return tuple(str(row[0]) for row in session.read_rows(sql))

    def kind_of_table(self, session: ReadSession, table: str) -> str:
        """view, partitioned, or table."""
        sql = f"SELECT relkind::text AS kind FROM pg_class WHERE oid = {self._regclass_sql(table)}"
        rows = session.read_rows(sql)
        return {"v": "view", "p": "partitioned"}.get(str(rows[0][0]) if rows else "", "table")

    def largest_partition(self, session: ReadSession, table: str, column: str) -> str | None:
        """Largest leaf of a table that is partitioned by ranges of a column."""
        regclass = self._regclass_sql(table)
        of_column = (
            "SELECT 1 FROM pg_partitioned_table AS p JOIN pg_attribute AS a ON a.attrelid = p.partrelid "
            f"AND a.attnum = p.partattrs[0] WHERE p.partstrat = 'r' AND p.partrelid = {regclass} "
            f"AND a.attname = {text_literal(column)}"
        )
        largest = session.read_rows(
            f"SELECT relid::regclass::text AS name FROM pg_partition_tree({regclass}) "
            f"WHERE isleaf AND EXISTS ({of_column}) ORDER BY pg_relation_size(relid) DESC LIMIT 1"
        )
        return str(largest[0][0]) if largest else None

    def index_clause(self, kind: str) -> str:
        """One that does not hold writers up, where the table is no partitioned one."""
        return "INDEX" if kind == "partitioned" else "INDEX CONCURRENTLY"

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:  # noqa: ARG002
        """Settings of the transaction that SQLAlchemy begins."""
        snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
        return snapshot, *transaction_settings(limit_ms)

    def driver_arguments(self, url: URL, limit: float) -> Mapping[str, Any]:  # noqa: ARG002
        """What libpq is told beside the URL."""
        arguments = {"application_name": "monitor", **libpq_options()}
        return {name: value for name, value in arguments.items() if name not in url.query}

    def make_sqlalchemy_engine(self, address: DatabaseAddress, connections: int, limit: float) -> sa.Engine:
        """Connections of psycopg, whose waits end."""
        engine = super().make_sqlalchemy_engine(address, connections, limit)
        if engine.driver == self.driver:
            sa.event.listen(engine, "connect", partial(bound_waits, limit), insert=True)
        return engine

    def make_reader(self, spec: SourceSpec, address: DatabaseAddress) -> PostgresReader:
        """Rows through ADBC."""
        return PostgresReader(spec, address)

    def may_quote(self, error: BaseException) -> bool:  # noqa: ARG002
        """Errors in mid-stream reach us without their SQLSTATE, as those of data do."""
        return True

    def cell_sql(self, sql: str, edges: Sequence[str], first: int) -> str | None:
        """A binary search of its own."""
        if not edges:
            return None
        return f"{first} + width_bucket({sql}, ARRAY[{', '.join(edges)}]::double precision[])"

    def _regclass_sql(self, table: str) -> str:
        return f"to_regclass({text_literal(self.quote_table(table))})"

    def json_value_sql(self, ref: str, kind: str, key: str, *, is_number: bool) -> str:
        """Text has no keys."""
        document = ref if kind in ("json", "jsonb") else f"CAST({ref} AS json)"
        return super().json_value_sql(document, kind, key, is_number=is_number)


def _number_output(name: str, ref: str, kind: str) -> OutputColumn:
    if kind == "numeric":  # a cast out of range would end the query
        return OutputColumn(
            name,
            f"CASE WHEN {ref} = 0 OR abs({ref}) BETWEEN 1e-300 AND 1.7e308 THEN {ref}::double precision "
            f"WHEN abs({ref}) < 1e-300 THEN 0 WHEN {ref} IS NOT NULL THEN 'NaN'::double precision END",
            ColumnKind.NUMBER,
        )
    if kind == "oid":  # no direct cast
        ref = f"{ref}::bigint"
    if kind in _NUMBERS:
        return OutputColumn(name, f"{ref}::double precision", ColumnKind.NUMBER)
    if kind == "boolean":
        return OutputColumn(name, f"{ref}::int::double precision", ColumnKind.NUMBER)
    return OutputColumn(name, f"{ref}::text", ColumnKind.TEXT)


def _time_output(name: str, ref: str, kind: str) -> OutputColumn:
    if kind in _DATES:
        zoned = kind == _DATES[0]
        exact, zone = ("timestamptz", "+00") if zoned else ("timestamp", "")
        first, last = f"{exact} '{_FIRST}{zone}'", f"{exact} '{_LAST}{zone}'"
        if kind == "date":
            first, last = "date '0001-01-01'", "date '9999-12-31'"
        # Clamped they are times outside of every horizon, where they would else end the reading.
        clamped = f"least(greatest({ref}, {first}), {last})::{exact}"
        return OutputColumn(
            name,
            f"CASE WHEN {ref} IS NOT NULL THEN {clamped} END",
            ColumnKind.INSTANT if zoned else ColumnKind.NAIVE,
        )
    if kind in _WHOLE:
        return OutputColumn(name, f"{ref}::bigint", ColumnKind.EPOCH)
    if kind in _NUMBERS:
        return OutputColumn(
            name,
            f"CASE WHEN abs({ref}) < 9.2e18 THEN trunc({ref})::bigint "
            f"WHEN {ref} IS NOT NULL THEN {INT64_MAX} END",
            ColumnKind.EPOCH,
        )
    return OutputColumn(name, f"{ref}::text", ColumnKind.TEXT)


def _index_scans(plan: object) -> Iterator[tuple[str, str]]:
    """Every index that a plan of PostgreSQL searches, and by which condition."""
    if isinstance(plan, dict) and {"Index Name", "Index Cond"} <= plan.keys():
        yield plan["Index Name"], plan["Index Cond"]
    below: Iterable[object] = plan if isinstance(plan, list) else ()
    if isinstance(plan, dict):
        below = plan.values()
    for part in below:
        yield from _index_scans(part)


def _is_leading_column(session: ReadSession, index: str, condition: str) -> bool:
    """Whether the condition is about the first column, or expression, of the index."""
    sql = "SELECT pg_get_indexdef(oid, 1, false) AS key FROM pg_class WHERE relkind = 'i' AND relname = "
    plain = _LITERAL.sub("", condition)
    for row in session.read_rows(f"{sql}{text_literal(index)}"):
        key = _LITERAL.sub("", str(row[0]))
        if key.startswith("((") and key.endswith(")"):
            key = key[1:-1]
        if re.search(rf'(?<![\w"]){re.escape(key)}(?![\w"])', plain):
            return True
    return False
