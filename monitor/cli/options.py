"""What commands have in common: options, how failures are told."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from monitor.app.saying import say
from monitor.core.errors import ConfigurationError, MonitorError

if TYPE_CHECKING:
    from monitor.specs.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def told(command: Callable[P, R]) -> Callable[P, R]:
    """Print expected failures as lines on standard error, and exit with their code."""

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
run = click.option("--run", "run_name", default="live", show_default=True, help="History in the store.")


who = click.option("--by", "--who", "who", default=getuser, show_default="the user", help="Who decided.")
why = click.option("--why", default="", help="Kept with the decision.")


def read_settings(path: Path) -> "Settings":
    """Settings of a configuration file, with every fault named at once."""
    from monitor.config.load import settings_of

    return settings_of(path, os.environ)
