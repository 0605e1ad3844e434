"""Means, spreads and distances of shares of a few counts, by NumPy and SciPy."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance

from monitor.core.measurement import DetailTable, Interval, Measurement, Reason
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.shift.distances import share_distances
from monitor.measures.shift.value_statistics import _moment_results, standardized_difference
from monitor.measures.statistics.intervals import SampleMoments
from monitor.states.grids import NumericGrid

GRID = NumericGrid(edges=(0.0, 1.0), centre=10.0, scale=4.0)
THEN = SampleMoments(400, 0.25, 1.5)
LEVEL = 0.9


def told(now: SampleMoments, then: SampleMoments = THEN) -> dict[str, Measurement]:
    found = list(_moment_results("feature:a", GRID, now, then, LEVEL, Reason.NOT_COUNTED))
    assert {one.subject for one in found} == {"feature:a"}
    return {one.measure: one.measurement for one in found}


def test_moments_are_told_in_the_unit_of_the_numbers_beside_the_reference_s_mean() -> None:
    found = told(SampleMoments(9, 0.5, 2.25))

    half = stats.norm.ppf(0.95) * math.sqrt(2.25 * 16 / 9)
    mean = found["mean"]
    assert (mean.value, mean.n) == (12.0, 9)
    assert mean.interval is not None
    assert (mean.interval.lower, mean.interval.upper) == pytest.approx((12 - half, 12 + half))
    assert mean.interval.level == LEVEL
    assert mean.detail == DetailTable(FIGURES, ((11.0, None, None, 400),))
    assert found["standard_deviation"] == Measurement(6.0, 9)
    assert found["standardized_mean_difference"] == standardized_difference(
        SampleMoments(9, 0.5, 2.25), THEN, LEVEL
    )


def test_two_numbers_have_an_interval_and_one_has_neither_that_nor_a_spread() -> None:
    two, one = told(SampleMoments(2, 0.5, 2.0)), told(SampleMoments(1, 0.5, math.nan))
    odd = told(SampleMoments(2, 0.5, math.nan))

    assert two["mean"].interval is not None
    assert (one["mean"].value, one["mean"].interval) == (12.0, None)
    assert one["standard_deviation"] == Measurement.without_value(Reason.UNDEFINED, n=1)
    assert odd["standard_deviation"] == Measurement.without_value(Reason.OUT_OF_RANGE, n=2)
    assert told(SampleMoments(2, 0.5, 2.0), SampleMoments(0, reason=Reason.NO_RECORDS))["mean"].detail is None


@pytest.mark.parametrize(
    ("reason", "said"), [(Reason.NO_RECORDS, Reason.NOT_COUNTED), (Reason.OUT_OF_RANGE, Reason.OUT_OF_RANGE)]
)
def test_without_moments_every_measure_says_why(reason: Reason, said: Reason) -> None:
    names = ("mean", "standard_deviation", "standardized_mean_difference")

    assert told(SampleMoments(3, reason=reason)) == {
        name: Measurement.without_value(said, n=3) for name in names
    }


def test_a_standardized_difference_has_welchs_interval_in_units_of_both_spreads() -> None:
    now = SampleMoments(30, 0.9, 0.5)
    found = standardized_difference(now, THEN, LEVEL)

    pooled, of_now, of_then = math.sqrt((0.5 + 1.5) / 2), 0.5 / 30, 1.5 / 400
    freedom = (of_now + of_then) ** 2 / (of_now**2 / 29 + of_then**2 / 399)
    half = stats.t.ppf(0.95, freedom) * math.sqrt(of_now + of_then)
    assert found.value == pytest.approx(0.65 / pooled)
    assert found.n == 30
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx(
        ((0.65 - half) / pooled, (0.65 + half) / pooled)
    )
    assert found.interval.level == LEVEL
    small = standardized_difference(SampleMoments(2, 0.9, 0.05), SampleMoments(2, 0.5, 0.03), LEVEL)
    assert isinstance(small.interval, Interval)
    assert (
        standardized_difference(SampleMoments(2, 0.9, 0.05), SampleMoments(1, 0.5, 0.0), LEVEL).interval
        is None
    )


def test_a_standardized_difference_without_both_sides_says_why() -> None:
    assert standardized_difference(
        SampleMoments(5, 1.0, 1.0), SampleMoments(0, reason=Reason.NO_RECORDS)
    ) == (Measurement.without_value(Reason.NO_REFERENCE, n=5))
    assert standardized_difference(SampleMoments(5, 1.0, math.nan), THEN) == (
        Measurement.without_value(Reason.OUT_OF_RANGE, n=5)
    )
    assert standardized_difference(SampleMoments(1, 1.0, math.nan), THEN) == Measurement.without_value(
        Reason.UNDEFINED, n=1
    )
    assert standardized_difference(SampleMoments(5, 1.0, 0.0), SampleMoments(9, 1.0, 0.0)) == (
        Measurement.without_value(Reason.UNDEFINED, n=5)
    )
    assert (
        standardized_difference(SampleMoments(5, 1.0, 0.1), SampleMoments(9, 0.9, 0.1)).interval is not None
    )


def test_distances_of_shares_are_scipys_for_one_pair_and_for_many() -> None:
    reference = np.array([[30, 20, 0, 50], [1, 5, 4, 0], [7, 0, 0, 0]])
    current = np.array([[10, 20, 10, 0], [2, 2, 6, 0], [3, 0, 0, 0]])
    found = share_distances(reference, current)

    for row, (before, after) in enumerate(zip(reference, current, strict=True)):
        q, p, held = before / before.sum(), after / after.sum(), (before + after) > 0
        several = held.sum() > 1
        chi = stats.chi2_contingency([before[held], after[held]], correction=False) if several else None
        square = 0.0 if chi is None else chi.statistic
        expected = [
            distance.jensenshannon(p, q, base=2),
            np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2),
            np.abs(p - q).max(),
            np.abs(p - q).sum() / 2,
            square,
            1.0 if chi is None else chi.pvalue,
            np.sqrt(square / (before.sum() + after.sum())),
        ]
        assert [float(one[row]) for one in found] == pytest.approx(expected, abs=1e-12)
        alone = [float(one) for one in share_distances(before, after)]
        assert alone == pytest.approx(expected, abs=1e-12)
