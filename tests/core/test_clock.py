"""Durations and times, against datetime."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core import clock
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "us"),
    [("90s", 90 * SECOND), ("15m", 15 * MINUTE), ("1h", HOUR), (" 60d ", 60 * DAY), ("2w", 14 * DAY)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, us: int) -> None:
    assert clock.parse_duration(text) == us


@pytest.mark.parametrize("text", ["", "h", "1", "1.5h", "-1h", "1 h", "1H", "1y"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=f'got "{text}"'):
        clock.parse_duration(text)


@given(st.integers(0, 10**6))
def test_a_duration_of_whole_seconds_comes_back(seconds: int) -> None:
    assert clock.parse_duration(clock.format_duration(seconds * SECOND)) == seconds * SECOND


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_comes_back(moment: datetime) -> None:
    us = clock.from_iso(moment.isoformat())

    assert EPOCH + timedelta(microseconds=us) == moment == clock.to_datetime(us)
    assert clock.from_iso(clock.to_iso(us)) == us


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (500_000, "1970-01-01T00:00:00.500000Z"),
        (-SECOND, "1969-12-31T23:59:59Z"),
    ],
)
def test_times_are_written_in_utc(us: int, text: str) -> None:
    assert clock.to_iso(us) == text


@pytest.mark.parametrize("text", ["2013-03-01", "2013-03-01T00:00", "2013-03-01T01:00:00+01:00"])
def test_a_time_without_a_zone_is_utc(text: str) -> None:
    assert clock.to_iso(clock.from_iso(text)) == "2013-03-01T00:00:00Z"


@given(st.integers(-(10**17), 10**17), st.sampled_from([MINUTE, HOUR, DAY, 7]))
def test_a_floor_is_the_largest_multiple_not_above(us: int, width: int) -> None:
    floor = clock.floor_to(us, width)

    assert floor % width == 0
    assert floor <= us < floor + width
