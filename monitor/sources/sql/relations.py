"""A relation as the database knows it: columns, types, how times compare; when two ids are one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.core.errors import SourceError
from monitor.records.reading import ReadingOptions
from monitor.sources.engines.engine import Engine
from monitor.sources.sql.sql_names import suggest_name, title_of
from monitor.sources.sql.statements import OutputColumn, ReadSession, WantedKind
from monitor.sources.sql.time_ranges import ComparableTime, DayColumn, TimeColumn, TimeShape, TimesOfRows
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.specs.protocols import Range


@dataclass(frozen=True, slots=True)
class SurveyedRelation:
    """A relation as it stands now."""

    alias: str  # by which a statement qualifies its columns; `item` is the relation in FROM
    item: str
    title: str  # what messages call it
    types: Mapping[str, str]  # the database's types by column
    engine: Engine
    partition: tuple[str, str] | None = None  # role of a time, and the column of its days

    def partition_column(self, role: str) -> DayColumn | None:
        """Column of the days of a time, by which the relation is laid out, if it is configured.

        Raises
        ------
        SourceError
            if it is not there, or holds no days.
        """
        if self.partition is None or self.partition[0] != role:
            return None
        column = self.partition[1]
        ref, kind = self.qualified_ref(column, "partition"), self.types[column]
        found = self.engine.day_column(ref, kind)
        if found is None:
            raise SourceError(
                f'{self.title}: column "{column}" (partition) is of type {kind}: a partition is a '
                "date, a text (2026-01-31) or a number (20260131)"
            )
        return found

    def qualified_ref(self, column: str, role: str) -> str:
        """Qualified column.

        Raises
        ------
        SourceError
            if it is not there; the message names the nearest one.
        """
        if column not in self.types:
            raise SourceError(
                f'{self.title} has no column "{column}" ({role}){suggest_name(column, self.types)}'
            )
        return f"{self.alias}.{self.engine.quote_name(column)}"

    def output_column(
        self, want: WantedKind, role: str, column: str, *, unit: str | None = None
    ) -> OutputColumn:
        """Column of a SELECT that reads a role.

        Parameters
        ----------
        unit
            of integer epochs.

        Raises
        ------
        SourceError
            if it is not there, or its type cannot be read as what is wanted: names column and type.
        """
        return self.engine.output_column(
            want, role, self.qualified_ref(column, role), self.types[column], unit
        )


def survey_relation(session: ReadSession, engine: Engine, relation: Relation, alias: str) -> SurveyedRelation:
    """Look a relation up.

    Raises
    ------
    SourceError
        if there is no such table, or its condition is refused.
    """
    item, title = engine.relation_sql(relation, alias), title_of(relation)
    types = engine.types_of(session, Relation(table=relation.table, query=relation.query))
    if relation.where is not None:
        try:  # a relation that is sound without its condition: what is refused now is the condition
            session.describe_query(f"SELECT 1 AS one FROM {item} WHERE 1 = 0 LIMIT 0")
        except Exception as error:
            error.add_note(f"the condition `where` of {title}")  # its session tells it in our words
            raise
    day, dated = relation.column_of("partition"), relation.column_of("event_time")
    partition = None if day is None else ("event_time" if dated else "reported_at", day)
    return SurveyedRelation(alias, item, title, types, engine, partition)


def narrow_relation(
    survey: SurveyedRelation,
    relation: Relation,
    role: str,
    reading: ReadingOptions,
    ranges: Sequence[Range],
    *,
    undated: bool = False,
) -> SurveyedRelation:
    """A relation of which only the rows of some times are wanted, by the column of a role, if it has one."""
    column = relation.column_of(role)
    if column is None or column not in survey.types:
        return survey
    kind, unit = survey.types[column], reading.unit_of(role)
    partition = None
    if survey.partition is not None and survey.partition_column(role) is not None:
        partition = survey.partition[1], survey.types[survey.partition[1]]
    times = TimesOfRows(column, kind, unit, tuple(ranges), undated, reading.zone, partition)
    item = survey.engine.narrowed_sql(relation, survey.alias, times)
    return survey if item is None else replace(survey, item=item)


def id_join_condition(
    predictions: Relation, labels: Relation, there: SurveyedRelation, here: SurveyedRelation
) -> str:
    """Condition of the join, column by column; ids of different types are compared as numbers or as text."""
    ours = predictions.id_columns
    theirs = labels.id_columns or ours
    pairs = [
        there.engine.same_id(
            there.qualified_ref(name, role),
            here.qualified_ref(other, f"{role} of the labels"),
            there.types[name],
            here.types[other],
        )
        for (role, name), (_, other) in zip(ours, theirs, strict=True)
    ]
    return " AND ".join(pairs)


def exact_text_sql(survey: SurveyedRelation, column: str, role: str) -> str:
    """What to group by: equal where the column's texts are, whatever its collation holds equal."""
    return survey.engine.group_key(survey.qualified_ref(column, role), survey.types[column])


def make_comparable_time(
    session: ReadSession,
    survey: SurveyedRelation,
    column: str,
    role: str,
    reading: ReadingOptions,
    *,
    near: str | Range | None = None,
) -> ComparableTime:
    """Column of times, ready to be compared.

    Parameters
    ----------
    near
        where a server that does not know the type of its texts shall look at some: at times of a range, or
        at rows of a condition. Elsewhere only if there is none.

    Raises
    ------
    SourceError
        if the column is not there, or holds integers and no unit is configured.
    """
    ref, unit = survey.qualified_ref(column, role), reading.unit_of(role)
    days = survey.partition_column(role)
    time = ComparableTime(ref, TimeShape.UNKNOWN, unit=unit or "us", zone=reading.zone, days=days)
    time_column = TimeColumn(survey.item, survey.title, column, role, survey.types[column], unit, near)
    return survey.engine.comparable_time(session, time_column, time)


def make_event_time(
    session: ReadSession, survey: SurveyedRelation, model: ModelSpec, near: Range | None
) -> ComparableTime:
    """Event times of the predictions, ready to be compared near a range of time."""
    column = str(model.predictions.column_of("event_time"))
    return make_comparable_time(session, survey, column, "event_time", model.reading, near=near)


def drop_utc_offsets(
    session: ReadSession, survey: SurveyedRelation, time: ComparableTime, lo: int, hi: int
) -> ComparableTime:
    """Text whose offsets are all +00:00 in a range of time is not widened by them."""
    if not time.offsets:
        return time
    other = f"{time.sql} NOT LIKE '%+00:00' AND {time.sql} NOT LIKE '%Z'"
    sql = f"SELECT 1 AS one FROM {survey.item} WHERE ({time.range_condition(lo, hi)}) AND {other} LIMIT 1"
    return time if session.read_rows(sql) else replace(time, offsets=False)
