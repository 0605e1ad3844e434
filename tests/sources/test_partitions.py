"""Partitioned tables of PostgreSQL: no query touches partitions outside of its bounds, as its plan says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, PREDICTIONS, READING, START, iso, model_of, rows_of
from servers import PostgresServer
from source_databases import Database, recorded, whole

from monitor.core.clock import DAY, HOUR
from monitor.sources import retries
from monitor.sources.reference_loading import read_history
from monitor.specs.model_spec import ModelSpec, Relation

DAYS = 30
HORIZON = 3 * DAY
AS_OF = START + 20 * DAY
BOUNDS = (AS_OF - HORIZON, AS_OF + HOUR)
NEAR = {f"p{day:02}" for day in range(17, 21)}
AROUND = {f"p{day:02}" for day in range(11, 25)}  # where predictions of reported labels are looked for
PANES = [(AS_OF - at * HOUR, AS_OF - (at - 3) * HOUR) for at in (60, 30, 5)]
MODEL = model_of(reading=replace(READING, horizon=HORIZON))
QUERY = "SELECT l.id, l.event_time, l.logged_at, l.score, l.late, l.temp, l.carrier FROM predictions AS l"


@pytest.fixture(params=["table", "condition", "query"])
def model(request: pytest.FixtureRequest) -> ModelSpec:
    """A model on a partitioned table, with a condition of its own, and by a query."""
    relations = {
        "table": PREDICTIONS,
        "condition": replace(PREDICTIONS, where="carrier <> 'XX'"),
        "query": Relation(query=QUERY, columns=PREDICTIONS.columns),
    }
    return replace(MODEL, predictions=relations[request.param])


@pytest.fixture(scope="module", params=["indexed", "not indexed"])
def database(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[Database]:
    """A prediction table with a partition a day, and its labels; only read."""
    with postgres_server.database() as url:
        made = Database(url, "fetchmany")
        fill(made, indexed=request.param == "indexed")
        yield made
        for source in made.opened:
            source.close()


def fill(made: Database, *, indexed: bool) -> None:
    columns = ", ".join(f'"{name}" {kind}' for name, kind in _columns().items())
    made.run(f"CREATE TABLE predictions ({columns}) PARTITION BY RANGE (event_time)")
    for day in range(DAYS):
        first, last = iso(START + day * DAY), iso(START + (day + 1) * DAY)
        made.run(f"CREATE TABLE p{day:02} PARTITION OF predictions FOR VALUES FROM ('{first}') TO ('{last}')")
    if indexed:
        made.run("CREATE INDEX by_time ON predictions (event_time)")
    ids = range(DAYS * 24)
    moments = [iso(START + at * HOUR) for at in ids]
    rows = rows_of(len(ids), event_time=moments, logged_at=moments)
    made.create("filled", _columns(), rows)
    made.run("INSERT INTO predictions SELECT * FROM filled")
    labels = [(at, at % 2, iso(START + at * HOUR + DAY), 0) for at in ids]
    made.create("labels", LABEL_COLUMNS | {"reported_at": "timestamptz"}, labels)
    made.run("ANALYZE predictions", "ANALYZE labels")


def _columns() -> dict[str, str]:
    return COLUMNS | {"event_time": "timestamptz", "logged_at": "timestamptz"}


def partitions(server: psycopg.Connection[Any], sql: str) -> set[str]:
    """Partitions in the plan of a statement, those that its execution never entered left out."""
    plan = server.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}".encode()).fetchone()
    assert plan is not None
    found = _scanned(plan[0][0]["Plan"])
    return {name for name in found if name.startswith("p") and name[1:].isdigit()}


def _scanned(plan: dict[str, Any]) -> set[str]:
    below = [_scanned(child) for child in plan.get("Plans", ())]
    here = {plan["Relation Name"]} if "Relation Name" in plan and plan["Actual Loops"] else set()
    return here.union(*below)


def planned(server: psycopg.Connection[Any], sql: str) -> set[str]:
    """Partitions in the plan of a statement, executed or not."""
    lines = server.execute(f"EXPLAIN {sql}".encode()).fetchall()
    words = {word for (line,) in lines for word in line.split()}
    return {word for word in words if word.startswith("p") and word[1:].isdigit()}


ASKED = {
    "records": lambda source, model: source.read_records(model, PANES),
    "one range": lambda source, model: source.read_records(model, [BOUNDS]),
    "labelled": lambda source, model: source.read_records_with_labels(model, PANES),
    "first changes": lambda source, model: whole(
        source.read_changed_records(model, since=None, as_of=AS_OF, bounds=BOUNDS)
    ),
    "changes": lambda source, model: whole(
        source.read_changed_records(model, since=AS_OF - HOUR, as_of=AS_OF, bounds=BOUNDS)
    ),
    "first labels": lambda source, model: whole(
        source.read_changed_labels(model, since=None, as_of=AS_OF, bounds=BOUNDS)
    ),
    "labels": lambda source, model: whole(
        source.read_changed_labels(model, since=AS_OF - HOUR, as_of=AS_OF, bounds=BOUNDS)
    ),
    "strays": lambda source, model: source.count_incomplete_rows(model, as_of=AS_OF, bounds=BOUNDS),
    "repeated ids": lambda source, model: source.count_repeated_ids(model, as_of=AS_OF, bounds=BOUNDS),
    "orphans": lambda source, model: source.count_orphans(model, BOUNDS),
    "older rows": lambda source, model: source.has_records(model, as_of=BOUNDS[1], bounds=BOUNDS),
    "reference": lambda source, model: read_history(model, source, BOUNDS),
    "columns": lambda source, model: source.list_columns(model),
}


@pytest.mark.postgres
@pytest.mark.parametrize("asked", ASKED)
def test_no_query_touches_a_partition_outside_of_its_bounds(
    database: Database, model: ModelSpec, asked: str
) -> None:
    source, seen = recorded(database)
    allowed = AROUND if asked == "orphans" else NEAR

    ASKED[asked](source, model)
    source.close()
    statements = [sql for sql in seen if "predictions" in sql and not sql.startswith("EXPLAIN")]
    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        touched = [partitions(server, sql) for sql in statements]
        bounded = [planned(server, sql) for sql in statements if "TIMESTAMPTZ" in sql]

    assert statements
    assert set().union(*touched) <= allowed
    assert set().union(*bounded) <= allowed
    assert bool(bounded) == (asked != "columns")


@pytest.mark.postgres
def test_rows_of_a_partitioned_table_are_those_of_a_plain_one(database: Database, model: ModelSpec) -> None:
    source = database.source()
    plain = replace(MODEL, predictions=replace(PREDICTIONS, table="filled"))

    assert source.read_records(model, PANES).num_rows == 9
    assert (
        source.read_records_with_labels(model, PANES)
        .sort_by("id")
        .equals(source.read_records_with_labels(plain, PANES).sort_by("id"))
    )
    assert source.count_orphans(model, BOUNDS) == source.count_orphans(plain, BOUNDS) == 0


@pytest.mark.postgres
def test_partitions_are_read_in_slices_with_and_without_an_index(
    database: Database, model: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "ROWS", 48)
    source, seen = recorded(database)
    bounds = (START, START + DAYS * DAY)

    tables = list(source.read_changed_records(model, since=None, as_of=bounds[1], bounds=bounds))
    source.close()

    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        touched = [
            len(partitions(server, sql)) for sql in seen if "TIMESTAMPTZ" in sql and "EXPLAIN" not in sql
        ]
    assert sum(table.num_rows for table in tables) == DAYS * 24
    assert len(touched) == len(tables) > 12
    assert max(touched) <= 4
