"""Ratios and deviations of control and treatment, against SciPy and NumPy."""

import numpy as np
import pytest
from measure_states import binary_counting, by_name, number_counting, numbered, scored
from scipy.stats import norm
from scipy.stats.contingency import relative_risk

from monitor.core.measurement import Measurement, Reason
from monitor.measures.comparison.arms import (
    Mean,
    Rate,
    arm_sd,
    mean_of_sums,
    mean_ratio,
    rate_ratio,
    weekly,
)
from monitor.measures.evaluate import comparison
from monitor.measures.options import Options
from monitor.states.sums import HALF


def bounds(measured: Measurement) -> list[float]:
    assert measured.interval is not None
    return [measured.interval.lower, measured.interval.upper]


@pytest.mark.parametrize(
    ("treatment", "control"), [((20, 100), (10, 100)), ((3, 900), (7, 80)), ((9, 9), (1, 9))]
)
def test_a_ratio_of_rates_has_katzs_interval(treatment: tuple[int, int], control: tuple[int, int]) -> None:
    measured = rate_ratio(Rate(*control), Rate(*treatment), 0.9)

    expected = relative_risk(*treatment, *control)
    assert measured.value == pytest.approx(expected.relative_risk)
    assert bounds(measured) == pytest.approx(list(expected.confidence_interval(0.9)))


def test_ratios_of_rates_at_the_edges() -> None:
    assert rate_ratio(Rate(0, 5), Rate(1, 5)).reason is Reason.UNDEFINED
    assert rate_ratio(Rate(0, 0), Rate(1, 5)).reason is Reason.NO_LABELS
    none = rate_ratio(Rate(1, 5), Rate(0, 5))
    assert (none.value, none.interval) == (0.0, None)


def test_deviations_are_those_of_the_sample_and_their_intervals_hold_the_true_one() -> None:
    rng, counting, held = np.random.default_rng(3), number_counting(), 0
    for _ in range(200):
        labels = rng.gamma(4.0, 1.0, 2_000)
        measured = by_name(
            comparison(counting, *(numbered([0.0] * 2_000, labels.tolist(), counting),) * 2, Options())
        )["treatment_outcome_sd"]
        assert measured.value == pytest.approx(labels.std(ddof=1))
        lower, upper = bounds(measured)
        held += lower <= 2.0 <= upper

    assert held >= 180


def test_a_ratio_of_means_has_an_interval_on_the_logarithm() -> None:
    rng, counting = np.random.default_rng(4), number_counting()
    control, treatment = rng.gamma(4.0, 1.0, 400), rng.gamma(4.0, 2.0, 300)

    arms = [numbered([0.0] * len(side), side.tolist(), counting) for side in (control, treatment)]
    measured = by_name(comparison(counting, arms[0], arms[1], Options()))["outcome_mean_ratio"]

    above, below = (rng.choice(side, (2_000, side.size)).mean(axis=1) for side in (treatment, control))
    logs = np.log(above / below)
    expected = np.exp(np.log(treatment.mean() / control.mean()) + np.array([-1.96, 1.96]) * logs.std())
    assert measured.value == pytest.approx(treatment.mean() / control.mean())
    assert bounds(measured) == pytest.approx(expected.tolist(), rel=0.02)


def test_ratios_and_deviations_that_do_not_exist_say_why() -> None:
    some, negative, empty = Mean(2.0, 1.0, 5), Mean(-2.0, 1.0, 5), Mean(0.0, 0.0, 0, Reason.NO_LABELS)

    assert mean_ratio(some, negative).reason is Reason.UNDEFINED
    assert mean_ratio(empty, some).reason is Reason.NO_LABELS
    assert mean_ratio(Mean(1e-300, 0.0, 2), Mean(1e300, 0.0, 2)).reason is Reason.UNDEFINED
    assert mean_ratio(Mean(1.0, 0.0, 1), some).interval is None
    assert mean_ratio(Mean(1e-9, 1.0, 4), some).interval is None
    assert arm_sd(empty).reason is Reason.NO_LABELS
    assert arm_sd(Mean(1.0, 0.0, 1)).reason is Reason.TOO_FEW
    assert arm_sd(Mean(1.0, 0.0, 3)).interval is None


def test_powers_out_of_range_leave_a_deviation_without_interval() -> None:
    counting = number_counting()
    arms = [numbered([0.0] * 3, [1.0, 2.0, label], counting) for label in (3.0, 2e4)]

    measured = by_name(comparison(counting, arms[0], arms[1], Options()))

    assert measured["control_outcome_sd"].interval is not None
    assert measured["treatment_outcome_sd"].value is not None
    assert measured["treatment_outcome_sd"].interval is None


def test_means_of_exact_sums_are_numpys() -> None:
    labels = np.array([3.25, -1.5, 8.0, 2.0])
    first, second = (int(total * HALF) for total in ((labels / 2).sum(), (labels**2 / 4).sum()))

    mean = mean_of_sums(4, 0, first, second, 2.0)

    assert (mean.value, mean.variance) == pytest.approx((labels.mean(), labels.var(ddof=1)))
    assert mean_of_sums(1, 0, HALF, HALF, 2.0) == Mean(2.0, 0.0, 1)
    assert mean_of_sums(0, 0, 0, 0, 2.0).reason is Reason.NO_LABELS
    assert mean_of_sums(5, 1, 0, 0, 2.0).reason is Reason.OUT_OF_RANGE


def test_weeks_tell_what_they_can() -> None:
    rates = weekly([("2024-01-01", Rate(1, 4), Rate(0, 0))])
    means = weekly([("2024-01-01", Mean(2.0, 9.0, 5), Mean(0.0, 0.0, 3, Reason.OUT_OF_RANGE))])

    assert rates.columns == ("week", "control", "control_n", "treatment", "treatment_n")
    assert rates.rows == (("2024-01-01", 0.25, 4, None, 0),)
    assert means.rows == (("2024-01-01", 2.0, 3.0, 5, None, None, 3),)


def test_rates_have_a_ratio_among_the_results() -> None:
    counting = binary_counting()
    arms = [scored([0.5] * 10, [1] * hits + [0] * (10 - hits), counting) for hits in (2, 4)]

    assert by_name(comparison(counting, arms[0], arms[1], Options()))["outcome_rate_ratio"].value == 2.0


def test_a_deviation_has_the_delta_methods_interval_and_a_ratio_says_its_level() -> None:
    values = np.random.default_rng(3).gamma(2.0, size=40)
    away = values - values.mean()
    fourth, second = float((away**4).mean()), float((away**2).mean())
    arm = Mean(float(values.mean()), float(values.var(ddof=1)), 40, fourth=fourth)

    deviation, ratio = arm_sd(arm, 0.9), mean_ratio(arm, Mean(3.0, 2.0, 80), 0.9)

    half = norm.ppf(0.95) * ((fourth - second**2) / 40) ** 0.5 / (2 * values.std(ddof=1))
    assert deviation.n == 40
    assert deviation.value == pytest.approx(values.std(ddof=1))
    assert bounds(deviation) == pytest.approx([values.std(ddof=1) - half, values.std(ddof=1) + half])
    assert ratio.n == 120
    assert {deviation.interval and deviation.interval.level, ratio.interval and ratio.interval.level} == {0.9}
    assert (rate_ratio(Rate(3, 50), Rate(4, 70)).n, rate_ratio(Rate(0, 0), Rate(4, 70)).n) == (120, 70)
