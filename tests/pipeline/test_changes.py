"""What changed in the log is counted: late, future, repeated, corrected, retracted, early, orphaned."""

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from picking import facts_of, only, pane_of
from synthetic import READING, SPEC, START, Log, Monitored, labels_of, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.records.counting import VOLUME
from monitor.records.pane import PaneHalf
from monitor.states.strata import WHOLE
from monitor.store.sql_store import SqlStore

DAYS = SPEC.windows[:1]
NOON = START + 12 * HOUR


def volume(monitored: Monitored, start: int) -> dict[str, int]:
    """The volumes of a stored pane."""
    pane = pane_of(monitored.model, start, PaneHalf.RECORDS)
    return dict(zip(VOLUME, pane.strata[WHOLE].dense_block("volume").tolist(), strict=True))


def tally(monitored: Monitored, start: int) -> tuple[int, int, int, int]:
    """Records, labelled, corrections, retracted of a stored pane."""
    pane = pane_of(monitored.model, start, PaneHalf.LABELS)
    counted = monitored.model.counting.tally_view(pane.strata[WHOLE])
    return counted.records, counted.labelled, counted.corrections, counted.retracted


def hour_of(*minutes: int, first_id: int = 0, logged: list[int] | None = None) -> pa.Table:
    """Predictions at some minutes after noon of the first day."""
    event = np.asarray([NOON + minute * MINUTE for minute in minutes], dtype=np.int64)
    when = None if logged is None else np.asarray(logged, dtype=np.int64)
    return predictions_of(event, first_id=first_id, logged=when)


def both(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables)


def test_a_row_that_is_logged_late_is_counted_in_its_pane(fresh_store: SqlStore) -> None:
    late = hour_of(10, first_id=1, logged=[START + 2 * DAY + HOUR])
    monitored = monitored_of(MemorySource(both(hour_of(5), late), labels_of(())), fresh_store, windows=DAYS)

    counts = []
    for day in (1, 2, 3):
        monitored.cycle(START + day * DAY)
        counts.append(volume(monitored, NOON)["records"])

    assert counts == [1, 1, 2]


def test_an_event_30_days_ahead_moves_no_window_and_is_counted_when_its_time_comes(
    fresh_store: SqlStore,
) -> None:
    ahead = START + 32 * DAY + 7 * HOUR
    future = predictions_of(np.asarray([ahead]), first_id=10_000, logged=np.asarray([START + 2 * DAY]))
    log = log_of(34, per_day=48)
    source = MemorySource(both(log.predictions, future), log.labels)
    with_it = monitored_of(source, fresh_store, windows=DAYS, audit_every=DAY)

    ends, seen = [], []
    for day in range(1, 35):
        _, rows = with_it.cycle(START + day * DAY)
        ends.append(max(row.window_end for row in rows if row.window == "1d"))
        seen.append(only(rows, "future_records", window_end=START + day * DAY).measurement.value)
        if day < 33:
            assert PaneHalf.RECORDS not in facts_of(fresh_store, START + 32 * DAY + 7 * HOUR)

    assert ends == [START + day * DAY for day in range(1, 35)]
    assert (
        fresh_store.states.read_state("late").logged_cursor == source.predictions["logged_at"].to_numpy()[-2]
    )
    assert volume(with_it, ahead)["records"] == 3
    assert seen[:1] == [0]
    # the audit looks at most a horizon (20 days) ahead
    assert [day for day, count in enumerate(seen, start=1) if count] == list(range(13, 33))


def test_a_row_within_the_tolerance_is_no_future(fresh_store: SqlStore) -> None:
    ahead = predictions_of(np.asarray([START + DAY + 4 * MINUTE]), logged=np.asarray([START + DAY]))
    monitored = monitored_of(MemorySource(ahead, labels_of(())), fresh_store, windows=DAYS)

    monitored.cycle(START + DAY)

    assert volume(monitored, START + DAY)["records"] == 1


def test_a_repeated_id_counts_once_and_its_repeats_are_counted(fresh_store: SqlStore) -> None:
    again = hour_of(20, logged=[START + DAY + HOUR])
    monitored = monitored_of(MemorySource(both(hour_of(5), again), labels_of(())), fresh_store, windows=DAYS)

    monitored.cycle(START + DAY)
    before = volume(monitored, NOON)
    _, rows = monitored.cycle(START + 2 * DAY)

    assert (before["records"], before["duplicates"]) == (1, 0)
    after = volume(monitored, NOON)
    assert (after["records"], after["duplicates"]) == (1, 1)
    assert only(rows, "records", window_end=START + 2 * DAY).measurement.value == 0


def test_labels_are_corrected_and_taken_back_as_they_are_reported(fresh_store: SqlStore) -> None:
    labels = labels_of(
        [
            ("p0", START + 14 * HOUR, 0, "0"),
            ("p0", START + DAY + HOUR, 1, "1"),
            ("p0", START + 2 * DAY + HOUR, 2, None),
            ("p1", START + 15 * HOUR, 0, "1"),
        ]
    )
    monitored = monitored_of(MemorySource(hour_of(5, 10, 15), labels), fresh_store, windows=DAYS)

    tallies, sums = [], []
    for day in (1, 2, 3):
        monitored.cycle(START + day * DAY)
        tallies.append(tally(monitored, NOON))
        sums.append(facts_of(fresh_store, NOON)[PaneHalf.LABELS].checksum)

    assert tallies == [(3, 2, 0, 0), (3, 2, 1, 0), (3, 1, 2, 1)]
    assert len(set(sums)) == 3


def test_a_label_that_comes_before_its_prediction_is_counted_with_it(fresh_store: SqlStore) -> None:
    predictions = both(hour_of(5), hour_of(10, first_id=1, logged=[START + 2 * DAY + HOUR]))
    labels = labels_of([("p1", START + 13 * HOUR, 0, "1")])
    monitored = monitored_of(MemorySource(predictions, labels), fresh_store, windows=DAYS, audit_every=DAY)

    before = []
    for day in (1, 3):
        monitored.cycle(START + day * DAY)
        before.append(tally(monitored, NOON)[:2])

    assert before == [(1, 0), (2, 1)]


def test_orphans_are_counted_by_the_audit_and_disturb_nothing(fresh_store: SqlStore) -> None:
    labels = labels_of([("nobody", START + 13 * HOUR, 0, "1"), ("p0", START + 13 * HOUR, 0, "1")])
    monitored = monitored_of(MemorySource(hour_of(5), labels), fresh_store, windows=DAYS, audit_every=DAY)

    _, rows = monitored.cycle(START + DAY)

    assert only(rows, "orphan_labels", window_end=START + DAY).measurement.value == 1
    assert tally(monitored, NOON) == (1, 1, 0, 0)


def test_a_row_without_logged_at_reads_as_logged_at_its_event(fresh_store: SqlStore) -> None:
    table = both(hour_of(5), hour_of(10, first_id=1))
    logged = pa.array([None, NOON + 11 * MINUTE], pa.int64())
    table = table.set_column(table.column_names.index("logged_at"), "logged_at", logged)
    monitored = monitored_of(MemorySource(table, labels_of(())), fresh_store, windows=DAYS)

    monitored.cycle(START + DAY)

    assert volume(monitored, NOON) == {
        "records": 2,
        "duplicates": 0,
        "stale": 0,
        "adjusted_times": 0,
        "no_logged_at": 1,
    }


def test_the_horizon_is_cut_at_a_panes_start(fresh_store: SqlStore) -> None:
    log = log_of(24, per_day=48)
    as_of = START + 22 * DAY + 30 * MINUTE
    monitored = monitored_of(log.source(), fresh_store, windows=DAYS)

    monitored.cycle(as_of)

    starts = [
        one.start for one in fresh_store.panes.read_pane_facts("late", 0) if one.part is PaneHalf.RECORDS
    ]
    assert min(starts) == as_of - READING.horizon + 30 * MINUTE
    assert {volume(monitored, start)["records"] for start in starts[:48]} == {2}


def test_windows_that_reach_before_the_first_counted_pane_are_partial(fresh_store: SqlStore) -> None:
    """The first cycle, in the middle of a day, cuts that day: a window that begins with it is partial."""
    log = log_of(24, per_day=48)
    as_of = START + 22 * DAY + 15 * HOUR
    monitored = monitored_of(log.source(), fresh_store, windows=DAYS)

    monitored.cycle(as_of)

    found = fresh_store.snapshots.read_snapshot_rows(
        model="late", window="1d", measure="records", segment="", version=""
    )
    by_end = {stored.row.window_end: (stored.row.measurement.value, stored.row.warning) for stored in found}
    first = START + 2 * DAY + 15 * HOUR
    assert by_end[START + 3 * DAY] == (18, "partial")
    assert by_end[START + 4 * DAY] == (48, "")
    assert min(by_end) > first


def test_the_first_day_of_a_log_is_whole_though_it_begins_in_the_morning(fresh_store: SqlStore) -> None:
    predictions = predictions_of(START + 5 * HOUR + np.arange(300) * 10 * MINUTE)
    monitored = monitored_of(MemorySource(predictions, labels_of(())), fresh_store)

    monitored.cycle(START + DAY)
    _, rows = monitored.cycle(START + 2 * DAY)

    warnings = {(row.window, row.warning) for row in rows if row.measure == "records"}
    assert warnings == {("1d", ""), ("7d", "partial")}


def test_the_previous_panes_are_read_again_for_rows_that_were_in_the_future(fresh_store: SqlStore) -> None:
    """Logged at noon for 18 o'clock: at the tick of 13 o'clock it is no record, at 19 o'clock it is one."""
    early = predictions_of(np.asarray([START + 18 * HOUR]), logged=np.asarray([NOON]))
    monitored = monitored_of(
        MemorySource(both(hour_of(5, first_id=1), early), labels_of(())),
        fresh_store,
        windows=DAYS,
        every=HOUR,
    )

    monitored.cycle(START + 13 * HOUR)
    before = facts_of(fresh_store, START + 18 * HOUR)
    monitored.cycle(START + 19 * HOUR)

    assert PaneHalf.RECORDS not in before
    assert volume(monitored, START + 18 * HOUR)["records"] == 1


@pytest.mark.parametrize("late", [10 * MINUTE, 14 * MINUTE])
def test_a_row_that_becomes_visible_within_the_overlap_is_found(fresh_store: SqlStore, late: int) -> None:
    seen = MemorySource(hour_of(5, 30), labels_of(()))
    hidden = both(seen.predictions, hour_of(31 - late // MINUTE, first_id=2))
    monitored = monitored_of(seen, fresh_store, windows=DAYS, every=HOUR)

    monitored.cycle(NOON + HOUR)
    monitored.change(source=MemorySource(hidden, labels_of(())))
    monitored.cycle(NOON + 2 * HOUR)

    assert volume(monitored, NOON)["records"] == 3


def test_rows_that_are_seen_again_in_the_overlap_are_counted_once(fresh_store: SqlStore) -> None:
    """Logged 5 minutes before the tick of 13 o'clock: that of 14 o'clock sees it again, and reads no row."""
    source = MemorySource(hour_of(5, 55), labels_of(()))
    monitored = monitored_of(source, fresh_store, windows=DAYS, every=HOUR)

    reports = [monitored.cycle(NOON + hours * HOUR)[0] for hours in (1, 2)]

    assert [report.rows_read for report in reports] == [2, 0]


def test_an_empty_log_is_a_cycle_without_windows(fresh_store: SqlStore) -> None:
    empty = Log(predictions_of(np.empty(0, np.int64)), labels_of(()))
    monitored = monitored_of(empty.source(), fresh_store, audit_every=DAY)

    report, rows = monitored.cycle(START + DAY)

    assert {row.window for row in rows} == {""}
    assert (report.rows_read, report.snapshots) == (0, 0)
    assert fresh_store.states.read_state("late").as_of == START + DAY


def test_a_day_without_records_is_a_measurement_of_none(fresh_store: SqlStore) -> None:
    monitored = monitored_of(log_of(1).source(), fresh_store, windows=DAYS)

    monitored.cycle(START + DAY)
    _, rows = monitored.cycle(START + 3 * DAY)

    assert only(rows, "records", window_end=START + 3 * DAY).measurement.value == 0


def test_a_label_that_is_reported_later_is_no_orphan_yet(fresh_store: SqlStore) -> None:
    labels = labels_of([("nobody", START + 2 * DAY, 0, "1"), ("none", START + 2 * DAY + 1, 0, "1")])
    monitored = monitored_of(MemorySource(hour_of(5), labels), fresh_store, windows=DAYS, audit_every=DAY)

    cycles = [monitored.cycle(START + day * DAY)[1] for day in (1, 2, 3)]
    orphans = [only(rows, "orphan_labels").measurement.value for rows in cycles]

    assert orphans == [0, 1, 1]


def test_how_old_a_log_is_does_not_depend_on_rows_that_come_later(fresh_store: SqlStore) -> None:
    """A replay finds the row that was logged on the third day; the cycle as of the first must not."""
    log = log_of(1)
    stale = predictions_of(
        np.asarray([START - 25 * DAY]), first_id=90_000, logged=np.asarray([START + 2 * DAY])
    )
    source = MemorySource(pa.concat_tables([log.predictions, stale]), log.labels)

    monitored_of(source, fresh_store, windows=DAYS).cycle(START + DAY)

    assert fresh_store.states.read_state("late").oldest == np.asarray(log.predictions["event_time"]).min()
