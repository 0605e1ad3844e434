"""References: from a file, a table, a query, a range of the log; features found where none are named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, LABELS, READING, START, iso, model_of, rows_of
from source_databases import Database, WatchedReader, ended_by

from monitor.core.clock import DAY, HOUR
from monitor.core.errors import DatabaseTrouble, SourceError
from monitor.records.reference import reference_of
from monitor.sources import SqlSource
from monitor.sources.reference_loading import load_reference
from monitor.specs.model_spec import ModelSpec, ReferenceSpec, Relation

N = 200
FILE: dict[str, Any] = {
    "score": pa.array(np.linspace(0, 1, N), pa.float32()),
    "late": pa.array([at % 2 == 1 for at in range(N)]),
    "was_late": pa.array([at % 2 for at in range(N)], pa.int8()),
    "temp": pa.array([None, *range(1, N)], pa.float32()),
    "carrier": pa.array(["UA", "AA"] * (N // 2)).dictionary_encode(),
}


def model(**changes: Any) -> ModelSpec:
    return replace(model_of(), **changes)


def searching(reference: ReferenceSpec, **changes: Any) -> ModelSpec:
    bare = replace(READING, numeric=(), categorical=())
    return model(reading=bare, find_features=True, reference=reference, **changes)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_file_is_read_beside_the_configuration(
    sqlite_database: Database, tmp_path: Path, ending: str
) -> None:
    (tmp_path / "data").mkdir()
    table = pa.table(FILE)
    if ending == "csv":
        plain = table.set_column(4, "carrier", table["carrier"].cast(pa.string()))
        pyarrow.csv.write_csv(plain, tmp_path / "data/reference.csv")
    else:
        pyarrow.parquet.write_table(table, tmp_path / "data/reference.parquet")
    spec = model(reference=ReferenceSpec(file=f"data/reference.{ending}"))

    loaded, reading = load_reference(spec, sqlite_database.source(), tmp_path)

    assert reading == spec.reading
    assert loaded["score"].type == loaded["feature:temp"].type == pa.float64()
    assert loaded["feature:temp"].null_count == 1
    assert set(loaded["feature:carrier"].to_pylist()) == {"UA", "AA"}
    assert set(loaded["label"].cast("string").to_pylist()) == {"0", "1"}
    assert reference_of(loaded, reading).counting.features[0][0] == "carrier"


@pytest.mark.parametrize("searched", [True, False])
def test_a_table_is_read_once_and_again_after_a_conflict(database: Database, *, searched: bool) -> None:
    database.create("predictions", COLUMNS, rows_of(N))
    given = ReferenceSpec(relation=Relation(table="predictions", columns=()))
    spec = searching(given) if searched else model(reference=given)
    plain = load_reference(spec, database.source(), Path())
    troubles: list[DatabaseTrouble | None] = [DatabaseTrouble.CONFLICT]
    reader = WatchedReader(database.source().reader, ended_by(troubles))

    found = load_reference(spec, SqlSource(reader, sleep=lambda _: None), Path())

    assert found == plain
    assert len(reader.read) == 2
    assert not troubles


@pytest.mark.parametrize("kind", ["double precision", "boolean", "text", "bigint", "mixed", "words"])
def test_what_is_found_and_read_at_once_is_what_is_read_of_named_features(
    database: Database, kind: str
) -> None:
    values: dict[str, list[Any]] = {
        "boolean": [True, False, None],
        "text": ["0.30000000000000004", "x", "9007199254740993"],
        "bigint": [9007199254740993, -1, None],
        "mixed": ["n/a", 0.1 + 0.2, 9007199254740993],
        "words": ["1.0", "1", "true"],
        "double precision": [0.1 + 0.2, None, 1e300],
    }
    declared = {"mixed": "" if database.engine == "sqlite" else "text", "words": "text"}.get(kind, kind)
    rows = rows_of(N, temp=[values[kind][at % 3] for at in range(N)])
    database.create("predictions", COLUMNS | {"temp": declared}, rows)
    given = ReferenceSpec(relation=Relation(table="predictions", columns=()))
    source = database.source()

    found, reading = load_reference(searching(given), source, Path())
    named, _ = load_reference(model(reading=reading, reference=given), source, Path())

    assert reference_of(found, reading) == reference_of(named, reading)


def test_a_reference_counted_in_slices_is_that_of_all_rows(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_database.create(
        "predictions", COLUMNS | {"was_late": "bigint"}, [(*row, row[4]) for row in rows_of(N)]
    )
    given = ReferenceSpec(relation=Relation(table="predictions", columns=()))
    reading = replace(READING, segments=("carrier",))
    loaded, _ = load_reference(model(reading=reading, reference=given), sqlite_database.source(), Path())
    whole = reference_of(loaded, reading)
    monkeypatch.setattr("monitor.records.reference.ROWS_AT_ONCE", 7)

    assert reference_of(loaded, reading) == whole
    assert whole.n == N
    assert whole.segments


def test_single_precision_is_widened_not_rounded(sqlite_database: Database, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(FILE), tmp_path / "r.parquet")

    loaded, _ = load_reference(
        model(reference=ReferenceSpec(file="r.parquet")), sqlite_database.source(), tmp_path
    )

    expected = np.linspace(0, 1, N).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(loaded["score"].to_numpy(), expected)


@pytest.mark.parametrize(("column", "near"), [("temp", "temp_f"), ("score", "scores"), ("late", "lately")])
def test_a_column_that_a_file_lacks_is_named_with_the_nearest(
    sqlite_database: Database, tmp_path: Path, column: str, near: str
) -> None:
    names = [near if name == column else name for name in FILE]
    pyarrow.parquet.write_table(pa.table(FILE).rename_columns(names), tmp_path / "r.parquet")

    with pytest.raises(
        SourceError, match=f'file "r.parquet" has no column "{column}".*did you mean "{near}"'
    ):
        load_reference(model(reference=ReferenceSpec(file="r.parquet")), sqlite_database.source(), tmp_path)


def test_labels_may_be_left_out_of_a_reference(sqlite_database: Database, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table(FILE).drop_columns("was_late"), tmp_path / "r.parquet")

    loaded, _ = load_reference(
        model(reference=ReferenceSpec(file="r.parquet")), sqlite_database.source(), tmp_path
    )

    assert "label" not in loaded.column_names


@pytest.mark.parametrize(
    ("name", "told"), [("none.parquet", "there is no reference file"), ("bad.parquet", "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_said_to_be_so(
    sqlite_database: Database, tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "bad.parquet").write_text("not parquet")

    with pytest.raises(SourceError, match=told):
        load_reference(model(reference=ReferenceSpec(file=name)), sqlite_database.source(), tmp_path)


@pytest.mark.parametrize("query", [None, "SELECT * FROM reference"])
def test_a_table_and_a_query_of_the_source_are_references(
    database: Database, tmp_path: Path, query: str | None
) -> None:
    rows = [(*row, at % 2) for at, row in enumerate(rows_of(N))]
    database.create("reference", COLUMNS | {"was_late": "bigint"}, rows)
    relation = Relation(table=None if query else "reference", query=query)

    loaded, _ = load_reference(model(reference=ReferenceSpec(relation=relation)), database.source(), tmp_path)

    assert sorted(loaded["score"].to_pylist()) == sorted(row[3] for row in rows)
    assert sorted(loaded["feature:temp"].to_pylist()) == sorted(row[5] for row in rows)
    assert set(loaded["label"].cast("string").to_pylist()) == {"0", "1"}


def test_a_range_of_the_log_is_a_reference_without_repeats_and_with_winning_labels(
    database: Database, tmp_path: Path
) -> None:
    rows = rows_of(120)
    again = (5, rows[5][1], iso(START + 2 * DAY), 0.99, 1, 99.0, "DL")
    database.create("predictions", COLUMNS, [again, *rows])
    corrected = [(3, 0, iso(START + DAY), 0), (3, 1, iso(START + 2 * DAY), 1), (4, 0, iso(START + DAY), 0)]
    retracted = [(6, 1, iso(START + DAY), 0), (6, None, iso(START + 2 * DAY), 1)]
    database.create("labels", LABEL_COLUMNS, [*corrected, *retracted, (400, 1, None, 0)])
    spec = model(reference=ReferenceSpec(start=START, end=START + HOUR))

    loaded, _ = load_reference(spec, database.source(), tmp_path)

    by_id = {str(row["id"]): row for row in loaded.to_pylist()}
    assert sorted(map(int, by_id)) == list(range(60))
    assert by_id["5"]["feature:temp"] == 5.0
    assert {key: str(row["label"]) for key, row in by_id.items() if row["label"] is not None} == {
        "3": "1",
        "4": "0",
    }


def test_a_range_of_the_log_without_labels_has_none(database: Database, tmp_path: Path) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    spec = model(labels=None, reference=ReferenceSpec(start=START, end=START + HOUR))

    loaded, _ = load_reference(spec, database.source(), tmp_path)

    assert "label" not in loaded.column_names


RICH = COLUMNS | {
    "was_late": "bigint",
    "distance": "bigint",
    "night": "boolean",
    "note": "text",
    "payload": "text",
    "seen": "text",
    "empty": "double precision",
    "secret": "double precision",
    "hour_text": "text",
}


def rich_rows(n: int) -> list[tuple[Any, ...]]:
    return [
        (
            *row,
            at % 2,
            at,
            at % 2 == 0,
            f"note {at}",
            f'{{"at": {at % 3}}}',
            iso(START),
            None,
            1.0,
            str(at % 24),
        )
        for at, row in enumerate(rows_of(n))
    ]


@pytest.mark.parametrize("reference", ["table", "log"])
def test_features_are_found_among_columns_of_both_reference_and_table(
    database: Database, tmp_path: Path, reference: str
) -> None:
    database.create("predictions", RICH, rich_rows(N))
    database.create("labels", LABEL_COLUMNS)
    database.create("past", RICH | {"only_here": "bigint"}, [(*row, 1) for row in rich_rows(N)])
    where = {
        "table": ReferenceSpec(relation=Relation(table="past")),
        "log": ReferenceSpec(start=START, end=START + DAY),
    }
    spec = searching(where[reference], exclude=("secret",))

    loaded, reading = load_reference(spec, database.source(), tmp_path)

    assert reading.numeric == ("distance", "temp")
    assert reading.categorical == ("carrier", "hour_text", "night")
    assert {f"feature:{name}" for name in (*reading.numeric, *reading.categorical)} <= set(
        loaded.column_names
    )


def test_features_are_found_in_a_file(sqlite_database: Database, tmp_path: Path) -> None:
    columns = FILE | {"only_here": pa.array(range(N)), "night": pa.array([True, False] * (N // 2))}
    columns |= {"seen": pa.array([0] * N, pa.timestamp("us")), "raw": pa.array([b"x"] * N)}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "r.parquet")
    sqlite_database.create("predictions", COLUMNS | {"night": "boolean", "seen": "text", "raw": "blob"})
    spec = searching(ReferenceSpec(file="r.parquet"))

    loaded, reading = load_reference(spec, sqlite_database.source(), tmp_path)

    assert (reading.numeric, reading.categorical) == (("temp",), ("carrier", "night"))
    assert loaded["feature:night"].to_pylist()[:2] == ["true", "false"]


def test_no_feature_at_all_is_refused(sqlite_database: Database, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(
        pa.table({"score": FILE["score"], "late": FILE["late"]}), tmp_path / "r.parquet"
    )
    sqlite_database.create("predictions", COLUMNS)

    with pytest.raises(SourceError, match=r"no feature was found.*\[models.features\]"):
        load_reference(searching(ReferenceSpec(file="r.parquet")), sqlite_database.source(), tmp_path)


def test_a_reference_table_has_the_columns_of_its_own_names(database: Database, tmp_path: Path) -> None:
    database.create(
        "past",
        {"p": "double precision", "late": "bigint", "temp": "double precision", "carrier": "text"},
        [(0.5, 1, 2.0, "UA")],
    )
    relation = Relation(table="past", columns=(("score", "p"),))

    loaded, _ = load_reference(model(reference=ReferenceSpec(relation=relation)), database.source(), tmp_path)

    assert loaded["score"].to_pylist() == [0.5]
    assert "label" not in loaded.column_names
    assert LABELS.column_of("label") == "was_late"
