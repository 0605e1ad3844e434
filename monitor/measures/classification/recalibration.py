"""Recalibration: slope and intercept of a logistic regression of the labels on the scores' logits."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Floats
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import normal_interval
from monitor.measures.statistics.ranked_scores import RankedScores

_STEPS = 30
_NEAR = 1e-4  # Newton's steps converge quadratically: the next one is of its square
_CLIP = 2.0**-12  # the middle of the outermost cells of 2,048


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
            reason = (
                Reason.UNDEFINED
                if scores.has_both_classes
                else Reason.ONE_CLASS
                if scores.n
                else Reason.NO_LABELS
            )
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
