"""Rows of the estimates before labels: of a window's records; once it has settled, what they erred by."""

from collections.abc import Iterable

from monitor.core.measurement import Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import measure_estimates
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.score_estimates import measure_estimate_errors
from monitor.pipeline.caches import Estimates
from monitor.pipeline.windows.calibration_maps import CalibrationMaps, learn_calibration_maps
from monitor.pipeline.windows.selective_labels import blank_row_values, find_labelled_classes
from monitor.pipeline.windows.window_target import WindowTarget, fold_window_part
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, select_segments

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
    end = window.newest_end(min(target.settled.end, target.start))
    span = window.start_of(end), end

    def learn() -> CalibrationMaps:
        labels = caches.panes.sum_window(PaneHalf.LABELS, *span, strata=bool(counting.segments))
        return learn_calibration_maps(
            counting, {WHOLE: Counters.make_empty(counting.labels_layout), **labels}
        )

    return caches.maps_once(span, caches.panes.span_fingerprint(PaneHalf.LABELS, *span), learn)
