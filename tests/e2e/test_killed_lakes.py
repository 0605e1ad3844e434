"""A monitor that is killed at random beside a writer of its tables counts what stands at the end."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_rewritten_lakes import CONFIG, DAYS, NOW, Tables, cycles, rows_of, table_of

from monitor.core.clock import DAY
from monitor.store.store_database import migrate_store

KILLS, COMMITS, LEASE = 30, 300, 2
# Cycles a minute apart, from a moment on; a cycle that a commit disturbed is tried again.
CYCLES = """
import sys
from pathlib import Path
from monitor.app.application import open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import MINUTE
config = Path(sys.argv[1])
with open_application(settings_of(config, {}), config.parent) as app:
    print("opened", flush=True)
    at = max(int(sys.argv[2]), app.store.states.read_state("m").as_of or 0)
    while True:
        if run_single_cycle(app, "m", at).error is None:
            print(at, flush=True)
            at += MINUTE
"""


class Lake(Protocol):
    """Two tables that a writer commits to."""

    keys: str  # of the source, behind its URL

    def append(self, tables: Tables) -> None: ...
    def merge(self, right: pa.Table) -> None:
        """Outcomes in place of those of the same ids."""
        ...

    def delete(self, name: str) -> None:
        """A score by its id."""
        ...

    def overwrite(self, day: int, scores: pa.Table) -> None:
        """Scores of a day in place of all that were there."""
        ...

    def compact(self, table: str) -> None:
        """Files laid out anew."""
        ...

    def expire(self, table: str) -> None:
        """Take away what only earlier versions need."""
        ...


class DeltaLake:
    """Tables of Delta."""

    keys = ""

    def __init__(self, place: Path) -> None:
        self.place = place

    def append(self, tables: Tables) -> None:
        for name, rows in tables.items():
            deltalake.write_deltalake(str(self.place / name), rows, mode="append")

    def merge(self, right: pa.Table) -> None:
        merge = table_of(self.place, "outcomes").merge(
            right, "s.id = t.id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().execute()

    def delete(self, name: str) -> None:
        table_of(self.place, "scores").delete(f"id = '{name}'")

    def overwrite(self, day: int, scores: pa.Table) -> None:
        first, end = (f"'2026-01-{one:02}T00:00:00Z'" for one in (day + 1, day + 2))
        between = f"event_time >= {first} AND event_time < {end}"
        path = str(self.place / "scores")
        deltalake.write_deltalake(path, scores, mode="overwrite", predicate=between)

    def compact(self, table: str) -> None:
        table_of(self.place, table).optimize.compact()

    def expire(self, table: str) -> None:
        table_of(self.place, table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


class IcebergLake:
    """Tables of Iceberg, by a catalogue in SQLite."""

    def __init__(self, place: Path) -> None:
        import test_rewritten_iceberg  # skips where its reader is missing

        self.place, self.written = place, test_rewritten_iceberg
        self.keys = f'"\ncatalog = "sqlite:///{place}/catalog.db?namespace=ml'

    def append(self, tables: Tables) -> None:
        self.written.append(self.place, tables)

    def merge(self, right: pa.Table) -> None:
        self._table("outcomes").upsert(right, join_cols=["id"])

    def delete(self, name: str) -> None:
        self._table("scores").delete(f"id == '{name}'")

    def overwrite(self, day: int, scores: pa.Table) -> None:
        first, end = (f"'2026-01-{one:02}T00:00:00+00:00'" for one in (day + 1, day + 2))
        between = f"event_time >= {first} and event_time < {end}"
        self._table("scores").overwrite(scores, between)

    def compact(self, table: str) -> None:
        self.written.compact(self.place, table)

    def expire(self, table: str) -> None:
        self.written.expire(self.place, table)

    def _table(self, name: str) -> Any:
        return self.written.table_of(self.place, name)


class Writer(threading.Thread):
    """Commits rows, corrections, deletions and compactions until it has made enough of them."""

    def __init__(self, lake: Lake, seed: int) -> None:
        super().__init__(daemon=True)
        self.lake, self.random = lake, random.Random(seed)  # noqa: S311
        self.commits = 0

    def run(self) -> None:
        kinds = (
            *(self.append,) * 6,
            *(self.merge,) * 2,
            *(self.delete,) * 2,
            *(self.compact,) * 2,
            self.overwrite,
            self.expire,
        )
        while self.commits < COMMITS:
            self.random.choice(kinds)()
            self.commits += 1

    def append(self) -> None:
        """Some rows more of a day, and their outcomes: many are late."""
        day = self.random.randrange(1, DAYS)
        more = {}
        for name, table in rows_of(range(day, day + 1)).items():
            ids = pc.binary_join_element_wise(table["id"], f"more {self.commits}", "-")
            more[name] = table.set_column(0, "id", ids).slice(self.random.randrange(40), 5)
        self.lake.append(more)

    def merge(self) -> None:
        """Outcomes that were wrong, in place."""
        day = self.random.randrange(1, DAYS)
        wrong = rows_of(range(day, day + 1))["outcomes"].slice(self.random.randrange(40), 3)
        self.lake.merge(wrong.set_column(1, "label", pa.array([self.commits % 2] * 3, pa.int64())))

    def delete(self) -> None:
        """A score of the middle of the log."""
        self.lake.delete(self.random.choice(rows_of(range(3, 6))["scores"]["id"].to_pylist()))

    def overwrite(self) -> None:
        """Other scores of a day in place of all that were there."""
        day = self.random.randrange(1, DAYS)
        scores = rows_of(range(day, day + 1))["scores"]
        self.lake.overwrite(day, scores.set_column(3, "score", pc.subtract(1.0, scores["score"])))

    def compact(self) -> None:
        """Files laid out anew."""
        self.lake.compact(self.random.choice(("scores", "outcomes")))

    def expire(self) -> None:
        """What was there before can be read no more."""
        self.lake.expire(self.random.choice(("scores", "outcomes")))


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", [DeltaLake, pytest.param(IcebergLake, marks=pytest.mark.lakes)])
def test_what_was_killed_beside_a_writer_counts_what_stands_at_the_end(
    tmp_path: Path, kind: Callable[[Path], Lake], seed: int
) -> None:
    place, store, chance = tmp_path / "lake", tmp_path / "kept.db", random.Random(seed)  # noqa: S311
    lake = kind(place)
    lake.append(rows_of(range(DAYS)))
    config = store.with_suffix(".toml")
    # What a killed process holds ends soon.
    text = f'[daemon]\nlease_ttl = "{LEASE}s"\n{CONFIG.format(store=store, url=place.as_uri() + lake.keys)}'
    config.write_text(text, encoding="utf-8")
    migrate_store(f"sqlite:///{store}")
    writer = Writer(lake, seed)
    writer.start()
    kills, done = 0, 0
    while kills < KILLS or writer.is_alive():
        command = [sys.executable, "-c", CYCLES, str(config), str(NOW)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"opened\n"
            time.sleep(chance.uniform(0.2, 4.0))
            process.send_signal(signal.SIGKILL)
            done += len(process.stdout.readlines())
        kills += 1
    writer.join()
    time.sleep(LEASE + 1)
    assert writer.commits == COMMITS

    at = NOW + DAY  # behind whatever cycle came last
    kept = cycles(place, store, at, more=lake.keys)

    assert kept == cycles(place, tmp_path / "scratch.db", at, more=lake.keys)
    assert len(kept) > DAYS
    assert done, "cycles came to their end beside the writer"
