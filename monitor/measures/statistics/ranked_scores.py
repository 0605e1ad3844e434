"""Ranked scores: the cells that hold labelled records, and the bootstrap resamples of all measures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from monitor.core.array_types import Floats, Ints, Singles
from monitor.core.measurement import DetailTable, Interval
from monitor.measures.statistics.intervals import row_quantiles
from monitor.states.views import ScoreTable

POINTS = 20  # of a curve that is sketched, at most
EXACT = 2e-4  # of a curve's height: what lies nearer to the line through its corners is none
_ALONG = np.linspace(0, 1, POINTS)[1:]
CELLS = 30  # of equal mass
GROUPS = 15  # of two such cells each
TOP = (0.01, 0.02, 0.05)  # shares of the records that border on a cell, too
# Records from which on a multinomial is drawn by its normal limit.
NORMAL_FROM = 100
FEW = 10  # of a class, below which its number is drawn from the binomial distribution
_TINY = np.float32(1e-9)
_SINGLE = 2.0**-20  # shares in single precision are no nearer than this to what they are
_BORDERS = np.asarray(sorted([at / CELLS for at in range(CELLS)] + list(TOP)))
_OF_GROUPS = np.isin(_BORDERS, [at / CELLS for at in range(0, CELLS, CELLS // GROUPS)])


@dataclass(frozen=True, slots=True)
class RankedScores:
    """Score cells that hold labelled records, the highest first."""

    table: ScoreTable  # the same cells, ascending
    # negative, positive, records: whole numbers, shape (cells,): records of a class, and of both.
    negative: Floats
    positive: Floats
    records: Floats
    # lower, upper: a cell holds scores in [lower, upper); -inf and inf where it is open, upper included where
    # it is last.
    lower: Floats
    upper: Floats
    # true, false, both: positives, negatives and all records down to each cell, it included: whole numbers.
    true: Floats
    false: Floats
    both: Floats
    # recall, fallout: shares of all positives and of all negatives down to each cell; 0 where there are none.
    recall: Floats
    fallout: Floats
    # positives, negatives: of all cells.
    positives: int
    negatives: int

    @classmethod
    def from_table(cls, table: ScoreTable, bounds: Floats) -> "RankedScores":
        """Ranked cells of a table of all cells, which lie between successive bounds."""
        # Most of the 4,096 cells of a window hold no record, and say nothing.
        used = np.flatnonzero(table.negative + table.positive)
        held = ScoreTable(table.negative[used], table.positive[used])
        negative, positive = (side[::-1].astype(np.float64) for side in (held.negative, held.positive))
        falling = used[::-1]
        true, false = np.cumsum(positive), np.cumsum(negative)
        positives, negatives = (int(side[-1]) if len(side) else 0 for side in (true, false))
        return cls(
            held,
            negative,
            positive,
            records=negative + positive,
            lower=bounds[falling],
            upper=bounds[falling + 1],
            true=true,
            false=false,
            both=true + false,
            recall=true / max(positives, 1),
            fallout=false / max(negatives, 1),
            positives=positives,
            negatives=negatives,
        )

    @property
    def n(self) -> int:
        """All records."""
        return self.positives + self.negatives

    @property
    def has_both_classes(self) -> bool:
        """Whether there are records of both classes."""
        return self.positives > 0 and self.negatives > 0


def select_curve_cells(scores: RankedScores) -> Ints:
    """Few cells that lie evenly along the ROC curve, the last one among them; both classes must be there."""
    along = scores.recall + scores.fallout
    return _distinct_numbers(np.searchsorted(along, _ALONG * along[-1]))


def curve_table(columns: tuple[str, ...], *values: Floats) -> DetailTable:
    """Table of columns of numbers, rounded to six decimals but for the first; None where infinite."""
    stacked = np.stack(values)
    first = [value if abs(value) < math.inf else None for value in stacked[0].tolist()]
    return DetailTable(columns, tuple(zip(first, *np.round(stacked[1:], 6).tolist(), strict=True)))


@dataclass(frozen=True, slots=True)
class ScoreResamples:
    """Merged cells, the highest scores first, and multinomial resamples of them as shares of all records.

    In single precision: resampling is far less exact, and twice as fast so.
    """

    first: Ints  # position of each merged cell's first cell
    group: Ints  # position of each equal-mass group's first merged cell
    # positive, negative: shape (cells, 1 + resamples): the counts themselves come first.
    positive: Singles
    negative: Singles
    # true, both: sums of the positives, and of both, from the top down.
    true: Singles
    both: Singles

    @classmethod
    def from_ranked(cls, scores: RankedScores, resamples: int, rng: np.random.Generator) -> "ScoreResamples":
        """Merge the cells, of which there must be one, and resample them."""
        first, group = merge_score_cells(scores)
        sides = [np.add.reduceat(side, first).astype(np.int64) for side in (scores.positive, scores.negative)]
        # A rare class may be lost from a resample of all records: its share is drawn by itself then.
        if min(scores.positives, scores.negatives) >= NORMAL_FROM:
            positive, negative = np.split(resample_cells(np.concatenate(sides), resamples, 0), 2)
        else:
            shares = _positive_shares(scores.positives, scores.negatives, resamples, rng)
            positive = resample_cells(sides[0], resamples, 0, shares)
            negative = resample_cells(sides[1], resamples, 1, 1 - shares)
        sums = np.concatenate([positive, positive + negative], axis=1)
        # No product of matrices: it would wake the threads of BLAS.
        for at in range(1, len(first)):
            sums[at] += sums[at - 1]
        true, both = np.split(sums, 2, axis=1)
        return cls(first, group, positive, negative, true, both)


@dataclass(frozen=True, slots=True)
class ResampleSpread:
    """A statistic of the merged cells, and the quantiles that hold the middle of its resamples."""

    merged: float
    low: float
    high: float
    level: float

    def percentile_interval(self, value: float) -> Interval:
        """Percentile interval of a share, moved to that of all cells, cut to [0, 1] and made to hold it."""
        off = value - self.merged
        return self._cut_interval(value, off + self.low, off + self.high, 0.0, 1.0)

    def basic_interval(self, value: float, lowest: float, highest: float = math.inf) -> Interval:
        """Basic interval: the resamples' deviations turned about the value of all cells, cut to a range."""
        off = value + self.merged
        return self._cut_interval(value, off - self.high, off - self.low, lowest, highest)

    def _cut_interval(
        self, value: float, lower: float, upper: float, lowest: float, highest: float
    ) -> Interval:
        # What is as near to an end as single precision can tell is at it.
        lower = lowest if lower < lowest + _SINGLE else lower
        upper = highest if upper > highest - _SINGLE else upper
        return Interval(min(lower, value), max(upper, value), self.level)


def merge_score_cells(scores: RankedScores) -> tuple[Ints, Ints]:
    """First cells of the merged cells, and first merged cells of the groups.

    Borders lie at each thirtieth of the records, and at a few more shares near the top. A cell belongs where
    its middle record is: it is never split, so that equal scores stay together.
    """
    middle = (scores.both - scores.records / 2) / scores.n
    at = np.searchsorted(middle, _BORDERS)
    first, group = (_distinct_numbers(starts[starts < len(middle)]) for starts in (at, at[_OF_GROUPS]))
    return first, np.searchsorted(first, group)


def _distinct_numbers(ascending: Ints) -> Ints:
    """Each number once; `numpy.unique` would sort them."""
    distinct: Ints = ascending[np.append(True, ascending[1:] != ascending[:-1])]
    return distinct


def resample_cells(counts: Ints, resamples: int, draw: int, weights: Singles | None = None) -> Singles:
    """Shares of cells in multinomial resamples, shape (cells, 1 + resamples).

    From 100 records on they are drawn from the multinomial's normal limit, with the same means and
    covariances: p + (sqrt(p) z - p sum(sqrt(p) z)) / sqrt(records). All windows share the random numbers, so
    that an interval changes with the counts alone.

    Parameters
    ----------
    counts
        of both classes, or of one that has few records.
    draw
        which of the independent sets of random numbers.
    weights
        a class's share of the records in each resample, the counts' own first.
    """
    total, cells = int(counts.sum()), len(counts)
    if total == 0:
        return np.zeros((cells, 1 + resamples), dtype=np.float32)
    shares = counts / total
    drawn: Singles = np.empty((cells, 1 + resamples), dtype=np.float32)
    drawn[:, 0] = shares
    if total < NORMAL_FROM:
        drawn[:, 1:] = _multinomial_counts(counts, total, _fixed_uniforms(draw, resamples)[:total]) / total
    else:
        root = np.sqrt(shares / total).astype(np.float32)[:, None]
        bridge = fixed_normals(draw, resamples)[:cells] * root
        bridge -= drawn[:, :1] * bridge.sum(axis=0)
        np.add(bridge, drawn[:, :1], out=drawn[:, 1:])
    if weights is not None:
        drawn *= weights
    return drawn


def measure_resample_spreads(statistics: Mapping[str, Singles], level: float) -> dict[str, ResampleSpread]:
    """Quantiles of statistics of the counts (first) and of their resamples, all ordered at once."""
    if not statistics:
        return {}
    stacked = np.stack(list(statistics.values()))
    own, drawn = stacked[:, 0].tolist(), np.sort(stacked[:, 1:], axis=1)
    low, high = row_quantiles(drawn, 0.5 - level / 2), row_quantiles(drawn, 0.5 + level / 2)
    rows = zip(statistics, own, low, high, strict=True)
    return {name: ResampleSpread(merged, lower, upper, level) for name, merged, lower, upper in rows}


def positive_denominator(values: Singles) -> Singles:
    """Values as a denominator: above 0."""
    return np.maximum(values, _TINY)


@lru_cache(maxsize=8)
def fixed_normals(draw: int, resamples: int) -> Singles:
    """Fixed standard normal numbers, shape (66, resamples)."""
    rng = np.random.default_rng((draw, resamples))
    return rng.standard_normal((2 * len(_BORDERS), resamples), dtype=np.float32)


@lru_cache(maxsize=8)
def _fixed_uniforms(draw: int, resamples: int) -> Floats:
    return np.random.default_rng((draw, resamples)).random((NORMAL_FROM, resamples))


def _positive_shares(positives: int, negatives: int, resamples: int, rng: np.random.Generator) -> Singles:
    """Share of positives: the counts' own, then those of resamples, in which no class is lost."""
    n = positives + negatives
    shares = np.full(1 + resamples, positives / n)
    if positives and negatives:
        if min(positives, negatives) < FEW:
            shares[1:] = rng.binomial(n, positives / n, size=resamples) / n
        else:
            shares[1:] += math.sqrt(positives * negatives / n) / n * fixed_normals(2, resamples)[0]
        np.clip(shares, 1 / n, 1 - 1 / n, out=shares)
    return shares.astype(np.float32)


def _multinomial_counts(counts: Ints, total: int, uniforms: Floats) -> Ints:
    """Multinomial counts, shape (cells, resamples): each uniform number of a column draws one record."""
    resamples = uniforms.shape[1]
    place = np.repeat(np.arange(len(counts)) * resamples, counts)
    at = place[(uniforms * total).astype(np.int64)] + np.arange(resamples)
    return np.bincount(at.ravel(), minlength=len(counts) * resamples).reshape(len(counts), resamples)
