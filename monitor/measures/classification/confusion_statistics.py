"""Statistics of classes: of the counts and of each of their resamples at once, NaN where undefined.

Averages leave classes without a record out: their recall, precision and F are set to 0 here, which adds
nothing to the sums, and they are not counted among the classes. Divisions by 0 are silenced by the caller.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from monitor.core.array_types import Floats, Ints
from monitor.states.views import ConfusionCounts

_BLOCK = 1_000_000  # resampled cells that are in memory at once
_MANY = 256  # cells from which on they are drawn one by one
_SMALL = 64  # counts up to which their draws are looked up
_STEPS = 65_536
_SMALL_SIDE = 16  # classes up to which a matrix is summed whole: empty cells cost less than positions
_Sums: TypeAlias = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class ResampledSums:
    """Sums of the counts, and of each of their resamples, in one stack: the counts themselves come first."""

    n: int  # records
    # shape (draws,): records of each draw, n in most; statistics are ratios, so that it cancels out.
    total: Floats
    # actual, predicted: shape (k + 1, draws): records by actual and by predicted class, the last of each
    # *unseen*.
    actual: Floats
    predicted: Floats
    right: Floats  # shape (k, draws): records of each known class that were predicted so
    # profit, hits, present: shape (draws,): sum of the amounts; records predicted right; known classes that
    # have records.
    profit: Floats
    hits: Floats
    present: Floats


def resample_sums(
    confusion: ConfusionCounts, amounts: Floats | None, resamples: int, rng: np.random.Generator | None
) -> ResampledSums:
    """Sums of the counts and of their resamples.

    The cells are drawn from a multinomial distribution; where there are many, each from a Poisson
    distribution: the same but for the number of records, which is then random as well. Blocks of resamples
    bound the memory.

    Parameters
    ----------
    amounts
        of a record of each cell, shaped as the counts; None: nothing.
    rng
        None: no resamples.
    """
    side = len(confusion.counts)
    cells = np.flatnonzero(confusion.counts)
    counts = confusion.counts.ravel()[cells]
    n = int(counts.sum())
    return sum_draw_blocks(_resample_blocks(counts, n, resamples, rng), cells, side, amounts, n)


def sum_draw_blocks(
    blocks: Iterable[Floats], cells: Ints, side: int, amounts: Floats | None, n: int
) -> ResampledSums:
    """Sums of blocks of counts that stand for draws, each of shape (cells, draws).

    Parameters
    ----------
    cells
        places of the counts in the flat matrix, ascending.
    side, amounts, n
        of the matrix; of a record of each of its cells; records.
    """
    amount = None if amounts is None else amounts.ravel()[cells]
    sums = _dense_sums if side <= _SMALL_SIDE else _sparse_sums
    parts = [sums(block, cells, side, amount) for block in blocks]
    actual, predicted, right, profit = (
        parts[0] if len(parts) == 1 else (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    )
    total, hits = actual.sum(axis=0), right.sum(axis=0)
    present = (actual[:-1] > 0).sum(axis=0, dtype=np.float64)
    return ResampledSums(n, total, actual, predicted, right, profit, hits, present)


def _resample_blocks(
    counts: Ints, n: int, resamples: int, rng: np.random.Generator | None
) -> Iterator[Floats]:
    """Blocks of draws of cells, shape (cells, draws): the counts are the first draw of all."""
    first = counts[:, None]
    if n == 0 or resamples == 0 or rng is None:
        yield first.astype(np.float64)
        return
    block = max(1, _BLOCK // len(counts))
    for start in range(0, resamples, block):
        drawn = _resample_cells(counts, n, min(block, resamples - start), rng)
        yield np.concatenate([first[:, : start == 0], drawn], axis=1, dtype=np.float64)


def _resample_cells(counts: Ints, n: int, size: int, rng: np.random.Generator) -> Ints:
    if len(counts) < _MANY:
        return rng.multinomial(n, counts / n, size=size).T
    drawn = np.empty((len(counts), size), dtype=np.int64)
    # Most cells of many classes hold few records: draws of these are looked up, one table a count.
    large = counts > _SMALL
    drawn[large] = rng.poisson(counts[large, None], size=(np.count_nonzero(large), size))
    for count in range(1, _SMALL + 1):
        cells = np.flatnonzero(counts == count)
        if len(cells):
            drawn[cells] = _poisson_quantiles(count)[
                rng.integers(_STEPS, size=(len(cells), size), dtype=np.uint16)
            ]
    return drawn


def _poisson_quantiles(mean: int) -> Ints:
    """Quantiles of a Poisson distribution at 65,536 equally likely steps: drawing one is a look-up."""
    values = np.arange(4 * _SMALL)
    reached = np.round(_STEPS * scipy.special.pdtr(values, mean)).astype(np.int64)
    return np.repeat(values, np.diff(reached, prepend=0))


def _dense_sums(drawn: Floats, cells: Ints, side: int, amount: Floats | None) -> _Sums:
    """Sums over all cells of a small matrix, also those without records."""
    filled = np.zeros((side * side, drawn.shape[1]))
    filled[cells] = drawn
    matrix = filled.reshape(side, side, -1)
    # The diagonal, but for its last place: *unseen* is never right.
    right = filled[: -side : side + 1]
    return matrix.sum(axis=1), matrix.sum(axis=0), right, _sum_amounts(drawn, amount)


def _sparse_sums(drawn: Floats, cells: Ints, side: int, amount: Floats | None) -> _Sums:
    """Sums over the cells that hold records."""
    rows, columns = np.divmod(cells, side)
    hits, order = np.flatnonzero(rows == columns), np.argsort(columns, kind="stable")
    right = np.zeros((side, drawn.shape[1]))
    right[rows[hits]] = drawn[hits]
    actual = _class_sums(drawn, rows, side)
    predicted = _class_sums(drawn[order], columns[order], side)
    return actual, predicted, right[:-1], _sum_amounts(drawn, amount)


def _sum_amounts(drawn: Floats, amount: Floats | None) -> Floats:
    sums: Floats = np.zeros(drawn.shape[1]) if amount is None else np.einsum("c,cd->d", amount, drawn)
    return sums


def _class_sums(drawn: Floats, classes: Ints, side: int) -> Floats:
    """Sums of cells in the order of their classes, shape (side, draws)."""
    sums = np.zeros((side, drawn.shape[1]))
    first = np.flatnonzero(np.diff(classes, prepend=-1))
    if len(first):
        sums[classes[first]] = np.add.reduceat(drawn, first, axis=0)
    return sums


Statistic: TypeAlias = Callable[[ResampledSums], Floats]


def relative_accuracies(sums: ResampledSums) -> Floats:
    """Accuracy / share of the most frequent class."""
    return _quotient(sums.hits, sums.actual[:-1].max(axis=0))


def average_recalls(sums: ResampledSums) -> Floats:
    """Mean recall over the known classes that have records."""
    recalls = sums.right / np.maximum(sums.actual[:-1], 1)
    return _quotient(recalls.sum(axis=0), sums.present)


def harmonic_recalls(sums: ResampledSums) -> Floats:
    """Harmonic mean recall over the known classes that have records; 0 where one of them is 0."""
    actual = sums.actual[:-1]
    inverses = np.divide(actual, sums.right, out=np.zeros_like(actual), where=actual > 0)
    return _quotient(sums.present, inverses.sum(axis=0))


def average_precisions(sums: ResampledSums) -> Floats:
    """Mean precision over the known classes that have records; that of a class never predicted is 0."""
    return _quotient(_precision_values(sums).sum(axis=0), sums.present)


def weighted_precisions(sums: ResampledSums) -> Floats:
    """Mean precision of the known classes, weighted by their records; 0 for a class never predicted."""
    actual = sums.actual[:-1]
    return _quotient((actual * _precision_values(sums)).sum(axis=0), actual.sum(axis=0))


def average_f1s(sums: ResampledSums) -> Floats:
    """Mean F1 over the known classes that have records."""
    return _quotient(_f1_values(sums).sum(axis=0), sums.present)


def weighted_f1s(sums: ResampledSums) -> Floats:
    """Mean F1 of the known classes, weighted by their records."""
    actual = sums.actual[:-1]
    return _quotient((actual * _f1_values(sums)).sum(axis=0), actual.sum(axis=0))


def pooled_f1s(sums: ResampledSums) -> Floats:
    """F1 of the known classes' summed counts."""
    return _quotient(2 * sums.hits, (sums.actual[:-1] + sums.predicted[:-1]).sum(axis=0))


def f_betas(sums: ResampledSums, beta: float, first: int = 0) -> Floats:
    """F-beta of each class, shape (classes, draws): (1 + b²)·TP / (b²·actual + predicted); NaN where 0 / 0.

    Parameters
    ----------
    beta
        how much more recall counts than precision.
    first
        position of the first class that is wanted.
    """
    squared = beta * beta
    below = squared * sums.actual[first:-1] + sums.predicted[first:-1]
    return _quotient((1 + squared) * sums.right[first:], below)


def matthews_correlations(sums: ResampledSums) -> Floats:
    """Correlation of actual and predicted class, for any number of classes; NaN where either is constant.

    Unseen actual and unseen predicted classes are two classes more, never equal.
    """
    actual = (sums.actual * (sums.total - sums.actual)).sum(axis=0)
    predicted = (sums.predicted * (sums.total - sums.predicted)).sum(axis=0)
    return _quotient(_excess_agreement(sums), np.sqrt(actual) * np.sqrt(predicted))


def kappa_values(sums: ResampledSums) -> Floats:
    """Accuracy beyond chance, as a share of what is beyond chance; NaN where all records are of one cell."""
    beyond = _excess_agreement(sums)
    return _quotient(beyond, beyond + sums.total * (sums.total - sums.hits))


def profit_sums(sums: ResampledSums) -> Floats:
    """Sum of the amounts, of as many records as there are."""
    whole: Floats = sums.profit * (sums.n / sums.total)
    return whole


def profits_per_record(sums: ResampledSums) -> Floats:
    """Sum of the amounts / records."""
    return _quotient(sums.profit, sums.total)


def _quotient(above: Floats, below: Floats) -> Floats:
    quotient: Floats = above / below
    return quotient


def _precision_values(sums: ResampledSums) -> Floats:
    return _quotient(sums.right, np.maximum(sums.predicted[:-1], 1))


def _f1_values(sums: ResampledSums) -> Floats:
    return _quotient(2 * sums.right, np.maximum(sums.actual[:-1] + sums.predicted[:-1], 1))


def _excess_agreement(sums: ResampledSums) -> Floats:
    """Records right less those expected by chance, times the records.

    Written class by class as TP·TN - FN·FP, which cancels least: nothing is lost where one class is rare.
    """
    missed, wrong = sums.actual[:-1] - sums.right, sums.predicted[:-1] - sums.right
    others = sums.total - sums.right - missed - wrong
    beyond: Floats = (sums.right * others - missed * wrong).sum(axis=0)
    return beyond
