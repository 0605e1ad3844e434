"""Ends of windows, against the calendar."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import DAY, HOUR, MINUTE, from_iso, to_iso
from monitor.windows.window_ends import Window, parse_window

MONTH = parse_window("month", HOUR)
moments = st.integers(from_iso("1960-01-01"), from_iso("2100-01-01"))
windows = st.sampled_from(
    [
        MONTH,
        parse_window("week", HOUR),
        parse_window("month", HOUR, zone="Europe/Vienna"),
        parse_window("quarter", HOUR, zone="America/New_York"),
        parse_window("1h", HOUR),
        parse_window("1d", HOUR),
        parse_window("7d", HOUR),
        parse_window("30d", HOUR),
        parse_window("30h", HOUR, 5 * HOUR),
        parse_window("30d", HOUR, 36 * HOUR),
        parse_window("28d", HOUR, 7 * DAY),
    ]
)


@pytest.mark.parametrize(
    ("name", "step"), [("1h", HOUR), ("1d", HOUR), ("25h", 6 * HOUR), ("7d", 6 * HOUR), ("8d", DAY)]
)
def test_longer_windows_end_less_often(name: str, step: int) -> None:
    assert parse_window(name, HOUR).step == step


@pytest.mark.parametrize(
    ("pane", "step"), [(15 * MINUTE, HOUR), (45 * MINUTE, 90 * MINUTE), (3 * HOUR, 3 * HOUR)]
)
def test_a_default_step_is_never_finer_than_the_pane(pane: int, step: int) -> None:
    assert parse_window("9h", pane).step == step


def test_ends_fall_on_multiples_of_the_step() -> None:
    window = parse_window("7d", HOUR)

    end = window.newest_end(from_iso("2013-03-31T17:59:59.999999Z"))

    assert to_iso(end) == "2013-03-31T12:00:00Z"
    assert to_iso(window.start_of(end)) == "2013-03-24T12:00:00Z"
    assert to_iso(window.previous_end(end)) == "2013-03-31T06:00:00Z"


def test_a_moment_on_an_end_is_that_end() -> None:
    assert parse_window("1d", HOUR).newest_end(from_iso("2013-03-31T17:00:00Z")) == from_iso(
        "2013-03-31T17:00:00Z"
    )


@pytest.mark.parametrize(
    ("moment", "start", "end"),
    [
        ("2013-03-31T23:59:59Z", "2013-02-01", "2013-03-01"),
        ("2012-03-01T00:00:00Z", "2012-02-01", "2012-03-01"),
        ("2014-01-01T00:00:00Z", "2013-12-01", "2014-01-01"),
        ("1969-12-31T00:00:00Z", "1969-11-01", "1969-12-01"),
    ],
)
def test_a_month_is_the_calendars(moment: str, start: str, end: str) -> None:
    found = MONTH.newest_end(from_iso(moment))

    assert found == from_iso(end)
    assert MONTH.start_of(found) == from_iso(start)
    assert MONTH.previous_end(found) == from_iso(start)


@given(windows, moments)
def test_the_newest_end_is_the_last_one_not_after_the_moment(window: Window, moment: int) -> None:
    end = window.newest_end(moment)

    assert end <= moment < end + (window.step or window.length)
    assert window.newest_end(end) == end
    assert window.newest_end(end - 1) == window.previous_end(end) < end


@given(windows, moments, st.integers(0, 100))
def test_kept_ends_are_the_first_of_each_day_and_every_month(window: Window, until: int, days: int) -> None:
    after = until - days * DAY
    expected, end = [], window.newest_end(until)
    while end > after:
        expected += [end] if window.is_calendar or end % DAY < window.step else []
        end = window.previous_end(end)

    assert window.kept_ends(after, until) == expected


@given(windows, moments)
def test_one_end_a_day_is_kept_or_all_where_there_are_fewer(window: Window, moment: int) -> None:
    day = moment - moment % DAY
    ends = window.kept_ends(day - 1, day + DAY - 1)

    assert len(ends) <= 1
    if not window.is_calendar and window.step <= DAY:
        assert ends == [day + -day % window.step]


def test_the_days_of_a_window_begin_at_midnight_in_utc() -> None:
    window = parse_window("2d", HOUR)

    days = [to_iso(day) for day in window.days_of(from_iso("2024-03-03T06:00"))]

    assert days == ["2024-03-03T00:00:00Z", "2024-03-02T00:00:00Z", "2024-03-01T00:00:00Z"]
    assert window.days_of(from_iso("2024-03-03")) == [from_iso("2024-03-02"), from_iso("2024-03-01")]


def test_the_days_of_a_window_are_those_of_its_zone() -> None:
    """Summer time began on the 31st: from then on midnight in Vienna is 22:00 in UTC."""
    window = parse_window("3d", HOUR, zone="Europe/Vienna")

    days = [to_iso(day) for day in window.days_of(from_iso("2024-04-02T12:00"))]

    assert days == [
        "2024-04-01T22:00:00Z",
        "2024-03-31T22:00:00Z",
        "2024-03-30T23:00:00Z",
        "2024-03-29T23:00:00Z",
    ]


def test_an_end_at_the_last_moment_is_kept() -> None:
    noon = from_iso("2024-03-03T00:00")

    assert parse_window("1d", HOUR).kept_ends(noon - DAY, noon) == [noon]


def test_kept_ends_come_newest_first() -> None:
    ends = MONTH.kept_ends(from_iso("2013-01-01"), from_iso("2013-04-15"))

    assert [to_iso(end)[:10] for end in ends] == ["2013-04-01", "2013-03-01", "2013-02-01"]


@pytest.mark.parametrize("name", ["", "1.5h", "year", "-1d", "7 d"])
def test_a_window_that_is_no_duration_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a duration is a whole number and one of s, m, h, d, w"):
        parse_window(name, HOUR)


@pytest.mark.parametrize(("name", "step"), [("0h", None), ("90m", None), ("2d", 0), ("2d", 90 * MINUTE)])
def test_a_length_or_step_that_panes_do_not_fill_is_refused(name: str, step: int | None) -> None:
    with pytest.raises(ValueError, match="length and step must be multiples of the pane"):
        parse_window(name, HOUR, step)


def test_panes_that_do_not_fill_a_day_fill_no_month() -> None:
    with pytest.raises(ValueError, match='window "month": the pane must divide every end in UTC, as 1d does'):
        parse_window("month", 5 * HOUR)


@given(
    length=st.integers(1, 40 * 24),
    step=st.integers(1, 80),
    since=st.integers(-100, 20_000),
    days=st.integers(1, 200),
)
def test_of_kept_windows_those_that_stand_apart_never_overlap(
    length: int, step: int, since: int, days: int
) -> None:
    window = parse_window(f"{length}h", HOUR, step * HOUR)

    kept = window.kept_ends(since * DAY, (since + days) * DAY)
    apart = [end for end in kept if window.stands_apart(end)]

    assert all(window.start_of(later) >= earlier for later, earlier in pairwise(apart))
    longest = window.length + 2 * max(window.step, DAY)
    assert len(apart) >= days * DAY // longest - 1


def test_calendar_units_and_windows_as_long_as_their_steps_stand_apart() -> None:
    for window in (MONTH, parse_window("1d", HOUR), parse_window("7d", HOUR, 7 * DAY)):
        ends = window.kept_ends(from_iso("2013-01-01"), from_iso("2013-04-15"))

        assert all(window.stands_apart(end) for end in ends)
