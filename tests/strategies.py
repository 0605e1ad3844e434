"""Random small logs of all three tasks, with everything that goes wrong in a log."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.records.reading import ChallengerOutput, ComparedArms, ModelTask, ReadingOptions
from monitor.records.reference import reference_of

AS_OF = 400_000 * HOUR
FIRST = AS_OF - 3 * HOUR
PANES = np.arange(FIRST, AS_OF + HOUR, HOUR)

Row = dict[str, Any]

_NUMBERS = [None, "NaN", "inf", "x", "-0.0", "0.25", "0.25000001", "1", "1.7", "-0.1", "3e11", "1e300", "0"]
_SCORES = [None, "0", "0.3", "0.30000000000000004", "0.7", "1", "1.7", "-0.1", "NaN"]
_CLASSES = [None, "0", "1", "true", "1.0", "DM", "what"]
_WORDS = [None, "yes", "no", "no\x1b", "maybe", "1"]
_KINDS = ("binary", "threshold", "challenged", "worded", "multiclass", "classes", "regression", "unlabelled")
_TYPES = {"event_time": pa.int64(), "logged_at": pa.int64(), "reported_at": pa.int64()}
_OUTPUTS = {
    "binary": {"score": _SCORES, "prediction": _CLASSES},
    "threshold": {"score": _SCORES},
    "challenged": {"score": _SCORES, "challenger": _SCORES},
    "worded": {"score": _SCORES, "prediction": _WORDS},
    "multiclass": {"probability:DM": _SCORES, "probability:0": _SCORES, "probability:1": _SCORES},
    "classes": {"prediction": _CLASSES, "challenger": _CLASSES},
    "regression": {"prediction": _NUMBERS},
    "unlabelled": {"score": _SCORES},
}


_CHALLENGERS = {
    "challenged": ChallengerOutput(column="other", threshold=0.3),
    "classes": ChallengerOutput(column="other"),
}


def reading_of(kind: str) -> ReadingOptions:
    """How a kind of model is read: a task, and where its predictions come from."""
    task = {
        "regression": ModelTask.REGRESSION,
        "multiclass": ModelTask.MULTICLASS,
        "classes": ModelTask.MULTICLASS,
    }
    names = {"multiclass": ("0", "1", "DM"), "classes": ("0", "1", "DM"), "regression": ()}
    return ReadingOptions(
        task=task.get(kind, ModelTask.BINARY),
        classes=names.get(kind, ("0", "1")),
        has_score=kind in ("binary", "threshold", "challenged", "worded", "multiclass", "unlabelled"),
        score_range=(-np.inf, np.inf) if kind == "regression" else (0.0, 1.0),
        threshold=0.3 if kind in ("threshold", "challenged", "unlabelled") else None,
        challenger=_CHALLENGERS.get(kind),
        words=(("no", "0"), ("yes", "1")) if kind == "worded" else (),
        only_for=("1", "maybe") if kind == "worded" else (),
        probabilities=("0", "1", "DM") if kind == "multiclass" else (),
        numeric=("width",),
        categorical=("color",),
        versioned=True,
        arms=ComparedArms(column="group", control="control", treatment="treatment"),
        labelled=kind != "unlabelled",
        time_units=tuple((role, "us") for role in _TYPES),
        names=(("logged_at", "logged_at"),),
        tolerance=5 * MINUTE,
        horizon=30 * DAY,
    )


@cache
def counting_of(kind: str) -> Counting:
    """Grids of a kind of model, from a reference of forty rows."""
    rows = [
        {
            "label": _CLASSES[1 + at % 2] if kind != "regression" else str(at % 7),
            "feature:width": str(at % 13 / 4),
            "feature:color": "red" if at % 3 else "blue",
            **{role: str(at / 40) for role in _OUTPUTS[kind]},
        }
        for at in range(40)
    ]
    return reference_of(table_of(rows, list(rows[0])), reading_of(kind)).counting


def record(name: str | None = "a", at: int | None = FIRST, **more: Any) -> Row:
    """Return a row of the log."""
    row = {"id": name, "event_time": at, "logged_at": at, "version": "v1", "arm": "control", "score": "0.5"}
    return {**row, "prediction": "1", **more}


def table_of(rows: Sequence[Row], columns: Sequence[str]) -> pa.Table:
    """Arrow table of rows: times are integers, all else is text."""
    return pa.table(
        {name: pa.array([row.get(name) for row in rows], _TYPES.get(name, pa.string())) for name in columns}
    )


@dataclass(frozen=True)
class Log:
    """A prediction log and its labels, and how they are counted."""

    kind: str
    records: tuple[Row, ...]
    labels: tuple[Row, ...]

    @property
    def counting(self) -> Counting:
        """Its grids."""
        return counting_of(self.kind)

    @property
    def table(self) -> pa.Table:
        """The records."""
        return table_of(self.records, [*_roles(self.kind), "feature:width", "feature:color"])

    @property
    def joined(self) -> list[Row]:
        """Records joined (outer) with their labels."""
        known = {row["id"] for row in self.labels if row["id"] is not None}
        alone = [row for row in self.records if row["id"] not in known]
        return alone + [
            row | label
            for row in self.records
            for label in self.labels
            if row["id"] == label["id"] and row["id"] is not None
        ]

    def joined_table(self, rows: Sequence[Row] | None = None) -> pa.Table:
        """`joined` as a table."""
        names = [*_roles(self.kind), "label", "reported_at", "revision"]
        return table_of(self.joined if rows is None else rows, names)

    def parts(self, panes: Ints = PANES, as_of: int = AS_OF) -> list[PanePart]:
        """Parts of the records, then of the labels."""
        return [
            *count_records(self.table, self.counting, panes=panes, as_of=as_of),
            *count_labels(self.joined_table(), self.counting, panes=panes, as_of=as_of),
        ]


def _roles(kind: str) -> list[str]:
    return ["id", "event_time", "logged_at", "version", "arm", *_OUTPUTS[kind]]


def kinds() -> st.SearchStrategy[str]:
    """Tasks, and where predictions come from."""
    return st.sampled_from(_KINDS)


def moments(around: int) -> st.SearchStrategy[int | None]:
    """Times near a moment, many of them equal, some at borders, some far away, some missing."""
    near = st.sampled_from([0, 1, -1, HOUR, HOUR - 1, 2 * HOUR, 3 * HOUR, 5 * MINUTE, 5 * MINUTE + 1])
    far = st.sampled_from([None, around - 40 * DAY, around + 40 * DAY])
    return near.map(lambda step: around + step) | far


@st.composite
def logs(draw: st.DrawFn, kind: str | None = None, prefix: str = "", ids: int = 3) -> Log:
    """Logs of few ids, so that there are many repeats."""
    kind = draw(kinds()) if kind is None else kind
    names = st.sampled_from([None, *(f"{prefix}{number}" for number in range(ids))])
    record: dict[str, st.SearchStrategy[Any]] = {
        "id": names,
        "event_time": moments(FIRST),
        "logged_at": moments(FIRST + 2 * HOUR),
        "version": st.sampled_from([None, "", "v1", "v2", "(none)"]),
        "arm": st.sampled_from([None, "control", "treatment", "what"]),
        "feature:width": st.sampled_from(_NUMBERS),
        "feature:color": st.sampled_from([None, "red", "blue", "green"]),
    }
    record |= {role: st.sampled_from(values) for role, values in _OUTPUTS[kind].items()}
    label = {
        "id": names,
        "label": st.sampled_from(_NUMBERS if kind == "regression" else _CLASSES),
        "reported_at": moments(FIRST + 2 * HOUR),
        "revision": st.sampled_from([None, "0", "1", "x"]),
    }
    records = draw(st.lists(st.fixed_dictionaries(record), max_size=8))
    labels = draw(st.lists(st.fixed_dictionaries(label), max_size=5)) if kind != "unlabelled" else []
    return Log(kind, tuple(records), tuple(labels))


@st.composite
def pane_parts(draw: st.DrawFn) -> tuple[Counting, PanePart]:
    """A counted part of a pane, of records or of labels, and its grids."""
    log = draw(logs())
    return log.counting, draw(st.sampled_from(log.parts()))
