"""Gross faults in cycles: told within two hours, once, whatever the order of ticks and kills."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, labels_of, monitored_of, predictions_of, reference_rows

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.lifecycle import Alert
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.records.reading import ModelTask
from monitor.specs.model_table import BudgetTable
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
BEGIN = START + 24 * DAY  # of the day on which something breaks, a Thursday
BROKEN = BEGIN + 9 * HOUR + 7 * MINUTE
RULES = tuple(
    rule
    for rule in default_rules(
        RuleGrounds(
            task=ModelTask.BINARY, windows=(("1d", DAY, HOUR),), score=True, labels=True, reference=True
        )
    )
    if rule.name in ("log_stopped", "changed")
)


def options(every: int, **more: Any) -> dict[str, Any]:
    reading = replace(READING, horizon=40 * DAY, labelled=False, **more)
    return {
        "rules": RULES,
        "windows": (parse_window("1d", max(HOUR, reading.pane)),),
        "every": every,
        "budget": BudgetTable(),
        "families": frozenset(),
        "resamples": 1,
        "reading": reading,
        "table": reference_rows(),
        "labels": None,
    }


def log_until(
    end: int, per_hour: int = 60, fault: Callable[[pa.Table], pa.Table] = lambda table: table
) -> pa.Table:
    """A log that is quiet by night; from `BROKEN` on, for six hours, something else is wrong with it."""
    rng = np.random.default_rng(5)
    hours = np.arange(START, end, HOUR)
    by_day = (hours // HOUR % 24 >= 7) & (hours // HOUR % 24 < 22)
    counts = rng.poisson(np.where(by_day, per_hour, per_hour / 6))
    event = np.sort(np.repeat(hours, counts) + rng.integers(0, HOUR, counts.sum()))
    table = predictions_of(event, seed=3)
    moments = np.asarray(table["event_time"])
    broken = (moments >= BROKEN) & (moments < BROKEN + 6 * HOUR)
    parts = [
        table.filter(pa.array(moments < BROKEN)),
        fault(table.filter(pa.array(broken))),
        table.filter(pa.array(moments >= BROKEN + 6 * HOUR)),
    ]
    return pa.concat_tables(parts)


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array(values, table.schema.field(name).type))


def repeated(table: pa.Table, times: int) -> pa.Table:
    parts = [
        with_column(table, "id", [f"{one}x{time}" for one in table["id"].to_pylist()])
        for time in range(times)
    ]
    return pa.concat_tables(parts)


FAULTS: dict[str, tuple[str, str, Callable[[pa.Table], pa.Table]]] = {
    "missing": ("feature:temp", "missing", lambda t: with_column(t, "feature:temp", t.num_rows * [None])),
    "constant": ("feature:temp", "constant", lambda t: with_column(t, "feature:temp", t.num_rows * [0.0])),
    "new": ("feature:carrier", "unseen", lambda t: with_column(t, "feature:carrier", t.num_rows * ["??"])),
    "score": ("score", "constant", lambda t: with_column(t, "score", t.num_rows * [0.2])),
    "fewer": ("records", "records", lambda t: t.take(pa.array(range(0, t.num_rows, 15)))),
    "more": ("records", "records", lambda t: repeated(t, 10)),
    "silence": ("", "", lambda t: t.slice(0, 0)),
}


def lived(
    table: pa.Table, store: SqlStore, every: int, hours: int = 44, *, restarts: bool = False, told: str = ""
) -> None:
    """A first cycle as the day begins, then each tick."""
    source, recipients = MemorySource(table, labels_of(())), (Recipient(told),) if told else ()
    monitored = monitored_of(source, store, **options(every))
    for moment in (BEGIN, *range(BEGIN + every, BEGIN + hours * HOUR + 1, every)):
        monitored.cycle(moment, recipients=recipients)
        if restarts:
            monitored = monitored_of(source, store, **options(every))


def alerts_of(store: SqlStore) -> list[Alert]:
    return [alert for _, alert in store.alerts.read_alerts("late", ended=True)]


@pytest.mark.parametrize("every", [15 * MINUTE, HOUR])
@pytest.mark.parametrize("name", FAULTS)
def test_a_gross_fault_is_told_within_two_hours(new_store: NewStore, name: str, every: int) -> None:
    """And nothing else is; the day takes the alert over: nobody is told of it twice."""
    subject, kind, fault = FAULTS[name]
    store = new_store()
    lived(log_until(BEGIN + 2 * DAY, fault=fault), store, every, 12)
    (alert,) = alerts_of(store)
    assert alert.series.subject == subject
    print(name, (alert.since - BROKEN) / HOUR, alert.breach)
