"""What a model will cost: rows that a cycle reads, and again for each new label; series on /metrics. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.evidence.watch import make_watch
from monitor.exposition.metric_names import REFERENCE
from monitor.exposition.series_selection import SeriesGroup, expose_model
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.daily_measures import ALERTS, BUDGET, CHANGE, DETECTABLE, EVIDENCE
from monitor.measures.catalogue.measure import Measure, MeasureExposure, MeasureFamily
from monitor.measures.evaluate import (
    compare_arms,
    compare_challenger,
    make_expected_cells,
    measure_estimates,
    measure_label_quality,
    measure_performance,
    measure_quality,
    measure_shifts,
)
from monitor.measures.measure_options import LABEL, MeasureOptions, MeasureResult
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.measures.nowcast import absent_nowcasts
from monitor.measures.shift.stability_index import expected_labels, label_shift_results
from monitor.pipeline.sequential.day_rows import PERFORMANCE
from monitor.pipeline.sequential.ledger import Ledger
from monitor.pipeline.sequential.model_sequential_tests import make_sequential_tests
from monitor.pipeline.windows.log_rows import NEXT_SETTLING, SETTLING_AGE
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.specs.model_spec import ModelSpec
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum

_FEWEST = 30  # delays from which on something is said of labels
_GROUPS = {
    SeriesGroup.WHOLE: "whole model",
    SeriesGroup.BOUND: "bounds",
    SeriesGroup.STRATUM: "strata",
    SeriesGroup.FEATURE: "features",
}
_MOST = 2**31  # series: none is given up
_ANY = Interval(lower=0.0, upper=1.0)  # of a measure that has one
_VALUE = Measurement(value=1.0, n=1)
_COMPARED = replace(_VALUE, detail=DetailTable(("value",), ((1.0,),)))
_OF_LABELS = {"orphan_labels", "late_visible_labels", "label_age", SETTLING_AGE, NEXT_SETTLING}


@dataclass(frozen=True, slots=True)
class ExpectedReads:
    """Expected rows read."""

    per_hour: float  # predictions an hour, as they come now
    per_cycle: float  # rows of the panes that a cycle counts again since their records changed, or may have
    # rows of panes read again for each new label; None where too little is known of the delays.
    per_label: float | None
    labelled: float = 1.0  # labels that come, by the predictions that come
    # predictions and labels of files whose ids each search for new labels reads; None: an index finds them.
    searched: tuple[int, int] | None = None


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
    logged = model.predictions.column_of("logged_at") is not None
    touched = -(-(model.keys.every if logged else model.keys.reading.lookback) // pane) + 1
    per_cycle = per_hour * touched * pane / HOUR
    records = per_hour * pane / HOUR
    return ExpectedReads(
        per_hour,
        per_cycle,
        _reads_per_label(model, records, labelled, delays, settling, whole=whole),
        labelled,
    )


def _reads_per_label(
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
        return 1 + model.keys.reading.overlap / model.keys.every + (0 if settling is None else counted_whole)
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


def expected_series(
    model: ModelSpec, counting: Counting, strata: Sequence[Stratum], reference: Counters | None = None
) -> ExpectedSeries:
    """Series of a model once every measure has a value.

    Parameters
    ----------
    counting
        its grids: without a reference, no features.
    strata
        versions, segments and arms that occur.
    reference
        labels part of the reference; None: there is none, or versions have their own.
    """
    compared = reference is not None and counting.tally_view(reference).labelled > 0
    rows = [
        *_expected_window_rows(model, counting, strata, compared=compared),
        *_expected_log_rows(model, strata),
        *_expected_sequential_rows(model, counting),
        *(_expected_day_rows(counting) if model.budget is not None else ()),
    ]
    exposed = expose_model(model.with_keys(max_series=_MOST), 0, rows)
    counted = Counter(series.group for series in exposed.series)
    return ExpectedSeries({name: counted[group] for group, name in _GROUPS.items()})


def _expected_window_rows(
    model: ModelSpec, counting: Counting, strata: Sequence[Stratum], *, compared: bool
) -> Iterator[MeasurementRow]:
    for window, stratum in product(model.windows, (WHOLE, *strata)):
        for truth, result in _every_result(counting, model.options, whole=stratum == WHOLE):
            row = _result_row(result, window.name, truth, stratum)
            yield row
            if compared and stratum == WHOLE and truth is not LabelTruth.NONE:
                yield replace(row, against=REFERENCE, measurement=_COMPARED)


def _expected_log_rows(model: ModelSpec, strata: Sequence[Stratum]) -> Iterator[MeasurementRow]:
    for measure in CATALOGUE:
        if measure.family is not MeasureFamily.LOG or not _is_counted(measure, model):
            continue
        result = MeasureResult(measure.name, "", _VALUE)
        if MeasureExposure.STRATA in measure.exposed:
            yield from (
                _result_row(result, "", LabelTruth.NONE, one) for one in strata if one.version is not None
            )
            continue
        windows = [window.name for window in model.windows] if measure.name == NEXT_SETTLING else [""]
        yield from (_result_row(result, window, LabelTruth.NONE, WHOLE) for window in windows)


def _expected_sequential_rows(model: ModelSpec, counting: Counting) -> Iterator[MeasurementRow]:
    for test in make_sequential_tests(model, counting):
        truth = LabelTruth.SETTLED if test.part is PaneHalf.LABELS else LabelTruth.NONE
        for result in test.results(Ledger(test.nothing)):
            yield _result_row(result, CUMULATIVE, truth, WHOLE)


def _expected_day_rows(counting: Counting) -> Iterator[MeasurementRow]:
    names = [(BUDGET, ""), (ALERTS, "")]
    for part in PaneHalf if counting.reading.labelled else (PaneHalf.RECORDS,):
        watch = make_watch(counting, part, {})
        for subject, followed in zip(watch.subjects, watch.series_by_subject, strict=True):
            of_row = "" if subject == PERFORMANCE else subject
            names += [(name, of_row) for name in (EVIDENCE, CHANGE, *([DETECTABLE] if followed else []))]
    yield from (
        _result_row(MeasureResult(*name, _VALUE), CUMULATIVE, LabelTruth.NONE, WHOLE) for name in names
    )


def _is_counted(measure: Measure, model: ModelSpec) -> bool:
    """Whether a figure of the log is of this model, which may lack labels, or a column of times."""
    if measure.name in _OF_LABELS and (model.labels is None or not model.reading.labelled):
        return False
    times = {"logged_at": model.predictions, "reported_at": model.labels}
    relation = times.get(measure.needs_time, model.predictions)
    return not measure.needs_time or (
        relation is not None and relation.column_of(measure.needs_time) is not None
    )


def _every_result(
    counting: Counting, options: MeasureOptions, *, whole: bool
) -> Iterator[tuple[LabelTruth, MeasureResult]]:
    options = replace(options, resamples=0)
    records, labels = (
        Counters.make_empty(counting.records_layout),
        Counters.make_empty(counting.labels_layout),
    )
    expected = make_expected_cells(counting, records, features=whole)
    of_records = [
        *measure_shifts(counting, expected, records, options),
        *measure_quality(counting, records, features=whole),
    ]
    if whole:
        of_records += measure_estimates(counting, Reason.TOO_FEW, records, options)
        of_records.append(MeasureResult("volume_ratio", "", _VALUE))
    yield from ((LabelTruth.NONE, result) for result in of_records)
    if not counting.reading.labelled:
        return
    of_labels = measure_performance(counting, labels, options)
    of_labels += measure_label_quality(counting, labels, options, delays=whole)
    if whole:
        of_labels += compare_challenger(counting, labels, options)
        arms = None if counting.reading.arms is None else labels
        of_labels += compare_arms(counting, arms, arms, options)
    yield from (
        (truth, result) for truth in (LabelTruth.PROVISIONAL, LabelTruth.SETTLED) for result in of_labels
    )
    if counting.label is not None and whole:
        yield from (
            (LabelTruth.NOWCAST, result)
            for result in absent_nowcasts(counting, Reason.TOO_EARLY, options, n=0)
        )
        grid = counting.histogram_view(labels, LABEL)
        then = expected_labels([(1.0, grid)])
        yield from ((LabelTruth.SETTLED, result) for result in label_shift_results(then, grid, options))


def _result_row(result: MeasureResult, window: str, truth: LabelTruth, stratum: Stratum) -> MeasurementRow:
    interval = _ANY if BY_NAME[result.measure].has_interval else None
    return MeasurementRow(
        window=window,
        window_end=0,
        truth=truth,
        version=stratum.version,
        segment=stratum.segment,
        measure=result.measure,
        subject=result.subject,
        measurement=replace(_VALUE, interval=interval),
        coverage=None if truth is LabelTruth.NONE or window == CUMULATIVE else 1.0,
    )
