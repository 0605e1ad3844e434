"""Commands that say how models stand: `status`; `budget` and `changes`: of the budget of false alerts."""

import sys
from pathlib import Path

import click

from monitor.cli import command_options
from monitor.cli.command_options import MomentType, exit_on_error, read_settings
from monitor.show.terminal_words import say_lines, terminal_width, wrap_width

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")


@click.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--as-of", type=MomentType(), help="What was known at that time.")
@click.option("--all", "whole", is_flag=True, help="All that is known of one model, not one screen.")
@_FORMAT
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


@click.command()
@command_options.config
@command_options.model
@command_options.run
@_FORMAT
@exit_on_error
def budget(path: Path, model: str | None, run_name: str, form: str) -> None:
    """Print the budget of false alerts, and which changes fired.

    For each subject it says how much evidence of a change there is, and how small a change a week shows.
    """
    _print_budget(path, model, run_name, form, changes=False)


@click.command()
@command_options.config
@command_options.model
@command_options.run
@_FORMAT
@exit_on_error
def changes(path: Path, model: str | None, run_name: str, form: str) -> None:
    """Print what moved, whether or not it is an alert.

    The most evident change comes first. `evidence` is the share of what an alert needs; small: enough of it,
    but of a change that is smaller than `smallest`.
    """
    _print_budget(path, model, run_name, form, changes=True)


def _print_budget(path: Path, model: str | None, run_name: str, form: str, *, changes: bool) -> None:
    from monitor.app.alert_decisions import list_budgets
    from monitor.app.kept_run import open_kept_run
    from monitor.show.budget_tables import budget_lines, budgets_json, change_lines

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        models = list_budgets(kept_run, model)
    if form == "json":
        say_lines(budgets_json(models))
        return
    wide = wrap_width()
    lines = change_lines if changes else budget_lines
    say_lines("\n\n".join("\n".join(lines(one, wide)) for one in models), width=wide)
