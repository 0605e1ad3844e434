"""Incidents in the store: as they were written, as of any moment, damaged or not."""

from dataclasses import replace

import pytest
from row_examples import firing
from sqlalchemy import update
from store_examples import START, commit

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.incident_life import (
    RECOVERY,
    JudgedMoment,
    ModelIncidents,
    advance_incidents,
)
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import CodecError
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import write_transaction
from monitor.store.tables.service_schema import incidents


def alert_of(rule: str, at: int) -> Alert:
    verdict = Verdict(outcome=Outcome.BREACH, window_end=at, value=1.0, limit=0.5)
    return firing(AlertedSeries(rule, version='v"1', segment="ü=ß", window="7d"), verdict, at)


def over(alert: Alert, at: int) -> Alert:
    return replace(alert, state=AlertState.RESOLVED, resolved_at=at, ended=EndReason.CLEARED)


A, B = alert_of("a", START), alert_of("b", START + 5 * DAY)
MOMENTS = [
    JudgedMoment(START, {A.series: A}),
    JudgedMoment(START + DAY, {}, [over(A, START + DAY)]),
    JudgedMoment(START + 5 * DAY, {B.series: B}),
]


def lived(store: SqlStore) -> list[ModelIncidents]:
    """Commit a cycle at each moment; the incidents after each."""
    model, states = ModelIncidents(), list[ModelIncidents]()
    for moment in MOMENTS:
        grouped = advance_incidents(model, [moment], ())
        cycle = commit(moment.at, snapshots=())
        store.commit_cycle("late", replace(cycle, incidents=grouped.written))
        model = grouped.incidents
        states.append(model)
    return states


def test_what_is_read_goes_on_from_what_was_written(store: SqlStore) -> None:
    *_, last = lived(store)

    assert store.incidents.read_model_incidents("late") == last
    assert store.incidents.read_model_incidents("other") == ModelIncidents()
    assert [one for _, one in store.incidents.read_incidents()] == [*last.open]


@pytest.mark.parametrize("at", [START - HOUR, START, START + DAY, START + DAY + RECOVERY, START + 5 * DAY])
def test_as_of_a_moment_what_was_open_then_is_read_as_it_was_known_then(store: SqlStore, at: int) -> None:
    states = lived(store)
    known = [state for moment, state in zip(MOMENTS, states, strict=True) if moment.at <= at]
    expected = [one for one in known[-1].open if one.is_open(at)] if known else []

    assert [one for _, one in store.incidents.read_incidents("late", as_of=at)] == expected


def test_what_is_over_is_kept(store: SqlStore) -> None:
    lived(store)
    (_, first), (_, second) = store.incidents.read_incidents("late", ended=True)

    assert (first.opened_at, first.resolved_at) == (START, START + DAY + RECOVERY)
    assert (second.opened_at, second.resolved_at) == (START + 5 * DAY, None)
    assert [first.known_at(START).firing, first.known_at(START + DAY).firing] == [
        (replace(first.members[0], left=None, ended=None),),
        (),
    ]


@pytest.mark.parametrize("text", ["{", "[1]", '[{"at": 1}]', "null", "[]"])
def test_a_damaged_row_is_named(store: SqlStore, text: str) -> None:
    lived(store)
    with write_transaction(store.engine) as connection:
        connection.execute(update(incidents).values(members=text))

    with pytest.raises(CodecError, match="table incidents"):
        store.incidents.read_incidents("late", ended=True)
