"""Nowcasts' variances, written out again record by record: a loop over weights, no cells."""

import math
from dataclasses import replace

import numpy as np
import pytest
from measure_states import binary_counting, by_name, number_counting, numbered, scored

from monitor.core.array_types import Floats
from monitor.core.measurement import Measurement, Reason
from monitor.measures.classification.discrimination import auc_interval
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.nowcast import absent_nowcasts, count_class_labels, nowcast_results, weight_labels
from monitor.measures.statistics.intervals import normal_interval, score_bounds
from monitor.records.labels.error_terms import ERRORS
from monitor.states.counters import Counters

RNG = np.random.default_rng(21)
SHARE = np.asarray([[0.9, 0.3], [1.0, 0.5], [0.4, 0.25]])
COVARIANCE = np.asarray([[0.004, 0.001], [0.001, 0.02]])
COUNTING = binary_counting()
LABELS = [(RNG.random(150) < 0.35).astype(int) for _ in SHARE]
SCORES = [np.clip(RNG.normal(0.35 + 0.2 * one, 0.2), 0.001, 0.999).round(3) for one in LABELS]
SCORE, LABEL = np.concatenate(SCORES), np.concatenate(LABELS)
WEIGHT = np.concatenate([1 / share[one] for share, one in zip(SHARE, LABELS, strict=True)])
PIECES = [scored(score.tolist(), one.tolist(), COUNTING) for score, one in zip(SCORES, LABELS, strict=True)]
LEVEL = 0.9


def measured(covariance: Floats, options: MeasureOptions | None = None) -> dict[str, Measurement]:
    asked = options or MeasureOptions(level=LEVEL)
    return by_name(list(nowcast_results(weight_labels(COUNTING, PIECES, SHARE, covariance), asked)))


def of_totals(pull: Floats, covariance: Floats) -> float:
    return float(pull @ covariance @ pull)


@pytest.mark.parametrize("covariance", [np.zeros((2, 2)), COVARIANCE])
def test_the_mean_of_a_loss_spreads_by_its_weights_and_by_the_classes_totals(covariance: Floats) -> None:
    found = measured(covariance)

    clip = np.clip(SCORE, 1e-12, 1 - 1e-12)
    losses = {
        "brier_score": (SCORE - LABEL) ** 2,
        "log_loss": -np.where(LABEL == 1, np.log(clip), np.log(1 - clip)),
    }
    for name, loss in losses.items():
        n, value = WEIGHT.sum(), np.average(loss, weights=WEIGHT)
        noise = sum(weight**2 * (one - value) ** 2 for weight, one in zip(WEIGHT, loss, strict=True)) / n**2
        pull = np.asarray([(WEIGHT * (loss - value))[at == LABEL].sum() / n for at in (0, 1)])
        expected = normal_interval(value, noise + of_totals(pull, covariance), LEVEL, lowest=0.0)
        assert expected is not None
        interval = found[name].interval
        assert interval is not None
        assert (found[name].n, interval.level) == (450, LEVEL)
        assert found[name].value == pytest.approx(value, rel=1e-9)
        assert [interval.lower, interval.upper] == pytest.approx([expected.lower, expected.upper], rel=1e-7)


def test_the_area_has_delongs_variance_of_weighed_records() -> None:
    found = measured(np.zeros((2, 2)))["roc_auc"]

    sides = [(SCORE[at == LABEL], WEIGHT[at == LABEL]) for at in (0, 1)]
    (low, of_low), (high, of_high) = sides
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    value = float(of_high @ wins @ of_low) / (of_high.sum() * of_low.sum())
    of_each = (wins @ of_low / of_low.sum(), of_high @ wins / of_high.sum())
    variance = sum(
        float((weight**2 * (component - value) ** 2).sum()) / weight.sum() ** 2
        for weight, component in zip((of_high, of_low), of_each, strict=True)
    )
    sizes = [round(weight.sum() ** 2 / (weight**2).sum()) for weight in (of_high, of_low)]
    expected = auc_interval(value, variance, (sizes[0], sizes[1]), LEVEL)
    assert expected is not None
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.interval is not None
    assert [found.interval.lower, found.interval.upper] == pytest.approx(
        [expected.lower, expected.upper], abs=1e-9
    )
    tied = (high[:, None] == low) * of_high[:, None] * of_low
    assert found.resolution == pytest.approx(tied.sum() / 2 / (of_high.sum() * of_low.sum()))
    assert found.interval.level == LEVEL


def test_an_area_of_few_large_weights_is_of_as_many_records_as_they_are_worth() -> None:
    """A positive of weight 4 and one of weight 1 are worth 25 / 17, about 1: all right, by hand."""
    pieces = [scored([0.2, 0.3, 0.9], [0, 0, 1], COUNTING), scored([0.1, 0.8], [0, 1], COUNTING)]
    share = np.asarray([[1.0, 0.25], [1.0, 1.0]])

    found = by_name(
        list(nowcast_results(weight_labels(COUNTING, pieces, share, np.zeros((2, 2))), MeasureOptions()))
    )["roc_auc"]

    expected = auc_interval(1.0, 0.0, (1, 3), 0.95)
    assert (found.value, found.n, found.interval) == (1.0, 5, expected)


@pytest.mark.parametrize("covariance", [np.zeros((2, 2)), COVARIANCE])
@pytest.mark.parametrize("name", ["accuracy", "error_rate", "precision", "recall", "base_rate"])
def test_a_rate_is_worth_as_many_records_as_have_its_variance(name: str, covariance: Floats) -> None:
    found = measured(covariance)[name]

    said = SCORE >= 0.5
    having, of = {
        "accuracy": (said == LABEL, np.ones(450, dtype=bool)),
        "error_rate": (said != LABEL, np.ones(450, dtype=bool)),
        "precision": (said & (LABEL == 1), said),
        "recall": (said & (LABEL == 1), LABEL == 1),
        "base_rate": (LABEL == 1, np.ones(450, dtype=bool)),
    }[name]
    below = WEIGHT[of].sum()
    value = WEIGHT[having].sum() / below
    influence = (having.astype(float) - value * of) / below
    pull = np.asarray([(influence * WEIGHT)[at == LABEL].sum() for at in (0, 1)])
    variance = float((influence**2 * WEIGHT**2).sum()) + of_totals(pull, covariance)
    bounds = score_bounds(value, value * (1 - value) / variance, 1.6448536269514722)
    assert found.value == pytest.approx(value)
    assert found.n == of.sum()
    assert found.interval is not None
    assert found.interval.level == LEVEL
    assert [found.interval.lower, found.interval.upper] == pytest.approx(list(bounds))


def test_f1_and_profit_spread_by_their_derivatives() -> None:
    profit = {("1", "1"): 7.0, ("0", "1"): -3.0, ("1", "0"): -1.0}
    found = measured(COVARIANCE, MeasureOptions(level=LEVEL, profit=profit))

    said = (SCORE >= 0.5).astype(int)

    def f1(weight: Floats) -> float:
        hit = weight[(said == 1) & (LABEL == 1)].sum()
        return float(2 * hit / (weight[said == 1].sum() + weight[LABEL == 1].sum()))

    amount = np.asarray([profit.get((str(a), str(b)), 0.0) for a, b in zip(LABEL, said, strict=True)])

    def mean(weight: Floats) -> float:
        return float(np.average(amount, weights=weight))

    for name, statistic in (("f1", f1), ("profit_per_record", mean)):
        value = statistic(WEIGHT)
        step = 1e-6
        each = np.asarray(
            [statistic(WEIGHT * np.where(np.arange(450) == at, 1 + step, 1)) for at in range(450)]
        )
        slope = (each - value) / step  # with the logarithm of a record's weight
        pull = np.asarray([slope[at == LABEL].sum() for at in (0, 1)])
        variance = float((slope**2).sum()) + of_totals(pull, COVARIANCE)
        if name == "f1":
            bounds = score_bounds(value, value * (1 - value) / variance, 1.6448536269514722)
        else:
            half = 1.6448536269514722 * math.sqrt(variance)
            bounds = value - half, value + half
        interval = found[name].interval
        assert interval is not None, name
        assert (interval.level, found[name].n) == (LEVEL, 450), name
        assert found[name].value == pytest.approx(value), name
        assert [interval.lower, interval.upper] == pytest.approx(list(bounds), rel=2e-3), name


@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("covariance", [0.0, 0.01])
def test_means_of_numbers_are_in_the_labels_unit_and_only_the_bias_may_be_negative(
    scale: float, covariance: float
) -> None:
    counting, rng = number_counting(scale), np.random.default_rng(22)
    parts = [(rng.normal(10, 3, 60), share) for share in (0.9, 0.4)]
    errors = [rng.normal(-0.3, 1.5, 60) for _ in parts]
    pieces = [numbered(true + error, true, counting) for (true, _), error in zip(parts, errors, strict=True)]
    error = np.concatenate([(true + one) - true for (true, _), one in zip(parts, errors, strict=True)])
    weight = np.repeat([1 / share for _, share in parts], 60)
    share = np.asarray([[each] for _, each in parts])

    weights = weight_labels(counting, pieces, share, np.asarray([[covariance]]))
    found = by_name(list(nowcast_results(weights, MeasureOptions(level=LEVEL))))

    n = weight.sum()
    for name, term in (("mean_absolute_error", np.abs(error)), ("bias", error), ("squared", error**2)):
        value = np.average(term, weights=weight)
        variance = float((weight**2 * (term - value) ** 2).sum()) / n**2  # the pull of one class is 0
        expected = normal_interval(value, variance, LEVEL, lowest=-math.inf if name == "bias" else 0.0)
        assert expected is not None
        if name == "squared":
            one, half = found["root_mean_squared_error"], (expected.upper - value) / (2 * math.sqrt(value))
            bounds = [math.sqrt(value) - half, math.sqrt(value) + half]
            value = math.sqrt(value)
        else:
            one, bounds = found[name], [expected.lower, expected.upper]
        assert one.value == pytest.approx(value), name
        assert one.interval is not None, name
        assert [one.interval.lower, one.interval.upper] == pytest.approx(bounds, rel=1e-6), name
        assert (one.n, one.interval.level) == (120, LEVEL), name
    assert found["bias"].interval is not None
    assert found["bias"].interval.lower < 0


def test_a_square_that_cannot_be_summed_costs_the_interval_and_a_number_the_value() -> None:
    counting = number_counting()
    errors, share = [1.0, 2.0, 3.0], np.ones((1, 1))
    block = counting.labels_layout.block_slice("errors")

    def with_out_of_range(term: str) -> dict[str, Measurement]:
        dense = numbered([10.0 + one for one in errors], [10.0] * 3, counting).dense_counts()
        dense[block.start + len(ERRORS) + list(ERRORS).index(term)] = 1
        piece = Counters.from_dense(counting.labels_layout, dense)
        return by_name(
            list(nowcast_results(weight_labels(counting, [piece], share, np.zeros((1, 1))), MeasureOptions()))
        )

    squares = with_out_of_range("squared_error")
    assert (squares["mean_absolute_error"].value, squares["mean_absolute_error"].interval) == (2.0, None)
    assert squares["mean_absolute_error"].n == 3
    assert squares["root_mean_squared_error"] == Measurement.without_value(Reason.OUT_OF_RANGE, n=3)
    assert with_out_of_range("absolute_error")["mean_absolute_error"] == Measurement.without_value(
        Reason.OUT_OF_RANGE, n=3
    )


def test_an_absent_nowcast_has_its_names_the_reason_and_the_labels() -> None:
    for counting in (COUNTING, number_counting()):
        found = absent_nowcasts(counting, Reason.TOO_EARLY, MeasureOptions(), n=9)

        assert {one.measurement for one in found} == {Measurement.without_value(Reason.TOO_EARLY, n=9)}
        none = np.zeros((max(1, len(counting.reading.classes)),) * 2)
        piece = Counters.make_empty(counting.labels_layout)
        there = nowcast_results(
            weight_labels(counting, [piece], np.ones((1, len(none))), none), MeasureOptions()
        )
        assert [one.measure for one in found] == [one.measure for one in there]


def test_labels_of_other_classes_than_the_models_belong_to_no_class() -> None:
    piece = scored([0.2, 0.6, 0.7, 0.8], [0, 1, 1, "neither"], COUNTING)

    assert count_class_labels(COUNTING, [piece, PIECES[0]])[0].tolist() == [1, 2]
    assert count_class_labels(COUNTING, [piece, PIECES[0]]).dtype == np.int64
    assert count_class_labels(
        number_counting(), [numbered([1.0, 2.0], [1.0, 3.0], number_counting())]
    ).tolist() == [[2]]


def test_a_class_that_is_all_right_has_an_interval_all_the_same() -> None:
    piece = scored([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], COUNTING)
    options = replace(MeasureOptions(), level=LEVEL)

    found = by_name(
        list(nowcast_results(weight_labels(COUNTING, [piece], np.ones((1, 2)), np.zeros((2, 2))), options))
    )

    lower = score_bounds(1.0, 2.0, 1.6448536269514722)[0]
    for name in ("average_class_accuracy", "recall_macro", "harmonic_class_accuracy", "f1"):
        interval = found[name].interval
        assert interval is not None, name
        assert (interval.upper, interval.level) == (1.0, LEVEL), name
    average = found["average_class_accuracy"].interval
    assert average is not None
    assert average.lower == pytest.approx(lower)
