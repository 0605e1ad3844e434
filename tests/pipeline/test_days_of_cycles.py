"""Days judged in cycles: the same for any order of ticks, kills, late rows and corrections."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from receivers import receiver
from synthetic import READING, START, Log, log_of, monitored_of, reference_rows, rows_of

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.alert_rules import ACCEPTED
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.lifecycle import EndReason, make_acceptance
from monitor.core.change import Change
from monitor.core.clock import DAY, HOUR
from monitor.exposition.alert_metrics import alert_families, expose_alerts
from monitor.measures.catalogue.daily_measures import ALERTS, EVIDENCE
from monitor.notify.webhook import Webhook
from monitor.pipeline.sequential.judge_days import WatchedPart, read_watched_parts
from monitor.records.reading import ModelTask
from monitor.sentences.change_words import change_sentence
from monitor.specs.model_table import BudgetTable
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import CycleCommit, SqlStore
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
DAYS, BROKEN, EVERY = 28, 21, 12 * HOUR
WINDOWS = (parse_window("1d", HOUR),)
RULES = tuple(
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
)
OPTIONS: dict[str, Any] = {
    "rules": RULES,
    "windows": WINDOWS,
    "every": EVERY,
    "budget": BudgetTable(),
    "families": frozenset(),
    "resamples": 1,
    "reading": replace(READING, segments=("shop",)),
    "table": reference_rows().append_column("segment:shop", pa.array(300 * ["north", "south"])),
}


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log of which one shop's feature and score are others from a day on; some rows come late."""
    log = log_of(DAYS, per_day=150)
    rng = np.random.default_rng(3)
    shop = np.where(rng.random(log.predictions.num_rows) < 0.4, "north", "south")
    table = log.predictions.append_column("segment:shop", pa.array(shop))
    event = np.asarray(table["event_time"])
    broken = (event >= START + BROKEN * DAY) & (shop == "north")
    temp = np.where(broken, 1.8 * np.asarray(table["feature:temp"]) + 32, np.asarray(table["feature:temp"]))
    score = np.where(broken, np.asarray(table["score"]) / 3, np.asarray(table["score"]))
    late = np.where(rng.random(len(event)) < 0.02, 12 * HOUR, 30_000_000)
    for name, values in (("feature:temp", temp), ("score", score), ("logged_at", event + late)):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    ids = log.predictions["id"].to_pylist()[::40]  # corrected a week later, when their days are judged
    moments = np.asarray(log.predictions["event_time"])[::40] + 7 * DAY
    corrected = log.with_labels(*((name, int(at), 1, "1") for name, at in zip(ids, moments, strict=True)))
    return MemorySource(table, corrected.labels)


class KilledError(Exception):
    """A process that dies."""


class Mortal(SqlStore):
    """A store whose process dies before every third commit: what a cycle has found is lost."""

    def commit_cycle(self, model: str, commit: CycleCommit, *, token: int | None = None) -> None:
        """Commit, or die."""
        if (
            commit.state.as_of
            and (commit.state.as_of // EVERY) % 3 == 0
            and commit.state.as_of not in self.died
        ):
            self.died.add(commit.state.as_of)
            raise KilledError
        super().commit_cycle(model, commit, token=token)

    died: ClassVar[set[int]] = set()


def lived(
    source: MemorySource, store: SqlStore, moments: Iterable[int], *, restarts: bool = False, told: str = ""
) -> None:
    """Cycles at some moments."""
    recipients = (Recipient(told),) if told else ()
    monitored = monitored_of(source, store, **OPTIONS)
    for moment in moments:
        if restarts:
            with suppress(KilledError):
                mortal = Mortal(store.engine, store.run)
                monitored_of(source, mortal, **OPTIONS).cycle(moment, recipients=recipients)
                continue
            monitored = monitored_of(source, store, **OPTIONS)
        monitored.cycle(moment, recipients=recipients)


def kept(store: SqlStore) -> dict[str, list[tuple[Any, ...]]]:
    rows = rows_of(store)
    return {name: rows[name] for name in ("days", "alerts", "incidents")}


FIRST = START + 2 * DAY
REGULAR = list(range(FIRST, START + DAYS * DAY + 1, EVERY))


@pytest.mark.slow
def test_any_order_of_ticks_restarts_and_kills_finds_the_same_days_alerts_and_incidents(
    source: MemorySource, new_store: NewStore
) -> None:
    rng = np.random.default_rng(11)
    some = [FIRST, *(moment for moment in REGULAR[1:-1] if rng.random() < 0.2), REGULAR[-1]]
    regular, disturbed = new_store(), new_store()

    lived(source, regular, REGULAR)
    lived(source, disturbed, some, restarts=True)

    expected = kept(regular)
    assert len(expected["days"]) > 40
    assert expected["incidents"]
    assert Mortal.died
    assert kept(disturbed) == expected
    assert recent_alerts(regular) == len(regular.alerts.read_alerts("late", ended=True)) > 0
    found = {
        alert.series.subject: alert.breach.change
        for _, alert in regular.alerts.read_alerts("late", ended=True)
    }
    assert {name: _segment(change) for name, change in found.items()} == {
        "feature:temp": None,  # features are not counted by segment
        "score": "shop=north",
        "prediction": "shop=north",
    }


def test_what_is_broken_as_the_monitor_begins_is_told_by_its_first_cycle(
    source: MemorySource, new_store: NewStore
) -> None:
    store = new_store()

    lived(source, store, [START + (BROKEN + 3) * DAY + 10 * HOUR])

    found = {alert.series.subject for _, alert in store.alerts.read_alerts("late")}
    assert {"feature:temp", "score"} <= found
    assert recent_alerts(store) == len(found)


def recent_alerts(store: SqlStore) -> float | None:
    (told,) = [
        stored.row.measurement.value for stored in store.current.read_current("late", frozenset({ALERTS}))
    ]
    return told


def _segment(change: Change | None) -> str | None:
    assert change is not None
    return None if change.segment is None else change.segment.name


def test_one_notice_and_prometheus_say_how_much_since_when_how_rare_and_where(
    source: MemorySource, new_store: NewStore
) -> None:
    store = new_store()
    lived(source, store, [*REGULAR[::8], REGULAR[-1]], told="chat")

    notice, *_ = store.outbox.read_waiting_notices("chat")  # then the prediction's, some days later
    with receiver() as taken:
        Webhook(taken.url()).send_notice(notice)
    alerts = [alert for _, alert in store.alerts.read_alerts("late")]
    said = {
        sample.labels["subject"]: sample.labels["text"]
        for family in alert_families([expose_alerts("late", RULES, alerts, [], {})])
        if family.name.endswith("said_timestamp_seconds")
        for sample in family.samples
    }

    text = taken.bodies[0]["text"].split("\n")
    assert taken.bodies[0]["title"] == "Warning · late · temp is higher since 22 Jan"
    assert text[1] == "Mean 27.8 (×2.8) on 22 Jan, usually 9.11 to 10.8."
    assert text[2:4] == [
        "What that costs is known about 24 Jan.",
        "score is different, too: probably one cause.",
    ]
    (line,) = (line for line in text if line.startswith("- changed (feature:temp)"))
    assert line.endswith("; began 2024-01-22; not chance")
    assert said["feature:temp"].startswith(
        "Something changed: feature:temp, mean 27.2 (×2.7) on 2024-01-28, expected 9.11 to 10.8"
    )
    assert said["score"].startswith(
        "Something changed: score, mean 0.283 (−0.63 sd) on 2024-01-28, expected 0.357 to 0.444"
    )
    assert said["score"].endswith("; 90 % of it in shop=north, which has 44 % of the values")


def test_a_number_in_other_units_is_told_by_its_mean_as_it_is_beside_the_mean_that_was_expected(
    new_store: NewStore,
) -> None:
    log, store = log_of(DAYS, per_day=150), new_store()
    table, at = log.predictions, np.asarray(log.predictions["event_time"])
    values = np.asarray(table["feature:temp"])
    temp = np.where(at >= START + BROKEN * DAY, 100 * values, values)
    table = table.set_column(table.column_names.index("feature:temp"), "feature:temp", pa.array(temp))
    shop = pa.array(["north"] * len(at))
    source = MemorySource(table.append_column("segment:shop", shop), log.labels)
    midnight = START + (BROKEN + 1) * DAY + HOUR

    lived(source, store, [*REGULAR[: REGULAR.index(START + BROKEN * DAY) : 8], midnight])

    (found,) = [one for _, one in store.alerts.read_alerts("late") if one.series.subject == "feature:temp"]
    of_day = (at >= START + BROKEN * DAY) & (at < START + (BROKEN + 1) * DAY)
    before = (at >= START + (BROKEN - 7) * DAY) & (at < START + BROKEN * DAY)
    change = found.breach.change
    assert change is not None
    assert change.in_unit is not None
    assert change.in_unit.observed == pytest.approx(temp[of_day].mean(), rel=1e-6)
    assert change.in_unit.low < values[before].mean() < change.in_unit.high
    assert change_sentence(change, midnight).startswith(
        "mean 1,027 (×100, as in other units) on 2024-01-22, expected 9."
    )


def test_what_is_accepted_ends_with_the_next_cycle_and_not_with_the_next_day(
    source: MemorySource, new_store: NewStore
) -> None:
    store, midnight = new_store(), START + (BROKEN + 2) * DAY
    lived(source, store, [*REGULAR[: REGULAR.index(midnight) : 8], midnight])
    ((_, alert),) = [
        pair for pair in store.alerts.read_alerts("late") if pair[1].series.subject == "feature:temp"
    ]
    detail = make_acceptance(alert, midnight - DAY, midnight, None).detail_json()
    subject = str(alert.series)
    store.events.append_events(
        [HistoryEvent(model="late", at=midnight, kind=ACCEPTED, subject=subject, detail=detail)]
    )

    lived(source, store, [midnight + 12 * HOUR, midnight + DAY])

    ended = {
        one.series.subject: (one.ended, one.resolved_at)
        for _, one in store.alerts.read_alerts("late", ended=True)
    }
    assert ended["feature:temp"] == (EndReason.ACCEPTED, midnight + 12 * HOUR)
    assert len(ended) == len(
        store.alerts.read_alerts("late", ended=True)
    )  # nor does it come again the next day


def test_what_is_accepted_on_the_day_it_was_found_is_said_to_stay_before_and_after_a_restart(
    source: MemorySource, new_store: NewStore
) -> None:
    store, found = new_store(), START + (BROKEN + 1) * DAY
    monitored = monitored_of(source, store, **OPTIONS)
    monitored.cycle(found)
    ((_, alert),) = [
        pair for pair in store.alerts.read_alerts("late") if pair[1].series.subject == "feature:temp"
    ]
    detail, subject = make_acceptance(alert, found - DAY, found, None).detail_json(), str(alert.series)
    store.events.append_events(
        [HistoryEvent(model="late", at=found, kind=ACCEPTED, subject=subject, detail=detail)]
    )

    monitored.cycle(found + DAY)

    said = {
        stored.row.subject: stored.row.measurement
        for stored in store.current.read_current("late", frozenset({EVIDENCE}))
    }
    change = said["feature:temp"].change
    assert change is not None
    assert change.usual_since == "2024-01-22"
    live, restarted = monitored.caches.last, read_watched_parts(monitored.model, monitored.model.store)
    assert live is not None
    assert [one.records for one in restarted.values()] == [one.records for one in live.watched.values()]
    assert [judged(one) for one in restarted.values()] == [judged(one) for one in live.watched.values()]


def judged(part: WatchedPart) -> tuple[list[int], list[float]]:
    """Of the newest day which changes became usual when, and the evidence of each series."""
    assert part.newest is not None
    return part.newest.usual_since.tolist(), part.newest.weighed.large_enough.tolist()


def test_a_version_is_new_once_and_named_alone_also_after_a_restart(new_store: NewStore) -> None:
    """Its panes may be forgotten by then: what was first seen is kept."""
    table = log_of(21, per_day=100).predictions
    day, tenth = (np.asarray(table["event_time"]) - START) // DAY, np.arange(table.num_rows) % 10
    second = (tenth == 0) & ((day == 15) | (day == 19))
    version = np.select([second, (tenth == 1) & (day == 19)], ["v2", "v3"], "v1")
    log = Log(table.append_column("version", pa.array(version)), log_of(1, per_day=1).labels.slice(0, 0))
    reading = replace(READING, versioned=True, labelled=False, horizon=2 * DAY)
    options = OPTIONS | {"reading": reading, "table": reference_rows()}
    for restarts in (False, True):
        store = new_store()
        monitored = monitored_of(log.source(), store, **options)
        for at in range(2, 22):
            if restarts and at == 18:
                monitored = monitored_of(log.source(), store, **options)
            monitored.cycle(START + at * DAY)
        found = {
            (alert.since - START) // DAY: alert.breach.change.category
            for _, alert in store.alerts.read_alerts("late", ended=True)
            if alert.series.subject == "log" and alert.breach.change is not None
        }
        assert found == {16: "v2", 20: "v3"}, restarts
