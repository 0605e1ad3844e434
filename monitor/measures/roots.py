"""Where a function is zero. SciPy's solvers would double what its special functions cost at each start."""

from collections.abc import Callable

CLOSE = 1e-12


def root(function: Callable[[float], float], start: float, end: float) -> float:
    """Where a continuous function is zero, to 1e-12, between two places where it has other signs [1]_.

    References
    ----------
    .. [1] Chandrupatla (1997). A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear
       function without using derivatives. Advances in Engineering Software 28, 145-149.

    >>> round(root(lambda x: x * x - 2, 0.0, 2.0), 9)
    1.414213562
    """
    newest, at_newest, other, at_other = start, function(start), end, function(end)
    step = 0.5
    while at_newest and at_other:
        place = newest + step * (other - newest)
        value = function(place)
        if (value > 0) == (at_newest > 0):
            left, at_left = newest, at_newest
        else:
            left, at_left, other, at_other = other, at_other, newest, at_newest
        newest, at_newest = place, value
        if abs(other - newest) <= CLOSE:
            break
        step = _step(newest, at_newest, other, at_other, left, at_left)
        least = CLOSE / 2 / abs(other - newest)
        step = min(max(step, least), 1 - least)
    return newest if abs(at_newest) < abs(at_other) else other


def _step(a: float, at_a: float, b: float, at_b: float, c: float, at_c: float) -> float:
    """Share of the way from a to b: by the parabola through three places if it is one there, else half."""
    xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    if not (phi * phi < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    first = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    return first + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
