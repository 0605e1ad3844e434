"""Renamed, recounted and forgotten models."""

import json
from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.alert_decisions import Decision
from monitor.app.application import App
from monitor.app.kept_run import read_chosen_rows, refuse_unknown_names
from monitor.app.model_cycles import run_single_cycle
from monitor.app.model_history import forget_model, recount_panes, rename_models
from monitor.app.run_lock import ExclusiveRun
from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.core.errors import ConfigurationError, LeaseLost, MonitorError, StoreError

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = (
    'every = "1h"\nwindows = ["1d"]\nhorizon = "4d"\nsettle_after = "1d"\nresamples = 20\n'
    'reading = { ready_after = "0s" }'
)
ADA = Decision(at=7, who="ada", why="a broken load")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log, one model, one cycle done."""
    bench = sqlite_bench(tmp_path, predictions(100, START, END), model(options=OPTIONS), labelled=END)
    assert bench.cycle(END).error is None
    return bench


def rename(bench: Bench, new: str = "delay") -> None:
    bench.configure(model(new, options=f'formerly = "late"\n{OPTIONS}'))


def test_a_renamed_model_goes_on_where_the_old_name_stood(bench: Bench) -> None:
    rename(bench)

    with bench.app() as app:
        renamed = rename_models(app, at=9)
        before = app.store.current.read_current("delay")
        report = run_single_cycle(app, "delay", END)

        assert renamed == ["delay"]
        assert report.error is None
        assert report.rows_read <= 2  # the pane that is always looked at
        assert app.store.current.read_current("delay") == before
        assert app.store.histories.list_runs("late") == []
        assert [(one.kind, one.subject) for one in app.store.events.read_events("delay")] == [
            ("renamed", "late")
        ]
        assert len(app.store.references.list_reference_keys("delay")) == 1


def test_a_model_is_renamed_once(bench: Bench) -> None:
    rename(bench)

    with bench.app() as app:
        rename_models(app, at=9)

        assert rename_models(app, at=10) == []


def test_a_model_with_a_history_under_both_names_is_refused(bench: Bench) -> None:
    bench.configure(model("delay", options=OPTIONS))
    bench.cycle(END)
    rename(bench)

    with bench.app() as app, pytest.raises(MonitorError, match='beside that of "late" in "live"'):
        rename_models(app, at=9)


def test_nothing_is_renamed_under_a_daemon(bench: Bench) -> None:
    rename(bench)

    with bench.app() as daemon, bench.app() as app, ExclusiveRun(daemon):
        with pytest.raises(StoreError, match="a daemon or a replay has the run"):
            rename_models(app, at=9)

        assert app.store.histories.list_runs("late") == ["live"]


def test_deleted_rows_leave_the_panes_at_once_by_a_recount(bench: Bench) -> None:
    bench.database.run(f"DELETE FROM predictions WHERE event_time >= '{to_iso(END - 6 * HOUR)}'")

    with bench.app() as app:
        panes, report = recount_panes(app, "late", END - 6 * HOUR, END, ADA)

        assert panes == 6
        assert report.error is None
        (records,) = [
            stored.row
            for stored in app.store.current.read_current()
            if stored.row.measure == "records" and stored.row.segment is None
        ]
        assert records.measurement.value == 50 - 12  # 28.8 minutes apart


def test_a_recount_is_recorded_with_who_and_why(bench: Bench) -> None:
    with bench.app() as app:
        recount_panes(app, "late", START, START + 90 * 60 * 1_000_000, ADA)

        (event,) = app.store.events.read_events("late")
        assert (event.kind, event.at, event.who, event.why) == ("recounted", 7, "ada", "a broken load")
        assert json.loads(event.detail)["panes"] == 2


def test_a_recount_of_nothing_is_refused(bench: Bench) -> None:
    with bench.app() as app:
        with pytest.raises(MonitorError, match="no pane from 2023"):
            recount_panes(app, "late", from_iso("2023-01-01"), from_iso("2023-01-02"), ADA)

        assert app.store.events.read_events() == []


def test_what_was_never_counted_cannot_be_recounted(bench: Bench) -> None:
    bench.configure(model("new", options=OPTIONS))

    with bench.app() as app, pytest.raises(MonitorError, match="nothing has been counted yet"):
        recount_panes(app, "new", START, END, ADA)


def test_a_forgotten_model_begins_anew(bench: Bench) -> None:
    with bench.app() as daemon, bench.app() as app:
        run_single_cycle(daemon, "late", END + HOUR)

        gone = forget_model(app, "late", ADA)
        report = run_single_cycle(daemon, "late", END + 2 * HOUR)

        assert gone["panes"] > 0
        assert report.error is None
        assert report.rows_read == 100
        assert [event.kind for event in app.store.events.read_events("late")] == ["forgotten"]


def test_a_forgotten_model_is_compared_with_the_same_reference_again(bench: Bench) -> None:
    with bench.app() as app:
        before = app.store.references.list_reference_keys("late")
        forget_model(app, "late", ADA)
        bench.database.run("DELETE FROM reference WHERE late = 1")
        run_single_cycle(app, "late", END + HOUR)

        assert len(before) == 1
        assert app.store.references.list_reference_keys("late") == before
        (_, of) = app.store.snapshots.read_provenance()[-1]
        assert of.reference == before[0]


def test_a_model_that_is_unknown_cannot_be_forgotten(bench: Bench) -> None:
    with bench.app() as app, pytest.raises(MonitorError, match='nothing is kept of a model "lat"'):
        forget_model(app, "lat", ADA)


def test_a_model_that_is_no_longer_configured_keeps_its_history_and_can_be_forgotten(bench: Bench) -> None:
    bench.configure(model("other", options=OPTIONS))

    with bench.app() as app:
        run_single_cycle(app, "other", END + DAY)
        kept = app.store.histories.list_runs("late")
        forget_model(app, "late", ADA)

        assert kept == ["live"]
        assert app.store.histories.list_runs("late") == []


def test_a_model_that_is_no_longer_configured_can_be_shown_and_not_counted(bench: Bench) -> None:
    bench.configure(model("other", options=OPTIONS))

    with bench.app() as app:
        refuse_unknown_names(app, "late", "1d", "accuracy")

        assert read_chosen_rows(app, model="late", measure="accuracy")
        with pytest.raises(
            ConfigurationError, match=r'model "late": its history is kept, .* enabled = false'
        ):
            app.find_spec("late")
        with pytest.raises(ConfigurationError, match='there is no model "lat"'):
            refuse_unknown_names(app, "lat", None, None)


def test_nothing_is_forgotten_while_another_run_counts(bench: Bench) -> None:
    with bench.app() as app:
        replay = App(app.settings, app.base, app.store.with_run("try"))
        run_single_cycle(replay, "late", END)
        with replay.hold_lease("late"), pytest.raises(LeaseLost, match='in the run "try"'):
            forget_model(app, "late", ADA)

        assert app.store.histories.list_runs("late") == ["live", "try"]
        forget_model(app, "late", ADA)
        assert app.store.histories.list_runs("late") == []
