"""From the database to a report of each day: ours by hourly states, and the script that a user would write.

Ours reads the log once for records and once for labels, counts both by the hour, merges hours to days and
measures these: more measures than the script, and their intervals. The script reads all by `pandas.read_sql`
and computes the report of each day with SciPy and scikit-learn. Each run is a process of its own; starting
it, imports and the reference are not counted. Peaks are of whole processes.
python benchmarks/reading.py DIRECTORY [ROWS [DAYS]]
"""

import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import data
import numpy as np
import psycopg
import watched
from timing import Pair, child, save, sizes, tell

from monitor.core.clock import DAY, HOUR
from monitor.measures.evaluate import (
    make_expected_cells,
    measure_performance,
    measure_quality,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.pane_counting import chunk_starts
from monitor.records.pane import PaneHalf, PanePart
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE

BARS = {"SQLite": 4.0, "PostgreSQL": 5.0}


def counted(monitored: CycleModel, days: int, rows: int) -> dict[PaneHalf, list[PanePart]]:
    """Both parts of all hours, read as a backfill reads them."""
    found: dict[PaneHalf, list[PanePart]] = {part: [] for part in PaneHalf}
    end = data.START + days * DAY
    starts = list(range(data.START, end, HOUR))
    for chunk in chunk_starts(starts, dict.fromkeys(starts, rows // len(starts))):
        panes = np.asarray(chunk)
        ranges = [(chunk[0], chunk[-1] + HOUR)]
        for part in PaneHalf:
            found[part] += monitored.source.count_panes(
                monitored.spec, part, ranges, monitored.counting, panes=panes, as_of=end
            ).parts
    return found


def merged(parts: list[PanePart], start: int) -> Counters:
    """A day of hours."""
    day = [part.strata[WHOLE] for part in parts if start <= part.start < start + DAY and part.strata]
    return Counters.merge_all(day[0].layout, day)


def measured(
    monitored: CycleModel, found: dict[PaneHalf, list[PanePart]], days: int, options: MeasureOptions
) -> Iterator[int]:
    """How many measurements each day has."""
    reference, counting = monitored.reference, monitored.counting
    assert reference is not None
    expected = make_expected_cells(counting, reference.records)
    for at in range(days):
        records, labels = (merged(found[part], data.START + at * DAY) for part in PaneHalf)
        results = [*measure_shifts(counting, expected, records, options), *measure_quality(counting, records)]
        yield len(results) + len(measure_performance(counting, labels, options))


def ours(url: str, directory: Path, rows: int, days: int, what: str) -> Callable[[], object]:
    """Work of ours: "count" or "report"."""
    place = Path(tempfile.mkdtemp(dir=directory))
    app = watched.opened(watched.configure(place, url, watched.model(data.reference(directory))))
    monitored = app.find_cycle_model("scored")

    def work() -> dict[str, object]:
        found = counted(monitored, days, rows)
        states = [counters for part in found[PaneHalf.RECORDS] for counters in part.strata.values()]
        told: dict[str, object] = {"records": sum(part.records for part in found[PaneHalf.RECORDS])}
        if what == "count":
            return told | {"bytes_of_a_pane": 16 * sum(len(one.index) for one in states) / len(states)}
        return told | {"measurements_a_day": list(measured(monitored, found, days, MeasureOptions()))[-1]}

    return work


def script(url: str, directory: Path, what: str) -> Callable[[], object]:
    """Work of the script: "read" or "report"."""
    import pandas as pd
    import script as users

    known = pd.read_parquet(data.reference(directory))

    def work() -> dict[str, object]:
        frame = users.read(url)
        found = 0
        for current in users.by_day(frame).values() if what == "report" else ():
            columns = users.drift(known, current, data.NUMERIC, data.CATEGORICAL)
            found = sum(map(len, columns.values())) + len(users.performance(current))
        return {"records": len(frame), "measurements_a_day": found}

    return work


def server_cpu(url: str) -> float:
    """CPU seconds of a server's processes that have ended; 0 where the system does not tell."""
    if not Path("/proc/self/stat").exists():
        return 0.0
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        found = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert found is not None
        parent = _stat(found[0])[1]
    ticks = sum(int(each) for each in _stat(int(parent))[13:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    """State, parent, … of a process: fields from the third on."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def compared(
    name: str, url: str, directory: Path, rows: int, days: int, server: Callable[[], float]
) -> Iterator[Pair]:
    """Counting against reading and reporting; report against report."""
    run = functools.partial(child, __file__, server=server)
    size = (directory, rows, days, url)
    for ours_does, pairs, bar in (("count", 3, BARS[name]), ("report", 1, None)):
        runs = [(run("ours", ours_does, *size), run("script", "report", *size)) for _ in range(pairs)]
        assert all(a.told["records"] == b.told["records"] == rows for a, b in runs)
        yield Pair(f"{name}: read and {ours_does}", "read_sql and report", runs, bar)
    runs = [(run("ours", "count", *size), run("script", "read", *size))]
    yield Pair(f"{name}: read and count", "read_sql alone", runs)


def part(side: str, what: str, directory: str, rows: str, days: str, url: str) -> None:
    """One run of one side."""
    place = Path(directory)
    tell(ours(url, place, int(rows), int(days), what) if side == "ours" else script(url, place, what))


def main() -> None:
    """Measure, print."""
    if sys.argv[1] == "--only":
        part(*sys.argv[2:])
        return
    directory = Path(sys.argv[1])
    rows, days = sizes(sys.argv[2:], data.ROWS, data.DAYS)
    data.reference(directory)
    file = data.sqlite(directory, rows, days)
    pairs = list(compared("SQLite", f"sqlite:///{file}", directory, rows, days, lambda: 0.0))
    with data.postgres(directory, rows, days) as url:
        pairs += compared("PostgreSQL", url, directory, rows, days, functools.partial(server_cpu, url))
    save("reading", pairs, rows=rows, days=days)


if __name__ == "__main__":
    main()
