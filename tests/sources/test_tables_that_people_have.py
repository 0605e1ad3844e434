"""Composite ids, shared tables, features of JSON or of a second table: on every engine, by every reader."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from flight_models import (
    COLUMNS,
    LABEL_COLUMNS,
    LABELS,
    PREDICTIONS,
    READING,
    START,
    counted,
    counted_labels,
    iso,
    model_of,
    rows_of,
)
from source_databases import Database, whole

from monitor.advice.table_inspection import inspect_model
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.sources.reference_loading import read_history
from monitor.specs.model_spec import ModelSpec, Relation

N = 200
DAY_ONE = [(START, START + DAY)]
SCATTERED = [(START + at * HOUR, START + at * HOUR + 20 * MINUTE) for at in range(4)]
LOANS = ["7", "7,1", "1", "a\\", "a", "", ",", "\\,"]


def loans(predictions: dict[str, str], labels: dict[str, str]) -> ModelSpec:
    """Ids of a loan and a month, under other names in the two tables."""
    return model_of(
        predictions=replace(PREDICTIONS, columns=(*predictions.items(), *PREDICTIONS.columns[1:])),
        labels=replace(LABELS, columns=(*labels.items(), *LABELS.columns[1:])),
    )


COMPOSITE = loans({"id": "loan_id", "id:1": "month"}, {"id": "loan", "id:1": "of_month"})


def fill_loans(database: Database, keys: list[tuple[Any, Any]], labelled: list[tuple[Any, Any]]) -> None:
    rows = [(loan, month, *row[1:]) for (loan, month), row in zip(keys, rows_of(len(keys)), strict=True)]
    rest = {name: kind for name, kind in COLUMNS.items() if name != "id"}
    database.create("predictions", {"loan_id": "text", "month": "bigint"} | rest, rows)
    theirs = {name: kind for name, kind in LABEL_COLUMNS.items() if name != "flight"}
    database.create(
        "labels",
        {"loan": "text", "of_month": "varchar(7)"} | theirs,
        [(loan, str(month), at % 2, iso(START + DAY), 0) for at, (loan, month) in enumerate(labelled)],
    )


def test_names_hold_any_sign(database: Database, tmp_path: Path) -> None:
    reading = replace(READING, numeric=("fee_%", "100%% sure", "%s"), categorical=("50% % :x {y} `z`",))
    odd = ("id %", "at %%", "fee_%", "100%% sure", "%s", "50% % :x {y} `z`")
    kinds = dict(zip(odd, ("bigint", "text", *3 * ["double precision"], "varchar(9)"), strict=True))
    changed = {"id": "id %", "event_time": "at %%"}
    columns = tuple((role, changed.get(role, name)) for role, name in PREDICTIONS.columns)
    rows = [
        (at, iso(START + at * MINUTE), 1.5, 2.5, 3.5, "x", *row[2:5]) for at, row in enumerate(rows_of(3))
    ]
    rest = {name: COLUMNS[name] for name in ("logged_at", "score", "late")}
    database.create('"log %"' if database.engine != "mariadb" else "`log %`", kinds | rest, rows)
    model = model_of(reading=reading, predictions=Relation(table="log %", columns=columns), labels=None)
    source = database.source()

    found = inspect_model(model, source, tmp_path, START + DAY)
    table = source.read_records(model, DAY_ONE).sort_by("id")

    assert found.faults == found.warnings == ()
    assert table["id"].cast("string").to_pylist() == ["0", "1", "2"]
    assert [table[f"feature:{name}"].to_pylist()[0] for name in odd[2:]] == [1.5, 2.5, 3.5, "x"]


def test_ids_of_several_columns_are_joined_whatever_their_names_types_and_signs(database: Database) -> None:
    keys = [(loan, month) for loan, month in itertools.product(LOANS, (1, 11, 111))]
    fill_loans(database, keys, keys)

    table = database.source().read_records_with_labels(COMPOSITE, DAY_ONE).sort_by("event_time")

    assert len(set(table["id"].cast("string").to_pylist())) == table.num_rows == len(keys)
    assert table["label"].cast("string").to_pylist() == [str(at % 2) for at in range(len(keys))]
    assert table["id"].cast("string").to_pylist()[:4] == ["7,1", "7,11", "7,111", "7\\,1,1"]


def test_an_id_of_several_columns_is_none_where_one_of_them_is(database: Database) -> None:
    keys = [("7", 1), (None, 1), ("7", None), (None, None), ("7", 1)]
    fill_loans(database, keys, [("7", 1), ("8", 1)])
    source = database.source()
    bounds = (START, START + 7 * DAY)

    table = source.read_records(COMPOSITE, DAY_ONE)
    strays = source.count_incomplete_rows(COMPOSITE, as_of=START + 7 * DAY, bounds=bounds)

    assert sorted(table["id"].cast("string").to_pylist(), key=str) == ["7,1", "7,1", None, None, None]
    assert strays == {"rows_without_id": 3, "rows_without_time": 0}
    assert source.count_orphans(COMPOSITE, bounds) == 1
    tally = counted(table)[0].strata
    assert tally == counted(source.read_records(COMPOSITE, SCATTERED))[0].strata


def test_parts_of_an_id_that_repeat_are_no_repeated_ids(database: Database) -> None:
    keys = [("7", month) for month in range(120)] + [("7", 0), ("8", 119)]
    fill_loans(database, keys, [])

    found = database.source().count_repeated_ids(COMPOSITE, as_of=START + DAY, bounds=(START, START + DAY))

    assert found == 1


def test_panes_with_ids_of_several_columns_equal_those_with_one(database: Database) -> None:
    keys = [(str(at // 12), at % 12) for at in range(N)]
    fill_loans(database, keys, keys[::3])
    database.create("flat", COLUMNS, rows_of(N))
    database.create(
        "flat_labels",
        LABEL_COLUMNS,
        [(at * 3, at % 2, iso(START + DAY), 0) for at in range(len(keys[::3]))],
    )
    flat = model_of(
        predictions=replace(PREDICTIONS, table="flat"), labels=replace(LABELS, table="flat_labels")
    )
    source = database.source()

    records = [counted(source.read_records(model, SCATTERED)) for model in (COMPOSITE, flat)]
    labels = [
        counted_labels(source.read_records_with_labels(model, SCATTERED)) for model in (COMPOSITE, flat)
    ]
    history = [read_history(model, source, DAY_ONE[0]).drop_columns("id") for model in (COMPOSITE, flat)]
    changes = [
        whole(
            source.read_changed_labels(model, since=None, as_of=START + 2 * DAY, bounds=DAY_ONE[0])
        ).num_rows
        for model in (COMPOSITE, flat)
    ]

    assert records[0] == records[1]
    # checksums are of ids, which differ
    assert [replace(part, checksum=0) for part in labels[0]] == [
        replace(part, checksum=0) for part in labels[1]
    ]
    assert sum(part.labelled for part in labels[0]) > 10
    assert history[0].sort_by("event_time").equals(history[1].sort_by("event_time"))
    assert changes == [len(keys[::3])] * 2


def test_one_prediction_and_one_label_table_serve_several_models(database: Database) -> None:
    rows = [(*row, "fast" if at % 3 else "slow") for at, row in enumerate(rows_of(N))]
    # both models log the same ids: only their names tell them apart
    rows += [(*row[:-1], "slow" if row[-1] == "fast" else "fast") for row in rows[:30]]
    database.create("predictions", COLUMNS | {"model": "text"}, rows)
    labels = [(at, at % 2, iso(START + DAY), 0, name) for at in range(N) for name in ("fast", "slow")]
    database.create("labels", LABEL_COLUMNS | {"model": "text"}, labels[: -N // 2])
    own = {
        name: model_of(
            predictions=replace(PREDICTIONS, where=f"model = '{name}' -- of ours"),
            labels=replace(LABELS, where=f"model = '{name}' OR model = '{name}'"),
        )
        for name in ("fast", "slow")
    }
    for name in own:
        database.create(f"{name}_log", COLUMNS, [row[:-1] for row in rows if row[-1] == name])
        mine = [row[:-1] for row in labels[: -N // 2] if row[-1] == name]
        database.create(f"{name}_labels", LABEL_COLUMNS, mine)
    source = database.source()

    for name, model in own.items():
        alone = model_of(
            predictions=replace(PREDICTIONS, table=f"{name}_log"),
            labels=replace(LABELS, table=f"{name}_labels"),
        )
        for ranges in (DAY_ONE, SCATTERED):
            assert counted(source.read_records(model, ranges)) == counted(source.read_records(alone, ranges))
            assert counted_labels(source.read_records_with_labels(model, ranges)) == counted_labels(
                source.read_records_with_labels(alone, ranges)
            )
        assert source.count_orphans(model, (START, START + 7 * DAY)) == source.count_orphans(
            alone, (START, START + 7 * DAY)
        )


JSON = {
    "sqlite": "json_extract(l.input, '$.temp') AS temp, json_extract(l.input, '$.carrier') AS carrier",
    "postgresql": "l.input->>'temp' AS temp, l.input->>'carrier' AS carrier",
    "mariadb": "json_value(l.input, '$.temp') AS temp, json_value(l.input, '$.carrier') AS carrier",
}
OUTPUTS = "l.id, l.event_time, l.logged_at, l.score, l.late"


def plain(database: Database) -> tuple[list[Any], list[Any]]:
    """Rows with a missing and an invalid temperature and a missing carrier, and the panes they give."""
    temp: list[Any] = [float(at % 31) + 0.1 for at in range(N)]
    temp[5] = None
    carrier: list[Any] = [("UA", "AA", "DL")[at % 3] for at in range(N)]
    carrier[6] = None
    rows = rows_of(N, temp=temp, carrier=carrier)
    database.create("plain", COLUMNS, rows)
    model = model_of(predictions=replace(PREDICTIONS, table="plain"), labels=None)
    return rows, counted(database.source().read_records(model, SCATTERED))


def queried(query: str, where: str | None = None) -> ModelSpec:
    relation = Relation(query=query, where=where, columns=PREDICTIONS.columns)
    return model_of(predictions=relation, labels=None)


def test_features_come_out_of_json_by_a_query(database: Database) -> None:
    rows, panes = plain(database)
    columns = {name: COLUMNS[name] for name in ("id", "event_time", "logged_at", "score", "late")}
    inputs = [json.dumps({"temp": row[5], "carrier": row[6], "nested": {"a": [1]}}) for row in rows]
    logged = [(*row[:5], text) for row, text in zip(rows, inputs, strict=True)]
    database.create("log", columns | {"input": "jsonb" if database.postgres else "text"}, logged)

    query = f"SELECT {OUTPUTS}, {JSON[database.engine]} FROM log AS l;"
    table = database.source().read_records(queried(query), SCATTERED)

    assert counted(table) == panes


def test_features_come_from_a_second_table_by_a_query(database: Database) -> None:
    rows, panes = plain(database)
    outputs = {name: COLUMNS[name] for name in ("id", "event_time", "logged_at", "score", "late")}
    database.create("log", outputs, [row[:5] for row in rows])
    features = {"of_id": "bigint", "temp": "double precision", "carrier": "text"}
    database.create("features", features, [(row[0], *row[5:]) for row in rows])

    query = f"SELECT {OUTPUTS}, f.temp, f.carrier FROM log AS l LEFT JOIN features AS f ON f.of_id = l.id"
    table = database.source().read_records(queried(query), SCATTERED)
    half = database.source().read_records(queried(query, "carrier = 'UA' OR temp < 5"), DAY_ONE)

    assert counted(table) == panes
    assert 0 < half.num_rows < N


def test_a_view_over_two_tables_is_read_like_a_table(database: Database) -> None:
    _, panes = plain(database)
    database.run("CREATE VIEW both_halves AS SELECT * FROM plain WHERE id < 100 UNION ALL "
                 "SELECT * FROM plain WHERE id >= 100")  # fmt: skip
    model = model_of(predictions=replace(PREDICTIONS, table="both_halves"), labels=None)

    assert counted(database.source().read_records(model, SCATTERED)) == panes
