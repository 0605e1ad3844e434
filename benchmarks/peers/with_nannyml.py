"""NannyML: univariate drift and performance of daily chunks; calculators are fitted on the reference once."""

import os

os.environ["NML_DISABLE_USAGE_LOGGING"] = "1"

import warnings
from collections.abc import Callable

import frames
import nannyml
import pandas as pd

warnings.filterwarnings("ignore", module="nannyml")

METRICS = ["roc_auc", "f1", "precision", "recall", "specificity", "accuracy"]
SAME = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "roc_auc": "roc_auc"}


def calculator(rows: frames.Frames, **methods: object) -> nannyml.UnivariateDriftCalculator:
    """Fitted; without `methods` those that are the default: Jensen-Shannon."""
    made = nannyml.UnivariateDriftCalculator(
        column_names=rows.columns,
        treat_as_categorical=list(rows.categorical),
        timestamp_column_name="event_time",
        chunk_period="D",
        **methods,
    )
    return made.fit(rows.reference)


def drift(rows: frames.Frames) -> Callable[[], frames.Told]:
    """Of all columns, by the default method."""
    made = calculator(rows)
    return lambda: {"measurements": _values(made.calculate(rows.log)).shape[1]}


def performance(rows: frames.Frames) -> Callable[[], frames.Told]:
    """All metrics of binary classification that need no choice."""
    made = nannyml.PerformanceCalculator(
        y_true="label",
        y_pred="predicted",
        y_pred_proba="score",
        problem_type="classification_binary",
        metrics=METRICS,
        timestamp_column_name="event_time",
        chunk_period="D",
    ).fit(rows.reference)

    def work() -> frames.Told:
        found = _values(made.calculate(rows.log))
        told = {name: float(found[name].iloc[0, 0]) for name in SAME}
        return {"measurements": found.shape[1], "values": {"": {SAME[key]: told[key] for key in told}}}

    return work


def values(rows: frames.Frames) -> Callable[[], frames.Told]:
    """What we measure too, of the first day: K-S, shares of levels, missing values."""
    shift = calculator(
        rows,
        continuous_methods=["kolmogorov_smirnov"],
        categorical_methods=["chi2", "jensen_shannon", "l_infinity"],
    )
    missing = nannyml.MissingValuesCalculator(
        column_names=rows.columns, timestamp_column_name="event_time", chunk_period="D"
    ).fit(rows.reference)

    def work() -> frames.Told:
        found, absent = _values(shift.calculate(rows.log)), _values(missing.calculate(rows.log))
        names = {
            "kolmogorov_smirnov": "ks_distance",
            "jensen_shannon": "jensen_shannon_distance",
            "l_infinity": "largest_share_distance",
            "chi2": "chi_squared",
        }
        told: dict[str, dict[str, float]] = {column: {} for column in rows.columns}
        for column, method, _ in found.columns:
            told[column][names[method]] = float(found[column, method, "value"].iloc[0])
        for column in rows.columns:
            told[column]["missing_rate"] = float(absent[column, "value"].iloc[0])
        return {"values": told}

    return work


def _values(found: object) -> pd.DataFrame:
    """Values of the days, without thresholds and alerts."""
    frame = found.filter(period="analysis").to_df()
    return frame[[name for name in frame.columns if name[-1] == "value"]]


if __name__ == "__main__":
    frames.run("nannyml", {"drift": drift, "performance": performance, "values": values})
