"""When days are due, and at which age their labels are taken."""

from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.windows.day_moments import days_from, due_moment, label_age, without_days, zone_of_days
from monitor.windows.window_ends import count_epoch_days


def test_days_are_those_of_the_zone_however_long() -> None:
    around = days_from(from_iso("2024-03-30T12:00:00Z"), "Europe/Vienna")

    days = list(islice(around, 2))

    assert days == [
        (from_iso("2024-03-30T23:00:00Z"), from_iso("2024-03-31T22:00:00Z")),  # 23 hours
        (from_iso("2024-03-31T22:00:00Z"), from_iso("2024-04-01T22:00:00Z")),
    ]
    assert next(days_from(days[0][0], "Europe/Vienna")) == days[0], "the day that begins at the moment"


@pytest.mark.parametrize(
    ("zone", "pane", "expected"),
    [("Asia/Kolkata", HOUR, "UTC"), ("Asia/Kolkata", 30 * MINUTE, "Asia/Kolkata"), ("UTC", DAY, "UTC")],
)
def test_days_that_are_no_whole_panes_are_those_of_utc(zone: str, pane: int, expected: str) -> None:
    assert zone_of_days(zone, pane) == expected


@given(
    end=st.integers(0, 20_000 * DAY),
    ready=st.integers(0, 3 * DAY),
    age=st.integers(0, 40 * DAY),
    hours=st.sampled_from([1, 6, 24, 48]),
)
def test_a_day_is_due_at_the_first_tick_at_which_it_is_ready_and_its_labels_are_of_their_age(
    end: int, ready: int, age: int, hours: int
) -> None:
    moment = due_moment(end, ready, hours * HOUR, age)

    assert moment % (hours * HOUR) == 0
    assert end + age + ready <= moment < end + age + ready + hours * HOUR


@given(
    first=st.integers(0, 40),
    length=st.integers(1, 20),
    out=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5))),
)
def test_of_a_span_the_days_that_are_left_out_are_gone_and_no_other(
    first: int, length: int, out: list[tuple[int, int]]
) -> None:
    zone, start = "Europe/Vienna", from_iso("2024-03-01T11:00Z") + first * DAY
    days = [
        (count_epoch_days(start, zone) + at - 10, count_epoch_days(start, zone) + at - 10 + more)
        for at, more in out
    ]

    left = without_days((start, start + length * DAY), days, zone)

    hours = [at for begin, end in left for at in range(begin, end, HOUR)]
    assert hours == [
        at
        for at in range(start, start + length * DAY, HOUR)
        if not any(one <= count_epoch_days(at, zone) <= last for one, last in days)
    ]
    assert all(end < begin for (_, end), (begin, _) in pairwise(left)), "joined"


def _triangle(shares: list[float], days: int, records: int, labelled: float) -> tuple[Ints, Ints]:
    """Cumulative labels of days by age, and the age that each has reached: what lies beyond is not seen."""
    observed = np.arange(days, 0, -1)
    within = np.concatenate([shares, np.ones(days + 1)])[: days + 1]
    counts = np.rint(records * labelled * within).astype(np.int64) * np.ones((days, 1), dtype=np.int64)
    return np.where(np.arange(days + 1) <= observed[:, None], counts, 0)[None], observed


@pytest.mark.parametrize("labelled", [1.0, 0.1])
@pytest.mark.parametrize(
    ("shares", "age"),
    [([0.0, 1.0], 1), ([0.0, 0.3, 0.55, 0.62, 0.9, 1.0], 3), ([0.0] * 10 + [0.5, 0.59, 0.61, 1.0], 12)],
)
def test_labels_are_taken_at_the_first_age_at_which_most_that_will_come_are_in(
    shares: list[float], age: int, labelled: float
) -> None:
    counts, observed = _triangle(shares, 40, 1_000, labelled)

    assert label_age(counts, observed) == age


def test_the_age_is_not_known_before_the_feed_could_have_shown_longer_delays() -> None:
    shares = [at / 29 for at in range(30)]

    ages = [label_age(*_triangle(shares, days, 1_000, 1.0)) for days in (13, 14, 20, 26, 27, 40)]

    assert ages[0] is None, "too young a feed"
    assert ages[-1] == 18
    assert all(
        age is None or 1.5 * age <= days for age, days in zip(ages, (13, 14, 20, 26, 27, 40), strict=True)
    )


def _delayed(delay: float, days: int, records: int) -> Ints:
    """Cumulative labels by day and age, all exactly so late: those of a day's first hours are there early."""
    observed = np.arange(days, 0, -1)[:, None]
    ages = np.arange(days + 1)
    # The day's records are evenly spread: by which share of them so old a label can be known.
    known = np.clip(observed + 1 - delay, 0, 1) * (ages > delay)
    cumulative: Ints = np.rint(records * known).astype(np.int64)
    return cumulative


@pytest.mark.parametrize("delay", [8, 13, 14, 20, 40])
def test_labels_that_take_longer_than_the_first_days_are_waited_for(delay: int) -> None:
    ages = [
        label_age(np.stack([_delayed(delay, days, 900), _delayed(delay, days, 100)]), np.arange(days, 0, -1))
        for days in range(1, 90)
    ]

    known = [age for age in ages if age is not None]
    assert set(known) == {delay + 1}, "never a day before any label is in"
    assert len(known) > 20


def test_a_class_that_comes_late_is_waited_for() -> None:
    """Where most labels come at once, all together would tell an age at which no positive is in."""
    ages = {
        label_age(np.stack([_delayed(0.5, days, 950), _delayed(14, days, 50)]), np.arange(days, 0, -1))
        for days in range(1, 50)
    }

    assert ages == {None, 15}


def test_a_class_without_labels_is_waited_for_no_longer_than_patience_lasts() -> None:
    def age(days: int, patience: int) -> int | None:
        none = np.zeros((days, days + 1), dtype=np.int64)
        return label_age(np.stack([_delayed(1, days, 950), none]), np.arange(days, 0, -1), patience)

    assert (age(40, 56), age(60, 56), age(40, 29)) == (None, 2, 2)


def test_without_labels_there_is_no_age() -> None:
    assert label_age(np.zeros((1, 30, 31), dtype=np.int64), np.arange(30, 0, -1)) is None
    assert label_age(np.zeros((1, 0, 1), dtype=np.int64), np.zeros(0, dtype=np.int64)) is None


def test_the_age_is_known_from_the_first_day_on_that_tells_it() -> None:
    """A share that is reached exactly counts, and so does a feed of exactly the days that are asked for."""
    shares = [0.0, 0.2, 0.6, 1.0]

    assert label_age(*_triangle(shares, 14, 1_000, 1.0)) == 2
    assert label_age(*_triangle(shares, 13, 1_000, 1.0)) is None
    late = [0.0] * 10 + [1.0]
    assert label_age(*_triangle(late, 15, 1_000, 1.0)) == 10, "heard for 1.5 times as long"
    assert label_age(*_triangle(late, 14, 1_000, 1.0)) is None
