"""Classes: measures of the confusion counts of a binary or multi-class model."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats, Ints
from monitor.measures.ask import Ask, Result
from monitor.measures.intervals import percentile, rate
from monitor.states.views import Confusion

UNSEEN = "(unseen)"
Statistic: TypeAlias = Callable[[Ints], Floats]


def resample(confusion: Confusion, resamples: int, rng: np.random.Generator | None) -> Ints | None:
    """Multinomial resamples of the counts: int64, shape (resamples, k + 1, k + 1); None where there are none.

    Without `rng` there is no bootstrap. Cost: one binomial for each resample and non-zero cell.
    """
    counts = confusion.counts
    n = int(counts.sum())
    if n == 0 or resamples == 0 or rng is None:
        return None
    used = np.flatnonzero(counts)
    drawn = np.zeros((resamples, counts.size), dtype=np.int64)
    drawn[:, used] = rng.multinomial(n, counts.ravel()[used] / n, size=resamples)
    return drawn.reshape(resamples, *counts.shape)


@dataclass(frozen=True, slots=True)
class Margins:
    """Sums of the confusion counts.

    Parameters
    ----------
    n
        all records.
    actual, predicted
        records by actual and by predicted class, the last of each *unseen*.
    right
        records of each known class that were predicted so.
    """

    n: int
    actual: list[int]
    predicted: list[int]
    right: list[int]

    @classmethod
    def of(cls, confusion: Confusion) -> "Margins":
        """Margins of the counts."""
        counts = confusion.counts
        actual = counts.sum(axis=1).tolist()
        return cls(sum(actual), actual, counts.sum(axis=0).tolist(), counts.diagonal().tolist()[:-1])


def accuracy(margins: Margins, level: float = 0.95) -> Measurement:
    """Share of records whose predicted class is the actual one, with Wilson's interval.

    A record of an *unseen* class is an error, even where an unseen class was predicted.
    """
    return rate(sum(margins.right), margins.n, level, Reason.NO_LABELS)


def majority_accuracy(margins: Margins, level: float = 0.95) -> Measurement:
    """Share of the most frequent known class, with Wilson's interval, the class taken as given."""
    return rate(max(margins.actual[:-1]), margins.n, level, Reason.NO_LABELS)


def recall(margins: Margins, position: int, level: float = 0.95) -> Measurement:
    """Of the records of the class at a position, the share predicted so."""
    reason = Reason.ONE_CLASS if len(margins.right) == 2 else Reason.UNDEFINED
    reason = reason if margins.n else Reason.NO_LABELS
    return rate(margins.right[position], margins.actual[position], level, reason)


def precision(margins: Margins, position: int, level: float = 0.95) -> Measurement:
    """Of the records predicted to be of the class at a position, the share that is."""
    reason = Reason.UNDEFINED if margins.n else Reason.NO_LABELS
    return rate(margins.right[position], margins.predicted[position], level, reason)


def base_rate(margins: Margins, position: int, level: float = 0.95) -> Measurement:
    """Share of the records that are of the class at a position."""
    return rate(margins.actual[position], margins.n, level, Reason.NO_LABELS)


def predicted_rate(margins: Margins, position: int, level: float = 0.95) -> Measurement:
    """Share of the records that are predicted to be of the class at a position."""
    return rate(margins.predicted[position], margins.n, level, Reason.NO_LABELS)


def absent_classes(margins: Margins) -> Measurement:
    """Known classes without a labelled record."""
    if margins.n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    return Measurement(value=float(margins.actual[:-1].count(0)), n=margins.n)


def relative_accuracies(counts: Ints) -> Floats:
    """Accuracy / share of the most frequent class: of each matrix (last two axes); NaN where undefined."""
    right = np.trace(counts[..., :-1, :-1], axis1=-2, axis2=-1)
    return _ratio(right, counts[..., :-1, :].sum(axis=-1).max(axis=-1))


def f1s(counts: Ints) -> Floats:
    """F1 of the positive class: of each binary matrix; NaN where nothing is positive."""
    return _ratio(2 * counts[..., 1, 1], counts[..., 1, :].sum(axis=-1) + counts[..., 1].sum(axis=-1))


def average_recalls(counts: Ints) -> Floats:
    """Mean recall over the known classes that have records: of each matrix."""
    recalls, present = _recalls(counts)
    return _ratio(np.where(present, recalls, 0.0).sum(axis=-1), present.sum(axis=-1))


def harmonic_recalls(counts: Ints) -> Floats:
    """Harmonic mean recall over the known classes that have records: of each matrix; 0 where one is 0."""
    recalls, present = _recalls(counts)
    zero = (present & (recalls == 0)).any(axis=-1)
    inverse = np.where(present & (recalls > 0), 1 / np.where(recalls > 0, recalls, 1.0), 0.0).sum(axis=-1)
    return np.where(zero, 0.0, _ratio(present.sum(axis=-1), inverse))


def profits(counts: Ints, amounts: Floats) -> Floats:
    """Sum of amounts: of each matrix; NaN where there is no record."""
    total = (counts * amounts).sum(axis=(-2, -1))
    return np.where(counts.sum(axis=(-2, -1)) > 0, total, np.nan)


def of_counts(
    confusion: Confusion, statistic: Statistic, resampled: Ints | None, level: float = 0.95
) -> Measurement:
    """Value of a statistic of the counts, with the percentile interval of its resamples."""
    n = int(confusion.counts.sum())
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    value = float(statistic(confusion.counts))
    if not math.isfinite(value):
        return Measurement.absent(Reason.UNDEFINED, n=n)
    interval = None if resampled is None else percentile(statistic(resampled), level)
    return Measurement(value=value, n=n, interval=interval)


def results(confusion: Confusion, ask: Ask, rng: np.random.Generator | None) -> Iterator[Result]:
    """All measures of the confusion counts. A class is named in the subject where there are several."""
    margins = Margins.of(confusion)
    yield Result("accuracy", "", accuracy(margins, ask.level))
    yield Result("majority_accuracy", "", majority_accuracy(margins, ask.level))
    resampled = resample(confusion, ask.resamples, rng)
    for name, statistic in _statistics(confusion, ask).items():
        yield Result(name, "", of_counts(confusion, statistic, resampled, ask.level))
    yield Result("absent_classes", "", absent_classes(margins))
    if len(confusion.classes) == 2:
        yield Result("specificity", "", recall(margins, 0, ask.level))
    yield from _by_class(margins, confusion.classes, ask.level)
    yield from _cells(confusion, margins.n)


def _statistics(confusion: Confusion, ask: Ask) -> dict[str, Statistic]:
    statistics: dict[str, Statistic] = {
        "relative_accuracy": relative_accuracies,
        "average_class_accuracy": average_recalls,
        "harmonic_class_accuracy": harmonic_recalls,
    }
    if len(confusion.classes) == 2:
        statistics["f1"] = f1s
    if ask.profit:
        amounts = _amounts(confusion.classes, ask.profit)
        statistics["profit"] = lambda counts: profits(counts, amounts)
        statistics["profit_per_record"] = lambda counts: _ratio(
            profits(counts, amounts), counts.sum(axis=(-2, -1))
        )
    return statistics


def _by_class(margins: Margins, classes: tuple[str, ...], level: float) -> Iterator[Result]:
    chosen = [(1, "")]
    if len(classes) != 2:
        chosen = [(position, f"class:{name}") for position, name in enumerate(classes)]
    for position, subject in chosen:
        yield Result("precision", subject, precision(margins, position, level))
        yield Result("recall", subject, recall(margins, position, level))
        yield Result("base_rate", subject, base_rate(margins, position, level))
        yield Result("predicted_rate", subject, predicted_rate(margins, position, level))


def _cells(confusion: Confusion, n: int) -> Iterator[Result]:
    names = (*confusion.classes, UNSEEN)
    binary = len(confusion.classes) == 2
    for row, (actual, counts) in enumerate(zip(names, confusion.counts.tolist(), strict=True)):
        for column, (predicted, count) in enumerate(zip(names, counts, strict=True)):
            if count or (binary and max(row, column) < 2):
                cell = Measurement(value=float(count), n=n)
                yield Result("confusion_records", f"actual:{actual},predicted:{predicted}", cell)


def _amounts(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    side = len(classes) + 1
    amounts = np.zeros((side, side))
    for (actual, predicted), amount in profit.items():
        if actual in classes and predicted in classes:
            amounts[classes.index(actual), classes.index(predicted)] = amount
    return amounts


def _recalls(counts: Ints) -> tuple[Floats, Ints]:
    known = counts[..., :-1, :]
    of_class = known.sum(axis=-1)
    right = np.diagonal(known, axis1=-2, axis2=-1)
    return right / np.maximum(of_class, 1), of_class > 0


def _ratio(above: Ints | Floats, below: Ints | Floats) -> Floats:
    """Quotient; NaN where the denominator is 0."""
    return np.where(below != 0, above / np.where(below != 0, below, 1), np.nan)
