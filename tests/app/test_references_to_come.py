"""A reference that has no rows yet, or whose time range is not over, is none: it is looked at again."""

import logging
from pathlib import Path

import pytest
import serving
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import HOUR, from_iso, to_iso
from monitor.core.measurement import Reason

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
OVER = from_iso("2024-03-03")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20'
TABLE = '[models.reference]\ntable = "reference"\n'
RANGE = f'[models.reference]\nfrom = "{to_iso(START)}"\nto = "{{}}"\n'
EMPTY = "has no rows: nothing is compared with it until a cycle finds some"
WAITS = "is not over: nothing is compared with it before {}"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Three days of a log; one model whose reference is a table without rows."""
    bench = sqlite_bench(tmp_path, predictions(600, START, END), model(options=OPTIONS), labelled=END)
    bench.database.run("CREATE INDEX by_time ON predictions (event_time)", "DELETE FROM reference")
    return bench


def ranged(bench: Bench, end: str, options: str = OPTIONS) -> None:
    bench.configure(model(options=options).replace(TABLE, RANGE.format(end)))


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno == logging.WARNING]


def test_a_table_without_rows_is_no_reference_until_a_later_cycle_finds_some(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    said = f'model "late": the reference (table "reference") {EMPTY}'
    ahead = bench.checked()

    with bench.app() as app:
        reports = [run_single_cycle(app, "late", END - 2 * HOUR), run_single_cycle(app, "late", END - HOUR)]
        kept = app.store.references.list_reference_keys("late")
        before = {
            stored.row.measurement.reason
            for stored in app.store.current.read_current()
            if stored.row.measure == "stability_index"
        }
        bench.database.insert("reference", serving.reference())
        reports.append(run_single_cycle(app, "late", END))
        after = {
            stored.row.subject
            for stored in app.store.current.read_current()
            if stored.row.measurement.reason is Reason.NO_REFERENCE
        }

    assert f"warning: {said}\n" in ahead
    assert [report.error for report in reports] == [None, None, None]
    assert (kept, before, after) == ([], {Reason.NO_REFERENCE}, set())
    assert warned(caplog) == [said]


def test_another_process_finds_the_rows_that_came_meanwhile(bench: Bench) -> None:
    first = bench.cycle(END - HOUR)
    bench.database.insert("reference", serving.reference())

    second = bench.cycle(END)

    assert first.of("stability_index", "score").reason is Reason.NO_REFERENCE
    assert second.of("stability_index", "feature:amount").value is not None


def test_a_range_of_the_log_is_no_reference_before_its_end(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    ranged(bench, to_iso(OVER))

    with bench.app() as app:
        assert run_single_cycle(app, "late", OVER - HOUR).error is None
        early = (
            app.find_cycle_model("late", OVER - HOUR).reference,
            app.store.references.list_reference_keys("late"),
        )
        assert run_single_cycle(app, "late", OVER).error is None
        late = app.find_cycle_model("late", OVER).reference

    assert early == (None, [])
    assert late is not None
    assert int(late.records.dense_block("volume")[0]) == 400
    span = f"the log from {to_iso(START)} to {to_iso(OVER)}"
    assert warned(caplog) == [f'model "late": the reference ({span}) {WAITS.format(to_iso(OVER))}']


def test_a_range_that_ends_within_the_tolerance_is_over(bench: Bench) -> None:
    ranged(bench, "2024-03-03T00:05:00Z")

    with bench.app() as app:
        assert app.find_cycle_model("late", OVER).reference is not None


def test_check_warns_of_a_range_that_is_not_over(bench: Bench) -> None:
    ranged(bench, "2999-01-01T00:00:00Z")

    assert WAITS.format("2999-01-01T00:00:00Z") in bench.checked()


def test_a_version_whose_reference_has_no_rows_is_compared_with_the_default(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.database.insert("reference", serving.reference())
    own = '[models.reference.versions.b]\nquery = "SELECT * FROM reference WHERE score > 2"\n'
    bench.configure(model(options=OPTIONS, predictions='version = "group"') + own)
    ahead = bench.checked()

    with bench.app() as app:
        monitored = app.find_cycle_model("late")
        keys = app.store.references.list_reference_keys("late")
        bench.database.run("UPDATE reference SET score = 3 WHERE score < 0.1")
        found = set(app.find_cycle_model("late").version_references)

    said = (
        'model "late": the reference (of version b: query SELECT * FROM reference WHERE score > 2) has no '
        "rows: the version is compared with the default one until a cycle finds some"
    )
    assert (monitored.version_references, len(keys), found) == ({}, 1, {"b"})
    assert f"warning: {said}\n" in ahead
    assert warned(caplog) == [said]


def test_classes_of_a_reference_without_rows_are_asked_for(bench: Bench) -> None:
    text = model(options=OPTIONS).replace('"binary"', '"multiclass"').replace('score = "score"\n', "")
    bench.configure(text)

    assert bench.cycle(END).error == (
        'its classes are those of the reference, and the reference (table "reference") '
        f"{EMPTY}: name them in classes.values"
    )
