"""Files of a lake: speed beside a script with pandas, memory of a first cycle, bytes that later cycles read.

`speed`: a million rows of 28 columns in Parquet, a file a day: ours reads and counts them by the hour, then
measures each day; the script reads them by `pandas.read_parquet` and makes the report of each day with SciPy
and scikit-learn, as in `reading.py`.
`memory`: the peak of a process whose first cycle counts ten million rows of Parquet, or Delta.
`bytes`: what an hourly cycle reads by the kernel's count, after a short and a long history of as many rows a
day; rows and labels come before each cycle, in files of their own.
python benchmarks/lake.py DIRECTORY [speed] [memory] [bytes]
"""

import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import data
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import reading
import watched
from timing import Pair, Run, child, save, tell

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR

BAR = 4.0
SPEED_ROWS, SPEED_DAYS = 1_000_000, 30
MEMORY_ROWS, MEMORY_DAYS = 10_000_000, 100
MOST_MB = 450.0
A_DAY, HISTORIES = 5_000, (100_000, 10_000_000)
HORIZON = 7  # days
CYCLES = 6
AT_ONCE = 100  # days that are generated, and committed to Delta, at once
KINDS = "parquet", "delta"


@dataclass(frozen=True, slots=True)
class Lake:
    """Predictions, and their labels, in files of a day."""

    place: Path
    kind: str
    a_day: int
    of: int  # rows over which columns move

    @property
    def url(self) -> str:
        return self.place.as_uri()

    def fill(self, days: int, *, labels: bool) -> None:
        """Write some days, unless they are there."""
        done = self.place / "done"
        if done.exists():
            return
        for first in range(0, days, AT_ONCE):
            self.add(first * self.a_day, min(AT_ONCE, days - first) * self.a_day, labels=labels)
        done.touch()

    def add(self, first: int, rows: int, *, labels: bool) -> None:
        """Further rows from one on; a label comes two hours after its prediction."""
        made = data.generated(rows, first=first, of=self.of, a_day=self.a_day)
        if not labels:
            self._write("predictions", made, made["event_time"])
            return
        self._write("predictions", made.drop_columns(["label"]), made["event_time"])
        reported = pc.add(made["event_time"], 2 * HOUR)
        self._write("labels", made.select(["id", "label"]).append_column("reported_at", reported), reported)

    def _write(self, name: str, rows: pa.Table, moments: pa.ChunkedArray) -> None:
        days = pc.divide(pc.subtract(moments, data.START), DAY)
        folder = self.place / name
        if self.kind == "delta":
            import deltalake

            dated = rows.append_column("day", days)
            deltalake.write_deltalake(str(folder), dated, mode="append", partition_by=["day"])
            return
        for day in pc.unique(days).to_pylist():
            within = folder / f"day={day}"
            within.mkdir(parents=True, exist_ok=True)
            some = rows.filter(pc.equal(days, day))
            pq.write_table(some, within / f"{some['id'][0].as_py()}.parquet")


def speed_lake(directory: Path) -> Lake:
    """A month of a million rows."""
    return Lake(directory / "speed", "parquet", SPEED_ROWS // SPEED_DAYS, SPEED_ROWS)


def script(directory: Path, what: str) -> Callable[[], object]:
    """Work of the script: "read" or "report"."""
    import pandas as pd
    import script as users

    known = pd.read_parquet(data.reference(directory))

    def work() -> dict[str, object]:
        frame = pd.read_parquet(speed_lake(directory).place / "predictions")
        found = 0
        for current in users.by_day(frame).values() if what == "report" else ():
            columns = users.drift(known, current, data.NUMERIC, data.CATEGORICAL)
            found = sum(map(len, columns.values())) + len(users.performance(current))
        return {"records": len(frame), "measurements_a_day": found}

    return work


def compared(directory: Path) -> Iterator[Pair]:
    """Counting, and reporting, against reading and reporting; counting against reading."""
    lake = speed_lake(directory)
    lake.fill(SPEED_DAYS, labels=False)
    run = functools.partial(child, __file__)
    for ours, theirs, pairs, bar in (
        ("count", "report", 5, BAR),
        ("report", "report", 3, None),
        ("count", "read", 3, None),
    ):
        runs = [(run("ours", ours, directory), run("script", theirs, directory)) for _ in range(pairs)]
        assert all(a.told["records"] == b.told["records"] for a, b in runs)
        ratios = [b.cpu / a.cpu for a, b in runs]
        print(f"read and {ours} against {theirs}: least {min(ratios):.2f} times", flush=True)
        yield Pair(f"files: read and {ours}", f"read_parquet and {theirs}", runs, bar)


def memory_lake(directory: Path, kind: str) -> Lake:
    """A hundred days of ten million rows."""
    return Lake(directory / f"memory-{kind}", kind, MEMORY_ROWS // MEMORY_DAYS, MEMORY_ROWS)


def first_cycle(directory: Path, kind: str) -> Callable[[], object]:
    """A first cycle whose horizon holds all rows."""
    options = f'settle_after = "1d"\nhorizon = "{MEMORY_DAYS + 10}d"'
    lake = memory_lake(directory, kind)
    model = watched.model(data.reference(directory), options=options)
    config = watched.configure(Path(tempfile.mkdtemp(dir=directory)), lake.url, model)

    def work() -> dict[str, object]:
        with watched.closed_at_end(watched.opened(config)) as app:
            report = run_single_cycle(app, "scored", data.START + MEMORY_DAYS * DAY)
        assert report.error is None, report.error
        return {"rows": report.rows_read, "panes": report.panes_counted, "waiting": report.panes_waiting}

    return work


def peaks(directory: Path) -> Iterator[tuple[str, Run]]:
    """First cycles."""
    for kind in KINDS:
        memory_lake(directory, kind).fill(MEMORY_DAYS, labels=False)
        yield kind, child(__file__, "first", kind, directory)


def bytes_read() -> int:
    """Bytes that this process has read of files, by the kernel's count."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def later_cycles(directory: Path, kind: str, rows: int) -> Callable[[], object]:
    """Hourly cycles behind a history; the first cycle of the process is not among them."""
    lake = Lake(Path(tempfile.mkdtemp(dir=directory)) / "lake", kind, A_DAY, max(HISTORIES))
    lake.fill(rows // A_DAY, labels=True)
    options = f'settle_after = "1d"\nhorizon = "{HORIZON}d"\nevery = "1h"'
    model = watched.model(data.reference(directory), options=options, labels=watched.APART)
    config = watched.configure(lake.place.parent, lake.url, model)
    hour = A_DAY // 24

    def work() -> dict[str, object]:
        told: dict[str, list[float]] = {"bytes": [], "cpu": [], "rows": []}
        with watched.closed_at_end(watched.opened(config)) as app:
            for cycle in range(CYCLES + 2):
                as_of = data.START + (rows // A_DAY) * DAY + cycle * HOUR
                if cycle:
                    lake.add(rows + (cycle - 1) * hour, hour, labels=True)
                read, cpu = bytes_read(), time.process_time()
                report = run_single_cycle(app, "scored", as_of)
                assert report.error is None, report.error
                if cycle > 1:
                    told["bytes"].append(bytes_read() - read)
                    told["cpu"].append(time.process_time() - cpu)
                    told["rows"].append(report.rows_read)
        files = sum(1 for _ in lake.place.rglob("*.parquet"))
        return {name: statistics.median(values) for name, values in told.items()} | {"files": files}

    return work


def part(side: str, what: str, directory: str, *more: str) -> None:
    """One run of one side."""
    place = Path(directory)
    if side == "ours":
        tell(reading.ours(speed_lake(place).url, place, SPEED_ROWS, SPEED_DAYS, what))
    elif side == "script":
        tell(script(place, what))
    elif side == "first":
        tell(first_cycle(place, what))
    else:
        tell(later_cycles(place, what, int(more[0])))


def main() -> None:
    """Measure, print."""
    if sys.argv[1] == "--only":
        part(*sys.argv[2:])
        return
    directory, parts = Path(sys.argv[1]), sys.argv[2:] or ["speed", "memory", "bytes"]
    data.reference(directory)
    pairs = list(compared(directory)) if "speed" in parts else []
    figures: dict[str, object] = {}
    for kind, run in peaks(directory) if "memory" in parts else ():
        figures[f"first cycle of {kind}"] = {"peak": run.peak, "cpu": run.cpu, "wall": run.wall} | run.told
        print(kind, figures[f"first cycle of {kind}"], flush=True)
    for kind in KINDS if "bytes" in parts else ():
        for rows in HISTORIES:
            figures[f"a later cycle of {kind} after {rows}"] = child(
                __file__, "later", kind, directory, rows
            ).told
            print(kind, rows, figures[f"a later cycle of {kind} after {rows}"], flush=True)
    save("lake", pairs, **figures)


if __name__ == "__main__":
    main()
