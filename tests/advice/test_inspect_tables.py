"""What `check` is told of tables: every fault at once, with the nearest name."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from flight_models import AS_OF, COLUMNS, LABEL_COLUMNS, READING, START, iso, model_of, rows_of
from source_databases import Database

from monitor.advice.table_inspection import inspect_model
from monitor.core.clock import DAY
from monitor.core.errors import SourceUnavailable
from monitor.sources import open_source
from monitor.sources.indexes import RowCount
from monitor.sources.sql.statements import Statement
from monitor.specs.model_spec import ReferenceSpec, Relation, SourceSpec


def test_sound_tables_have_no_faults(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(100))
    database.create("labels", LABEL_COLUMNS, [(1, 1, iso(START + DAY), 0)])

    found = inspect_model(model_of(), database.source(), tmp_path, AS_OF)

    assert (found.faults, found.warnings, found.rows) == ((), (), RowCount(100))
    assert found.look is not None
    assert list(found.look.predictions.survey.types) == list(COLUMNS)


def test_nothing_is_asked_twice(
    sqlite_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_database.create("predictions", COLUMNS, rows_of(100))
    sqlite_database.create("labels", LABEL_COLUMNS, [(1, 1, iso(START + DAY), 0)])
    source, asked = sqlite_database.source(), list[str]()
    with source.reader.open_session() as session:
        kind = type(session)
    read_rows, read_table = kind.read_rows, kind.read_table

    def note_rows(self: Any, sql: str) -> Any:
        asked.append(sql)
        return read_rows(self, sql)

    def note_table(self: Any, statement: Statement) -> Any:
        asked.append(statement.sql_text())
        return read_table(self, statement)

    monkeypatch.setattr(kind, "read_rows", note_rows)
    monkeypatch.setattr(kind, "read_table", note_table)

    found = inspect_model(replace(model_of(), reference=None), source, tmp_path, AS_OF)

    assert found.findings.joined is not None
    questions = [sql for sql in asked if not sql.startswith("PRAGMA busy_timeout")]
    assert len(questions) == len(set(questions))


def test_every_missing_column_is_named_at_once(database: Database, tmp_path: Path) -> None:
    database.create("predictions", {f"{name}_": kind for name, kind in COLUMNS.items()})
    database.create("labels", {f"{name}_": kind for name, kind in LABEL_COLUMNS.items()})

    found = inspect_model(model_of(), database.source(), tmp_path, AS_OF)

    for name in (
        "id",
        "event_time",
        "logged_at",
        "score",
        "late",
        "flight",
        "was_late",
        "reported_at",
        "revision",
    ):
        assert any(
            f'no column "{name}"' in fault and f'did you mean "{name}_"' in fault for fault in found.faults
        )
    assert len(found.faults) == 9
    assert {
        f'table "predictions" has no column "{name}" (feature); did you mean "{name}_"?'
        for name in ("temp", "carrier")
    } <= set(found.warnings)


def test_missing_tables_are_all_named(database: Database, tmp_path: Path) -> None:
    database.create("prediction", COLUMNS)

    found = inspect_model(model_of(), database.source(), tmp_path, AS_OF)

    assert found.faults == (
        'there is no table or view "predictions"; did you mean "prediction"?',
        'there is no table or view "labels"',
    )
    assert found.rows is None


def test_empty_tables_are_warned_of(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS)
    database.create("labels", LABEL_COLUMNS)

    found = inspect_model(model_of(), database.source(), tmp_path, AS_OF)

    assert found.faults == ()
    assert found.warnings == ('table "predictions" is empty', 'table "labels" is empty')


def test_the_index_to_make_is_told_where_it_matters_and_helps(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(10_000))
    reports = [(at, at % 2, iso(START + at * 60_000_000 + DAY), 0) for at in range(10_000)]
    database.create("labels", LABEL_COLUMNS, reports)
    source = database.source()

    before = inspect_model(model_of(), source, tmp_path, AS_OF)
    told = [match[1] for warning in before.warnings if (match := re.search("run: (.*;)$", warning))]
    database.run(*(line.replace(" CONCURRENTLY", "") for line in told))  # which no transaction may do
    after = inspect_model(model_of(), source, tmp_path, AS_OF)

    assert [warning.partition(" is used")[0] for warning in before.warnings] == [
        'table "predictions": no index on "event_time" (event_time)',
        'table "predictions": no index on "logged_at" (logged_at)',
        'table "labels": no index on "reported_at" (reported_at)',
        'table "labels": no index on "flight" (id)',
        'table "predictions": no index on "id" (id)',
    ]
    assert (after.faults, after.warnings) == ((), ())


@pytest.mark.parametrize(
    "key", ["PRIMARY KEY (id, event_time)", "UNIQUE (event_time, id)", "CHECK (id >= 0)"]
)
@pytest.mark.parametrize("many", [False, True])
def test_partitions_by_time_need_no_index_on_it_until_they_are_large(
    postgres_database: Database, tmp_path: Path, key: str, *, many: bool
) -> None:
    days = (0, 7, 20) if many else (0, 4, 8, 12, 20)
    columns = COLUMNS | {"event_time": "timestamptz"}
    typed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    postgres_database.run(f"CREATE TABLE predictions ({typed}, {key}) PARTITION BY RANGE (event_time)")
    for at, (first, last) in enumerate(pairwise(days)):
        bounds = f"FROM ('{iso(START + first * DAY)}') TO ('{iso(START + last * DAY)}')"
        postgres_database.run(f"CREATE TABLE p{at} PARTITION OF predictions FOR VALUES {bounds}")
    postgres_database.create("filled", columns, rows_of(21_000))
    postgres_database.run("INSERT INTO predictions SELECT * FROM filled")

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, AS_OF)

    told = [one for one in found.warnings if '"event_time"' in one]
    assert len(told) == (many and key.startswith("CHECK"))
    cost = "each cycle reads whole partitions, the largest with all 10,920 rows; run: "
    assert all(cost in one for one in told)


def test_texts_where_a_unit_is_inherited_get_a_hint_and_no_index_of_casts(
    database: Database, tmp_path: Path
) -> None:
    epochs = [START // 1_000_000 + at for at in range(10_000)]
    columns = COLUMNS | {"event_time": "bigint", "logged_at": "text"}
    database.create("predictions", columns, rows_of(10_000, event_time=epochs))
    reading = replace(READING, time_units=(("event_time", "s"), ("logged_at", "s")))

    found = inspect_model(model_of(labels=None, reading=reading), database.source(), tmp_path, AS_OF)

    told = [one for one in found.warnings if '"logged_at"' in one]
    assert told[0] == (
        'table "predictions": "logged_at" (logged_at) holds no time that is understood: every row is read; '
        'whole numbers in "s" are looked for: of other times say logged_at_unit = "none"'
    )
    assert not any("CREATE INDEX" in one for one in told)


def test_small_tables_need_no_index(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(9_999))

    found = inspect_model(model_of(labels=None), database.source(), tmp_path, AS_OF)

    assert found.warnings == ()


def test_types_that_cannot_be_read_are_told(postgres_database: Database, tmp_path: Path) -> None:
    postgres_database.create("predictions", COLUMNS | {"score": "money", "temp": "integer[]"})

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, AS_OF)

    assert [fault.split(",")[0] for fault in found.faults] == [
        'column "score" (score) has the type money',
        'column "temp" (feature:temp) has the type integer[]',
    ]


def test_labels_in_the_prediction_table_are_looked_at_there(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(3))

    found = inspect_model(
        model_of(labels=Relation(columns=(("label", "lates"),))), database.source(), tmp_path, AS_OF
    )

    assert found.faults == ('table "predictions" has no column "lates" (label); did you mean "late"?',)


@pytest.mark.parametrize("selective", [False, True])
def test_newest_predictions_that_moved_are_no_choice_of_those_who_get_labels(
    database: Database, tmp_path: Path, *, selective: bool
) -> None:
    n, old = 6_000, 2_000
    late = [at % 2 if at < old else int(at % 10 > 0) for at in range(n)]
    labelled = [at for at in range(old) if not (selective and late[at])]
    database.create("predictions", COLUMNS, rows_of(n, late=late, score=[0.1 + 0.8 * each for each in late]))
    database.create(
        "labels", LABEL_COLUMNS, [(at, int(at % 3 == 0), iso(START + 2 * DAY), 0) for at in labelled]
    )

    found = inspect_model(model_of(), database.source(), tmp_path, AS_OF)

    told = [warning for warning in found.warnings if "labels come for some predictions only" in warning]
    assert len(told) == selective
    assert all('"0" are 100.0% of 1,000 labels, and 50.' in warning for warning in told)


def test_a_reference_that_is_not_there_is_a_fault(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(3))
    model = replace(model_of(labels=None), reference=ReferenceSpec(file="none.parquet"))

    found = inspect_model(model, database.source(), tmp_path, AS_OF)

    assert [fault.startswith("there is no reference file") for fault in found.faults] == [True]


@pytest.mark.parametrize("reader", ["adbc", "fetchmany"])
def test_a_database_that_does_not_answer_is_said(tmp_path: Path, reader: str) -> None:
    source = open_source(SourceSpec(name="source", url=f"sqlite:///{tmp_path}/none.db"), reader=reader)

    with pytest.raises(SourceUnavailable, match="there is no file"):
        inspect_model(replace(model_of(), reading=READING), source, tmp_path, AS_OF)
