"""What commands have in common: options and their types, progress, how failures are told."""

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial, wraps
from getpass import getuser
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from monitor.core.clock import from_iso, parse_duration, to_iso
from monitor.core.errors import NO_MEMORY, ConfigurationError, MonitorError, error_line, lacks_memory
from monitor.core.secrets import hide_secrets
from monitor.core.text import readable_text
from monitor.show.terminal_words import say_line, say_lines, wrap_width
from monitor.store import LIVE

if TYPE_CHECKING:
    from monitor.measures.measurement_row import StoredMeasurement
    from monitor.show.model_status import StyledLine
    from monitor.specs.settings import Settings

_OF_CLICK = (click.exceptions.Exit, click.ClickException, click.Abort, BrokenPipeError)
_UNEXPECTED = "a fault of this program"
_HOW = "`monitor --debug` and the same command print where: please report it"
_CHOSEN = ("measure", "subject", "segment", "version")  # what names some of the rows
_NEWEST = 100  # rows of a history that a terminal shows
_TELL = 30.0  # seconds between lines of a log

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class HidingFormatter(logging.Formatter):
    """Lines of libraries that no log was set up for, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
        return hide_secrets(super().format(record))


def exit_on_error(command: Callable[P, R]) -> Callable[P, R]:
    """Print failures as lines on standard error, and exit with their code.

    A failure that nobody expected is a fault of this program: its line says so, and how to see its traceback.
    """

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        try:
            return command(*args, **options)
        except ConfigurationError as error:
            for fault in error.faults:
                say_line(fault, err=True)
            sys.exit(2)
        except MonitorError as error:
            say_line(f"monitor: {NO_MEMORY if lacks_memory(error) else error}", err=True)
            sys.exit(1)
        except _OF_CLICK:
            raise
        except Exception as error:  # noqa: BLE001 -- a line for people, with secrets hidden
            context = click.get_current_context(silent=True)
            if context is not None and context.find_root().params.get("debug"):
                say_lines(
                    hide_secrets(traceback.format_exc()), err=True
                )  # Python would print it with its secrets
            sentence = error_line(error)
            say_line(
                f"monitor: {sentence if lacks_memory(error) else f'{_UNEXPECTED}: {sentence}; {_HOW}'}",
                err=True,
            )
            sys.exit(1)

    return run


config = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="MONITOR_CONFIG",
    show_envvar=True,
    default="config.toml",
    show_default=True,
    help="Configuration file; `monitor init` writes a first one.",
)
model = click.option("--model", help="Only this model.")
run = click.option(
    "--run", "run_name", default=LIVE, show_default=True, help="History in the store: live, or a replay's."
)
exit_code = click.option(
    "--exit-code", is_flag=True, help="Exit with 3 if action is needed, 4 if there are no data, else 0."
)
who = click.option(
    "--by",
    "--who",
    "who",
    default=getuser,
    show_default="the user",
    help="Who decides; it is kept.",
)
required_why = click.option("--why", required=True, help="Why; it is kept.")
why = click.option("--why", default="", help="Why; it is kept.")


def read_settings(path: Path, *, outside: bool = True) -> "Settings":
    """Settings of a configuration file, with every fault named at once.

    `outside`: False: for commands that open neither sources nor channels, and need no password of theirs.
    """
    from monitor.config.config_loading import settings_of

    return settings_of(path, os.environ, outside=outside)


def say_styled(lines: "Iterable[StyledLine]") -> None:
    """Print lines, on a terminal with their colours; NO_COLOR takes these away."""
    plain = bool(os.environ.get("NO_COLOR"))
    for line in lines:
        text = readable_text(line.text)
        click.echo(text if plain or not line.colour else click.style(text, fg=line.colour))


def is_overview(*, history: bool, as_of: int | None, **asked: Any) -> bool:
    """Whether `show` is asked how models are now: no single measure, stratum or past."""
    return not history and as_of is None and all(asked[name] is None for name in _CHOSEN)


def make_table_format(
    *, explain: bool, everything: bool, **asked: Any
) -> "Callable[[Sequence[StoredMeasurement]], str]":
    """How rows become a table."""
    from monitor.show.detail_tables import table_with_details
    from monitor.show.measurement_tables import measurements_as_table

    all_of_them = everything or asked["history"] or any(asked[name] is not None for name in _CHOSEN)
    return partial(
        table_with_details if explain else measurements_as_table, everything=all_of_them, width=wrap_width()
    )


def limit_shown_rows(
    rows: "Sequence[StoredMeasurement]", form: str, *, everything: bool, last: int | None, **asked: Any
) -> "tuple[Sequence[StoredMeasurement], str]":
    """The rows that are shown, and what to type where a terminal has no room for all.

    A table is of whole models, and of the versions and segments that were asked for.
    """
    from monitor.show.measurement_tables import filter_strata
    from monitor.show.plain_rows import select_newest_rows

    if form == "table":
        segments, versions = (
            everything or asked[f"{name}s"] or asked[name] is not None for name in ("segment", "version")
        )
        rows = filter_strata(rows, segments=segments, versions=versions)
    if not asked["history"]:
        return rows, ""
    most = last or (_NEWEST if form == "table" and wrap_width() else None)
    shown, there = select_newest_rows(rows, most)
    hint = f"\n\n… the newest {_NEWEST} of {there:,} rows: more by --last, all into a pipe or a file"
    return shown, hint if not last and len(shown) < len(rows) else ""


def refuse_empty_span(start: int, end: int) -> None:
    """Refuse a span of time that ends before anything can lie in it."""
    if start >= end:
        raise click.UsageError(f"--from must be before --to: got {to_iso(start)} and {to_iso(end)}")


class MomentType(click.ParamType[int]):
    """An ISO-8601 date or time, UTC unless it says otherwise."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        if isinstance(value, int):
            return value
        try:
            return from_iso(value)
        except ValueError:
            self.fail(f'"{value}" is not a date or time as in 2013-03-01 or 2013-03-01T06:00Z', param, ctx)


class DurationType(click.ParamType[int]):
    """A duration as in 15m, 1h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        if isinstance(value, int):
            return value
        try:
            us = parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if us == 0:
            self.fail("must be longer than nothing", param, ctx)
        return us


def show_progress(
    items: Iterator[T], length: int, label: str, *, now: Callable[[], float] = monotonic
) -> Iterator[T]:
    """Pass items through, and tell on standard error how many there are, how fast, how long it will take."""
    began = line_at = now()
    is_terminal = sys.stderr.isatty()

    def rate(at: int | None) -> str:
        return f"{at / max(now() - began, 1e-9):.1f} a second" if at else ""

    with click.progressbar(
        length=length, label=label, show_pos=True, item_show_func=rate, file=sys.stderr
    ) as bar:
        for at, item in enumerate(items, start=1):
            yield item
            bar.update(1, at)
            if not is_terminal and now() - line_at >= _TELL:
                line_at = now()
                left = timedelta(seconds=round((length - at) * (line_at - began) / at))
                say_line(f"{label}: {at:,} of {length:,}, {rate(at)}, {left} left", err=True)
