"""Estimates: performance before labels arrive, from what was learned where they are known."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from monitor.core.interval import Interval
from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Counts, Floats, Ints
from monitor.measures.ask import Result
from monitor.measures.intervals import normal
from monitor.measures.scores import logit
from monitor.records.error_terms import prediction_groups
from monitor.states.error_tables import PredictionErrors
from monitor.states.views import Confusion, Histogram, ScoreTable

PREFIX, SUFFIX = "estimated_", "_error"
GROUPS = 60
FEW = 10  # records of either class, or errors, below which nothing is learned
LOST = 0.01  # records with a score or a prediction alone, relative to those with a score: at most


@dataclass(frozen=True, slots=True)
class Calibration:
    """The map from score to the probability of a positive label: a step function of score groups.

    Groups are runs of neighbouring cells, each with about the same part of the labelled positives and
    negatives together: narrow where the classes are told apart. One group ends where positive predictions
    begin. Not isotonic regression: that is fitted to its own labels, and so estimates these too well; the
    groups' shares estimate the records that they were learned from as they were.

    Parameters
    ----------
    group
        int64, shape (cells,): group of each regular cell of the score.
    records
        labelled records by group.
    rate
        share of positives by group.
    noise
        rate·(1 - rate) by group, the rate drawn towards the base rate by one record: above 0.
    decided
        whether predictions are the classes from one score on; of several classes, the most probable one.
    """

    group: Ints
    records: Floats
    rate: Floats
    noise: Floats
    decided: bool

    @classmethod
    def of(cls, table: ScoreTable, confusion: Confusion) -> "Calibration | Reason":
        """Calibration of labelled scores; too few of either class: a reason.

        Parameters
        ----------
        confusion
            of the same records: binary, or several classes, with the table of the most probable one.
        """
        positives, negatives = int(table.positive.sum()), int(table.negative.sum())
        if positives + negatives == 0:
            return Reason.NO_LABELS
        if min(positives, negatives) < FEW:
            return Reason.TOO_FEW
        predicted, decided = _decided(table, confusion)
        groups = max(1, min(GROUPS, min(positives, negatives) // 5))
        group = _groups(table, groups, predicted if decided else 0)
        size = int(group[-1]) + 1
        total = _by_group(group, table.positive + table.negative, size)
        rate = _by_group(group, table.positive, size) / total
        drawn = (rate * total + positives / (positives + negatives)) / (total + 1)
        return cls(group, total, rate, drawn * (1 - drawn), decided)


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Expected absolute errors of a regression by cell of the prediction.

    Parameters
    ----------
    group
        int64, shape (cells,): group of each regular cell of the prediction.
    records
        errors behind each group's mean; where there were none, of its neighbours.
    mean, variance
        of the absolute error.
    """

    group: Ints
    records: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, errors: PredictionErrors, cells: int) -> "ExpectedErrors | Reason":
        """Expected errors; groups without an error lie between their neighbours."""
        n = errors.n
        if n.sum() == 0:
            return Reason.NO_LABELS
        if errors.out_of_range:
            return Reason.OUT_OF_RANGE
        if n.sum() < FEW:
            return Reason.TOO_FEW
        held, every = np.flatnonzero(n), np.arange(len(n))
        absolute, squared = errors.sums
        mean, second = (np.interp(every, held, side[held] / n[held]) for side in (absolute, squared))
        records = np.interp(every, held, n[held])
        group = prediction_groups(cells)
        return cls(group, records, mean, np.maximum(second - mean * mean, 0.0))


Learned: TypeAlias = Calibration | ExpectedErrors


@dataclass(frozen=True, slots=True)
class _Scores:
    """A window's records by group: predicted positive, predicted negative; labels still to come."""

    learned: Calibration
    plus: Floats
    minus: Floats

    @classmethod
    def of(cls, learned: Calibration, counted: Floats, positive: float) -> "_Scores":
        """Records by cell, of which so many highest ones are predicted positive."""
        taken = np.clip(positive - (counted.sum() - np.cumsum(counted)), 0.0, counted)
        groups = len(learned.rate)
        plus = _by_group(learned.group, taken, groups)
        return cls(learned, plus, _by_group(learned.group, counted, groups) - plus)

    def variance(self, of_plus: Floats | float, of_minus: Floats | float) -> float:
        """Variance of a value, given what a positive label of either kind of record adds to it.

        Two parts: of the labels given the map (Poisson-binomial), and of the map: that of a bootstrap of each
        group's labels, which is known without drawing them.
        """
        labels = self.plus * np.square(of_plus) + self.minus * np.square(of_minus)
        learned = np.square(self.plus * of_plus + self.minus * of_minus) / self.learned.records
        return float(self.learned.noise @ (labels + learned))


def binary_results(
    learned: Calibration, scores: Histogram, predictions: Histogram, level: float
) -> Iterator[Result]:
    """Estimates of a binary model: of scores that are numbers, and predictions of the same records."""
    counted = scores.regular.astype(np.float64)
    n, predicted = int(counted.sum()), int(predictions.regular[:2].sum())
    positive = float(predictions.regular[1]) * n / max(predicted, 1)
    window = _Scores.of(learned, counted, positive)
    yield Result("estimated_roc_auc", "", _roc_auc(window, n, level))
    of_predictions = (_accuracy, _precision, _recall)
    for name, estimate in zip(("accuracy", "precision", "recall"), of_predictions, strict=True):
        measurement = estimate(window, n, level)
        if not learned.decided:
            measurement = Measurement.absent(Reason.NOT_CONFIGURED, n=n)
        elif abs(predicted - n) > LOST * n:
            measurement = Measurement.absent(Reason.NOT_COUNTED, n=n)
        yield Result(f"estimated_{name}", "", measurement)


def class_results(learned: Calibration, scores: Histogram, level: float) -> Iterator[Result]:
    """Estimated accuracy of several classes: how often the most probable one is right."""
    counted = scores.regular.astype(np.float64)
    n = int(counted.sum())
    measurement = _accuracy(_Scores.of(learned, counted, n), n, level)
    if not learned.decided:
        measurement = Measurement.absent(Reason.NOT_CONFIGURED, n=n)
    yield Result("estimated_accuracy", "", measurement)


def number_results(learned: ExpectedErrors, predictions: Histogram, level: float) -> Iterator[Result]:
    """Estimated mean absolute error: the mean of the expected ones."""
    counted = _by_group(learned.group, predictions.regular, len(learned.mean))
    n = int(counted.sum())
    name = "estimated_mean_absolute_error"
    if n == 0:
        yield Result(name, "", Measurement.absent(Reason.NO_RECORDS, n=0))
        return
    value = float(counted @ learned.mean) / n
    spread = learned.variance @ (counted + np.square(counted) / learned.records)
    interval = normal(value, float(spread) / n**2, level, lowest=0.0)
    yield Result(name, "", Measurement(value, n, None, interval))


def absent_results(names: Iterable[str], reason: Reason, n: int) -> Iterator[Result]:
    """Every estimate, with the reason why there is none."""
    for name in names:
        yield Result(f"estimated_{name}", "", Measurement.absent(reason if n else Reason.NO_RECORDS, n=n))


def error_results(estimated: Iterable[Result], realised: Iterable[Result]) -> Iterator[Result]:
    """Each estimate less what labels gave: `estimated_NAME_error`.

    The interval is the estimate's, moved likewise: without 0 in it, labels are not as the map led one to
    expect.
    """
    found = {result.measure: result.measurement for result in realised if result.subject == ""}
    for result in estimated:
        actual = found.get(result.measure.removeprefix(PREFIX))
        if actual is not None:
            yield Result(f"{result.measure}{SUFFIX}", "", _difference(result.measurement, actual))


def _difference(estimate: Measurement, actual: Measurement) -> Measurement:
    reason = actual.reason or estimate.reason
    if reason is not None or estimate.value is None or actual.value is None:
        return Measurement.absent(reason or Reason.UNDEFINED, n=actual.n)
    interval, by = estimate.interval, actual.value
    if interval is not None:
        interval = Interval(interval.lower - by, interval.upper - by, interval.level)
    resolution = estimate.resolution + actual.resolution
    return replace(
        estimate, value=estimate.value - by, n=actual.n, interval=interval, resolution=resolution, detail=None
    )


def _accuracy(window: _Scores, n: int, level: float) -> Measurement:
    rate = window.learned.rate
    right = float(window.plus @ rate + window.minus @ (1 - rate))
    return _share(right, n, window.variance(1.0, -1.0), level, n)


def _precision(window: _Scores, n: int, level: float) -> Measurement:
    right = float(window.plus @ window.learned.rate)
    return _share(right, float(window.plus.sum()), window.variance(1.0, 0.0), level, n)


def _recall(window: _Scores, n: int, level: float) -> Measurement:
    rate = window.learned.rate
    found, missed = float(window.plus @ rate), float(window.minus @ rate)
    recall = found / (found + missed) if found + missed else 0.0
    return _share(found, found + missed, window.variance(1 - recall, -recall), level, n)


def _share(part: float, whole: float, variance: float, level: float, n: int) -> Measurement:
    """Share of expected counts, the variance that of the share times the whole."""
    if n == 0 or whole <= 0:
        return Measurement.absent(Reason.UNDEFINED if n else Reason.NO_RECORDS, n=n)
    value = min(part / whole, 1.0)
    interval = normal(value, variance / whole**2, level, lowest=0.0, highest=1.0)
    return Measurement(value, n, None, interval)


def _roc_auc(window: _Scores, n: int, level: float) -> Measurement:
    """Area under the curve of expected counts; records of one group are tied."""
    counted = window.plus + window.minus
    positive = counted * window.learned.rate
    negative = counted - positive
    p, q = float(positive.sum()), float(negative.sum())
    if p <= 0 or q <= 0:
        return Measurement.absent(Reason.UNDEFINED if n else Reason.NO_RECORDS, n=n)
    below = (np.cumsum(negative) - negative / 2) / q
    above = 1 - (np.cumsum(positive) - positive / 2) / p
    value = float(positive @ below) / p
    each = (below - value) / p - (above - value) / q
    variance = window.variance(each, each)
    interval = logit(value, variance, level) if 0 < value < 1 and 0 < variance < math.inf else None
    return Measurement(value, n, None, interval, float(positive @ negative) / (2 * p * q))


def _by_group(group: Ints, counts: Counts, groups: int) -> Floats:
    """Sum of counts by group."""
    return np.bincount(group, weights=counts, minlength=groups).astype(np.float64, copy=False)


def _decided(table: ScoreTable, confusion: Confusion) -> tuple[int, bool]:
    """Positive predictions, and whether they are those of the highest scores, as far as labels can tell.

    The positive labels among the predicted must be as many as among the same number of highest scores, up to
    how a single cell is split. Of several classes: the most probable class must be right as often as the
    predicted one. Records that have a score or a prediction alone are given away; they must be few.
    """
    known = confusion.counts[:-1, :-1]
    n, of_classes = int((table.positive + table.negative).sum()), int(known.sum())
    lost = abs(of_classes - n)
    if lost > LOST * n:
        return 0, False
    right = int(np.trace(known))
    if len(confusion.classes) != 2:
        return 0, abs(right - int(table.positive.sum())) <= lost
    predicted, right = min(int(known[:, 1].sum()), n), int(known[1, 1])
    above = n - np.cumsum(table.positive + table.negative)
    cell = int(np.searchsorted(-above, -predicted))  # it holds the last of the highest scores
    most = int(table.positive[cell + 1 :].sum())
    split = predicted - int(above[cell])
    least = most + max(0, split - int(table.negative[cell]))
    most += min(split, int(table.positive[cell]))
    return predicted, least - lost <= right <= most + lost


def _groups(table: ScoreTable, groups: int, predicted: int) -> Ints:
    """Group of each cell; a border lies where so many highest scores begin."""
    records = table.positive + table.negative
    along = np.cumsum(table.positive / table.positive.sum() + table.negative / table.negative.sum()) / 2
    middle = along - np.diff(along, prepend=0.0) / 2
    side = records.sum() - np.cumsum(records) + records <= predicted
    raw = 2 * np.minimum((middle * groups).astype(np.int64), groups - 1) + side
    held = np.unique(raw[records > 0])
    group: Ints = np.maximum(np.searchsorted(held, raw, side="right") - 1, 0)
    return group
