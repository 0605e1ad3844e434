"""Grids: how to count. Frozen, and known by a content hash.

A grid has k regular cells, then three more: *unseen*, *missing*, *invalid*, so that no value is dropped.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from monitor.core.typing import Bools, Floats, Ints
from monitor.states.lookup import Lookup
from monitor.states.sums import SMALLEST, power_of_two

EXTRA_CELLS = 3
FEATURE_CELLS = 250
SCORE_QUANTILE_CELLS = 2040
SCORE_UNIFORM_CELLS = 2048
NAMED_LEVELS = 254
NAMED_FROM = 10  # reference records a level needs before it is named anywhere


@dataclass(frozen=True, slots=True)
class NumericGrid:
    """Cells between ascending edges, with open ends; a value equal to an edge lies above it.

    Parameters
    ----------
    edges
        ascending, distinct, finite.
    deciles
        positions in `edges` of the reference's deciles; empty without a reference.
    lower, upper
        values outside [lower, upper] are invalid.
    centre, scale
        moments are summed of (value - centre) / scale: a value of the reference in its middle, and the power
        of two at its standard deviation; scale 0: no moments.
    """

    edges: tuple[float, ...]
    deciles: tuple[int, ...] = ()
    lower: float = -np.inf
    upper: float = np.inf
    centre: float = 0.0
    scale: float = 0.0

    @property
    def regular(self) -> int:
        """Number of regular cells."""
        return len(self.edges) + 1

    @property
    def size(self) -> int:
        """Number of all cells."""
        return self.regular + EXTRA_CELLS

    def cells(self, values: Floats, missing: Bools) -> Ints:
        """Cell of each value; NaN, infinities and values out of range are invalid."""
        valid = np.isfinite(values) & (values >= self.lower) & (values <= self.upper)
        if valid.all():
            cells = lookup(self.edges)(values)
        else:
            cells = np.full(len(values), self.regular + 2, dtype=np.int64)
            cells[valid] = lookup(self.edges)(values[valid])
        cells[missing] = self.regular + 1
        return cells


@dataclass(frozen=True, slots=True)
class CategoryGrid:
    """A cell for each named level, one for the reference's *other* levels.

    Parameters
    ----------
    levels
        canonical text, most frequent in the reference first.
    rare
        digests of the reference's levels that are not named.
    """

    levels: tuple[str, ...]
    rare: frozenset[str] = frozenset()

    @property
    def regular(self) -> int:
        """Number of regular cells: the levels and *other*."""
        return len(self.levels) + 1

    @property
    def size(self) -> int:
        """Number of all cells."""
        return self.regular + EXTRA_CELLS

    def cells_of(self, level: str | None) -> int:
        """Cell of one level (None is missing)."""
        if level is None:
            return self.regular + 1
        if level in self.levels:
            return self.levels.index(level)
        return self.regular - 1 if digest(level) in self.rare else self.regular


Grid: TypeAlias = NumericGrid | CategoryGrid


@lru_cache(maxsize=512)
def lookup(edges: tuple[float, ...]) -> Lookup:
    """Lookup table of edges, built once."""
    return Lookup(np.asarray(edges, dtype=np.float64))


def digest(level: str) -> str:
    """Short digest of a level that must not be named."""
    return hashlib.blake2b(level.encode(), digest_size=8).hexdigest()


def quantile_edges(ordered: Floats, cells: int) -> Floats:
    """Edge k = the sorted value at rank ceil(k * m / cells), k = 1 … cells - 1; repeated for ties."""
    ranks = -(-np.arange(1, cells, dtype=np.int64) * len(ordered) // cells)
    edges: Floats = ordered[np.maximum(ranks, 1) - 1]
    return edges


def feature_grid(values: Floats) -> NumericGrid:
    """Up to 250 equal-mass cells of a reference, the deciles among the edges, and a cell beyond either end.

    Parameters
    ----------
    values
        finite float64, any order, missing left out. Without values: one cell.
    """
    if len(values) == 0:
        return NumericGrid(edges=())
    ordered = np.sort(values)
    edges = np.concatenate([quantile_edges(ordered, FEATURE_CELLS), _ends(ordered)])
    return _with_deciles(np.unique(edges), ordered, -np.inf, np.inf)


def score_grid(values: Floats | None, lower: float, upper: float) -> NumericGrid:
    """Up to 4,096 cells: reference quantiles (or its distinct values, if few) joined with a uniform grid.

    Parameters
    ----------
    values
        the reference's valid scores, or None without a reference.
    lower, upper
        the range of valid scores; without bounds the uniform grid spans the reference.
    """
    low, high = lower, upper
    if values is not None and len(values):
        low = lower if np.isfinite(lower) else float(values.min())
        high = upper if np.isfinite(upper) else float(values.max())
    uniform = (
        np.linspace(low, high, SCORE_UNIFORM_CELLS + 1)[1:-1] if 0 < high - low < np.inf else np.empty(0)
    )
    if values is None or len(values) == 0:
        return NumericGrid(edges=_floats(np.unique(uniform)), lower=lower, upper=upper)
    ordered = np.sort(values)
    distinct = np.unique(ordered)
    fine = distinct if len(distinct) < SCORE_QUANTILE_CELLS else quantile_edges(ordered, SCORE_QUANTILE_CELLS)
    edges = np.unique(np.concatenate([uniform, fine, quantile_edges(ordered, 10)]))
    return _with_deciles(edges, ordered, lower, upper)


def category_grid(levels: list[str], counts: list[int]) -> CategoryGrid:
    """Named levels of a reference: at most 254, of at least 10 records, by falling frequency."""
    order = sorted(zip(levels, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    named = tuple(level for level, count in order[:NAMED_LEVELS] if count >= NAMED_FROM)
    rare = set(levels).difference(named)
    return CategoryGrid(levels=named, rare=frozenset(digest(level) for level in rare))


def log_edges(smallest: float, largest: float, ratio: float = 1.01) -> tuple[float, ...]:
    """Edges of cells that are 1 % wide, from `smallest` up to at least `largest`."""
    steps = int(np.ceil(np.log(largest / smallest) / np.log(ratio)))
    return _floats(smallest * ratio ** np.arange(steps + 1, dtype=np.float64))


def to_json(grid: Grid) -> dict[str, object]:
    """Plain form of a grid, for the store and the hash."""
    if isinstance(grid, NumericGrid):
        bounds = [None if np.isinf(bound) else bound for bound in (grid.lower, grid.upper)]
        moments = {"moments": [grid.centre, grid.scale]} if grid.scale else {}
        cells = {"edges": list(grid.edges), "deciles": list(grid.deciles)}
        return {"kind": "numeric", **cells, "bounds": bounds, **moments}
    return {"kind": "category", "levels": list(grid.levels), "rare": sorted(grid.rare)}


def from_json(plain: Mapping[str, Any]) -> Grid:
    """Grid of its plain form; whole numbers may have lost their fraction on the way."""
    match plain:
        case {"kind": "numeric", "edges": list(edges), "deciles": list(deciles), "bounds": [lower, upper]}:
            low = -np.inf if lower is None else float(lower)
            high = np.inf if upper is None else float(upper)
            centre, scale = (float(number) for number in plain.get("moments", (0.0, 0.0)))
            return NumericGrid(tuple(float(edge) for edge in edges), tuple(deciles), low, high, centre, scale)
        case {"kind": "category", "levels": list(levels), "rare": list(rare)}:
            return CategoryGrid(tuple(levels), frozenset(rare))
        case _:
            raise ValueError(f"a grid is numeric or category: got {plain.get('kind')!r}")


def content_hash(plain: object) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a plain value's canonical JSON."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _floats(values: Floats) -> tuple[float, ...]:
    """Plain numbers, 0.0 for -0.0: equal edges have one hash."""
    return tuple((values + 0.0).tolist())


def _ends(ordered: Floats) -> Floats:
    """Smallest value, and the number after the largest: the cells beyond are out of the reference's range."""
    with np.errstate(over="ignore"):
        ends: Floats = np.asarray([ordered[0], np.nextafter(ordered[-1], np.inf)])
    finite: Floats = ends[np.isfinite(ends)]
    return finite


def _with_deciles(edges: Floats, ordered: Floats, lower: float, upper: float) -> NumericGrid:
    deciles = np.unique(quantile_edges(ordered, 10))
    positions = tuple(np.searchsorted(edges, deciles).tolist())
    return NumericGrid(_floats(edges), positions, lower, upper, *_moments(ordered))


def _moments(ordered: Floats) -> tuple[float, float]:
    """A value in the middle, and the power of two at the standard deviation; 0 where it overflows."""
    centre = float(ordered[len(ordered) // 2]) + 0.0
    with np.errstate(over="ignore"):
        away = ordered - centre
    largest = float(np.abs(away[[0, -1]]).max())
    spread = float(np.std(away / largest)) * largest if 0 < largest < np.inf else abs(centre) or 1.0
    return centre, power_of_two(max(spread, SMALLEST)) if largest < np.inf else 0.0
