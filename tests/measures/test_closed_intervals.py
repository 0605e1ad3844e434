"""Intervals in closed form, and the roots that others need, against SciPy."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from monitor.core.measurement import Interval
from monitor.measures.statistics.intervals import (
    clopper_pearson,
    newcombe_difference,
    normal,
    percentiles,
    root,
    student,
    wilson,
)

COUNTS = st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SHAPES: dict[str, Callable[[float], float]] = {
    "line": lambda x: x,
    "cubic": lambda x: x**3 + x / 10,
    "steep": lambda x: math.expm1(40 * x),
    "flat beside a jump": lambda x: math.tanh(1e4 * x),
    "logarithm": lambda x: math.log(x + 1.1) - math.log(1.1),
    "falls": lambda x: -math.sinh(5 * x),
}


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_scipy(counts: tuple[int, int], level: float) -> None:
    expected = stats.binomtest(*counts).proportion_ci(level, method="wilson")

    interval = wilson(*counts, level)

    assert interval.lower == pytest.approx(expected.low, rel=1e-9, abs=1e-12)
    assert interval.upper == pytest.approx(expected.high, rel=1e-9, abs=1e-12)


@given(COUNTS)
def test_wilson_holds_the_rate(counts: tuple[int, int]) -> None:
    interval = wilson(*counts)

    assert 0 <= interval.lower <= counts[0] / counts[1] <= interval.upper <= 1


@given(COUNTS, COUNTS)
def test_newcombe_changes_sign_with_the_order(first: tuple[int, int], second: tuple[int, int]) -> None:
    value, interval = newcombe_difference(first, second)
    opposite, mirrored = newcombe_difference(second, first)

    assert -1 <= interval.lower <= value <= interval.upper <= 1
    assert opposite == -value
    assert [mirrored.lower, mirrored.upper] == pytest.approx([-interval.upper, -interval.lower])


@pytest.mark.parametrize("variance", [0.0, float("inf"), float("nan")])
def test_without_variance_there_is_no_interval(variance: float) -> None:
    assert normal(1.0, variance, 0.95) is None
    assert student(1.0, variance, 4, 0.95) is None


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_equals_scipy(counts: tuple[int, int], level: float) -> None:
    expected = stats.binomtest(*counts).proportion_ci(level, method="exact")

    interval = clopper_pearson(*counts, level)

    assert interval.lower == pytest.approx(expected.low, rel=1e-6, abs=1e-9)
    assert interval.upper == pytest.approx(expected.high, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_percentiles_are_the_quantiles_of_each_row(level: float) -> None:
    draws = np.random.default_rng(4).normal(size=(3, 97))

    intervals = percentiles(draws, level)

    expected = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1).T.tolist()
    assert [[one.lower, one.upper] for one in intervals if one is not None] == [
        pytest.approx(bounds) for bounds in expected
    ]


def test_percentiles_leave_undefined_draws_out_until_they_are_half() -> None:
    rows = [[np.nan, 1.0, 2.0, 3.0], [np.nan, np.nan, 1.0, 2.0], [np.nan] * 4, [4.0, 3.0, 2.0, 1.0]]

    intervals = percentiles(np.asarray(rows), 0.5)

    assert intervals == [Interval(1.5, 2.5, 0.5), None, None, Interval(1.75, 3.25, 0.5)]


@given(shape=st.sampled_from(sorted(SHAPES)), zero=st.floats(0.001, 0.999))
def test_a_root_is_scipys(shape: str, zero: float) -> None:
    def moved(x: float) -> float:
        return SHAPES[shape](x - zero)

    assert root(moved, 0.0, 1.0) == pytest.approx(brentq(moved, 0.0, 1.0, xtol=1e-12), abs=3e-12)


@pytest.mark.parametrize(("start", "end"), [(0.5, 2.0), (-1.0, 0.5), (2.0, 0.5)])
def test_a_root_at_an_end_is_found(start: float, end: float) -> None:
    assert root(lambda x: x - 0.5, start, end) == pytest.approx(0.5, abs=3e-12)
