"""The lookup of cells, compiled by Numba where the extra `compiled` is installed: half NumPy's time."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from monitor.core.typing import Floats, Ints

Kernel: TypeAlias = Callable[[Floats, Floats, Ints, float, float, float, int, Ints], None]


@lru_cache(maxsize=1)
def kernel() -> Kernel | None:
    """`cells`, compiled; None without Numba. The first call costs half a second, and the import."""
    try:
        import numba
    except ImportError:
        return None
    compiled: Kernel = numba.njit(nogil=True)(cells)
    return compiled


def cells(
    values: Floats, edges: Floats, table: Ints, low: float, scale: float, last: float, steps: int, out: Ints
) -> None:
    """Cell of each value, into `out`: the arithmetic of `Lookup`, value by value.

    Parameters
    ----------
    last
        number of the last slot.
    """
    for at in range(len(values)):
        value = values[at]
        slot = (value - low) * scale
        if not slot > 0.0:
            slot = 0.0
        elif slot > last:
            slot = last
        cell = table[int(slot)]
        for _ in range(steps):
            cell += edges[cell] <= value
        out[at] = cell
