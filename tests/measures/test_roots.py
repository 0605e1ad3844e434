import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from monitor.measures.roots import CLOSE, root

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

    assert root(moved, 0.0, 1.0) == pytest.approx(brentq(moved, 0.0, 1.0, xtol=CLOSE), abs=3 * CLOSE)


@pytest.mark.parametrize(("start", "end"), [(0.5, 2.0), (-1.0, 0.5), (2.0, 0.5)])
def test_a_root_at_an_end_is_found(start: float, end: float) -> None:
    assert root(lambda x: x - 0.5, start, end) == 0.5


def test_few_values_of_a_smooth_function_are_asked_for() -> None:
    asked = []

    def cosine(x: float) -> float:
        asked.append(x)
        return math.cos(x) - x

    root(cosine, 0.0, 1.0)

    assert len(asked) <= 10
