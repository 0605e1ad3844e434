"""Classes: measures of the confusion counts of a binary or multi-class model."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats, Ints
from monitor.measures.ask import Ask, Result
from monitor.measures.intervals import percentile, rate
from monitor.states.views import Confusion

UNSEEN = "(unseen)"
Statistic: TypeAlias = Callable[[Ints], Floats]


def resample(confusion: Confusion, resamples: int, rng: np.random.Generator) -> Ints | None:
    """Multinomial resamples of the counts: int64, shape (resamples, k + 1, k + 1); None where there are none.

    Cost: one binomial for each resample and non-zero cell.
    """
    counts = confusion.counts
    n = int(counts.sum())
    if n == 0 or resamples == 0:
        return None
    used = np.flatnonzero(counts)
    drawn = np.zeros((resamples, counts.size), dtype=np.int64)
    drawn[:, used] = rng.multinomial(n, counts.ravel()[used] / n, size=resamples)
    return drawn.reshape(resamples, *counts.shape)


def accuracy(confusion: Confusion, level: float = 0.95) -> Measurement:
    """Share of records whose predicted class is the actual one, with Wilson's interval.

    A record of an *unseen* class is an error, even where an unseen class was predicted.
    """
    known = confusion.counts[:-1, :-1]
    return rate(int(np.trace(known)), int(confusion.counts.sum()), level, Reason.NO_LABELS)


def majority_accuracy(confusion: Confusion, level: float = 0.95) -> Measurement:
    """Share of the most frequent actual class, with Wilson's interval, the class taken as given."""
    most = int(confusion.counts[:-1].sum(axis=1).max())
    return rate(most, int(confusion.counts.sum()), level, Reason.NO_LABELS)


def recall(confusion: Confusion, position: int, level: float = 0.95) -> Measurement:
    """Of the records of the class at a position, the share predicted so."""
    row = confusion.counts[position]
    return rate(int(row[position]), int(row.sum()), level, _without(confusion, Reason.ONE_CLASS))


def precision(confusion: Confusion, position: int, level: float = 0.95) -> Measurement:
    """Of the records predicted to be of the class at a position, the share that is."""
    column = confusion.counts[:, position]
    return rate(int(column[position]), int(column.sum()), level, _without(confusion, Reason.UNDEFINED))


def base_rate(confusion: Confusion, position: int, level: float = 0.95) -> Measurement:
    """Share of the records that are of the class at a position."""
    n = int(confusion.counts.sum())
    return rate(int(confusion.counts[position].sum()), n, level, Reason.NO_LABELS)


def predicted_rate(confusion: Confusion, position: int, level: float = 0.95) -> Measurement:
    """Share of the records that are predicted to be of the class at a position."""
    n = int(confusion.counts.sum())
    return rate(int(confusion.counts[:, position].sum()), n, level, Reason.NO_LABELS)


def absent_classes(confusion: Confusion) -> Measurement:
    """Known classes without a labelled record."""
    n = int(confusion.counts.sum())
    if n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    return Measurement(value=float((confusion.counts[:-1].sum(axis=1) == 0).sum()), n=n)


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
    if not np.isfinite(value):
        return Measurement.absent(Reason.UNDEFINED, n=n)
    interval = None if resampled is None else percentile(statistic(resampled), level)
    return Measurement(value=value, n=n, interval=interval)


def results(confusion: Confusion, ask: Ask, rng: np.random.Generator) -> Iterator[Result]:
    """All measures of the confusion counts. A class is named in the subject where there are several."""
    resampled = resample(confusion, ask.resamples, rng)
    yield Result("accuracy", "", accuracy(confusion, ask.level))
    yield Result("majority_accuracy", "", majority_accuracy(confusion, ask.level))
    for name, statistic in _statistics(confusion, ask).items():
        yield Result(name, "", of_counts(confusion, statistic, resampled, ask.level))
    yield Result("absent_classes", "", absent_classes(confusion))
    if len(confusion.classes) == 2:
        yield Result("specificity", "", recall(confusion, 0, ask.level))
        yield Result("f1", "", of_counts(confusion, f1s, resampled, ask.level))
    yield from _by_class(confusion, ask.level)
    yield from _cells(confusion)


def _statistics(confusion: Confusion, ask: Ask) -> dict[str, Statistic]:
    statistics: dict[str, Statistic] = {
        "relative_accuracy": relative_accuracies,
        "average_class_accuracy": average_recalls,
        "harmonic_class_accuracy": harmonic_recalls,
    }
    if ask.profit:
        amounts = _amounts(confusion.classes, ask.profit)
        statistics["profit"] = lambda counts: profits(counts, amounts)
        statistics["profit_per_record"] = lambda counts: _ratio(
            profits(counts, amounts), counts.sum(axis=(-2, -1))
        )
    return statistics


def _by_class(confusion: Confusion, level: float) -> Iterator[Result]:
    chosen = [(1, "")]
    if len(confusion.classes) != 2:
        chosen = [(position, f"class:{name}") for position, name in enumerate(confusion.classes)]
    for position, subject in chosen:
        yield Result("precision", subject, precision(confusion, position, level))
        yield Result("recall", subject, recall(confusion, position, level))
        yield Result("base_rate", subject, base_rate(confusion, position, level))
        yield Result("predicted_rate", subject, predicted_rate(confusion, position, level))


def _cells(confusion: Confusion) -> Iterator[Result]:
    names = (*confusion.classes, UNSEEN)
    counts, n = confusion.counts, int(confusion.counts.sum())
    shown = counts > 0
    shown[:2, :2] |= len(confusion.classes) == 2
    for actual, predicted in zip(*(side.tolist() for side in np.nonzero(shown)), strict=True):
        subject = f"actual:{names[actual]},predicted:{names[predicted]}"
        yield Result("confusion_records", subject, Measurement(value=float(counts[actual, predicted]), n=n))


def _amounts(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    side = len(classes) + 1
    amounts = np.zeros((side, side))
    for (actual, predicted), amount in profit.items():
        if actual in classes and predicted in classes:
            amounts[classes.index(actual), classes.index(predicted)] = amount
    return amounts


def _without(confusion: Confusion, reason: Reason) -> Reason:
    return reason if confusion.counts.any() else Reason.NO_LABELS


def _recalls(counts: Ints) -> tuple[Floats, Ints]:
    known = counts[..., :-1, :]
    of_class = known.sum(axis=-1)
    right = np.diagonal(known, axis1=-2, axis2=-1)
    return right / np.maximum(of_class, 1), of_class > 0


def _ratio(above: Ints | Floats, below: Ints | Floats) -> Floats:
    """Quotient; NaN where the denominator is 0."""
    return np.where(below != 0, above / np.where(below != 0, below, 1), np.nan)
