"""What a look at some values tells of a column of times: the parts that engines put together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from monitor.core.errors import SourceError
from monitor.records.parsed_times import filter_main_format
from monitor.sources.sql.statements import ReadSession
from monitor.sources.sql.time_ranges import ComparableTime, TimeShape, text_zones
from monitor.specs.protocols import Range

SAMPLES = 100  # values that are looked at


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column of times that nobody has compared yet."""

    # item, title: its relation in FROM, and what messages call it.
    item: str
    title: str
    column: str
    role: str
    kind: str  # the database's type
    unit: str | None = None  # of integers, as configured; None: none is
    # times of a range, or a condition of rows, near which texts are looked at.
    near: str | Range | None = None


def shape_utc_times(time: ComparableTime, *, zoned: bool) -> ComparableTime:
    """Times of a session in UTC; those without a zone are of the configured one."""
    return replace(time, shape=TimeShape.NAIVE, zone="UTC" if zoned else time.zone)


def shape_epoch_times(time_column: TimeColumn, time: ComparableTime) -> ComparableTime:
    """Integers of a unit.

    Raises
    ------
    SourceError
        if no unit is configured.
    """
    if time_column.unit is None:
        raise SourceError(
            f'{time_column.title}: column "{time_column.column}" ({time_column.role}) holds integers: '
            f'say their unit, as in {time_column.role}_unit = "ms"'
        )
    return replace(time, shape=TimeShape.EPOCH)


def shape_by_values(session: ReadSession, time_column: TimeColumn, time: ComparableTime) -> ComparableTime:
    """What a look at some values tells, where the database's types do not."""
    values = sample_values(session, time_column.item, time.sql)
    if not values:
        return replace(time, shape=TimeShape.NOTHING)
    first = values[0]
    if isinstance(first, date):
        zoned = isinstance(first, datetime) and first.tzinfo is not None
        return replace(time, shape=TimeShape.INSTANT if zoned else TimeShape.NAIVE)
    if isinstance(first, str):
        return time if time_column.unit is not None else shape_by_texts(time, values, None)
    return shape_epoch_times(time_column, time)


def sample_texts_near(session: ReadSession, time_column: TimeColumn, time: ComparableTime) -> list[object]:
    """Some texts of the rows that are asked for, to touch no others; of any, if these have none."""
    near = time_column.near
    if isinstance(near, tuple):
        near = replace(time, shape=TimeShape.TEXT, offsets=True).range_condition(*near)
    some = sample_values(session, time_column.item, time.sql, near) if near else []
    return some or sample_values(session, time_column.item, time.sql)


def sample_values(session: ReadSession, item: str, sql: str, where: str = "1 = 1") -> list[object]:
    """Some values that are there, of the rows of a condition."""
    there = f"WHERE {sql} IS NOT NULL AND ({where})"
    return [row[0] for row in session.read_rows(f"SELECT {sql} AS value FROM {item} {there} LIMIT {SAMPLES}")]


def shape_by_texts(time: ComparableTime, values: Sequence[object], odd: str | None) -> ComparableTime:
    """Shape of a column of texts.

    Parameters
    ----------
    odd
        condition of texts that are no times, where the engine can say one.
    """
    if not values:
        return replace(time, shape=TimeShape.NOTHING)
    zones = text_zones(filter_main_format([str(value) for value in values]))
    if not zones:
        return replace(time, odd=odd)
    time = replace(time, shape=TimeShape.TEXT, odd=odd, offsets=not zones <= {"", "Z"})
    return time if zones == {""} else replace(time, zone="UTC")
