"""What a labelled record of a regression model adds: moments, percentages, and cells of errors and labels.

Cells are signed and logarithmic, independent of any reference: magnitudes from 2^-20 to 2^32 of the scale,
one cell around 0, an open one at each end. Errors have cells 1 % wide; labels, measured from the middle
of the reference, cells 10 % wide, each with the exact sums of its labels and absolute errors. Predictions
have 25 groups of the reference's cells, of about equal mass, each with the exact sums of its errors, and
of the predictions themselves.
"""

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.text import content_hash
from monitor.records.column_values import NumberValues
from monitor.records.probabilities import MaskedTerms
from monitor.states import grids
from monitor.states.counters import CounterBlock
from monitor.states.grids import Grid, NumericGrid

ERRORS = {  # term: power of the scale
    "error": 1,
    "absolute_error": 1,
    "squared_error": 2,
    "quartic_error": 4,
    "label": 1,
    "squared_label": 2,
    "cubed_label": 3,
    "quartic_label": 4,
    "squared_error_label": 3,
    "squared_error_squared_label": 4,
}
PERCENTAGES = ("percentage", "squared_percentage")  # |error / label|, where the label is not 0
WHOLE_ONLY = ("error_cells", "label_cells")  # blocks that strata do not count
_SMALLEST, _LARGEST = 2.0**-20, 2.0**32
_ERROR_RATIO, _LABEL_RATIO = 1.01, 1.1
PREDICTION_GROUPS = 25
BY_PREDICTION = ("absolute_error", "squared_error", "error", "prediction")  # the last one from the centre


def _signed_edges(ratio: float) -> Floats:
    edges = np.asarray(grids.log_edges(_SMALLEST, _LARGEST, ratio))
    return np.concatenate([-edges[::-1], edges])


ERROR_EDGES = _signed_edges(_ERROR_RATIO)
LABEL_EDGES = _signed_edges(_LABEL_RATIO)


def error_blocks(scale: float, centre: float, prediction: Grid) -> list[CounterBlock]:
    """Blocks of the labels part, 13,759 counters of which a record fills at most 55, in 16 bytes each.

    Errors are counted by prediction only where a reference gives the prediction cells.
    """
    cells = [scale, _SMALLEST, _LARGEST]
    by_label = (4, 2 * (len(LABEL_EDGES) + 1))
    blocks = [
        CounterBlock("errors", (4, len(ERRORS)), content_hash([scale, list(ERRORS)]), sums=True),
        CounterBlock("percentages", (4, len(PERCENTAGES)), content_hash(PERCENTAGES), sums=True),
        CounterBlock("error_cells", (len(ERROR_EDGES) + 1,), content_hash([*cells, _ERROR_RATIO])),
        CounterBlock("label_cells", by_label, content_hash([*cells, _LABEL_RATIO, centre]), sums=True),
    ]
    if isinstance(prediction, NumericGrid) and prediction.edges:
        grid = content_hash([scale, centre, grids.to_json(prediction), PREDICTION_GROUPS, BY_PREDICTION])
        blocks.append(
            CounterBlock("prediction_errors", (4, len(BY_PREDICTION) * PREDICTION_GROUPS), grid, sums=True)
        )
    return blocks


def make_error_moments(
    prediction: NumberValues, label: NumberValues, is_known: Bools, scale: float
) -> MaskedTerms:
    """Terms in the order of ERRORS, from products alone: they round alike on every machine."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        y = label.values / scale
        e = (prediction.values - label.values) / scale
        ee, yy = e * e, y * y
        columns = [e, np.abs(e), ee, ee * ee, y, yy, yy * y, yy * yy, ee * y, ee * yy]
    return columns, _both_finite(prediction, label, is_known)


def percentage_terms(prediction: NumberValues, label: NumberValues, is_known: Bools) -> MaskedTerms:
    """Terms in the order of PERCENTAGES, of the records whose label is not 0."""
    mask = _both_finite(prediction, label, is_known) & (label.values != 0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        share = np.abs((prediction.values - label.values) / np.where(mask, label.values, 1.0))
        return [share, share * share], mask


def error_cells(
    prediction: NumberValues, label: NumberValues, is_known: Bools, scale: float
) -> tuple[Ints, Bools]:
    """Cell of each record's error."""
    mask = _both_finite(prediction, label, is_known)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        error = np.where(mask, prediction.values - label.values, 0.0) / scale
    return np.searchsorted(ERROR_EDGES, error, side="right"), mask


def make_label_cell_terms(
    prediction: NumberValues, label: NumberValues, is_known: Bools, scale: float, centre: float
) -> tuple[Ints, list[Floats], Bools]:
    """Cell of each record's label, and what it adds there: label - centre, and the absolute error."""
    mask = _both_finite(prediction, label, is_known)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        y = np.where(mask, label.values - centre, 0.0) / scale
        error = np.where(mask, np.abs(prediction.values - label.values), 0.0) / scale
    return np.searchsorted(LABEL_EDGES, y, side="right"), [y, error], mask


def prediction_groups(cells: int) -> Ints:
    """Group of each of so many regular cells of a prediction."""
    return np.arange(cells) * PREDICTION_GROUPS // cells


def make_prediction_group_terms(
    prediction: NumberValues,
    label: NumberValues,
    is_known: Bools,
    scale: float,
    centre: float,
    grid: NumericGrid,
) -> tuple[Ints, list[Floats], Bools]:
    """Group of each record's prediction, and what it adds there: terms in the order of BY_PREDICTION."""
    cell = grid.value_cells(prediction.values, prediction.missing)
    mask = _both_finite(prediction, label, is_known) & (cell < grid.regular_size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        error = np.where(mask, prediction.values - label.values, 0.0) / scale
        away = np.where(mask, prediction.values - centre, 0.0) / scale
        terms = [np.abs(error), error * error, error, away]
    return prediction_groups(grid.regular_size)[np.where(mask, cell, 0)], terms, mask


def _both_finite(prediction: NumberValues, label: NumberValues, is_known: Bools) -> Bools:
    return is_known & prediction.finite & label.finite
