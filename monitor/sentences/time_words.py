"""Windows and moments in words."""

from zoneinfo import ZoneInfo

from monitor.core.clock import DAY, to_datetime
from monitor.measures.measurement_row import MeasurementRow

_RECENT = 180 * DAY  # so long ago a day of last year is said without it
THE_FRAME = "the frame"  # window of all rows of a data frame


def utc_moment_words(us: int) -> str:
    """Moment in words, UTC; of a midnight its day alone.

    >>> utc_moment_words(0), utc_moment_words(60_000_000)
    ('1 Jan 1970', '1 Jan 1970 00:01')
    """
    return local_moment_words(us)


def local_moment_words(us: int, zone: str = "UTC") -> str:
    """Moment of a zone in words; of a midnight its day alone.

    >>> local_moment_words(3_600_000_000, "Europe/Berlin")
    '1 Jan 1970 02:00'
    """
    at = to_datetime(us).astimezone(ZoneInfo(zone))
    time = "" if (at.hour, at.minute) == (0, 0) else f" {at:%H:%M}"
    return f"{at.day} {at:%b %Y}{time}"


def window_end_words(row: MeasurementRow) -> str:
    """Window of a row: its name and its end; of a data frame, which has none, its name."""
    if row.window == THE_FRAME:
        return row.window
    return f"{row.window} to {utc_moment_words(row.window_end)}" if row.window else "the log"


def length_words(seconds: float) -> str:
    """A length of time as people say it: in hours below two days, in days from there on.

    >>> length_words(3_600), length_words(36 * 3_600), length_words(11 * 86_400)
    ('1 hour', '36 hours', '11 days')
    """
    hours = round(seconds / 3_600)
    count, unit = (hours, "hour") if hours < 48 else (round(seconds / 86_400), "day")
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def delay_words(seconds: float) -> str:
    """How long something takes, as people say it: hours below two days, days with a decimal from there on.

    >>> delay_words(90), delay_words(57_257), delay_words(221_584)
    ('2 minutes', '16 hours', '2.6 days')
    """
    if seconds < 3_540:
        count, unit = round(seconds / 60), "minute"
        return f"{count} {unit}{'' if count == 1 else 's'}"
    if seconds < 2 * 86_400:
        return length_words(seconds)
    return f"{seconds / 86_400:.1f} days".replace(".0 ", " ")


def day_words(us: int, today: int) -> str:
    """Day of a moment, UTC; its year where the day alone could mean another one.

    >>> from monitor.core.clock import DAY
    >>> day_words(0, 0), day_words(364 * DAY, 365 * DAY), day_words(0, 400 * DAY)
    ('1 Jan', '31 Dec', '1 Jan 1970')
    """
    day, now = to_datetime(us), to_datetime(today)
    is_plain = day.year == now.year or 0 <= today - us < _RECENT
    return f"{day.day} {day:%b}" if is_plain else f"{day.day} {day:%b} {day.year}"


def day_range_words(first: int, last: int, today: int) -> str:
    """Days from one to another, UTC.

    >>> from monitor.core.clock import DAY
    >>> day_range_words(0, DAY, 0), day_range_words(30 * DAY, 31 * DAY, 400 * DAY), day_range_words(0, 0, 0)
    ('1–2 Jan', '31 Jan to 1 Feb 1970', '1 Jan')
    >>> day_range_words(20_292 * DAY, 20_656 * DAY, 20_779 * DAY)
    '23 Jul 2025 to 22 Jul'
    """
    begin, end = day_words(first, last), day_words(last, today)
    if begin == day_words(last, last):
        return end
    day, month = begin.split(" ")[:2]
    is_one_month = end.split(" ")[1] == month and last - first < 31 * DAY
    return f"{day}–{end}" if is_one_month else f"{begin} to {end}"


_PERIODS = {
    "1d": "on {}",
    "7d": "in the week to {}",
    "month": "in the month to {}",
    "quarter": "in the quarter to {}",
}


def window_words(row: MeasurementRow, today: int) -> str:
    """The time of a row's window, with its last day: see `end_words`."""
    return end_words(row.window, row.window_end, today)


def window_length_words(window: str) -> str:
    """How long windows of a name are.

    >>> [window_length_words(window) for window in ("30d", "1d", "month", "6h")]
    ['30 days', 'a day', 'a month', '6h']
    """
    days = window.removesuffix("d")
    if days.isdecimal():
        return f"{days} days" if days != "1" else "a day"
    return f"a {window}" if window in _PERIODS else window


def end_words(window: str, end: int, today: int) -> str:
    """The time of a window that ends at a moment, with its last day.

    >>> from monitor.core.clock import DAY
    >>> end_words("1d", DAY, 0), end_words("7d", 9 * DAY, 400 * DAY)
    ('on 1 Jan', 'in the week to 9 Jan 1970')
    """
    if window == THE_FRAME:
        return "of all rows"
    last = day_words(end - 1, today)
    if window in _PERIODS:
        return _PERIODS[window].format(last)
    days = window.removesuffix("d")
    return f"in the {days} days to {last}" if days.isdecimal() else f"in {window} to {last}"
