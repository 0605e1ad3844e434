"""Scores: how well a binary model's scores tell the classes apart, and how good they are as probabilities."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from monitor.core.array_types import Floats, Ints, Singles
from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.curve_corners import MOST, find_corners
from monitor.measures.statistics.intervals import find_root, mean_measurement, normal_quantile
from monitor.measures.statistics.ranked_scores import (
    EXACT,
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    curve_table,
)
from monitor.states.views import ExactSums, ScoreTable

_ROC = ("threshold", "false_positive_rate", "true_positive_rate")
FEW = 10  # of a class, below which DeLong's variance is not trusted


def roc_auc(table: ScoreTable, level: float = LEVEL) -> Measurement:
    """Area under the ROC curve: P(score⁺ > score⁻) + ½ P(equal).

    Ties, and scores that share a cell, count half. The interval is DeLong's on the logit scale [1]_; with
    fewer than 10 of a class, or without variance, Newcombe's method 5 [2]_.

    Returns
    -------
    Measurement
        its resolution is half the share of the pairs of one cell; ``one_class`` without one of the classes.

    References
    ----------
    .. [1] DeLong, DeLong & Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver
       operating characteristic curves. Biometrics 44:837.
    .. [2] Newcombe (2006). Confidence intervals for an effect size measure based on the Mann-Whitney
       statistic, part 2. Statist. Med. 25:559.
    """
    return _area_measurement(_CumulativeCounts.from_table(table), level)


def auc_interval(value: float, variance: float, sizes: tuple[int, int], level: float = LEVEL) -> Interval:
    """DeLong's interval on the logit scale; Newcombe's of few (positives, negatives) or without variance."""
    if min(sizes) < FEW or variance <= 0 or not 0 < value < 1:
        return newcombe_auc_interval(value, *sizes, level)
    return logit_interval(value, variance, level)


def newcombe_auc_interval(value: float, positives: int, negatives: int, level: float = LEVEL) -> Interval:
    """Newcombe's method 5: both a with (value - a)² = z² V(a).

    V is Hanley & McNeil's variance, with the mean of both sizes in the place of each. The equation is
    symmetric: the lower bound is 1 - the upper bound of 1 - value.
    """
    lower = 1 - _newcombe_upper(1 - value, positives, negatives, level)
    return Interval(lower, _newcombe_upper(value, positives, negatives, level), level)


def logit_interval(value: float, variance: float, level: float) -> Interval:
    """Normal interval on the logit scale of a value between 0 and 1, by the delta method."""
    centre = math.log(value / (1 - value))
    half = normal_quantile(level) * math.sqrt(variance) / (value * (1 - value))
    lower, upper = (float(scipy.special.expit(bound)) for bound in (centre - half, centre + half))
    return Interval(lower, upper, level)


def gini_coefficient(auc: Measurement) -> Measurement:
    """Gini coefficient 2·AUC - 1, with the interval and the resolution that follow from the area's."""
    if auc.value is None:
        return auc
    bounds, interval = auc.interval, None
    if bounds is not None:
        interval = Interval(2 * bounds.lower - 1, 2 * bounds.upper - 1, bounds.level)
    return Measurement(2 * auc.value - 1, auc.n, None, interval, 2 * auc.resolution)


def roc_curve(scores: RankedScores, at: Ints) -> DetailTable:
    """ROC curve at the given cells: rates of the records whose score is at least the threshold."""
    start, columns = (math.inf, 0.0, 0.0), (scores.lower, scores.fallout, scores.recall)
    shown = (np.concatenate([[first], column[at]]) for first, column in zip(start, columns, strict=True))
    return curve_table(_ROC, *shown)


def whole_roc_curve(scores: RankedScores, said: int) -> DetailTable:
    """ROC curve by its corners, the largest separation and the first `said` cells' end among them."""
    x, y = (np.concatenate([[0.0], side]) for side in (scores.fallout, scores.recall))
    at = find_corners(x, y, must=[int(np.argmax(np.abs(y - x))), said], least=EXACT)
    threshold = np.concatenate([[math.inf], scores.lower])
    return curve_table(_ROC, threshold[at], x[at], y[at])


def whole_separation_curve(scores: RankedScores, said: int) -> DetailTable:
    """K-S chart by the corners of both lines, where they lie farthest apart among them."""
    score, negative, positive = separation_curve(scores)
    must = [int(np.argmax(np.abs(negative - positive))), len(score) - 1 - said]
    sides = [
        find_corners(score, side, most=MOST // 2, must=must, least=EXACT) for side in (negative, positive)
    ]
    at = np.union1d(*sides)
    return curve_table(("score", "negative", "positive"), score[at], negative[at], positive[at])


def separation_curve(scores: RankedScores) -> tuple[Floats, Floats, Floats]:
    """Scores, ascending, and the shares of the negatives and of the positives that lie below each.

    A cell's records lie below its upper edge: there its share is added. An open end is where the cell begins.
    """
    ends = np.where(np.isfinite(scores.upper), scores.upper, scores.lower)[::-1]
    lowest = scores.lower[-1] if math.isfinite(scores.lower[-1]) else ends[0]
    negative, positive = (
        np.concatenate([[0.0], 1 - side[-2::-1], [1.0]]) for side in (scores.fallout, scores.recall)
    )
    return np.concatenate([[lowest], ends]), negative, positive


def missing_class_result(n: int) -> Measurement:
    """No value of n records where one class is missing, or both are."""
    return Measurement.without_value(Reason.ONE_CLASS if n else Reason.NO_LABELS, n=n)


def ks_critical(positives: int, negatives: int, level: float = LEVEL) -> Measurement:
    """Value that a K-S separation exceeds with probability 1 - level if the scores tell nothing.

    Kolmogorov's limit; with ties, or few records, exceeded less often.
    """
    n = positives + negatives
    if positives == 0 or negatives == 0:
        return missing_class_result(n)
    return Measurement(min(1.0, _kolmogorov_quantile(level) * math.sqrt(1 / positives + 1 / negatives)), n)


def _separation_results(
    scores: RankedScores, sums: "_CumulativeCounts", spread: ResampleSpread | None
) -> Iterator[MeasureResult]:
    """The K-S separation, and the score at which it is reached: the classes are told apart best from it on.

    Of several such scores the highest; the upper edge of the cell below it. Its resolution is that cell's
    width: that of the raw scores may lie anywhere in the cell. Undefined where the separation is 0.
    """
    separation, n = _separation_measurement(sums, spread), scores.n
    yield MeasureResult("ks_separation", "", separation)
    if separation.value is None:
        yield MeasureResult("ks_separation_threshold", "", separation)
        return
    below = int(np.argmax(np.abs(scores.recall - scores.fallout))) + 1
    if separation.value == 0 or below == len(scores.lower):
        yield MeasureResult("ks_separation_threshold", "", Measurement.without_value(Reason.UNDEFINED, n=n))
        return
    lower, upper = float(scores.lower[below]), float(scores.upper[below])
    width = upper - lower if math.isfinite(lower) else 0.0
    yield MeasureResult("ks_separation_threshold", "", Measurement(upper, n, resolution=width))


def brier_score(losses: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean of (1 - probability of the actual class)², exact but for 2⁻⁴¹ a record."""
    return mean_measurement(losses, "brier", "squared_brier", level)


def log_loss(losses: ExactSums, level: float = LEVEL) -> Measurement:
    """Mean of -ln(probability of the actual class), clipped at 2⁻⁵²."""
    return mean_measurement(losses, "log_loss", "squared_log_loss", level)


def discrimination_results(table: ScoreTable, options: MeasureOptions) -> Iterator[MeasureResult]:
    """Headlines of the labelled scores. Empty cells are dropped once: they change no result."""
    used = np.flatnonzero(table.negative + table.positive)
    sums = _CumulativeCounts.from_table(ScoreTable(table.negative[used], table.positive[used]))
    yield MeasureResult("roc_auc", "", _area_measurement(sums, options.level))
    yield MeasureResult("ks_separation", "", _separation_measurement(sums, None))


def loss_results(losses: ExactSums, options: MeasureOptions) -> Iterator[MeasureResult]:
    """Headlines of the scores as probabilities."""
    yield MeasureResult("brier_score", "", brier_score(losses, options.level))
    yield MeasureResult("log_loss", "", log_loss(losses, options.level))


def measure_full_discrimination(
    scores: RankedScores, options: MeasureOptions, spreads: Mapping[str, ResampleSpread], at: Ints
) -> Iterator[MeasureResult]:
    """All measures of how well the scores tell the classes apart, the ROC curve at the given cells."""
    sums = _CumulativeCounts.from_table(scores.table)
    auc = _area_measurement(sums, options.level)
    yield MeasureResult("gini", "", gini_coefficient(auc))
    yield MeasureResult(
        "roc_auc", "", replace(auc, detail=roc_curve(scores, at)) if scores.has_both_classes else auc
    )
    yield from _separation_results(scores, sums, spreads.get("ks_separation"))
    critical = ks_critical(scores.positives, scores.negatives, options.level)
    yield MeasureResult("ks_separation_critical", "", critical)


def measure_resampled_separation(resamples: ScoreResamples) -> dict[str, Singles]:
    """K-S separation of the counts and of each resample; both classes must be there."""
    true, both = resamples.true, resamples.both
    positive, negative = 1 / true[-1], 1 / (both[-1] - true[-1])
    return {"ks_separation": np.abs(true * (positive + negative) - both * negative).max(axis=0)}


@dataclass(frozen=True, slots=True)
class _CumulativeCounts:
    """Counts of ascending cells, their sums up to each cell, and of all."""

    table: ScoreTable
    negative: Ints
    positive: Ints
    n: int
    p: int

    @classmethod
    def from_table(cls, table: ScoreTable) -> "_CumulativeCounts":
        negative, positive = np.cumsum(table.negative), np.cumsum(table.positive)
        if len(negative) == 0:
            return cls(table, negative, positive, 0, 0)
        return cls(table, negative, positive, int(negative[-1]), int(positive[-1]))


def _area_measurement(sums: _CumulativeCounts, level: float) -> Measurement:
    negative, positive, n, p = sums.table.negative, sums.table.positive, sums.n, sums.p
    if n == 0 or p == 0:
        return missing_class_result(n + p)
    below = sums.negative - negative
    tied = int(positive @ negative)
    value = (2 * int(positive @ below) + tied) / (2 * p * n)
    variance = 0.0
    if min(p, n) > 1:
        of_positive = (below + negative / 2) / n - value
        of_negative = (p - sums.positive + positive / 2) / p - value
        variance = float(positive @ of_positive**2) / ((p - 1) * p) + float(negative @ of_negative**2) / (
            (n - 1) * n
        )
    interval = auc_interval(value, variance, (p, n), level)
    return Measurement(value=value, n=n + p, interval=interval, resolution=tied / (2 * p * n))


def _separation_measurement(sums: _CumulativeCounts, spread: ResampleSpread | None) -> Measurement:
    """Largest absolute difference of the classes' cumulative shares, at the cells' edges.

    Between two edges the difference of the raw scores is at most the one class's share at the upper edge less
    the other's at the lower one; the resolution is what that bound exceeds the value by. The interval is the
    basic bootstrap's on at most 33 merged cells, moved to the value of all cells, cut to [0, 1] and made to
    hold the value.
    """
    n, p = sums.n, sums.p
    if n == 0 or p == 0:
        return missing_class_result(n + p)
    apart = sums.positive / p - sums.negative / n
    value = max(float(apart.max()), -float(apart.min()))
    bound = max(
        float((apart + sums.table.negative / n).max()), float((sums.table.positive / p - apart).max())
    )
    interval = spread.basic_interval(value, 0.0, 1.0) if spread else None
    return Measurement(value, n + p, None, interval, max(0.0, bound - value))


def _newcombe_upper(value: float, positives: int, negatives: int, level: float) -> float:
    star, z = (positives + negatives) / 2 - 1, normal_quantile(level)

    def distance(a: float) -> float:
        spread = 1 + star * (1 - a) / (2 - a) + star * a / (1 + a)
        variance_by_a = z * z * (1 - a) * spread / (positives * negatives)
        return a - variance_by_a if value <= 0 else (value - a) ** 2 - a * variance_by_a

    return 1.0 if value >= 1 else find_root(distance, value, 1.0)


@lru_cache(maxsize=64)
def _kolmogorov_quantile(level: float) -> float:
    return float(scipy.special.kolmogi(1 - level))
