"""Whole curves and all cells behind kept values, where a window is kept first, for good, or as an alert's."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from monitor.core.measurement import DetailTable
from monitor.measures.evaluate import make_curve_tables, make_stability_tables
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.kept_rows import Place, place_of
from monitor.pipeline.windows.window_references import window_references
from monitor.states.strata import WHOLE, Strata

CELLS = "stability_index"
CURVES = ("roc_auc", "ks_separation", "average_precision", "best_profit")
Key = tuple[str, str]  # measure, subject


def with_whole_details(
    model: CycleModel, caches: ModelCaches, rows: Sequence[MeasurementRow], places: Collection[Place]
) -> list[MeasurementRow]:
    """Kept rows, those of some places with all that stands behind them; others keep a sketch of it.

    What is drawn of a window as it was known then comes from these. Cost: some milliseconds a place.

    Parameters
    ----------
    places
        as this cycle measured them: one that it did not is left as it is.
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
