"""Where the numbers lie, and further distances from the reference, once more: by NumPy and SciPy."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pandas as pd
from oracle import LEVEL, NONE, Expected, Floats, How, Key, Log, Z, mean, rate, valid
from oracle_probabilities import columns_of
from oracle_shift import Sides
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.stats.contingency import association

Named: TypeAlias = Iterator[tuple[str, Expected]]


def of_values(sides: Mapping[str, Sides]) -> dict[Key, Expected]:
    """Values and distances of all subjects."""
    found: dict[Key, Expected] = {}
    for subject, one in sides.items():
        if one.numbers is not None:
            named = dict(moments(*one.numbers)) | dict(_ends(*one.numbers, bounded=one.bounded))
            found |= {(name, subject): expected for name, expected in named.items()}
    return found | of_distances(sides)


def of_score(log: Log, known: pd.DataFrame) -> Iterator[tuple[Key, Expected]]:
    """How far the mean score is from the reference's; of classes the probability of the one it has most.

    Probabilities are counted in cells, whose middles are within a 256th: the interval is not compared.
    """
    columns = columns_of(log)
    if columns:
        most = log.classes.index(log.reference["prediction"].mode()[0])
        sides = []
        for rows in (known, log.reference):
            given = rows[columns].to_numpy(dtype=float)
            used = ((given >= 0) & (given <= 1)).all(axis=1) & (np.abs(given.sum(axis=1) - 1) <= 0.01)
            sides.append(given[used, most])
        subject, near = f"class:{log.classes[most]}", 1 / 128
    else:
        subject, near = ("score" if log.classes else "prediction"), 0.0
        if subject not in log.predictions.columns:
            return
        sides = [
            rows[subject].to_numpy(dtype=float)[valid(rows, subject, log)] for rows in (known, log.reference)
        ]
    now, then = sides
    if len(now) < 2:
        yield ("score_move", subject), NONE
        return
    away, half = now.mean() - then.mean(), Z * np.hypot(stats.sem(now), stats.sem(then))
    bounds = (away - near, away + near) if near else (away - half, away + half)
    how = How.BETWEEN if near else How.EXACT
    yield ("score_move", subject), Expected(float(away), how, len(now), (float(bounds[0]), float(bounds[1])))


def of_distances(sides: Mapping[str, Sides], *, on_own_cells: bool = True) -> dict[Key, Expected]:
    """Distances of all subjects; none from a side without records.

    On the cells of another reference the critical area is that of straight lines through whatever cells
    there are, which may be wide: that it is there is all that is known of it.
    """
    found: dict[Key, Expected] = {}
    for subject, one in sides.items():
        named = dict(_distances(*one.cells))
        if one.numbers is not None:
            ends = None if one.bounded else one.ends
            named |= dict(_wasserstein(*one.numbers, ends, on_own_cells=on_own_cells))
        empty = not one.cells[0].sum()
        found |= {(name, subject): NONE if empty else expected for name, expected in named.items()}
    return found


def _distances(reference: Floats, current: Floats) -> Named:
    used = (reference + current) > 0
    q, p = reference[used] / max(reference.sum(), 1), current[used] / max(current.sum(), 1)
    n, several = int(current.sum()), len(q) > 1
    names = ["jensen_shannon_distance", "hellinger_distance", "largest_share_distance"]
    names.append("total_variation_distance")
    values = [jensenshannon(q, p, base=2), np.linalg.norm(np.sqrt(q) - np.sqrt(p)) / np.sqrt(2)]
    values += [np.abs(q - p).max(initial=0), np.maximum(q - p, 0).sum()]
    if n and reference.any():
        table = np.array([reference[used], current[used]])
        test = stats.chi2_contingency(table, correction=False) if several else None
        values += [test.statistic, test.pvalue] if test else [0.0, 1.0]
        values.append(association(table, method="cramer") if several else 0.0)
    names += ["chi_squared", "chi_squared_p_value", "cramers_v"]
    n = n if reference.any() else 0
    for name, value in zip(names, values if n else [None] * len(names), strict=True):
        yield name, NONE if value is None else Expected(float(value), n=n)
    held = tuple(int(count) for count in reference if count)
    limits = _limits(held, n) if n else ()
    names.remove("chi_squared_p_value")
    for name, (lower, upper) in zip(names, limits or [(0.0, 0.0)] * len(names), strict=True):
        yield f"{name}_critical", Expected(lower, How.BETWEEN, n, (lower, upper)) if n else NONE


@lru_cache(maxsize=1024)
def _limits(held: tuple[int, ...], n: int) -> tuple[tuple[float, float], ...]:
    """Quantiles 0.91 and 0.98 of the distances without shift, and a little more: as of the index."""
    rng, m = np.random.default_rng(20131231), sum(held)
    rows = [rng.multinomial(size, np.array(held) / m, size=1_000) for size in (m, n)]
    q, p = rows[0] / m, rows[1] / n
    both = rows[0] + rows[1]
    with np.errstate(invalid="ignore"):
        chi = np.nansum((rows[0] * n - rows[1] * m) ** 2 / both, axis=1) / (n * m)
    drawn = [
        jensenshannon(q, p, base=2, axis=1),
        np.linalg.norm(np.sqrt(q) - np.sqrt(p), axis=1) / np.sqrt(2),
        np.abs(q - p).max(axis=1),
        np.abs(q - p).sum(axis=1) / 2,
        chi,
        np.sqrt(chi / (n + m)),
    ]
    pairs = (np.nan_to_num(np.quantile(one, [0.91, 0.98])) for one in drawn)
    return tuple((float(lower) * 11 / 12, float(upper) * 13 / 12) for lower, upper in pairs)


def moments(reference: Floats, current: Floats) -> Named:
    """Mean, spread, and how far the mean is away."""
    n = len(current)
    if n == 0:
        yield from ((name, NONE) for name in ("mean", "standard_deviation", "standardized_mean_difference"))
        return
    yield "mean", mean(current, float(current.mean()), lowest=-np.inf)
    yield "standard_deviation", Expected(float(np.std(current, ddof=1)), n=n) if n > 1 else NONE
    apart = NONE
    spread = np.array([np.var(side, ddof=1) for side in (current, reference)]) if n > 1 else np.zeros(2)
    if spread.sum() > 0:
        root, sizes = np.sqrt(spread.mean()), np.array([n, len(reference)])
        of_means = spread / sizes
        freedom = of_means.sum() ** 2 / (of_means**2 / (sizes - 1)).sum()
        away, scale = (current.mean() - reference.mean()) / root, np.sqrt(of_means.sum()) / root
        lower, upper = stats.t.interval(LEVEL, freedom, away, scale)  # Welch's
        apart = Expected(float(away), n=n, bounds=(float(lower), float(upper)))
    yield "standardized_mean_difference", apart


def _ends(reference: Floats, current: Floats, *, bounded: bool) -> Named:
    n, low, high = len(current), reference.min(), reference.max()
    beyond = [int((current < low).sum()), int((current > high).sum())]
    within = [n > 0 and (bounded or not count) for count in beyond]
    yield "minimum", Expected(float(current.min()), How.BELOW, n) if within[0] else NONE
    yield "maximum", Expected(float(current.max()), How.ABOVE, n) if within[1] else NONE
    if not bounded:
        yield "out_of_range_rate", rate(sum(beyond), n)


def _wasserstein(
    reference: Floats, current: Floats, ends: tuple[float, float] | None, *, on_own_cells: bool
) -> Named:
    both = np.concatenate([reference, current])
    outside = ends is not None and ((both < ends[0]) | (both > ends[1])).any()
    if not len(current) or outside or not len(reference) or reference.min() == reference.max():
        yield from ((name, NONE) for name in ("wasserstein_distance", "wasserstein_distance_critical"))
        return
    spread, n = np.std(reference, ddof=1), len(current)
    distance = stats.wasserstein_distance(reference, current) / spread
    yield "wasserstein_distance", Expected(float(distance), How.WITHIN, n)
    unit = np.sqrt(1 / n + 1 / len(reference)) / spread
    limits = _areas(reference.tobytes()) if on_own_cells else (0.0, np.inf)
    lower, upper = (float(limit * unit) for limit in limits)
    yield "wasserstein_distance_critical", Expected(lower, How.BETWEEN, n, (lower, upper))


@lru_cache(maxsize=64)
def _areas(reference: bytes) -> tuple[float, float]:
    """Of samples of 2,000 values of a reference, times the root of 2,000; quantiles as above."""
    rng, alike = np.random.default_rng(20131231), np.full(501, 1 / 501)
    points = np.quantile(np.frombuffer(reference), np.linspace(0, 1, 501))
    shares = np.cumsum(rng.multinomial(2_000, alike, size=600), axis=1) / 2_000
    areas = np.abs(shares - np.cumsum(alike))[:, :-1] @ np.diff(points)
    lower, upper = np.quantile(areas, [0.91, 0.98]) * np.sqrt(2_000)
    return float(lower) * 11 / 12, float(upper) * 13 / 12
