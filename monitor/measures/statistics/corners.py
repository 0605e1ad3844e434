"""Few points of a long curve: its corners, so that what is drawn is the curve."""

import heapq
import itertools
from collections.abc import Iterable

import numpy as np

from monitor.core.typing import Floats, Ints

MOST = 200  # points of a curve


def corners(x: Floats, y: Floats, *, most: int = MOST, must: Iterable[int] = (), least: float = 1e-9) -> Ints:
    """Positions of the points that a line through few of them needs, ascending.

    The point that lies farthest from the line so far is added until there are `most`, or none lies off.
    Distances are upright ones, in units of the curve's own height: areas under the curve change least.

    Parameters
    ----------
    x, y
        shape (n,): x ascending or descending; finite.
    must
        positions that are kept whatever the line says: a maximum, a threshold.
    least
        distance at which a point is still added, in units of the curve's height.

    >>> corners(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 2.5, 3.0]), most=3).tolist()
    [0, 1, 3]
    """
    last = len(x) - 1
    if last < most and least <= 1e-9:
        return np.arange(last + 1)
    kept = sorted({0, last, *must})
    spread = float(np.ptp(y)) or 1.0
    waiting: list[tuple[float, int, int, int]] = []

    def look(first: int, end: int) -> None:
        """Find the point between two kept ones that lies farthest from their line."""
        if end - first < 2:
            return
        run = x[first + 1 : end] - x[first]
        whole = x[end] - x[first]
        part = run / whole if whole else np.linspace(0, 1, end - first + 1)[1:-1]
        off = np.abs(y[first + 1 : end] - y[first] - part * (y[end] - y[first])) / spread
        far = int(np.argmax(off))
        weight = float(off[far]) * max(abs(float(whole)), 1e-12)
        if off[far] > least:
            heapq.heappush(waiting, (-weight, first, first + 1 + far, end))

    for first, end in itertools.pairwise(kept):
        look(first, end)
    chosen = set(kept)
    while waiting and len(chosen) < most:
        _, first, middle, end = heapq.heappop(waiting)
        chosen.add(middle)
        look(first, middle)
        look(middle, end)
    return np.asarray(sorted(chosen))
