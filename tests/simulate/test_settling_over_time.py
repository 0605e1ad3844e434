"""Settled values against what turns out to be true, in simulated logs whose truth is known.

By real cycles on tables in memory, daily panes. A settled base rate may be off by 1.5 times what the settled
share leaves out, and by three standard deviations of which labels those are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, monitored_of

from monitor.core.clock import DAY, HOUR
from monitor.pipeline.cycle import run_cycle
from monitor.simulate import Delay, Mix, Plan, plan, truth
from monitor.simulate.changes import Changes
from monitor.specs.rows import MeasurementRow, Truth
from monitor.store.adapter import SqlStore
from monitor.windows.ends import window_of

SHARE = 0.95
LONG_AFTER = START + 2_000 * DAY


@dataclass(frozen=True, slots=True)
class Seen:
    """The base rate of a window as a cycle said it, and what it was in the end."""

    as_of: int
    end: int
    row: MeasurementRow
    final: float

    @property
    def error(self) -> float:
        """Relative."""
        return (self.row.measurement.value or 0.0) / self.final - 1.0

    @property
    def bound(self) -> float:
        """1.5 (1 - share), and sampling: which of the positives are missing."""
        positives = max(1.0, self.final * self.row.measurement.n)
        return 1.5 * (1.0 - SHARE) + 3.0 * float(np.sqrt((1.0 - SHARE) / positives))


def in_memory(planned: Plan) -> MemorySource:
    """A log whose rows are only added, as role-named tables."""
    return MemorySource(
        _table(planned.predictions, {"logged_at": pa.int64(), "event_time": pa.int64(), "score": pa.float64()}),
        _table(planned.labels, {"reported_at": pa.int64(), "revision": pa.float64()}),
    )


def _table(changes: Changes, types: dict[str, pa.DataType]) -> pa.Table:
    columns = {name: pa.array(changes.columns[name]).cast(kind) for name, kind in types.items()}
    columns["id"] = pa.array(changes.columns["id"]).cast(pa.string())
    if "label" in changes.columns:
        columns["label"] = pa.array(changes.columns["label"], from_pandas=True).cast(pa.int64()).cast(pa.string())
    return pa.table(columns)


def watched(
    store: SqlStore, mix: Mix, days: int, *, horizon: int, window: str, every: int = DAY, seed: int = 5
) -> Iterator[Seen]:
    """Base rates of the newest and the newest settled window, as cycles of a log's first days say them."""
    planned = plan(mix, seed, (START, START + days * DAY))
    final = truth(planned, LONG_AFTER)
    reading = replace(READING, pane=DAY, horizon=horizon, numeric=(), categorical=())
    monitored = monitored_of(
        in_memory(planned),
        store,
        reference=False,
        reading=reading,
        windows=(window_of(window, DAY),),
        families=frozenset(),
        every=every,
        settled_share=SHARE,
    )
    length = monitored.spec.windows[0].length
    for as_of in range(START + every, START + days * DAY + 1, every):
        _, rows = run_cycle(monitored, as_of)
        for row in rows:
            inside = row.window_end - length >= START
            if row.measure == "base_rate" and row.subject in ("", "label") and inside and not row.against:
                rate = final.base_rate(row.window_end - length, row.window_end)
                yield Seen(as_of, row.window_end, row, rate)
