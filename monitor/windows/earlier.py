"""Which earlier spans is a window compared with? The window before, or the same weekdays of earlier weeks."""

from monitor.core.clock import DAY, floor_to, parse_duration
from monitor.windows.ends import Window, nominal_length

PREVIOUS = "previous"
WEEK = 7 * DAY


def weeks_of(window: str) -> int:
    """Whole weeks by which a window of this name is shifted, so that it does not overlap itself."""
    return -(-nominal_length(window) // WEEK)


def shifts(window: str, against: str) -> int:
    """How many such shifts fit into a trailing span.

    >>> shifts("7d", "28d"), shifts("1d", "28d"), shifts("month", "28d")
    (4, 4, 0)
    """
    return parse_duration(against) // (weeks_of(window) * WEEK)


def earlier_spans(window: Window, end: int, against: str, pane: int) -> list[tuple[int, int]]:
    """Starts and ends of what the window that ends at `end` is compared with, the latest first.

    Parameters
    ----------
    against
        "previous": the window of the same kind that ends where this one starts, of calendar units the unit
        before; or a duration: the same local hours as many whole weeks before as fit into it, none where the
        window is too long.
    pane
        hours that the clocks' changes move are cut at its multiples.
    """
    if against == PREVIOUS:
        start = window.start(end)
        return [(window.start(start), start)]
    backs = range(1, shifts(window.name, against) + 1)
    spans = (window.earlier(end, back) for back in backs)
    return [(floor_to(start, pane), floor_to(end, pane)) for start, end in spans]


def reach(window: Window, against: str) -> int:
    """How far before a window's start what it is compared with may begin."""
    return window.length if against == PREVIOUS else parse_duration(against) + DAY
