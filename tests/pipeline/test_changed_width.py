"""Another pane width: all panes are counted again, and equal to what is counted from scratch."""

from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.pane import PaneHalf, PanePart

START, END = from_iso("2024-03-01"), from_iso("2024-03-05")
OPTIONS = """
every = "1h"
windows = ["1d"]
horizon = "10d"
settle_after = "1d"
resamples = 20
pane = "{pane}"
reading = {{ ready_after = "0s" }}
"""


def bench_at(directory: Path, pane: str) -> Bench:
    """Four days of a log, with one model of that width of panes."""
    directory.mkdir()
    return sqlite_bench(
        directory, predictions(500, START, END), model(options=OPTIONS.format(pane=pane)), labelled=END
    )


def stored(app: App) -> dict[tuple[PaneHalf, int], PanePart]:
    """All stored panes that hold rows, of the configured layout."""
    monitored = app.find_cycle_model("late")
    facts = app.store.panes.read_pane_facts("late", 0)
    return {
        (part, start): pane
        for part in PaneHalf
        for start, pane in app.store.panes.load_panes(
            "late", part, [one.start for one in facts if one.part is part], monitored.counting
        ).items()
        if pane.rows
    }


def test_what_waited_is_counted_as_a_part_of_its_wider_pane(tmp_path: Path) -> None:
    bench = bench_at(tmp_path / "merged", "1h")
    bench.cycle(END)
    late = [
        row | {"logged_at": "2024-03-05T00:30:00Z"}
        for row in predictions(6, START + DAY, START + DAY + HOUR, prefix="late")
    ]
    bench.database.insert("predictions", late)
    bench.configure(model(options=OPTIONS.format(pane="2h")))

    with bench.app() as app:
        run_single_cycle(app, "late", END + HOUR)
        (pane,) = app.store.panes.load_panes(
            "late", PaneHalf.RECORDS, [START + DAY], app.find_cycle_model("late").counting
        ).values()

    assert pane.records == 6 + 11


@pytest.mark.parametrize(
    ("old", "new"), [("1h", "2h"), ("10m", "1h"), ("1h", "1d"), ("2h", "1h"), ("90m", "1h")]
)
def test_other_widths_are_counted_again(tmp_path: Path, old: str, new: str) -> None:
    bench, scratch = bench_at(tmp_path / "old", old), bench_at(tmp_path / "scratch", new)
    bench.cycle(END)
    bench.configure(model(options=OPTIONS.format(pane=new)))

    with bench.app() as app, scratch.app() as other:
        report = run_single_cycle(app, "late", END)
        run_single_cycle(other, "late", END)

        assert report.error is None
        assert report.rows_read == 500
        assert stored(app) == stored(other)
        assert app.store.current.read_current("late") == other.store.current.read_current("late")
        assert {
            one.start % app.find_cycle_model("late").counting.reading.pane
            for one in app.store.panes.read_pane_facts("late", 0)
        } == {0}
        assert run_single_cycle(app, "late", END).panes_counted <= 3


def test_panes_of_an_old_width_that_was_killed_while_it_was_changed_are_counted(tmp_path: Path) -> None:
    bench, scratch = bench_at(tmp_path / "old", "1h"), bench_at(tmp_path / "scratch", "2h")
    bench.cycle(END)
    bench.configure(model(options=OPTIONS.format(pane="2h")))
    with bench.app() as app:
        app.store.panes.reset_panes("late")

    with bench.app() as app, scratch.app() as other:
        run_single_cycle(app, "late", END)
        run_single_cycle(other, "late", END)

        assert stored(app) == stored(other)
        assert app.store.current.read_current("late") == other.store.current.read_current("late")


def test_one_stored_pane_is_counted_again_as_panes_of_the_new_width(tmp_path: Path) -> None:
    """One start does not tell how wide its pane is."""
    made = [tmp_path / name for name in ("old", "scratch")]
    for directory in made:
        directory.mkdir()
    rows = predictions(20, END - DAY, END - HOUR)
    bench, scratch = (
        sqlite_bench(one, rows, model(options=OPTIONS.format(pane="1d")), labelled=END) for one in made
    )
    bench.cycle(END - HOUR)
    for one in (bench, scratch):
        one.configure(model(options=OPTIONS.format(pane="1h")))

    with bench.app() as app, scratch.app() as other:
        run_single_cycle(app, "late", END)
        run_single_cycle(other, "late", END)

        assert stored(app) == stored(other)


def test_panes_that_wait_for_a_new_feature_wait_as_wider_ones(tmp_path: Path) -> None:
    """Before all panes have the new feature, the panes become wider."""
    bench, scratch = bench_at(tmp_path / "merged", "1h"), bench_at(tmp_path / "scratch", "2h")
    before = model(options=OPTIONS.format(pane="1h")).replace('["amount"]', "[]")
    little = model(options=OPTIONS.format(pane="1h")).replace(
        "ready_after", "recount_rows = 100, ready_after"
    )
    bench.configure(before)
    bench.cycle(END)
    bench.configure(little)
    bench.cycle(END)
    bench.configure(little.replace('"1h"\nreading', '"2h"\nreading'))
    partial = bench.cycle(END)
    warnings = bench.warnings("1d")
    bench.configure(model(options=OPTIONS.format(pane="2h")))

    with bench.app() as app, scratch.app() as other:
        report = run_single_cycle(app, "late", END)
        run_single_cycle(other, "late", END)

        assert partial.reports["late"].panes_waiting > 30
        assert warnings == {"partial"}
        assert report.panes_waiting == 0
        assert stored(app) == stored(other)
        assert app.store.current.read_current("late") == other.store.current.read_current("late")
