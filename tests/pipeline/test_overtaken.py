"""A cycle whose lease ran out while it paused writes nothing after another process took the model over."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, log_of, monitored_of, rows_of

from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.errors import LeaseLost
from monitor.pipeline import pane_counting
from monitor.specs.model_spec import ModelSpec
from monitor.specs.protocols import Lease, Range
from monitor.store.sql_store import SqlStore

WIDE = replace(READING, pane=12 * HOUR)
EARLIER, LATER = START + 3 * DAY, START + 4 * DAY


@dataclass
class Pausing(MemorySource):
    """A log whose reader pauses once in the middle of a read."""

    pause: Callable[[], None] = lambda: None
    where: str = ""

    def read_changed_records(
        self, model: ModelSpec, *, since: int | None, as_of: int, bounds: Range
    ) -> pa.Table:
        return self._paused(
            "changes", super().read_changed_records(model, since=since, as_of=as_of, bounds=bounds)
        )

    def read_records(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        return self._paused("records", super().read_records(model, ranges))

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        return self._paused("labels", super().read_records_with_labels(model, ranges))

    def _paused(self, where: str, table: pa.Table) -> pa.Table:
        if where == self.where:
            self.where = ""
            self.pause()
        return table


@pytest.fixture(scope="module")
def source() -> MemorySource:
    return log_of(5, per_day=480).source()


def overtake(store: SqlStore, source: MemorySource) -> None:
    """A later cycle of another process, start to end."""
    token = store.leases.claim_lease("late", "b", MINUTE)
    assert token is not None
    monitored_of(source, store, reading=WIDE).cycle(
        LATER, lease=Lease(token, MINUTE, time.monotonic, time.monotonic())
    )
    store.leases.release_lease("late", token)


def expired(store: SqlStore) -> Lease:
    """A lease that is over as soon as it begins, and is not renewed to any effect."""
    token = store.leases.claim_lease("late", "a", 0)
    assert token is not None
    return Lease(token, 0, time.monotonic, 0.0)


@pytest.mark.parametrize("where", ["changes", "labels", "records"])
def test_a_cycle_that_is_overtaken_while_it_reads_leaves_what_the_other_wrote(
    where: str, store: SqlStore, source: MemorySource
) -> None:
    after: list[object] = []

    def pause() -> None:
        overtake(store, source)
        after.append(rows_of(store))

    pausing = Pausing(source.predictions, source.labels, pause=pause, where=where)
    with pytest.raises(LeaseLost):
        monitored_of(pausing, store, reading=WIDE).cycle(EARLIER, lease=expired(store))

    assert after == [rows_of(store)]
    assert {facts.counted_as_of for facts in store.panes.read_pane_facts("late", 0)} == {LATER}


def test_a_cycle_that_is_overtaken_between_two_chunks_leaves_what_the_other_wrote(
    store: SqlStore, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_counting, "MOST_PANES", 2)
    after: list[object] = []
    asked = iter(range(100))

    def stopping() -> bool:
        if next(asked) == 1:
            overtake(store, source)
            after.append(rows_of(store))
        return False

    with pytest.raises(LeaseLost, match='model "late": another process has taken it over'):
        monitored_of(source, store, reading=WIDE).cycle(EARLIER, lease=expired(store), stopping=stopping)

    assert after == [rows_of(store)]


def test_a_lease_is_renewed_between_chunks(
    store: SqlStore, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pane_counting, "MOST_PANES", 2)
    others: list[int | None] = []
    lease = replace(expired(store), ttl=MINUTE, renewed=float("-inf"))

    def stopping() -> bool:
        if store.panes.read_pane_facts("late", 0):
            others.append(store.leases.claim_lease("late", "b", MINUTE))
        return False

    monitored_of(source, store, reading=WIDE).cycle(EARLIER, lease=lease, stopping=stopping)

    assert len(others) > 1
    assert set(others) == {None}
    assert store.states.read_state("late").as_of == EARLIER


def test_a_lease_is_renewed_between_pieces_of_a_long_search_for_labels(
    store: SqlStore, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored_of(source, store, reading=WIDE).cycle(EARLIER)
    others: list[int | None] = []
    lease, relabelled = replace(expired(store), ttl=MINUTE, renewed=float("-inf")), source.read_relabelled

    def pieces(*spec: Any, **span: Any) -> Iterator[Any]:
        for piece in relabelled(*spec, **span):
            yield piece
            others.append(store.leases.claim_lease("late", "b", MINUTE))

    monkeypatch.setattr(source, "read_relabelled", pieces)
    monitored_of(source, store, reading=WIDE).cycle(LATER, lease=lease)

    assert others == [None, None]
    assert store.states.read_state("late").as_of == LATER
