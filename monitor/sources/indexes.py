"""Indexes that the monitor's queries want, and the statement that makes one that is missing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.sources.engines.engine import text
from monitor.sources.engines.mysql import is_mysql
from monitor.sources.engines.spark import is_spark
from monitor.sources.sql.ids import same_id
from monitor.sources.sql.relations import Looked, has_index
from monitor.sources.sql.statements import Session
from monitor.sources.sql.time_ranges import Comparable, Shape
from monitor.specs.model import Relation

MANY = 10_000  # rows from which on an index matters
_COUNTED = 1_000_000  # rows are counted up to here
_LONGEST_NAME = 63  # of PostgreSQL; MySQL takes 64


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows there are; `more`: at least so many."""

    n: int
    more: bool = False

    def __str__(self) -> str:
        return f"more than {self.n:,}" if self.more else f"{self.n:,}"


def count_rows(session: Session, item: str, condition: str = "1 = 1", most: int = _COUNTED) -> Rows:
    """Count rows, and stop counting at `most`."""
    inner = f"SELECT 1 AS one FROM {item} WHERE {condition} LIMIT {most + 1}"
    n = int(session.rows(f"SELECT count(*) AS n FROM ({inner}) AS few")[0][0])
    return Rows(min(n, most), n > most)


def rows_of_partition(session: Session, looked: Looked, relation: Relation, column: str) -> Rows | None:
    """Rows of the largest partition of a table of PostgreSQL that is partitioned by a column of times."""
    if looked.dialect.name != "postgresql" or relation.table is None:
        return None
    regclass = f"to_regclass({text(looked.dialect.table(relation.table))})"
    of_column = (
        "SELECT 1 FROM pg_partitioned_table AS p JOIN pg_attribute AS a ON a.attrelid = p.partrelid "
        f"AND a.attnum = p.partattrs[0] WHERE p.partstrat = 'r' AND p.partrelid = {regclass} "
        f"AND a.attname = {text(column)}"
    )
    largest = session.rows(
        f"SELECT relid::regclass::text AS name FROM pg_partition_tree({regclass}) "
        f"WHERE isleaf AND EXISTS ({of_column}) ORDER BY pg_relation_size(relid) DESC LIMIT 1"
    )
    return count_rows(session, f"{largest[0][0]} AS {looked.alias}") if largest else None


def declared_key(session: Session, looked: Looked, relation: Relation) -> tuple[str, ...]:
    """Columns of the primary key in its order, as far as the database tells."""
    if relation.table is None:
        return ()
    if looked.dialect.name == "sqlite":
        table = text(relation.table.rsplit(".", maxsplit=1)[-1])
        sql = f"SELECT name FROM pragma_table_info({table}) WHERE pk > 0 ORDER BY pk"
    elif looked.dialect.name == "postgresql":
        sql = (
            "SELECT a.attname::text AS name FROM pg_index AS x JOIN pg_attribute AS a "
            "ON a.attrelid = x.indrelid AND a.attnum = ANY(x.indkey) WHERE x.indisprimary "
            f"AND x.indrelid = to_regclass({text(looked.dialect.table(relation.table))}) "
            "ORDER BY array_position(x.indkey::int2[], a.attnum)"
        )
    elif is_mysql(looked.dialect.name):
        wanted = f"{_of_catalogue(relation.table)} AND constraint_name = 'PRIMARY'"
        tables = "information_schema.key_column_usage"
        sql = f"SELECT column_name FROM {tables} WHERE {wanted} ORDER BY ordinal_position"
    else:
        return ()
    return tuple(str(row[0]) for row in session.rows(sql))


def missing_time_index(
    session: Session, looked: Looked, relation: Relation, column: str, time: Comparable, *, leading: bool
) -> str | None:
    """What to do where no index finds rows by a column of times; None where one does, or none could.

    Parameters
    ----------
    leading
        the index begins with the column: of a table that is partitioned by it any index with it will do.
    """
    if time.shape in (Shape.UNKNOWN, Shape.NOTHING) or is_spark(looked.dialect.name):
        return None
    if has_index(session, looked.dialect, looked.item, time.condition(0, 1), leading=leading):
        return None
    return _remedy(session, looked, relation, (column,), (time.sql,))


def missing_id_index(
    session: Session, looked: Looked, relation: Relation, other: Looked, joined: Relation
) -> str | None:
    """What to do where no index finds rows by their id; None where one does.

    Parameters
    ----------
    other, joined
        the table that the ids are joined with, and its relation.
    """
    pairs = [
        (mine, theirs)
        for (_, mine), (_, theirs) in zip(relation.id_columns, joined.id_columns, strict=False)
        if mine in looked.types and theirs in other.types
    ]
    if not pairs or is_spark(looked.dialect.name):
        return None
    own = [f"{looked.ref(mine, 'id')}{_cast(looked, mine, other, theirs)}" for mine, theirs in pairs]
    wanted = " AND ".join(f"{one} = (SELECT {one} FROM {looked.item} LIMIT 1)" for one in own)
    if has_index(session, looked.dialect, looked.item, wanted):
        return None
    return _remedy(session, looked, relation, tuple(mine for mine, _ in pairs), tuple(own))


def _cast(looked: Looked, mine: str, other: Looked, theirs: str) -> str:
    """What the join casts ids of different types to."""
    ours, labels = (Relation(columns=(("id", name),)) for name in (theirs, mine))
    condition = same_id(ours, labels, other, looked).removeprefix(looked.ref(mine, "id"))
    return condition.partition(f" = {other.ref(theirs, 'id')}")[0]


def _remedy(
    session: Session, looked: Looked, relation: Relation, columns: Sequence[str], expressions: Sequence[str]
) -> str:
    if relation.table is None:
        return "make one in the tables behind the query"
    kind = _kind(session, looked, relation.table)
    if kind == "view":
        return "make one in the table behind the view"
    *_, table = relation.table.split(".")
    plain = re.sub(r"\W+", "_", f"{table}_{'_'.join(columns)}")[: _LONGEST_NAME - 4] + "_idx"
    long = _long_texts(session, looked, relation.table)
    keys = ", ".join(
        _key(looked, one) + ("(64)" if name in long else "")
        for name, one in zip(columns, expressions, strict=True)
    )
    postgres = looked.dialect.name == "postgresql"
    how = "INDEX CONCURRENTLY" if postgres and kind != "partitioned" else "INDEX"
    return (
        f"run: CREATE {how} {looked.dialect.quote(plain)} ON {looked.dialect.table(relation.table)} ({keys});"
    )


def _key(looked: Looked, expression: str) -> str:
    """An expression without the alias, in parentheses unless it is a column (and a collation)."""
    inner = expression.replace(f"{looked.alias}.", "", 1)
    column, collate, collation = inner.partition(" COLLATE ")
    name = column.removesuffix("::text")  # of a text: nothing
    if name != column and name in _quoted_texts(looked):
        column = name
    return f"{column if column in _quoted(looked) else f'({column})'}{collate}{collation}"


def _quoted(looked: Looked) -> set[str]:
    return {looked.dialect.quote(name) for name in looked.types}


def _quoted_texts(looked: Looked) -> set[str]:
    return {looked.dialect.quote(name) for name, kind in looked.types.items() if kind == "text"}


def _long_texts(session: Session, looked: Looked, table: str) -> set[str]:
    """Columns of which MariaDB indexes a prefix only."""
    if not is_mysql(looked.dialect.name):
        return set()
    wanted = f"{_of_catalogue(table)} AND data_type LIKE '%text'"
    rows = session.rows(f"SELECT column_name FROM information_schema.columns WHERE {wanted}")
    return {str(row[0]) for row in rows}


def _of_catalogue(table: str) -> str:
    schema, _, name = table.rpartition(".")
    owner = text(schema) if schema else "DATABASE()"
    return f"table_schema = {owner} AND table_name = {text(name)}"


def _kind(session: Session, looked: Looked, table: str) -> str:
    """view, partitioned, or table."""
    if looked.dialect.name == "sqlite":
        name = text(table.rsplit(".", maxsplit=1)[-1])
        sql = f"SELECT count(*) AS views FROM sqlite_master WHERE type = 'view' AND name = {name}"
        return "view" if session.rows(sql)[0][0] else "table"
    if looked.dialect.name == "postgresql":
        regclass = f"to_regclass({text(looked.dialect.table(table))})"
        found = session.rows(f"SELECT relkind::text AS kind FROM pg_class WHERE oid = {regclass}")
        return {"v": "view", "p": "partitioned"}.get(str(found[0][0]) if found else "", "table")
    if is_mysql(looked.dialect.name):
        sql = f"SELECT count(*) AS n FROM information_schema.views WHERE {_of_catalogue(table)}"
        return "view" if session.rows(sql)[0][0] else "table"
    return "table"
