"""Changes read in slices of time are those of one statement, on every engine; what a plan says of slices."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flight_models import COLUMNS, LABEL_COLUMNS, PREDICTIONS, READING, START, iso, model_of, rows_of
from source_databases import Database, WatchedReader, ended_by, whole

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, to_datetime
from monitor.core.errors import DatabaseTrouble
from monitor.pipeline.changes import seen_rows
from monitor.pipeline.changes.seen_rows import ChangedRows, SearchSpan
from monitor.records.winning_rows import Batches, parse_dated_rows
from monitor.sources import SqlSource, retries
from monitor.specs.model_spec import ModelSpec, Relation

N = 3_000  # minutes: 50 hours
BOUNDS = (START + HOUR, START + 2 * DAY)
AS_OF = START + 9 * DAY
ODD = [None, "n/a", "03/01/2013 04:00", "2013/03/01 04:00", "2013-02-30", "2013-03-01T07:00:00Q"]
KINDS = {
    "text": "text",
    "with a space": "text",
    "epoch": "bigint",
    "timestamp": "timestamp",
}


def watched(database: Database) -> tuple[SqlSource, WatchedReader]:
    """A source, and what it reads."""
    reader = WatchedReader(database.source().reader)
    return SqlSource(reader), reader


def filled(database: Database, kind: str) -> ModelSpec:
    """A log with rows whose times are none where the type admits any, and labels with corrections."""
    moments = [START + at * MINUTE for at in range(N)]
    form = {"text": "%Y-%m-%dT%H:%M:%SZ"}.get(kind, "%Y-%m-%d %H:%M:%S")
    times: list[Any] = [at // SECOND if kind == "epoch" else iso(at, form) for at in moments]
    odd = ODD if KINDS[kind] == "text" else [None]
    times[1_000 : 1_000 + len(odd)] = odd
    logged: list[Any] = [None if at % 50 == 7 else iso(us + SECOND) for at, us in enumerate(moments)]
    rows = rows_of(N, event_time=times, logged_at=logged)
    database.create("predictions", COLUMNS | {"event_time": KINDS[kind]}, rows)
    labels = [(at, at % 2, iso(START + at * MINUTE + DAY), at % 3) for at in (*range(N), *range(0, N, 7))]
    database.create("labels", LABEL_COLUMNS, labels)
    units = (("event_time", "s"),) if kind == "epoch" else ()
    return model_of(reading=replace(READING, time_units=units))


def index(database: Database) -> None:
    """Indexes on the event time and both ids, and figures for the planner."""
    database.run(
        "CREATE INDEX by_time ON predictions (event_time)",
        "CREATE INDEX by_id ON predictions (id)",
        "CREATE INDEX by_flight ON labels (flight)",
    )
    tables = ("predictions", "labels")
    how = {"sqlite": "ANALYZE", "postgresql": "ANALYZE", "mariadb": "ANALYZE TABLE"}[database.engine]
    if database.engine != "sqlite":
        database.run(*(f"{how} {table}" for table in tables))


def rows_in(batches: Batches) -> Counter[Any]:
    """Every row as often as it was read."""
    table = whole(batches)
    columns = [table[name].cast("string").to_pylist() for name in table.column_names]
    return Counter(zip(*columns, strict=True))


def added_up(batches: Batches, model: ModelSpec, role: str) -> ChangedRows:
    """What a cycle makes of changes."""
    return seen_rows.sum_changed_rows(
        parse_dated_rows(batches, role, model.reading),
        SearchSpan(BOUNDS, None, AS_OF, None),
        model.reading.pane,
    )


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "ROWS", 300)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("kind", KINDS)
def test_slices_hold_each_row_of_one_statement_once(database: Database, kind: str) -> None:
    model = filled(database, kind)
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}
    plain, reader = watched(database)
    records = rows_in(plain.read_changed_records(model, **asked))
    labels = rows_in(plain.read_changed_labels(model, **asked))
    assert len(reader.read) == 2
    index(database)
    sliced, reader = watched(database)

    assert rows_in(sliced.read_changed_records(model, **asked)) == records
    assert len(reader.read) > 6
    assert rows_in(sliced.read_changed_labels(model, **asked)) == labels
    assert len(reader.read) > 12


@pytest.mark.usefixtures("small_slices")
def test_a_cycle_makes_the_same_of_slices(database: Database) -> None:
    model = filled(database, "epoch")
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}
    plain, _ = watched(database)
    records = added_up(plain.read_changed_records(model, **asked), model, "logged_at")
    labels = added_up(plain.read_changed_labels(model, **asked), model, "reported_at")
    index(database)
    sliced, reader = watched(database)

    assert added_up(sliced.read_changed_records(model, **asked), model, "logged_at") == records
    assert added_up(sliced.read_changed_labels(model, **asked), model, "reported_at") == labels
    assert len(reader.read) > 12
    assert records.read > 2_000


@pytest.mark.usefixtures("small_slices")
def test_after_a_long_pause_too_each_row_is_read_once(database: Database) -> None:
    model = filled(database, "text")
    asked: dict[str, Any] = {"since": START + 5 * HOUR, "as_of": AS_OF, "bounds": BOUNDS}
    before = rows_in(watched(database)[0].read_changed_records(model, **asked))
    index(database)
    source, reader = watched(database)

    assert rows_in(source.read_changed_records(model, **asked)) == before
    assert len(reader.read) > 6
    assert sum(before.values()) > 2_000


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("kind", ["text", "epoch"])
def test_after_a_long_pause_slices_are_of_the_time_seen_where_an_index_finds_it(
    database: Database, kind: str
) -> None:
    """Slices of event time would each go through all that was seen since then."""
    model = filled(database, kind)
    asked: dict[str, Any] = {"since": START + 5 * HOUR, "as_of": AS_OF, "bounds": BOUNDS}
    before, _ = watched(database)
    records, labels = before.read_changed_records(model, **asked), before.read_changed_labels(model, **asked)
    expected = rows_in(records), rows_in(labels)
    seen = ("logged_at", "predictions"), ("reported_at", "labels")
    database.run(*(f"CREATE INDEX by_{column} ON {table} ({column})" for column, table in seen))
    index(database)
    source, reader = watched(database)

    records, labels = source.read_changed_records(model, **asked), source.read_changed_labels(model, **asked)

    assert (rows_in(records), rows_in(labels)) == expected
    for column, _ in seen:
        dated = [sql for sql in reader.read if f"{column}" in sql and "IS NOT NULL" in sql]
        assert len({sql.partition("WHERE")[2].partition("IS NOT NULL")[0] for sql in dated}) == len(dated) > 3


@pytest.mark.usefixtures("small_slices")
def test_a_slice_that_is_cancelled_in_the_middle_is_read_again_and_whole(database: Database) -> None:
    model = filled(database, "text")
    index(database)
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}
    before = rows_in(watched(database)[0].read_changed_records(model, **asked))
    troubles = [None, DatabaseTrouble.CONFLICT, None, DatabaseTrouble.TIMEOUT, DatabaseTrouble.CONFLICT]
    reader = WatchedReader(database.source().reader, ended_by(troubles))
    source = SqlSource(reader, sleep=lambda _: None)

    assert rows_in(source.read_changed_records(model, **asked)) == before
    assert not troubles


def test_few_rows_are_one_statement_and_nothing_is_asked_again(database: Database) -> None:
    model = filled(database, "text")
    index(database)
    source, reader = watched(database)
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}
    whole(source.read_changed_records(model, **asked))
    reader.read.clear()

    whole(source.read_changed_records(model, **asked))
    whole(source.read_changed_records(model, since=AS_OF - HOUR, as_of=AS_OF, bounds=BOUNDS))

    assert len(reader.read) == 1 + 2  # those seen since then, and those of whom that is not known


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    ("query", "sliced"),
    [
        ("SELECT * FROM predictions WHERE carrier <> 'XX'", True),
        ("SELECT *, max(late) OVER (ORDER BY carrier) AS most FROM predictions", False),
    ],
    ids=["plain", "no range passes"],
)
def test_a_query_is_sliced_where_the_plan_of_a_slice_says_that_it_pays(
    database: Database, query: str, *, sliced: bool
) -> None:
    model = filled(database, "text")
    index(database)
    source, reader = watched(database)
    queried = Relation(query=query, columns=PREDICTIONS.columns)
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}

    rows = rows_in(source.read_changed_records(replace(model, predictions=queried), **asked))

    assert rows == rows_in(database.source().read_changed_records(model, **asked))
    assert (len(reader.read) > 6) == sliced


@pytest.mark.usefixtures("small_slices")
def test_labels_that_no_index_finds_are_one_statement_of_sqlite(
    sqlite_database: Database, make_database: Callable[[str], Database]
) -> None:
    model = filled(sqlite_database, "text")
    sqlite_database.run("CREATE INDEX by_time ON predictions (event_time)")
    source, reader = watched(sqlite_database)

    whole(source.read_changed_labels(model, since=None, as_of=AS_OF, bounds=BOUNDS))

    assert len(reader.read) == 1


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("offset", ["-05:00", "+05:45"])
def test_texts_with_offsets_are_sliced_too(sqlite_database: Database, offset: str) -> None:
    times = [to_datetime(START + at * MINUTE).isoformat().replace("+00:00", offset) for at in range(N)]
    sqlite_database.create("predictions", COLUMNS, rows_of(N, event_time=times))
    asked: dict[str, Any] = {"since": None, "as_of": AS_OF, "bounds": BOUNDS}
    before = rows_in(watched(sqlite_database)[0].read_changed_records(model_of(), **asked))
    sqlite_database.run("CREATE INDEX by_time ON predictions (event_time)")
    source, reader = watched(sqlite_database)

    assert rows_in(source.read_changed_records(model_of(), **asked)) == before
    assert len(reader.read) > 6
    assert np.sum(list(before.values())) > 2_000
