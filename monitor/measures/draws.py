"""Draws: what the statistics of classes need of the counts, and of multinomial resamples of them."""

from dataclasses import dataclass

import numpy as np

from monitor.core.typing import Floats, Ints
from monitor.states.views import Confusion

_BLOCK = 1_000_000  # resampled cells that are in memory at once


@dataclass(frozen=True, slots=True)
class Draws:
    """Sums of the counts, and of each of their resamples, in one stack: the counts themselves come first.

    Parameters
    ----------
    n
        records: every resample has as many.
    actual, right
        shape (draws, k): records of each known class, and those of them that were predicted so.
    positive
        shape (draws,): of a binary model, records that were predicted positive.
    profit
        shape (draws,): sum of the amounts.
    """

    n: int
    actual: Ints
    right: Ints
    positive: Ints
    profit: Floats


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells that hold records, ordered by their actual class."""

    actual: Ints
    predicted: Ints
    amount: Floats
    counts: Ints


def draws(confusion: Confusion, amounts: Floats | None, resamples: int, rng: np.random.Generator) -> Draws:
    """Sums of the counts and of their multinomial resamples.

    Cells that no sum tells apart are drawn as one, which leaves the distribution of the sums as it is: at
    most two cells a class and amount. Blocks of resamples bound the memory.

    Parameters
    ----------
    amounts
        of a record of each cell, shaped as the counts; None: nothing.
    """
    k, cells = len(confusion.classes), _used(confusion, amounts)
    n = int(cells.counts.sum())
    parts = [_sums(cells.counts[None], cells, k)]
    block = max(1, _BLOCK // max(1, len(cells.counts)))
    for start in range(0, resamples if n else 0, block):
        size = min(block, resamples - start)
        parts.append(_sums(rng.multinomial(n, cells.counts / n, size=size), cells, k))
    actual, right, positive, profit = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Draws(n, actual, right, positive, profit)


def _used(confusion: Confusion, amounts: Floats | None) -> _Cells:
    actual, predicted = np.nonzero(confusion.counts)
    counts = confusion.counts[actual, predicted]
    amount = np.zeros(len(counts)) if amounts is None else amounts[actual, predicted]
    k = len(confusion.classes)
    if k == 2:
        return _Cells(actual, predicted, amount, counts)
    stands_for = np.where(actual == predicted, actual, k)  # right, or as good as unseen
    kinds, kind = np.unique(np.stack([actual, stands_for, amount]), axis=1, return_inverse=True)
    merged = np.bincount(kind.ravel(), weights=counts, minlength=kinds.shape[1]).astype(np.int64)
    return _Cells(kinds[0].astype(np.int64), kinds[1].astype(np.int64), kinds[2], merged)


def _sums(drawn: Ints, cells: _Cells, k: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Sums of drawn cells, shape (draws, cells)."""
    sums = np.zeros((2, len(drawn), k + 1), dtype=np.int64)
    known, first = np.unique(cells.actual, return_index=True)
    right = np.flatnonzero(cells.actual == cells.predicted)
    if len(known):
        sums[0][:, known] = np.add.reduceat(drawn, first, axis=1)
    sums[1][:, cells.actual[right]] = drawn[:, right]
    positive = drawn[:, cells.predicted == 1].sum(axis=1)
    return sums[0, :, :k], sums[1, :, :k], positive, drawn @ cells.amount
