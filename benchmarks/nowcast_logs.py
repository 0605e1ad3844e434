"""Nowcasts on real logs: how much nearer to the final value they are than the raw ones.

Replays a log in memory. At each tick the newest window's raw value and its nowcast are held against the
value that all of the window's labels give in the end. So are two values that nobody can tell at the time:
they weigh by the shares that were truly in, by age over the whole log, and of each class and day. DIRECTORY
holds predictions.parquet and labels.parquet of the flights or of the rodents.

What is asked of the flights (docs/adr/0033-nowcast.md): of the windows of 7 and 30 days whose raw value is
off, of measures that hang on the mix of classes, the nowcast is nearer in 80 %; and of no other measure is it
further in most. Ends with 1 where that is missed.
python benchmarks/nowcast_logs.py DIRECTORY [flights|delays|rodents]
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from memory import MemorySource
from synthetic import Monitored, monitored_of

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.measurement_row import LabelTruth
from monitor.measures.nowcast import LEAST_SHARE, nowcast_results, weight_labels
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.store.store_database import migrate_store, open_store
from monitor.windows.window_ends import parse_window

UNITS = (("event_time", "us"), ("logged_at", "us"), ("reported_at", "us"))
OFF = 0.005  # a raw value that is off by more is to be improved
MIX = ("accuracy", "base_rate", "brier_score", "log_loss", "precision")  # hang on the mix of classes
OF_MIX, OF_ALL = 0.8, 0.5  # in so many of their windows a nowcast is to be nearer
Errors = Mapping[tuple[str, str], Sequence[tuple[float, float, float, float, bool | None]]]
"""By window and measure, at each tick: of the raw value, the nowcast, both in hindsight; whether it held."""


@dataclass(frozen=True)
class Log:
    """A log and how it is read."""

    reading: ReadingOptions
    columns: dict[str, str]
    label: str
    windows: tuple[str, ...]
    every: int  # microseconds between ticks


Values = dict[tuple[str, str], float | None]  # by measure and subject


@dataclass(frozen=True)
class Hindsight:
    """Of all labels that came: when the record was, when it was first reported, its class's position."""

    event: Ints
    reported: Ints
    kind: Ints
    classes: int

    @classmethod
    def of(cls, paired: pa.Table, classes: Sequence[str]) -> "Hindsight":
        """Of predictions with their labels; numbers are of one class."""
        rows = paired.to_pandas().dropna(subset=["label", "reported_at"]).sort_values("reported_at")
        first = rows.groupby("id").agg(
            event=("event_time", "first"), reported=("reported_at", "first"), label=("label", "last")
        )
        kind = pd.Categorical(first["label"], classes).codes if classes else np.zeros(len(first))
        times = (first[name].to_numpy(np.int64) for name in ("event", "reported"))
        return cls(*times, np.asarray(kind, dtype=np.int64), max(1, len(classes)))

    def by_age(self, age: Ints) -> Floats:
        """Share of each class's labels that is in at an age, shape (ages, classes)."""
        delay = self.reported - self.event
        of_class = [np.sort(delay[self.kind == kind]) for kind in range(self.classes)]
        return np.stack([np.searchsorted(d, age, side="right") / max(1, len(d)) for d in of_class], axis=1)

    def of_days(self, span: tuple[int, int], as_of: int) -> Floats:
        """Share of each class's labels of the days of a span that is in; 1 where none comes."""
        inside = (self.event >= span[0]) & (self.event < span[1])
        shape = (-(-span[1] // DAY) - span[0] // DAY, self.classes)
        cell = (self.event // DAY - span[0] // DAY) * self.classes + self.kind
        every, there = (
            np.bincount(cell[some], minlength=shape[0] * shape[1]).reshape(shape)
            for some in (inside, inside & (self.reported <= as_of))
        )
        return np.where(every > 0, there / np.maximum(every, 1), 1.0)

    def told(self, monitored: Monitored, span: tuple[int, int], as_of: int) -> tuple[Values, Values]:
        """What a window's labels so far give, weighed by what is truly in: by age, and of each day."""
        pane = monitored.model.counting.reading.pane
        panes, days = np.arange(*span, pane), np.arange(span[0] // DAY, -(-span[1] // DAY)) * DAY
        by_age = self.by_age(as_of - panes - pane // 2)
        bounds = [(max(day, span[0]), min(day + DAY, span[1])) for day in days.tolist()]
        return (
            _told(monitored, [(start, start + pane) for start in panes.tolist()], by_age, LEAST_SHARE),
            _told(monitored, bounds, self.of_days(span, as_of), np.finfo(float).tiny),
        )


def _told(monitored: Monitored, bounds: list[tuple[int, int]], share: Floats, least: float) -> Values:
    counting, panes = monitored.model.counting, monitored.caches.panes
    used = share.min(axis=1) >= least
    sums = (
        panes.sum_window(PaneHalf.LABELS, *each, strata=False, kept=False).get(WHOLE)
        for each, keep in zip(bounds, used, strict=True)
        if keep
    )
    pieces = [Counters.make_empty(counting.labels_layout) if each is None else each for each in sums]
    none = np.zeros((share.shape[1], share.shape[1]))
    found = nowcast_results(weight_labels(counting, pieces, share[used], none), MeasureOptions())
    return {(one.measure, one.subject): one.measurement.value for one in found}


LEVELS = ("DM", "DO", "DS", "NL", "OL", "OT", "PE", "PF", "PP", "RM", "other")
COMMON = ReadingOptions(
    task=ModelTask.BINARY, classes=("0", "1"), labelled=True, time_units=UNITS, horizon=45 * DAY
)
LOGS = {
    "flights": Log(
        replace(COMMON, has_score=True, score_range=(0.0, 1.0), threshold=0.3),
        {"score": "score"},
        "late",
        ("1d", "7d", "30d"),
        5 * DAY,
    ),
    "delays": Log(
        replace(COMMON, task=ModelTask.REGRESSION, classes=()),
        {"prediction": "pred_delay_min"},
        "arr_delay_min",
        ("7d", "30d"),
        5 * DAY,
    ),
    "rodents": Log(
        replace(
            COMMON,
            task=ModelTask.MULTICLASS,
            classes=LEVELS,
            probabilities=LEVELS,
            has_score=True,
            score_range=(0.0, 1.0),
            horizon=125 * DAY,
            pane=DAY,
        ),
        {f"probability:{name}": f"p_{name}" for name in LEVELS} | {"prediction": "predicted"},
        "level",
        ("90d", "365d"),
        60 * DAY,
    ),
}


def tables(directory: Path, log: Log) -> tuple[pa.Table, pa.Table]:
    """Predictions and labels under the names of their roles."""
    predictions = pd.read_parquet(directory / "predictions.parquet")
    labels = pd.read_parquet(directory / "labels.parquet")
    labels = labels[labels[log.label].notna()]
    made = {"id": pa.array(predictions["prediction_id"].astype(str))}
    for name in ("event_time", "logged_at"):
        made[name] = pa.array(predictions[name].astype("datetime64[us, UTC]").astype("int64"))
    for role, column in log.columns.items():
        made[role] = pa.array(predictions[column])
    number = log.reading.task is ModelTask.REGRESSION
    label = labels[log.label].astype(float) if number else labels[log.label].astype(str)
    return pa.table(made), pa.table(
        {
            "id": pa.array(labels["prediction_id"].astype(str)),
            "reported_at": pa.array(labels["reported_at"].astype("datetime64[us, UTC]").astype("int64")),
            "revision": pa.array(labels["revision"].astype(float)),
            "label": pa.array(label),
        }
    )


def main() -> int:
    """Replay, compare, print."""
    parser = argparse.ArgumentParser(description="Nowcasts on a real log.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("log", choices=LOGS, nargs="?", default="flights")
    chosen = parser.parse_args()
    log = LOGS[chosen.log]
    errors = replayed(chosen.directory, log)
    print_table(errors)
    if chosen.log != "flights":
        return 0
    missed = missing(errors)
    print("\n".join(missed) or "what is asked is reached")
    return int(bool(missed))


def replayed(directory: Path, log: Log) -> Errors:
    """Errors of raw values and nowcasts at each tick of a log."""
    predictions, labels = tables(directory, log)
    with TemporaryDirectory() as place:
        url = f"sqlite:///{place}/store.db"
        migrate_store(url)
        store = open_store(url, "live")
        monitored = monitored_of(
            MemorySource(predictions, labels),
            store,
            reference=False,
            reading=log.reading,
            windows=tuple(parse_window(name, log.reading.pane) for name in log.windows),
            every=log.every,
        )
        return compare(monitored, predictions, labels, log)


def missing(errors: Errors) -> list[str]:
    """What the nowcasts of windows of a week or longer miss of what is asked."""
    nearer: dict[str, list[bool]] = defaultdict(list)
    for (window, name), pairs in errors.items():
        if window != "1d":
            nearer[name] += [abs(told) < abs(raw) for raw, told, *_ in pairs if abs(raw) > OFF]
    of_mix = [one for name in MIX for one in nearer[name]]
    told = []
    if np.mean(of_mix) < OF_MIX:
        told.append(f"nearer in {np.mean(of_mix):.1%} of {len(of_mix)} windows of {', '.join(MIX)}")
    few = {name: each for name, each in nearer.items() if each and np.mean(each) < OF_ALL}
    return told + [f"{name}: nearer in {np.mean(each):.1%} of {len(each)}" for name, each in few.items()]


def compare(monitored: Monitored, predictions: pa.Table, labels: pa.Table, log: Log) -> Errors:
    """Errors of raw values and nowcasts at each tick."""
    counting, pane = monitored.model.counting, log.reading.pane
    event = np.asarray(predictions["event_time"])
    first, last = int(event.min()) // DAY * DAY, int(event.max()) // DAY * DAY
    starts = np.arange(first, last, pane, dtype=np.int64)
    paired = predictions.join(labels, "id", join_type="left outer")
    parts = {
        part.start: part.strata.get(WHOLE, Counters.make_empty(counting.labels_layout))
        for part in count_labels(paired, counting, panes=starts, as_of=2**62)
    }
    finals: dict[tuple[int, int], Values] = {}
    errors: dict[tuple[str, str], list[tuple[float, float, float, float, bool | None]]] = defaultdict(list)
    hindsight = Hindsight.of(paired, log.reading.classes)
    ticks, early = 0, 0
    for as_of in range(first + 60 * DAY, last, log.every):
        _, rows = monitored.cycle(as_of)
        plain = [row for row in rows if row.is_of_whole and not row.against]
        raw = {(r.window, r.measure, r.subject): r for r in plain if r.truth is LabelTruth.PROVISIONAL}
        truly: dict[tuple[int, int], tuple[Values, Values]] = {}
        for row in (row for row in plain if row.truth is LabelTruth.NOWCAST):
            was = raw.get((row.window, row.measure, row.subject))
            ticks += 1
            early += row.measurement.value is None
            if row.measurement.value is None or was is None or was.measurement.value is None:
                continue
            window = next(w for w in monitored.model.spec.windows if w.name == row.window)
            span = (window.start_of(row.window_end), row.window_end)
            if span not in finals:
                whole = Counters.merge_all(
                    counting.labels_layout, [part for at, part in parts.items() if span[0] <= at < span[1]]
                )
                found = measure_performance(counting, whole, MeasureOptions(resamples=0))
                finals[span] = {(one.measure, one.subject): one.measurement.value for one in found}
            final = finals[span].get((row.measure, row.subject))
            if final is not None:
                bounds = row.measurement.interval
                held = None if bounds is None else bounds.lower <= final <= bounds.upper
                name = row.measure if not row.subject else f"{row.measure} of classes"
                if span not in truly:
                    truly[span] = hindsight.told(monitored, span, as_of)
                best = (each.get((row.measure, row.subject)) for each in truly[span])
                known = (np.inf if value is None else value - final for value in best)
                raw_error, told_error = was.measurement.value - final, row.measurement.value - final
                errors[row.window, name].append((raw_error, told_error, *known, held))
    print(f"{early} of {ticks} nowcasts absent")
    return errors


def print_table(errors: Errors) -> None:
    """Of each window and measure: how often it is nearer, and how far off."""
    heads = ("windows", "raw off", "nearer %", "by age %", "by day %", "mean |raw|", "mean |told|", "held %")
    print(f"{'window':7}{'measure':26}" + "".join(f"{head:>12}" for head in heads))
    every = np.zeros(4)
    for (window, name), pairs in sorted(errors.items()):
        off = np.abs([each[:4] for each in pairs if abs(each[0]) > OFF]).reshape(-1, 4)
        nearer = (off[:, 1:4] < off[:, :1]).sum(axis=0)
        every += [*nearer, len(off)]
        held = [each[4] for each in pairs if each[4] is not None]
        shares = "".join(f"{100 * n / max(1, len(off)):12.1f}" for n in nearer)
        means = "".join(f"{off[:, at].mean() if len(off) else 0:12.4f}" for at in (0, 1))
        print(
            f"{window:7}{name:26}{len(pairs):12}{len(off):12}{shares}{means}"
            f"{100 * np.mean(held) if held else 0:12.1f}"
        )
    shares = ", ".join(f"{share:.1f} %" for share in 100 * every[:3] / max(1, every[3]))
    print(f"nearer of {every[3]:.0f}, as told, by age, by day: {shares}")


if __name__ == "__main__":
    raise SystemExit(main())
