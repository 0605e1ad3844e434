"""Calibration of resamples, covariance and resolution of its fit, macro means: written out again, plainly."""

import itertools
import math

import numpy as np
import pytest
from measure_states import binary_counting, scored

from monitor.core.measurement import Measurement, Reason
from monitor.measures.class_estimates import _average_class_estimates
from monitor.measures.classification.calibration import (
    RankedProbabilities,
    ReliabilityGroups,
    brier_skill_score,
    fit_recalibration,
    fit_results,
    has_too_few_records,
    measure_grouped_calibration,
    measure_mean_probability,
    measure_resampled_calibration,
    simulate_calibrated_gaps,
    simulate_critical_errors,
)
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.score_estimates import EstimatedValue
from monitor.measures.statistics.ranked_scores import (
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    merge_score_cells,
)

RNG = np.random.default_rng(5)
SCORES = RNG.beta(2, 3, 800)
LABELS = (RNG.uniform(size=800) < 0.1 + 0.7 * SCORES).astype(int)
CLIP = 2.0**-12


def ranked(scores: list[float], labels: list[int]) -> RankedScores:
    counting = binary_counting()
    return RankedScores.from_table(
        counting.score_table(scored(scores, labels, counting)), counting.score_bounds
    )


def of_log() -> RankedProbabilities:
    return RankedProbabilities.from_ranked(ranked(SCORES.tolist(), LABELS.tolist()))


def test_errors_of_resamples_are_those_of_their_groups() -> None:
    probabilities = of_log()
    resamples = ScoreResamples.from_ranked(probabilities.ranked, 12, np.random.default_rng(3))
    records, n = probabilities.ranked.records, 800

    found = measure_resampled_calibration(resamples, probabilities)

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

    fit = fit_recalibration(cells)

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
    assert [one.measurement for one in found] == [Measurement.without_value(reason, n=len(labels))] * 2


def test_coefficients_and_means_are_of_all_records() -> None:
    probabilities = of_log()
    found = [*fit_results(probabilities.ranked, 0.95), *measure_mean_probability(probabilities)]

    assert [one.measurement.n for one in found] == [800] * 4


def test_without_a_record_neither_mean_is_there() -> None:
    found = list(measure_mean_probability(RankedProbabilities.from_ranked(ranked([], []))))

    assert [(one.measure, one.subject) for one in found] == [
        ("mean_predicted_probability", ""),
        ("calibration_in_the_large", ""),
    ]
    assert [one.measurement for one in found] == [Measurement.without_value(Reason.NO_LABELS, n=0)] * 2


def test_a_mean_of_two_records_has_the_interval_of_their_variance_and_one_record_has_none() -> None:
    mean, large = measure_mean_probability(RankedProbabilities.from_ranked(ranked([0.25, 0.75], [0, 1])))
    one_mean, _ = measure_mean_probability(RankedProbabilities.from_ranked(ranked([0.25], [0])))

    interval = mean.measurement.interval
    assert interval is not None
    middles = RankedProbabilities.from_ranked(ranked([0.25, 0.75], [0, 1])).middle
    half = 1.959963985 * math.sqrt(np.var(middles) / 1)  # by n - 1, of which there is one
    assert mean.measurement.value == pytest.approx(np.mean(middles))
    assert interval.lower == pytest.approx(max(0.0, np.mean(middles) - half))
    assert interval.upper == pytest.approx(min(1.0, np.mean(middles) + half))
    assert large.measurement.value == pytest.approx(np.mean(middles) - 0.5)
    assert one_mean.measurement.interval is None


ESTIMATES = (
    EstimatedValue(0.6, variance=0.01, square=0.04, resolution=0.002),
    EstimatedValue(0.9, variance=0.03, square=0.05, resolution=0.004),
)


def test_a_mean_over_classes_adds_up_squares_where_records_bear_on_all_and_variances_where_on_one() -> None:
    recall, precision = (_average_class_estimates(ESTIMATES, precise=precise) for precise in (False, True))

    assert isinstance(recall, EstimatedValue)
    assert isinstance(precision, EstimatedValue)
    for mean in (recall, precision):
        assert mean.value == pytest.approx(0.75)
        assert mean.resolution == pytest.approx(0.003)
        assert mean.square == pytest.approx(0.09 / 4)
    assert recall.variance == pytest.approx(0.09 / 4)
    assert precision.variance == pytest.approx(0.04 / 4)


def test_a_mean_over_classes_leaves_out_what_labels_do_not_know_and_tells_another_reason() -> None:
    first, second = ESTIMATES

    assert _average_class_estimates(
        [first, Reason.NO_LABELS, second], precise=False
    ) == _average_class_estimates([first, second], precise=False)
    assert _average_class_estimates([first, Reason.TOO_FEW], precise=False) is Reason.TOO_FEW
    assert _average_class_estimates([Reason.NO_LABELS], precise=False) is None
    never = _average_class_estimates([first, None], precise=True)
    assert isinstance(never, EstimatedValue)
    assert never.value == pytest.approx(0.3)
    assert never.variance == pytest.approx(0.01 / 4)


def test_the_skill_spreads_as_a_function_of_the_means_of_loss_and_label() -> None:
    counting = binary_counting()
    counters = scored(SCORES.tolist(), LABELS.tolist(), counting)
    probabilities = of_log()

    found = brier_skill_score(probabilities, counting.losses_view(counters), 0.9)

    cells = probabilities.ranked
    middle = np.concatenate(
        [np.repeat(probabilities.middle, side.astype(int)) for side in (cells.negative, cells.positive)]
    )
    label = np.repeat([0.0, 1.0], [cells.negatives, cells.positives])
    brier, r = float(counting.losses_view(counters).exact_mean("brier")), LABELS.mean()

    def skill(loss: float, rate: float) -> float:
        return 1 - loss / (rate * (1 - rate))

    step = 1e-6
    by_loss = (skill(brier + step, r) - skill(brier - step, r)) / (2 * step)
    by_label = (skill(brier, r + step) - skill(brier, r - step)) / (2 * step)
    each = by_loss * ((middle - label) ** 2 - brier) + by_label * (label - r)
    half = 1.6448536269514722 * math.sqrt(float((each**2).sum()) / 800 / 799)
    assert found.n == 800
    assert found.value == pytest.approx(skill(brier, r))
    assert found.interval is not None
    assert [found.interval.lower, found.interval.upper, found.interval.level] == pytest.approx(
        [skill(brier, r) - half, skill(brier, r) + half, 0.9]
    )


def test_no_skill_is_above_1() -> None:
    counting = binary_counting()
    scores, labels = [0.001] * 30 + [0.999] * 30 + [0.4], [0] * 30 + [1] * 30 + [1]
    counters = scored(scores, labels, counting)

    found = brier_skill_score(
        RankedProbabilities.from_ranked(ranked(scores, labels)), counting.losses_view(counters), 0.999
    )

    assert found.interval is not None
    assert found.interval.upper == 1.0


def test_calibration_errors_can_be_off_by_half_a_cell_and_their_table_ascends() -> None:
    probabilities = of_log()
    found = list(measure_grouped_calibration(probabilities, None, {}, MeasureOptions(), None))

    told = {one.measure: one.measurement for one in found}
    first, group = merge_score_cells(probabilities.ranked)
    starts = [*first[group], len(probabilities.middle)]
    records, half, middle = probabilities.ranked.records, probabilities.half, probabilities.middle
    errors, rows = [], []
    for a, b in itertools.pairwise(starts):
        n = records[a:b].sum()
        mean, rate = records[a:b] @ middle[a:b] / n, probabilities.ranked.positive[a:b].sum() / n
        errors.append((n / 800, abs(mean - rate), records[a:b] @ half[a:b] / n, rate * (1 - rate) / (n - 1)))
        rows.append((probabilities.ranked.lower[b - 1], probabilities.ranked.upper[a], n, mean, rate))
    weight, gap, off, noise = np.asarray(errors).T
    assert set(told) == {
        "expected_calibration_error",
        "maximum_calibration_error",
        "squared_calibration_error",
    }
    assert [
        told[f"{name}_calibration_error"].value for name in ("expected", "maximum", "squared")
    ] == pytest.approx([weight @ gap, gap.max(), weight @ (gap**2 - noise)])
    assert [
        told[f"{name}_calibration_error"].resolution for name in ("expected", "maximum", "squared")
    ] == pytest.approx([weight @ off, off.max(), weight @ (2 * gap * off + off**2)])
    assert {one.n for one in told.values()} == {800}
    assert {one.interval for one in told.values()} == {None}
    table = told["expected_calibration_error"].detail
    assert table is not None
    assert np.asarray(table.rows, dtype=float) == pytest.approx(np.asarray(rows[::-1]), abs=1e-6)
    assert [told[f"{name}_calibration_error"].detail for name in ("maximum", "squared")] == [None, None]


def test_intervals_of_calibration_errors_are_basic_ones_within_what_each_can_be() -> None:
    probabilities = of_log()
    resamples = ScoreResamples.from_ranked(probabilities.ranked, 200, np.random.default_rng(3))
    names = [f"{name}_calibration_error" for name in ("expected", "maximum", "squared")]
    wide = {name: ResampleSpread(merged=0.0, low=-1.5, high=1.5, level=0.9) for name in names}

    found = measure_grouped_calibration(probabilities, resamples, wide, MeasureOptions(), None)

    bounds = {
        one.measure: [
            one.measurement.interval.lower,
            one.measurement.interval.upper,
            one.measurement.interval.level,
        ]
        for one in found
        if one.measurement.interval is not None
    }
    assert bounds == {names[0]: [0.0, 1.0, 0.9], names[1]: [0.0, 1.0, 0.9], names[2]: [-1.0, 1.0, 0.9]}


def test_errors_of_few_records_are_absent_by_name() -> None:
    for labels, reason in (([], Reason.NO_LABELS), ([0, 1] * 74, Reason.TOO_FEW)):
        scores = np.linspace(0.1, 0.9, len(labels)).tolist()
        found = list(
            measure_grouped_calibration(
                RankedProbabilities.from_ranked(ranked(scores, labels)), None, {}, MeasureOptions(), None
            )
        )

        assert [one.measure for one in found] == [
            *("expected_calibration_error", "maximum_calibration_error", "squared_calibration_error"),
            *("expected_calibration_error_critical", "maximum_calibration_error_critical"),
        ]
        assert {one.measurement for one in found} == {Measurement.without_value(reason, n=len(labels))}
    assert (has_too_few_records(149), has_too_few_records(150)) == (True, False)


def test_means_of_probabilities_have_intervals_within_what_they_can_be() -> None:
    low, of_low = measure_mean_probability(
        RankedProbabilities.from_ranked(ranked([0.001] * 9 + [0.9], [1] * 10)), 0.999
    )
    high, of_high = measure_mean_probability(
        RankedProbabilities.from_ranked(ranked([0.999] * 9 + [0.1], [0] * 10)), 0.999
    )
    equal, exact = measure_mean_probability(
        RankedProbabilities.from_ranked(ranked([0.3] * 5, [0, 0, 0, 0, 0])), 0.9
    )

    bounds = [one.measurement.interval for one in (low, of_low, high, of_high)]
    assert [one and one.lower for one in bounds[:2]] == [0.0, -1.0]
    assert [one and one.upper for one in bounds[2:]] == [1.0, 1.0]
    assert (equal.measurement.interval, exact.measurement.interval) == (None, None)


@pytest.mark.parametrize("share", [0.3, 0.0005])
def test_gaps_of_calibrated_scores_have_the_means_and_spreads_of_binomial_ones(share: float) -> None:
    """Of a rare class records are drawn one by one, of others from the normal limit."""
    records, mean = np.asarray([400, 600]), np.asarray([share, 1 - share])
    reliability = ReliabilityGroups(
        *(records, records // 2, mean, np.zeros(2), records * mean * (1 - mean), np.zeros(2), np.ones(2))
    )

    gaps = simulate_calibrated_gaps(reliability, 4_000, np.random.default_rng(6))

    deviation = np.sqrt(mean * (1 - mean) / records)
    assert gaps.shape == (2, 4_000)
    assert gaps.mean(axis=1) / deviation == pytest.approx(np.zeros(2), abs=0.08)
    assert gaps.std(axis=1) == pytest.approx(deviation, rel=0.06)
    if share < 0.01:  # of none, one, two records
        assert (mean[:1, None] - gaps[:1]) * 400 == pytest.approx(
            np.rint((mean[:1, None] - gaps[:1]) * 400), abs=1e-3
        )


def test_critical_errors_are_quantiles_of_calibrated_gaps() -> None:
    probabilities = of_log()
    first, group = merge_score_cells(probabilities.ranked)
    reliability = ReliabilityGroups.from_cells(probabilities, first[group])

    found = list(simulate_critical_errors(reliability, 800, 400, np.random.default_rng(7), 0.9))

    gaps = np.abs(simulate_calibrated_gaps(reliability, 400, np.random.default_rng(7)))
    expected = [np.quantile(reliability.records / 800 @ gaps, 0.9), np.quantile(gaps.max(axis=0), 0.9)]
    assert [one.measure for one in found] == [
        "expected_calibration_error_critical",
        "maximum_calibration_error_critical",
    ]
    assert [one.measurement.value for one in found] == pytest.approx(expected, rel=1e-5)
    assert [one.measurement.n for one in found] == [800, 800]
