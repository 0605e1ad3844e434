"""What labels cost that take 90 days: real hourly cycles on a real SQLite log, rows counted as they are read.

One pane of an hour, whose labels are spread evenly over the 90 days after it: of 4,000 rows, all of them
labelled, half, a tenth; then of ROWS rows (5,000,000; 0 leaves it out), all labelled. Prints, every ten
days of the log, how often the pane was counted, and how many rows were read again for a new label. Ends
with 1 where either is above 200 although all rows are labelled. The daily audit, which is no matter of
waiting, is off.
python benchmarks/slow_labels.py [ROWS]
"""

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from monitor.app.running import cycle_once
from monitor.app.wiring import App, opened
from monitor.config.load import settings_of
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.pane import Part
from monitor.store.engine import migrate

START = from_iso("2024-01-01")
SPREAD = 90 * DAY
SLACK = 8 * DAY  # of cycles after the last label
MOST = 200
SMALL = 4_000
LARGE = 5_000_000

CONFIG = """
[store]
url = "sqlite:///monitor.db"

[sources.log]
url = "sqlite:///log.db"
audit = "3650d"

[[models]]
name = "slow"
source = "log"
task = "binary"
windows = ["1d"]
horizon = "180d"

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
event_time_unit = "us"
logged_at = "event_time"
score = "score"
threshold = 0.5

[models.labels]
table = "labels"
id = "id"
label = "late"
reported_at = "reported_at"
"""
NUMBERED = "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :rows) "
STATEMENTS = (
    "CREATE TABLE predictions (id INTEGER PRIMARY KEY, event_time INTEGER, score REAL)",
    "CREATE TABLE labels (id INTEGER, late INTEGER, reported_at INTEGER)",
    NUMBERED + "INSERT INTO predictions SELECT i, :start + i * :hour / :rows, (i * 7919 % 1000) / 1e3 FROM n",
    # the log goes on: otherwise each cycle looks at its last rows again
    "INSERT INTO predictions VALUES (:rows, :start + 3 * :hour / 2, 0.5)",
    NUMBERED
    + "INSERT INTO labels SELECT i, i % 3 = 0, :start + :hour + (i * 7919 % :rows + 1) * :spread / :rows "
    "FROM n WHERE i % :one_in = 0",
    "CREATE INDEX by_time ON predictions (event_time)",
    "CREATE INDEX by_id ON labels (id)",
    "CREATE INDEX by_report ON labels (reported_at)",
)


@dataclass
class Read:
    """Counts of the pane, rows read by them, labels that they have found."""

    rows_of_pane: int
    counts: int = 0
    rows: int = 0
    labels: int = 0

    @property
    def again(self) -> float:
        """Rows read again for a new label; the first count reads them for the first time."""
        return (self.rows - self.rows_of_pane) / max(1, self.labels)


def main() -> int:
    """Run the cases, print, compare with the limits."""
    large = int(sys.argv[1]) if len(sys.argv) > 1 else LARGE
    cases = [(SMALL, 1), (SMALL, 2), (SMALL, 10), *([(large, 1)] if large else [])]
    within = {case: _within(*case) for case in cases}
    return int(not all(kept for (_, one_in), kept in within.items() if one_in == 1))


def _within(rows: int, one_in: int) -> bool:
    print(f"{rows:,} rows in an hour, one in {one_in} labelled")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _fill(directory / "log.db", rows, one_in)
        began = time.process_time()
        read, fetched = _lived(directory, rows)
    within = read.counts <= MOST and read.again <= MOST and read.labels == len(range(0, rows, one_in))
    print(
        f"  {'within' if within else 'BEYOND'} {MOST}; {time.process_time() - began:.0f} s of CPU; "
        f"{fetched:,} rows fetched in all, with the search for changes",
        flush=True,
    )
    return within


def _fill(file: Path, rows: int, one_in: int) -> None:
    values = {"rows": rows, "one_in": one_in, "start": START, "hour": HOUR, "spread": SPREAD}
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in STATEMENTS:
            connection.execute(statement, values)


def _lived(directory: Path, rows: int) -> tuple[Read, int]:
    """Cycles from the end of the pane on, until all labels are there; what they read, rows fetched in all."""
    config = CONFIG.replace("sqlite:///", f"sqlite:///{directory}/")
    (directory / "config.toml").write_text(config, encoding="utf-8")
    settings = settings_of(directory / "config.toml", {})
    migrate(settings.store_url)
    read, first = Read(rows), START + HOUR
    with opened(settings, directory) as app:
        for as_of in range(first, first + SPREAD + SLACK + 1, HOUR):
            report = cycle_once(app, "slow", as_of)
            if report.error is not None:
                raise SystemExit(report.error)
            read.rows += report.label_rows_read
            read.counts += report.label_rows_read >= rows
            if (as_of - first) % (10 * DAY) == 0:
                _progress(app, read, as_of)
        _progress(app, read, as_of)
        return read, app.usage()["log"][1]


def _progress(app: App, read: Read, as_of: int) -> None:
    facts = app.store.facts("slow", START)
    (read.labels,) = (one.labelled for one in facts if one.start == START and one.part is Part.LABELS)
    day = (as_of - START) // DAY
    print(
        f"  day {day:2}: {read.labels:9,} labels counted, {read.counts:3} counts of the pane, "
        f"{read.again:7.1f} rows read again for a new label",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
