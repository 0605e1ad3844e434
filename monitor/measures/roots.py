"""Where a function is zero."""

from collections.abc import Callable

CLOSE = 1e-12


def root(function: Callable[[float], float], start: float, end: float) -> float:
    """Where a continuous function is zero, to 1e-12, between two places where it has other signs.

    Brent's method, as SciPy has it: loaded when it is first asked for, as it would double what SciPy's
    special functions cost at each start.

    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    from scipy.optimize import brentq

    return float(brentq(function, start, end, xtol=CLOSE))
