"""Measures of class probabilities once more: from raw rows, by scikit-learn."""

from collections.abc import Iterator

import numpy as np
import oracle
import oracle_scores
import pandas as pd
from oracle import Expected, How, Key, Log
from oracle_scores import Cells, edges_of
from sklearn import metrics

COLUMN = "probability:"


def columns_of(log: Log) -> list[str]:
    """Columns of the probabilities, in the order of the classes; none where there are none."""
    found = [f"{COLUMN}{name}" for name in log.classes]
    return found if set(found) <= set(log.predictions.columns) else []


def measured(log: Log, told: pd.DataFrame, *, whole: bool) -> Iterator[tuple[Key, Expected]]:
    """Losses and areas; those of single classes of the whole model."""
    given, k = told[columns_of(log)].to_numpy(dtype=float), len(log.classes)
    actual = told["actual"].to_numpy()
    labelled = actual >= 0
    within = ((given >= 0) & (given <= 1)).all(axis=1)
    used = labelled & within & (np.abs(given.sum(axis=1) - 1) <= 0.01) & (actual < k)
    yield (
        ("unusable_probabilities", ""),
        Expected(float(labelled.sum() - used.sum()), n=int(labelled.sum())),
    )
    yield from _losses(given[used], actual[used])
    yield from _areas(log, given[used], actual[used], whole=whole)
    if whole:
        yield from _calibration(log, given[used], actual[used])


def _calibration(log: Log, given: oracle.Floats, actual: oracle.Floats) -> Iterator[tuple[Key, Expected]]:
    """Errors of the largest probability: is its class right as often?"""
    largest, hit = given.max(axis=1), given.argmax(axis=1) == actual
    yield from oracle_scores.errors(Cells.of(edges_of(log), largest, hit), largest)


def _losses(given: oracle.Floats, actual: oracle.Floats) -> Iterator[tuple[Key, Expected]]:
    n = len(actual)
    right = given[np.arange(n), actual]
    clipped = np.clip(right, 2.0**-52, 1 - 2.0**-52)
    brier = loss = Expected(None)
    if n:
        squares = ((given - np.eye(given.shape[1])[actual]) ** 2).sum(axis=1)
        brier = oracle.mean(squares, float(squares.mean()))
        loss = oracle.mean(-np.log(clipped), float(-np.log(clipped).mean()))
    yield ("brier_score", ""), brier
    yield ("log_loss", ""), loss
    yield ("clipped_records", ""), Expected(float(np.sum(clipped != right)), n=n)


def _areas(
    log: Log, given: oracle.Floats, actual: oracle.Floats, *, whole: bool
) -> Iterator[tuple[Key, Expected]]:
    n, sizes, values = len(actual), [], []
    for at, name in enumerate(log.classes):
        size, area = int(np.sum(actual == at)), Expected(None)
        if 0 < size < n:
            values.append(float(metrics.roc_auc_score(actual == at, given[:, at])))
            sizes.append(size)
            area = Expected(values[-1], How.WITHIN, n)
        if whole:
            yield ("roc_auc", f"class:{name}"), area
    for name, weights in (("macro", None), ("weighted", sizes)):
        value = float(np.average(values, weights=weights)) if values else None
        yield (f"roc_auc_{name}", ""), Expected(value, How.WITHIN, n)
