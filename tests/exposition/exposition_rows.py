"""Rows and models that the exposition's tests share."""

from typing import Any

from keyed_models import model_keys
from row_examples import row_of

from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Interval, Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.specs.model_spec import ModelSpec, Relation
from monitor.windows.window_ends import parse_window

AS_OF = 20 * DAY


def model(name: str = "late", *, task: ModelTask = ModelTask.BINARY, max_series: int = 2_000) -> ModelSpec:
    return ModelSpec(
        keys=model_keys(name, "flights", max_series=max_series),
        reading=ReadingOptions(task=task),
        predictions=Relation(table="predictions"),
        windows=tuple(parse_window(window, HOUR) for window in ("1d", "7d", "30d")),
    )


def row(
    measure: str,
    value: float | Measurement,
    *,
    end: int = AS_OF,
    bounds: tuple[float, float] | None = None,
    n: int = 1_000,
    **others: Any,
) -> MeasurementRow:
    interval = None if bounds is None else Interval(*bounds)
    measurement = value if isinstance(value, Measurement) else Measurement(value, n, interval=interval)
    return row_of(measure, measurement, window_end=end, **others)


def typical_rows() -> list[MeasurementRow]:
    """A bit of everything that a cycle keeps of a binary model."""
    settled = LabelTruth.SETTLED
    return [
        row("records", 1_200, n=1_200),
        row("roc_auc", 0.75, truth=settled, end=15 * DAY, bounds=(0.7, 0.8), n=900, coverage=0.9),
        row("roc_auc", 0.7, truth=LabelTruth.PROVISIONAL, bounds=(0.5, 0.9), n=90, coverage=0.1),
        row("accuracy", 0.9, truth=settled, end=15 * DAY, bounds=(0.88, 0.92), n=900, coverage=0.9),
        row("stability_index", 0.03, subject="score"),
        row("stability_index", 0.2, subject="feature:temp_f"),
        row("stability_index", 0.3, subject="feature:temp_f", window="1d"),
        row("ks_distance", 0.1, subject="feature:temp_f"),
        row("missing_rate", 0.01, subject="feature:temp_f", bounds=(0.005, 0.02)),
        row("roc_auc", 0.6, truth=settled, end=15 * DAY, segment="carrier=AA", bounds=(0.5, 0.7), n=100),
        row("base_rate", 0.2, truth=settled, end=15 * DAY, segment="carrier=AA", n=100),
        row("accuracy", 0.8, truth=settled, end=15 * DAY, segment="carrier=AA", n=100),
        row("outcome_rate_difference", -0.01, truth=settled, end=15 * DAY, bounds=(-0.02, 0.01)),
    ]
