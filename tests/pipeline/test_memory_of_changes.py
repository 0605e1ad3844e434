"""What changed is found, and the log audited, in memory that does not grow with the log."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from serving import bench_in, model

from monitor.core.clock import from_iso
from monitor.store.store_database import migrate_store

START, DAYS = from_iso("2024-03-01"), 30
SMALL, LARGE = 30_000, 300_000
OPTIONS = 'every = "1d"\nwindows = ["1d"]\nhorizon = "40d"\nsettle_after = "1d"'
TABLES = """
CREATE TABLE predictions (id INTEGER PRIMARY KEY, event_time TEXT, logged_at TEXT, score REAL, pred INTEGER);
CREATE TABLE labels (id INTEGER PRIMARY KEY, late INTEGER, reported_at TEXT);
"""
ROWS = """
WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < {rows} - 1),
t(at, second) AS (SELECT at, {start} + CAST(at * {step} AS INTEGER) FROM n)
INSERT INTO predictions SELECT
    at, strftime('%Y-%m-%dT%H:%M:%SZ', second, 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%SZ', second + 60, 'unixepoch'), 0.5, 1
FROM t;
INSERT INTO labels SELECT id, 1, logged_at FROM predictions;
"""
READ = """
import re, sys
from pathlib import Path

from monitor.app.application import open_application
from monitor.config.config_loading import settings_of
from monitor.pipeline.changes.dirty_panes import find_changes
from monitor.pipeline.audit import audit_log

path, as_of = Path(sys.argv[1]), int(sys.argv[2])
with open_application(settings_of(path, {}), path.parent) as app:
    (model, caches), state = app.prepare_model("late"), app.store.states.read_state("late")
    changes = find_changes(model, caches.panes, state, as_of)
    audit_log(model, caches.panes, changes, (), as_of)
    held = Path("/proc/self/status").read_text()  # getrusage tells what the parent held, if that is more
    print(changes.read, int(re.search(r"VmHWM:\\s+(\\d+)", held)[1]) // 1024)
"""


def read(directory: Path, rows: int) -> tuple[int, int]:
    """Rows that a first cycle and an audit of such a log look at, and the MiB that they take."""
    directory.mkdir()
    with sqlite3.connect(directory / "log.db") as log:
        log.executescript("PRAGMA synchronous = off; PRAGMA journal_mode = off;" + TABLES)
        log.executescript(ROWS.format(rows=rows, start=START // 1_000_000, step=DAYS * 86_400 / rows))
    log.close()
    bench = bench_in(directory)
    text = model(options=OPTIONS)
    bench.configure(text[: text.index("[models.reference]")])
    migrate_store(bench.store_url)
    as_of = START + DAYS * 86_400_000_000
    command = [sys.executable, "-c", READ, str(directory / "config.toml"), str(as_of)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    changed, peak = map(int, done.stdout.split())
    return changed, peak


@pytest.mark.long
def test_a_log_of_ten_times_the_rows_takes_no_more_memory(tmp_path: Path) -> None:
    few, low = read(tmp_path / "small", SMALL)
    many, high = read(tmp_path / "large", LARGE)

    assert (few, many) == (2 * SMALL, 2 * LARGE)
    assert high < 1.1 * low
