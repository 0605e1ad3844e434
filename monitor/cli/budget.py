"""`monitor budget` and `monitor changes`: what the budget of false alerts allows, and what moves below it."""

from pathlib import Path

import click

from monitor.cli import options
from monitor.cli.options import exit_on_error, read_settings
from monitor.show.words import room, say_lines

_FORMAT = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")


@click.command()
@options.config
@options.model
@options.run
@_FORMAT
@exit_on_error
def budget(path: Path, model: str | None, run_name: str, form: str) -> None:
    """Print the budget of false alerts, and what it has cost.

    For each subject it says how small a change would be found within a week.
    """
    _told(path, model, run_name, form, changes=False)


@click.command()
@options.config
@options.model
@options.run
@_FORMAT
@exit_on_error
def changes(path: Path, model: str | None, run_name: str, form: str) -> None:
    """Print what moves, whether or not it is an alert.

    The most evident change comes first.
    """
    _told(path, model, run_name, form, changes=True)


def _told(path: Path, model: str | None, run_name: str, form: str, *, changes: bool) -> None:
    from monitor.app.alert_decisions import spent
    from monitor.app.kept import to_read
    from monitor.show.budget import as_plain, budget_lines, change_lines

    with to_read(read_settings(path, outside=False), path.parent, run_name) as kept:
        models = spent(kept, model)
    if form == "json":
        say_lines(as_plain(models))
        return
    wide = room()
    lines = (change_lines(one) if changes else budget_lines(one, wide) for one in models)
    say_lines("\n".join(line for of_model in lines for line in of_model), width=wide)
