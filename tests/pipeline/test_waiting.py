"""Panes wait: for more labels, or for their turn within the budget of rows."""

from collections.abc import Iterable
from unittest.mock import patch

import numpy as np
import pytest
from memory import MemorySource
from picking import facts_of
from synthetic import SPEC, START, labels_of, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE, ticks
from monitor.measures.rows import MeasurementRow
from monitor.records.pane import Part
from monitor.specs.protocols import AtOnce
from monitor.store.adapter import SqlStore

ONE_DAY = SPEC.windows[:1]
NOON = START + 12 * HOUR


def warnings_of(rows: Iterable[MeasurementRow], end: int) -> set[str]:
    return {row.warning for row in rows if row.window == "1d" and row.window_end == end}


def busy_hour(labels: list[tuple[str, int, int, str | None]]) -> MemorySource:
    """An hour of 400 predictions and some labels; in each of the next hours one of both."""
    event = np.concatenate([NOON + np.arange(400) * (HOUR // 400), NOON + np.arange(1, 100) * HOUR])
    others = [(f"p{399 + hour}", NOON + hour * HOUR + 30 * MINUTE, 0, "0") for hour in range(1, 100)]
    return MemorySource(predictions_of(event), labels_of([*labels, *others]))


def waits(store: SqlStore, start: int) -> bool:
    return start in {one.start for one in store.waiting("late")}


def labelled(store: SqlStore, start: int) -> int:
    return next(one.labelled for one in store.facts("late", start) if one.part is Part.LABELS)


def test_what_exceeds_the_budget_waits_is_reported_and_counted_next(fresh_store: SqlStore) -> None:
    """Four days of 240 rows, both parts read: 480 rows a day; a budget of 500 takes about a day a cycle."""
    log = log_of(4)
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY, recount_rows=500, every=HOUR)

    waiting, read = [], []
    for as_of in ticks(START + 4 * DAY - HOUR, START + 4 * DAY + 8 * HOUR, HOUR):
        report, _ = monitored.cycle(as_of)
        waiting.append(report.panes_waiting)
        read.append(report.rows_read + report.label_rows_read)

    assert waiting[0] > 60
    assert waiting[:4] == sorted(waiting[:4], reverse=True)
    assert max(waiting[3:]) <= 1
    assert max(read) <= 520
    rows = sum(one.rows for one in fresh_store.facts("late", START) if one.part is Part.RECORDS)
    assert rows == log.predictions.num_rows


def test_a_window_with_panes_that_wait_for_their_first_count_is_partial_and_not_settled(
    fresh_store: SqlStore,
) -> None:
    source = log_of(10).source()
    monitored = monitored_of(
        source, fresh_store, windows=ONE_DAY, recount_rows=2_500, every=HOUR, settle_after=2 * DAY
    )

    _, first = monitored.cycle(START + 10 * DAY)
    kept = {one.end: one.settled_as_of for one in fresh_store.windows("late", START)}
    for as_of in ticks(START + 10 * DAY, START + 10 * DAY + 6 * HOUR, HOUR):
        report, _ = monitored.cycle(as_of)

    assert warnings_of(first, START + 10 * DAY) == {"partial"}
    assert kept[START + 2 * DAY] == START + 10 * DAY
    assert kept[START + 8 * DAY] is None
    assert report.panes_waiting == 0
    again = {one.end: one.settled_as_of for one in fresh_store.windows("late", START)}
    assert again[START + 8 * DAY] is not None


def test_at_least_one_pane_is_counted_however_small_the_budget(fresh_store: SqlStore) -> None:
    monitored = monitored_of(log_of(1).source(), fresh_store, windows=(), recount_rows=1, every=HOUR)

    reports = [monitored.cycle(START + DAY + number * HOUR)[0] for number in range(3)]

    assert [report.panes_counted for report in reports] == [1, 1, 1]


def test_a_few_late_labels_wait_a_24th_of_their_panes_age(fresh_store: SqlStore) -> None:
    """Two labels of 400, at the age of two days."""
    asked = NOON + 2 * DAY
    labels = [("p0", asked - 20 * MINUTE, 0, "1"), ("p1", asked + 20 * MINUTE, 0, "1")]
    monitored = monitored_of(busy_hour([*labels]), fresh_store, windows=(), every=HOUR)

    seen = []
    for as_of in ticks(asked - 2 * HOUR, asked + 3 * HOUR, HOUR):
        monitored.cycle(as_of)
        seen.append((waits(fresh_store, NOON), labelled(fresh_store, NOON)))

    # counted at 47 h; a 24th of the age is a little above 2 h at 49 h, and below 3 h at 50 h
    assert seen == [(False, 0), (True, 0), (True, 0), (False, 2), (False, 2)]


def test_labels_for_one_percent_of_the_records_do_not_wait(fresh_store: SqlStore) -> None:
    asked = NOON + 2 * DAY
    labels = [(f"p{number}", asked - 20 * MINUTE, 0, "1") for number in range(4)]
    monitored = monitored_of(busy_hour([*labels]), fresh_store, windows=(), every=HOUR)

    seen = []
    for as_of in ticks(asked - 2 * HOUR, asked, HOUR):
        monitored.cycle(as_of)
        seen.append((waits(fresh_store, NOON), labelled(fresh_store, NOON)))

    assert seen == [(False, 0), (False, 4)]


@pytest.mark.parametrize("restarts", [False, True])
def test_labels_that_wait_add_up_and_are_not_counted_twice_in_the_overlap(
    fresh_store: SqlStore, *, restarts: bool
) -> None:
    """One label a tick, each seen by two cycles: 10 minutes before the tick, the overlap is 15 minutes."""
    asked = NOON + 3 * DAY
    labels = [(f"p{number}", asked + number * HOUR - 10 * MINUTE, 0, "1") for number in range(3)]
    monitored = monitored_of(busy_hour([*labels]), fresh_store, windows=(), every=HOUR)

    adding = []
    for as_of in ticks(asked - 2 * HOUR, asked + 3 * HOUR, HOUR):
        if restarts:
            monitored = monitored_of(busy_hour([*labels]), fresh_store, windows=(), every=HOUR)
        monitored.cycle(as_of)
        adding.append(sum(one.labels for one in fresh_store.waiting("late") if one.start == NOON))

    # counted at 71 h; a 24th of the age is a little above 3 h at 74 h
    assert adding == [0, 1, 2, 3, 0]
    assert labelled(fresh_store, NOON) == 3


def test_a_change_of_labels_alone_reads_no_records(fresh_store: SqlStore) -> None:
    source = busy_hour([(f"p{number}", START + 30 * HOUR, 0, "1") for number in range(100)])
    monitored = monitored_of(source, fresh_store, windows=())

    monitored.cycle(START + DAY)
    report, _ = monitored.cycle(START + 2 * DAY)

    assert (report.rows_read, report.label_rows_read) == (25, 426)
    assert facts_of(fresh_store, NOON)[Part.RECORDS].counted_as_of == START + DAY
    assert facts_of(fresh_store, NOON)[Part.LABELS].counted_as_of == START + 2 * DAY


def test_panes_that_labels_change_are_read_at_once_as_far_as_their_own_rows_allow(
    fresh_store: SqlStore,
) -> None:
    """Three panes of 100 records: what the other part read of them is no part of the chunk."""
    evening = NOON + 8 * HOUR
    labels = [(f"p{number}", evening + 10 * MINUTE, 0, "1") for number in range(0, 300, 10)]
    source = MemorySource(predictions_of(NOON + np.arange(300) * (HOUR // 100)), labels_of(labels))
    monitored = monitored_of(source, fresh_store, windows=())
    monitored.change(at_once=AtOnce(200, 300))

    monitored.cycle(evening)
    with patch.object(source, "labelled", wraps=source.labelled) as asked:
        report, _ = monitored.cycle(evening + 20 * MINUTE)

    assert report.label_rows_read == 300
    assert asked.call_count == 1


def test_a_pane_about_to_settle_is_counted_once_more_whatever_its_labels(fresh_store: SqlStore) -> None:
    """One label of 400 waits, until its pane is as old as a window must be."""
    after = 3 * DAY + HOUR // 2
    asked = NOON + HOUR + after
    labels = [("p0", asked - 50 * MINUTE, 0, "1")]
    monitored = monitored_of(
        busy_hour([*labels]), fresh_store, windows=(), every=MINUTE * 30, settle_after=after
    )

    seen = []
    for as_of in ticks(asked - 2 * HOUR, asked + HOUR, HOUR // 2):
        monitored.cycle(as_of)
        seen.append((as_of - asked, waits(fresh_store, NOON), labelled(fresh_store, NOON)))

    assert [(waiting, count) for age, waiting, count in seen if age < 0] == [
        (False, 0),
        (False, 0),
        (True, 0),
    ]
    assert [(waiting, count) for age, waiting, count in seen if age >= 0] == [(False, 1)] * 3


def test_labels_that_become_visible_late_but_within_the_overlap_are_new(fresh_store: SqlStore) -> None:
    """A batch is stamped 10 minutes before it can be seen; a newer label of another pane was seen before."""
    asked = NOON + 3 * DAY
    batch = [(f"p{number}", asked - 10 * MINUTE, 0, "1") for number in range(100)]
    other = ("p450", asked - 5 * MINUTE, 0, "0")
    before, after = busy_hour([other]), busy_hour([*batch, other])
    monitored = monitored_of(before, fresh_store, windows=(), every=HOUR)
    for as_of in ticks(asked - 2 * HOUR, asked, HOUR):
        monitored.cycle(as_of)

    before.labels = after.labels
    monitored.cycle(asked + HOUR)

    assert labelled(fresh_store, NOON) == 100
    assert not waits(fresh_store, NOON)
