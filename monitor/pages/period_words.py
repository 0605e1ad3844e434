"""Windows and moments as people call them, and the axis of time, in a model's zone."""

from functools import lru_cache
from zoneinfo import ZoneInfo

from monitor.charts.scales import MOST, Axis, AxisTick
from monitor.core.clock import DAY, HOUR, to_datetime
from monitor.windows.window_ends import Window, floor_to_unit

_UNITS = (("day", 12 * DAY), ("week", 80 * DAY), ("month", 370 * DAY), ("quarter", 1_100 * DAY))


@lru_cache(maxsize=2_000)  # several charts of a page name the same
def period_words(window: Window, end: int) -> str:
    """Period of a window in words: that of a month is its name, that of others their first and last day.

    >>> period_words(Window("month", 31 * DAY, 0), 1_385_856_000_000_000)
    'November 2013'
    >>> period_words(Window("7d", 7 * DAY, DAY), 1_387_411_200_000_000)
    '12 – 18 Dec 2013'
    >>> period_words(Window("1h", HOUR, HOUR), 1_387_411_200_000_000)
    '18 Dec 2013 23:00 – 00:00'
    """
    zone = ZoneInfo(window.zone)
    start = to_datetime(window.start_of(end)).astimezone(zone)
    last = to_datetime(end - 1).astimezone(zone)
    if window.name == "month":
        return f"{start:%B %Y}"
    if window.name == "quarter":
        return f"Q{(start.month + 2) // 3} {start:%Y}"
    if start.date() == last.date() and end - window.start_of(end) < 23 * HOUR:
        return f"{start.day} {start:%b %Y %H:%M} – {to_datetime(end).astimezone(zone):%H:%M}"
    if start.date() == last.date():
        return f"{last.day} {last:%b %Y}"
    if (start.year, start.month) == (last.year, last.month):
        return f"{start.day} – {last.day} {last:%b %Y}"
    year = f" {start:%Y}" if start.year != last.year else ""
    return f"{start.day} {start:%b}{year} – {last.day} {last:%b %Y}"


def day_and_month_words(us: int, zone: str = "UTC") -> str:
    """Day without its year, as an axis has room for it.

    >>> day_and_month_words(0)
    '1 Jan'
    """
    at = to_datetime(us).astimezone(ZoneInfo(zone))
    return f"{at.day} {at:%b}"


def time_axis(start: int, end: int, zone: str = "UTC") -> Axis:
    """Axis from a moment to another, with ticks where days, weeks, months, quarters or years begin."""
    end = max(end, start + HOUR)
    unit = next((unit for unit, longest in _UNITS if end - start <= longest), "year")
    of_units = "quarter" if unit == "year" else unit
    starts, at = [], floor_to_unit(of_units, zone, end)
    while at >= start:
        starts.append(at)
        at = floor_to_unit(of_units, zone, at - 1)
    if unit == "year":
        starts = [at for at in starts if to_datetime(at).astimezone(ZoneInfo(zone)).month == 1]
    each = -(-len(starts) // MOST) or 1
    ticks = tuple(AxisTick(float(at), _tick_words(at, unit, zone)) for at in reversed(starts[::each]))
    return Axis(float(start), float(end), ticks)


def _tick_words(at: int, unit: str, zone: str) -> str:
    """January is called by its year."""
    local = to_datetime(at).astimezone(ZoneInfo(zone))
    if unit in ("day", "week"):
        return day_and_month_words(at, zone)
    return f"{local:%Y}" if local.month == 1 else f"{local:%b}"
