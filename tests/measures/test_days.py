"""Intervals by days: against SciPy's of day means, resampled days, and by simulation."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from measure_states import (
    binary_counting,
    by_name,
    class_counting,
    classified,
    number_counting,
    numbered,
    scored,
)
from scipy import stats
from scipy.special import expit

from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.day_intervals import FEWEST, jackknife_interval, jackknife_results, without_day
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.intervals import wilson_interval
from monitor.records.counting import Counting
from monitor.states.counters import Counters

VALUES = MeasureOptions(resamples=0)
MAE = BY_NAME["mean_absolute_error"]
ACCURACY = BY_NAME["accuracy"]


def measured(
    counting: Counting, days: Sequence[Counters]
) -> tuple[list[MeasureResult], dict[str, Measurement]]:
    """Everything about the sum of the days, and what has another interval by them."""
    whole = Counters.merge_all(counting.labels_layout, days)
    found = measure_performance(counting, whole, MeasureOptions())
    changed = jackknife_results(
        found, [measure_performance(counting, without_day(whole, day), VALUES) for day in days]
    )
    return found, by_name([MeasureResult(*key, one) for key, one in changed.items()])


def number_days(errors: Sequence[Sequence[float]]) -> tuple[Counting, list[Counters]]:
    counting = number_counting()
    days = [numbered([5.0 + error for error in day], [5.0] * len(day), counting) for day in errors]
    return counting, days


def interval_of(measurement: Measurement) -> Interval:
    assert measurement.interval is not None
    return measurement.interval


def test_a_day_less_is_the_sum_of_the_others() -> None:
    rng = np.random.default_rng(1)
    counting, days = number_days(rng.normal(size=(5, 40)).tolist())

    left = without_day(Counters.merge_all(counting.labels_layout, days), days[2])

    assert left == Counters.merge_all(counting.labels_layout, [*days[:2], *days[3:]])


def test_the_interval_of_a_mean_over_equal_days_is_that_of_the_day_means() -> None:
    errors = np.random.default_rng(2).normal(size=(25, 16)) + np.random.default_rng(3).normal(size=(25, 1))
    counting, days = number_days(errors.tolist())

    _, changed = measured(counting, days)

    means = np.abs(errors).mean(axis=1)
    expected = stats.ttest_1samp(means, 0.0).confidence_interval(0.95)
    found = interval_of(changed["mean_absolute_error"])
    assert (found.lower, found.upper) == pytest.approx(tuple(expected), rel=1e-9)


def test_the_interval_of_a_rate_is_a_score_interval_of_as_many_records_as_the_days_are_worth() -> None:
    """Days that are all right or all wrong are worth a record each, but for Student's quantile."""
    counting = class_counting(("0", "1"))
    right = [True] * 18 + [False] * 6
    days = [classified(["1"] * 50, ["1" if one else "0"] * 50, counting) for one in right]

    _, changed = measured(counting, days)

    p, worth, t = 0.75, 23, stats.t.ppf(0.975, 23)  # the variance of 24 days divides by 23
    found = interval_of(changed["accuracy"])
    for bound in (found.lower, found.upper):
        assert (p - bound) ** 2 == pytest.approx(t**2 * bound * (1 - bound) / worth)


def test_days_of_different_size_count_by_their_records() -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(5, 60, 30)
    errors = [rng.normal(rng.normal(), 1.0, size) for size in sizes]
    counting, days = number_days([day.tolist() for day in errors])

    _, changed = measured(counting, days)

    at = np.random.default_rng(5).integers(30, size=(4_000, 30))
    totals = np.asarray([np.abs(day).sum() for day in errors])
    resampled = totals[at].sum(axis=1) / sizes[at].sum(axis=1)
    found = interval_of(changed["mean_absolute_error"])
    half = stats.t.ppf(0.975, 29) * resampled.std(ddof=1)
    assert found.upper - found.lower == pytest.approx(2 * half, rel=0.1)


def test_equal_days_have_equal_intervals() -> None:
    first, second = (
        measured(*number_days(np.random.default_rng(6).normal(size=(22, 10)).tolist()))[1] for _ in range(2)
    )

    assert first == second


def test_a_total_is_taken_per_record() -> None:
    counting = class_counting(("0", "1"))
    rng = np.random.default_rng(7)
    drawn = rng.choice(["0", "1"], (21, 2, 40)).tolist()
    days = [classified(actual, predicted, counting) for actual, predicted in drawn]
    whole = Counters.merge_all(counting.labels_layout, days)
    options = replace(VALUES, profit={("1", "1"): 3.0, ("0", "1"): -1.0})
    found = measure_performance(counting, whole, replace(options, resamples=50))

    changed = jackknife_results(
        found, [measure_performance(counting, without_day(whole, day), options) for day in days]
    )

    total, mean = (interval_of(changed[name, ""]) for name in ("profit", "profit_per_record"))
    assert (total.lower, total.upper) == pytest.approx((840 * mean.lower, 840 * mean.upper))


def test_few_days_change_nothing() -> None:
    counting, days = number_days(np.random.default_rng(8).normal(size=(FEWEST - 1, 10)).tolist())

    _, changed = measured(counting, days)

    assert changed == {}


def test_a_class_that_few_days_have_keeps_its_interval() -> None:
    counting = class_counting(("ant", "bee", "cat"))
    rng = np.random.default_rng(9)
    common = [rng.choice(["ant", "bee"], 30).tolist() for _ in range(25)]
    days = [classified(day, ["ant"] * 30, counting) for day in common[:20]]
    days += [classified([*day, "cat"], ["ant"] * 31, counting) for day in common[20:]]

    _, changed = measured(counting, days)

    assert "recall class:cat" not in changed
    assert "base_rate class:ant" in changed


def test_days_that_do_not_differ_tell_nothing() -> None:
    counting, days = number_days([[1.0, -2.0, 0.5]] * 24)

    _, changed = measured(counting, days)

    assert "mean_absolute_error" not in changed


def test_no_value_without_one_of_the_days_gives_no_interval() -> None:
    whole = Measurement(0.5, 100, None, Interval(0.4, 0.6))
    others = [Measurement(0.5 + day / 1000, 95) for day in range(24)]

    assert jackknife_interval(ACCURACY, whole, others) is not None
    assert (
        jackknife_interval(ACCURACY, whole, [*others[1:], Measurement.without_value(Reason.ONE_CLASS, n=90)])
        is None
    )


def test_an_error_does_not_reach_below_0() -> None:
    whole = Measurement(0.1, 100, None, Interval(0.0, 0.2))
    others = [Measurement(0.05 if day % 2 else 0.15, 95) for day in range(24)]

    assert interval_of(replace(whole, interval=jackknife_interval(MAE, whole, others))).lower == 0


def test_a_ratio_at_its_border_keeps_its_interval() -> None:
    whole = Measurement(1.0, 100, None, Interval(0.9, 1.0))
    others = [Measurement(0.9 + day / 1000, 95) for day in range(24)]

    assert jackknife_interval(ACCURACY, whole, others) is None


def test_maxima_and_quantiles_of_cells_have_no_interval_by_days() -> None:
    rng = np.random.default_rng(10)
    binary = binary_counting()
    days = [scored(rng.random(20).tolist(), rng.integers(0, 2, 20).tolist(), binary) for _ in range(22)]
    numbers, errors = number_days(rng.normal(size=(22, 20)).tolist())

    changed = measured(binary, days)[1] | measured(numbers, errors)[1]

    without_one = {name for name, one in changed.items() if one.interval is None}
    assert without_one == {
        "ks_separation",
        "expected_calibration_error",
        "maximum_calibration_error",
        "squared_calibration_error",
        "median_absolute_error",
        "error_p05",
        "error_p25",
        "error_median",
        "error_p75",
        "error_p95",
    }


def simulated(
    effect: float, runs: int = 2000, days: int = 30, per_day: int = 100
) -> tuple[float, float, float]:
    """How often Wilson's interval and that by days hold the true rate; how wide the second is in the median.

    The days' rates differ by a normal term on the logit scale, of the given standard deviation.
    """
    rng = np.random.default_rng(11)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    true = float(weights @ expit(-1.5 + effect * nodes) / weights.sum())
    counts = rng.binomial(per_day, expit(-1.5 + effect * rng.normal(size=(runs, days))))
    total, n = counts.sum(axis=1), days * per_day
    held, width = np.zeros((runs, 2)), np.zeros((runs, 2))
    for run in range(runs):
        plain = wilson_interval(int(total[run]), n)
        left = [Measurement(one / (n - per_day), n - per_day) for one in (total[run] - counts[run]).tolist()]
        by_day = jackknife_interval(ACCURACY, Measurement(total[run] / n, n, None, plain), left)
        assert by_day is not None
        held[run] = [one.lower <= true <= one.upper for one in (plain, by_day)]
        width[run] = [one.upper - one.lower for one in (plain, by_day)]
    independent, dependent = held.mean(axis=0).tolist()
    return independent, dependent, float(np.median(width[:, 1] / width[:, 0]))


def test_where_days_differ_the_interval_by_days_holds_the_true_rate_as_often_as_it_says() -> None:
    independent, dependent, _ = simulated(effect=0.5)

    assert independent < 0.75
    assert 0.93 <= dependent <= 0.97


def test_where_days_do_not_differ_the_interval_by_days_is_hardly_wider() -> None:
    independent, dependent, width = simulated(effect=0.0)

    assert 0.93 <= independent <= 0.97
    assert 0.93 <= dependent <= 0.97
    assert width < 1.08


def test_few_positive_days_are_held_too() -> None:
    """Three records a day, a fifth positive: the score interval does not need a normal rate."""
    _, dependent, _ = simulated(effect=0.0, per_day=3)

    assert 0.93 <= dependent <= 0.97


def test_as_many_days_as_are_needed_are_enough_and_the_level_is_that_which_is_asked_for() -> None:
    counting, days = number_days(np.random.default_rng(12).normal(size=(FEWEST, 10)).tolist())
    whole = Counters.merge_all(counting.labels_layout, days)
    left_out = [measure_performance(counting, without_day(whole, day), VALUES) for day in days]
    changed = jackknife_results(measure_performance(counting, whole, MeasureOptions()), left_out, 0.8)

    assert changed["mean_absolute_error", ""].interval is not None
    assert {one.interval.level for one in changed.values() if one.interval is not None} == {0.8}
    wider, narrower = (
        jackknife_interval(
            ACCURACY, Measurement(0.5, 100), [Measurement(0.5 + day / 1000, 95) for day in range(24)], level
        )
        for level in (0.95, 0.8)
    )
    assert wider is not None
    assert narrower is not None
    assert (wider.level, narrower.level) == (0.95, 0.8)
    assert wider.lower < narrower.lower < narrower.upper < wider.upper


def test_what_may_be_negative_reaches_below_0() -> None:
    whole = Measurement(0.01, 100)
    others = [Measurement(0.01 + (0.05 if day % 2 else -0.05), 95) for day in range(24)]

    interval = jackknife_interval(BY_NAME["profit_per_record"], whole, others)

    assert interval is not None
    assert interval.lower < 0
