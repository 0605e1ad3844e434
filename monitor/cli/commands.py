"""The commands. Exit codes: 0 done, 1 something failed, 2 usage or configuration."""

import gc
import logging
import os
import shlex
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from monitor.cli import command_options
from monitor.cli.command_options import (
    DurationType,
    MomentType,
    exit_on_error,
    read_settings,
    refuse_empty_span,
    show_progress,
)
from monitor.core.clock import floor_to, to_iso
from monitor.core.version import VERSION
from monitor.show.terminal_words import (
    counted_noun,
    install_error_hooks,
    say_line,
    say_lines,
    terminal_width,
    wrap_width,
)
from monitor.specs import HOST, PORT
from monitor.store import LIVE

if TYPE_CHECKING:
    from monitor.app.application import App
    from monitor.specs.protocols import CycleReport


NEW_OBJECTS = 20_000  # after which Python looks for garbage: its default, 700, costs a replay 5 %

_OF_ROWS = ("model", "window", "measure", "subject", "segment", "version", "as_of", "history")


_CODES = """\b
Exit codes: 0 done, 1 something failed, 2 usage or configuration.
With --exit-code, status and alerts: 3 action is needed, 4 no data.

\b
MONITOR_CONFIG names the configuration file, NO_COLOR takes colours away.
Completion: eval "$(_MONITOR_COMPLETE=bash_source monitor)"
(zsh_source, fish_source for these shells)."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}, epilog=_CODES
)
@click.version_option(VERSION)
@click.option("--debug", is_flag=True, help="Print the traceback of an unexpected failure.")
def main(**_debug: bool) -> None:
    """Watch deployed models: whether they are still good, and still fed as they were."""
    install_error_hooks()
    gc.set_threshold(NEW_OBJECTS)
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(command_options.HidingFormatter())


@main.command()
@click.option(
    "--url",
    required=True,
    help="Database of the tables, or folder of files. ${NAME} is a variable; secrets are not written.",
)
@click.option("--predictions", required=True, help="Table or view of the prediction log.")
@click.option("--labels", help="Table or view of the labels, if they are in another one.")
@click.option("--labels-where", help="SQL condition on the labels, if several models share their table.")
@click.option("--catalog", help="Iceberg catalogue that names the tables: its URL, with ${NAME} for secrets.")
@click.option("--name", help="Name of the model. Default: that of the table.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Parquet or CSV file of your test set, or of the out-of-fold scores.",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="New file to write. Default: standard output."
)
@exit_on_error
def init(output: Path | None, **asked: Any) -> None:
    """Write a first configuration for your tables.

    It looks at the tables, and gives the reason of each guess in a comment.
    """
    from monitor.app.clocks import system_clock
    from monitor.setup.first_config import AskedTables, run_init

    sys.exit(run_init(output, AskedTables(**asked), os.environ, system_clock()))


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@exit_on_error
def files(directory: Path) -> None:
    """Write example files below DIRECTORY.

    They are configuration, schema, dashboards, and files for Prometheus, Kubernetes and systemd.
    """
    from monitor.setup.example_files import write_files

    written = write_files(directory)
    for path in written:
        say_line(str(path))
    say_line(f"{counted_noun(len(written), 'file')} written", err=True)


@main.command()
@command_options.config
@click.option("--offline", is_flag=True, help="Look at the file alone, at no database.")
@click.option("--strict", is_flag=True, help="Exit with 1 if there are warnings.")
@click.option(
    "--explain", is_flag=True, help="Print each query with its plan and its cost, and the number of series."
)
@click.option(
    "--prove", is_flag=True, help='Count a pane by GROUP BY, too, and compare: before engine = "sql" is used.'
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@exit_on_error
def check(path: Path, **options: Any) -> None:
    """Find faults in the configuration and the tables.

    Then it says what will be watched, and from when on. Exit codes: 0 no fault, 1 warnings with --strict,
    2 faults.
    """
    if options["prove"] and options["offline"]:
        raise click.UsageError("--prove counts in a database, which --offline leaves alone")
    from monitor.advice.check_report import run_check
    from monitor.app.clocks import system_clock

    sys.exit(run_check(path, os.environ, system_clock(), **options))


@main.command()
@command_options.config
@exit_on_error
def run(path: Path) -> None:
    """Run the daemon.

    It runs cycles on schedule, and serves pages, metrics and health over HTTP.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves: it is about to read the file anyway
    with _pause_garbage_collection():
        from monitor.app.application import open_application
        from monitor.app.daemon_wiring import serve_daemon
        from monitor.daemon.log_setup import log_thread_failures

        settings = read_settings(path)
    log_thread_failures()
    with open_application(settings, path.parent) as app:
        sys.exit(serve_daemon(app, reread=lambda: read_settings(path)))


@main.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--as-of", type=MomentType(), help="Moment of the cycle. Default: the last tick.")
@click.option("--dry-run", is_flag=True, help="Only say which panes changed; write nothing.")
@exit_on_error
def cycle(path: Path, model: str | None, run_name: str, as_of: int | None, *, dry_run: bool) -> None:
    """Run one cycle now, and send the notices that wait.

    Of other runs than live no notices are sent.
    """
    from monitor.app.application import open_application
    from monitor.app.channel_wiring import deliver_once
    from monitor.app.clocks import system_clock
    from monitor.app.model_cycles import NoticeScope, plan_cycle_report, run_single_cycle
    from monitor.app.model_history import rename_models
    from monitor.daemon.log_setup import LogFormat, configure_logging

    now = system_clock()
    _refuse_future("--as-of", as_of, now)
    settings = read_settings(path)
    failed = False
    with open_application(settings, path.parent, run_name, keeps=not dry_run) as app:
        if not dry_run:
            rename_models(app, now)
        for name in app.model_names(model):
            moment = as_of if as_of is not None else floor_to(now, app.find_spec(name).keys.every)
            news = NoticeScope.NEWS if run_name == LIVE else NoticeScope.NOTHING
            report = (
                plan_cycle_report(app, name, moment)
                if dry_run
                else run_single_cycle(app, name, moment, notices=news)
            )
            failed |= report.error is not None
            say_line(
                cycle_plan_line(report) if dry_run else cycle_done_line(report), err=report.error is not None
            )
        if settings.channels and not dry_run:
            configure_logging(LogFormat(settings.log.format), settings.log.level)
            for channel, waiting in deliver_once(app, system_clock).items():
                failed = True
                say_line(f"channel {channel}: {counted_noun(waiting, 'notice')} not delivered", err=True)
    sys.exit(1 if failed else 0)


@main.command()
@command_options.config
@command_options.model
@click.option("--run", "run_name", help="History to write. Default: live, if it is empty.")
@click.option("--from", "start", type=MomentType(), required=True, help="Begin of the time.")
@click.option("--to", "end", type=MomentType(), required=True, help="End of the time.")
@click.option("--every", type=DurationType(), help="Time between cycles. Default: the model's own.")
@exit_on_error
def replay(
    path: Path, model: str | None, run_name: str | None, start: int, end: int, every: int | None
) -> None:
    """Run the cycles of a past time, one after the other.

    Each sees only what was known at its moment.
    """
    from monitor.app.application import open_application
    from monitor.app.clocks import system_clock
    from monitor.app.model_cycles import refuse_second_history, replay_model
    from monitor.app.model_history import rename_models
    from monitor.app.run_lock import ExclusiveRun

    refuse_empty_span(start, end)
    _refuse_future("--to", end, system_clock())
    settings = read_settings(path)
    failed = False
    with open_application(settings, path.parent, run_name or LIVE) as app, ExclusiveRun(app):
        rename_models(app, system_clock(), held=True)
        names = app.model_names(model)
        if run_name is None:
            refuse_second_history(app, names)
        replays = [(name, *replay_model(app, name, start, end, every)) for name in names]
        for name, moments, reports in replays:
            failed |= _follow_replay(show_progress(reports, len(moments), name), name, len(moments), app)
    sys.exit(1 if failed else 0)


@main.command()
@command_options.config
@command_options.model
@command_options.run
@click.option("--window", help="Only this window, as configured: 7d, month.")
@click.option("--end", type=MomentType(), help="Only windows that end then, exclusive: 2013-10-01.")
@click.option(
    "--measure", help="Only this measure: roc_auc. Or a table: gain, lift, roc_curve, confusion_matrix, …"
)
@click.option(
    "--subject", help="Only this: score, prediction, feature:NAME, class:NAME. Empty: the model itself."
)
@click.option("--segment", help="Only this segment: COLUMN=VALUE. Empty: the whole.")
@click.option("--model-version", "version", help="Only this version. Empty: all together.")
@click.option("--segments", is_flag=True, help="Also every segment.")
@click.option("--versions", is_flag=True, help="Also every version of the model.")
@click.option("--as-of", type=MomentType(), help="What was known at that time.")
@click.option(
    "--history", is_flag=True, help="Every revision. A terminal shows the newest 100 rows: see --last."
)
@click.option(
    "--last",
    type=click.IntRange(min=1),
    help="With --history: so many rows, the newest ones, each with what it is compared with.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also the tables behind the values: what moved, curves; in JSON and CSV as `detail`.",
)
@click.option(
    "--provenance", is_flag=True, help="Also data, code, configuration and decisions behind the numbers."
)
@click.option("--all", "everything", is_flag=True, help="Every measure, feature, version and segment.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table")
@exit_on_error
def show(path: Path, form: str, run_name: str, *, provenance: bool, end: int | None, **asked: Any) -> None:
    """Print measurements.

    A table shows the headlines of whole models, unless you ask for more.
    """
    from monitor.app.alert_decisions import list_standings
    from monitor.app.clocks import system_clock
    from monitor.app.kept_run import (
        open_kept_run,
        read_chosen_rows,
        refuse_absent_names,
        refuse_unknown_names,
    )
    from monitor.app.provenance import render_with_provenance
    from monitor.show.model_status import head_lines
    from monitor.show.performance_tables import BEHIND, format_named_tables
    from monitor.show.plain_rows import rows_as_csv, rows_as_json

    if asked["last"] and not asked["history"]:
        raise click.UsageError("--last is for --history: without it no row has older ones")
    settings, named = read_settings(path, outside=False), asked["measure"]
    asked["measure"] = BEHIND.get(named, named)
    chosen = {name: asked[name] for name in ("subject", "segment", "version")}
    table = (
        partial(format_named_tables, named, width=wrap_width())
        if named in BEHIND
        else command_options.make_table_format(**asked)
    )
    with open_kept_run(settings, path.parent, run_name) as kept_run:
        refuse_unknown_names(kept_run, asked["model"], asked["window"], asked["measure"])
        rows = read_chosen_rows(kept_run, end=end, **{name: asked[name] for name in _OF_ROWS})
        if not rows:
            refuse_absent_names(kept_run, asked["model"], asked["window"], **chosen)
        shown, hint = command_options.limit_shown_rows(rows, form, **asked)
        details = asked["explain"] or named in BEHIND
        forms: dict[str, Callable[..., str]] = {
            "table": table,
            "json": partial(rows_as_json, details=details),
            "csv": partial(rows_as_csv, details=details),
        }
        behind = partial(
            render_with_provenance, kept_run.store, shown, form, table, asked["as_of"], details=details
        )
        text = behind() if provenance else forms[form](shown)
        if (
            form == "table"
            and command_options.is_overview(**asked)
            and not kept_run.is_history_only(asked["model"])
        ):
            command_options.say_styled(
                head_lines(list_standings(kept_run, asked["model"], system_clock()), terminal_width())
            )
            say_line("")
    say_lines(f"{text}{hint}", width=wrap_width() if form == "table" else None)


@main.command()
@command_options.config
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@command_options.model
@command_options.run
@click.option("--window", help="Only this window, as configured: 7d, month.")
@click.option("--measure", help="Only this measure: roc_auc.")
@click.option("--from", "start", type=MomentType(), help="Only windows that end after it.")
@click.option("--to", "end", type=MomentType(), help="Only windows that end by it.")
@click.option("--as-of", type=MomentType(), help="What was known at that time. Default: every revision.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "csv", "openmetrics"]),
    help="Default: as FILE ends. openmetrics: the newest revision of each window, for promtool.",
)
@exit_on_error
def export(path: Path, file: Path, run_name: str, form: str | None, **chosen: Any) -> None:
    """Write kept measurements to FILE.

    It ends in .parquet or .csv, or holds OpenMetrics with timestamps for Prometheus.
    """
    from monitor.app.exports.export_files import KeptSelection
    from monitor.app.exports.export_files import export_snapshots as write
    from monitor.app.exports.openmetrics import export_openmetrics
    from monitor.app.kept_run import open_kept_run, refuse_unknown_names

    with open_kept_run(read_settings(path, outside=False), path.parent, run_name) as kept_run:
        refuse_unknown_names(kept_run, chosen["model"], chosen["window"], chosen["measure"])
        if form == "openmetrics":
            sentence = counted_noun(export_openmetrics(kept_run, file, KeptSelection(**chosen)), "sample")
        else:
            sentence = counted_noun(write(kept_run.store, file, KeptSelection(**chosen), form), "row")
    say_line(f"{file}: {sentence}")


@main.command()
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    default="monitor-demo",
    show_default=True,
    help="Where databases and configuration are kept.",
)
@click.option("--exit", "leave", is_flag=True, help="End after the table of months.")
@click.option(
    "--until",
    type=MomentType(),
    help="Replay to this date, after 2013-03-01, by 2014-01-01; cycles at --pace do the rest.",
)
@click.option(
    "--pace", type=DurationType(), default="10s", show_default=True, help="Time between these cycles."
)
@click.option("--source-url", envvar="MONITOR_DEMO_SOURCE", show_envvar=True, help="Database for the logs.")
@click.option("--store-url", envvar="MONITOR_DEMO_STORE", show_envvar=True, help="Database for the results.")
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option("--port", type=int, default=PORT, show_default=True, help="Port to listen on.")
@exit_on_error
def demo(directory: Path, **options: Any) -> None:
    """Show the monitor at work on ten months of real flights.

    It replays them, prints a table of months, and stays up as the daemon. Ended or killed, it goes on by the
    same command; `monitor run` would go by today's clock.
    """
    from monitor.app.demo_run import run_demo

    sys.exit(run_demo(directory, progress=show_progress, **options))


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """What is made meanwhile stays as long as the process: no collection looks through it, now or later.

    Measured: that takes a tenth of the time of importing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def cycle_done_line(report: "CycleReport") -> str:
    """One line on what a cycle did."""
    if report.error is not None:
        return failure_line(report)
    from monitor.app.application import list_cycle_troubles

    met = "".join(f"; {sentence}" for sentence in list_cycle_troubles(report))
    return (
        f"{report.model} as of {to_iso(report.as_of)}: {report.rows_read:,} rows and"
        f" {report.label_rows_read:,} label rows read, {counted_noun(report.panes_counted, 'pane')} counted,"
        f" {report.panes_waiting:,} waiting, {counted_noun(report.measurements, 'measurement')},"
        f" {report.snapshots:,} kept{met}"
    )


def cycle_plan_line(report: "CycleReport") -> str:
    """One line on what a cycle would do."""
    if report.error is not None:
        return failure_line(report)
    return (
        f"{report.model} as of {to_iso(report.as_of)}: {counted_noun(report.panes_waiting, 'pane')} to count,"
        f" {counted_noun(report.rows_read, 'changed row')}; nothing was written"
    )


def failure_line(report: "CycleReport") -> str:
    """One line on a cycle that failed."""
    return f'monitor: model "{report.model}" as of {to_iso(report.as_of)}: {report.error}'


def _follow_replay(reports: "Iterator[CycleReport]", name: str, length: int, app: "App") -> bool:
    """Follow a replay to its end; whether it failed."""
    last = deque(reports, maxlen=1)
    if not last:
        say_line(f"{name}: nothing to do, the run has passed these ticks", err=True)
        return False
    if last[0].error is None:
        run = "" if app.store.run == LIVE else f" --run {shlex.quote(app.store.run)}"
        alerts = counted_noun(len(app.store.alerts.read_alerts(name, ended=True)), "alert")
        say_line(
            f"{name}: {counted_noun(length, 'cycle')} done; {alerts} found: monitor status{run}", err=True
        )
    else:
        say_line(failure_line(last[0]), err=True)
    return last[0].error is not None


def _refuse_future(option: str, moment: int | None, now: int) -> None:
    if moment is not None and moment > now:
        raise click.UsageError(f"{option} must not lie in the future: got {to_iso(moment)}")
