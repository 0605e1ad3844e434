"""Indexes that the monitor's queries want, and the statement that makes one that is missing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.sources.sql.relations import SurveyedRelation, id_join_condition
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape
from monitor.specs.model_spec import Relation

MANY = 10_000  # rows from which on an index matters
_COUNTED = 1_000_000  # rows are counted up to here
_LONGEST_NAME = 63  # of PostgreSQL; MySQL takes 64


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many rows there are; `more`: at least so many."""

    n: int
    more: bool = False

    def __str__(self) -> str:
        return f"more than {self.n:,}" if self.more else f"{self.n:,}"


def count_rows(session: ReadSession, item: str, condition: str = "1 = 1", most: int = _COUNTED) -> RowCount:
    """Count rows, and stop counting at `most`."""
    inner = f"SELECT 1 AS one FROM {item} WHERE {condition} LIMIT {most + 1}"
    n = int(session.read_rows(f"SELECT count(*) AS n FROM ({inner}) AS few")[0][0])
    return RowCount(min(n, most), n > most)


def count_partition_rows(
    session: ReadSession, survey: SurveyedRelation, relation: Relation, column: str
) -> RowCount | None:
    """Rows of the largest partition of a table that is partitioned by a column of times."""
    if relation.table is None:
        return None
    largest = survey.engine.largest_partition(session, relation.table, column)
    return None if largest is None else count_rows(session, f"{largest} AS {survey.alias}")


def declared_key(session: ReadSession, survey: SurveyedRelation, relation: Relation) -> tuple[str, ...]:
    """Columns of the primary key in its order, as far as the database tells."""
    return () if relation.table is None else survey.engine.primary_key(session, relation.table)


def advise_time_index(
    session: ReadSession,
    survey: SurveyedRelation,
    relation: Relation,
    column: str,
    time: ComparableTime,
    *,
    leading: bool,
) -> str | None:
    """What to do where no index finds rows by a column of times; None where one does, or none could.

    Parameters
    ----------
    leading
        the index begins with the column: of a table that is partitioned by it any index with it will do.
    """
    if time.shape in (TimeShape.UNKNOWN, TimeShape.NOTHING) or not survey.engine.has_indexes:
        return None
    if survey.engine.can_use_index(session, survey.item, time.range_condition(0, 1), leading=leading):
        return None
    return _index_remedy(session, survey, relation, (column,), (time.sql,))


def advise_id_index(
    session: ReadSession,
    survey: SurveyedRelation,
    relation: Relation,
    other: SurveyedRelation,
    joined: Relation,
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
        if mine in survey.types and theirs in other.types
    ]
    if not pairs or not survey.engine.has_indexes:
        return None
    keys = [
        f"{survey.qualified_ref(mine, 'id')}{_join_cast(survey, mine, other, theirs)}"
        for mine, theirs in pairs
    ]
    wanted = " AND ".join(f"{key} = (SELECT {key} FROM {survey.item} LIMIT 1)" for key in keys)
    if survey.engine.can_use_index(session, survey.item, wanted):
        return None
    return _index_remedy(session, survey, relation, [mine for mine, _ in pairs], keys)


def _join_cast(survey: SurveyedRelation, mine: str, other: SurveyedRelation, theirs: str) -> str:
    """What the join casts ids of different types to."""
    ours, labels = (Relation(columns=(("id", name),)) for name in (theirs, mine))
    condition = id_join_condition(ours, labels, other, survey).removeprefix(survey.qualified_ref(mine, "id"))
    return condition.partition(f" = {other.qualified_ref(theirs, 'id')}")[0]


def _index_remedy(
    session: ReadSession,
    survey: SurveyedRelation,
    relation: Relation,
    columns: Sequence[str],
    expressions: Sequence[str],
) -> str:
    if relation.table is None:
        return "make one in the tables behind the query"
    kind = survey.engine.kind_of_table(session, relation.table)
    if kind == "view":
        return "make one in the table behind the view"
    *_, table = relation.table.split(".")
    plain = re.sub(r"\W+", "_", f"{table}_{'_'.join(columns)}")[: _LONGEST_NAME - 4] + "_idx"
    long = survey.engine.prefixed_columns(session, relation.table)
    keys = ", ".join(
        _index_key(survey, expression) + ("(64)" if name in long else "")
        for name, expression in zip(columns, expressions, strict=True)
    )
    how = survey.engine.index_clause(kind)
    return (
        f"run: CREATE {how} {survey.engine.quote_name(plain)} ON "
        f"{survey.engine.quote_table(relation.table)} ({keys});"
    )


def _index_key(survey: SurveyedRelation, expression: str) -> str:
    """An expression without the alias, in parentheses unless it is a column (and a collation)."""
    inner = expression.replace(f"{survey.alias}.", "", 1)
    column, collate, collation = inner.partition(" COLLATE ")
    types = {survey.engine.quote_name(name): kind for name, kind in survey.types.items()}
    if types.get(column.removesuffix("::text")) == "text":  # where the cast does nothing
        column = column.removesuffix("::text")
    return f"{column if column in types else f'({column})'}{collate}{collation}"
