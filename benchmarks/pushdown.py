"""What do column stores take to count their own rows, beside reading them here? CPU seconds of this process,
in which DuckDB and ClickHouse run, by rows and features; the counts are compared with ==.

Usage: pushdown.py [ROWS ...], 100,000 without. Needs monitor[duckdb,chdb].
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.sources import open_source
from monitor.specs.model_spec import ModelSpec, Relation, SourceSpec
from monitor.specs.model_table import ModelTable, Predictions

START, DAYS = from_iso("2026-01-01"), 8
READING = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    labelled=True,
)
ROLES = tuple((name, name) for name in ("id", "event_time", "logged_at", "score"))


def log(rows: int, features: int) -> pa.Table:
    rng = np.random.default_rng(0)
    event = np.sort(rng.integers(START, START + DAYS * DAY, rows))
    columns = {
        "id": np.arange(rows),
        "event_time": pa.array(event, pa.timestamp("us", "UTC")),
        "logged_at": pa.array(event + rng.integers(0, 60_000_000, rows), pa.timestamp("us", "UTC")),
        "score": rng.beta(2, 5, rows),
    }
    return pa.table(columns | {f"x{at:02}": rng.normal(size=rows) for at in range(features)})


def load(url: str, file: Path) -> None:
    made = f"CREATE TABLE predictions AS SELECT * FROM '{file}'"
    if url.startswith("chdb"):  # whose keys are never NULL
        made = "CREATE TABLE predictions ENGINE = MergeTree ORDER BY event_time AS SELECT * FROM "
        made += f"file('{file}')"
        made += " SETTINGS schema_inference_make_columns_nullable = 0"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(made)
    engine.dispose()


def measure(url: str, rows: int, features: int) -> None:
    names = tuple(f"x{at:02}" for at in range(features))
    reading = replace(READING, numeric=names)
    sample = log(20_000, features)
    named = {"score": sample["score"], "label": pa.array(["0", "1"] * 10_000)}
    counting = reference_of(pa.table(named | {f"feature:{x}": sample[x] for x in names}), reading).counting
    relation = Relation(table="predictions", columns=ROLES)
    columns = Predictions(table="predictions", id="id", event_time="event_time")
    keys = ModelTable(name="m", source="s", task="binary", predictions=columns)
    model = ModelSpec(keys=keys, reading=reading, predictions=relation)
    for pane, width in (("hour", HOUR), ("day", DAY)):
        wide = replace(counting, reading=replace(reading, pane=width))
        found = {}
        for engine in ("local", "sql"):
            source = open_source(SourceSpec(name="s", url=url, engine=engine))
            panes = np.arange(START, START + DAYS * DAY, width)
            for _ in range(2):  # the first time reads the file
                began = time.process_time()
                found[engine] = source.count_panes(
                    replace(model, reading=wide.reading),
                    PaneHalf.RECORDS,
                    [(START, START + DAYS * DAY)],
                    wide,
                    panes=panes,
                    as_of=START + 30 * DAY,
                )
                took = time.process_time() - began
            source.close()
            kind = url.partition(":")[0]
            print(f"| {kind} | {rows:,} | {features} | {pane} | {engine} | {took:.2f} |", flush=True)
        assert found["local"].parts == found["sql"].parts


def main() -> None:
    print("| database | rows | features | pane | engine | CPU s |\n|---|--:|--:|---|---|--:|")
    for rows in map(int, sys.argv[1:] or ["100000"]):
        for features in (5, 25):
            with tempfile.TemporaryDirectory() as directory:
                file = Path(directory) / "log.parquet"
                pq.write_table(log(rows, features), file)
                for kind in ("duckdb", "chdb"):
                    url = f"{kind}:///{Path(directory) / kind}"
                    load(url, file)
                    measure(url, rows, features)


if __name__ == "__main__":
    main()
