"""Roots, by halving, beside those of SciPy."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from monitor.measures.statistics.intervals import root

SHAPES: dict[str, Callable[[float], float]] = {
    "line": lambda x: x,
    "cubic": lambda x: x**3 + x / 10,
    "steep": lambda x: math.expm1(40 * x),
    "flat beside a jump": lambda x: math.tanh(1e4 * x),
    "logarithm": lambda x: math.log(x + 1.1) - math.log(1.1),
    "falls": lambda x: -math.sinh(5 * x),
}


@given(shape=st.sampled_from(sorted(SHAPES)), zero=st.floats(0.001, 0.999))
def test_a_root_is_scipys(shape: str, zero: float) -> None:
    def moved(x: float) -> float:
        return SHAPES[shape](x - zero)

    assert root(moved, 0.0, 1.0) == pytest.approx(brentq(moved, 0.0, 1.0, xtol=1e-12), abs=3e-12)


@pytest.mark.parametrize(("start", "end"), [(0.5, 2.0), (-1.0, 0.5), (2.0, 0.5)])
def test_a_root_at_an_end_is_found(start: float, end: float) -> None:
    assert root(lambda x: x - 0.5, start, end) == pytest.approx(0.5, abs=3e-12)
