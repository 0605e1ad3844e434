"""Intervals, tests of pairs and agreement, against statsmodels."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_states import by_name, of_matrix

from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.intervals import (
    clopper_pearson,
    newcombe_difference,
    welch_interval,
    wilson_interval,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.inter_rater import cohens_kappa
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from monitor.measures.comparison.challenger import sign_test
from monitor.states.pairs import PairedAgreement

RATE = st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(RATE, st.sampled_from([0.8, 0.95, 0.999]))
def test_intervals_of_rates(rate: tuple[int, int], level: float) -> None:
    for found, method in ((wilson_interval, "wilson"), (clopper_pearson, "beta")):
        interval = found(*rate, level)
        lower, upper = proportion_confint(*rate, alpha=1 - level, method=method)
        assert interval.lower == pytest.approx(lower, abs=1e-9)
        assert interval.upper == pytest.approx(upper, abs=1e-9)


@given(RATE, RATE)
def test_newcombes_interval_of_a_difference(first: tuple[int, int], second: tuple[int, int]) -> None:
    _, interval = newcombe_difference(first, second)

    lower, upper = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    assert interval.lower == pytest.approx(lower, abs=1e-9)
    assert interval.upper == pytest.approx(upper, abs=1e-9)


def test_welchs_interval_of_a_difference_of_means() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(1, 3, 60), rng.exponential(2, 35)

    sides = [(float(side.mean()), float(side.var(ddof=1)), len(side)) for side in (first, second)]
    interval = welch_interval(sides[0], sides[1])

    expected = CompareMeans(DescrStatsW(first), DescrStatsW(second)).tconfint_diff(usevar="unequal")
    assert interval is not None
    assert (interval.lower, interval.upper) == pytest.approx(expected)


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_exact_test_of_discordant_pairs(champion: int, challenger: int) -> None:
    table = [[10, champion], [challenger, 7]]

    found = sign_test(PairedAgreement(10, champion, challenger, 7))

    assert found.value == pytest.approx(float(mcnemar(table, exact=True).pvalue), abs=1e-12)


@given(st.lists(st.integers(0, 50), min_size=9, max_size=9).filter(lambda cells: sum(cells) > 1))
def test_agreement_beyond_chance(cells: list[int]) -> None:
    matrix = np.asarray(cells).reshape(3, 3)
    counting, counters = of_matrix(("a", "b", "c"), matrix.tolist())

    found = by_name(measure_performance(counting, counters, MeasureOptions(resamples=5)))["cohen_kappa_score"]

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = float(cohens_kappa(matrix, return_results=False))
    if np.isfinite(expected):
        assert found.value == pytest.approx(expected, abs=1e-9)
    else:
        assert found.value is None
