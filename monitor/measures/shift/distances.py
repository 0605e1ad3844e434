"""Distances: Kolmogorov-Smirnov's and Wasserstein's of numbers, others of the stability index's cells."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import scipy

from monitor.core.array_types import Floats
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.shift.shift_cells import (
    SIMULATIONS,
    CumulativeSteps,
    ExpectedCells,
    round_to_two_digits,
    seeded_generator,
    simulate_counts,
)
from monitor.states.grids import NumericGrid

_DRAWN = (
    "jensen_shannon_distance",
    "hellinger_distance",
    "largest_share_distance",
    "total_variation_distance",
    "chi_squared",
)
_OF_CELLS = (*_DRAWN, "chi_squared_p_value", "cramers_v")
_LIMITS = [f"{name}_critical" for name in (*_DRAWN, "cramers_v")]
_WASSERSTEIN = ("wasserstein_distance", "wasserstein_distance_critical")
KS_NAMES = ("ks_distance", "ks_p_value")


def distance_results(
    expected: ExpectedCells,
    current: Floats,
    steps: CumulativeSteps,
    reasons: Sequence[Reason | None],
    level: float,
) -> Iterator[MeasureResult]:
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
    values = share_distances(expected.reference_counts, current)
    for row, subject in enumerate(expected.subjects):
        n, reason = int(current[row].sum()), reasons[row]
        if reason is not None:
            yield from list_absent_distances(subject.name, reason, n)
            continue
        for name, column in zip(_OF_CELLS, values, strict=True):
            yield MeasureResult(name, subject.name, Measurement(value=float(column[row]), n=n))
        for name, limit in critical_values(expected, row, n, level).items():
            yield MeasureResult(name, subject.name, Measurement(value=limit, n=n))
    for at, row in enumerate(expected.numeric_rows):
        both = wasserstein_distance(expected, steps, at, reasons[row], level)
        for name, measurement in zip(_WASSERSTEIN, both, strict=True):
            yield MeasureResult(name, expected.subjects[row].name, measurement)


def list_absent_distances(
    subject: str, reason: Reason, n: int, *, numeric: bool = False
) -> Iterator[MeasureResult]:
    """Give the names of the distances of cells, and of numbers where it is one, all absent for one reason."""
    for name in (*_OF_CELLS, *_LIMITS, *(_WASSERSTEIN if numeric else ())):
        yield MeasureResult(name, subject, Measurement.without_value(reason, n=n))


def critical_values(expected: ExpectedCells, row: int, n: int, level: float) -> dict[str, float]:
    """Critical values of a subject's distances, exceeded with probability 1 - level if nothing has shifted.

    Simulated for both sizes rounded to two digits, then scaled to the sizes that they are: roots of sums of
    squares, and absolute differences, go with the root of 1/n + 1/m.
    """
    m = float(expected.m[row])
    sizes = round_to_two_digits(n), round_to_two_digits(m)
    *limits, statistic = simulate_critical_distances(*sizes, expected.cell_shares(row), level)
    scale = math.sqrt((1 / n + 1 / m) / (1 / sizes[0] + 1 / sizes[1]))
    scaled = [min(scale * value, 1.0) for value in limits]
    return dict(zip(_LIMITS, (*scaled, statistic, math.sqrt(statistic / (n + m))), strict=True))


@lru_cache(maxsize=4096)
def simulate_critical_distances(n: int, m: int, shares: tuple[float, ...], level: float) -> tuple[float, ...]:
    """Quantiles of the distances of samples of n and m records drawn from one distribution; of V none."""
    drawn = share_distances(
        simulate_counts(m, shares, "reference").astype(np.float64),
        simulate_counts(n, shares, "current").astype(np.float64),
    )
    limits = np.quantile(np.stack(drawn[: len(_DRAWN)]), level, axis=1, method="higher")
    return tuple(limits.tolist())


def share_distances(reference: Floats, current: Floats) -> tuple[Floats, ...]:
    """Distances of each row of counts, in the order of `_OF_CELLS`; NaN where a side is empty."""
    m, n = reference.sum(axis=-1, keepdims=True), current.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        q, p = reference / m, current / n
        middle = (p + q) / 2
        entropies = scipy.special.rel_entr(p, middle) + scipy.special.rel_entr(q, middle)
        divergence = entropies.sum(axis=-1) / (2 * np.log(2))
        both = reference + current
        expected = both * n / (m + n)
        # In a table of two rows both cells of a column are off by the same number.
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


def wasserstein_distance(
    expected: ExpectedCells, steps: CumulativeSteps, at: int, reason: Reason | None, level: float
) -> tuple[Measurement, Measurement]:
    """Area between the cumulative shares of a number / the reference's deviation, and its critical value.

    Within a cell the difference is drawn straight between its values at both edges; it can leave that line by
    the larger of both sides' shares of the cell, and crosses 0 at a cost of half of it.
    """
    row = expected.numeric_rows[at]
    subject, n, m = expected.subjects[row], int(steps.n[at]), float(steps.m[at])
    grid, spread = subject.grid, expected.reference_deviation(subject.name)
    if reason is None and not min(m, n):
        reason = Reason.NO_RECORDS if m else Reason.NO_REFERENCE
    if reason is not None or not spread > 0 or not isinstance(grid, NumericGrid):
        absent = Measurement.without_value(reason or Reason.UNDEFINED, n=n)
        return absent, absent
    bounds = np.asarray([grid.lower, *grid.edges, grid.upper])
    cells = slice(int(steps.now.starts[at]), int(steps.now.starts[at]) + grid.regular_size)
    upper, most = steps.difference[cells], np.maximum(steps.p[cells], steps.q[cells])
    # Numbers in a cell without an end may lie anywhere: where there are any, no distance is known.
    ends = np.isinf(bounds[:-1]) | np.isinf(bounds[1:])
    if (ends & (most > 0)).any():
        absent = Measurement.without_value(Reason.OUT_OF_RANGE, n=n)
        return absent, absent
    width = np.where(ends, 0.0, np.diff(np.where(np.isinf(bounds), 0.0, bounds)))
    area, unit = float(_edge_weights(width) @ np.abs(upper)), math.sqrt(1 / n + 1 / m)
    limit = _bridge_quantile(steps.q[cells].tobytes(), width.tobytes(), level) * unit
    return (
        # Off the straight line by the larger share, and by half of it again where the difference crosses 0.
        Measurement(value=area / spread, n=n, resolution=1.5 * float(width @ most) / spread),
        Measurement(value=limit / spread, n=n),
    )


@lru_cache(maxsize=256)
def _bridge_quantile(shares: bytes, width: bytes, level: float) -> float:
    """Quantile of the area below the absolute value of a Brownian bridge over shares of cells so wide."""
    q = np.frombuffer(shares)
    bridges = np.cumsum(
        seeded_generator(shares, width).standard_normal((SIMULATIONS, len(q))) * np.sqrt(q), axis=1
    )
    # Random walks in time q, tied down at their end: cumulative shares end at 1 on both sides.
    bridges -= bridges[:, -1:] * np.cumsum(q)
    areas = np.abs(bridges) @ _edge_weights(np.frombuffer(width))
    return float(np.quantile(areas, level, method="higher"))


def _edge_weights(width: Floats) -> Floats:
    """What the upper edge of each cell adds to an area: half of the widths beside it."""
    halves: Floats = (width + np.append(width[1:], 0.0)) / 2
    return halves


def kolmogorov_smirnov(
    expected: ExpectedCells, steps: CumulativeSteps, reasons: Sequence[Reason | None]
) -> Iterator[tuple[int, tuple[Measurement, Measurement]]]:
    """Row of every subject that is a number, its `ks_distance` and `ks_p_value`.

    The distance is the largest absolute difference of the cumulative shares of the regular cells, at their
    edges. Missing, unseen and invalid values are left out. Never above the distance of the raw values; the
    resolution bounds what is lost: within a cell the difference is at most one side's share at the upper edge
    less the other's at the lower one. The p-value is Kolmogorov's limit: the probability of such a distance
    if nothing has shifted.

    `reasons`: why a subject can not be compared at all.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = steps.now.greatest_by_subject(np.abs(steps.difference))
        bound = steps.now.greatest_by_subject(
            np.maximum(steps.difference + steps.q, steps.p - steps.difference)
        )
        p_values = scipy.special.kolmogorov(largest * np.sqrt(steps.n * steps.m / (steps.n + steps.m)))
    columns = zip(*(column.tolist() for column in (steps.m, steps.n, largest, bound, p_values)), strict=True)
    for row, (m, n, distance, most, p_value) in zip(expected.numeric_rows, columns, strict=True):
        reason, size = reasons[row], int(n)
        if reason is None and min(m, n) == 0:
            reason = Reason.NO_REFERENCE if m == 0 else Reason.NO_RECORDS
        if reason is not None:
            absent = Measurement.without_value(reason, n=size)
            yield row, (absent, absent)
            continue
        value = Measurement(value=distance, n=size, resolution=max(0.0, most - distance))
        yield row, (value, Measurement(value=p_value, n=size))
