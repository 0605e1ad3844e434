"""Figures of the cycle itself: what became visible late, what waits."""

import numpy as np
import pyarrow as pa
from memory import MemorySource
from synthetic import START, labels_of, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.measures.measurement_row import MeasurementRow
from monitor.specs.model_spec import Relation
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NOON = START + 12 * HOUR


def figure(rows: list[MeasurementRow], name: str) -> float | None:
    return next((row.measurement.value for row in rows if (row.measure, row.window) == (name, "")), None)


def at_minutes(*minutes: int, first_id: int = 0) -> pa.Table:
    """Predictions logged when they happen."""
    return predictions_of(np.asarray([NOON + minute * MINUTE for minute in minutes]), first_id=first_id)


def test_rows_and_labels_that_appear_behind_what_was_read_are_late(fresh_store: SqlStore) -> None:
    reports = [("p0", NOON + 55 * MINUTE, 0, "1"), ("p1", NOON + 58 * MINUTE, 0, "0")]
    source = MemorySource(at_minutes(0, 50, 58), labels_of(reports))
    monitored = monitored_of(source, fresh_store, windows=(), every=HOUR)
    _, first = monitored.cycle(NOON + HOUR)
    _, quiet = monitored.cycle(NOON + HOUR + MINUTE)

    source.predictions = pa.concat_tables([source.predictions, at_minutes(52, 57, 70, first_id=3)])
    source.labels = labels_of([*reports, ("p2", NOON + 56 * MINUTE, 0, "1")])
    _, then = monitored.cycle(NOON + 2 * HOUR)
    _, after = monitored.cycle(NOON + 3 * HOUR)

    names = ("late_visible_records", "late_visible_labels")
    assert [figure(first, name) for name in names] == [0, 0]
    assert [figure(quiet, name) for name in names] == [0, 0]
    assert [figure(then, name) for name in names] == [2, 1]
    assert [figure(after, name) for name in names] == [0, 0]


def test_a_row_ahead_of_its_time_is_not_late_when_its_time_comes(fresh_store: SqlStore) -> None:
    logged = np.asarray([NOON - MINUTE, NOON - MINUTE])
    event = np.asarray([NOON - MINUTE, NOON + 10 * MINUTE])
    monitored = monitored_of(
        MemorySource(predictions_of(event, logged=logged), labels_of([])), fresh_store, windows=(), every=HOUR
    )
    monitored.cycle(NOON)

    _, rows = monitored.cycle(NOON + 12 * MINUTE)

    assert figure(rows, "late_visible_records") == 0


def test_what_waits_is_told_and_for_how_long(fresh_store: SqlStore) -> None:
    monitored = monitored_of(log_of(4).source(), fresh_store, windows=(), recount_rows=500, every=HOUR)

    _, first = monitored.cycle(START + 4 * DAY)
    _, second = monitored.cycle(START + 4 * DAY + HOUR)
    for hour in range(2, 12):
        report, rows = monitored.cycle(START + 4 * DAY + hour * HOUR)

    assert (figure(first, "panes_waiting") or 0) > 40
    assert (figure(first, "longest_wait"), figure(second, "longest_wait")) == (0, 3600)
    assert report.panes_waiting == figure(rows, "panes_waiting") == 0
    assert figure(rows, "longest_wait") == 0


def test_the_cycles_own_figures_are_not_those_of_an_audit(fresh_store: SqlStore) -> None:
    source = log_of(2).source()
    monitored_of(source, fresh_store, windows=(), every=HOUR).cycle(START + 2 * DAY)

    _, rows = monitored_of(source, fresh_store, windows=(), every=HOUR).cycle(
        START + 2 * DAY + HOUR
    )  # of a new process

    told = [row.measure for row in rows if row.window == "" and row.version is None]
    assert len(told) == len(set(told))
    assert {"orphan_labels", "panes_waiting"} <= set(told)


def test_a_second_cycle_at_the_same_moment_tells_the_same(fresh_store: SqlStore) -> None:
    source = MemorySource(at_minutes(0, 50, 58), labels_of([]))
    monitored = monitored_of(source, fresh_store, windows=(), every=HOUR)
    monitored.cycle(NOON + HOUR)
    source.predictions = pa.concat_tables([source.predictions, at_minutes(52, first_id=3)])

    _, first = monitored.cycle(NOON + 2 * HOUR)
    _, second = monitored.cycle(NOON + 2 * HOUR)
    _, restarted = monitored_of(source, fresh_store, windows=(), every=HOUR).cycle(NOON + 2 * HOUR)

    assert [figure(rows, "late_visible_records") for rows in (first, second, restarted)] == [1, 1, 1]


def timeless(last_labelled: int) -> MemorySource:
    """Two days without `logged_at`, a row each ten minutes; labels, without `reported_at`, of the first."""
    event = START + np.arange(288) * 10 * MINUTE
    reports = [(f"p{at}", 0, 0, "1") for at in range(last_labelled + 1)]
    return MemorySource(
        predictions_of(event).drop_columns(["logged_at"]), labels_of(reports).drop_columns(["reported_at"])
    )


def ages(source: MemorySource, store: SqlStore, *moments: int) -> list[tuple[float | None, float | None]]:
    """Ages of log and labels in hours, of the cycles of a process."""
    monitored = monitored_of(
        source,
        store,
        predictions=Relation(table="predictions"),
        labels=Relation(table="labels"),
        every=HOUR,
        settle_after=2 * DAY,
        windows=(parse_window("1d", HOUR),),
    )
    found = []
    for moment in moments:
        _, rows = monitored.cycle(moment)
        log, labels = (figure(rows, name) for name in ("log_age", "label_age"))
        found.append((log and log / 3_600, labels and labels / 3_600))
    return found


def test_without_times_of_logging_and_reports_ages_are_those_of_events(fresh_store: SqlStore) -> None:
    source, end = timeless(last_labelled=142), START + 2 * DAY  # of the hour before midnight

    found = ages(source, fresh_store, end, end + HOUR, end + 30 * HOUR)
    again = ages(source, fresh_store, end + 31 * HOUR)  # of a new process

    tenth = 1 / 6  # of the last row
    assert found == [(tenth, 24.0), (1 + tenth, 25.0), (30 + tenth, 54.0)]
    assert again == [(31 + tenth, 55.0)]


def test_labels_that_never_came_are_as_old_as_the_log(fresh_store: SqlStore) -> None:
    ((_, age),) = ages(timeless(last_labelled=-1), fresh_store, START + 2 * DAY)

    assert age == 48.0


def test_a_label_that_comes_makes_the_labels_young_again(fresh_store: SqlStore) -> None:
    source, end = timeless(last_labelled=142), START + 2 * DAY
    ages(source, fresh_store, end)
    source.labels = timeless(last_labelled=287).labels

    ((_, age),) = ages(source, fresh_store, end + HOUR)
    assert age == 1.0


def test_nothing_at_all_has_no_age(fresh_store: SqlStore) -> None:
    nothing = MemorySource(timeless(0).predictions.slice(0, 0), timeless(-1).labels)

    assert ages(nothing, fresh_store, START + DAY) == [(None, None)]
