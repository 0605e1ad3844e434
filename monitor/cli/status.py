"""`monitor status`: who is needed, and what is known of a model, on one screen."""

import sys
from pathlib import Path

import click

from monitor.cli import options
from monitor.cli.options import MomentType, exit_on_error, read_settings
from monitor.show.words import say_lines, width


@click.command()
@options.config
@options.model
@options.run
@click.option("--as-of", type=MomentType(), help="What was known at that time.")
@click.option("--all", "whole", is_flag=True, help="All that is known of one model, not one screen.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@options.exit_code
@exit_on_error
def status(
    path: Path,
    model: str | None,
    run_name: str,
    as_of: int | None,
    form: str,
    *,
    whole: bool,
    exit_code: bool,
) -> None:
    """Say who is needed, and what is known.

    It prints a line for each model, or one screen where there is one model.
    """
    from monitor.alerts.standing import exit_code as code_of
    from monitor.app.alert_decisions import standings
    from monitor.app.clocks import system_clock
    from monitor.app.kept import to_read
    from monitor.show.status import as_lines, as_plain

    with to_read(read_settings(path, outside=False), path.parent, run_name) as kept:
        models = standings(kept, model, system_clock(), as_of)
    if form == "json":
        say_lines(as_plain(models))
    else:
        options.say_styled(as_lines(models, width(), whole=whole))
    sys.exit(code_of(models) if exit_code else 0)
