"""`check` names every fault at once, of the file and of the tables, each with its model."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result
from serving import Bench, Database, create_tables, labels, model, predictions

from monitor.core.clock import DAY, from_iso

START = from_iso("2024-03-01")
NO_VERSION = 'table "predictions" has no column "versionn" (version)'


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A day of a log."""
    bench = Bench(tmp_path, Database(f"sqlite:///{tmp_path / 'log.db'}"), f"sqlite:///{tmp_path / 'm.db'}")
    rows = predictions(48, START, START + DAY)
    create_tables(bench.database)
    bench.database.insert("predictions", rows)
    bench.database.insert("labels", labels(rows, end=START + 2 * DAY))
    yield bench
    assert not (tmp_path / "m.db").exists()


def check(bench: Bench, *arguments: str) -> Result:
    return bench.monitor("check", *arguments)


def misnamed(name: str) -> str:
    text: str = model(name, predictions='version = "versionn"')
    return text


def test_a_fault_of_one_model_hides_none_of_the_tables_of_another(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1"), misnamed("early"), model("fine"))
    path = bench.config
    path.write_text(f'{path.read_text()}\n[sources.other]\nurl = "other.db"\n', encoding="utf-8")

    done = check(bench)

    assert done.exit_code == 2
    told = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert told == [
        'sources.other.url: a database URL starts as in "sqlite:///monitor.db": got no scheme',
        'models[0] "late".windws: unknown key; did you mean "windows"?',
        f'model "early": {NO_VERSION}',
    ]


def test_a_fault_of_the_store_hides_none_of_the_tables(bench: Bench) -> None:
    bench.configure(misnamed("late"))
    path = bench.config
    path.write_text(path.read_text().replace("[store]\n", "[store]\nur = 1\n"), encoding="utf-8")

    done = check(bench)

    assert 'store.ur: unknown key; did you mean "url"?' in done.stderr.splitlines()
    assert f'model "late": {NO_VERSION}' in done.stderr.splitlines()


def test_json_names_the_model_of_every_fault(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1"), misnamed("early"))

    found = json.loads(check(bench, "--format", "json").stdout)

    assert found["faults"] == [
        {"model": "late", "text": 'models[0] "late".windws: unknown key; did you mean "windows"?'},
        {"model": "early", "text": NO_VERSION},
    ]


def test_json_has_no_model_for_a_fault_that_all_inherit(bench: Bench) -> None:
    bench.configure("[defaults]\nevery = '7h'\n", model("late"), model("early"))

    (fault,) = json.loads(check(bench, "--format", "json").stdout)["faults"]

    assert fault["model"] is None
    assert fault["text"].startswith("defaults.every: ")


def stored_at(bench: Bench, url: str) -> Bench:
    return Bench(bench.directory, bench.database, url)


@pytest.mark.parametrize("arguments", [(), ("--offline",)])
def test_a_store_is_one_of_two_databases(bench: Bench, arguments: tuple[str, ...]) -> None:
    stored_at(bench, "sqlit:///x.db").configure(model())

    done = check(bench, *arguments)

    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert done.exit_code == 2
    assert line == 'store.url: a store is SQLite or PostgreSQL: got "sqlit"; did you mean "sqlite"?'


@pytest.mark.parametrize(
    ("name", "told"), [("none/m.db", "there is no directory"), ("config.toml", "file is not a database")]
)
def test_a_store_that_could_not_be_made_or_opened_is_a_fault(bench: Bench, name: str, told: str) -> None:
    stored_at(bench, f"sqlite:///{bench.directory / name}").configure(model("late"), misnamed("early"))

    done = check(bench)

    first, *rest = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert done.exit_code == 2
    assert first.startswith("store sqlite:///")
    assert told in first
    assert rest == [f'model "early": {NO_VERSION}']
    assert not (bench.directory / "none").exists()


def test_a_fault_of_the_table_hides_no_missing_reference_file(bench: Bench) -> None:
    bench.configure(misnamed("late").replace('table = "reference"', 'file = "none.parquet"'))

    done = check(bench)

    first, second = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert first == f'model "late": {NO_VERSION}'
    assert second == f'model "late": there is no reference file {bench.directory / "none.parquet"}'


def test_a_missing_column_does_not_hide_that_no_time_is_understood(bench: Bench) -> None:
    bench.database.run("UPDATE predictions SET event_time = 'yesterday'")
    bench.configure(misnamed("late"))

    done = check(bench)

    first, second = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert first == f'model "late": {NO_VERSION}'
    assert "100.0% hold no time that is understood" in second
    assert second.endswith('as in "yesterday" (digits as 0): nothing can be counted')


def test_a_table_that_is_not_there_is_said_once(bench: Bench) -> None:
    bench.configure(model("late").replace('table = "predictions"', 'table = "prediction"'))

    done = check(bench)

    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning")]
    assert lines == ['model "late": there is no table or view "prediction"; did you mean "predictions"?']


def told(done: Result) -> list[str]:
    return [line for line in done.stderr.splitlines() if not line.startswith("warning")]


def test_a_misspelt_key_does_not_hide_a_misspelt_column_of_the_same_model(bench: Bench) -> None:
    bench.configure(misnamed("late").replace('task = "binary"', 'task = "binary"\nwindws = ["1d"]'))

    done = check(bench)

    assert done.exit_code == 2
    assert told(done) == [
        'models[0] "late".windws: unknown key; did you mean "windows"?',
        f'model "late": {NO_VERSION}',
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ('score = "score"', 'scroe = "scores"', 'no column "scores" (score)'),
        ('score = "score"', "score = 7", None),
        ('task = "binary"', 'task = "binray"', None),
        ('task = "binary"', 'task = "regression"', None),
        ('name = "late"', "", None),
        ('event_time = "event_time"', "", None),
        ('event_time = "event_time"', 'event_time = "event_time"\nevent_time_unit = "h"', None),
        ('id = "id"\nevent', 'id = ""\nevent', None),
        ('id = "id"\nlabel', 'id = ["id", "leg"]\nlabel', None),
        ('label = "late"', "label = 1", None),
        ('label = "late"', 'lable = "lates"', 'no column "lates" (label)'),
        ('table = "labels"', 'table = "labels"\nquery = "SELECT 1"', None),
        ('[models.reference]\ntable = "reference"', "[models.reference]", None),
        ('numeric = ["amount"]', "numeric = 1", None),
        ('[models.features]\nnumeric = ["amount"]', "[models.features]\nnumeric = ['amount', 'group']", None),
        ("[models.features]", "[models.serving]\ncolumn = 'score'\n[models.features]", None),
        ('prediction = "pred"', 'prediction = "${UNSET}"', None),
    ],
)
def test_a_fault_of_the_file_and_one_of_the_table_are_each_said_once(
    bench: Bench, right: str, wrong: str, fault: str | None
) -> None:
    whole = misnamed("late")
    assert right in whole
    bench.configure(whole.replace(right, wrong))

    file = check(bench, "--offline")
    both = check(bench)

    assert (file.exit_code, both.exit_code) == (2, 2)
    of_tables = told(both)[len(told(file)) :]
    assert told(both)[: len(told(file))] == told(file)
    assert [line.partition(": ")[2] for line in of_tables if "versionn" in line] == [NO_VERSION]
    assert [line for line in of_tables if "versionn" not in line and (not fault or fault not in line)] == []
    assert any("versionn" not in line for line in of_tables) == (fault is not None)


def test_a_fault_that_all_inherit_hides_no_table(bench: Bench) -> None:
    bench.configure("[defaults]\nevery = '7h'\n", misnamed("late"), misnamed("early"))

    first, *rest = told(check(bench))

    assert first.startswith("defaults.every: ")
    assert rest == [f'model "late": {NO_VERSION}', f'model "early": {NO_VERSION}']


def test_a_misspelt_key_of_a_source_hides_none_of_its_tables(bench: Bench) -> None:
    bench.configure(misnamed("late"))
    path = bench.config
    path.write_text(path.read_text().replace("[sources.log]\n", "[sources.log]\nmax_conections = 1\n"))

    first, *rest = told(check(bench))

    assert first.startswith("sources.log.max_conections: unknown key")
    assert rest == [f'model "late": {NO_VERSION}']


def test_a_source_whose_url_is_not_known_is_not_looked_at(bench: Bench) -> None:
    bench.configure(misnamed("late"))
    path = bench.config
    path.write_text(path.read_text().replace(bench.database.url, "sqlite:///${UNSET}"))

    (line,) = told(check(bench))

    assert line == "sources.log.url: the environment variable UNSET is not set"


def test_a_source_that_does_not_answer_is_one_fault_for_sound_and_faulty_models(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1"), model("early"))
    (bench.directory / "log.db").unlink()

    first, second = told(check(bench))

    assert "windws" in first
    assert second.startswith('source "log" (of "early", "late"): ')


def test_warnings_of_the_columns_of_a_faulty_model_are_said_too(bench: Bench) -> None:
    bench.configure(model("late", options="windws = 1").replace('["amount"]', '["amuont"]'))

    lines = check(bench).stderr.splitlines()

    assert (
        'warning: model "late": table "predictions" has no column "amuont" (feature); did you mean "amount"?'
    ) in lines
