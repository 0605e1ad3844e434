"""Rows of the estimates before labels: of a window's records; once it has settled, what they erred by."""

from collections.abc import Iterable, Mapping

from monitor.core.measurement import Reason
from monitor.measures.catalogue.measure import Family
from monitor.measures.evaluate import Result, estimate_errors, estimates
from monitor.measures.rows import MeasurementRow, Truth
from monitor.pipeline.windows.calibration_maps import Taught
from monitor.pipeline.windows.target import Target, ask_of, folded_part
from monitor.records.pane import Part
from monitor.states.strata import WHOLE, Strata, Stratum, segments_of

_NOT_SETTLED: Taught = {WHOLE: Reason.NOT_SETTLED}


def estimate_rows(target: Target, records: Strata, *, strata: bool = True) -> list[MeasurementRow]:
    """Estimates of the whole and of segments, given the records part.

    Of arms and versions there are none: whether labels follow from the score as they did is what is asked of
    them.
    """
    found = _estimates(target, records, Truth.NONE, strata=strata)
    pairs = ((stratum, result) for stratum, results in found.items() for result in results)
    return [target.row(result, Truth.NONE, stratum, None) for stratum, result in pairs]


def estimate_error_rows(
    target: Target, rows: Iterable[MeasurementRow], labels: Strata
) -> list[MeasurementRow]:
    """What the estimates of a settled window erred by, given its rows and its labels part.

    The estimate is made again, of the records as they are known now. Cost: where labels changed, a sum of
    panes.
    """
    whole = [row for row in rows if row.of_whole and not row.against]
    realised = [Result(row.measure, row.subject, row.measurement) for row in whole]
    estimated = _estimates(target, labels, Truth.SETTLED, strata=False).get(WHOLE, [])
    errors = estimate_errors(estimated, realised)
    coverage = whole[0].coverage if whole else None
    return [target.row(result, Truth.SETTLED, WHOLE, coverage) for result in errors]


def _estimates(
    target: Target, state: Strata, truth: Truth, *, strata: bool
) -> Mapping[Stratum, list[Result]]:
    """Estimates, unless they were made already of the same state by the same map."""
    monitored = target.monitored
    if Family.ESTIMATE not in monitored.spec.families or monitored.counting.label is None:
        return {}
    taught, key = _learned(target), (target.window.name, target.end, truth)
    known = monitored.lessons.made.get(key)
    if known is not None and known[0] is state and known[1] is taught:
        return known[2]
    records = state if truth is Truth.NONE else folded_part(target, Part.RECORDS, strata=False)
    counting, ask, of_whole = monitored.counting, ask_of(monitored), taught[WHOLE]
    found = {WHOLE: estimates(counting, of_whole, records[WHOLE], ask)}
    unknown = of_whole if isinstance(of_whole, Reason) else Reason.NO_LABELS
    for one in segments_of(records, counting.segments) if strata else []:
        found[one] = estimates(counting, taught.get(one, unknown), records[one], ask, whole=False)
    monitored.lessons.keep(key, state, taught, found)
    return found


def _learned(target: Target) -> Taught:
    """Of the reference's labels; where it has none, or versions have their own, of the newest settled window.

    That window ends before this one begins: nothing is estimated by its own labels.
    """
    monitored, window = target.monitored, target.window
    if monitored.reference is not None and not monitored.version_references:
        taught = monitored.lessons.of_reference(monitored.counting, monitored.reference)
        if taught[WHOLE] is not Reason.NO_LABELS:
            return taught
    settled = monitored.settled.get(window.name)
    if settled is None:
        return _NOT_SETTLED
    end = window.newest_end(min(settled.end, target.start))
    return monitored.lessons.of_settled(monitored.counting, monitored.panes, window.start(end), end)
