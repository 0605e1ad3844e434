"""Bounds are widened, never narrowed: no time of a range lies outside of its intervals."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, from_datetime, from_iso, to_datetime
from monitor.sources.sql.time_ranges import (
    ComparableTime,
    TimeShape,
    close_smallest_gaps,
    local_ranges,
    merge_ranges,
    text_intervals,
    text_zones,
)

LO = from_iso("2012-12-30")
MOMENTS = st.integers(LO, LO + 900 * DAY)
RANGES = st.lists(
    st.tuples(MOMENTS, st.integers(1, 3 * DAY)).map(lambda one: (one[0], one[0] + one[1])), min_size=1
)
FORMATS = [
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S.%fZ",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%MZ",
    "%Y-%m-%d",
]
UNITS = {"s": SECOND, "ms": 1_000, "us": 1}


def inside(text: str, column: ComparableTime, ranges: list[tuple[int, int]]) -> int:
    """How many intervals hold a text."""
    return sum(lo.strip("'") <= text < hi.strip("'") for lo, hi in column.interval_literals(ranges))


@given(RANGES, MOMENTS, st.sampled_from(FORMATS))
def test_a_text_of_a_range_lies_in_exactly_one_interval(
    ranges: list[tuple[int, int]], us: int, form: str
) -> None:
    text = to_datetime(us).strftime(form)
    read = from_iso(text)  # what the text says: a format may leave seconds out
    column = ComparableTime("t", TimeShape.TEXT)

    held = inside(text, column, ranges)

    assert held == 1 if any(lo <= read < hi for lo, hi in ranges) else held <= 1


@given(RANGES, MOMENTS, st.integers(-14, 14))
def test_a_text_with_an_offset_lies_in_exactly_one_interval(
    ranges: list[tuple[int, int]], us: int, hours: int
) -> None:
    text = to_datetime(us).astimezone(timezone(timedelta(hours=hours))).isoformat()

    held = inside(text, ComparableTime("t", TimeShape.TEXT, offsets=True), ranges)

    assert held == 1 if any(lo <= us < hi for lo, hi in ranges) else held <= 1


CUTS = st.lists(st.integers(0, 900 * DAY), max_size=4)
COLUMNS = [
    ComparableTime("t", TimeShape.TEXT),
    ComparableTime("t", TimeShape.TEXT, offsets=True),
    ComparableTime("t", TimeShape.TEXT, zone="America/New_York"),
    ComparableTime("t", TimeShape.EPOCH, unit="s"),
    ComparableTime("t", TimeShape.EPOCH, unit="ms"),
]
GARBAGE = ["", " ", "!", "T", "X", " 10:3", "T10:30:00Z", "T9", "/", "-1"]


def matches(condition: str, value: str | int) -> int:
    """How often SQLite finds a value by a condition."""
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"CREATE TABLE one (t {'text' if isinstance(value, str) else 'integer'})")
        memory.execute("INSERT INTO one VALUES (?)", (value,))
        return int(memory.execute(f"SELECT count(*) FROM one WHERE {condition}").fetchone()[0])


@given(
    st.sampled_from(COLUMNS),
    st.tuples(MOMENTS, st.integers(1, 40 * DAY)),
    CUTS,
    st.integers(-3 * DAY, 43 * DAY),
    st.sampled_from(GARBAGE),
)
def test_pieces_hold_together_what_their_range_holds_each_value_once(
    column: ComparableTime, span: tuple[int, int], cuts: list[int], at: int, rest: str
) -> None:
    lo, hi = span[0], span[0] + span[1]
    edges = [lo, *sorted({lo + cut for cut in cuts if cut < span[1]} - {lo}), hi]
    pieces = list(pairwise(edges))
    value = to_datetime(lo + at).strftime("%Y-%m-%d") + rest
    found: str | int = value if column.shape is TimeShape.TEXT else (lo + at) // 1_000

    held = [matches(column.part_condition((lo, hi), piece), found) for piece in pieces]

    assert sum(held) == matches(column.range_condition(lo, hi), found)


@given(
    st.sampled_from(["s", "ms", "us"]),
    st.integers(0, 3_000_000),
    st.integers(1, 3_000_000),
    st.integers(-2_000_000, 8_000_000),
    st.sampled_from([0.0, 0.25, 0.5, -0.25]),
)
def test_a_condition_holds_every_number_of_its_range(
    unit: str, lo: int, width: int, at: int, fraction: float
) -> None:
    factor = {"s": 1_000_000, "ms": 1_000, "us": 1}[unit]
    number = at // factor + fraction
    with closing(sqlite3.connect(":memory:")) as memory:
        condition = ComparableTime("t", TimeShape.EPOCH, unit=unit).range_condition(lo, lo + width)
        held = memory.execute(f"SELECT 1 FROM (SELECT {number!r} AS t) WHERE {condition}").fetchall()

    if lo <= round(number * factor) < lo + width:
        assert held
    if fraction == 0.0 and number * factor < lo:
        assert not held, "what is older by a unit, as the newest of the search before, is not read again"


@given(
    st.sampled_from(FORMATS),
    st.sampled_from(
        [ComparableTime("t", TimeShape.TEXT), ComparableTime("t", TimeShape.TEXT, zone="Asia/Kolkata")]
    ),
    MOMENTS,
    st.integers(1, 3 * MINUTE),
    st.integers(-MINUTE, 4 * MINUTE),
)
def test_a_condition_holds_every_text_of_its_range_and_not_the_newest_before(
    form: str, column: ComparableTime, lo: int, width: int, at: int
) -> None:
    zone = ZoneInfo(column.zone)
    written = form if column.zone == "UTC" else form.removesuffix("Z")

    def text_of(us: int) -> tuple[str, int]:
        """Text of a moment, and the moment that it says: it may leave seconds out."""
        text = to_datetime(us).astimezone(zone).strftime(written)
        return text, from_datetime(datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=zone))

    (text, read), (newest, moment) = text_of(lo + at), text_of(lo)

    if lo <= read < lo + width:
        assert matches(column.range_condition(lo, lo + width), text)
    assert not matches(column.range_condition(moment + 1, moment + 1 + width), newest), "it is not read again"
    if ":%S" in form and read < lo - SECOND:
        assert not matches(column.range_condition(lo, lo + width), text), "nor is what is older by a second"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 1),
        ("n/a", 1),
        ("03/01/2013", 1),
        ("20/03/2013", 1),
        ("1362096000", 1),
        ("2013/03/01", 1),
        ("20130301", 1),
        ("2012/03/01", 0),
        ("2013-03-01", 0),
        ("2013-12-31T00:00:00Z", 0),
        ("1901-01-01", 0),
    ],
)
def test_texts_that_are_no_times_are_looked_for_beside_the_times(text: str, expected: int) -> None:
    odd = "t NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
    column = ComparableTime("t", TimeShape.TEXT, odd=odd)

    assert (
        matches(column.odd_rows_condition((from_iso("2013-02-01"), from_iso("2013-05-01"))) or "", text)
        == expected
    )


@given(st.tuples(MOMENTS, st.integers(1, 500 * DAY)), st.text(max_size=12))
def test_no_text_is_both_of_a_range_and_beside_it(span: tuple[int, int], text: str) -> None:
    bounds = (span[0], span[0] + span[1])
    column = ComparableTime("t", TimeShape.TEXT, odd="1 = 1")
    text = text.replace("\0", "")

    assert (
        matches(column.range_condition(*bounds), text)
        + matches(column.odd_rows_condition(bounds) or "", text)
        <= 1
    )


def instant_of(naive: int, zone: str) -> int:
    """The instant of a naive time of a zone."""
    array = pa.array([naive]).cast(pa.timestamp("us"))
    instant = pc.assume_timezone(array, zone, ambiguous="earliest", nonexistent="latest")
    return int(instant.cast(pa.int64())[0].as_py())


@given(
    RANGES,
    MOMENTS,
    st.sampled_from(["America/New_York", "Europe/Vienna", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_a_naive_time_of_a_zone_lies_in_exactly_one_interval(
    ranges: list[tuple[int, int]], naive: int, zone: str
) -> None:
    instant = instant_of(naive, zone)

    held = sum(lo <= naive < hi for lo, hi in local_ranges(merge_ranges(ranges), zone))

    assert held == 1 if any(lo <= instant < hi for lo, hi in ranges) else held <= 1


@pytest.mark.parametrize("clocks_change", ["2013-03-10T07:00", "2013-11-03T06:00"])
def test_around_a_change_of_clocks_no_naive_time_is_lost(clocks_change: str) -> None:
    at, zone = from_iso(clocks_change), "America/New_York"
    for minutes in range(-240, 240, 15):
        naive = at - 5 * HOUR + minutes * MINUTE
        instant = instant_of(naive, zone)

        bounds = local_ranges([(instant, instant + 1)], zone)

        assert [lo <= naive < hi for lo, hi in bounds] == [True]


@given(RANGES, MOMENTS, st.sampled_from(sorted(UNITS)))
def test_an_integer_of_a_range_lies_in_exactly_one_interval(
    ranges: list[tuple[int, int]], us: int, unit: str
) -> None:
    value = us // UNITS[unit]
    read = value * UNITS[unit]

    held = sum(
        int(lo) <= value < int(hi)
        for lo, hi in ComparableTime("t", TimeShape.EPOCH, unit=unit).interval_literals(ranges)
    )

    assert held == 1 if any(lo <= read < hi for lo, hi in ranges) else held <= 1


def test_timestamps_are_bounded_to_the_microsecond() -> None:
    lo = from_iso("2013-03-01T00:00:00.000001+00:00")

    assert ComparableTime("t", TimeShape.INSTANT).interval_literals([(lo, lo + 1)]) == [
        ("TIMESTAMPTZ '2013-03-01 00:00:00.000001+00'", "TIMESTAMPTZ '2013-03-01 00:00:00.000002+00'")
    ]


def test_bounds_beyond_the_calendar_are_cut() -> None:
    huge = (-(2**62), 2**62)

    assert all(
        ComparableTime("t", shape).interval_literals([huge])
        for shape in (TimeShape.TEXT, TimeShape.NAIVE, TimeShape.INSTANT)
    )


@given(RANGES, st.integers(1, 5))
def test_coalesced_ranges_hold_the_given_ones(ranges: list[tuple[int, int]], most: int) -> None:
    fewer = close_smallest_gaps(ranges, most)

    assert len(fewer) <= most
    assert fewer == merge_ranges(fewer)
    assert all(any(lo <= one and two <= hi for lo, hi in fewer) for one, two in ranges)


def test_the_smallest_gaps_are_closed_first() -> None:
    assert close_smallest_gaps([(0, 1), (2, 3), (9, 10), (30, 31)], 2) == [(0, 10), (30, 31)]


def test_whole_days_are_bounded_by_their_dates_alone() -> None:
    day = from_iso("2013-03-01")

    assert text_intervals([(day, day + 2 * DAY)]) == [("2013-03-01", "2013-03-03")]


def test_zones_of_texts_are_told_apart() -> None:
    assert text_zones(["2013-03-01", "2013-03-01 00:00Z", "2013-03-01T00:00:00.5+01:00", "n/a"]) == {
        "",
        "Z",
        "+01:00",
    }
    assert text_zones(["n/a", "03/01/2013"]) == set()


def test_what_is_not_understood_is_read_whole_and_what_is_not_there_not_at_all() -> None:
    assert ComparableTime("t", TimeShape.UNKNOWN).range_condition(0, 1) == "1 = 1"
    assert ComparableTime("t", TimeShape.NOTHING).range_condition(0, 1) == "1 = 0"
    assert (
        ComparableTime("t", TimeShape.EPOCH, unit="s").range_condition(SECOND, 2 * SECOND)
        == "(t > 0 AND t < 3)"
    )


def test_the_offset_of_a_zone_is_that_of_its_day() -> None:
    summer = from_iso("2013-07-01")
    offset = datetime(2013, 7, 1, tzinfo=UTC).astimezone(ZoneInfo("Europe/Vienna")).utcoffset()

    assert offset is not None
    assert local_ranges([(summer, summer + HOUR)], "Europe/Vienna") == [
        (summer + offset // timedelta(microseconds=1), summer + HOUR + offset // timedelta(microseconds=1))
    ]
