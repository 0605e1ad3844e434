"""Faults: against SciPy's beta-binomial distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.evidence.fault_evidence import FaultVerdicts, beta_binomial_tail, judge_faults


@given(st.integers(1, 400), st.floats(0, 1), st.floats(0.3, 40), st.floats(0.5, 5_000))
def test_the_tail_is_that_of_scipy(n: int, share: float, a: float, b: float) -> None:
    k = round(share * n)

    assert beta_binomial_tail(k, n, a, b) == pytest.approx(
        float(stats.betabinom.pmf(np.arange(k, n + 1), n, a, b).sum()), rel=1e-6
    )


def test_a_long_tail_is_bounded_by_a_geometric_series() -> None:
    found = beta_binomial_tail(6_000, 200_000, 30.0, 3_000.0)

    assert found == pytest.approx(float(stats.betabinom.sf(5_999, 200_000, 30.0, 3_000.0)), rel=0.05)


def judged(hits: list[int], n: int, today: int, least: float = 0.01) -> FaultVerdicts:
    days = len(hits)
    return judge_faults(
        np.arange(days, 0, -1),
        np.asarray(hits)[:, None],
        np.full((days, 1), n),
        np.ones((days, 1), dtype=bool),
        (np.asarray([today]), np.asarray([n])),
        np.asarray([least]),
    )


def test_what_never_was_is_rare() -> None:
    assert judged([0] * 20, 500, 25).rarity[0] < 1e-20


@pytest.mark.parametrize(
    ("hits", "n", "today"),
    [
        ([0] * 20, 500, 4),  # less than 1 %
        ([0] * 20, 20, 2),  # fewer than 3 records
        ([0] * 19 + [30], 500, 50),  # less than twice what was there
        ([], 500, 400),  # on the first day
    ],
)
def test_what_the_rules_leave_out_is_never_rare(hits: list[int], n: int, today: int) -> None:
    assert judged(hits, n, today).rarity[0] == 1.0


def test_shares_that_vary_by_days_make_a_large_one_less_rare() -> None:
    steady, varying = judged([50] * 40, 1_000, 130), judged([20, 80] * 20, 1_000, 170)

    assert steady.rarity[0] < 1e-4
    assert varying.rarity[0] > 1e-3


def test_a_loss_of_all_is_told_however_much_earlier_days_lacked_and_only_then() -> None:
    varying = [0, 150, 40, 375, 0, 290] * 4

    assert judged(varying, 500, 500, least=1.0).rarity[0] < 1e-60
    assert judged(varying, 500, 499, least=1.0).rarity[0] == 1.0  # not all
    assert judged([*varying, 500], 500, 500, least=1.0).rarity[0] == 1.0  # as on a day before
    assert judged(varying[:13], 500, 500, least=1.0).rarity[0] == 1.0  # after 13 days
    assert judged([15, 6, 19] * 8, 20, 20, least=1.0).rarity[0] > 0.3  # as chance may have it
