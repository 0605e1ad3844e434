"""Which waiting panes are counted: at once or once a day, the patient first, within a budget."""

from dataclasses import replace

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.windows.recount_choice import (
    RecountBudget,
    RecountCandidate,
    choose_panes,
    is_due,
    is_settling_pane,
)

NOW = 100 * DAY
BUDGET = RecountBudget(rows=1_000, pane=HOUR, settling_age=None)
PANE = RecountCandidate(
    start=NOW - 10 * DAY, since=NOW - 2 * HOUR, records_changed=False, counted_as_of=NOW - HOUR, rows=100
)


def test_a_pane_whose_rows_changed_is_counted_records_changed() -> None:
    assert not is_due(PANE, NOW, BUDGET)
    assert is_due(replace(PANE, records_changed=True), NOW, BUDGET)


def test_a_pane_that_was_never_counted_is_counted_records_changed() -> None:
    assert is_due(replace(PANE, counted_as_of=None), NOW, BUDGET)


def test_labels_that_no_difference_adds_are_counted_at_once_where_others_are_added() -> None:
    assert is_due(PANE, NOW, replace(BUDGET, by_difference=True))


def test_labels_alone_are_counted_once_a_day() -> None:
    assert not is_due(replace(PANE, counted_as_of=NOW - DAY + MINUTE), NOW, BUDGET)
    assert is_due(replace(PANE, counted_as_of=NOW - DAY), NOW, BUDGET)


def test_a_pane_past_the_settling_age_and_last_counted_long_before_it_settles() -> None:
    age, end = 30 * HOUR, NOW - 30 * HOUR
    pane, budget = replace(PANE, start=end - HOUR), replace(BUDGET, settling_age=age)

    assert is_settling_pane(end, end + 27 * HOUR - 1, NOW, age)
    assert not is_settling_pane(end, end + 27 * HOUR, NOW, age)
    assert not is_settling_pane(end + 1, end, NOW, age)
    assert not is_settling_pane(end, end, NOW, None)
    assert is_due(replace(pane, counted_as_of=NOW - 20 * HOUR), NOW, budget)
    assert not is_due(replace(pane, counted_as_of=NOW - HOUR), NOW, budget)
    assert not is_due(replace(pane, start=end - HOUR + 1, counted_as_of=NOW - 20 * HOUR), NOW, budget)


def test_the_longest_waiting_panes_are_counted_first_and_within_the_budget_of_rows() -> None:
    panes = [
        replace(PANE, start=NOW - number * HOUR, since=NOW - number, records_changed=True, rows=400)
        for number in (1, 3, 2)
    ]

    chosen = choose_panes(panes, NOW, BUDGET)

    assert [one.since for one in chosen] == [NOW - 3, NOW - 2]
    assert [one.start for one in chosen] == sorted(one.start for one in chosen)


def test_at_least_one_pane_is_counted_whatever_its_size() -> None:
    huge = replace(PANE, records_changed=True, rows=10**9)

    assert choose_panes([huge], NOW, BUDGET) == [huge]
    assert choose_panes([], NOW, BUDGET) == []


def test_panes_that_fill_the_budget_are_counted() -> None:
    pane = replace(PANE, records_changed=True, rows=500)
    half = [replace(pane, start=NOW - number * HOUR) for number in (2, 1)]

    assert choose_panes(half, NOW, BUDGET) == half
    assert choose_panes([*half, PANE], NOW, BUDGET) == half, "what is not due takes no room"
