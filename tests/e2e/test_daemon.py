"""The real `monitor run`, ticking every second over a log of yesterday and today."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import process
import pytest
import servers
from click.testing import CliRunner, Result
from process import Series
from serving import (
    DAILY,
    HOURLY,
    Bench,
    Database,
    fill_tables,
    model,
    predictions,
    quick,
)

from monitor.app.clocks import system_clock
from monitor.app.model_cycles import run_single_cycle
from monitor.cli import main
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, floor_to, from_iso, to_iso
from monitor.exposition.metric_names import family_name, has_truth_label
from monitor.measures.catalogue import BY_NAME

OF_THE_DAEMON = {
    *("daemon_aside", "store_away", "clock_ahead_seconds"),
    *("build_info", "start_time_seconds"),
    *("config_last_reload_successful", "config_last_reload_success_timestamp_seconds"),
}
OPTIONS = quick(windows=f"{DAILY}, {HOURLY}")
SPEND = f"""
[[models]]
name = "spend"
source = "log"
task = "regression"
{OPTIONS}

[models.predictions]
table = "spends"
id = "id"
event_time = "event_time"
logged_at = "logged_at"
prediction = "predicted"

[models.labels]
label = "actual"
"""


@dataclass(slots=True)
class Running:
    """A daemon, its log and its configuration."""

    bench: Bench
    process: process.Process
    now: int

    def command(self, *arguments: str) -> Result:
        """Another command on the same configuration."""
        config = str(self.bench.config)
        return CliRunner().invoke(main, [arguments[0], "--config", config, *arguments[1:]])

    def by_series(self) -> Series:
        """What `monitor show` says, under the names and labels of the page."""
        found: Series = {}
        for row in json.loads(self.command("show", "--format", "json").stdout):
            if row["against"] is not None:
                continue
            measure = BY_NAME[row["measure"]]
            name = family_name(measure).removeprefix("model_monitor_")
            labels_ = {key: row[key] or "" for key in ("model", "version", "segment", "window", "subject")}
            labels_ |= {"truth": row["truth"] or ""} if has_truth_label(measure) else {}
            key = process.labelled(labels_)
            values = {name: row["value"], f"{name}_lower": row["lower"], f"{name}_upper": row["upper"]}
            found |= {(one, key): value for one, value in values.items() if value is not None}
        return found

    def measured(self, subject: str) -> bool:
        """Whether the newest hour has values of a subject."""
        options = ("--model", "late", "--window", "1h", "--subject", subject, "--measure", "missing_rate")
        rows = json.loads(self.command("show", *options, "--format", "json").stdout)
        (row,) = (one for one in rows if one["against"] is None)
        return row["value"] is not None

    def touch(self, prefix: str) -> None:
        """Log a row in each pane of the last hours, so that they are counted again."""
        now = time.time_ns() // 1_000
        rows = predictions(12, floor_to(now, 10 * MINUTE) - 2 * HOUR, now, prefix=prefix)
        known = self.bench.columns("predictions")
        logged = to_iso(floor_to(now, SECOND))
        self.bench.database.insert(
            "predictions",
            [{key: row[key] for key in row if key in known} | {"logged_at": logged} for row in rows],
        )


def fill(database: Database, now: int) -> None:
    rows = predictions(600, floor_to(now, DAY) - DAY, now)
    fill_tables(database, rows, labelled=now)
    time_type = "timestamptz" if database.postgres else "TEXT"
    number = "double precision" if database.postgres else "REAL"
    database.create(
        "spends", id="text", event_time=time_type, logged_at=time_type, predicted=number, actual=number
    )
    database.insert(
        "spends",
        [
            {name: row[name] for name in ("id", "event_time", "logged_at")}
            | {"predicted": row["amount"], "actual": row["amount"] + row["score"]}
            for row in rows
        ],
    )


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon with two models; source and store on the same engine."""
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        yield from _running(directory, f"sqlite:///{directory / 'log.db'}", _sqlite(directory))
        return
    server: servers.PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as log, server.database() as store:
        yield from _running(directory, log, store)


def _sqlite(directory: Path) -> str:
    return f"sqlite:///{directory / 'monitor.db'}"


def _running(directory: Path, log: str, store: str) -> Iterator[Running]:
    bench, now, port = Bench(directory, Database(log), store), time.time_ns() // 1_000, servers.free_port()
    fill(bench.database, now)
    bench.configure(model(options=OPTIONS), SPEND, port=port)
    found = Running(bench, process.Process([], port, directory / "none"), now)
    assert found.command("migrate").exit_code == 0
    with process.daemon(directory / "config.toml", port) as found.process:
        found.process.started()
        for name in ("late", "spend"):
            found.process.wait_cycle(name)
        yield found


on_postgresql_slowly = pytest.mark.parametrize(
    "running",
    ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow])],
    indirect=True,
    scope="module",
)


def test_the_daemon_is_ready_healthy_and_measures_both_models(running: Running) -> None:
    assert [running.process.status(path) for path in ("/readyz", "/healthz")] == [200, 200]
    series = running.process.series()
    for name, labels_ in series:
        assert (
            ("model", "late") in labels_
            or ("model", "spend") in labels_
            or name in OF_THE_DAEMON
            or name.startswith(("source_", "cycle_step_"))
        )
    assert running.process.value("root_mean_squared_error", model="spend", window="1d", truth="settled")
    assert running.process.value("roc_auc_ratio", model="late", window="1d", truth="settled")
    assert running.process.value("orphan_labels_records", model="late") == 0
    assert running.process.value("future_records", model="spend") == 0


@pytest.mark.promtool
def test_prometheus_has_nothing_to_say_against_the_page(running: Running) -> None:
    promtool = servers.program("promtool", package="prometheus")

    done = subprocess.run(
        [promtool, "check", "metrics"],
        input=running.process.page(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_show_and_the_page_agree(running: Running) -> None:
    shown: Series = {}
    served: Series = {}

    def agree() -> bool:
        nonlocal shown, served
        shown, served = running.by_series(), running.process.series()
        return all(shown[key] == value for key, value in served.items() if key in shown)

    running.process.wait(agree, "the page to say what show does")  # when a window ends, one is first

    assert len([key for key in served if key in shown]) > 60
    assert not [key for key in served if key[0].endswith("_lower") and key not in shown]


def standby_of(running: Running) -> process.Process:
    """A second daemon on the same run and the same port, waiting; its log is another."""
    if running.bench.store_url.startswith("postgresql"):
        pytest.skip("daemons share a PostgreSQL store: tested with replicas")
    directory = running.bench.directory
    log = directory / f"standby-{time.monotonic_ns()}.log"
    command = process.monitor("run", "--config", str(directory / "config.toml"))
    second = process.Process(command, running.process.port, log)
    second.start()
    second.wait(lambda: bool(second.logged("another process has the run, waiting", run="live")), "a standby")
    return second


def test_a_second_daemon_of_the_same_run_waits_until_it_is_ended(running: Running) -> None:
    second = standby_of(running)
    try:
        code, seconds = second.stop()
    finally:
        second.kill()

    assert (code, seconds < 15) == (0, True)
    assert not second.logged("ready")
    assert running.process.status("/healthz") == 200


def test_a_second_daemon_takes_over_when_the_first_ends(running: Running) -> None:
    second = standby_of(running)
    try:
        assert second.process is not None
        second.process.send_signal(signal.SIGHUP)  # remembered until there is something to reload
        assert running.process.stop()[0] == 0
        second.wait(lambda: second.status("/readyz") == 200, "the standby to be ready")
        second.wait(lambda: len(second.logged("configuration read again")) == 1, "the reload")
        second.wait_cycle("late")
        assert second.stop()[0] == 0
    finally:
        second.kill()
        running.process.started()

    running.process.wait_cycle("late")


@on_postgresql_slowly
def test_status_says_after_a_minute_that_no_daemon_runs_any_longer(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    running.process.wait_cycle("late")
    gone, asked = "No daemon has been heard of since", ("status", "--exit-code", "--all")

    running.process.stop()
    at_once = running.command(*asked)
    with monkeypatch.context() as later:
        later.setattr("monitor.app.clocks.system_clock", lambda: system_clock() + 2 * MINUTE)
        stopped = running.command(*asked)
        running.process.started()
        again = running.command(*asked)

    assert [gone in done.stdout for done in (at_once, stopped, again)] == [False, True, False]
    assert stopped.exit_code == 3


def test_a_replay_into_live_is_refused_beside_a_daemon_and_goes_under_another_name(running: Running) -> None:
    span = ("--from", to_iso(running.now - DAY), "--to", to_iso(running.now - DAY // 2), "--every", "6h")

    refused = running.command("replay", *span, "--run", "live")
    unnamed = running.command("replay", *span)
    named = running.command("replay", *span, "--run", "other")

    killed = "; if it was killed, wait until 20" if running.bench.database.postgres else "): wait"
    for done in (refused, unnamed):
        assert done.exit_code == 1
        assert done.stderr.startswith('monitor: a daemon or a replay has the run "live" (process ')
        assert killed in done.stderr
        assert done.stderr.endswith(": wait, or name another run with --run NAME\n")
    assert named.exit_code == 0, named.stderr


@on_postgresql_slowly
def test_a_dropped_feature_takes_its_own_measures_with_it_and_brings_them_back(running: Running) -> None:
    daemon, database = running.process, running.bench.database
    assert running.measured("feature:group")
    try:
        database.run('ALTER TABLE predictions RENAME COLUMN "group" TO gone')
        running.touch("dropped")
        daemon.wait(lambda: not running.measured("feature:group"), "the feature to be absent")
        daemon.wait_cycle("late")
        assert running.measured("feature:amount")
        assert daemon.value("missing_columns", model="late") == 1
        assert daemon.logged("columns are missing", model="late")[-1]["columns"] == ["group"]
        assert daemon.value("cycles_total", model="late", outcome="failure") == 0
        assert 'Columns are missing: "group", since ' in running.command("status", "--all").stdout
    finally:
        database.run('ALTER TABLE predictions RENAME COLUMN gone TO "group"')

    running.touch("back")
    daemon.wait(lambda: running.measured("feature:group"), "the feature to be back")

    daemon.wait_cycle("late")
    assert daemon.value("missing_columns", model="late") == 0
    assert "Columns are missing" not in running.command("status", "--all").stdout


@on_postgresql_slowly
def test_a_dropped_id_column_fails_its_model_alone_until_it_is_back(running: Running) -> None:
    daemon, database = running.process, running.bench.database
    try:
        database.run("ALTER TABLE spends RENAME COLUMN id TO gone")
        failed = daemon.wait_cycle("spend", "cycle failed")
        as_of = daemon.value("as_of_seconds", model="spend")
        daemon.wait_cycle("late")
        assert failed["error"] == 'table "spends" has no column "id" (id)'
        assert daemon.value("as_of_seconds", model="spend") == as_of
        assert daemon.value("root_mean_squared_error", model="spend", window="1d", truth="settled")
        assert daemon.value("cycles_total", model="spend", outcome="failure")
    finally:
        database.run("ALTER TABLE spends RENAME COLUMN gone TO id")

    daemon.wait_cycle("spend")

    assert (daemon.value("as_of_seconds", model="spend") or 0) > (as_of or 0)


def test_a_database_file_that_is_moved_away_is_found_again(running: Running) -> None:
    if running.bench.database.postgres:
        return  # what a server does that goes away is tested with the sources
    file = running.bench.directory / "log.db"
    file.rename(file.with_suffix(".away"))
    try:
        failed = [running.process.wait_cycle(name, "cycle failed") for name in ("late", "spend")]
    finally:
        file.with_suffix(".away").rename(file)

    assert {line["error"] for line in failed} == {f"sqlite:///{file}: there is no file {file}"}
    for name in ("late", "spend"):
        running.process.wait_cycle(name)
    assert running.process.status("/healthz") == 200


def test_a_stopped_daemon_ends_within_seconds_and_restarts_with_what_it_served(running: Running) -> None:
    daemon, config = running.process, running.bench.config
    whole = config.read_text(encoding="utf-8")

    code, seconds = daemon.stop()

    assert (code, daemon.logged("stopped") != []) == (0, True)
    assert seconds < 15
    kept = running.by_series()
    config.write_text(
        whole.replace(running.bench.database.url, "sqlite:////nowhere/log.db"), encoding="utf-8"
    )
    daemon.started()
    served = daemon.series()
    config.write_text(whole, encoding="utf-8")
    measured = {key: value for key, value in served.items() if key in kept}
    assert measured == {key: kept[key] for key in measured}
    assert len(measured) > 60
    assert daemon.stop()[0] == 0


def test_a_daemon_that_is_stopped_in_mid_cycle_keeps_no_half_of_it_and_goes_on(tmp_path: Path) -> None:
    bench, port = (
        Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), _sqlite(tmp_path)),
        servers.free_port(),
    )
    now = time.time_ns() // 1_000
    rows = predictions(6_000, floor_to(now, DAY) - DAY, now)
    fill_tables(bench.database, rows, labelled=now)
    bench.configure(model(options=OPTIONS.replace('"10m"', '"30s"').replace("1s", "1h")), port=port)

    with process.daemon(tmp_path / "config.toml", port) as daemon, bench.app() as app:
        daemon.start()
        daemon.wait(lambda: bool(app.store.panes.read_pane_facts("late", 0)), "the first chunk of panes")
        code, seconds = daemon.stop()
        assert (code, seconds < 15) == (0, True)
        assert daemon.logged("cycle given up", model="late")
        assert app.store.current.read_current("late") == []
        assert app.store.states.read_state("late").as_of is None
        assert (
            0
            < len(app.store.panes.read_pane_facts("late", 0))
            < len(app.store.panes.read_waiting_panes("late"))
        )
        daemon.started()
        done = daemon.first_cycle("late")
        daemon.stop()
        went_on = app.store.current.read_current("late")

    (tmp_path / "monitor.db").rename(tmp_path / "stopped.db")
    (tmp_path / "monitor.db.live.lock").unlink()  # it says that there was a store
    with bench.app() as app:
        assert run_single_cycle(app, "late", from_iso(done["as_of"])).error is None
        assert app.store.current.read_current("late") == went_on


@pytest.mark.postgres
def test_a_store_that_is_not_migrated_is_refused_with_what_to_do(postgres_url: str, tmp_path: Path) -> None:
    secret = postgres_url.replace("postgres@", "postgres:s3cret@")
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), secret)
    bench.configure(model(options=OPTIONS), port=0)

    done = CliRunner().invoke(main, ["run", "--config", str(tmp_path / "config.toml")])

    assert done.exit_code == 1
    assert "run `monitor migrate`" in done.stderr
    assert "s3cret" not in done.stderr
