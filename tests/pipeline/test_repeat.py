"""Cycles are idempotent: repeated, interrupted after any commit, refused."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import pytest
from memory import ChangingSource, MemorySource
from picking import labels_as_read
from stopping import Crash, Crashing
from store_examples import read_only
from synthetic import READING, START, log_of, monitored_of, rows_of

from monitor.core.clock import DAY, HOUR, from_iso, ticks_between
from monitor.core.errors import MonitorError, StoreError
from monitor.pipeline import pane_counting
from monitor.pipeline.pane_counting import CycleStopped
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.store.sql_store import SqlStore
from monitor.store.tables.shared_columns import METADATA

NewStore = Callable[[], SqlStore]
WIDE = replace(READING, pane=12 * HOUR)  # 240 records a pane: one label is less than 1 % of them
LAST = START + 5 * DAY


@pytest.fixture(scope="module")
def source() -> MemorySource:
    return log_of(6, per_day=480).source()


def grown(store: SqlStore, source: MemorySource, *, until: int, every: int = DAY) -> SqlStore:
    """The store after the cycles before a moment."""
    monitored_of(source, store, reading=WIDE, audit_every=DAY).replay(START, until - 1, every)
    return store


def copied(store: SqlStore, to: SqlStore) -> SqlStore:
    """Another store with the same rows."""
    with store.engine.connect() as reading, to.engine.begin() as writing:
        for table in METADATA.sorted_tables:
            rows = [dict(row) for row in reading.execute(table.select()).mappings()]
            if rows:
                writing.execute(table.insert(), rows)
    return to


def as_read(store: SqlStore, counting: Counting) -> dict[str, list[Any]]:
    """All rows, labels parts as they are read, but for the rows that cycles read."""
    found: dict[str, list[Any]] = dict(rows_of(store, without=("provenance.rows_read",)))
    del found["differences"]
    of_records = [row for row in found["panes"] if PaneHalf.RECORDS.value in row]
    return found | {"panes": of_records, "labels": labels_as_read(store, counting)}


def test_a_second_cycle_at_the_same_as_of_changes_nothing(
    fresh_store: SqlStore, source: MemorySource
) -> None:
    grown(fresh_store, source, until=LAST + 1)
    before = rows_of(fresh_store)

    monitored_of(source, fresh_store, reading=WIDE, audit_every=DAY).cycle(LAST)

    assert rows_of(fresh_store) == before


def test_a_second_cycle_changes_nothing_while_panes_wait_for_more_labels(
    fresh_store: SqlStore, source: MemorySource
) -> None:
    source = ChangingSource(source.predictions, source.labels)
    grown(fresh_store, source, until=LAST + 1, every=6 * HOUR)
    before = rows_of(fresh_store)

    monitored_of(source, fresh_store, reading=WIDE, audit_every=DAY).cycle(LAST)

    assert before["waiting"] != []
    assert rows_of(fresh_store) == before


def test_an_as_of_before_the_last_tick_is_refused_and_changes_nothing(
    fresh_store: SqlStore, source: MemorySource
) -> None:
    grown(fresh_store, source, until=LAST)
    before = rows_of(fresh_store)

    with pytest.raises(MonitorError, match="lies before its last tick 2024-01-05T00:00:00Z"):
        monitored_of(source, fresh_store, reading=WIDE).cycle(LAST - DAY - HOUR)

    assert rows_of(fresh_store) == before


@pytest.mark.parametrize("days", [1, 5])
def test_a_crash_after_any_commit_leaves_what_an_undisturbed_run_leaves(
    days: int, new_store: NewStore, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the rows that the cycle read, and for when panes were counted whole.

    The second try reads again only what is not committed; where a difference was, it counts the pane whole.
    """
    monkeypatch.setattr(pane_counting, "MOST_PANES", 3)
    until = START + days * DAY
    before = grown(new_store(), source, until=until)
    undisturbed = copied(before, new_store())
    daemon = monitored_of(source, undisturbed, reading=WIDE, audit_every=DAY)
    daemon.cycle(until)
    expected = as_read(undisturbed, daemon.model.counting)

    crashes = 0
    while crashes < 100:
        store = copied(before, new_store())
        crashing = cast("SqlStore", Crashing(store, crashes + 1))
        try:
            monitored_of(source, crashing, reading=WIDE, audit_every=DAY).cycle(until)
        except Crash:
            crashes += 1
        else:
            break
        monitored_of(source, store, reading=WIDE, audit_every=DAY).cycle(until)
        assert as_read(store, daemon.model.counting) == expected

    assert 4 <= crashes < 100


def test_a_store_that_is_read_only_for_a_while_loses_nothing(
    new_store: NewStore, source: MemorySource
) -> None:
    before = grown(new_store(), source, until=LAST)
    store, undisturbed = (copied(before, new_store()) for _ in range(2))
    monitored_of(source, undisturbed, reading=WIDE, audit_every=DAY).cycle(LAST)
    with read_only(store):
        for _ in range(2):
            with pytest.raises(StoreError, match="attempt to write a readonly database"):
                monitored_of(source, store, reading=WIDE, audit_every=DAY).cycle(LAST)
        assert rows_of(store) == rows_of(before)
    with suppress(StoreError):
        store.leases.claim_lease("late", "a", 1)  # what was opened meanwhile is dropped

    monitored_of(source, store, reading=WIDE, audit_every=DAY).cycle(LAST)

    assert rows_of(store) == rows_of(undisturbed)


def test_a_cycle_that_is_stopped_between_two_chunks_is_completed_by_the_next_try(
    new_store: NewStore, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_counting, "MOST_PANES", 3)
    asked = iter([False, True])
    store, undisturbed = (grown(new_store(), source, until=LAST) for _ in range(2))
    monitored_of(source, undisturbed, reading=WIDE).cycle(LAST)

    with pytest.raises(CycleStopped):
        monitored_of(source, store, reading=WIDE).cycle(LAST, stopping=lambda: next(asked))
    monitored_of(source, store, reading=WIDE).cycle(LAST)

    without = ("provenance.rows_read",)
    assert rows_of(store, without=without) == rows_of(undisturbed, without=without)


def test_a_replay_goes_on_where_it_stopped(new_store: NewStore, source: MemorySource) -> None:
    whole, stopped = new_store(), new_store()
    monitored_of(source, whole, reading=WIDE).replay(START, LAST, DAY)

    done = list(islice(monitored_of(source, stopped, reading=WIDE).reports(START, LAST, DAY), 2))
    resumed = monitored_of(source, stopped, reading=WIDE).replay(START, LAST, DAY)

    assert [report.as_of for report in (*done, *resumed)] == ticks_between(START, LAST, DAY)
    assert rows_of(stopped) == rows_of(whole)


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (1_400, [24, 24, 32]),  # a day of 33,600
        (500, [96, 24]),  # four days of 12,000
        (4_500, [11] * 6 + [6, 8]),  # what a day's end would cut to less than a half is left whole
        (60_000, [1] * 80),
    ],
)
def test_chunks_end_with_days_where_they_can(rows: int, sizes: list[int]) -> None:
    start = from_iso("2026-01-05")
    starts = [start + hour * HOUR for hour in range(sum(sizes))]
    chunks = list(pane_counting.chunk_starts(starts, dict.fromkeys(starts, rows)))
    assert [one for chunk in chunks for one in chunk] == starts
    assert [len(chunk) for chunk in chunks] == sizes
