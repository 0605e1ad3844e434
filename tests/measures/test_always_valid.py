"""Comparisons that are looked at again and again, against integrals and each other."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.comparison_measures import CONCENTRATION
from monitor.measures.comparison.arm_outcomes import ArmMean, ArmRate
from monitor.measures.comparison.sequential_tests import (
    confidence_sequence,
    control_record_share,
    convert_to_mean,
    difference_always_valid,
    log_evidence,
    log_share_evidence,
    measure_arm_shares,
    outcome_evidence,
    outcome_results,
    p_value_of,
)

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("difference", "variance"), [(0.0, 1e-5), (0.01, 1e-5), (-0.02, 4e-5)])
def test_the_evidence_is_the_likelihood_ratio_averaged_over_the_mixture(
    difference: float, variance: float
) -> None:
    def weighed(effect: float) -> float:
        return float(
            stats.norm.pdf(difference, effect, math.sqrt(variance))
            * stats.norm.pdf(effect, 0.0, 0.01)
            / stats.norm.pdf(difference, 0.0, math.sqrt(variance))
        )

    expected = integrate.quad(weighed, -0.1, 0.1, points=[0.0, difference])[0]

    assert math.exp(log_evidence(difference, variance, 0.01)) == pytest.approx(expected, rel=1e-6)


@given(st.floats(-1, 1), st.floats(1e-9, 10), st.floats(1e-4, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_confidence_sequence_ends_where_the_evidence_reaches_its_limit(
    difference: float, variance: float, detect: float, level: float
) -> None:
    interval = confidence_sequence(difference, variance, detect, level)

    for bound in (interval.lower, interval.upper):
        evidence = log_evidence(difference - bound, variance, detect)
        assert evidence == pytest.approx(-math.log(1 - level), rel=1e-3, abs=1e-6)


def test_interval_and_evidence_agree_whether_there_is_a_difference() -> None:
    control = convert_to_mean(ArmRate(1_000, 10_000))
    for positive in range(1_000, 1_300, 10):
        treatment = convert_to_mean(ArmRate(positive, 10_000))

        measured, evidence = (
            difference_always_valid(control, treatment, 0.01),
            outcome_evidence(control, treatment, 0.01),
        )

        assert measured.value == pytest.approx((positive - 1_000) / 10_000)
        assert measured.interval is not None
        assert (measured.interval.lower > 0) == (p_value_of(evidence) < 0.05)


def test_numbers_are_compared_like_rates_of_the_same_moments() -> None:
    rates = convert_to_mean(ArmRate(1_000, 10_000)), convert_to_mean(ArmRate(1_200, 10_000))
    means = (
        convert_to_mean(ArmMean(0.1, 0.1 * 0.9, 10_000)),
        convert_to_mean(ArmMean(0.12, 0.12 * 0.88, 10_000)),
    )

    assert means[0] == rates[0]
    assert outcome_evidence(*means, 0.01) == pytest.approx(outcome_evidence(*rates, 0.01))


@pytest.mark.parametrize(
    ("control", "treatment", "reason"),
    [
        (ArmRate(50, 499), ArmRate(50, 500), Reason.TOO_FEW),
        (ArmRate(0, 0), ArmRate(50, 500), Reason.NO_LABELS),
        (ArmRate(0, 500), ArmRate(0, 500), Reason.UNDEFINED),
        (ArmMean(0.0, 0.0, 600, Reason.OUT_OF_RANGE), ArmMean(1.0, 1.0, 600), Reason.OUT_OF_RANGE),
    ],
)
def test_without_an_answer_there_is_a_reason(
    control: ArmRate | ArmMean, treatment: ArmRate | ArmMean, reason: Reason
) -> None:
    results = outcome_results(control, treatment, detect=0.01, most=3.0, level=0.95)
    found = [result.measurement for result in results]

    assert [measurement.reason for measurement in found] == [reason, reason]
    assert {measurement.n for measurement in found} == {control.n + treatment.n}
    assert outcome_evidence(convert_to_mean(control), convert_to_mean(treatment), 0.01) == 0.0


def test_differences_of_numbers_need_the_size_that_matters() -> None:
    arms = (ArmMean(1.0, 1.0, 600), ArmMean(2.0, 1.0, 600))

    results = outcome_results(*arms, detect=None, most=0.0, level=0.95)

    found = {result.measure: result.measurement.reason for result in results}
    assert found == dict.fromkeys(
        ["outcome_mean_difference_always_valid", "control_p_value_always_valid"], Reason.NOT_CONFIGURED
    )


@pytest.mark.parametrize(("control", "treatment"), [(95, 900), (140, 900), (0, 30)])
def test_evidence_of_shares_is_scipys_beta_binomial_over_the_binomial(control: int, treatment: int) -> None:
    n, prior = control + treatment, (CONCENTRATION * 0.1, CONCENTRATION * 0.9)

    expected = stats.betabinom.logpmf(control, n, *prior) - stats.binom.logpmf(control, n, 0.1)

    assert log_share_evidence(control, treatment, 0.1, 0.1) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(st.integers(0, 5_000), st.integers(0, 5_000), st.sampled_from([0.1, 0.5, 0.9]))
def test_the_shares_that_are_not_excluded_agree_with_the_p_value(
    control: int, treatment: int, planned: float
) -> None:
    most = 0.0 if control + treatment == 0 else log_share_evidence(control, treatment, planned, planned)
    results = measure_arm_shares(control, treatment, planned=planned, most=most, level=0.95)
    found = share, p_value = [result.measurement for result in results]

    if control + treatment == 0:
        assert {one.reason for one in found} == {Reason.NO_RECORDS}
        return
    assert share.interval is not None
    assert p_value.value is not None
    assert share.value == control / (control + treatment)
    if abs(p_value.value - 0.05) > 1e-6:
        inside = share.interval.lower <= planned <= share.interval.upper
        assert inside == (p_value.value > 0.05)


def test_no_share_is_excluded_before_there_is_anything_to_see() -> None:
    measured = control_record_share(0, 3, 0.1)

    assert log_share_evidence(1, 8, 0.1, 0.1) == pytest.approx(0.0, abs=0.01)
    assert measured.interval is not None
    assert (measured.value, measured.interval.lower) == (0.0, 0.0)


def test_a_prior_that_is_wrong_beyond_all_shares_excludes_none_of_the_smallest() -> None:
    measured = control_record_share(1, 10**9, 0.1)

    assert measured.interval is not None
    assert measured.interval.lower == 0.0


def test_a_control_arm_of_12_instead_of_10_percent_is_found() -> None:
    assert p_value_of(log_share_evidence(1_200, 8_800, 0.1, 0.1)) < 1e-4
    assert p_value_of(log_share_evidence(1_010, 8_990, 0.1, 0.1)) == 1.0


def test_a_p_value_stays_at_its_smallest() -> None:
    rates = ArmRate(1_000, 10_000), ArmRate(1_001, 10_000)

    results = list(outcome_results(*rates, detect=0.01, most=math.log(50), level=0.95))

    assert results[1].measurement.value == pytest.approx(0.02)


def test_simulated_experiments_keep_what_is_promised() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "sim_sequential.py"), "--quick"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert done.stderr == ""
    assert done.returncode == 0, done.stdout


def test_arms_and_measurements_are_plain_values() -> None:
    assert convert_to_mean(ArmRate(0, 0)) == ArmMean(0.0, 0.0, 0)
    assert isinstance(control_record_share(1, 1, 0.5), Measurement)
    assert np.isfinite(log_share_evidence(10**9, 9 * 10**9, 0.1, 0.1))


@pytest.mark.parametrize(
    ("control", "name"), [(ArmRate(600, 5_000), "rate"), (ArmMean(0.12, 0.1056, 5_000), "mean")]
)
def test_all_that_is_told_of_two_arms_of_unlike_sizes(control: ArmRate | ArmMean, name: str) -> None:
    treatment = ArmRate(300, 2_000) if isinstance(control, ArmRate) else ArmMean(0.15, 0.1275, 2_000)
    variance, square = 0.12 * 0.88 / 5_000 + 0.15 * 0.85 / 2_000, 0.01**2
    both = variance + square
    half = math.sqrt(variance * both / square * (math.log(both / variance) - 2 * math.log(0.1)))

    results = outcome_results(control, treatment, detect=0.01, most=2.0, level=0.9, subject="x")
    difference, p_value = results

    assert (difference.measure, p_value.measure) == (
        f"outcome_{name}_difference_always_valid",
        "control_p_value_always_valid",
    )
    assert {difference.subject, p_value.subject} == {"x"}
    assert (difference.measurement.n, p_value.measurement.n) == (7_000, 7_000)
    assert p_value.measurement.value == pytest.approx(math.exp(-2.0))
    interval = difference.measurement.interval
    assert interval is not None
    assert interval.level == 0.9
    assert (interval.lower, interval.upper) == pytest.approx((0.03 - half, 0.03 + half))


def test_without_a_size_that_matters_there_is_a_reason_and_the_number_of_both_arms() -> None:
    results = outcome_results(ArmRate(600, 5_000), ArmRate(300, 2_000), detect=None, most=0.0, level=0.95)

    told = [(result.subject, result.measurement.reason, result.measurement.n) for result in results]

    assert told == [("", Reason.NOT_CONFIGURED, 7_000)] * 2


def test_all_that_is_told_of_the_share_of_an_arm() -> None:
    share, p_value = measure_arm_shares(480, 520, planned=0.5, most=1.0, level=0.9)

    assert (share.measure, p_value.measure) == ("control_record_share", "sample_ratio_p_value_always_valid")
    assert (share.subject, p_value.subject) == ("", "")
    assert (share.measurement.value, share.measurement.n, p_value.measurement.n) == (0.48, 1_000, 1_000)
    assert share.measurement.interval is not None
    assert share.measurement.interval.level == 0.9
    for bound in (share.measurement.interval.lower, share.measurement.interval.upper):
        assert log_share_evidence(480, 520, bound, 0.5) == pytest.approx(math.log(10), rel=1e-6)


def test_an_arm_without_records_has_a_bound_of_its_own() -> None:
    nobody, everybody = control_record_share(0, 40, 0.5), control_record_share(40, 0, 0.5)

    assert nobody.interval is not None
    assert everybody.interval is not None
    assert nobody.interval.lower == 0.0 < nobody.interval.upper < 1.0
    assert 0.0 < everybody.interval.lower < everybody.interval.upper == 1.0
    assert control_record_share(0, 0, 0.5) == Measurement.without_value(Reason.NO_RECORDS, n=0)
