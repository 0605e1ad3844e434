"""Labels against what scores promise: level and slope that another mix of records does not move."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from synthetic import READING, reference_rows

from monitor.core.array_types import Floats, Ints
from monitor.evidence import score_residuals
from monitor.evidence.score_residuals import (
    ALONE,
    ErrorMap,
    OutcomeMap,
    cell_log_odds,
    count_outcomes,
    learn_error_map,
    learn_outcome_map,
    learn_score_maps,
    measure_error_residuals,
    measure_outcome_residuals,
    measure_score_residuals,
)
from monitor.records.pane import PaneHalf
from monitor.records.reference import reference_of
from monitor.states.counters import Counters
from monitor.states.error_tables import PredictionErrors
from monitor.states.sums import HALF

CELLS = 400
ODDS = cell_log_odds(np.linspace(0, 1, CELLS + 1), np.zeros(0, np.int64), is_probability=True)
CHANCES = scipy.special.expit
BOTH = st.tuples(st.floats(-1.5, 1.5), st.floats(-0.5, 0.5))


def table(mix: Floats, odds: Floats, records: float) -> tuple[Ints, Ints]:
    """So many labels by cell without and with the outcome as are expected of these odds."""
    n = records * mix / mix.sum()
    positive = np.round(n * CHANCES(odds)).astype(np.int64)
    return np.round(n).astype(np.int64) - positive, positive


def normal_mix(middle: float, spread: float) -> Floats:
    return np.exp(-0.5 * np.square((ODDS - middle) / spread)) * (CHANCES(ODDS) * (1 - CHANCES(ODDS))) ** -1


USUAL = normal_mix(-1.0, 1.0)


@given(BOTH, st.floats(-2.0, 1.0), st.floats(0.6, 1.6))
def test_level_and_slope_are_found_whatever_the_mix(
    both: tuple[float, float], middle: float, spread: float
) -> None:
    level, slope = both
    usual = learn_outcome_map(*table(USUAL, ODDS, 3e7), ODDS)
    odds = usual.logits + level + slope * (usual.logits - usual.centre)

    found = measure_outcome_residuals(usual, *table(normal_mix(middle, spread), odds, 3e7))

    assert (found.level, found.slope) == pytest.approx((level, slope), abs=0.02)


@given(st.floats(-1.6, -0.2), st.floats(0.6, 1.3))
def test_a_map_that_scores_do_not_mean_is_learnt_and_a_mix_alone_moves_nothing(
    middle: float, spread: float
) -> None:
    """Scores that promise too little, and bend: the map follows, wherever there were labels."""
    true = -0.5 + 1.4 * ODDS - 0.6 * np.maximum(ODDS, 0.0)
    usual = learn_outcome_map(*table(USUAL, true, 3e7), ODDS)

    found = measure_outcome_residuals(usual, *table(normal_mix(middle, spread), true, 3e5))

    assert abs(found.level) < 0.1
    assert abs(found.slope) < 0.1


def test_their_variance_is_that_of_labels_that_are_drawn() -> None:
    rng = np.random.default_rng(4)
    usual = learn_outcome_map(*table(USUAL, ODDS, 3e7), ODDS)
    n, _ = np.histogram(rng.choice(CELLS, 2_000, p=USUAL / USUAL.sum()), np.arange(CELLS + 1))
    chance = CHANCES(usual.logits)
    drawn = [rng.binomial(n, chance) for _ in range(400)]
    found = [measure_outcome_residuals(usual, n - positive, positive) for positive in drawn]

    for value, sample in (("level", "level_sample"), ("slope", "slope_sample")):
        values = np.asarray([getattr(one, value) for one in found])
        expected = np.mean([1 / getattr(one, sample) for one in found])
        assert values.var() == pytest.approx(expected, rel=0.2)
        assert abs(values.mean()) < 3 * np.sqrt(expected / len(found))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_labels_that_are_all_of_one_class_are_far_off_and_finite(share: float) -> None:
    usual = learn_outcome_map(*table(USUAL, ODDS, 20_000), ODDS)
    n = np.asarray(table(USUAL, ODDS, 1_000)).sum(axis=0)
    positive = (n * share).astype(np.int64)

    found = measure_outcome_residuals(usual, n - positive, positive)

    assert np.isnan(found.level) or (found.level > 2 if share else found.level < -2)


def test_few_labels_are_not_judged_and_no_labels_learn_what_scores_say() -> None:
    nothing = np.zeros(CELLS, dtype=np.int64)
    usual = learn_outcome_map(nothing, nothing, ODDS)
    few = nothing.copy()
    few[200] = 10

    assert usual.logits == pytest.approx(ODDS)
    assert np.isnan(measure_outcome_residuals(usual, few, nothing).level)


def test_scores_that_are_no_probabilities_stand_for_their_ranks() -> None:
    odds = cell_log_odds(
        np.asarray([-np.inf, 0.0, 5.0, np.inf]), np.asarray([10, 0, 30]), is_probability=False
    )

    assert CHANCES(odds) == pytest.approx([5.5 / 41, 10.5 / 41, 25.5 / 41])


def errors_table(prediction: Floats, label: Floats, centre: float = 0.0) -> PredictionErrors:
    """Sums by 25 groups of about equal mass of a standard normal prediction."""
    edges = scipy.stats.norm.ppf(np.arange(1, 25) / 25)
    group = np.searchsorted(edges, prediction)
    off = prediction - label
    terms = [np.abs(off), np.square(off), off, prediction - centre]
    total = np.concatenate([np.bincount(group, term, minlength=25) for term in terms])
    high = np.floor(total)
    low = np.round((total - high) * HALF)
    n = np.tile(np.bincount(group, minlength=25), 4)
    return PredictionErrors(
        np.stack([n, np.zeros_like(n), high.astype(np.int64), low.astype(np.int64)]), 1.0, centre
    )


def learnt_errors(true: Floats, prediction: Floats) -> ErrorMap:
    found = learn_error_map(errors_table(prediction, true))
    assert found is not None
    return found


def test_of_numbers_level_and_slope_are_those_of_the_errors() -> None:
    rng = np.random.default_rng(1)
    prediction, noise = rng.normal(size=100_000), rng.normal(0, 0.5, 100_000)
    usual = learnt_errors(prediction + 0.1 * np.square(prediction) + noise, prediction)

    now = rng.normal(0.3, 1.2, 50_000)
    label = now + 0.1 * np.square(now) + rng.normal(0, 0.5, 50_000)
    same = measure_error_residuals(usual, errors_table(now, label))
    other = measure_error_residuals(usual, errors_table(now, label + 0.1 + 0.05 * now))

    assert (same.level, same.slope) == pytest.approx((0.0, 0.0), abs=0.03)
    assert (other.level, other.slope) == pytest.approx((0.1 / 0.5, 0.05 / 0.5), abs=0.03)


def test_of_numbers_the_variance_is_that_of_errors_that_are_drawn_however_they_vary() -> None:
    rng = np.random.default_rng(2)
    prediction = rng.normal(size=100_000)
    usual = learnt_errors(prediction + rng.normal(0, 0.5, 100_000), prediction)
    now = rng.normal(size=1_000)
    found = [
        measure_error_residuals(
            usual, errors_table(now, now + rng.normal(0, 0.3 + 0.3 * np.abs(now), len(now)))
        )
        for _ in range(400)
    ]

    for value, sample in (("level", "level_sample"), ("slope", "slope_sample")):
        values = np.asarray([getattr(one, value) for one in found])
        assert values.var() == pytest.approx(np.mean([1 / getattr(one, sample) for one in found]), rel=0.2)


def counted_scores(negative: int, positive: int) -> tuple[object, Counters]:
    """A binary model of which so many labels of one score are counted."""
    counting = reference_of(reference_rows(), READING).counting
    layout = counting.layout_of(PaneHalf.LABELS)
    dense = np.zeros(layout.size, dtype=np.int64)
    scores = dense[layout.block_slice("scores")].reshape(2, -1)
    scores[0, scores.shape[1] // 2], scores[1, scores.shape[1] // 2] = negative, positive
    return counting, Counters.from_dense(layout, dense)


def test_what_is_counted_of_a_change_is_against_what_is_usual() -> None:
    counting, usual = counted_scores(600, 400)
    _, now = counted_scores(300, 700)
    maps = learn_score_maps(counting, usual.make_dense())  # type: ignore[arg-type]

    off = measure_score_residuals(maps, counting, usual)[ALONE]  # type: ignore[arg-type]
    counts = count_outcomes(maps, counting, now.make_dense(), ALONE, (off.level, 0.0))  # type: ignore[arg-type]

    assert isinstance(maps[ALONE], OutcomeMap)
    assert counts is not None
    assert counts.n == 1000
    assert counts.observed == 700
    assert counts.expected == pytest.approx(400, abs=15)


def test_a_model_without_scores_has_no_map() -> None:
    reading = replace(READING, has_score=False)
    counting = reference_of(reference_rows(), reading).counting
    empty = Counters.make_empty(counting.layout_of(PaneHalf.LABELS)).make_dense()

    assert learn_score_maps(counting, empty) == {}


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 5)), min_size=1, max_size=20))
def test_means_that_may_not_fall_are_those_of_scipy(given: list[tuple[float, float]]) -> None:
    means, weights = zip(*given, strict=True)

    expected = scipy.optimize.isotonic_regression(means, weights=weights).x

    assert score_residuals._rising_means(means, weights) == pytest.approx(expected)
