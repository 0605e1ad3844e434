"""Estimates of several classes before labels arrive: each class against the others, and their means."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Ints
from monitor.core.measurement import Reason
from monitor.measures.measure_options import MeasureResult
from monitor.measures.score_estimates import (
    ClassCalibrations,
    EstimatedValue,
    GroupedScores,
    ScoreCalibration,
    estimate_accuracy,
    estimate_precision,
    estimate_recall,
    estimate_roc_auc,
    measure_estimate,
    why_undecided,
)
from monitor.states.views import CellHistogram

Estimated: TypeAlias = EstimatedValue | Reason | None

_NEVER = EstimatedValue(0.0, 0.0, 0.0)  # in the mean: precision of a class that is never predicted


def class_results(
    learned: ClassCalibrations, tables: Ints, scores: CellHistogram, predictions: CellHistogram, level: float
) -> Iterator[MeasureResult]:
    """Estimates of several classes. Cost: about 0.3 ms a class.

    Parameters
    ----------
    tables
        shape (classes, 2, cells): records predicted as another class, then as the class, by the cells of
        its probability.
    scores
        of the largest probability.
    """
    yield estimate_top_class_accuracy(learned.largest, scores, level)
    n = int(tables[:1].sum())
    undecided = why_undecided(learned.largest, int(predictions.regular_counts.sum()), n)
    windows = [
        calibration
        if isinstance(calibration, Reason)
        else GroupedScores.from_prediction_counts(calibration, *table)
        for (_, calibration), table in zip(learned.classes, tables, strict=True)
    ]
    for name, estimate in (
        ("roc_auc", estimate_roc_auc),
        ("precision", estimate_precision),
        ("recall", estimate_recall),
    ):
        logistic = estimate is estimate_roc_auc
        because = None if logistic else undecided
        estimates = [
            window if isinstance(window, Reason) else because or estimate(window) for window in windows
        ]
        mean = _average_class_estimates(estimates, precise=estimate is estimate_precision) if n else None
        yield MeasureResult(
            f"estimated_{name}_macro", "", measure_estimate(mean, n, level, logistic=logistic)
        )
        for (subject, _), of_class in zip(learned.classes, estimates, strict=True):
            measurement = measure_estimate(of_class, n, level, logistic=logistic)
            yield MeasureResult(f"estimated_{name}", f"class:{subject}", measurement)


def estimate_top_class_accuracy(
    learned: ScoreCalibration, scores: CellHistogram, level: float
) -> MeasureResult:
    """Accuracy, of the largest probabilities."""
    counted = scores.regular_counts.astype(np.float64)
    n = int(counted.sum())
    right = (
        estimate_accuracy(GroupedScores.from_counts(learned, counted, n))
        if learned.decided
        else Reason.NOT_CONFIGURED
    )
    return MeasureResult("estimated_accuracy", "", measure_estimate(right, n, level))


def _average_class_estimates(of_classes: Sequence[Estimated], *, precise: bool) -> Estimated:
    """Mean over the classes of which labels taught something and records are expected.

    `precise`: of precisions: a class that is never predicted counts as 0, and a record bears on that of one
    class alone, so that the variances add up. Else a record bears on all classes, and the squares add up.
    """
    there = [
        _NEVER if precise and estimate is None else estimate
        for estimate in of_classes
        if estimate is not Reason.NO_LABELS
    ]
    estimates = [estimate for estimate in there if isinstance(estimate, EstimatedValue)]
    reasons = [estimate for estimate in there if isinstance(estimate, Reason)]
    if reasons or not estimates:
        return reasons[0] if reasons else None
    k = len(estimates)
    square = sum(estimate.square for estimate in estimates) / k**2
    return EstimatedValue(
        value=sum(estimate.value for estimate in estimates) / k,
        variance=sum(estimate.variance for estimate in estimates) / k**2 if precise else square,
        square=square,
        resolution=sum(estimate.resolution for estimate in estimates) / k,
    )
