"""Why a mean loss is another than before: other records, or scores that mean something else. Pure.

Harder records make a model lose more though each score means what it meant. What is left is the relation of
labels to scores: that the model itself, or the world, is another.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from monitor.core.array_types import Counts, Floats, Ints
from monitor.core.measurement import DetailTable, Interval, Measurement
from monitor.measures.statistics.intervals import normal_quantile
from monitor.records.counting import Counting
from monitor.states.counters import Counters
from monitor.states.views import ScoreTable

GROUPS = 40  # of the scores before, of about equal mass, in which their meaning is known
FEWEST = 50  # labels on either side
_LEAST = 2.0**-52  # probability, as in the log loss


@dataclass(frozen=True, slots=True)
class EstimatedPart:
    """A part of a difference of means, with its standard error."""

    value: float
    error: float

    def interval(self, level: float) -> Interval:
        """Where it lies."""
        reach = normal_quantile(level) * self.error
        return Interval(self.value - reach, self.value + reach)


@dataclass(frozen=True, slots=True)
class LossSplit:
    """Both parts of the difference between two means of a loss: they add up to it."""

    mix: EstimatedPart
    relation: EstimatedPart


def split_loss_change(
    before: ScoreTable, now: ScoreTable, negative_loss: Floats, positive_loss: Floats
) -> LossSplit | None:
    """Split the difference of two mean losses, now less before; None: too few labels.

    The mix is Σ(q - p)·h, p and q the shares of scores before and now, h the loss that scores had before. The
    relation is what labels now lose beyond what their scores lost before: both are one-sided, so that the
    relation is what labels against scores are judged by, and the mix what the score's own change expects.

    `negative_loss`, `positive_loss`: loss of a record in each cell of the score, by its label: shape
    (cells,). 0 and 1: the outcome itself.
    """
    n_before, n_now = before.negative + before.positive, now.negative + now.positive
    if min(int(n_before.sum()), int(n_now.sum())) < FEWEST:
        return None
    meaning = _learn_meaning(before)
    mix = _mix_part(meaning, n_before, n_now, negative_loss, positive_loss)
    group, usual, variance = meaning.group, meaning.chance, meaning.variance
    step = positive_loss - negative_loss
    # What the chance of a group is not sure of, by what it weighs.
    weight = np.bincount(group, n_now / n_now.sum() * step, minlength=GROUPS)
    off_now = _off(now, step, usual[group])
    off_before = _off(before, step, usual[group])
    total_now, total_before = int(n_now.sum()), int(n_before.sum())
    relation = float(off_now.sum()) / total_now - float(off_before.sum()) / total_before
    squares = now.positive @ np.square(step * (1 - usual[group])) + now.negative @ np.square(
        step * usual[group]
    )
    of_labels = squares / total_now - (float(off_now.sum()) / total_now) ** 2
    relation_variance = of_labels / total_now + weight**2 @ variance
    return LossSplit(mix, EstimatedPart(relation, max(float(relation_variance), 0.0) ** 0.5))


def loss_by_mix(counting: Counting, before: Counters, now: Counters, level: float) -> Measurement | None:
    """The part of a difference of log losses that other records make, with the other part beside it.

    None: scores are no probabilities, or labels are too few.
    """
    if not counting.has_probability_scores:
        return None
    then, table = counting.score_table(before), counting.score_table(now)
    split = split_loss_change(then, table, *_cell_losses(counting))
    if split is None:
        return None
    relation = split.relation.interval(level)
    rest = ("relation", split.relation.value, relation.lower, relation.upper)
    n = int(table.negative.sum() + table.positive.sum())
    detail = DetailTable(("part", "value", "lower", "upper"), (rest,))
    return Measurement(split.mix.value, n, interval=split.mix.interval(level), detail=detail)


def loss_by_scores(
    counting: Counting, labels: Counters, records: Counters, level: float
) -> Measurement | None:
    """How far the scores of records alone, before any label, move the log loss that is expected of them.

    None: scores are no probabilities, or the labels or records are too few.

    Parameters
    ----------
    labels
        of the reference: what scores mean, and from where the loss moves.
    """
    if not counting.has_probability_scores or counting.label is None:
        return None
    then = counting.score_table(labels)
    n_before, n_now = then.negative + then.positive, counting.histogram_view(records, "score").regular_counts
    if min(int(n_before.sum()), int(n_now.sum())) < FEWEST:
        return None
    part = _mix_part(_learn_meaning(then), n_before, n_now, *_cell_losses(counting))
    return Measurement(part.value, int(n_now.sum()), interval=part.interval(level))


def log_losses(odds: Floats) -> tuple[Floats, Floats]:
    """Log loss of a negative and of a positive label, by the log odds of their cell's score."""
    return np.logaddexp(0.0, odds), np.logaddexp(0.0, -odds)


def _cell_losses(counting: Counting) -> tuple[Floats, Floats]:
    bounds = counting.score_bounds
    middles = np.clip((bounds[1:] + bounds[:-1]) / 2, _LEAST, 1 - _LEAST)
    return log_losses(scipy.special.logit(middles))


@dataclass(frozen=True, slots=True)
class _ScoreMeaning:
    """Chance of a positive by group of score cells, with its variance."""

    group: Ints  # of each cell
    chance: Floats
    variance: Floats


def _learn_meaning(before: ScoreTable) -> _ScoreMeaning:
    n = before.negative + before.positive
    group = _score_groups(n)
    return _ScoreMeaning(group, *_group_chances(group, before.positive, n))


def _mix_part(
    meaning: _ScoreMeaning, n_before: Counts, n_now: Counts, negative_loss: Floats, positive_loss: Floats
) -> EstimatedPart:
    """Mean loss that scores are expected to make now, less that before."""
    step = positive_loss - negative_loss
    p, q = n_before / n_before.sum(), n_now / n_now.sum()
    expected = negative_loss + step * meaning.chance[meaning.group]
    moved = np.bincount(meaning.group, (q - p) * step, minlength=GROUPS)
    variance = _share_variance(expected, p, n_before) + _share_variance(expected, q, n_now)
    variance += float(moved**2 @ meaning.variance)
    return EstimatedPart(float(((q - p) * expected).sum()), max(variance, 0.0) ** 0.5)


def _score_groups(n: Ints) -> Ints:
    middle = np.cumsum(n) - n / 2
    groups: Ints = np.minimum((middle * GROUPS / n.sum()).astype(np.int64), GROUPS - 1)
    return groups


def _group_chances(group: Ints, positive: Ints, n: Ints) -> tuple[Floats, Floats]:
    """Chance of a positive by group, and its variance; a group without records has that of all."""
    hits, records = np.bincount(group, positive, minlength=GROUPS), np.bincount(group, n, minlength=GROUPS)
    chance = np.where(records > 0, hits / np.maximum(records, 1), hits.sum() / records.sum())
    # A group of one class is not sure: half a label of each.
    near = (hits + 0.5) / (records + 1)
    return chance, near * (1 - near) / np.maximum(records, 0.5)


def _share_variance(value: Floats, share: Floats, n: Counts) -> float:
    mean = float(share @ value)
    return float(share @ np.square(value - mean)) / int(n.sum())


def _off(table: ScoreTable, step: Floats, usual: Floats) -> Floats:
    """What the labels of a cell lose beyond what is usual of its scores."""
    off: Floats = step * (table.positive * (1 - usual) - table.negative * usual)
    return off
