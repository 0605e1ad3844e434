"""Times as tables hold them: text in several formats, epochs, timestamps; and rows of a range by each."""

from dataclasses import replace
from typing import Any

import pytest
from flight_models import COLUMNS, PREDICTIONS, READING, START, iso, model_of, rows_of
from source_databases import Database, whole

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, to_datetime
from monitor.core.errors import SourceError
from monitor.records.parsed_times import parse_times
from monitor.records.reading import ReadingOptions
from monitor.specs.model_spec import Relation

N = 600  # minutes
RANGE = (START + HOUR, START + 3 * HOUR)
TEXTS = {
    "zulu": "%Y-%m-%dT%H:%M:%SZ",
    "space": "%Y-%m-%d %H:%M:%S",
    "fraction": "%Y-%m-%d %H:%M:%S.%fZ",
    "minutes": "%Y-%m-%dT%H:%M",
    "pandas": "%Y-%m-%d %H:%M:%S+00:00",
}


def instants(table: Any, reading: ReadingOptions) -> list[int]:
    """Event times of the rows that lie in the range, in order."""
    times = parse_times(
        table["event_time"], name="event_time", zone=reading.zone, unit=reading.unit_of("event_time")
    )
    return sorted(us for us in times.us.tolist() if RANGE[0] <= us < RANGE[1])


EXPECTED = [RANGE[0] + at * MINUTE for at in range(120)]


@pytest.mark.parametrize("form", TEXTS)
def test_text_times_of_any_iso_format_are_found(database: Database, form: str) -> None:
    times = [iso(START + at * MINUTE, TEXTS[form]) for at in range(N)]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(), [RANGE])

    assert instants(table, READING) == EXPECTED
    assert table.num_rows == 120


def test_text_times_with_offsets_are_found(database: Database) -> None:
    times = [to_datetime(START + at * MINUTE).isoformat().replace("+00:00", "-05:00") for at in range(N)]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(), [(RANGE[0] + 5 * HOUR, RANGE[1] + 5 * HOUR)])

    ids = set(map(int, table["id"].cast("string").to_pylist()))
    assert set(range(60, 180)) <= ids


def test_zoned_text_is_not_moved_by_the_zone_of_naive_times(database: Database) -> None:
    reading = replace(READING, zone="America/New_York")
    database.create("predictions", COLUMNS, rows_of(N))

    table = database.source().read_records(model_of(reading=reading), [RANGE])

    assert instants(table, reading) == EXPECTED


def test_naive_text_of_a_zone_is_found(database: Database) -> None:
    reading = replace(READING, zone="America/New_York")
    times = [iso(START + at * MINUTE - 5 * HOUR, "%Y-%m-%d %H:%M:%S") for at in range(N)]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(reading=reading), [RANGE])

    assert instants(table, reading) == EXPECTED
    assert table.num_rows == 120


@pytest.mark.parametrize(("unit", "factor"), [("s", SECOND), ("ms", 1_000), ("us", 1)])
def test_epochs_are_found_by_their_unit(database: Database, unit: str, factor: int) -> None:
    reading = replace(READING, time_units=(("event_time", unit),))
    times = [(START + at * MINUTE) // factor for at in range(N)]
    database.create("predictions", COLUMNS | {"event_time": "bigint"}, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(reading=reading), [RANGE])

    assert instants(table, reading) == EXPECTED


def test_epochs_in_a_column_of_text_are_found(database: Database) -> None:
    reading = replace(READING, time_units=(("event_time", "s"),))
    times = [str((START + at * MINUTE) // SECOND) for at in range(N - 1)] + ["soon"]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(reading=reading), [RANGE])

    assert instants(table, reading) == EXPECTED


def test_integers_without_a_unit_are_refused(database: Database) -> None:
    times = [(START + at * MINUTE) // SECOND for at in range(10)]
    database.create("predictions", COLUMNS | {"event_time": "bigint"}, rows_of(10, event_time=times))

    with pytest.raises(SourceError, match=r'"event_time" \(event_time\) holds integers: say their unit'):
        database.source().read_records(model_of(), [RANGE])


def test_times_that_are_not_understood_are_left_to_the_parser(database: Database) -> None:
    times = [iso(START + at * MINUTE, "%d.%m.%Y %H:%M") for at in range(N)]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(), [RANGE])

    assert table.num_rows == N
    assert parse_times(table["event_time"], name="event_time", zone="UTC", unit=None).invalid == N


def test_a_mixture_of_both_separators_is_read_whole(database: Database) -> None:
    times = [iso(START + at * MINUTE, ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")[at % 2]) for at in range(N)]
    database.create("predictions", COLUMNS, rows_of(N, event_time=times))

    table = database.source().read_records(model_of(), [RANGE])

    assert sorted(map(int, table["id"].cast("string").to_pylist())) == list(range(60, 180))
    with pytest.raises(SourceError, match="mixes formats"):
        instants(table, READING)


def test_bytes_that_are_no_text_and_blobs_are_no_times_and_stop_nothing(sqlite_database: Database) -> None:
    times = [iso(START + at * MINUTE, TEXTS["space"]) for at in range(N)]
    sqlite_database.create("predictions", COLUMNS, rows_of(N, event_time=times))
    odd = ["CAST(x'ff' AS TEXT)", "CAST(event_time || x'ff' AS TEXT)", "CAST(event_time AS BLOB)"]
    sqlite_database.run(
        *(f"UPDATE predictions SET event_time = {sql} WHERE id = {60 + at}" for at, sql in enumerate(odd))
    )
    source, week = sqlite_database.source(), (START, START + 7 * DAY)

    table = source.read_records(model_of(), [RANGE])
    all_rows = whole(source.read_changed_records(model_of(), since=None, as_of=START + DAY, bounds=week))

    assert instants(table, READING) == EXPECTED[3:]
    parsed = parse_times(all_rows["event_time"], name="event_time", zone="UTC", unit=None)
    assert (parsed.invalid, int(parsed.known.sum())) == (3, N - 3)


def test_a_column_without_any_time_has_no_rows(database: Database) -> None:
    database.create("predictions", COLUMNS, rows_of(10, event_time=[None] * 10))

    assert database.source().read_records(model_of(), [RANGE]).num_rows == 0


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_timestamps_of_postgresql_are_found_and_infinite_ones_never(
    postgres_database: Database, kind: str
) -> None:
    zone = "UTC" if kind == "timestamptz" else "America/New_York"
    reading = replace(READING, zone=zone)
    shift = 0 if zone == "UTC" else 5 * HOUR
    form = "%Y-%m-%d %H:%M:%S+00" if kind == "timestamptz" else "%Y-%m-%d %H:%M:%S"
    times: list[Any] = [iso(START + at * MINUTE - shift, form) for at in range(N)]
    times[:4] = ["infinity", "-infinity", None, "0044-03-15 BC"]
    columns = COLUMNS | {"event_time": kind, "logged_at": kind}
    logged = [*times[:4], "infinity", "-infinity", *times[6:70], "-infinity", "infinity", *times[72:]]
    postgres_database.create("predictions", columns, rows_of(N, event_time=times, logged_at=logged))
    source = postgres_database.source()

    table = source.read_records(model_of(reading=reading), [RANGE])
    everything = whole(
        source.read_changed_records(model_of(reading=reading), since=None, as_of=0, bounds=(-(2**61), 2**61))
    )

    assert instants(table, reading) == EXPECTED
    assert table.num_rows == 120
    parsed = parse_times(table["logged_at"], name="logged_at", zone=zone, unit=None)
    assert {int(us) // (1000 * 365 * DAY) for us in (parsed.us.min(), parsed.us.max())} == {-2, 8}
    assert everything.num_rows == N - 4


def test_dates_are_midnights(postgres_database: Database) -> None:
    times = [iso(START + at * DAY, "%Y-%m-%d") for at in range(10)]
    postgres_database.create("predictions", COLUMNS | {"event_time": "date"}, rows_of(10, event_time=times))

    table = postgres_database.source().read_records(model_of(), [(START + DAY, START + 3 * DAY)])

    assert table["id"].cast("string").to_pylist() == ["1", "2"]


def test_schemas_are_split_off_at_dots(postgres_database: Database) -> None:
    postgres_database.run('CREATE SCHEMA "Serving"')
    postgres_database.create('"Serving"."Log"', COLUMNS, rows_of(N))
    relation = Relation(table="Serving.Log", columns=PREDICTIONS.columns)

    assert postgres_database.source().read_records(model_of(predictions=relation), [RANGE]).num_rows == 120
    with pytest.raises(SourceError, match=r'no table or view "Serving.Lag"; did you mean "Serving.Log"'):
        postgres_database.source().read_records(
            model_of(predictions=replace(relation, table="Serving.Lag")), [RANGE]
        )


def test_an_attached_name_of_sqlite_may_bear_its_schema(sqlite_database: Database) -> None:
    sqlite_database.create("predictions", COLUMNS, rows_of(N))
    relation = Relation(table="main.predictions", columns=PREDICTIONS.columns)

    assert sqlite_database.source().read_records(model_of(predictions=relation), [RANGE]).num_rows == 120
