"""The lookup of cells, compiled by Numba where the extra `compiled` is installed: a third of NumPy's time."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monitor.core.typing import Floats, Ints

SmallInts: TypeAlias = npt.NDArray[np.uint16]
Kernel: TypeAlias = Callable[[Floats, Floats, SmallInts, float, float, float, int, Ints], None]


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
    values: Floats,
    edges: Floats,
    table: SmallInts,
    low: float,
    scale: float,
    last: float,
    further: int,
    out: Ints,
) -> None:
    """Cell of each value, into `out`: the arithmetic of `Lookup`, value by value.

    Parameters
    ----------
    table
        uint16: a small one stays in the processor's cache.
    last
        number of the last slot.
    further
        edges that a slot may hold beside the first one.
    """
    for at in range(len(values)):
        value = values[at]
        slot = int(min(last, max(0.0, (value - low) * scale)))
        cell = int(table[slot])
        cell += edges[cell] <= value
        for _ in range(further):
            cell += edges[cell] <= value
        out[at] = cell
