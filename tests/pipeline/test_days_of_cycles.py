"""Days judged in cycles: the same days and alerts for any order of ticks, kills and late rows."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import START, log_of, monitored_of, rows_of

from monitor.alerts.defaults import Watched, default_rules
from monitor.core.clock import DAY, HOUR
from monitor.measures.catalogue.daily import EVIDENCE
from monitor.records.reading import Task
from monitor.specs.model import BudgetSpec
from monitor.store.adapter import SqlStore
from monitor.windows.ends import window_of

NewStore = Callable[[], SqlStore]
DAYS, BROKEN, EVERY = 28, 21, 12 * HOUR
WINDOWS = (window_of("1d", HOUR),)
RULES = tuple(
    rule
    for rule in default_rules(
        Watched(
            task=Task.BINARY,
            windows=(("1d", DAY, HOUR),),
            score=True,
            labels=True,
            reference=True,
            features=True,
        )
    )
    if rule.measure == EVIDENCE
)
OPTIONS: dict[str, Any] = {
    "rules": RULES,
    "windows": WINDOWS,
    "every": EVERY,
    "budget": BudgetSpec(),
    "families": frozenset(),
    "resamples": 1,
}


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log of which a feature is in another unit from a day on; some rows are logged half a day late."""
    log = log_of(DAYS, per_day=150)
    table, rng = log.predictions, np.random.default_rng(3)
    event = np.asarray(table["event_time"])
    broken = event >= START + BROKEN * DAY
    temp = np.where(broken, 1.8 * np.asarray(table["feature:temp"]) + 32, np.asarray(table["feature:temp"]))
    late = np.where(rng.random(len(event)) < 0.02, 12 * HOUR, 30_000_000)
    for name, values in (("feature:temp", temp), ("logged_at", event + late)):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return MemorySource(table, log.labels)


def lived(source: MemorySource, store: SqlStore, moments: Iterable[int], *, restarts: bool = False) -> None:
    """Cycles at some moments."""
    monitored = monitored_of(source, store, **OPTIONS)
    for moment in moments:
        if restarts:
            monitored = monitored_of(source, store, **OPTIONS)
        monitored.cycle(moment)


def kept(store: SqlStore) -> dict[str, list[tuple[Any, ...]]]:
    rows = rows_of(store)
    return {name: rows[name] for name in ("days", "alerts")}


FIRST = START + 2 * DAY
REGULAR = list(range(FIRST, START + DAYS * DAY + 1, EVERY))


def test_any_order_of_ticks_and_restarts_finds_the_same_days_and_alerts(
    source: MemorySource, new_store: NewStore
) -> None:
    rng = np.random.default_rng(11)
    some = [FIRST, *(moment for moment in REGULAR[1:-1] if rng.random() < 0.2), REGULAR[-1]]
    regular, irregular, restarted = new_store(), new_store(), new_store()

    lived(source, regular, REGULAR)
    lived(source, irregular, some)
    lived(source, restarted, some, restarts=True)

    expected = kept(regular)
    assert len(expected["days"]) > 40
    assert kept(irregular) == expected
    assert kept(restarted) == expected
    found = [alert.series.subject for _, alert in regular.alerts("late", ended=True)]
    assert found == ["feature:temp"]
