"""Commands that look after a store: count again, forget a model, bring its tables to this version."""

from pathlib import Path

import click

from monitor.cli import command_options
from monitor.cli.command_options import MomentType, exit_on_error, read_settings, refuse_empty_span
from monitor.cli.commands import cycle_done_line
from monitor.show.terminal_words import counted_noun, say_line


@click.command()
@command_options.config
@click.option("--model", required=True, help="Name of the model.")
@command_options.run
@click.option("--from", "start", type=MomentType(), required=True, help="Begin of the time.")
@click.option("--to", "end", type=MomentType(), required=True, help="End of the time.")
@command_options.who
@command_options.why
@exit_on_error
def recount(path: Path, model: str, run_name: str, start: int, end: int, **decided: str) -> None:
    """Count the panes of a time again, whole and at once.

    Use it after rows were deleted or repaired.
    """
    from monitor.app.alert_decisions import Decision
    from monitor.app.application import open_application
    from monitor.app.clocks import system_clock
    from monitor.app.model_history import recount_panes as count_again

    refuse_empty_span(start, end)
    settings = read_settings(path)
    with open_application(settings, path.parent, run_name) as app:
        _, report = count_again(
            app, app.find_spec(model).name, start, end, Decision(system_clock(), **decided)
        )
    say_line(cycle_done_line(report))


@click.command()
@command_options.config
@click.option("--model", required=True, help="Name of the model, which may be gone from the configuration.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@command_options.who
@command_options.why
@exit_on_error
def forget(path: Path, model: str, *, yes: bool, **decided: str) -> None:
    """Delete the history of a model, in every run.

    Its configurations, references and events are kept.
    """
    from monitor.app.alert_decisions import Decision
    from monitor.app.application import open_application
    from monitor.app.clocks import system_clock
    from monitor.app.model_history import forget_model

    settings = read_settings(path, outside=False)
    if not yes:
        click.confirm(f'delete the history of the model "{model}"?', abort=True)
    with open_application(settings, path.parent) as app:
        gone = forget_model(app, model, Decision(system_clock(), **decided))
        still = model in app.model_names()
    rows = counted_noun(sum(gone.values()), "row")
    say_line(f"{model}: {rows} deleted; its configurations, references and events are kept")
    if still:
        say_line(f"{model} is still configured: its next cycle begins anew, with its references", err=True)


@click.command()
@command_options.config
@exit_on_error
def migrate(path: Path) -> None:
    """Bring the store's tables to this version."""
    from monitor.specs.urls import shown_url
    from monitor.store.store_database import migrate_store

    settings = read_settings(path, outside=False)
    migrate_store(settings.store.url)
    say_line(f"{shown_url(settings.store.url)}: the tables are up to date")
