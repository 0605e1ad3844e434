import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from monitor.measures.statistics.two_samples import fisher_exact, mann_whitney_less

COUNTS = st.integers(0, 60)
SCORES = st.lists(st.integers(0, 30), min_size=10, max_size=60)


@given(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS))
def test_fishers_exact_test_is_that_of_scipy(counts: tuple[int, int, int, int]) -> None:
    table = np.array(counts).reshape(2, 2)

    assert fisher_exact(table) == pytest.approx(scipy.stats.fisher_exact(table).pvalue, rel=1e-9, abs=1e-300)


@given(SCORES, SCORES)
def test_mann_and_whitneys_test_is_that_of_scipy(first: list[int], second: list[int]) -> None:
    drawn, others = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    if len({*first, *second}) == 1:
        assert mann_whitney_less(drawn, others) == (0.5, 1.0)
        return

    area, likely = mann_whitney_less(drawn, others)

    oracle = scipy.stats.mannwhitneyu(drawn, others, alternative="less", method="asymptotic")
    assert area == pytest.approx(oracle.statistic / (len(first) * len(second)), rel=1e-12)
    assert likely == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-300)
