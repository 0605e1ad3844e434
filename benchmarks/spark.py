"""How fast does a Spark cluster count, with one worker and with two? Are its states those counted here?

Rows of 30 days with 12 features, in Parquet; workers of one core each, on this machine: what a second worker
gains here is bounded by the cores that are free. The states are compared with == with what the local engine
counts of the same rows. Usage: spark.py [ROWS], 2,000,000 without.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from spark_servers import cluster

from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf, PanePart
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.sources import open_source
from monitor.sources.sql_source import SqlSource
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec
from monitor.specs.model_table import ModelTable, Predictions

START, DAYS = from_iso("2026-01-01"), 30
AS_OF = START + 60 * DAY
NUMBERS, NAMES = tuple(f"x{at}" for at in range(10)), ("color", "shape")
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    numeric=NUMBERS,
    categorical=NAMES,
    labelled=True,
)
ROLES = {
    "id": "id",
    "event_time": "event_time",
    "logged_at": "logged_at",
    "score": "score",
    "prediction": "predicted",
    "label": "late",
    "reported_at": "reported_at",
    **{f"feature:{name}": name for name in (*NUMBERS, *NAMES)},
}


def write(directory: Path, rows: int) -> None:
    """A file of predictions and one of labels for each day."""
    for name in ("predictions", "labels"):
        (directory / name).mkdir()
    for day in range(DAYS):
        rng = np.random.default_rng(day)
        n = rows // DAYS
        ids = np.arange(n) + day * n
        event = np.sort(rng.integers(START + day * DAY, START + (day + 1) * DAY, n))
        score = rng.beta(2, 5, n)
        late = (rng.random(n) < score).astype(np.int64)
        predictions = {
            "id": ids,
            "event_time": pa.array(event, pa.timestamp("us", "UTC")),
            "logged_at": pa.array(event + rng.integers(0, 60_000_000, n), pa.timestamp("us", "UTC")),
            "score": score,
            "predicted": (score > 0.3).astype(np.int64),
            **{name: rng.normal(size=n) * 10.0**at for at, name in enumerate(NUMBERS)},
            **{name: rng.choice([f"{name}{at}" for at in range(20)], n) for name in NAMES},
        }
        pq.write_table(pa.table(predictions), directory / "predictions" / f"{day:02}.parquet")
        has = rng.random(n) < 0.9
        reported = event + rng.integers(HOUR, 3 * DAY, n)
        labels = {
            "id": ids[has],
            "late": late[has],
            "reported_at": pa.array(reported[has], pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(labels), directory / "labels" / f"{day:02}.parquet")


@dataclass(frozen=True)
class Files:
    """The local engine's rows: those of a day, read from its files."""

    directory: Path

    def records(self, _model: ModelSpec, ranges: Sequence[tuple[int, int]]) -> pa.Table:
        return self._role_named("predictions", ranges)

    def labelled(self, _model: ModelSpec, ranges: Sequence[tuple[int, int]]) -> pa.Table:
        rows = self._role_named("predictions", ranges)
        narrow = rows.select([name for name in rows.column_names if not name.startswith("feature:")])
        return narrow.join(self._role_named("labels", ranges), "id", join_type="left outer")

    def _role_named(self, name: str, ranges: Sequence[tuple[int, int]]) -> pa.Table:
        day = (ranges[0][0] - START) // DAY
        table = pq.read_table(self.directory / name / f"{day:02}.parquet")
        roles = {column: role for role, column in ROLES.items()}
        table = table.rename_columns([roles[column] for column in table.column_names])
        text = {name: pa.string() for name in ("id", "prediction", "label") if name in table.column_names}
        return table.cast(pa.schema([(one.name, text.get(one.name, one.type)) for one in table.schema]))


def counting() -> Counting:
    """Grids of a reference of 20,000 rows."""
    rng = np.random.default_rng(99)
    score = rng.beta(2, 5, 20_000)
    columns = {
        "score": score,
        "prediction": pa.array((score > 0.3).astype(int)).cast(pa.string()),
        "label": pa.array((rng.random(20_000) < score).astype(int)).cast(pa.string()),
        **{f"feature:{name}": rng.normal(size=20_000) * 10.0**at for at, name in enumerate(NUMBERS)},
        **{f"feature:{name}": pa.array([f"{name}{at % 20}" for at in range(20_000)]) for name in NAMES},
    }
    return reference_of(pa.table(columns), READING).counting


def model(directory: Path) -> ModelSpec:
    """The model on the files."""
    own = ("id", "event_time", "logged_at", "score", "prediction")
    theirs = ("id", "label", "reported_at")
    return ModelSpec(
        keys=ModelTable(
            name="generated",
            source="files",
            task="binary",
            predictions=Predictions(table="predictions", id="id", event_time="event_time"),
        ),
        reading=READING,
        predictions=Relation(
            table=str(directory / "predictions"), columns=tuple((role, ROLES[role]) for role in own)
        ),
        labels=Relation(
            table=str(directory / "labels"), columns=tuple((role, ROLES[role]) for role in theirs)
        ),
    )


def by_spark(directory: Path, workers: int) -> dict[str, object]:
    """Seconds that each part takes on a cluster of so many workers once it is warm, and its states."""
    grids, spec = counting(), model(directory)
    with tempfile.TemporaryDirectory() as logs, cluster(Path(logs), workers=workers) as running:
        source = open_source(SourceSpec(name="files", url=running.url, engine="spark"))
        result: dict[str, object] = {"workers": workers}
        sessions = [one.pid for one in running.workers]
        for part in PaneHalf:
            for days in (1, DAYS):  # the first one warms the cluster up
                panes = np.arange(START, START + days * DAY, HOUR)
                began, used = time.monotonic(), cpu_seconds(sessions)
                found = source.count_panes(
                    spec, part, [(START, START + days * DAY)], grids, panes=panes, as_of=AS_OF
                )
                seconds, used = time.monotonic() - began, cpu_seconds(sessions) - used
            result[part.value] = seconds
            result[f"{part.value} cpu"] = used
            result[f"{part.value} rows"] = found.rows
            result[f"{part.value} states"] = told(found.parts)
    return result


def cpu_seconds(sessions: Sequence[int]) -> float:
    """CPU seconds of all processes of some sessions: of workers, executors, and their Python."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) in sessions:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def by_local(directory: Path) -> dict[str, object]:
    """The same here, a day at a time."""
    grids, spec = counting(), model(directory)
    result: dict[str, object] = {"workers": 0}
    for part in PaneHalf:
        began, used, rows, parts = time.monotonic(), time.process_time(), 0, list[PanePart]()
        for day in range(DAYS):
            span = (START + day * DAY, START + (day + 1) * DAY)
            found = SqlSource.count_panes(
                Files(directory), spec, part, [span], grids, panes=np.arange(*span, HOUR), as_of=AS_OF
            )
            rows, parts = rows + found.rows, [*parts, *found.parts]
        result[part.value] = time.monotonic() - began
        result[f"{part.value} cpu"] = time.process_time() - used
        result[f"{part.value} rows"] = rows
        result[f"{part.value} states"] = told(parts)
    return result


def told(parts: Sequence[PanePart]) -> list[object]:
    """All that parts hold, so that two processes can compare it."""
    from hashlib import sha256

    digest = sha256()
    for part in parts:
        facts = (part.start, part.rows, part.newest, part.records, part.labelled, part.checksum)
        digest.update(repr(facts).encode())
        for stratum, counters in sorted(part.strata.items(), key=str):
            digest.update(repr(stratum).encode() + counters.index.tobytes() + counters.value.tobytes())
    return [len(parts), digest.hexdigest()]


def main() -> None:
    """Write the rows, count them here and on clusters, print the figures."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), rows)
        results = []
        for workers in (0, 1, 2):  # a process may know one cluster
            child = [sys.executable, __file__, "--child", name, str(workers)]
            results.append(json.loads(subprocess.check_output(child, text=True).splitlines()[-1]))
            shown = {key: value for key, value in results[-1].items() if not key.endswith("states")}
            print(json.dumps(shown), flush=True)
    for part in PaneHalf:
        assert results[0][f"{part.value} states"] == results[1][f"{part.value} states"]
        assert results[0][f"{part.value} states"] == results[2][f"{part.value} states"]
        speeds = [one[f"{part.value} rows"] / one[part.value] for one in results]
        costs = [one[f"{part.value} rows"] / one[f"{part.value} cpu"] for one in results]
        print(
            f"{part.value}: rows a CPU second here {costs[0]:,.0f}, one worker {costs[1]:,.0f}, "
            f"two workers {costs[2]:,.0f}"
        )
        print(
            f"{part.value}: rows a second here {speeds[0]:,.0f}, one worker {speeds[1]:,.0f}, "
            f"two workers {speeds[2]:,.0f} ({speeds[2] / speeds[1]:.2f} times one)"
        )
    print("states equal with ==")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        at = Path(sys.argv[2])
        print(json.dumps(by_spark(at, int(sys.argv[3])) if int(sys.argv[3]) else by_local(at)))
    else:
        main()
