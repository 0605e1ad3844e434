"""Grids: how to count. Frozen, and known by a content hash.

A grid has k regular cells, then three more: *unseen*, *missing*, *invalid*, so that no value is dropped.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.states.sums import SMALLEST, power_of_two

_BLOCK = 16_384  # values at a time: the temporaries stay in the processor's cache
_SMALLEST, _LARGEST = 10, 16  # powers of two of the table's size
_STEPS = 4  # edges in one slot, at most
_MOST = 2.0**1023  # of slots for a unit of the values

EXTRA_CELLS = 3
FEATURE_CELLS = 250
SCORE_QUANTILE_CELLS = 2040
SCORE_UNIFORM_CELLS = 2048
NAMED_LEVELS = 254
NAMED_FROM = 10  # reference records a level needs before it is named anywhere


class CellLookup:
    """Cells of arbitrary ascending edges; a value equal to an edge lies above it.

    A uniform table of slots lies over the edges, fine enough that no slot holds two of them, or few. The
    slot of an edge is found by the same monotone arithmetic as the slot of a value, so that as many
    comparisons as a slot has edges decide exactly: the result equals ``numpy.searchsorted(edges, x,
    side="right")``. Edges too uneven for 2^16 slots of four edges, or too far apart or too close together
    for doubles, fall back to that.

    Parameters
    ----------
    edges
        finite float64, ascending, distinct; none or one is allowed.
    """

    __slots__ = ("_edges", "_low", "_scale", "_slots", "_steps", "_table")

    def __init__(self, edges: Floats) -> None:
        self._edges = np.append(edges, np.inf)
        self._table: Ints | None = None
        self._low, self._scale, self._slots, self._steps = 0.0, 0.0, 0, 1
        if len(edges) < 2:
            return
        self._low = float(edges[0])
        span = float(edges[-1]) - self._low
        # The smallest table whose slots hold one edge at most: then one comparison decides. The largest one
        # may have a few in a slot, at a comparison each.
        for power in range(_SMALLEST, _LARGEST + 1):
            self._slots = 1 << power
            if not self._slots / _MOST < span < np.inf:
                return
            self._scale = self._slots / span
            slots = self._slot_of(edges)
            self._steps = int(np.bincount(slots).max())
            if self._steps == 1 or (power == _LARGEST and self._steps <= _STEPS):
                self._table = np.searchsorted(slots, np.arange(self._slots), side="left")
                return

    def _slot_of(self, values: Floats) -> Ints:
        slots = np.empty(len(values), dtype=np.int64)
        with np.errstate(over="ignore", under="ignore"):
            self._fill_slots(values, np.empty(len(values)), slots)
        return slots

    def _fill_slots(self, values: Floats, scaled: Floats, slots: Ints) -> None:
        """Slots of values, in place: where what is far away overflows, it is clipped as well."""
        np.subtract(values, self._low, out=scaled)
        np.multiply(scaled, self._scale, out=scaled)
        np.clip(scaled, 0.0, self._slots - 1.0, out=scaled)
        np.copyto(slots, scaled, casting="unsafe")

    def __call__(self, values: Floats) -> Ints:
        """Cells of finite values: int64 in [0, number of edges]."""
        if self._table is None:
            return np.searchsorted(self._edges[:-1], values, side="right").astype(np.int64)
        cells = np.empty(len(values), dtype=np.int64)
        with np.errstate(over="ignore", under="ignore"):
            self._look_up(values, self._table, cells)
        return cells

    def _look_up(self, values: Floats, table: Ints, cells: Ints) -> None:
        """Cells of values, into `cells`, block by block."""
        some = min(len(values), _BLOCK)
        room, slots, above = np.empty(some), np.empty(some, dtype=np.int64), np.empty(some, dtype=np.bool_)
        for start in range(0, len(values), _BLOCK):
            block = values[start : start + _BLOCK]
            below, n = cells[start : start + _BLOCK], len(block)
            self._fill_slots(block, room[:n], slots[:n])
            # No index is out of range: "wrap" spares the check, and a copy.
            table.take(slots[:n], out=below, mode="wrap")
            for _ in range(self._steps):
                self._edges.take(below, out=room[:n], mode="wrap")
                np.less_equal(room[:n], block, out=above[:n])
                np.add(below, above[:n], out=below)


@dataclass(frozen=True, slots=True)
class NumericGrid:
    """Cells between ascending edges, with open ends; a value equal to an edge lies above it."""

    edges: tuple[float, ...]  # ascending, distinct, finite
    # positions in `edges` of the reference's deciles; empty without a reference.
    deciles: tuple[int, ...] = ()
    # lower, upper: values outside [lower, upper] are invalid.
    lower: float = -np.inf
    upper: float = np.inf
    # centre, scale: moments are summed of (value - centre) / scale: a value of the reference in its middle,
    # and the power of two at its standard deviation; scale 0: no moments.
    centre: float = 0.0
    scale: float = 0.0

    @property
    def regular_size(self) -> int:
        """Number of regular cells."""
        return len(self.edges) + 1

    @property
    def size(self) -> int:
        """Number of all cells."""
        return self.regular_size + EXTRA_CELLS

    def value_cells(self, values: Floats, missing: Bools) -> Ints:
        """Cell of each value; NaN, infinities and values out of range are invalid."""
        valid = np.isfinite(values) & (values >= self.lower) & (values <= self.upper)
        if valid.all():
            cells = cached_lookup(self.edges)(values)
        else:
            cells = np.full(len(values), self.regular_size + 2, dtype=np.int64)
            cells[valid] = cached_lookup(self.edges)(values[valid])
        cells[missing] = self.regular_size + 1
        return cells


@dataclass(frozen=True, slots=True)
class CategoryGrid:
    """A cell for each named level, one for the reference's *other* levels."""

    levels: tuple[str, ...]  # canonical text, most frequent in the reference first
    rare: frozenset[str] = frozenset()  # digests of the reference's levels that are not named

    @property
    def regular_size(self) -> int:
        """Number of regular cells: the levels and *other*."""
        return len(self.levels) + 1

    @property
    def size(self) -> int:
        """Number of all cells."""
        return self.regular_size + EXTRA_CELLS

    def find_level_cell(self, level: str | None) -> int:
        """Cell of one level (None is missing)."""
        if level is None:
            return self.regular_size + 1
        if level in self.levels:
            return self.levels.index(level)
        return self.regular_size - 1 if level_digest(level) in self.rare else self.regular_size


Grid: TypeAlias = NumericGrid | CategoryGrid


@lru_cache(maxsize=512)
def cached_lookup(edges: tuple[float, ...]) -> CellLookup:
    """Lookup table of edges, built once."""
    return CellLookup(np.asarray(edges, dtype=np.float64))


def level_digest(level: str) -> str:
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
    # Values out of the reference's range lie beyond these two, in cells of their own.
    with np.errstate(over="ignore"):
        ends = np.asarray([ordered[0], np.nextafter(ordered[-1], np.inf)])
    edges = np.concatenate([quantile_edges(ordered, FEATURE_CELLS), ends[np.isfinite(ends)]])
    return _make_decile_grid(np.unique(edges), ordered, -np.inf, np.inf)


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
        return NumericGrid(edges=_plain_floats(np.unique(uniform)), lower=lower, upper=upper)
    ordered = np.sort(values)
    distinct = np.unique(ordered)
    fine = distinct if len(distinct) < SCORE_QUANTILE_CELLS else quantile_edges(ordered, SCORE_QUANTILE_CELLS)
    # Even cells for scores that move where the reference has none, quantiles for the resolution of ranks,
    # deciles for the stability index.
    edges = np.unique(np.concatenate([uniform, fine, quantile_edges(ordered, 10)]))
    return _make_decile_grid(edges, ordered, lower, upper)


def category_grid(levels: list[str], counts: list[int]) -> CategoryGrid:
    """Named levels of a reference: at most 254, of at least 10 records, by falling frequency."""
    order = sorted(zip(levels, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    named = tuple(level for level, count in order[:NAMED_LEVELS] if count >= NAMED_FROM)
    # Rare levels may name persons: only digests of them are kept, by which they are known again.
    rare = set(levels).difference(named)
    return CategoryGrid(levels=named, rare=frozenset(level_digest(level) for level in rare))


def log_edges(smallest: float, largest: float, ratio: float = 1.01) -> tuple[float, ...]:
    """Edges of cells that are 1 % wide, from `smallest` up to at least `largest`."""
    steps = int(np.ceil(np.log(largest / smallest) / np.log(ratio)))
    return _plain_floats(smallest * ratio ** np.arange(steps + 1, dtype=np.float64))


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


def _plain_floats(values: Floats) -> tuple[float, ...]:
    """Plain numbers, 0.0 for -0.0: equal edges have one hash."""
    return tuple((values + 0.0).tolist())


def _make_decile_grid(edges: Floats, ordered: Floats, lower: float, upper: float) -> NumericGrid:
    deciles = np.unique(quantile_edges(ordered, 10))
    positions = tuple(np.searchsorted(edges, deciles).tolist())
    return NumericGrid(_plain_floats(edges), positions, lower, upper, *_middle_and_scale(ordered))


def _middle_and_scale(ordered: Floats) -> tuple[float, float]:
    """A value in the middle, and the power of two at the standard deviation; 0 where it overflows."""
    # A median keeps the deviations small, and so their exact sums in range; + 0.0 takes the sign from -0.0.
    centre = float(ordered[len(ordered) // 2]) + 0.0
    with np.errstate(over="ignore"):
        away = ordered - centre
    largest = float(np.abs(away[[0, -1]]).max())
    # Divided by the largest first, so that no square overflows.
    spread = float(np.std(away / largest)) * largest if 0 < largest < np.inf else abs(centre) or 1.0
    return centre, power_of_two(max(spread, SMALLEST)) if largest < np.inf else 0.0
