"""Nowcasts on real logs: how much nearer to the final value they are than the raw ones.

Replays a log in memory. At each tick the newest window's raw value and its nowcast are held against the value
that all of the window's labels give in the end. DIRECTORY holds predictions.parquet and labels.parquet of the
flights or of the rodents.
python benchmarks/nowcast_logs.py DIRECTORY [flights|delays|rodents]
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from memory import MemorySource
from synthetic import Monitored, monitored_of

from monitor.core.clock import DAY
from monitor.measures.evaluate import performance
from monitor.measures.options import Options
from monitor.measures.rows import Truth
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import Reading, Task
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.store.engine import migrate, open_store
from monitor.windows.ends import window_of

UNITS = (("event_time", "us"), ("logged_at", "us"), ("reported_at", "us"))
OFF = 0.005  # a raw value that is off by more is to be improved


@dataclass(frozen=True)
class Log:
    """A log and how it is read."""

    reading: Reading
    columns: dict[str, str]
    label: str
    windows: tuple[str, ...]
    every: int  # microseconds between ticks


LEVELS = ("DM", "DO", "DS", "NL", "OL", "OT", "PE", "PF", "PP", "RM", "other")
COMMON = Reading(task=Task.BINARY, classes=("0", "1"), labelled=True, time_units=UNITS, horizon=45 * DAY)
LOGS = {
    "flights": Log(
        replace(COMMON, has_score=True, score_range=(0.0, 1.0), threshold=0.3),
        {"score": "score"},
        "late",
        ("1d", "7d", "30d"),
        5 * DAY,
    ),
    "delays": Log(
        replace(COMMON, task=Task.REGRESSION, classes=()),
        {"prediction": "pred_delay_min"},
        "arr_delay_min",
        ("7d", "30d"),
        5 * DAY,
    ),
    "rodents": Log(
        replace(
            COMMON,
            task=Task.MULTICLASS,
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
    number = log.reading.task is Task.REGRESSION
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
    predictions, labels = tables(chosen.directory, log)
    with TemporaryDirectory() as place:
        url = f"sqlite:///{place}/store.db"
        migrate(url)
        store = open_store(url, "live")
        monitored = monitored_of(
            MemorySource(predictions, labels),
            store,
            reference=False,
            reading=log.reading,
            windows=tuple(window_of(name, log.reading.pane) for name in log.windows),
            every=log.every,
        )
        compare(monitored, predictions, labels, log)
    return 0


def compare(monitored: Monitored, predictions: pa.Table, labels: pa.Table, log: Log) -> None:
    """Errors of raw values and nowcasts at each tick."""
    counting, pane = monitored.model.counting, log.reading.pane
    event = np.asarray(predictions["event_time"])
    first, last = int(event.min()) // DAY * DAY, int(event.max()) // DAY * DAY
    starts = np.arange(first, last, pane, dtype=np.int64)
    paired = predictions.join(labels, "id", join_type="left outer")
    parts = {
        part.start: part.strata.get(WHOLE, Counters.empty(counting.labels))
        for part in count_labels(paired, counting, panes=starts, as_of=2**62)
    }
    finals: dict[tuple[int, int], dict[tuple[str, str], float]] = {}
    errors: dict[tuple[str, str], list[tuple[float, float, bool | None]]] = defaultdict(list)
    ticks, early = 0, 0
    for as_of in range(first + 60 * DAY, last, log.every):
        _, rows = monitored.cycle(as_of)
        plain = [row for row in rows if row.of_whole and not row.against]
        raw = {(r.window, r.measure, r.subject): r for r in plain if r.truth is Truth.PROVISIONAL}
        for row in (row for row in plain if row.truth is Truth.NOWCAST):
            was = raw.get((row.window, row.measure, row.subject))
            ticks += 1
            early += row.measurement.value is None
            if row.measurement.value is None or was is None or was.measurement.value is None:
                continue
            window = next(w for w in monitored.model.spec.windows if w.name == row.window)
            span = (window.start(row.window_end), row.window_end)
            if span not in finals:
                whole = Counters.merge_all(
                    counting.labels, [part for at, part in parts.items() if span[0] <= at < span[1]]
                )
                found = performance(counting, whole, Options(resamples=0))
                finals[span] = {(one.measure, one.subject): one.measurement.value for one in found}
            final = finals[span].get((row.measure, row.subject))
            if final is not None:
                bounds = row.measurement.interval
                held = None if bounds is None else bounds.lower <= final <= bounds.upper
                name = row.measure if not row.subject else f"{row.measure} of classes"
                errors[row.window, name].append(
                    (was.measurement.value - final, row.measurement.value - final, held)
                )
    print(f"{early} of {ticks} nowcasts absent")
    heads = (
        ("windows", 8),
        ("raw off", 9),
        ("nearer %", 9),
        ("mean |raw|", 11),
        ("mean |told|", 12),
        ("held %", 8),
    )
    print(f"{'window':7}{'measure':26}" + "".join(f"{head:>{width}}" for head, width in heads))
    every = [0, 0]
    for (window, name), pairs in sorted(errors.items()):
        off = [(a, b) for a, b, _ in pairs if abs(a) > OFF]
        nearer = sum(abs(b) < abs(a) for a, b in off)
        every = [every[0] + nearer, every[1] + len(off)]
        held = [h for *_, h in pairs if h is not None]
        mean = np.abs(np.asarray(off)).mean(axis=0) if off else (0, 0)
        print(
            f"{window:7}{name:26}{len(pairs):8}{len(off):9}{100 * nearer / len(off) if off else 0:9.1f}"
            f"{mean[0]:11.4f}{mean[1]:12.4f}{100 * np.mean(held) if held else 0:8.1f}"
        )
    print(f"all: nearer in {every[0]} of {every[1]}, {100 * every[0] / max(1, every[1]):.1f} %")


if __name__ == "__main__":
    raise SystemExit(main())
