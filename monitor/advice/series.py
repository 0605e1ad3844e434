"""How many series a model will have in `/metrics`: the rules of the exposition on rows as they will be."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.core.measurement import Interval, Measurement
from monitor.exposition.selection import Group, expose
from monitor.measures.catalogue import BY_NAME
from monitor.measures.evaluate import comparison, expectation, label_quality, performance, quality, shift
from monitor.measures.options import Options, Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.shift import label_shift
from monitor.records.counting import Counting
from monitor.specs.model import ModelSpec
from monitor.states.counters import Counters
from monitor.states.strata import Stratum

_GROUPS = {
    Group.WHOLE: "whole model",
    Group.BOUND: "bounds",
    Group.STRATUM: "strata",
    Group.FEATURE: "features",
}
_MOST = 2**31
_ANY = Interval(lower=0.0, upper=1.0)


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
    told = label_quality(counting, labels, options, delays=whole)
    for truth in (Truth.PROVISIONAL, Truth.SETTLED) if counting.reading.labelled else ():
        for result in (*performance(counting, labels, options), *told, *arms):
            yield truth, result
    if counting.label is not None and whole:
        grid = counting.histogram(labels, label_shift.LABEL)
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
