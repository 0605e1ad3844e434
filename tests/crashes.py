"""Daemons that are killed at random moments, and what their store holds in the end."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from crash_logs import OPTIONS, fill, late_predictions
from serving import Bench, Database, model

from monitor.app.running import cycle_once
from monitor.core.clock import HOUR, MINUTE, from_iso
from monitor.store import tables

SCRIPT = Path(__file__).with_name("crash_daemon.py")
START, EVERY = from_iso("2024-03-01"), 10 * MINUTE
FIRST = START + 30 * HOUR
PATIENCE = 180.0
MOST_MISSED = 4
HISTORY = (
    *(tables.panes, tables.current, tables.snapshots, tables.windows, tables.models, tables.waiting),
    *(tables.provenance, tables.events, tables.entries),
)
OF_ITS_OWN = {"rows_read", "id"}  # a cycle that is begun twice reads less the second time

Contents = dict[str, list[str]]


def contents(url: str) -> Contents:
    """All that a store keeps of a history."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = {
            table.name: sorted(
                repr(tuple(bytes(value) if isinstance(value, memoryview) else value for value in row))
                for row in connection.execute(sa.select(*(c for c in table.c if c.name not in OF_ITS_OWN)))
            )
            for table in HISTORY
        }
    engine.dispose()
    return found


@dataclass(slots=True)
class Crashes:
    """A log, a store, and daemons on it that are killed.

    Parameters
    ----------
    ticks
        of the whole history.
    longest
        seconds that a daemon is left alive after its first cycle has begun.
    inside
        kills that hit a cycle: its lease was not given back.
    """

    directory: Path
    store_url: str
    ticks: int
    rng: random.Random
    longest: float = 1.0
    kills: int = 0
    inside: int = 0
    bench: Bench = field(init=False)

    def __post_init__(self) -> None:
        """Configure a daemon on the log beside."""
        self.directory.mkdir(exist_ok=True)
        log = Database(f"sqlite:///{self.directory.parent / 'log.db'}")
        self.bench = Bench(self.directory, log, self.store_url)
        options = OPTIONS.format(
            every="10m", pane="3h", step="3h", horizon="3d", settle_after="8h", overlap="15m"
        )
        daemon = '[http]\nport = 0\n[log]\nformat = "json"\n[daemon]\nlease_ttl = "1s"\n'
        self.bench.configure(daemon, model(options=options))

    @property
    def last(self) -> int:
        """As of of the last tick."""
        return FIRST + (self.ticks - 1) * EVERY

    def undisturbed(self) -> Contents:
        """What a process that nobody disturbs leaves."""
        with self.bench.app() as app:
            for tick in range(FIRST, self.last + 1, EVERY):
                report = cycle_once(app, "late", tick)
                assert report.error is None, report.error
        return contents(self.store_url)

    def disturbed(self, most: int) -> Iterator[int]:
        """Kill daemons, after `most` only one that is done, until the history is whole; yield the kills."""
        with self.bench.app() as app:  # migrates
            app.store.state("late")
        with self._server() as server:
            while (reached := self._as_of()) is None or reached < self.last:
                missed = self.rng.randint(1, MOST_MISSED) * EVERY
                now = FIRST if reached is None else min(self.last, reached + missed)
                within = self.rng.uniform(0.0, self.longest)
                if reached is not None and self.kills >= most:
                    now, within = self.last, PATIENCE
                self._kill(self._started(server, now), now, within)
                yield self.kills

    def _kill(self, pid: int, now: int, within: float) -> None:
        """Kill a daemon some time after it has begun its cycles, or once nothing is left to do."""
        until = time.monotonic() + PATIENCE
        begun, before = None, self._cycles()
        while time.monotonic() < until:
            cycles, as_of = self._cycles(), self._as_of()
            if begun is None and cycles != before and not self._free():
                begun = time.monotonic()
            if begun is not None and time.monotonic() - begun > within:
                break
            if as_of is not None and as_of >= now and self._free():
                break
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        self.kills += 1
        self.inside += not self._free()

    def _as_of(self) -> int | None:
        return self._asked("SELECT as_of FROM models WHERE run = 'live' AND model = 'late'")

    def _cycles(self) -> int | None:
        return self._asked("SELECT token FROM leases WHERE run = 'live' AND model = 'late'")

    def _free(self) -> bool:
        """Whether no cycle runs: a lease that is given back expires with its last renewal."""
        expires = self._asked("SELECT expires_at FROM leases WHERE run = 'live' AND model = 'late'")
        return expires is not None and expires <= time.time_ns() // 1_000

    def _asked(self, query: str) -> int | None:
        engine = sa.create_engine(self.store_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            found = connection.exec_driver_sql(query).scalar()
        return None if found is None else int(found)

    def _started(self, server: subprocess.Popen[str], now: int) -> int:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{now} {self.directory / 'daemon.log'}\n")
        server.stdin.flush()
        return int(server.stdout.readline())

    @contextmanager
    def _server(self) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, str(SCRIPT), str(self.directory / "config.toml")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            try:
                yield server
            finally:
                server.kill()


def write_log(directory: Path, ticks: int, rows: int = 100) -> None:
    """Write the log of all ticks, so many rows an hour; what comes after a cycle's as of it does not see."""
    end = FIRST + ticks * EVERY
    count = int(rows * (end - START) / HOUR)
    predictions = late_predictions(count, START, end, longest=3 * HOUR)
    fill(Database(f"sqlite:///{directory / 'log.db'}"), predictions, typical=5 * HOUR)


def differences(expected: Contents, actual: Contents) -> dict[str, int]:
    """Number of rows that only one of two stores has, by table."""
    return {
        name: len({*expected[name]} ^ {*actual[name]}) for name in expected if expected[name] != actual[name]
    }
