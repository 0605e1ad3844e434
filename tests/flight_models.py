"""Models that the tests of sources read with, and what they expect to be counted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from keyed_models import model_keys

from monitor.core.clock import HOUR, from_iso, to_datetime
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.specs.model_spec import ModelSpec, Relation

START = from_iso("2013-03-01")
AS_OF = from_iso("2013-04-01")
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    numeric=("temp",),
    categorical=("carrier",),
    labelled=True,
)
COLUMNS = {
    "id": "bigint",
    "event_time": "text",
    "logged_at": "text",
    "score": "double precision",
    "late": "bigint",
    "temp": "double precision",
    "carrier": "text",
}
LABEL_COLUMNS = {"flight": "bigint", "was_late": "bigint", "reported_at": "text", "revision": "bigint"}
PREDICTIONS = Relation(
    table="predictions",
    columns=(
        ("id", "id"),
        ("event_time", "event_time"),
        ("logged_at", "logged_at"),
        ("score", "score"),
        ("prediction", "late"),
    ),
)
LABELS = Relation(
    table="labels",
    columns=(
        ("id", "flight"),
        ("label", "was_late"),
        ("reported_at", "reported_at"),
        ("revision", "revision"),
    ),
)


def model_of(
    *,
    reading: ReadingOptions = READING,
    predictions: Relation = PREDICTIONS,
    labels: Relation | None = LABELS,
) -> ModelSpec:
    """A binary model on the tables `predictions` and `labels`."""
    return ModelSpec(keys=model_keys("late"), reading=reading, predictions=predictions, labels=labels)


def grouped(reading: ReadingOptions = READING) -> ReadingOptions:
    """Reading with control and treatment in a column named as SQL's keyword."""
    return replace(reading, arms=ComparedArms(column="group", control="control", treatment="treatment"))


def iso(us: int, text: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    """A time as text."""
    return to_datetime(us).strftime(text)


def rows_of(n: int, **columns: list[Any]) -> list[tuple[Any, ...]]:
    """Rows of the table `predictions`, one a minute; columns by name replace the usual values."""
    usual: dict[str, list[Any]] = {
        "id": list(range(n)),
        "event_time": [iso(START + at * 60_000_000) for at in range(n)],
        "logged_at": [iso(START + at * 60_000_000 + 1_000_000) for at in range(n)],
        "score": [(at % 97) / 97 for at in range(n)],
        "late": [at % 2 for at in range(n)],
        "temp": [float(at % 31) for at in range(n)],
        "carrier": [("UA", "AA", "DL")[at % 3] for at in range(n)],
    }
    return list(zip(*(usual | columns).values(), strict=True))


def counting_of(reading: ReadingOptions = READING) -> Counting:
    """Grids of a small reference."""
    reference = pa.table(
        {
            "score": np.linspace(0, 1, 101),
            "prediction": pa.array(["0", "1"] * 50 + ["0"]),
            "label": pa.array(["0", "1"] * 50 + ["0"]),
            "feature:temp": np.arange(101.0),
            "feature:carrier": pa.array(["UA", "AA"] * 50 + ["UA"]),
        }
    )
    plain = replace(reading, arms=None)
    return replace(reference_of(reference, plain).counting, reading=reading)


def counted(table: pa.Table, reading: ReadingOptions = READING, *, hours: int = 24 * 7) -> list[PanePart]:
    """Records part of every pane of a week."""
    return count_records(table, counting_of(reading), panes=panes(hours), as_of=AS_OF)


def counted_labels(
    table: pa.Table, reading: ReadingOptions = READING, *, hours: int = 24 * 7
) -> list[PanePart]:
    """Labels part of every pane of a week."""
    return count_labels(table, counting_of(reading), panes=panes(hours), as_of=AS_OF)


def panes(hours: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Starts of the panes."""
    return np.arange(START, START + hours * HOUR, HOUR)
