"""Three real daemons on one PostgreSQL store, two of them through PgBouncer in transaction mode."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import process
import pytest
import servers
import sqlalchemy as sa
from crashes import CHANNEL, contents, differences
from serving import Bench, Database, fill_tables, model, predictions, quick

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, SECOND, floor_to, from_iso
from monitor.store.store_database import migrate_store

pytestmark = pytest.mark.postgres
EVERY, TTL, MODELS = 3 * SECOND, 3.0, ("late", "early")


RULES = """
segments = ["group"]
default_alerts = true
[[models.alerts]]
name = "busy"
measure = "records"
above = 5
[[models.alerts]]
name = "silent"
measure = "log_age"
above = 8
[[models.alerts]]
name = "held"
measure = "base_rate"
segment = "group=*"
above = 0.2
for = "6s"
"""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Daemons on one store."""

    directory: Path
    log: Database
    store_urls: tuple[str, ...]
    daemons: list[process.Process]

    def configure(self, at: int, *, resamples: int = 20) -> None:
        """Write the configuration of one of them."""
        place, port = self.directory / str(at), self.daemons[at].port
        place.mkdir(exist_ok=True)
        options = quick("3s", horizon="1d", resamples=resamples)
        head = f'[http]\nport = {port}\n[log]\nformat = "json"\n[daemon]\nlease_ttl = "{TTL:.0f}s"\n'
        bench = Bench(place, self.log, self.store_urls[at])
        bench.configure(head, CHANNEL, *(model(name, options=options + RULES) for name in MODELS))

    def leases(self) -> dict[str, tuple[str, int]]:
        """Owner and token of the cycles that run, by model."""
        engine = sa.create_engine(self.store_urls[0], poolclass=sa.NullPool)
        query = (
            "SELECT model, owner, token FROM leases WHERE model <> '' "
            "AND expires_at > CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
        )
        with engine.connect() as connection:
            return {name: (owner, token) for name, owner, token in connection.exec_driver_sql(query)}

    def caught(self, number: int) -> tuple[process.Process, str, int]:
        """Send a signal to a daemon in mid-cycle; which one, the model, the token of the cycle."""
        for _ in range(400):
            for name, (owner, token) in self.leases().items():
                (daemon,) = [one for one in self.daemons if f"/{_pid(one)}/" in owner]
                assert daemon.process is not None
                daemon.process.send_signal(signal.SIGSTOP)
                if self.leases().get(name) == (owner, token):
                    daemon.process.send_signal(number)
                    return daemon, name, token
                daemon.process.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        raise AssertionError("no cycle was caught")

    def taken_over(self, name: str, token: int, began: float) -> float:
        """Seconds until another daemon has begun a cycle of a model."""
        while (self.leases().get(name, ("", token))[1]) <= token:
            assert time.monotonic() - began < process.PATIENCE
            time.sleep(0.02)
        return time.monotonic() - began

    def cycles(self, name: str) -> list[int]:
        """As of of all successful cycles of a model, in order."""
        lines = [line for one in self.daemons for line in one.logged("cycle", model=name)]
        return sorted(from_iso(line["as_of"]) for line in lines)


def _answers(daemon: process.Process) -> bool:
    return daemon.status("/readyz") == 200


def _serves(daemon: process.Process, name: str, as_of: float) -> bool:
    return (daemon.value("as_of_seconds", model=name) or 0) >= as_of


def _settled(daemon: process.Process, name: str) -> bool:
    """A window settles as it ends, by the options; of its labels, an hour late, one may be in, or none."""
    return daemon.value("window_coverage_ratio", model=name, window="1h", truth="settled") is not None


def _stands_aside(daemon: process.Process, reason: str) -> bool:
    return daemon.value("daemon_aside", reason=reason) == 1


def _pid(daemon: process.Process) -> int:
    return 0 if daemon.process is None else daemon.process.pid


@pytest.fixture(scope="module")
def replicas(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: servers.PostgresServer
) -> Iterator[Replicas]:
    """Three daemons that have run a cycle of each model."""
    directory = tmp_path_factory.mktemp("replicas")
    now = time.time_ns() // 1_000
    with ExitStack() as stack:
        log = Database(stack.enter_context(postgres_server.database()))
        url = stack.enter_context(postgres_server.database())
        migrate_store(url)
        pooled = stack.enter_context(servers.pgbouncer(url))
        rows = predictions(1_500, floor_to(now, DAY) - 6 * HOUR, now + HOUR)
        fill_tables(log, rows, labelled=now)
        found = Replicas(directory, log, (url, pooled, pooled), [])
        for at in range(3):
            made = process.daemon(directory / str(at) / "config.toml", servers.free_port())
            found.daemons.append(stack.enter_context(made))
            found.configure(at)
            found.daemons[at].start()
        for daemon in found.daemons:
            daemon.wait(partial(_answers, daemon), "readiness")
        found.daemons[0].wait(lambda: all(found.cycles(name) for name in MODELS), "cycles")
        yield found


def test_each_due_cycle_is_run_once_and_each_replica_serves_all_models(replicas: Replicas) -> None:
    first = replicas.daemons[0]
    begun = {name: len(replicas.cycles(name)) for name in MODELS}
    first.wait(lambda: all(len(replicas.cycles(name)) > begun[name] + 3 for name in MODELS), "cycles")

    for name in MODELS:
        newest = replicas.cycles(name)[-1] / SECOND
        for daemon in replicas.daemons:
            daemon.wait(
                partial(_serves, daemon, name, newest),
                f"the current values of {name}",
            )
            daemon.wait(partial(_settled, daemon, name), f"settled values of {name}")
        assert max(Counter(replicas.cycles(name)).values()) == 1
    assert [daemon.status("/healthz") for daemon in replicas.daemons] == [200, 200, 200]


def test_alerts_and_notices_are_those_of_one_process_that_nobody_disturbed(
    replicas: Replicas, tmp_path: Path
) -> None:
    for daemon in replicas.daemons:
        daemon.stop()
    alone = Bench(tmp_path, replicas.log, f"sqlite:///{tmp_path / 'alone.db'}")
    options = quick("3s", horizon="1d") + RULES
    alone.configure(CHANNEL, *(model(name, options=options) for name in MODELS))

    with alone.app() as app:
        for name in MODELS:
            for as_of in replicas.cycles(name):
                assert run_single_cycle(app, name, as_of).error is None
    expected, found = contents(alone.store_url), contents(replicas.store_urls[0])

    told = {"alerts", "incidents", "outbox"}
    assert {name: n for name, n in differences(expected, found).items() if name in told} == {}
    assert all(expected[name] for name in told)
    for daemon in replicas.daemons:
        daemon.start()
    for daemon in replicas.daemons:
        daemon.wait(partial(_answers, daemon), "readiness")


def test_a_killed_owner_is_replaced_within_its_lease(replicas: Replicas) -> None:
    killed, name, token = replicas.caught(signal.SIGKILL)
    began = time.monotonic()
    seconds = replicas.taken_over(name, token, began)
    killed.kill()
    killed.started()

    assert seconds < TTL + 4.0  # a second between looks; a busy machine
    assert max(Counter(replicas.cycles(name)).values()) == 1


@pytest.mark.long
def test_a_paused_owner_commits_nothing_of_a_cycle_that_was_taken_over(replicas: Replicas) -> None:
    paused, name, token = replicas.caught(signal.SIGSTOP)
    failures = len(paused.logged("cycle failed"))
    began = time.monotonic()
    replicas.taken_over(name, token, began)
    done = len(replicas.cycles(name))
    others = [one for one in replicas.daemons if one is not paused]
    others[0].wait(lambda: len(replicas.cycles(name)) > done, "a cycle of another")
    assert paused.process is not None
    paused.process.send_signal(signal.SIGCONT)

    paused.wait(lambda: len(paused.logged("cycle failed")) > failures, "the cycle to be given up")
    assert "taken over" in paused.logged("cycle failed")[-1]["error"].replace("taken it over", "taken over")
    assert max(Counter(replicas.cycles(name)).values()) == 1


@pytest.mark.long
def test_daemons_of_an_older_configuration_stand_aside_and_serve_on(replicas: Replicas) -> None:
    old, new = replicas.daemons[:2], replicas.daemons[2]
    replicas.configure(2, resamples=21)
    assert new.stop()[0] == 0
    new.started()

    for daemon in old:
        daemon.wait(partial(_stands_aside, daemon, "configuration"), "the gauge to tell")
        assert daemon.logged("claiming no cycles, serving what others measure")
    done = len(replicas.cycles("late"))
    new.wait(lambda: len(replicas.cycles("late")) > done + 1, "cycles of the new one")
    newest = replicas.cycles("late")[-1]
    for daemon in old:
        ran = daemon.logged("cycle", model="late")  # none, where the others were quicker
        assert all(from_iso(one["as_of"]) < newest for one in ran)
        daemon.wait(
            partial(_serves, daemon, "late", newest / SECOND),
            "what the new one measured",
        )
        assert daemon.status("/healthz") == 200

    assert new.stop()[0] == 0
    old[0].wait(lambda: old[0].value("daemon_aside", reason="configuration") == 0, "the old ones to go on")
    replicas.configure(2)
    new.started()


@pytest.mark.long
def test_daemons_older_than_the_schema_stand_aside_and_serve_on(replicas: Replicas) -> None:
    database, first = Database(replicas.store_urls[0]), replicas.daemons[0]
    (version,) = _asked(replicas.store_urls[0], "SELECT version_num FROM alembic_version")
    database.run("UPDATE alembic_version SET version_num = 'later'")
    try:
        for daemon in replicas.daemons:
            daemon.wait(partial(_stands_aside, daemon, "schema"), "the gauge")
            assert daemon.value("roc_auc_ratio", model="late", window="1h", truth="settled")
            assert daemon.status("/healthz") == 200
    finally:
        database.run(f"UPDATE alembic_version SET version_num = '{version}'")

    done = len(replicas.cycles("late"))
    first.wait(lambda: len(replicas.cycles("late")) > done, "cycles again")


def _asked(url: str, query: str) -> list[str]:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        return [str(value) for value in connection.exec_driver_sql(query).scalars()]
