"""Gross faults in cycles: told within two hours, once, however cycles are run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from sqlalchemy import select
from synthetic import (
    READING,
    START,
    Monitored,
    labels_of,
    monitored_of,
    predictions_of,
    reference_rows,
    rows_of,
)

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import ACCEPTED
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.incident_life import JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.incident_words import incident_sentences
from monitor.alerts.incidents import describe_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason, make_acceptance
from monitor.core.clock import DAY, HOUR, MINUTE, SECOND
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.catalogue.volume_measures import SILENCE_LIMIT
from monitor.measures.measurement_row import MeasurementRow
from monitor.records.reading import ModelTask
from monitor.sentences.change_words import change_sentence
from monitor.specs.model_table import BudgetTable
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import outbox
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
Fault = Callable[[pa.Table], pa.Table]
BEGIN = START + 24 * DAY  # of the day on which something breaks, a Thursday
BROKEN = BEGIN + 9 * HOUR + 7 * MINUTE
MENDED = BROKEN + 6 * HOUR
RULES = tuple(
    rule
    for rule in default_rules(
        RuleGrounds(
            task=ModelTask.BINARY, windows=(("1d", DAY, HOUR),), score=True, labels=True, reference=True
        )
    )
    if rule.name in ("log_stopped", "changed")
)


def as_it_is(table: pa.Table) -> pa.Table:
    return table


def with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array(values, table.schema.field(name).type))


def always(name: str, value: object) -> Fault:
    return lambda table: with_column(table, name, table.num_rows * [value])


def tenfold(table: pa.Table) -> pa.Table:
    ids = table["id"].to_pylist()
    return pa.concat_tables([with_column(table, "id", [f"{one}x{at}" for one in ids]) for at in range(10)])


FAULTS: dict[str, tuple[str, str, Fault]] = {
    "missing": ("feature:temp", "missing", always("feature:temp", None)),
    "constant": ("feature:temp", "constant", always("feature:temp", 0.0)),
    "new": ("feature:carrier", "unseen", always("feature:carrier", "??")),
    "unreadable": ("feature:temp", "invalid", always("feature:temp", float("inf"))),
    "stuck score": ("score", "constant", always("score", 0.2)),
    "a tenth": ("records", "records", lambda table: table.take(pa.array(range(0, table.num_rows, 10)))),
    "ten times": ("records", "records", tenfold),
}


def log_until(
    end: int, fault: Fault = as_it_is, *, per_hour: int = 150, broken: int = BROKEN, mended: int = MENDED
) -> pa.Table:
    """A log that is quiet by night; for some hours something else is wrong with it."""
    rng = np.random.default_rng(5)
    hours = np.arange(START, end, HOUR)
    by_day = (hours // HOUR % 24 >= 7) & (hours // HOUR % 24 < 22)
    counts = rng.poisson(np.where(by_day, per_hour, per_hour / 6))
    event = np.sort(np.repeat(hours, counts) + rng.integers(0, HOUR, counts.sum()))
    table = predictions_of(event, seed=3)
    first, last = np.searchsorted(event, [broken, mended])
    return pa.concat_tables(
        [table.slice(0, first), fault(table.slice(first, last - first)), table.slice(last)]
    )


def monitored_log(table: pa.Table, store: SqlStore, every: int, pane: int = HOUR, **names: Any) -> Monitored:
    return monitored_of(
        MemorySource(table, labels_of(())),
        store,
        rules=RULES,
        windows=(parse_window("1d", pane),),
        every=every,
        budget=BudgetTable(),
        families=frozenset(),
        resamples=1,
        reading=replace(READING, horizon=40 * DAY, labelled=False, pane=pane, **names),
        table=reference_rows(),
        labels=None,
    )


def lived(
    table: pa.Table,
    store: SqlStore,
    every: int = HOUR,
    *,
    hours: int = 12,
    restarts: bool = False,
    pane: int = HOUR,
    begin: int = BEGIN,
) -> list[list[MeasurementRow]]:
    """A first cycle as the day begins, then each tick: the rows of each."""
    recipients = (Recipient("chat"),)
    monitored = monitored_log(table, store, every, pane)
    rows = []
    for moment in (begin, *range(begin + every, begin + hours * HOUR + 1, every)):
        rows.append(monitored.cycle(moment, recipients=recipients)[1])
        if restarts:
            monitored = monitored_log(table, store, every, pane)
    return rows


def alerts_of(store: SqlStore) -> list[Alert]:
    return [alert for _, alert in store.alerts.read_alerts("late", ended=True)]


def notices_of(store: SqlStore) -> list[str]:
    """What each notice tells of an incident, in their order."""
    with read_transaction(store.engine) as connection:
        rows = connection.execute(select(outbox).order_by(outbox.c.written_at)).mappings()
        return [row["kind"] for row in rows]


@pytest.mark.parametrize("every", [15 * MINUTE, HOUR])
@pytest.mark.parametrize("name", FAULTS)
def test_a_gross_fault_is_told_within_two_hours_and_nothing_else_is(
    new_store: NewStore, name: str, every: int
) -> None:
    subject, kind, fault = FAULTS[name]
    store = new_store()

    lived(log_until(BEGIN + DAY, fault), store, every)

    (alert,) = alerts_of(store)
    assert (alert.series.rule, alert.series.subject) == ("changed", subject)
    assert alert.state is AlertState.FIRING
    assert alert.breach.change is not None
    assert alert.breach.change.kind == kind
    assert BROKEN < alert.since <= BROKEN + 2 * HOUR


@pytest.mark.parametrize("begins", [7 * HOUR, 13 * HOUR + 59 * MINUTE, 20 * HOUR + 30 * MINUTE, 23 * HOUR])
def test_whenever_it_begins(new_store: NewStore, begins: int) -> None:
    broken = BEGIN + begins
    table = log_until(BEGIN + 2 * DAY, always("feature:temp", None), broken=broken, mended=broken + 4 * HOUR)
    store = new_store()

    lived(table, store, hours=28)

    (alert,) = alerts_of(store)
    assert broken < alert.since <= broken + 2 * HOUR


@pytest.mark.parametrize("pane", [15 * MINUTE, HOUR, 3 * HOUR])
@pytest.mark.parametrize("later", [1, 20 * MINUTE, HOUR, 3 * HOUR + MINUTE])
def test_a_log_that_begins_in_the_running_hour_is_judged_of_no_hour(
    new_store: NewStore, later: int, pane: int
) -> None:
    begin = BEGIN + 2 * MINUTE
    table = predictions_of(np.sort(begin + np.arange(50)), seed=3)

    rows = lived(table, new_store(), hours=2, begin=begin + later, pane=pane)

    assert len(rows) == 3


@pytest.mark.parametrize("every", [15 * MINUTE, HOUR])
def test_silence_is_told_in_the_first_cycle_after_two_hours_where_no_gap_is_usual(
    new_store: NewStore, every: int
) -> None:
    """The alert is that of the log alone: an hour without a record is no fall besides."""
    store = new_store()

    lived(log_until(BEGIN + DAY, lambda table: table.slice(0, 0)), store, every)

    (alert,) = alerts_of(store)
    assert alert.series.rule == "log_stopped"
    assert alert.breach.limit == 2 * HOUR / SECOND
    assert BROKEN + 2 * HOUR < alert.since <= BROKEN + 2 * HOUR + every


@pytest.mark.parametrize("name", FAULTS)
def test_the_day_takes_an_hour_s_alert_over_and_nobody_is_told_twice(new_store: NewStore, name: str) -> None:
    _, _, fault = FAULTS[name]
    store = new_store()

    lived(log_until(BEGIN + 3 * DAY, fault), store, hours=60)

    (alert,) = alerts_of(store)
    assert notices_of(store).count("opened") == 1
    # What the day says of it counts from then on: it goes on with it, or takes it back.
    assert alert.breach.change is not None
    if alert.ended is EndReason.REVISED:
        assert alert.verdict.window_end == alert.breach.window_end == BEGIN + DAY
    else:
        assert alert.breach.change.hours is None
        assert alert.breach.window_end >= BEGIN + DAY


def test_a_day_of_which_an_hour_says_too_much_takes_it_back(new_store: NewStore) -> None:
    broken = BEGIN + 10 * HOUR
    table = log_until(BEGIN + 2 * DAY, FAULTS["a tenth"][2], broken=broken, mended=broken + HOUR)
    store = new_store()

    lived(table, store, hours=30)

    (alert,) = alerts_of(store)
    assert (alert.since, alert.resolved_at) == (BEGIN + 11 * HOUR, BEGIN + DAY)
    assert alert.ended is EndReason.REVISED
    assert notices_of(store) == ["opened"], "it is over after two days more"


def test_what_lasts_is_one_alert(new_store: NewStore) -> None:
    table = log_until(BEGIN + 4 * DAY, always("feature:temp", None), mended=BEGIN + 4 * DAY)
    store = new_store()

    lived(table, store, hours=80)

    (alert,) = alerts_of(store)
    assert (alert.series.subject, alert.state) == ("feature:temp", AlertState.FIRING)
    assert notices_of(store) == ["opened"]


def test_what_somebody_accepted_is_not_told_again(new_store: NewStore) -> None:
    table = log_until(BEGIN + 3 * DAY, always("feature:temp", None), mended=BEGIN + 3 * DAY)
    store = new_store()
    monitored = monitored_log(table, store, HOUR)
    for moment in range(BEGIN, BEGIN + 12 * HOUR, HOUR):
        monitored.cycle(moment)
    (alert,) = alerts_of(store)
    at, subject = BEGIN + 11 * HOUR, str(alert.series)
    detail = make_acceptance(alert, BEGIN, at, None).detail_json()
    store.events.append_events(
        [HistoryEvent(model="late", at=at, kind=ACCEPTED, subject=subject, detail=detail)]
    )

    for moment in range(BEGIN + 12 * HOUR, BEGIN + 50 * HOUR, HOUR):
        monitored.cycle(moment)

    (alert,) = alerts_of(store)
    assert (alert.since, alert.ended) == (BEGIN + 11 * HOUR, EndReason.ACCEPTED)


def test_restarts_and_coarser_ticks_that_were_missed_change_nothing(new_store: NewStore) -> None:
    table = log_until(BEGIN + 2 * DAY, always("feature:temp", None))
    once, again = new_store(), new_store()

    lived(table, once, hours=30)
    lived(table, again, hours=30, restarts=True)

    assert rows_of(again)["alerts"] == rows_of(once)["alerts"]


def test_hours_of_missed_ticks_are_looked_at_later(new_store: NewStore) -> None:
    table = log_until(BEGIN + DAY, always("feature:temp", None), mended=BROKEN + 2 * HOUR)
    store = new_store()

    lived(table, store, 8 * HOUR, hours=16)

    (alert,) = alerts_of(store)
    assert alert.since == BEGIN + 16 * HOUR
    assert alert.breach.change is not None
    assert alert.breach.change.hours == ("2024-01-25T10:00:00Z", "2024-01-25T11:00:00Z")


@pytest.mark.parametrize(("pane", "within"), [(15 * MINUTE, 2 * HOUR), (3 * HOUR, 6 * HOUR)])
def test_panes_of_other_widths(new_store: NewStore, pane: int, within: int) -> None:
    store = new_store()

    lived(log_until(BEGIN + DAY, always("feature:temp", None)), store, pane=pane, hours=16)

    (alert,) = alerts_of(store)
    assert BROKEN < alert.since <= BROKEN + within


def test_panes_of_a_day_tell_nothing_by_the_hour(new_store: NewStore) -> None:
    store = new_store()

    rows = lived(log_until(BEGIN + DAY, always("feature:temp", None)), store, pane=DAY, hours=16)

    assert alerts_of(store) == []
    assert SILENCE_LIMIT not in {row.measure for row in rows[-1]}


def test_a_log_written_by_night_is_no_silence_by_day(new_store: NewStore) -> None:
    """All of a day's rows are logged at midnight: nobody knows before whether an hour has its records."""
    table = log_until(BEGIN + 3 * DAY)
    event = np.asarray(table["event_time"])
    table = with_column(table, "logged_at", (event // DAY + 1) * DAY)
    store = new_store()

    rows = lived(table, store, hours=60)

    assert alerts_of(store) == []
    (limit,) = [row.measurement for row in rows[-1] if row.measure == SILENCE_LIMIT]
    assert limit.value is None


@pytest.mark.parametrize("restarts", [False, True])
def test_a_table_that_is_loaded_each_six_hours_is_silent_once(new_store: NewStore, *, restarts: bool) -> None:
    """Rows say when they were logged elsewhere: from the first load on it is known how late they are seen."""
    table, store = log_until(BEGIN + 3 * DAY), new_store()
    event = np.asarray(table["event_time"])
    monitored = monitored_log(table.slice(0, int(np.searchsorted(event, BEGIN))), store, HOUR)
    for moment in range(BEGIN, BEGIN + 60 * HOUR, HOUR):
        loaded = table.slice(0, int(np.searchsorted(event, moment // (6 * HOUR) * 6 * HOUR)))
        monitored = monitored_log(loaded, store, HOUR) if restarts else monitored
        monitored.change(source=MemorySource(loaded, labels_of(())))
        monitored.cycle(moment)

    (alert,) = alerts_of(store)
    assert (alert.series.rule, alert.since, alert.resolved_at) == (
        "log_stopped", BEGIN + 2 * HOUR, BEGIN + 6 * HOUR,
    )  # fmt: skip


def test_nothing_of_it_is_shown_or_kept_but_by_its_alert(new_store: NewStore) -> None:
    """The rows of the newest judged day stay those that are shown."""
    store = new_store()

    rows = lived(log_until(BEGIN + DAY, always("feature:temp", None)), store)

    ends = {row.window_end for row in rows[-1] if row.measure == EVIDENCE}
    assert ends == {BEGIN}


def test_how_it_is_said(new_store: NewStore) -> None:
    store = new_store()
    lived(log_until(BEGIN + DAY, lambda table: tenfold(always("feature:temp", None)(table))), store)
    temp, records = sorted(alerts_of(store), key=lambda alert: alert.series.subject)

    changes = [(one.breach.change, one.breach.window_end) for one in (temp, records)]
    said = [change_sentence(change, end) for change, end in changes if change is not None]
    moment = JudgedMoment(BEGIN, {one.series: one for one in (temp, records)})
    opened = advance_incidents(ModelIncidents(), [moment], RULES).incidents.open
    incidents = describe_incidents(opened, [(temp, ""), (records, "")], RULES)
    headlines = [". ".join(list(incident_sentences(one, BEGIN))[:2]) for one in incidents]

    assert said[0] == (
        "missing values in 99.0 % of the records from 09:00 to 10:00 UTC, none in the weeks before; "
        "began 2024-01-25"
    )
    assert said[1] == (
        "1,263 records (+789 %) on 2024-01-25 from 09:00 to 10:00 UTC, expected 128 to 156 in this hour of "
        "the week; began 2024-01-25"
    )
    hour = "on 25 Jan from 09:00 to 10:00 UTC"
    assert headlines == [
        f"Records rose by 789 % {hour}. 1,263 records (+789 %) {hour}, usually 128 to 156",
        "temp is missing in 99.0 % of the records since 25 Jan, 09:00 UTC. Usually in no record",
    ]
