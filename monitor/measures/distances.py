"""Distances: further measures of shift, on the cells of the stability index, and one of numbers."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import chdtrc, rel_entr

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats
from monitor.measures.ask import Result
from monitor.measures.cells import Expected, Steps
from monitor.measures.measure import ALL, Direction, Family, Measure, Unit
from monitor.states.grids import NumericGrid

_LIN = "Lin (1991), IEEE Trans. Inf. Theory 37:145; SciPy `jensenshannon(base=2)`"

DISTANCES: tuple[Measure, ...] = (
    Measure(
        "jensen_shannon_distance",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Root of the Jensen-Shannon divergence, in bits, of the shares in the cells of the stability index.",
        "see `chi_squared_p_value`",
        _LIN,
        headline=False,
    ),
    Measure(
        "hellinger_distance",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Root of ½ Σ (√p - √q)² over the cells of the stability index.",
        "see `chi_squared_p_value`",
        "Hellinger (1909), J. reine angew. Math. 136:210",
        headline=False,
    ),
    Measure(
        "largest_share_distance",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Largest |p - q| over the cells of the stability index (L-infinity).",
        "see `chi_squared_p_value`",
        "",
        headline=False,
    ),
    Measure(
        "total_variation_distance",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "½ Σ |p - q| over the cells of the stability index: the share of the records that changed cells.",
        "see `chi_squared_p_value`",
        "Levin, Peres & Wilmer (2009), Markov Chains and Mixing Times, ch. 4",
        headline=False,
    ),
    Measure(
        "chi_squared",
        Unit.PLAIN,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Pearson's statistic of the two rows of counts in the cells of the stability index: are both drawn "
        "from one distribution? One cell: 0.",
        "see `chi_squared_p_value`",
        "SciPy `chi2_contingency(correction=False)`",
        headline=False,
    ),
    Measure(
        "chi_squared_p_value",
        Unit.RATIO,
        Direction.NONE,
        Family.DISTANCES,
        ALL,
        "Probability of at least this `chi_squared` if nothing has shifted. Not to be trusted where cells "
        "expect fewer than 5 records.",
        "none",
        "SciPy `chi2_contingency(correction=False)`",
        headline=False,
    ),
    Measure(
        "cramers_v",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Root of `chi_squared` / records of both sides: how large the shift is, however many records.",
        "see `chi_squared_p_value`",
        "Cramér (1946), Mathematical Methods of Statistics",
        headline=False,
    ),
    Measure(
        "wasserstein_distance",
        Unit.PLAIN,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Area between both cumulative shares / the reference's standard deviation, from the shares at the "
        "cells' edges; the resolution bounds what lies between them. Numbers beyond the reference's range: "
        "`out_of_range`. Numbers only.",
        "see `ks_p_value`",
        "SciPy `wasserstein_distance`",
        headline=False,
    ),
)
_NAMES = [measure.name for measure in DISTANCES[:-1]]


def results(
    expected: Expected, current: Floats, steps: Steps, reasons: Sequence[Reason | None]
) -> Iterator[Result]:
    """All distances of every subject.

    Parameters
    ----------
    current
        shape (subjects, width): the window's counts in the cells of the index.
    steps
        of the numbers.
    reasons
        why a subject can not be compared.
    """
    values = share_distances(expected.table, current)
    for row, subject in enumerate(expected.subjects):
        n, reason = int(current[row].sum()), reasons[row]
        for name, column in zip(_NAMES, values, strict=True):
            measured = (
                Measurement(value=float(column[row]), n=n)
                if reason is None
                else Measurement.absent(reason, n=n)
            )
            yield Result(name, subject.name, measured)
    for at, row in enumerate(expected.numeric):
        found = wasserstein(expected, steps, at, reasons[row])
        yield Result("wasserstein_distance", expected.subjects[row].name, found)


def share_distances(reference: Floats, current: Floats) -> tuple[Floats, ...]:
    """Distances of each row of counts, in the order of the catalogue; NaN where a side is empty."""
    m, n = reference.sum(axis=-1, keepdims=True), current.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        q, p = reference / m, current / n
        middle = (p + q) / 2
        divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * np.log(2))
        both = reference + current
        expected = both * n / (m + n)
        # of two rows of counts both have the same numerators
        terms = (current - expected) ** 2 * (1 / expected + 1 / (both - expected))
        statistic = np.where(both > 0, terms, 0.0).sum(axis=-1)
        freedom = np.maximum(np.count_nonzero(both, axis=-1) - 1, 0)
        p_value = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
        v = np.sqrt(statistic / (m + n)[..., 0])
    hellinger = np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum(axis=-1) / 2)
    return (
        np.sqrt(np.clip(divergence, 0.0, 1.0)),
        hellinger,
        np.abs(p - q).max(axis=-1, initial=0.0),
        np.abs(p - q).sum(axis=-1) / 2,
        statistic,
        p_value,
        v,
    )


def wasserstein(expected: Expected, steps: Steps, at: int, reason: Reason | None) -> Measurement:
    """Area between the cumulative shares of a number, in standard deviations of the reference.

    Within a cell the difference is drawn straight between its values at both edges; it can leave that line by
    the larger of both sides' shares of the cell, and crosses 0 at a cost of half of it.
    """
    row = expected.numeric[at]
    subject, n = expected.subjects[row], int(steps.n[at])
    grid, spread = subject.grid, expected.spread_of(subject.name)
    empty = None if min(steps.m[at], n) else Reason.NO_RECORDS if steps.m[at] else Reason.NO_REFERENCE
    if reason is not None or empty is not None or not isinstance(grid, NumericGrid):
        return Measurement.absent(reason or empty or Reason.UNDEFINED, n=n)
    if not spread > 0:
        return Measurement.absent(Reason.UNDEFINED, n=n)
    bounds = np.asarray([grid.lower, *grid.edges, grid.upper])
    cells = slice(int(steps.now.starts[at]), int(steps.now.starts[at]) + grid.regular)
    upper, most = steps.difference[cells], np.maximum(steps.p[cells], steps.q[cells])
    used = most > 0
    ends = np.isinf(bounds[:-1]) | np.isinf(bounds[1:])
    if (used & ends).any():
        return Measurement.absent(Reason.OUT_OF_RANGE, n=n)
    width = np.where(ends, 0.0, np.diff(np.where(np.isinf(bounds), 0.0, bounds)))
    lower = np.concatenate([[0.0], upper[:-1]])
    area = float(width @ (np.abs(lower) + np.abs(upper))) / 2
    return Measurement(value=area / spread, n=n, resolution=1.5 * float(width @ most) / spread)
