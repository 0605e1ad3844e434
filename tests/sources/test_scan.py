"""Rows as readers hand them over: the same on every engine, by either reader, in any batches."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flight_models import (
    COLUMNS,
    LABEL_COLUMNS,
    LABELS,
    PREDICTIONS,
    READING,
    START,
    counted,
    counted_labels,
    grouped,
    iso,
    model_of,
    panes,
    rows_of,
)
from source_databases import Database

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.errors import SourceError
from monitor.records.reading import ChallengerOutput
from monitor.specs.model_spec import Relation

WEEK = [(START, START + 7 * DAY)]
MANY = 6_000


def expected(rows: Sequence[tuple[Any, ...]], temp: Sequence[float | None]) -> pa.Table:
    """What a reader shall return, made without one."""
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return pa.table(
        {
            "id": pa.array([str(value) for value in columns["id"]]),
            "event_time": pa.array(columns["event_time"]),
            "logged_at": pa.array(columns["logged_at"]),
            "score": pa.array(columns["score"], pa.float64()),
            "prediction": pa.array([str(value) for value in columns["late"]]),
            "feature:temp": pa.array(temp, pa.float64()),
            "feature:carrier": pa.array(columns["carrier"]),
        }
    )


@pytest.mark.parametrize("place", [0, 3_000], ids=["first batch", "later batch"])
def test_nulls_and_infinities_in_a_feature_are_counted_alike(database: Database, place: int) -> None:
    temp: list[Any] = [float(at % 31) for at in range(MANY)]
    held = {"sqlite": [math.inf, -math.inf], "postgresql": [math.inf, -math.inf, math.nan], "mariadb": []}
    odd = [None, *held[database.engine]]
    temp[place : place + len(odd)] = odd
    rows = rows_of(MANY, event_time=[iso(START + at * 100_000_000) for at in range(MANY)], temp=temp)
    database.create("predictions", COLUMNS, rows)

    small, large = (database.source(batch_rows=size).read_records(model_of(), WEEK) for size in (100, 5_000))

    assert counted(small) == counted(large) == counted(expected(rows, temp))


def test_a_first_batch_of_nulls_changes_nothing(database: Database) -> None:
    temp = [None] * 5_000 + [at + 0.5 for at in range(MANY - 5_000)]
    rows = rows_of(MANY, event_time=[iso(START + at * 100_000_000) for at in range(MANY)], temp=temp)
    database.create("predictions", COLUMNS, rows)

    small, large = (database.source(batch_rows=size).read_records(model_of(), WEEK) for size in (100, 5_000))

    assert counted(small) == counted(large) == counted(expected(rows, temp))


@pytest.mark.parametrize("place", [0, 3_000], ids=["first batch", "later batch"])
def test_text_in_a_numeric_column_of_sqlite_is_invalid_and_harms_no_other_value(
    sqlite_database: Database, place: int
) -> None:
    temp: list[Any] = [at / 7 for at in range(MANY)]
    read = list(temp)
    temp[place : place + 3] = ["n/a", b"\xff\x00", 12]
    read[place : place + 3] = [math.nan, math.nan, 12.0]
    rows = rows_of(MANY, event_time=[iso(START + at * 100_000_000) for at in range(MANY)], temp=temp)
    sqlite_database.create("predictions", COLUMNS, rows)

    small, large = (
        sqlite_database.source(batch_rows=size).read_records(model_of(), WEEK) for size in (100, 5_000)
    )

    assert counted(small) == counted(large) == counted(expected(rows, read))
    np.testing.assert_array_equal(small["feature:temp"].to_numpy(), read)


def test_text_in_a_text_column_that_is_read_as_a_number_is_parsed(database: Database) -> None:
    rows = rows_of(4, temp=["1.5", " 2 ", "n/a", None])
    database.create("predictions", COLUMNS | {"temp": "text"}, rows)

    table = database.source().read_records(model_of(), WEEK)

    assert counted(table) == counted(expected(rows, [1.5, 2.0, math.nan, None]))


def test_an_all_null_column_is_missing_everywhere(database: Database) -> None:
    rows = rows_of(100, temp=[None] * 100, carrier=[None] * 100, score=[None] * 100)
    database.create("predictions", COLUMNS, rows)

    table = database.source().read_records(model_of(), WEEK)

    assert table["feature:temp"].null_count == table["feature:carrier"].null_count == 100
    assert table["score"].null_count == 100
    assert counted(table)[0].records == 60


def test_an_empty_table_gives_no_rows_and_every_column(database: Database) -> None:
    database.create("predictions", COLUMNS)
    database.create("labels", LABEL_COLUMNS)
    source = database.source()

    records, labelled = (
        source.read_records(model_of(), WEEK),
        source.read_records_with_labels(model_of(), WEEK),
    )

    assert (records.num_rows, labelled.num_rows) == (0, 0)
    assert {"id", "event_time", "score", "feature:temp"} <= set(records.column_names)
    assert {"label", "reported_at", "revision"} <= set(labelled.column_names)
    assert [part.records for part in counted(records, hours=2)] == [0, 0]
    assert [part.records for part in counted_labels(labelled, hours=2)] == [0, 0]


def test_no_ranges_give_no_rows(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))

    assert database.source().read_records(model_of(), []).num_rows == 0


@pytest.mark.parametrize("indexed", [True, False])
def test_scattered_ranges_give_each_of_their_rows_once(database: Database, *, indexed: bool) -> None:
    n = 7 * 24 * 60
    database.create("predictions", COLUMNS, rows_of(n))
    if indexed:
        database.run('CREATE INDEX by_time ON predictions ("event_time")')
    ranges = [(start, start + 10 * MINUTE) for start in range(START, START + 7 * DAY, HOUR // 2)]
    wanted = {str(at) for at in range(n) if at % 30 < 10}

    table = database.source().read_records(model_of(), ranges)

    ids = table["id"].cast("string").to_pylist()
    assert len(ids) == len(set(ids))
    assert wanted <= set(ids)


def test_more_ranges_than_one_statement_holds_give_each_row_once(database: Database) -> None:
    n = 7 * 24 * 60
    database.create("predictions", COLUMNS, rows_of(n))
    database.run('CREATE INDEX by_time ON predictions ("event_time")')
    ranges = [(start, start + 2 * MINUTE) for start in range(START, START + 7 * DAY, 10 * MINUTE)]

    table = database.source().read_records(model_of(), ranges)

    assert sorted(map(int, table["id"].cast("string").to_pylist())) == [at for at in range(n) if at % 10 < 2]


def test_a_column_named_as_a_keyword_is_dropped_in_mid_run_and_comes_back(database: Database) -> None:
    arms = ["control" if at % 3 else "treatment" for at in range(100)]
    rows = [(*row, arm) for row, arm in zip(rows_of(100), arms, strict=True)]
    database.create("predictions", COLUMNS | {"group": "text"}, rows)
    model = model_of(reading=grouped())
    source = database.source()
    before = source.read_records(model, WEEK)

    database.run('ALTER TABLE predictions RENAME COLUMN "group" TO "gruop"')
    with pytest.raises(SourceError, match=r'table "predictions" has no column "group".*did you mean "gruop"'):
        source.read_records(model, WEEK)
    database.run('ALTER TABLE predictions RENAME COLUMN "gruop" TO "group"')

    assert counted(before, grouped()) == counted(source.read_records(model, WEEK), grouped())
    assert before["arm"].to_pylist() == arms


@pytest.mark.parametrize("column", ["group", "temp"])
def test_a_feature_dropped_in_mid_run_is_left_out_until_it_is_back(database: Database, column: str) -> None:
    database.create("predictions", COLUMNS | {"group": "text"}, [(*row, "a") for row in rows_of(100)])
    model = model_of(reading=replace(READING, categorical=("carrier", "group")))
    source = database.source()
    before = source.read_records(model, WEEK)

    database.run(f'ALTER TABLE predictions RENAME COLUMN "{column}" TO "gone"')
    without = source.read_records(model, WEEK)
    database.run(f'ALTER TABLE predictions RENAME COLUMN "gone" TO "{column}"')

    assert set(before.column_names) - set(without.column_names) == {f"feature:{column}"}
    assert without.num_rows == before.num_rows == 100
    assert source.read_records(model, WEEK).equals(before)


@pytest.mark.parametrize("column", ["id", "event_time", "logged_at", "score", "late"])
def test_a_column_that_the_model_needs_is_missed_by_name(database: Database, column: str) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.run(f'ALTER TABLE predictions RENAME COLUMN "{column}" TO "{column}_x"')

    with pytest.raises(SourceError, match=f'no column "{column}".*did you mean "{column}_x"'):
        database.source().read_records(model_of(), WEEK)


def test_a_missing_label_column_is_named_with_the_nearest(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create(
        "labels", {"flight": "bigint", "wes_late": "bigint", "reported_at": "text", "revision": "bigint"}
    )

    with pytest.raises(SourceError, match=r'table "labels" has no column "was_late".*"wes_late"'):
        database.source().read_records_with_labels(model_of(), WEEK)


def test_a_missing_table_is_named_with_the_nearest(database: Database) -> None:
    database.create("prediction", COLUMNS)

    with pytest.raises(SourceError, match='no table or view "predictions"; did you mean "prediction"'):
        database.source().read_records(model_of(), WEEK)


def test_labels_of_their_own_table_are_joined_outer_with_their_corrections(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(4))
    database.create(
        "labels",
        LABEL_COLUMNS,
        [
            (0, 1, iso(START + DAY), 0),
            (0, 0, iso(START + 2 * DAY), 1),
            (2, None, iso(START + DAY), 0),
            (9, 1, None, 0),
        ],
    )

    table = (
        database.source()
        .read_records_with_labels(model_of(), WEEK)
        .sort_by([("id", "ascending"), ("revision", "ascending")])
    )

    assert table["id"].cast("string").to_pylist() == ["0", "0", "1", "2", "3"]
    assert table["label"].cast("string").to_pylist() == ["1", "0", None, None, None]
    assert table["revision"].to_pylist() == [0.0, 1.0, None, 0.0, None]
    assert not [name for name in table.column_names if name.startswith("feature:")]
    parts = counted_labels(table, hours=1)
    assert (parts[0].records, parts[0].labelled) == (4, 1)


def test_a_challengers_score_is_read_with_the_labels_alone(database: Database) -> None:
    rows = [(*row, score) for row, score in zip(rows_of(3), [0.5, None, 0.25], strict=True)]
    database.create("predictions", COLUMNS | {"other": "double precision"}, rows)
    reading = replace(READING, challenger=ChallengerOutput(column="other", threshold=0.5))
    model = model_of(reading=reading, labels=None)

    assert database.source().read_records_with_labels(model, WEEK)["challenger"].to_pylist() == [
        0.5,
        None,
        0.25,
    ]
    assert "challenger" not in database.source().read_records(model, WEEK).column_names


def test_a_challengers_column_that_is_missing_is_named(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(3))
    reading = replace(READING, challenger=ChallengerOutput(column="scor", threshold=0.5))

    with pytest.raises(SourceError, match=r'has no column "scor" \(challenger\); did you mean "score"'):
        database.source().read_records_with_labels(model_of(reading=reading, labels=None), WEEK)


def test_labels_in_the_prediction_table_are_read_from_it(database: Database) -> None:
    rows = [(*row, label) for row, label in zip(rows_of(3), [1, None, 0], strict=True)]
    database.create("predictions", COLUMNS | {"was_late": "bigint"}, rows)
    labels = Relation(columns=(("label", "was_late"),))

    table = database.source().read_records_with_labels(model_of(labels=labels), WEEK)

    assert table["label"].cast("string").to_pylist() == ["1", None, "0"]
    assert "reported_at" not in table.column_names


def test_without_labels_there_are_no_columns_of_theirs(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(3))

    table = database.source().read_records_with_labels(model_of(labels=None), WEEK)

    assert table.num_rows == 3
    assert not {"label", "reported_at", "revision"} & set(table.column_names)


def test_ids_of_different_types_still_join(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(3))
    database.create("labels", LABEL_COLUMNS | {"flight": "text"}, [("1", 1, iso(START + DAY), 0)])

    table = database.source().read_records_with_labels(model_of(), WEEK).sort_by("id")

    assert table["label"].cast("string").to_pylist() == [None, "1", None]


def test_a_view_works_like_a_table(database: Database) -> None:
    rows = rows_of(500)
    database.create("log_of_all", COLUMNS, rows)
    database.run("CREATE VIEW predictions AS SELECT * FROM log_of_all")

    table = database.source().read_records(model_of(), WEEK)

    assert counted(table) == counted(expected(rows, [row[5] for row in rows]))


def test_a_query_works_like_a_table(database: Database) -> None:
    rows = rows_of(500)
    database.create("log_of_all", COLUMNS | {"kind": "text"}, [(*row, "shadow:100%") for row in rows])
    query = Relation(
        query="SELECT * FROM log_of_all WHERE kind LIKE 'shadow:1%' -- all of it\n;",
        columns=PREDICTIONS.columns,
    )

    table = database.source().read_records(model_of(predictions=query), WEEK)

    assert counted(table) == counted(expected(rows, [row[5] for row in rows]))


def test_the_condition_of_the_owner_is_held_together(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))
    database.create("labels", LABEL_COLUMNS, [(at, 1, iso(START + DAY), at % 2) for at in range(100)])
    predictions = Relation(table="predictions", where="id < 5 OR id > 97", columns=PREDICTIONS.columns)
    labels = Relation(table="labels", where="revision = 0", columns=LABELS.columns)
    model = model_of(predictions=predictions, labels=labels)
    source = database.source()

    near = source.read_records(model, [(START, START + 50 * MINUTE)])
    labelled = source.read_records_with_labels(model, WEEK).sort_by("id")

    assert sorted(near["id"].cast("string").to_pylist()) == ["0", "1", "2", "3", "4"]
    ids, found = (labelled[name].cast("string").to_pylist() for name in ("id", "label"))
    assert dict(zip(ids, found, strict=True)) == {
        "0": "1", "1": None, "2": "1", "3": None, "4": "1", "98": "1", "99": None
    }  # fmt: skip


def test_the_types_of_the_columns_are_told(database: Database) -> None:
    database.create("predictions", COLUMNS)
    called = {"bigint": "integer", "double precision": "double", "text": "varchar"}
    if database.engine != "mariadb":
        called = {}

    told = database.source().list_columns(model_of())

    assert told == {name: called.get(kind, kind) for name, kind in COLUMNS.items()}


def test_odd_names_are_quoted(database: Database) -> None:
    columns = {f'{name} of "it"': kind for name, kind in COLUMNS.items()}
    quoted = {name.replace('"', '""'): kind for name, kind in columns.items()}
    database.create('"odd; table"', quoted, rows_of(10))
    relation = Relation(
        table="odd; table", columns=tuple((role, f'{column} of "it"') for role, column in PREDICTIONS.columns)
    )

    assert database.source().read_records(model_of(predictions=relation), WEEK).num_rows == 10


def test_the_panes_hold_every_row(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(600))

    parts = counted(database.source().read_records(model_of(), WEEK), hours=11)

    assert [part.records for part in parts] == [60] * 10 + [0]
    assert [part.start for part in parts] == panes(11).tolist()
