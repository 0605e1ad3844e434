"""Calibration: how well scores in [0, 1] serve as probabilities; slope and intercept by logistic regression.

A cell's score stands for its middle; the resolution of each measure bounds what that can change.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats, Ints, Singles
from monitor.core.measurement import LEVEL, Measurement, Reason
from monitor.measures.classification.discrimination import missing_class_result
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.intervals import normal_interval, row_quantiles
from monitor.measures.statistics.ranked_scores import (
    GROUPS,
    RankedScores,
    ResampleSpread,
    ScoreResamples,
    curve_table,
    fixed_normals,
    merge_score_cells,
    positive_denominator,
)
from monitor.states.views import ExactSums

_STEPS = 30
_NEAR = 1e-4  # Newton's steps converge quadratically: the next one is of its square
_CLIP = 2.0**-12  # the middle of the outermost cells of 2,048
_ROUNDING = 1e-13  # of a difference of two sums, relative to them
PER_GROUP = 10  # records a group must have on average
_NORMAL_FROM = 1  # expected records of the rarer class in a group
_NAMES = ("expected_calibration_error", "maximum_calibration_error", "squared_calibration_error")
_TABLE = ("lowest_score", "highest_score", "records", "mean_probability", "positive_rate")


@dataclass(frozen=True, slots=True)
class RankedProbabilities:
    """Ranked scores as probabilities."""

    ranked: RankedScores
    # middle, half: shape (cells,): middle and half the width of each cell.
    middle: Floats
    half: Floats
    weighted: Floats  # sum of the records' middles

    @classmethod
    def from_ranked(cls, scores: RankedScores) -> "RankedProbabilities":
        """Probabilities of cells that are bounded: the scores' range is [0, 1]."""
        middle, half = (scores.lower + scores.upper) / 2, (scores.upper - scores.lower) / 2
        return cls(scores, middle, half, scores.records * middle)


@dataclass(frozen=True, slots=True)
class ReliabilityGroups:
    """Groups of about equally many records, the highest scores first."""

    # records, positives: int64, shape (groups,).
    records: Ints
    positives: Ints
    # mean, off: mean of the cells' middles, and the bound of its error.
    mean: Floats
    off: Floats
    variance: Floats  # of the number of positives, if each cell's middle were the probability
    # lower, upper: the cells' outer bounds.
    lower: Floats
    upper: Floats

    @classmethod
    def from_cells(cls, scored: RankedProbabilities, start: Ints) -> "ReliabilityGroups":
        """Groups that begin at the given cells."""
        scores, n = scored.ranked, scored.ranked.records
        records, positives = (np.add.reduceat(side, start).astype(np.int64) for side in (n, scores.positive))
        mean, off = (
            np.add.reduceat(scored.weighted, start) / records,
            np.add.reduceat(n * scored.half, start) / records,
        )
        variance = np.add.reduceat(scored.weighted * (1 - scored.middle), start)
        last = np.append(start[1:], len(n)) - 1
        return cls(records, positives, mean, off, variance, scores.lower[last], scores.upper[start])

    @property
    def gap(self) -> Floats:
        """Mean probability less the share of positives, by group."""
        return self.mean - self.positives / self.records


def measure_mean_probability(scored: RankedProbabilities, level: float = LEVEL) -> Iterator[MeasureResult]:
    """Mean predicted probability, and that less the share of positives: calibration in the large.

    Intervals: those of means, by the variances of the cells' middles and of these less the labels.
    """
    n, p = scored.ranked.n, scored.ranked.positives
    names = ("mean_predicted_probability", "calibration_in_the_large")
    if n == 0:
        for name in names:
            yield MeasureResult(name, "", Measurement.without_value(Reason.NO_LABELS, n=0))
        return
    first, second = float(scored.weighted.sum()) / n, float(scored.weighted @ scored.middle) / n
    of_positives, off = (
        float(scored.ranked.positive @ scored.middle) / n,
        float(scored.ranked.records @ scored.half) / n,
    )
    # Mean and mean square of the middle m, and of m less the label y, whose square is m² - 2my + y.
    moments = (first, second, 0.0), (first - p / n, second - 2 * of_positives + p / n, -1.0)
    for name, (value, square, lowest) in zip(names, moments, strict=True):
        variance = square - value * value
        # A difference of two sums that is of the size of their rounding tells of no variance.
        sure = variance > _ROUNDING * square and n > 1
        interval = (
            normal_interval(value, variance / (n - 1), level, lowest=lowest, highest=1.0) if sure else None
        )
        yield MeasureResult(name, "", Measurement(value, n, None, interval, off))


def brier_skill_score(scored: RankedProbabilities, losses: ExactSums, level: float = LEVEL) -> Measurement:
    """Skill 1 - B / (r (1 - r)): Brier score B against that of always predicting the base rate r.

    Exact. The interval is the delta method's on the means of loss and label; their variances and covariance
    are those of the cells' middles.
    """
    scores, n = scored.ranked, scored.ranked.n
    if not scores.has_both_classes:
        return missing_class_result(n)
    r, brier = scores.positives / n, float(losses.exact_mean("brier"))
    spread = r * (1 - r)
    by_loss, by_label = -1 / spread, brier * (1 - 2 * r) / spread**2
    of_positive = by_loss * ((1 - scored.middle) ** 2 - brier) + by_label * (1 - r)
    of_negative = by_loss * (scored.middle**2 - brier) - by_label * r
    square = float(scores.positive @ of_positive**2 + scores.negative @ of_negative**2)
    value = 1 - brier / spread
    return Measurement(value, n, None, normal_interval(value, square / n / (n - 1), level, highest=1.0))


def measure_grouped_calibration(
    scored: RankedProbabilities,
    resamples: ScoreResamples | None,
    spreads: Mapping[str, ResampleSpread],
    options: MeasureOptions,
    rng: np.random.Generator | None,
) -> Iterator[MeasureResult]:
    """All measures of calibration that need groups; without resamples values alone."""
    scores = scored.ranked
    if has_too_few_records(scores.n):
        reason = Reason.TOO_FEW if scores.n else Reason.NO_LABELS
        for name in (*_NAMES, *(f"{name}_critical" for name in _NAMES[:2])):
            yield MeasureResult(name, "", Measurement.without_value(reason, n=scores.n))
        return
    first, group = merge_score_cells(scores) if resamples is None else (resamples.first, resamples.group)
    reliability = ReliabilityGroups.from_cells(scored, first[group])
    yield from measure_calibration_errors(scored, reliability, spreads)
    if rng is not None:
        yield from simulate_critical_errors(reliability, scores.n, options.resamples, rng, options.level)


def measure_calibration_errors(
    scored: RankedProbabilities, reliability: ReliabilityGroups, spreads: Mapping[str, ResampleSpread]
) -> Iterator[MeasureResult]:
    """Expected, maximum and squared calibration error over the groups.

    Expected: Σ n_b/n |gap_b|. Maximum: max |gap_b|. Squared: Σ n_b/n (gap_b² - r_b (1 - r_b) / (n_b - 1)),
    r_b the share of positives: free of the bias that few records a group bring [1]_, and below 0 at times.

    References
    ----------
    .. [1] Kumar, Liang & Ma (2019). Verified uncertainty calibration. NeurIPS 32, section 4.2.
    """
    n, gap = scored.ranked.n, np.abs(reliability.gap)
    weight, off = reliability.records / n, reliability.off
    rate = reliability.positives / reliability.records
    table = curve_table(
        _TABLE,
        reliability.lower[::-1],
        reliability.upper[::-1],
        reliability.records[::-1].astype(np.float64),
        reliability.mean[::-1],
        rate[::-1],
    )
    noise = rate * (1 - rate) / np.maximum(reliability.records - 1, 1)
    expected, squared = float(weight @ gap), float(weight @ (gap**2 - noise))
    rows = zip(
        _NAMES,
        (expected, float(gap.max()), squared),
        # The squares can have changed by (gap + off)² - gap².
        (float(weight @ off), float(off.max()), float(weight @ (2 * gap * off + off**2))),
        (0.0, 0.0, -1.0),
        strict=True,
    )
    for name, value, resolution, lowest in rows:
        spread = spreads.get(name)
        interval = spread.basic_interval(value, lowest, 1.0) if spread else None
        detail = table if name == _NAMES[0] else None
        yield MeasureResult(name, "", Measurement(value, n, None, interval, resolution, detail))


def simulate_critical_errors(
    reliability: ReliabilityGroups, n: int, resamples: int, rng: np.random.Generator, level: float
) -> Iterator[MeasureResult]:
    """Values that the expected and the maximum error exceed with probability 1 - level if calibrated."""
    gap = np.abs(simulate_calibrated_gaps(reliability, resamples, rng))
    weight = (reliability.records / n).astype(np.float32)
    limits = row_quantiles(np.sort(np.stack([weight @ gap, gap.max(axis=0)]), axis=1), level)
    for name, value in zip(_NAMES, limits, strict=False):
        yield MeasureResult(f"{name}_critical", "", Measurement(value, n))


def simulate_calibrated_gaps(
    reliability: ReliabilityGroups, resamples: int, rng: np.random.Generator
) -> Singles:
    """Gaps of perfectly calibrated scores, shape (groups, resamples).

    Normal, but for groups in which less than one record of a class is expected: binomial.
    """
    expected = reliability.records * reliability.mean
    spread = np.sqrt(reliability.variance) / reliability.records
    gaps = fixed_normals(0, resamples)[: len(expected)] * spread.astype(np.float32)[:, None]
    rare = np.flatnonzero(np.minimum(expected, reliability.records - expected) < _NORMAL_FROM)
    if len(rare):
        trials, chance = reliability.records[rare, None], reliability.mean[rare, None]
        drawn = rng.binomial(trials, np.clip(chance, 0, 1), size=(len(rare), resamples))
        gaps[rare] = chance - drawn / trials
    return gaps


def measure_resampled_calibration(
    resamples: ScoreResamples, scored: RankedProbabilities
) -> dict[str, Singles]:
    """Calibration errors of the counts and of each resample."""
    first, group, n = resamples.first, resamples.group, scored.ranked.n
    mean = np.add.reduceat(scored.weighted, first) / np.add.reduceat(scored.ranked.records, first)
    place = np.searchsorted(group, np.arange(len(first)), side="right") - 1
    members = (place == np.arange(len(group))[:, None]).astype(np.float32)
    weighted = members * mean.astype(np.float32)
    positive, negative = members @ resamples.positive, members @ resamples.negative
    gap = np.abs(weighted @ (resamples.positive + resamples.negative) - positive)
    weight = positive_denominator(positive + negative)
    off = gap / weight
    noise = positive * negative / (weight * np.maximum(weight * n - 1, 1))
    # The resamples' squared error, less its noise, estimates the merged cells' whole one.
    noise[:, 0] = 0
    drawn = gap.sum(axis=0), off.max(axis=0), (gap * off - noise).sum(axis=0)
    return dict(zip(_NAMES, drawn, strict=True))


def score_calibration_results(scored: RankedProbabilities, level: float) -> Iterator[MeasureResult]:
    """All measures of calibration that need no groups and no losses."""
    yield from measure_mean_probability(scored, level)
    yield from fit_results(scored.ranked, level)


def has_too_few_records(n: int) -> bool:
    """Whether there are fewer records than ten a group."""
    return n < PER_GROUP * GROUPS


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Maximum-likelihood fit of logit P(positive) = intercept + slope · _logit(score)."""

    coefficients: tuple[float, float]  # (intercept, slope)
    covariance: Floats  # shape (2, 2): inverse of the Hessian
    off: tuple[float, float]  # first-order bounds of what the cells can have changed in the coefficients


@dataclass(frozen=True, slots=True)
class _LikelihoodMaximum:
    coefficients: tuple[float, float]
    chance: Floats
    covariance: Floats


def fit_recalibration(scores: RankedScores) -> LogisticFit | None:
    """Fit by Newton's method on the cells' middles; None where there is no finite maximum.

    Scores are clipped to [2⁻¹², 1 - 2⁻¹²].
    """
    if _is_separated(scores):
        return None
    x, lower, upper = _cell_logits(scores)
    reach = np.maximum(x - lower, upper - x)
    # From calibrated scores on, which is near for most; where steps do not converge, from the base rate.
    for start in ((0.0, 1.0), (math.log(scores.positives / scores.negatives), 0.0)):
        maximum = _newton_maximum(x, scores.positive, scores.records, start)
        if maximum is not None:
            return LogisticFit(
                maximum.coefficients, maximum.covariance, _resolution_bound(scores, x, reach, maximum)
            )
    return None


def fit_results(scores: RankedScores, level: float) -> Iterator[MeasureResult]:
    """Slope and intercept, with normal intervals."""
    fit = fit_recalibration(scores)
    for at, name in ((1, "calibration_slope"), (0, "calibration_intercept")):
        if fit is None:
            if scores.has_both_classes:
                reason = Reason.UNDEFINED
            else:
                reason = Reason.ONE_CLASS if scores.n else Reason.NO_LABELS
            yield MeasureResult(name, "", Measurement.without_value(reason, n=scores.n))
            continue
        value = fit.coefficients[at]
        interval = normal_interval(value, float(fit.covariance[at, at]), level)
        yield MeasureResult(name, "", Measurement(value, scores.n, None, interval, fit.off[at]))


def _is_separated(scores: RankedScores) -> bool:
    """Whether a threshold separates the classes but for equal scores, or a class is missing."""
    if not scores.has_both_classes:
        return True
    ends = [  # first and last cell of each class, the counts being whole
        [int(np.searchsorted(down, at)) for at in (1, whole)]
        for down, whole in ((scores.true, scores.positives), (scores.false, scores.negatives))
    ]
    (first, last), (first_negative, last_negative) = ends
    return last <= first_negative or last_negative <= first


def _newton_maximum(
    x: Floats, positive: Floats, records: Floats, start: tuple[float, float]
) -> _LikelihoodMaximum | None:
    """Maximum of the likelihood; None where the steps do not converge."""
    a, b = start
    for _ in range(_STEPS):
        chance = _expit(a + b * x)
        expected = records * chance
        weight = expected * chance
        np.subtract(expected, weight, out=weight)
        weighted = weight * x
        w, wx, wxx = float(weight.sum()), float(weighted.sum()), float(weighted @ x)
        determinant = w * wxx - wx * wx
        if not 1e-12 * w * wxx < determinant < np.inf:
            return None
        residual = np.subtract(positive, expected, out=expected)
        r, rx = float(residual.sum()), float(residual @ x)
        da, db = (wxx * r - wx * rx) / determinant, (w * rx - wx * r) / determinant
        a, b = a + da, b + db
        if abs(da) <= _NEAR * (1 + abs(a)) and abs(db) <= _NEAR * (1 + abs(b)):
            return _LikelihoodMaximum((a, b), chance, np.asarray([[wxx, -wx], [-wx, w]]) / determinant)
    return None


def _expit(values: Floats) -> Floats:
    """1 / (1 + exp(-x)), five times as fast as SciPy's; never overflows."""
    scaled = 0.5 * values
    np.tanh(scaled, out=scaled)
    scaled *= 0.5
    scaled += 0.5
    return scaled


def _cell_logits(scores: RankedScores) -> tuple[Floats, Floats, Floats]:
    """Logits of the cells' middles and of their bounds."""
    chance = np.stack([(scores.lower + scores.upper) / 2, scores.lower, scores.upper])
    chance = np.clip(chance, _CLIP, 1 - _CLIP)
    middle, lower, upper = np.log(chance / (1 - chance))
    return middle, lower, upper


def _resolution_bound(
    scores: RankedScores, x: Floats, reach: Floats, maximum: _LikelihoodMaximum
) -> tuple[float, float]:
    """Bound of what moving each score's logit by its reach changes, to first order.

    A record's gradient (y - p) (1, x) moves by (-p (1 - p) slope (1, x) + (y - p) (0, 1)) dx.
    """
    chance, records = maximum.chance, scores.records
    by_weight = abs(maximum.coefficients[1]) * records * chance * (1 - chance) * reach
    by_residual = float((scores.positive * (1 - chance) + scores.negative * chance) @ reach)
    intercept, slope = (
        float(np.abs(row[0] + row[1] * x) @ by_weight) + abs(float(row[1])) * by_residual
        for row in maximum.covariance
    )
    return intercept, slope
