"""Time: int64 microseconds since 1970-01-01 UTC, everywhere.

A clock is a function that returns the current time; only the outermost layer makes one.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -719_162 * DAY, 2_932_897 * DAY - 1  # of the years 1 to 9999
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def parse_duration(text: str) -> int:
    """Microseconds of "15m", "1h", "60d".

    Raises
    ------
    ValueError
        if the text is not a whole number and one of s, m, h, d, w.

    >>> parse_duration("15m") // MINUTE
    15
    """
    match = re.fullmatch(r"(\d+)([smhdw])", text.strip())
    if match is None:
        raise ValueError(f'a duration is a whole number and one of s, m, h, d, w, as in "15m": got "{text}"')
    return int(match[1]) * _UNITS[match[2]]


def format_duration(us: int) -> str:
    """Shortest text that `parse_duration` reads back.

    >>> format_duration(90 * MINUTE), format_duration(7 * DAY)
    ('90m', '7d')
    """
    for unit in ("d", "h", "m"):
        if us and us % _UNITS[unit] == 0:
            return f"{us // _UNITS[unit]}{unit}"
    return f"{us // SECOND}s"


def from_iso(text: str) -> int:
    """Microseconds of an ISO-8601 date or time; without a zone it is UTC."""
    moment = datetime.fromisoformat(text)
    return from_datetime(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def from_datetime(moment: datetime) -> int:
    """Microseconds of a zoned datetime."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_datetime(us: int) -> datetime:
    """Zoned datetime of microseconds."""
    return _EPOCH + timedelta(microseconds=us)


def to_iso(us: int) -> str:
    """ISO-8601 UTC, seconds, with a fraction only where there is one.

    >>> to_iso(0)
    '1970-01-01T00:00:00Z'
    """
    return to_datetime(us).isoformat().replace("+00:00", "Z")


def ticks_between(start: int, end: int, every: int) -> list[int]:
    """UTC multiples of `every` in (start, end]."""
    first = (start // every + 1) * every
    return list(range(first, end + 1, every))


def floor_to(us: int, width: int) -> int:
    """Largest multiple of `width` that is at most `us`."""
    return us - us % width
