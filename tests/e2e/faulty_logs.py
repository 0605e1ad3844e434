"""The example logs with faults: repeats, shadow versions, odd values and times, corrected, retracted labels.

Every fault is a row added to the logs, so that the database and a data frame hold the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NEW, ORPHAN, MANY = 10_000_000, 20_000_000, 0.004
NOTHING: Any = pd.NA
HOUR, DAY = pd.Timedelta(hours=1), pd.Timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Tables:
    """Predictions, labels and reference, single precision widened to double."""

    predictions: pd.DataFrame
    labels: pd.DataFrame
    reference: pd.DataFrame

    def write(self, directory: Path) -> None:
        """Write the tables as parquet files, ready to be loaded."""
        for name in ("predictions", "labels", "reference"):
            table = pa.Table.from_pandas(getattr(self, name), preserve_index=False)
            pq.write_table(table, directory / f"{name}.parquet")

    def since(self, moment: str) -> "Tables":
        """Predictions of events from a moment on, and labels of theirs or of none."""
        first = self.predictions["event_time"] >= pd.Timestamp(moment, tz="UTC")
        gone = self.predictions.loc[~first, "prediction_id"]
        labels = self.labels[~self.labels["prediction_id"].isin(gone)]
        return Tables(self.predictions[first], labels, self.reference)


def read(name: str) -> Tables:
    """The logs of an example as they are."""
    tables = [
        _widened(EXAMPLES / name / f"{file}.parquet") for file in ("predictions", "labels", "reference")
    ]
    return Tables(*tables)


def flights() -> Tables:
    """Flights: 0.4 % of the rows, a few hundred, of each fault."""
    logs, rng = read("flights"), np.random.default_rng(20130301)
    some = _Some(logs.predictions, rng)
    outputs: dict[str, Any] = {"score": 0.5, "pred_late": True, "pred_delay_min": 20.0}
    flipped = some().assign(
        score=lambda rows: 1 - rows["score"], pred_late=lambda rows: ~rows["pred_late"], pred_delay_min=33.0
    )
    odd = [
        some.new(score=1.7),
        some.new(score=-0.1),
        some.new(score=np.nan, pred_late=pd.NA, pred_delay_min=np.nan),
        some.new(score=0.0, pred_late=False, pred_delay_min=np.inf),
        some.new(score=1.0, pred_late=True),
        some.new(temp_f=np.inf, carrier="ZZ"),
        some.new(carrier=None, group="holdout"),
    ]
    added = [*_repeats(some, flipped, outputs), *_odd_times(some, rng, horizon=60 * DAY), *odd]
    added.append(some().assign(model_version="late_gb-2", **outputs))
    labels = _labels_of(odd, logs.labels, rng)
    wrong: list[dict[str, Any]] = [
        {"late": 1, "arr_delay_min": 99.0},
        {"late": pd.NA, "arr_delay_min": np.nan},
        {"late": 2, "arr_delay_min": np.inf},
    ]
    return _joined(logs, added, [*_odd_labels(pd.concat([logs.labels, labels]), rng, wrong), labels])


def rodents() -> Tables:
    """Rodents: 0.4 % of the rows, some 60, of each fault."""
    logs, rng = read("rodents"), np.random.default_rng(19770716)
    some = _Some(logs.predictions, rng)
    odd = [
        some.new(p_DM=1.7),
        some.new(p_DM=np.nan, predicted=None),
        some.new(predicted="XX", weight_g=np.inf),
        some.new(plot_type="Roof", sex=None, group="holdout"),
    ]
    outputs: dict[str, Any] = {"predicted": "DM", "p_DM": 0.99}
    added = [*_repeats(some, some().assign(predicted="PP"), outputs), *odd]
    added += [
        *_odd_times(some, rng, horizon=550 * DAY),
        some().assign(model_version="species_gb-2", **outputs),
    ]
    labels = _labels_of(odd, logs.labels, rng)
    wrong: list[dict[str, Any]] = [
        {"species": "PB", "level": "other"},
        {"species": None, "level": None},
        {"species": "ZZ", "level": "never"},
    ]
    return _joined(logs, added, [*_odd_labels(pd.concat([logs.labels, labels]), rng, wrong), labels])


class _Some:
    """Chosen rows of the log: as they are, or under new ids."""

    def __init__(self, rows: pd.DataFrame, rng: np.random.Generator) -> None:
        self._rows, self._rng, self._next = rows, rng, NEW

    def __call__(self) -> pd.DataFrame:
        n = round(MANY * len(self._rows))
        return self._rows.iloc[np.sort(self._rng.choice(len(self._rows), n, replace=False))]

    def new(self, **columns: Any) -> pd.DataFrame:
        """Rows of their own, with some columns replaced."""
        rows = self()
        ids = np.arange(self._next, self._next + len(rows))
        self._next += len(rows)
        return rows.assign(prediction_id=ids, **columns)


def _repeats(some: _Some, other: pd.DataFrame, outputs: dict[str, Any]) -> list[pd.DataFrame]:
    """Rows logged again: later, at the same moment with other outputs, earlier, and for another hour."""
    later, earlier, moved = some(), some(), some()
    return [
        later.assign(logged_at=later["logged_at"] + 5 * DAY, **outputs),
        other,
        earlier.assign(logged_at=earlier["event_time"], **outputs),
        moved.assign(event_time=moved["event_time"] + 30 * HOUR, logged_at=moved["logged_at"] + 30 * HOUR),
    ]


def _odd_times(some: _Some, rng: np.random.Generator, horizon: pd.Timedelta) -> list[pd.DataFrame]:
    """Events ahead of their logging, rows logged after the horizon, rows without the moment of logging."""
    future, stale = some.new(), some.new()
    ahead = pd.to_timedelta(rng.integers(1, 30 * 24, len(future)), "h")
    behind = horizon + pd.to_timedelta(rng.integers(1, 40 * 24, len(stale)), "h")
    return [
        future.assign(event_time=future["event_time"] + ahead),
        stale.assign(logged_at=stale["logged_at"] + behind),
        some.new(logged_at=lambda rows: rows["logged_at"].mask(rows.index >= 0)),
    ]


def _labels_of(added: list[pd.DataFrame], labels: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Labels of added rows: truths of others, reported within five days."""
    rows = pd.concat([one[["prediction_id", "event_time"]] for one in added])
    truth = labels.iloc[rng.choice(len(labels), len(rows))]
    delay = pd.to_timedelta(rng.integers(60, 5 * 86_400, len(rows)), "s")
    return truth.assign(
        prediction_id=rows["prediction_id"].to_numpy(), reported_at=(rows["event_time"] + delay).array
    )


def _odd_labels(
    labels: pd.DataFrame, rng: np.random.Generator, wrong: list[dict[str, Any]]
) -> list[pd.DataFrame]:
    """Labels reported again: corrected, retracted, unseen, tied, repeated, early, very late, orphaned."""
    some = _Some(labels, rng)
    truth, retracted, unseen = wrong
    corrected, taken, strange, late = some(), some(), some(), some()
    return [
        corrected.assign(reported_at=corrected["reported_at"] + 2 * DAY, **truth),
        taken.assign(revision=7, reported_at=taken["reported_at"] + DAY, **retracted),
        strange.assign(revision=3, **unseen),
        some().assign(**truth),
        some().assign(**retracted),
        some(),
        some().assign(reported_at=lambda rows: rows["label_time"] - 2 * DAY),
        late.assign(reported_at=late["reported_at"] + 600 * DAY),
        some().assign(
            reported_at=lambda rows: rows["reported_at"].mask(rows.index >= 0), revision=NOTHING, **truth
        ),
        some().assign(revision=NOTHING),
        some().assign(prediction_id=lambda rows: rows["prediction_id"] + ORPHAN),
    ]


def _widened(path: Path) -> pd.DataFrame:
    """Whole numbers may be missing; numbers are doubles; texts are plain."""
    table = pq.read_table(path)
    fields = []
    for field in table.schema:
        kind = pa.float64() if pa.types.is_float32(field.type) else field.type
        fields.append(field.with_type(kind))
    frame: pd.DataFrame = table.cast(pa.schema(fields)).to_pandas()
    for name in frame.columns:
        if name != "prediction_id" and pd.api.types.is_integer_dtype(frame[name]):
            frame[name] = frame[name].astype("Int64")
        elif pd.api.types.is_bool_dtype(frame[name]):
            frame[name] = frame[name].astype("boolean")
        elif pd.api.types.is_string_dtype(frame[name]):
            frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
    return frame


def _joined(logs: Tables, rows: list[pd.DataFrame], labels: list[pd.DataFrame]) -> Tables:
    """All rows of a table in one frame with the types of the first."""
    whole = [
        pd.concat([frame, *(one.astype(frame.dtypes.to_dict()) for one in added)], ignore_index=True)
        for frame, added in ((logs.predictions, rows), (logs.labels, labels))
    ]
    return Tables(whole[0], whole[1], logs.reference)
