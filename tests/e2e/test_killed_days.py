"""Days judged by real daemons that are killed, by two replicas, by few ticks: the same days and alerts."""

import random
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from crash_logs import fill, late_predictions
from crashes import contents, differences
from serving import Bench, Database, Row, model

from monitor.app.clocks import system_clock
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, floor_to, from_iso
from monitor.store.store_database import migrate_store

EVERY, MISSED, LEARNED = 6 * HOUR, 8, 26  # days that are missed; days before them
OPTIONS = """
every = "6h"
pane = "6h"
windows = [{ length = "1d", step = "1d" }]
horizon = "40d"
segments = ["group"]
resamples = 1
reading = { overlap = "1h", tolerance = "5s", ready_after = "0s" }
"""
HTTP = '[http]\nport = 0\nurl = "http://127.0.0.1:9"\n'
HEAD = HTTP + '[log]\nformat = "json"\n[daemon]\ncatch_up = "90d"\nlease_ttl = "1s"\n'
CHANNEL = '[[notify]]\nname = "dead"\nurl = "http://127.0.0.1:9/nobody"\n'
REPORT = '[models.report]\nevery = "week"\nto = ["dead"]\n'
PATIENCE, KILLS = 240.0, 10
JUDGED = ("days", "alerts", "incidents", "outbox", "snapshots", "events")


@dataclass
class Life:
    """A store of a model whose last cycle is long ago; `first` is its as of."""

    directory: Path
    store_url: str
    log: Database
    first: int
    options: str = OPTIONS
    every: int = EVERY
    kills: int = 0
    inside: int = 0

    def __post_init__(self) -> None:
        self.directory.mkdir()
        self.bench = Bench(self.directory, self.log, self.store_url)
        self.bench.configure(HEAD, CHANNEL, model(options=self.options), REPORT)
        assert self.bench.cycle(self.first).error is None

    def ticks(self, *moments: int) -> None:
        """Cycles in this process."""
        with self.bench.app() as app:
            for moment in moments:
                report = run_single_cycle(app, "late", moment)
                assert report.error is None, report.error

    def daemons(self, many: int, kills: int, rng: random.Random) -> None:
        """Run what was missed by so many daemons at once; kill one after the other, and start it again."""
        until = time.monotonic() + PATIENCE
        with ExitStack() as stack:
            running = [stack.enter_context(self._daemon()) for _ in range(many)]
            before = self._of_model("token", "leases")
            while self.as_of < floor_to(system_clock(), self.every):
                assert time.monotonic() < until, (self.directory / "daemon.log").read_text()[-2_000:]
                assert all(one.poll() is None for one in running)
                if self.kills < kills and self._of_model("token", "leases") != before:
                    time.sleep(rng.uniform(0.0, 0.8))
                    victim = rng.randrange(many)
                    running[victim].kill()
                    running[victim].wait()
                    self.kills += 1
                    self.inside += self._of_model("expires_at", "leases") > system_clock()
                    before = self._of_model("token", "leases")
                    running[victim] = stack.enter_context(self._daemon())
                time.sleep(0.02)
            for one in running:
                one.kill()

    def _daemon(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "monitor.cli", "run", "--config", str(self.bench.config)]
        with (self.directory / "daemon.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    @property
    def as_of(self) -> int:
        """As of of the last cycle."""
        return self._of_model("as_of", "models")

    def _of_model(self, column: str, table: str) -> int:
        query = f"SELECT {column} FROM {table} WHERE run = 'live' AND model = 'late'"
        with sa.create_engine(self.store_url, poolclass=sa.NullPool).connect() as connection:
            return int(connection.exec_driver_sql(query).scalar_one())


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Database, int]:
    """A log of which rows come up to two days late and labels are corrected; and when ticks began to lack."""
    directory = tmp_path_factory.mktemp("days")
    now = floor_to(system_clock(), DAY)
    first, start = now - MISSED * DAY, now - (MISSED + LEARNED) * DAY
    rows = late_predictions(120 * (MISSED + LEARNED), start, now, longest=2 * DAY)
    database = Database(f"sqlite:///{directory / 'log.db'}")
    fill(database, [_struck(row, first + 2 * DAY) for row in rows], typical=DAY)
    return directory, database, first


def _struck(row: Row, since: int) -> Row:
    """A row whose score and amount are others from a day on."""
    if from_iso(row["event_time"]) < since:
        return row
    return row | {"amount": 2 * row["amount"], "score": round(row["score"] / 2, 4)}


@pytest.mark.long
@pytest.mark.postgres
def test_killed_daemons_replicas_and_few_ticks_find_the_same_days_and_alerts(
    log: tuple[Path, Database, int], postgres_url: str
) -> None:
    directory, database, first = log
    migrate_store(postgres_url)
    killed = Life(directory / "killed", f"sqlite:///{directory / 'killed.db'}", database, first)
    replicas = Life(directory / "replicas", postgres_url, database, first)
    few = Life(directory / "few", f"sqlite:///{directory / 'few.db'}", database, first)
    whole = Life(directory / "whole", f"sqlite:///{directory / 'whole.db'}", database, first)

    killed.daemons(1, KILLS, random.Random(7))  # noqa: S311 -- moments, no secrets
    replicas.daemons(2, KILLS, random.Random(8))  # noqa: S311
    last = killed.as_of
    assert replicas.as_of == last
    whole.ticks(*range(first + EVERY, last + 1, EVERY))
    few.ticks(first + 3 * DAY + EVERY, last)

    expected, late = contents(whole.store_url), contents(few.store_url)
    for life in (killed, replicas):
        different = differences(expected, contents(life.store_url))
        assert {name: rows for name, rows in different.items() if name in JUDGED} == {}
        assert life.kills == KILLS
    assert any("'report-" in notice for notice in expected["outbox"])
    told = list(filter(_of_days, expected["alerts"]))
    assert late["days"] == expected["days"]
    assert list(filter(_of_days, late["alerts"])) == told
    assert (len(expected["days"]) > 2 * 14, len(told) >= 2) == (True, True)
    assert min(killed.inside, replicas.inside) > 0


def _of_days(alert: str) -> bool:
    return "'changed" in alert or "'performance_changed" in alert
