"""Classes: measures of the confusion counts of a binary or multi-class model."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from monitor.core.measurement import Measurement, Reason
from monitor.core.typing import Floats, Ints
from monitor.measures.ask import Ask, Result
from monitor.measures.draws import Draws, draws
from monitor.measures.intervals import percentile, rate
from monitor.states.views import Confusion

UNSEEN = "(unseen)"
Statistic: TypeAlias = Callable[[Draws], Floats]


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


def relative_accuracies(sums: Draws) -> Floats:
    """Accuracy / share of the most frequent class: of each draw; NaN where undefined."""
    return _ratio(sums.right.sum(axis=1), sums.actual.max(axis=1))


def f1s(sums: Draws) -> Floats:
    """F1 of the positive class: of each draw of a binary model; NaN where nothing is positive."""
    return _ratio(2 * sums.right[:, 1], sums.actual[:, 1] + sums.positive)


def average_recalls(sums: Draws) -> Floats:
    """Mean recall over the known classes that have records: of each draw."""
    recalls = sums.right / np.maximum(sums.actual, 1)
    return _ratio(recalls.sum(axis=1), np.count_nonzero(sums.actual, axis=1))


def harmonic_recalls(sums: Draws) -> Floats:
    """Harmonic mean recall over the known classes that have records: of each draw; 0 where one is 0."""
    present = np.count_nonzero(sums.actual, axis=1)
    inverse = (sums.actual / np.maximum(sums.right, 1)).sum(axis=1)
    zero = np.count_nonzero(sums.right, axis=1) < present
    return np.where(zero, 0.0, _ratio(present, inverse))


def of_draws(sums: Draws, values: Floats, level: float = 0.95) -> Measurement:
    """Value of a statistic: that of the counts, with the percentile interval of the resamples'."""
    if sums.n == 0:
        return Measurement.absent(Reason.NO_LABELS, n=0)
    value = float(values[0])
    if not math.isfinite(value):
        return Measurement.absent(Reason.UNDEFINED, n=sums.n)
    interval = percentile(values[1:], level) if len(values) > 1 else None
    return Measurement(value=value, n=sums.n, interval=interval)


def results(confusion: Confusion, ask: Ask, rng: np.random.Generator | None) -> Iterator[Result]:
    """All measures of the confusion counts. A class is named in the subject where there are several."""
    margins = Margins.of(confusion)
    yield Result("accuracy", "", accuracy(margins, ask.level))
    yield Result("majority_accuracy", "", majority_accuracy(margins, ask.level))
    amounts = _amounts(confusion.classes, ask.profit) if ask.profit else None
    sums = draws(confusion, amounts, 0 if rng is None else ask.resamples, rng or np.random.default_rng(0))
    for name, statistic in _statistics(confusion, ask).items():
        yield Result(name, "", of_draws(sums, statistic(sums), ask.level))
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
        statistics["profit"] = lambda sums: sums.profit
        statistics["profit_per_record"] = lambda sums: sums.profit / max(1, sums.n)
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
    names, counts = (*confusion.classes, UNSEEN), confusion.counts
    shown = counts > 0
    shown[:2, :2] |= len(confusion.classes) == 2
    rows, columns = np.nonzero(shown)
    told = zip(rows.tolist(), columns.tolist(), counts[rows, columns].tolist(), strict=True)
    for row, column, count in told:
        cell = Measurement(value=float(count), n=n)
        yield Result("confusion_records", f"actual:{names[row]},predicted:{names[column]}", cell)


def _amounts(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    place = {name: at for at, name in enumerate(classes)}
    amounts = np.zeros((len(classes) + 1, len(classes) + 1))
    for (actual, predicted), amount in profit.items():
        if actual in place and predicted in place:
            amounts[place[actual], place[predicted]] = amount
    return amounts


def _ratio(above: Ints | Floats, below: Ints | Floats) -> Floats:
    """Quotient; NaN where the denominator is 0."""
    return np.where(below != 0, above / np.where(below != 0, below, 1), np.nan)
