"""What labels cost that take three months: rows read again for each, and counts of a pane, never time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource, Range
from synthetic import READING, START, labels_of, monitored_of, predictions_of

from monitor.core.clock import DAY, HOUR, MINUTE, ticks
from monitor.core.typing import Ints
from monitor.records.pane import Part
from monitor.specs.model import ModelSpec
from monitor.store.adapter import SqlStore
from monitor.windows.recount import Budget, RecountCandidate, choose

SPREAD = 90 * DAY
SETTLING = 85 * DAY  # 95 % of evenly spread labels are in
MOST = 200


def budget(every: int = HOUR, *, rows: int = 2_000_000) -> Budget:
    return Budget(rows=rows, pane=HOUR, every=every, settling_age=SETTLING)


@dataclass
class Pane:
    """A pane that was counted once, when its hour was over; its labels come at these ages, ascending."""

    start: int
    rows: int
    ages: Ints
    counted: int = 0
    known: int = 0
    counts: int = 1
    since: int = 0

    def __post_init__(self) -> None:
        self.counted = self.start + HOUR

    def waiting(self, as_of: int) -> RecountCandidate | None:
        """The pane as it waits for a count, if it has new labels."""
        labels = int(np.searchsorted(self.ages, as_of - self.start, side="right")) - self.known
        if labels == 0:
            return None
        self.since = self.since or as_of
        return RecountCandidate(
            start=self.start,
            since=self.since,
            records_changed=False,
            labels=labels,
            counted_as_of=self.counted,
            rows=2 * self.rows,
            records=self.rows,
        )

    def count(self, as_of: int) -> int:
        """Count it again; new labels."""
        known = int(np.searchsorted(self.ages, as_of - self.start, side="right"))
        new, self.known = known - self.known, known
        self.counted, self.counts, self.since = as_of, self.counts + 1, 0
        return new


def lived(pane: Pane, every: int = HOUR, *, until: int = SPREAD + 2 * DAY) -> Pane:
    """A pane after a life of cycles."""
    for as_of in range(pane.start + 2 * HOUR, pane.start + until + 1, every):
        waiting = pane.waiting(as_of)
        if waiting and choose([waiting], as_of, budget(every)):
            pane.count(as_of)
    return pane


def even(rows: int) -> Ints:
    return (np.arange(1, rows + 1) * (SPREAD / rows)).astype(np.int64)


def drawn(rows: int, kind: str) -> Ints:
    """Delays whose last come after 90 days."""
    rng = np.random.default_rng(3)
    days = {
        "uniform": lambda: rng.uniform(0, 90, rows),
        "exponential": lambda: rng.exponential(20, rows),
        "log-normal": lambda: rng.lognormal(np.log(10), 1, rows),
    }[kind]()
    return np.sort((np.minimum(days, 90) * DAY).astype(np.int64))


@pytest.mark.parametrize("kind", ["uniform", "exponential", "log-normal"])
@pytest.mark.parametrize("rows", [4_000, 5_000_000])
def test_a_pane_is_counted_at_most_200_times_and_200_rows_are_read_for_a_label(rows: int, kind: str) -> None:
    pane = lived(Pane(0, rows, drawn(rows, kind)))

    assert pane.known == rows
    assert pane.counts <= MOST
    assert (pane.counts - 1) * rows / rows <= MOST


def test_a_pane_of_five_million_rows_labelled_evenly_is_counted_as_often_as_the_manual_says() -> None:
    assert lived(Pane(0, 5_000_000, even(5_000_000))).counts == 163


def test_where_a_fifth_is_ever_labelled_a_pane_is_counted_no_more_often() -> None:
    pane = lived(Pane(0, 4_000, even(800)))

    assert pane.known == 800
    assert pane.counts <= MOST


def fleet(rows: int) -> tuple[list[Pane], int]:
    """Panes of the last 90 days as hourly cycles have left them, and now: labels spread evenly."""
    now, ages, panes = 2 * SPREAD, even(rows), []
    grown = Pane(0, rows, ages)
    for hour in range(1, SPREAD // HOUR + 1):
        if hour > 1:
            waiting = grown.waiting(hour * HOUR)
            if waiting and choose([waiting], hour * HOUR, budget()):
                grown.count(hour * HOUR)
        start = now - hour * HOUR
        since = start + grown.since if grown.since else 0
        panes.append(Pane(start, rows, ages, known=grown.known, since=since))
        panes[-1].counted = start + grown.counted
    return panes, now


def test_at_4000_rows_an_hour_at_most_200_rows_are_read_for_a_label_and_none_waits_for_its_turn() -> None:
    """Two days of hourly cycles over all panes of the last 90 days, with the default budget of rows."""
    panes, now = fleet(4_000)
    read = labels = 0

    for as_of in range(now + HOUR, now + 49 * HOUR, HOUR):
        panes.append(Pane(as_of - HOUR, 4_000, even(4_000)))
        by_start = {pane.start: pane for pane in panes}
        waiting = [one for pane in panes if (one := pane.waiting(as_of))]
        chosen = choose(waiting, as_of, budget())
        assert len(chosen) == len(choose(waiting, as_of, budget(rows=10**12)))
        for one in chosen:
            read += one.records
            labels += by_start[one.start].count(as_of)

    assert labels == pytest.approx(48 * 4_000, rel=0.05)
    assert 150 <= read / labels <= 170


@dataclass
class Watched(MemorySource):
    """A log that notes whose labels are read: rows by pane, once for each count."""

    read: list[tuple[int, int]] = field(default_factory=list)

    def labelled(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        table = super().labelled(model, ranges)
        event = np.asarray(table["event_time"])
        starts, rows = np.unique(event - event % HOUR, return_counts=True)
        self.read += list(zip(starts.tolist(), rows.tolist(), strict=True))
        return table


def counts_of(log: Watched, store: SqlStore, every: int) -> Iterator[int]:
    """Moments at which the first pane's labels are counted, by real cycles over 45 days."""
    reading = replace(READING, horizon=2 * SPREAD)
    monitored = monitored_of(
        log, store, reference=False, reading=reading, windows=(), every=every, settle_after=SETTLING
    )
    for as_of in ticks(START, START + SPREAD // 2, every):
        before = len(log.read)
        monitored.cycle(as_of)
        if any(start == START for start, _ in log.read[before:]):
            yield as_of


def test_real_cycles_count_a_pane_when_the_rule_says_so(sqlite_store: SqlStore) -> None:
    """400 rows, labelled evenly over 90 days; a second pane has a label a minute before each cycle."""
    rows, every = 400, 12 * HOUR
    reported = START + even(rows) + 50 * MINUTE  # never in the overlap of the next cycle
    event = START + np.concatenate([np.arange(rows), rows + np.arange(200)]) * (HOUR // rows)
    told = [(f"p{at}", moment, 0, "1") for at, moment in enumerate(reported.tolist())]
    told += [(f"p{rows + at}", START + (at + 1) * every - MINUTE, 0, "1") for at in range(200)]
    log = Watched(predictions_of(event), labels_of(told))

    moments = list(counts_of(log, sqlite_store, every))

    rule = Pane(START, rows, reported - START)
    rule.counted, expected = moments[0], [moments[0]]
    rule.known = int((reported <= moments[0]).sum())
    for as_of in ticks(moments[0], START + SPREAD // 2, every):
        waiting = rule.waiting(as_of)
        if waiting and choose([waiting], as_of, budget(every)):
            rule.count(as_of)
            expected.append(as_of)
    assert moments == expected
    assert sum(read for start, read in log.read if start == START) == len(moments) * rows
    facts = {one.part: one for one in sqlite_store.facts("late", START) if one.start == START}
    assert (facts[Part.LABELS].records, facts[Part.LABELS].labelled) == (rows, rule.known)


def test_while_a_log_is_quiet_its_last_panes_are_not_counted_for_ever(sqlite_store: SqlStore) -> None:
    """A night's batch and its labels, each logged at one moment; a cycle every six hours."""
    event = START + np.arange(40) * MINUTE
    last = START + DAY
    told = [(f"p{at}", last, 0, "1") for at in range(40)]
    monitored = monitored_of(
        MemorySource(predictions_of(event), labels_of(told)), sqlite_store, windows=(), every=6 * HOUR
    )

    for as_of in ticks(START, START + 8 * DAY, 6 * HOUR):
        monitored.cycle(as_of)

    counted = {one.part: one.counted_as_of for one in sqlite_store.facts("late", START) if one.start == START}
    assert counted == {Part.RECORDS: START + 6 * HOUR, Part.LABELS: last + 12 * HOUR}
    assert START not in {one.start for one in sqlite_store.waiting("late")}
