"""Every statement of a cycle, an audit and a check on a partitioned table bounds the event time: its plan."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, LABELS, PREDICTIONS, READING, START, iso, model_of, rows_of
from servers import PostgresServer
from source_databases import Database, recorded, whole
from test_partitions import partitions, planned

from monitor.advice.table_inspection import inspect_model
from monitor.core.clock import DAY, HOUR
from monitor.sources import SqlSource
from monitor.specs.model_spec import ModelSpec

DAYS = 40
HORIZON = 3 * DAY
AS_OF = START + 20 * DAY
CYCLE = (AS_OF - HORIZON, AS_OF + HOUR)
AUDIT = (AS_OF - 2 * HORIZON, AS_OF + HORIZON)
NEAR = {f"p{day:02}" for day in range(13, 24)} | {"p99"}  # p99: rows without an event time, and odd texts
AROUND = NEAR | {f"p{day:02}" for day in range(10, 28)}  # where predictions of reported labels are looked for
PANES = [(AS_OF - at * HOUR, AS_OF - (at - 3) * HOUR) for at in (60, 30, 5)]
MODEL = model_of(reading=replace(READING, horizon=HORIZON))
KINDS = {"timestamps": "timestamptz", "texts": 'text COLLATE "C"'}


@pytest.fixture(scope="module", params=KINDS)
def database(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[Database]:
    """A prediction table with a partition a day and one for the rest, and its labels; only read."""
    with postgres_server.database() as url:
        made = Database(url, "fetchmany")
        kind = KINDS[request.param]
        columns = COLUMNS | {"event_time": kind, "logged_at": kind}
        listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        made.run(f"CREATE TABLE predictions ({listed}) PARTITION BY RANGE (event_time)")
        part = "PARTITION OF predictions"
        for day in range(DAYS):
            first, last = (iso(START + at * DAY, "%Y-%m-%d") for at in (day, day + 1))
            made.run(f"CREATE TABLE p{day:02} {part} FOR VALUES FROM ('{first}') TO ('{last}')")
        made.run(f"CREATE TABLE p99 {part} DEFAULT", "CREATE INDEX by_time ON predictions (event_time)")
        moments: list[Any] = [iso(START + at * HOUR) for at in range(DAYS * 24)]
        times = [*moments[:-2], None, "2013/03/19" if request.param == "texts" else None]
        made.create("filled", columns, rows_of(len(times), event_time=times, logged_at=moments))
        labels = [(at, at % 2, iso(START + at * HOUR + DAY), 0) for at in range(len(times))]
        made.create("labels", LABEL_COLUMNS | {"reported_at": "timestamptz"}, labels)
        made.run("INSERT INTO predictions SELECT * FROM filled", "CREATE INDEX by_flight ON labels (flight)")
        made.run("ANALYZE predictions", "ANALYZE labels")
        yield made
        for source in made.opened:
            source.close()


def cycle_and_audit(source: SqlSource, model: ModelSpec) -> None:
    """What a first cycle, a later one, and an audit ask, as the pipeline asks it."""
    since = AS_OF - 2 * HOUR
    source.list_columns(model)
    whole(source.read_changed_records(model, since=None, as_of=AS_OF, bounds=CYCLE))
    whole(source.read_changed_records(model, since=since, as_of=AS_OF, bounds=CYCLE))
    source.has_records(model, as_of=CYCLE[1], bounds=(CYCLE[0] - HORIZON, CYCLE[0]))
    whole(source.read_changed_labels(model, since=None, as_of=AS_OF, bounds=CYCLE))
    whole(source.read_changed_labels(model, since=since, as_of=AS_OF, bounds=CYCLE))
    source.read_records(model, PANES)
    source.read_records_with_labels(model, PANES)
    source.read_records_with_labels(model, PANES[:1])
    whole(source.read_changed_records(model, since=None, as_of=AS_OF, bounds=AUDIT))
    source.count_incomplete_rows(model, as_of=AS_OF, bounds=AUDIT)
    ever = (AS_OF - 4_000 * DAY, AS_OF + 4_000 * DAY)
    source.count_misdated_rows(model, since=AS_OF - DAY, as_of=AS_OF, recent=AUDIT, ever=ever)
    source.count_repeated_ids(model, as_of=AS_OF, bounds=(AUDIT[0], AS_OF + HOUR))


def read_of(seen: list[str]) -> list[str]:
    """Statements on predictions that are run, not only planned."""
    return [sql for sql in seen if '"predictions"' in sql and not sql.startswith("EXPLAIN")]


@pytest.mark.postgres
@pytest.mark.parametrize("logged", [True, False])
def test_every_statement_of_a_cycle_and_an_audit_bounds_the_event_time(
    database: Database, *, logged: bool
) -> None:
    columns = tuple(pair for pair in PREDICTIONS.columns if logged or pair[0] != "logged_at")
    model = replace(MODEL, predictions=replace(PREDICTIONS, columns=columns))
    source, seen = recorded(database)

    cycle_and_audit(source, model)
    near = read_of(seen)
    seen.clear()
    source.count_orphans(model, AUDIT)
    around = read_of(seen)
    source.close()

    assert len(near) > 20
    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        for statements, allowed in ((near, NEAR), (around, AROUND)):
            for sql in statements:
                assert planned(server, sql) <= allowed, sql
                assert partitions(server, sql) <= allowed, sql


@pytest.mark.postgres
def test_labels_in_the_prediction_table_are_looked_for_within_the_same_bounds(database: Database) -> None:
    own = replace(LABELS, table=None, columns=(("label", "late"), ("reported_at", "logged_at")))
    source, seen = recorded(database)

    cycle_and_audit(source, replace(MODEL, labels=own))
    source.close()

    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        for sql in read_of(seen):
            assert planned(server, sql) <= NEAR, sql


@pytest.mark.postgres
def test_the_look_at_the_types_touches_no_partition(database: Database) -> None:
    source, seen = recorded(database)

    source.list_columns(MODEL)
    source.close()

    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        assert len(read_of(seen)) > 1
        assert set().union(*(planned(server, sql) for sql in read_of(seen))) == set()


@pytest.mark.postgres
def test_rows_without_an_event_time_are_looked_for_in_the_default_partition(database: Database) -> None:
    source, seen = recorded(database)

    found = source.count_incomplete_rows(MODEL, as_of=START + DAYS * DAY, bounds=(START, START + DAYS * DAY))
    source.close()
    last = read_of(seen)[-1]

    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        assert planned(server, last) == partitions(server, last) == {"p99"}
    assert found["rows_without_time"] > 0


@pytest.mark.postgres
def test_what_check_reads_has_a_bound_of_time_or_of_rows(database: Database) -> None:
    source, seen = recorded(database)

    found = inspect_model(MODEL, source, Path(), AS_OF)
    source.close()

    assert not found.faults
    with psycopg.connect(database.url.replace("+psycopg", "")) as server:
        unbounded = [sql for sql in read_of(seen) if not planned(server, sql) <= NEAR]
    assert all(" LIMIT " in sql for sql in unbounded)
