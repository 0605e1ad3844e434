"""Types of PostgreSQL: cast where the driver would change a value, refused by name where nothing fits."""

from dataclasses import replace
from typing import Any

import pytest
from flight_models import COLUMNS, READING, START, model_of, rows_of
from source_databases import Database

from monitor.core.clock import DAY
from monitor.core.errors import SourceError

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
    "percentage": (["1.5", "99", None], [1.5, 99.0, None]),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_any_type_are_doubles(postgres_database: Database, kind: str) -> None:
    written, read = NUMBERS[kind]
    postgres_database.run("CREATE DOMAIN percentage AS numeric CHECK (value <= 100)")
    postgres_database.create("predictions", COLUMNS | {"temp": kind}, rows_of(3, temp=written))

    table = postgres_database.source().records(model_of(), WEEK).sort_by("id")
    values = table["feature:temp"].to_pylist()

    assert [None if value is None else float(value) for value in values] == read


@pytest.mark.parametrize("written", ["NaN", "1e400", "-1e400"])
def test_numerics_that_no_double_holds_are_invalid_and_end_no_query(
    postgres_database: Database, written: str
) -> None:
    postgres_database.create("predictions", COLUMNS | {"temp": "numeric"}, rows_of(2, temp=[written, "1"]))

    table = postgres_database.source().records(model_of(), WEEK).sort_by("id")

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
        ("inet", ["10.0.0.1", "10.0.0.2", None], ["10.0.0.1/32", "10.0.0.2/32", None]),
    ],
)
def test_categories_of_any_type_are_text(
    postgres_database: Database, kind: str, written: list[Any], read: list[str | None]
) -> None:
    postgres_database.run("CREATE TYPE mood AS ENUM ('calm', 'wild')")
    postgres_database.create("predictions", COLUMNS | {"carrier": kind}, rows_of(3, carrier=written))

    table = postgres_database.source().records(model_of(), WEEK).sort_by("id")

    assert table["feature:carrier"].to_pylist() == read


def test_ids_may_be_uuids(postgres_database: Database) -> None:
    ids = [f"00000000-0000-0000-0000-00000000000{at}" for at in range(3)]
    postgres_database.create("predictions", COLUMNS | {"id": "uuid"}, rows_of(3, id=ids))

    table = postgres_database.source().records(model_of(), WEEK)

    assert sorted(table["id"].to_pylist()) == ids


@pytest.mark.parametrize(
    ("kind", "written", "told"),
    [
        ("money", "12.5", "money"),
        ("integer[]", "{1,2}", r"integer\[\]"),
        ("interval", "1 day", "interval"),
        ("bytea", "x", "bytea"),
    ],
)
def test_types_that_are_read_as_nothing_are_refused_by_name(
    postgres_database: Database, kind: str, written: str, told: str
) -> None:
    postgres_database.create("predictions", COLUMNS | {"temp": kind}, rows_of(1, temp=[written]))

    with pytest.raises(SourceError, match=rf'column "temp" \(feature:temp\) has the type {told}'):
        postgres_database.source().records(model_of(), WEEK)


def test_a_time_must_be_one(postgres_database: Database) -> None:
    postgres_database.create(
        "predictions", COLUMNS | {"event_time": "boolean"}, rows_of(1, event_time=[True])
    )

    with pytest.raises(SourceError, match=r'column "event_time" \(event_time\) has the type boolean'):
        postgres_database.source().records(model_of(), WEEK)


def test_an_epoch_may_be_any_number(postgres_database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"), ("logged_at", "s")))
    start = START // 1_000_000
    columns = COLUMNS | {"event_time": "numeric", "logged_at": "double precision"}
    rows = rows_of(3, event_time=[start + 0.5, start, None], logged_at=["Infinity", start + 0.75, "NaN"])
    postgres_database.create("predictions", columns, rows)

    table = postgres_database.source().records(model_of(reading=reading), WEEK).sort_by("id")

    assert table["event_time"].to_pylist() == [start, start]
    assert table["logged_at"].to_pylist() == [2**63 - 1, start]
