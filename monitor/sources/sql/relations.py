"""What the database says of its tables: columns and their types, and whether an index serves a condition."""

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from monitor.core.errors import SourceError
from monitor.sources.engines import columnar, mysql, spark
from monitor.sources.engines.engine import Dialect, text
from monitor.sources.sql.statements import Session
from monitor.specs.model import Relation

_BELOW_DOMAINS = (
    "WITH RECURSIVE d(type, base, kind) AS ("
    "SELECT oid, typbasetype, typtype FROM pg_type WHERE oid = c.type UNION ALL "
    "SELECT b.oid, b.typbasetype, b.typtype FROM pg_type AS b JOIN d ON b.oid = d.base"
    ") SELECT type, kind FROM d WHERE base = 0"
)
_LITERAL = re.compile(r"'(?:[^']|'')*'(::[a-z0-9_ ]+)?")  # whose type may be named as a column is


@dataclass(frozen=True, slots=True)
class Looked:
    """A relation as it stands now.

    Parameters
    ----------
    alias
        by which a statement qualifies its columns; `item` is the relation in FROM.
    title
        what messages call it.
    types
        the database's types by column.
    """

    alias: str
    item: str
    title: str
    types: Mapping[str, str]
    dialect: Dialect

    def ref(self, column: str, role: str) -> str:
        """Qualified column.

        Raises
        ------
        SourceError
            if it is not there; the message names the nearest one.
        """
        if column not in self.types:
            raise SourceError(f'{self.title} has no column "{column}" ({role}){nearest(column, self.types)}')
        return f"{self.alias}.{self.dialect.quote(column)}"


def look(session: Session, dialect: Dialect, relation: Relation, alias: str) -> Looked:
    """Look a relation up.

    Raises
    ------
    SourceError
        if there is no such table, or its condition is refused.
    """
    item, title = dialect.relation(relation, alias), title_of(relation)
    types = types_of(session, dialect, relation)
    if relation.where is not None:
        _require_condition(session, item, title)
    return Looked(alias, item, title, types, dialect)


def _require_condition(session: Session, item: str, title: str) -> None:
    """Of a relation that is sound without its condition: what is refused now is the condition."""
    try:
        session.described(f"SELECT 1 AS one FROM {item} WHERE 1 = 0 LIMIT 0")
    except Exception as error:
        error.add_note(f"the condition `where` of {title}")  # the driver's: its session tells it in our words
        raise


def title_of(relation: Relation) -> str:
    """What messages call a relation."""
    if relation.table is not None:
        return f'table "{relation.table}"'
    start = " ".join((relation.query or "").split())
    return f'query "{start[:40]}{"…" if len(start) > 40 else ""}"'


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggestion of the known name that looks most like it, or nothing."""
    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f'; did you mean "{by_lower[found[0]]}"?' if found else ""


def types_of(session: Session, dialect: Dialect, relation: Relation) -> dict[str, str]:
    """The database's types by column, in the table's order; lower case, empty where there are none."""
    whole = Relation(table=relation.table, query=relation.query)
    if dialect.name == "sqlite" and relation.table is not None:
        return _sqlite_types(session, dialect, relation.table)
    if relation.table is not None:
        _require_table(session, dialect, relation.table)
    if spark.is_spark(dialect.name) and relation.table is not None and not dialect.is_path(relation.table):
        session.settle(f"REFRESH TABLE {dialect.table(relation.table)}")  # else files of then are listed
    # no planner touches a table, or a partition of one, for a condition that is false
    described = session.described(f"SELECT * FROM {dialect.relation(whole, 'q')} WHERE 1 = 0 LIMIT 0")
    if dialect.name == "postgresql" and described:
        return _postgres_types(session, dialect, whole, list(described))
    if mysql.is_mysql(dialect.name):
        return mysql.types_of(described)
    if columnar.is_columnar(dialect.name):
        return {name: columnar.told(code) for name, code in described.items()}
    if spark.is_spark(dialect.name):
        return {name: str(kind) for name, kind in described.items()}
    return dict.fromkeys(described, "")


def has_index(session: Session, dialect: Dialect, item: str, condition: str, *, leading: bool = True) -> bool:
    """Whether an index finds the rows of a condition, as the planner says.

    Parameters
    ----------
    leading
        only one that begins with what the condition is about: any other is read whole.
    """
    sql = f"SELECT 1 FROM {item} WHERE {condition}"
    if dialect.name == "sqlite":
        plan = session.rows(f"EXPLAIN QUERY PLAN {sql}")
        return any(str(row[3]).startswith("SEARCH") and "(ANY(" not in str(row[3]) for row in plan)
    if dialect.name == "postgresql":
        settings = ("enable_seqscan", "enable_partition_pruning")  # a condition may hit no partition
        for setting in settings:
            session.settle(f"SET LOCAL {setting} = off")
        plan = session.rows(f"EXPLAIN (FORMAT JSON) {sql}")[0][0]
        for setting in settings:
            session.settle(f"SET LOCAL {setting} TO DEFAULT")
        used = list(_scans(json.loads(plan) if isinstance(plan, str) else plan))
        return any(not leading or _begins(session, *scan) for scan in used)
    if mysql.is_mysql(dialect.name):
        return '"possible_keys"' in str(session.rows(f"EXPLAIN FORMAT=JSON {sql}")[0][0])
    return False


def prunes(session: Session, dialect: Dialect, item: str, narrow: str, wide: str) -> bool:
    """Whether a narrow condition reads fewer partitions than a wide one, as the planner says."""
    if dialect.name != "postgresql":
        return False
    plans = (session.rows(f"EXPLAIN SELECT 1 FROM {item} WHERE {where}") for where in (narrow, wide))
    few, many = (sum(" on " in str(line[0]) for line in plan) for plan in plans)
    return few < many


def _scans(plan: object) -> Iterator[tuple[str, str]]:
    """Every index that a plan of PostgreSQL searches, and by which condition."""
    if isinstance(plan, dict) and {"Index Name", "Index Cond"} <= plan.keys():
        yield plan["Index Name"], plan["Index Cond"]
    below = plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ()
    for part in below:
        yield from _scans(part)


def _begins(session: Session, index: str, condition: str) -> bool:
    """Whether the condition is about the first column, or expression, of the index."""
    sql = "SELECT pg_get_indexdef(oid, 1, false) AS key FROM pg_class WHERE relkind = 'i' AND relname = "
    keys = (_LITERAL.sub("", str(row[0])) for row in session.rows(f"{sql}{text(index)}"))
    plain = _LITERAL.sub("", condition)
    return any(re.search(rf'(?<![\w"]){re.escape(_bare(key))}(?![\w"])', plain) for key in keys)


def _bare(key: str) -> str:
    return key[1:-1] if key.startswith("((") and key.endswith(")") else key


def tables(session: Session, dialect: Dialect) -> list[str]:
    """Names of the tables and views; of PostgreSQL those of other schemas with the schema."""
    if dialect.name == "sqlite":
        sql = "SELECT '' AS name UNION ALL SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        return sorted(str(row[0]) for row in session.rows(sql) if row[0])
    if mysql.is_mysql(dialect.name):
        schema = "IF(table_schema = DATABASE(), '', CONCAT(table_schema, '.'))"
        hidden = "'mysql', 'sys', 'information_schema', 'performance_schema'"
        sql = (
            f"SELECT CONCAT({schema}, table_name) AS name FROM information_schema.tables "
            f"WHERE table_schema NOT IN ({hidden})"
        )
        return sorted(str(row[0]) for row in session.rows(sql))
    if dialect.name != "postgresql":
        return []
    schema = "CASE WHEN table_schema IN ('public', current_schema()) THEN '' ELSE table_schema || '.' END"
    sql = (
        f"SELECT ({schema} || table_name)::text FROM information_schema.tables "
        "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
    )
    return sorted(str(row[0]) for row in session.rows(sql))


def _require_table(session: Session, dialect: Dialect, name: str) -> None:
    if mysql.is_mysql(dialect.name):
        schema, _, table = name.rpartition(".")
        sql = f"table_schema = {text(schema) if schema else 'DATABASE()'} AND table_name = {text(table)}"
        if not session.rows(f"SELECT 1 AS one FROM information_schema.tables WHERE {sql}"):
            raise _no_table(session, dialect, name)
    if dialect.name != "postgresql":
        return
    found = session.rows(f"SELECT (to_regclass({text(dialect.table(name))}) IS NOT NULL)::int")
    if found[0][0] != 1:
        raise _no_table(session, dialect, name)


def _no_table(session: Session, dialect: Dialect, name: str) -> SourceError:
    return SourceError(f'there is no table or view "{name}"{nearest(name, tables(session, dialect))}')


def _sqlite_types(session: Session, dialect: Dialect, name: str) -> dict[str, str]:
    *schema, table = name.split(".")
    owner = "".join(f"{dialect.quote(part)}." for part in schema)
    rows = session.rows(f"PRAGMA {owner}table_xinfo({dialect.quote(table)})")
    if not rows:
        raise _no_table(session, dialect, name)
    return {str(row[1]): str(row[2] or "").lower() for row in rows if row[6] != 1}


def _postgres_types(
    session: Session, dialect: Dialect, relation: Relation, names: list[str]
) -> dict[str, str]:
    """Types of the columns, which the planner knows without a row; domains are taken off."""
    listed = ", ".join(f"({at}, pg_typeof(q.{dialect.quote(name)})::oid)" for at, name in enumerate(names))
    sql = (
        "SELECT (CASE t.kind WHEN 'e' THEN 'enum' ELSE format_type(t.type, NULL) END)::text AS type "
        f"FROM (SELECT 1) AS one LEFT JOIN {dialect.relation(relation, 'q')} ON false "
        f"CROSS JOIN LATERAL (VALUES {listed}) AS c(at, type) "
        f"CROSS JOIN LATERAL ({_BELOW_DOMAINS}) AS t ORDER BY c.at"
    )
    return {name: str(row[0]) for name, row in zip(names, session.rows(sql), strict=True)}
