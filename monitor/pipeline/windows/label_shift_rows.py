"""Shift of a settled window's labels: against the reference's, or those of another moment."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measure_options import LABEL, MeasureOptions, MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift import label_shift
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.pipeline.windows.selective_labels import blank_row_values, find_selective_classes
from monitor.pipeline.windows.window_references import window_references
from monitor.pipeline.windows.window_target import WindowTarget, fold_window_part
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.states.views import CellHistogram

_FAMILIES = frozenset({MeasureFamily.SHIFT})


def measure_label_shift(
    target: WindowTarget, labels: Counters, truth: LabelTruth, coverage: float | None
) -> list[MeasurementRow]:
    """Shift of the whole's labels once they are settled: those that come first are no fair sample."""
    options = _shift_options(target, truth)
    if options is None:
        return []
    results = label_shift.label_shift_results(
        _expected_labels(target), _label_histogram(target.model.counting, labels), options
    )
    rows, classes = _shift_rows(target, results, coverage, ""), find_selective_classes(target, labels, truth)
    return blank_row_values(rows, classes) if classes else rows


def compare_label_shift(
    target: WindowTarget,
    sides: tuple[Counters, Counters],
    truth: LabelTruth,
    coverage: float | None,
    against: str,
) -> list[MeasurementRow]:
    """Shift of the settled labels against another moment's: labels parts of the whole, now and then."""
    options, counting = _shift_options(target, truth), target.model.counting
    if options is None:
        return []
    now, then = (_label_histogram(counting, side) for side in sides)
    results = label_shift.label_shift_results(label_shift.expected_labels([(1.0, then)]), now, options)
    return _shift_rows(target, results, coverage, against)


def _shift_options(target: WindowTarget, truth: LabelTruth) -> MeasureOptions | None:
    model = target.model
    if truth is not LabelTruth.SETTLED or model.counting.label is None:
        return None
    wanted = MeasureFamily.SHIFT in model.spec.families
    return replace(target.options, families=_FAMILIES) if wanted else None


def _expected_labels(target: WindowTarget) -> ExpectedCells | None:
    """Of one reference made once; of versions with their own, mixed as their records serve."""
    model = target.model
    if model.reference is None:
        return None
    shares = [(1.0, model.reference)]
    if model.version_references:
        shares = list(window_references(model, fold_window_part(target, PaneHalf.RECORDS)).shares) or shares
    if len(shares) > 1:
        parts = [(share, _label_histogram(model.counting, reference.labels)) for share, reference in shares]
        return label_shift.expected_labels(parts)
    labels = shares[0][1].labels
    return target.caches.made_once(
        ("expected labels", labels),
        lambda: label_shift.expected_labels([(1.0, _label_histogram(model.counting, labels))]),
    )


def _label_histogram(counting: Counting, labels: Counters) -> CellHistogram:
    return counting.histogram_view(labels, LABEL)


def _shift_rows(
    target: WindowTarget, results: Iterable[MeasureResult], coverage: float | None, against: str
) -> list[MeasurementRow]:
    return [
        target.result_row(result, LabelTruth.SETTLED, WHOLE, coverage, against=against) for result in results
    ]
