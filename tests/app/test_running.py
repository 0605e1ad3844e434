"""Cycles of one process beside those of another, and the daemon's hold on its run."""

import os
import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
from serving import Bench, Database, model, predictions, sqlite_bench
from structlog.testing import capture_logs

from monitor.app import run_lock
from monitor.app.application import App, open_application
from monitor.app.model_cycles import DueTicks, replay_model, run_due_cycle, run_single_cycle
from monitor.app.run_lock import ExclusiveRun, SharedRun, join_when_free
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, SECOND, floor_to, from_iso, to_iso
from monitor.core.errors import StoreError
from monitor.daemon.service import catch_signals
from monitor.specs.protocols import CycleReport
from monitor.store.coordination.daemons import IdleReason
from monitor.store.store_database import open_store

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = (
    'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nreading = { ready_after = "0s" }'
)

CHAT = '[[notify]]\nname = "chat"\nurl = "http://127.0.0.1:9/x"\n'
BUSY = '\n[[models.alerts]]\nname = "busy"\nmeasure = "records"\nabove = 10\n'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log, one model."""
    return sqlite_bench(tmp_path, predictions(100, START, END), model(options=OPTIONS), labelled=END)


def records(app: App) -> float | None:
    (row,) = [
        stored.row
        for stored in app.store.current.read_current()
        if stored.row.measure == "records" and stored.row.segment is None
    ]
    return row.measurement.value


def test_what_another_process_counted_is_seen(bench: Bench) -> None:
    late = [
        row | {"logged_at": "2024-03-03T00:30:00Z"} for row in predictions(5, END - HOUR, END, prefix="late")
    ]
    with bench.app() as one, bench.app() as other:
        run_single_cycle(one, "late", END)
        before = records(one)
        bench.database.insert("predictions", late)
        run_single_cycle(other, "late", END + HOUR)
        report = run_single_cycle(one, "late", END + HOUR)

        assert report.error is None
        assert before == 50
        assert records(one) == records(other) == 52  # three left the window's old end


def test_what_one_process_met_another_says_is_over(bench: Bench) -> None:
    met = CycleReport(model="late", as_of=END, rows_read=5, missing_columns=("age",))
    with bench.app() as one, bench.app() as other:
        troubles = one.store.troubles
        other.note_trouble(CycleReport(model="late", as_of=END, rows_read=5))
        one.note_trouble(met)
        other.note_trouble(CycleReport(model="late", as_of=END + HOUR))  # nothing came: columns may lack yet
        assert troubles.read_troubles()["late"].told == 'Columns are missing: "age"'

        other.note_trouble(CycleReport(model="late", as_of=END + HOUR, rows_read=5))

        assert troubles.read_troubles() == {}


def test_a_model_whose_cycle_another_process_runs_is_left_to_it(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other, other.lease_model("late"):
        report = run_single_cycle(one, "late", END)
        ((owner, expires_at),) = one.store.daemons.list_holders("late")

    host, process = socket.gethostname(), os.getpid()
    until = to_iso(floor_to(expires_at, SECOND) + SECOND)
    assert owner == other.owner
    assert report.error == (
        f"another process runs a cycle of this model (process {process} on {host}; "
        f"if it was killed, wait until {until})"
    )


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shared(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    """The same with its store on either database, and short leases."""
    if request.param == "postgresql":
        bench = replace(bench, store_url=request.getfixturevalue("postgres_url"))
    bench.configure('[daemon]\nlease_ttl = "1s"\n', model(options=OPTIONS))
    return bench


def test_a_held_run_is_refused_until_it_is_let_go(shared: Bench) -> None:
    with shared.app() as one, shared.app() as other:
        with (
            ExclusiveRun(one),
            pytest.raises(
                StoreError, match=rf'a daemon or a replay has the run "live" \(process {os.getpid()} on '
            ),
            ExclusiveRun(other),
        ):
            pass
        with ExclusiveRun(other):
            pass


def test_a_hold_is_renewed_as_long_as_it_lasts(shared: Bench) -> None:
    with shared.app() as one, shared.app() as other, ExclusiveRun(one) as held:
        for _ in range(5):
            time.sleep(0.4)
            assert not ExclusiveRun(other).claim_run()

    assert not held.lost


def test_a_held_run_is_waited_for(shared: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "RETRY", 0.05)
    with shared.app() as one, shared.app() as other:
        first = ExclusiveRun(one)
        with first:
            threading.Timer(0.3, first.__exit__).start()
            began = time.monotonic()
            second = join_when_free(other, SimpleQueue())
            waited = time.monotonic() - began
        assert second is not None
        with second, pytest.raises(StoreError), ExclusiveRun(one):
            pass
        with ExclusiveRun(one):
            pass

    assert waited >= 0.25


def test_a_signal_ends_the_waiting_for_a_held_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "RETRY", 60.0)
    before = signal.getsignal(signal.SIGTERM)
    with bench.app() as one, bench.app() as other, ExclusiveRun(one), catch_signals() as received:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()

        assert join_when_free(other, received) is None

    assert signal.getsignal(signal.SIGTERM) is before


def test_a_wish_to_read_the_configuration_again_waits_for_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lock, "RETRY", 0.05)
    received: SimpleQueue[int] = SimpleQueue()
    received.put(signal.SIGHUP)
    received.put(signal.SIGHUP)
    with bench.app() as one, bench.app() as other:
        first = ExclusiveRun(one)
        with first:
            threading.Timer(0.3, first.__exit__).start()
            joined = join_when_free(other, received)
        assert joined is not None
        with joined:
            pass

    assert (received.get(timeout=1), received.empty()) == (signal.SIGHUP, True)


@pytest.mark.postgres
def test_a_process_whose_run_was_taken_over_ends_itself(
    bench: Bench, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr("os.kill", lambda _pid, number: sent.append(number))
    bench = replace(bench, store_url=postgres_url)
    bench.configure('[daemon]\nlease_ttl = "1s"\n', model(options=OPTIONS))
    with bench.app() as one, bench.app() as other, ExclusiveRun(one) as held:
        Database(postgres_url).run("UPDATE leases SET expires_at = 0")  # as after a sleep of the machine
        assert ExclusiveRun(other).claim_run()
        held._beating._ended.wait(1.0)

    assert held.lost
    assert sent == [signal.SIGTERM]


def test_a_killed_process_leaves_a_run_in_a_file_free_at_once(bench: Bench) -> None:
    with bench.app() as app:
        pid = os.fork()
        if pid == 0:  # pragma: no cover -- another process
            ExclusiveRun(app).claim_run()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)

        with ExclusiveRun(app):
            pass


@pytest.mark.parametrize("before", [ExclusiveRun, SharedRun])
@pytest.mark.parametrize("after", [ExclusiveRun, SharedRun])
def test_who_has_a_run_in_a_file_frees_the_cycles_of_killed_ones_and_of_nobody_else(
    before: type[ExclusiveRun | SharedRun], after: type[ExclusiveRun | SharedRun], bench: Bench
) -> None:
    """Whoever had the run has died, as its lock is free; a cycle by hand has no lock."""
    with bench.app() as killed, bench.app() as by_hand, bench.app() as app:
        with taken(before(killed)):
            killed.store.leases.claim_lease("late", killed.owner, DAY)
        by_hand.store.leases.claim_lease("other", by_hand.owner, DAY)

        with taken(after(app)):
            assert run_single_cycle(app, "late", END).error is None
            assert app.store.leases.claim_lease("other", app.owner, DAY) is None


def taken(run: ExclusiveRun | SharedRun) -> ExclusiveRun | SharedRun:
    """The run, taken."""
    assert run.claim_run() if isinstance(run, ExclusiveRun) else run.join_run()
    return run


@pytest.mark.postgres
def test_daemons_share_a_run_and_of_two_configurations_the_newer_one_claims(
    bench: Bench, postgres_url: str
) -> None:
    bench = replace(bench, store_url=postgres_url)
    bench.configure(model(options=OPTIONS))
    with bench.app() as one, bench.app() as same:
        first, second = SharedRun(one), SharedRun(same)
        run_single_cycle(one, "late", END)
        assert (first.join_run(), first.before) == (True, {"late": END})
        assert (second.join_run(), second.before) == (True, None)
        bench.configure(model(options=OPTIONS.replace("20", "30")))
        with bench.app() as newer, bench.app() as third:
            third.settings = one.settings
            latest, late = SharedRun(newer), SharedRun(third)
            assert (latest.join_run(), latest.before) == (True, {"late": END})
            assert late.join_run()  # an old file that is started again does not displace the newer one

            assert [each.refresh_idle_reason() for each in (first, second, latest, late)] == [
                IdleReason.CONFIGURATION,
                IdleReason.CONFIGURATION,
                None,
                IdleReason.CONFIGURATION,
            ]
            newer.store.daemons.leave_run(newer.owner)
            assert [each.refresh_idle_reason() for each in (first, late)] == [None, None]


def test_a_store_that_was_migrated_meanwhile_is_written_no_more(bench: Bench) -> None:
    with bench.app() as app:
        joined = SharedRun(app)
        with joined if joined.join_run() else ExclusiveRun(app):
            Database(bench.store_url).run("UPDATE alembic_version SET version_num = '9999'")
            report = run_single_cycle(app, "late", END)

            assert joined.refresh_idle_reason() is IdleReason.SCHEMA
            assert "claiming no cycles" in str(joined.idle_reason)
        assert report.error == (
            f"the store was migrated to version 9999, this process knows {app.store.schema}: update it"
        )


def test_ticks_missed_for_no_longer_than_catch_up_are_owed(bench: Bench) -> None:
    bench.configure('[daemon]\ncatch_up = "3h"\n', model(options=OPTIONS))
    with bench.app() as app:
        owed = DueTicks(app)
        before = owed("late", END)
        run_single_cycle(app, "late", END)

        assert before == [END]
        assert owed("late", END) == []
        assert owed("late", END + 2 * HOUR) == [END + HOUR, END + 2 * HOUR]
        with capture_logs() as logged:
            for _ in range(2):  # a try and its repetition
                assert owed("late", END + 9 * HOUR) == [END + 7 * HOUR, END + 8 * HOUR, END + 9 * HOUR]
        (left_out,) = logged
        assert left_out["event"] == "missed ticks are left out: older than catch_up"
        assert (left_out["model"], left_out["ticks"]) == ("late", 6)
        assert (left_out["since"], left_out["until"]) == (to_iso(END + HOUR), to_iso(END + 6 * HOUR))
        assert DueTicks(app, {"late": END})("late", END) == [END]


def test_a_tick_that_was_run_is_run_again_only_for_another_configuration(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other:
        assert run_due_cycle(one, "late", END) is not None

        assert run_due_cycle(other, "late", END) is None
        owed = DueTicks(other, {"late": END})
        again = owed.run_tick("late", END, stopping=lambda: False)
        assert again is not None
        assert (again.error, owed.again) == (None, {})
        with one.lease_model("late"):
            assert run_due_cycle(other, "late", END + HOUR) is None


def test_a_tick_that_another_daemon_of_the_same_configuration_has_run_is_not_run_again(bench: Bench) -> None:
    with bench.app() as one, bench.app() as other:
        assert run_single_cycle(one, "late", END).error is None
        owed = DueTicks(one, {"late": END})  # configured anew after that cycle
        assert run_due_cycle(other, "late", END + HOUR) is not None

        assert owed("late", END + HOUR) == []
        assert owed.run_tick("late", END + HOUR, stopping=lambda: False) is None


def test_sources_are_opened_once_and_closed(bench: Bench) -> None:
    bench.configure(model(options=OPTIONS), model("second", options=OPTIONS))

    with bench.app() as app:
        assert app.find_cycle_model("late").source is app.find_cycle_model("second").source


def test_a_reference_is_kept_as_it_was_when_the_model_began(bench: Bench) -> None:
    with bench.app() as app:
        kept = app.find_cycle_model("late").reference
    bench.database.run("DELETE FROM reference WHERE amount > 100")

    with bench.app() as app:
        assert app.find_cycle_model("late").reference == kept
        assert run_single_cycle(app, "late", END + DAY).error is None


@pytest.mark.parametrize(("run", "told"), [("live", ["opened"]), ("try", [])])
def test_only_the_last_tick_of_a_replay_into_the_live_history_tells_of_what_fires(
    bench: Bench, run: str, told: list[str]
) -> None:
    bench.configure(CHAT, model(options=OPTIONS + BUSY))
    path = bench.config

    with bench.app(), open_application(settings_of(path, {}), bench.directory, run) as app:
        assert all(report.error is None for report in replay_model(app, "late", END - 3 * HOUR, END)[1])
        alerts = app.store.alerts.read_alerts("late")

    assert [alert.since for _, alert in alerts] == [END - 2 * HOUR]
    waiting = open_store(bench.store_url, run).outbox.read_waiting_notices("chat")
    assert [one.kind for one in waiting] == told
    assert {one.as_of for one in waiting} <= {END}


def test_a_cycle_after_a_replay_tells_nothing_twice(bench: Bench) -> None:
    bench.configure(CHAT, model(options=OPTIONS + BUSY))

    with bench.app() as app:
        list(replay_model(app, "late", END - 3 * HOUR, END)[1])
        run_single_cycle(app, "late", END + HOUR)

    assert len(open_store(bench.store_url, "live").outbox.read_waiting_notices("chat")) == 1
