"""The audit finds what no cursor shows: deletions, updates in place, rows that became visible long after."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from keyed_models import with_changes
from memory import MemorySource
from picking import facts_of, pane_of
from synthetic import SPEC, START, Log, Monitored, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.pipeline.audit import audit_log
from monitor.pipeline.changes.dirty_panes import find_changes
from monitor.records.pane import PaneHalf
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import CycleReport
from monitor.states.strata import WHOLE
from monitor.store.sql_store import SqlStore

Change = Callable[[Log], Log]
NOON = START + 2 * DAY + 12 * HOUR


def at_noon(log: Log) -> list[str]:
    """Ids of the third day's hour from noon on."""
    event = np.asarray(log.predictions["event_time"])
    return list(np.asarray(log.predictions["id"])[(event >= NOON) & (event < NOON + HOUR)])


def facts(store: SqlStore, start: int) -> dict[PaneHalf, tuple[int, int, int]]:
    """Rows, records, labelled of a stored pane."""
    stored = facts_of(store, start)
    return {part: (fact.rows, fact.records, fact.labelled) for part, fact in stored.items()}


def audited(
    store: SqlStore, before: Log, after: Log, *, at: int = 7, audit_every: int = DAY
) -> tuple[Monitored, CycleReport]:
    """A week on one log, then one more cycle on what became of it."""
    monitored = monitored_of(before.source(), store, windows=SPEC.windows[:1], audit_every=audit_every)
    for day in range(1, at):
        monitored.cycle(START + day * DAY)
    monitored.change(source=after.source())
    return monitored, monitored.cycle(START + at * DAY)[0]


def relabelled(log: Log, ids: list[str], to: str) -> Log:
    """Labels of some ids updated in place: nothing but the value moves."""
    mine = pc.is_in(log.labels["id"], value_set=pa.array(ids, pa.string()))
    label = pc.if_else(mine, to, log.labels["label"])
    return Log(log.predictions, log.labels.set_column(3, "label", label))


@pytest.fixture(scope="module")
def log() -> Log:
    return log_of(8, never=0.0)


def test_deleted_rows_are_found(fresh_store: SqlStore, log: Log) -> None:
    audited(fresh_store, log, log.without(ids=at_noon(log)[:4]))

    assert facts(fresh_store, NOON) == {PaneHalf.RECORDS: (6, 6, 0), PaneHalf.LABELS: (6, 6, 6)}


def test_a_pane_whose_rows_are_all_gone_is_emptied(fresh_store: SqlStore, log: Log) -> None:
    audited(fresh_store, log, log.without(ids=at_noon(log)))

    assert facts(fresh_store, NOON) == {PaneHalf.RECORDS: (0, 0, 0), PaneHalf.LABELS: (0, 0, 0)}


def test_without_an_audit_deletions_go_unseen(fresh_store: SqlStore, log: Log) -> None:
    """The first cycle audits; the next audit is a week later."""
    audited(fresh_store, log, log.without(ids=at_noon(log)[:4]), audit_every=7 * DAY)

    assert facts(fresh_store, NOON)[PaneHalf.RECORDS] == (10, 10, 0)


def test_rows_that_become_visible_long_after_their_logged_at_are_found(
    fresh_store: SqlStore, log: Log
) -> None:
    late = predictions_of(np.asarray([NOON + 7 * MINUTE]), first_id=90_000)

    audited(fresh_store, log, Log(pa.concat_tables([log.predictions, late]), log.labels))

    assert facts(fresh_store, NOON)[PaneHalf.RECORDS] == (11, 11, 0)


def test_a_row_replaced_by_another_is_found_by_the_newest_logged_at(fresh_store: SqlStore, log: Log) -> None:
    """As many rows as before."""
    gone = log.without(ids=at_noon(log)[-1:])
    other = predictions_of(np.asarray([NOON + 7 * MINUTE]), first_id=90_000)

    audited(fresh_store, log, Log(pa.concat_tables([gone.predictions, other]), gone.labels))

    newest = {
        one.start: one.newest
        for one in fresh_store.panes.read_pane_facts("late", NOON)
        if one.part is PaneHalf.RECORDS
    }
    expected = np.asarray(gone.predictions["logged_at"])
    assert newest[NOON] == expected[expected < NOON + HOUR].max()


def test_a_row_gone_and_another_come_late_are_found_where_neither_is_the_newest(
    fresh_store: SqlStore, log: Log
) -> None:
    """As many rows as before, and the same newest one."""
    gone = log.without(ids=at_noon(log)[:1])
    other = predictions_of(np.asarray([NOON + 7 * MINUTE]), first_id=90_000)

    audited(fresh_store, log, Log(pa.concat_tables([gone.predictions, other]), gone.labels))

    counted = {one.start: one.counted_as_of for one in fresh_store.panes.read_pane_facts("late", NOON)}
    assert counted[NOON] == START + 7 * DAY
    assert facts(fresh_store, NOON) == {PaneHalf.RECORDS: (10, 10, 0), PaneHalf.LABELS: (10, 10, 9)}


def test_deleted_labels_are_found(fresh_store: SqlStore, log: Log) -> None:
    audited(fresh_store, log, log.without(labels_of=at_noon(log)[:3]))

    assert facts(fresh_store, NOON)[PaneHalf.LABELS] == (10, 10, 7)


def test_labels_that_become_visible_long_after_their_reported_at_are_found(
    fresh_store: SqlStore, log: Log
) -> None:
    audited(fresh_store, log.without(labels_of=at_noon(log)[:3]), log)

    assert facts(fresh_store, NOON)[PaneHalf.LABELS] == (10, 10, 10)


def test_a_replay_compares_labels_with_the_ticks_that_are_shown_alone(
    fresh_store: SqlStore, log: Log
) -> None:
    """It lives a year in minutes: what a hand changes meanwhile is found at its last tick."""
    monitored = monitored_of(log.source(), fresh_store, windows=SPEC.windows[:1], audit_every=DAY)
    monitored.replay(START, START + 6 * DAY, DAY)
    monitored.change(source=log.without(labels_of=at_noon(log)[:3]).source())

    monitored.cycle(START + 7 * DAY, shown=False)
    before = facts(fresh_store, NOON)[PaneHalf.LABELS]
    monitored.replay(START + 7 * DAY, START + 8 * DAY, DAY)

    assert fresh_store.states.read_state("late").audited_as_of == START + 8 * DAY
    assert (before, facts(fresh_store, NOON)[PaneHalf.LABELS]) == ((10, 10, 10), (10, 10, 7))


def of_panes(store: SqlStore, start: int) -> tuple[int, bytes]:
    """Checksum and counters of a stored labels part."""
    pane = pane_of(monitored_of(log_of(1).source(), store).model, start, PaneHalf.LABELS)
    return pane.checksum, pane.strata[WHOLE].value.tobytes()


@pytest.mark.parametrize("after", ["0000000000", "0000000001", "0101010101"])
def test_labels_updated_in_place_are_found_also_where_they_change_places(
    after: str, new_store: Callable[[], SqlStore], log: Log
) -> None:
    """After the audit the pane is as in a store that never saw the labels before."""
    ids = at_noon(log)

    def with_labels(labels: str) -> Log:
        zeros = relabelled(log, ids, "0")
        return relabelled(zeros, [name for name, label in zip(ids, labels, strict=True) if label == "1"], "1")

    updated, fresh = new_store(), new_store()

    audited(updated, with_labels("1010101010"), with_labels(after))

    audited(fresh, with_labels(after), with_labels(after))
    assert of_panes(updated, NOON) == of_panes(fresh, NOON)


def test_an_audit_that_finds_nothing_counts_nothing_again(fresh_store: SqlStore, log: Log) -> None:
    monitored, _ = audited(fresh_store, log, log)
    monitored.change(audit_every=0)
    counted = {
        (one.start, one.part): one.counted_as_of for one in fresh_store.panes.read_pane_facts("late", START)
    }

    monitored.cycle(START + 7 * DAY)

    assert fresh_store.states.read_state("late").audited_as_of == START + 7 * DAY
    again = {
        (one.start, one.part): one.counted_as_of for one in fresh_store.panes.read_pane_facts("late", START)
    }
    assert again == counted


def test_rows_gone_at_the_old_end_are_the_logs_own_retention(fresh_store: SqlStore, log: Log) -> None:
    """Everything before half past noon is gone: that pane and those before it stay as they were counted."""
    cut = NOON + 30 * MINUTE
    kept = Log(log.predictions.filter(pc.greater_equal(log.predictions["event_time"], cut)), log.labels)

    audited(fresh_store, log, kept)

    assert facts(fresh_store, NOON)[PaneHalf.RECORDS] == (10, 10, 0)
    assert facts(fresh_store, START + DAY)[PaneHalf.RECORDS] == (10, 10, 0)


@pytest.mark.parametrize(("counted", "labelled"), [("from the start on", 10), ("not before", 5)])
def test_a_label_of_a_pane_whose_first_rows_the_retention_took_empties_nothing(
    counted: str, labelled: int, fresh_store: SqlStore, log: Log
) -> None:
    """The label is added to what is known of the pane."""
    last, kept = at_noon(log)[-1:], log.predictions["event_time"]
    before = log.without(labels_of=last)
    purged = Log(log.predictions.filter(pc.greater_equal(kept, NOON + 25 * MINUTE)), before.labels)
    monitored, _ = audited(fresh_store, before if counted == "from the start on" else purged, purged)
    monitored.change(source=purged.with_labels((last[0], START + 7 * DAY + HOUR, 0, "1")).source())

    monitored.cycle(START + 7 * DAY + 2 * HOUR)

    assert facts(fresh_store, NOON)[PaneHalf.LABELS][2] == labelled
    assert NOON not in {one.start for one in fresh_store.panes.read_waiting_panes("late")}


def test_a_row_that_comes_late_into_such_a_pane_leaves_what_the_log_has_of_it(
    fresh_store: SqlStore, log: Log
) -> None:
    purged = log.predictions.filter(pc.greater_equal(log.predictions["event_time"], NOON + 25 * MINUTE))
    monitored, _ = audited(fresh_store, log, Log(purged, log.labels))
    logged = np.asarray([START + 7 * DAY + HOUR])
    late = predictions_of(np.asarray([NOON + 40 * MINUTE]), first_id=90_000, logged=logged)
    monitored.change(source=Log(pa.concat_tables([purged, late]), log.labels).source())

    monitored.cycle(START + 7 * DAY + 2 * HOUR)

    assert facts(fresh_store, NOON)[PaneHalf.RECORDS] == (6, 6, 0)


def test_a_superseded_label_that_is_deleted_is_found(fresh_store: SqlStore, log: Log) -> None:
    """The winner and the newest report stay; the number of corrections, and the delay, do not."""
    first, *_ = at_noon(log)
    corrected = log.with_labels((first, START + 5 * DAY, 1, "1"))
    superseded = pc.and_(pc.equal(corrected.labels["id"], first), pc.equal(corrected.labels["revision"], 0))
    after = Log(corrected.predictions, corrected.labels.filter(pc.invert(superseded)))

    _, report = audited(fresh_store, corrected, after)

    assert report.label_rows_read
    counted = {
        (one.start, one.part): one.counted_as_of for one in fresh_store.panes.read_pane_facts("late", NOON)
    }
    assert counted[NOON, PaneHalf.LABELS] == START + 7 * DAY


def test_a_log_that_is_gone_altogether_empties_nothing(fresh_store: SqlStore, log: Log) -> None:
    audited(fresh_store, log, Log(log.predictions.slice(0, 0), log.labels.slice(0, 0)))

    assert facts(fresh_store, NOON)[PaneHalf.RECORDS] == (10, 10, 0)


@dataclass
class Measuring(MemorySource):
    """A source that says how many rows of labels were read."""

    read: int = 0

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[tuple[int, int]]) -> pa.Table:
        table = super().read_records_with_labels(model, ranges)
        self.read += table.num_rows
        return table


def test_labels_of_a_large_log_are_compared_by_turns(fresh_store: SqlStore, log: Log) -> None:
    """Labels all taken away: panes that have rested a day are found in turns, each within the budget."""
    monitored, _ = audited(fresh_store, log, log)
    labelled = {
        one.start
        for one in fresh_store.panes.read_pane_facts("late", START)
        if one.part is PaneHalf.LABELS and one.labelled
    }
    source = Measuring(log.predictions, log.labels.slice(0, 0))
    monitored.change(source=source, spec=with_changes(monitored.model.spec, recount_rows=600))

    found: set[int] = set()
    reads = []
    for day in (8, 9, 10):
        as_of, source.read = START + day * DAY, 0
        model, panes = monitored.model, monitored.caches.panes
        changes = find_changes(model, panes, fresh_store.states.read_state("late"), as_of)
        waiting = audit_log(model, panes, changes, (), as_of).waiting
        found |= {pane.start for pane in waiting if pane.part is PaneHalf.LABELS}
        reads.append(source.read)

    assert found == labelled
    assert max(reads) <= 600
    assert sum(reads) <= log.predictions.num_rows
