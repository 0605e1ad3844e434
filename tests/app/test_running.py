"""Cycles of one process beside those of another, and the daemon's hold on its run."""

import os
import signal
import threading
import time
from pathlib import Path
from queue import SimpleQueue

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app import holding
from monitor.app.holding import Held, hold_when_free
from monitor.app.running import cycle_once
from monitor.app.wiring import App
from monitor.core.clock import DAY, HOUR, SECOND, from_iso
from monitor.core.errors import StoreError
from monitor.daemon.service import signals

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = (
    'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nreading = { ready_after = "0s" }'
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log, one model."""
    return sqlite_bench(tmp_path, predictions(100, START, END), model(options=OPTIONS), labelled=END)


def records(app: App) -> float | None:
    (row,) = [row for _, _, row in app.store.current() if row.measure == "records" and row.segment is None]
    return row.measurement.value


def test_what_another_process_counted_is_seen(bench: Bench) -> None:
    late = [
        row | {"logged_at": "2024-03-03T00:30:00Z"} for row in predictions(5, END - HOUR, END, prefix="late")
    ]
    with bench.app() as one, bench.app() as other:
        cycle_once(one, "late", END)
        before = records(one)
        bench.database.insert("predictions", late)
        cycle_once(other, "late", END + HOUR)
        report = cycle_once(one, "late", END + HOUR)

        assert report.error is None
        assert before == 50
        assert records(one) == records(other) == 52  # three left the window's old end


def test_a_model_whose_cycle_another_process_runs_is_left_to_it(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other, other.leased("late"):
        report = cycle_once(one, "late", END)

    assert report.error == (
        "another process runs a cycle of this model (one that was killed has it for at most 1m more)"
    )


def test_a_held_run_is_refused_until_it_is_let_go(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other:
        with (
            Held(one),
            pytest.raises(StoreError, match='a daemon or a replay has the run "live"'),
            Held(other),
        ):
            pass
        with Held(other):
            pass


def test_a_hold_is_renewed_as_long_as_it_lasts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LEASE", SECOND // 2)
    with bench.app() as one, bench.app() as other, Held(one) as held:
        for _ in range(4):
            held._ended.wait(0.3)
            assert not Held(other).claimed()

    assert not held.lost


def test_a_held_run_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "RETRY", 0.05)
    with bench.app() as one, bench.app() as other:
        first = Held(one)
        with first:
            threading.Timer(0.3, first.__exit__).start()
            began = time.monotonic()
            second = hold_when_free(other, SimpleQueue())
            waited = time.monotonic() - began
        assert second is not None
        with second, pytest.raises(StoreError), Held(one):
            pass

    assert waited >= 0.25


def test_a_signal_ends_the_waiting_for_a_held_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "RETRY", 60.0)
    before = signal.getsignal(signal.SIGTERM)
    with bench.app() as one, bench.app() as other, Held(one), signals() as received:
        signalling = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
        monkeypatch.setattr(other.store.__class__, "claim", lambda *_arguments: signalling.start())

        assert hold_when_free(other, received) is None

    assert signal.getsignal(signal.SIGTERM) is before


def test_a_wish_to_read_the_configuration_again_waits_for_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "RETRY", 0.05)
    received: SimpleQueue[int] = SimpleQueue()
    received.put(signal.SIGHUP)
    received.put(signal.SIGHUP)
    with bench.app() as one, bench.app() as other:
        first = Held(one)
        with first:
            threading.Timer(0.3, first.__exit__).start()
            assert hold_when_free(other, received) is not None

    assert (received.get(timeout=1), received.empty()) == (signal.SIGHUP, True)


def test_a_daemon_whose_run_was_taken_over_ends_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[int] = []
    monkeypatch.setattr(holding, "LEASE", SECOND // 10)
    monkeypatch.setattr("os.kill", lambda _pid, number: signals.append(number))
    with bench.app() as one, bench.app() as other, Held(one) as held:
        monkeypatch.setattr(one.store.__class__, "renew", lambda *_arguments: False)
        held._ended.wait(1.0)
        assert Held(other).claimed()

    assert held.lost
    assert signals == [signal.SIGTERM]


def test_sources_are_opened_once_and_closed(bench: Bench) -> None:
    bench.configure(model(options=OPTIONS), model("second", options=OPTIONS))

    with bench.app() as app:
        assert app.monitored("late").source is app.monitored("second").source


def test_a_reference_is_kept_as_it_was_when_the_model_began(bench: Bench) -> None:
    with bench.app() as app:
        kept = app.monitored("late").reference
    bench.database.run("DELETE FROM reference WHERE amount > 100")

    with bench.app() as app:
        assert app.monitored("late").reference == kept
        assert cycle_once(app, "late", END + DAY).error is None
