"""Grids: where the edges lie, and which cell a value falls into."""

import json
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.text import content_hash
from monitor.states import grids
from monitor.states.grids import CategoryGrid, NumericGrid

finite = st.floats(-1e300, 1e300)
samples = st.lists(finite | st.sampled_from([0.0, -0.0, 1.0]), min_size=1, max_size=60)


def cells(grid: NumericGrid, values: list[float]) -> list[int]:
    """Return the cells of values of which none is missing."""
    found = grid.value_cells(np.asarray(values), np.zeros(len(values), dtype=bool))
    return [int(cell) for cell in found]


def test_a_large_reference_gives_250_cells_of_equal_mass() -> None:
    values = np.random.default_rng(0).permutation(10_000).astype(np.float64)

    grid = grids.feature_grid(values)

    counts = np.bincount(grid.value_cells(values, np.zeros(10_000, dtype=bool)), minlength=grid.regular_size)
    assert grid.regular_size == 252
    assert set(counts[1:-1].tolist()) == {39, 40, 41}
    assert (counts[0], counts[-1]) == (0, 0)


def test_edges_are_the_sorted_values_at_the_ranks_rounded_up() -> None:
    ordered = np.arange(1.0, 12.0)

    edges = grids.quantile_edges(ordered, 10)

    expected = np.quantile(ordered, np.arange(1, 10) / 10, method="inverted_cdf")
    assert edges.tolist() == expected.tolist()


@given(samples)
def test_the_deciles_are_among_the_edges(values: list[float]) -> None:
    grid = grids.feature_grid(np.asarray(values))

    deciles = np.quantile(np.asarray(values), np.arange(1, 10) / 10, method="inverted_cdf")
    assert {grid.edges[at] for at in grid.deciles} == set(deciles.tolist())


@given(samples)
def test_cells_between_the_deciles_hold_the_values_between_them(values: list[float]) -> None:
    grid = grids.feature_grid(np.asarray(values))

    found = np.searchsorted(grid.deciles, cells(grid, values))

    deciles = [grid.edges[at] for at in grid.deciles]
    assert found.tolist() == [sum(decile <= value for decile in deciles) for value in values]


@given(samples)
def test_the_order_of_the_reference_does_not_change_the_grid(values: list[float]) -> None:
    one, other = (grids.feature_grid(np.asarray(list(order))) for order in (values, reversed(values)))

    assert content_hash(grids.to_json(one)) == content_hash(grids.to_json(other))


@given(samples)
def test_zeros_of_both_signs_are_one_edge(values: list[float]) -> None:
    positive = np.asarray(values) + 0.0

    for grid_of in (grids.feature_grid, lambda v: grids.score_grid(v, -np.inf, np.inf)):
        assert grids.to_json(grid_of(np.asarray(values))) == grids.to_json(grid_of(positive))


def test_a_constant_reference_has_a_cell_of_its_own() -> None:
    grid = grids.feature_grid(np.full(100, 3.0))

    assert grid.edges == (3.0, np.nextafter(3.0, 4.0))
    assert grid.deciles == (0,)
    assert cells(grid, [2.9, 3.0, 3.1]) == [0, 1, 2]


def test_the_largest_double_has_no_cell_beyond() -> None:
    largest = np.finfo(np.float64).max

    grid = grids.feature_grid(np.asarray([-largest, 0.0, largest]))

    assert grid.edges == (-largest, 0.0, largest)


def test_the_smallest_doubles_have_the_smallest_scale() -> None:
    grid = grids.feature_grid(np.asarray([0.0, 5e-324]))

    assert grid.edges == (0.0, 5e-324, 1e-323)
    assert grid.scale == 2.0**-250


def test_an_empty_reference_has_one_cell() -> None:
    grid = grids.feature_grid(np.empty(0))

    assert (grid.regular_size, grid.size) == (1, 4)
    assert cells(grid, [-1e308, 0.0, 1e308]) == [0, 0, 0]
    assert grid.deciles == ()


def test_few_distinct_values_are_counted_apart() -> None:
    grid = grids.feature_grid(np.asarray([1.0, 2.0, 2.0, 5.0]))

    assert cells(grid, [0.0, 1.0, 2.0, 5.0]) == [0, 1, 2, 3]


def test_missing_and_invalid_values_have_cells_of_their_own() -> None:
    grid = NumericGrid(edges=(0.5,), lower=0.0, upper=1.0)
    values = np.asarray([0.2, 0.5, np.nan, np.inf, -np.inf, 1.7, -0.1, 0.2])
    missing = np.asarray([False] * 7 + [True])

    assert grid.value_cells(values, missing).tolist() == [0, 1, 4, 4, 4, 4, 4, 3]


def test_scores_of_a_large_reference_have_at_most_4096_cells() -> None:
    values = np.random.default_rng(0).beta(2, 5, 20_000)

    grid = grids.score_grid(values, 0.0, 1.0)

    assert 4_000 < grid.regular_size <= 4_096
    assert len(grid.deciles) == 9


def test_few_distinct_scores_are_counted_exactly() -> None:
    values = np.repeat([0.1, 0.30000000000000004, 0.3, 0.9], 5)

    grid = grids.score_grid(values, 0.0, 1.0)

    assert set(values.tolist()) <= set(grid.edges)
    assert len(set(cells(grid, sorted(set(values.tolist()))))) == 4


def test_scores_without_a_reference_lie_on_a_uniform_grid() -> None:
    grid = grids.score_grid(None, 0.0, 1.0)

    assert grid.edges == tuple(np.arange(1, 2_048) / 2_048)
    assert grid.deciles == ()


def test_the_ends_of_a_range_are_valid() -> None:
    grid = grids.score_grid(None, 0.0, 1.0)

    assert (grid.lower, grid.upper) == (0.0, 1.0)
    assert cells(grid, [-0.1, 0.0, 1.0, 1.1]) == [
        grid.regular_size + 2,
        0,
        grid.regular_size - 1,
        grid.regular_size + 2,
    ]


@pytest.mark.parametrize(("lower", "upper"), [(0.0, np.inf), (-np.inf, 9.0), (0.0, 9.0)])
def test_a_range_with_one_bound_spans_the_reference_at_the_other_end(lower: float, upper: float) -> None:
    values = np.asarray([1.0, 4.0, 5.0])

    grid = grids.score_grid(values, lower, upper)

    ends = max(lower, 1.0) if np.isinf(lower) else lower, min(upper, 5.0) if np.isinf(upper) else upper
    uniform = np.linspace(*ends, grids.SCORE_UNIFORM_CELLS + 1)[1:-1]
    assert grid.edges == tuple(np.union1d(uniform, values))
    assert (grid.lower, grid.upper) == (lower, upper)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
def test_moments_are_of_the_middle_value_in_powers_of_two_of_the_spread(values: list[int]) -> None:
    grid = grids.feature_grid(np.asarray(values, dtype=np.float64))

    spread = statistics.pstdev(values) or abs(grid.centre) or 1.0
    assert grid.centre == sorted(values)[len(values) // 2]
    assert np.log2(grid.scale) == int(np.log2(grid.scale))
    assert grid.scale <= spread * (1 + 1e-9)
    assert spread < 2 * grid.scale * (1 + 1e-9)


def test_a_reference_as_wide_as_the_doubles_has_no_moments() -> None:
    assert grids.feature_grid(np.asarray([-1.7e308, 1.7e308, 1.7e308])).scale == 0.0


def test_levels_that_are_not_named_are_known_by_sixteen_digits() -> None:
    assert {len(digest) for digest in grids.category_grid(["rare", "é"], [1, 2]).rare} == {16}


def test_levels_and_counts_belong_together() -> None:
    with pytest.raises(ValueError, match="zip"):
        grids.category_grid(["a", "b"], [10])


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.0, np.inf), (-1.7e308, 1.7e308), (2.0, 2.0)])
def test_scores_without_a_finite_range_have_one_cell(bounds: tuple[float, float]) -> None:
    assert grids.score_grid(None, *bounds).edges == ()


def test_an_unbounded_range_spans_the_reference() -> None:
    grid = grids.score_grid(np.asarray([-4.0, 4.0]), -np.inf, np.inf)

    assert (grid.edges[0], grid.edges[-1]) == (-4.0, 4.0)
    assert grid.lower == -np.inf


def test_a_level_needs_ten_records_to_be_named() -> None:
    grid = grids.category_grid(["a", "d", "c", "b"], [9, 10, 30, 10])

    assert grid.levels == ("c", "b", "d")
    assert [grid.find_level_cell(level) for level in ("c", "b", "d", "a", "new", None)] == [0, 1, 2, 3, 4, 5]
    assert "a" not in json.dumps(grids.to_json(grid)["levels"])


def test_at_most_254_levels_are_named() -> None:
    grid = grids.category_grid([f"{at:03}" for at in range(300)], [1_000 - at for at in range(300)])

    assert len(grid.levels) == 254
    assert grid.find_level_cell("253") == 253
    assert grid.find_level_cell("254") == 254 == grid.regular_size - 1


@pytest.mark.parametrize(
    "grid",
    [
        NumericGrid(edges=(-1.0, 0.5, 1e300), deciles=(0, 2)),
        NumericGrid(edges=(), lower=0.0, upper=1.0),
        NumericGrid(edges=(1.0,), lower=-np.inf, upper=2.0, centre=3.0, scale=0.5),
        CategoryGrid(levels=("é", "b"), rare=frozenset({"00ff"})),
    ],
)
def test_a_grid_comes_back_from_its_plain_form(grid: grids.Grid) -> None:
    plain = grids.to_json(grid)

    again = grids.from_json(json.loads(json.dumps(plain)))

    assert again == grid
    assert content_hash(grids.to_json(again)) == content_hash(plain)


def test_whole_numbers_that_lost_their_fraction_hash_alike() -> None:
    grid = NumericGrid(edges=(1.0, 2.0))

    again = grids.from_json(grids.to_json(grid) | {"edges": [1, 2]})

    assert content_hash(grids.to_json(again)) == content_hash(grids.to_json(grid))


def test_another_kind_of_grid_is_refused() -> None:
    with pytest.raises(ValueError, match="a grid is numeric or category: got 'round'"):
        grids.from_json({"kind": "round"})


def test_logarithmic_cells_are_one_percent_wide() -> None:
    edges = np.asarray(grids.log_edges(20.0, 1_000.0))

    assert np.allclose(edges[1:] / edges[:-1], 1.01)
    assert edges[0] == 20.0
    assert edges[-2] < 1_000.0 <= edges[-1]
