"""Comparisons that go on: every settled record enters once, and what is corrected later is not taken back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from synthetic import READING, START, Log, Monitored, log_of, monitored_of

from monitor.core.array_types import Bools, Floats
from monitor.core.clock import DAY, HOUR, to_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.records.reading import ChallengerOutput, ComparedArms, ModelTask
from monitor.specs.model_table import ChallengerTable, Control
from monitor.store.sql_store import SqlStore

COMPARED = replace(
    READING,
    arms=ComparedArms(column="arm", control="c", treatment="t"),
    challenger=ChallengerOutput(column="other", threshold=0.5),
)
CONTROL = Control(arm_column="arm", control_value="c", treatment_value="t", control_share=0.3, detect=0.05)


def compared_log(days: int = 8, per_day: int = 480) -> Log:
    """A third of the records are controls; the challenger's scores are the champion's, disturbed."""
    log = log_of(days, per_day=per_day, delay=lambda rng, event: rng.integers(HOUR, 30 * HOUR, len(event)))
    rng, n = np.random.default_rng(7), log.predictions.num_rows
    arms = np.where(rng.random(n) < 0.3, "c", "t")
    score = np.clip(np.asarray(log.predictions["score"]) + rng.normal(0, 0.1, n), 0, 1)
    table = log.predictions.append_column("arm", pa.array(arms)).append_column("challenger", pa.array(score))
    return Log(table, log.labels)


def model(store: SqlStore, log: Log, control: Control | None = CONTROL, **options: Any) -> Monitored:
    source = log.source()
    return monitored_of(source, store, reading=COMPARED, settle_after=2 * DAY, control=control, **options)


def going_on(rows: list[MeasurementRow]) -> dict[str, Measurement]:
    found = {row.measure: row.measurement for row in rows if row.window == CUMULATIVE}
    assert len(found) == sum(row.window == CUMULATIVE for row in rows)
    return found


def frame(log: Log, start: int, end: int) -> tuple[Bools, Bools, Floats, Floats]:
    """Control, actual class and both scores of the labelled records of a span."""
    joined = log.predictions.to_pandas().merge(log.labels.to_pandas(), on="id")
    joined = joined[(joined["event_time"] >= start) & (joined["event_time"] < end)]
    columns = (joined["arm"] == "c", joined["label"] == "1", joined["score"], joined["challenger"])
    control, actual, score, challenger = (column.to_numpy() for column in columns)
    return control, actual, score, challenger


def test_all_that_has_settled_is_compared(fresh_store: SqlStore) -> None:
    log = compared_log()

    _, rows = model(fresh_store, log).cycle(START + 7 * DAY + 2 * HOUR)

    found, (control, actual, score, challenger) = going_on(rows), frame(log, START, START + 5 * DAY)
    difference = found["outcome_rate_difference_always_valid"]
    assert difference.value == pytest.approx(actual[~control].mean() - actual[control].mean())
    assert difference.n == len(actual)
    right = ((score >= 0.5) == actual, (challenger >= 0.5) == actual)
    assert found["challenger_p_value_always_valid"].n == len(actual)
    assert {
        row.window_end for row in rows if row.window == CUMULATIVE and row.truth is LabelTruth.SETTLED
    } == {START + 5 * DAY}
    assert int((right[0] != right[1]).sum()) > 100
    seen = log.predictions.to_pandas()
    seen = seen[seen["event_time"] < START + 7 * DAY]
    assert found["control_record_share"].value == pytest.approx((seen["arm"] == "c").mean())
    assert (found["sample_ratio_p_value_always_valid"].value or 0.0) > 0.5


def test_a_window_compares_champion_and_challenger_too(fresh_store: SqlStore) -> None:
    log = compared_log()

    _, rows = model(fresh_store, log).cycle(START + 7 * DAY)

    settled = {
        (row.window, row.measure): row
        for row in rows
        if row.truth is LabelTruth.SETTLED and row.window == "1d"
    }
    row = settled["1d", "challenger_accuracy_difference"]
    _, actual, score, challenger = frame(log, row.window_end - DAY, row.window_end)
    expected = ((challenger >= 0.5) == actual).mean() - ((score >= 0.5) == actual).mean()
    assert row.measurement.value == pytest.approx(expected)
    assert ("1d", "outcome_rate_ratio") in settled


def test_the_weeks_behind_a_difference_are_told(fresh_store: SqlStore) -> None:
    log = compared_log(12)

    _, rows = model(fresh_store, log).cycle(START + 11 * DAY)

    detail = going_on(rows)["outcome_rate_difference_always_valid"].detail
    assert detail is not None
    assert detail.columns == ("week", "control", "control_n", "treatment", "treatment_n")
    assert [row[0] for row in detail.rows] == ["2024-01-01", "2024-01-08"]
    control, actual, *_ = frame(log, START, START + 7 * DAY)
    assert detail.rows[0][1:] == pytest.approx(
        (actual[control].mean(), control.sum(), actual[~control].mean(), (~control).sum())
    )


def test_cycle_by_cycle_and_after_restarts_the_sums_are_those_of_one_cycle(
    new_store: Callable[[], SqlStore],
) -> None:
    log, stores = compared_log(), [new_store() for _ in range(2)]
    until = START + 8 * DAY

    for day in range(1, 9):  # a process of its own for each cycle
        model(stores[0], log).replay(START, START + day * DAY, DAY)
    model(stores[1], log).cycle(until)

    sums = [[replace(one, as_of=0) for one in store.ledger.read_entries("late")] for store in stores]
    assert sums[0] == sums[1]
    assert len(sums[0]) == 2 * 6 + 8
    _, rows = model(stores[0], log).cycle(until + HOUR)
    _, expected = model(stores[1], log).cycle(until + HOUR)
    assert going_on(rows) == going_on(expected)


def test_later_corrections_change_windows_but_not_the_sums(fresh_store: SqlStore) -> None:
    log = compared_log()
    model(fresh_store, log).replay(START, START + 7 * DAY, DAY)
    before = fresh_store.ledger.read_entries("late")
    seen = log.predictions.to_pandas()
    day = seen[seen["event_time"] < START + DAY]["id"].tolist()

    corrected = log.with_labels(*((name, START + 7 * DAY + HOUR, 5, "1") for name in day))
    model(fresh_store, corrected).replay(START, START + 8 * DAY, DAY)

    after = fresh_store.ledger.read_entries("late")
    assert [one for one in after if one.as_of < START + 8 * DAY] == before
    first = next(one for one in after if one.comparison == "outcome")
    assert first.entered[0] < first.entered[1]


def test_nothing_enters_before_since_and_nothing_twice(fresh_store: SqlStore) -> None:
    control = CONTROL.model_copy(update={"since": START + 3 * DAY + HOUR})
    challenger = ChallengerTable().model_copy(update={"since": START + 2 * DAY})

    model(fresh_store, compared_log(), control, challenger=challenger).replay(START, START + 8 * DAY, DAY)

    starts: dict[str, list[str]] = {}
    for one in fresh_store.ledger.read_entries("late"):
        starts.setdefault(one.comparison, []).append(to_iso(one.start)[:10])
    assert starts == {
        "challenger": ["2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06"],
        "outcome": ["2024-01-05", "2024-01-06"],
        "sample_ratio": ["2024-01-05", "2024-01-06", "2024-01-07", "2024-01-08"],
    }


def test_another_size_that_matters_begins_a_new_test(fresh_store: SqlStore) -> None:
    log = compared_log()
    model(fresh_store, log).replay(START, START + 7 * DAY, DAY)

    model(fresh_store, log, CONTROL.model_copy(update={"detect": 0.02})).replay(START, START + 8 * DAY, DAY)

    keys = {one.key for one in fresh_store.ledger.read_entries("late") if one.comparison == "outcome"}
    assert len(keys) == 2


def test_entries_are_kept_as_snapshots_once(fresh_store: SqlStore) -> None:
    model(fresh_store, compared_log()).replay(START, START + 8 * DAY, DAY)

    kept = fresh_store.snapshots.read_snapshot_rows(
        "late", window=CUMULATIVE, measure="control_p_value_always_valid"
    )

    ends = [stored.row.window_end for stored in kept]
    assert ends == [START + day * DAY for day in range(1, 7)]


def test_without_what_is_planned_or_settled_there_is_a_reason_or_nothing(fresh_store: SqlStore) -> None:
    log = compared_log(2)

    _, rows = model(fresh_store, log, control=None).cycle(START + DAY)

    found = going_on(rows)
    assert "control_record_share" not in found
    assert found["outcome_rate_difference_always_valid"].reason is Reason.NOT_CONFIGURED
    assert found["challenger_log_evidence"].reason is Reason.NO_LABELS
    assert fresh_store.ledger.read_entries("late") == []


def test_days_without_records_enter_as_nothing(fresh_store: SqlStore) -> None:
    log = compared_log()
    event = np.asarray(log.predictions["event_time"])
    gap = (event >= START + 2 * DAY) & (event < START + 3 * DAY)

    model(fresh_store, Log(log.predictions.filter(pa.array(~gap)), log.labels)).replay(
        START, START + 8 * DAY, DAY
    )

    entered = {
        one.comparison: one.entered
        for one in fresh_store.ledger.read_entries("late")
        if one.start == START + 2 * DAY
    }
    assert sorted(entered) == ["challenger", "outcome", "sample_ratio"]
    assert not any(any(counts) for counts in entered.values())


def test_arms_without_labels_are_compared_by_their_shares(fresh_store: SqlStore) -> None:
    log, reading = compared_log(3), replace(COMPARED, labelled=False, challenger=None)
    monitored = monitored_of(log.source(), fresh_store, reading=reading, reference=False, control=CONTROL)

    _, rows = monitored.cycle(START + 2 * DAY)

    assert set(going_on(rows)) == {"control_record_share", "sample_ratio_p_value_always_valid"}


def test_outcomes_that_are_not_tested_are_summed_all_the_same(fresh_store: SqlStore) -> None:
    _, rows = model(fresh_store, compared_log(), None).cycle(START + 7 * DAY)

    difference = going_on(rows)["outcome_rate_difference_always_valid"]
    assert difference.reason is Reason.NOT_CONFIGURED
    assert difference.n > 1_000
    assert difference.detail is not None


def test_outcomes_of_numbers_are_summed_exactly(fresh_store: SqlStore) -> None:
    log = compared_log()
    rng = np.random.default_rng(2)
    number = np.round(rng.normal(10.0, 2.0, log.labels.num_rows), 3)
    labels = log.labels.set_column(3, "label", pa.array(number.astype(str)))
    predictions = log.predictions.drop_columns(["challenger"]).rename_columns(
        ["prediction" if name == "score" else name for name in log.predictions.column_names[:-1]]
    )
    reading = replace(
        COMPARED, task=ModelTask.REGRESSION, classes=(), has_score=False, threshold=None, challenger=None
    )
    numbers = Log(predictions, labels)
    monitored = monitored_of(
        numbers.source(), fresh_store, reference=False, reading=reading, settle_after=2 * DAY, control=CONTROL
    )

    _, rows = monitored.cycle(START + 7 * DAY)

    found = going_on(rows)["outcome_mean_difference_always_valid"]
    joined = predictions.to_pandas().merge(labels.to_pandas(), on="id")
    joined = joined[joined["event_time"] < START + 5 * DAY]
    value = joined["label"].astype(float)
    expected = value[joined["arm"] == "t"].mean() - value[joined["arm"] == "c"].mean()
    assert found.value == pytest.approx(expected, rel=1e-9)
    assert found.detail is not None
    assert found.detail.columns[:4] == ("week", "control", "control_sd", "control_n")
    assert found.detail.rows[0][2] == pytest.approx(value[joined["arm"] == "c"].std())


def test_of_several_classes_each_is_compared_and_the_challengers_class(fresh_store: SqlStore) -> None:
    log, names = compared_log(), np.asarray(["a", "b", "c"])
    rng = np.random.default_rng(3)
    champion, challenger = (rng.choice(names, log.predictions.num_rows) for _ in range(2))
    truth = rng.choice(names, log.labels.num_rows, p=[0.2, 0.3, 0.5])
    predictions = log.predictions.drop_columns(["score", "challenger"])
    predictions = predictions.append_column("prediction", pa.array(champion.tolist()))
    predictions = predictions.append_column("challenger", pa.array(challenger.tolist()))
    several = Log(predictions, log.labels.set_column(3, "label", pa.array(truth.tolist())))
    reading = replace(
        COMPARED,
        task=ModelTask.MULTICLASS,
        classes=("a", "b", "c"),
        has_score=False,
        threshold=None,
        challenger=ChallengerOutput(column="other"),
    )
    monitored = monitored_of(
        several.source(), fresh_store, reference=False, reading=reading, settle_after=2 * DAY, control=CONTROL
    )

    _, rows = monitored.cycle(START + 7 * DAY)

    found = {(row.measure, row.subject): row.measurement for row in rows if row.window == CUMULATIVE}
    joined = several.predictions.to_pandas().merge(several.labels.to_pandas(), on="id")
    joined = joined[joined["event_time"] < START + 5 * DAY]
    for name in names.tolist():
        rate = (joined["label"] == name).groupby(joined["arm"]).mean()
        difference = found["outcome_rate_difference_always_valid", f"class:{name}"]
        assert difference.value == pytest.approx(rate["t"] - rate["c"])
        assert (difference.n, difference.interval is not None) == (len(joined), True)
        assert (found["control_p_value_always_valid", f"class:{name}"].value or 0.0) > 0.05
    right = [joined[who] == joined["label"] for who in ("prediction", "challenger")]
    b, c = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
    evidence = stats.betabinom.logpmf(c, b + c, 0.5, 0.5) - stats.binom.logpmf(c, b + c, 0.5)
    assert found["challenger_log_evidence", ""].value == pytest.approx(evidence)
