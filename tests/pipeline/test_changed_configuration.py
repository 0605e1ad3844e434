"""A changed configuration counts again only what is counted otherwise: told by the rows that are read."""

from pathlib import Path

import pytest
from serving import Bench, Database, create_tables, labels, model, predictions

from monitor.app.running import cycle_once
from monitor.core.clock import HOUR, from_iso
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
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path}/log.db"), f"sqlite:///{tmp_path}/monitor.db")
    rows = predictions(ROWS, START, END)
    create_tables(bench.database)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=END))
    bench.configure(model(options=OPTIONS))
    bench.cycle(END)
    return bench


def changed(bench: Bench, text: str) -> CycleReport:
    """Report of the first cycle of another configuration; the second one reads nothing more."""
    bench.configure(text)
    with bench.app() as app:
        report = cycle_once(app, "late", END + HOUR)
        again = cycle_once(app, "late", END + HOUR)
    assert report.error is None
    assert again.rows_read + again.label_rows_read <= 2 * NEWEST
    return report


def test_another_window_reads_no_row_again(bench: Bench) -> None:
    report = changed(bench, model(options=OPTIONS.replace('["1d"]', '["1d", "2d"]')))

    assert report.rows_read <= NEWEST
    assert report.label_rows_read <= NEWEST
    assert report.measurements > 0


def test_a_new_feature_reads_the_records_again_and_no_labels(bench: Bench) -> None:
    report = changed(bench, model(options=OPTIONS).replace('numeric = ["amount"]', "numeric = []"))

    assert report.rows_read == ROWS
    assert report.label_rows_read <= NEWEST


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
