"""Windows to rows: fold, measure, and say what stands behind it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from monitor.core.typing import Ints
from monitor.measures.catalogue import BY_NAME
from monitor.measures.evaluate import (
    Ask,
    Result,
    challenge,
    comparison,
    label_quality,
    performance,
    quality,
    shift,
)
from monitor.measures.volume import WEEKS, volume_ratio
from monitor.pipeline.compared import compared
from monitor.pipeline.monitored import Monitored
from monitor.specs.rows import MeasurementRow, Part, Truth
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.ends import Window
from monitor.windows.fold import with_frequent_versions


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
    return Ask(
        level=spec.level,
        resamples=spec.resamples,
        profit=profit,
        rate_interval=spec.rate_interval,
        families=spec.families,
    )


def folded_part(target: Target, part: Part, *, strata: bool = True) -> Strata:
    """Sum of a window's panes by stratum, or of the whole alone; the whole is always there."""
    layout = target.monitored.counting.records if part is Part.RECORDS else target.monitored.counting.labels
    folded = target.monitored.panes.window(part, target.start, target.end, strata=strata)
    folded.setdefault(WHOLE, Counters.empty(layout))
    return folded


def record_rows(target: Target, folded: Strata, *, strata: bool = True) -> list[MeasurementRow]:
    """Shift, data quality and volume of a window; of strata only the outputs' headlines."""
    counting, ask = target.monitored.counting, ask_of(target.monitored)
    references = compared(target.monitored, folded)
    rows: list[MeasurementRow] = []
    measured = (
        with_frequent_versions(counting.records, folded, "volume") if strata else {WHOLE: folded[WHOLE]}
    )
    for stratum, records in in_order(measured):
        features = stratum == WHOLE
        expected = references.expected(stratum, counting, target.monitored.expected)
        shifted = shift(counting, expected, records, replace(ask, whole=features))
        checked = quality(counting, records, level=ask.level, features=features)
        warned = replace(target, warning=target.warning or references.warning(stratum))
        rows += [warned.row(result, Truth.NONE, stratum, None) for result in _wanted(stratum, shifted)]
        rows += [target.row(result, Truth.NONE, stratum, None) for result in _wanted(stratum, checked)]
    return rows


def label_rows(target: Target, folded: Strata, truth: Truth, *, strata: bool = True) -> list[MeasurementRow]:
    """Performance and labels of a window: the whole's with intervals, strata's headlines, the arms."""
    ask, counting = ask_of(target.monitored), target.monitored.counting
    whole = performance(counting, folded[WHOLE], ask)
    rows = _of_stratum(target, truth, WHOLE, folded[WHOLE], whole)
    coverage = rows[0].coverage
    challenged = challenge(counting, folded[WHOLE], ask)
    rows += [target.row(result, truth, WHOLE, coverage) for result in challenged]
    if strata:
        closed, everyone = replace(ask, resamples=0, whole=False), counting.tally(folded[WHOLE]).records
        for stratum, counters in in_order(with_frequent_versions(counting.labels, folded, "tally")):
            if stratum == WHOLE:
                continue
            # if all rows serve, a stratum is a part of the whole: with as many records it is the whole
            same = counting.reading.serving is None and counting.tally(counters).records == everyone
            measured = whole if same else performance(counting, counters, closed)
            rows += _of_stratum(target, truth, stratum, counters, measured)
        rows += [target.row(result, truth, WHOLE, coverage) for result in _arms(target, folded, ask)]
    return rows


def in_order(folded: Strata) -> list[tuple[Stratum, Counters]]:
    """Strata by version and segment, the whole first."""
    return sorted(folded.items(), key=lambda item: tuple(part or "" for part in item[0]))


def performance_values(target: Target) -> dict[tuple[str, str], Result]:
    """Performance of the whole without resampling: what a kept window is compared by."""
    counting = target.monitored.counting
    whole = folded_part(target, Part.LABELS, strata=False)[WHOLE]
    results = performance(counting, whole, replace(ask_of(target.monitored), resamples=0, whole=False))
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
class WindowMeasures:
    """Windows of one kind, each measured once in a cycle.

    Parameters
    ----------
    first
        windows that start before this moment are partial.
    lacking
        int64, ascending: starts of panes that are not counted; windows that hold one are partial.
    oldest
        earlier weeks that volumes are compared with begin here or later, as in `first`.
    """

    monitored: Monitored
    window: Window
    first: int
    lacking: Ints
    oldest: int = 0

    def records(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the window that ends at `end`."""
        target = self._target(end)
        return [*self._once(target, Part.RECORDS, Truth.NONE), self._volume(target)]

    def revised_records(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the whole, for a revision."""
        target = self._target(end)
        rows = record_rows(target, folded_part(target, Part.RECORDS), strata=False)
        return [*rows, self._volume(target)]

    def labels(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the window that ends at `end`, and of its strata."""
        return self._once(self._target(end, warning), Part.LABELS, truth)

    def revised(self, end: int, truth: Truth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the whole, for a revision."""
        target = self._target(end, warning)
        return label_rows(target, folded_part(target, Part.LABELS, strata=False), truth, strata=False)

    def moved(self, end: int, kept: Iterable[MeasurementRow]) -> bool:
        """Whether the window's performance moved away from what was kept."""
        return moved(performance_values(self._target(end)), kept)

    def _volume(self, target: Target) -> MeasurementRow:
        """Records against the same hours of earlier weeks. Cost: sums over the panes' facts, no state."""
        panes, level = self.monitored.panes, self.monitored.spec.level
        weeks = (self.window.earlier(target.end, back) for back in range(1, WEEKS + 1))
        earlier = [panes.records(*week) for week in weeks if self._counted(*week)]
        measurement = volume_ratio(panes.records(target.start, target.end), earlier, level)
        return target.row(Result("volume_ratio", "", measurement), Truth.NONE, WHOLE, None)

    def _counted(self, start: int, end: int) -> bool:
        """Whether a span was counted whole."""
        first, last = np.searchsorted(self.lacking, [start, end])
        return bool(start >= max(self.first, self.oldest) and first == last)

    def _once(self, target: Target, part: Part, truth: Truth) -> list[MeasurementRow]:
        """Measure a window, unless this cycle did so already, or the last one did and nothing changed."""
        memory = self.monitored.memory
        key = (self.window.name, target.end, truth, target.warning)
        if key not in memory.now:
            folded = folded_part(target, part)
            before = memory.before.get(key)
            if before is not None and before[0] == folded:
                memory.now[key] = before
            elif part is Part.RECORDS:
                memory.now[key] = (folded, record_rows(target, folded))
            else:
                memory.now[key] = (folded, label_rows(target, folded, truth))
        return list(memory.now[key][1])

    def _target(self, end: int, warning: str = "") -> Target:
        start = self.window.start(end)
        first, last = np.searchsorted(self.lacking, [start, end])
        partial = "partial" if start < self.first or first < last else ""
        return Target(self.monitored, self.window, end, warning or partial)


def _of_stratum(
    target: Target, truth: Truth, stratum: Stratum, counters: Counters, measured: list[Result]
) -> list[MeasurementRow]:
    counting = target.monitored.counting
    tally = counting.tally(counters)
    coverage = tally.labelled / tally.records if tally.records else None
    labels = label_quality(counting, counters, ask_of(target.monitored), delays=stratum == WHOLE)
    return [target.row(result, truth, stratum, coverage) for result in _wanted(stratum, [*measured, *labels])]


def _wanted(stratum: Stratum, results: list[Result]) -> list[Result]:
    """All results of the whole, the headline measures of a stratum without detail: there may be many."""
    if stratum == WHOLE:
        return results
    return [
        result
        if result.measurement.detail is None
        else replace(result, measurement=replace(result.measurement, detail=None))
        for result in results
        if BY_NAME[result.measure].headline
    ]


def _arms(target: Target, folded: Strata, ask: Ask) -> list[Result]:
    counting = target.monitored.counting
    arms = counting.reading.arms
    if arms is None:
        return []
    control, treatment = (
        folded.get(Stratum(segment=f"{arms.column}={value}")) for value in (arms.control, arms.treatment)
    )
    return comparison(counting, control, treatment, ask)
