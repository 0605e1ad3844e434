"""What scores promise before labels come, what they erred by at settling, how labels have shifted."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.core.measurement import REMEDY, DetailTable, Measurement, Reason
from monitor.core.text import double_quoted
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import measure_estimates
from monitor.measures.label_arrival import preferred_classes
from monitor.measures.measure_options import LABEL, MeasureOptions, MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.score_estimates import measure_estimate_errors
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.measures.shift.stability_index import expected_labels, label_shift_results
from monitor.pipeline.caches import Estimates
from monitor.pipeline.windows.calibration_maps import CalibrationMaps, learn_calibration_maps
from monitor.pipeline.windows.window_references import window_references
from monitor.pipeline.windows.window_target import WindowTarget, fold_window_part
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, select_segments
from monitor.states.views import CellHistogram

_FAMILIES = frozenset({MeasureFamily.SHIFT})
_NOT_SETTLED: CalibrationMaps = {WHOLE: Reason.NOT_SETTLED}


def estimate_rows(target: WindowTarget, records: Strata, *, strata: bool = True) -> list[MeasurementRow]:
    """Estimates of the whole and of segments, given the records part.

    Of arms and versions there are none: whether labels follow from the score as they did is what is asked of
    them.
    """
    by_stratum = _estimates_once(target, records, LabelTruth.NONE, strata=strata)
    pairs = ((stratum, result) for stratum, results in by_stratum.items() for result in results)
    return [target.result_row(result, LabelTruth.NONE, stratum, None) for stratum, result in pairs]


def estimate_error_rows(
    target: WindowTarget, rows: Iterable[MeasurementRow], labels: Strata
) -> list[MeasurementRow]:
    """What the estimates of a settled window erred by, given its rows and its labels part.

    The estimate is made again, of the records as they are known now. Cost: where labels changed, a sum of
    panes.
    """
    whole = [row for row in rows if row.is_of_whole and not row.against]
    realised = [MeasureResult(row.measure, row.subject, row.measurement) for row in whole]
    estimated = _estimates_once(target, labels, LabelTruth.SETTLED, strata=False).get(WHOLE, [])
    errors = measure_estimate_errors(estimated, realised)
    coverage = whole[0].coverage if whole else None
    made = [target.result_row(result, LabelTruth.SETTLED, WHOLE, coverage) for result in errors]
    classes = find_labelled_classes(target.model.counting, labels[WHOLE])  # an estimate is of all predictions
    return blank_row_values(made, classes) if classes else made


def _estimates_once(target: WindowTarget, state: Strata, truth: LabelTruth, *, strata: bool) -> Estimates:
    """Estimates, unless they were made already of the same state by the same maps."""
    model = target.model
    if MeasureFamily.ESTIMATE not in model.spec.families or model.counting.label is None:
        return {}
    maps = _choose_calibration_maps(target)

    def estimate() -> Estimates:
        records = (
            state if truth is LabelTruth.NONE else fold_window_part(target, PaneHalf.RECORDS, strata=False)
        )
        counting, options, of_whole = model.counting, target.options, maps[WHOLE]
        made = {WHOLE: measure_estimates(counting, of_whole, records[WHOLE], options)}
        unknown = of_whole if isinstance(of_whole, Reason) else Reason.NO_LABELS
        for segment in select_segments(records, counting.segments) if strata else []:
            of_segment = maps.get(segment, unknown)
            made[segment] = measure_estimates(counting, of_segment, records[segment], options, whole=False)
        return made

    return target.caches.estimates_once((target.window.name, target.end, truth), state, maps, estimate)


def _choose_calibration_maps(target: WindowTarget) -> CalibrationMaps:
    """Of the reference's labels; where it has none, or versions have their own, of the newest settled window.

    That window ends before this one begins: nothing is estimated by its own labels. Cost: where its labels
    changed, a sum of panes.
    """
    model, caches, window, counting = target.model, target.caches, target.window, target.model.counting
    reference = model.reference
    if reference is not None and not model.version_references:
        labels = {WHOLE: reference.labels, **reference.label_segments}
        maps = caches.made_once(
            ("calibration maps", reference.labels), lambda: learn_calibration_maps(counting, labels)
        )
        if maps[WHOLE] is not Reason.NO_LABELS:
            return maps
    if target.settled is None:
        return _NOT_SETTLED
    # Not by its own labels, nor those of a window that overlaps it: an estimate would be checked by what it
    # was learnt from.
    end = window.newest_end(min(target.settled.end, target.start))
    span = window.start_of(end), end

    def learn() -> CalibrationMaps:
        labels = caches.panes.sum_window(PaneHalf.LABELS, *span, strata=bool(counting.segments))
        return learn_calibration_maps(
            counting, {WHOLE: Counters.make_empty(counting.labels_layout), **labels}
        )

    return caches.maps_once(span, caches.panes.span_fingerprint(PaneHalf.LABELS, *span), learn)


def find_labelled_classes(counting: Counting, labels: Counters) -> tuple[str, ...]:
    """Predicted classes that the labels of a labels part come for; empty: for all alike."""
    if "predicted" not in counting.labels_layout.blocks_by_name:
        return ()
    return preferred_classes(counting.reading.classes, counting.predicted_counts(labels))


def find_selective_classes(
    target: WindowTarget, labels: Counters | None, truth: LabelTruth
) -> tuple[str, ...]:
    """Predicted classes that labels come for, where the reference's come for others too.

    Asked of a settled window itself; of a younger one, whose classes may only differ in pace, of the newest
    settled window.
    """
    counting, reference = target.model.counting, target.model.reference
    if reference is None:
        return ()
    if truth is not LabelTruth.SETTLED:
        if target.settled is None:
            return ()
        span = target.window.start_of(target.settled.end), target.settled.end
        labels = target.caches.panes.sum_window(PaneHalf.LABELS, *span, strata=False).get(WHOLE, labels)
    classes = () if labels is None else find_labelled_classes(counting, labels)
    if not classes:
        return ()
    known = target.caches.made_once(
        ("preferred", reference.labels), lambda: find_labelled_classes(counting, reference.labels)
    )
    return () if set(known) == set(classes) else classes


def blank_row_values(rows: Iterable[MeasurementRow], classes: tuple[str, ...]) -> list[MeasurementRow]:
    """Rows without their values: labels come for predictions of these classes only."""
    name = ", ".join(map(double_quoted, classes))
    because = f"labels come for predictions of {name} and hardly for others: they are compared with all"
    detail = DetailTable(REMEDY, ((because, f"[models.labels] only_for = [{name}]"),))

    def absent(row: MeasurementRow) -> MeasurementRow:
        n = row.measurement.n
        return replace(row, measurement=Measurement(None, n, Reason.SELECTIVE_LABELS, detail=detail))

    return [absent(row) for row in rows]


def measure_label_shift(
    target: WindowTarget, labels: Counters, truth: LabelTruth, coverage: float | None
) -> list[MeasurementRow]:
    """Shift of the whole's labels once they are settled: those that come first are no fair sample."""
    options = _shift_options(target, truth)
    if options is None:
        return []
    results = label_shift_results(
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
    results = label_shift_results(expected_labels([(1.0, then)]), now, options)
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
        return expected_labels(parts)
    labels = shares[0][1].labels
    return target.caches.made_once(
        ("expected labels", labels),
        lambda: expected_labels([(1.0, _label_histogram(model.counting, labels))]),
    )


def _label_histogram(counting: Counting, labels: Counters) -> CellHistogram:
    return counting.histogram_view(labels, LABEL)


def _shift_rows(
    target: WindowTarget, results: Iterable[MeasureResult], coverage: float | None, against: str
) -> list[MeasurementRow]:
    return [
        target.result_row(result, LabelTruth.SETTLED, WHOLE, coverage, against=against) for result in results
    ]
