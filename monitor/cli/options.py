"""What commands have in common: options, how failures are told."""

import logging
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from monitor.core.errors import ConfigurationError, MonitorError
from monitor.core.secrets import hide
from monitor.daemon.described import described
from monitor.show.terminal import say, say_lines
from monitor.store import LIVE

if TYPE_CHECKING:
    from monitor.specs.settings import Settings

_OF_CLICK = (click.exceptions.Exit, click.ClickException, click.Abort, BrokenPipeError)
_UNEXPECTED = "a fault of this program"
_HOW = "`monitor --debug` and the same command print where: please report it"

P = ParamSpec("P")
R = TypeVar("R")


class Hiding(logging.Formatter):
    """Lines of libraries that no log was set up for, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
        return hide(super().format(record))


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
                say(fault, err=True)
            sys.exit(2)
        except MonitorError as error:
            say(f"monitor: {error}", err=True)
            sys.exit(1)
        except _OF_CLICK:
            raise
        except Exception as error:  # noqa: BLE001 -- a line for people, with secrets hidden
            context = click.get_current_context(silent=True)
            if context is not None and context.find_root().params.get("debug"):
                say_lines(hide(traceback.format_exc()), err=True)  # Python would print it with its secrets
            say(f"monitor: {_UNEXPECTED}: {described(error)}; {_HOW}", err=True)
            sys.exit(1)

    return run


config = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="MONITOR_CONFIG",
    default="config.toml",
    show_default=True,
    help="Configuration file.",
)
model = click.option("--model", help="Only this model.")
run = click.option("--run", "run_name", default=LIVE, show_default=True, help="History in the store.")


who = click.option("--by", "--who", "who", default=getuser, show_default="the user", help="Who decided.")
why = click.option("--why", default="", help="Kept with the decision.")


def read_settings(path: Path) -> "Settings":
    """Settings of a configuration file, with every fault named at once."""
    from monitor.config.load import settings_of

    return settings_of(path, os.environ)
