"""`check` names every fault at once, of the file and of the tables, each with its model."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from serving import Bench, Database, fill_tables, model, predictions

from monitor.core.clock import DAY, from_iso

START = from_iso("2024-03-01")
NO_VERSION = 'table "predictions" has no column "versionn" (version)'


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A day of a log."""
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), f"sqlite:///{tmp_path / 'm.db'}")
    rows = predictions(48, START, START + DAY)
    fill_tables(bench.database, rows, labelled=START + 2 * DAY)
    yield bench
    assert not (tmp_path / "m.db").exists()


def misnamed(name: str) -> str:
    text: str = model(name, predictions='version = "versionn"')
    return text


def faults_of(done: Result) -> list[str]:
    return [line for line in done.stderr.splitlines() if not line.startswith("warning")]


def test_every_fault_of_the_file_is_told_at_once_and_no_table_is_looked_at(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1"), misnamed("early"), model("fine", options="evry = 1"))
    path = bench.config
    text = path.read_text(encoding="utf-8").replace("[store]\n", "[store]\nur = 1\n")
    path.write_text(f'{text}\n[sources.other]\nurl = "other.db"\n', encoding="utf-8")

    done = bench.monitor("check")

    assert done.exit_code == 2
    assert faults_of(done) == [
        'store.ur: unknown key; did you mean "url"?',
        'sources.other.url: a database URL starts as in "sqlite:///monitor.db": got no scheme',
        'models[0] "late".windws: unknown key; did you mean "windows"?',
        'models[2] "fine".evry: unknown key; did you mean "every"?',
    ]
    assert done.output == bench.monitor("check", "--offline").output


def test_the_faults_of_the_tables_of_all_models_are_told_once_the_file_is_whole(bench: Bench) -> None:
    bench.configure(model("late"), misnamed("early"), misnamed("latest"))

    done = bench.monitor("check")

    assert done.exit_code == 2
    assert faults_of(done) == [f'model "early": {NO_VERSION}', f'model "latest": {NO_VERSION}']


def test_json_names_the_model_of_every_fault(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1"), model("early"))
    of_file = json.loads(bench.monitor("check", "--format", "json").stdout)
    bench.configure(model("late"), misnamed("early"))
    of_tables = json.loads(bench.monitor("check", "--format", "json").stdout)

    assert of_file["faults"] == [
        {"model": "late", "text": 'models[0] "late".windws: unknown key; did you mean "windows"?'}
    ]
    assert of_tables["faults"] == [{"model": "early", "text": NO_VERSION}]


def test_json_has_no_model_for_a_fault_that_all_inherit(bench: Bench) -> None:
    bench.configure("[defaults]\nevery = '7h'\n", model("late"), model("early"))

    (fault,) = json.loads(bench.monitor("check", "--format", "json").stdout)["faults"]

    assert fault["model"] is None
    assert fault["text"].startswith("defaults.every: ")


def stored_at(bench: Bench, url: str) -> Bench:
    return Bench(bench.directory, bench.database, url)


@pytest.mark.parametrize("arguments", [(), ("--offline",)])
def test_a_store_is_one_of_two_databases(bench: Bench, arguments: tuple[str, ...]) -> None:
    stored_at(bench, "sqlit:///x.db").configure(model())

    done = bench.monitor("check", *arguments)

    (line,) = faults_of(done)
    assert done.exit_code == 2
    assert line == 'store.url: a store is SQLite or PostgreSQL: got "sqlit"; did you mean "sqlite"?'


@pytest.mark.parametrize(
    ("name", "told"), [("none/m.db", "there is no directory"), ("config.toml", "file is not a database")]
)
def test_a_store_that_could_not_be_made_or_opened_is_a_fault(bench: Bench, name: str, told: str) -> None:
    stored_at(bench, f"sqlite:///{bench.directory / name}").configure(model("late"), misnamed("early"))

    done = bench.monitor("check")

    first, *rest = faults_of(done)
    assert done.exit_code == 2
    assert first.startswith("store sqlite:///")
    assert told in first
    assert rest == [f'model "early": {NO_VERSION}']
    assert not (bench.directory / "none").exists()


def test_a_fault_of_the_table_hides_no_missing_reference_file(bench: Bench) -> None:
    bench.configure(misnamed("late").replace('table = "reference"', 'file = "none.parquet"'))

    done = bench.monitor("check")

    first, second = faults_of(done)
    assert first == f'model "late": {NO_VERSION}'
    assert second == f'model "late": there is no reference file {bench.directory / "none.parquet"}'


def test_a_missing_column_does_not_hide_that_no_time_is_understood(bench: Bench) -> None:
    bench.database.run("UPDATE predictions SET event_time = 'yesterday'")
    bench.configure(misnamed("late"))

    done = bench.monitor("check")

    first, second = faults_of(done)
    assert first == f'model "late": {NO_VERSION}'
    assert "100.0% hold no time that is understood" in second
    assert second.endswith('as in "yesterday" (digits as 0): nothing can be counted')


def test_a_table_that_is_not_there_is_said_once(bench: Bench) -> None:
    bench.configure(model("late").replace('table = "predictions"', 'table = "prediction"'))

    done = bench.monitor("check")

    lines = faults_of(done)
    assert lines == ['model "late": there is no table or view "prediction"; did you mean "predictions"?']


def test_a_source_that_does_not_answer_is_one_fault_for_all_of_its_models(bench: Bench) -> None:
    bench.configure(model("late"), model("early"))
    (bench.directory / "log.db").unlink()

    (line,) = faults_of(bench.monitor("check"))

    assert line.startswith('source "log" (of "late", "early"): ')
