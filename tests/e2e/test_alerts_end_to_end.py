"""From a fault in the log to somebody who is told: the daemon of the demo, Prometheus, Alertmanager."""

import re
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import alerting
import process
import pyarrow.parquet as pq
import pytest
import servers
from click.testing import CliRunner

from monitor.cli import main
from monitor.core.clock import SECOND, from_iso, to_iso
from monitor.demo.load_flights import flights_directory, load_logs

pytestmark = [pytest.mark.promtool, pytest.mark.alertmanager]
LAST = datetime(2013, 5, 15, tzinfo=UTC)  # of the small log: two minutes and a half of days
UNTIL = "2013-03-02"  # the replay before the daemon ticks
QUICK = ("--last-word", "10m", "--keep-firing-for", "3s", "--down-after", "6s")
STOPPED = {"alertname": "ModelLogStopped", "model": "late", "rule": "log_stopped"}
DOWN = {"alertname": "ModelMonitorDown"}
STILL = 12.0  # seconds in which nothing may be said to be over: several times what that takes


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's daemon, a day each two seconds, over a log that may stop."""

    directory: Path
    daemon: process.Process

    def as_of(self) -> str:
        """What the measurements speak of, as the log writes times."""
        seconds = self.daemon.value("as_of_seconds", model="late") or from_iso(UNTIL) / SECOND
        return to_iso(int(seconds) * SECOND).replace("T", " ").rstrip("Z")

    def stop_log(self) -> None:
        """Nothing is logged from now on; what would have been is kept aside."""
        self._run(
            "CREATE TABLE IF NOT EXISTS aside AS SELECT * FROM predictions WHERE 0",
            "INSERT INTO aside SELECT * FROM predictions WHERE logged_at > :now",
            "DELETE FROM predictions WHERE logged_at > :now",
        )

    def resume_log(self) -> None:
        """From now on it is logged again."""
        self._run("INSERT INTO predictions SELECT * FROM aside WHERE logged_at > :now", "DELETE FROM aside")

    def _run(self, *statements: str) -> None:
        now = self.as_of()
        with closing(sqlite3.connect(self.directory / "flights.db", timeout=60)) as log, log:
            for statement in statements:
                log.execute(statement, {"now": now} if ":now" in statement else {})


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    directory, files = tmp_path / "demo", tmp_path / "files"
    directory.mkdir()
    files.mkdir()
    for name, moment in (("predictions", "event_time"), ("labels", "reported_at")):
        early = pq.read_table(flights_directory() / f"{name}.parquet", filters=[(moment, "<", LAST)])
        pq.write_table(early, files / f"{name}.parquet")
    load_logs(f"sqlite:///{directory / 'flights.db'}", files)
    port = servers.free_port()
    command = process.monitor("demo", "--directory", str(directory), "--port", str(port))
    daemon = process.Process([*command, "--until", UNTIL, "--pace", "2s"], port, tmp_path / "demo.log")
    try:
        daemon.started()
        yield Demo(directory, daemon)
    finally:
        daemon.kill()


def test_a_fault_in_the_log_is_told_and_so_is_its_end_and_a_dead_monitor_ends_nothing(
    demo: Demo, tmp_path: Path
) -> None:
    config = ["--config", str(demo.directory / "config.toml")]
    written = CliRunner().invoke(
        main, ["export-rules", *config, *QUICK, "--runbook", "https://books.example/it"]
    )
    assert written.exit_code == 0, written.stderr

    with alerting.stack(tmp_path, written.stdout, demo.daemon.port) as told:
        demo.stop_log()
        firing = told.wait("firing", STOPPED)
        demo.resume_log()
        resolved = told.wait("resolved", STOPPED)
        demo.stop_log()
        told.wait("firing", STOPPED, after=1)
        seen = len(told.of("firing", DOWN))  # a machine too busy to answer in time
        demo.daemon.stop(signal.SIGKILL)
        down = told.wait("firing", DOWN, after=seen)
        time.sleep(STILL)

    incident = firing["labels"].pop("incident")
    assert re.fullmatch(r"2013-\d\d-\d\d-records", incident)
    assert firing["labels"] == STOPPED | {"job": "monitor", "severity": "critical"}
    summary = firing["annotations"].pop("summary")
    assert re.fullmatch(r"late: The log has stopped: log_age \d+d \d+h, limit 3d 0h", summary)
    pages = f"http://127.0.0.1:{demo.daemon.port}/models/late"
    assert firing["annotations"] == {
        "description": "log_age: above 3d.",
        "action": "Look whether the model serves, and whether its log is still written.",
        "runbook_url": "https://books.example/it#log_stopped",
        "page_url": f"{pages}/incidents/{incident}#decide",
    }
    assert firing["path"] == "/on-call"
    assert resolved["startsAt"] == firing["startsAt"] < resolved["endsAt"]
    assert down["labels"] == {"alertname": "ModelMonitorDown", "job": "monitor", "severity": "critical"}
    assert len(told.of("resolved", STOPPED)) == 1
    assert len(told.of("resolved", DOWN)) == seen
