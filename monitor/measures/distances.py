"""Distances: further measures of shift, on the cells of the stability index, and one of numbers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import scipy

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats
from monitor.measures.ask import Result
from monitor.measures.cells import Expected, Steps
from monitor.measures.measure import ALL, Direction, Family, Measure, Unit
from monitor.measures.unshifted import SIMULATIONS, samples, seeded, two_digits
from monitor.states.grids import NumericGrid

_LIN = "Lin (1991), IEEE Trans. Inf. Theory 37:145; SciPy `jensenshannon(base=2)`"

_DISTANCES = (
    Measure(
        "jensen_shannon_distance",
        Unit.RATIO,
        Direction.LOWER,
        Family.DISTANCES,
        ALL,
        "Root of the Jensen-Shannon divergence, in bits, of the shares in the cells of the stability index.",
        "see `jensen_shannon_distance_critical`",
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
        "see `hellinger_distance_critical`",
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
        "see `largest_share_distance_critical`",
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
        "see `total_variation_distance_critical`",
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
        "see `chi_squared_critical`",
        "SciPy `chi2_contingency(correction=False)`",
        headline=False,
    ),
    Measure(
        "chi_squared_p_value",
        Unit.RATIO,
        Direction.NONE,
        Family.DISTANCES,
        ALL,
        "Probability of at least this `chi_squared` if nothing has shifted, in the limit of many records. "
        "Where cells expect fewer than 5 not to be trusted: see `chi_squared_critical`.",
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
        "see `cramers_v_critical`",
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
        "see `wasserstein_distance_critical`",
        "SciPy `wasserstein_distance`",
        headline=False,
    ),
)
_NAMES = [measure.name for measure in _DISTANCES[:-1]]
_P_VALUE = "chi_squared_p_value"
_LIMITED = [name for name in _NAMES if name != _P_VALUE]
_DRAWN = _NAMES.index("chi_squared") + 1  # the others follow from it
_WASSERSTEIN, _CRITICAL = _DISTANCES[-1].name, "_critical"
_SHARES = "simulated: 1,000 pairs of samples of the reference's shares, their sizes rounded to two digits"
_NUMBERS = "simulated: 1,000 Brownian bridges over the reference's cells, the limit of many records"


def _critical_of(distance: Measure) -> Measure:
    how = _NUMBERS if distance.name == _WASSERSTEIN else _SHARES
    return replace(
        distance,
        name=f"{distance.name}{_CRITICAL}",
        direction=Direction.NONE,
        definition=f"Value that `{distance.name}` exceeds with probability 1 - level if nothing has shifted; "
        f"{how}.",
        interval="none",
        reference="",
    )


DISTANCES: tuple[Measure, ...] = tuple(
    row
    for measure in _DISTANCES
    for row in ([measure] if measure.name == _P_VALUE else [measure, _critical_of(measure)])
)


def results(
    expected: Expected, current: Floats, steps: Steps, reasons: Sequence[Reason | None], level: float
) -> Iterator[Result]:
    """All distances of every subject, and their critical values.

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
        if reason is not None:
            yield from absent_results(subject.name, reason, n)
            continue
        for name, column in zip(_NAMES, values, strict=True):
            yield Result(name, subject.name, Measurement(value=float(column[row]), n=n))
        for name, limit in critical_values(expected, row, n, level).items():
            yield Result(f"{name}{_CRITICAL}", subject.name, Measurement(value=limit, n=n))
    for at, row in enumerate(expected.numeric):
        both = wasserstein(expected, steps, at, reasons[row], level)
        for ending, measured in zip(("", _CRITICAL), both, strict=True):
            yield Result(f"{_WASSERSTEIN}{ending}", expected.subjects[row].name, measured)


def absent_results(subject: str, reason: Reason, n: int, *, numeric: bool = False) -> Iterator[Result]:
    """Give the names of the distances of cells, and of numbers where it is one, all absent for one reason."""
    names = [*_NAMES, *(f"{name}{_CRITICAL}" for name in _LIMITED)]
    names += [_WASSERSTEIN, f"{_WASSERSTEIN}{_CRITICAL}"] if numeric else []
    for name in names:
        yield Result(name, subject, Measurement.absent(reason, n=n))


def critical_values(expected: Expected, row: int, n: int, level: float) -> dict[str, float]:
    """Values that the distances of a subject exceed with probability 1 - level if nothing has shifted.

    Simulated for both sizes rounded to two digits, then scaled to the sizes that they are: roots of sums of
    squares, and absolute differences, go with the root of 1/n + 1/m.
    """
    m = float(expected.m[row])
    sizes = two_digits(n), two_digits(m)
    *found, statistic = simulated_distances(*sizes, expected.shares(row), level)
    scale = math.sqrt((1 / n + 1 / m) / (1 / sizes[0] + 1 / sizes[1]))
    scaled = [min(scale * value, 1.0) for value in found]
    return dict(zip(_LIMITED, (*scaled, statistic, math.sqrt(statistic / (n + m))), strict=True))


@lru_cache(maxsize=4096)
def simulated_distances(n: int, m: int, shares: tuple[float, ...], level: float) -> tuple[float, ...]:
    """Quantiles of the distances of samples of n and m records drawn from one distribution; of V none."""
    drawn = share_distances(
        samples(m, shares, "reference").astype(np.float64), samples(n, shares, "current").astype(np.float64)
    )
    limits = np.quantile(np.stack(drawn[:_DRAWN]), level, axis=1, method="higher")
    return tuple(limits.tolist())


def share_distances(reference: Floats, current: Floats) -> tuple[Floats, ...]:
    """Distances of each row of counts, in the order of the catalogue; NaN where a side is empty."""
    m, n = reference.sum(axis=-1, keepdims=True), current.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        q, p = reference / m, current / n
        middle = (p + q) / 2
        entropies = scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)
        divergence = entropies.sum(axis=-1) / (2 * np.log(2))
        both = reference + current
        expected = both * n / (m + n)
        # of two rows of counts both have the same numerators
        terms = (current - expected) ** 2 * (1 / expected + 1 / (both - expected))
        statistic = np.where(both > 0, terms, 0.0).sum(axis=-1)
        freedom = np.maximum(np.count_nonzero(both, axis=-1) - 1, 0)
        p_value = np.where(freedom > 0, scipy.special.chdtrc(np.maximum(freedom, 1), statistic), 1.0)
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


def wasserstein(
    expected: Expected, steps: Steps, at: int, reason: Reason | None, level: float
) -> tuple[Measurement, Measurement]:
    """Area between the cumulative shares of a number / the reference's deviation, and its critical value.

    Within a cell the difference is drawn straight between its values at both edges; it can leave that line by
    the larger of both sides' shares of the cell, and crosses 0 at a cost of half of it.
    """
    row = expected.numeric[at]
    subject, n, m = expected.subjects[row], int(steps.n[at]), float(steps.m[at])
    grid, spread = subject.grid, expected.spread_of(subject.name)
    reason = reason or (None if min(m, n) else Reason.NO_RECORDS if m else Reason.NO_REFERENCE)
    if reason is not None or not spread > 0 or not isinstance(grid, NumericGrid):
        absent = Measurement.absent(reason or Reason.UNDEFINED, n=n)
        return absent, absent
    bounds = np.asarray([grid.lower, *grid.edges, grid.upper])
    cells = slice(int(steps.now.starts[at]), int(steps.now.starts[at]) + grid.regular)
    upper, most = steps.difference[cells], np.maximum(steps.p[cells], steps.q[cells])
    ends = np.isinf(bounds[:-1]) | np.isinf(bounds[1:])
    if (ends & (most > 0)).any():
        absent = Measurement.absent(Reason.OUT_OF_RANGE, n=n)
        return absent, absent
    width = np.where(ends, 0.0, np.diff(np.where(np.isinf(bounds), 0.0, bounds)))
    area, unit = float(_of_edges(width) @ np.abs(upper)), math.sqrt(1 / n + 1 / m)
    limit = _bridged(steps.q[cells].tobytes(), width.tobytes(), level) * unit
    return (
        Measurement(value=area / spread, n=n, resolution=1.5 * float(width @ most) / spread),
        Measurement(value=limit / spread, n=n),
    )


@lru_cache(maxsize=256)
def _bridged(shares: bytes, width: bytes, level: float) -> float:
    """Quantile of the area below the absolute value of a Brownian bridge over shares of cells so wide."""
    q = np.frombuffer(shares)
    bridges = np.cumsum(seeded(shares, width).standard_normal((SIMULATIONS, len(q))) * np.sqrt(q), axis=1)
    bridges -= bridges[:, -1:] * np.cumsum(q)
    areas = np.abs(bridges) @ _of_edges(np.frombuffer(width))
    return float(np.quantile(areas, level, method="higher"))


def _of_edges(width: Floats) -> Floats:
    """What the upper edge of each cell adds to an area: half of the widths beside it."""
    halves: Floats = (width + np.append(width[1:], 0.0)) / 2
    return halves
