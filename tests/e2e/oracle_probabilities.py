"""Measures of class probabilities once more: from raw rows, by scikit-learn."""

from collections.abc import Iterator

import numpy as np
import oracle
import pandas as pd
from oracle import Expected, How, Key, Log
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
    yield from _calibration(int(used.sum())) if whole else ()


def _calibration(n: int) -> Iterator[tuple[Key, Expected]]:
    """There from 150 records on; the groups of records are for other tests."""
    for name in ("expected", "maximum", "squared"):
        found = Expected(0.0, How.BETWEEN, n, (-1.0, 1.0)) if n >= 150 else Expected(None)
        yield (f"{name}_calibration_error", ""), found
        if name != "squared":
            yield (f"{name}_calibration_error_critical", ""), found


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
