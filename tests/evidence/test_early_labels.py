"""Slow labels, judged as they unfold: what the first ones say of the weeks since, and what they do not."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy

from monitor.core.array_types import Floats, Ints
from monitor.evidence import early_labels
from monitor.evidence.early_labels import (
    BASELINE_DAYS,
    LEAST_SPAN,
    UnfoldingDays,
    UnfoldingEvidence,
    judge_unfolding_days,
)
from monitor.evidence.score_residuals import OutcomeMap, cell_log_odds
from monitor.evidence.watch import FEED_SHARE, UNFOLDING_SHARE

CELLS, BASE = 32, -2.0
ODDS = cell_log_odds(np.linspace(0, 1, CELLS + 1), np.zeros(0, np.int64), is_probability=True)
MAP = OutcomeMap(ODDS, BASE)
NEED = 30.0  # evidence that an alert needs, by one false alert a month
Delays = Callable[[np.random.Generator, np.ndarray, Floats], Floats]


def lognormal(median: float, *, positives: float = 1.0) -> Delays:
    """Days from event to label."""

    def drawn(rng: np.random.Generator, outcome: np.ndarray, _: Floats) -> Floats:
        return median * np.exp(0.5 * rng.normal(size=len(outcome))) * np.where(outcome, positives, 1.0)

    return drawn


def on_mondays(median: float) -> Delays:
    """Labels that are reported once a week."""

    def drawn(rng: np.random.Generator, outcome: np.ndarray, at: Floats) -> Floats:
        ready = at + median * np.exp(0.5 * rng.normal(size=len(outcome)))
        return np.ceil(ready / 7) * 7 - at

    return drawn


def exactly(days: float) -> Delays:
    """Labels that are all as late."""

    def drawn(_: np.random.Generator, outcome: np.ndarray, __: Floats) -> Floats:
        return np.full(len(outcome), days)

    return drawn


NINE_DAYS = lognormal(9.0)


@dataclass(frozen=True, kw_only=True)
class World:
    """A log, and what happens to it from day 110 on."""

    delays: Delays = NINE_DAYS
    later: Delays | None = None  # delays from then on
    odds: float = 0.0
    mix: float = 0.0
    effects: float = 0.05
    declined: float = 1.0  # share of scores of 0.3 and more that ever get a label
    days: int = 140
    seed: int = 0

    def judged(self, drift: int = 110, per_day: int = 1_000, span: int = LEAST_SPAN) -> "Judged":
        """Labels by the day on which they are known, day by day."""
        rng = np.random.default_rng([self.seed, 3])
        records = np.zeros((self.days, CELLS), dtype=np.int64)
        # labels: by day, age at which they are known, class and cell; as differences.
        labels = np.zeros((self.days, self.days + 1, 2, CELLS), dtype=np.int64)
        effect = 0.0
        for day in range(self.days):
            on = day >= drift
            effect = 0.3 * effect + 0.95 * self.effects * rng.normal()
            score = BASE + rng.normal(size=per_day) + (self.mix if on else 0.0)
            odds = score + (self.odds if on else 0.0) + effect
            outcome = rng.random(per_day) < scipy.special.expit(odds)
            at = day + rng.random(per_day)
            delays = (self.later if on and self.later else self.delays)(rng, outcome, at)
            age = np.clip(np.ceil(at + delays) - 1 - day, 0, self.days).astype(np.int64)
            chance = scipy.special.expit(score)
            labelled = (chance < 0.3) | (rng.random(per_day) < self.declined)
            cell = np.minimum((chance * CELLS).astype(np.int64), CELLS - 1)
            records[day] = np.bincount(cell, minlength=CELLS)
            np.add.at(labels[day], (age[labelled], outcome[labelled].astype(int), cell[labelled]), 1)
        group = (np.arange(CELLS) / CELLS >= 0.3).astype(np.int64) * (self.declined < 1)
        return Judged(records, labels.cumsum(axis=1), group, span)


@dataclass(frozen=True)
class Judged:
    """A log in numbers: labels known by day and age."""

    records: Ints
    known: Ints
    group: Ints
    span: int

    def days(self, newest: int) -> UnfoldingDays:
        """What is known at the end of a day."""
        first = max(0, newest + 1 - self.span - BASELINE_DAYS)
        many = np.arange(first, newest + 1)
        member = np.eye(int(self.group.max()) + 1, dtype=np.int64)[self.group]
        known = self.known[many, : self.span] @ member
        # What will be known is not known yet.
        future = many[:, None] + np.arange(self.span) > newest
        known[future] = -1
        return UnfoldingDays(
            self.span,
            self.records[many],
            self.known[many, newest - many],
            self.group,
            known,
        )

    def evidence(self, newest: int) -> UnfoldingEvidence:
        found = judge_unfolding_days(MAP, self.days(newest))
        assert found is not None
        return found

    def found(self, first: int = 60) -> tuple[str, int] | None:
        """What is told first, and on which day."""
        for day in range(first, len(self.records)):
            one = self.evidence(day)
            relation, feed = one.relation * UNFOLDING_SHARE / NEED, one.feed * FEED_SHARE / NEED
            if max(relation, feed) > 1:
                return ("relation" if relation >= feed else "feed"), day - 110
        return None


def test_score_and_information_are_those_of_the_chances_of_three_outcomes() -> None:
    """An oracle by differences of the logarithm of the likelihood."""
    rng = np.random.default_rng(1)
    chance = scipy.special.expit(ODDS)
    shares = rng.uniform(0.1, 0.9, (1, 2, CELLS))
    records = rng.integers(50, 90, (1, CELLS))
    labels = np.stack([rng.integers(0, 20, (1, CELLS)), rng.integers(0, 10, (1, CELLS))], axis=1)

    def log_likelihood(level: float) -> Floats:
        p = scipy.special.expit(ODDS + level)
        without, with_it = (1 - p) * shares[0, 0], p * shares[0, 1]
        none = records[0] - labels[0].sum(axis=0)
        found: Floats = (
            labels[0, 0] * np.log(without)
            + labels[0, 1] * np.log(with_it)
            + none * np.log(1 - without - with_it)
        )
        return found

    terms = early_labels._score_terms(chance, records, labels, shares)
    step = 1e-5
    assert terms.scores[0] == pytest.approx(
        (log_likelihood(step) - log_likelihood(-step)) / (2 * step), rel=1e-4, abs=1e-4
    )
    # Information is the expected square of the score: by drawing outcomes of one cell.
    cell = 10
    p = chance[cell]
    odds = [(1 - p) * shares[0, 0, cell], p * shares[0, 1, cell]]
    drawn = rng.multinomial(60, [*odds, 1 - sum(odds)], size=4_000)
    many = early_labels._score_terms(
        np.full(4_000, p),
        np.full((1, 4_000), 60),
        drawn[:, :2].T[None],
        np.repeat(shares[:, :, [cell]], 4_000, 2),
    )
    assert many.scores[0].mean() == pytest.approx(0.0, abs=0.15)
    assert many.scores[0].var() == pytest.approx(many.information[0, 0], rel=0.1)


@pytest.mark.parametrize(
    ("world", "bar"),
    [
        pytest.param(World(odds=np.log(1.6)), 9, id="a lognormal of 9 days"),
        pytest.param(World(odds=np.log(1.6), delays=exactly(8)), 12, id="exactly 8 days"),
        pytest.param(World(odds=-np.log(1.6), delays=lognormal(9, positives=1.5)), 12, id="slower positives"),
        pytest.param(World(odds=np.log(1.6), delays=on_mondays(9)), 14, id="on Mondays"),
        pytest.param(World(odds=np.log(1.6), declined=0.1), 10, id="of approved ones"),
    ],
)
def test_more_of_an_outcome_is_told_long_before_its_labels_are_in(world: World, bar: int) -> None:
    kind, day = world.judged().found() or ("nothing", 99)

    assert (kind, day >= 0) == ("relation", True)
    assert day <= bar


@pytest.mark.parametrize("delays", [lognormal(9.0), exactly(14), on_mondays(9.0)])
@pytest.mark.parametrize("effects", [0.0, 0.2])
def test_where_nothing_happens_nothing_is_told(delays: Delays, effects: float) -> None:
    assert World(delays=delays, effects=effects, seed=5).judged().found() is None


def test_another_mix_is_no_relation_and_a_slower_feed_is_told_as_labels() -> None:
    assert World(mix=0.5).judged().found() is None
    kind, day = World(later=lognormal(13.0)).judged().found() or ("nothing", 99)
    assert (kind, 0 <= day <= 10) == ("feed", True)


def test_the_first_day_and_the_counts_are_those_of_the_change() -> None:
    log = World(odds=np.log(2.0)).judged()

    found = log.evidence(125)

    assert found.relation_days == pytest.approx(16, abs=2)
    since = np.arange(126 - found.relation_days, 126)
    observed, expected = found.count_since(found.outcomes, found.relation_days)
    assert observed == log.known[since, 125 - since, 1].sum()
    assert observed > 1.3 * expected


def test_days_of_which_an_age_is_not_known_count_for_nothing_and_too_few_days_tell_nothing() -> None:
    log = World(odds=np.log(2.0)).judged()
    days = log.days(125)
    gaps = days.known_at.copy()
    gaps[:, 0] = -1

    found, without = judge_unfolding_days(MAP, days), judge_unfolding_days(MAP, replace(days, known_at=gaps))

    assert found is not None
    assert without is not None
    assert without.relation * UNFOLDING_SHARE > NEED
    assert judge_unfolding_days(MAP, replace(days, known_at=np.full_like(gaps, -1))) is None
    assert judge_unfolding_days(MAP, log.days(LEAST_SPAN + 12)) is None
