"""Alerts of real cycles: fired by a fault in the log, kept with their evidence, the same however they ran."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from numpy.typing import NDArray
from shift_rules import faulty_values, own_rules, volume_rule
from synthetic import START, log_of, monitored_of, rows_of

from monitor.alerts.alert_rules import ACCEPTED, BreachCondition, LimitBase, Rule, RuleLimit
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.lifecycle import Alert, AlertState, EndReason, make_acceptance
from monitor.alerts.rule_backtest import backtest_rules, skip_superseded_rows, summarize_rules
from monitor.alerts.verdicts import rule_measures
from monitor.core.clock import DAY, HOUR, ticks_between
from monitor.core.measurement import DetailTable
from monitor.measures.measurement_row import MeasurementRow
from monitor.records.reading import ModelTask
from monitor.specs.stored_rows import HistoryEvent
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
DAYS = 11
ENDS = START + DAYS * DAY
FAULTY = range(5, 8)  # days on which scores and a feature are not what they were
DAILY = (replace(parse_window("1d", HOUR), step=12 * HOUR),)
DEFAULT = default_rules(
    RuleGrounds(
        task=ModelTask.BINARY,
        windows=tuple((window.name, window.length, window.step) for window in DAILY),
        score=True,
        labels=True,
        reference=True,
        horizon=20 * DAY,
    )
)
RULES = tuple(  # the log is as short as they keep firing
    replace(rule, keep_firing_for=0) for rule in (*DEFAULT, *own_rules("1d"))
)
EACH = Rule(
    name="each",
    measure="stability_index",
    condition=BreachCondition(above=RuleLimit(2.0, LimitBase.CRITICAL)),
    subject="feature:*",
    window="1d",
    hold=DAY,
    keep_firing_for=12 * HOUR,
)


def without(table: pa.Table, feature: str, faulty: NDArray[np.bool_]) -> pa.Table:
    """The log without a feature's values on some rows."""
    name = f"feature:{feature}"
    values = pa.array(np.asarray(table[name]), mask=faulty)
    return table.set_column(table.column_names.index(name), name, values)


def days_of(table: pa.Table) -> NDArray[np.int64]:
    """Day of the log on which each row is."""
    return np.asarray((np.asarray(table["event_time"]) - START) // DAY)


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log of which the scores are low and a feature is missing for three days."""
    log = log_of(DAYS, per_day=120)
    table, day = log.predictions, days_of(log.predictions)
    faulty = (day >= FAULTY.start) & (day < FAULTY.stop)
    score = np.where(faulty, np.asarray(table["score"]) / 3, np.asarray(table["score"]))
    table = table.set_column(table.column_names.index("score"), "score", pa.array(score))
    return MemorySource(without(table, "temp", faulty), log.labels)


def lived(
    source: MemorySource,
    store: SqlStore,
    *,
    every: int = 12 * HOUR,
    shown: bool = True,
    restarts: bool = False,
    rules: tuple[Rule, ...] = (*RULES, EACH),
) -> dict[str, Alert]:
    """Last alerts by rule and subject after cycles over the whole log."""
    options: dict[str, Any] = {"rules": rules, "windows": DAILY, "every": every}
    monitored = monitored_of(source, store, **options)
    for moment in ticks_between(START + 2 * DAY, ENDS, every):
        if restarts:
            monitored = monitored_of(source, store, **options)
        monitored.cycle(moment, shown=shown)
    return {str(alert.series): alert for _, alert in store.alerts.read_alerts("late", ended=True)}


def test_a_fault_fires_and_ends_the_same_however_cycles_are_run(
    source: MemorySource, new_store: NewStore
) -> None:
    live, replayed, restarted = new_store(), new_store(), new_store()

    found = lived(source, live)
    lived(source, replayed, shown=False)
    lived(source, restarted, restarts=True)

    _fired_and_ended_with_the_fault(found)
    _names_what_moved(found)
    _is_kept(found, live)
    expected = rows_of(live)
    assert rows_of(replayed)["alerts"] == expected["alerts"]
    assert rows_of(replayed)["snapshots"] == expected["snapshots"]
    assert rows_of(restarted) == expected


def _fired_and_ended_with_the_fault(found: dict[str, Alert]) -> None:
    assert set(found) == {
        "score_shift/1d/score",
        "prediction_shift/1d/prediction",
        "missing_values/1d/feature:*",
        "feature_shift/1d/feature:*",
        "feature_far_off/1d/feature:temp",
        "each/1d/feature:temp",
    }
    assert {(alert.state, alert.ended) for alert in found.values()} == {
        (AlertState.RESOLVED, EndReason.CLEARED)
    }
    for name in ("score_shift/1d/score", "missing_values/1d/feature:*"):
        alert = found[name]
        assert alert.fired_at is not None
        assert alert.resolved_at is not None
        assert FAULTY.start * DAY < alert.fired_at - START <= (FAULTY.start + 1) * DAY
        assert FAULTY.stop * DAY < alert.resolved_at - START <= (FAULTY.stop + 1) * DAY
    held = found["each/1d/feature:temp"]
    assert held.fired_at is not None
    assert held.fired_at - held.since >= EACH.hold


def _names_what_moved(found: dict[str, Alert]) -> None:
    cells, features = (
        found[name].breach.cause for name in ("score_shift/1d/score", "missing_values/1d/feature:*")
    )

    assert cells is not None
    assert "contribution" in cells.columns
    assert features is not None
    assert features.rows[0][0] == "feature:temp"


def _is_kept(found: dict[str, Alert], store: SqlStore) -> None:
    kept = {
        (stored.as_of, stored.row.window_end, stored.row.measure)
        for stored in store.snapshots.read_snapshot_rows("late")
    }
    measures = {rule.name: rule.measure for rule in (*RULES, EACH)}
    for alert in found.values():
        assert (alert.resolved_at, alert.verdict.window_end, measures[alert.series.rule]) in kept


def test_a_cycle_that_is_run_again_changes_no_alert(source: MemorySource, fresh_store: SqlStore) -> None:
    monitored = monitored_of(source, fresh_store, rules=RULES, windows=DAILY)
    for moment in ticks_between(START + 4 * DAY, START + 7 * DAY, DAY):
        monitored.cycle(moment)
    before = rows_of(fresh_store)

    monitored_of(source, fresh_store, rules=RULES, windows=DAILY).cycle(START + 7 * DAY)

    assert before["alerts"]
    assert rows_of(fresh_store) == before


def test_without_rules_alerts_that_stood_end(source: MemorySource, fresh_store: SqlStore) -> None:
    monitored = monitored_of(source, fresh_store, rules=RULES, windows=DAILY)
    for moment in ticks_between(START + 4 * DAY, START + 7 * DAY, DAY):
        monitored.cycle(moment)

    monitored_of(source, fresh_store, windows=DAILY).cycle(START + 8 * DAY)

    assert fresh_store.alerts.read_alerts("late") == []
    ended = {alert.ended for _, alert in fresh_store.alerts.read_alerts("late", ended=True)}
    assert ended >= {EndReason.REMOVED}


def test_the_ages_of_log_and_labels_grow_when_they_stop(source: MemorySource, fresh_store: SqlStore) -> None:
    rules = tuple(rule for rule in RULES if rule.name in {"log_stopped", "labels_stopped"})
    monitored = monitored_of(source, fresh_store, rules=rules, windows=DAILY)
    last = ENDS

    rows: list[MeasurementRow] = []
    for moment in (ENDS - DAY, last, last + 2 * DAY, last + 20 * DAY):
        _, rows = monitored.cycle(moment)

    ages = {row.measure: row.measurement.value for row in rows if row.measure in {"log_age", "label_age"}}
    assert ages["log_age"] == pytest.approx(20 * 86_400, abs=1_800)
    assert {str(alert.series): alert.state for _, alert in fresh_store.alerts.read_alerts("late")} == {
        "log_stopped": AlertState.FIRING,
        "labels_stopped": AlertState.FIRING,
    }


def test_a_backtest_finds_the_alerts_that_there_were(source: MemorySource, fresh_store: SqlStore) -> None:
    found = lived(source, fresh_store, every=DAY)  # each tick's windows are kept

    kept = fresh_store.snapshots.stream_measures("late", rule_measures((*RULES, EACH)), (START, ENDS))
    alerts, judged = backtest_rules((*RULES, EACH), skip_superseded_rows(kept))

    assert {str(alert.series): _life(alert) for alert in alerts} == {
        name: _life(alert) for name, alert in found.items() if alert.fired_at is not None
    }
    assert found
    assert judged["score_shift"] == DAYS - 2
    assert judged["log_stopped"] == 0
    one = {summary.rule: summary for summary in summarize_rules(RULES, alerts, judged, (START, ENDS))}[
        "score_shift"
    ]
    alert = found["score_shift/1d/score"]
    assert alert.resolved_at is not None
    assert alert.fired_at is not None
    assert (one.fired, one.firing, one.longest) == (1, *[alert.resolved_at - alert.fired_at] * 2)
    assert one.per_month == pytest.approx(30 / DAYS)


def _life(alert: Alert) -> tuple[object, ...]:
    return (alert.since, alert.fired_at, alert.resolved_at, alert.ended, alert.breach.value)


def test_a_log_that_falls_silent_after_busy_weeks_has_too_small_a_volume(fresh_store: SqlStore) -> None:
    monitored = monitored_of(
        log_of(16, per_day=480).source(), fresh_store, rules=(volume_rule("1d"),), windows=DAILY
    )

    monitored.cycle(START + 16 * DAY)
    _, rows = monitored.cycle(START + 17 * DAY)

    (found,) = (row.measurement for row in rows if row.measure == "volume_ratio")
    assert (found.value, found.n) == (0.0, 0)
    assert found.interval is not None
    assert 0.0 == found.interval.lower < found.interval.upper < 0.5
    assert [alert.state for _, alert in fresh_store.alerts.read_alerts("late")] == [AlertState.FIRING]


def test_what_is_accepted_of_a_share_hides_no_other_feature(fresh_store: SqlStore) -> None:
    log = log_of(DAYS, per_day=120)
    first = without(log.predictions, "temp", days_of(log.predictions) >= 4)  # from then on
    both = without(first, "carrier", days_of(first) == 7)
    rules = (faulty_values("missing", window="1d"),)
    monitored = monitored_of(MemorySource(both, log.labels), fresh_store, rules=rules, windows=DAILY)

    states = {}
    for day in range(4, DAYS + 1):
        monitored.cycle(START + day * DAY)
        standing = [alert for _, alert in fresh_store.alerts.read_alerts("late")]
        states[day] = [(alert.breach.cause or DetailTable((), ())).rows[0][0] for alert in standing]
        if day == 5:
            (alert,) = standing
            at = START + day * DAY
            detail = make_acceptance(alert, at - DAY, at, None).detail_json()
            subject = str(alert.series)
            fresh_store.events.append_events(
                [HistoryEvent(model="late", at=at, kind=ACCEPTED, subject=subject, detail=detail)]
            )

    assert states == {
        **{day: [] for day in (4, 6, 7)},
        5: ["feature:temp"],
        **{day: ["feature:carrier"] for day in (8, 9, 10, 11)},  # not accepted: it is kept for a week
    }
    ended = [alert.ended for _, alert in fresh_store.alerts.read_alerts("late", ended=True)]
    assert ended == [EndReason.ACCEPTED, None]
