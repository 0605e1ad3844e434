"""Classes: measures of the confusion counts of a binary or multi-class model."""

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Floats
from monitor.core.measurement import Interval, Measurement, Reason
from monitor.measures.catalogue.confusion_measures import CONFUSION_ROWS
from monitor.measures.catalogue.measure import ALWAYS, MeasureFamily
from monitor.measures.classification import confusion_statistics as statistics
from monitor.measures.classification.confusion_statistics import ResampledSums, Statistic, resample_sums
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.statistics.intervals import RATE_INTERVALS, percentile_intervals, rate_measurement
from monitor.states.views import ConfusionCounts

UNSEEN = "(unseen)"
OF_ALL: Mapping[str, Statistic] = {
    "relative_accuracy": statistics.relative_accuracies,
    "average_class_accuracy": statistics.average_recalls,
    "harmonic_class_accuracy": statistics.harmonic_recalls,
    "precision_macro": statistics.average_precisions,
    "precision_weighted": statistics.weighted_precisions,
    "f1_macro": statistics.average_f1s,
    "f1_micro": statistics.pooled_f1s,
    "f1_weighted": statistics.weighted_f1s,
    "matthews_corrcoef": statistics.matthews_correlations,
    "cohen_kappa_score": statistics.kappa_values,
}
OF_AMOUNTS: Mapping[str, Statistic] = {
    "profit": statistics.profit_sums,
    "profit_per_record": statistics.profits_per_record,
}
ALIASES: Mapping[str, str] = {"average_class_accuracy": "recall_macro"}
BETAS: Mapping[str, float] = {"f1": 1.0, "f2": 2.0, "f05": 0.5}
Share: TypeAlias = tuple[int, int, Reason]
"""Records that have it, of so many, and the reason if there are none."""


@dataclass(frozen=True, slots=True)
class ConfusionMargins:
    """Sums of the confusion counts."""

    n: int  # all records
    # actual, predicted: records by actual and by predicted class, the last of each *unseen*.
    actual: list[int]
    predicted: list[int]
    right: list[int]  # records of each known class that were predicted so

    @classmethod
    def from_confusion(cls, confusion: ConfusionCounts) -> "ConfusionMargins":
        """Margins of the counts."""
        counts = confusion.counts
        actual = counts.sum(axis=1).tolist()
        return cls(sum(actual), actual, counts.sum(axis=0).tolist(), counts.diagonal().tolist()[:-1])


def list_overall_shares(margins: ConfusionMargins) -> dict[str, Share]:
    """Rates of all classes together.

    A record of an *unseen* class is an error, even where an unseen class was predicted. The mean recall that
    is weighted by the classes' records is the pooled one.
    """
    n, right = margins.n, sum(margins.right)
    none = Reason.UNDEFINED if n else Reason.NO_LABELS
    of_known, predicted = sum(margins.actual[:-1]), sum(margins.predicted[:-1])
    return {
        "accuracy": (right, n, none),
        "error_rate": (n - right, n, none),
        "majority_accuracy": (max(margins.actual[:-1]), n, none),
        "precision_micro": (right, predicted, none),
        "recall_micro": (right, of_known, none),
        "recall_weighted": (right, of_known, none),
    }


def list_class_shares(margins: ConfusionMargins, position: int) -> dict[str, Share]:
    """Rates of the class at a position against all others."""
    n, right = margins.n, margins.right[position]
    actual, predicted = margins.actual[position], margins.predicted[position]
    none = Reason.UNDEFINED if n else Reason.NO_LABELS
    of_one = Reason.ONE_CLASS if n and len(margins.right) == 2 else none
    return {
        "precision": (right, predicted, none),
        "recall": (right, actual, of_one),
        "false_positive_rate": (predicted - right, n - actual, of_one),
        "false_negative_rate": (actual - right, actual, of_one),
        "base_rate": (actual, n, none),
        "predicted_rate": (predicted, n, none),
    }


def count_absent_classes(margins: ConfusionMargins) -> Measurement:
    """Known classes without a labelled record."""
    if margins.n == 0:
        return Measurement.without_value(Reason.NO_LABELS, n=0)
    return Measurement(value=float(margins.actual[:-1].count(0)), n=margins.n)


def confusion_results(
    confusion: ConfusionCounts, options: MeasureOptions, rng: np.random.Generator | None
) -> Iterator[MeasureResult]:
    """Measures of the confusion counts: all of them of the whole, else the headline ones.

    A class is named in the subject where there are several; the measures of two are of the positive one.
    """
    margins, k = ConfusionMargins.from_confusion(confusion), len(confusion.classes)
    resamples = options.resamples if rng is not None else 0
    wanted = _select_confusion_measures(options.families, whole=options.whole)
    subjects = {1: ""} if k == 2 else {at: f"class:{name}" for at, name in enumerate(confusion.classes)}
    yield from _rate_results(margins, wanted, subjects, options)
    amounts = make_class_amounts(confusion.classes, options.profit) if options.profit else None
    sums = resample_sums(confusion, amounts, resamples, rng)
    yield from _resampled_results(sums, wanted, list(subjects.values()), options)
    if "absent_classes" in wanted:
        yield MeasureResult("absent_classes", "", count_absent_classes(margins))
    if "confusion_records" in wanted:
        yield from _cell_results(confusion, margins.n)


@lru_cache(maxsize=64)
def _select_confusion_measures(families: frozenset[MeasureFamily], *, whole: bool) -> frozenset[str]:
    """Names of the measures of the families, or of their headlines alone."""
    chosen = [measure for measure in CONFUSION_ROWS if measure.family in families | ALWAYS]
    return frozenset(measure.name for measure in chosen if whole or measure.headline)


def _rate_results(
    margins: ConfusionMargins, wanted: AbstractSet[str], subjects: Mapping[int, str], options: MeasureOptions
) -> Iterator[MeasureResult]:
    bounds = RATE_INTERVALS[options.rate_interval]
    rated = [("", list_overall_shares(margins))]
    rated += [(subject, list_class_shares(margins, at)) for at, subject in subjects.items()]
    if len(margins.right) == 2:
        rated.append(("", {"specificity": list_class_shares(margins, 0)["recall"]}))
    # Many are equal where there are two classes, or none unseen: their intervals are made once.
    measured: dict[Share, Measurement] = {}
    for subject, rates in rated:
        for name, share in rates.items():
            if name in wanted:
                if share not in measured:
                    having, of, reason = share
                    measured[share] = rate_measurement(having, of, options.level, reason, bounds)
                yield MeasureResult(name, subject, measured[share])


def _resampled_results(
    sums: ResampledSums, wanted: AbstractSet[str], subjects: list[str], options: MeasureOptions
) -> Iterator[MeasureResult]:
    """Values of the statistics, and the percentile intervals of their resamples, all sorted at once."""
    names, rows = [], []
    first = len(sums.right) - len(subjects)
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, statistic in {**OF_ALL, **(OF_AMOUNTS if options.profit else {})}.items():
            if name in wanted:
                names.append((name, ""))
                rows.append(statistic(sums)[None])
        for name, beta in BETAS.items():
            if name in wanted:
                names += [(name, subject) for subject in subjects]
                rows.append(statistics.f_betas(sums, beta, first))
    stack = np.concatenate(rows)
    # The first column is of the counts as they are, all others are of their resamples.
    intervals: list[Interval | None] = [None] * len(names)
    if stack.shape[1] > 1:
        intervals = percentile_intervals(stack[:, 1:], options.level)
    for (name, subject), value, interval in zip(names, stack[:, 0].tolist(), intervals, strict=True):
        measurement = _statistic_measurement(value, sums.n, interval)
        yield MeasureResult(name, subject, measurement)
        if ALIASES.get(name) in wanted:
            yield MeasureResult(ALIASES[name], subject, measurement)


def _statistic_measurement(value: float, n: int, interval: Interval | None) -> Measurement:
    if math.isfinite(value):
        return Measurement(value=value, n=n, interval=interval)
    return Measurement.without_value(Reason.UNDEFINED if n else Reason.NO_LABELS, n=n)


def _cell_results(confusion: ConfusionCounts, n: int) -> Iterator[MeasureResult]:
    """Counts of cells that hold a record; of a binary model also those of known classes that hold none."""
    names, always = (*confusion.classes, UNSEEN), 2 if len(confusion.classes) == 2 else 0
    for row, line in enumerate(confusion.counts.tolist()):
        for column, count in enumerate(line):
            if count or max(row, column) < always:
                subject = f"actual:{names[row]},predicted:{names[column]}"
                yield MeasureResult("confusion_records", subject, Measurement(value=float(count), n=n))


def make_class_amounts(classes: tuple[str, ...], profit: Mapping[tuple[str, str], float]) -> Floats:
    """Amount of a record by actual and predicted class, *unseen* the last of each."""
    place = {name: at for at, name in enumerate(classes)}
    amounts = np.zeros((len(classes) + 1, len(classes) + 1))
    for (actual, predicted), amount in profit.items():
        if actual in place and predicted in place:
            amounts[place[actual], place[predicted]] = amount
    return amounts
