"""How many rows the monitor will read: a cycle's, and those read again for each new label. Pure."""

from dataclasses import dataclass

import numpy as np

from monitor.core.clock import DAY, HOUR
from monitor.core.typing import Ints
from monitor.specs.model import ModelSpec
from monitor.windows.recount import Budget, RecountCandidate, ripe

_STEPS = 3_000  # cycles that are walked at most
_FEWEST = 30  # delays from which on something is said of labels


@dataclass(frozen=True, slots=True)
class ExpectedReads:
    """Expected rows read.

    Parameters
    ----------
    per_hour
        predictions an hour, as they come now.
    per_cycle
        rows of the panes that a cycle counts again since their records changed, or may have.
    per_label
        rows of panes read again for each new label; None where too little is known of the delays.
    """

    per_hour: float
    per_cycle: float
    per_label: float | None


def expected_reads(
    model: ModelSpec, per_hour: float, labelled: float, delays: Ints, settling: int | None
) -> ExpectedReads:
    """Rows that a model's cycles will read.

    Parameters
    ----------
    labelled
        share of the predictions that get a label.
    delays
        microseconds, ascending: of some labels.
    """
    pane = model.reading.pane
    logged = model.predictions.column("logged_at") is not None
    touched = -(-(model.every if logged else model.lookback) // pane) + 1
    per_cycle = per_hour * touched * pane / HOUR
    records = per_hour * pane / HOUR
    return ExpectedReads(per_hour, per_cycle, _per_label(model, records, labelled, delays, settling))


def _per_label(
    model: ModelSpec, records: float, labelled: float, delays: Ints, settling: int | None
) -> float | None:
    """Walk one pane through its cycles, by the rule that says when waiting labels are worth a count."""
    horizon = model.reading.horizon
    delays = delays[delays <= horizon]
    if len(delays) < _FEWEST or records <= 0 or labelled <= 0:
        return None
    every = max(model.every, horizon // _STEPS)
    budget = Budget(rows=model.recount_rows, pane=model.reading.pane, every=every, settling_age=settling)
    ages = np.arange(every, horizon + DAY, every)
    arrived = np.searchsorted(delays, ages, side="right") / len(delays) * max(1.0, records * labelled)
    counted, counts, last = 0.0, 0, 0
    for age, there in zip(ages.tolist(), arrived.tolist(), strict=True):
        fresh = int(there + 0.5) - int(counted + 0.5)
        if fresh <= 0:
            continue
        waiting = RecountCandidate(
            start=0,
            since=last,
            records_changed=False,
            labels=fresh,
            counted_as_of=last,
            rows=int(records),
            records=int(records),
        )
        if ripe(waiting, age, budget):
            counted, counts, last = there, counts + 1, age
    return counts * max(1.0, records) / max(1.0, records * labelled)
