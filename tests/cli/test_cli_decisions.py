"""What people decide of histories by commands: recount, forget."""

from pathlib import Path

import pytest
from serving import Bench, Monitor, model, predictions, sqlite_bench

from monitor.core.clock import from_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1d"\nwindows = ["1d"]\nhorizon = "4d"\nsettle_after = "1d"\nresamples = 20'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log in SQLite, one model, one cycle done."""
    bench = sqlite_bench(tmp_path, predictions(100, START, END), model(options=OPTIONS))
    bench.cycle(END)
    return bench


def test_recount_says_what_was_read_and_keeps_who_and_why(bench: Bench, monitor: Monitor) -> None:
    asked = ("--from", "2024-03-02", "--to", "2024-03-03", "--who", "ada", "--why", "a broken load")

    result = monitor("recount", "--model", "late", *asked)

    assert result.exit_code == 0
    assert "50 rows and 50 label rows read, 25 panes counted" in result.stdout
    with bench.app() as app:
        (event,) = app.store.events.read_events("late")
    assert (event.kind, event.who, event.why) == ("recounted", "ada", "a broken load")


def test_recount_of_a_time_that_ends_before_it_begins_is_wrong_usage(monitor: Monitor) -> None:
    result = monitor("recount", "--model", "late", "--from", "2024-03-02", "--to", "2024-03-01")

    assert result.exit_code == 2
    assert "--from must be before --to" in result.stderr


def test_forget_asks_first(bench: Bench, monitor: Monitor) -> None:
    result = monitor("forget", "--model", "late", answer="n\n")

    assert result.exit_code == 1
    with bench.app() as app:
        assert app.store.histories.list_runs("late") == ["live"]


def test_forget_deletes_and_says_that_a_configured_model_begins_anew(bench: Bench, monitor: Monitor) -> None:
    result = monitor("forget", "--model", "late", "--yes", "--who", "ada")

    assert result.exit_code == 0
    assert "rows deleted; its configurations, references and events are kept" in result.stdout
    assert "late is still configured: its next cycle begins anew, with its references" in result.stderr
    with bench.app() as app:
        assert (app.store.histories.list_runs("late"), app.store.current.read_current("late")) == ([], [])


def test_a_former_name_is_taken_over_by_a_cycle(bench: Bench, monitor: Monitor) -> None:
    bench.configure(model("delay", options=f'formerly = "late"\n{OPTIONS}'))

    result = monitor("cycle", "--as-of", "2024-03-03")

    assert result.exit_code == 0
    with bench.app() as app:
        assert (app.store.histories.list_runs("late"), app.store.histories.list_runs("delay")) == (
            [],
            ["live"],
        )
