"""The effect table: what each cell of each feature adds to the score, fitted once to a reference.

An additive model of the score over cells of all features. Its cells are unions of the cells that panes are
counted in, so that what a window's features do to the mean score is linear in counts that are kept anyway.
"""

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Bools, Floats, Ints, Singles
from monitor.core.errors import CodecError
from monitor.records.counting import Counting
from monitor.records.reading import ModelTask
from monitor.states.counters import Counters
from monitor.states.grids import Grid, NumericGrid

QUANTILES, LEVELS = 16, 60  # cells of a number, of a category; then one of the rest, one of missing values
FOLDS = 10  # of consecutive rows
MOST_ROWS = 50_000  # of a reference that are fitted, evenly chosen
_FEWEST_ROWS = 200
_PRIOR = 20.0  # records that each cell is pulled towards 0 by
_MOST_PASSES, _CLOSE = 40, 1e-4  # until no cell moves by so many standard deviations of the score
_TAIL = 0.01  # share of the reference beyond which a number lies in a tail
_LARGEST = 1e30  # of an effect: single precision holds it, and its square fits into doubles
_FORMAT, _HEAD = 1, "<IIdd"

CellMatrix = NDArray[np.uint8]
"""Cell of each row within each feature, shape (features, rows)."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectTable:
    """Effects of the cells of all features, one feature behind the other as `EffectCells` has them."""

    # shape (1 + folds, cells): of all fitted rows, then without one tenth of them each. No rows: not fitted.
    effects: Singles
    r2: float  # share of the score's variance that it explains, of rows that it had not seen
    deviation: float  # standard deviation of what it leaves of such rows
    rows: int  # that it was fitted to

    @property
    def is_fitted(self) -> bool:
        """False: there was nothing to fit, as no number that stands for the score, or too few rows."""
        return self.rows > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EffectTable) and pack_effects(self) == pack_effects(other)

    def __hash__(self) -> int:
        return hash(pack_effects(self))


NO_EFFECTS = EffectTable(np.empty((0, 0), np.float32), 0.0, 0.0, 0)


@dataclass(frozen=True, eq=False)
class EffectCells:
    """Cells of the table, and which cells of a model's grids they are made of."""

    features: tuple[str, ...]  # names, in the order of the counting
    starts: Ints  # first cell of each feature, and the number of all
    of_grid: tuple[Ints, ...]  # by feature: cell within the feature of each cell of its grid
    # by feature: cells of its grid that the reference hardly has: its outermost hundredths, categories that
    # it lacks, missing values if it has none. What is said of them is a guess.
    in_tail: tuple[Bools, ...]
    layout_cells: Ints  # of each counter of the records part: its cell; of all others the number of cells
    layout_tails: (
        Ints  # of each counter of the records part: its feature, if it lies in a tail; else how many
    )

    @cached_property
    def sizes(self) -> Ints:
        """Cells of each feature."""
        return np.diff(self.starts)

    def sum_cells(self, records: Counters) -> Floats:
        """Records by cell of the table. Cost: one pass over the counters that are not 0."""
        many = int(self.starts[-1])
        at = self.layout_cells[records.index]
        return np.bincount(at, records.value, many + 1)[:many].astype(np.float64)

    def sum_tails(self, records: Counters) -> Floats:
        """Records in the tails of each feature."""
        many = len(self.features)
        at = self.layout_tails[records.index]
        return np.bincount(at, records.value, many + 1)[:many].astype(np.float64)


def make_effect_cells(counting: Counting, reference: Counters) -> EffectCells:
    """Cells of the table, by how many of the reference's records lie in each cell of the grids."""
    layout, sizes = counting.records_layout, list[int]()
    of_grid: list[Ints] = []
    tails: list[Bools] = []
    for name, grid in counting.features:
        cells, in_tail = _join_cells(grid, reference.dense_block(f"feature:{name}"))
        of_grid.append(cells)
        tails.append(in_tail)
        sizes.append(int(cells.max()) + 1)
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    layout_cells = np.full(layout.size, starts[-1])
    layout_tails = np.full(layout.size, len(sizes))
    for at, (name, _) in enumerate(counting.features):
        block = layout.block_slice(f"feature:{name}")
        layout_cells[block] = starts[at] + of_grid[at]
        layout_tails[block] = np.where(tails[at], at, len(sizes))
    names = tuple(name for name, _ in counting.features)
    return EffectCells(names, starts, tuple(of_grid), tuple(tails), layout_cells, layout_tails)


def effect_target(counting: Counting, reference: Counters) -> str:
    """What stands for the score: "score", "prediction" of a regression, else "class:NAME".

    Of several classes it is the probability of the one that the reference's records have most. Empty: there
    is no such number, as with predicted classes alone, or the probabilities of records are not counted.
    """
    if counting.reading.task is ModelTask.REGRESSION:
        return "prediction" if "prediction" in counting.summed_names else ""
    if counting.reading.task is ModelTask.BINARY:
        return "score" if "score" in counting.summed_names else ""
    names = counting.probability_classes if counting.label is not None else ()
    if not names:
        return ""
    tables = counting.predicted_tables(reference)
    return f"class:{names[int(tables[:, 1].sum(axis=1).argmax())]}"


def fit_effect_table(cells: CellMatrix, sizes: Ints, score: Floats) -> EffectTable:
    """The additive table of a score; R² and a jackknife by ten folds of consecutive rows.

    It is where backfitting [1]_ by β ← (Σr + nβ) / (n + 20) ends, r what all features leave, each feature's
    records having the mean 0: a ridge regression on the cells. Conjugate gradients need fewer passes for it
    where features are alike.

    Parameters
    ----------
    cells
        shape (features, rows).
    sizes
        cells of each feature.
    score
        finite, one a row.

    References
    ----------
    .. [1] Breiman & Friedman (1985). Estimating optimal transformations for multiple regression and
       correlation. J. Am. Stat. Assoc. 80:580-598.
    """
    rows = len(score)
    if rows < _FEWEST_ROWS or not len(sizes):
        return NO_EFFECTS
    with np.errstate(over="ignore", invalid="ignore"):  # squares of huge predictions
        spread = float(np.std(score))
    if not 0 < spread < np.inf:
        return NO_EFFECTS
    unit = (score - score.mean()) / spread  # products of huge numbers would overflow
    whole = _CellDesign(cells, sizes, (0, 0)).fit_effects(unit, np.zeros(int(sizes.sum())))
    fitted, missed = [whole], 0.0
    for first, last in pairwise(np.linspace(0, rows, FOLDS + 1).astype(int).tolist()):
        # All rows' effects are close to those of nine tenths: some passes are enough.
        fold = _CellDesign(cells, sizes, (first, last))
        fitted.append(fold.fit_effects(unit, whole))
        told = _CellDesign(cells[:, first:last], sizes, (0, 0)).sum_effects(fitted[-1])
        missed += float(np.square(unit[first:last] - fold.mean_of_rows(unit) - told).sum())
    effects = np.asarray(fitted) * spread
    if float(np.abs(effects).max()) > _LARGEST:
        return NO_EFFECTS
    return EffectTable(
        effects.astype(np.float32), 1.0 - missed / rows, float(np.sqrt(missed / rows)) * spread, rows
    )


class _CellDesign:
    """Rows by cell of each feature, those of one span left out."""

    def __init__(self, cells: CellMatrix, sizes: Ints, out: tuple[int, int]) -> None:
        self._cells, self._out = cells, slice(*out)
        self._rows: int = cells.shape[1] - (out[1] - out[0])
        self._sizes, self._starts = sizes, np.cumsum(sizes) - sizes
        self._bounds = list(pairwise([*self._starts.tolist(), int(sizes.sum())]))
        self._room = np.empty(cells.shape[1])
        inside = np.ones(cells.shape[1])
        inside[self._out] = 0.0
        self._counts = self._sum_by_cell(inside)

    def fit_effects(self, score: Floats, start: Floats) -> Floats:
        """Effects, centred within each feature, by conjugate gradients from a start [2]_.

        Until the next step of backfitting would move no cell by 1e-4 of the score's unit, or for 40 passes.

        .. [2] Shewchuk (1994). An introduction to the conjugate gradient method without the agonizing pain.
        """
        effects, weights = start.copy(), self._counts + _PRIOR
        rest = self._centre_rows(score - self.sum_effects(effects))
        gradient = self._sum_by_cell(rest) - self._pull(effects)
        step = gradient / weights
        way, power = step, float(gradient @ step)
        for _ in range(_MOST_PASSES):
            if np.abs(step).max() < _CLOSE:
                break
            along = self._centre_rows(self.sum_effects(way))
            bend = self._sum_by_cell(along) + self._pull(way)
            length = power / float(way @ bend)
            effects += length * way
            gradient -= length * bend
            step, before = gradient / weights, power
            power = float(gradient @ step)
            way = step + power / before * way
        return self._centre_features(effects)

    def sum_effects(self, effects: Floats) -> Floats:
        """Sum of the effects of each row's cells."""
        total = np.zeros(len(self._room))
        for row_cells, (begin, end) in zip(self._cells, self._bounds, strict=True):
            # "wrap" spares a check of the indices, which are in range.
            total += effects[begin:end].take(row_cells, out=self._room, mode="wrap")
        return total

    def mean_of_rows(self, values: Floats) -> float:
        """Mean of the rows that are not left out."""
        total, left_out = float(values.sum()), float(values[self._out].sum())
        return (total - left_out) / self._rows

    def _pull(self, effects: Floats) -> Floats:
        """Half the gradient of 20 Σ β², of effects that are centred first."""
        centred = self._centre_features(effects)
        sums = np.add.reduceat(centred, self._starts)
        pull: Floats = _PRIOR * (centred - self._counts * np.repeat(sums / self._rows, self._sizes))
        return pull

    def _centre_features(self, effects: Floats) -> Floats:
        """Effects of which each feature's have the mean 0 over the rows."""
        means = np.add.reduceat(self._counts * effects, self._starts) / self._rows
        centred: Floats = effects - np.repeat(means, self._sizes)
        return centred

    def _centre_rows(self, values: Floats) -> Floats:
        values -= self.mean_of_rows(values)
        values[self._out] = 0.0
        return values

    def _sum_by_cell(self, values: Floats) -> Floats:
        return np.concatenate(
            [
                np.bincount(row_cells, weights=values, minlength=end - begin)
                for row_cells, (begin, end) in zip(self._cells, self._bounds, strict=True)
            ]
        )


def pack_effects(table: EffectTable) -> bytes:
    """Bytes of a table: format; compressed rows, cells, R², deviation, and effects in single precision."""
    head = struct.pack(_HEAD, table.rows, table.effects.shape[1], table.r2, table.deviation)
    return bytes([_FORMAT]) + zlib.compress(head + table.effects.astype("<f4").tobytes(), 1)


def unpack_effects(blob: bytes) -> EffectTable:
    """Table of its bytes. Exact.

    Raises
    ------
    CodecError
        if the bytes are damaged, or of another format.
    """
    if blob[:1] != bytes([_FORMAT]):
        raise CodecError(f"an effect table of format {_FORMAT} expected: got {blob[:1].hex() or 'nothing'}")
    try:
        body = zlib.decompress(blob[1:])
        rows, cells, r2, deviation = struct.unpack_from(_HEAD, body)
    except (zlib.error, struct.error) as error:
        raise CodecError(f"damaged effect table: {error}") from error
    numbers, many = body[struct.calcsize(_HEAD) :], (1 + FOLDS) * cells if rows else 0
    if len(numbers) != 4 * many:
        raise CodecError(f"an effect table of {many} numbers expected: got {len(numbers)} bytes")
    if not rows:
        return NO_EFFECTS
    effects = np.frombuffer(numbers, dtype="<f4").reshape(1 + FOLDS, cells).astype(np.float32)
    return EffectTable(effects, r2, deviation, rows)


def _join_cells(grid: Grid, counts: Ints) -> tuple[Ints, Bools]:
    """Cell of the table of each cell of a grid; which of them the reference hardly has."""
    regular = grid.regular_size
    cells, in_tail = np.zeros(grid.size, dtype=np.int64), np.zeros(grid.size, dtype=np.bool_)
    if isinstance(grid, NumericGrid):
        values = counts[:regular]
        up_to, total = np.cumsum(values), max(int(values.sum()), 1)
        # By the middle of each: a cell that holds many records is one by itself.
        sixteenth = np.minimum((up_to - values / 2) * QUANTILES // total, QUANTILES - 1)
        cells[:regular] = np.unique(sixteenth, return_inverse=True)[1]
        in_tail[:regular] = np.minimum(up_to, total - up_to + values) <= _TAIL * total
    else:
        cells[:regular] = np.minimum(np.arange(regular), LEVELS)
        cells[regular - 1] = min(regular - 1, LEVELS)
        cells[regular] = cells[regular - 1]  # unseen ones are like the rest
        in_tail[regular] = True
    cells[regular + 1 :] = cells[:regular].max() + 1
    if isinstance(grid, NumericGrid):
        cells[regular] = cells[regular + 1]  # which no number is in
    # What the model does without a value is not known of a reference in which all have one.
    in_tail[regular + 1 :] = counts[regular + 1 :].sum() < _PRIOR
    return cells, in_tail
