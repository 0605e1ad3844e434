"""Naive times of a zone on each engine: the first of two instants, the hour that does not exist, counted."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from flight_models import COLUMNS, READING, counting_of, model_of, rows_of
from source_databases import Database

from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.records.count_records import count_records
from monitor.records.counting import VOLUME
from monitor.records.parsed_times import parse_times
from monitor.states.strata import WHOLE

KINDS = ["text", "timestamp"]  # SQLite has no type of times: what it stores is text
ZONES = {
    # zone, day, (time on the clock, instant, ambiguous or non-existent)
    "spring": ("America/New_York", "2013-03-10", [
        ("01:59:59", "2013-03-10T06:59:59", False),
        ("02:00:00", "2013-03-10T07:00:00", True),
        ("02:30:00", "2013-03-10T07:00:00", True),
        ("03:00:00", "2013-03-10T07:00:00", False),
        ("03:30:00", "2013-03-10T07:30:00", False),
    ]),
    "autumn": ("America/New_York", "2013-11-03", [
        ("00:59:59", "2013-11-03T04:59:59", False),
        ("01:00:00", "2013-11-03T05:00:00", True),
        ("01:30:00", "2013-11-03T05:30:00", True),
        ("02:00:00", "2013-11-03T07:00:00", False),
    ]),
    "vienna": ("Europe/Vienna", "2013-10-27", [
        ("01:59:00", "2013-10-26T23:59:00", False),
        ("02:15:00", "2013-10-27T00:15:00", True),
        ("03:00:00", "2013-10-27T02:00:00", False),
    ]),
}  # fmt: skip


def fill(database: Database, kind: str, naive: list[str]) -> None:
    columns = COLUMNS | {"event_time": kind, "logged_at": kind}
    database.create("predictions", columns, rows_of(len(naive), event_time=naive, logged_at=naive))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ZONES)
def test_times_around_a_change_of_clocks_are_those_of_their_zone(
    database: Database, kind: str, change: str
) -> None:
    zone, day, expected = ZONES[change]
    fill(database, kind, [f"{day} {clock}" for clock, _, _ in expected])
    reading = replace(READING, zone=zone, labelled=False)
    start = from_iso(day) - DAY

    table = database.source().read_records(model_of(reading=reading, labels=None), [(start, start + 3 * DAY)])
    times = parse_times(table.sort_by("id")["event_time"], name="event_time", zone=zone, unit=None)

    assert times.us.tolist() == [from_iso(instant) for _, instant, _ in expected]
    assert times.adjusted.tolist() == [odd for _, _, odd in expected]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ZONES)
def test_each_hour_around_a_change_of_clocks_reads_all_of_its_rows(
    database: Database, kind: str, change: str
) -> None:
    zone, day, expected = ZONES[change]
    fill(database, kind, [f"{day} {clock}" for clock, _, _ in expected])
    model = model_of(reading=replace(READING, zone=zone, labelled=False), labels=None)
    source = database.source()
    hours: dict[int, set[str]] = {}
    for at, (_, instant, _) in enumerate(expected):
        hours.setdefault(from_iso(instant) // HOUR * HOUR, set()).add(str(at))

    read = {
        start: set(source.read_records(model, [(start, start + HOUR)])["id"].cast("string").to_pylist()) & ids
        for start, ids in hours.items()
    }

    assert read == hours


@pytest.mark.parametrize("kind", KINDS)
def test_times_moved_by_a_change_of_clocks_are_counted(database: Database, kind: str) -> None:
    zone, day, expected = ZONES["spring"]
    fill(database, kind, [f"{day} {clock}" for clock, _, _ in expected])
    reading = replace(READING, zone=zone, labelled=False)
    start = from_iso(day)

    table = database.source().read_records(model_of(reading=reading, labels=None), [(start, start + DAY)])
    counting = counting_of(reading)
    (part,) = count_records(table, counting, panes=np.array([start + 7 * HOUR]), as_of=start + DAY)
    volume = part.strata[WHOLE].dense_counts()[counting.records_layout.block_slice("volume")]

    assert dict(zip(VOLUME, volume.tolist(), strict=True)) == {
        "records": 4, "duplicates": 0, "stale": 0, "adjusted_times": 2, "no_logged_at": 0
    }  # fmt: skip


def test_an_epoch_knows_no_zone(database: Database) -> None:
    reading = replace(
        READING, zone="America/New_York", time_units=(("event_time", "ms"), ("logged_at", "ms"))
    )
    moments = [int(datetime.fromisoformat(f"2013-03-10T0{h}:30+00:00").timestamp() * 1000) for h in (6, 7)]
    columns = COLUMNS | {"event_time": "bigint", "logged_at": "bigint"}
    database.create("predictions", columns, rows_of(2, event_time=moments, logged_at=moments))
    start = from_iso("2013-03-10T07:00")

    table = database.source().read_records(model_of(reading=reading, labels=None), [(start, start + HOUR)])

    times = parse_times(table["event_time"], name="event_time", zone=reading.zone, unit="ms")
    assert [us for us in times.us.tolist() if us >= start] == [start + 30 * MINUTE]
    assert not times.adjusted.any()
