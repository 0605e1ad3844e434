"""Labels that take weeks: at which age days are judged by them, and stores that learnt a wrong one."""

from dataclasses import replace

import numpy as np
import pytest
from memory import MemorySource
from synthetic import READING, START, Monitored, log_of, monitored_of
from test_days_of_cycles import OPTIONS, NewStore

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, SECOND
from monitor.pipeline.sequential.judge_days import PartKey, first_days_key
from monitor.records.codec import encode_parts
from monitor.records.pane import PaneHalf, PanePart
from monitor.specs.stored_rows import KeptDay
from monitor.store.ledger_rows import append_days
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import write_transaction

DELAY, DAYS = 14, 44
SLOW = OPTIONS | {"every": DAY, "reading": replace(READING, horizon=40 * DAY)}


def exactly(_: np.random.Generator, event: Ints) -> Ints:
    """Labels that are all exactly as late."""
    return np.full(len(event), DELAY * DAY, dtype=np.int64)


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log whose labels take a fortnight."""
    log = log_of(DAYS, per_day=100, delay=exactly)
    return MemorySource(log.predictions, log.labels)


def judged_labels(monitored: Monitored, *, again: bool = False) -> list[KeptDay]:
    """The first days whose labels were taken."""
    key = first_days_key(monitored.model.counting, PartKey(PaneHalf.LABELS, False), again=again)
    return monitored.model.store.ledger.read_days("late", PaneHalf.LABELS, key, 99)


def test_days_are_judged_once_their_labels_are_in(source: MemorySource, new_store: NewStore) -> None:
    monitored = monitored_of(source, new_store(), **SLOW)

    for day in range(2, DAYS + 1):
        monitored.cycle(START + day * DAY)

    first = judged_labels(monitored)
    assert {day.age for day in first} == {DELAY + 1}
    assert monitored.caches.last is not None
    part = monitored.caches.last.watched[PartKey(PaneHalf.LABELS, False)]
    assert part.watch is not None, "a fortnight of days with labels tells what is watched"
    assert all(record.samples.any() for record in part.records)


def test_an_age_at_which_no_label_was_in_is_learnt_anew(source: MemorySource, new_store: NewStore) -> None:
    """As earlier versions had learnt it: after a day, at which no label is in, for ever."""
    store = new_store()
    monitored = monitored_of(source, store, **SLOW)
    _keep_days_without_labels(monitored, store)

    for day in (*range(20, 40, 5), *range(40, DAYS + 1)):
        monitored.cycle(START + day * DAY)

    assert {day.age for day in judged_labels(monitored)} == {1}, "what was kept is left as it is"
    assert {day.age for day in judged_labels(monitored, again=True)} == {DELAY + 1}
    restarted = monitored_of(source, store, **SLOW)
    restarted.cycle(START + (DAYS + 1) * DAY)
    assert restarted.caches.last is not None
    assert restarted.caches.last.watched[PartKey(PaneHalf.LABELS, False)].watch is not None


def test_labels_that_have_never_come_have_not_stopped(source: MemorySource, new_store: NewStore) -> None:
    monitored = monitored_of(source, new_store(), **SLOW)

    ages = [label_age(monitored, day) for day in range(1, DAYS + 1)]

    first = ages.index(next(age for age in ages if age is not None)) + 1
    assert first == DELAY + 1, "the first day on which a label is in"
    assert max(age for age in ages if age is not None) < DAY / SECOND


def test_labels_that_have_not_come_for_a_whole_horizon_have_stopped(
    source: MemorySource, new_store: NewStore
) -> None:
    assert source.labels is not None
    never = MemorySource(source.predictions, source.labels.slice(0, 0))
    monitored = monitored_of(never, new_store(), **SLOW)

    assert [label_age(monitored, day) is None for day in (1, 20, 38, 41)] == [True, True, True, False]


def label_age(monitored: Monitored, day: int) -> float | None:
    """For how long no label has come, at the end of a day."""
    _, rows = monitored.cycle(START + day * DAY)
    (row,) = (row for row in rows if row.measure == "label_age")
    return row.measurement.value


def _keep_days_without_labels(monitored: Monitored, store: SqlStore) -> None:
    key = first_days_key(monitored.model.counting, PartKey(PaneHalf.LABELS, False))
    days = []
    for at in range(14):
        start, end = START + at * DAY, START + (at + 1) * DAY
        blob = encode_parts([PanePart(start, {})])[0]
        days.append(
            KeptDay(key=key, part=PaneHalf.LABELS, start=start, end=end, due=end + DAY, age=1, blob=blob)
        )
    with write_transaction(store.engine) as connection:
        append_days(connection, store.run, "late", days)
