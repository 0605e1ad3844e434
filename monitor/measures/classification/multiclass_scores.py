"""Class probabilities of a multi-class model: how well those of each class tell it from the others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.measurement import LEVEL, DetailTable, Interval, Measurement, Reason
from monitor.measures.classification import calibration
from monitor.measures.classification.discrimination import (
    FEW,
    auc_interval,
    brier_score,
    log_loss,
    logit_interval,
    missing_class_result,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.intervals import normal_interval
from monitor.measures.statistics.ranked_scores import RankedScores, ScoreResamples, measure_resample_spreads
from monitor.records.probabilities import UNUSABLE
from monitor.states.views import ClassTables, ExactSums, ScoreTable


@dataclass(frozen=True, slots=True)
class RocAreas:
    """One-vs-rest areas under the ROC curves, arrays of one entry a class."""

    # positives, negatives: records of the class, and of the others.
    positives: Ints
    negatives: Ints
    value: Floats  # P(p of a positive > p of a negative) + ½ P(equal); 0 where one of them is 0
    # of_positives, of_negatives: DeLong's variances of the mean placement of the ones, and of the others.
    of_positives: Floats
    of_negatives: Floats
    tied: Floats  # half the share of the pairs that share a cell
    # the same variances, where they are not to be trusted Hanley and McNeil's: see `_variance_parts`.
    parts: tuple[Floats, Floats]

    @classmethod
    def from_tables(cls, tables: ClassTables) -> "RocAreas":
        """Areas of all classes at once."""
        used = tables.counts.any(axis=(0, 1))
        negative, positive = tables.counts[:, 0, used], tables.counts[:, 1, used]
        n, p = negative.sum(axis=1), positive.sum(axis=1)
        below = np.cumsum(negative, axis=1) - negative
        pairs, same = np.maximum(n * p, 1), (positive * negative).sum(axis=1)
        value = (2 * (positive * below).sum(axis=1) + same) / (2 * pairs)
        below_share = (below + negative / 2) / np.maximum(n, 1)[:, None]
        above_share = (p[:, None] - np.cumsum(positive, axis=1) + positive / 2) / np.maximum(p, 1)[:, None]
        variances = (
            _variance_of_mean(positive, below_share - value[:, None], p),
            _variance_of_mean(negative, above_share - value[:, None], n),
        )
        return cls(p, n, value, *variances, same / (2 * pairs), _variance_parts((p, n), value, variances))

    @property
    def has_both_sides(self) -> Bools:
        """Classes with records of their own, and of others."""
        return (self.positives > 0) & (self.negatives > 0)

    @property
    def n(self) -> int:
        """All records."""
        return int(self.positives.sum())


def class_roc_auc(areas: RocAreas, position: int, level: float = LEVEL) -> Measurement:
    """One-vs-rest area of the class at a position, as `scores.roc_auc` of its table.

    Returns
    -------
    Measurement
        ``undefined`` where there is no record of the class, ``one_class`` where there is no other.
    """
    p, n = int(areas.positives[position]), int(areas.negatives[position])
    if areas.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    if p == 0 or n == 0:
        return Measurement.without_value(Reason.ONE_CLASS if n == 0 else Reason.UNDEFINED, n=p + n)
    value = float(areas.value[position])
    variance = float(areas.of_positives[position] + areas.of_negatives[position])
    interval = auc_interval(value, variance, (p, n), level)
    return Measurement(value=value, n=p + n, interval=interval, resolution=float(areas.tied[position]))


def roc_auc_macro(areas: RocAreas, level: float = LEVEL) -> Measurement:
    """Mean of the one-vs-rest areas of the classes that have records.

    Interval: see `_mean_interval`.
    """
    return _mean_area(areas, areas.has_both_sides / max(1, int(areas.has_both_sides.sum())), 0.0, level)


def roc_auc_weighted(areas: RocAreas, level: float = LEVEL) -> Measurement:
    """Mean of the one-vs-rest areas, weighted by the classes' records.

    Interval: see `_mean_interval`; the weights are a sample's too, and add the variance of the areas over
    classes.
    """
    weights = areas.positives * areas.has_both_sides / max(1, areas.n)
    spread = weights @ (areas.value - weights @ areas.value) ** 2 / max(1, areas.n)
    return _mean_area(areas, weights, float(spread), level)


def count_unusable_probabilities(tables: ClassTables) -> Measurement:
    """Labelled records that are left out of all measures of the probabilities, by cause."""
    left_out = int(tables.unusable.sum())
    n = left_out + int(tables.counts[:1].sum())
    causes = zip(UNUSABLE, map(float, tables.unusable.tolist()), strict=True)
    detail = DetailTable(("cause", "records"), tuple(causes)) if left_out else None
    return Measurement(value=float(left_out), n=n, detail=detail)


def probability_results(
    tables: ClassTables, losses: ExactSums, clipped: int, options: MeasureOptions
) -> Iterator[MeasureResult]:
    """All measures of the class probabilities; of a part of it those of all classes together alone."""
    yield MeasureResult("brier_score", "", brier_score(losses, options.level))
    yield MeasureResult("log_loss", "", log_loss(losses, options.level))
    areas = RocAreas.from_tables(tables)
    yield MeasureResult("roc_auc_macro", "", roc_auc_macro(areas, options.level))
    yield MeasureResult("roc_auc_weighted", "", roc_auc_weighted(areas, options.level))
    yield MeasureResult("unusable_probabilities", "", count_unusable_probabilities(tables))
    if options.whole:
        yield MeasureResult(
            "clipped_records", "", Measurement(value=float(clipped), n=losses.count_of("log_loss"))
        )
        for position, name in enumerate(tables.classes):
            yield MeasureResult("roc_auc", f"class:{name}", class_roc_auc(areas, position, options.level))


def measure_top_class_calibration(
    table: ScoreTable, bounds: Floats, options: MeasureOptions, rng: np.random.Generator | None
) -> Iterator[MeasureResult]:
    """Calibration errors of the largest probability: its class should be right as often as it says.

    Parameters
    ----------
    table
        records by the largest probability, positive where its class is the actual one.
    bounds
        shape (cells + 1,): bounds of the cells.
    """
    scores = RankedScores.from_table(table, bounds)
    scored, few = (
        calibration.RankedProbabilities.from_ranked(scores),
        calibration.has_too_few_records(scores.n),
    )
    resamples = None if few or rng is None else ScoreResamples.from_ranked(scores, options.resamples, rng)
    intervals = (
        {}
        if resamples is None
        else measure_resample_spreads(
            calibration.measure_resampled_calibration(resamples, scored), options.level
        )
    )
    yield from calibration.measure_grouped_calibration(scored, resamples, intervals, options, rng)


def _variance_of_mean(counts: Ints, off: Floats, n: Ints) -> Floats:
    """Variance of the mean of what lies `off` it, per class; 0 for fewer than two records."""
    variance: Floats = (counts * off * off).sum(axis=1) / np.maximum((n - 1) * n, 1)
    return variance


def _mean_area(areas: RocAreas, weights: Floats, spread: float, level: float) -> Measurement:
    if areas.n == 0 or not areas.has_both_sides.any():
        return missing_class_result(areas.n)
    value = min(1.0, float(weights @ areas.value))
    interval = _mean_interval(areas, weights, value, spread, level)
    return Measurement(value=value, n=areas.n, interval=interval, resolution=float(weights @ areas.tied))


def _mean_interval(
    areas: RocAreas, weights: Floats, value: float, spread: float, level: float
) -> Interval | None:
    """Interval of a weighted mean of areas, on the logit scale where it lies inside of (0, 1).

    The positives of different classes are different records: given the labels, their parts of the variance
    add up. The negatives of a class are the positives of others; these covariances are not in the counts. The
    standard deviation of all the negatives' parts is at most the sum of theirs, that of both kinds of parts
    at most the sum of both: an upper bound.
    """
    positives, negatives = areas.parts
    deviation = np.sqrt(weights**2 @ positives) + weights @ np.sqrt(negatives)
    variance = float(deviation**2) + spread
    if 0 < value < 1 and variance > 0:
        return logit_interval(value, variance, level)
    return normal_interval(value, variance, level, lowest=0.0, highest=1.0)


def _variance_parts(
    sizes: tuple[Ints, Ints], value: Floats, variances: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Variances of the positives' and the negatives' parts.

    Where a class or its rest has few records, or both no variance, Hanley and McNeil's as in Newcombe's
    method 5 stands for both, at the value that two more records of the class, one of them at the wrong end,
    would give.
    """
    p, n = np.maximum(sizes[0], 1), np.maximum(sizes[1], 1)
    few = np.minimum(p, n)
    a = (few * value + 1) / (few + 2)
    star = (p + n) / 2 - 1
    formula = a * (1 - a) * (1 + star * (1 - a) / (2 - a) + star * a / (1 + a)) / (p * n)
    rough = (few < FEW) | (variances[0] + variances[1] <= 0)
    return np.where(rough, formula, variances[0]), np.where(rough, 0.0, variances[1])
