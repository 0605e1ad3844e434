"""Shift of settled labels in real cycles: the rule on it, other moments, versions with references."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from picking import picked
from scipy import special
from shift_rules import shift_rule
from synthetic import (
    READING,
    START,
    Monitored,
    labels_of,
    log_of,
    monitored_of,
    predictions_of,
    reference_rows,
)

from monitor.alerts.lifecycle import AlertState
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.core.measurement import Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reference import count_on_grids
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

DAILY = (replace(parse_window("1d", HOUR), step=DAY),)
PER_DAY, CHANGE = 240, START + 4 * DAY
READ = replace(READING, numeric=(), categorical=())
RULES = (shift_rule("label", window="1d"),)


def source(days: int = 7, *, version: bool = False) -> MemorySource:
    """A log in which nine in ten are late from the change on, whatever the score; labels come at once."""
    event = START + np.arange(days * PER_DAY) * (DAY // PER_DAY)
    table = predictions_of(event, seed=3)
    late = np.random.default_rng(4).random(len(event)) < np.where(
        event < CHANGE, np.asarray(table["score"]), 0.9
    )
    if version:
        table = table.append_column("version", pa.array(np.where(event < CHANGE, "v1", "v2")))
    ids = table["id"].to_pylist()
    told = zip(ids, (event + MINUTE).tolist(), late.astype(int).tolist(), strict=True)
    return MemorySource(table, labels_of([(name, at, 0, str(label)) for name, at, label in told]))


def model(log: MemorySource, store: SqlStore, **options: Any) -> Monitored:
    told: dict[str, Any] = {"reading": READ, "windows": DAILY, "settle_after": 2 * HOUR, "every": DAY}
    return monitored_of(log, store, **told | options)


def index(rows: Iterable[MeasurementRow], against: str = "") -> list[MeasurementRow]:
    return picked(rows, "stability_index", subject="label", against=against)


def lived(monitored: Monitored, first: int = 2, last: int = 7) -> list[MeasurementRow]:
    rows: list[MeasurementRow] = []
    for day in range(first, last + 1):
        _, rows = monitored.cycle(START + day * DAY + 3 * HOUR)
    return rows


def base_rates(log: MemorySource, reference: pa.Table, day: int) -> list[Any]:
    assert log.labels is not None
    first = (day - 1) * PER_DAY
    late = np.asarray(log.labels["label"].to_pylist()[first : first + PER_DAY]) == "1"
    then = np.asarray(reference["label"].to_pylist()) == "1"
    return [np.array([(~side).sum() + 0.5, side.sum() + 0.5]) for side in (then, late)]


def test_it_is_measured_once_the_labels_are_settled(fresh_store: SqlStore) -> None:
    log = source()

    rows = lived(model(log, fresh_store))

    (row,) = index(rows)
    q, p = (side / side.sum() for side in base_rates(log, reference_rows(), 7))
    wanted = float((special.rel_entr(p, q) + special.rel_entr(q, p)).sum())
    assert (row.truth, row.window_end, row.measurement.n) == (LabelTruth.SETTLED, START + 7 * DAY, PER_DAY)
    assert row.measurement.value == pytest.approx(wanted)
    assert row.measurement.detail is not None
    assert [
        stored.row.truth for stored in fresh_store.snapshots.read_snapshot_rows("late") if index([stored.row])
    ] == [LabelTruth.SETTLED] * 7


def test_a_rule_on_it_fires_when_base_rates_change(fresh_store: SqlStore) -> None:
    lived(model(source(), fresh_store, rules=RULES))

    ((_, alert),) = fresh_store.alerts.read_alerts("late")
    assert (str(alert.series), alert.state) == ("label_shift/1d/label", AlertState.FIRING)
    assert CHANGE < (alert.fired_at or 0) <= CHANGE + DAY + 3 * HOUR
    assert alert.breach.cause is not None


def test_a_rule_on_it_is_silent_while_base_rates_stay(fresh_store: SqlStore) -> None:
    lived(model(log_of(6).source(), fresh_store, rules=RULES, settle_after=None), last=6)

    assert fresh_store.alerts.read_alerts("late", ended=True) == []


def test_labels_are_compared_with_those_of_an_earlier_window(fresh_store: SqlStore) -> None:
    monitored = model(source(), fresh_store, against=("previous",))

    across, after = lived(monitored, last=5), lived(monitored, first=6)

    ((before,), (then,)) = index(across, "previous"), index(after, "previous")
    assert (before.measurement.value or 0.0) > 0.5
    assert abs(then.measurement.value or 1.0) < 0.1
    first = index(model(source(), fresh_store).cycle(START + 7 * DAY + 3 * HOUR)[1], "previous")
    assert first == []


def test_an_earlier_window_that_was_not_counted_is_named(fresh_store: SqlStore) -> None:
    monitored = model(source(), fresh_store, against=("previous",))

    rows = lived(monitored, first=1, last=1)

    (row,) = index(rows, "previous")
    assert row.measurement.reason is Reason.NOT_COUNTED


def test_versions_with_references_of_their_own_are_compared_with_these(fresh_store: SqlStore) -> None:
    monitored = model(source(version=True), fresh_store, reading=replace(READ, versioned=True))
    second = reference_rows()
    late = np.where(np.random.default_rng(5).random(second.num_rows) < 0.9, "1", "0")
    second = second.set_column(second.column_names.index("label"), "label", pa.array(late))
    own = {"v2": count_on_grids(second, monitored.model.counting)}

    (alone,) = index(lived(monitored, last=6))
    (row,) = index(monitored.other(version_references=own).cycle(START + 7 * DAY + 3 * HOUR)[1])

    assert (alone.measurement.value or 0.0) > 0.5
    assert (row.measurement.value or 1.0) < 0.1


def test_without_the_family_of_shift_there_is_none(fresh_store: SqlStore) -> None:
    monitored = model(source(), fresh_store, families=frozenset({MeasureFamily.ESTIMATE}))

    assert index(lived(monitored)) == []


def test_a_revision_tells_what_was_compared_with_other_moments_too(fresh_store: SqlStore) -> None:
    log, end = source(5), START + 3 * DAY
    monitored = model(log, fresh_store, against=("previous",), revise_every=HOUR)
    lived(monitored, first=2, last=4)

    flipped = [
        (f"p{at}", START + 4 * DAY + 4 * HOUR, 1, "1") for at in range(2 * PER_DAY, 3 * PER_DAY)
    ]  # of the third day
    log.labels = pa.concat_tables([log.labels, labels_of(flipped)])
    lived(monitored, first=5, last=5)

    kept = [row for as_of, row in history(fresh_store, end) if as_of > START + 5 * DAY]
    told = {(row.measure, row.subject, row.against): row.measurement.value or 0.0 for row in kept}
    assert told["stability_index", "label", ""] > 1.0
    assert told["stability_index", "label", "previous"] > 1.0
    assert told["base_rate", "", "previous"] == pytest.approx(
        told["base_rate", "", ""] - base_rate(fresh_store, end - DAY)
    )


def history(store: SqlStore, end: int) -> list[tuple[int, MeasurementRow]]:
    return [
        (stored.as_of, stored.row)
        for stored in store.snapshots.read_snapshot_rows("late")
        if stored.row.window_end == end
    ]


def base_rate(store: SqlStore, end: int) -> float:
    (value,) = {
        row.measurement.value
        for _, row in history(store, end)
        if (row.measure, row.against) == ("base_rate", "")
    }
    return value or 0.0
