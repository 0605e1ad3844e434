"""`monitor run`, killed at random moments while it runs missed ticks, and what its store holds."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from crash_logs import OPTIONS, fill, late_predictions
from picking import labels_as_read
from serving import Bench, Database, model

from monitor.app.clocks import system_clock
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, MINUTE, floor_to, to_iso
from monitor.records.pane import PaneHalf
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import migrate_store
from monitor.store.tables import measurement_schema, service_schema

EVERY = 10 * MINUTE
REPLAY = "again"
PATIENCE = 180.0
HISTORY = (
    *(measurement_schema.current, measurement_schema.snapshots),
    *(service_schema.panes, service_schema.windows, service_schema.models, service_schema.waiting),
    *(service_schema.provenance, service_schema.events, service_schema.entries, service_schema.days),
    *(service_schema.alerts, service_schema.incidents, service_schema.outbox),
)
# A cycle that is begun twice reads less the second time.
OF_ITS_OWN = {"run", "rows_read", "id", "label_writes", "holds"}
OF_DELIVERY = {"written_at", "attempts", "next_at", "delivered_at", "given_up_at", "error"}
RULES = """default_alerts = true
[[models.alerts]]
name = "labelled"
measure = "coverage"
window = "6h"
truth = "provisional"
above = 0.3
[[models.alerts]]
name = "held"
measure = "base_rate"
window = "6h"
segment = "group=*"
truth = "provisional"
above = 0.3
clear_at = 0.28
for = "20m"
keep_firing_for = "30m"
severity = "critical"
[[models.alerts]]
name = "busy"
measure = "panes_waiting"
above = 1
[[models.alerts]]
name = "lost"
measure = "orphan_labels"
above = 0
for = "2h"
"""
CHANNEL = '[[notify]]\nname = "dead"\nurl = "http://127.0.0.1:9/nobody"\n'

Contents = dict[str, list[str]]


class Seen(NamedTuple):
    """As of of the last cycle, token of the newest one, whether it has come to its end."""

    as_of: int
    token: int
    ended: bool


def contents(url: str, run: str = "live") -> Contents:
    """All that a store keeps of a history, but its name; labels parts as they are read."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = {
            table.name: sorted(
                repr(tuple(bytes(value) if isinstance(value, memoryview) else value for value in row))
                for row in connection.execute(sa.select(*_compared(table)).where(_of_history(table, run)))
            )
            for table in HISTORY
        }
    found["labels"] = _labels(SqlStore(engine, run))
    engine.dispose()
    return found


def _compared(table: sa.Table) -> list[sa.Column[Any]]:
    left_out = OF_ITS_OWN | OF_DELIVERY if table is service_schema.outbox else OF_ITS_OWN
    return [column for column in table.c if column.name not in left_out]


def _of_history(table: sa.Table, run: str) -> sa.ColumnElement[bool]:
    of_run = table.c.run == run
    return of_run if table is not service_schema.panes else of_run & (table.c.part == PaneHalf.RECORDS.value)


def _labels(store: SqlStore) -> list[str]:
    (key,) = store.references.list_reference_keys("late")
    reference = store.references.read_reference(key)
    assert reference is not None
    return labels_as_read(store, reference.counting)


class Stop(NamedTuple):
    """Of a replay: after so many ticks and seconds, by a signal."""

    ticks: int
    later: float
    by: signal.Signals


@dataclass(slots=True)
class Crashes:
    """A store whose model has had one cycle, long ago, and daemons that run what was missed since.

    Parameters
    ----------
    directory
        beside the log.
    first
        as of of that cycle.
    longest
        seconds that a daemon is left alive after its first cycle has begun.
    inside
        kills that hit a cycle: its lease was not given back.
    between
        those of them after labels were added to panes, and before the cycle was committed.
    """

    directory: Path
    store_url: str
    first: int
    longest: float = 1.0
    kills: int = 0
    inside: int = 0
    between: int = 0
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
        self.bench.configure(daemon, CHANNEL, model(options=options + RULES))

    def undisturbed(self, until: int) -> Contents:
        """What a process that nobody disturbs leaves; asked again it goes on."""
        with self.bench.app() as app:
            done = app.store.states.read_state("late").as_of
            for tick in range(self.first if done is None else done + EVERY, until + 1, EVERY):
                report = run_single_cycle(app, "late", tick)
                assert report.error is None, report.error
        return contents(self.store_url)

    def disturbed(self, most: int, rng: random.Random) -> Iterator[int]:
        """Kill daemons, after `most` only one that has run all missed ticks; yield the kills.

        Every second one is killed as soon as it has added labels to panes.
        """
        assert self.bench.cycle(self.first).error is None
        engine = sa.create_engine(self.store_url, isolation_level="AUTOCOMMIT")
        while self.as_of < floor_to(system_clock(), EVERY):
            with engine.connect() as connection:
                last = self.kills >= most
                within = PATIENCE if last else rng.uniform(0.0, self.longest)
                self._killed(connection, within, as_added=not last and self.kills % 2 == 1)
            yield self.kills
        engine.dispose()

    def replayed(self, until: int, stops: Iterable["Stop"], every: int = HOUR) -> Contents:
        """What a replay leaves that is stopped, goes on, is stopped again, and comes to its end at last."""
        start = floor_to(self.first - DAY, every) - 5 * HOUR
        options = ["--from", to_iso(start), "--to", to_iso(until), "--every", f"{every // MINUTE}m"]
        migrate_store(self.store_url)
        for stop in (*stops, None):
            while (done := self._replay(options, stop, start + every * (stop.ticks if stop else 0))) == 1:
                time.sleep(0.2)  # the lease of one that was killed is not over yet
            self.kills += done != 0
            assert stop or done == 0
        return contents(self.store_url, REPLAY)

    def _replay(self, options: Sequence[str], stop: "Stop | None", moment: int) -> int:
        """Replay, stopped so many seconds after the cycle of a moment; the exit code, 1 if it was refused."""
        config, log_file = self.directory / "config.toml", self.directory / "replay.log"
        command = [sys.executable, "-m", "monitor.cli", "replay", "--config", str(config), "--run", REPLAY]
        engine = sa.create_engine(self.store_url, isolation_level="AUTOCOMMIT")
        query = sa.select(sa.func.max(service_schema.models.c.as_of)).where(
            service_schema.models.c.run == REPLAY
        )
        sent = False
        with (
            engine.connect() as connection,
            log_file.open("wb") as log,
            subprocess.Popen([*command, *options], stdout=log, stderr=log) as process,
        ):
            while stop is not None and process.poll() is None:
                if (connection.scalar(query) or 0) >= moment:
                    time.sleep(stop.later)
                    process.send_signal(stop.by)
                    sent = True
                    break
                time.sleep(0.005)
        engine.dispose()
        told = log_file.read_text(encoding="utf-8")
        if "has the run" in told or "another process runs a cycle" in told:
            return 1
        assert process.returncode == 0 or (stop and sent), told
        return -int(stop.by) if stop and process.returncode else 0

    @property
    def as_of(self) -> int:
        """As of of the last cycle."""
        with sa.create_engine(self.store_url, poolclass=sa.NullPool).connect() as connection:
            return self._seen(connection).as_of

    def _killed(self, connection: sa.Connection, within: float, *, as_added: bool) -> None:
        """Start a daemon; kill it some time after it has begun its cycles, or once nothing is left to do.

        Parameters
        ----------
        as_added
            kill it when it has begun, added labels to panes, and not yet committed that cycle.
        """
        before, begun, until = self._seen(connection), None, time.monotonic() + PATIENCE
        config, log_file = self.directory / "config.toml", self.directory / "daemon.log"
        command = [sys.executable, "-m", "monitor.cli", "run", "--config", str(config)]
        with log_file.open("ab") as log, subprocess.Popen(command, stdout=log, stderr=log) as daemon:
            while time.monotonic() < until and daemon.poll() is None:
                seen = self._seen(connection)
                if begun is None and seen.token != before.token:
                    begun = time.monotonic()
                if begun is not None and as_added and self._added(connection):
                    break
                if begun is not None and not as_added and time.monotonic() - begun > within:
                    break
                if seen.ended and seen.as_of >= floor_to(system_clock(), EVERY):
                    break
                time.sleep(0.001 if as_added else 0.02)
            assert daemon.poll() is None, log_file.read_text(encoding="utf-8")[-2_000:]
            daemon.kill()
        self.kills += 1
        self.inside += not self._seen(connection).ended
        self.between += self._added(connection)

    def _added(self, connection: sa.Connection) -> bool:
        """Whether a cycle that is not committed has added labels to panes."""
        query = (
            "SELECT count(*) FROM differences JOIN models USING (run, model) WHERE run = 'live' "
            "AND model = 'late' AND differences.as_of > models.as_of"
        )
        return bool(connection.exec_driver_sql(query).scalar_one())

    def _seen(self, connection: sa.Connection) -> Seen:
        """What stands in the store: a lease that is given back expires with its last renewal."""
        query = (
            "SELECT as_of, token, expires_at FROM models JOIN leases USING (run, model) "
            "WHERE run = 'live' AND model = 'late'"
        )
        as_of, token, expires = connection.exec_driver_sql(query).one()
        return Seen(int(as_of), int(token), int(expires) <= system_clock())


def write_log(directory: Path, ticks: int, rows: int = 100) -> int:
    """Write a log, so many rows an hour, up to now and on; the as of from which on so many ticks are missed.

    What comes after a cycle's as of it does not see.
    """
    first = floor_to(system_clock(), EVERY) - ticks * EVERY
    start, end = first - 30 * HOUR, first + ticks * EVERY + HOUR
    predictions = late_predictions(int(rows * (end - start) / HOUR), start, end, longest=3 * HOUR)
    fill(Database(f"sqlite:///{directory / 'log.db'}"), predictions, typical=5 * HOUR)
    return first


def differences(expected: Contents, actual: Contents) -> dict[str, int]:
    """Number of rows that only one of two stores has, by table."""
    return {
        name: len({*expected[name]} ^ {*actual[name]}) for name in expected if expected[name] != actual[name]
    }
