"""Rows of the estimates before labels: of a window's records; once it has settled, what they erred by."""

from collections.abc import Iterable

from monitor.core.measurement import Reason
from monitor.measures.estimates import Learned
from monitor.measures.evaluate import Result, estimate_errors, estimates
from monitor.measures.measure import Family
from monitor.pipeline.target import Target, ask_of, folded_part
from monitor.specs.rows import MeasurementRow, Part, Truth
from monitor.states.strata import WHOLE, Strata


def estimate_rows(target: Target, records: Strata) -> list[MeasurementRow]:
    """Estimates of the whole, given its records part."""
    found = _estimates(target, records, Truth.NONE)
    return [target.row(result, Truth.NONE, WHOLE, None) for result in found]


def estimate_error_rows(
    target: Target, rows: Iterable[MeasurementRow], labels: Strata
) -> list[MeasurementRow]:
    """What the estimates of a settled window erred by, given its rows and its labels part.

    The estimate is made again, of the records as they are known now. Cost: where labels changed, a sum of
    panes.
    """
    whole = [row for row in rows if row.version is None and row.segment is None and not row.against]
    realised = [Result(row.measure, row.subject, row.measurement) for row in whole]
    errors = estimate_errors(_estimates(target, labels, Truth.SETTLED), realised)
    coverage = whole[0].coverage if whole else None
    return [target.row(result, Truth.SETTLED, WHOLE, coverage) for result in errors]


def _estimates(target: Target, state: Strata, truth: Truth) -> list[Result]:
    """Estimates, unless they were made already of the same state by the same map."""
    monitored = target.monitored
    if Family.ESTIMATE not in monitored.spec.families or monitored.counting.label is None:
        return []
    taught, key = _learned(target), (target.window.name, target.end, truth)
    known = monitored.lessons.made.get(key)
    if known is not None and known[0] is state and known[1] is taught:
        return known[2]
    records = state if truth is Truth.NONE else folded_part(target, Part.RECORDS, strata=False)
    found = estimates(monitored.counting, taught, records[WHOLE], ask_of(monitored))
    monitored.lessons.keep(key, state, taught, found)
    return found


def _learned(target: Target) -> Learned | Reason:
    """Of the reference's labels; where it has none, or versions have their own, of the newest settled window.

    That window ends before this one begins: nothing is estimated by its own labels.
    """
    monitored, window = target.monitored, target.window
    if monitored.reference is not None and not monitored.version_references:
        taught = monitored.lessons.of_reference(monitored.counting, monitored.reference)
        if taught is not Reason.NO_LABELS:
            return taught
    settled = monitored.settled.get(window.name)
    if settled is None:
        return Reason.NOT_SETTLED
    end = window.newest_end(min(settled.end, target.start))
    return monitored.lessons.of_settled(monitored.counting, monitored.panes, window.start(end), end)
