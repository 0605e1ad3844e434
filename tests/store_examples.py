"""Rows, panes and references for tests of the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from row_examples import row_of
from sqlalchemy import event

from monitor.alerts.alert_messages import Notice
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.counting import Counting
from monitor.records.pane import PanePart
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions
from monitor.records.reference import Reference
from monitor.specs.stored_rows import LedgerEntry, ModelState, Provenance, WindowState
from monitor.states.counters import CounterLayout, Counters
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.strata import WHOLE, Stratum
from monitor.store.sql_store import CycleCommit, SqlStore

START = 10_000 * DAY
BEHIND = Provenance(
    as_of=START,
    grid="g",
    reference="r",
    config="c",
    code="0.1.0",
    rows_read=7,
    newest_logged_at=START - 1,
    newest_reported_at=None,
)
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    numeric=("temp",),
    categorical=("carrier",),
    versioned=True,
    arms=ComparedArms(column="group", control="a", treatment="b"),
    labelled=True,
    time_units=(("event_time", "ms"),),
)
COUNTING = Counting(
    reading=READING,
    features=(
        ("carrier", CategoryGrid(("AA", "ÜÄ"), frozenset({"0123456789abcdef"}))),
        ("temp", NumericGrid((-1.5, 0.1, 1 / 3), (0, 2))),
    ),
    score=NumericGrid((0.25, 0.5, 0.75), (1,), 0.0, 1.0),
    prediction=CategoryGrid(("0", "1")),
    label=CategoryGrid(("0", "1")),
    scale=0.25,
)
OTHER_COUNTING = replace(COUNTING, score=NumericGrid((0.5,), (), 0.0, 1.0))


def counters(layout: CounterLayout, seed: int, filled: int = 12) -> Counters:
    """Counters with some random cells filled."""
    random = np.random.default_rng(seed)
    dense = np.zeros(layout.size, dtype=np.int64)
    dense[random.choice(layout.size, filled, replace=False)] = random.integers(1, 500, filled)
    return Counters.from_dense(layout, dense)


def pane(start: int, seed: int = 0, layout: CounterLayout = COUNTING.records_layout) -> PanePart:
    """A counted part of a pane."""
    strata = {WHOLE: counters(layout, seed), Stratum(None, "carrier=AA"): counters(layout, seed + 1)}
    return PanePart(
        start=start, strata=strata, rows=30 + seed, newest=start + HOUR, records=20, labelled=9, checksum=-4
    )


def reference() -> Reference:
    """A reference with every part."""
    carrier = Stratum(None, "carrier=AA")
    return Reference(
        COUNTING,
        counters(COUNTING.records_layout, 3),
        counters(COUNTING.labels_layout, 4),
        {carrier: counters(COUNTING.records_layout, 5)},
        {carrier: counters(COUNTING.labels_layout, 6)},
    )


def row(
    measure: str = "roc_auc",
    value: float | None = 0.75,
    *,
    end: int = START,
    truth: LabelTruth = LabelTruth.PROVISIONAL,
    **others: Any,
) -> MeasurementRow:
    """A measurement of one window; without a value it is absent."""
    found = (
        Measurement(value=value, n=40, interval=Interval(value - 0.1, value + 0.1), resolution=1e-4)
        if value is not None
        else Measurement.without_value(Reason.ONE_CLASS, n=3)
    )
    usual = {"subject": "score", "coverage": 0.5, "warning": "partial"}
    return row_of(measure, found, window_end=end, truth=truth, **(usual | others))


def commit(
    as_of: int = START,
    *,
    current: tuple[MeasurementRow, ...] = (row(),),
    snapshots: tuple[MeasurementRow, ...] = (row(),),
    windows: tuple[WindowState, ...] = (),
    entries: tuple[LedgerEntry, ...] = (),
    notices: tuple[Notice, ...] = (),
) -> CycleCommit:
    """All that a cycle writes."""
    state = ModelState(as_of=as_of, first_as_of=START)
    return CycleCommit(
        state=state,
        current=current,
        provenance=replace(BEHIND, as_of=as_of),
        snapshots=snapshots,
        windows=windows,
        entries=entries,
        notices=notices,
    )


@contextmanager
def read_only(store: SqlStore) -> Iterator[None]:
    """A SQLite store that cannot be written, as by a file's permissions, which bind no root.

    As of such a file, what is connected meanwhile cannot write afterwards either.
    """

    def refused(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA query_only = ON")

    event.listen(store.engine, "connect", refused)
    store.engine.dispose()
    yield
    event.remove(store.engine, "connect", refused)
