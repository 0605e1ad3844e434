import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.charts.scales import MOST, Axis, linear_axis

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@example([5e-324], 2, 1)
@example([5e-324], 3, 1)
@given(st.lists(NUMBERS, max_size=5), st.integers(2, 12), st.sampled_from([0, 1]))
def test_an_axis_holds_all_values_and_its_ticks_ascend_within_it(
    values: list[float], most: int, zero: int
) -> None:
    axis = linear_axis(values, most=most, zero=zero == 1)
    at = [tick.at for tick in axis.ticks]

    assert at == sorted(set(at))
    assert 1 <= len(at) <= MOST
    assert all(axis.low <= tick <= axis.high for tick in at)
    assert all(math.isfinite(tick) for tick in at)
    near = [value for value in values if abs(value) <= 1e300]
    slack = (axis.high - axis.low) * 1e-9
    assert all(axis.low - slack <= value <= axis.high + slack for value in near)
    assert all(0.0 <= axis.axis_position(value) <= 1.0 for value in values)


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_larger_number_never_lies_before_a_smaller_one(one: float, other: float) -> None:
    axis = linear_axis([-1e6, 1e6])

    assert (axis.axis_position(one) <= axis.axis_position(other)) or one > other


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-300, 1e300, 1e308, -1e308])
def test_a_constant_lies_within_its_axis(value: float) -> None:
    axis = linear_axis([value, value])

    assert axis.low < axis.high
    assert 0.0 <= axis.axis_position(value) <= 1.0


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.0, 1.0], ["0", "0.25", "0.5", "0.75", "1"]),
        ([0.52, 0.77], ["0.5", "0.6", "0.7", "0.8"]),
        ([-0.02, 0.03], ["−0.02", "0", "0.02", "0.04"]),
        ([0.0, 6.2], ["0", "2", "4", "6", "8"]),
    ],
)
def test_ticks_are_round_and_bear_the_sign_of_subtraction(values: list[float], labels: list[str]) -> None:
    assert [tick.label for tick in linear_axis(values).ticks] == labels


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0)])
def test_an_axis_that_is_none_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="axis"):
        Axis(low, high)
