"""Hourly cycles of a steady model: what do they cost, whatever the history and the windows?

1,400 predictions an hour with 25 features; 1,000 labels an hour, of predictions of the last three days, or
of the last ninety.
Behind them one log that grows from the shortest history to the longest; windows of different lengths over the
same history. Real cycles, on a log and a store in SQLite; rows and labels are added before each cycle, as a
serving system does. Garbage is collected as in the daemon.
Rows of records are compared, with ==, with those of the panes that changed; of labels no more may be read
than those of panes that are counted whole, and 3 for each label. Ends with 1 where they differ.
python benchmarks/cycles.py DIRECTORY [HISTORY …]
"""

import contextlib
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import adbc_driver_sqlite.dbapi
import data
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import watched
from timing import child, save, tell

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.cli.commands import NEW_OBJECTS
from monitor.core.clock import DAY, HOUR
from monitor.records.pane import PaneHalf
from monitor.specs.protocols import CycleReport

AN_HOUR = 1_400
LABELLED = 1_000 / AN_HOUR
SPREADS = 3, 90  # days after which the last label of an hour has come
MOST_A_LABEL = 3
CYCLES = 30  # one of them audits
HISTORIES = 100_000, 1_000_000, 10_000_000
WINDOWS = "1d", "7d", "30d", "90d"
USUAL = "1d", "7d", "30d"
FULL = "1d", "2d", "3d"  # which the shortest history fills, too
LONG_HORIZON = "100d"
LONG = 101 * 24 * AN_HOUR  # history under windows of 90 days
MOST = 0.100  # seconds of CPU
INDEXES = ("predictions", "event_time"), ("predictions", "id"), ("labels", "id"), ("labels", "reported_at")
_CHUNK = 250_000
_MOVES_OVER = 10_000_000  # rows over which some columns move
Ints = npt.NDArray[np.int64]


class Log:
    """Predictions and labels, added hour by hour; a file that is there is gone on with."""

    def __init__(self, file: Path, spread: int) -> None:
        self._spread = spread * DAY
        self._unreported = file.with_suffix(".parquet")
        self._later: pa.Table | None = None  # labels that are not reported yet
        self.rows = 0
        there = file.exists()
        self._connection = adbc_driver_sqlite.dbapi.connect(str(file))
        if there:
            self._later = pq.read_table(self._unreported)
            self.rows = self._ask("SELECT max(id) + 1 FROM predictions")
            return
        self.add(24 * AN_HOUR)
        for at, (table, column) in enumerate(INDEXES):
            self._settle(f"CREATE INDEX by_{at} ON {table} ({column})")

    @property
    def end(self) -> int:
        """Moment up to which there are predictions."""
        return data.START + self.rows * HOUR // AN_HOUR

    def grow(self, rows: int) -> None:
        """Add predictions until there are so many, whole hours of them."""
        while (missing := rows // AN_HOUR * AN_HOUR - self.rows) > 0:
            self.add(min(_CHUNK, missing))

    def add(self, rows: int) -> None:
        """Further predictions, and the labels that are reported up to the last of them."""
        mode: Literal["append", "create"] = "append" if self.rows else "create"
        made = data.generated(rows, first=self.rows, of=_MOVES_OVER, a_day=24 * AN_HOUR)
        rng = np.random.default_rng([data.SEED, 7, self.rows])
        self.rows += rows
        delay = rng.integers(1, self._spread, rows)
        reported = pc.add(made["event_time"], pa.array(delay))
        labels = made.select(["id", "event_time", "label"]).append_column("reported_at", reported)
        labels = labels.filter(pa.array(rng.random(rows) < LABELLED))
        known = labels if self._later is None else pa.concat_tables([self._later, labels])
        now = pc.less_equal(known["reported_at"], self.end)
        self._later, reported_now = known.filter(pc.invert(now)), known.filter(now)
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest("predictions", made.drop_columns(["label"]), mode=mode)
            cursor.adbc_ingest("labels", reported_now.drop_columns(["event_time"]), mode=mode)
        self._connection.commit()

    def records(self, starts: Sequence[int], as_of: int) -> int:
        """Predictions in some hours up to a moment."""
        event = data.START + (2 * np.arange(self.rows, dtype=np.int64) + 1) * HOUR // (2 * AN_HOUR)
        event = event[event <= as_of]
        return int(
            sum(np.searchsorted(event, start + HOUR) - np.searchsorted(event, start) for start in starts)
        )

    def close(self) -> None:
        """Close the file; what is not reported yet is kept beside it."""
        pq.write_table(self._later, self._unreported)
        self._connection.close()

    def _settle(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
        self._connection.commit()

    def _ask(self, sql: str) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            (found,) = cursor.fetchone() or (0,)
        self._connection.commit()
        return int(found)


def counted_now(app: App, as_of: int, part: PaneHalf) -> list[int]:
    """Starts of the panes whose part was counted as of this moment."""
    facts = app.store.panes.read_pane_facts("scored", 0)
    return [one.start for one in facts if one.part is part and one.counted_as_of == as_of]


def checked(app: App, log: Log, report: CycleReport, as_of: int) -> bool:
    """Whether the rows read are the records of the panes that changed, no more and no less."""
    records, labels = (counted_now(app, as_of, part) for part in (PaneHalf.RECORDS, PaneHalf.LABELS))
    newest = {as_of - HOUR, as_of}
    return (
        report.error is None
        and report.rows_read == log.records(records, as_of)
        and report.label_rows_read <= log.records(labels, as_of) + MOST_A_LABEL * LABELLED * AN_HOUR
        and set(records) <= newest
    )


def lived(place: Path, rows: int, spread: int, horizon: str, windows: Sequence[str]) -> dict[str, object]:
    """CPU seconds of the cycles of a model, and what they read; the log grows to so many rows first."""
    model = watched.model(
        data.reference(place.parent),
        windows=windows,
        options=f'horizon = "{horizon}"',
        labels=watched.APART,
    )
    store = place / horizon
    store.mkdir(exist_ok=True)
    log = Log(place / "log.db", spread)
    log.grow(rows)
    app = watched.opened(watched.configure(store, f"sqlite:///{place / 'log.db'}", model))
    with contextlib.closing(log), watched.closed_at_end(app):
        began = time.process_time()
        while run_single_cycle(app, "scored", _tick(log)).rows_read:
            pass  # `recount_rows` of the history a cycle
        counted = time.process_time() - began
        cycles = [_hour(app, log) for _ in range(CYCLES)]
        history = log.rows
    longest = max(cpu for cpu, _, _ in cycles)
    return {
        "history": history,
        "horizon": horizon,
        "history_counted_cpu": counted,
        "cpu": statistics.median(cpu for cpu, _, _ in cycles),
        "cpu_of_longest": longest,
        "cpu_of_all": sum(cpu for cpu, _, _ in cycles) / CYCLES,
        "rows_read": statistics.median(report.rows_read for _, report, _ in cycles),
        "label_rows_read": statistics.median(report.label_rows_read for _, report, _ in cycles),
        "measurements": cycles[-1][1].measurements,
        "right": all(right for _, _, right in cycles),
    }


def _hour(app: App, log: Log) -> tuple[float, CycleReport, bool]:
    log.add(AN_HOUR)
    as_of = _tick(log)
    began = time.process_time()
    report = run_single_cycle(app, "scored", as_of)
    cpu = time.process_time() - began
    return cpu, report, checked(app, log, report, as_of)


def _tick(log: Log) -> int:
    return log.end // HOUR * HOUR


def main() -> int:
    """Measure, check, print."""
    if sys.argv[1] == "--only":
        gc.set_threshold(NEW_OBJECTS)
        tell(lambda: lived(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6:]))
        return 0
    directory = Path(sys.argv[1])
    histories = [int(given) for given in sys.argv[2:]] or list(HISTORIES)
    data.reference(directory)
    by_history: dict[str, dict[str, Any]] = {}
    by_history_full: dict[str, dict[str, Any]] = {}
    by_window: dict[str, dict[str, Any]] = {}
    for spread in SPREADS:
        with tempfile.TemporaryDirectory(dir=directory) as name:
            # the log grows: all windows are of one length of it
            for rows in sorted({*histories, min(LONG, max(histories))}):
                if rows in histories:
                    for windows, found in ((USUAL, by_history), (FULL, by_history_full)):
                        run = child(__file__, name, rows, spread, LONG_HORIZON, *windows)
                        found[f"{rows:,}, labels of {spread} days"] = run.told | {"peak": run.peak}
                        named = f"history of {rows:,}, labels of {spread} days, windows {' '.join(windows)}"
                        print(f"{named}: {run.told}", flush=True)
                at_longest = rows == min(LONG, max(histories)) and spread == SPREADS[0]
                for window in WINDOWS if at_longest else ():
                    run = child(__file__, name, rows, spread, LONG_HORIZON, window)
                    by_window[window] = run.told | {"peak": run.peak}
                    print(f"windows of {window}: {by_window[window]}", flush=True)
    by_all = by_history, by_history_full, by_window
    ratios = [max(c) / min(c) for c in ([one["cpu"] for one in by.values()] for by in by_all)]
    everything = [one for by in by_all for one in by.values()]
    save(
        "cycles",
        [],
        by_history=by_history,
        by_history_full=by_history_full,
        by_window=by_window,
        ratio_of_histories=ratios[0],
        ratio_of_histories_full=ratios[1],
        ratio_of_windows=ratios[2],
        most_cpu=max(one["cpu"] for one in everything),
        bar_of_ratios=1.5,
        bar_of_cpu=MOST,
    )
    return int(not all(one["right"] for one in everything))


if __name__ == "__main__":
    sys.exit(main())
