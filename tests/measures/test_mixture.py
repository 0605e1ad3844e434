"""What several references together lead one to expect, against simulation."""

import numpy as np
import pytest

from monitor.core.array_types import Ints
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.shift.shift_cells import ReferenceMixture
from monitor.records.counting import Counting
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, NumericGrid

GRID = NumericGrid(tuple(float(edge) for edge in range(1, 10)), tuple(range(9)))
COUNTING = Counting(
    reading=ReadingOptions(task=ModelTask.BINARY, classes=("0", "1"), numeric=("x",)),
    features=(("x", GRID),),
    score=None,
    prediction=CategoryGrid(("0", "1")),
    label=None,
)
FIRST = np.full(10, 0.1)
SECOND = np.array([0.3, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05])


ASK = MeasureOptions(families=frozenset({MeasureFamily.SHIFT}))


def of_x(counts: Ints) -> Counters:
    """Records part of a feature's regular cells."""
    dense = np.zeros(COUNTING.records_layout.size, dtype=np.int64)
    dense[COUNTING.records_layout.block_slice("feature:x")] = np.append(counts, [0, 0, 0])
    dense[0] = counts.sum()
    return Counters.from_dense(COUNTING.records_layout, dense)


def x_of(reference: Counters | ReferenceMixture, counts: Ints, measure: str) -> float:
    results = measure_shifts(COUNTING, make_expected_cells(COUNTING, reference), of_x(counts), ASK)
    (value,) = (
        one.measurement.value for one in results if (one.measure, one.subject) == (measure, "feature:x")
    )
    assert value is not None
    return value


def test_one_reference_is_a_mixture_of_itself() -> None:
    rng = np.random.default_rng(1)
    reference, counts = of_x(rng.multinomial(3_000, FIRST)), rng.multinomial(900, SECOND)

    for measure in ("stability_index", "stability_index_critical", "ks_distance", "ks_p_value"):
        alone = x_of(reference, counts, measure)
        assert x_of(ReferenceMixture(((1.0, reference),)), counts, measure) == pytest.approx(alone, rel=1e-12)


def test_the_expected_counts_have_the_shares_of_the_mixture_and_the_worth_of_its_references() -> None:
    one, two = np.arange(10) * 10, np.arange(10)[::-1] * 4

    expected = ReferenceMixture(((0.25, of_x(one)), (0.75, of_x(two)))).dense_counts()[
        COUNTING.records_layout.block_slice("feature:x")
    ]

    m = 1 / (0.25**2 / one.sum() + 0.75**2 / two.sum())
    assert expected.sum() == pytest.approx(m)
    assert expected[:10] / m == pytest.approx(0.25 * one / one.sum() + 0.75 * two / two.sum())


def test_a_block_that_one_reference_lacks_is_not_compared() -> None:
    counts = np.full(10, 100)
    empty = Counters.make_empty(COUNTING.records_layout)

    results = measure_shifts(
        COUNTING,
        make_expected_cells(COUNTING, ReferenceMixture(((0.5, of_x(counts)), (0.5, empty)))),
        of_x(counts),
        MeasureOptions(families=frozenset({MeasureFamily.SHIFT})),
    )

    reasons = {one.measurement.reason for one in results if one.subject == "feature:x"}
    assert reasons == {"no_reference"}


def test_mixed_windows_pass_the_critical_value_as_often_as_they_should() -> None:
    rng = np.random.default_rng(3)
    share, n, repetitions = 0.3, 2_000, 1_000
    above = 0
    for _ in range(repetitions):
        one, two = rng.multinomial(4_000, FIRST), rng.multinomial(900, SECOND)
        counts = rng.multinomial(int(n * (1 - share)), FIRST) + rng.multinomial(int(n * share), SECOND)
        mixture = ReferenceMixture(((1 - share, of_x(one)), (share, of_x(two))))
        critical = x_of(mixture, counts, "stability_index_critical")
        above += x_of(mixture, counts, "stability_index") > critical

    assert 0.03 <= above / repetitions <= 0.06
