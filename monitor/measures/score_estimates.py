"""Estimates: performance before labels arrive, from what was learned where they are known."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Counts, Floats, Ints
from monitor.core.measurement import BECAUSE, DetailTable, Interval, Measurement, Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.classification.discrimination import logit_interval
from monitor.measures.measure_options import MeasureResult
from monitor.measures.statistics.intervals import normal_interval
from monitor.records.labels.error_terms import prediction_groups
from monitor.states.error_tables import PredictionErrors
from monitor.states.views import CellHistogram, ConfusionCounts, ScoreTable

GROUPS = 60
FEW = 10  # records of either class, or errors, below which nothing is learned
LOST = 0.01  # records with a score or a prediction alone, relative to those with a score: at most
_BECAUSE = {  # of estimates; other measures mean something else by these reasons
    Reason.NOT_CONFIGURED: "labels show predictions that do not follow from the scores, neither by one "
    "threshold nor as the class of the largest probability",
    Reason.NOT_COUNTED: "more than 1 % of the records have a prediction without a usable score, or a score "
    "without a prediction",
}


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """The map from score to the probability of a positive label: a step function of score groups.

    Groups are runs of neighbouring cells, each with about the same part of the labelled positives and
    negatives together: narrow where the classes are told apart. One group ends where positive predictions
    begin. Not isotonic regression: that is fitted to its own labels, and so estimates these too well; the
    groups' shares estimate the records that they were learned from as they were.
    """

    group: Ints  # int64, shape (cells,): group of each regular cell of the score
    records: Floats  # labelled records by group
    rate: Floats  # share of positives by group
    noise: Floats  # rate·(1 - rate) by group, the rate drawn towards the base rate by one record: above 0
    # whether predictions are the classes from one score on; of several classes, the most probable one.
    decided: bool

    @classmethod
    def from_labels(cls, table: ScoreTable, confusion: ConfusionCounts) -> "ScoreCalibration | Reason":
        """Calibration of labelled scores; too few of either class: a reason.

        Parameters
        ----------
        confusion
            of the same records: binary, or several classes, with the table of the most probable one.
        """
        predicted, decided = _decided_positives(table, confusion)
        return cls.from_score_table(table, predicted, decided=decided)

    @classmethod
    def from_score_table(
        cls, table: ScoreTable, predicted: int, *, decided: bool
    ) -> "ScoreCalibration | Reason":
        """Calibration of labelled scores, of which so many, about the highest, are predicted positive."""
        positives, negatives = int(table.positive.sum()), int(table.negative.sum())
        if positives + negatives == 0:
            return Reason.NO_LABELS
        if min(positives, negatives) < FEW:
            return Reason.TOO_FEW
        # Five of the rarer class in a group at least, or its share would be chance.
        groups = max(1, min(GROUPS, min(positives, negatives) // 5))
        group = _score_groups(table, groups, predicted if decided else 0)
        size = int(group[-1]) + 1
        total = _group_sums(group, table.positive + table.negative, size)
        rate = _group_sums(group, table.positive, size) / total
        drawn = (rate * total + positives / (positives + negatives)) / (total + 1)
        return cls(group, total, rate, drawn * (1 - drawn), decided)


@dataclass(frozen=True, slots=True)
class ClassCalibrations:
    """Calibrations of several classes."""

    largest: ScoreCalibration  # from the largest probability to that of its class being right
    # (name, from a class's probability to that of the class); ``no_labels`` for a class without one.
    classes: tuple[tuple[str, ScoreCalibration | Reason], ...]

    @classmethod
    def from_labels(
        cls, largest: ScoreTable, confusion: ConfusionCounts, names: tuple[str, ...], tables: Ints
    ) -> "ClassCalibrations | Reason":
        """Calibrations of labelled class probabilities, unless too few records are right, or wrong.

        Parameters
        ----------
        names, tables
            of the classes; shape (classes, 2, cells): records of other classes, then of the class.
        """
        overall = ScoreCalibration.from_labels(largest, confusion)
        if isinstance(overall, Reason):
            return overall
        predicted = dict(zip(confusion.classes, confusion.counts[:, :-1].sum(axis=0).tolist(), strict=True))
        calibrations: list[tuple[str, ScoreCalibration | Reason]] = []
        for name, (others, of_class) in zip(names, tables, strict=True):
            calibration: ScoreCalibration | Reason = Reason.NO_LABELS
            if of_class.any():
                table = ScoreTable(others, of_class)
                calibration = ScoreCalibration.from_score_table(
                    table, predicted.get(name, 0), decided=overall.decided
                )
            calibrations.append((name, calibration))
        return cls(overall, tuple(calibrations))


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Expected absolute errors of a regression by cell of the prediction."""

    group: Ints  # int64, shape (cells,): group of each regular cell of the prediction
    records: Floats  # errors behind each group's mean; where there were none, of its neighbours
    # mean, variance: of the absolute error.
    mean: Floats
    variance: Floats

    @classmethod
    def from_errors(cls, errors: PredictionErrors, cells: int) -> "ExpectedErrors | Reason":
        """Expected errors; groups without an error lie between their neighbours."""
        n = errors.n
        if n.sum() == 0:
            return Reason.NO_LABELS
        if errors.records_out_of_range:
            return Reason.OUT_OF_RANGE
        if n.sum() < FEW:
            return Reason.TOO_FEW
        held, every = np.flatnonzero(n), np.arange(len(n))
        absolute, squared, *_ = errors.sums
        mean, second = (np.interp(every, held, side[held] / n[held]) for side in (absolute, squared))
        records = np.interp(every, held, n[held])
        group = prediction_groups(cells)
        return cls(group, records, mean, np.maximum(second - mean * mean, 0.0))


LearnedCalibration: TypeAlias = ScoreCalibration | ClassCalibrations | ExpectedErrors


@dataclass(frozen=True, slots=True)
class EstimatedValue:
    """A value that labels will give."""

    value: float
    # variance, square: of what labels add to it: the mean squared deviation, and the mean square, which is
    # not below it. A record is of one class: in a mean over classes the squares add up, whatever is
    # correlated.
    variance: float
    square: float
    resolution: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupedScores:
    """A window's records by group: predicted positive, predicted negative; labels still to come."""

    learned: ScoreCalibration
    plus: Floats
    minus: Floats

    @classmethod
    def from_counts(cls, learned: ScoreCalibration, counted: Floats, positive: float) -> "GroupedScores":
        """Records by cell, of which so many highest ones are predicted positive."""
        # As many as are predicted positive, from the highest cell down; of one cell a part.
        taken = np.clip(positive - (counted.sum() - np.cumsum(counted)), 0.0, counted)
        return cls.from_prediction_counts(learned, counted - taken, taken)

    @classmethod
    def from_prediction_counts(
        cls, learned: ScoreCalibration, minus: Counts, plus: Counts
    ) -> "GroupedScores":
        """Records by cell that are predicted negative, and positive."""
        groups = len(learned.rate)
        return cls(learned, *(_group_sums(learned.group, side, groups) for side in (plus, minus)))

    def select_predictions(self, negative: bool, positive: bool) -> "GroupedScores":  # noqa: FBT001 -- a pair
        """The records of one kind of prediction alone, or of both."""
        return replace(self, plus=self.plus * positive, minus=self.minus * negative)

    def value_spread(self, of_plus: Floats | float, of_minus: Floats | float) -> Floats:
        """Variance and mean square of a value, given what a positive label of either kind of record adds.

        Two parts: of the labels given the map (Poisson-binomial), and of the map: that of a bootstrap of each
        group's labels, which is known without drawing them.
        """
        labels = self.plus * np.square(of_plus) + self.minus * np.square(of_minus)
        learned = np.square(self.plus * of_plus + self.minus * of_minus) / self.learned.records
        noise = self.learned.noise
        variance_and_square: Floats = np.stack([noise, np.maximum(self.learned.rate, noise)]) @ (
            labels + learned
        )
        return variance_and_square


def binary_results(
    learned: ScoreCalibration,
    scores: CellHistogram,
    predictions: CellHistogram,
    level: float,
    come_for: tuple[bool, bool] = (True, True),
) -> Iterator[MeasureResult]:
    """Estimates of a binary model: of scores that are numbers, and predictions of the same records.

    `come_for`: whether labels come for negative, and for positive predictions: estimated is what they will
    give.
    """
    counted = scores.regular_counts.astype(np.float64)
    n, predicted = int(counted.sum()), int(predictions.regular_counts[:2].sum())
    positive = float(predictions.regular_counts[1]) * n / max(predicted, 1)
    window = GroupedScores.from_counts(learned, counted, positive).select_predictions(*come_for)
    undecided = why_undecided(learned, predicted, n)
    n = round(float(window.plus.sum() + window.minus.sum()))
    yield MeasureResult(
        "estimated_roc_auc", "", measure_estimate(estimate_roc_auc(window), n, level, logistic=True)
    )
    of_predictions = (estimate_accuracy, estimate_precision, estimate_recall)
    for name, estimate in zip(("accuracy", "precision", "recall"), of_predictions, strict=True):
        estimated = undecided or estimate(window)
        yield MeasureResult(f"estimated_{name}", "", measure_estimate(estimated, n, level))


def why_undecided(learned: ScoreCalibration, predicted: int, n: int) -> Reason | None:
    """Why nothing is estimated of the predictions of n records with a score."""
    if not learned.decided:
        return Reason.NOT_CONFIGURED
    return Reason.NOT_COUNTED if abs(predicted - n) > LOST * n else None


def measure_estimate(
    estimate: EstimatedValue | Reason | None, n: int, level: float, *, logistic: bool = False
) -> Measurement:
    """Measurement of an estimate, or why there is none.

    With a prediction interval, within [0, 1]; on the logit scale there is none at 0 and 1.
    """
    if not isinstance(estimate, EstimatedValue):
        reason = estimate or (Reason.UNDEFINED if n else Reason.NO_RECORDS)
        detail = DetailTable(BECAUSE, ((_BECAUSE[reason],),)) if reason in _BECAUSE else None
        return Measurement(None, n, reason, detail=detail)
    value, variance, interval = estimate.value, estimate.variance, None
    if not logistic:
        interval = normal_interval(value, variance, level, lowest=0.0, highest=1.0)
    elif 0 < value < 1 and 0 < variance < math.inf:
        interval = logit_interval(value, variance, level)
    return Measurement(value, n, None, interval, estimate.resolution)


def estimate_absolute_error(
    learned: ExpectedErrors, predictions: CellHistogram, level: float
) -> Iterator[MeasureResult]:
    """Estimated mean absolute error: the mean of the expected ones."""
    counted = _group_sums(learned.group, predictions.regular_counts, len(learned.mean))
    n = int(counted.sum())
    name = "estimated_mean_absolute_error"
    if n == 0:
        yield MeasureResult(name, "", Measurement.without_value(Reason.NO_RECORDS, n=0))
        return
    value = float(counted @ learned.mean) / n
    spread = learned.variance @ (counted + np.square(counted) / learned.records)
    interval = normal_interval(value, float(spread) / n**2, level, lowest=0.0)
    yield MeasureResult(name, "", Measurement(value, n, None, interval))


def list_absent_estimates(
    names: Iterable[str], reason: Reason, n: int, because: str = ""
) -> Iterator[MeasureResult]:
    """Every estimate, with the reason why there is none, and what is behind it."""
    detail = DetailTable(BECAUSE, ((because,),)) if because and n else None
    for name in names:
        lost = Measurement(None, n, reason if n else Reason.NO_RECORDS, detail=detail)
        yield MeasureResult(f"estimated_{name}", "", lost)


def measure_estimate_errors(
    estimated: Iterable[MeasureResult], realised: Iterable[MeasureResult]
) -> Iterator[MeasureResult]:
    """Each estimate less what labels gave: `estimated_NAME_error`.

    The interval is the estimate's, moved likewise: without 0 in it, labels are not as the map led one to
    expect.
    """
    by_labels = {(result.measure, result.subject): result.measurement for result in realised}
    for result in estimated:
        actual = by_labels.get((BY_NAME[result.measure].estimates, result.subject))
        if actual is not None:
            yield MeasureResult(
                f"{result.measure}_error", result.subject, _estimate_error(result.measurement, actual)
            )


def _estimate_error(estimate: Measurement, actual: Measurement) -> Measurement:
    if actual.value is None:
        return Measurement.without_value(actual.reason or Reason.UNDEFINED, n=actual.n)
    if estimate.value is None:
        return replace(estimate, n=actual.n)
    interval, by = estimate.interval, actual.value
    if interval is not None:
        interval = Interval(interval.lower - by, interval.upper - by, interval.level)
    resolution = estimate.resolution + actual.resolution
    return replace(
        estimate, value=estimate.value - by, n=actual.n, interval=interval, resolution=resolution, detail=None
    )


def estimate_accuracy(window: GroupedScores) -> EstimatedValue | None:
    """Expected share of the records that are predicted right."""
    rate = window.learned.rate
    right = float(window.plus @ rate + window.minus @ (1 - rate))
    return _estimate_share(
        right, float(window.plus.sum() + window.minus.sum()), window.value_spread(1.0, -1.0)
    )


def estimate_precision(window: GroupedScores) -> EstimatedValue | None:
    """Expected share of positives among the records that are predicted positive."""
    right = float(window.plus @ window.learned.rate)
    return _estimate_share(right, float(window.plus.sum()), window.value_spread(1.0, 0.0))


def estimate_recall(window: GroupedScores) -> EstimatedValue | None:
    """Expected positives among the records that are predicted positive, relative to all expected."""
    rate = window.learned.rate
    hits, missed = float(window.plus @ rate), float(window.minus @ rate)
    value = hits / (hits + missed) if hits + missed else 0.0
    return _estimate_share(hits, hits + missed, window.value_spread(1 - value, -value))


def estimate_roc_auc(window: GroupedScores) -> EstimatedValue | None:
    """Area under the curve of expected counts; records of one group are tied."""
    counted = window.plus + window.minus
    positive = counted * window.learned.rate
    negative = counted - positive
    p, q = float(positive.sum()), float(negative.sum())
    if p <= 0 or q <= 0:
        return None
    below = (np.cumsum(negative) - negative / 2) / q
    above = 1 - (np.cumsum(positive) - positive / 2) / p
    value = float(positive @ below) / p
    # What a positive label in a group adds to the area: there is a positive more, and a negative less.
    each = (below - value) / p - (above - value) / q
    variance, square = window.value_spread(each, each).tolist()
    return EstimatedValue(value, variance, square, float(positive @ negative) / (2 * p * q))


def _estimate_share(part: float, whole: float, spread: Floats) -> EstimatedValue | None:
    """Share of expected counts, the spread that of the share times the whole."""
    if whole <= 0:
        return None
    variance, square = (spread / whole**2).tolist()
    return EstimatedValue(min(part / whole, 1.0), variance, square)


def _group_sums(group: Ints, counts: Counts, groups: int) -> Floats:
    """Sum of counts by group."""
    return np.bincount(group, weights=counts, minlength=groups).astype(np.float64, copy=False)


def _decided_positives(table: ScoreTable, confusion: ConfusionCounts) -> tuple[int, bool]:
    """Positive predictions, and whether they are those of the highest scores, as far as labels can tell.

    The positive labels among the predicted must be as many as among the same number of highest scores, up to
    how a single cell is split. Of several classes: the most probable class must be right as often as the
    predicted one. Records that have a score or a prediction alone are given away; they must be few.
    """
    counts = confusion.counts[:-1, :-1]
    n, of_classes = int((table.positive + table.negative).sum()), int(counts.sum())
    lost = abs(of_classes - n)
    if lost > LOST * n:
        return 0, False
    right = int(np.trace(counts))
    if len(confusion.classes) != 2:
        return 0, abs(right - int(table.positive.sum())) <= lost
    predicted, right = min(int(counts[:, 1].sum()), n), int(counts[1, 1])
    above = n - np.cumsum(table.positive + table.negative)
    cell = int(np.searchsorted(-above, -predicted))  # it holds the last of the highest scores
    most = int(table.positive[cell + 1 :].sum())
    split = predicted - int(above[cell])
    least = most + max(0, split - int(table.negative[cell]))
    most += min(split, int(table.positive[cell]))
    return predicted, least - lost <= right <= most + lost


def _score_groups(table: ScoreTable, groups: int, predicted: int) -> Ints:
    """Group of each cell; a border lies where so many highest scores begin."""
    records = table.positive + table.negative
    along = np.cumsum(table.positive / table.positive.sum() + table.negative / table.negative.sum()) / 2
    middle = along - np.diff(along, prepend=0.0) / 2
    side = records.sum() - np.cumsum(records) + records <= predicted
    raw = 2 * np.minimum((middle * groups).astype(np.int64), groups - 1) + side
    held = np.unique(raw[records > 0])
    group: Ints = np.maximum(np.searchsorted(held, raw, side="right") - 1, 0)
    return group
