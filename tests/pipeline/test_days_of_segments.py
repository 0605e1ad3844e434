"""Days of segments judged in cycles: what changes in one is told, and the whole's days stay the same."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from sqlalchemy import delete
from synthetic import READING, START, log_of, monitored_of, reference_rows, rows_of

from monitor.alerts.alert_rules import ACCEPTED
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.lifecycle import EndReason, make_acceptance
from monitor.app.pages.charted_days import read_charted_days
from monitor.core.clock import DAY, HOUR
from monitor.measures.catalogue.daily_measures import ALERTS, EVIDENCE
from monitor.measures.measurement_row import MeasurementRow
from monitor.pipeline.sequential.judge_days import PartKey, first_days_key, read_watched_parts
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.specs.model_table import BudgetTable
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import SqlStore
from monitor.store.tables.service_schema import days as days_table
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
DAYS, BROKEN = 22, 18
REGIONS = ("east", "north", "south", "west", "small")
SHARES = (0.24, 0.24, 0.24, 0.25, 0.03)
READ = replace(READING, numeric=(), categorical=(), segments=("region",), horizon=30 * DAY)
EVERY_DAY = range(START + 2 * DAY, START + DAYS * DAY + 1, DAY)
OPTIONS: dict[str, Any] = {
    "rules": tuple(
        rule
        for rule in default_rules(
            RuleGrounds(
                task=ModelTask.BINARY,
                windows=(("1d", DAY, HOUR),),
                score=True,
                labels=True,
                reference=True,
            )
        )
        if rule.measure == EVIDENCE
    ),
    "windows": (parse_window("1d", HOUR),),
    "every": DAY,
    "budget": BudgetTable(),
    "families": frozenset(),
    "resamples": 1,
    "reading": READ,
    "table": reference_rows()
    .drop_columns(["feature:temp", "feature:carrier"])
    .append_column("segment:region", pa.array(120 * list(REGIONS))),
}


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log of which the scores of one region are lower from a day on."""
    log = log_of(DAYS, per_day=200)
    region = np.random.default_rng(3).choice(REGIONS, log.predictions.num_rows, p=SHARES)
    table = log.predictions.drop_columns(["feature:temp", "feature:carrier"])
    table = table.append_column("segment:region", pa.array(region))
    broken = (np.asarray(table["event_time"]) >= START + BROKEN * DAY) & (region == "north")
    score = np.where(broken, 0.6 * np.asarray(table["score"]), np.asarray(table["score"]))
    table = table.set_column(table.column_names.index("score"), "score", pa.array(score))
    return MemorySource(table, log.labels)


def lived(
    source: MemorySource, store: SqlStore, moments: Iterable[int], *, restarts: bool = False
) -> list[MeasurementRow]:
    """Cycles at some moments; rows of the last one."""
    monitored = monitored_of(source, store, **OPTIONS)
    rows: list[MeasurementRow] = []
    for moment in moments:
        monitored = monitored_of(source, store, **OPTIONS) if restarts else monitored
        _, rows = monitored.cycle(moment)
    return rows


def test_what_changes_in_one_segment_is_told_of_it_and_any_order_of_ticks_finds_the_same(
    source: MemorySource, new_store: NewStore
) -> None:
    regular, disturbed = new_store(), new_store()

    rows = lived(source, regular, EVERY_DAY[::4])
    lived(source, disturbed, [EVERY_DAY[0], EVERY_DAY[9], EVERY_DAY[-1]], restarts=True)

    (alert,) = (one for _, one in regular.alerts.read_alerts("late"))
    assert (alert.series.segment, alert.series.subject) == ("region=north", "score")
    assert START + (BROKEN + 1) * DAY <= alert.since <= START + (BROKEN + 2) * DAY
    assert [row.measurement.value for row in rows if row.measure == ALERTS] == [1.0]
    change = alert.breach.change
    assert change is not None
    counting = monitored_of(source, regular, **OPTIONS).model.counting
    span = alert.since, EVERY_DAY[-1]
    *_, newest = read_charted_days(regular, "late", counting, ("score", "region=north"), change, span)
    assert newest.value < newest.low
    found, other = rows_of(regular), rows_of(disturbed)
    assert (found["days"], found["alerts"]) == (other["days"], other["alerts"])
    evidence = {(row.subject, row.segment): row.measurement for row in rows if row.measure == EVIDENCE}
    assert evidence["score", "region=small"].reason == "too_few"
    assert {segment for subject, segment in evidence if subject == ""} == {
        None,
        *(f"region={name}" for name in REGIONS),
    }


def test_days_of_the_whole_are_the_same_with_segments_and_without(
    source: MemorySource, new_store: NewStore
) -> None:
    options = OPTIONS | {"reading": replace(READ, segments=()), "table": OPTIONS["table"]}
    watched = []
    for each in (OPTIONS, options):
        store = new_store()
        monitored_of(source, store, **each).cycle(EVERY_DAY[-1])
        model = monitored_of(source, store, **each).model
        watched.append(read_watched_parts(model, store))

    segmented, plain = watched

    assert set(plain) == {(PaneHalf.RECORDS, False), (PaneHalf.LABELS, False)}
    assert {of: one.records for of, one in segmented.items() if not of[1]} == {
        of: one.records for of, one in plain.items()
    }


def test_a_store_of_before_keeps_the_days_of_the_whole_and_finds_those_of_segments(
    source: MemorySource, new_store: NewStore
) -> None:
    store = new_store()
    lived(source, store, [EVERY_DAY[0], EVERY_DAY[-2]])
    expected, model = rows_of(store)["days"], monitored_of(source, store, **OPTIONS).model
    watches = read_watched_parts(model, model.store)
    keys = [first_days_key(model.counting, PartKey(part, True)) for part in PaneHalf]
    keys += [one.watch.key for (_, segments), one in watches.items() if segments and one.watch is not None]
    with store.engine.begin() as connection:
        gone = connection.execute(delete(days_table).where(days_table.c.key.in_(keys))).rowcount

    lived(source, store, [EVERY_DAY[-1]])

    assert gone > 0
    assert set(expected) <= set(rows_of(store)["days"])


def test_what_is_accepted_of_a_segment_is_expected_of_it_alone(
    source: MemorySource, new_store: NewStore
) -> None:
    store, seen = new_store(), START + (BROKEN + 3) * DAY
    lived(source, store, [EVERY_DAY[0], seen - DAY, seen])
    ((_, alert),) = store.alerts.read_alerts("late")
    detail = make_acceptance(alert, seen - DAY, seen, None).detail_json()
    store.events.append_events(
        [HistoryEvent(model="late", at=seen, kind=ACCEPTED, subject=str(alert.series), detail=detail)]
    )

    rows = lived(source, store, [seen + DAY])

    ((_, ended),) = store.alerts.read_alerts("late", ended=True)
    evidence = {(row.segment, row.subject): row.measurement for row in rows if row.measure == EVIDENCE}
    assert (ended.series.segment, ended.ended) == ("region=north", EndReason.ACCEPTED)
    learning = {of for of, measured in evidence.items() if measured.reason == "learning"}
    assert learning == {("region=north", "score")}
