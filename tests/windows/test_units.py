"""Calendar units in time zones, against pandas; panes that fit them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import DAY, HOUR, MINUTE, from_iso, to_iso
from monitor.windows.window_ends import (
    LONGEST,
    floor_to_unit,
    largest_pane,
    longest_unit_length,
    nominal_length,
    parse_window,
    shift_back_weeks,
)

VIENNA = "Europe/Vienna"
PERIODS = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q"}
ZONES = [VIENNA, "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]
moments = st.integers(from_iso("2001-01-01"), from_iso("2037-01-01"))


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    """What tests before have asked for is made anew."""
    largest_pane.cache_clear()
    longest_unit_length.cache_clear()


def by_pandas(unit: str, zone: str, moment: int) -> int:
    """Start of the unit that holds a moment."""
    local = pd.Timestamp(moment, unit="us", tz="UTC").tz_convert(zone).tz_localize(None)
    return pd.Period(local, PERIODS[unit]).start_time.tz_localize(zone).value // 1_000


@given(st.sampled_from(sorted(LONGEST)), st.sampled_from(ZONES), moments)
def test_the_newest_start_is_the_one_of_pandas_period(unit: str, zone: str, moment: int) -> None:
    assert floor_to_unit(unit, zone, moment) == by_pandas(unit, zone, moment)


@given(st.sampled_from(sorted(LONGEST)), st.sampled_from(ZONES), moments)
def test_calendar_windows_tile_the_time_and_are_made_of_whole_panes(
    unit: str, zone: str, moment: int
) -> None:
    pane = largest_pane(unit, zone)
    window = parse_window(unit, pane, zone=zone)

    end = window.newest_end(moment)
    start = window.start_of(end)

    assert start < end <= moment
    assert window.newest_end(end) == end
    assert window.newest_end(end - 1) == window.previous_end(end) == start
    assert start % pane == end % pane == 0
    assert end - start <= window.length


@pytest.mark.parametrize(
    ("end", "start", "hours"),
    [
        pytest.param("2013-03-31T22:00:00Z", "2013-02-28T23:00:00Z", 31 * 24 - 1, id="summer time begins"),
        pytest.param("2013-10-31T23:00:00Z", "2013-09-30T22:00:00Z", 31 * 24 + 1, id="summer time ends"),
    ],
)
def test_the_months_of_both_clock_changes_in_vienna(end: str, start: str, hours: int) -> None:
    month = parse_window("month", HOUR, zone=VIENNA)

    assert to_iso(month.newest_end(from_iso(end) + 12 * HOUR)) == end
    assert to_iso(month.start_of(from_iso(end))) == start
    assert from_iso(end) - from_iso(start) == hours * HOUR


def test_a_week_is_that_of_iso_8601() -> None:
    end = floor_to_unit("week", VIENNA, from_iso("2013-01-02"))

    assert datetime.fromisoformat(to_iso(end)).astimezone(ZoneInfo(VIENNA)).isocalendar() == (2013, 1, 1)


@pytest.mark.parametrize(
    ("unit", "zone", "pane"),
    [
        ("month", "UTC", DAY),
        ("week", "UTC", DAY),
        ("month", VIENNA, HOUR),
        ("day", "Asia/Tokyo", 3 * HOUR),
        ("month", "Asia/Kolkata", 30 * MINUTE),
        ("quarter", "Asia/Kathmandu", 15 * MINUTE),
        ("week", "Australia/Lord_Howe", 30 * MINUTE),
    ],
)
def test_the_largest_pane_divides_every_start(unit: str, zone: str, pane: int) -> None:
    assert largest_pane(unit, zone) == pane
    with pytest.raises(ValueError, match="the pane must divide every end in"):
        parse_window(unit, 2 * pane, zone=zone)


def test_a_unit_that_holds_the_end_of_summer_time_has_an_hour_more() -> None:
    assert longest_unit_length("week", VIENNA) == 7 * DAY + HOUR
    assert longest_unit_length("month", "UTC") == nominal_length("month") == 31 * DAY
    assert nominal_length("7d") == 7 * DAY


def test_a_day_without_midnight_begins_when_the_clocks_have_changed() -> None:
    assert to_iso(floor_to_unit("day", "America/Sao_Paulo", from_iso("2018-11-04T12:00:00Z"))) == (
        "2018-11-04T03:00:00Z"
    )


def test_a_month_whose_first_midnight_comes_twice_begins_at_the_first() -> None:
    """In St John's the clocks of 2009-11-01 went back at 00:01, to the day before."""
    first = from_iso("2009-11-01T02:30:00Z")

    for minutes in (0, 1, 2, 30, 61, 62):
        assert floor_to_unit("month", "America/St_Johns", first + minutes * MINUTE) == first


def test_a_day_that_a_zone_left_out_is_none() -> None:
    """Samoa went from the 29th to the 31st of December 2011."""
    day = parse_window("day", HOUR, zone="Pacific/Apia")

    end = day.newest_end(from_iso("2011-12-30T12:00:00Z"))

    assert to_iso(end) == "2011-12-30T10:00:00Z"
    assert to_iso(day.start_of(end)) == "2011-12-29T10:00:00Z"


@given(moments, st.integers(1, 8))
def test_weeks_before_the_local_clock_shows_the_same(moment: int, weeks: int) -> None:
    earlier = datetime.fromtimestamp(shift_back_weeks(moment, weeks, VIENNA) / 1e6, UTC)
    local = pd.Timestamp(moment // 1_000_000, unit="s", tz=VIENNA)
    expected = (local.tz_localize(None) - pd.Timedelta(weeks=weeks)).tz_localize(
        VIENNA, ambiguous=True, nonexistent=pd.Timedelta(hours=1)
    )

    assert int(earlier.timestamp()) == expected.timestamp()


@pytest.mark.parametrize(
    ("name", "back", "days"), [("1h", 1, 7), ("7d", 4, 28), ("8d", 1, 14), ("30d", 2, 70), ("week", 1, 7)]
)
def test_earlier_hours_lie_whole_weeks_back_and_do_not_overlap(name: str, back: int, days: int) -> None:
    window = parse_window(name, HOUR)
    end = window.newest_end(from_iso("2013-06-12"))

    assert window.earlier_span(end, back) == (window.start_of(end) - days * DAY, end - days * DAY)
    assert window.earlier_span(end, 1)[1] <= window.start_of(end)


def test_earlier_hours_are_those_of_the_local_clock() -> None:
    window = parse_window("1h", HOUR, zone=VIENNA)

    start, end = window.earlier_span(from_iso("2013-04-02T08:00:00Z"), 1)  # 9 to 10 in summer time

    assert (to_iso(start), to_iso(end)) == ("2013-03-26T08:00:00Z", "2013-03-26T09:00:00Z")
