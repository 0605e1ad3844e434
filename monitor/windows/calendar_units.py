"""Calendar units: when days, ISO weeks, months and quarters of a time zone begin. UTC microseconds."""

import math
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from monitor.core.clock import from_datetime, to_datetime

LONGEST = {"day": 1, "week": 7, "month": 31, "quarter": 92}  # days
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(2000, 1, 1), date(2040, 1, 1)


def floor_to_unit(unit: str, zone: str, moment: int) -> int:
    """Latest start of a unit at or before a moment.

    A unit begins at its first day's midnight; at the change of the clocks where that leaves midnight out, at
    the first of two midnights where it comes twice.
    """
    local = ZoneInfo(zone)
    first = _first_day(unit, to_datetime(moment).astimezone(local).date())
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
    return _first_day(unit, first + timedelta(days=LONGEST[unit]))


def _local_midnight(day: date, zone: ZoneInfo) -> int:
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=zone))
