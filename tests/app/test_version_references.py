"""Segments, shadow rows and references of versions, from the configuration to the measurements."""

import logging
from pathlib import Path

import pytest
from serving import Bench, model, predictions, reference, sqlite_bench

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\nsegments = ["group"]'
TABLES = f"""
[models.serving]
column = "group"
values = ["a", "b"]
[models.reference.versions.b]
query = "SELECT * FROM reference WHERE score < 0.5"
[models.reference.versions.c]
from = "{to_iso(START)}"
to = "{to_iso(END)}"
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log whose versions are a, b and c; c is in the shadow."""
    text = model(options=OPTIONS, predictions='version = "group"') + TABLES
    return sqlite_bench(tmp_path, predictions(600, START, END), text, labelled=END)


def test_references_of_versions_are_read_once_and_kept(bench: Bench) -> None:
    rows = predictions(600, START, END)

    with bench.app() as app:
        first = app.find_cycle_model("late")
        keys = app.store.references.list_reference_keys("late")
    bench.database.run("DELETE FROM reference")
    with bench.app() as app:
        again = app.find_cycle_model("late")

    assert first.reference_key.split() == again.reference_key.split()
    assert sorted(first.reference_key.split()) == sorted(keys)
    assert len(keys) == 3
    assert again.version_references == first.version_references
    sizes = {
        name: int(one.records.dense_block("volume")[0]) for name, one in first.version_references.items()
    }
    assert sizes == {
        "b": sum(row["score"] < 0.5 for row in reference()),
        "c": sum(row["group"] == "c" for row in rows),
    }


def test_a_cycle_measures_segments_and_versions_and_leaves_the_shadow_out(bench: Bench) -> None:
    inside = ("2024-03-01T23:00:00Z", "2024-03-02T23:00:00Z")  # the newest window that is ready
    rows = predictions(600, START, END)
    last = [row["group"] for row in rows if inside[0] <= row["event_time"] < inside[1]]

    with bench.app() as app:
        report = run_single_cycle(app, "late", END)
        measured = [
            stored.row for stored in app.store.current.read_current("late") if stored.row.measure == "records"
        ]
        (behind,) = {one.reference for _, one in app.store.snapshots.read_provenance("late")}
        assert behind == app.find_cycle_model("late").reference_key

    assert report.error is None
    counted = {(row.version, row.segment): row.measurement.value for row in measured}
    sizes = {name: float(last.count(name)) for name in "abc"}
    expected: dict[tuple[str | None, str | None], float] = {(name, None): n for name, n in sizes.items()}
    expected |= {(None, f"group={name}"): sizes[name] for name in "ab"}
    assert counted == expected | {(None, None): sizes["a"] + sizes["b"]}


def test_segments_without_a_reference_are_said_to_be_none(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    text = model(options=OPTIONS).replace('[models.reference]\ntable = "reference"\n', "")
    assert "reference" not in text
    bench.configure(text)

    with bench.app() as app:
        counting = app.find_cycle_model("late").counting
    done = bench.monitor("check")

    assert counting.segments == ()
    assert done.exit_code == 0
    said = "segments are the most frequent values in the reference: without a reference there are none"
    assert said in done.stdout + done.stderr
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        f'model "late": {said}'
    ]


def test_values_of_rows_that_serve_that_never_occur_are_warned_of(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    text = model(options=OPTIONS, predictions='version = "group"')
    bench.configure(text + '[models.serving]\ncolumn = "group"\nvalues = ["A", "b"]\n')
    some = bench.monitor("check").stderr
    bench.configure(text + '[models.serving]\ncolumn = "group"\nvalues = ["A"]\n')
    none = bench.monitor("check").stderr

    with bench.app() as app:
        run_single_cycle(app, "late", END)
        run_single_cycle(app, "late", END)

    said = 'rows none has "A" (serving.values) in "group"; it holds '
    assert said in some
    assert "no row serves" not in some
    assert said in none
    assert ": no row serves, the whole model has no record" in none
    (logged,) = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert f"warning: {logged}\n" in none
