"""`show --all` on models whose versions come one after the other."""

from pathlib import Path

import pytest
from serving import Bench, Monitor, bench_in, create_tables, model, predictions

from monitor.core.clock import DAY, HOUR, from_iso, to_iso

START, END = from_iso("2024-03-01"), from_iso("2024-03-04")
OPTIONS = 'every = "1h"\nwindows = ["1d"]\nsettle_after = "1d"\nresamples = 20\n'
LATE = model(options=OPTIONS, predictions='version = "version"')
NEW = 'v2, late", segment'  # a name may look like words of a heading


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Three days of a log; on the last one another version takes over, then a third."""
    bench = bench_in(tmp_path)
    create_tables(bench.database, version="TEXT")
    rows = predictions(300, START, END)
    for row in rows:
        newer = row["event_time"] >= to_iso(END - 20 * HOUR)
        row["version"] = "v1" if not newer else NEW if row["event_time"] < to_iso(END - 17 * HOUR) else "v0"
    bench.database.insert("predictions", rows)
    bench.configure(LATE)
    return bench


def test_all_rows_are_shown_in_every_cycle_after_a_new_version(monitor: Monitor) -> None:
    shown = []
    for tick in range(END - DAY, END - 12 * HOUR, HOUR):
        assert monitor("cycle", "--as-of", to_iso(tick)).exit_code == 0
        shown += [monitor("show", "--all"), monitor("show"), monitor("show", "--explain", "--all")]

    assert [done.exception for done in shown] == [None] * len(shown)
    assert f"the log itself, version {NEW}, as of 2024-03-03T11:00:00Z" in shown[-3].stdout


def test_each_heading_stands_once(monitor: Monitor) -> None:
    for tick in range(END - DAY, END - 12 * HOUR, HOUR):
        monitor("cycle", "--as-of", to_iso(tick))

    headings = [line for line in monitor("show", "--all").stdout.splitlines() if line.startswith("late, ")]

    assert len(headings) == len({*headings}) > 3
