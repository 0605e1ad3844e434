"""Measures of scores, against scikit-learn and SciPy on the raw scores."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_states import measures_of_scores, raw_distance
from scipy import stats
from sklearn import metrics

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.classification.discrimination import (
    FEW,
    gini_coefficient,
    ks_critical,
    measure_full_discrimination,
    newcombe_auc_interval,
    roc_auc,
)
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.ranked_scores import POINTS, RankedScores
from monitor.states.views import ScoreTable

measured = partial(measures_of_scores, options=MeasureOptions(resamples=0))
HEADLINES = MeasureOptions(resamples=0, whole=False)
SLACK = 1e-12
RECORDS = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-9, 1.0])), st.integers(0, 1)
    ),
    min_size=1,
    max_size=80,
)


def samples(seed: int, n: int) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.3).astype(np.int64)
    return np.clip(rng.normal(0.4 + 0.15 * labels, 0.15), 0, 1), labels


def full_discrimination(table: ScoreTable, bounds: list[float]) -> dict[str, Measurement]:
    scores = RankedScores.from_table(table, np.asarray(bounds))
    results = measure_full_discrimination(scores, HEADLINES, {}, np.asarray([0]))
    return {result.measure: result.measurement for result in results}


@given(RECORDS)
def test_area_and_separation_are_within_their_resolution(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))
    found = measured(scores, labels)

    if len(set(labels)) == 1:
        assert found["roc_auc"].reason is Reason.ONE_CLASS
        assert found["ks_separation"].reason is Reason.ONE_CLASS
        return
    auc, separation = found["roc_auc"], found["ks_separation"]
    sides = [[score for score, label in records if label == side] for side in (0, 1)]
    exact = raw_distance(np.asarray(sides[0]), np.asarray(sides[1]))
    assert auc.value is not None
    assert separation.value is not None
    assert abs(metrics.roc_auc_score(labels, scores) - auc.value) <= auc.resolution + SLACK
    assert separation.value <= exact + SLACK <= separation.value + separation.resolution + 2 * SLACK


@given(RECORDS)
def test_brier_score_and_log_loss_equal_scikit_learn(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))

    found = measured(scores, labels)

    assert found["brier_score"].value == pytest.approx(metrics.brier_score_loss(labels, scores), abs=1e-11)
    assert found["log_loss"].value == pytest.approx(
        metrics.log_loss(labels, scores, labels=[0, 1]), rel=1e-9, abs=1e-11
    )


def test_area_interval_is_delong_on_the_logit_scale() -> None:
    scores, labels = samples(1, 400)
    scores = np.round(scores * 2048) / 2048
    positive, negative = scores[labels == 1], scores[labels == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    auc = wins.mean()
    variance = np.var(wins.mean(axis=1), ddof=1) / len(positive) + np.var(wins.mean(axis=0), ddof=1) / len(
        negative
    )
    half = stats.norm.ppf(0.975) * np.sqrt(variance) / (auc * (1 - auc))
    expected = [1 / (1 + np.exp(-(np.log(auc / (1 - auc)) + side * half))) for side in (-1, 1)]

    interval = measured(scores, labels)["roc_auc"].interval

    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_newcombe_interval_solves_its_equation(value: float) -> None:
    positives, negatives, z = 7, 30, stats.norm.ppf(0.975)
    star = (positives + negatives) / 2 - 1

    interval = newcombe_auc_interval(value, positives, negatives)

    for bound in (interval.lower, interval.upper):
        if 0 < bound < 1:
            spread = 1 + star * (1 - bound) / (2 - bound) + star * bound / (1 + bound)
            variance = bound * (1 - bound) * spread / (positives * negatives)
            assert abs(value - bound) == pytest.approx(z * np.sqrt(variance), rel=1e-6)
    assert interval.lower <= value <= interval.upper
    assert interval.upper - interval.lower > 0.1


def test_newcombe_interval_serves_small_classes_and_perfect_separation() -> None:
    few = ScoreTable(np.asarray([20, 15, 5]), np.asarray([1, 2, FEW - 4]))
    perfect = ScoreTable(np.asarray([20, 0]), np.asarray([0, 30]))

    assert roc_auc(few).interval == newcombe_auc_interval(roc_auc(few).value or 0.0, FEW - 1, 40)
    assert roc_auc(perfect).interval == newcombe_auc_interval(1.0, 30, 20)


def test_one_cell_is_all_ties() -> None:
    constant = ScoreTable(np.asarray([40]), np.asarray([30]))

    area = roc_auc(constant)

    assert (area.value, area.resolution) == (0.5, 0.5)

    found = full_discrimination(constant, [0.0, 1.0])

    assert (found["ks_separation"].value, found["ks_separation"].resolution) == (0.0, 1.0)
    # scores that tell nothing have no threshold
    assert found["ks_separation_threshold"] == Measurement.without_value(Reason.UNDEFINED, n=70)


@pytest.mark.parametrize("sizes", [(0, 0), (5, 0), (0, 5)])
def test_no_labels_or_one_class_is_a_reason(sizes: tuple[int, int]) -> None:
    one = ScoreTable(np.asarray([sizes[0], 0]), np.asarray([0, sizes[1]]))

    expected = Reason.ONE_CLASS if sum(sizes) else Reason.NO_LABELS

    assert roc_auc(one) == Measurement.without_value(expected, n=sum(sizes))
    assert gini_coefficient(roc_auc(one)) == Measurement.without_value(expected, n=sum(sizes))
    assert ks_critical(*sizes) == Measurement.without_value(expected, n=sum(sizes))
    assert set(full_discrimination(one, [0, 0.5, 1]).values()) == {
        Measurement.without_value(expected, n=sum(sizes))
    }


def test_billions_of_pairs_do_not_overflow() -> None:
    huge = ScoreTable(np.asarray([10**9, 10**9]), np.asarray([10**9, 3 * 10**9]))

    assert roc_auc(huge).value == pytest.approx(0.625)


def test_one_record_of_each_class_has_an_area() -> None:
    found = measured([0.2, 0.8], [0, 1])

    assert found["roc_auc"].value == 1
    assert found["roc_auc"].interval is not None
    assert found["brier_score"].interval is None or found["brier_score"].value is not None


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_separation_interval_lies_within_zero_and_one(seed: int) -> None:
    scores, labels = samples(seed, 60)

    interval = measured(scores, labels, options=MeasureOptions(resamples=50))["ks_separation"].interval

    assert interval is None or 0 <= interval.lower <= interval.upper <= 1


def test_losses_have_the_normal_interval_of_their_mean() -> None:
    scores, labels = samples(3, 500)
    losses = (labels - scores) ** 2
    half = stats.norm.ppf(0.975) * losses.std(ddof=1) / np.sqrt(len(losses))

    interval = measured(scores, labels)["brier_score"].interval

    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx([losses.mean() - half, losses.mean() + half])


def test_clipped_probabilities_are_counted() -> None:
    found = measured([0.0, 1.0, 0.0, 0.5], [1, 1, 0, 1], options=MeasureOptions(resamples=10))

    assert found["clipped_records"].value == 3
    assert found["log_loss"].value == pytest.approx(
        metrics.log_loss([1, 1, 0, 1], [0.0, 1.0, 0.0, 0.5]), rel=1e-9
    )


@settings(max_examples=20)
@given(RECORDS)
def test_gini_is_twice_the_area_less_one(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))
    found = measured(scores, labels, options=MeasureOptions(resamples=5))
    area, index = found["roc_auc"], found["gini"]

    if area.value is None or area.interval is None:
        assert index.reason is Reason.ONE_CLASS
        return
    assert index.value == 2 * area.value - 1
    assert index.interval is not None
    assert (index.interval.lower, index.interval.upper) == (
        2 * area.interval.lower - 1,
        2 * area.interval.upper - 1,
    )
    assert index.resolution == 2 * area.resolution


def test_separation_is_reached_where_scipy_says() -> None:
    scores, labels = samples(5, 300)
    scores = (np.floor(scores * 2048) + 0.5) / 2048
    told = stats.ks_2samp(scores[labels == 1], scores[labels == 0])

    found = measured(scores, labels, options=MeasureOptions(resamples=5))["ks_separation_threshold"]

    assert found.value is not None
    assert found.resolution == 1 / 2048
    assert found.value - found.resolution <= told.statistic_location < found.value


def test_critical_separation_is_kolmogorovs() -> None:
    sizes = 300, 700
    expected = stats.kstwobign.ppf(0.95) * np.sqrt(1 / 300 + 1 / 700)

    assert ks_critical(*sizes).value == pytest.approx(expected, rel=1e-9)
    assert ks_critical(1, 1).value == 1


@settings(max_examples=40)
@given(RECORDS)
def test_points_of_the_roc_curve_are_scikit_learns(records: list[tuple[float, int]]) -> None:
    scores = [(np.floor(min(score, 0.999) * 2048) + 0.5) / 2048 for score, _ in records]
    labels = [label for _, label in records]
    detail = measured(scores, labels, options=MeasureOptions(resamples=5))["roc_auc"].detail

    if len(set(labels)) == 1:
        assert detail is None
        return
    assert detail is not None
    assert len(detail.rows) <= POINTS
    assert detail.columns == ("threshold", "false_positive_rate", "true_positive_rate")
    false, true, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    curve = {(round(x, 6), round(y, 6)) for x, y in zip(false.tolist(), true.tolist(), strict=True)}
    assert {row[1:] for row in detail.rows} <= curve
    assert detail.rows[0] == (None, 0, 0)
    assert detail.rows[-1][1:] == (1, 1)


@settings(deadline=None, max_examples=30)
@given(RECORDS)
def test_the_headlines_of_a_part_are_those_of_the_whole(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))

    part, full = (
        measured(scores, labels, options=HEADLINES),
        measured(scores, labels, options=MeasureOptions(resamples=5)),
    )

    assert {"roc_auc", "ks_separation", "brier_score", "log_loss"} <= set(part) < set(full)
    assert all(part[name].value == full[name].value for name in part)
