"""Evidently: the presets of data drift and of classification, a report for each day."""

import os

os.environ["DO_NOT_TRACK"] = "1"

import math
from collections.abc import Callable, Sequence

import frames
import pandas as pd
from evidently import BinaryClassification, DataDefinition, Dataset, Report
from evidently.metrics import MissingValueCount, ValueDrift
from evidently.presets import ClassificationPreset, DataDriftPreset

JUDGED = ["label", "predicted", "score"]
SAME = {"Accuracy": "accuracy", "LogLoss": "log_loss", "RocAuc": "roc_auc"}


def reports(
    metrics: Sequence[object], columns: list[str], definition: DataDefinition, rows: frames.Frames
) -> Callable[[], list[dict[str, object]]]:
    """Work: the values of each day's report."""
    report = Report(list(metrics))
    reference = Dataset.from_pandas(rows.reference[columns], data_definition=definition)

    def one(day: pd.DataFrame) -> dict[str, object]:
        current = Dataset.from_pandas(day[columns], data_definition=definition)
        found = report.run(current, reference).dict()["metrics"]
        return {each["metric_name"]: each["value"] for each in found}

    return lambda: [one(day) for day in rows.days]


def drift(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Of all columns: Wasserstein distances of numbers, Jensen-Shannon distances of categories."""
    work = reports([DataDriftPreset()], rows.columns, _definition(rows), rows)
    return lambda: {"measurements": len(work()[0])}


def performance(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Of the classification."""
    definition = DataDefinition(
        classification=[
            BinaryClassification(target="label", prediction_labels="predicted", prediction_probas="score")
        ],
        categorical_columns=["label", "predicted"],
        numerical_columns=["score"],
    )
    made = reports([ClassificationPreset()], JUDGED, definition, rows)

    def work() -> frames.Told:
        found = made()[0]
        told = {
            SAME[name.split("(")[0]]: value for name, value in found.items() if name.split("(")[0] in SAME
        }
        return {"measurements": len(found), "values": {"": told}}

    return work


def values(rows: frames.Frames) -> Callable[[], frames.Told]:
    """What we measure too, of the first day; Jensen-Shannon distances in nats, which become bits."""
    metrics = [ValueDrift(column=name, method="wasserstein") for name in rows.numeric]
    metrics += [ValueDrift(column=name, method="jensenshannon") for name in rows.categorical]
    metrics += [MissingValueCount(column=name) for name in rows.columns]
    work = reports(metrics, rows.columns, _definition(rows), rows)

    def told() -> frames.Told:
        found = list(work()[0].values())
        n = len(rows.columns)
        drifts = dict(zip(rows.columns, found[:n], strict=True))
        bits = math.sqrt(math.log(2.0))
        by_column = {name: {"wasserstein_distance": float(drifts[name])} for name in rows.numeric}
        by_column |= {name: {"jensen_shannon_distance": drifts[name] / bits} for name in rows.categorical}
        for name, missing in zip(rows.columns, found[n:], strict=True):
            by_column[name]["missing_rate"] = float(missing["share"])
        return {"values": by_column}

    return told


def _definition(rows: frames.Frames) -> DataDefinition:
    return DataDefinition(numerical_columns=list(rows.numeric), categorical_columns=list(rows.categorical))


if __name__ == "__main__":
    frames.run("evidently", {"drift": drift, "performance": performance, "values": values})
