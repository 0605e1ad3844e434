"""Ranges of time as intervals of what a column holds: integers, timestamps, text. Widened, never narrowed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TypeVar
from zoneinfo import ZoneInfo

from monitor.core.clock import DAY, MINUTE, SECOND, from_datetime, from_iso, to_datetime
from monitor.core.errors import SourceError
from monitor.records.parsed_times import filter_main_format
from monitor.sources.sql.statements import ReadSession
from monitor.specs.protocols import Range

SAMPLES = 100  # values that are looked at
Interval = tuple[str, str]
T = TypeVar("T", int, str)

FACTORS = {"s": SECOND, "ms": 1_000, "us": 1}  # microseconds of a unit of integers
_TEXT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(?P<zone>Z|[+-]\d\d(:?\d\d)?)?)?")
_FIRST, _LAST = from_iso("0001-01-03"), from_iso("9999-12-29")


class TimeShape(StrEnum):
    """How a column of times is compared. UNKNOWN: not at all, parsing decides. NOTHING: it has no values."""

    EPOCH = "epoch"
    TEXT = "text"
    INSTANT = "instant"
    NAIVE = "naive"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


class DayShape(StrEnum):
    """How a column of days is written: a date that needs its type's name, a text or date, digits."""

    DATE = "date"
    TEXT = "text"
    DIGITS = "digits"


@dataclass(frozen=True, slots=True)
class DayColumn:
    """A column that says in which partition a row lies: the day of its time, in any zone."""

    sql: str
    shape: DayShape

    def within(self, lo: int, hi: int) -> str:
        """Condition of the days of a range of time, and one on either side."""
        first, last = map(self._literal, partition_days(lo, hi))
        return f"{self.sql} >= {first} AND {self.sql} <= {last}"

    def outside(self, lo: int, hi: int) -> str:
        """Condition of days that times outside of a range may have."""
        last, first = map(self._literal, partition_days(lo + 2 * DAY, hi - 2 * DAY))
        return f"({self.sql} <= {last} OR {self.sql} >= {first} OR {self.sql} IS NULL)"

    def _literal(self, day: date) -> str:
        if self.shape is DayShape.DIGITS:
            return f"{day:%Y%m%d}"
        return f"DATE '{day}'" if self.shape is DayShape.DATE else f"'{day}'"


def partition_days(lo: int, hi: int) -> tuple[date, date]:
    """First and last day of the partitions that may hold a range of time, whatever their zone."""
    first, last = (min(max(edge, _FIRST), _LAST) for edge in (lo - DAY, hi - 1 + DAY))
    return to_datetime(first).date(), to_datetime(last).date()


def is_partition_of(text: str | None, us: int) -> bool:
    """Whether a partition's text is the day of a moment, in whatever zone.

    >>> days = "2026-01-02", "20251231", "2026-01-03", "eu"
    >>> [is_partition_of(day, from_iso("2026-01-01T12:00")) for day in days]
    [True, True, False, False]
    """
    try:
        day = datetime.fromisoformat((text or "")[:10]).replace(tzinfo=UTC)
    except ValueError:
        return False
    return -DAY <= us - from_datetime(day) < 2 * DAY


@dataclass(frozen=True, slots=True)
class ComparableTime:
    """A column of times that can be compared."""

    sql: str  # what the intervals' literals are compared with
    shape: TimeShape
    unit: str = "us"  # of EPOCH; `zone` is that of naive times; `offsets`: texts bear offsets other than Z
    zone: str = "UTC"
    offsets: bool = False
    # condition of rows that are no times and hence in no interval, where there may be any.
    odd: str | None = None
    literal: str = "TIMESTAMP"  # what stands before one of NAIVE; before DATE, days are compared
    days: DayColumn | None = None  # of its table's partitions

    @property
    def missing_condition(self) -> str:
        """Condition of rows without a time: NULL, or what the database can tell to be none."""
        null = f"{self.sql} IS NULL"
        return null if self.odd is None else f"{null} OR {self.odd}"

    def interval_literals(self, ranges: Sequence[Range]) -> list[Interval]:
        """Disjoint half-open intervals, as SQL literals, that hold every time of the ranges.

        An empty list says that there is nothing to read; UNKNOWN has no intervals at all.
        """
        return self._range_literals(self._widen_ranges(ranges))

    def interval_condition(self, interval: Interval) -> str:
        """Condition of one interval."""
        return f"{self.sql} >= {interval[0]} AND {self.sql} < {interval[1]}"

    def range_condition(self, lo: int, hi: int) -> str:
        """Condition of one range of time, widened; what says the moment before its beginning is not in it.

        So a search for what is newer does not find the newest again, which may be a whole batch.
        """
        return self.within_days(self._moments_condition(lo, hi), (lo, hi))

    def within_days(self, condition: str, *ranges: Range) -> str:
        """A condition, of the partitions alone that hold some ranges of time."""
        if self.days is None or not ranges:
            return condition
        return f"({condition}) AND ({' OR '.join(self.days.within(lo, hi) for lo, hi in ranges)})"

    def _moments_condition(self, lo: int, hi: int) -> str:
        if self.shape is TimeShape.EPOCH and lo < hi:
            return self._partial_unit_condition(lo, self._widen_ranges([(lo, hi)])[0][1])
        if self.shape is TimeShape.UNKNOWN:
            return "1 = 1"
        return self._without_moment(lo - 1, self.any_interval_condition(self.interval_literals([(lo, hi)])))

    def part_condition(self, span: Range, piece: Range) -> str:
        """Condition of a piece of a range of time.

        Pieces that make up the range hold together what `condition` holds, each row once, whatever its time
        is: the range is widened, its cuts are not.
        """
        return self.within_days(self._piece_condition(span, piece), piece)

    def _piece_condition(self, span: Range, piece: Range) -> str:
        if self.shape is TimeShape.UNKNOWN:
            return "1 = 1"
        for first, last in self._widen_ranges([span]):
            unit = FACTORS[self.unit]
            least = first if self.shape is not TimeShape.EPOCH else ((span[0] - 1) // unit + 1) * unit
            lo = first if piece[0] <= span[0] else self._cut_moment(piece[0], least, last)
            hi = last if piece[1] >= span[1] else self._cut_moment(piece[1], least, last)
            if self.shape is TimeShape.EPOCH and piece[0] <= span[0]:
                return self._partial_unit_condition(span[0], hi)
            return self._without_moment(
                span[0] - 1, self.any_interval_condition(self._range_literals([(lo, hi)] if lo < hi else []))
            )
        return "1 = 0"

    def _without_moment(self, us: int, condition: str) -> str:
        """Condition without the texts of a moment, where it is known how they would be written."""
        first, last = local_ranges([(us, us + 1)], self.zone)[0]
        if self.shape is not TimeShape.TEXT or self.offsets or last - first > 1 or not _FIRST < us < _LAST:
            return condition
        zones = ("", "Z") if self.zone == "UTC" else ("",)
        said = ", ".join(f"'{text}{zone}'" for text in _moment_texts(first) for zone in zones)
        return f"({condition}) AND {self.sql} NOT IN ({said})"

    def _partial_unit_condition(self, lo: int, end: int) -> str:
        """Condition of numbers from a moment on, before the end of a unit.

        A fraction is rounded to a microsecond, so that one from lo on is greater than lo - 1.
        """
        unit = FACTORS[self.unit]
        return f"({self.sql} > {(lo - 1) // unit} AND {self.sql} < {end // unit})"

    def odd_rows_condition(self, span: Range) -> str | None:
        """Condition of rows beside a range of time that are no times, where there may be any.

        Of texts, those that sort where no ISO time of other years does: before 1900 or after 2099, as `n/a`
        and `03/01/2013` do, or after the days of the range's last year, as `2013/03/01` does.
        """
        if self.odd is None or self.shape is not TimeShape.TEXT:
            return None if self.shape is TimeShape.UNKNOWN else self.odd
        beside = _intervals_beside(text_intervals(self._widen_ranges([span])))
        conditions = []
        for lo, hi in beside:
            # An empty text is an end that is open.
            ends = [f"{self.sql} >= '{lo}'"] if lo else []
            ends += [f"{self.sql} < '{hi}'"] if hi else []
            conditions.append(f"({' AND '.join(ends)} AND {self.odd})")
        return " OR ".join(conditions)

    def exclusion_condition(self, span: Range) -> str:
        """Condition of times outside of a range that is widened: infinite ones too, but not what is no time.

        Two comparisons with one column, so that an index finds them. Of times that parsing alone understands
        none.
        """
        intervals = self.interval_literals([span])
        if not intervals:
            return "1 = 0"
        outside = f"({self.sql} < {intervals[0][0]} OR {self.sql} >= {intervals[-1][1]})"
        if self.days is not None:
            outside = f"{outside} AND {self.days.outside(*span)}"
        return outside if self.odd is None else f"{outside} AND NOT ({self.odd})"

    def any_interval_condition(self, intervals: Sequence[Interval]) -> str:
        """Condition of some intervals."""
        return (
            " OR ".join(f"({self.interval_condition(interval)})" for interval in intervals)
            if intervals
            else "1 = 0"
        )

    def _widen_ranges(self, ranges: Sequence[Range]) -> list[Range]:
        """Disjoint ranges of what the column says, as microseconds, that hold every time of the ranges."""
        merged = merge_ranges([span for span in ranges if span[0] < span[1]])
        match self.shape:
            case TimeShape.EPOCH:
                unit = FACTORS[self.unit]
                return merge_ranges(
                    # A unit more at either end: a fraction of one may be cut off, or rounded, before it is
                    # compared.
                    [((lo // unit - 1) * unit, (-(-hi // unit) + 1) * unit) for lo, hi in merged]
                )
            case TimeShape.INSTANT:
                return merged
            case TimeShape.TEXT if self.offsets:
                # An offset moves what is written by less than a day.
                return merge_ranges([(lo - DAY, hi + DAY) for lo, hi in merged])
            case TimeShape.NAIVE | TimeShape.TEXT:
                return local_ranges(merged, self.zone)
            case _:
                return []

    def _range_literals(self, wide: Sequence[Range]) -> list[Interval]:
        match self.shape:
            case TimeShape.EPOCH:
                unit = FACTORS[self.unit]
                return [(str(lo // unit), str(hi // unit)) for lo, hi in wide]
            case TimeShape.INSTANT:
                return [
                    (_time_literal("TIMESTAMPTZ", lo, "+00"), _time_literal("TIMESTAMPTZ", hi, "+00"))
                    for lo, hi in wide
                ]
            case TimeShape.NAIVE if self.literal == "DATE":
                # A day lies in a range that its midnight lies in.
                days = [(-(-lo // DAY) * DAY, -(-hi // DAY) * DAY) for lo, hi in wide]
                return [(_day_literal(lo), _day_literal(hi)) for lo, hi in days]
            case TimeShape.NAIVE:
                return [
                    (_time_literal(self.literal, lo, ""), _time_literal(self.literal, hi, ""))
                    for lo, hi in wide
                ]
            case _:
                return [(f"'{lo}'", f"'{hi}'") for lo, hi in text_intervals(wide)]

    def _cut_moment(self, us: int, first: int, last: int) -> int:
        step = {TimeShape.EPOCH: FACTORS[self.unit], TimeShape.TEXT: MINUTE}.get(self.shape, 1)
        return min(max(us // step * step, first), last)


def merge_ranges(ranges: Sequence[tuple[T, T]]) -> list[tuple[T, T]]:
    """Ranges, or intervals of text, in order, those that touch made one."""
    result: list[tuple[T, T]] = []
    for lo, hi in sorted(ranges):
        if result and lo <= result[-1][1]:
            result[-1] = (result[-1][0], max(hi, result[-1][1]))
        else:
            result.append((lo, hi))
    return result


def close_smallest_gaps(ranges: Sequence[Range], most: int) -> list[Range]:
    """At most so many ranges that hold the given ones: the smallest gaps are closed."""
    merged = merge_ranges(ranges)
    if len(merged) <= most:
        return merged
    gaps = sorted(range(1, len(merged)), key=lambda at: merged[at][0] - merged[at - 1][1])
    closed = set(gaps[: len(merged) - most])
    starts = [at for at in range(len(merged)) if at not in closed]
    ends = [*(at - 1 for at in starts[1:]), len(merged) - 1]
    return [(merged[first][0], merged[last][1]) for first, last in zip(starts, ends, strict=True)]


def local_ranges(ranges: Sequence[Range], zone: str) -> list[Range]:
    """Naive times of the zone that read as the ranges' instants; near a change of clocks, wider."""
    if zone == "UTC":
        return merge_ranges(ranges)
    return merge_ranges(
        [(lo + min(_zone_offsets(lo, zone)), hi + max(_zone_offsets(hi, zone))) for lo, hi in ranges]
    )


def text_intervals(ranges: Sequence[Range]) -> list[Interval]:
    """Intervals of ISO text: from a second to a minute, both separators, prefixes of what is written.

    `…00Z` sorts after `…00.5Z`, `00:00Z` after `00:00:30Z`, and ` ` before `T`: hence bounds are prefixes, a
    whole day is bounded by its date alone, and a part of a day has an interval for each separator. Ranges
    that touch at a whole minute have intervals that touch: no text lies between them.
    """
    intervals: list[Interval] = []
    for lo, hi in ranges:
        first, last = max(lo, _FIRST) // SECOND * SECOND, -(-min(hi, _LAST) // MINUTE) * MINUTE
        intervals.extend(_text_intervals(first, last))
    return merge_ranges(intervals)


def text_zones(samples: Sequence[str]) -> set[str]:
    """How the ISO times among the samples end: "", "Z" or an offset. Empty where none is a time."""
    matches = (_TEXT.fullmatch(sample) for sample in samples)
    return {match["zone"] or "" for match in matches if match}


def _text_intervals(lo: int, hi: int) -> list[Interval]:
    if lo >= hi:
        return []
    midnight = -(-lo // DAY) * DAY
    if hi <= midnight:
        return _day_part_intervals(lo, hi)
    last = hi // DAY * DAY
    days = [(_date_text(midnight), _date_text(last))] if last > midnight else []
    head = _day_part_intervals(lo, midnight) if lo < midnight else []
    return [*head, *days, *(_day_part_intervals(last, hi) if hi > last else [])]


def _day_part_intervals(lo: int, hi: int) -> list[Interval]:
    day = _date_text(lo)
    starts = (day, f"{day}T") if lo % DAY == 0 else (f"{day} {_time_text(lo)}", f"{day}T{_time_text(lo)}")
    ends = (
        (f"{day}T", _date_text(hi))
        if hi % DAY == 0
        else (f"{day} {_time_text(hi)}", f"{day}T{_time_text(hi)}")
    )
    return list(zip(starts, ends, strict=True))


def _intervals_beside(window: Sequence[Interval]) -> list[Interval]:
    """Intervals of texts, outside of a window's, that no ISO time of other years lies in; "": no bound."""
    if not window:
        return []
    year = int(window[-1][1][:4])
    gaps = [("1999-A", "2000-"), (f"{year:04}-A", f"{year + 1:04}-")]
    outside = {gap for gap in gaps if not any(lo <= gap[0] < hi for lo, hi in window)}
    return [("", min("1900-", window[0][0])), *sorted(outside), (max("2100-", window[-1][1]), "")]


def _date_text(us: int) -> str:
    return to_datetime(us).date().isoformat()


def _time_text(us: int) -> str:
    return to_datetime(us).strftime("%H:%M:%S" if us % MINUTE else "%H:%M")


def _moment_texts(us: int) -> list[str]:
    """Texts of a moment without a zone: a day, or to the minute, second, … if it is one."""
    moment = to_datetime(us).replace(tzinfo=None)
    units = {"minutes": MINUTE, "seconds": SECOND, "milliseconds": 1_000, "microseconds": 1}
    sentences = [unit for unit, step in units.items() if us % step == 0]
    day = [] if us % DAY else [_date_text(us)]
    return [*day, *(moment.isoformat(separator, unit) for unit in sentences for separator in " T")]


def _time_literal(kind: str, us: int, zone: str) -> str:
    moment = to_datetime(min(max(us, _FIRST), _LAST)).replace(tzinfo=None)
    return f"{kind} '{moment.isoformat(sep=' ', timespec='microseconds')}{zone}'"


def _day_literal(us: int) -> str:
    return f"DATE '{_date_text(min(max(us, _FIRST), _LAST))}'"


def _zone_offsets(us: int, zone: str) -> list[int]:
    moments = (to_datetime(min(max(us + shift, _FIRST), _LAST)) for shift in (-DAY, 0, DAY))
    offsets = (moment.astimezone(ZoneInfo(zone)).utcoffset() for moment in moments)
    return [(offset or timedelta()) // timedelta(microseconds=1) for offset in offsets]


@dataclass(frozen=True, slots=True)
class TimesOfRows:
    """Rows wanted by a column of times: those of half-open ranges; `undated`: those of no time, too."""

    column: str
    kind: str  # the engine's type of it
    unit: str | None  # of integers, as configured
    ranges: tuple[Range, ...]
    undated: bool
    zone: str = "UTC"  # of times without one
    # column of their days, by which the table is laid out, and the engine's type of it
    partition: tuple[str, str] | None = None


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
