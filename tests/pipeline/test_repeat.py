"""Cycles are idempotent: repeated, interrupted, refused."""

from collections.abc import Callable
from dataclasses import replace

from synthetic import READING, START, log_of, monitored_of, rows_of

from monitor.core.clock import DAY, HOUR
from monitor.pipeline.cycle import run_cycle
from monitor.pipeline.replay import replay, ticks
from monitor.store.adapter import SqlStore

NewStore = Callable[[], SqlStore]
WIDE = replace(READING, pane=12 * HOUR)  # 240 records a pane: one label is less than 1 % of them


def test_a_second_cycle_at_the_same_as_of_changes_nothing(fresh_store: SqlStore) -> None:
    source = log_of(8, per_day=480).source()
    moments = ticks(START, START + 7 * DAY, DAY)
    list(replay(monitored_of(source, fresh_store, reading=WIDE, audit_every=DAY), moments))
    before = rows_of(fresh_store)

    run_cycle(monitored_of(source, fresh_store, reading=WIDE, audit_every=DAY), moments[-1])

    assert rows_of(fresh_store) == before
