"""The commands. Exit codes: 0 done, 1 something failed, 2 usage or configuration."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from monitor.core.clock import floor_to, from_iso, parse_duration, to_iso
from monitor.core.errors import ConfigurationError, MonitorError
from monitor.specs.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


class Moment(click.ParamType[int]):
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


class Span(click.ParamType[int]):
    """A duration as in 15m, 1h, 1d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds."""
        if isinstance(value, int):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def told(command: Callable[P, R]) -> Callable[P, R]:
    """Print expected failures as lines on standard error, and exit with their code."""

    @wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        try:
            return command(*args, **options)
        except ConfigurationError as error:
            for fault in error.faults:
                click.echo(fault, err=True)
            sys.exit(2)
        except MonitorError as error:
            click.echo(f"monitor: {error}", err=True)
            sys.exit(1)

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="monitor")
def main() -> None:
    """Watch deployed models: still as good as they were, and still fed as they were."""


_config = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="MONITOR_CONFIG",
    default="config.toml",
    show_default=True,
    help="Configuration file.",
)
_model = click.option("--model", help="Only this model.")
_run = click.option("--run", "run_name", default="live", show_default=True, help="History in the store.")


@main.command()
@_config
@click.option("--offline", is_flag=True, help="Look at the file only, at no database.")
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings.")
@told
def check(path: Path, *, offline: bool, strict: bool) -> None:
    """Name every fault of the configuration and of the tables."""
    from monitor.app.checks import check_tables

    settings = read_settings(path)
    faults, warnings = ([], []) if offline else check_tables(settings, path.parent)
    for warning in warnings:
        click.echo(f"warning: {warning}")
    if faults:
        raise ConfigurationError(faults)
    click.echo(f"{path}: {len(settings.models)} models, no faults, {len(warnings)} warnings")
    if strict and warnings:
        sys.exit(1)


@main.command()
@_config
@told
def run(path: Path) -> None:
    """Run the daemon: cycles on schedule, metrics and health over HTTP."""
    from monitor.app.serve import serve
    from monitor.app.wiring import opened

    settings = read_settings(path)
    with opened(settings, path.parent) as app:
        sys.exit(serve(app))


@main.command()
@_config
@_model
@_run
@click.option("--as-of", type=Moment(), help="Default: the last tick.")
@click.option("--dry-run", is_flag=True, help="Say which panes changed; count and write nothing.")
@told
def cycle(path: Path, model: str | None, run_name: str, as_of: int | None, *, dry_run: bool) -> None:
    """Run one cycle now."""
    from monitor.app.clocks import system_clock
    from monitor.app.running import cycle_once, pending
    from monitor.app.wiring import opened

    settings = read_settings(path)
    with opened(settings, path.parent, run_name) as app:
        failed = False
        for name in app.names(model):
            moment = as_of if as_of is not None else floor_to(system_clock(), app.spec(name).every)
            if dry_run:
                click.echo(pending(app, name, moment))
                continue
            report = cycle_once(app, name, moment)
            failed |= report.error is not None
            click.echo(told_report(report), err=report.error is not None)
    sys.exit(1 if failed else 0)


@main.command()
@_config
@_model
@click.option("--run", "run_name", help="History to write; default: live, if the model has none yet.")
@click.option("--from", "start", type=Moment(), required=True)
@click.option("--to", "end", type=Moment(), required=True)
@click.option("--every", type=Span(), help="Default: the model's own.")
@told
def replay(
    path: Path, model: str | None, run_name: str | None, start: int, end: int, every: int | None
) -> None:
    """Walk a virtual clock over the past and run real cycles."""
    from monitor.app.running import replay_model
    from monitor.app.wiring import LIVE, opened

    settings = read_settings(path)
    with opened(settings, path.parent, run_name or LIVE) as app:
        for name in app.names(model):
            if run_name is None and app.store.state(name).as_of is not None:
                raise MonitorError(f'model "{name}" has a live history: name another run with --run NAME')
            moments, reports = replay_model(app, name, start, end, every)
            for report in progress(reports, len(moments), name):
                if report.error is not None:
                    raise MonitorError(f'model "{name}" as of {to_iso(report.as_of)}: {report.error}')


@main.command()
@_config
@_model
@_run
@click.option("--window")
@click.option("--measure")
@click.option("--subject")
@click.option("--segment")
@click.option("--as-of", type=Moment(), help="What was known then.")
@click.option("--history", is_flag=True, help="All kept revisions.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table")
@told
def show(path: Path, form: str, run_name: str, **asked: Any) -> None:
    """Print current or kept measurements."""
    from monitor.app.running import chosen_rows
    from monitor.app.wiring import opened
    from monitor.show import as_csv, as_json, as_table

    settings = read_settings(path)
    with opened(settings, path.parent, run_name) as app:
        rows = chosen_rows(app, **asked)
    click.echo({"table": as_table, "json": as_json, "csv": as_csv}[form](rows).rstrip("\n"))


@main.command()
@_config
@told
def migrate(path: Path) -> None:
    """Bring the store's tables to this version."""
    from monitor.config.urls import shown
    from monitor.store.engine import migrate as migrate_store

    settings = read_settings(path)
    migrate_store(settings.store_url)
    click.echo(f"{shown(settings.store_url)}: the tables are up to date")


@main.command()
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default="monitor-demo",
    show_default=True,
    help="Where the demo keeps its databases and its configuration.",
)
@click.option("--exit", "leave", is_flag=True, help="End after the table.")
@click.option("--until", type=Moment(), help="Replay to this date, then run real cycles to the end.")
@click.option("--pace", type=Span(), default="10s", show_default=True, help="Real time between these cycles.")
@click.option("--source-url", help="Database for the logs.")
@click.option("--store-url", help="Database for the results.")
@click.option("--port", type=int, default=9839, show_default=True)
@told
def demo(directory: Path, **options: Any) -> None:
    """Replay ten months of real flights, show them month by month, and stay up as the daemon."""
    from monitor.app.demo import run_demo

    sys.exit(run_demo(directory, progress=progress, **options))


def read_settings(path: Path) -> Settings:
    """Settings of a configuration file, with every fault named at once."""
    from monitor.config.load import settings_of

    return settings_of(path, os.environ)


def told_report(report: Any) -> str:
    """One line on what a cycle did."""
    if report.error is not None:
        return f"{report.model}: {report.error}"
    return (
        f"{report.model} as of {to_iso(report.as_of)}: {report.rows_read:,} rows and"
        f" {report.label_rows_read:,} label rows read, {report.panes_counted} panes counted,"
        f" {report.panes_waiting} waiting, {report.measurements:,} measurements, {report.snapshots:,} kept"
    )


T = TypeVar("T")


def progress(items: Iterator[T], length: int, label: str) -> Iterator[T]:
    """Pass items through under a progress bar with the time left."""
    with click.progressbar(items, length=length, label=label, show_pos=True, file=sys.stderr) as bar:
        yield from bar


if __name__ == "__main__":
    main()
