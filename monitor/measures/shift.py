"""Shift: how far the distribution of an output or a feature has moved from the reference's."""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtri, kolmogorov

from monitor.core.errors import GridMismatch
from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Counts, Floats, Ints
from monitor.measures.ask import Ask, Result
from monitor.states.grids import EXTRA_CELLS, Grid, NumericGrid
from monitor.states.views import Histogram, by_decile

NAMED = 19  # levels of the stability index, the rest merged
ENOUGH = 50  # expected records a cell, below which the chi-squared limit is not trusted
SIMULATIONS = 1_000


@dataclass(frozen=True, slots=True)
class Cells:
    """Counts of both sides on the cells of the stability index; cells empty on both are left out.

    Parameters
    ----------
    m, n
        records of the reference (of several: as many as are worth as much) and of the window.
    held
        counts of the cells that hold reference records.
    """

    reference: Counts
    current: Counts
    m: float
    n: int
    held: list[float]


def cells_of(reference: Histogram, current: Histogram) -> Cells:
    """Deciles of numbers; of levels the 19 most frequent in the reference, and the rest; and the extra cells.

    Raises
    ------
    GridMismatch
        if the two were counted on different grids.
    """
    _require_same_grid(reference, current)
    if isinstance(reference.grid, NumericGrid):
        sides = [_joined(by_decile(side, reference.grid.deciles), side) for side in (reference, current)]
    else:
        order = np.argsort(-reference.regular[:-1], kind="stable")
        sides = [_joined(_named(side.regular, order), side) for side in (reference, current)]
    used = (sides[0] + sides[1]) > 0
    reference_counts, current_counts = sides[0][used], sides[1][used]
    held = [count for count in reference_counts.tolist() if count]
    return Cells(reference_counts, current_counts, sum(held), int(current_counts.sum()), held)


def stability_index(
    reference: Histogram, current: Histogram, *, pseudocount: float = 0.5, min_per_cell: float = 10
) -> Measurement:
    """Σ (p - q)·ln(p / q), q and p the shares of the reference and the window [1]_.

    Parameters
    ----------
    reference, current
        counts on one grid.
    pseudocount
        added to each cell on both sides; 0 gives the textbook's value, and none where a cell is empty on one
        side. A cell empty on both sides contributes nothing and gets none.
    min_per_cell
        records that the window must have for each cell that is not empty on both sides.

    Returns
    -------
    Measurement
        or ``no_reference``, ``no_records``, ``too_few``, ``undefined``.

    Notes
    -----
    Without any shift it is about (B - 1)·(1/n + 1/m), never 0: see `stability_index_bias`.

    References
    ----------
    .. [1] Siddiqi (2006). Credit Risk Scorecards. Wiley.
    """
    return _index(cells_of(reference, current), pseudocount, min_per_cell)


def stability_index_bias(cells: Cells) -> Measurement:
    """Index to expect where nothing has shifted: (B - 1)·(1/n + 1/m), B the cells with reference records."""
    absent = _absent(cells)
    return absent or Measurement(value=(len(cells.held) - 1) * (1 / cells.n + 1 / cells.m), n=cells.n)


def stability_index_critical(cells: Cells, *, pseudocount: float = 0.5, level: float = 0.95) -> Measurement:
    """Quantile of the index where nothing has shifted: (1/n + 1/m)·χ²(B - 1) [1]_.

    Where a cell expects fewer than 50 records, 1,000 pairs of samples are drawn from the reference's shares,
    all rounded to two digits, so that windows of about one size share one simulation.

    References
    ----------
    .. [1] Yurdakul & Naranjo (2020). Statistical properties of the population stability index.
       J. Risk Model Validation 14(4).
    """
    absent = _absent(cells)
    if absent is not None:
        return absent
    held = cells.held
    if min(held) * min(1.0, cells.n / cells.m) >= ENOUGH:
        value = (1 / cells.n + 1 / cells.m) * _chi_squared(len(held) - 1, level)
    else:
        shares = tuple(_two_digits(share) for share in sorted(count / cells.m for count in held))
        sizes = int(_two_digits(cells.n)), int(_two_digits(cells.m))
        value = simulated_critical(*sizes, shares, pseudocount, level)
    if not math.isfinite(value):
        return Measurement.absent(Reason.UNDEFINED, n=cells.n)
    return Measurement(value=value, n=cells.n)


@lru_cache(maxsize=4096)
def simulated_critical(n: int, m: int, shares: tuple[float, ...], pseudocount: float, level: float) -> float:
    """Quantile of the index of samples of n and m records drawn from one distribution.

    Seeded by its arguments: a pure function of them. Cost: 1,000 binomials a cell and side, once.
    """
    draws = index_of(_samples(m, shares, "reference"), _samples(n, shares, "current"), pseudocount)
    return float(np.quantile(draws, level, method="higher"))


@lru_cache(maxsize=64)  # of a reference again and again
def _samples(size: int, shares: tuple[float, ...], side: str) -> Ints:
    key = repr((size, shares, side)).encode()
    rng = np.random.default_rng(int.from_bytes(hashlib.blake2b(key, digest_size=16).digest()))
    return rng.multinomial(size, np.asarray(shares) / math.fsum(shares), size=SIMULATIONS)


def index_of(reference: Counts, current: Counts, pseudocount: float) -> Floats:
    """Index of each row of counts (last axis: cells); inf where a cell is empty on one side alone."""
    used = (reference + current) > 0
    added = used * pseudocount
    q, p = reference + added, current + added
    q, p = q / q.sum(axis=-1, keepdims=True), p / p.sum(axis=-1, keepdims=True)
    q, p = np.where(used, q, 1.0), np.where(used, p, 1.0)
    with np.errstate(divide="ignore"):
        terms = (p - q) * (np.log(p) - np.log(q))
    total: Floats = terms.sum(axis=-1)
    return total


def ks_distance(reference: Histogram, current: Histogram) -> Measurement:
    """Largest absolute difference of the cumulative shares of the regular cells, at their edges.

    Missing, unseen and invalid values are left out. Never above the distance of the raw values; the
    resolution bounds what is lost: within a cell the difference is at most one side's share at the upper edge
    less the other's at the lower one.
    """
    _require_same_grid(reference, current)
    q, p = reference.regular, current.regular
    m, n = float(q.sum()), int(p.sum())
    if m == 0 or n == 0:
        return Measurement.absent(Reason.NO_REFERENCE if m == 0 else Reason.NO_RECORDS, n=n)
    difference = np.cumsum(p) / n - np.cumsum(q) / m
    value = float(np.abs(difference).max())
    bound = float(np.maximum(difference + q / m, p / n - difference).max())
    return Measurement(value=value, n=n, resolution=max(0.0, bound - value))


def ks_p_value(distance: Measurement, m: float) -> Measurement:
    """Probability of such a distance if nothing has shifted: Kolmogorov's limit; m reference records."""
    if distance.value is None:
        return distance
    effective = distance.n * m / (distance.n + m)
    return Measurement(value=float(kolmogorov(distance.value * math.sqrt(effective))), n=distance.n)


def results(subject: str, reference: Histogram, current: Histogram, ask: Ask) -> Iterator[Result]:
    """All measures of one output's or feature's shift; K-S for numbers only."""
    cells = cells_of(reference, current)
    yield Result("stability_index", subject, _index(cells, ask.pseudocount, ask.min_per_cell))
    critical = stability_index_critical(cells, pseudocount=ask.pseudocount, level=ask.level)
    yield Result("stability_index_critical", subject, critical)
    yield Result("stability_index_bias", subject, stability_index_bias(cells))
    if isinstance(reference.grid, NumericGrid):
        distance = ks_distance(reference, current)
        yield Result("ks_distance", subject, distance)
        yield Result("ks_p_value", subject, ks_p_value(distance, float(reference.regular.sum())))


def absent_results(subject: str, grid: Grid, reason: Reason, n: int) -> Iterator[Result]:
    """Give the same names, all absent for one reason."""
    names = ["stability_index", "stability_index_critical", "stability_index_bias"]
    if isinstance(grid, NumericGrid):
        names += ["ks_distance", "ks_p_value"]
    for name in names:
        yield Result(name, subject, Measurement.absent(reason, n=n))


def _require_same_grid(reference: Histogram, current: Histogram) -> None:
    if reference.grid is not current.grid and reference.grid != current.grid:
        raise GridMismatch("the reference and the window were counted on different grids")


def _joined(regular: Counts, side: Histogram) -> Counts:
    return np.concatenate([regular, side.counts[-EXTRA_CELLS:]])


def _named(regular: Counts, order: Ints) -> Counts:
    levels = regular[:-1][order]
    return np.append(levels[:NAMED], levels[NAMED:].sum() + regular[-1])


def _index(cells: Cells, pseudocount: float, min_per_cell: float) -> Measurement:
    absent = _absent(cells)
    if absent is not None:
        return absent
    if cells.n < min_per_cell * len(cells.current):
        return Measurement.absent(Reason.TOO_FEW, n=cells.n)
    value = float(index_of(cells.reference, cells.current, pseudocount))
    if not math.isfinite(value):
        return Measurement.absent(Reason.UNDEFINED, n=cells.n)
    return Measurement(value=value, n=cells.n)


def _absent(cells: Cells) -> Measurement | None:
    if cells.m == 0:
        return Measurement.absent(Reason.NO_REFERENCE, n=cells.n)
    return Measurement.absent(Reason.NO_RECORDS, n=0) if cells.n == 0 else None


def _two_digits(number: float) -> float:
    return float(f"{number:.2g}")


@lru_cache(maxsize=256)
def _chi_squared(freedom: int, level: float) -> float:
    return float(chdtri(freedom, 1 - level)) if freedom else 0.0
