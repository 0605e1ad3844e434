"""A reference file that is replaced or goes away is said to be, and what is compared with is known."""

import logging
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
import serving
from keyed_models import with_changes
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import from_iso
from monitor.specs.reference_choice import reference_key

START, END = from_iso("2024-03-01"), from_iso("2024-03-03")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20'


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Two days of a log; one model whose reference is a file."""
    text = model(options=OPTIONS).replace('table = "reference"', 'file = "reference.csv"')
    bench = sqlite_bench(tmp_path, predictions(100, START, END), text, labelled=END)
    bench.database.run("CREATE INDEX by_time ON predictions (event_time)")
    write(bench, 400)
    return bench


def write(bench: Bench, rows: int) -> None:
    pyarrow.csv.write_csv(pa.Table.from_pylist(serving.reference(rows)), bench.directory / "reference.csv")


def grids(bench: Bench) -> str:
    with bench.app() as app:
        reference = app.find_cycle_model("late").reference
        assert reference is not None
        return reference.counting.hash


def test_a_replaced_file_is_taken_at_the_next_start_with_a_warning(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    first = grids(bench)
    quiet = (bench.checked(), list(caplog.messages))
    write(bench, 300)
    ahead = bench.checked()

    second = grids(bench)

    assert first != second
    assert quiet == ("", [])
    (said,) = caplog.messages
    assert said.startswith('model "late": reference file "reference.csv" has changed (content ')
    assert ahead == f"warning: {said}\n"
    assert (grids(bench), bench.checked(), len(caplog.messages)) == (second, "", 1)


def test_a_running_model_keeps_the_reference_that_it_began_with(bench: Bench) -> None:
    with bench.app() as app:
        began = app.find_cycle_model("late").reference
        write(bench, 300)

        assert run_single_cycle(app, "late", END).error is None
        assert app.find_cycle_model("late").reference == began


def test_where_the_file_is_gone_the_kept_reference_is_used(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    first = grids(bench)
    (bench.directory / "reference.csv").unlink()

    assert grids(bench) == first
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert 'reference file "reference.csv" is gone: the kept one (content ' in caplog.messages[0]


def test_without_a_kept_reference_the_file_must_be_there(bench: Bench) -> None:
    (bench.directory / "reference.csv").unlink()

    with bench.app() as app:
        assert "there is no reference file" in str(run_single_cycle(app, "late", END).error)


def test_check_makes_no_store(bench: Bench) -> None:
    bench.checked()

    assert not (bench.directory / "monitor.db").exists()


def test_a_reference_is_known_by_what_it_is_made_of(bench: Bench) -> None:
    with bench.app() as app:
        spec = app.find_spec("late")

    same = [with_changes(spec, level=0.9), replace(spec, reading=replace(spec.reading, zone="Europe/Vienna"))]
    other = [
        replace(spec, exclude=("amount",)),
        replace(spec, reading=replace(spec.reading, score_range=(0.0, 2.0))),
        replace(spec, reading=replace(spec.reading, numeric=())),
    ]
    assert {reference_key(one) for one in same} == {reference_key(spec)}
    assert len({reference_key(one) for one in [spec, *other]}) == 4
