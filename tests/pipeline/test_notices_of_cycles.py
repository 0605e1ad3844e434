"""Notices of real cycles: written with the alerts, the same however the cycles ran."""

from collections.abc import Callable, Sequence

from memory import MemorySource
from sqlalchemy import select
from synthetic import START, log_of, monitored_of

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import BreachCondition, Rule, RuleLimit, Severity
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction
from monitor.store.tables.service_schema import outbox

NewStore = Callable[[], SqlStore]
DAYS = 3
STOPPED = Rule(
    name="stopped", measure="log_age", condition=BreachCondition(above=RuleLimit(12 * HOUR / SECOND))
)
CHAT, PAGER = Recipient("chat"), Recipient("pager", Severity.CRITICAL)


def lived(store: SqlStore, *recipients: Recipient, restarts: bool = False) -> list[dict[str, object]]:
    """Outbox after cycles over a log that stops."""
    log = log_of(DAYS, per_day=60)
    source = MemorySource(log.predictions, log.labels)
    monitored = monitored_of(source, store, rules=(STOPPED,))
    moments = [START + DAYS * DAY + hours * HOUR for hours in (0, 12, 24, 24, 36)]
    for moment in moments:
        if restarts:
            monitored = monitored_of(source, store, rules=(STOPPED,))
        monitored.cycle(moment, recipients=recipients)
    return rows(store)


def rows(store: SqlStore) -> list[dict[str, object]]:
    with read_transaction(store.engine) as connection:
        found = connection.execute(select(outbox).order_by(outbox.c.key)).mappings()
        return [{name: value for name, value in row.items() if name != "written_at"} for row in found]


def told(found: Sequence[dict[str, object]]) -> list[tuple[object, ...]]:
    return [
        (row["incident"], row["kind"], row["channel"], row["attempts"], row["delivered_at"]) for row in found
    ]


def test_an_incident_is_in_the_outbox_once_a_step_however_cycles_are_run(new_store: NewStore) -> None:
    live = lived(new_store(), CHAT, PAGER)

    # It grew when the log had been silent for twice as long.
    one = "2024-01-04-records"
    assert sorted(told(live)) == [(one, "grew", "chat", 0, None), (one, "opened", "chat", 0, None)]
    assert lived(new_store(), CHAT, PAGER, restarts=True) == live


def test_without_recipients_nothing_is_written(new_store: NewStore) -> None:
    store = new_store()

    assert lived(store) == []
    assert [alert.series.rule for _, alert in store.alerts.read_alerts("late")] == ["stopped"]
