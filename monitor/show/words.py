"""Words for people: aligned columns, numbers, durations, moments."""

import re
from collections.abc import Callable, Sequence

from monitor.core.clock import SECOND, to_iso
from monitor.core.interval import Interval

_NUMBER = re.compile(r"(-?[\d,.]*|-?\d+[dhm]( \d+[hms])?|-?[\d.]+s)")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, numbers to the right."""
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    right = [
        all(_is_number(line[at]) for line in lines[1:]) and len(lines) > 1 for at in range(len(lines[0]))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def number(value: float | None) -> str:
    """Four significant digits; thousands in full; empty for None."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def signed(value: float | None) -> str:
    """Number with its sign.

    >>> signed(0.02134), signed(-0.5), signed(0.0)
    ('+0.02134', '-0.5', '0')
    """
    return f"+{number(value)}" if value is not None and value > 0 else number(value)


def between(interval: Interval | None, text: Callable[[float], str]) -> str:
    """Bounds of an interval; empty for None."""
    return f"[{text(interval.lower)}, {text(interval.upper)}]" if interval else ""


def duration(seconds: float) -> str:
    """Two units, the smaller one rounded; three significant digits below a minute.

    >>> duration(52_353), duration(3_599.7), duration(86_400), duration(12.5)
    ('14h 33m', '1h 0m', '1d 0h', '12.5s')
    """
    sign, size = "-" if seconds < 0 else "", abs(seconds)
    for large, small, name, below in ((86_400, 3_600, "d", "h"), (3_600, 60, "h", "m"), (60, 1, "m", "s")):
        whole, rest = divmod(round(size / small), large // small)
        if whole:
            return f"{sign}{whole}{name} {rest}{below}"
    return f"{sign}{size:.3g}s"


def moment(seconds: float) -> str:
    """Moment of a Unix time.

    >>> moment(1_356_998_400.0)
    '2013-01-01T00:00:00Z'
    """
    return to_iso(round(seconds) * SECOND)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
