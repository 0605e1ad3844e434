"""The real daemon on a machine whose clock is wrong for a while."""

import sys
import time
from itertools import pairwise
from pathlib import Path

import process
import pytest
import test_store_failures

from monitor.core.clock import MINUTE, SECOND, from_iso

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


def _ticks(running: process.Process) -> list[int]:
    return [from_iso(line["as_of"]) for line in running.logged("cycle", model="late")]
