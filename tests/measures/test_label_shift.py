"""Shift of labels, against SciPy on the labelled records alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.shift.stability_index import expected_labels, label_shift_results
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.views import CellHistogram

CLASSES = CategoryGrid(("0", "1"))
ASK = MeasureOptions(families=frozenset({MeasureFamily.SHIFT}))
NUMBERS = NumericGrid((0.0, 1.0, 2.0), (0, 1, 2))


def labels(*counts: int, unlabelled: int = 0, invalid: int = 0) -> CellHistogram:
    grid = CLASSES if len(counts) == 2 else NUMBERS
    other = [0] * (grid.regular_size - len(counts))
    return CellHistogram(grid, np.asarray([*counts, *other, 0, unlabelled, invalid]))


def shifted(now: CellHistogram, *references: tuple[float, CellHistogram]) -> dict[str, Measurement]:
    expected = expected_labels(references) if references else None
    return {one.measure: one.measurement for one in label_shift_results(expected, now, ASK)}


def index(reference: list[int], current: list[int]) -> float:
    q, p = (np.asarray(side) + 0.5 for side in (reference, current))
    q, p = q / q.sum(), p / p.sum()
    return float((special.rel_entr(p, q) + special.rel_entr(q, p)).sum())


@given(
    st.tuples(st.integers(60, 5_000), st.integers(60, 5_000)),
    st.tuples(st.integers(60, 5_000), st.integers(60, 5_000)),
    st.integers(0, 10_000),
)
def test_the_index_is_that_of_the_labelled_records(
    then: tuple[int, int], now: tuple[int, int], unlabelled: int
) -> None:
    found = shifted(labels(*now, unlabelled=unlabelled), (1.0, labels(*then, unlabelled=77)))

    assert found["stability_index"].value == pytest.approx(index(list(then), list(now)))
    assert found["stability_index"].n == sum(now)


def test_its_critical_value_is_that_of_two_cells() -> None:
    found = shifted(labels(300, 700), (1.0, labels(600, 1_400)))

    limit = (1 / 1_000 + 1 / 2_000) * stats.chi2.ppf(0.95, 1)
    assert found["stability_index_critical"].value == pytest.approx(limit)
    assert found["stability_index"].value == pytest.approx(0.0, abs=1e-6)


def test_labels_that_are_numbers_have_a_distance_too() -> None:
    found = shifted(labels(400, 100, 100, 400), (1.0, labels(250, 250, 250, 250)))

    assert found["ks_distance"].value == pytest.approx(0.15)


def test_of_several_references_each_has_its_share() -> None:
    rare, frequent = (0.25, labels(9_000, 1_000)), (0.75, labels(1_000, 9_000))

    mixed = shifted(labels(3_000, 7_000), rare, frequent)

    assert mixed["stability_index"].value == pytest.approx(0.0, abs=1e-6)
    assert (shifted(labels(3_000, 7_000), (1.0, rare[1]))["stability_index"].value or 0.0) > 1.0


@pytest.mark.parametrize(
    ("now", "references", "reason"),
    [
        (labels(0, 0, unlabelled=500), [(1.0, labels(300, 700))], Reason.NO_LABELS),
        (labels(300, 700), [(1.0, labels(0, 0, unlabelled=500))], Reason.NO_REFERENCE),
        (labels(300, 700), [(0.5, labels(0, 0)), (0.5, labels(300, 700))], Reason.NO_REFERENCE),
        (labels(300, 700), [], Reason.NO_REFERENCE),
    ],
)
def test_without_labels_on_either_side_there_is_a_reason(
    now: CellHistogram, references: list[tuple[float, CellHistogram]], reason: Reason
) -> None:
    found = shifted(now, *references)

    assert set(found) == {"stability_index", "stability_index_critical", "stability_index_bias"}
    assert {one.reason for one in found.values()} == {reason}
