"""What a model will cost: rows that a cycle reads, and again for each new label; series on /metrics. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.core.typing import Ints
from monitor.exposition.selection import Group, expose
from monitor.measures.catalogue import BY_NAME
from monitor.measures.evaluate import comparison, expectation, label_quality, performance, quality, shift
from monitor.measures.nowcast import absent
from monitor.measures.options import LABEL, Options, Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.shift import label_shift
from monitor.records.counting import Counting
from monitor.specs.model import ModelSpec
from monitor.states.counters import Counters
from monitor.states.strata import Stratum

_FEWEST = 30  # delays from which on something is said of labels
_GROUPS = {
    Group.WHOLE: "whole model",
    Group.BOUND: "bounds",
    Group.STRATUM: "strata",
    Group.FEATURE: "features",
}
_MOST = 2**31  # series: none is given up
_ANY = Interval(lower=0.0, upper=1.0)  # of a measure that has one


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
    model: ModelSpec,
    per_hour: float,
    labelled: float,
    delays: Ints,
    settling: int | None,
    *,
    whole: bool,
) -> ExpectedReads:
    """Rows that a model's cycles will read.

    Parameters
    ----------
    whole
        labels are never counted by difference.
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
    return ExpectedReads(
        per_hour, per_cycle, _per_label(model, records, labelled, delays, settling, whole=whole)
    )


def _per_label(
    model: ModelSpec, records: float, labelled: float, delays: Ints, settling: int | None, *, whole: bool
) -> float | None:
    """By difference each label is read by the searches that see it; else its pane is, on each day with any.

    Each pane that differences were added to is counted whole once, as it settles.
    """
    delays = delays[delays <= model.reading.horizon]
    if len(delays) < _FEWEST or records <= 0 or labelled <= 0:
        return None
    a_pane = max(1.0, records * labelled)
    counted_whole = max(1.0, records) / a_pane
    if not whole:
        return 1 + model.overlap / model.every + (0 if settling is None else counted_whole)
    _, of_day = np.unique(delays // DAY, return_counts=True)
    at_least_one = 1 - (1 - of_day / len(delays)) ** a_pane
    return float(at_least_one.sum()) * counted_whole


@dataclass(frozen=True, slots=True)
class ExpectedSeries:
    """Series by what they belong to, before any is given up for `max_series`."""

    by_group: Mapping[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_group.values())


def expected_series(model: ModelSpec, counting: Counting, strata: Sequence[Stratum]) -> ExpectedSeries:
    """Series of a model once every measure has a value.

    Parameters
    ----------
    counting
        its grids: without a reference, no features.
    strata
        versions, segments and arms that occur.
    """
    rows = [
        _row(result, window.name, truth, stratum)
        for window in model.windows
        for stratum in (Stratum(None, None), *strata)
        for truth, result in _results(counting, whole=stratum == Stratum(None, None))
    ]
    exposed = expose(replace(model, max_series=_MOST), 0, rows)
    counted = Counter(series.group for series in exposed.series)
    return ExpectedSeries({name: counted[group] for group, name in _GROUPS.items()})


def _results(counting: Counting, *, whole: bool) -> Iterator[tuple[Truth, Result]]:
    options = Options(resamples=0)
    records, labels = Counters.empty(counting.records), Counters.empty(counting.labels)
    for result in (
        *shift(counting, expectation(counting, records, features=whole), records, options),
        *quality(counting, records, features=whole),
    ):
        yield Truth.NONE, result
    arms = (
        comparison(counting, labels, labels, options) if whole and counting.reading.arms is not None else []
    )
    quality_of_labels = label_quality(counting, labels, options, delays=whole)
    for truth in (Truth.PROVISIONAL, Truth.SETTLED) if counting.reading.labelled else ():
        for result in (*performance(counting, labels, options), *quality_of_labels, *arms):
            yield truth, result
    if counting.reading.labelled and counting.label is not None and whole:
        for result in absent(counting, Reason.TOO_EARLY, options, n=0):
            yield Truth.NOWCAST, result
    if counting.label is not None and whole:
        grid = counting.histogram(labels, LABEL)
        for result in label_shift.results(label_shift.expected_labels([(1.0, grid)]), grid, options):
            yield Truth.SETTLED, result


def _row(result: Result, window: str, truth: Truth, stratum: Stratum) -> MeasurementRow:
    interval = _ANY if BY_NAME[result.measure].has_interval else None
    return MeasurementRow(
        window=window,
        window_end=0,
        truth=truth,
        version=stratum.version,
        segment=stratum.segment,
        measure=result.measure,
        subject=result.subject,
        measurement=Measurement(value=1.0, n=1, interval=interval),
        coverage=1.0,
    )
