"""Which row wins, against Python's min."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Ints
from monitor.records.winning_rows import combine_codes, count_distinct, find_smallest_rows

small = st.integers(-1, 2)
rows = st.lists(st.tuples(st.integers(0, 3), small, small, small), max_size=20)


def columns(found: list[tuple[int, ...]], width: int) -> list[Ints]:
    """Return the columns of rows."""
    return [np.asarray([row[at] for row in found], dtype=np.int64) for at in range(width)]


@given(rows)
def test_the_smallest_keys_of_a_group_win(found: list[tuple[int, ...]]) -> None:
    group, first, second, third = columns(found, 4)

    winners, counts = find_smallest_rows(group, [first], lambda at: [second[at], third[at]])

    groups = sorted({row[0] for row in found})
    assert [found[at] for at in winners] == [min(row for row in found if row[0] == one) for one in groups]
    assert counts.tolist() == [sum(row[0] == one for row in found) for one in groups]


def test_ties_are_asked_for_only_where_there_are_some() -> None:
    asked: list[Ints] = []

    def ties(at: Ints) -> list[Ints]:
        asked.append(at)
        return [-at]

    group, key = np.asarray([0, 1, 1, 2, 2, 2]), np.asarray([5, 1, 2, 3, 3, 4])
    winners, _ = find_smallest_rows(group, [key], ties)

    assert [sorted(at.tolist()) for at in asked] == [[3, 4]]
    assert winners.tolist() == [0, 1, 4]


def test_nothing_has_no_winner() -> None:
    nothing = np.empty(0, dtype=np.int64)

    winners, counts = find_smallest_rows(nothing, [nothing], lambda at: [at])

    assert (len(winners), len(counts)) == (0, 0)


@given(rows)
def test_different_keys_of_a_group_are_counted(found: list[tuple[int, ...]]) -> None:
    group, *keys = columns(found, 4)

    assert count_distinct(group, keys, 5).tolist() == [
        len({row for row in found if row[0] == one}) for one in range(5)
    ]


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, 5, 2**40, 2**62])] * 3), max_size=12))
def test_tuples_of_codes_keep_their_order_however_large(codes: list[tuple[int, ...]]) -> None:
    combined = combine_codes(columns(codes, 3))

    order = sorted(set(codes))
    assert np.unique(combined, return_inverse=True)[1].tolist() == [order.index(code) for code in codes]
