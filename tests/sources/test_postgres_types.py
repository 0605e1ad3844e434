"""Types of PostgreSQL: cast where the driver would change a value, refused by name where nothing fits."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flight_models import AS_OF, COLUMNS, LABEL_COLUMNS, LABELS, READING, START, iso, model_of, rows_of
from source_databases import Database

from monitor.advice.table_inspection import inspect_model
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import SourceError
from monitor.look.table_look import look_at_columns
from monitor.records.count_records import count_records
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.records.reference import reference_of
from monitor.sources import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation

WEEK = [(START, START + 7 * DAY)]
NUMBERS: dict[str, tuple[list[Any], list[float | None]]] = {
    "smallint": ([1, -2, None], [1.0, -2.0, None]),
    "integer": ([1, -2, None], [1.0, -2.0, None]),
    "bigint": ([2**53, -2, None], [2.0**53, -2.0, None]),
    "real": (["0.5", "Infinity", None], [0.5, float("inf"), None]),
    "double precision": (["0.1", "-Infinity", None], [0.1, float("-inf"), None]),
    "numeric": (["0.1", "1e-310", None], [0.1, 0.0, None]),
    "numeric(12, 2)": (["12.50", "-0.01", None], [12.5, -0.01, None]),
    "boolean": ([True, False, None], [1.0, 0.0, None]),
    "text": (["1.5", "-2e3", None], [1.5, -2000.0, None]),
    "varchar(10)": (["1.5", "-2e3", None], [1.5, -2000.0, None]),
    "oid": ([1, 4_294_967_295, None], [1.0, 4_294_967_295.0, None]),
    "percentage": (["1.5", "99", None], [1.5, 99.0, None]),
    "share": (["1.5", "NaN", None], [1.5, float("nan"), None]),
}


DOMAINS = [
    "CREATE DOMAIN percentage AS numeric CHECK (value <= 100 OR value = 'NaN')",
    "CREATE DOMAIN share AS percentage",
    "CREATE DOMAIN price AS money",
]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_any_type_are_doubles(postgres_database: Database, kind: str) -> None:
    written, read = NUMBERS[kind]
    postgres_database.run(*DOMAINS)
    postgres_database.create("predictions", COLUMNS | {"temp": kind}, rows_of(3, temp=written))

    table = postgres_database.source().read_records(model_of(), WEEK).sort_by("id")
    values = table["feature:temp"].to_pylist()

    assert str([None if value is None else float(value) for value in values]) == str(read)


@pytest.mark.parametrize("written", ["NaN", "1e400", "-1e400"])
def test_numerics_that_no_double_holds_are_invalid_and_end_no_query(
    postgres_database: Database, written: str
) -> None:
    postgres_database.create("predictions", COLUMNS | {"temp": "numeric"}, rows_of(2, temp=[written, "1"]))

    table = postgres_database.source().read_records(model_of(), WEEK).sort_by("id")

    assert str(table["feature:temp"].to_pylist()) == "[nan, 1.0]"


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("mood", ["calm", "wild", None], ["calm", "wild", None]),
        ("boolean", [True, False, None], ["true", "false", None]),
        ("integer", [1, 2, None], ["1", "2", None]),
        ("numeric", ["1.50", "2", None], ["1.50", "2", None]),
        ("char(3)", ["AA", "UAL", None], ["AA", "UAL", None]),
        ("jsonb", ['"a"', "1", None], ['"a"', "1", None]),
        ("json", ['"a"', "1", None], ['"a"', "1", None]),
        ("xml", ["<a/>", "b", None], ["<a/>", "b", None]),
        ("point", ["(1,2)", "(0,0)", None], ["(1,2)", "(0,0)", None]),
        ("inet", ["10.0.0.1", "10.0.0.2", None], ["10.0.0.1/32", "10.0.0.2/32", None]),
    ],
)
def test_categories_of_any_type_are_text(
    postgres_database: Database, kind: str, written: list[Any], read: list[str | None]
) -> None:
    postgres_database.run("CREATE TYPE mood AS ENUM ('calm', 'wild')")
    postgres_database.create("predictions", COLUMNS | {"carrier": kind}, rows_of(3, carrier=written))

    table = postgres_database.source().read_records(model_of(), WEEK).sort_by("id")

    assert table["feature:carrier"].cast("string").to_pylist() == read


def test_ids_may_be_uuids(postgres_database: Database) -> None:
    ids = [f"00000000-0000-0000-0000-00000000000{at}" for at in range(3)]
    postgres_database.create("predictions", COLUMNS | {"id": "uuid"}, rows_of(3, id=ids))

    table = postgres_database.source().read_records(model_of(), WEEK)

    assert sorted(table["id"].to_pylist()) == ids


@pytest.mark.parametrize(
    ("kind", "written", "told"),
    [
        ("money", "12.5", "money"),
        ("price", "12.5", "money"),
        ("integer[]", "{1,2}", r"integer\[\]"),
        ("interval", "1 day", "interval"),
        ("bytea", "x", "bytea"),
    ],
)
def test_types_that_are_read_as_nothing_are_refused_by_name(
    postgres_database: Database, kind: str, written: str, told: str, tmp_path: Path
) -> None:
    postgres_database.run(*DOMAINS)
    postgres_database.create("predictions", COLUMNS | {"temp": kind}, rows_of(1, temp=[written]))
    source, message = postgres_database.source(), rf'column "temp" \(feature:temp\) has the type {told},'

    found = inspect_model(model_of(labels=None), source, tmp_path, START + DAY)

    assert [bool(re.match(message, fault)) for fault in found.faults] == [True]
    with pytest.raises(SourceError, match=message):
        source.read_records(model_of(), WEEK)


@pytest.mark.parametrize("kind", ["json", "point", "jsonpath", "oid[]"])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_table_with_columns_that_no_index_compares_is_looked_at(
    postgres_database: Database, kind: str, *, indexed: bool
) -> None:
    columns = COLUMNS | {"id": "bigint PRIMARY KEY" if indexed else "bigint", "odd": kind}
    postgres_database.create("predictions", {"odd_one": kind} | columns)

    found = look_at_columns(postgres_database.source(), Relation(table="predictions"), "p", START)

    assert found.find_column("id").indexed is indexed
    assert [one.name for one in found.columns if one.indexed] == ["id"] * indexed


@pytest.mark.parametrize("kind", ["json", "point"])
def test_an_id_is_comparable(postgres_database: Database, kind: str, tmp_path: Path) -> None:
    postgres_database.create("predictions", COLUMNS | {"id": kind})
    message = f'column "id" (id) has the type {kind}, which cannot be compared as an id is: '

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, START + DAY)

    assert [fault.startswith(message) for fault in found.faults] == [True]


@pytest.mark.parametrize("kind", ["point", "uuid", "time with time zone"])
def test_a_time_is_no_value_of_another_type(postgres_database: Database, kind: str, tmp_path: Path) -> None:
    postgres_database.create("predictions", COLUMNS | {"event_time": kind})
    message = f'column "event_time" (event_time) has the type {kind}, which is not read as a time: '

    found = inspect_model(model_of(labels=None), postgres_database.source(), tmp_path, START + DAY)

    assert [fault.startswith(message) for fault in found.faults] == [True]


def test_a_time_must_be_one(postgres_database: Database) -> None:
    postgres_database.create(
        "predictions", COLUMNS | {"event_time": "boolean"}, rows_of(1, event_time=[True])
    )

    with pytest.raises(SourceError, match=r'column "event_time" \(event_time\) has the type boolean'):
        postgres_database.source().read_records(model_of(), WEEK)


def test_an_epoch_may_be_any_number(postgres_database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"), ("logged_at", "s")))
    start = START // 1_000_000
    columns = COLUMNS | {"event_time": "numeric", "logged_at": "double precision"}
    rows = rows_of(3, event_time=[start + 0.5, start, None], logged_at=["Infinity", start + 0.75, "NaN"])
    postgres_database.create("predictions", columns, rows)

    table = postgres_database.source().read_records(model_of(reading=reading), WEEK).sort_by("id")

    assert table["event_time"].to_pylist() == [start, start]
    assert table["logged_at"].to_pylist() == [2**63 - 1, start]


ODD = {
    "id": "uuid",
    "event_time": "timestamptz",
    "logged_at": "timestamp",
    "version": "bigint",
    "score": "percentage",
    "late": "boolean",
    "amount": "numeric(30, 10)",
    "free": "numeric",
    "big": "bigint",
    "mood": "mood",
    "flag": "boolean",
    "day": "date",
    "key": "uuid",
    "input": "jsonb",
}
QUERY = (
    "SELECT p.*, (p.input->>'km')::numeric AS km, p.input->>'weight' AS weight, p.input->'tag' AS tag, "
    "jsonb_array_length(p.input->'stops') AS stops FROM predictions AS p"
)
ODD_READING = replace(
    READING,
    numeric=("amount", "big", "free", "km", "stops", "weight"),
    categorical=("day", "flag", "key", "mood", "tag"),
    versioned=True,
    zone="Europe/Vienna",
)
ROLES = ("id", "event_time", "logged_at", "version", "score")
ODD_MODEL = model_of(
    reading=ODD_READING,
    predictions=Relation(query=QUERY, columns=(*((role, role) for role in ROLES), ("prediction", "late"))),
    labels=LABELS,
)
N = 300


def uuid_of(at: int) -> str:
    return f"a0000000-0000-4000-8000-{at:012d}"


def odd_rows() -> list[tuple[Any, ...]]:
    rows = []
    for at in range(N):
        moment = START + at * 10 * 60_000_000
        stops, tag = [1] * (at % 3), ["x", 1, None, {"a": 1}][at % 4]
        weight = [1.5, "2.5", "heavy", None][at % 4]
        rows.append((
            uuid_of(at), iso(moment, "%Y-%m-%d %H:%M:%S+00"), iso(moment + HOUR, "%Y-%m-%d %H:%M:%S"),
            at % 2 + 2**53, [at / N, "NaN", None][at % 31 // 30 + at % 29 // 28], at % 5 == 0,
            [f"{at}.0000000001", "NaN", None][at % 3], ["1e400", "0.1", "NaN", "1e-320"][at % 4],
            [2**62 + at, -at, None][at % 3], [("calm", "wild")[at % 2], None][at % 7 // 6], at % 3 == 0,
            iso(moment, "%Y-%m-%d"), uuid_of(at % 4),
            json.dumps({"km": at / 8, "weight": weight, "tag": tag, "stops": stops}),
        ))  # fmt: skip
    return rows


def test_states_of_every_type_are_the_same_by_both_readers(postgres_url: str) -> None:
    written = Database(postgres_url, "adbc")
    written.run(*DOMAINS, "CREATE TYPE mood AS ENUM ('calm', 'wild')")
    written.create("predictions", ODD, odd_rows())
    kinds = {"flight": "varchar(36)", "was_late": "percentage", "reported_at": "timestamptz"}
    labels = [(uuid_of(at), at % 2, iso(START + at * HOUR), at % 3) for at in range(N)]
    written.create("labels", LABEL_COLUMNS | kinds, labels)

    adbc, fetchmany = (Database(postgres_url, reader) for reader in ("adbc", "fetchmany"))
    found = [panes_of(database.source(batch_rows=64), ODD_MODEL) for database in (adbc, fetchmany)]
    for source in (*adbc.opened, *fetchmany.opened):
        source.close()

    assert found[0] == found[1]
    records, labelled = found[0]
    assert sum(part.records for part in records) == N
    assert sum(part.labelled for part in labelled) == N
    assert {stratum.version for part in records for stratum in part.strata} == {
        None,
        str(2**53),
        str(2**53 + 1),
    }


def panes_of(source: SqlSource, model: ModelSpec) -> tuple[list[PanePart], list[PanePart]]:
    """Both parts of each day's pane, on grids of the table itself."""
    span = (START - DAY, START + 7 * DAY)
    days = np.arange(span[0], span[1], DAY)
    reading = replace(model.reading, pane=DAY)
    records, labelled = source.read_records(model, [span]), source.read_records_with_labels(model, [span])
    reference = records.append_column("label", records["prediction"]).sort_by("id")
    counting = replace(reference_of(reference, replace(reading, versioned=False)).counting, reading=reading)
    return (
        count_records(records, counting, panes=days, as_of=AS_OF),
        count_labels(labelled, counting, panes=days, as_of=AS_OF),
    )
