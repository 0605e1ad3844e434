"""What is measured of records with labels once more: performance by task, and the labels themselves."""

import math

import oracle_classes
import oracle_errors
import oracle_probabilities
import oracle_scores
import pandas as pd
from oracle import NONE, Expected, Found, How, Key, Log, rate


def performance(log: Log, told: pd.DataFrame, *, whole: bool) -> dict[Key, Expected]:
    """Performance on labelled records: all of it of the whole model, else at least the headlines."""
    if not log.classes:
        return dict(oracle_errors.measured(log, told))
    found = dict(oracle_classes.measured(log, told, whole=whole))
    if log.binary and log.scored:
        found |= dict(oracle_scores.headlines(log, told))
        found |= oracle_scores.of_scores(log, told) if whole else {}
    if oracle_probabilities.columns_of(log):
        found |= dict(oracle_probabilities.measured(log, told, whole=whole))
    return found


def of_labels(log: Log, told: pd.DataFrame, *, delays: bool) -> dict[Key, Expected]:
    """Coverage and oddities of the labels; a version's or an arm's are not told their delays."""
    of_whole = dict(_delays(log, told)) | dict(_by_predicted(log, told)) if delays else {}
    return dict(_quality(log, told)) | of_whole


def _quality(log: Log, told: pd.DataFrame) -> Found:
    n, known = len(told), told["known"]
    yield ("coverage", ""), rate(int(known.sum()), n)
    invalid = int(told["invalid"].sum())
    yield ("invalid_label_rate", ""), rate(invalid, int(known.sum()) + invalid)
    counts = {
        "labelled_records": known,
        "corrected_labels": told["corrections"],
        "retracted_labels": told["reported"] & told["label"].isna(),
        "invalid_labels": told["invalid"],
        "stale_labels": told["newest"] - told["event_time"] > log.horizon,
        "early_labels": known & (told["first"] < told["event_time"]),
    }
    for name, counted in counts.items():
        yield (name, ""), Expected(float(counted.sum()), n=n)


def _by_predicted(log: Log, told: pd.DataFrame) -> Found:
    for at, name in enumerate(log.classes):
        predicted = told[told["said"] == at]
        yield ("coverage", f"class:{name}"), rate(int(predicted["known"].sum()), len(predicted))


def _delays(log: Log, told: pd.DataFrame) -> Found:
    rows = told[told["known"] & (told["actual"] < len(log.classes))]
    delays = (rows["first"] - rows["event_time"]).sort_values().to_numpy(dtype=float) / 1e6
    for name, share in (("label_delay_median", 0.5), ("label_delay_p90", 0.9), ("label_delay_p99", 0.99)):
        if len(delays) == 0:
            yield (name, ""), NONE
            continue
        rank = math.ceil(share * len(delays))
        yield (name, ""), Expected(max(0.0, float(delays[rank - 1])), How.ABOVE, len(delays))
