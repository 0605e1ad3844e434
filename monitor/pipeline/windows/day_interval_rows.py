"""Rows whose intervals rest on how much the days of a window differ."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from monitor.core.clock import floor_to
from monitor.measures.day_intervals import FEWEST, jackknife_results, without_day
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.windows.window_target import WindowTarget, add_independence_warning
from monitor.records.pane import PaneHalf
from monitor.states.strata import WHOLE, Strata, Stratum


def jackknife_rows(
    target: WindowTarget,
    part: PaneHalf,
    folded: Strata,
    rows: list[MeasurementRow],
    results: Callable[[Strata], Iterable[MeasureResult]],
    also: Sequence[Stratum] = (),
) -> list[MeasurementRow]:
    """Rows of a window, those of the whole with intervals by its days, where the model asks for that.

    Parameters
    ----------
    folded
        the window by stratum.
    results
        measures that the whole of a sum has. Cost: it is called once for each day.
    also
        strata that it looks at besides the whole.
    """
    if target.model.spec.keys.dependence == "none":
        return rows
    days = _day_sums(target, part, strata=len(folded) > 1)
    if len(days) < FEWEST:
        return rows
    measured = [
        MeasureResult(row.measure, row.subject, row.measurement) for row in rows if _is_uncompared_whole(row)
    ]
    left_out = [results(_strata_without_day(folded, day, (WHOLE, *also))) for day in days]
    changed = jackknife_results(measured, left_out, target.model.spec.keys.level)
    return [
        replace(row, measurement=changed[row.measure, row.subject], warning=target.warning)
        if _is_uncompared_whole(row) and (row.measure, row.subject) in changed
        else row
        for row in rows
    ]


def warn_independent(target: WindowTarget, rows: list[MeasurementRow]) -> list[MeasurementRow]:
    """Rows with a warning where their intervals, or parts of them, take the records as independent."""
    if target.model.spec.keys.dependence == "none":
        return rows
    return [replace(row, warning=add_independence_warning(row.warning, row.measurement)) for row in rows]


def _day_sums(target: WindowTarget, part: PaneHalf, *, strata: bool) -> list[Strata]:
    """Sums of the panes of each day of a window that holds any: of the zone, from a pane's start on."""
    panes, pane = target.caches.panes, target.model.counting.reading.pane
    starts = (floor_to(at, pane) for at in target.window.days_of(target.end))
    bounds = [*sorted({max(at, target.start) for at in starts}), target.end]
    sums = (panes.sum_window(part, *span, strata=strata, kept=False) for span in pairwise(bounds))
    return [day for day in sums if WHOLE in day]


def _is_uncompared_whole(row: MeasurementRow) -> bool:
    return row.is_of_whole and not row.against


def _strata_without_day(folded: Strata, day: Strata, needed: Iterable[Stratum]) -> Strata:
    return {
        stratum: without_day(folded[stratum], day[stratum]) if stratum in day else folded[stratum]
        for stratum in needed
        if stratum in folded
    }
