"""The demo: load real flights, replay ten months, print them month by month, stay up as the daemon."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from monitor.app.alert_decisions import PAST, Decision, list_standings
from monitor.app.application import open_application
from monitor.app.clocks import frozen_clock, paced_clock
from monitor.app.daemon_wiring import serve_daemon
from monitor.app.kept_run import read_chosen_rows
from monitor.app.model_cycles import replay_model
from monitor.app.run_lock import ExclusiveRun
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, from_iso, to_iso
from monitor.core.errors import ConfigurationError, MonitorError
from monitor.demo.load_flights import flights_directory, load_logs
from monitor.demo.month_table import month_table
from monitor.show.model_status import head_lines
from monitor.show.terminal_words import say_line, say_lines, terminal_width, wrap_width
from monitor.specs import PORT
from monitor.specs.protocols import CycleReport
from monitor.specs.urls import resolve_url, sqlite_url
from monitor.store.store_database import migrate_store

MODEL = "late"
_PORT = re.compile(r'(?<=^url = "http://127\.0\.0\.1:)\d+', re.MULTILINE)  # of [http] url
START, END = from_iso("2013-03-01"), from_iso("2014-01-01")

Progress = Callable[[Iterator[CycleReport], int, str], Iterator[CycleReport]]


def run_demo(
    directory: Path,
    *,
    progress: Progress,
    leave: bool,
    until: int | None,
    pace: int,
    source_url: str | None,
    store_url: str | None,
    host: str,
    port: int,
) -> int:
    """Run the demo; return the exit code.

    Parameters
    ----------
    directory
        kept: a second run goes on where the first one stopped.
    until
        the replay ends here; the daemon runs a cycle each `pace` from here to the end.
    """
    if until is not None and not START < until <= END:
        rule = f"--until must be after {to_iso(START)}, and at most {to_iso(END)}, where the flights end"
        raise ConfigurationError([f"{rule}: got {to_iso(until)}"])
    directory.mkdir(parents=True, exist_ok=True)
    config, urls = _prepare_directory(directory, source_url, store_url, port)
    rows = load_logs(urls["MONITOR_DEMO_SOURCE"], flights_directory())
    say_line(f"{rows:,} rows of the logs loaded" if rows else "the logs are loaded already", err=True)
    migrate_store(urls["MONITOR_DEMO_STORE"])
    settings = settings_of(config, urls)
    settings = replace(settings, http=replace(settings.http, host=host, port=port))
    with open_application(settings, directory) as app, ExclusiveRun(app) as exclusive_run:
        stop = min(until or END, END)
        moments, reports = replay_model(app, MODEL, START, stop)
        for report in progress(reports, len(moments), "replay, day by day"):
            if report.error is not None:
                raise MonitorError(f"the demo stopped: {report.error}")
        if not app.store.events.read_events(MODEL, PAST):
            app.store.events.append_events(
                [Decision(stop, "demo", "flights of 2013: no cycle is late").history_event(MODEL, PAST)]
            )
        say_lines(month_table(read_chosen_rows(app, model=MODEL, window="month", history=True), wrap_width()))
        say_lines(
            "\n".join(line.text for line in head_lines(list_standings(app, MODEL, stop), terminal_width()))
        )
        say_line(f"ask on: {_further_command(config, source_url, store_url)}", err=True)
        if leave:
            return 0
        say_line(
            f"look at http://{host}:{port}/ (metrics: /metrics; Ctrl-C ends, the same command goes on)",
            err=True,
        )
        now = max(stop, app.store.states.read_state(MODEL).as_of or stop)
        if now >= END:
            return serve_daemon(app, exclusive_run=exclusive_run, clock=frozen_clock(END), ticking=False)
        return serve_daemon(
            app, exclusive_run=exclusive_run, clock=paced_clock(now, END, DAY, pace), pace=pace
        )


def _prepare_directory(
    directory: Path, source_url: str | None, store_url: str | None, port: int
) -> tuple[Path, dict[str, str]]:
    """Configuration and reference in the demo's directory, and the databases' URLs.

    The demo's own URLs are written out, so that `monitor show` can be asked of it; others may hold secrets.
    Relative paths of theirs start in the demo's directory. A configuration that was edited is kept.
    """
    home = directory.resolve()
    own = {
        "MONITOR_DEMO_SOURCE": sqlite_url(home / "flights.db"),
        "MONITOR_DEMO_STORE": sqlite_url(home / "monitor.db"),
    }
    given = {"MONITOR_DEMO_SOURCE": source_url, "MONITOR_DEMO_STORE": store_url}
    text = template = (Path(__file__).parent.parent / "demo" / "demo.toml").read_text(encoding="utf-8")
    config = directory / "config.toml"
    before = config.read_text(encoding="utf-8") if config.exists() else template
    before = _PORT.sub(str(PORT), before)
    for name, url in own.items():
        place, written = f"${{{name}}}", url.replace("${", "$${")
        before = before.replace(f'"{written}"', f'"{place}"')
        if given[name] is None:
            text = text.replace(place, written)
    if before == template:
        config.write_text(_PORT.sub(str(port), text), encoding="utf-8")
    else:
        kept = "it is not as this version of the demo writes it, and is kept: move it away to have it anew"
        say_line(f"{config}: {kept}", err=True)
    shutil.copyfile(flights_directory() / "reference.parquet", directory / "reference.parquet")
    return config, {name: resolve_url(given[name] or url, home) for name, url in own.items()}


def _further_command(config: Path, *given: str | None) -> str:
    """Command that asks on; where databases were given the configuration names their variables."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "monitor" else "monitor"
    names = ("MONITOR_DEMO_SOURCE", "MONITOR_DEMO_STORE")
    needed = [f"{name}=… " for name, url in zip(names, given, strict=True) if url is not None]
    command = [program, "status", "--config", str(config)]
    return "".join(needed) + shlex.join(command)
