"""What late labels cost: real hourly cycles on a real SQLite log, rows counted as they are read.

One pane of an hour, whose labels are spread evenly over the five or the 90 days after it: of 4,000 rows,
all of them labelled, half, a tenth; then of ROWS rows (5,000,000; 0 leaves it out), all labelled, over 90
days. It settles when 95 of 100 labels are there. Prints, as they come, how often the pane was counted
whole, and the rows that were read a label. Ends with 1 where these are more than 3, beyond the pane's first
count and one as it settles, where it was counted whole more often, or where a label lacks in the end. The
daily audit is off.
python benchmarks/slow_labels.py [ROWS]
"""

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from monitor.app.application import App, open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.pane import PaneHalf
from monitor.specs.protocols import CycleReport
from monitor.store.store_database import migrate_store

START = from_iso("2024-01-01")
DAYS, MONTHS = 5 * DAY, 90 * DAY
SLACK = 8 * DAY  # of cycles after the last label
MOST = 3.0  # rows read a label
MOST_COUNTS = 2  # whole: the first, and as it settles
STEPS = 9  # that are printed
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
settle_after = "{settling}h"

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
    "CREATE TABLE labels (id INTEGER, late INTEGER, reported_at INTEGER, PRIMARY KEY (id, reported_at))",
    NUMBERED + "INSERT INTO predictions SELECT i, :start + i * :hour / :rows, (i * 7919 % 1000) / 1e3 FROM n",
    # the log goes on: otherwise each cycle looks at the last rows of the pane again
    "INSERT INTO predictions VALUES (:rows, :start + 3 * :hour / 2, 0.5)",
    NUMBERED
    + "INSERT INTO labels SELECT i, i % 3 = 0, :start + :hour + (i * 7919 % :rows + 1) * :spread / :rows "
    "FROM n WHERE i % :one_in = 0",
    "CREATE INDEX by_time ON predictions (event_time)",
    "CREATE INDEX by_report ON labels (reported_at)",
)


@dataclass(frozen=True)
class Case:
    """A pane of so many rows, of which one in so many is labelled, within some time."""

    rows: int
    one_in: int
    spread: int

    @property
    def labels(self) -> int:
        """Labels in the end."""
        return len(range(0, self.rows, self.one_in))


@dataclass
class Read:
    """Whole counts of the pane, rows fetched from its first count on, labels that the pane holds."""

    case: Case
    counts: int = 1
    rows: int = 0
    labels: int = 0

    @property
    def a_label(self) -> float:
        """Rows read a label, but for one whole count."""
        again = min(self.counts, MOST_COUNTS) - 1
        return (self.rows - again * self.case.rows) / max(1, self.labels)

    @property
    def is_within(self) -> bool:
        """Whether all labels were found, for as many rows as may be."""
        found = self.labels == self.case.labels
        return found and self.a_label <= MOST and self.counts <= MOST_COUNTS


def main() -> int:
    """Run the cases, print, compare with the limits."""
    large = int(sys.argv[1]) if len(sys.argv) > 1 else LARGE
    cases = [Case(SMALL, one_in, spread) for spread, one_in in product((DAYS, MONTHS), (1, 2, 10))]
    cases += [Case(large, 1, MONTHS)] if large else []
    within = [_within(case) for case in cases]
    return int(not all(within))


def _within(case: Case) -> bool:
    days = case.spread // DAY
    print(f"{case.rows:,} rows in an hour, one in {case.one_in} labelled, within {days} days")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _fill(directory / "log.db", case)
        began = time.process_time()
        read = _lived(directory, case)
    verdict = "within" if read.is_within else "BEYOND"
    print(f"  {verdict} {MOST:.0f} rows a label; {time.process_time() - began:.0f} s of CPU", flush=True)
    return read.is_within


def _fill(file: Path, case: Case) -> None:
    values = {"rows": case.rows, "one_in": case.one_in, "start": START, "hour": HOUR, "spread": case.spread}
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in STATEMENTS:
            connection.execute(statement, values)


def _lived(directory: Path, case: Case) -> Read:
    """Cycles from the end of the pane on, until all labels are there; what they read."""
    config = CONFIG.replace("sqlite:///", f"sqlite:///{directory}/")
    config = config.replace("{settling}", str(case.spread * 95 // 100 // HOUR))
    (directory / "config.toml").write_text(config, encoding="utf-8")
    settings = settings_of(directory / "config.toml", {})
    migrate_store(settings.store.url)
    read, first, last = Read(case), START + HOUR, START + HOUR + case.spread + SLACK
    shown = set(range(first, last + 1, max(HOUR, case.spread // STEPS // HOUR * HOUR)))
    with open_application(settings, directory) as app:
        counted_first = _cycle(app, first)
        assert counted_first.label_rows_read >= case.rows
        # the pane of the row that the log goes on with is counted when its hour comes
        _cycle(app, first + HOUR)
        fetched = app.source_usage()["log"].rows
        for as_of in range(first + 2 * HOUR, last + 1, HOUR):
            report = _cycle(app, as_of)
            read.counts += report.label_rows_read >= case.rows
            read.rows = (
                app.source_usage()["log"].rows - fetched - (as_of - first) // HOUR
            )  # the log's last row, each time
            if as_of in shown or as_of == last:
                _progress(app, read, as_of)
    return read


def _cycle(app: App, as_of: int) -> CycleReport:
    report = run_single_cycle(app, "slow", as_of)
    if report.error is not None:
        raise SystemExit(report.error)
    return report


def _progress(app: App, read: Read, as_of: int) -> None:
    facts = app.store.panes.read_pane_facts("slow", START)
    (read.labels,) = (one.labelled for one in facts if one.start == START and one.part is PaneHalf.LABELS)
    day = (as_of - START) / DAY
    print(
        f"  day {day:4.1f}: {read.labels:9,} labels counted, {read.counts:3} whole counts of the pane, "
        f"{read.a_label:7.2f} rows read a label",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
