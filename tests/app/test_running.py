"""Cycles of one process beside those of another, and the daemon's hold on its run."""

import signal
from pathlib import Path

import pytest
from serving import Bench, Database, create_tables, labels, model, predictions

from monitor.app import holding
from monitor.app.holding import Held, refuse_beside_daemon
from monitor.app.running import cycle_once
from monitor.app.wiring import App
from monitor.core.clock import DAY, HOUR, SECOND, from_iso
from monitor.core.errors import StoreError

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = (
    'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nreading = { ready_after = "0s" }'
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log, one model."""
    bench = Bench(
        tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), f"sqlite:///{tmp_path / 'monitor.db'}"
    )
    rows = predictions(100, START, END)
    create_tables(bench.database)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=END))
    bench.configure(model(options=OPTIONS))
    return bench


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

    assert report.error == "another process runs a cycle of this model"


def test_a_held_run_is_refused_until_it_is_let_go(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other:
        with Held(one):
            with pytest.raises(StoreError, match='another daemon has the run "live"'), Held(other):
                pass
            with pytest.raises(StoreError, match='a daemon has the run "live"'):
                refuse_beside_daemon(other)
        with Held(other):
            pass


def test_a_hold_is_renewed_as_long_as_it_lasts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LEASE", SECOND // 2)
    with bench.app() as one, bench.app() as other, Held(one) as held:
        for _ in range(4):
            held._ended.wait(0.3)
            with pytest.raises(StoreError):
                refuse_beside_daemon(other)

    assert not held.lost


def test_a_daemon_whose_run_was_taken_over_ends_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[int] = []
    monkeypatch.setattr(holding, "LEASE", SECOND // 10)
    monkeypatch.setattr("os.kill", lambda _pid, number: signals.append(number))
    with bench.app() as one, bench.app() as other, Held(one) as held:
        monkeypatch.setattr(one.store.__class__, "renew", lambda *_arguments: False)
        held._ended.wait(1.0)
        refuse_beside_daemon(other)

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
