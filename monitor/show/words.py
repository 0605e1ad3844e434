"""Words for people: aligned columns, signs, bounds, moments; lines that do not act on the terminal."""

import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from types import TracebackType

import click

from monitor.core.clock import to_iso
from monitor.core.secrets import hide
from monitor.core.text import brief, readable, readable_lines

_NUMBER = re.compile(r"([<>] )?[-−]?([\d,.]*( %)?|\d+[dhm]( \d+[hms])?|[\d.]+s)")


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


def counted(count: int, word: str) -> str:
    """A number and its noun.

    >>> counted(1, "row"), counted(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def iso(us: int | None) -> str | None:
    """ISO-8601 UTC of a moment in microseconds; None for None."""
    return None if us is None else to_iso(us)


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
