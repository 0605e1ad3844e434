"""Which rows changed: none that qualifies is lost, on any engine, with and without the columns that tell."""

from dataclasses import replace

import pyarrow as pa
import pytest
from flight_models import (
    COLUMNS,
    LABEL_COLUMNS,
    LABELS,
    PREDICTIONS,
    READING,
    START,
    iso,
    model_of,
    rows_of,
)
from source_databases import Database, whole

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.records.parsed_times import parse_times
from monitor.specs.model_spec import Relation

BOUNDS = (START, START + 30 * DAY)


def event_minutes(table: pa.Table) -> list[int]:
    """Event times as minutes from the start, in order; what is no time is left out."""
    times = parse_times(table["event_time"], name="event_time", zone="UTC", unit=None)
    return sorted(int(us - START) // MINUTE for us in times.us[times.known])


def without(relation: Relation, role: str) -> Relation:
    """A relation without the column of a role."""
    return replace(relation, columns=tuple(column for column in relation.columns if column[0] != role))


@pytest.mark.parametrize("indexed", [True, False])
def test_rows_logged_since_then_are_found_whatever_their_event_time(
    database: Database, *, indexed: bool
) -> None:
    logged = [iso(START + at * HOUR) for at in range(100)]
    database.create("predictions", COLUMNS, rows_of(100, logged_at=logged))
    if indexed:
        database.run(
            "CREATE INDEX i ON predictions (logged_at)", "CREATE INDEX j ON predictions (event_time)"
        )

    table = whole(
        database.source().read_changed_records(
            model_of(), since=START + 90 * HOUR, as_of=START + 95 * HOUR, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [90, 91, 92, 93, 94, 95]
    assert table.column_names == ["event_time", "logged_at"]


def test_rows_without_logged_at_are_dated_by_their_event_time(database: Database) -> None:
    logged = [None if at % 2 else iso(START) for at in range(10)]
    database.create("predictions", COLUMNS, rows_of(10, logged_at=logged))

    table = whole(
        database.source().read_changed_records(
            model_of(), since=START + 5 * MINUTE, as_of=START + DAY, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [5, 7, 9]


def test_event_times_out_of_bounds_are_not_looked_at(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))

    table = whole(
        database.source().read_changed_records(
            model_of(), since=START, as_of=START + DAY, bounds=(START + 10 * MINUTE, START + 20 * MINUTE)
        )
    )

    assert event_minutes(table) == list(range(10, 20))


def test_at_first_all_rows_within_bounds_have_changed(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))

    table = whole(database.source().read_changed_records(model_of(), since=None, as_of=START, bounds=BOUNDS))

    assert event_minutes(table) == list(range(100))


def test_without_a_column_of_it_all_rows_within_bounds_have_changed(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(100))
    model = model_of(predictions=without(PREDICTIONS, "logged_at"))

    table = whole(
        database.source().read_changed_records(
            model, since=START + DAY, as_of=START + DAY, bounds=(START + HOUR, START + 2 * HOUR)
        )
    )

    assert event_minutes(table) == list(range(60, 100))
    assert table.column_names == ["event_time"]


def test_event_times_that_are_none_are_found_in_a_first_read(database: Database) -> None:
    times = ["soon" if at == 3 else iso(START + at * MINUTE) for at in range(10)]
    database.create("predictions", COLUMNS, rows_of(10, event_time=times))

    table = whole(
        database.source().read_changed_records(model_of(), since=None, as_of=START + DAY, bounds=BOUNDS)
    )

    assert parse_times(table["event_time"], name="event_time", zone="UTC", unit=None).invalid == 1
    assert event_minutes(table) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_no_value_of_logged_at_at_all_is_no_fault(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10, logged_at=[None] * 10))

    table = whole(
        database.source().read_changed_records(
            model_of(), since=START + 5 * MINUTE, as_of=START + DAY, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [5, 6, 7, 8, 9]


def test_an_empty_table_has_no_changes(database: Database) -> None:
    database.create("predictions", COLUMNS)
    database.create("labels", LABEL_COLUMNS)
    source = database.source()

    records = whole(source.read_changed_records(model_of(), since=START, as_of=START + DAY, bounds=BOUNDS))
    labels = whole(source.read_changed_labels(model_of(), since=START, as_of=START + DAY, bounds=BOUNDS))

    assert (records.num_rows, labels.num_rows) == (0, 0)
    assert records.column_names == ["event_time", "logged_at"]
    assert labels.column_names == ["event_time", "logged_at", "reported_at", "label"]


def test_labels_reported_since_then_are_found_with_the_event_times_of_their_predictions(
    database: Database,
) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS, [(at, 1, iso(START + at * DAY), 0) for at in range(12)])

    table = whole(
        database.source().read_changed_labels(
            model_of(), since=START + 7 * DAY, as_of=START + 20 * DAY, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [7, 8, 9]
    assert table.column_names == ["event_time", "logged_at", "reported_at", "label"]


def test_labels_without_reported_at_are_dated_by_the_event_time(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS, [(at, 1, None if at % 2 else iso(START), 0) for at in range(10)])

    table = whole(
        database.source().read_changed_labels(
            model_of(), since=START + 4 * MINUTE, as_of=START + DAY, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [5, 7, 9]


def test_without_a_column_of_reports_all_labelled_predictions_within_bounds_have_changed(
    database: Database,
) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    database.create("labels", LABEL_COLUMNS, [(at, 1, None, 0) for at in range(3)])

    table = whole(
        database.source().read_changed_labels(
            model_of(labels=without(LABELS, "reported_at")),
            since=START + DAY,
            as_of=START + DAY,
            bounds=BOUNDS,
        )
    )

    assert event_minutes(table) == [0, 1, 2]


@pytest.mark.parametrize("since", [None, START])
def test_labels_in_the_prediction_table_have_changed_where_there_are_any(
    database: Database, since: int | None
) -> None:
    rows = [
        (*row, *label)
        for row, label in zip(
            rows_of(4),
            [(1, iso(START + HOUR)), (None, None), (None, iso(START + HOUR)), (0, None)],
            strict=True,
        )
    ]
    database.create("predictions", COLUMNS | {"was_late": "bigint", "reported_at": "text"}, rows)
    labels = Relation(columns=(("label", "was_late"), ("reported_at", "reported_at")))

    table = whole(
        database.source().read_changed_labels(
            model_of(labels=labels), since=since, as_of=START + DAY, bounds=BOUNDS
        )
    )

    assert event_minutes(table) == [0, 2, 3]


def test_rows_are_found_within_bounds_of_their_event_time(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    source = database.source()

    def there(first: int, last: int, as_of: int = START + DAY) -> bool:
        return source.has_records(model_of(), as_of=as_of, bounds=(first, last))

    assert there(START - DAY, START + MINUTE)
    assert not there(START - DAY, START - MINUTE)
    assert not there(START + HOUR, START + DAY)
    assert not there(START - DAY, START + MINUTE, as_of=START - HOUR)


def test_labels_without_predictions_are_counted_by_the_time_of_their_report(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10))
    reports = [(8, 0), (9, 1), (10, 2), (11, 3), (12, 40)]
    database.create(
        "labels",
        LABEL_COLUMNS,
        [*((at, 1, iso(START + days * DAY), 0) for at, days in reports), (13, 1, None, 0)],
    )
    source = database.source()

    assert source.count_orphans(model_of(), BOUNDS) == 2
    assert source.count_orphans(model_of(), (START + 2 * DAY + 1, START + 50 * DAY)) == 2
    assert source.count_orphans(model_of(labels=without(LABELS, "reported_at")), BOUNDS) is None
    assert source.count_orphans(model_of(labels=Relation(columns=(("label", "late"),))), BOUNDS) == 0
    assert source.count_orphans(model_of(labels=None), BOUNDS) == 0


def test_a_label_is_an_orphan_as_long_as_its_prediction_is_not_logged(database: Database) -> None:
    logged = [iso(START + days * DAY) for days in (0, 0, 0, 5, 0)]
    database.create("predictions", COLUMNS, rows_of(5, logged_at=logged))
    reports = [(at, 1, iso(START + DAY), 0) for at in range(5)]
    database.create("labels", LABEL_COLUMNS, reports)
    source = database.source()

    assert source.count_orphans(model_of(), (START, START + 2 * DAY)) == 1
    assert source.count_orphans(model_of(), (START, START + 6 * DAY)) == 0


def test_epochs_that_are_texts_are_found_in_a_first_read(sqlite_database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"),))
    times = ["soon" if at == 150 else (START + at * MINUTE) // 1_000_000 for at in range(200)]
    sqlite_database.create("predictions", COLUMNS | {"event_time": "integer"}, rows_of(200, event_time=times))

    table = whole(
        sqlite_database.source().read_changed_records(
            model_of(reading=reading), since=None, as_of=START + DAY, bounds=BOUNDS
        )
    )

    parsed = parse_times(table["event_time"], name="event_time", zone="UTC", unit="s")
    assert (parsed.invalid, int(parsed.known.sum())) == (1, 199)


def test_rows_without_id_or_time_are_counted_within_bounds(database: Database) -> None:
    rows = [
        (None, 0, 0),  # no id
        (None, 1, 40),  # no id, but logged later
        (None, 31, 31),  # no id, out of bounds
        (3, None, 1),  # no time
        (None, None, None),  # nothing at all
        (5, None, 40),  # no time, logged later
        (6, 2, 2),
    ]
    times = [[None if day is None else iso(START + day * DAY) for day in row[1:]] for row in rows]
    filled = rows_of(len(rows), event_time=[one for one, _ in times], logged_at=[two for _, two in times])
    database.create(
        "predictions", COLUMNS, [(one[0], *row[1:]) for one, row in zip(rows, filled, strict=True)]
    )
    source, as_of = database.source(), START + 30 * DAY
    undated = model_of(predictions=without(PREDICTIONS, "logged_at"))

    dated = source.count_incomplete_rows(model_of(), as_of=as_of, bounds=BOUNDS)

    assert dated == {"rows_without_id": 1, "rows_without_time": 2}
    assert source.count_incomplete_rows(undated, as_of=as_of, bounds=BOUNDS) == {
        "rows_without_id": 2,
        "rows_without_time": 3,
    }


@pytest.mark.parametrize("versioned", [False, True])
def test_ids_in_more_than_one_pane_are_counted(database: Database, *, versioned: bool) -> None:
    rows = [
        ("a", "1", 0, 0), ("a", "1", 59, 0),  # the same pane
        ("b", "1", 59, 0), ("b", "1", 60, 0),
        ("c", "1", 0, 0), ("c", "2", 90, 0),  # another version
        ("d", "1", 0, 0), ("d", "1", 0, 0), ("d", "1", 600, 0),
        ("e", "1", 0, 0), ("e", "1", 90, 10_000),  # not yet visible
        (None, "1", 0, 0), (None, "1", 90, 0),
        ("f", "1", 0, 0), ("f", "1", None, 0),
    ]  # fmt: skip
    moments = [
        (key, version, None if at is None else iso(START + at * MINUTE), iso(START + logged * MINUTE))
        for key, version, at, logged in rows
    ]
    database.create(
        "predictions", {"id": "text", "version": "text", "event_time": "text", "logged_at": "text"}, moments
    )
    columns = tuple((name, name) for name in ("id", "event_time", "logged_at"))
    columns = (*columns, ("version", "version")) if versioned else columns
    model = model_of(
        reading=replace(READING, versioned=versioned),
        predictions=Relation(table="predictions", columns=columns),
    )

    found = database.source().count_repeated_ids(model, as_of=START + DAY, bounds=BOUNDS)

    assert found == (2 if versioned else 3)
