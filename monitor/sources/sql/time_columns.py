"""How a column of times can be compared: from the database's type, or from a look at some values."""

from dataclasses import replace

from monitor.records.reading import ReadingOptions
from monitor.sources.sql.relations import SurveyedRelation
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape
from monitor.sources.sql.time_shapes import TimeColumn
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Range


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
    time = ComparableTime(ref, TimeShape.UNKNOWN, unit=unit or "us", zone=reading.zone)
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
