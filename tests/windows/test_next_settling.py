"""When the next window settles, and why; or why that cannot be known."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR
from monitor.windows.settling import (
    DelayCurve,
    LabelledPanes,
    SettlingAges,
    SettlingForecast,
    SettlingRule,
    forecast_settling,
    hours_or_days,
    next_end,
    usual_coverage,
)
from monitor.windows.window_ends import parse_window

NOW = 1_000 * DAY
CURVE = DelayCurve(np.ones(1), np.zeros(1))
AGES = SettlingAges(settled=38 * DAY, nearly_all=40 * DAY, few=False, curves=(CURVE, CURVE))
RULE = SettlingRule(share=0.95, after=None, horizon=107 * DAY, pane=DAY, heard=NOW)


def panes_of(days: int, labelled: int = 38) -> LabelledPanes:
    start: Ints = np.arange(NOW - days * DAY, NOW, DAY)
    same: Ints = np.full(len(start), NOW)
    return LabelledPanes(start, same, same, np.full(len(start), 50), np.full(len(start), labelled))


def of(
    panes: LabelledPanes, *, end: int = NOW - 30 * DAY, ages: SettlingAges = AGES, rule: SettlingRule = RULE
) -> SettlingForecast:
    return forecast_settling((end - 7 * DAY, end), NOW, panes, ages, rule, usual_coverage(panes, ages, rule))


def test_a_window_settles_at_the_age_that_the_delays_tell() -> None:
    found = of(panes_of(80))

    assert found == SettlingForecast(NOW + 8 * DAY, "95 % of each class's labels come within 38 days")
    alone = of(panes_of(80), ages=replace(AGES, curves=(CURVE,)))
    assert alone.because == "95 % of the labels come within 38 days"
    assert of(panes_of(57)) == found, "heard for exactly as long as it must be"


def test_in_a_young_log_the_feed_must_have_been_heard_for_long_enough() -> None:
    found = of(panes_of(40), end=NOW - 33 * DAY)

    assert found.at == NOW + 17 * DAY
    assert found.because == (
        "so far 95 % of each class's labels come within 38 days, and the feed must be heard for 57 days "
        "to show later ones; it was heard for 40 days"
    )
    short = replace(RULE, horizon=45 * DAY)
    assert of(panes_of(40), end=NOW - 37 * DAY, rule=short).at == NOW + 4 * DAY


def test_with_settle_after_it_is_that_age() -> None:
    found = of(panes_of(40), rule=replace(RULE, after=36 * DAY))

    assert found == SettlingForecast(NOW + 6 * DAY, "windows settle 36 days after they end (settle_after)")


def test_without_a_label_it_cannot_be_known() -> None:
    assert of(panes_of(40, labelled=0)) == SettlingForecast(None, "no record has a label yet")


def test_with_too_few_labels_windows_wait_for_the_horizon() -> None:
    found = of(panes_of(40, labelled=1), ages=SettlingAges(107 * DAY, 107 * DAY, few=True))

    assert found.at == NOW + 77 * DAY
    assert found.because == (
        "too few labels tell how late labels come, so windows wait for the horizon of 107 days"
    )


def test_a_window_that_lacks_labels_settles_with_a_warning_if_the_feed_goes_on() -> None:
    panes, end = panes_of(200), NOW - 39 * DAY
    gap = (panes.start >= end - 7 * DAY) & (panes.start < end)
    panes = replace(panes, labelled=np.where(gap, 10, panes.labelled))

    found = of(panes, end=end)

    assert found.at == NOW + DAY
    assert found.because == (
        "20 % of its records have a label, where 74 % are usual; "
        "by then it settles with the warning low_coverage"
    )


def test_while_the_feed_stands_still_it_cannot_be_known() -> None:
    panes, end = panes_of(200), NOW - 45 * DAY
    panes = replace(panes, labelled=np.where(panes.start < end - 7 * DAY, panes.labelled, 10))

    found = of(panes, end=end, rule=replace(RULE, heard=NOW - 44 * DAY))

    assert found.at is None
    assert found.because == (
        "20 % of its records have a label, where 76 % are usual, "
        "and the feed has reported nothing since 1972-08-14"
    )


def test_a_window_whose_panes_wait_says_so() -> None:
    found = of(panes_of(200), end=NOW - 39 * DAY)

    assert found == SettlingForecast(
        None, "some of its panes wait to be counted, or its last day lacks labels"
    )
    assert of(panes_of(200), end=NOW - 38 * DAY) == found, "it is as old as it must be"


@pytest.mark.parametrize(
    ("us", "words"),
    [(0, "0 hours"), (HOUR, "1 hour"), (47 * HOUR, "47 hours"), (48 * HOUR, "2 days"), (3 * DAY, "3 days")],
)
def test_durations_are_whole_hours_or_from_two_days_on_whole_days(us: int, words: str) -> None:
    assert hours_or_days(us) == words


@pytest.mark.parametrize(
    ("name", "newest", "expected"),
    [("1d", None, HOUR), ("7d", None, 6 * HOUR), ("month", None, 31 * DAY), ("month", 31 * DAY, 59 * DAY)],
)
def test_the_next_window_ends_after_the_newest_settled_one(
    name: str, newest: int | None, expected: int
) -> None:
    assert next_end(parse_window(name, HOUR), newest, 0) == expected
