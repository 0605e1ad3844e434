"""What commands print: nothing of it acts on the terminal."""

import sys
import traceback
import warnings
from types import TracebackType

import click

from monitor.core.secrets import hide
from monitor.core.text import readable, readable_lines
from monitor.core.words import brief


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
