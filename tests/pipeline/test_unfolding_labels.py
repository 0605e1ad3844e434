"""Labels that take ten days, by cycles: a change is told before they are in; a restart finds the same."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, Monitored, log_of, monitored_of
from test_days_of_cycles import OPTIONS, NewStore

from monitor.alerts.alert_rules import ACCEPTED
from monitor.alerts.lifecycle import make_acceptance
from monitor.core.array_types import Ints
from monitor.core.change import Change
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import CodecError
from monitor.evidence.early_labels import BASELINE_DAYS
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.pipeline.sequential.judge_days import ALL_LABELS
from monitor.pipeline.sequential.unfolding_days import (
    UnfoldingChange,
    UnfoldingDay,
    pack_unfolding_day,
    unfolding_key,
    unpack_unfolding_day,
)
from monitor.specs.stored_rows import HistoryEvent

DAYS, DRIFT, DELAY = 76, 62, 10
SLOW = OPTIONS | {"every": DAY, "reading": replace(READING, horizon=40 * DAY, pane=DAY)}


def after_days(rng: np.random.Generator, event: Ints) -> Ints:
    """Labels that come between 6 and 14 days later."""
    return (rng.uniform(6.0, 14.0, len(event)) * DAY).astype(np.int64)


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log in which a third of the negatives is positive from a day on."""
    log = log_of(DAYS, per_day=150, delay=after_days)
    labels = log.labels
    event = dict(
        zip(log.predictions["id"].to_pylist(), log.predictions["event_time"].to_pylist(), strict=True)
    )
    drifted = np.asarray([event[one] >= START + DRIFT * DAY for one in labels["id"].to_pylist()])
    flipped = drifted & (np.random.default_rng(2).random(len(labels)) < 0.33)
    label = np.where(flipped, "1", np.asarray(labels["label"]))
    changed = labels.set_column(labels.column_names.index("label"), "label", pa.array(label, pa.string()))
    return MemorySource(log.predictions, changed)


def evidence_on(monitored: Monitored, day: int, offset: int = 0) -> tuple[float, Change | None]:
    """Evidence of performance at the end of a day."""
    _, rows = monitored.cycle(START + day * DAY + offset)
    found = [row for row in rows if row.measure == EVIDENCE and not row.subject and row.segment is None]
    return (found[-1].measurement.value or 0.0, found[-1].measurement.change) if found else (0.0, None)


def test_a_change_is_told_before_its_labels_are_in_and_after_a_restart(
    source: MemorySource, new_store: NewStore
) -> None:
    store = new_store()
    monitored = monitored_of(source, store, **SLOW)
    told: list[tuple[int, Change | None]] = []
    for day in range(2, DAYS + 1):
        if day % 20 == 0:
            monitored = monitored_of(source, store, **SLOW)
        value, change = evidence_on(monitored, day)
        told += [(day, change)] if value > 1 else []

    assert told
    first, change = told[0]
    # The labels of the first day after the change are judged at 13 days; the second day's a day later.
    assert DRIFT + 6 <= first <= DRIFT + DELAY
    assert change is not None
    assert (change.kind, change.category, change.rises) == ("labels_so_far", "1", True)
    assert change.outcomes is not None
    assert change.outcomes.observed > change.outcomes.expected
    assert [day for day, _ in told] == list(range(first, DAYS + 1)), "it stands from then on"


def test_a_process_that_goes_on_and_one_that_restarts_each_day_keep_the_same(
    source: MemorySource, new_store: NewStore
) -> None:
    stores = [new_store(), new_store()]
    going_on = monitored_of(source, stores[0], **SLOW)
    for day in range(40, 52):
        going_on.cycle(START + day * DAY)
        monitored_of(source, stores[1], **SLOW).cycle(START + day * DAY)

    key = unfolding_key(going_on.model.counting)
    one, other = (store.ledger.read_days("late", ALL_LABELS.part, key, 99) for store in stores)
    assert [day.blob for day in one] == [day.blob for day in other]
    assert len(one) == 12


def test_a_tick_that_comes_a_day_late_leaves_its_day_out(source: MemorySource, new_store: NewStore) -> None:
    monitored = monitored_of(source, new_store(), **SLOW | {"every": HOUR})

    monitored.cycle(START + 20 * DAY)
    monitored.cycle(START + 21 * DAY + 20 * HOUR)
    monitored.cycle(START + 24 * DAY + 2 * HOUR)

    assert monitored.caches.last is not None
    kept = monitored.caches.last.watched[ALL_LABELS].unfolding.days
    first = kept[0].day
    assert [one.day - first for one in kept] == [0, 2, 4]
    assert [(one.known[0] < 0).any() for one in kept] == [False, True, False]


def test_a_day_is_kept_exactly_and_damage_is_named() -> None:
    known = np.arange(-4, 60 * 4 - 4).reshape(60, 2, 2)
    day = UnfoldingDay(19_800, known, UnfoldingChange(19_790, 3.5, 84.0, 60.25, -1), UnfoldingChange())

    packed = pack_unfolding_day(day)
    again = unpack_unfolding_day(packed)

    assert (again.day, again.relation, again.feed) == (day.day, day.relation, day.feed)
    assert np.array_equal(again.known, known)
    assert len(packed) < 20 * BASELINE_DAYS
    with pytest.raises(CodecError, match="damaged row of unfolding labels"):
        unpack_unfolding_day(packed[:-3])


def test_what_was_accepted_is_told_no_more_while_it_lasts(source: MemorySource, new_store: NewStore) -> None:
    store, seen = new_store(), START + 72 * DAY
    monitored = monitored_of(source, store, **SLOW)
    for day in range(16, 73):
        monitored.cycle(START + day * DAY)
    found = [alert for _, alert in store.alerts.read_alerts("late") if not alert.series.subject]
    (alert,) = [alert for alert in found if not alert.series.segment]
    detail = make_acceptance(alert, seen - DAY, seen, None).detail_json()
    store.events.append_events(
        [HistoryEvent(model="late", at=seen, kind=ACCEPTED, subject=str(alert.series), detail=detail)]
    )

    assert [evidence_on(monitored, day)[0] > 1 for day in range(73, DAYS + 1)] == [False] * 4
    assert monitored.caches.last is not None
    newest = monitored.caches.last.watched[ALL_LABELS].unfolding.newest
    assert newest is not None
    assert newest.relation.since == -1
