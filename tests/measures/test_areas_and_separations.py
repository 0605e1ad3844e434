"""Areas under ROC curves and K-S separations of a few cells, by hand and by the literature's formulas."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from measure_states import measures_of_scores
from scipy import optimize, special, stats

from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.classification.discrimination import (
    FEW,
    auc_interval,
    gini_coefficient,
    ks_critical,
    logit_interval,
    measure_full_discrimination,
    measure_resampled_separation,
    newcombe_auc_interval,
    roc_auc,
    separation_curve,
    whole_roc_curve,
    whole_separation_curve,
)
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.ranked_scores import RankedScores, ResampleSpread, ScoreResamples
from monitor.states.views import ScoreTable

BOUNDS = np.array([-math.inf, 0.1, 0.25, 0.5, 0.8, math.inf])  # the ends of five cells
TABLE = ScoreTable(np.array([6, 4, 5, 4, 1]), np.array([1, 2, 1, 5, 3]))  # 20 negatives, 12 positives
RANKED = RankedScores.from_table(TABLE, BOUNDS)
AWAY = [Fraction(at, 12) - Fraction(below, 20) for at, below in ((1, 6), (3, 10), (4, 15), (9, 19))]
LEVEL = 0.9


def separations(
    scores: RankedScores, spread: ResampleSpread | None = None
) -> tuple[Measurement, Measurement]:
    """The K-S separation and its threshold."""
    spreads, edges = {"ks_separation": spread} if spread else {}, np.array([0, len(scores.lower) - 1])
    results = measure_full_discrimination(scores, MeasureOptions(), spreads, edges)
    found = {(result.measure, result.subject): result.measurement for result in results}
    return found["ks_separation", ""], found["ks_separation_threshold", ""]


def test_the_area_is_that_of_all_pairs_with_delongs_variance() -> None:
    negatives, positives = (np.repeat(np.arange(5), side) for side in (TABLE.negative, TABLE.positive))
    pairs = (positives[:, None] > negatives) + 0.5 * (positives[:, None] == negatives)
    value = pairs.mean()
    variance = pairs.mean(axis=1).var(ddof=1) / 12 + pairs.mean(axis=0).var(ddof=1) / 20

    found = roc_auc(TABLE, LEVEL)

    assert found.value == pytest.approx(value)
    assert found.n == 32
    assert found.interval == logit_interval(value, variance, LEVEL)
    assert found.resolution == np.count_nonzero(pairs == 0.5) / (2 * pairs.size)
    assert gini_coefficient(found) == Measurement(
        2 * value - 1,
        32,
        None,
        Interval(2 * found.interval.lower - 1, 2 * found.interval.upper - 1, LEVEL),
        2 * found.resolution,
    )


def test_two_of_a_class_have_a_variance_and_one_has_newcombes_interval_alone() -> None:
    two = roc_auc(ScoreTable(np.array([1, 1]), np.array([1, 1])), LEVEL)

    assert two.interval == newcombe_auc_interval(0.5, 2, 2, LEVEL)
    assert auc_interval(0.5, 0.01, (FEW, FEW), LEVEL) == logit_interval(0.5, 0.01, LEVEL)
    for value, variance, sizes in (
        (0.5, 0.01, (FEW - 1, FEW)),
        (0.5, 0.0, (FEW, FEW)),
        (1.0, 0.01, (FEW, FEW)),
        (0.0, 0.01, (FEW, FEW)),
    ):
        assert auc_interval(value, variance, sizes, LEVEL) == newcombe_auc_interval(value, *sizes, LEVEL)


@pytest.mark.parametrize("value", [0.0, 0.3, 0.72, 1.0])
def test_newcombes_bounds_solve_his_equation(value: float) -> None:
    positives, negatives, z = 7, 15, stats.norm.ppf(0.95)
    star = (positives + negatives) / 2 - 1

    def away(a: float) -> float:
        variance = a * (1 - a) * (1 + star * (1 - a) / (2 - a) + star * a / (1 + a)) / (positives * negatives)
        return (value - a) ** 2 - z**2 * variance

    found = newcombe_auc_interval(value, positives, negatives, LEVEL)

    lower = 0.0 if value == 0 else optimize.brentq(away, 1e-9, value - 1e-9)
    upper = 1.0 if value == 1 else optimize.brentq(away, value + 1e-9, 1 - 1e-12)
    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=1e-8)
    assert found.level == LEVEL


def test_the_separation_is_reached_at_the_upper_edge_of_the_cell_below() -> None:
    spread = ResampleSpread(merged=0.40, low=0.30, high=0.55, level=LEVEL)
    separation, threshold = separations(RANKED, spread)

    value = float(max(abs(one) for one in AWAY))
    within = max(
        Fraction(positive, 12) - Fraction(int(below), 20) + 0
        for positive, below in zip((1, 3, 4, 9, 12), (0, 6, 10, 15, 19), strict=True)
    )
    other = max(
        Fraction(int(above), 20) - Fraction(before, 12)
        for above, before in zip((6, 10, 15, 19, 20), (0, 1, 3, 4, 9), strict=True)
    )
    assert separation.n == 32
    assert separation.value == pytest.approx(value)
    assert separation.resolution == pytest.approx(float(max(within, other)) - value)
    assert separation.interval == spread.basic_interval(separation.value or 0.0, 0.0, 1.0)
    assert threshold == Measurement(0.5, 32, resolution=0.25)
    assert separations(RANKED)[0] == replace(separation, interval=None)


def test_a_separation_of_nothing_has_no_threshold_and_one_class_none_of_both() -> None:
    alike = RankedScores.from_table(ScoreTable(np.array([2, 2]), np.array([2, 2])), BOUNDS[1:4])
    separation, threshold = separations(alike)
    single = RankedScores.from_table(ScoreTable(np.array([2, 2]), np.array([0, 0])), BOUNDS[1:4])

    assert separation.value == 0
    assert threshold == Measurement.without_value(Reason.UNDEFINED, n=8)
    assert separations(single) == (Measurement.without_value(Reason.ONE_CLASS, n=4),) * 2


def test_an_open_lowest_cell_has_no_width() -> None:
    best = RankedScores.from_table(
        ScoreTable(np.array([9, 1]), np.array([1, 9])), np.array([-math.inf, 0.4, math.inf])
    )
    _, threshold = separations(best)

    assert threshold == Measurement(0.4, 20, resolution=0.0)


def test_the_critical_value_is_kolmogorovs() -> None:
    expected = special.kolmogi(1 - LEVEL) * math.sqrt(1 / 12 + 1 / 20)

    assert ks_critical(12, 20, LEVEL) == Measurement(expected, 32)
    assert ks_critical(1, 1, LEVEL).value == 1.0
    assert ks_critical(0, 3, LEVEL) == Measurement.without_value(Reason.ONE_CLASS, n=3)


def test_all_measures_of_the_whole_are_named_and_of_the_level() -> None:
    spread, options = (
        ResampleSpread(merged=0.40, low=0.30, high=0.55, level=LEVEL),
        MeasureOptions(level=LEVEL),
    )
    found = {
        result.measure: result.measurement
        for result in measure_full_discrimination(
            RANKED, options, {"ks_separation": spread}, np.array([0, 2, 4])
        )
    }

    assert list(found) == [
        "gini",
        "roc_auc",
        "ks_separation",
        "ks_separation_threshold",
        "ks_separation_critical",
    ]
    assert (found["ks_separation"], found["ks_separation_threshold"]) == separations(RANKED, spread)
    assert found["ks_separation_critical"] == ks_critical(12, 20, LEVEL)
    assert found["gini"] == gini_coefficient(roc_auc(TABLE, LEVEL))
    assert found["roc_auc"].interval == roc_auc(TABLE, LEVEL).interval
    assert found["roc_auc"].detail is not None
    assert found["roc_auc"].detail.rows == (
        (None, 0.0, 0.0),
        (0.8, 0.05, 0.25),
        (0.25, 0.5, 0.75),
        (None, 1.0, 1.0),
    )


def test_resamples_have_the_separation_of_their_own_counts() -> None:
    drawn = ScoreResamples.from_ranked(RANKED, 30, np.random.default_rng(4))
    true, both = drawn.true.astype(float), drawn.both.astype(float)
    apart = np.abs(true / true[-1] - (both - true) / (both[-1] - true[-1])).max(axis=0)

    (found,) = measure_resampled_separation(drawn).items()

    assert found[0] == "ks_separation"
    assert found[1] == pytest.approx(apart, abs=1e-6)


def test_losses_are_of_the_level_that_is_asked_for() -> None:
    found = measures_of_scores([0.2, 0.7, 0.9, 0.4], [0, 1, 1, 0], MeasureOptions(level=LEVEL, resamples=2))
    intervals = [found[name].interval for name in ("brier_score", "log_loss")]

    assert [each.level for each in intervals if each is not None] == [LEVEL, LEVEL]


def test_curves_name_their_columns_and_begin_and_end_at_the_cells_ends() -> None:
    scores, negative, positive = separation_curve(RANKED)
    roc, separation = whole_roc_curve(RANKED, 2), whole_separation_curve(RANKED, 2)

    assert scores.tolist() == [0.1, 0.1, 0.25, 0.5, 0.8, 0.8]
    assert negative == pytest.approx([0.0, 0.3, 0.5, 0.75, 0.95, 1.0])
    assert positive == pytest.approx([0.0, 1 / 12, 3 / 12, 4 / 12, 9 / 12, 1.0])
    assert roc.columns == ("threshold", "false_positive_rate", "true_positive_rate")
    assert separation.columns == ("score", "negative", "positive")
    bounded = separation_curve(RankedScores.from_table(TABLE, np.array([0.0, 0.1, 0.25, 0.5, 0.8, 1.0])))
    assert bounded[0].tolist() == [0.0, 0.1, 0.25, 0.5, 0.8, 1.0]
