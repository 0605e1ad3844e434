"""Which cell does a value fall into? An exact lookup table, faster than a binary search."""

import numpy as np

from monitor.core.typing import Floats, Ints

_BLOCK = 16_384  # values at a time: the temporaries stay in the processor's cache
_SMALLEST, _LARGEST = 10, 16  # powers of two of the table's size
_STEPS = 4  # edges in one slot, at most
_MOST = 2.0**1023  # of slots for a unit of the values


class Lookup:
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
        for power in range(_SMALLEST, _LARGEST + 1):
            self._slots = 1 << power
            if not self._slots / _MOST < span < np.inf:
                return
            self._scale = self._slots / span
            slots = self._slot(edges)
            self._steps = int(np.bincount(slots).max())
            if self._steps == 1 or (power == _LARGEST and self._steps <= _STEPS):
                self._table = np.searchsorted(slots, np.arange(self._slots), side="left")
                return

    def _slot(self, values: Floats) -> Ints:
        slots = np.empty(len(values), dtype=np.int64)
        with np.errstate(over="ignore", under="ignore"):
            self._fill(values, np.empty(len(values)), slots)
        return slots

    def _fill(self, values: Floats, scaled: Floats, slots: Ints) -> None:
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
            self._fill(block, room[:n], slots[:n])
            # no index is out of range: "wrap" spares the check, and a copy
            table.take(slots[:n], out=below, mode="wrap")
            for _ in range(self._steps):
                self._edges.take(below, out=room[:n], mode="wrap")
                np.less_equal(room[:n], block, out=above[:n])
                np.add(below, above[:n], out=below)
