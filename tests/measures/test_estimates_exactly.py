"""Estimates: what labels add to them by numerical derivatives, the groups of their map by hand."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from monitor.core.array_types import Floats
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.classification.discrimination import logit_interval
from monitor.measures.measure_options import MeasureResult
from monitor.measures.score_estimates import (
    ClassCalibrations,
    EstimatedValue,
    ExpectedErrors,
    GroupedScores,
    ScoreCalibration,
    binary_results,
    estimate_absolute_error,
    estimate_accuracy,
    estimate_precision,
    estimate_recall,
    estimate_roc_auc,
    measure_estimate,
    measure_estimate_errors,
)
from monitor.measures.statistics.intervals import normal_interval
from monitor.states.grids import CategoryGrid, NumericGrid
from monitor.states.views import CellHistogram, ConfusionCounts, ScoreTable

RATE = np.asarray([0.1, 0.25, 0.6, 0.9])
RECORDS = np.asarray([40.0, 25.0, 30.0, 50.0])
NOISE = np.asarray([0.1, 0.19, 0.23, 0.1])
LEARNED = ScoreCalibration(np.arange(4), RECORDS, RATE, NOISE, decided=True)
MINUS, PLUS = np.asarray([30.0, 20.0, 5.0, 0.0]), np.asarray([0.0, 4.0, 15.0, 10.0])
WINDOW = GroupedScores(LEARNED, PLUS, MINUS)


def right(of_plus: Floats, of_minus: Floats) -> float:
    return float((of_plus.sum() + (MINUS - of_minus).sum()) / (PLUS.sum() + MINUS.sum()))


def precise(of_plus: Floats, of_minus: Floats) -> float:
    return float(of_plus.sum() / PLUS.sum())


def found(of_plus: Floats, of_minus: Floats) -> float:
    return float(of_plus.sum() / (of_plus.sum() + of_minus.sum()))


def area(of_plus: Floats, of_minus: Floats) -> float:
    positive = of_plus + of_minus
    negative = PLUS + MINUS - positive
    pairs = sum(
        p * n * (1.0 if above > below else 0.5 if above == below else 0.0)
        for above, p in enumerate(positive)
        for below, n in enumerate(negative)
    )
    return float(pairs / (positive.sum() * negative.sum()))


@pytest.mark.parametrize(
    ("estimate", "statistic"),
    [
        (estimate_accuracy, right),
        (estimate_precision, precise),
        (estimate_recall, found),
        (estimate_roc_auc, area),
    ],
)
def test_an_estimate_spreads_by_the_labels_to_come_and_by_those_that_taught(
    estimate: Callable[[GroupedScores], EstimatedValue | None], statistic: Callable[[Floats, Floats], float]
) -> None:
    got = estimate(WINDOW)

    expected = PLUS * RATE, MINUS * RATE
    value, step = statistic(*expected), 1e-6
    of_plus, of_minus = np.zeros(4), np.zeros(4)  # what one more positive label adds
    for at in range(4):
        more = np.eye(4)[at] * step
        of_plus[at] = (statistic(expected[0] + more, expected[1]) - value) / step
        of_minus[at] = (statistic(expected[0], expected[1] + more) - value) / step
    labels = PLUS * of_plus**2 + MINUS * of_minus**2
    taught = (PLUS * of_plus + MINUS * of_minus) ** 2 / RECORDS
    assert got is not None
    assert got.value == pytest.approx(value)
    assert got.variance == pytest.approx(float(NOISE @ (labels + taught)), rel=1e-4)
    assert got.square == pytest.approx(float(np.maximum(RATE, NOISE) @ (labels + taught)), rel=1e-4)
    tied = (PLUS + MINUS) ** 2 * RATE * (1 - RATE)
    positives, negatives = (PLUS + MINUS) @ RATE, (PLUS + MINUS) @ (1 - RATE)
    assert got.resolution == pytest.approx(
        tied.sum() / (2 * positives * negatives) if statistic is area else 0
    )


def test_of_nothing_nothing_is_estimated() -> None:
    nothing, no_plus = (
        GroupedScores(LEARNED, np.zeros(4), np.zeros(4)),
        GroupedScores(LEARNED, np.zeros(4), MINUS),
    )
    sure = ScoreCalibration(
        np.arange(2), np.ones(2), np.asarray([0.0, 1.0]), np.asarray([0.1, 0.1]), decided=True
    )

    assert [
        one(nothing) for one in (estimate_accuracy, estimate_precision, estimate_recall, estimate_roc_auc)
    ] == [None] * 4
    assert estimate_precision(no_plus) is None
    assert (
        estimate_roc_auc(GroupedScores(sure, np.asarray([0.0, 5.0]), np.zeros(2))) is None
    )  # all are positive
    assert estimate_roc_auc(GroupedScores(sure, np.zeros(2), np.asarray([5.0, 0.0]))) is None
    some = estimate_roc_auc(GroupedScores(sure, np.asarray([0.0, 0.4]), np.asarray([0.5, 0.0])))
    assert some is not None
    assert (some.value, some.resolution) == (1.0, 0.0)
    half = estimate_accuracy(GroupedScores(sure, np.zeros(2), np.asarray([0.3, 0.3])))
    assert half is not None
    assert half.value == pytest.approx(0.5)


def test_an_estimate_is_measured_with_an_interval_on_its_scale() -> None:
    plain = measure_estimate(EstimatedValue(0.9, 0.01, 0.02, 0.003), 40, 0.9)
    on_logits = measure_estimate(EstimatedValue(0.9, 0.01, 0.02), 40, 0.9, logistic=True)

    assert plain == Measurement(
        0.9, 40, None, normal_interval(0.9, 0.01, 0.9, lowest=0.0, highest=1.0), 0.003
    )
    assert plain.interval is not None
    assert plain.interval.upper == 1.0
    assert on_logits == Measurement(0.9, 40, None, logit_interval(0.9, 0.01, 0.9))
    for value, variance in ((0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, math.inf)):
        assert measure_estimate(
            EstimatedValue(value, variance, variance), 7, 0.9, logistic=True
        ) == Measurement(value, 7)
    low = measure_estimate(EstimatedValue(0.05, 0.01, 0.01), 40, 0.9).interval
    assert low is not None
    assert low.lower == 0.0
    assert measure_estimate(None, 7, 0.9) == Measurement.without_value(Reason.UNDEFINED, n=7)
    assert measure_estimate(None, 0, 0.9) == Measurement.without_value(Reason.NO_RECORDS, n=0)
    assert measure_estimate(Reason.TOO_FEW, 7, 0.9) == Measurement.without_value(Reason.TOO_FEW, n=7)


def test_the_map_has_groups_of_equal_parts_of_both_classes_and_a_border_at_the_threshold() -> None:
    """Twelve cells of 5 positives and 5 negatives each in 12 groups; 35 are predicted: a half group apart."""
    cells = np.full(12, 5)
    table = ScoreTable(cells, cells)

    even = ScoreCalibration.from_score_table(table, 0, decided=True)
    split = ScoreCalibration.from_score_table(table, 30, decided=True)
    undecided = ScoreCalibration.from_score_table(table, 30, decided=False)

    for one in (even, split, undecided):
        assert isinstance(one, ScoreCalibration)
    assert isinstance(even, ScoreCalibration)
    assert isinstance(split, ScoreCalibration)
    assert isinstance(undecided, ScoreCalibration)
    assert even.group.tolist() == list(range(12))  # min(60, 60 // 5)
    assert even.records.tolist() == [10.0] * 12
    drawn = (0.5 * 10 + 0.5) / 11
    assert even.noise.tolist() == pytest.approx([drawn * (1 - drawn)] * 12)
    few = ScoreTable(np.asarray([6, 3, 2, 1]), np.asarray([1, 2, 3, 6]))  # 12 and 12: 2 groups
    two, border = (ScoreCalibration.from_score_table(few, said, decided=True) for said in (0, 7))
    assert isinstance(two, ScoreCalibration)
    assert isinstance(border, ScoreCalibration)
    assert two.group.tolist() == [0, 0, 1, 1]
    assert two.rate.tolist() == pytest.approx([3 / 12, 9 / 12])
    assert border.group.tolist() == [0, 0, 1, 2]
    assert border.records.tolist() == [12.0, 5.0, 7.0]
    drawn = (3 + 0.5) / 13
    assert two.noise[0] == pytest.approx(drawn * (1 - drawn))


def test_cells_without_labels_belong_to_a_group_beside_them_and_a_small_log_has_one() -> None:
    table = ScoreTable(np.asarray([0, 10, 0, 1, 0]), np.asarray([0, 1, 0, 10, 0]))

    got = ScoreCalibration.from_score_table(table, 0, decided=True)
    ten = ScoreCalibration.from_score_table(ScoreTable(np.asarray([10]), np.asarray([10])), 0, decided=True)

    assert isinstance(got, ScoreCalibration)
    assert got.group.tolist() == [0, 0, 1, 1, 1]
    assert isinstance(ten, ScoreCalibration)
    assert (
        ScoreCalibration.from_score_table(ScoreTable(np.asarray([9]), np.asarray([99])), 0, decided=True)
        is Reason.TOO_FEW
    )
    assert (
        ScoreCalibration.from_score_table(ScoreTable(np.zeros(1, int), np.zeros(1, int)), 0, decided=True)
        is Reason.NO_LABELS
    )


@pytest.mark.parametrize(
    ("counts", "decided"),
    [
        ([[60, 0], [0, 60]], True),  # predicted are the highest 60 scores, and 60 are right
        ([[58, 2], [2, 58]], False),  # two positive labels of lower scores
        ([[40, 20], [0, 60]], True),  # 80: the cell of 20 and 0 is taken
        ([[50, 10], [0, 60]], True),  # 70: of that cell a half
        ([[60, 0], [50, 10]], True),  # 10 of the highest cell, which has positives alone
        ([[70, 0], [10, 40]], True),
        ([[50, 10], [10, 50]], False),
        ([[60, 0], [0, 40]], False),  # 20 of 120 have no prediction
        ([[60, 1], [0, 60]], True),  # one of 121 has no score: it is given away
    ],
)
def test_predictions_are_those_of_the_highest_scores_as_far_as_labels_can_tell(
    counts: list[list[int]], *, decided: bool
) -> None:
    table = ScoreTable(np.asarray([40, 20, 0, 0]), np.asarray([0, 0, 20, 40]))
    padded = np.zeros((3, 3), dtype=np.int64)
    padded[:2, :2] = counts

    got = ScoreCalibration.from_labels(table, ConfusionCounts(("0", "1"), padded))

    assert isinstance(got, ScoreCalibration)
    assert got.decided is decided


def test_a_cell_that_predictions_split_may_give_its_positives_or_its_negatives() -> None:
    """Of the cell of 10 negatives and 6 positives 8 are predicted: at most 6, at least none, are right."""
    table = ScoreTable(np.asarray([30, 10, 0]), np.asarray([4, 6, 30]))

    for right, decided in ((29, False), (30, True), (33, True), (36, True), (37, False)):
        padded = np.zeros((3, 3), dtype=np.int64)
        padded[:2, :2] = [[80 - 38 - (40 - right), 38 - right], [40 - right, right]]
        got = ScoreCalibration.from_labels(table, ConfusionCounts(("0", "1"), padded))
        assert isinstance(got, ScoreCalibration)
        assert got.decided is decided, right
    for right, decided in ((33, False), (34, True), (36, True)):  # 14 of it: at least 4 are positive
        padded = np.zeros((3, 3), dtype=np.int64)
        padded[:2, :2] = [[80 - 44 - (40 - right), 44 - right], [40 - right, right]]
        got = ScoreCalibration.from_labels(table, ConfusionCounts(("0", "1"), padded))
        assert isinstance(got, ScoreCalibration)
        assert got.decided is decided, right


def test_of_several_classes_the_most_probable_must_be_right_as_often_as_the_predicted_one() -> None:
    largest = ScoreTable(np.asarray([20, 10, 5]), np.asarray([5, 20, 40]))
    names = ("a", "b", "c")
    tables = np.asarray([[[50, 20, 0], [0, 10, 20]], [[40, 20, 10], [5, 5, 20]], [[60, 30, 10], [0, 0, 0]]])

    def learned(right: int) -> ClassCalibrations:
        padded = np.zeros((4, 4), dtype=np.int64)
        padded[0, 0], padded[0, 1] = right, 100 - right
        got = ClassCalibrations.from_labels(largest, ConfusionCounts(names, padded), names, tables)
        assert isinstance(got, ClassCalibrations)
        return got

    assert learned(65).largest.decided
    assert not learned(60).largest.decided
    of_class: dict[str, Any] = dict(learned(65).classes)
    assert list(of_class) == list(names)
    assert of_class["c"] is Reason.NO_LABELS
    # 65 are predicted as a: the highest are 20 and 30, the others lie below the border
    assert of_class["a"].group.tolist() == _group(tables[0], 65)
    assert of_class["b"].group.tolist() == _group(tables[1], 35)
    few = ClassCalibrations.from_labels(
        ScoreTable(np.asarray([9]), np.asarray([9])),
        ConfusionCounts(names, np.zeros((4, 4), int)),
        names,
        tables,
    )
    assert few is Reason.TOO_FEW


def _group(table: Any, predicted: int) -> list[int]:
    got = ScoreCalibration.from_score_table(ScoreTable(*table), predicted, decided=True)
    assert isinstance(got, ScoreCalibration)
    return [int(group) for group in got.group]


def histogram(counts: list[int]) -> CellHistogram:
    """Of a number, without missing or invalid ones."""
    edges = tuple(float(at) for at in range(1, len(counts)))
    grid = NumericGrid(edges, (), lower=-math.inf, upper=math.inf, centre=0.0, scale=0.0)
    return CellHistogram(grid, np.pad(np.asarray(counts), (0, grid.size - len(counts))))


def predicted(negative: int, positive: int) -> CellHistogram:
    grid = CategoryGrid(("0", "1"), frozenset())
    return CellHistogram(grid, np.pad(np.asarray([negative, positive]), (0, grid.size - 2)))


def test_a_regression_is_estimated_by_the_mean_of_expected_errors() -> None:
    learned = ExpectedErrors(
        np.arange(3), np.asarray([20.0, 40.0, 10.0]), np.asarray([1.0, 2.0, 4.0]), np.asarray([0.5, 1.0, 9.0])
    )
    counted = np.asarray([10, 30, 5])

    (one,) = estimate_absolute_error(learned, histogram(counted.tolist()), 0.9)
    (none,) = estimate_absolute_error(learned, histogram([0, 0, 0]), 0.9)
    (single,) = estimate_absolute_error(learned, histogram([1, 0, 0]), 0.9)

    value = (10 * 1 + 30 * 2 + 5 * 4) / 45
    variance = (
        sum(v * (n + n**2 / r) for v, n, r in zip([0.5, 1, 9], counted, [20, 40, 10], strict=True)) / 45**2
    )
    assert (one.measure, one.subject) == ("estimated_mean_absolute_error", "")
    assert (one.measurement.n, one.measurement.value) == (45, value)
    assert one.measurement.interval == normal_interval(value, float(variance), 0.9, lowest=0.0)
    assert none == MeasureResult(
        "estimated_mean_absolute_error", "", Measurement.without_value(Reason.NO_RECORDS, n=0)
    )
    assert single.measurement.value == 1.0
    assert single.measurement.interval is not None
    assert single.measurement.interval.lower == 0.0


def test_the_error_is_the_estimate_less_the_truth_with_the_interval_moved_likewise() -> None:
    now, then = (
        Measurement(0.8, 50, None, Interval(0.7, 0.85, 0.9), 0.01),
        Measurement(0.75, 40, resolution=0.002),
    )
    lost = Measurement.without_value(Reason.NOT_CONFIGURED, n=50)
    unlabelled = Measurement.without_value(Reason.NO_LABELS, n=0)

    def error(estimate: Measurement, actual: Measurement) -> Measurement:
        (one,) = measure_estimate_errors(
            [MeasureResult("estimated_roc_auc", "", estimate)], [MeasureResult("roc_auc", "", actual)]
        )
        assert (one.measure, one.subject) == ("estimated_roc_auc_error", "")
        return one.measurement

    found = error(now, then)
    assert found.value == pytest.approx(0.05)
    assert found.n == 40
    assert found.resolution == pytest.approx(0.012)
    assert found.interval is not None
    assert [found.interval.lower, found.interval.upper, found.interval.level] == pytest.approx(
        [-0.05, 0.1, 0.9]
    )
    assert error(Measurement(0.8, 50), then) == Measurement(0.8 - 0.75, 40, resolution=0.002)
    assert error(lost, then) == Measurement.without_value(Reason.NOT_CONFIGURED, n=40)
    assert error(now, unlabelled) == Measurement.without_value(Reason.NO_LABELS, n=0)
    assert error(lost, unlabelled) == Measurement.without_value(Reason.NO_LABELS, n=0)
    assert (
        list(
            measure_estimate_errors(
                [MeasureResult("estimated_roc_auc", "", now)], [MeasureResult("accuracy", "", then)]
            )
        )
        == []
    )


def test_a_binary_model_is_estimated_of_the_records_whose_labels_come() -> None:
    scores, predictions = histogram([30, 24, 20, 10]), predicted(55, 29)
    found = {one.measure: one.measurement for one in binary_results(LEARNED, scores, predictions, 0.9)}

    # 29 highest: 10 of the last cell, 19 of the one before
    plus = np.asarray([0.0, 0.0, 19.0, 10.0])
    window = GroupedScores(LEARNED, plus, np.asarray([30.0, 24.0, 1.0, 0.0]))
    assert found["estimated_roc_auc"] == measure_estimate(estimate_roc_auc(window), 84, 0.9, logistic=True)
    for name, estimate in (
        ("accuracy", estimate_accuracy),
        ("precision", estimate_precision),
        ("recall", estimate_recall),
    ):
        assert found[f"estimated_{name}"] == measure_estimate(estimate(window), 84, 0.9), name
    some = {
        one.measure: one.measurement
        for one in binary_results(LEARNED, scores, predictions, 0.9, come_for=(False, True))
    }
    assert some["estimated_accuracy"] == measure_estimate(
        estimate_accuracy(GroupedScores(LEARNED, plus, np.zeros(4))), 29, 0.9
    )
    apart = {one.measure: one.measurement for one in binary_results(LEARNED, scores, predicted(40, 20), 0.9)}
    lost = apart["estimated_accuracy"]
    assert (lost.value, lost.reason, lost.n) == (None, Reason.NOT_COUNTED, 84)
    assert apart["estimated_roc_auc"].value is not None
