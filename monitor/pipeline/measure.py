"""Windows to rows: fold, measure, and say what stands behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.core.typing import Ints
from monitor.measures.evaluate import (
    Ask,
    Result,
    comparison,
    label_quality,
    performance,
    quality,
    shift,
)
from monitor.pipeline.monitored import Monitored
from monitor.specs.rows import MeasurementRow, Part, Truth
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum
from monitor.windows.ends import Window


@dataclass(frozen=True, slots=True)
class Target:
    """One window of a model to measure, and the warning that its rows carry."""

    monitored: Monitored
    window: Window
    end: int
    warning: str = ""

    @property
    def start(self) -> int:
        """Start of the window."""
        return self.window.start(self.end)

    def row(self, result: Result, truth: Truth, stratum: Stratum, coverage: float | None) -> MeasurementRow:
        """Row of one result."""
        return MeasurementRow(
            window=self.window.name,
            window_end=self.end,
            truth=truth,
            version=stratum.version,
            segment=stratum.segment,
            measure=result.measure,
            subject=result.subject,
            measurement=result.measurement,
            coverage=coverage,
            warning=self.warning,
        )


def ask_of(monitored: Monitored) -> Ask:
    """Options of the measures."""
    spec = monitored.spec
    profit = {(actual, predicted): amount for actual, predicted, amount in spec.profit}
    return Ask(level=spec.level, resamples=spec.resamples, profit=profit)


def record_rows(target: Target) -> list[MeasurementRow]:
    """Shift, data quality and volume of a window; of strata only the outputs'."""
    monitored, counting = target.monitored, target.monitored.counting
    ask = ask_of(monitored)
    folded = monitored.panes.window(Part.RECORDS, target.start, target.end)
    folded.setdefault(WHOLE, Counters.empty(counting.records))
    reference = monitored.reference.records if monitored.reference else None
    rows: list[MeasurementRow] = []
    for stratum, records in in_order(folded):
        features = stratum == WHOLE
        shifted = shift(counting, reference, records, ask, features=features)
        checked = quality(counting, records, level=ask.level, features=features)
        rows += [target.row(result, Truth.NONE, stratum, None) for result in (*shifted, *checked)]
    return rows


def label_rows(target: Target, truth: Truth, *, strata: bool = True) -> list[MeasurementRow]:
    """Performance and labels of a window: the whole with intervals, strata in closed forms, the arms."""
    monitored, counting = target.monitored, target.monitored.counting
    ask = ask_of(monitored)
    folded = monitored.panes.window(Part.LABELS, target.start, target.end)
    whole = folded.setdefault(WHOLE, Counters.empty(counting.labels))
    rows = _of_stratum(target, truth, WHOLE, whole, ask)
    coverage = rows[0].coverage
    if strata:
        closed = replace(ask, resamples=0)
        for stratum, counters in in_order(folded):
            if stratum != WHOLE:
                rows += _of_stratum(target, truth, stratum, counters, closed)
        rows += [target.row(result, truth, WHOLE, coverage) for result in _arms(target, folded, ask)]
    return rows


def in_order(folded: Mapping[Stratum, Counters]) -> list[tuple[Stratum, Counters]]:
    """Strata by version and segment, the whole first."""
    return sorted(folded.items(), key=lambda item: tuple(part or "" for part in item[0]))


def performance_values(target: Target) -> dict[tuple[str, str], Result]:
    """Performance of the whole without resampling: what a kept window is compared by."""
    counting = target.monitored.counting
    folded = target.monitored.panes.window(Part.LABELS, target.start, target.end)
    counters = folded.get(WHOLE, Counters.empty(counting.labels))
    results = performance(counting, counters, replace(ask_of(target.monitored), resamples=0))
    return {(result.measure, result.subject): result for result in results}


def moved(results: Mapping[tuple[str, str], Result], kept: Iterable[MeasurementRow]) -> bool:
    """Whether a value moved by more than a quarter of the half width kept with it, or came, or went."""
    for row in kept:
        result = results.get((row.measure, row.subject))
        if result is None:
            continue
        now, before = result.measurement, row.measurement
        if now.reason != before.reason:
            return True
        if now.value is None or before.value is None or before.interval is None:
            continue
        if abs(now.value - before.value) > (before.interval.upper - before.interval.lower) / 8:
            return True
    return False


@dataclass(slots=True)
class Measured:
    """Windows of one kind, each measured once in a cycle.

    Parameters
    ----------
    first
        windows that start before this moment are partial.
    lacking
        int64, ascending: starts of panes that are not counted; windows that hold one are partial.
    """

    monitored: Monitored
    window: Window
    first: int
    lacking: Ints
    _rows: dict[tuple[int, Truth | None, str], list[MeasurementRow]] = field(default_factory=dict)

    def records(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the window that ends at `end`."""
        key = (end, None, "")
        if key not in self._rows:
            self._rows[key] = record_rows(self._target(end))
        return self._rows[key]

    def labels(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the window that ends at `end`, and of its strata."""
        key = (end, truth, warning)
        if key not in self._rows:
            self._rows[key] = label_rows(self._target(end, warning), truth)
        return self._rows[key]

    def revised(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the whole, for a revision."""
        return label_rows(self._target(end, warning), truth, strata=False)

    def moved(self, end: int, kept: Iterable[MeasurementRow]) -> bool:
        """Whether the window's performance moved away from what was kept."""
        return moved(performance_values(self._target(end)), kept)

    def _target(self, end: int, warning: str = "") -> Target:
        start = self.window.start(end)
        first, last = np.searchsorted(self.lacking, [start, end])
        partial = "partial" if start < self.first or first < last else ""
        return Target(self.monitored, self.window, end, warning or partial)


def _of_stratum(
    target: Target, truth: Truth, stratum: Stratum, counters: Counters, ask: Ask
) -> list[MeasurementRow]:
    counting = target.monitored.counting
    tally = counting.tally(counters)
    coverage = tally.labelled / tally.records if tally.records else None
    results = [*performance(counting, counters, ask), *label_quality(counting, counters, ask)]
    return [target.row(result, truth, stratum, coverage) for result in results]


def _arms(target: Target, folded: Mapping[Stratum, Counters], ask: Ask) -> list[Result]:
    counting = target.monitored.counting
    arms = counting.reading.arms
    if arms is None:
        return []
    control, treatment = (
        folded.get(Stratum(segment=f"{arms.column}={value}")) for value in (arms.control, arms.treatment)
    )
    return comparison(counting, control, treatment, ask)
