"""Exact sums, against Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Floats
from monitor.states import sums

UNIT = Fraction(1, 1 << 40)
scales = st.integers(-60, 60).map(lambda power: 2.0**power)
terms = st.floats(-(2.0**39), 2.0**39) | st.sampled_from(
    [0.0, -0.0, 0.5, -0.5, -0.3, 1.5 * 2.0**-40, -1.5 * 2.0**-40, -(2.0**-41), 2.0**-41, 5e-324, -5e-324]
)


def rounded(term: float, scale: float) -> Fraction:
    """Return the nearest multiple of the unit, ties to even."""
    return round(Fraction(term) / Fraction(scale) / UNIT) * UNIT * Fraction(scale)


def total(values: Floats, scale: float) -> Fraction:
    """Return the sum as the states form it."""
    hi, lo, _ = sums.split_halves(values / scale)
    high, low = sums.normalise_halves(hi.sum(keepdims=True), lo.sum(keepdims=True))
    return sums.exact_fraction(int(high[0]), int(low[0]), scale)


@given(st.lists(terms, min_size=1, max_size=30), scales)
def test_a_sum_is_the_sum_of_the_rounded_terms(values: list[float], scale: float) -> None:
    scaled = np.asarray(values) * scale

    assert total(scaled, scale) == sum(rounded(value, scale) for value in scaled.tolist())


@given(st.lists(terms, max_size=30))
def test_a_sum_and_its_opposite_cancel(values: list[float]) -> None:
    both = np.asarray([*values, *(-value for value in values), 0.0])

    assert total(both, 1.0) == 0


@given(st.lists(terms, min_size=1, max_size=30))
def test_the_low_half_is_never_negative_and_never_full(values: list[float]) -> None:
    _, lo, _ = sums.split_halves(np.asarray(values))

    assert np.all((lo >= 0) & (lo < sums.HALF))


@given(st.integers(-(2**60), 2**60), st.integers(-(2**60), 2**60))
def test_normalising_keeps_the_value_and_bounds_the_low_half(hi: int, lo: int) -> None:
    high, low = sums.normalise_halves(np.asarray([hi]), np.asarray([lo]))

    assert sums.exact_fraction(int(high[0]), int(low[0]), 1.0) == sums.exact_fraction(hi, lo, 1.0)
    assert 0 <= low[0] < sums.HALF


@pytest.mark.parametrize("term", [2.0**40, -(2.0**40), 1e300, np.inf, -np.inf, np.nan])
def test_terms_from_the_limit_on_do_not_fit(term: float) -> None:
    hi, lo, fits = sums.split_halves(np.asarray([term, 1.0]))

    assert fits.tolist() == [False, True]
    assert (hi[0], lo[0]) == (0, 0)


@pytest.mark.parametrize("term", [np.nextafter(2.0**40, 0), -np.nextafter(2.0**40, 0)])
def test_terms_below_the_limit_fit_and_are_exact(term: float) -> None:
    values = np.asarray([term])

    assert sums.split_halves(values)[2].all()
    assert total(values, 1.0) == Fraction(float(term))


def test_extreme_terms_warn_of_nothing() -> None:
    _, _, fits = sums.split_halves(np.asarray([1e308, 5e-324]))

    assert fits.tolist() == [False, True]


@given(st.lists(terms, min_size=1, max_size=30))
def test_a_sum_of_whole_units_has_the_same_halves(values: list[float]) -> None:
    whole = sums.whole_units(np.asarray(values), len(values))
    hi, lo, _ = sums.split_halves(np.asarray(values))

    if whole is None:
        assert max(map(abs, values)) * len(values) >= 2.0**21
    else:
        total = whole.sum(keepdims=True)
        found = sums.normalise_halves(np.zeros_like(total), total)
        assert found == sums.normalise_halves(hi.sum(keepdims=True), lo.sum(keepdims=True))


@pytest.mark.parametrize(
    ("values", "most"),
    [([2.0**22], 1), ([1.0], 2**22), ([np.nan, 0.0], 1), ([-np.inf], 1), ([1e308], 1), ([np.inf], 0)],
)
def test_terms_that_might_overflow_are_no_whole_units(values: list[float], most: int) -> None:
    assert sums.whole_units(np.asarray(values), most) is None


def test_a_million_of_the_largest_terms_do_not_overflow() -> None:
    largest = np.nextafter(2.0**40, 0)

    assert total(np.full(1_000_000, -largest), 1.0) == -1_000_000 * Fraction(float(largest))


@given(st.floats(2.0**-250, 2.0**250))
def test_a_power_of_two_is_at_or_just_below_the_spread(spread: float) -> None:
    scale = sums.power_of_two(spread)

    assert scale <= spread < 2 * scale
    assert np.frexp(scale)[0] == 0.5


@pytest.mark.parametrize(
    ("spread", "power"), [(5e-324, -250), (1e308, 250), (8.0, 3), (np.nextafter(8, 0), 2)]
)
def test_a_scale_keeps_its_fourth_power_a_double(spread: float, power: int) -> None:
    scale = sums.power_of_two(spread)

    assert scale == 2.0**power
    assert 0 < scale**4 < np.inf


@pytest.mark.parametrize("spread", [0.0, -1.0, np.nan, np.inf])
def test_a_spread_that_is_no_spread_is_refused(spread: float) -> None:
    with pytest.raises(ValueError, match="a scale is a positive finite number"):
        sums.power_of_two(spread)


def test_terms_beside_one_that_does_not_fit_are_counted() -> None:
    hi, lo, fits = sums.split_halves(np.asarray([2.0, np.nan, 3.5, np.inf]))

    assert fits.tolist() == [True, False, True, False]
    assert (hi.tolist(), lo.tolist()) == ([2, 0, 3, 0], [0, 0, sums.HALF // 2, 0])


@pytest.mark.parametrize(("most", "fits"), [(1, True), (2, False)])
def test_whole_units_are_taken_as_long_as_their_sum_fits(most: int, fits: bool) -> None:  # noqa: FBT001
    found = sums.whole_units(np.asarray([2.0**21, -1.0]), most)

    assert (found is not None) == fits
    assert found is None or found.tolist() == [2**61, -(2**40)]
