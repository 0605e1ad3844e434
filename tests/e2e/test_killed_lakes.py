"""A monitor that is killed at random beside a writer of its tables counts what stands at the end."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_rewritten_lakes import CONFIG, DAYS, NOW, cycles, rows_of, table_of

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
    at = max(int(sys.argv[2]), app.store.states.read_state("m").as_of or 0)
    while True:
        if run_single_cycle(app, "m", at).error is None:
            print(at, flush=True)
            at += MINUTE
"""


class Writer(threading.Thread):
    """Commits rows, corrections, deletions and compactions until it has made enough of them."""

    def __init__(self, place: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.place, self.random = place, random.Random(seed)  # noqa: S311
        self.commits = 0

    def run(self) -> None:
        while self.commits < COMMITS:
            self.random.choice(
                (self.append, self.append, self.append, self.merge, self.delete, self.compact)
            )()
            self.commits += 1

    def append(self) -> None:
        """Some rows more of a day, and their outcomes: many are late."""
        day = self.random.randrange(1, DAYS)
        for name, table in rows_of(range(day, day + 1)).items():
            ids = pc.binary_join_element_wise(table["id"], f"more {self.commits}", "-")
            rows = table.set_column(0, "id", ids).slice(self.random.randrange(40), 5)
            deltalake.write_deltalake(str(self.place / name), rows, mode="append")

    def merge(self) -> None:
        """Outcomes that were wrong, in place."""
        day = self.random.randrange(1, DAYS)
        wrong = rows_of(range(day, day + 1))["outcomes"].slice(self.random.randrange(40), 3)
        right = wrong.set_column(1, "label", pa.array([self.commits % 2] * 3, pa.int64()))
        merge = table_of(self.place, "outcomes").merge(
            right, "s.id = t.id", source_alias="s", target_alias="t"
        )
        merge.when_matched_update_all().execute()

    def delete(self) -> None:
        """A score of the middle of the log."""
        ids = rows_of(range(3, 6))["scores"]["id"].to_pylist()
        table_of(self.place, "scores").delete(f"id = '{self.random.choice(ids)}'")

    def compact(self) -> None:
        """Files laid out anew."""
        table_of(self.place, self.random.choice(("scores", "outcomes"))).optimize.compact()


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_killed_beside_a_writer_counts_what_stands_at_the_end(tmp_path: Path, seed: int) -> None:
    place, store, chance = tmp_path / "lake", tmp_path / "kept.db", random.Random(seed)  # noqa: S311
    for name, table in rows_of(range(DAYS)).items():
        deltalake.write_deltalake(str(place / name), table)
    config = store.with_suffix(".toml")
    # What a killed process holds ends soon.
    text = f'[daemon]\nlease_ttl = "{LEASE}s"\n{CONFIG.format(store=store, url=place.as_uri())}'
    config.write_text(text, encoding="utf-8")
    migrate_store(f"sqlite:///{store}")
    writer = Writer(place, seed)
    writer.start()
    kills, done = 0, 0
    while kills < KILLS or writer.is_alive():
        command = [sys.executable, "-c", CYCLES, str(config), str(NOW)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            time.sleep(chance.uniform(2.0, 6.0))
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            done += len(process.stdout.readlines())
        kills += 1
    writer.join()
    time.sleep(LEASE + 1)
    assert writer.commits == COMMITS

    at = NOW + DAY  # behind whatever cycle came last
    kept = cycles(place, store, at)

    assert kept == cycles(place, tmp_path / "scratch.db", at)
    assert len(kept) > DAYS
    assert done > KILLS, "cycles came to their end beside the writer"
