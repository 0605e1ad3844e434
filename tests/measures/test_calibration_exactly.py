"""Calibration of resamples, covariance and resolution of its fit, macro means: written out again, plainly."""

import itertools
import math

import numpy as np
import pytest
from measure_states import binary_counting, scored

from monitor.core.measurement import Measurement, Reason
from monitor.measures.class_estimates import _mean
from monitor.measures.classification.calibration import RankedProbabilities, mean_results, statistics
from monitor.measures.classification.recalibration import fit_results, recalibration
from monitor.measures.estimates import Estimate
from monitor.measures.statistics.ranked import Ranked, Resamples

RNG = np.random.default_rng(5)
SCORES = RNG.beta(2, 3, 800)
LABELS = (RNG.uniform(size=800) < 0.1 + 0.7 * SCORES).astype(int)
CLIP = 2.0**-12


def ranked(scores: list[float], labels: list[int]) -> Ranked:
    counting = binary_counting()
    return Ranked.of(counting.score_table(scored(scores, labels, counting)), counting.score_bounds)


def of_log() -> RankedProbabilities:
    return RankedProbabilities.of(ranked(SCORES.tolist(), LABELS.tolist()))


def test_errors_of_resamples_are_those_of_their_groups() -> None:
    probabilities = of_log()
    resamples = Resamples.of(probabilities.ranked, 12, np.random.default_rng(3))
    records, n = probabilities.ranked.records, 800

    found = statistics(resamples, probabilities)

    cells = [*resamples.first, len(records)]
    middles = np.asarray(
        [np.average(probabilities.middle[a:b], weights=records[a:b]) for a, b in itertools.pairwise(cells)]
    )
    groups = [*resamples.group, len(middles)]
    for at in range(1 + 12):
        expected, largest, squared = 0.0, 0.0, 0.0
        for a, b in itertools.pairwise(groups):
            positive, negative = (
                side[a:b, at].astype(float) for side in (resamples.positive, resamples.negative)
            )
            both = positive + negative
            weight, rate = both.sum(), positive.sum() / both.sum()
            gap = abs(middles[a:b] @ both / weight - rate)
            noise = rate * (1 - rate) / (weight * n - 1) if at else 0.0
            expected, largest = expected + weight * gap, max(largest, gap)
            squared += weight * (gap**2 - noise)
        told = [float(found[f"{name}_calibration_error"][at]) for name in ("expected", "maximum", "squared")]
        assert told == pytest.approx([expected, largest, squared], rel=2e-5, abs=2e-7), at


def test_covariance_of_the_fit_is_the_inverse_of_its_information_and_its_resolution_the_gradients() -> None:
    cells = of_log().ranked

    fit = recalibration(cells)

    assert fit is not None
    middle, lower, upper = (
        np.log(side / (1 - side))
        for side in np.clip([(cells.lower + cells.upper) / 2, cells.lower, cells.upper], CLIP, 1 - CLIP)
    )
    a, b = fit.coefficients
    chance = 1 / (1 + np.exp(-a - b * middle))
    design = np.stack([np.ones_like(middle), middle], axis=1)
    information = design.T @ (design * (cells.records * chance * (1 - chance))[:, None])
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(information), rtol=1e-5)
    reach = np.maximum(middle - lower, upper - middle)
    for at in (0, 1):  # a record's gradient, moved by its logit's largest move, through the covariance
        row, moved = fit.covariance[at], 0.0
        for cell, x in enumerate(middle):
            p = chance[cell]
            residual = cells.positive[cell] * (1 - p) + cells.negative[cell] * p
            by_weight = abs(row[0] + row[1] * x) * abs(b) * cells.records[cell] * p * (1 - p)
            moved += reach[cell] * (by_weight + abs(row[1]) * residual)
        assert fit.off[at] == pytest.approx(moved, rel=1e-4)


@pytest.mark.parametrize(
    ("scores", "labels", "reason"),
    [
        ([], [], Reason.NO_LABELS),
        ([0.2, 0.4], [1, 1], Reason.ONE_CLASS),
        ([0.2, 0.4], [0, 1], Reason.UNDEFINED),
        ([0.2, 0.4], [1, 0], Reason.UNDEFINED),
        ([0.2, 0.4, 0.4], [0, 0, 1], Reason.UNDEFINED),
    ],
)
def test_both_coefficients_say_why_there_is_no_fit_and_of_how_many(
    scores: list[float], labels: list[int], reason: Reason
) -> None:
    found = list(fit_results(ranked(scores, labels), 0.95))

    assert [one.measure for one in found] == ["calibration_slope", "calibration_intercept"]
    assert [one.measurement for one in found] == [Measurement.absent(reason, n=len(labels))] * 2


def test_coefficients_and_means_are_of_all_records() -> None:
    probabilities = of_log()
    found = [*fit_results(probabilities.ranked, 0.95), *mean_results(probabilities)]

    assert [one.measurement.n for one in found] == [800] * 4


def test_without_a_record_neither_mean_is_there() -> None:
    found = list(mean_results(RankedProbabilities.of(ranked([], []))))

    assert [(one.measure, one.subject) for one in found] == [
        ("mean_predicted_probability", ""),
        ("calibration_in_the_large", ""),
    ]
    assert [one.measurement for one in found] == [Measurement.absent(Reason.NO_LABELS, n=0)] * 2


def test_a_mean_of_two_records_has_the_interval_of_their_variance_and_one_record_has_none() -> None:
    mean, large = mean_results(RankedProbabilities.of(ranked([0.25, 0.75], [0, 1])))
    one_mean, _ = mean_results(RankedProbabilities.of(ranked([0.25], [0])))

    interval = mean.measurement.interval
    assert interval is not None
    middles = RankedProbabilities.of(ranked([0.25, 0.75], [0, 1])).middle
    half = 1.959963985 * math.sqrt(np.var(middles) / 1)  # by n - 1, of which there is one
    assert mean.measurement.value == pytest.approx(np.mean(middles))
    assert interval.lower == pytest.approx(max(0.0, np.mean(middles) - half))
    assert interval.upper == pytest.approx(min(1.0, np.mean(middles) + half))
    assert large.measurement.value == pytest.approx(np.mean(middles) - 0.5)
    assert one_mean.measurement.interval is None


ESTIMATES = (
    Estimate(0.6, variance=0.01, square=0.04, resolution=0.002),
    Estimate(0.9, variance=0.03, square=0.05, resolution=0.004),
)


def test_a_mean_over_classes_adds_up_squares_where_records_bear_on_all_and_variances_where_on_one() -> None:
    recall, precision = (_mean(ESTIMATES, precise=precise) for precise in (False, True))

    assert isinstance(recall, Estimate)
    assert isinstance(precision, Estimate)
    for mean in (recall, precision):
        assert mean.value == pytest.approx(0.75)
        assert mean.resolution == pytest.approx(0.003)
        assert mean.square == pytest.approx(0.09 / 4)
    assert recall.variance == pytest.approx(0.09 / 4)
    assert precision.variance == pytest.approx(0.04 / 4)


def test_a_mean_over_classes_leaves_out_what_labels_do_not_know_and_tells_another_reason() -> None:
    first, second = ESTIMATES

    assert _mean([first, Reason.NO_LABELS, second], precise=False) == _mean([first, second], precise=False)
    assert _mean([first, Reason.TOO_FEW], precise=False) is Reason.TOO_FEW
    assert _mean([Reason.NO_LABELS], precise=False) is None
    never = _mean([first, None], precise=True)
    assert isinstance(never, Estimate)
    assert never.value == pytest.approx(0.3)
    assert never.variance == pytest.approx(0.01 / 4)
