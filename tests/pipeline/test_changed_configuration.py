"""A changed configuration counts again only what is counted otherwise: told by the rows that are read."""

from pathlib import Path

import pytest
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, MINUTE, from_iso, to_iso
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.protocols import CycleReport

START, END = from_iso("2024-03-01"), from_iso("2024-03-05")
OPTIONS = """
every = "1h"
windows = ["1d"]
horizon = "10d"
settle_after = "1d"
resamples = 20
reading = { ready_after = "0s" }
"""
ROWS = 500
NEWEST = 10  # rows of the panes that every cycle looks at, at most


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Four days of a log, one cycle done."""
    bench = sqlite_bench(tmp_path, predictions(ROWS, START, END), model(options=OPTIONS), labelled=END)
    bench.cycle(END)
    return bench


def changed(bench: Bench, text: str) -> CycleReport:
    """Report of the first cycle of another configuration; the second one reads nothing more."""
    bench.configure(text)
    with bench.app() as app:
        report = run_single_cycle(app, "late", END + HOUR)
        again = run_single_cycle(app, "late", END + HOUR)
    assert report.error is None
    assert again.rows_read + again.label_rows_read <= 2 * NEWEST
    return report


def test_another_window_reads_no_row_again(bench: Bench) -> None:
    report = changed(bench, model(options=OPTIONS.replace('["1d"]', '["1d", "2d"]')))

    assert report.rows_read <= NEWEST
    assert report.label_rows_read <= NEWEST
    assert report.measurements > 0


def test_a_new_feature_reads_the_records_again_and_no_labels(tmp_path: Path) -> None:
    without = model(options=OPTIONS).replace('numeric = ["amount"]', "numeric = []")
    bench = sqlite_bench(tmp_path, predictions(ROWS, START, END), without, labelled=END)
    bench.cycle(END)

    report = changed(bench, model(options=OPTIONS))

    assert report.rows_read == ROWS
    assert report.label_rows_read <= NEWEST


def test_a_new_segment_reads_all_rows_again(bench: Bench) -> None:
    text = model(options=f'{OPTIONS}segments = ["group"]\n').replace('numeric = ["amount"]', "numeric = []")
    scratch = bench.from_scratch(text)
    scratch.cycle(END + HOUR)

    report = changed(bench, text)

    assert (report.rows_read, report.label_rows_read) == (ROWS, ROWS)
    with bench.app() as app, scratch.app() as other:
        assert in_windows(app) == in_windows(other)


def test_a_feature_that_is_taken_out_and_comes_back_reads_the_records_again(bench: Bench) -> None:
    text = model(options=OPTIONS)
    scratch = bench.from_scratch()

    for later, one in enumerate([text.replace('numeric = ["amount"]', "numeric = []"), text], start=1):
        bench.configure(one)
        report = bench.cycle(END + later * HOUR).reports["late"]
        scratch.configure(one)
        scratch.cycle(END + later * HOUR)

        assert report.error is None
        assert report.rows_read == ROWS
        assert report.label_rows_read <= NEWEST
        with bench.app() as app, scratch.app() as other:
            assert in_windows(app) == in_windows(other)


def test_a_reference_with_the_same_grids_reads_no_row_again(bench: Bench) -> None:
    bench.database.run("CREATE TABLE reference_2 AS SELECT * FROM reference")

    report = changed(bench, model(options=OPTIONS).replace('"reference"', '"reference_2"'))

    assert report.rows_read <= NEWEST
    assert report.label_rows_read <= NEWEST


def test_a_reference_with_other_grids_reads_all_rows_again(bench: Bench) -> None:
    bench.database.run("CREATE TABLE reference_2 AS SELECT * FROM reference LIMIT 90")

    report = changed(bench, model(options=OPTIONS).replace('"reference"', '"reference_2"'))

    assert (report.rows_read, report.label_rows_read) == (ROWS, ROWS)


def test_another_threshold_reads_all_rows_again(bench: Bench) -> None:
    text = model(options=OPTIONS).replace('prediction = "pred"', "threshold = 0.4")

    report = changed(bench, text)

    assert (report.rows_read, report.label_rows_read) == (ROWS, ROWS)


def in_windows(app: App) -> list[MeasurementRow]:
    """Current rows but the figures of the last audit."""
    return [stored.row for stored in app.store.current.read_current("late") if stored.row.window]


def without_labels(text: str) -> str:
    """The model without its labels."""
    head, _, rest = text.partition("[models.labels]")
    return f"{head}[models.classes]\npositive = 1\nnegative = 0\n{rest[rest.index('[models.reference]') :]}"


def test_without_labels_nothing_waits_for_them(bench: Bench) -> None:
    bench.configure(without_labels(model(options=OPTIONS)))
    with bench.app() as app:
        report = run_single_cycle(app, "late", END + HOUR)

    assert report.error is None
    assert report.panes_waiting == 0
    assert report.rows_read <= NEWEST
    assert bench.warnings("1d") == {""}


def test_without_labels_the_budget_is_spent_on_what_waits(bench: Bench) -> None:
    text = without_labels(model(options=OPTIONS)).replace("ready_after", "recount_rows = 100, ready_after")
    late = predictions(20, END - DAY, END, prefix="late")
    bench.database.insert("predictions", [row | {"logged_at": to_iso(END + MINUTE)} for row in late])
    bench.configure(text)

    counted = []
    for hour in range(1, 5):
        with bench.app() as app:
            counted.append(run_single_cycle(app, "late", END + hour * HOUR).panes_waiting)

    assert counted[-1] == 0


def test_labels_that_come_back_are_counted_for_every_pane(bench: Bench) -> None:
    more = predictions(48, END, END + DAY, prefix="more")
    bench.database.insert("predictions", more)
    bench.configure(without_labels(model(options=OPTIONS)))
    bench.cycle(END + DAY)
    bench.configure(model(options=OPTIONS))
    scratch = bench.from_scratch(model(options=OPTIONS))

    bench.cycle(END + DAY)
    scratch.cycle(END + DAY)

    with bench.app() as app, scratch.app() as other:
        assert in_windows(app) == in_windows(other)


def test_another_zone_or_unit_of_times_reads_all_rows_again(bench: Bench) -> None:
    bench.database.run(
        "UPDATE predictions SET event_time = replace(event_time, 'Z', '')",
        "UPDATE predictions SET logged_at = replace(logged_at, 'Z', '')",
        "UPDATE labels SET reported_at = replace(reported_at, 'Z', '')",
    )
    scratch = bench.from_scratch()
    for one in (bench, scratch):
        one.configure(model(options=OPTIONS))
        file = one.directory / "config.toml"
        text = file.read_text(encoding="utf-8")
        zoned = text.replace("[sources.log]", '[sources.log]\ntimezone = "America/New_York"')
        file.write_text(zoned, encoding="utf-8")

    later = END + 6 * HOUR  # by which all rows have been logged in that zone
    report = bench.cycle(later).reports["late"]
    scratch.cycle(later)

    assert (report.error, report.rows_read) == (None, ROWS)
    with bench.app() as app, scratch.app() as other:
        assert in_windows(app) == in_windows(other)
