"""Cells of errors and labels, and the sums that labels' cells hold."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from measure_states import number_counting, numbered

from monitor.records.labels.error_terms import ERROR_EDGES, LABEL_EDGES

VALUES = st.one_of(
    st.integers(-100, 100).map(lambda value: value / 8), st.sampled_from([2.0**33, -(2.0**41), 1e300])
)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_a_labels_cell_holds_the_sums_of_its_records(records: list[tuple[float, float]]) -> None:
    predictions, labels = np.asarray(records).T
    counting = number_counting()

    found = counting.label_errors(numbered(predictions.tolist(), labels.tolist(), counting))

    cells, size = np.searchsorted(LABEL_EDGES, labels, side="right"), len(LABEL_EDGES) + 1
    errors = np.abs(predictions - labels)
    sums = [
        np.bincount(cells, weights=np.where(np.abs(terms) < 2.0**40, terms, 0.0), minlength=size)
        for terms in (labels, errors)
    ]
    assert np.array_equal(found.n, np.bincount(cells, minlength=size))
    assert np.array_equal(found.sums, sums)
    assert found.records_out_of_range == (np.abs(labels) >= 2.0**40).sum() + (errors >= 2.0**40).sum()


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_an_error_lies_between_the_edges_of_its_cell(records: list[tuple[float, float]]) -> None:
    predictions, labels = np.asarray(records).T
    counting = number_counting(4.0)

    table = counting.error_table(numbered(predictions.tolist(), labels.tolist(), counting))

    bounds = np.concatenate([[-np.inf], table.edges, [np.inf]]) * table.scale
    expected = np.histogram(np.clip(predictions - labels, -1e15, 1e15), [-1e16, *bounds[1:-1], 1e16])[0]
    assert table.scale == 4
    assert np.array_equal(table.counts, expected)


def test_cells_are_symmetric_and_as_wide_as_they_say() -> None:
    for edges, ratio in ((ERROR_EDGES, 1.01), (LABEL_EDGES, 1.1)):
        half = len(edges) // 2
        assert np.array_equal(edges[:half], -edges[: half - 1 : -1])
        assert np.allclose(edges[half + 1 :] / edges[half:-1], ratio)
        assert (edges[half], edges[-1] >= 2.0**32) == (2.0**-20, True)
