"""Which measured rows a cycle keeps, and which of them with whole curves and all cells behind.

Of windows that overlap others of their kind only what is asked for is kept; whole details where a window is
kept first, for good, or as an alert's.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from monitor.alerts.default_rules import MAIN
from monitor.core.effect import MOVE
from monitor.core.measurement import DetailTable
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import ChanceYardstick
from monitor.measures.evaluate import make_curve_tables, make_stability_tables
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.windows.log_rows import NEXT_SETTLING
from monitor.pipeline.windows.window_references import window_references
from monitor.specs.model_spec import ModelSpec
from monitor.states.strata import WHOLE, Strata

CELLS = "stability_index"
Key = tuple[str, str]  # measure, subject
Place: TypeAlias = tuple[str, int, str]  # window, its end, truth

_WATCHED = "stability_index"


def select_kept_rows(
    spec: ModelSpec,
    due: Sequence[MeasurementRow],
    rows: Iterable[MeasurementRow],
    changed: Collection[Place],
    *,
    thin: bool,
) -> list[MeasurementRow]:
    """What of a cycle's rows is kept.

    Parameters
    ----------
    due
        rows of the windows that are due.
    rows
        all others, of the newest windows.
    changed
        on which an alert fired or ended: what they were judged by is kept whole.
    thin
        of windows that overlap others of their kind, rows of measures that nobody asks for are left out.
    """
    wanted = set(changed).difference(place_of(row) for row in due)
    # What an alert was judged by is kept even where its window was not due: the evidence of each verdict
    # stands in the store.
    measured = (row for row in rows if row.measure != NEXT_SETTLING)  # which no window has
    cited = [row for row in measured if place_of(row) in wanted] if wanted else []
    return [*(thin_rows(spec, due, changed) if thin else due), *cited]


def thin_rows(
    spec: ModelSpec, rows: Sequence[MeasurementRow], changed: Collection[Place]
) -> list[MeasurementRow]:
    """Rows without those that nobody asks for, of windows that overlap others of their kind.

    Asked for are headline measures and critical values, the stability index, the task's main measure, and
    what a rule on such a window judges, with what stands beside it.
    """
    apart = {
        (window.name, row.window_end): window.stands_apart(row.window_end)
        for window in spec.windows
        for row in rows
        if row.window == window.name
    }
    judged = {(rule.window, name) for rule in spec.rules for name in _yardstick_names(rule.measure)}
    return [
        row
        for row in rows
        if apart.get((row.window, row.window_end), True)
        or place_of(row) in changed
        or _is_always_kept(spec, row.measure)
        or (row.window, row.measure) in judged
    ]


def place_of(row: MeasurementRow) -> Place:
    """Window, end and truth of a row."""
    return (row.window, row.window_end, row.truth.value)


def _is_always_kept(spec: ModelSpec, name: str) -> bool:
    measure = BY_NAME[name]
    known = measure.headline or measure.yardstick is ChanceYardstick.CRITICAL
    return known or name in (_WATCHED, MOVE, MAIN[spec.reading.task])


def _yardstick_names(name: str) -> tuple[str, ...]:
    measure = BY_NAME[name]
    return tuple(filter(None, (name, measure.critical, measure.beside)))


def with_whole_details(
    model: CycleModel, caches: ModelCaches, rows: Sequence[MeasurementRow], places: Collection[Place]
) -> list[MeasurementRow]:
    """Kept rows, those of some places with all that stands behind them; others keep a sketch of it.

    What is drawn of a window as it was known then comes from these. Cost: some milliseconds a place.

    `places`: as this cycle measured them: one that it did not is left as it is.
    """
    found = {
        place: _whole_tables(model, caches, place) for place in {*places} & {place_of(row) for row in rows}
    }
    return [_with_table(row, found.get(place_of(row), {})) for row in rows]


def select_whole_places(
    model: CycleModel, whole: Collection[Place], changed: Collection[Place]
) -> set[Place]:
    """Places that are kept with whole details: as `select_kept_rows`, not all of those that overlap."""
    apart = {window.name: window for window in model.spec.windows}
    return {
        *changed,
        *(place for place in whole if not model.thin or apart[place[0]].stands_apart(place[1])),
    }


def _whole_tables(model: CycleModel, caches: ModelCaches, place: Place) -> Mapping[Key, DetailTable]:
    window, end, truth = place
    folded = caches.find_window_strata(window, end, LabelTruth(truth))
    if folded is None:
        return {}
    if truth == LabelTruth.NONE.value:
        return _make_cell_tables(model, caches, folded)
    curves = make_curve_tables(model.counting, folded[WHOLE], model.spec.options)
    return {(measure, ""): detail for measure, detail in curves.items()}


def _make_cell_tables(model: CycleModel, caches: ModelCaches, folded: Strata) -> Mapping[Key, DetailTable]:
    expected = window_references(model, folded).expected_cells(WHOLE, model.counting, caches)
    if expected is None:
        return {}
    cells = make_stability_tables(model.counting, expected, folded[WHOLE], model.spec.options)
    return {(CELLS, subject): detail for subject, detail in cells.items()}


def _with_table(row: MeasurementRow, details: Mapping[Key, DetailTable]) -> MeasurementRow:
    detail = details.get((row.measure, row.subject))
    if detail is None or row.against or not row.is_of_whole or row.measurement.value is None:
        return row
    return replace(row, measurement=replace(row.measurement, detail=detail))
