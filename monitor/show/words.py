"""Words for people: aligned columns, signs, bounds, moments; lines that do not act on the terminal."""

import math
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType

import click

from monitor.core.clock import FIRST, LAST, SECOND, to_iso
from monitor.core.measurement import Interval
from monitor.core.secrets import hide
from monitor.core.text import brief, number, readable, readable_lines

_NUMBER = re.compile(r"(-?[\d,.]*|-?\d+[dhm]( \d+[hms])?|-?[\d.]+s)")


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, numbers to the right; every cell is readable."""
    lines = [[readable(cell) for cell in line] for line in lines]
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [len(lines) > 1 and all(map(_NUMBER.fullmatch, column[1:])) for column in columns]
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


def counted(count: int, word: str) -> str:
    """A number and its noun.

    >>> counted(1, "row"), counted(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def iso(us: int | None) -> str | None:
    """ISO-8601 UTC of a moment in microseconds; None for None."""
    return None if us is None else to_iso(us)


def moment(seconds: float) -> str:
    """Moment of a Unix time.

    >>> moment(1_356_998_400.0)
    '2013-01-01T00:00:00Z'
    """
    us = round(seconds) * SECOND if math.isfinite(seconds) else LAST + 1
    return to_iso(us) if FIRST <= us <= LAST else number(seconds)


def say(line: object, *, err: bool = False) -> None:
    """Print one line; an end of line within it came from somewhere else, and is shown as an escape.

    A line on standard error may quote anything, of any length: its end is left out where it is too long.
    """
    text = readable(str(line))
    click.echo(brief(text) if err else text, err=err)


def say_lines(text: str, *, err: bool = False) -> None:
    """Print text whose ends of line are our own."""
    click.echo(readable_lines(text.rstrip("\n")), err=err)


def tell_python() -> None:
    """Let what Python itself prints of warnings and of failures that nobody expected be as quiet."""
    warnings.formatwarning = _warning
    sys.excepthook = _failure


def _warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001 -- as Python calls it
) -> str:
    return f"{readable(hide(f'{filename}:{lineno}: {category.__name__}: {message}'))}\n"


def _failure(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    lines = hide("".join(traceback.format_exception(kind, error, trace))).rstrip("\n").split("\n")
    say_lines("\n".join(["monitor: unexpected failure", *(f"  | {line}" for line in lines)]), err=True)
