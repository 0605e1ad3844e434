"""Which waiting panes are counted: those worth it, the urgent and the patient first, within a budget."""

from dataclasses import replace

import pytest

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.windows.recount import Budget, RecountCandidate, about_to_settle, choose, ripe

NOW = 100 * DAY
BUDGET = Budget(rows=1_000, pane=HOUR, every=HOUR, settling_age=None)
PANE = RecountCandidate(
    start=NOW - 10 * DAY,
    since=NOW - 2 * HOUR,
    records_changed=False,
    labels=0,
    counted_as_of=NOW - HOUR,
    rows=100,
    records=1_000,
)


def test_a_pane_whose_rows_changed_is_counted_at_once() -> None:
    assert not ripe(PANE, NOW, BUDGET)
    assert ripe(replace(PANE, records_changed=True), NOW, BUDGET)


def test_a_pane_that_was_never_counted_is_counted_at_once() -> None:
    assert ripe(replace(PANE, counted_as_of=None), NOW, BUDGET)


def test_labels_wait_until_they_are_one_percent_of_the_records() -> None:
    assert not ripe(replace(PANE, labels=9), NOW, BUDGET)
    assert ripe(replace(PANE, labels=10), NOW, BUDGET)


@pytest.mark.parametrize(
    ("age", "patience"),
    [
        pytest.param(2 * HOUR, HOUR, id="at least a cycle"),
        pytest.param(10 * DAY, 10 * HOUR, id="a 24th of the age"),
        pytest.param(40 * DAY, DAY, id="at most a day"),
    ],
)
def test_a_few_labels_wait_a_24th_of_the_panes_age(age: int, patience: int) -> None:
    pane = replace(PANE, start=NOW - age, labels=1)

    assert not ripe(replace(pane, counted_as_of=NOW - patience + MINUTE), NOW, BUDGET)
    assert ripe(replace(pane, counted_as_of=NOW - patience), NOW, BUDGET)


def test_a_pane_past_the_settling_age_and_last_counted_before_it_is_about_to_settle() -> None:
    budget = replace(BUDGET, settling_age=2 * DAY)
    end = NOW - 2 * DAY
    pane = replace(PANE, start=end - HOUR, counted_as_of=NOW - MINUTE)

    assert about_to_settle(pane, NOW, budget)
    assert ripe(pane, NOW, budget)
    assert not about_to_settle(replace(pane, counted_as_of=NOW), NOW, budget)
    assert not about_to_settle(replace(pane, start=pane.start + HOUR), NOW, budget)
    assert not about_to_settle(replace(pane, counted_as_of=None), NOW, budget)
    assert not about_to_settle(pane, NOW, BUDGET)


def test_the_longest_waiting_panes_are_counted_first_and_within_the_budget_of_rows() -> None:
    panes = [
        replace(PANE, start=NOW - number * HOUR, since=NOW - number, records_changed=True, rows=400)
        for number in (1, 3, 2)
    ]

    chosen = choose(panes, NOW, BUDGET)

    assert [one.since for one in chosen] == [NOW - 3, NOW - 2]
    assert [one.start for one in chosen] == sorted(one.start for one in chosen)


def test_panes_about_to_settle_go_before_longer_waiting_ones() -> None:
    budget = replace(BUDGET, settling_age=2 * DAY, rows=1)
    urgent = replace(PANE, start=NOW - 2 * DAY - HOUR, since=NOW)
    patient = replace(PANE, since=NOW - 20 * DAY, records_changed=True)

    assert choose([patient, urgent], NOW, budget) == [urgent]


def test_at_least_one_pane_is_counted_whatever_its_size() -> None:
    huge = replace(PANE, records_changed=True, rows=10**9)

    assert choose([huge], NOW, BUDGET) == [huge]
    assert choose([], NOW, BUDGET) == []
