"""`monitor replay` beside `monitor run`, of the same model on the same store: neither sees the other."""

import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import process
import pytest
import servers
import sqlalchemy as sa
from crash_logs import OPTIONS, fill, late_predictions
from crashes import Contents, contents, differences
from serving import Bench, Database, model

from monitor.app.model_cycles import replay_model, run_single_cycle
from monitor.core.clock import DAY, HOUR, SECOND, floor_to, from_iso, to_iso
from monitor.store.store_database import migrate_store

pytestmark = pytest.mark.long
EVERY, SPAN, STEP, RUN = 10 * SECOND, 16 * DAY, 6 * HOUR, "past"
FEWEST = 4  # cycles of the daemon


@dataclass(frozen=True, slots=True)
class Beside:
    """A log up to now and on, and a store."""

    bench: Bench
    port: int
    now: int

    @property
    def span(self) -> tuple[int, int]:
        """Which time is replayed."""
        return self.now - SPAN, self.now - DAY

    @property
    def replay(self) -> list[str]:
        """Command of the replay."""
        first, last = self.span
        arguments = ["--from", to_iso(first), "--to", to_iso(last), "--every", "6h", "--run", RUN]
        return process.monitor("replay", "--config", str(self.bench.config), *arguments)

    def replayed(self) -> int | None:
        """As of that the replay has reached."""
        with sa.create_engine(self.bench.store_url, poolclass=sa.NullPool).connect() as connection:
            return connection.exec_driver_sql(f"SELECT as_of FROM models WHERE run = '{RUN}'").scalar()

    def undisturbed(self) -> Bench:
        """The same log, a store of its own."""
        place = self.bench.directory / "undisturbed"
        place.mkdir()
        made = replace(self.bench, directory=place, store_url=f"sqlite:///{place / 'monitor.db'}")
        configured(made, self.port)
        return made


def configured(bench: Bench, port: int) -> None:
    """Write the configuration."""
    options = OPTIONS.format(
        every="10s", pane="1h", step="1h", horizon="3d", settle_after="8h", overlap="15m"
    )
    head = f'[http]\nport = {port}\n[log]\nformat = "json"\n[daemon]\nlease_ttl = "2s"\n'
    bench.configure(head, model(options=options))


@pytest.fixture
def beside(tmp_path: Path, store_url: str) -> Beside:
    """Seventeen days of a log."""
    now = floor_to(time.time_ns() // 1_000, STEP)
    log, port = Database(f"sqlite:///{tmp_path / 'log.db'}"), servers.free_port()
    rows = late_predictions(8_000, now - SPAN - 2 * DAY, now + STEP + HOUR, longest=3 * HOUR)
    fill(log, rows, typical=5 * HOUR)
    migrate_store(store_url)
    bench = Bench(tmp_path, log, store_url)
    configured(bench, port)
    return Beside(bench, port, now)


def killed_and_resumed(beside: Beside) -> None:
    """Kill the replay half way, and start it again until it is let in."""
    first, last = beside.span
    with subprocess.Popen(beside.replay, stderr=subprocess.PIPE) as replay:
        while (beside.replayed() or first) < (first + last) // 2:
            assert replay.poll() is None, replay.stderr and replay.stderr.read()
            time.sleep(0.02)
        replay.send_signal(signal.SIGKILL)
    reached, until = beside.replayed(), time.monotonic() + process.PATIENCE
    assert reached is not None
    while (done := subprocess.run(beside.replay, check=False, capture_output=True, text=True)).returncode:
        assert "; if it was killed, wait until 20" in done.stderr
        assert not beside.bench.store_url.startswith("sqlite")
        assert time.monotonic() < until
    assert f"{(last - reached) // STEP} cycles done" in done.stderr
    assert reached < last == beside.replayed()


def test_neither_a_daemon_nor_a_replay_that_is_killed_and_resumed_disturbs_the_other(
    beside: Beside,
) -> None:
    with process.daemon(beside.bench.config, beside.port) as running:
        running.started()
        before = from_iso(running.wait_cycle("late")["as_of"])
        killed_and_resumed(beside)
        running.wait_cycle("late")  # stopped in mid-cycle it leaves what waits for the next one
        while len(running.logged("cycle", model="late")) < FEWEST:
            running.wait_cycle("late")
        assert running.stop()[0] == 0

    ran = [from_iso(line["as_of"]) for line in running.logged("cycle", model="late")]
    assert not running.logged("cycle failed")
    assert [tick for tick in ran if tick >= before] == list(range(before, ran[-1] + 1, EVERY))
    live, past = expected(beside.undisturbed(), ran, beside.span)
    assert (len(ran) >= FEWEST, len(live["panes"]) > 50, len(past["snapshots"]) > 50) == (True, True, True)
    assert differences(live, contents(beside.bench.store_url)) == {}
    assert differences(past, contents(beside.bench.store_url, RUN)) == {}


def expected(alone: Bench, ran: Iterable[int], span: tuple[int, int]) -> tuple[Contents, Contents]:
    """What the daemon's ticks, and the replay, leave where nothing else runs."""
    with alone.app() as app:
        for tick in ran:
            assert run_single_cycle(app, "late", tick).error is None
        past = app.store.with_run(RUN)
        app.store, live = past, app.store
        app.forget_caches("late")
        assert all(report.error is None for report in replay_model(app, "late", *span, STEP)[1])
        app.store = live
    return contents(alone.store_url), contents(alone.store_url, RUN)
