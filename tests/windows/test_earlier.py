"""Which earlier spans a window is compared with."""

import pytest

from monitor.core.clock import DAY, HOUR, from_iso, to_iso
from monitor.windows.window_ends import (
    WEEK,
    comparison_reach,
    count_earlier_periods,
    count_earlier_spans,
    earlier_spans,
    parse_window,
)


def spans(name: str, end: str, against: str, zone: str = "UTC", pane: int = HOUR) -> list[tuple[str, str]]:
    window = parse_window(name, pane, zone=zone)
    found = earlier_spans(window, from_iso(end), against, pane)
    return [(to_iso(start), to_iso(until)) for start, until in found]


@pytest.mark.parametrize(
    ("name", "end", "start", "until"),
    [
        ("7d", "2024-03-15T06:00Z", "2024-03-01T06:00:00Z", "2024-03-08T06:00:00Z"),
        ("month", "2024-04-01", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
        ("month", "2024-03-01", "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"),
        ("quarter", "2024-04-01", "2023-10-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ],
)
def test_the_previous_window_ends_where_the_window_starts(
    name: str, end: str, start: str, until: str
) -> None:
    assert spans(name, end, "previous") == [(start, until)]


def test_the_previous_month_is_that_of_the_zone() -> None:
    found = spans("month", "2024-03-31T22:00Z", "previous", "Europe/Vienna")

    assert found == [("2024-01-31T23:00:00Z", "2024-02-29T23:00:00Z")]


def test_a_trailing_span_holds_the_same_weekdays_of_its_weeks() -> None:
    assert spans("1d", "2024-03-30", "28d") == [
        (f"{start}T00:00:00Z", f"{end}T00:00:00Z")
        for start, end in (
            ("2024-03-22", "2024-03-23"),
            ("2024-03-15", "2024-03-16"),
            ("2024-03-08", "2024-03-09"),
            ("2024-03-01", "2024-03-02"),
        )
    ]


def test_spans_do_not_overlap_the_window_or_one_another() -> None:
    for name, against, count in (("7d", "28d", 4), ("8d", "28d", 2), ("30d", "28d", 0), ("30d", "70d", 2)):
        window = parse_window(name, HOUR)
        end = from_iso("2024-06-01")
        found = earlier_spans(window, end, against, HOUR)

        assert len(found) == count == count_earlier_spans(name, against)
        starts = [window.start_of(end), *(start for start, _ in found)]
        assert all(until <= start for (_, until), start in zip(found, starts, strict=False))
        assert all(start >= window.start_of(end) - comparison_reach(window, against) for start, _ in found)


def test_clocks_that_change_keep_the_local_hours_and_the_panes() -> None:
    local = spans("1d", "2024-04-02T22:00Z", "7d", "Europe/Vienna")
    wide = spans("1d", "2024-04-02T12:00Z", "7d", "Europe/Vienna", pane=12 * HOUR)

    assert local == [("2024-03-25T23:00:00Z", "2024-03-26T23:00:00Z")]
    assert wide == [("2024-03-25T12:00:00Z", "2024-03-26T12:00:00Z")]


def test_what_is_loaded_reaches_back_to_the_earliest_span() -> None:
    month = parse_window("month", HOUR)

    assert comparison_reach(month, "previous") == 31 * DAY
    assert comparison_reach(month, "70d") >= 70 * DAY


@pytest.mark.parametrize(
    ("name", "season", "count", "weeks"),
    [("7d", "week", 8, 1), ("7d", "year", 8, 52), ("30d", "week", 3, 5), ("month", "week", 3, 5)],
)
def test_a_season_is_compared_with_earlier_periods_of_whole_weeks_or_years(
    name: str, season: str, count: int, weeks: int
) -> None:
    window, end = parse_window(name, HOUR), from_iso("2024-06-01")

    found = earlier_spans(window, end, season, HOUR)

    assert len(found) == count == count_earlier_periods(name, season)
    start = window.start_of(end)
    assert found == [(start - at * weeks * WEEK, end - at * weeks * WEEK) for at in range(1, count + 1)]
    assert found[-1][0] - DAY <= start - comparison_reach(window, season) <= found[-1][0]
