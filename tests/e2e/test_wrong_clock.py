"""The real daemon on a machine whose clock is wrong for a while."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import process
import pytest
import servers
import test_store_failures
from serving import Bench, Database, fill_tables, model, predictions, quick

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, floor_to, from_iso
from monitor.store.store_database import migrate_store

SCRIPT = Path(__file__).parents[1] / "daemon" / "shifted_clock.py"
SOON = 30.0  # seconds for which the clock has been right
SLACK = 5.0


@pytest.mark.long
def test_a_clock_that_was_wrong_for_25_seconds_costs_no_tick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift = tmp_path / "shift"
    shift.write_text("0", encoding="utf-8")
    monkeypatch.setattr(process, "monitor", lambda *given: [sys.executable, str(SCRIPT), str(shift), *given])
    monkeypatch.setenv("PYTHONPATH", str(SCRIPT.parents[2]))

    with test_store_failures.daemon(tmp_path, f"sqlite:///{tmp_path}/monitor.db") as running:
        for wrong in (-15 * 60, 15 * 60, -86_400):
            shift.write_text(str(wrong), encoding="utf-8")
            time.sleep(25)
            shift.write_text("0", encoding="utf-8")
            right = time.time_ns() // 1_000

            def goes_on(since: int = right) -> bool:
                return any(tick > since for tick in _ticks(running))

            running.wait(goes_on, "a cycle")
            assert time.time_ns() // 1_000 - right < (SOON + SLACK) * SECOND
        ticks = _ticks(running)
        assert running.stop()[0] == 0

    assert {after - before for before, after in pairwise(ticks[2:])} == {2 * SECOND}
    assert ticks[-1] < time.time_ns() // 1_000 + MINUTE


@pytest.mark.postgres
def test_of_two_daemons_on_one_store_the_one_whose_clock_is_wrong_says_so(
    tmp_path: Path, postgres_url: str
) -> None:
    migrate_store(postgres_url)
    now = time.time_ns() // 1_000
    log, shift = Database(f"sqlite:///{tmp_path / 'log.db'}"), tmp_path / "shift"
    fill_tables(log, predictions(600, floor_to(now, DAY) - 6 * HOUR, now + HOUR), labelled=now)
    shift.write_text("300", encoding="utf-8")
    with ExitStack() as stack:
        right, wrong = (
            stack.enter_context(_sharing(tmp_path / name, log, postgres_url)) for name in ("right", "wrong")
        )
        wrong.command[:3] = [sys.executable, str(SCRIPT), str(shift)]
        wrong.environ = {"PYTHONPATH": str(SCRIPT.parents[2])}
        for running in (right, wrong):
            running.started()

        assert right.status("/healthz") == wrong.status("/healthz") == 200
        assert "clock" not in right.text("/healthz")
        said = r"this machine's clock is (5m|29\ds) ahead of that of the store's server: set"
        assert re.search(said, wrong.text("/healthz"))
        assert right.value("clock_ahead_seconds") == 0
        assert 290 < (wrong.value("clock_ahead_seconds") or 0) <= 300
        (line,) = wrong.logged("the clock is wrong")
        assert line["reason"] in wrong.text("/healthz")

        shift.write_text("-120", encoding="utf-8")
        wrong.wait(lambda: (wrong.value("clock_ahead_seconds") or 0) < -60, "the gauge")
        assert re.search(r"this machine's clock is (2m|1[12]\ds) behind that", wrong.text("/healthz"))
        shift.write_text("0", encoding="utf-8")
        wrong.wait(lambda: wrong.logged("the clock is right again") != [], "the log")
        assert wrong.text("/healthz") == right.text("/healthz")
        assert right.logged("the clock is wrong") == []


@contextmanager
def _sharing(directory: Path, log: Database, store_url: str) -> Iterator[process.Process]:
    """A daemon that shares the store with others."""
    directory.mkdir()
    port = servers.free_port()
    head = f'[http]\nport = {port}\n[log]\nformat = "json"\n[daemon]\nlease_ttl = "3s"\n'
    Bench(directory, log, store_url).configure(head, model(options=quick("2s", horizon="1d")))
    with process.daemon(directory / "config.toml", port) as running:
        yield running


def _ticks(running: process.Process) -> list[int]:
    return [from_iso(line["as_of"]) for line in running.logged("cycle", model="late")]
