"""Ranked scores: the cells that hold labelled records, from the highest score down."""

import math
from dataclasses import dataclass

import numpy as np

from monitor.core.measurement import Detail
from monitor.core.typing import Floats, Ints
from monitor.states.views import ScoreTable

POINTS = 20  # of a curve, at most
_STEPS = np.linspace(0, 1, POINTS)[1:]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Score cells that hold labelled records, the highest first.

    Parameters
    ----------
    table
        the same cells, ascending.
    negative, positive
        int64, shape (cells,).
    lower, upper
        a cell holds scores in [lower, upper); -inf and inf where it is open, upper included where it is last.
    true, false, both
        positives, negatives and all records down to each cell, it included: whole numbers.
    recall, fallout
        shares of all positives and of all negatives down to each cell; 0 where there are none.
    """

    table: ScoreTable
    negative: Ints
    positive: Ints
    lower: Floats
    upper: Floats
    true: Floats
    false: Floats
    both: Floats
    recall: Floats
    fallout: Floats

    @classmethod
    def of(cls, table: ScoreTable, bounds: Floats) -> "Ranked":
        """Ranked cells of a table of all cells, which lie between successive bounds."""
        used = np.flatnonzero(table.negative + table.positive)
        held = ScoreTable(table.negative[used], table.positive[used])
        negative, positive = held.negative[::-1], held.positive[::-1]
        lower, upper = bounds[used[::-1]], bounds[used[::-1] + 1]
        true, false = np.cumsum(positive, dtype=np.float64), np.cumsum(negative, dtype=np.float64)
        recall, fallout = (side / max(side[-1:].sum(), 1) for side in (true, false))
        return cls(held, negative, positive, lower, upper, true, false, true + false, recall, fallout)

    @property
    def positives(self) -> int:
        """All positives."""
        return int(self.true[-1]) if len(self.true) else 0

    @property
    def negatives(self) -> int:
        """All negatives."""
        return int(self.false[-1]) if len(self.false) else 0

    @property
    def n(self) -> int:
        """All records."""
        return self.positives + self.negatives

    @property
    def two(self) -> bool:
        """Whether there are records of both classes."""
        return self.positives > 0 and self.negatives > 0


def points(ranked: Ranked) -> list[int]:
    """Few cells that lie evenly along the ROC curve, the last one among them; both classes must be there."""
    along = ranked.recall + ranked.fallout
    return list(dict.fromkeys(np.searchsorted(along, _STEPS * along[-1]).tolist()))


def curve(columns: tuple[str, ...], *values: Floats) -> Detail:
    """Table of columns of numbers, rounded to six decimals but for the first; None where infinite."""
    stacked = np.stack(values)
    first = [value if abs(value) < math.inf else None for value in stacked[0].tolist()]
    return Detail(columns, tuple(zip(first, *np.round(stacked[1:], 6).tolist(), strict=True)))
