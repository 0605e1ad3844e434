"""Measures of the confusion counts once more: by scikit-learn, from actual and predicted classes."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from oracle import NONE, Expected, Floats, Found, Log, rate
from scipy import stats
from sklearn import metrics

UNSEEN = "(unseen)"
F1 = {"f1": 1.0}
BETAS = F1 | {"f2": 2.0, "f05": 0.5}


def measured(log: Log, told: pd.DataFrame, *, whole: bool) -> Found:
    """Rates of each class, and of all; cells and averages of the whole model alone."""
    actual, said = codes(told)
    tables = {name: _table(log, actual, said, beta) for name, beta in (BETAS if whole else F1).items()}
    yield from _rates(log, actual, said, tables)
    yield from _of_all(log, actual, said, tables["f1"][1])
    if whole:
        yield from _averages(log, actual, said)
        yield from _correlations(actual, np.where(said == len(log.classes), -1, said))
    yield from _cells(log, actual, said)


def codes(told: pd.DataFrame) -> tuple[Floats, Floats]:
    """Actual and predicted class of the records that have both."""
    actual, said = told["actual"].to_numpy(), told["said"].to_numpy()
    both = (actual >= 0) & (said >= 0)
    return actual[both], said[both]


def _table(log: Log, actual: Floats, said: Floats, beta: float) -> Sequence[Floats]:
    """Precision, recall, F score and records of each class."""
    known = range(len(log.classes))
    if not len(actual):
        return list(np.zeros((4, len(known))))
    table: Sequence[Floats] = metrics.precision_recall_fscore_support(
        actual, said, beta=beta, labels=known, zero_division=0
    )
    return table


def _rates(log: Log, actual: Floats, said: Floats, scores: Mapping[str, Sequence[Floats]]) -> Found:
    n = len(actual)
    for at, name in enumerate(log.classes):
        true, predicted = int(np.sum(actual == at)), int(np.sum(said == at))
        precision, recall = (float(scores["f1"][row][at]) for row in (0, 1))
        right = round(recall * true)
        found = {
            "precision": rate(round(precision * predicted), predicted),
            "recall": rate(right, true),
            "false_positive_rate": rate(predicted - right, n - true),
            "false_negative_rate": rate(true - right, true),
            "base_rate": rate(true, n),
            "predicted_rate": rate(predicted, n),
        }
        found |= {
            beta: Expected(float(table[2][at]), n=n) if true + predicted else NONE
            for beta, table in scores.items()
        }
        if log.binary and at == 0:
            yield ("specificity", ""), found["recall"]
            continue
        subject = "" if log.binary else f"class:{name}"
        yield from (((measure, subject), expected) for measure, expected in found.items())


def _of_all(log: Log, actual: Floats, said: Floats, recall: Floats) -> Found:
    n, k = len(actual), len(log.classes)
    right = round(metrics.accuracy_score(actual, np.where(said == k, -1, said)) * n) if n else 0
    most = max(int(np.sum(actual == at)) for at in range(k))
    present = np.unique(actual[actual < k])
    recalls = recall[present] if len(present) else None
    average = NONE if recalls is None else Expected(float(np.mean(recalls)), n=n)
    yield ("accuracy", ""), rate(right, n)
    yield ("error_rate", ""), rate(n - right, n)
    yield ("majority_accuracy", ""), rate(most, n)
    yield ("relative_accuracy", ""), Expected(right / most if most else None, n=n)
    yield ("average_class_accuracy", ""), average
    yield ("recall_macro", ""), average
    harmonic = NONE if recalls is None else Expected(float(stats.hmean(recalls)), n=n)
    yield ("harmonic_class_accuracy", ""), harmonic
    yield ("absent_classes", ""), Expected(float(k - len(present)) if n else None, n=n)
    for name, of in (("precision", said), ("recall", actual)):
        yield (f"{name}_micro", ""), rate(right, int(np.sum(of < k)))
    yield ("recall_weighted", ""), rate(right, int(np.sum(actual < k)))


def _averages(log: Log, actual: Floats, said: Floats) -> Found:
    n, k = len(actual), len(log.classes)
    present = np.unique(actual[actual < k])
    for name, score in (("precision", metrics.precision_score), ("f1", metrics.f1_score)):
        for average in ("macro", "weighted"):
            found = NONE
            if len(present):
                value = score(actual, said, labels=present, average=average, zero_division=0)
                found = Expected(float(value), n=n)
            yield (f"{name}_{average}", ""), found
    pooled = NONE
    if np.sum(actual < k) + np.sum(said < k):
        value = metrics.f1_score(actual, said, labels=range(k), average="micro", zero_division=0)
        pooled = Expected(float(value), n=n)
    yield ("f1_micro", ""), pooled


def _correlations(actual: Floats, said: Floats) -> Found:
    """Beyond chance; the caller has made sure that unseen classes are never equal."""
    n, matthews, kappa = len(actual), NONE, NONE
    if len(set(actual)) > 1 and len(set(said)) > 1:
        matthews = Expected(float(metrics.matthews_corrcoef(actual, said)), n=n)
    if len({*actual, *said}) > 1:
        kappa = Expected(float(metrics.cohen_kappa_score(actual, said)), n=n)
    yield ("matthews_corrcoef", ""), matthews
    yield ("cohen_kappa_score", ""), kappa


def _cells(log: Log, actual: Floats, said: Floats) -> Found:
    names, n = [*log.classes, UNSEEN], len(actual)
    known = range(len(names))
    counts = metrics.confusion_matrix(actual, said, labels=known) if n else np.zeros((len(names),) * 2)
    profit = 0.0
    for (row, column), count in np.ndenumerate(counts):
        profit += count * log.profit.get((names[row], names[column]), 0.0)
        if count or (log.binary and max(row, column) < 2):
            subject = f"actual:{names[row]},predicted:{names[column]}"
            yield ("confusion_records", subject), Expected(float(count), n=n)
    if log.profit:
        yield ("profit", ""), Expected(profit if n else None, n=n)
        yield ("profit_per_record", ""), Expected(profit / n if n else None, n=n)
