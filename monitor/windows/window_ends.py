"""Which windows are there, when calendar units begin, which earlier spans are compared? UTC microseconds."""

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from monitor.core.clock import (
    DAY,
    HOUR,
    floor_to,
    format_duration,
    from_datetime,
    parse_duration,
    to_datetime,
)

LONGEST = {"day": 1, "week": 7, "month": 31, "quarter": 92}  # days
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(2000, 1, 1), date(2040, 1, 1)
PREVIOUS = "previous"
WEEK = 7 * DAY
SEASONS = {"week": 1, "year": 52}  # weeks of a period: a year of 52 keeps its weekdays
FEWEST_PERIODS = 3  # two are as far from each other as each from the other
_MOST_PERIODS = 8


def hour_length(pane: int) -> int | None:
    """Length of what is judged as an hour, microseconds: an hour, or a pane that is longer.

    None: neither, as panes are days, or no whole ones make an hour or a week.

    >>> [hour_length(pane) and hour_length(pane) // HOUR for pane in (HOUR // 4, 3 * HOUR, DAY)]
    [1, 3, None]
    """
    unit = max(HOUR, pane)
    return unit if unit < DAY and unit % pane == 0 and WEEK % unit == 0 else None


def floor_to_unit(unit: str, zone: str, moment: int) -> int:
    """Latest start of a unit at or before a moment.

    A unit begins at its first day's midnight; at the change of the clocks where that leaves midnight out, at
    the first of two midnights where it comes twice.
    """
    local = ZoneInfo(zone)
    first = _first_day(unit, to_datetime(moment).astimezone(local).date())
    # Where midnight comes twice, clocks show the day before once more after the first: the next unit has
    # begun by then.
    following = _local_midnight(_next_unit(unit, first), local)
    return following if following <= moment else _local_midnight(first, local)


def count_epoch_days(start: int, zone: str) -> int:
    """Days from 1970-01-01 to a day's date.

    >>> from monitor.core.clock import DAY, HOUR
    >>> count_epoch_days(2 * DAY - HOUR, "Europe/Vienna")
    2
    """
    return to_datetime(start).astimezone(ZoneInfo(zone)).date().toordinal() - _EPOCH


def shift_back_weeks(moment: int, weeks: int, zone: str) -> int:
    """Return the same time of the same weekday in a zone, some weeks before."""
    return from_datetime(to_datetime(moment).astimezone(ZoneInfo(zone)) - timedelta(weeks=weeks))


@lru_cache(maxsize=256)
def largest_pane(unit: str, zone: str) -> int:
    """Width of the largest pane that divides every start of a unit in the years 2000 to 2039.

    It is a day in UTC; elsewhere the zone's offsets decide, and it always divides a day.

    >>> largest_pane("month", "Asia/Kolkata") == 30 * 60 * 1_000_000
    True
    """
    return math.gcd(*_unit_starts(unit, zone))


@lru_cache(maxsize=256)
def longest_unit_length(unit: str, zone: str) -> int:
    """Longest unit in the years 2000 to 2039; one that holds the end of summer time has an hour more."""
    return max(later - earlier for earlier, later in pairwise(_unit_starts(unit, zone)))


def _unit_starts(unit: str, zone: str) -> list[int]:
    local, starts, day = ZoneInfo(zone), [], _first_day(unit, _FIRST)
    while day < _LAST:
        starts.append(_local_midnight(day, local))
        day = _next_unit(unit, day)
    return starts


def _first_day(unit: str, day: date) -> date:
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case _:
            return day


def _next_unit(unit: str, first: date) -> date:
    # The longest unit's length leads into the next one, whatever this one has, and never beyond it.
    return _first_day(unit, first + timedelta(days=LONGEST[unit]))


def _local_midnight(day: date, zone: ZoneInfo) -> int:
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=zone))


@dataclass(frozen=True, slots=True)
class Window:
    """A kind of window: a length and the step at which its ends fall, or a calendar unit."""

    name: str  # as configured: "7d", "month"
    length: int  # microseconds; of a calendar unit the longest one
    step: int  # microseconds; 0 for calendar units, whose ends are those of the calendar
    # IANA name of the model's zone: of calendar units, and of "the same hours" of earlier weeks.
    zone: str = "UTC"

    @property
    def is_calendar(self) -> bool:
        """Whether the windows are calendar units."""
        return self.step == 0

    def newest_end(self, moment: int) -> int:
        """Latest end at or before a moment."""
        if self.is_calendar:
            return floor_to_unit(self.name, self.zone, moment)
        return floor_to(moment, self.step)

    def start_of(self, end: int) -> int:
        """Start of the window that ends at `end`."""
        return self.newest_end(end - 1) if self.is_calendar else end - self.length

    def middle_of(self, end: int) -> float:
        """Middle of the window that ends at `end`: where it stands on an axis of time."""
        return (self.start_of(end) + end) / 2

    def days_of(self, end: int) -> list[int]:
        """Starts of the days of the zone that the window which ends at `end` reaches into, newest first."""
        starts, start = [end], self.start_of(end)
        while starts[-1] > start:
            starts.append(floor_to_unit("day", self.zone, starts[-1] - 1))
        return starts[1:]

    def previous_end(self, end: int) -> int:
        """Return the end before `end`."""
        return self.start_of(end) if self.is_calendar else end - self.step

    def kept_ends(self, after: int, until: int) -> list[int]:
        """Ends in (after, until] that are kept, newest first: the first of each UTC day, or all units'."""
        if self.is_calendar:
            ends, end = [], self.newest_end(until)
            while end > after:
                ends.append(end)
                end = self.start_of(end)
            return ends
        width = max(DAY, self.step)
        firsts = (
            -(-at // self.step) * self.step for at in range(floor_to(until, width), after - width, -width)
        )
        return [end for end in firsts if after < end <= until]

    def stands_apart(self, end: int) -> bool:
        """Whether a kept window is one of those that do not overlap one another, counted from 1970 on.

        >>> week = parse_window("7d", HOUR)
        >>> [week.stands_apart(day * DAY) for day in range(7, 15)].count(True)
        2
        """
        if self.is_calendar:
            return True
        width = max(DAY, self.step)
        # By so much the first end of a day may lie before its day's begin.
        early = self.step if width % self.step else 0
        return end // width % -(-(self.length + early) // width) == 0

    def earlier_span(self, end: int, back: int, season: str = "week") -> tuple[int, int]:
        """Start and end of the same local hours before a window: whole weeks or years, at least its length.

        Parameters
        ----------
        back
            1: the nearest such weeks, 2: those before them, …; windows up to a week go back 1, 2, … weeks.
        season
            what is whole: one of `SEASONS`.
        """
        weeks = back * count_shift_weeks(self.name, season)
        start, end = (shift_back_weeks(at, weeks, self.zone) for at in (self.start_of(end), end))
        return start, end


def parse_window(name: str, pane: int, step: int | None = None, zone: str = "UTC") -> Window:
    """Window of its configured name.

    Raises
    ------
    ValueError
        if the name is neither a duration nor a calendar unit, length or step are no multiples of the pane, or
        the pane does not divide every end of the calendar unit in the zone.

    >>> parse_window("7d", HOUR).step // HOUR
    6
    """
    if name in LONGEST:
        largest = largest_pane(name, zone)
        if largest % pane:
            fitting = format_duration(largest)
            raise ValueError(f'window "{name}": the pane must divide every end in {zone}, as {fitting} does')
        return Window(name, longest_unit_length(name, zone), 0, zone)
    length = parse_duration(name)
    # A step is a small part of its window: what is measured again sooner is nearly the same.
    if length <= DAY:
        default = HOUR
    elif length <= 7 * DAY:
        default = 6 * HOUR
    else:
        default = DAY
    step = -(-default // pane) * pane if step is None else step
    if length == 0 or length % pane or step == 0 or step % pane:
        raise ValueError(f'window "{name}": length and step must be multiples of the pane')
    return Window(name, length, step, zone)


def nominal_length(name: str) -> int:
    """Length of a window by its name alone; of a calendar unit the longest in UTC."""
    return LONGEST[name] * DAY if name in LONGEST else parse_duration(name)


def count_shift_weeks(window: str, season: str = "week") -> int:
    """Whole weeks, or weeks of years, by which a window is shifted, so that it does not overlap itself.

    >>> count_shift_weeks("30d"), count_shift_weeks("30d", "year")
    (5, 52)
    """
    whole = SEASONS[season]
    return -(-nominal_length(window) // (whole * WEEK)) * whole


def count_earlier_periods(window: str, season: str) -> int:
    """How many earlier periods a window is compared with: those of eight weeks or years, at least three.

    >>> (count_earlier_periods("7d", "week"), count_earlier_periods("30d", "week"),
    ... count_earlier_periods("30d", "year"))
    (8, 3, 8)
    """
    return max(FEWEST_PERIODS, _MOST_PERIODS * SEASONS[season] // count_shift_weeks(window, season))


def seasonal_reach(window: str, season: str, count: int) -> int:
    """How far before a window's end so many periods begin; clocks that change may move it by a day."""
    return count * count_shift_weeks(window, season) * WEEK + nominal_length(window)


def volume_reach(length: int, weeks: int) -> int:
    """How far back volumes are compared: a window, and so many earlier ones that do not overlap it.

    Parameters
    ----------
    weeks
        1: there is a ratio; 2: it has an interval.

    >>> [volume_reach(days * DAY, 2) // DAY for days in (1, 7, 14, 30)]
    [15, 21, 42, 100]
    """
    return weeks * -(-length // WEEK) * WEEK + length


def count_earlier_spans(window: str, against: str) -> int:
    """How many such shifts fit into a trailing span.

    >>> (count_earlier_spans("7d", "28d"), count_earlier_spans("1d", "28d"),
    ... count_earlier_spans("month", "28d"))
    (4, 4, 0)
    """
    return parse_duration(against) // (count_shift_weeks(window) * WEEK)


def earlier_spans(window: Window, end: int, against: str, pane: int) -> list[tuple[int, int]]:
    """Starts and ends of what the window that ends at `end` is compared with, the latest first.

    Parameters
    ----------
    against
        "previous": the window of the same kind that ends where this one starts, of calendar units the unit
        before; one of `SEASONS`: the same local hours of so many earlier periods; or a duration: the same
        local hours as many whole weeks before as fit into it, none where the window is too long.
    pane
        hours that the clocks' changes move are cut at its multiples.
    """
    if against == PREVIOUS:
        start = window.start_of(end)
        return [(window.start_of(start), start)]
    seasonal = against in SEASONS
    count = (
        count_earlier_periods(window.name, against) if seasonal else count_earlier_spans(window.name, against)
    )
    season = against if seasonal else "week"
    spans = (window.earlier_span(end, back, season) for back in range(1, count + 1))
    return [(floor_to(start, pane), floor_to(end, pane)) for start, end in spans]


def comparison_reach(window: Window, against: str) -> int:
    """How far before a window's start what it is compared with may begin."""
    if against in SEASONS:
        return (
            seasonal_reach(window.name, against, count_earlier_periods(window.name, against))
            - window.length
            + DAY
        )
    return window.length if against == PREVIOUS else parse_duration(against) + DAY
