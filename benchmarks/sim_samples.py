"""Samples of populations, counted as the monitor does: many at once, each as a pane."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from scipy.special import expit

from monitor.core.clock import HOUR
from monitor.measures.measure_options import MeasureResult
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE

REFERENCE = 10_000
AT_ONCE = 200_000  # records counted together
UNITS = (("event_time", "us"),)
BINARY = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.3,
    labelled=True,
    time_units=UNITS,
)

Rng: TypeAlias = np.random.Generator
Simulate: TypeAlias = Callable[[Rng, int, int], Iterator[dict[str, "Outcome"]]]


@dataclass(frozen=True)
class Outcome:
    """Of one measure of one sample: was its interval (its test) right; None: it has none."""

    right: bool | None
    n: int


@dataclass(frozen=True)
class Case:
    """A population, and the outcomes of an experiment on samples of it: (rng, size, times).

    Parameters
    ----------
    rarest
        share of the rarest class; 1 where there are numbers.
    truth
        the true values of what has intervals.
    alarms
        outcomes are those of tests where nothing is wrong.
    """

    name: str
    told: str
    rarest: float
    simulate: Simulate
    truth: Mapping[str, float] = field(default_factory=dict)
    alarms: bool = False


def name_of(result: MeasureResult) -> str:
    return f"{result.measure} {result.subject}".strip()


def scores_of(rng: Rng, size: int, positive: float, offset: float) -> pa.Table:
    actual = rng.random(size) < positive
    return pa.table(
        {"label": np.where(actual, "1", "0"), "score": expit(rng.normal(offset + 1.5 * actual, 1.0))}
    )


def challenged(rng: Rng, size: int, better: float) -> pa.Table:
    actual = rng.random(size) < 0.2
    both = rng.normal(-2 + 1.5 * actual, 0.8)
    champion, challenger = (expit(both + rng.normal(added * (actual - 0.5), 0.6)) for added in (0.0, better))
    return pa.table({"label": np.where(actual, "1", "0"), "score": champion, "challenger": challenger})


def taken(table: pa.Table, rng: Rng, size: int) -> pa.Table:
    return table.take(pa.array(rng.integers(0, table.num_rows, size)))


def batches(size: int, times: int) -> list[int]:
    """Samples counted together, each as a pane."""
    most = max(1, AT_ONCE // size)
    return [min(most, times - first) for first in range(0, times, most)]


def whole_of(counting: Counting, table: pa.Table) -> Counters:
    (part,) = labels_parts(table, counting, table.num_rows)
    return part


def labels_parts(table: pa.Table, counting: Counting, size: int) -> list[Counters]:
    rows, panes = _panes(table, size)
    parts = count_labels(rows, counting, panes=panes, as_of=int(panes[-1]) + HOUR)
    return [part.strata[WHOLE] for part in parts]


def records_parts(table: pa.Table, counting: Counting, size: int) -> list[Counters]:
    rows, panes = _panes(table, size)
    parts = count_records(rows, counting, panes=panes, as_of=int(panes[-1]) + HOUR)
    return [part.strata[WHOLE] for part in parts]


def _panes(table: pa.Table, size: int) -> tuple[pa.Table, np.ndarray]:
    """Each run of so many rows is a pane."""
    panes = np.arange(table.num_rows // size) * HOUR
    named = table.append_column("id", pa.array(np.arange(table.num_rows)))
    return named.append_column("event_time", pa.array(np.repeat(panes, size))), panes
