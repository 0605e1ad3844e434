"""Estimates before labels arrive: closed forms, scikit-learn on expected counts, coverage in simulation."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from measure_states import (
    binary_counting,
    binary_reading,
    by_name,
    labels_part,
    number_counting,
    probability_counting,
    records_part,
    reference_of_rows,
    table,
)
from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.measure import OPTIONAL_FAMILIES, MeasureFamily
from monitor.measures.evaluate import learn_from_labels, measure_estimates, measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.score_estimates import ScoreCalibration, measure_estimate_errors
from monitor.records.counting import Counting
from monitor.records.reference import make_plain_counting

ASK = MeasureOptions(resamples=0)


def rows_of(scores: Floats, labels: Ints | None = None, predictions: Ints | Bools | None = None) -> pa.Table:
    columns: dict[str, object] = {"score": pa.array(scores)}
    if labels is not None:
        columns["label"] = pa.array(labels.astype(str).tolist())
    if predictions is not None:
        columns["prediction"] = pa.array(predictions.astype(str).tolist())
    return table(**columns)


def drawn(rng: np.random.Generator, n: int, a: float = 2, b: float = 3) -> tuple[Floats, Ints]:
    """Calibrated scores and their labels."""
    scores = rng.beta(a, b, n)
    return scores, (rng.random(n) < scores).astype(np.int64)


def estimated(
    counting: Counting, taught: pa.Table, window: pa.Table, options: MeasureOptions = ASK
) -> Mapping[str, Measurement]:
    known = learn_from_labels(counting, labels_part(taught, counting))
    return by_name(measure_estimates(counting, known, records_part(window, counting), options))


def test_an_exact_map_gives_the_mean_of_the_larger_probability() -> None:
    """Accuracy at ½ of calibrated scores: mean of max(p, 1 - p), Garg et al. (2022)."""
    steps = (np.arange(10) + 0.5) / 10
    scores = np.repeat(steps, 200)
    labels = np.concatenate([np.arange(200) < round(200 * step) for step in steps]).astype(np.int64)
    window = np.repeat(steps, [5, 10, 40, 20, 1, 7, 30, 12, 9, 100])

    found = estimated(binary_counting(), rows_of(scores, labels), rows_of(window))

    assert found["estimated_accuracy"].value == pytest.approx(
        np.maximum(window, 1 - window).mean(), abs=1e-12
    )
    positive = window >= 0.5
    assert found["estimated_precision"].value == pytest.approx(window[positive].mean(), abs=1e-12)
    recall = window[positive].sum() / window.sum()
    assert found["estimated_recall"].value == pytest.approx(recall, abs=1e-12)


def test_the_area_is_that_of_expanded_expected_counts() -> None:
    steps = (np.arange(10) + 0.5) / 10
    scores = np.repeat(steps, 200)
    labels = np.concatenate([np.arange(200) < round(200 * step) for step in steps]).astype(np.int64)
    counts = np.asarray([5, 10, 40, 20, 1, 7, 30, 12, 9, 100])

    found = estimated(binary_counting(), rows_of(scores, labels), rows_of(np.repeat(steps, counts)))

    weights = np.concatenate([counts * steps, counts * (1 - steps)])
    truth = np.repeat([1, 0], 10)
    expected = roc_auc_score(truth, np.tile(steps, 2), sample_weight=weights)
    assert found["estimated_roc_auc"].value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.77])
def test_the_records_that_taught_are_estimated_as_they_were(threshold: float) -> None:
    scores, labels = drawn(np.random.default_rng(3), 4000)
    predicted = (scores >= threshold).astype(np.int64)
    rows = rows_of(scores, labels)

    found = estimated(binary_counting(threshold=threshold), rows, rows)

    for name, score in (
        ("accuracy", accuracy_score),
        ("precision", precision_score),
        ("recall", recall_score),
    ):
        one = found[f"estimated_{name}"].value
        assert one == pytest.approx(score(labels, predicted), abs=2e-3)  # the threshold's cell
    area = found["estimated_roc_auc"]
    assert area.value == pytest.approx(roc_auc_score(labels, scores), abs=area.resolution)
    assert area.value == pytest.approx(roc_auc_score(labels, scores), abs=2e-3)


@pytest.mark.parametrize("shape", [(2.0, 3.0), (3.0, 2.0)])
def test_intervals_hold_what_labels_give_in_95_percent_of_runs(shape: tuple[float, float]) -> None:
    """60 runs: by chance fewer than 51 in 0.1 % of the cases. Larger simulations are in the docs."""
    counting, rng, held = binary_counting(), np.random.default_rng(8), dict.fromkeys(range(4), 0)
    for _ in range(60):
        known = learn_from_labels(counting, labels_part(rows_of(*drawn(rng, 2000)), counting))
        window = rows_of(*drawn(rng, 800, *shape))
        found = measure_estimates(counting, known, records_part(window, counting), ASK)
        errors = list(
            measure_estimate_errors(found, measure_performance(counting, labels_part(window, counting), ASK))
        )
        assert len(errors) == 4
        for at, error in enumerate(errors):
            interval = error.measurement.interval
            assert interval is not None
            held[at] += interval.lower <= 0 <= interval.upper

    assert min(held.values()) >= 51


def test_labels_that_no_longer_follow_the_scores_show_in_the_error() -> None:
    """Concept drift: the estimate cannot see it, the settled error does."""
    rng, counting = np.random.default_rng(4), binary_counting()
    known = learn_from_labels(counting, labels_part(rows_of(*drawn(rng, 3000)), counting))
    scores, _ = drawn(rng, 2000)
    labels = (rng.random(2000) < 0.4).astype(np.int64)
    window = rows_of(scores, labels)

    found = measure_estimates(counting, known, records_part(window, counting), ASK)
    errors = by_name(
        list(
            measure_estimate_errors(found, measure_performance(counting, labels_part(window, counting), ASK))
        )
    )

    interval = errors["estimated_roc_auc_error"].interval
    assert interval is not None
    assert interval.lower > 0
    actual = roc_auc_score(labels, scores)
    estimate = by_name(found)["estimated_roc_auc"].value
    assert errors["estimated_roc_auc_error"].value == pytest.approx((estimate or 0) - actual, abs=1e-3)


def test_predictions_of_their_own_column_are_followed_where_they_are_a_threshold() -> None:
    rng = np.random.default_rng(5)
    counting = make_plain_counting(replace(binary_reading(), threshold=None))
    scores, labels = drawn(rng, 2000)
    window, _ = drawn(rng, 1000)

    followed = estimated(
        counting, rows_of(scores, labels, scores >= 0.4), rows_of(window, predictions=window >= 0.6)
    )
    random = rng.integers(0, 2, 2000)
    refused = estimated(
        counting, rows_of(scores, labels, random), rows_of(window, predictions=rng.integers(0, 2, 1000))
    )

    assert followed["estimated_precision"].value == pytest.approx(window[window >= 0.6].mean(), abs=0.08)
    assert refused["estimated_accuracy"].reason is Reason.NOT_CONFIGURED
    assert refused["estimated_roc_auc"].value == pytest.approx(followed["estimated_roc_auc"].value, abs=1e-3)


def test_without_enough_labels_there_is_a_reason() -> None:
    rng, counting = np.random.default_rng(6), binary_counting()
    window = rows_of(drawn(rng, 100)[0])
    few = rows_of(np.linspace(0, 1, 40), (np.arange(40) >= 31).astype(np.int64))

    none = estimated(counting, rows_of(np.empty(0), np.empty(0, dtype=np.int64)), window)
    some = estimated(counting, few, window)
    empty = estimated(counting, rows_of(*drawn(rng, 500)), window.slice(0, 0))

    assert {one.reason for one in none.values()} == {Reason.NO_LABELS}
    assert {one.reason for one in some.values()} == {Reason.TOO_FEW}
    assert {one.reason for one in empty.values()} == {Reason.NO_RECORDS}


def test_nothing_predicted_positive_has_no_precision() -> None:
    rng, counting = np.random.default_rng(6), binary_counting(threshold=0.9)

    found = estimated(counting, rows_of(*drawn(rng, 2000)), rows_of(np.full(50, 0.2)))

    assert found["estimated_precision"].reason is Reason.UNDEFINED
    assert found["estimated_recall"].value == 0
    assert found["estimated_roc_auc"].value == pytest.approx(0.5)


def test_scores_beyond_those_that_taught_are_taken_as_the_nearest() -> None:
    rng, counting = np.random.default_rng(7), binary_counting()
    scores = rng.uniform(0.3, 0.6, 3000)
    labels = (rng.random(3000) < scores).astype(np.int64)

    found = estimated(counting, rows_of(scores, labels), rows_of(np.full(400, 0.99)))

    assert found["estimated_precision"].value == pytest.approx(0.6, abs=0.12)


def test_no_estimate_where_the_family_is_left_out() -> None:
    scores, labels = drawn(np.random.default_rng(1), 500)
    rows = rows_of(scores, labels)

    left_out = replace(ASK, families=OPTIONAL_FAMILIES - {MeasureFamily.ESTIMATE})

    assert estimated(binary_counting(), rows, rows, left_out) == {}


def test_of_several_classes_the_most_probable_one_is_right_as_often_as_it_was() -> None:
    rng, classes = np.random.default_rng(9), ("ant", "bee", "cat")
    counting = probability_counting(classes)
    shares = rng.dirichlet([1, 1, 1], 3000)
    actual = np.asarray(classes)[(shares.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)]
    rows = table(
        label=pa.array(actual.tolist()),
        **{f"probability:{name}": pa.array(column) for name, column in zip(classes, shares.T, strict=True)},
    )

    found = estimated(counting, rows, rows)

    right = (np.asarray(classes)[shares.argmax(axis=1)] == actual).mean()
    assert found["estimated_accuracy"].value == pytest.approx(right, abs=1e-12)


def regression_rows(rng: np.random.Generator, n: int, low: float, high: float) -> tuple[pa.Table, Floats]:
    """Errors that grow with the prediction."""
    prediction = rng.uniform(low, high, n)
    error = rng.normal(size=n) * prediction
    rows = table(prediction=pa.array(prediction), label=pa.array(prediction + error))
    return rows, np.abs(error)


def test_expected_errors_follow_the_predictions() -> None:
    """E|e| = prediction · sqrt(2/π); the interval holds what labels give."""
    rng, held = np.random.default_rng(2), 0
    reading = number_counting().reading
    made = reference_of_rows(regression_rows(rng, 6000, 1, 10)[0], reading)
    known = learn_from_labels(made.counting, made.labels)
    for _ in range(40):
        window, actual = regression_rows(rng, 1500, 6, 10)
        found = measure_estimates(made.counting, known, records_part(window, made.counting), ASK)
        (one,) = [result.measurement for result in found]
        assert one.value == pytest.approx(8 * np.sqrt(2 / np.pi), rel=0.06)
        assert one.interval is not None
        held += one.interval.lower <= actual.mean() <= one.interval.upper

    assert held >= 32
    whole = measure_estimates(made.counting, known, made.records, ASK)[0].measurement.value
    realised = by_name(measure_performance(made.counting, made.labels, ASK))["mean_absolute_error"].value
    assert whole == pytest.approx(realised, rel=1e-9)


def test_a_regression_without_a_reference_has_no_cells_of_predictions() -> None:
    counting = number_counting()
    rows = regression_rows(np.random.default_rng(2), 100, 1, 10)[0]

    found = estimated(counting, rows, rows)

    assert found["estimated_mean_absolute_error"].reason is Reason.NO_REFERENCE


def test_every_group_of_scores_holds_labels_and_groups_ascend() -> None:
    scores, labels = drawn(np.random.default_rng(11), 50_000, 0.3, 6)
    counting = binary_counting(threshold=0.3)

    known = learn_from_labels(counting, labels_part(rows_of(scores, labels), counting))

    assert isinstance(known, ScoreCalibration)
    assert known.records.min() > 0
    assert (np.diff(known.group) >= 0).all()
    assert len(known.rate) <= 61
    assert known.noise.min() > 0


@pytest.mark.parametrize("only", ["0", "1"])
def test_where_labels_come_for_some_predictions_estimates_are_those_of_these_records(only: str) -> None:
    rng, counting = np.random.default_rng(8), binary_counting(threshold=0.5)  # an edge of the score's cells
    rows, (window, _) = rows_of(*drawn(rng, 3000)), drawn(rng, 900)
    taught = learn_from_labels(counting, labels_part(rows, counting))
    some = replace(counting, reading=replace(counting.reading, only_for=(only,)))

    found, expected = (
        by_name(measure_estimates(how, taught, records_part(rows_of(scores), how), ASK))
        for how, scores in ((some, window), (counting, window[(window >= 0.5) == (only == "1")]))
    )

    for name, measurement in expected.items():
        assert found[name].n == measurement.n
        assert found[name].value == pytest.approx(measurement.value)
        assert found[name].reason == measurement.reason


def test_of_some_predictions_of_a_column_nothing_is_estimated() -> None:
    counting = make_plain_counting(
        replace(binary_reading(), threshold=None, only_for=("0",), names=(("prediction", "decision"),))
    )
    scores, labels = drawn(np.random.default_rng(9), 1000)
    rows = rows_of(scores, labels, (scores >= 0.5).astype(np.int64))

    found = estimated(counting, rows, rows)

    assert {one.reason for one in found.values()} == {Reason.NOT_CONFIGURED}
