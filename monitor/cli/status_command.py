"""`monitor status`: who is needed, and what is known of a model, on one screen."""

import sys
from pathlib import Path

import click

from monitor.cli import command_options
from monitor.cli.command_options import MomentType, exit_on_error, read_settings
from monitor.show.terminal_words import say_lines, terminal_width


@click.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--as-of", type=MomentType(), help="What was known at that time.")
@click.option("--all", "whole", is_flag=True, help="All that is known of one model, not one screen.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@command_options.exit_code
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
    """Say how models stand, and what is known.

    It prints a line for each model, or one screen where there is one model.
    """
    from monitor.alerts.model_standing import exit_code as code_of
    from monitor.app.alert_decisions import list_standings
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import open_kept_run
    from monitor.show.model_status import status_json, status_lines

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        models = list_standings(kept_run, model, system_clock(), as_of)
    if form == "json":
        say_lines(status_json(models))
    else:
        command_options.say_styled(status_lines(models, terminal_width(), whole=whole))
    sys.exit(code_of(models) if exit_code else 0)
