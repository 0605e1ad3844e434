"""The parser of times, against pandas and datetime."""

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.clock import from_iso, to_iso
from monitor.core.errors import SourceError
from monitor.records.parsed_times import ParsedTimes, mark_other_texts, parse_times


def parse(values: list[Any], kind: Any = None, *, zone: str = "UTC", unit: str | None = None) -> ParsedTimes:
    """Parse a column of values."""
    half = len(values) // 2
    column = pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)], kind)
    return parse_times(column, name="made_at", zone=zone, unit=unit)


def parse_text(*texts: str | None, zone: str = "UTC") -> ParsedTimes:
    """Parse texts."""
    return parse(list(texts), pa.string(), zone=zone)


def iso(times: ParsedTimes) -> list[str | None]:
    """Return parsed times in ISO form, None where unknown."""
    return [to_iso(us) if known else None for us, known in zip(times.us.tolist(), times.known, strict=True)]


@given(
    st.lists(st.datetimes(timezones=st.just(timezone(timedelta(hours=-5, minutes=-30)))), max_size=9),
    st.sampled_from(["T", " "]),
)
def test_zoned_texts_are_instants(moments: list[datetime], separator: str) -> None:
    found = parse_text(*(moment.isoformat(separator) for moment in moments))

    assert found.us.tolist() == [from_iso(moment.isoformat()) for moment in moments]
    assert found.known.all()
    assert found.invalid == 0


@pytest.mark.parametrize(
    "text",
    [
        "2013-03-01T10:00:00Z",
        "2013-03-01 10:00:00Z",
        "2013-03-01T10:00Z",
        "2013-03-01T10:00:00.000000000+00:00",
        "2013-03-01T15:30:00+0530",
        "2013-03-01T15:30:00+05:30",
        "2013-03-01T05:00:00-05",
        "2013-03-01T10:00:00",
        "2013-03-01 10:00",
    ],
)
def test_iso_8601_is_read_in_its_common_forms(text: str) -> None:
    assert iso(parse_text(text)) == ["2013-03-01T10:00:00Z"]


def test_a_date_is_its_midnight() -> None:
    assert iso(parse_text("2013-03-01")) == ["2013-03-01T00:00:00Z"]
    assert iso(parse([datetime(2013, 3, 1).date()], pa.date32())) == ["2013-03-01T00:00:00Z"]  # noqa: DTZ001


def test_fractions_may_come_and_go_and_are_cut_to_microseconds() -> None:
    found = parse_text("2013-03-01T10:00:00Z", "2013-03-01T10:00:00.5Z", "2013-03-01T10:00:00.123456789Z")

    assert (found.us - found.us[0]).tolist() == [0, 500_000, 123_456]


def test_signs_of_offsets_are_one_format() -> None:
    found = parse_text("2013-03-01T10:00:00+01:00", "2013-03-01T10:00:00-05:00")

    assert iso(found) == ["2013-03-01T09:00:00Z", "2013-03-01T15:00:00Z"]


ZULU, NAIVE, DAYS_FIRST = "2013-03-01T10:00:00Z", "2013-03-01 10:00:00", "01.03.2013 10:00"


@pytest.mark.parametrize("other", [NAIVE, "2013-03-01T10:00:00.25+00:00", DAYS_FIRST, "2013-03-01"])
@pytest.mark.parametrize(("main", "others"), [(2, 1), (50, 40), (95, 5)])
def test_texts_of_another_format_than_the_main_one_are_no_times(other: str, main: int, others: int) -> None:
    found = parse_text(*[ZULU] * main, *[other] * others)

    assert found.known.tolist() == [True] * main + [False] * others
    assert found.invalid == others


@pytest.mark.parametrize("other", [NAIVE, DAYS_FIRST])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_column_without_a_main_format_is_refused_with_its_formats(other: str, share: float) -> None:
    others = int(200 * share)

    with pytest.raises(SourceError, match='column "made_at" mixes formats of time: ') as caught:
        parse_text(*[ZULU] * (200 - others), *[other] * others)

    assert f'"0000-00-00T00:00:00Z" {200 - others} times' in str(caught.value)
    assert f"{others} times" in str(caught.value)


def test_one_time_beside_one_of_another_format_is_read() -> None:
    assert iso(parse_text(DAYS_FIRST, ZULU)) == [None, "2013-03-01T10:00:00Z"]


def test_a_message_on_many_formats_stays_short() -> None:
    texts = [*["2013-03-01"] * 80, *(f"{'x' * width}1" for width in range(1, 9) for _ in range(5))]

    with pytest.raises(SourceError, match=r'"xxx0" 5 times, and 5 more$'):
        parse_text(*texts)


def test_texts_that_are_marked_are_no_times_and_have_no_format() -> None:
    marked = mark_other_texts(pa.array([ZULU, NAIVE, None, "n/a"]), "0000-00-00T00:00:00Z")

    found = parse_times(pa.chunked_array([marked]), name="made_at", zone="UTC", unit=None)

    assert found.known.tolist() == [True, False, False, False]
    assert (found.invalid, found.formats) == (2, {"0000-00-00T00:00:00Z": 1})
    assert mark_other_texts(marked, "0000-00-00T00:00:00Z").equals(marked)


@pytest.mark.parametrize(
    "bad",
    [
        "01.03.2013 10:00",
        "2013-13-01T10:00:00Z",
        "2013-02-29T10:00:00Z",
        "2013-04-31T10:00:00Z",
        "1900-02-29T10:00:00Z",
        "0000-00-00T00:00:00Z",
        "2013-03-01T24:00:00Z",
        "2013-03-01T10:60:00Z",
        "2013-03-01T10:00:60Z",
        "",
        "now",
    ],
)
def test_a_single_time_that_cannot_be_read_is_counted(bad: str) -> None:
    found = parse_text("2013-03-01T10:00:00Z", bad, None, "2013-03-01T11:00:00Z")

    assert iso(found) == ["2013-03-01T10:00:00Z", None, None, "2013-03-01T11:00:00Z"]
    assert found.invalid == 1
    assert found.us[1] == 0


def test_words_are_no_format_however_often_they_come() -> None:
    found = parse_text("2013-03-01T10:00:00Z", "unknown", "unknown", "n/a", "n/a", "")

    assert found.invalid == 5


@given(st.integers(0, 9999), st.integers(1, 12), st.integers(1, 31))
def test_a_day_is_a_time_exactly_if_the_calendar_has_it(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    assert parse_text(text).invalid == int(day > days[month - 1])


def test_leap_days_are_days() -> None:
    assert iso(parse_text("2012-02-29T23:59:59", "2000-02-29T00:00:00")) == [
        "2012-02-29T23:59:59Z",
        "2000-02-29T00:00:00Z",
    ]


def test_naive_times_are_in_the_configured_zone() -> None:
    assert iso(parse_text("2013-01-01 12:00:00", "2013-07-01 12:00:00", zone="Europe/Vienna")) == [
        "2013-01-01T11:00:00Z",
        "2013-07-01T10:00:00Z",
    ]


def test_zoned_times_do_not_ask_for_the_configured_zone() -> None:
    assert iso(parse_text("2013-07-01T12:00:00Z", zone="Europe/Vienna")) == ["2013-07-01T12:00:00Z"]


def test_the_first_of_two_ambiguous_instants_is_taken_and_counted() -> None:
    found = parse_text(
        "2013-10-27 01:59:59", "2013-10-27 02:30:00", "2013-10-27 03:00:00", zone="Europe/Vienna"
    )

    assert iso(found) == ["2013-10-26T23:59:59Z", "2013-10-27T00:30:00Z", "2013-10-27T02:00:00Z"]
    assert found.adjusted.tolist() == [False, True, False]


def test_instants_that_never_were_are_moved_forward_and_counted() -> None:
    found = parse_text(
        "2013-03-31 01:59:59", "2013-03-31 02:30:00", "2013-03-31 03:00:00", zone="Europe/Vienna"
    )

    assert iso(found) == ["2013-03-31T00:59:59Z", "2013-03-31T01:00:00Z", "2013-03-31T01:00:00Z"]
    assert found.adjusted.tolist() == [False, True, False]


@given(st.integers(0, 365 * 24 * 4))
def test_quarters_of_hours_of_a_year_agree_with_pandas(quarter: int) -> None:
    moment = pd.Timestamp("2013-01-01") + pd.Timedelta(minutes=15 * quarter)

    found = parse_text(moment.isoformat(), zone="Europe/Vienna")

    expected = moment.tz_localize("Europe/Vienna", ambiguous=True, nonexistent="shift_forward")
    assert found.us[0] == expected.value // 1000


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_are_microseconds_whatever_their_unit(unit: str) -> None:
    naive = [datetime.fromisoformat("2013-03-01T10:00:00"), None]

    assert iso(parse(naive, pa.timestamp(unit))) == ["2013-03-01T10:00:00Z", None]
    assert iso(parse(naive, pa.timestamp(unit), zone="Asia/Kolkata")) == ["2013-03-01T04:30:00Z", None]


def test_zoned_timestamps_are_instants() -> None:
    moment = datetime.fromisoformat("2013-03-01T10:00:00+00:00")

    found = parse([moment, None], pa.timestamp("us", "America/New_York"), zone="Asia/Kolkata")

    assert iso(found) == ["2013-03-01T10:00:00Z", None]


@pytest.mark.parametrize(("unit", "factor"), [("s", 10**6), ("ms", 10**3), ("us", 1)])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
def test_epochs_are_read_in_their_unit(unit: str, factor: int, kind: Any) -> None:
    values = [1_362_132_000, -5, None] if kind != pa.string() else ["1362132000", "-5", None]

    found = parse(values, kind, unit=unit)

    assert found.us.tolist() == [1_362_132_000 * factor, -5 * factor, 0]
    assert found.known.tolist() == [True, True, False]
    assert found.invalid == 0


def test_fractions_of_epochs_are_kept() -> None:
    assert parse([1.5, 0.25], pa.float64(), unit="s").us.tolist() == [1_500_000, 250_000]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**62, -(2**63), 1], pa.int64()),
        ([np.nan, np.inf, 1.0], pa.float64()),
        (["12:00", "99999999999999999999", "1"], pa.string()),
    ],
)
def test_epochs_that_are_no_times_are_counted(values: list[Any], kind: Any) -> None:
    found = parse(values, kind, unit="s")

    assert found.known.tolist() == [False, False, True]
    assert found.invalid == 2
    assert found.us.tolist() == [0, 0, 1_000_000]


def test_epochs_without_a_unit_are_refused() -> None:
    with pytest.raises(
        SourceError, match='column "made_at" holds numbers: configure their unit, "s", "ms" or "us"'
    ):
        parse([1], pa.int64())


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.timestamp("us")])
def test_a_column_without_a_time_is_all_unknown(kind: Any) -> None:
    found = parse([None, None, None], kind, zone="Europe/Vienna")

    assert found.known.tolist() == [False] * 3
    assert found.invalid == 0


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.timestamp("us"), pa.date32()])
def test_an_empty_column_has_no_times(kind: Any) -> None:
    assert len(parse([], kind).us) == 0
