"""Ratios and deviations of control and treatment, against SciPy and NumPy."""

import numpy as np
import pytest
from measure_states import binary_counting, by_name, number_counting, numbered, scored
from scipy.stats import norm
from scipy.stats.contingency import relative_risk

from monitor.core.measurement import Measurement, Reason
from monitor.measures.comparison.arm_outcomes import (
    ArmMean,
    ArmRate,
    arm_mean,
    arm_sd,
    compare_arm_means,
    compare_arm_rates,
    mean_difference,
    mean_of_sums,
    mean_ratio,
    rate_difference,
    rate_ratio,
    summarize_arm_labels,
    weekly_table,
)
from monitor.measures.evaluate import compare_arms
from monitor.measures.measure_options import MeasureOptions
from monitor.states.sums import HALF


def bounds(measured: Measurement) -> list[float]:
    assert measured.interval is not None
    return [measured.interval.lower, measured.interval.upper]


@pytest.mark.parametrize(
    ("treatment", "control"), [((20, 100), (10, 100)), ((3, 900), (7, 80)), ((9, 9), (1, 9))]
)
def test_a_ratio_of_rates_has_katzs_interval(treatment: tuple[int, int], control: tuple[int, int]) -> None:
    measured = rate_ratio(ArmRate(*control), ArmRate(*treatment), 0.9)

    expected = relative_risk(*treatment, *control)
    assert measured.value == pytest.approx(expected.relative_risk)
    assert bounds(measured) == pytest.approx(list(expected.confidence_interval(0.9)))


def test_ratios_of_rates_at_the_edges() -> None:
    assert rate_ratio(ArmRate(0, 5), ArmRate(1, 5)).reason is Reason.UNDEFINED
    assert rate_ratio(ArmRate(0, 0), ArmRate(1, 5)).reason is Reason.NO_LABELS
    none = rate_ratio(ArmRate(1, 5), ArmRate(0, 5))
    assert (none.value, none.interval) == (0.0, None)


def test_deviations_are_those_of_the_sample_and_their_intervals_hold_the_true_one() -> None:
    rng, counting, held = np.random.default_rng(3), number_counting(), 0
    for _ in range(200):
        labels = rng.gamma(4.0, 1.0, 2_000)
        measured = by_name(
            compare_arms(
                counting, *(numbered([0.0] * 2_000, labels.tolist(), counting),) * 2, MeasureOptions()
            )
        )["treatment_outcome_sd"]
        assert measured.value == pytest.approx(labels.std(ddof=1))
        lower, upper = bounds(measured)
        held += lower <= 2.0 <= upper

    assert held >= 180


def test_a_ratio_of_means_has_an_interval_on_the_logarithm() -> None:
    rng, counting = np.random.default_rng(4), number_counting()
    control, treatment = rng.gamma(4.0, 1.0, 400), rng.gamma(4.0, 2.0, 300)

    arms = [numbered([0.0] * len(side), side.tolist(), counting) for side in (control, treatment)]
    measured = by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))["outcome_mean_ratio"]

    above, below = (rng.choice(side, (2_000, side.size)).mean(axis=1) for side in (treatment, control))
    logs = np.log(above / below)
    expected = np.exp(np.log(treatment.mean() / control.mean()) + np.array([-1.96, 1.96]) * logs.std())
    assert measured.value == pytest.approx(treatment.mean() / control.mean())
    assert bounds(measured) == pytest.approx(expected.tolist(), rel=0.02)


def test_ratios_and_deviations_that_do_not_exist_say_why() -> None:
    some, negative, empty = (
        ArmMean(2.0, 1.0, 5),
        ArmMean(-2.0, 1.0, 5),
        ArmMean(0.0, 0.0, 0, Reason.NO_LABELS),
    )

    assert mean_ratio(some, negative).reason is Reason.UNDEFINED
    assert mean_ratio(empty, some).reason is Reason.NO_LABELS
    assert mean_ratio(ArmMean(1e-300, 0.0, 2), ArmMean(1e300, 0.0, 2)).reason is Reason.UNDEFINED
    assert mean_ratio(ArmMean(1.0, 0.0, 1), some).interval is None
    assert mean_ratio(ArmMean(1e-9, 1.0, 4), some).interval is None
    assert arm_sd(empty).reason is Reason.NO_LABELS
    assert arm_sd(ArmMean(1.0, 0.0, 1)).reason is Reason.TOO_FEW
    assert arm_sd(ArmMean(1.0, 0.0, 3)).interval is None


def test_powers_out_of_range_leave_a_deviation_without_interval() -> None:
    counting = number_counting()
    arms = [numbered([0.0] * 3, [1.0, 2.0, label], counting) for label in (3.0, 2e4)]

    measured = by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))

    assert measured["control_outcome_sd"].interval is not None
    assert measured["treatment_outcome_sd"].value is not None
    assert measured["treatment_outcome_sd"].interval is None


def test_means_of_exact_sums_are_numpys() -> None:
    labels = np.array([3.25, -1.5, 8.0, 2.0])
    first, second = (int(total * HALF) for total in ((labels / 2).sum(), (labels**2 / 4).sum()))

    mean = mean_of_sums(4, 0, first, second, 2.0)

    assert (mean.value, mean.variance) == pytest.approx((labels.mean(), labels.var(ddof=1)))
    assert mean_of_sums(1, 0, HALF, HALF, 2.0) == ArmMean(2.0, 0.0, 1)
    assert mean_of_sums(0, 0, 0, 0, 2.0).reason is Reason.NO_LABELS
    assert mean_of_sums(5, 1, 0, 0, 2.0).reason is Reason.OUT_OF_RANGE


def test_weeks_tell_what_they_can() -> None:
    rates = weekly_table([("2024-01-01", ArmRate(1, 4), ArmRate(0, 0))])
    means = weekly_table([("2024-01-01", ArmMean(2.0, 9.0, 5), ArmMean(0.0, 0.0, 3, Reason.OUT_OF_RANGE))])

    assert rates.columns == ("week", "control", "control_n", "treatment", "treatment_n")
    assert rates.rows == (("2024-01-01", 0.25, 4, None, 0),)
    assert means.rows == (("2024-01-01", 2.0, 3.0, 5, None, None, 3),)


def test_rates_have_a_ratio_among_the_results() -> None:
    counting = binary_counting()
    arms = [scored([0.5] * 10, [1] * hits + [0] * (10 - hits), counting) for hits in (2, 4)]

    assert (
        by_name(compare_arms(counting, arms[0], arms[1], MeasureOptions()))["outcome_rate_ratio"].value == 2.0
    )


def test_a_deviation_has_the_delta_methods_interval_and_a_ratio_says_its_level() -> None:
    values = np.random.default_rng(3).gamma(2.0, size=40)
    away = values - values.mean()
    fourth, second = float((away**4).mean()), float((away**2).mean())
    arm = ArmMean(float(values.mean()), float(values.var(ddof=1)), 40, fourth=fourth)

    deviation, ratio = arm_sd(arm, 0.9), mean_ratio(arm, ArmMean(3.0, 2.0, 80), 0.9)

    half = norm.ppf(0.95) * ((fourth - second**2) / 40) ** 0.5 / (2 * values.std(ddof=1))
    assert deviation.n == 40
    assert deviation.value == pytest.approx(values.std(ddof=1))
    assert bounds(deviation) == pytest.approx([values.std(ddof=1) - half, values.std(ddof=1) + half])
    assert ratio.n == 120
    assert {deviation.interval and deviation.interval.level, ratio.interval and ratio.interval.level} == {0.9}
    assert (rate_ratio(ArmRate(3, 50), ArmRate(4, 70)).n, rate_ratio(ArmRate(0, 0), ArmRate(4, 70)).n) == (
        120,
        70,
    )


def test_the_fourth_moment_is_about_the_mean() -> None:
    """Of labels far from 0 the interval of the deviation is that of the same labels about 0."""
    rng, counting = np.random.default_rng(9), number_counting()
    labels = rng.exponential(2.0, 300)
    for shift in (0.0, 7.0, -40.0):
        moved = labels + shift
        found = arm_sd(
            summarize_arm_labels(counting.errors_view(numbered([0.0] * 300, moved.tolist(), counting))), 0.9
        )

        spread = np.var(moved)
        variance = (((moved - moved.mean()) ** 4).mean() - spread**2) / (4 * np.var(moved, ddof=1) * 300)
        half = norm.ppf(0.95) * np.sqrt(variance)
        assert found.interval is not None
        assert found.value == pytest.approx(np.std(moved, ddof=1), rel=1e-6)
        assert (found.interval.upper - found.interval.lower) / 2 == pytest.approx(half, rel=1e-5)
        assert (found.n, found.interval.level) == (300, 0.9)


def test_a_deviation_is_at_least_0() -> None:
    counting = number_counting()
    labels = [0.0] * 30 + [100.0]

    found = arm_sd(summarize_arm_labels(counting.errors_view(numbered([0.0] * 31, labels, counting))), 0.999)

    assert found.interval is not None
    assert found.interval.lower == 0.0


def test_what_is_absent_of_an_arm_has_its_records() -> None:
    lost, none = ArmMean(0.0, 0.0, 7, Reason.OUT_OF_RANGE), ArmMean(0.0, 0.0, 0, Reason.NO_LABELS)
    one, two = ArmMean(2.0, 0.0, 1), ArmMean(3.0, 0.5, 2, fourth=1.0)

    assert arm_mean(lost) == arm_sd(lost) == Measurement.without_value(Reason.OUT_OF_RANGE, n=7)
    assert arm_sd(one) == Measurement.without_value(Reason.TOO_FEW, n=1)
    assert arm_mean(one) == Measurement(value=2.0, n=1)
    assert (arm_mean(two).n, arm_sd(two).n) == (2, 2)
    assert arm_sd(two).value == pytest.approx(np.sqrt(0.5))
    for compare in (mean_difference, mean_ratio):
        assert compare(two, lost) == Measurement.without_value(Reason.OUT_OF_RANGE, n=9)
        assert compare(none, two) == Measurement.without_value(Reason.NO_LABELS, n=2)
        assert compare(one, two).n == 3
        assert compare(one, two).interval is None
        assert compare(two, two).interval is not None
    assert mean_ratio(ArmMean(0.0, 1.0, 5), two) == Measurement.without_value(Reason.UNDEFINED, n=7)
    assert mean_ratio(ArmMean(0.5, 1.0, 5), two).value == 6.0
    assert mean_ratio(ArmMean(1e-300, 0.0, 5), ArmMean(1e300, 0.0, 4)) == Measurement.without_value(
        Reason.UNDEFINED, n=9
    )
    for compare_rates in (rate_difference, rate_ratio):
        assert compare_rates(ArmRate(0, 0), ArmRate(3, 5)) == Measurement.without_value(Reason.NO_LABELS, n=5)
        assert compare_rates(ArmRate(2, 5), ArmRate(0, 0)) == Measurement.without_value(Reason.NO_LABELS, n=5)
        assert compare_rates(ArmRate(2, 5), ArmRate(1, 1)).value is not None
    assert rate_ratio(ArmRate(0, 5), ArmRate(3, 5)) == Measurement.without_value(Reason.UNDEFINED, n=10)
    assert (
        summarize_arm_labels(None) == mean_of_sums(0, 0, 0, 0, 2.0) == ArmMean(0.0, 0.0, 0, Reason.NO_LABELS)
    )
    assert mean_of_sums(4, 1, 9, 9, 2.0) == ArmMean(0.0, 0.0, 4, Reason.OUT_OF_RANGE)


def test_weeks_of_means_tell_their_deviations() -> None:
    no_labels = ArmMean(0.0, 0.0, 0, Reason.NO_LABELS)
    weeks = [
        ("2024-01-01", ArmMean(2.0, 4.0, 9), ArmMean(1.0, 0.0, 1)),
        ("2024-01-08", ArmMean(3.0, 1.0, 2), no_labels),
    ]

    told = weekly_table(weeks)

    assert told.columns == (
        *("week", "control", "control_sd", "control_n", "treatment", "treatment_sd", "treatment_n"),
    )
    assert told.rows == (
        ("2024-01-01", 2.0, 2.0, 9, 1.0, None, 1),
        ("2024-01-08", 3.0, 1.0, 2, None, None, 0),
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_every_interval_of_two_arms_has_the_level_that_is_asked_for(level: float) -> None:
    rates = list(compare_arm_rates(ArmRate(30, 90), ArmRate(40, 80), level))
    means = list(
        compare_arm_means(ArmMean(3.0, 2.0, 60, fourth=9.0), ArmMean(4.0, 2.5, 70, fourth=12.0), level)
    )

    assert [one.subject for one in (*rates, *means)] == [""] * 10
    intervals = [one.measurement.interval for one in (*rates, *means)]
    assert [one and one.level for one in intervals] == [level] * 10
