"""Panes wait: for more labels, or for their turn within the budget of rows."""

from collections.abc import Iterable
from unittest.mock import patch

import numpy as np
from memory import ChangingSource, MemorySource
from picking import facts_of
from synthetic import SPEC, START, labels_of, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE, ticks_between
from monitor.measures.measurement_row import MeasurementRow
from monitor.records.pane import PaneHalf
from monitor.specs.protocols import AtOnce
from monitor.store.sql_store import SqlStore

ONE_DAY = SPEC.windows[:1]
NOON = START + 12 * HOUR


def warnings_of(rows: Iterable[MeasurementRow], end: int) -> set[str]:
    measured = (row for row in rows if row.window == "1d" and row.measure != "next_settling")
    return {row.warning for row in measured if row.window_end == end}


def busy_hour(labels: list[tuple[str, int, int, str | None]]) -> MemorySource:
    """An hour of 400 predictions and some labels; in each of the next hours one of both."""
    event = np.concatenate([NOON + np.arange(400) * (HOUR // 400), NOON + np.arange(1, 100) * HOUR])
    others = [(f"p{399 + hour}", NOON + hour * HOUR + 30 * MINUTE, 0, "0") for hour in range(1, 100)]
    return MemorySource(predictions_of(event), labels_of([*labels, *others]))


def waits(store: SqlStore, start: int) -> bool:
    return start in {one.start for one in store.panes.read_waiting_panes("late")}


def labelled(store: SqlStore, start: int) -> int:
    return next(
        one.labelled for one in store.panes.read_pane_facts("late", start) if one.part is PaneHalf.LABELS
    )


def test_what_exceeds_the_budget_waits_is_reported_and_counted_next(fresh_store: SqlStore) -> None:
    """Four days of 240 rows, both parts read: 480 rows a day; a budget of 500 takes about a day a cycle."""
    log = log_of(4)
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY, recount_rows=500, every=HOUR)

    waiting, read = [], []
    for as_of in ticks_between(START + 4 * DAY - HOUR, START + 4 * DAY + 8 * HOUR, HOUR):
        report, _ = monitored.cycle(as_of)
        waiting.append(report.panes_waiting)
        read.append(report.rows_read + report.label_rows_read)

    assert waiting[0] > 60
    assert waiting[:4] == sorted(waiting[:4], reverse=True)
    assert max(waiting[3:]) <= 1
    assert max(read) <= 520
    rows = sum(
        one.rows for one in fresh_store.panes.read_pane_facts("late", START) if one.part is PaneHalf.RECORDS
    )
    assert rows == log.predictions.num_rows


def test_a_window_with_panes_that_wait_for_their_first_count_is_partial_and_not_settled(
    fresh_store: SqlStore,
) -> None:
    source = log_of(10).source()
    monitored = monitored_of(
        source, fresh_store, windows=ONE_DAY, recount_rows=2_500, every=HOUR, settle_after=2 * DAY
    )

    _, first = monitored.cycle(START + 10 * DAY)
    kept = {one.end: one.settled_as_of for one in fresh_store.states.read_windows("late", START)}
    for as_of in ticks_between(START + 10 * DAY, START + 10 * DAY + 6 * HOUR, HOUR):
        report, _ = monitored.cycle(as_of)

    assert warnings_of(first, START + 10 * DAY) == {"partial"}
    assert kept[START + 2 * DAY] == START + 10 * DAY
    assert kept[START + 8 * DAY] is None
    assert report.panes_waiting == 0
    again = {one.end: one.settled_as_of for one in fresh_store.states.read_windows("late", START)}
    assert again[START + 8 * DAY] is not None


def test_at_least_one_pane_is_counted_however_small_the_budget(fresh_store: SqlStore) -> None:
    monitored = monitored_of(log_of(1).source(), fresh_store, windows=(), recount_rows=1, every=HOUR)

    reports = [monitored.cycle(START + DAY + number * HOUR)[0] for number in range(3)]

    assert [report.panes_counted for report in reports] == [1, 1, 1]


def test_a_late_label_counts_in_the_next_cycle(fresh_store: SqlStore) -> None:
    asked = NOON + 2 * DAY
    labels = [("p0", asked - 20 * MINUTE, 0, "1"), ("p1", asked + 20 * MINUTE, 0, "1")]
    monitored = monitored_of(busy_hour([*labels]), fresh_store, windows=(), every=HOUR)

    seen = []
    for as_of in ticks_between(asked - 2 * HOUR, asked + HOUR, HOUR):
        report, _ = monitored.cycle(as_of)
        seen.append((waits(fresh_store, NOON), labelled(fresh_store, NOON), report.label_rows_read))

    assert [(waiting, count) for waiting, count, _ in seen] == [(False, 0), (False, 1), (False, 2)]
    assert seen[-1][2] <= 4  # the label, and the hours' panes, which are counted for the first time


def test_labels_of_a_feed_that_may_change_them_are_counted_once_a_day_and_as_they_settle(
    fresh_store: SqlStore,
) -> None:
    """A label an hour; the pane was counted when it was over, and settles two and a half days later."""
    log = busy_hour([(f"p{hour}", NOON + hour * HOUR + 20 * MINUTE, 0, "1") for hour in range(1, 90)])
    source = ChangingSource(log.predictions, log.labels)
    monitored = monitored_of(
        source, fresh_store, windows=(), every=HOUR, settle_after=2 * DAY + DAY // 2, reference=False
    )

    seen = {}
    for as_of in ticks_between(NOON, NOON + 80 * HOUR, HOUR):
        monitored.cycle(as_of)
        seen[labelled(fresh_store, NOON)] = (as_of - NOON) // HOUR

    assert {count: hours for count, hours in seen.items() if hours > 2} == {
        1: 25,
        25: 49,
        49: 60,
        60: 80,
    }


def test_a_change_of_labels_alone_reads_no_records(fresh_store: SqlStore) -> None:
    source = busy_hour([(f"p{number}", START + 30 * HOUR, 0, "1") for number in range(100)])
    monitored = monitored_of(source, fresh_store, windows=(), settle_after=15 * DAY)

    monitored.cycle(START + DAY)
    report, _ = monitored.cycle(START + 2 * DAY)

    assert (report.rows_read, report.label_rows_read) == (25, 125)
    assert facts_of(fresh_store, NOON)[PaneHalf.RECORDS].counted_as_of == START + DAY
    assert facts_of(fresh_store, NOON)[PaneHalf.LABELS].labelled_as_of == START + 2 * DAY


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
    with patch.object(source, "read_records_with_labels", wraps=source.read_records_with_labels) as asked:
        report, _ = monitored.cycle(evening + 20 * MINUTE)

    assert report.label_rows_read == 300
    assert asked.call_count == 1


def test_labels_that_become_visible_late_but_within_the_overlap_are_new(fresh_store: SqlStore) -> None:
    """A batch is stamped 10 minutes before it can be seen; a newer label of another pane was seen before."""
    asked = NOON + 3 * DAY
    batch = [(f"p{number}", asked - 10 * MINUTE, 0, "1") for number in range(100)]
    other = ("p450", asked - 5 * MINUTE, 0, "0")
    before, after = busy_hour([other]), busy_hour([*batch, other])
    monitored = monitored_of(before, fresh_store, windows=(), every=HOUR)
    for as_of in ticks_between(asked - 2 * HOUR, asked, HOUR):
        monitored.cycle(as_of)

    before.labels = after.labels
    monitored.cycle(asked + HOUR)

    assert labelled(fresh_store, NOON) == 100
    assert not waits(fresh_store, NOON)
