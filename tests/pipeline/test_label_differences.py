"""After every cycle each pane's labels are what a whole count finds then, whatever came or was killed."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from differing import differing
from memory import MemorySource
from picking import facts_of, only, pane_of
from stopping import Crash, Crashing
from synthetic import (
    READING,
    SPEC,
    START,
    Monitored,
    labels_of,
    log_of,
    monitored_of,
    predictions_of,
    reference_rows,
)

from monitor.core.clock import DAY, HOUR, MINUTE, ticks_between
from monitor.core.errors import StoreError
from monitor.pipeline.audit import DECIDED, WRONG
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.labels.label_differences import LabelDifferences as Added
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ComparedArms
from monitor.specs.model_spec import Relation
from monitor.specs.stored_rows import HistoryEvent, PaneFacts
from monitor.store.pane_rows import PaneRepository
from monitor.store.sql_store import SqlStore

OVERLAP = 15 * MINUTE  # as configured
WIDE = replace(
    READING,
    versioned=True,
    arms=ComparedArms(column="arm", control="control", treatment="treatment"),
    segments=("carrier",),
    horizon=3 * DAY,
)
HOURS = 60
Row = dict[str, Any]


@dataclass
class History:
    """A log and its labels as they become visible: rows with the moment at which each can be seen."""

    rng: np.random.Generator
    only_for: tuple[str, ...] = ()
    predictions: list[tuple[int, Row]] = field(default_factory=list)
    labels: list[tuple[int, Row]] = field(default_factory=list)

    def live(self, now: int) -> None:
        """An hour goes by before a moment."""
        for _ in range(int(self.rng.integers(3, 12))):
            self._predict(now - int(self.rng.integers(1, HOUR)))
        for _ in range(int(self.rng.integers(0, 12))):
            self._label(now - int(self.rng.integers(0, HOUR)))

    def source(self, now: int) -> MemorySource:
        """What can be seen."""
        return MemorySource(_table(self.predictions, now, _PREDICTION), _table(self.labels, now, _LABEL))

    def _predict(self, event: int) -> None:
        """A prediction, some of them again, an hour later, or of another version."""
        logged = event + int(self.rng.choice([0, 5 * MINUTE]))
        row: Row = {
            "id": f"p{self.rng.integers(0, 400)}",
            "event_time": event,
            "logged_at": logged,
            "version": str(self.rng.choice(["v1", "v2"])),
            "arm": str(self.rng.choice(["control", "treatment", "what"])),
            "segment:carrier": str(self.rng.choice(["AA", "UA", "DL"])),
            "score": round(float(self.rng.random()), 3),
            "feature:temp": 1.0,
            "feature:carrier": "AA",
        }
        self.predictions.append((logged + self._late(), row))

    def _label(self, reported: int) -> None:
        """A label of anything: new, a correction, a retraction, of no prediction yet."""
        row = {
            "id": f"p{self.rng.integers(0, 400)}",
            "reported_at": reported,
            "revision": float(self.rng.integers(0, 3)),
            "label": [None, "0", "0", "0", "1", "1", "1", "what"][self.rng.integers(0, 8)],
        }
        self.labels.append((reported + self._late(), row))

    def _late(self) -> int:
        """How long after its time a row can be seen: within the overlap."""
        return int(self.rng.choice([0, 0, 0, OVERLAP - MINUTE]))


_TYPES = {"event_time": pa.int64(), "logged_at": pa.int64(), "reported_at": pa.int64()}
_TYPES |= {"revision": pa.float64(), "score": pa.float64(), "feature:temp": pa.float64()}
_PREDICTION = ["id", "event_time", "logged_at", "version", "arm", "segment:carrier", "score"]
_PREDICTION += ["feature:temp", "feature:carrier"]
_LABEL = ["id", "reported_at", "revision", "label"]


def _table(rows: list[tuple[int, Row]], now: int, names: list[str]) -> pa.Table:
    seen = [row for moment, row in rows if moment <= now]
    return pa.table(
        {name: pa.array([row[name] for row in seen], _TYPES.get(name, pa.string())) for name in names}
    )


def stored(store: SqlStore, counting: Counting) -> dict[int, PanePart]:
    """Labels parts as they are kept."""
    starts = [
        facts.start for facts in store.panes.read_pane_facts("late", 0) if facts.part is PaneHalf.LABELS
    ]
    return store.panes.load_panes("late", PaneHalf.LABELS, starts, counting)


def counted(source: MemorySource, counting: Counting, panes: list[int], as_of: int) -> dict[int, PanePart]:
    """The same panes, counted whole now."""
    table = source.read_records_with_labels(None, [(0, 2**62)])  # type: ignore[arg-type]
    parts = count_labels(table, counting, panes=np.asarray(panes, np.int64), as_of=as_of)
    return {part.start: part for part in parts}


@dataclass
class Differences:
    """What differences did in a store: panes moved."""

    moved: int = 0

    def of(self, store: SqlStore) -> SqlStore:
        """The store, watched."""
        return _Watched(store, self)  # type: ignore[return-value]


@dataclass
class _Watched:
    store: SqlStore
    seen: Differences

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    @property
    def panes(self) -> Any:
        return _WatchedPanes(self.store.panes, self.seen)


@dataclass
class _WatchedPanes:
    panes: PaneRepository
    seen: Differences

    def __getattr__(self, name: str) -> Any:
        return getattr(self.panes, name)

    def add_differences(self, model: str, new: Added, *rest: Any, **options: Any) -> None:
        self.seen.moved += len(new.start)
        self.panes.add_differences(model, new, *rest, **options)


def monitored(history: History, store: Any, now: int) -> Monitored:
    rows = reference_rows()
    rows = rows.append_column("segment:carrier", rows["feature:carrier"])
    source = history.source(now)
    wide = replace(WIDE, only_for=history.only_for)
    return monitored_of(source, store, reading=wide, table=rows, windows=(), every=HOUR, audit_every=DAY)


def lived(history: History, store: SqlStore, *, kills: bool) -> Iterator[tuple[Monitored, int]]:
    """Cycles of one daemon, or of two by turns, some killed after one of their transactions and run again."""
    differences, rng = Differences(), history.rng
    daemons = [monitored(history, differences.of(store), START) for _ in range(2)]
    for hour in range(1, HOURS):
        now = START + hour * HOUR
        history.live(now)
        at = int(rng.random() < 0.3) if kills else 0
        if kills and rng.random() < 0.3:  # another daemon takes over: its caches are those of the store
            daemons[at] = monitored(history, differences.of(store), now)
        if kills and rng.random() < 0.4:
            with suppress(Crash):
                monitored(history, Crashing(store, int(rng.integers(1, 4))), now).cycle(now)
            daemons = [monitored(history, differences.of(store), now) for _ in range(2)]
        daemons[at].change(source=history.source(now))
        daemons[at].cycle(now)
        daemons[1 - at] = monitored(history, differences.of(store), now)
        yield daemons[at], now
    assert differences.moved > 30


@pytest.mark.parametrize(
    ("seed", "kills"),
    [
        (0, True),
        pytest.param(1, False, marks=pytest.mark.slow),
        *(
            pytest.param(seed, kills, marks=pytest.mark.long)
            for seed in range(6)
            for kills in (False, True)
            if (seed, kills) not in {(0, True), (1, False)}
        ),
    ],
)
def test_after_each_cycle_every_pane_is_a_whole_count(
    fresh_store: SqlStore, seed: int, *, kills: bool
) -> None:
    history = History(np.random.default_rng([seed, kills]), only_for=("0",) if seed % 2 else ())

    for daemon, now in lived(history, fresh_store, kills=kills):
        kept = stored(fresh_store, daemon.model.counting)
        within = [start for start in kept if start >= daemon.model.find_horizon_start(now)]
        waiting = {pane.start for pane in fresh_store.panes.read_waiting_panes("late")}
        assert not waiting
        assert {start: kept[start] for start in within} == counted(
            history.source(now), daemon.model.counting, within, now
        )


def test_labels_of_old_records_count_in_the_next_cycle_though_nothing_says_when_records_were_logged(
    fresh_store: SqlStore,
) -> None:
    log = log_of(4, per_day=48, delay=lambda rng, event: rng.integers(3 * DAY, 5 * DAY, len(event)))
    source = MemorySource(log.predictions.drop_columns(["logged_at"]), log.labels)
    rare: dict[str, Any] = {"windows": (), "settle_after": 15 * DAY, "lookback": DAY}
    daemon = monitored_of(
        source, fresh_store, reference=False, predictions=Relation(table="predictions"), **rare
    )
    reported = np.asarray(log.labels["reported_at"])

    for now in ticks_between(START, START + 9 * DAY, DAY):
        daemon.cycle(now)
        kept, heard = stored(fresh_store, daemon.model.counting), reported[reported <= now]
        assert kept == counted(source, daemon.model.counting, list(kept), now)
        assert fresh_store.states.read_state("late").reported_cursor == (heard.max() if len(heard) else None)


NOON = START + 12 * HOUR


def labelled_log(*labels: tuple[str, int, int, str | None]) -> MemorySource:
    """An hour of 60 predictions, a few in each later hour; a label of each of the 60, and further ones."""
    event = np.concatenate([NOON + np.arange(60) * MINUTE, NOON + np.arange(1, 100) * HOUR])
    early = [(f"p{at}", NOON + 90 * MINUTE + at, 0, "1") for at in range(60)]
    return MemorySource(predictions_of(event), labels_of([*early, *labels]))


def cycled(store: SqlStore, source: MemorySource, until: int, **options: Any) -> Monitored:
    """Hourly cycles from noon on; nothing settles."""
    rare: dict[str, Any] = {"windows": (), "every": HOUR, "audit_every": DAY, "settle_after": 15 * DAY}
    daemon = monitored_of(source, store, reference=False, **rare, **options)
    for now in ticks_between(NOON, until, HOUR):
        daemon.cycle(now)
    return daemon


def at_noon(store: SqlStore) -> PaneFacts:
    return facts_of(store, NOON)[PaneHalf.LABELS]


def corrected(at: int, when: int) -> tuple[str, int, int, str]:
    return f"p{at}", when, 1, "0"


def test_a_difference_moves_a_moment_of_its_own(fresh_store: SqlStore) -> None:
    daemon = cycled(fresh_store, labelled_log(corrected(3, NOON + 5 * HOUR)), NOON + 6 * HOUR)
    facts = at_noon(fresh_store)

    assert (facts.counted_as_of, facts.labelled_as_of) == (NOON + 2 * HOUR, NOON + 5 * HOUR)
    assert facts.labelled == facts.rows == 60
    assert daemon.caches.last is not None
    assert not daemon.caches.last.whole_labels


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"predictions": replace(SPEC.predictions, where="score > 0")}, id="a condition"),
        pytest.param(
            {"labels": Relation(table="others", columns=(("reported_at", "reported_at"),))}, id="a table"
        ),
    ],
)
def test_a_pane_that_was_read_by_another_mapping_is_counted_whole(
    fresh_store: SqlStore, change: dict[str, Any]
) -> None:
    source = labelled_log(corrected(3, NOON + 5 * HOUR), corrected(4, NOON + 7 * HOUR))
    daemon = cycled(fresh_store, source, NOON + 6 * HOUR)
    daemon = daemon.other(spec=replace(daemon.model.spec, **change))

    daemon.cycle(NOON + 7 * HOUR)

    assert at_noon(fresh_store).counted_as_of == NOON + 7 * HOUR


def test_a_pane_with_a_label_without_a_time_is_counted_whole(fresh_store: SqlStore) -> None:
    source = labelled_log(corrected(3, NOON + 5 * HOUR))
    daemon = cycled(fresh_store, source, NOON + 4 * HOUR)
    labels = source.labels
    assert labels is not None
    reported = [None if at == 3 else moment for at, moment in enumerate(labels["reported_at"].to_pylist())]
    daemon.change(
        source=MemorySource(
            source.predictions, labels.set_column(1, "reported_at", pa.array(reported, pa.int64()))
        )
    )

    daemon.cycle(NOON + 5 * HOUR)

    assert at_noon(fresh_store).counted_as_of == NOON + 5 * HOUR


def test_a_label_that_becomes_visible_within_the_overlap_has_its_pane_counted_whole(
    fresh_store: SqlStore,
) -> None:
    """One that goes meanwhile leaves as many: the moments tell."""
    first = labelled_log(corrected(3, NOON + 5 * HOUR - 2), corrected(4, NOON + 5 * HOUR))
    later = labelled_log(corrected(5, NOON + 5 * HOUR - 1), corrected(4, NOON + 5 * HOUR))
    daemon = cycled(fresh_store, first, NOON + 5 * HOUR)
    daemon.change(source=later)

    daemon.cycle(NOON + 6 * HOUR)

    assert at_noon(fresh_store).counted_as_of == NOON + 6 * HOUR
    [expected] = count_labels(
        later.read_records_with_labels(SPEC, [(NOON, NOON + HOUR)]),
        daemon.model.counting,
        panes=np.asarray([NOON]),
        as_of=NOON + 6 * HOUR,
    )
    assert pane_of(daemon.model, NOON, PaneHalf.LABELS) == expected


def test_a_pane_that_settles_is_counted_whole_once_if_differences_moved_it(fresh_store: SqlStore) -> None:
    source = labelled_log(*(corrected(at, NOON + (2 + at) * HOUR + MINUTE) for at in range(40)))
    daemon = monitored_of(
        source, fresh_store, reference=False, windows=(), every=HOUR, settle_after=30 * HOUR
    )

    counted = set()
    for now in ticks_between(NOON, NOON + 45 * HOUR, HOUR):
        daemon.cycle(now)
        if now > NOON:
            counted.add((at_noon(fresh_store).counted_as_of - NOON) // HOUR)

    assert counted == {1, 2, 31}


def test_an_audit_that_finds_a_difference_wrong_has_labels_counted_whole_until_somebody_decides(
    fresh_store: SqlStore,
) -> None:
    """A correction that a difference has added is gone when the day's audit looks."""
    there = [corrected(4, NOON + 60 * HOUR), corrected(5, NOON + 100 * HOUR)]
    daemon = cycled(fresh_store, labelled_log(corrected(3, NOON + 5 * HOUR), *there), NOON + 20 * HOUR)
    daemon.change(source=labelled_log(*there))
    for now in ticks_between(NOON + 20 * HOUR, NOON + 51 * HOUR, HOUR):
        _, rows = daemon.cycle(now)

    [event] = fresh_store.events.read_events("late", WRONG)
    assert '"panes": 1' in event.detail
    assert only(rows, "labels_counted_whole").measurement.value == 1
    assert at_noon(fresh_store).counted_as_of == event.at

    again = daemon.other()  # another process knows it too
    for now in ticks_between(NOON + 51 * HOUR, NOON + 75 * HOUR, HOUR):
        again.cycle(now)
    assert at_noon(fresh_store).counted_as_of == at_noon(fresh_store).labelled_as_of == event.at + DAY

    fresh_store.events.append_events(
        [HistoryEvent(model="late", at=NOON + 75 * HOUR, kind=DECIDED, who="ann", why="looked")]
    )
    decided = daemon.other()
    for now in ticks_between(NOON + 75 * HOUR, NOON + 101 * HOUR, HOUR):
        _, rows = decided.cycle(now)
    assert only(rows, "labels_counted_whole").measurement.value == 0
    assert at_noon(fresh_store).labelled_as_of == NOON + 100 * HOUR


def test_labels_later_than_the_overlap_are_found_by_the_audit_and_nothing_is_called_wrong(
    fresh_store: SqlStore,
) -> None:
    event = predictions_of(np.concatenate([NOON + np.arange(60) * MINUTE, NOON + np.arange(1, 100) * HOUR]))
    some = [(f"p{at}", NOON + 90 * MINUTE + at, 0, "1") for at in range(30)]
    moved = ("p40", NOON + 5 * HOUR, 0, "1")
    late = ("p41", NOON + 3 * HOUR, 0, "1")
    daemon = cycled(fresh_store, MemorySource(event, labels_of([*some, moved])), NOON + 20 * HOUR)
    daemon.change(source=MemorySource(event, labels_of([*some, moved, late])))

    for now in ticks_between(NOON + 20 * HOUR, NOON + 51 * HOUR, HOUR):
        daemon.cycle(now)

    assert at_noon(fresh_store).labelled == 32
    assert fresh_store.events.read_events("late", WRONG) == []


def test_of_two_processes_that_write_labels_one_does(store: SqlStore) -> None:
    daemon = cycled(store, labelled_log(corrected(3, NOON + 5 * HOUR)), NOON + 6 * HOUR)
    layout = daemon.model.counting.hash_stored_layout(daemon.model.counting.labels_layout)
    part, facts = pane_of(daemon.model, NOON, PaneHalf.LABELS), at_noon(store)
    writes, _ = store.panes.read_differences("late", layout)
    added = differing(daemon.model.counting.labels_layout.size, [(part, part)], [(NOON, 7, 8, 9)], NOON + DAY)

    for late in (writes, writes - 1, writes + 2):
        with pytest.raises(StoreError, match='panes of "late": another process has counted them meanwhile'):
            store.panes.add_differences("late", added, layout, writes=late)
        with pytest.raises(StoreError, match="another process"):
            store.panes.save_panes(
                "late", PaneHalf.LABELS, [part], layout=layout, as_of=NOON + DAY, writes=late
            )

    assert at_noon(store) == facts
    store.panes.add_differences("late", added, layout, writes=writes + 1)
    moved = replace(facts, labelled=7, checksum=8, newest=9, labelled_as_of=NOON + DAY)
    assert at_noon(store) == moved
    assert pane_of(daemon.model, NOON, PaneHalf.LABELS).labelled == 7
    store.panes.save_panes(
        "late", PaneHalf.LABELS, [part], layout=layout, as_of=NOON + DAY, writes=writes + 2
    )
    assert at_noon(store).labelled == part.labelled, "counted whole since: the difference is in it"
    assert store.panes.read_differences("late", layout) == (writes + 2, [])


@pytest.mark.parametrize("first", [True, False], ids=["first search", "later search"])
def test_a_label_of_a_record_that_is_not_logged_yet_is_not_heard_of(
    first: bool,  # noqa: FBT001 -- of a parametrized test
    fresh_store: SqlStore,
) -> None:
    """A daemon that looked then could not join it: one that replays the log must not either."""
    event = NOON + np.arange(60) * MINUTE
    logged = np.where(np.arange(60) == 4, NOON + 9 * HOUR, event)
    late = predictions_of(event, logged=logged)
    told = labels_of([("p3", NOON + HOUR, 0, "1"), ("p4", NOON + 2 * HOUR, 0, "1")])
    daemon = monitored_of(
        MemorySource(late, told), fresh_store, reference=False, windows=(), every=HOUR, settle_after=DAY
    )
    if not first:
        daemon.cycle(NOON + HOUR)

    daemon.cycle(NOON + 3 * HOUR)
    assert fresh_store.states.read_state("late").reported_cursor == NOON + HOUR
    daemon.cycle(NOON + 9 * HOUR)
    assert at_noon(fresh_store).labelled == 2
