"""Shift against a season: what periods that differ add to critical values, by hand and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from monitor.core.measurement import BECAUSE, WHEN, DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.shift.seasonal_shift import (
    PeriodDistances,
    season_critical_addition,
    season_mean_difference,
    season_p_value,
    season_results,
    too_few_periods_result,
)
from monitor.measures.statistics.intervals import SampleMoments
from monitor.states.grids import CategoryGrid, NumericGrid

GRID = NumericGrid(edges=(0.0, 1.0, 2.0), centre=10.0, scale=4.0)


def moments(mean: float, variance: float, n: int, reason: Reason | None = None) -> SampleMoments:
    return SampleMoments(n=n, mean=mean, variance=variance, reason=reason)


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_periods_add_the_quantile_of_f_times_their_mean_excess(level: float) -> None:
    excess = [0.02, 0.05, 0.01, 0.04]

    expected = stats.f.ppf(level, 1, 3) * (1 - 1 / 16) * np.mean(excess)
    assert season_critical_addition(excess, level) == pytest.approx(expected)
    assert season_critical_addition([-0.02, 0.01, -0.01], level) == 0.0


def test_a_distance_from_periods_is_as_rare_as_theirs_say() -> None:
    squares = [0.01, 0.04, 0.02]

    scale = (1 - 1 / 9) * np.mean(squares)
    assert season_p_value(squares, 0.3) == pytest.approx(stats.f.sf(0.09 / scale, 1, 2))
    assert season_p_value([0.0, 0.0, 0.0], 0.3) == 0.0


def test_a_mean_is_expected_within_students_band_about_that_of_the_periods() -> None:
    periods = [moments(0.10, 0.9, 400), moments(0.30, 1.1, 500), moments(0.20, 1.0, 450)]
    now = moments(0.9, 1.2, 300)

    found = season_mean_difference(now, periods, GRID, 0.9, "later")

    mean, sampling = 0.2, (0.9 / 400 + 1.1 / 500 + 1.0 / 450) / 3
    between = max(float(np.var([0.1, 0.3, 0.2], ddof=1)) - sampling, 0.0)
    variance = between * (1 + 1 / 3) + 1.2 / 300 + sampling / 3
    half = 4.0 * stats.t.ppf(0.95, 2) * math.sqrt(variance)
    assert found.value == pytest.approx(4.0 * 0.7)
    assert found.n == 300
    assert found.interval is not None
    assert (found.interval.lower, found.interval.upper) == pytest.approx((2.8 - half, 2.8 + half))
    assert found.interval.level == 0.9
    assert found.detail is not None
    assert found.detail.columns == FIGURES
    centre = 10.0 + 4.0 * mean
    assert found.detail.rows[0] == pytest.approx((centre, centre - half, centre + half, 1350))


def test_periods_without_a_mean_or_a_variance_are_left_out_and_three_are_needed() -> None:
    good = [moments(0.1, 1.0, 100), moments(0.2, 1.0, 100), moments(0.3, 1.0, 100)]
    odd = [moments(9.0, math.nan, 1), moments(9.0, 1.0, 0, Reason.NO_RECORDS)]
    now = moments(0.2, 1.0, 50)

    assert season_mean_difference(now, [*good, *odd], GRID, 0.9, "later") == season_mean_difference(
        now, good, GRID, 0.9, "later"
    )
    assert season_mean_difference(now, good[1:], GRID, 0.9, "later") == too_few_periods_result(50, "later")
    assert season_mean_difference(now, good, CategoryGrid(("a",)), 0.9, "later") == too_few_periods_result(
        50, "later"
    )
    gone = moments(0.0, 0.0, 3, Reason.TOO_FEW)
    assert season_mean_difference(gone, good, GRID, 0.9, "later") == Measurement.without_value(
        Reason.TOO_FEW, n=3
    )
    single = moments(0.2, math.nan, 1)
    found = season_mean_difference(single, good, GRID, 0.9, "later").interval
    assert found is not None
    assert math.isfinite(found.upper)


def result(
    measure: str, value: float | None, reason: Reason | None = None, subject: str = "a"
) -> MeasureResult:
    return MeasureResult(measure, subject, Measurement(value, 70, reason))


def told(
    apart: PeriodDistances, *shifted: MeasureResult, lost: frozenset[str] = frozenset()
) -> list[Measurement]:
    return [one.measurement for one in season_results(shifted, apart, lost, 0.9, "in a month")]


def test_limits_and_p_values_are_those_of_chance_and_of_the_periods_together() -> None:
    apart = PeriodDistances({"a": [0.02, 0.03, 0.01]}, {"a": [0.01, 0.02, 0.03]})
    shifted = (
        result("stability_index", 0.4),
        result("stability_index_critical", 0.05),
        result("ks_distance", 0.3),
        result("ks_p_value", 0.001),
    )

    index, limit, distance, rare = told(apart, *shifted)

    assert (index.value, distance.value) == (0.4, 0.3)
    assert limit.value == pytest.approx(0.05 + season_critical_addition([0.02, 0.03, 0.01], 0.9))
    assert rare.value == pytest.approx(max(0.001, season_p_value([0.01, 0.02, 0.03], 0.3)))
    assert told(apart, shifted[2], result("ks_p_value", 0.9))[1].value == 0.9


def test_fewer_than_three_periods_and_numbers_beyond_the_range_are_not_judged() -> None:
    few, enough = (
        PeriodDistances({"a": [0.1, 0.2]}, {"a": [0.1, 0.2]}),
        PeriodDistances({"a": [0.1] * 3}, {"a": [0.1] * 3}),
    )
    because = DetailTable(WHEN, (("in a month",),))

    assert told(few, result("stability_index", 0.4)) == [
        Measurement(None, 70, Reason.TOO_SHORT, detail=because)
    ]
    assert told(few, result("ks_distance", None, Reason.NO_REFERENCE)) == [
        Measurement(None, 70, Reason.TOO_SHORT, detail=because)
    ]
    assert told(few, result("stability_index", None, Reason.NO_RECORDS))[0].reason is Reason.NO_RECORDS
    (lost,) = told(enough, result("stability_index", 0.4), lost=frozenset({"a"}))
    assert (lost.value, lost.reason, lost.n) == (None, Reason.OUT_OF_RANGE, 70)
    assert lost.detail is not None
    assert lost.detail.columns == BECAUSE
    assert told(enough, result("ks_distance", 0.4), lost=frozenset({"b"}))[0].value == 0.4


def test_a_new_period_is_called_moved_as_often_as_the_level_says() -> None:
    """Where periods differ along one direction by a normal deviate: squares of distances, no sampling."""
    rng = np.random.default_rng(2)
    k, level, trials = 4, 0.9, 4_000
    places = rng.normal(size=(trials, k + 1))
    periods, new = places[:, :k], places[:, k]
    others = (periods.sum(axis=1, keepdims=True) - periods) / (k - 1)
    moved = [
        (fresh - own.mean()) ** 2 > season_critical_addition(((own - of) ** 2).tolist(), level)
        for own, of, fresh in zip(periods, others, new, strict=True)
    ]

    assert np.mean(moved) == pytest.approx(1 - level, abs=0.015)
    assert Interval(0.0, 1.0, level).level == level
