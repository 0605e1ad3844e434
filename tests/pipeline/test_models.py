"""Models of every kind run through real cycles: without labels, reference, times; of other tasks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from memory import MemorySource
from picking import only
from synthetic import READING, SPEC, START, labels_of, log_of, monitored_of, predictions_of, reference_rows

from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.specs.model_spec import Relation
from monitor.store.sql_store import SqlStore

ONE_DAY = SPEC.windows[:1]
LOG = log_of(6)


def test_a_model_without_labels_has_shift_and_no_performance(fresh_store: SqlStore) -> None:
    reading = replace(READING, labelled=False)
    source = MemorySource(LOG.predictions)
    monitored = monitored_of(
        source, fresh_store, reading=reading, windows=ONE_DAY, labels=None, audit_every=DAY
    )

    monitored.replay(START, START + 3 * DAY, DAY)
    _, rows = monitored.cycle(START + 4 * DAY)

    assert {row.truth for row in rows} == {LabelTruth.NONE}
    assert only(rows, "records", truth=LabelTruth.NONE).measurement.value == 240
    assert only(rows, "stability_index", truth=LabelTruth.NONE, subject="score").measurement.value is not None
    assert {one.part for one in fresh_store.panes.read_pane_facts("late", START)} == {PaneHalf.RECORDS}
    assert fresh_store.panes.read_waiting_panes("late") == []


def test_a_model_without_a_reference_has_performance_and_no_shift(fresh_store: SqlStore) -> None:
    monitored = monitored_of(LOG.source(), fresh_store, reference=False, windows=ONE_DAY)

    monitored.replay(START, START + 5 * DAY, DAY)
    rows = [stored.row for stored in fresh_store.current.read_current("late")]

    assert only(rows, "accuracy", truth=LabelTruth.SETTLED).measurement.value is not None
    missing = only(rows, "stability_index", truth=LabelTruth.NONE, subject="score").measurement
    assert missing.reason is Reason.NO_REFERENCE


def test_without_logged_at_the_lookback_is_read_again_each_cycle(fresh_store: SqlStore) -> None:
    """A row that appears late is found within the lookback, and not beyond it."""
    predictions = LOG.predictions.drop_columns(["logged_at"])
    late = predictions_of(np.asarray([START + DAY + HOUR, START + 3 * DAY + HOUR]), first_id=50_000)
    grown = pa.concat_tables([predictions, late.drop_columns(["logged_at"])])
    monitored = monitored_of(
        MemorySource(predictions, LOG.labels),
        fresh_store,
        windows=ONE_DAY,
        predictions=Relation(table="predictions"),
    )

    monitored.replay(START, START + 4 * DAY, DAY)
    monitored.change(source=MemorySource(grown, LOG.labels))
    monitored.cycle(START + 5 * DAY)

    rows = {
        one.start: one.rows
        for one in fresh_store.panes.read_pane_facts("late", START)
        if one.part is PaneHalf.RECORDS
    }
    assert rows[START + 3 * DAY + HOUR] == 11
    assert rows[START + DAY + HOUR] == 10
    assert fresh_store.states.read_state("late").logged_cursor is None


def test_without_reported_at_labels_within_the_lookback_are_read_again(fresh_store: SqlStore) -> None:
    """What the table holds is what is known: settling needs an age."""
    early = LOG.labels.drop_columns(["reported_at"])
    monitored = monitored_of(
        MemorySource(LOG.predictions, early.slice(0, 300)),
        fresh_store,
        windows=ONE_DAY,
        labels=Relation(table="labels"),
        settle_after=DAY,
    )

    monitored.cycle(START + DAY)
    monitored.change(source=MemorySource(LOG.predictions, early))
    _, rows = monitored.cycle(START + 2 * DAY)

    row = only(rows, "accuracy", truth=LabelTruth.SETTLED)
    assert row.window_end == START + DAY
    assert row.coverage == pytest.approx(0.97, abs=0.03)
    assert fresh_store.panes.read_waiting_panes("late") == []


def regression() -> tuple[ReadingOptions, pa.Table, MemorySource]:
    reading = ReadingOptions(
        task=ModelTask.REGRESSION,
        numeric=("temp",),
        labelled=True,
        time_units=READING.time_units,
        horizon=READING.horizon,
    )
    rng = np.random.default_rng(7)

    def with_prediction(table: pa.Table) -> pa.Table:
        values = rng.normal(30.0, 10.0, table.num_rows)
        return table.drop_columns(["score"]).append_column("prediction", pa.array(values))

    predictions = with_prediction(LOG.predictions)
    truth = dict(zip(predictions["id"].to_pylist(), predictions["prediction"].to_pylist(), strict=True))
    labels = LOG.labels.set_column(
        3, "label", pa.array([truth[name] + 2.0 for name in LOG.labels["id"].to_pylist()])
    )
    reference = with_prediction(reference_rows())
    reference = reference.set_column(
        reference.column_names.index("label"), "label", pa.array(rng.normal(30.0, 10.0, reference.num_rows))
    )
    return reading, reference, MemorySource(predictions, labels)


def test_a_regression_settles_and_is_measured(fresh_store: SqlStore) -> None:
    reading, reference, source = regression()
    monitored = monitored_of(source, fresh_store, reading=reading, table=reference, windows=ONE_DAY)

    monitored.replay(START, START + 6 * DAY, DAY)

    rows = [stored.row for stored in fresh_store.current.read_current("late")]
    measured = only(rows, "mean_squared_error", truth=LabelTruth.SETTLED).measurement
    assert measured.value == pytest.approx(4.0)
    assert fresh_store.panes.read_waiting_panes("late") == []


def test_a_multi_class_model_settles_and_is_measured(fresh_store: SqlStore) -> None:
    reading = ReadingOptions(
        task=ModelTask.MULTICLASS,
        classes=("A", "B", "C"),
        labelled=True,
        time_units=READING.time_units,
        horizon=READING.horizon,
    )
    names = np.asarray(["A", "B", "C"])
    of = {name: names[at % 3] for at, name in enumerate(LOG.predictions["id"].to_pylist())}
    predicted = pa.array([of[name] for name in LOG.predictions["id"].to_pylist()])
    predictions = LOG.predictions.drop_columns(["score"]).append_column("prediction", predicted)
    ids = LOG.labels["id"].to_pylist()
    truth = [
        "A" if at % 10 == 0 else "unheard-of" if at % 97 == 0 else of[name] for at, name in enumerate(ids)
    ]
    source = MemorySource(predictions, LOG.labels.set_column(3, "label", pa.array(truth)))
    monitored = monitored_of(source, fresh_store, reading=reading, reference=False, windows=ONE_DAY)

    monitored.replay(START, START + 6 * DAY, DAY)

    rows = [stored.row for stored in fresh_store.current.read_current("late")]
    settled = only(rows, "accuracy", truth=LabelTruth.SETTLED)
    end = settled.window_end
    event = dict(
        zip(LOG.predictions["id"].to_pylist(), LOG.predictions["event_time"].to_pylist(), strict=True)
    )
    when = LOG.labels["reported_at"].to_pylist()
    mine = [
        label == of[name]
        for name, at, label in zip(ids, when, truth, strict=True)
        if end - DAY <= event[name] < end and at <= START + 6 * DAY
    ]
    assert settled.measurement.n == len(mine)
    assert settled.measurement.value == pytest.approx(sum(mine) / len(mine))


def test_a_new_reference_recounts_the_horizon_and_older_windows_are_partial(fresh_store: SqlStore) -> None:
    reading = replace(READING, horizon=3 * DAY)
    first = monitored_of(LOG.source(), fresh_store, reading=reading)
    first.replay(START, START + 5 * DAY, DAY)
    other = monitored_of(
        LOG.source(), fresh_store, reading=reading, table=reference_rows(300), revise_every=100 * DAY
    )
    assert other.model.counting.records_layout.hash != first.model.counting.records_layout.hash

    _, rows = other.cycle(START + 6 * DAY)

    layouts = {
        one.start: one.layout
        for one in fresh_store.panes.read_pane_facts("late", START)
        if one.part is PaneHalf.RECORDS and one.rows
    }
    recounted = {
        start
        for start, layout in layouts.items()
        if layout == other.model.counting.hash_stored_layout(other.model.counting.records_layout)
    }
    assert min(recounted) == START + 3 * DAY
    warnings = {(row.window, row.warning) for row in rows if row.measure == "records"}
    assert warnings == {("1d", ""), ("7d", "partial")}


def test_a_restart_goes_on_as_if_nothing_had_been(new_store: Callable[[], SqlStore]) -> None:
    """Caches are made of the store alone: a new process reports what the old one would have."""
    first, store = monitored_of(LOG.source(), new_store(), audit_every=3 * DAY), new_store()
    for each in (first, monitored_of(LOG.source(), store, audit_every=3 * DAY)):
        each.replay(START, START + 5 * DAY, DAY)
    second = monitored_of(LOG.source(), store, audit_every=3 * DAY)

    _, again = second.cycle(START + 5 * DAY)
    _, before = first.cycle(START + 5 * DAY)

    assert again == before
    assert second.caches.last is not None
    assert first.caches.last is not None
    assert second.caches.last.settled == first.caches.last.settled


def test_a_reference_of_the_same_rows_changes_nothing(fresh_store: SqlStore) -> None:
    one, other = (reference_of(reference_rows(), READING) for _ in range(2))

    assert one.counting.hash == other.counting.hash


@pytest.mark.parametrize("unit", [0.01, -0.02])
def test_small_corrections_of_a_regression_revise_a_kept_window(unit: float, fresh_store: SqlStore) -> None:
    """No label is as large as one half; a day's are corrected when its window has long settled."""
    reading, reference, source = regression()
    labels = source.labels
    assert labels is not None
    labels = labels.set_column(3, "label", pc.multiply(pc.subtract(labels["label"], 30.0), unit))
    event = dict(zip(*(LOG.predictions[name].to_pylist() for name in ("id", "event_time")), strict=True))
    mine = [START + DAY <= event[name] < START + 2 * DAY for name in labels["id"].to_pylist()]
    corrected = labels.filter(pa.array(mine))
    moment = pa.array(np.full(corrected.num_rows, START + 5 * DAY + HOUR))
    corrected = corrected.set_column(1, "reported_at", moment).set_column(
        3, "label", pc.add(corrected["label"], 0.2 * np.sign(unit))
    )
    predictions = source.predictions
    where = predictions.column_names.index("prediction")
    predicted = pc.multiply(pc.subtract(predictions["prediction"], 30.0), unit)
    source = MemorySource(
        predictions.set_column(where, "prediction", predicted), pa.concat_tables([labels, corrected])
    )
    monitored = monitored_of(source, fresh_store, reading=reading, table=reference, windows=ONE_DAY)

    monitored.replay(START, START + 6 * DAY, DAY)

    history = fresh_store.snapshots.read_snapshot_rows(
        model="late", window="1d", measure="mean_absolute_error"
    )
    errors = [
        (stored.as_of, stored.row.measurement.value)
        for stored in history
        if stored.row.window_end == START + 2 * DAY and stored.row.segment is None and not stored.row.against
    ]
    assert [as_of for as_of, _ in errors[-2:]] == [START + 4 * DAY, START + 6 * DAY]
    before, after = (value for _, value in errors[-2:])
    assert before == pytest.approx(abs(2.0 * unit))
    assert after == pytest.approx(0.2 + abs(2.0 * unit))


def test_classes_that_change_places_revise_a_kept_window(fresh_store: SqlStore) -> None:
    """1 + 3 = 2 + 2: of a day's labels those of the outer classes become the middle one, and back."""
    reading = ReadingOptions(
        task=ModelTask.MULTICLASS,
        classes=("a", "b", "c"),
        labelled=True,
        time_units=READING.time_units,
        horizon=READING.horizon,
    )
    names = LOG.predictions["id"].to_pylist()
    event = dict(zip(names, LOG.predictions["event_time"].to_pylist(), strict=True))
    classes = {name: "acbb"[at % 4] for at, name in enumerate(names)}
    known = LOG.labels["id"].to_pylist()
    labels = LOG.labels.set_column(3, "label", pa.array([classes[name] for name in known]))
    moment = START + 5 * DAY + HOUR
    turned = labels_of(
        [
            (name, moment, 1, {"a": "b", "c": "b"}.get(classes[name], "ac"[at % 2]))
            for at, name in enumerate(name for name in known if START + DAY <= event[name] < START + 2 * DAY)
        ]
    )
    predictions = LOG.predictions.drop_columns(["score"]).append_column(
        "prediction", pa.array([classes[name] for name in names])
    )
    source = MemorySource(predictions, pa.concat_tables([labels, turned]))
    monitored = monitored_of(source, fresh_store, reading=reading, reference=False, windows=ONE_DAY)

    monitored.replay(START, START + 6 * DAY, DAY)

    history = fresh_store.snapshots.read_snapshot_rows(
        model="late", window="1d", measure="accuracy", segment="", version=""
    )
    shares = [
        (stored.as_of, stored.row.measurement.value)
        for stored in history
        if stored.row.window_end == START + 2 * DAY
    ]
    assert shares[-2:] == [(START + 4 * DAY, 1.0), (START + 6 * DAY, 0.0)]
