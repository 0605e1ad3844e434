"""Calibration, against scikit-learn on the raw scores."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_states import binary_counting, measures_of_scores, scored
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.classification.calibration import fit_recalibration
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.ranked_scores import GROUPS, RankedScores

measured = partial(measures_of_scores, options=MeasureOptions(resamples=200))
CLIP = 2.0**-12
HALF = 1 / 4096  # of the width of a cell without a reference


def samples(seed: int, n: int, slope: float = 1.0, intercept: float = 0.0) -> tuple[Floats, Ints]:
    """Scores in the middles of cells, all distinct, and labels that follow their logit."""
    rng = np.random.default_rng(seed)
    scores = (np.sort(rng.permutation(2048)[:n]) + 0.5) / 2048
    logits = np.log(scores / (1 - scores))
    return scores, (rng.random(n) < 1 / (1 + np.exp(-intercept - slope * logits))).astype(np.int64)


def value_of(found: dict[str, Measurement], name: str) -> float:
    value = found[name].value
    assert value is not None
    return value


def test_errors_are_those_of_scikit_learns_calibration_curve() -> None:
    scores, labels = samples(1, 1500, slope=0.6)
    rate, mean = calibration_curve(labels, scores, n_bins=GROUPS, strategy="quantile")

    found = measured(scores, labels)

    assert value_of(found, "expected_calibration_error") == pytest.approx(
        np.abs(rate - mean).mean(), rel=1e-9
    )
    assert value_of(found, "maximum_calibration_error") == pytest.approx(np.abs(rate - mean).max(), rel=1e-9)
    debiased = np.mean((rate - mean) ** 2 - rate * (1 - rate) / 99)
    assert value_of(found, "squared_calibration_error") == pytest.approx(debiased, rel=1e-9)
    detail = found["expected_calibration_error"].detail
    assert detail is not None
    columns = dict(zip(detail.columns, zip(*detail.rows, strict=True), strict=True))
    assert columns["records"] == (100.0,) * GROUPS
    assert columns["mean_probability"] == pytest.approx(mean.tolist(), abs=1e-6)
    assert columns["positive_rate"] == pytest.approx(rate.tolist(), abs=1e-6)


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.4, -1.0), (2.5, 0.7)])
def test_slope_and_intercept_are_those_of_a_logistic_regression(slope: float, intercept: float) -> None:
    scores, labels = samples(2, 1200, slope, intercept)
    logits = np.log(scores / (1 - scores))[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logits, labels)
    chance = fit.predict_proba(logits)[:, 1]
    design = np.hstack([np.ones_like(logits), logits])
    covariance = np.linalg.inv((design * (chance * (1 - chance))[:, None]).T @ design)

    found = measured(scores, labels)

    names = ("calibration_intercept", "calibration_slope")
    coefficients = [float(fit.intercept_[0]), float(fit.coef_[0, 0])]
    assert [value_of(found, name) for name in names] == pytest.approx(coefficients, abs=1e-5)
    for at, name in enumerate(names):
        interval = found[name].interval
        assert interval is not None
        half = 1.959963985 * np.sqrt(covariance[at, at])
        assert (interval.upper - interval.lower) / 2 == pytest.approx(half, rel=1e-3)
        assert interval.lower <= value_of(found, name) <= interval.upper


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.floats(0.5, 6), st.floats(0.5, 6), st.integers(30, 400))
def test_slope_of_raw_scores_is_within_the_resolution(seed: int, a: float, b: float, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.beta(a, b, n)
    labels = (rng.random(n) < scores).astype(np.int64)
    found = measured(scores, labels)
    if found["calibration_slope"].value is None:
        assert found["calibration_slope"].reason in {Reason.UNDEFINED, Reason.ONE_CLASS}
        return
    clipped = np.clip(scores, CLIP, 1 - CLIP)
    logits = np.log(clipped / (1 - clipped))[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(logits, labels)

    for name, exact in (("slope", fit.coef_[0, 0]), ("intercept", fit.intercept_[0])):
        told = found[f"calibration_{name}"]
        assert told.value is not None
        assert abs(told.value - exact) <= 1.1 * told.resolution + 1e-4


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 60), st.floats(-9, 2))
def test_overlapping_classes_have_a_fit_that_solves_the_score_equations(
    seed: int, n: int, where: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(where, 3, n)))
    labels = (rng.random(n) < 0.2).astype(np.int64)
    counting = binary_counting()
    counters = scored(scores.tolist(), labels.tolist(), counting)
    ranked = RankedScores.from_table(counting.score_table(counters), counting.score_bounds)

    fit = fit_recalibration(ranked)

    positive, negative = np.flatnonzero(ranked.positive), np.flatnonzero(ranked.negative)
    overlap = len(positive) and len(negative)
    overlap = overlap and positive[0] < negative[-1] and negative[0] < positive[-1]
    if not overlap:
        assert fit is None
        return
    assert fit is not None
    middle = np.clip((ranked.lower + ranked.upper) / 2, CLIP, 1 - CLIP)
    logits = np.log(middle / (1 - middle))
    a, b = fit.coefficients
    residual = ranked.positive - (ranked.positive + ranked.negative) / (1 + np.exp(-a - b * logits))
    assert abs(residual.sum()) <= 1e-4
    assert abs(residual @ logits) <= 1e-3


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(30, 300))
def test_calibration_in_the_large_is_within_its_resolution(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    scores, labels = rng.beta(0.5, 3, n), rng.integers(0, 2, n)
    errors = scores - labels

    found = measured(scores, labels)

    assert abs(value_of(found, "mean_predicted_probability") - scores.mean()) <= HALF
    large = found["calibration_in_the_large"]
    assert large.value is not None
    assert abs(large.value - errors.mean()) <= large.resolution <= HALF + 1e-12
    assert large.interval is not None
    half = 1.959963985 * errors.std(ddof=1) / np.sqrt(n)
    assert large.interval.upper - large.interval.lower == pytest.approx(2 * half, abs=2e-3)


def test_brier_skill_is_against_the_base_rate() -> None:
    scores, labels = samples(3, 800)
    always = np.full(len(labels), labels.mean())
    skill = 1 - metrics.brier_score_loss(labels, scores) / metrics.brier_score_loss(labels, always)

    found = measured(scores, labels)["brier_skill_score"]

    assert found.value == pytest.approx(skill, rel=1e-9)
    rng, draws = np.random.default_rng(0), []
    for _ in range(2000):
        at = rng.integers(0, 800, 800)
        rate = labels[at].mean()
        draws.append(1 - np.mean((scores[at] - labels[at]) ** 2) / (rate * (1 - rate)))
    assert found.interval is not None
    assert (found.interval.upper - found.interval.lower) / 3.92 == pytest.approx(np.std(draws), rel=0.06)


def test_a_calibrated_model_exceeds_the_critical_values_once_in_twenty() -> None:
    above = np.zeros(2)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = rng.beta(1, 6, 600)
        found = measured(scores, (rng.random(600) < scores).astype(np.int64))
        for at, name in enumerate(("expected_calibration_error", "maximum_calibration_error")):
            above[at] += value_of(found, name) > value_of(found, f"{name}_critical")

    assert np.all(above >= 1)
    assert np.all(above <= 12)


def test_the_squared_error_of_a_calibrated_model_is_zero_on_average() -> None:
    rng = np.random.default_rng(7)
    values = []
    for _ in range(100):
        scores = rng.random(300)
        found = measured(
            scores, (rng.random(300) < scores).astype(np.int64), options=MeasureOptions(resamples=5)
        )
        values.append(value_of(found, "squared_calibration_error"))

    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(100)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_calibration_errors_and_no_slope(label: int) -> None:
    scores = np.full(200, 0.3)

    found = measured(scores, np.full(200, label))

    assert value_of(found, "expected_calibration_error") == pytest.approx(abs(0.3 - label), abs=HALF)
    assert found["calibration_slope"].reason is Reason.ONE_CLASS
    assert found["brier_skill_score"].reason is Reason.ONE_CLASS


def test_scores_near_zero_are_one_cell_and_the_resolution_says_so() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.random(10_000) * 1e-6, np.zeros(10_000, dtype=np.int64)
    labels[:10] = 1

    found = measured(scores, labels)

    expected = found["expected_calibration_error"]
    assert abs(value_of(found, "expected_calibration_error") - 0.001) <= expected.resolution + 1e-6
    assert expected.resolution == pytest.approx(HALF)
    assert found["calibration_slope"].reason is Reason.UNDEFINED


def test_few_records_have_no_groups() -> None:
    scores, labels = samples(1, 149)

    found = measured(scores, labels)

    for name in ("expected", "maximum", "squared"):
        assert found[f"{name}_calibration_error"].reason is Reason.TOO_FEW
    assert found["expected_calibration_error_critical"].reason is Reason.TOO_FEW
    assert found["calibration_slope"].value is not None
