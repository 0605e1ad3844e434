"""What labels cost that take three months: rows read for each, never time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource, Range
from picking import pane_of
from synthetic import READING, START, labels_of, monitored_of, predictions_of

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE, ticks_between
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf
from monitor.specs.model_spec import ModelSpec
from monitor.store.sql_store import SqlStore

SPREAD = 90 * DAY
SETTLING = 85 * DAY  # 95 % of evenly spread labels are in
MOST = 3  # rows read for a label, beyond the first count of its pane and one as it settles
EVERY = DAY


@dataclass
class Watched(MemorySource):
    """A log that adds up how many rows labels cost: those of whole counts, those of searches."""

    whole: int = 0
    searched: int = 0

    def read_records_with_labels(self, model: ModelSpec, ranges: Sequence[Range]) -> pa.Table:
        table = super().read_records_with_labels(model, ranges)
        self.whole += table.num_rows
        return table

    def read_relabelled(
        self, model: ModelSpec, *, since: int, cursor: int, as_of: int, bounds: Range
    ) -> Iterator[tuple[Range, pa.Table]]:
        for piece, table in super().read_relabelled(
            model, since=since, cursor=cursor, as_of=as_of, bounds=bounds
        ):
            self.searched += table.num_rows
            yield piece, table


def drawn(rows: int, kind: str) -> Ints:
    """Delays whose last come after 90 days."""
    rng = np.random.default_rng(3)
    days = {
        "uniform": rng.uniform(0, 90, rows),
        "exponential": rng.exponential(20, rows),
        "log-normal": rng.lognormal(np.log(10), 1, rows),
    }[kind]
    return np.asarray(np.minimum(days, 90) * DAY, dtype=np.int64)


@pytest.mark.parametrize(
    ("kind", "one_in"),
    [
        ("uniform", 1),
        pytest.param("exponential", 10, marks=pytest.mark.slow),
        pytest.param("uniform", 10, marks=pytest.mark.long),
        pytest.param("exponential", 1, marks=pytest.mark.long),
        pytest.param("log-normal", 1, marks=pytest.mark.long),
        pytest.param("log-normal", 10, marks=pytest.mark.long),
    ],
)
def test_a_label_costs_at_most_three_rows_whatever_its_delay_and_the_share_ever_labelled(
    sqlite_store: SqlStore, kind: str, one_in: int
) -> None:
    """A pane of 4,000 rows, one with a label a cycle; a tenth of the labels is corrected once."""
    rows = 4_000
    event = START + np.arange(rows) * (HOUR // rows)
    labelled = np.arange(0, rows, one_in)
    reported = event[labelled] + drawn(len(labelled), kind)
    reported[0] = START + HOUR  # from the first cycle on labels are known to come
    told = [(f"p{at}", when, 0, "1") for at, when in zip(labelled.tolist(), reported.tolist(), strict=True)]
    told += [(name, when + DAY, 1, "0") for name, when, _, _ in told[::10]]
    log = Watched(predictions_of(event), labels_of(told))
    reading = replace(READING, horizon=2 * SPREAD)
    monitored = monitored_of(
        log, sqlite_store, reference=False, reading=reading, windows=(), every=EVERY, settle_after=SETTLING
    )

    monitored.cycle(START + EVERY)
    first = log.whole
    for as_of in ticks_between(START + EVERY, START + SPREAD + 2 * DAY, EVERY):
        monitored.cycle(as_of)

    corrected = len(told) - len(labelled)
    assert log.whole - first <= rows + corrected  # as it settles
    assert log.searched <= MOST * len(told) + corrected
    table = log.read_records_with_labels(monitored.model.spec, [(START, START + HOUR)])
    [expected] = count_labels(table, monitored.model.counting, panes=np.asarray([START]), as_of=as_of)
    assert expected.labelled == len(labelled)
    assert pane_of(monitored.model, START, PaneHalf.LABELS) == expected


def test_while_a_log_is_quiet_its_last_panes_are_not_counted_for_ever(sqlite_store: SqlStore) -> None:
    """A night's batch and its labels, each logged at one moment; a cycle every six hours."""
    event = START + np.arange(40) * MINUTE
    last = START + DAY
    told = [(f"p{at}", last, 0, "1") for at in range(40)]
    monitored = monitored_of(
        MemorySource(predictions_of(event), labels_of(told)), sqlite_store, windows=(), every=6 * HOUR
    )

    for as_of in ticks_between(START, START + 8 * DAY, 6 * HOUR):
        monitored.cycle(as_of)

    counted = {
        one.part: one.counted_as_of
        for one in sqlite_store.panes.read_pane_facts("late", START)
        if one.start == START
    }
    assert counted == {PaneHalf.RECORDS: START + 6 * HOUR, PaneHalf.LABELS: last}
    assert START not in {one.start for one in sqlite_store.panes.read_waiting_panes("late")}


def test_a_batch_a_night_costs_as_little(sqlite_store: SqlStore) -> None:
    """While the feed is quiet its last labels are read again once, not in every cycle."""
    event = START + np.arange(400) * (HOUR // 400)
    nights = [START + DAY, START + 2 * DAY]
    told = [(f"p{at}", nights[at % 2], 0, "1") for at in range(400)]
    told += [("p0", START + 2 * HOUR, 0, "0")]  # from the first cycles on labels are known to come
    log = Watched(predictions_of(event), labels_of(told))
    monitored = monitored_of(log, sqlite_store, reference=False, windows=(), every=HOUR)

    for as_of in ticks_between(START, START + 4 * DAY, HOUR):
        monitored.cycle(as_of)

    assert pane_of(monitored.model, START, PaneHalf.LABELS).labelled == 400
    assert 400 <= log.searched <= MOST * len(told)
