"""MariaDB and MySQL: types by the wire protocol, errors by their numbers; sessions in UTC."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from monitor.core.errors import DatabaseTrouble
from monitor.sources.database_address import DatabaseAddress
from monitor.sources.engines.engine import PLAIN_KINDS, Engine, type_refusal
from monitor.sources.sql.statements import ColumnKind, OutputColumn, ReadSession, WantedKind
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    TimeColumn,
    sample_texts_near,
    shape_by_texts,
    shape_epoch_times,
    shape_utc_times,
)
from monitor.specs.deadlines import CONNECTED
from monitor.specs.model_spec import Relation

_TYPES = {  # of the wire protocol: the only ones that say what a query's columns are
    **dict.fromkeys((1, 2, 3, 8, 9), "integer"),
    13: "year",
    **dict.fromkeys((0, 246), "decimal"),
    4: "float",
    5: "double",
    7: "timestamp",
    **dict.fromkeys((10, 14), "date"),
    11: "time",
    12: "datetime",
    16: "bit",
    245: "json",
    247: "enum",
    248: "set",
    **dict.fromkeys((249, 250, 251, 252), "text"),
    **dict.fromkeys((15, 253), "varchar"),
    254: "char",
    255: "geometry",
}
_TINYINT = 1  # of length 1 it is what MariaDB makes of a boolean
_NUMBERS = ("boolean", "integer", "year", "decimal", "float", "double")
_TIMES = {"timestamp": ColumnKind.INSTANT, "datetime": ColumnKind.NAIVE, "date": ColumnKind.NAIVE}
_TIMELESS = ("boolean", "time", "year", "bit", "json", "enum", "set")
_DRIVERS = ("pymysql", "mysqldb", "MySQLdb")  # as URLs and as modules are called

# client errors, and of the server: connections, access, no such database, shutdown, locks, limits of time
_CLIENT = range(2000, 3000)
_UNREACHABLE = (1021, 1037, 1040, 1041, 1044, 1045, 1049, 1053, 1129, 1130, 1135, 1152, 1205, 1213, 1226)
_INTERRUPTED = (1317, 1698, 1927, 1969, 3024)
_TROUBLES = {1969: DatabaseTrouble.TIMEOUT, 3024: DatabaseTrouble.TIMEOUT, 1213: DatabaseTrouble.CONFLICT}


class MysqlEngine(Engine):
    """A server; a transaction is one snapshot of tables of InnoDB."""

    one_snapshot: ClassVar[bool] = True
    escapes_texts: ClassVar[bool] = True
    driver: ClassVar[str | None] = "pymysql"

    def list_tables(self, session: ReadSession) -> list[str]:
        """Names of the tables and views; those of other databases with the database."""
        schema = "IF(table_schema = DATABASE(), '', CONCAT(table_schema, '.'))"
        hidden = "'mysql', 'sys', 'information_schema', 'performance_schema'"
        sql = (
            f"SELECT CONCAT({schema}, table_name) AS name FROM information_schema.tables "
            f"WHERE table_schema NOT IN ({hidden})"
        )
        return sorted(str(row[0]) for row in session.read_rows(sql))

    def types_of(self, session: ReadSession, relation: Relation) -> dict[str, str]:
        """Types by a driver's description: (code, …, length, …)."""
        if relation.table is not None:
            there = self._catalogue_condition(relation.table)
            sql = f"SELECT 1 AS one FROM information_schema.tables WHERE {there}"
            if not session.read_rows(sql):
                raise self.missing_table_error(session, relation.table)
        columns = self.describe_relation(session, relation).items()
        return {
            name: _column_type_name(*described) for name, described in columns if isinstance(described, tuple)
        }

    def output_column(
        self, want: WantedKind, name: str, ref: str, kind: str, unit: str | None = None
    ) -> OutputColumn:
        """As it is, but for what the driver hands over as bytes, or rounded."""
        if kind == "geometry" or (want is WantedKind.TIME and kind in _TIMELESS):
            raise type_refusal(want, name, ref, kind)
        if want is WantedKind.TIME:
            return OutputColumn(
                name, ref, _TIMES.get(kind, ColumnKind.MOMENT if unit is None else ColumnKind.EPOCH)
            )
        if kind == "bit":
            ref = f"{ref} + 0"
        elif kind == "float" and want is not WantedKind.TEXT:  # else rounded to six digits
            ref = f"{ref} + 0e0"
        return OutputColumn(name, ref, PLAIN_KINDS[want])

    def comparable_time(
        self, session: ReadSession, time_column: TimeColumn, time: ComparableTime
    ) -> ComparableTime:
        """By its type; texts by bytes, unless their collation orders times as bytes do."""
        if not time_column.kind:
            return super().comparable_time(session, time_column, time)
        if time_column.kind in _TIMES:
            return shape_utc_times(time, zoned=time_column.kind == "timestamp")
        if time_column.kind in _NUMBERS:
            return shape_epoch_times(time_column, time)
        if time_column.unit is not None:
            return time
        if not _keeps_order(session, time_column.item, time.sql):
            time = replace(time, sql=f"CONVERT({time.sql} USING utf8mb4) COLLATE utf8mb4_bin")
        odd = f"{time.sql} NOT REGEXP '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'"
        return shape_by_texts(time, sample_texts_near(session, time_column, time), odd)

    def same_id(self, left: str, right: str, left_kind: str, right_kind: str) -> str:
        """Without regard to the collation; numbers are not compared with texts as doubles: 7 = '7x'."""
        if left_kind in _NUMBERS and right_kind not in _NUMBERS:
            left_sql, right_sql = f"CAST({left} AS CHAR)", right
        elif right_kind in _NUMBERS and left_kind not in _NUMBERS:
            left_sql, right_sql = left, f"CAST({right} AS CHAR)"
        else:
            left_sql, right_sql = left, right
        exact = f" AND CAST({right_sql} AS BINARY) = CAST({left_sql} AS BINARY)"
        return f"{right_sql} = {left_sql}{'' if left_kind in _NUMBERS else exact}"

    def group_key(self, ref: str, kind: str) -> str:
        """Bytes of what is no number."""
        return ref if kind in _NUMBERS else f"CAST({ref} AS BINARY)"

    def can_use_index(self, session: ReadSession, item: str, condition: str, *, leading: bool = True) -> bool:  # noqa: ARG002
        """Whether the planner thinks of one, or has looked there and seen that nothing is."""
        plan = str(session.read_rows(f"EXPLAIN FORMAT=JSON SELECT 1 FROM {item} WHERE {condition}")[0][0])
        return '"possible_keys"' in plan or "after reading const tables" in plan

    def primary_key(self, session: ReadSession, table: str) -> tuple[str, ...]:
        """Columns of the declared key."""
        sql = (
            "SELECT column_name FROM information_schema.key_column_usage WHERE "
            f"{self._catalogue_condition(table)} "
            "AND constraint_name = 'PRIMARY' ORDER BY ordinal_position"
        )
        return tuple(str(row[0]) for row in session.read_rows(sql))

    def kind_of_table(self, session: ReadSession, table: str) -> str:
        """view, or table."""
        sql = f"SELECT count(*) AS n FROM information_schema.views WHERE {self._catalogue_condition(table)}"
        return "view" if session.read_rows(sql)[0][0] else "table"

    def prefixed_columns(self, session: ReadSession, table: str) -> set[str]:
        """Columns of long texts."""
        wanted = f"{self._catalogue_condition(table)} AND data_type LIKE '%text'"
        rows = session.read_rows(f"SELECT column_name FROM information_schema.columns WHERE {wanted}")
        return {str(row[0]) for row in rows}

    def session_settings(self, connection: sa.Connection, limit_ms: int) -> tuple[str, ...]:
        """A transaction of one snapshot; the two servers name the limit differently."""
        limit = f"max_execution_time = {limit_ms}"
        if getattr(connection.dialect, "is_mariadb", False):
            limit = f"max_statement_time = {limit_ms / 1000}"
        return (
            f"SET SESSION time_zone = '+00:00', SESSION {limit}",
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        )

    def driver_arguments(self, url: URL, limit: float) -> Mapping[str, Any]:
        """How long the driver waits."""
        if url.get_driver_name() not in _DRIVERS:
            return {}
        waits = math.ceil(limit)
        arguments = {"connect_timeout": round(CONNECTED), "read_timeout": waits, "write_timeout": waits}
        return {name: value for name, value in arguments.items() if name not in url.query}

    def make_sqlalchemy_engine(self, address: DatabaseAddress, connections: int, limit: float) -> sa.Engine:
        """Connections of PyMySQL, which lets go of results that were lost."""
        engine = super().make_sqlalchemy_engine(address, connections, limit)
        if engine.driver == self.driver:
            sa.event.listen(engine, "handle_error", _discard_lost_result)
            if not address.written:  # else it reconnects already
                sa.event.listen(engine, "do_connect", address.connect)
        return engine

    def connection_arguments(self, driver: str, named: dict[str, Any]) -> dict[str, Any]:
        """PyMySQL would send a password as Latin-1."""
        if driver != self.driver or "password" not in named:
            return named
        return {**named, "password": str(named["password"]).encode()}

    def trouble_of(self, error: DBAPIError) -> DatabaseTrouble | None:
        """By the number of the error."""
        number = next(iter(getattr(error.orig, "args", ())), None)
        if type(error.orig).__module__.startswith(_DRIVERS) and isinstance(number, int):
            return trouble_of_number(number)
        return super().trouble_of(error)

    def _catalogue_condition(self, table: str) -> str:
        schema, _, name = table.rpartition(".")
        return (
            f"table_schema = {self.text_literal(schema) if schema else 'DATABASE()'} AND table_name = "
            f"{self.text_literal(name)}"
        )

    def json_value_sql(self, ref: str, kind: str, key: str, *, is_number: bool) -> str:  # noqa: ARG002
        """By a path: MariaDB has no type for JSON."""
        path = "$." + json.dumps(key, ensure_ascii=False)
        value = f"json_value({ref}, {self.text_literal(path)})"
        return f"CAST({value} AS double)" if is_number else value


def trouble_of_number(code: int) -> DatabaseTrouble | None:
    """What a number of MySQL's or MariaDB's errors says of a database that cannot serve us now."""
    unreachable = code in _CLIENT or code in _UNREACHABLE or code in _INTERRUPTED
    return _TROUBLES.get(code, DatabaseTrouble.NO_ANSWER if unreachable else None)


def _column_type_name(code: object, _size: object, length: object, *_: object) -> str:
    if code == _TINYINT and length == 1:
        return "boolean"
    return _TYPES.get(code, "") if isinstance(code, int) else ""


def _keeps_order(session: ReadSession, item: str, ref: str) -> bool:
    """Whether a column's collation orders ISO times, and bounds of days, as bytes do."""
    nulls = f"(SELECT 1) AS one LEFT JOIN {item} ON 1 = 0"
    charset, collation = session.read_rows(f"SELECT CHARSET({ref}), COLLATION({ref}) FROM {nulls}")[0]
    texts = ("2013-03-01", "2013-03-01 10:00:00.5Z", "2013-03-01!", "2013-03-01T10:00", "2013-03-01T10:01")
    literals = [f"CONVERT('{moment}' USING {charset}) COLLATE {collation}" for moment in texts]
    ordered = " AND ".join(f"{low} < {high}" for low, high in pairwise(literals))
    return bool(session.read_rows(f"SELECT {ordered} AS ordered")[0][0])


def _discard_lost_result(context: sa.ExceptionContext) -> None:
    """PyMySQL would go on to read a result whose connection was lost, and fail where nobody expects it."""
    result = getattr(getattr(context.execution_context, "cursor", None), "_result", None)
    if context.is_disconnect and result is not None:
        result.unbuffered_active = False
