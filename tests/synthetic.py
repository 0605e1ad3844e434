"""Small logs with late labels, and models on them, for tests of the pipeline."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from keyed_models import model_keys, with_changes
from memory import MemorySource

from monitor.app.application import App
from monitor.app.model_cycles import replay_model
from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.cycle import CycleTick, run_cycle
from monitor.pipeline.cycle_model import CycleModel
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, make_plain_counting, reference_of
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec
from monitor.specs.protocols import CycleReport, Source
from monitor.specs.settings import HttpSpec, LogSpec, Settings, StoreSpec
from monitor.store.sql_store import SqlStore
from monitor.store.tables.measurement_schema import VIEWS
from monitor.store.tables.shared_columns import METADATA
from monitor.windows.window_ends import parse_window

START = from_iso("2024-01-01")
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    numeric=("temp",),
    categorical=("carrier",),
    labelled=True,
    time_units=(("event_time", "us"), ("logged_at", "us"), ("reported_at", "us")),
    names=(("logged_at", "logged_at"),),
    horizon=20 * DAY,
)
Delay = Callable[[np.random.Generator, Ints], Ints]


def log_normal(rng: np.random.Generator, event: Ints) -> Ints:
    """Delays with a median of 12 hours; 95 % are there after 32 hours."""
    return (np.exp(rng.normal(np.log(12.0), 0.6, len(event))) * HOUR).astype(np.int64)


def weekly(rng: np.random.Generator, event: Ints) -> Ints:
    """All labels of a week are reported together, 3 hours into the next week."""
    week = 7 * DAY
    return ((event - START) // week + 1) * week + START + 3 * HOUR - event


@dataclass
class Log:
    """A log that grows under a test's hands."""

    predictions: pa.Table
    labels: pa.Table

    def source(self) -> MemorySource:
        """A source that holds the log as it stands."""
        return MemorySource(self.predictions, self.labels)

    def with_labels(self, *rows: tuple[str, int, int, str | None]) -> "Log":
        """The log with further (id, reported_at, revision, label)."""
        return Log(self.predictions, pa.concat_tables([self.labels, labels_of(rows)]))

    def without(self, *, ids: Iterable[str] = (), labels_of: Iterable[str] = ()) -> "Log":
        """The log without some predictions, without the labels of some."""
        return Log(_not_in(self.predictions, set(ids)), _not_in(self.labels, set(labels_of)))


def labels_of(rows: Any) -> pa.Table:
    """Table of (id, reported_at, revision, label)."""
    ids, reported, revision, label = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pa.table(
        {
            "id": pa.array(ids, pa.string()),
            "reported_at": pa.array(reported, pa.int64()),
            "revision": pa.array(revision, pa.float64()),
            "label": pa.array(label, pa.string()),
        }
    )


def predictions_of(event: Ints, *, seed: int = 0, first_id: int = 0, logged: Ints | None = None) -> pa.Table:
    """Predictions at the given moments, logged 30 seconds later."""
    rng = np.random.default_rng(seed)
    n = len(event)
    score = np.round(rng.beta(2.0, 3.0, n), 6)
    return pa.table(
        {
            "id": pa.array([f"p{number}" for number in range(first_id, first_id + n)], pa.string()),
            "event_time": pa.array(event, pa.int64()),
            "logged_at": pa.array(event + 30_000_000 if logged is None else logged, pa.int64()),
            "score": score,
            "feature:temp": rng.normal(10.0, 5.0, n),
            "feature:carrier": rng.choice(["AA", "UA", "DL"], n),
        }
    )


def log_of(
    days: int, *, per_day: int = 240, delay: Delay = log_normal, never: float = 0.03, seed: int = 1
) -> Log:
    """Evenly spaced predictions from START on, labels after random delays; some never come."""
    rng = np.random.default_rng(seed)
    event = START + np.arange(days * per_day) * (DAY // per_day) + rng.integers(0, 1_000_000, days * per_day)
    predictions = predictions_of(event, seed=seed)
    reported = event + delay(rng, event)
    late = rng.random(len(event)) < np.asarray(predictions["score"])
    comes = rng.random(len(event)) >= never
    ids = np.asarray(predictions["id"])
    labels = pa.table(
        {
            "id": pa.array(ids[comes], pa.string()),
            "reported_at": pa.array(reported[comes], pa.int64()),
            "revision": pa.array(np.zeros(int(comes.sum())), pa.float64()),
            "label": pa.array(np.where(late[comes], "1", "0"), pa.string()),
        }
    )
    return Log(predictions, labels)


def reference_rows(n: int = 600) -> pa.Table:
    """A labelled reference like the log."""
    table = predictions_of(np.zeros(n, np.int64), seed=99)
    late = np.random.default_rng(98).random(n) < np.asarray(table["score"])
    return table.append_column("label", pa.array(np.where(late, "1", "0")))


SPEC = ModelSpec(
    keys=model_keys("late", "memory", every=DAY, ready_after=0, resamples=0),
    reading=READING,
    predictions=Relation(table="predictions", columns=(("logged_at", "logged_at"),)),
    labels=Relation(table="labels", columns=(("reported_at", "reported_at"),)),
    windows=(parse_window("1d", HOUR), parse_window("7d", HOUR)),
)


class Monitored:
    """A model on a log in memory, with its caches, as an application holds them."""

    def __init__(self, model: CycleModel) -> None:
        self.model = model
        self.caches = ModelCaches.from_model(model)

    def change(self, **fields: Any) -> None:
        """Go on with another source, or other options, and the caches as they are."""
        self.model = replace(self.model, **fields)

    def other(self, **fields: Any) -> "Monitored":
        """The same model with other fields, in another process."""
        return Monitored(replace(self.model, **fields))

    def cycle(self, as_of: int, **options: Any) -> tuple[CycleReport, list[MeasurementRow]]:
        """Run one cycle: what it did, and its rows."""
        return run_cycle(self.model, self.caches, CycleTick(as_of, **options))

    def reports(self, start: int, end: int, every: int) -> Iterator[CycleReport]:
        """Cycles of `monitor replay`, as they are asked for; each must succeed."""
        for report in replay_model(_MemoryApp(self), self.model.name, start, end, every)[1]:
            assert report.error is None, report.error
            yield report

    def replay(self, start: int, end: int, every: int) -> list[CycleReport]:
        """Run `monitor replay` over the ticks in (start, end]."""
        return list(self.reports(start, end, every))


class _MemoryApp(App):
    """An application whose only model is there already."""

    def __init__(self, monitored: Monitored) -> None:
        spec, store = monitored.model.spec, monitored.model.store
        assert isinstance(store, SqlStore)
        source = SourceSpec(name=spec.source, url="sqlite://")  # never opened: the log is in memory
        settings = Settings(
            store=StoreSpec(url=""), http=HttpSpec(), log=LogSpec(), sources=(source,), models=(spec,)
        )
        super().__init__(settings, Path(), store)
        self._monitored = monitored

    def prepare_model(self, name: str, as_of: int | None = None) -> tuple[CycleModel, ModelCaches]:  # noqa: ARG002 -- as in App
        return self._monitored.model, self._monitored.caches


def monitored_of(
    source: Source,
    store: SqlStore,
    *,
    reference: bool = True,
    reading: ReadingOptions = READING,
    table: pa.Table | None = None,
    audit_every: int = 1_000 * DAY,
    retention: int | None = None,
    **options: Any,
) -> Monitored:
    """A model on a source, as the application would make it. Audits are off unless asked for."""
    made: Reference | None = None
    if reference:
        made = reference_of(reference_rows() if table is None else table, reading)
    counting = made.counting if made else make_plain_counting(reading)
    model = CycleModel(
        spec=with_changes(SPEC, reading=counting.reading, **options),
        counting=counting,
        reference=made,
        source=source,
        store=store,
        code="test",
        audit_every=audit_every,
        retention=retention,
    )
    return Monitored(model)


def rows_of(store: SqlStore, *, without: tuple[str, ...] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables but the leases, sorted; columns named "table.column" may be left out.

    Measurements as their views show them, whatever their numbers.
    """
    found = {}
    with store.engine.connect() as connection:
        for table in (*METADATA.sorted_tables, *VIEWS.sorted_tables):
            if table.name in ("leases", "series", "row_sets", "details", "current_rows", "snapshot_rows"):
                continue
            left_out = {*without, "models.label_writes", "panes.holds"}  # move with each count
            columns = [column for column in table.c if f"{table.name}.{column.name}" not in left_out]
            rows = connection.execute(table.select().with_only_columns(*columns)).fetchall()
            found[table.name] = sorted((tuple(row) for row in rows), key=repr)
    return found


def _not_in(table: pa.Table, ids: set[str]) -> pa.Table:
    keep = [name not in ids for name in table["id"].to_pylist()]
    return table.filter(pa.array(keep, pa.bool_()))
