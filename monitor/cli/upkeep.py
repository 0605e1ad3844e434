"""Commands that look after a store: count again, forget a model, bring its tables to this version."""

from pathlib import Path

import click

from monitor.cli import options
from monitor.cli.commands import as_done
from monitor.cli.options import MomentType, exit_on_error, read_settings, refuse_empty
from monitor.show.words import counted, say


@click.command()
@options.config
@click.option("--model", required=True, help="Name of the model.")
@options.run
@click.option("--from", "start", type=MomentType(), required=True, help="Begin of the time.")
@click.option("--to", "end", type=MomentType(), required=True, help="End of the time.")
@options.who
@options.why
@exit_on_error
def recount(path: Path, model: str, run_name: str, start: int, end: int, **decided: str) -> None:
    """Count the panes of a time again, whole and at once.

    Use it after rows were deleted or repaired.
    """
    from monitor.app.alert_decisions import Decision
    from monitor.app.clocks import system_clock
    from monitor.app.model_history import recount as count_again
    from monitor.app.wiring import opened

    refuse_empty(start, end)
    settings = read_settings(path)
    with opened(settings, path.parent, run_name) as app:
        _, report = count_again(app, app.spec(model).name, start, end, Decision(system_clock(), **decided))
    say(as_done(report))


@click.command()
@options.config
@click.option("--model", required=True, help="Name of the model, which may be gone from the configuration.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.who
@options.why
@exit_on_error
def forget(path: Path, model: str, *, yes: bool, **decided: str) -> None:
    """Delete the history of a model, in every run.

    Its configurations, references and events are kept.
    """
    from monitor.app.alert_decisions import Decision
    from monitor.app.clocks import system_clock
    from monitor.app.model_history import forget_model
    from monitor.app.wiring import opened

    settings = read_settings(path, outside=False)
    if not yes:
        click.confirm(f'delete the history of the model "{model}"?', abort=True)
    with opened(settings, path.parent) as app:
        gone = forget_model(app, model, Decision(system_clock(), **decided))
        still = model in app.names()
    rows = counted(sum(gone.values()), "row")
    say(f"{model}: {rows} deleted; its configurations, references and events are kept")
    if still:
        say(f"{model} is still configured: its next cycle begins anew, with its references", err=True)


@click.command()
@options.config
@exit_on_error
def migrate(path: Path) -> None:
    """Bring the store's tables to this version."""
    from monitor.specs.urls import shown
    from monitor.store.engine import migrate as migrate_store

    settings = read_settings(path, outside=False)
    migrate_store(settings.store_url)
    say(f"{shown(settings.store_url)}: the tables are up to date")
