"""Shift of a settled window's labels: against the reference's, or those of another moment."""

from collections.abc import Iterable
from dataclasses import replace

from monitor.measures.catalogue.measure import Family
from monitor.measures.options import LABEL, Options, Result
from monitor.measures.rows import MeasurementRow, Truth
from monitor.measures.shift import label_shift
from monitor.measures.shift.cells import Expected
from monitor.pipeline.windows.selective import refused, unlike_reference
from monitor.pipeline.windows.target import Target, folded_part
from monitor.pipeline.windows.window_references import window_references
from monitor.records.counting import Counting
from monitor.records.pane import Part
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.states.views import Histogram

_FAMILIES = frozenset({Family.SHIFT})


def label_shift_rows(
    target: Target, labels: Counters, truth: Truth, coverage: float | None
) -> list[MeasurementRow]:
    """Shift of the whole's labels once they are settled: those that come first are no fair sample."""
    options = _asked(target, truth)
    if options is None:
        return []
    results = label_shift.results(_expected(target), _labels(target.model.counting, labels), options)
    rows, classes = _rows(target, results, coverage, ""), unlike_reference(target, labels, truth)
    return refused(rows, classes) if classes else rows


def label_shift_against(
    target: Target, sides: tuple[Counters, Counters], truth: Truth, coverage: float | None, against: str
) -> list[MeasurementRow]:
    """Shift of the settled labels against another moment's: labels parts of the whole, now and then."""
    options, counting = _asked(target, truth), target.model.counting
    if options is None:
        return []
    now, then = (_labels(counting, side) for side in sides)
    results = label_shift.results(label_shift.expected_labels([(1.0, then)]), now, options)
    return _rows(target, results, coverage, against)


def _asked(target: Target, truth: Truth) -> Options | None:
    model = target.model
    if truth is not Truth.SETTLED or model.counting.label is None:
        return None
    wanted = Family.SHIFT in model.spec.families
    return replace(target.options, families=_FAMILIES) if wanted else None


def _expected(target: Target) -> Expected | None:
    """Of one reference made once; of versions with their own, mixed as their records serve."""
    model = target.model
    if model.reference is None:
        return None
    shares = [(1.0, model.reference)]
    if model.version_references:
        shares = list(window_references(model, folded_part(target, Part.RECORDS)).shares) or shares
    if len(shares) > 1:
        parts = [(share, _labels(model.counting, reference.labels)) for share, reference in shares]
        return label_shift.expected_labels(parts)
    labels = shares[0][1].labels
    return target.caches.once(
        ("expected labels", labels),
        lambda: label_shift.expected_labels([(1.0, _labels(model.counting, labels))]),
    )


def _labels(counting: Counting, labels: Counters) -> Histogram:
    return counting.histogram(labels, LABEL)


def _rows(
    target: Target, results: Iterable[Result], coverage: float | None, against: str
) -> list[MeasurementRow]:
    return [target.row(result, Truth.SETTLED, WHOLE, coverage, against=against) for result in results]
