"""Words for people: aligned columns, signs, bounds, moments."""

import math
import re
from collections.abc import Callable, Sequence

from monitor.core.clock import FIRST, LAST, SECOND, to_iso
from monitor.core.interval import Interval
from monitor.core.text import readable
from monitor.core.words import number

_NUMBER = re.compile(r"(-?[\d,.]*|-?\d+[dhm]( \d+[hms])?|-?[\d.]+s)")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, numbers to the right; every cell is readable."""
    lines = [[readable(cell) for cell in line] for line in lines]
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    right = [
        all(_NUMBER.fullmatch(line[at]) for line in lines[1:]) and len(lines) > 1
        for at in range(len(lines[0]))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def signed(value: float | None) -> str:
    """Number with its sign.

    >>> signed(0.02134), signed(-0.5), signed(0.0)
    ('+0.02134', '-0.5', '0')
    """
    return f"+{number(value)}" if value is not None and value > 0 else number(value)


def between(interval: Interval | None, text: Callable[[float], str]) -> str:
    """Bounds of an interval; empty for None."""
    return f"[{text(interval.lower)}, {text(interval.upper)}]" if interval else ""


def moment(seconds: float) -> str:
    """Moment of a Unix time.

    >>> moment(1_356_998_400.0)
    '2013-01-01T00:00:00Z'
    """
    us = round(seconds) * SECOND if math.isfinite(seconds) else LAST + 1
    return to_iso(us) if FIRST <= us <= LAST else number(seconds)
