"""Intervals in closed form, and the roots that others need, against SciPy."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.proportion import confint_proportions_2indep

from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.statistics.intervals import (
    clopper_pearson,
    find_root,
    mean_measurement,
    newcombe_difference,
    normal_interval,
    percentile_intervals,
    rate_measurement,
    score_bounds,
    student_interval,
    welch_interval,
    wilson_interval,
)
from monitor.states import sums
from monitor.states.views import ExactSums

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

    interval = wilson_interval(*counts, level)

    assert interval.lower == pytest.approx(expected.low, rel=1e-9, abs=1e-12)
    assert interval.upper == pytest.approx(expected.high, rel=1e-9, abs=1e-12)


@given(COUNTS)
def test_wilson_holds_the_rate(counts: tuple[int, int]) -> None:
    interval = wilson_interval(*counts)

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
    assert normal_interval(1.0, variance, 0.95) is None
    assert student_interval(1.0, variance, 4, 0.95) is None


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_equals_scipy(counts: tuple[int, int], level: float) -> None:
    expected = stats.binomtest(*counts).proportion_ci(level, method="exact")

    interval = clopper_pearson(*counts, level)

    assert interval.lower == pytest.approx(expected.low, rel=1e-6, abs=1e-9)
    assert interval.upper == pytest.approx(expected.high, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_percentiles_are_the_quantiles_of_each_row(level: float) -> None:
    draws = np.random.default_rng(4).normal(size=(3, 97))

    intervals = percentile_intervals(draws, level)

    expected = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1).T.tolist()
    assert [[one.lower, one.upper] for one in intervals if one is not None] == [
        pytest.approx(bounds) for bounds in expected
    ]


def test_percentiles_leave_undefined_draws_out_until_they_are_half() -> None:
    rows = [[np.nan, 1.0, 2.0, 3.0], [np.nan, np.nan, 1.0, 2.0], [np.nan] * 4, [4.0, 3.0, 2.0, 1.0]]

    intervals = percentile_intervals(np.asarray(rows), 0.5)

    assert intervals == [Interval(1.5, 2.5, 0.5), None, None, Interval(1.75, 3.25, 0.5)]


@given(shape=st.sampled_from(sorted(SHAPES)), zero=st.floats(0.001, 0.999))
def test_a_root_is_scipys(shape: str, zero: float) -> None:
    def moved(x: float) -> float:
        return SHAPES[shape](x - zero)

    assert find_root(moved, 0.0, 1.0) == pytest.approx(brentq(moved, 0.0, 1.0, xtol=1e-12), abs=3e-12)


@pytest.mark.parametrize(("start", "end"), [(0.5, 2.0), (-1.0, 0.5), (2.0, 0.5)])
def test_a_root_at_an_end_is_found(start: float, end: float) -> None:
    assert find_root(lambda x: x - 0.5, start, end) == pytest.approx(0.5, abs=3e-12)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_an_interval_says_at_which_level_it_is(level: float) -> None:
    intervals = [
        wilson_interval(3, 9, level),
        clopper_pearson(3, 9, level),
        newcombe_difference((3, 9), (5, 8), level)[1],
        normal_interval(1.0, 2.0, level),
        student_interval(1.0, 2.0, 4.0, level),
        welch_interval((1.0, 2.0, 5), (1.5, 1.0, 7), level),
        rate_measurement(3, 9, level, Reason.NO_LABELS).interval,
        *percentile_intervals(np.arange(40.0).reshape(2, 20), level),
    ]

    assert [None if found is None else found.level for found in intervals] == [level] * len(intervals)


@pytest.mark.parametrize("level", [0.8, 0.99])
@pytest.mark.parametrize(("first", "second"), [((56, 70), (48, 80)), ((9, 10), (3, 10)), ((10, 10), (0, 20))])
def test_newcombe_equals_statsmodels(first: tuple[int, int], second: tuple[int, int], level: float) -> None:
    expected = confint_proportions_2indep(*first, *second, method="newcomb", alpha=1 - level)

    value, interval = newcombe_difference(first, second, level)

    assert value == first[0] / first[1] - second[0] / second[1]
    assert (interval.lower, interval.upper) == pytest.approx(expected, rel=1e-9)


def test_a_rate_has_its_share_its_records_and_the_interval_asked_for() -> None:
    assert rate_measurement(3, 12, 0.8, Reason.NO_LABELS) == Measurement(
        0.25, n=12, interval=wilson_interval(3, 12, 0.8)
    )
    assert rate_measurement(3, 12, 0.8, Reason.NO_LABELS, clopper_pearson).interval == clopper_pearson(
        3, 12, 0.8
    )
    assert rate_measurement(0, 0, 0.8, Reason.NO_RECORDS) == Measurement.without_value(Reason.NO_RECORDS, n=0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_bounds_of_a_share_stay_within_0_and_1(share: float) -> None:
    lower, upper = score_bounds(share, 1.0, 3.0)

    assert [lower, upper] == pytest.approx([0.1 * share, 0.9 + 0.1 * share], abs=1e-12)
    assert 0.0 <= lower < upper <= 1.0


def test_students_interval_is_scipys_for_any_freedom_above_0() -> None:
    lower, upper = stats.t.interval(0.9, 0.5, loc=1.0, scale=2.0)

    found = student_interval(1.0, 4.0, 0.5, 0.9)

    assert found is not None
    assert (found.lower, found.upper) == pytest.approx((lower, upper))
    assert student_interval(1.0, 4.0, 0.0, 0.9) is None
    assert welch_interval((1.0, 0.0, 5), (1.5, 0.0, 7)) is None


@pytest.mark.parametrize("values", [[1.0, 3.0], [0.0, 0.5, 8.0, 2.25], [40.0]])
def test_a_mean_and_its_interval_are_numpys_whatever_the_scale(values: list[float]) -> None:
    scale, n = 4.0, len(values)
    counts = np.zeros((4, 2), dtype=np.int64)
    for column, terms in enumerate((np.asarray(values) / scale, np.square(values) / scale**2)):
        hi, lo, _ = sums.split_halves(terms)
        counts[:, column] = n, 0, hi.sum(), lo.sum()

    found = mean_measurement(ExactSums(counts, ("x", "x²"), (scale, scale**2)), "x", "x²", 0.9, lowest=0.25)

    assert (found.value, found.n) == (float(np.mean(values)), n)
    if n == 1:
        assert found.interval is None
        return
    lower, upper = stats.norm.interval(0.9, np.mean(values), stats.sem(values))
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx((max(lower, 0.25), upper))


def test_a_mean_of_nothing_or_of_too_much_has_a_reason() -> None:
    nothing = np.zeros((4, 2), dtype=np.int64)
    too_much = nothing + np.asarray([[3], [1], [0], [0]])

    found = [
        mean_measurement(ExactSums(counts, ("x", "y"), (1.0, 1.0)), "x", "y", 0.9)
        for counts in (nothing, too_much)
    ]

    assert found == [
        Measurement.without_value(Reason.NO_LABELS, n=0),
        Measurement.without_value(Reason.OUT_OF_RANGE, n=3),
    ]
