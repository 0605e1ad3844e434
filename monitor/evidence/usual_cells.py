"""Cells of a number: level, spread, skew and shape of a day's counts, in units of usual days."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from monitor.core.array_types import Counts, Floats, Ints

COARSE = 20  # cells of equal mass, of which the shape is taken
_SMOOTHED = 0.01  # share of the mass that is spread over all cells: no cell is impossible
_CLIP = 0.02  # of the mid-ranks: one far value is not more than the outermost 2 %
_FLAT = 1e-6  # of the length of a power's part that lower powers do not explain
_BEYOND = 4.0  # standard deviations that a number beyond the cells may add
_FAR = 5.0  # times the range of the cells
_LOST = 0.2  # share of the numbers beyond the cells, more than usual, of which no spread or shape is known
_THIN = 0.005  # mass that a coarse cell is taken to have at least
_POWERS = 3


@dataclass(frozen=True, eq=False)
class UsualCells:
    """Counts of usual days by cell, and what follows from them.

    With q the shares of the cells and u the normal quantile of their mid-ranks, b_1, b_2, b_3 are 1, u, u²,
    u³ made orthonormal under q, but for the first: polynomials that see level, spread and skew [1]_.

    References
    ----------
    .. [1] Rayner & Best (1989). Smooth Tests of Goodness of Fit, chapter 4.
    """

    counts: Ints  # int64, shape (cells,): regular cells, ascending
    # middle, deviation: mean and standard deviation of the same numbers; deviation 0: not known.
    middle: float = 0.0
    deviation: float = 0.0
    edges: tuple[float, ...] = ()  # between the cells, in the unit of the numbers; none: not known
    # scale, centre: a number in that unit is `centre` and `scale` times one in the unit of `middle` and
    # `deviation`.
    scale: float = 1.0
    centre: float = 0.0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UsualCells)
            and np.array_equal(self.counts, other.counts)
            and (self.middle, self.deviation) == (other.middle, other.deviation)
        )

    def __hash__(self) -> int:
        return hash(self.counts.tobytes())

    @cached_property
    def shares(self) -> Floats:
        """Usual share of each cell: none is 0."""
        counts = self.counts.astype(np.float64)
        even = np.full(len(counts), 1.0 / len(counts))
        total = counts.sum()
        return even if total == 0 else (1 - _SMOOTHED) * counts / total + _SMOOTHED * even

    @cached_property
    def bases(self) -> Floats:
        """b_1, b_2, b_3: float64, shape (powers, cells); fewer powers of few distinct values."""
        root = np.sqrt(self.shares)
        return _orthonormal_powers(self._normal_scores, root)[1:] / root

    @cached_property
    def _normal_scores(self) -> Floats:
        above = np.cumsum(self.shares)
        rank = np.clip(above - self.shares / 2, _CLIP, 1 - _CLIP)
        return np.asarray(scipy.special.ndtri(rank), dtype=np.float64)

    @cached_property
    def _coarse_groups(self) -> tuple[Ints, Floats, Floats]:
        """Coarse cell of each cell, the coarse cells' shares, and their orthonormal powers."""
        rank = np.cumsum(self.shares) - self.shares / 2
        _, group = np.unique(np.minimum((rank * COARSE).astype(np.int64), COARSE - 1), return_inverse=True)
        mass = np.bincount(group, self.shares).astype(np.float64)
        centre: Floats = np.bincount(group, self.shares * self._normal_scores) / mass
        return group.astype(np.int64), mass, _orthonormal_powers(centre, np.sqrt(mass))

    def day_statistics(self, counts: Counts, mean: float | None = None) -> tuple[Floats, float]:
        """Level, spread, skew (as many as there are bases) and shape of a day's counts.

        The first are Σ (p - q)·b_k: 0 of a usual day, with variance 1/n of n independent records. The shape
        is the cube root of Σ (p - q)²/q on coarse cells, less what these powers explain of it.

        Numbers beyond the outermost edges are told apart by their mean alone: it may move the level by 4 for
        each of them. Where more than a fifth of them went there, spread, skew and shape are NaN.

        Parameters
        ----------
        counts
            shape (cells,): at least one record.
        mean
            of the day's numbers; None: not known.
        """
        share = counts / counts.sum()
        away = share - self.shares
        powers = (self.bases * away).sum(axis=1)
        beyond = float(share[0] + share[-1])
        if mean is not None and self.deviation > 0 and len(powers):
            far = _BEYOND * beyond
            powers[0] = np.clip((mean - self.middle) / self.deviation, powers[0] - far, powers[0] + far)
        if beyond - float(self.shares[0] + self.shares[-1]) > _LOST:
            powers[1:] = np.nan
            return powers, float("nan")
        return powers, self._shape_statistic(away)

    def count_beyond_edges(self, counts: Counts, mean: float | None) -> int:
        """Numbers beyond the outermost edges, if on average they surely are far: five ranges of these edges.

        So a wrong unit, or a code for a missing value, is told apart from what is merely extreme, as a storm
        is. Surely: wherever in their cells the other numbers lie. None if they are more than a fifth of all:
        the level tells that better.

        `mean`: as in `statistics`; None: some are so far away that no sum holds them.
        """
        count = int(counts[0] + counts[-1])
        if not 0 < count <= _LOST * counts.sum() or len(self.edges) < 2:
            return 0
        if mean is None:
            return count
        edges, total = np.asarray(self.edges), float(counts.sum()) * (self.centre + self.scale * mean)
        # What the numbers beyond sum to is what the others leave of the total: most of it if these lie at the
        # lower ends of their cells, least if at the upper ones.
        most, least = (total - float((counts[1:-1] * side).sum()) for side in (edges[:-1], edges[1:]))
        low, high = float(edges[0]), float(edges[-1])
        far = _FAR * (high - low)
        return count if least > (high + far) * count or most < (low - far) * count else 0

    def estimate_unit_deviation(self, spread: float, level: float = 0.0) -> float | None:
        """About the standard deviation of numbers with such a spread and level, in their own unit.

        Half of what lies between the numbers one standard deviation of normal scores below and above their
        mean. Both are those of the day's own: a level that is far off has a large spread in itself, since
        squares are taken from the usual middle. None: the unit is not known.
        """
        if len(self.bases) < 2:
            return None
        middle, deviation = self._score_moments
        of_level, of_spread = (self.shares * self.bases[:2] * np.square(self._normal_scores)).sum(axis=1)
        mean = middle + level * deviation
        square = middle**2 + deviation**2 + level * of_level + spread * of_spread
        far = float(np.sqrt(max(0.0, square - mean**2)))
        low, high = self._number_at_score(mean - far), self._number_at_score(mean + far)
        return None if low is None or high is None else (high - low) / 2

    @property
    def _score_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the normal scores of usual days."""
        middle = float((self.shares * self._normal_scores).sum())
        return middle, float(np.sqrt((self.shares * np.square(self._normal_scores - middle)).sum()))

    def _number_at_score(self, score: float) -> float | None:
        """Number at a normal score."""
        if not self.edges:
            return None
        scores = scipy.special.ndtri(np.cumsum(self.shares)[:-1])
        inside = float(np.interp(score, scores, self.edges))
        beyond = score - float(np.clip(score, scores[0], scores[-1]))
        return inside + float(beyond) * self.deviation * self.scale

    def _shape_statistic(self, away: Floats) -> float:
        group, mass, powers = self._coarse_groups
        coarse = np.bincount(group, away) / np.sqrt(np.maximum(mass, _THIN))
        explained = np.asarray([float((power * coarse).sum()) for power in powers])
        rest = float(np.square(coarse).sum()) - float(np.square(explained).sum())
        return float(np.cbrt(max(rest, 0.0)))


def _orthonormal_powers(u: Floats, root: Floats) -> Floats:
    """Powers 0 to 3 of u, each less what lower ones explain of it, of length 1; those of none left out."""
    found: list[Floats] = []
    for power in range(_POWERS + 1):
        left = root * u**power
        length = np.sqrt(np.square(left).sum())
        # Once leaves a little of the lower powers, by rounding; twice is enough.
        for _ in range(2):
            for known in found:
                left = left - (known * left).sum() * known
        rest = np.sqrt(np.square(left).sum())
        if rest > _FLAT * length:
            found.append(left / rest)
    return np.stack(found)
