"""What is followed of numbers' cells: against NumPy's QR, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from monitor.core.array_types import Ints
from monitor.evidence.usual_cells import COARSE, UsualCells

USUAL = np.asarray([3, 40, 160, 300, 290, 150, 50, 7])


def cells_of(values: np.ndarray, edges: np.ndarray) -> Ints:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


def test_powers_are_those_of_a_qr_decomposition() -> None:
    cells = UsualCells(USUAL)
    share = cells.shares
    rank = np.clip(np.cumsum(share) - share / 2, 0.02, 0.98)
    u = stats.norm.ppf(rank)
    q, r = np.linalg.qr(np.sqrt(share)[:, None] * np.vander(u, 4, increasing=True))
    expected = (q * np.sign(np.diag(r))).T[1:] / np.sqrt(share)

    assert np.allclose(cells.bases, expected)


def test_numbers_of_few_values_have_fewer_powers() -> None:
    powers = [len(UsualCells(np.asarray(counts)).bases) for counts in ([5, 5], [0, 100, 0], [1, 2, 3, 4])]

    assert powers == [1, 2, 3]


def test_a_usual_day_is_zero_and_has_no_shape() -> None:
    cells = UsualCells(USUAL)

    powers, shape = cells.day_statistics(cells.shares)

    assert powers == pytest.approx([0, 0, 0])
    assert shape == pytest.approx(0, abs=1e-5)


def test_level_spread_and_skew_vary_by_one_by_the_number_of_records() -> None:
    rng = np.random.default_rng(4)
    edges = stats.norm.ppf(np.arange(1, 100) / 100)
    cells = UsualCells(np.full(100, 1_000_000))
    days = [cells.day_statistics(cells_of(rng.normal(size=400), edges)) for _ in range(2_000)]

    powers = np.stack([power for power, _ in days])
    shapes = np.asarray([shape for _, shape in days]) ** 3

    assert powers.mean(axis=0) == pytest.approx([0, 0, 0], abs=0.005)
    assert 400 * powers.var(axis=0) == pytest.approx([1, 1, 1], abs=0.1)
    assert 400 * shapes.mean() == pytest.approx(COARSE - 4, rel=0.05)  # χ² of 19 degrees less 3


def test_a_shift_of_a_normal_number_is_its_level_in_standard_deviations() -> None:
    rng = np.random.default_rng(5)
    edges = stats.norm.ppf(np.arange(1, 250) / 250)
    cells = UsualCells(cells_of(rng.normal(size=1_000_000), edges))

    (level, _, _), _ = cells.day_statistics(cells_of(rng.normal(0.2, 1, 1_000_000), edges))

    assert level == pytest.approx(0.2, abs=0.01)


def test_a_constant_number_that_takes_another_value_has_another_level() -> None:
    cells = UsualCells(np.asarray([0, 0, 1000, 0]))

    (level, *_), _ = cells.day_statistics(np.asarray([0, 0, 970, 30]))

    assert level > 0.3


def test_numbers_beyond_the_cells_move_the_level_by_their_mean_and_have_no_spread_or_shape() -> None:
    cells = UsualCells(np.asarray([10, 490, 490, 10]), middle=0.0, deviation=1.0)
    beyond = np.asarray([0, 0, 50, 950])

    (far, *spread), shape = cells.day_statistics(beyond, mean=5.0)
    (near, *_), _ = cells.day_statistics(beyond, mean=2.5)

    assert (far, near) == (5.0, 2.5)
    assert np.isnan([*spread, shape]).all()


def test_one_absurd_number_hardly_moves_the_level() -> None:
    cells = UsualCells(np.asarray([10, 490, 490, 10]), middle=0.0, deviation=1.0)
    day = np.asarray([10, 489, 490, 11])

    (plain, *_), _ = cells.day_statistics(day)
    (moved, *_), _ = cells.day_statistics(day, mean=1e9)

    assert abs(moved - plain) < 0.1


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("shift", [0, -12, 12])
def test_a_spread_in_the_numbers_own_unit_is_about_their_standard_deviation(
    factor: float, shift: float
) -> None:
    rng = np.random.default_rng(8)
    usual = rng.normal(50, 10, 20_000)
    edges = np.quantile(usual, np.arange(1, 250) / 250)
    cells = UsualCells(cells_of(usual, edges), usual.mean(), usual.std(), tuple(edges.tolist()))
    day = 50 + shift + factor * (rng.choice(usual, 4_000) - 50)

    powers, _ = cells.day_statistics(cells_of(day, edges))

    least = 0.15 if shift == 0 else 0.25  # a third of the numbers lie in the outermost 2 %
    assert cells.estimate_unit_deviation(float(powers[1]), float(powers[0])) == pytest.approx(
        day.std(), rel=least
    )


def test_without_edges_no_unit_is_known() -> None:
    cells = UsualCells(USUAL)

    assert cells.estimate_unit_deviation(1.0) is None


@pytest.mark.parametrize("at", [0.0, 100.0])
@pytest.mark.parametrize(
    ("far", "count"),
    [
        ([], 0),
        ([10.5, 59.0], 0),  # extreme: less than fifty beyond ten
        ([62.0] * 70, 0),  # not surely: the others may lie anywhere in their cells
        ([63.0] * 70, 70),
        ([1_000.0] * 75, 75),
        ([1_000.0] * 76, 0),  # more than a fifth: the level tells
        ([211.0], 1),
        ([-250.0, -250.0], 2),
        ([1_000.0, 10.1], 2),  # on average
        ([-999.0, 1_018.9], 0),  # which is so for both sides together
        ([1e300], 1),
    ],
)
def test_numbers_are_far_beyond_if_they_surely_lie_five_times_as_far_off_as_the_edges_are_apart(
    far: list[float], count: int, at: float
) -> None:
    edges = at + np.arange(11.0)
    numbers = at + np.asarray([*np.tile(np.arange(10) + 0.5, 30), *far])
    cells = UsualCells(np.full(12, 25), 0.0, 1.0, tuple(edges), scale=2.0, centre=at + 5.0)

    found = cells.count_beyond_edges(cells_of(numbers, edges), float((numbers.mean() - at - 5.0) / 2.0))

    assert found == count


def test_numbers_that_no_sum_holds_are_far_beyond_and_without_edges_none_is() -> None:
    counts = np.asarray([2, 30, 30, 1])  # of which 5 % lie beyond

    assert UsualCells(counts, edges=(0.0, 1.0, 2.0)).count_beyond_edges(counts, None) == 3
    assert UsualCells(counts).count_beyond_edges(counts, None) == 0
    assert UsualCells(counts, edges=(0.0, 1.0, 2.0)).count_beyond_edges(np.asarray([0, 30, 30, 0]), None) == 0
