"""Tests of two samples, by special functions alone.

`scipy.stats` has both, and needs nearly all of SciPy: the image would be 17 MB larger to pull.
"""

import math

import numpy as np
import scipy

from monitor.core.array_types import Floats, Ints

_SLACK = 1e-7  # relative: tables that are as likely as the one that was seen, but for rounding


def fisher_exact(table: Ints) -> float:
    """p-value, two-sided, of Fisher's exact test: how likely so unlikely a table is by chance [1]_.

    The first cell is hypergeometric, given the margins.

    Parameters
    ----------
    table
        counts, two by two.

    References
    ----------
    .. [1] Fisher (1935). The logic of inductive inference. J. R. Stat. Soc. 98.

    Examples
    --------
    >>> round(fisher_exact(np.array([[3, 1], [1, 3]])), 6)  # the lady tasting tea, two-sided
    0.485714
    """
    (first, second), (third, fourth) = table.tolist()
    row, column, total = first + second, first + third, first + second + third + fourth
    lowest = max(0, row + column - total)
    cell = np.arange(lowest, min(row, column) + 1)
    cells = (cell, row - cell, column - cell, total - row - column + cell)
    likely = np.asarray(scipy.special.softmax(-sum(scipy.special.gammaln(each + 1.0) for each in cells)))
    return min(1.0, float(likely[likely <= likely[first - lowest] * (1 + _SLACK)].sum()))


def mann_whitney_less(first: Floats, second: Floats) -> tuple[float, float]:
    """Share of pairs in which the first is larger, ties as halves, and how likely chance makes it so small.

    By Mann and Whitney's test [1]_, normal, with corrections for ties and continuity.

    Parameters
    ----------
    first, second
        shapes (n,) and (m,), finite, neither empty.

    References
    ----------
    .. [1] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically larger
       than the other. Ann. Math. Stat. 18.

    Examples
    --------
    >>> mann_whitney_less(np.array([1.0, 2.0]), np.array([2.0, 3.0]))[0]
    0.125
    """
    n, m = len(first), len(second)
    _, place, counts = np.unique(np.concatenate([first, second]), return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    larger = float(ranks[place[:n]].sum()) - n * (n + 1) / 2
    tied = float((counts.astype(np.float64) ** 3 - counts).sum()) / ((n + m) * (n + m - 1))
    spread = math.sqrt(n * m / 12 * (n + m + 1 - tied))
    if spread == 0:
        return 0.5, 1.0  # all are equal
    return larger / (n * m), float(scipy.special.ndtr((larger + 0.5 - n * m / 2) / spread))


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's correlation of pairs [1]_: that of their ranks, of ties the mean one; 0 of constants.

    Parameters
    ----------
    first, second
        shape (n,), finite.

    References
    ----------
    .. [1] Spearman (1904). The proof and measurement of association between two things. Am. J. Psychol. 15.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 27.0]))
    1.0
    """
    one, other = (ranks - ranks.mean() for ranks in map(_mean_ranks, (first, second)))
    spread = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / spread if spread else 0.0


def _mean_ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])
