"""Numbers and durations as people read them, lines that stay lines."""

import math

_LONGEST = 1_000


def number(value: float | None) -> str:
    """Four significant digits; thousands in full; empty for None.

    >>> number(0.012345), number(1234567.0), number(None), number(-math.inf)
    ('0.01235', '1,234,567', '', '-inf')
    """
    if value is None:
        return ""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Two units, the smaller one rounded; three significant digits below a minute.

    >>> duration(52_353), duration(3_599.7), duration(86_400), duration(12.5)
    ('14h 33m', '1h 0m', '1d 0h', '12.5s')
    """
    if not math.isfinite(seconds):
        return str(seconds)
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for large, small, name, below in ((86_400, 3_600, "d", "h"), (3_600, 60, "h", "m"), (60, 1, "m", "s")):
        whole, rest = divmod(round(size / small), large // small)
        if whole:
            return f"{sign}{whole}{name} {rest}{below}"
    return f"{sign}{size:.3g}s"


def brief(line: str) -> str:
    """A line whose end is left out where it is too long: it may name anything, of any length.

    >>> len(brief("x" * 100_000)), brief("monitor: no such table")
    (1000, 'monitor: no such table')
    """
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
