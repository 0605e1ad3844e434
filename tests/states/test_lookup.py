"""The lookup table, against numpy.searchsorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Floats
from monitor.states.grids import CellLookup

finite = st.floats(allow_nan=False, allow_infinity=False)
close = st.integers(-50, 50).map(lambda steps: 1.0 + steps * 2.0**-52)
tiny = st.integers(-9, 9).map(lambda steps: steps * 5e-324)
even = st.integers(-400, 400).map(lambda steps: steps / 100)
huge = st.sampled_from([-1.7976931348623157e308, 1.7976931348623157e308, -8.9e307, 8.9e307, 8.99e307])
numbers = st.one_of(finite, close, tiny, even, huge)
families = st.sampled_from([finite, close, tiny, even, huge, numbers])


def neighbours(edges: Floats) -> Floats:
    """Return the edges and the doubles beside them."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        around = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), edges - 1, edges + 1]
    beside: Floats = np.clip(np.concatenate(around), -largest, largest)
    return beside


@st.composite
def edges_and_values(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """Draw edges, and values on, beside and between them."""
    family = draw(families)
    edges = np.unique(np.asarray(draw(st.lists(family, max_size=40)), dtype=np.float64))
    more = np.asarray(draw(st.lists(family | numbers, max_size=40)), dtype=np.float64)
    return edges, np.concatenate([more, neighbours(edges)])


@given(edges_and_values())
def test_a_lookup_equals_a_binary_search(drawn: tuple[Floats, Floats]) -> None:
    edges, values = drawn

    cells = CellLookup(edges)(values)

    assert np.array_equal(cells, np.searchsorted(edges, values, side="right"))
    assert cells.dtype == np.int64


@pytest.mark.parametrize(
    "edges",
    [
        [],
        [3.0],
        [0.0, 5e-324],
        [-5e-324, 0.0, 2.2250738585072014e-308],
        [-1.7976931348623157e308, 1.7976931348623157e308],
        [0.0, 1.7976931348623157e308],
        [1.0, 1.0000000000000002, 1e16],
        [-1e300, 0.0, 1e-300, 1e300],
    ],
)
def test_edges_too_far_apart_or_too_close_are_searched(edges: list[float]) -> None:
    values = neighbours(np.asarray([*edges, 0.0, 1e9]))

    assert np.array_equal(CellLookup(np.asarray(edges))(values), np.searchsorted(edges, values, side="right"))


def test_many_values_are_looked_up_in_blocks() -> None:
    rng = np.random.default_rng(1)
    edges, values = np.unique(rng.normal(size=250)), rng.normal(size=50_000)

    assert np.array_equal(CellLookup(edges)(values), np.searchsorted(edges, values, side="right"))
