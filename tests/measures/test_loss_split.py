"""A loss that differs, split into other records and another meaning of scores."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Floats
from monitor.evidence.score_residuals import cell_log_odds
from monitor.measures.shift.loss_split import GROUPS, LossSplit, log_losses, split_loss_change
from monitor.states.views import ScoreTable

CELLS = 400
ODDS = cell_log_odds(np.linspace(0, 1, CELLS + 1), np.zeros(0, np.int64), is_probability=True)
OUTCOME = np.zeros(CELLS), np.ones(CELLS)


def table(rng: np.random.Generator, n: int, middle: float = -1.0, odds: float = 0.0) -> ScoreTable:
    """Labels of scores whose log odds are normal, and mean something else by so much."""
    score = rng.normal(middle, 1.0, n)
    cell = np.minimum((scipy.special.expit(score) * CELLS).astype(int), CELLS - 1)
    outcome = rng.random(n) < scipy.special.expit(ODDS[cell] + odds)
    return ScoreTable(*(np.bincount(cell[at], minlength=CELLS) for at in (~outcome, outcome)))


def mean_loss(of: ScoreTable, losses: tuple[Floats, Floats]) -> float:
    total = float(of.negative @ losses[0] + of.positive @ losses[1])
    return total / int(of.negative.sum() + of.positive.sum())


def split(before: ScoreTable, now: ScoreTable, losses: tuple[Floats, Floats]) -> LossSplit:
    found = split_loss_change(before, now, *losses)
    assert found is not None
    return found


@given(st.integers(0, 99), st.floats(-2.0, 0.5), st.floats(-0.8, 0.8))
def test_both_parts_add_up_to_the_difference(seed: int, middle: float, odds: float) -> None:
    rng = np.random.default_rng(seed)
    before, now = table(rng, 3_000), table(rng, 500, middle, odds)

    for losses in (OUTCOME, log_losses(ODDS)):
        found = split(before, now, losses)
        difference = mean_loss(now, losses) - mean_loss(before, losses)
        assert found.mix.value + found.relation.value == pytest.approx(difference, abs=1e-9)


def test_harder_records_are_mix_and_more_of_an_outcome_is_relation() -> None:
    rng = np.random.default_rng(1)
    before, losses = table(rng, 200_000), log_losses(ODDS)

    harder = split(before, table(rng, 200_000, middle=-0.5), losses)
    more = split(before, table(rng, 200_000, odds=0.5), losses)

    assert abs(harder.relation.value) < 3 * harder.relation.error + 0.002
    assert harder.mix.value > 0.05
    assert abs(more.mix.value) < 3 * more.mix.error + 0.002
    assert more.relation.value > 0.02


@pytest.mark.parametrize("losses", [OUTCOME, log_losses(ODDS)], ids=["outcome", "log loss"])
def test_intervals_hold_the_truth_as_often_as_they_say(losses: tuple[Floats, Floats]) -> None:
    """The truth of 300 worlds by their chances; 95 % intervals hold it in 93 % or more."""
    held = np.zeros((300, 2))
    for world in range(300):
        rng = np.random.default_rng([world, 8])
        middle, odds = rng.uniform(-1.5, -0.3), rng.uniform(-0.5, 0.5)
        before, now = table(rng, 6_000), table(rng, 1_500, middle, odds)
        truth = _true_parts(middle, odds, losses)
        found = split(before, now, losses)
        for at, (part, true) in enumerate(zip((found.mix, found.relation), truth, strict=True)):
            interval = part.interval(0.95)
            held[world, at] = interval.lower <= true <= interval.upper

    assert held.mean(axis=0).min() >= 0.93


def _true_parts(middle: float, odds: float, losses: tuple[Floats, Floats]) -> tuple[float, float]:
    edges = scipy.special.logit(np.linspace(0, 1, CELLS + 1))
    shares = [np.diff(scipy.stats.norm.cdf(edges, centre, 1.0)) for centre in (-1.0, middle)]
    chance, later = scipy.special.expit(ODDS), scipy.special.expit(ODDS + odds)
    step = losses[1] - losses[0]
    mix = float((shares[1] - shares[0]) @ (losses[0] + step * chance))
    return mix, float(shares[1] @ (step * (later - chance)))


def test_too_few_labels_say_nothing_and_one_class_alone_is_finite() -> None:
    rng = np.random.default_rng(3)
    few, many = table(rng, GROUPS), table(rng, 500)
    one_class = ScoreTable(many.negative + many.positive, np.zeros_like(many.positive))

    assert split_loss_change(many, few, *OUTCOME) is None
    found = split_loss_change(one_class, many, *log_losses(ODDS))
    assert found is not None
    assert np.isfinite([found.mix.value, found.relation.value, found.mix.error, found.relation.error]).all()
