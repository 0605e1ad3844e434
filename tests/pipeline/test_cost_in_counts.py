"""What an hourly cycle costs, in counts: rows read, queries issued, rows and bytes written. No timings."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import Bench, model, predictions, sqlite_bench

from monitor.app.application import App
from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.records.pane import PaneHalf
from monitor.sources.source_meter import MeteredSession
from monitor.specs.protocols import CycleReport

AN_HOUR = 20
AHEAD = 2  # rows of the next five minutes
END = from_iso("2024-03-01T12:00:00Z")
OPTIONS = """
windows = ["1d"]
horizon = "30d"
settle_after = "2h"
resamples = 20
default_alerts = false
"""


@dataclass
class Costs:
    """What was asked of the source; what was written into each table: rows, and bytes of panes."""

    queries: int = 0
    written: Counter[str] = field(default_factory=Counter)
    pane_bytes: int = 0


@contextmanager
def counted_costs(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Costs]:
    costs = Costs()

    def counting(name: str) -> None:
        original = getattr(MeteredSession, name)

        def noted(*arguments: Any) -> Any:
            costs.queries += 1
            return original(*arguments)

        monkeypatch.setattr(MeteredSession, name, noted)

    def written(_connection: Any, _cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if statement.startswith("INSERT"):
            rows = parameters if rest[-1] else [parameters]
            table = statement.split()[2]
            costs.written[table] += len(rows)
            values = (value for row in rows for value in row if table in ("panes", "differences"))
            costs.pane_bytes += sum(len(value) for value in values if isinstance(value, bytes | memoryview))

    for name in ("read_table", "read_batches", "read_rows", "describe_query"):
        counting(name)
    sa.event.listen(app.store.engine, "before_cursor_execute", written)
    yield costs
    sa.event.remove(app.store.engine, "before_cursor_execute", written)
    monkeypatch.undo()


def log_until(directory: Path, days: int) -> Bench:
    """A log that ends two hours after END, of which the last days are the same whatever is before them."""
    total = 8 * 24 * AN_HOUR
    drawn = predictions(total, END + 2 * HOUR - 8 * DAY, END + 2 * HOUR)
    rows = [row | {"score": round(row["score"])} for row in drawn]  # labels are no matter of chance
    kept = rows[total - (24 * days + 2) * AN_HOUR :]
    return sqlite_bench(directory, kept, model(options=OPTIONS), labelled=END + 2 * HOUR)


def second_cycle(
    directory: Path, days: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[CycleReport, Costs, dict[str, list[int]]]:
    """An hour after the first cycle, in the same process: report, costs, the panes that were counted."""
    with log_until(directory, days).app() as app:
        assert run_single_cycle(app, "late", END).error is None
        with counted_costs(app, monkeypatch) as costs:
            report = run_single_cycle(app, "late", END + HOUR)
        facts = app.store.panes.read_pane_facts("late", 0)
    assert report.error is None
    found: dict[str, list[int]] = {
        part: [one.start for one in facts if one.part is part and one.counted_as_of == END + HOUR]
        for part in PaneHalf
    }
    found["moved"] = [one.start for one in facts if one.labelled_as_of > one.counted_as_of]
    return report, costs, found


def test_a_cycle_costs_what_is_new_whatever_is_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {}
    for days in (3, 7):
        directory = tmp_path / str(days)
        directory.mkdir()
        report, costs[days], counted = second_cycle(directory, days, monkeypatch)

        # the new pane, and rows of the one after it, up to the tolerance of clocks
        assert counted[PaneHalf.RECORDS] == [END, END + HOUR]
        assert report.rows_read == AN_HOUR + AHEAD
        assert counted[PaneHalf.LABELS] == [END, END + HOUR]
        assert counted["moved"] == [END - HOUR]  # labels of an hour before
        assert report.label_rows_read == 2 * AN_HOUR + AHEAD

    assert costs[3].queries == 27  # three of them look at how times are written
    once = {"panes": 4, "differences": 1, "waiting": 3, "models": 4, "leases": 1, "provenance": 1}
    assert costs[3].written == once | {"current_rows": report.measurements}
    assert costs[3].pane_bytes > 0
    assert costs[7] == costs[3]
