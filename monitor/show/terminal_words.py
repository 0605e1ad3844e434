"""Words for people: numbers with nouns, moments; lines that do not act on the terminal."""

import os
import shutil
import sys
import traceback
import warnings
from types import TracebackType

import click

from monitor.core.clock import to_iso
from monitor.core.secrets import hide_secrets
from monitor.core.text import brief_line, readable_lines, readable_text
from monitor.show.terminal_layout import wrap_paragraphs


def counted_noun(count: int, word: str) -> str:
    """A number and its noun.

    >>> counted_noun(1, "row"), counted_noun(2_000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def iso_or_none(us: int | None) -> str | None:
    """ISO-8601 UTC of a moment in microseconds; None for None."""
    return None if us is None else to_iso(us)


def short_moment_text(us: int) -> str:
    """A moment as short as it can be written: a midnight is its day.

    >>> short_moment_text(0), short_moment_text(3_600_000_000)
    ('1970-01-01', '1970-01-01T01:00:00Z')
    """
    return to_iso(us).removesuffix("T00:00:00Z")


def terminal_width() -> int:
    """Characters of a line of the terminal; of a pipe those that COLUMNS gives, else 80."""
    return shutil.get_terminal_size().columns


def wrap_width() -> int | None:
    """Characters of a line of the terminal that is written to; None: a pipe or a file, where all is whole.

    COLUMNS, where it is set, says how many characters a line has in a pipe too.
    """
    return terminal_width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def say_line(line: object, *, err: bool = False) -> None:
    """Print one line; an end of line within it came from somewhere else, and is shown as an escape.

    A line on standard error may quote anything, of any length: its end is left out where it is too long.
    """
    text = readable_text(str(line))
    click.echo(brief_line(text) if err else text, err=err)


def say_lines(text: str, *, err: bool = False, width: int | None = None) -> None:
    """Print text whose ends of line are our own.

    Parameters
    ----------
    width
        of the terminal: longer lines go on below; None: each line as it is.
    """
    click.echo(wrap_paragraphs(readable_lines(text.rstrip("\n")), width), err=err)


def install_error_hooks() -> None:
    """Let what Python itself prints of warnings and of failures that nobody expected be as quiet."""
    warnings.formatwarning = _warning_line
    sys.excepthook = _print_failure


def _warning_line(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,  # noqa: ARG001 -- as Python calls it
) -> str:
    return f"{readable_text(hide_secrets(f'{filename}:{lineno}: {category.__name__}: {message}'))}\n"


def _print_failure(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    lines = hide_secrets("".join(traceback.format_exception(kind, error, trace))).rstrip("\n").split("\n")
    say_lines("\n".join(["monitor: unexpected failure", *(f"  | {line}" for line in lines)]), err=True)
