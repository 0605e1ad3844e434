"""Gains, average precision and profits, against scikit-learn and plain sorting of the raw scores."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_states import binary_counting, measures_of_scores, scored
from scipy import stats
from scipy.special import expit, logit
from sklearn import metrics

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.classification.gains import (
    average_precision,
    count_top_positives,
    decile_table,
    guaranteed_profit,
    largest_profit_threshold,
    make_binary_amounts,
    measure_resampled_gains,
    measure_resampled_profit,
    profit_at,
    profit_curve,
    whole_precision_curve,
    whole_profit_curve,
)
from monitor.measures.evaluate import find_best_threshold as chosen_threshold
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.ranked_scores import RankedScores, ScoreResamples
from monitor.states.views import ScoreTable

SLACK = 1e-9
PROFIT = {("1", "1"): 14.0, ("1", "0"): -14.0, ("0", "1"): -3.0, ("0", "0"): 0.5}
AMOUNTS = make_binary_amounts(("0", "1"), PROFIT)
ASK = MeasureOptions(resamples=20, profit=PROFIT)
measured = partial(measures_of_scores, options=ASK)
RECORDS = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-9, 1.0]), st.floats(0, 1e-6)),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=80,
)


def ranked_of(scores: list[float], labels: list[int]) -> RankedScores:
    counting = binary_counting()
    return RankedScores.from_table(
        counting.score_table(scored(scores, labels, counting)), counting.score_bounds
    )


def found_in_raw(scores: Floats, labels: Ints, share: float) -> float:
    """Positives in the top share, ties across the border split proportionally: one record after another."""
    left, found = share * len(scores), 0.0
    for score in np.unique(scores)[::-1]:
        tied = labels[scores == score]
        part = min(1.0, max(0.0, left / len(tied)))
        found += part * tied.sum()
        left -= len(tied)
    return float(found)


@settings(deadline=None, max_examples=50)
@given(RECORDS)
def test_average_precision_is_within_its_resolution(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))

    found = measured(scores, labels)["average_precision"]

    if len(set(labels)) == 1:
        assert found.reason is Reason.ONE_CLASS
        return
    assert found.value is not None
    assert found.interval is not None
    assert 0 <= found.interval.lower <= found.value <= found.interval.upper <= 1
    assert abs(metrics.average_precision_score(labels, scores) - found.value) <= found.resolution + SLACK


def test_average_precision_of_distinct_cells_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    scores, labels = (rng.permutation(2048)[:900] + 0.5) / 2048, rng.integers(0, 2, 900)

    found = average_precision(ranked_of(scores.tolist(), labels.tolist()))

    assert found.value == pytest.approx(metrics.average_precision_score(labels, scores), rel=1e-12)
    assert found.resolution == 0


def test_the_variance_of_many_positives_is_the_jackknifes() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 300)
    scores = (rng.permutation(2048)[:300] + 0.5) / 2048 * 0.7 + 0.3 * labels

    found = average_precision(ranked_of(scores.tolist(), labels.tolist()))

    left_out = [
        metrics.average_precision_score(np.delete(labels, at), np.delete(scores, at)) for at in range(300)
    ]
    assert found.value is not None
    assert found.interval is not None
    half = (logit(found.interval.upper) - logit(found.interval.lower)) / 2
    deviation = np.sqrt(299) * np.std(left_out)
    assert half == pytest.approx(1.959964 * deviation / (found.value * (1 - found.value)), rel=0.02)


def test_the_interval_of_few_positives_is_boyds_and_that_of_perfect_ones_clopper_and_pearsons() -> None:
    few = average_precision(ranked_of([0.9, 0.8, 0.7, 0.6, 0.1], [1, 0, 1, 1, 0]), level=0.9)
    perfect = average_precision(ranked_of([0.9, 0.8, 0.1], [1, 1, 0]))

    value = (1 + 2 / 3 + 3 / 4) / 3
    half = 1.644854 / np.sqrt(3 * value * (1 - value))
    assert few.interval is not None
    assert few.interval.lower == pytest.approx(expit(logit(value) - half))
    assert few.interval.upper == pytest.approx(expit(logit(value) + half))
    assert perfect.interval is not None
    assert perfect.interval.lower == pytest.approx(stats.beta.ppf(0.025, 2, 1))
    assert perfect.interval.upper == 1


@settings(deadline=None, max_examples=50)
@given(RECORDS)
def test_the_top_is_that_of_sorted_records_within_its_resolution(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))
    found, n, positives = measured(scores, labels), len(records), sum(labels)

    for subject, share in {"top:1%": 0.01, "top:5%": 0.05, "top:10%": 0.1}.items():
        precision, recall = found[f"precision_at_top {subject}"], found[f"recall_at_top {subject}"]
        if len(set(labels)) == 1:
            assert precision.reason is Reason.ONE_CLASS
        elif share * n < 1:
            assert precision.reason is recall.reason is Reason.TOO_FEW
        else:
            exact = found_in_raw(np.asarray(scores), np.asarray(labels), share)
            assert precision.value is not None
            assert recall.value is not None
            assert abs(exact / (share * n) - precision.value) <= precision.resolution + SLACK
            assert abs(exact / positives - recall.value) <= recall.resolution + SLACK
    gain, lift = found["gain_top_decile"], found["lift_top_decile"]
    assert gain.reason == lift.reason
    if gain.value is not None:
        assert lift.value == pytest.approx(10 * gain.value)


def test_shares_of_the_highest_scores_are_chosen() -> None:
    scores, labels = np.linspace(0, 1, 1_000).round(3), (np.arange(1_000) % 3 == 0).astype(int)
    counters = scored(scores.tolist(), labels.tolist(), binary_counting())

    found = measure_performance(binary_counting(), counters, MeasureOptions(tops=(0.002, 0.3), resamples=50))

    named = {(one.measure, one.subject): one.measurement for one in found}
    assert {subject for _, subject in named if subject.startswith("top:")} == {"top:0.2%", "top:30%"}
    for share, subject in ((0.002, "top:0.2%"), (0.3, "top:30%")):
        recall = named["recall_at_top", subject]
        exact = found_in_raw(scores, labels, share) / labels.sum()
        assert abs((recall.value or 0) - exact) <= recall.resolution + SLACK
        assert recall.interval is not None
    assert named["gain_top_decile", ""].value is not None


def test_deciles_add_up_and_split_a_tie_in_proportion() -> None:
    detail = decile_table(ranked_of([0.5] * 30 + [0.1] * 10, [1] * 15 + [0] * 15 + [0] * 10))
    columns = dict(zip(detail.columns, zip(*detail.rows, strict=True), strict=True))

    assert columns["records"] == (4.0,) * 10
    assert columns["positives"] == (2.0,) * 7 + (1.0, 0.0, 0.0)
    assert columns["cumulative_gain"][-1] == columns["cumulative_lift"][-1] == 1
    assert columns["lift"][0] == pytest.approx(10 * 2 / 15, abs=1e-6)


def test_ten_positives_of_ten_thousand_have_intervals() -> None:
    rng = np.random.default_rng(4)
    labels = np.zeros(10_000, dtype=np.int64)
    labels[:10] = 1
    scores = np.clip(rng.beta(1, 60, 10_000) + 0.05 * labels, 0, 1)

    found = measured(scores, labels, options=MeasureOptions(resamples=200, profit=PROFIT))

    for name in ("average_precision", "recall_at_top top:1%", "lift_top_decile", "best_profit"):
        interval = found[name].interval
        assert interval is not None
        assert interval.lower <= interval.upper
    assert found["average_precision"].value == pytest.approx(
        metrics.average_precision_score(labels, scores), abs=found["average_precision"].resolution + SLACK
    )


def test_the_bounds_of_a_few_positives_at_the_top_end_where_shares_end() -> None:
    rng, bounds = np.random.default_rng(13), []
    for _ in range(40):
        scores, labels = rng.random(150), (rng.random(150) < 0.1).astype(int)
        found = measured(scores, labels, options=MeasureOptions(resamples=400))
        tops = [one for name, one in found.items() if "_at_top" in name or name == "gain_top_decile"]
        bounds += [
            bound for one in tops if one.interval for bound in (one.interval.lower, one.interval.upper)
        ]
        lift = found["lift_top_decile"]
        if lift.interval is not None:
            bounds.append(lift.interval.lower)

    assert min(bounds) == 0
    assert max(bounds) == 1
    assert [bound for bound in bounds if 0 < bound < 1e-6 or 1 - 1e-6 < bound < 1] == []


@settings(deadline=None)
@given(st.lists(st.floats(-20, 20), min_size=4, max_size=4))
def test_the_least_profit_is_the_better_of_none_and_all_at_the_worst_share_of_positives(
    given: list[float],
) -> None:
    amounts, positive = np.reshape(given, (2, 2)), np.linspace(0, 1, 10_001)

    none_and_all = np.stack([1 - positive, positive], axis=1) @ amounts

    assert guaranteed_profit(amounts) == pytest.approx(none_and_all.max(axis=1).min(), abs=0.01)
    assert guaranteed_profit(amounts) <= none_and_all.max(axis=1).min() + SLACK


@pytest.mark.parametrize(
    ("profit", "least"),
    [({("1", "1"): 10.0, ("0", "1"): -3.0}, 0.0), (PROFIT, (0.5 * 14 - 3 * 14) / (14 + 14 + 0.5 + 3))],
)
def test_the_interval_of_the_best_profit_is_not_below_what_none_or_all_gives_for_certain(
    profit: dict[tuple[str, str], float], least: float
) -> None:
    rng, lowest = np.random.default_rng(14), []
    for _ in range(40):
        scores, labels = rng.random(80), (rng.random(80) < 0.3).astype(int)
        found = measured(scores, labels, options=MeasureOptions(resamples=100, profit=profit))["best_profit"]
        assert found.interval is not None
        assert found.value is not None
        assert found.interval.lower <= found.value
        lowest.append(found.interval.lower)

    assert min(lowest) >= 80 * least - SLACK
    assert (0 in lowest) == (least == 0)


def test_scores_near_zero_without_a_reference_are_one_cell_and_the_resolution_says_so() -> None:
    found = measured([1e-7 * number for number in range(10)] * 4, [0, 1] * 20)

    assert found["roc_auc"].resolution == 0.5
    assert found["average_precision"].resolution > 0.4
    assert found["precision_at_top top:10%"].resolution == pytest.approx(0.5)


@settings(deadline=None, max_examples=50)
@given(RECORDS, st.sampled_from([0.25, 0.5, 0.75]))
def test_profit_at_an_edge_is_that_of_the_records(records: list[tuple[float, int]], threshold: float) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))
    amounts = [AMOUNTS[label, int(score >= threshold)] for score, label in records]

    found = profit_at(ranked_of(scores, labels), threshold, AMOUNTS)

    assert found.value == pytest.approx(sum(amounts))
    assert found.resolution == 0
    assert found.n == len(records)
    if found.interval is not None:
        half = 1.959963985 * np.std(amounts) * np.sqrt(len(amounts))
        assert found.interval.upper - sum(amounts) == pytest.approx(half)


def test_profit_within_a_cell_is_within_its_resolution() -> None:
    width = 1 / 2048
    table = ranked_of([0.5, 0.5 + 0.3 * width, 0.5 + 0.6 * width], [1, 0, 1])

    found = profit_at(table, 0.5 + 0.5 * width, AMOUNTS)

    assert found.value is not None
    assert abs(found.value - (14 - 14 + 0.5)) <= found.resolution == 2 * 28 + 3.5


@settings(deadline=None, max_examples=50)
@given(RECORDS)
def test_the_best_threshold_is_none_the_worse_than_any(records: list[tuple[float, int]]) -> None:
    scores, labels = ([*column] for column in zip(*records, strict=True))
    table = ranked_of(scores, labels)
    best = largest_profit_threshold(table, AMOUNTS)

    assert best is not None
    value = profit_at(table, best, AMOUNTS).value
    assert value is not None
    others = [profit_at(table, edge, AMOUNTS).value for edge in (-np.inf, 0.25, 0.5, 0.75, np.inf)]
    assert all(other is not None and other <= value + SLACK for other in others)
    assert value == pytest.approx(profit_curve(table, AMOUNTS).max())
    found = measured(scores, labels)["best_profit"]
    assert found.reason is Reason.ONE_CLASS or found.value == pytest.approx(value)


def test_to_say_positive_of_nobody_may_be_best() -> None:
    table = ranked_of([0.1, 0.9], [0, 0])

    assert largest_profit_threshold(table, AMOUNTS) == np.inf
    assert profit_at(table, np.inf, AMOUNTS).value == 1.0
    cheap = measured(
        [0.1, 0.9] * 10, [1, 0] * 10, options=MeasureOptions(resamples=5, profit={("0", "1"): -1.0})
    )
    assert cheap["best_profit_threshold"].reason is Reason.UNDEFINED


def test_nothing_counted_has_no_profit() -> None:
    nothing = RankedScores.from_table(
        ScoreTable(np.zeros(2, np.int64), np.zeros(2, np.int64)), np.asarray([0, 0.5, 1])
    )

    assert largest_profit_threshold(nothing, AMOUNTS) is None
    assert profit_at(nothing, 0.5, AMOUNTS) == Measurement.without_value(Reason.NO_LABELS, n=0)


def test_open_cells_have_no_finite_threshold() -> None:
    table = RankedScores.from_table(
        ScoreTable(np.asarray([5, 5]), np.asarray([5, 50])), np.asarray([-np.inf, 3.0, np.inf])
    )

    assert largest_profit_threshold(table, make_binary_amounts(("0", "1"), {("1", "1"): 1.0})) == -np.inf
    assert largest_profit_threshold(table, AMOUNTS) == -np.inf
    assert count_top_positives(table, np.asarray([0.5]))[0] == pytest.approx(32.5 * 50 / 55)


def test_a_threshold_that_was_chosen_before_is_told_its_profit() -> None:
    rng = np.random.default_rng(8)
    counting = binary_counting()
    before, now = (np.round(rng.random(400), 2) for _ in range(2))
    earlier = scored(before.tolist(), (rng.random(400) < before).astype(int).tolist(), counting)
    labels = (rng.random(400) < 0.5 * now).astype(int)

    chosen = chosen_threshold(counting, earlier, ASK)
    found = measured(now.tolist(), labels.tolist(), options=replace(ASK, threshold=chosen))

    assert chosen is not None
    said = (now >= chosen).astype(int)
    worth = sum(PROFIT[str(actual), str(guess)] for actual, guess in zip(labels, said, strict=True))
    told, best = found["reference_threshold_profit"], found["best_profit"]
    assert told.value is not None
    assert best.value is not None
    assert told.value == pytest.approx(worth, abs=told.resolution + SLACK)
    assert told.value <= best.value


def test_without_a_threshold_from_the_reference_there_is_no_profit_of_it() -> None:
    found = measured([0.2, 0.7, 0.9], [0, 1, 1])

    assert found["reference_threshold_profit"].reason is Reason.NO_REFERENCE


def test_the_profit_at_a_threshold_has_a_normal_interval() -> None:
    amounts = np.asarray([0.5, -14.0, 14.0, -3.0])  # of each record

    found = profit_at(ranked_of([0.2, 0.4, 0.7, 0.9], [0, 1, 1, 0]), 0.5, AMOUNTS, level=0.9)

    half = stats.norm.ppf(0.95) * np.std(amounts) * 2
    assert found.interval is not None
    assert found.interval.level == 0.9
    bounds = (found.interval.lower, found.interval.upper)
    assert bounds == pytest.approx((amounts.sum() - half, amounts.sum() + half))


def test_what_ends_at_the_threshold_is_below_it() -> None:
    found = profit_at(ranked_of([0.5 - 1e-9, 0.5], [1, 0]), 0.5, AMOUNTS)

    assert (found.value, found.resolution) == (-14 - 3, 0)


@pytest.mark.parametrize(
    "amounts", [((0.7, -3.0), (-5.0, 11.0)), ((1.0, -3.0), (-1.0, -2.0)), ((-2.0, 3.0), (-4.0, 1.0))]
)
def test_the_largest_profit_of_each_resample_is_the_best_of_its_shares(
    amounts: tuple[Floats, Floats],
) -> None:
    """By records at hand; nobody, some or all are best."""
    (quiet, false), (miss, true) = amounts
    rng = np.random.default_rng(15)
    scores = rng.random(300).round(2)
    table = ranked_of(scores.tolist(), (rng.random(300) < scores).astype(int).tolist())
    resamples = ScoreResamples.from_ranked(table, 9, rng)

    found = measure_resampled_profit(resamples, 300, np.asarray(amounts))["best_profit"]

    expected = []
    for positive, negative in zip(resamples.positive.T, resamples.negative.T, strict=True):
        by_threshold = [
            true * positive[:said].sum()
            + miss * positive[said:].sum()
            + false * negative[:said].sum()
            + quiet * negative[said:].sum()
            for said in range(len(positive) + 1)
        ]
        expected.append(300 * max(by_threshold))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-2)


def test_the_best_profit_is_told_with_its_curve_and_its_threshold() -> None:
    asked = MeasureOptions(resamples=0, profit=PROFIT)

    found = measured([0.1, 0.4, 0.6, 0.9, 0.9], [0, 1, 0, 1, 1], options=asked)

    best, threshold = found["best_profit"], found["best_profit_threshold"]
    assert best.detail is not None
    assert best.detail.columns == ("threshold", "profit", "predicted_rate")
    edge = np.floor(np.asarray([0.9, 0.6, 0.4, 0.1]) * 2048) / 2048
    worth = [2 * 0.5 - 3 * 14, 15.0, 11.5, 39.5, 3 * 14 - 2 * 3.0]
    rates = [0.0, 0.4, 0.6, 0.8, 1.0]
    assert best.detail.rows == tuple(zip([None, *edge.tolist()], worth, rates, strict=True))
    assert (best.value, best.n, best.interval, best.resolution) == (39.5, 5, None, 0.0)
    assert (threshold.value, threshold.n) == (edge[2], 5)


def test_without_both_classes_there_is_no_best_profit_and_no_threshold_of_it() -> None:
    found = measured([0.1, 0.4], [0, 0], options=MeasureOptions(resamples=0, profit=PROFIT))

    for name in ("best_profit", "best_profit_threshold"):
        assert found[name] == Measurement.without_value(Reason.ONE_CLASS, n=2)
    nobody = MeasureOptions(resamples=0, profit={("0", "1"): -1.0})
    cheap = measured([0.1, 0.9] * 10, [1, 0] * 10, options=nobody)
    assert cheap["best_profit_threshold"] == Measurement.without_value(Reason.UNDEFINED, n=20)


def test_the_least_profit_of_small_amounts_is_between_none_and_all() -> None:
    assert guaranteed_profit(np.asarray([[0.1, 0.0], [0.0, 0.1]])) == pytest.approx(0.05)


def test_whole_curves_begin_at_nobody_and_hold_the_threshold_that_decides() -> None:
    rng = np.random.default_rng(16)
    scores = rng.random(3_000)
    table = ranked_of(scores.tolist(), (rng.random(3_000) < scores).astype(int).tolist())
    said = int((table.lower >= 0.5).sum())

    precision, profit = whole_precision_curve(table, said), whole_profit_curve(table, AMOUNTS, said)

    assert precision.columns == ("threshold", "precision", "recall")
    assert profit.columns == ("threshold", "profit", "predicted_rate")
    edge = pytest.approx(float(table.lower[said - 1]))
    assert [sum(row[0] == edge for row in curve.rows) for curve in (precision, profit)] == [1, 1]
    assert list(profit.rows[0]) == [None, pytest.approx(profit_curve(table, AMOUNTS)[0]), 0.0]


def test_the_gain_and_lift_of_a_tie_across_the_border_have_their_resolution() -> None:
    """Two of three equal records, two of them positive, are among the highest tenth of twenty."""
    scores = [0.9, 0.9, 0.9, *(0.8 - 0.04 * at for at in range(17))]
    labels = [1, 0, 1, 1, 1, 1, *[0] * 14]

    found = measured(scores, labels, options=MeasureOptions(resamples=0))

    gain, lift = found["gain_top_decile"], found["lift_top_decile"]
    assert (gain.value, gain.resolution) == pytest.approx((4 / 3 / 5, 2 / 3 / 5))
    assert (lift.value, lift.resolution) == pytest.approx((10 * 4 / 3 / 5, 10 * 2 / 3 / 5))
    assert (gain.n, lift.n) == (20, 20)


def test_the_bounds_of_a_lift_are_those_of_its_gain() -> None:
    rng = np.random.default_rng(17)
    scores = rng.random(400)

    found = measured(scores, (rng.random(400) < scores).astype(int), options=MeasureOptions(resamples=60))

    gain, lift = found["gain_top_decile"].interval, found["lift_top_decile"].interval
    assert gain is not None
    assert lift is not None
    assert (lift.lower, lift.upper) == pytest.approx((10 * gain.lower, 10 * gain.upper))
    assert lift.level == gain.level == 0.95


def test_an_average_precision_has_its_curve() -> None:
    table = ranked_of([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])

    found = average_precision(table, np.arange(4))

    assert found.value == pytest.approx((1 + 2 / 3) / 2)
    assert (found.n, found.resolution) == (4, 0)
    assert found.detail is not None
    assert found.detail.columns == ("threshold", "precision", "recall")
    precision, recall = np.asarray([1.0, 0.5, 2 / 3, 0.5]), np.asarray([0.5, 0.5, 1.0, 1.0])
    np.testing.assert_allclose(
        np.asarray(found.detail.rows, dtype=np.float64).T,
        np.stack([table.lower, precision, recall]),
        atol=1e-6,
    )
    assert average_precision(table).detail is None


def test_of_each_resample_the_highest_scores_are_counted() -> None:
    """A cell that is taken in part counts in proportion."""
    rng = np.random.default_rng(18)
    scores = rng.random(500).round(2)
    table = ranked_of(scores.tolist(), (rng.random(500) < scores).astype(int).tolist())
    resamples = ScoreResamples.from_ranked(table, 9, rng)

    found = measure_resampled_gains(resamples, (0.05,))

    for share, name in ((0.05, "5%"), (0.1, "10%")):
        hits = []
        for positive, negative in zip(resamples.positive.T, resamples.negative.T, strict=True):
            left, inside = share, 0.0
            for here, others in zip(positive.tolist(), negative.tolist(), strict=True):
                part = min(1.0, left / (here + others)) if here + others > 0 else 1.0
                inside, left = inside + part * here, max(0.0, left - here - others)
            hits.append(inside)
        assert found[f"precision_at_top top:{name}"] == pytest.approx(np.asarray(hits) / share, rel=1e-3)
        recall = np.asarray(hits) / resamples.true[-1]
        assert found[f"recall_at_top top:{name}"] == pytest.approx(recall, rel=1e-3)
