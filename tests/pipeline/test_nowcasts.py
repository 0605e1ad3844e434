"""Windows by the labels so far: nearer to what comes, absent where it is too early, kept, judged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from picking import only, picked
from synthetic import READING, START, Log, Monitored, monitored_of, predictions_of

from monitor.alerts.alert_rules import BreachCondition, Rule, RuleLimit
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Reason
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ModelTask
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

DAYS, NOW = 60, START + 50 * DAY
WINDOWS = (parse_window("1d", HOUR), parse_window("10d", HOUR))


def slow_positives(*, by_score: float = 0.0, seed: int = 1) -> Log:
    """Negatives are known after a day, positives after five; with `by_score` high scores later still."""
    rng = np.random.default_rng(seed)
    event = START + np.arange(DAYS * 300) * (DAY // 300)
    predictions = predictions_of(event, seed=seed)
    score = np.asarray(predictions["score"])
    late = rng.random(len(event)) < score
    days = rng.gamma(2.0, np.where(late, 2.5, 0.5)) * np.exp(by_score * (score - 0.4))
    labels = pa.table(
        {
            "id": predictions["id"],
            "reported_at": pa.array(event + (np.minimum(days, 19.0) * DAY).astype(np.int64), pa.int64()),
            "revision": pa.array(np.zeros(len(event)), pa.float64()),
            "label": pa.array(np.where(late, "1", "0"), pa.string()),
        }
    )
    return Log(predictions, labels)


def model(log: Log, store: SqlStore, **options: Any) -> Monitored:
    return monitored_of(log.source(), store, **{"windows": WINDOWS, **options})


def told(
    rows: list[MeasurementRow], measure: str, truth: LabelTruth = LabelTruth.NOWCAST, **at: Any
) -> MeasurementRow:
    return only(rows, measure, truth=truth, **{"window": "10d", **at})


@pytest.fixture(scope="module")
def log() -> Log:
    return slow_positives()


def final(log: Log, start: int, end: int) -> float:
    event = np.asarray(log.predictions["event_time"])
    inside = (event >= start) & (event < end)
    return float(np.mean(np.asarray(log.labels["label"])[inside] == "1"))


def test_a_nowcast_is_near_to_what_comes_where_the_raw_value_is_far_off(
    log: Log, fresh_store: SqlStore
) -> None:
    monitored = model(log, fresh_store)

    _, rows = monitored.cycle(NOW)

    raw, row = told(rows, "base_rate", LabelTruth.PROVISIONAL), told(rows, "base_rate")
    truth = final(log, NOW - 10 * DAY, NOW)
    assert raw.measurement.value is not None
    assert row.measurement.value is not None
    assert row.measurement.interval is not None
    assert raw.measurement.value < truth - 0.1
    assert abs(row.measurement.value - truth) < 0.04
    assert row.measurement.interval.lower < truth < row.measurement.interval.upper
    assert raw.measurement.interval is not None
    assert raw.measurement.interval.upper < truth
    assert row.coverage == raw.coverage
    mine = [row for row in rows if row.truth is LabelTruth.NOWCAST]
    assert all(ModelTask.BINARY in BY_NAME[row.measure].nowcast for row in mine if not row.against)
    assert all(row.is_of_whole for row in mine)


def test_a_window_whose_labels_are_mostly_to_come_is_too_early(log: Log, fresh_store: SqlStore) -> None:
    _, rows = model(log, fresh_store).cycle(NOW)

    assert {
        row.measurement.reason for row in rows if row.truth is LabelTruth.NOWCAST and row.window == "1d"
    } == {Reason.TOO_EARLY}


def test_of_a_young_log_nothing_is_told(log: Log, fresh_store: SqlStore) -> None:
    """Of delays longer than the log is old nothing is known."""
    _, rows = model(log, fresh_store).cycle(START + 10 * DAY)

    assert told(rows, "accuracy").measurement.reason is Reason.TOO_EARLY


def test_of_a_class_whose_delays_are_hardly_known_nothing_is_told(log: Log, fresh_store: SqlStore) -> None:
    label = np.where(np.arange(log.labels.num_rows) % 500 == 0, "1", "0")
    rare = Log(log.predictions, log.labels.set_column(3, "label", pa.array(label, pa.string())))

    _, rows = model(rare, fresh_store).cycle(NOW)

    assert told(rows, "accuracy").measurement.reason is Reason.TOO_EARLY


def test_a_silent_feed_makes_panes_too_early_not_their_class_rare(log: Log, fresh_store: SqlStore) -> None:
    """Nothing is reported in the last six days: what they hold is left out, not taken for all there is."""
    heard = np.asarray(log.labels["reported_at"]) < NOW - 6 * DAY
    silent = Log(log.predictions, log.labels.filter(pa.array(heard)))

    _, rows = model(silent, fresh_store).cycle(NOW)

    assert told(rows, "base_rate").measurement.reason is Reason.TOO_EARLY


def test_a_nowcast_is_held_against_the_reference_and_against_earlier_windows(
    log: Log, fresh_store: SqlStore
) -> None:
    _, rows = model(log, fresh_store, against=("previous",)).cycle(NOW)

    for against in ("reference", "previous"):
        row = told(rows, "roc_auc", against=against)
        assert row.measurement.value is not None
        assert row.measurement.interval is not None
        assert row.measurement.interval.lower < 0.0 < row.measurement.interval.upper


def test_a_process_that_starts_again_tells_the_same(log: Log, fresh_store: SqlStore) -> None:
    monitored = model(log, fresh_store)
    for back in (2 * DAY, DAY, HOUR):
        monitored.cycle(NOW - back)
    _, rows = monitored.cycle(NOW)
    _, again = monitored.other().cycle(NOW)

    first, second = ([row for row in each if row.truth is LabelTruth.NOWCAST] for each in (rows, again))
    assert first == second != []


def test_nowcasts_are_kept_with_the_provisional_values_and_shown_beside_them(
    log: Log, fresh_store: SqlStore
) -> None:
    monitored = model(log, fresh_store, windows=WINDOWS[1:])
    monitored.replay(NOW - 3 * DAY, NOW, DAY)

    every, known = (
        [
            stored.row
            for stored in fresh_store.snapshots.read_snapshot_rows(
                model="late", measure="accuracy", as_of=moment
            )
        ]
        for moment in (None, NOW)
    )
    kept, as_of = ([row for row in rows if row.window_end == NOW] for rows in (every, known))

    assert (
        {row.truth for row in kept}
        == {LabelTruth.PROVISIONAL, LabelTruth.NOWCAST}
        == {row.truth for row in as_of}
    )


@pytest.mark.parametrize("shown", [True, False])
def test_a_rule_on_nowcasts_is_judged_in_each_cycle(shown: bool, log: Log, fresh_store: SqlStore) -> None:  # noqa: FBT001 -- a parameter of the test
    rule = Rule(
        name="rare",
        measure="base_rate",
        condition=BreachCondition(below=RuleLimit(0.9)),
        window="10d",
        truth="nowcast",
    )
    monitored = model(log, fresh_store, rules=(rule,))

    monitored.cycle(NOW, shown=shown)

    [(_, alert)] = fresh_store.alerts.read_alerts("late")
    assert alert.series.rule == "rare"


@pytest.mark.parametrize(("by_score", "warning"), [(0.0, ""), (2.0, "delay_by_score")])
def test_delays_that_follow_the_score_within_a_class_are_warned_of(
    by_score: float, warning: str, fresh_store: SqlStore
) -> None:
    _, rows = model(slow_positives(by_score=by_score), fresh_store).cycle(NOW)

    assert {row.warning for row in picked(rows, "accuracy", truth=LabelTruth.NOWCAST, window="10d")} == {
        warning
    }


def test_numbers_are_told_pane_by_pane(fresh_store: SqlStore) -> None:
    """The error grows from day to day: the raw one hangs on the old days, whose labels are in."""
    rng = np.random.default_rng(3)
    event = START + np.arange(DAYS * 300) * (DAY // 300)
    prediction = rng.normal(size=len(event))
    error = rng.normal(size=len(event)) * np.where(event < NOW - 5 * DAY, 1.0, 3.0)
    predictions = (
        predictions_of(event).drop_columns(["score"]).append_column("prediction", pa.array(prediction))
    )
    days = rng.gamma(2.0, 1.5, len(event))
    labels = pa.table(
        {
            "id": predictions["id"],
            "reported_at": pa.array(event + (np.minimum(days, 19.0) * DAY).astype(np.int64), pa.int64()),
            "revision": pa.array(np.zeros(len(event)), pa.float64()),
            "label": pa.array(prediction - error),
        }
    )
    reading = replace(READING, task=ModelTask.REGRESSION, classes=(), has_score=False, threshold=None)
    monitored = monitored_of(
        Log(predictions, labels).source(), fresh_store, windows=WINDOWS, reading=reading, reference=False
    )

    _, rows = monitored.cycle(NOW)

    raw, row = (
        told(rows, "mean_absolute_error", truth).measurement
        for truth in (LabelTruth.PROVISIONAL, LabelTruth.NOWCAST)
    )
    inside = (event >= NOW - 10 * DAY) & (event < NOW)
    final_error = float(np.abs(error[inside]).mean())
    assert raw.value is not None
    assert row.value is not None
    assert abs(row.value - final_error) < abs(raw.value - final_error) / 2
