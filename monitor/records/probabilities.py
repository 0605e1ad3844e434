"""Class probabilities: how those of a row are read, and what a labelled row adds to the counts."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Floats, Ints
from monitor.records.column_values import CategoryValues, NumberValues, parse_numbers
from monitor.records.reading import ReadingOptions, canonical_name
from monitor.states.grids import NumericGrid, cached_lookup

Cells: TypeAlias = tuple[Ints, Bools]
MaskedTerms: TypeAlias = tuple[list[Floats], Bools]

UNUSABLE = ("missing", "invalid", "sum", "unseen")  # why the probabilities of a labelled row are not measured
TOLERANCE = 0.01 + 1e-9  # of their sum: three of 0.33 add up to 1
_CLIP = 2.0**-52  # in the log loss, as scikit-learn does
_OCTAVES, _STEPS = range(9, 25), 8
_SMALL = [(_STEPS + step) * 2.0 ** -(octave + 3) for octave in reversed(_OCTAVES) for step in range(_STEPS)]

# 256 even cells, the lowest and the highest of which are cut at eight places an octave, down to 2^-24 from
# the end: a rare class has most of its probabilities there. All edges are exact doubles.
EDGES = (*_SMALL, *(cell / 256 for cell in range(1, 256)), *(1 - edge for edge in reversed(_SMALL)))
TOGETHER = 8  # of these cells are one of the coarse ones that records without a label are counted in
COARSE_EDGES = EDGES[TOGETHER - 1 :: TOGETHER]


def probability_cell_middles() -> Floats:
    """Middle of each coarse cell: a probability lies within half of one."""
    bounds = np.asarray([0.0, *COARSE_EDGES, 1.0])
    middles: Floats = (bounds[1:] + bounds[:-1]) / 2
    return middles


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """Probabilities of the classes."""

    names: tuple[str, ...]  # of the classes, canonical
    values: Floats  # shape (classes, rows); 0 in rows in which one is missing or invalid
    # missing, invalid: rows in which one is missing; in which none is, but one is no number, or out of range.
    missing: Bools
    invalid: Bools

    def largest_of_rows(self) -> NumberValues:
        """The largest of each row."""
        return NumberValues(np.where(self.invalid, np.nan, self.values.max(axis=0)), self.missing)

    def most_probable(self) -> CategoryValues:
        """Class of the largest, the first of equals; missing where one of them is missing or invalid."""
        return CategoryValues(
            self.names, np.where(self.missing | self.invalid, -1, self.values.argmax(axis=0))
        )

    def total_of_rows(self) -> Floats:
        """Sum of each row, added class by class: rows read together or apart have equal sums."""
        total = np.zeros(self.values.shape[1])
        for column in self.values:
            total += column
        return total


def parse_class_probabilities(table: pa.Table, reading: ReadingOptions) -> ClassProbabilities | None:
    """Probabilities of the classes, where there are columns of them."""
    if not reading.probabilities:
        return None
    columns = [parse_numbers(table[f"probability:{name}"]) for name in reading.probabilities]
    missing = np.logical_or.reduce([column.missing for column in columns])
    valid = np.logical_and.reduce([column.lies_within(reading.score_range) for column in columns])
    return ClassProbabilities(
        names=tuple(canonical_name(name) for name in reading.probabilities),
        values=np.where(valid, np.stack([column.values for column in columns]), 0.0),
        missing=missing,
        invalid=~valid & ~missing,
    )


def probability_terms(
    probabilities: ClassProbabilities, actual: Ints, predicted: Ints, labelled: Bools, grid: NumericGrid
) -> tuple[dict[str, Cells], MaskedTerms, Bools]:
    """What the labelled rows add to the blocks of the probabilities.

    Rows whose probabilities are missing, invalid or do not add up to 1 within 0.01, or whose actual class has
    none, add to the block of the unusable ones alone. The others are taken as they are, not scaled.

    Parameters
    ----------
    actual, predicted
        position of each row's classes among those of the probabilities; negative: none. Of several largest
        probabilities that of the predicted class is taken, or the first.
    labelled
        rows with a label.
    grid
        of the largest probability.

    Returns
    -------
    cells, losses, clipped
        cells by block; terms of the losses; rows whose probability was clipped.
    """
    off = np.abs(probabilities.total_of_rows() - 1.0) > TOLERANCE
    cause = np.select(
        [probabilities.missing, probabilities.invalid, off, actual < 0], range(len(UNUSABLE)), -1
    )
    used_mask = labelled & (cause < 0)
    cells = {"unusable": (cause.astype(np.int64), labelled & (cause >= 0))}
    right, brier = np.full(len(actual), 0.5), np.zeros(len(actual))
    for at, (name, column) in enumerate(zip(probabilities.names, probabilities.values, strict=True)):
        actual_class = actual == at
        cells[f"probability:{name}"] = (
            actual_class * (len(EDGES) + 1) + cached_lookup(EDGES)(column),
            used_mask,
        )
        right = np.where(actual_class & used_mask, column, right)
        gap = column - actual_class
        brier += gap * gap
    largest = probabilities.values.max(axis=0)
    of_predicted = probabilities.values[predicted, np.arange(len(predicted))]
    # A prediction that is one of several largest contradicts nothing: models decide before they round.
    follows = (predicted >= 0) & (of_predicted == largest)
    hit = np.where(follows, predicted, probabilities.values.argmax(axis=0)) == actual
    cells["scores"] = (hit * grid.regular_size + grid.value_cells(largest, probabilities.missing), used_mask)
    losses, clipped = loss_terms(right, brier, used_mask)
    return cells, losses, clipped


def predicted_cells(probabilities: ClassProbabilities, predicted: Ints) -> dict[str, Cells]:
    """Coarse cells of the classes' probabilities by whether the class is the predicted one, by block.

    Rows whose probabilities are missing, invalid or do not add up to 1 within 0.01 have none.

    `predicted`: position of each row's predicted class among those of the probabilities; negative: none.
    """
    used_mask = ~(
        probabilities.missing
        | probabilities.invalid
        | (np.abs(probabilities.total_of_rows() - 1.0) > TOLERANCE)
    )
    side, cell = len(COARSE_EDGES) + 1, cached_lookup(COARSE_EDGES)
    columns = enumerate(zip(probabilities.names, probabilities.values, strict=True))
    return {
        f"probability:{name}": ((predicted == at) * side + cell(column), used_mask)
        for at, (name, column) in columns
    }


def loss_terms(right: Floats, brier: Floats, mask: Bools) -> tuple[MaskedTerms, Bools]:
    """Terms in the order of `LOSSES`, and where a probability was clipped.

    Parameters
    ----------
    right
        probability of the actual class; any number in (0, 1) outside of the mask.
    brier
        terms of the Brier score.
    """
    kept = np.clip(right, _CLIP, 1.0 - _CLIP)
    loss = -np.log(kept)
    columns = [brier, brier * brier, loss, loss * loss]
    return (columns, mask), mask & (kept != right)
