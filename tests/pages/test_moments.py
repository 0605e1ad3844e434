import pytest

from monitor.core.clock import DAY, HOUR, from_iso
from monitor.pages.period_words import period_words, time_axis
from monitor.sentences.time_words import local_moment_words
from monitor.windows.window_ends import parse_window


@pytest.mark.parametrize(
    ("window", "end", "name"),
    [
        ("month", "2013-12-01", "November 2013"),
        ("quarter", "2014-01-01", "Q4 2013"),
        ("7d", "2013-12-19", "12 – 18 Dec 2013"),
        ("7d", "2013-12-03", "26 Nov – 2 Dec 2013"),
        ("7d", "2014-01-03", "27 Dec 2013 – 2 Jan 2014"),
        ("1d", "2013-12-19", "18 Dec 2013"),
        ("6h", "2013-12-19T12:00", "19 Dec 2013 06:00 – 12:00"),
    ],
)
def test_a_window_is_called_by_its_period(window: str, end: str, name: str) -> None:
    assert period_words(parse_window(window, HOUR), from_iso(end)) == name


def test_a_month_is_called_by_that_of_its_zone() -> None:
    window = parse_window("month", HOUR, zone="America/New_York")
    end = window.newest_end(from_iso("2013-12-15"))

    assert (end, period_words(window, end)) == (from_iso("2013-12-01T05:00"), "November 2013")
    assert local_moment_words(end, "America/New_York") == "1 Dec 2013"


@pytest.mark.parametrize(
    ("start", "days", "labels"),
    [
        ("2013-03-01", 306, ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "2014"]),
        ("2013-11-15", 40, ["18 Nov", "25 Nov", "2 Dec", "9 Dec", "16 Dec", "23 Dec"]),
        ("2013-11-15", 3, ["15 Nov", "16 Nov", "17 Nov", "18 Nov"]),
        ("2010-06-01", 1500, ["2011", "2012", "2013", "2014"]),
    ],
)
def test_time_has_ticks_at_units_of_the_zone(start: str, days: int, labels: list[str]) -> None:
    axis = time_axis(from_iso(start), from_iso(start) + days * DAY)

    assert [tick.label for tick in axis.ticks] == labels


def test_ticks_of_a_zone_stand_at_its_midnights_across_a_change_of_the_clocks() -> None:
    axis = time_axis(from_iso("2013-03-05"), from_iso("2013-03-15"), "America/New_York")

    assert {int(tick.at) % DAY for tick in axis.ticks} == {5 * HOUR, 4 * HOUR}
    assert [tick.label for tick in axis.ticks][4:6] == ["9 Mar", "10 Mar"]


@pytest.mark.parametrize("days", [1, 2, 13, 81, 371, 1_101, 9_000])
def test_an_axis_of_time_has_few_ticks(days: int) -> None:
    axis = time_axis(from_iso("2001-02-03"), from_iso("2001-02-03") + days * DAY)

    assert 1 <= len(axis.ticks) <= 12
