"""Counters: blocks, forms, refusals. Their laws are in laws.py."""

from fractions import Fraction

import numpy as np
import pytest

from monitor.core.errors import GridMismatch
from monitor.states import grids, sums
from monitor.states.counters import CounterBlock, CounterLayout, Counters, apply_moves
from monitor.states.views import CellHistogram, ExactSums

LAYOUT = CounterLayout(
    (
        CounterBlock("tally", (3,), "t"),
        CounterBlock("sums", (4, 2), "s", sums=True),
        CounterBlock("table", (2, 2), "u"),
    )
)


WIDE = CounterLayout(
    (*LAYOUT.blocks, CounterBlock("histogram", (5_000,), "h"))
)  # which its counters hardly fill


def counters(**blocks: list[int]) -> Counters:
    """Return counters of some blocks' flat contents."""
    dense = np.zeros(LAYOUT.size, dtype=np.int64)
    for name, content in blocks.items():
        dense[LAYOUT.block_slice(name)] = content
    return Counters.from_dense(LAYOUT, dense)


def test_a_block_comes_back_in_its_shape() -> None:
    state = counters(tally=[1, 0, 5], table=[0, 7, 0, 2])

    assert state.dense_block("tally").tolist() == [1, 0, 5]
    assert state.dense_block("table").tolist() == [[0, 7], [0, 2]]
    assert state.dense_block("sums").tolist() == [[0, 0]] * 4


def test_only_counts_that_are_not_zero_are_kept() -> None:
    assert counters(tally=[1, 0, 5]).index.tolist() == [0, 2]


def test_carries_of_sums_are_moved_to_the_high_half() -> None:
    state = counters(sums=[1, 1, 0, 0, 2, -1, sums.HALF + 3, -4])

    assert state.dense_block("sums")[2:].tolist() == [[3, -2], [3, sums.HALF - 4]]


def drawn(rng: np.random.Generator, layout: CounterLayout, most: int) -> Counters:
    """Counters with some at each of few positions, low halves near the carry among them."""
    dense = np.zeros(layout.size, dtype=np.int64)
    at = rng.integers(0, min(layout.size, 40), 12)
    dense[at] = rng.integers(0, most, 12)
    dense[layout.high_positions] = rng.integers(-2, 3, len(layout.high_positions))
    dense[layout.low_positions] = rng.integers(
        sums.HALF - 3, sums.HALF, len(layout.low_positions)
    ) * rng.integers(0, 2)
    return Counters.from_dense(layout, dense)


@pytest.mark.parametrize("layout", [LAYOUT, WIDE], ids=["filled", "hardly filled"])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_and_added_is_so_exactly_and_no_count_falls_below_0(
    seed: int, layout: CounterLayout
) -> None:
    rng = np.random.default_rng(seed)

    def some(most: int) -> list[Counters]:
        return [drawn(rng, layout, most) for _ in range(rng.integers(0, 4))]

    moves = [(drawn(rng, layout, 9), some(3), some(6)) for _ in range(200)]

    found = apply_moves(layout, moves)

    counts = np.setdiff1d(np.arange(layout.size), [*layout.high_positions, *layout.low_positions])
    for (stood, taken, added), now in zip(moves, found, strict=True):
        left = stood.dense_counts()
        for one in added:
            left += one.dense_counts()
        for one in taken:
            left -= one.dense_counts()
        assert now == (None if (left[counts] < 0).any() else Counters.from_dense(layout, left))
    assert 20 < found.count(None) < 180


def test_halves_of_sums_are_the_last_two_rows_of_their_block() -> None:
    assert LAYOUT.block_slice("sums") == slice(3, 11)
    assert (LAYOUT.high_positions.tolist(), LAYOUT.low_positions.tolist()) == ([7, 8], [9, 10])


def test_opposite_sums_cancel_to_the_one_form_of_nothing() -> None:
    one, other = counters(sums=[0] * 4 + [5, 0, 7, 0]), counters(sums=[0] * 4 + [-6, 0, sums.HALF - 7, 0])

    assert Counters.merge_all(LAYOUT, [one, other]) == Counters.make_empty(LAYOUT)


def test_counters_of_different_layouts_do_not_merge() -> None:
    other = CounterLayout((*LAYOUT.blocks[:2], CounterBlock("table", (2, 2), "another grid")))

    with pytest.raises(GridMismatch, match="counters of different layouts do not merge"):
        Counters.merge_all(LAYOUT, [Counters.make_empty(LAYOUT), Counters.make_empty(other)])


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(GridMismatch, match=r"a vector of 15 counters is needed: got \(3,\)"):
        Counters.from_dense(LAYOUT, np.zeros(3, dtype=np.int64))


def test_counters_equal_nothing_but_counters() -> None:
    assert counters(tally=[1, 2, 3]) != "counters"
    assert counters(tally=[1, 2, 3]) != counters(tally=[1, 2, 4])


def test_equal_layouts_made_apart_merge() -> None:
    again = CounterLayout(tuple(LAYOUT.blocks))

    merged = Counters.merge_all(again, [counters(tally=[1, 2, 3])])

    assert merged.dense_block("tally").tolist() == [1, 2, 3]
    assert again.hash == LAYOUT.hash


def test_a_layout_without_sums_has_no_halves() -> None:
    assert CounterLayout((CounterBlock("tally", (3,), "t"),)).high_positions.tolist() == []


def test_a_histogram_names_its_extra_cells() -> None:
    seen = CellHistogram(grids.CategoryGrid(("a", "b")), np.asarray([5, 4, 3, 2, 1, 0]))

    assert seen.regular_counts.tolist() == [5, 4, 3]
    assert (seen.unseen, seen.missing, seen.invalid, seen.n) == (2, 1, 0, 15)


def test_a_mean_leaves_out_what_did_not_fit() -> None:
    view = ExactSums(np.asarray([[3], [1], [5], [sums.HALF // 2]]), ("error",), (4.0,))

    assert (view.count_of("error"), view.count_out_of_range("error")) == (3, 1)
    assert view.exact_total("error") == Fraction(22)
    assert view.exact_mean("error") == Fraction(11)
