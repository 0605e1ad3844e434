"""Estimates through real cycles: of the newest window, and what they erred by once it has settled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from picking import picked
from synthetic import READING, START, Log, log_of, monitored_of, reference_rows

from monitor.core.clock import DAY, HOUR, ticks_between
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.pipeline.caches import ModelCaches
from monitor.pipeline.windows.calibration_maps import CalibrationMaps
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

ONE_DAY = (parse_window("1d", HOUR, DAY),)
AREA, ERROR = "estimated_roc_auc", "estimated_roc_auc_error"


def test_the_newest_window_is_estimated_and_the_settled_one_says_by_how_much_it_erred(
    fresh_store: SqlStore,
) -> None:
    monitored = monitored_of(log_of(12, per_day=480).source(), fresh_store, windows=ONE_DAY)
    estimates: dict[int, float] = {}
    settled: list[int] = []
    for as_of in ticks_between(START, START + 12 * DAY, DAY):
        rows = monitored.cycle(as_of)[1]
        for row in picked(rows, AREA):
            assert row.truth is LabelTruth.NONE
            assert row.measurement.value is not None
            estimates[row.window_end] = row.measurement.value
        for row in picked(rows, ERROR):
            (actual,) = [one for one in picked(rows, "roc_auc") if one.truth is LabelTruth.SETTLED]
            assert row.truth is LabelTruth.SETTLED
            assert (row.window_end, row.coverage) == (actual.window_end, actual.coverage)
            assert actual.measurement.value is not None
            expected = estimates[row.window_end] - actual.measurement.value
            assert row.measurement.value == pytest.approx(expected, abs=1e-12)
            settled.append(row.window_end)

    assert len(set(settled)) >= 5
    kept = [stored.row for stored in fresh_store.snapshots.read_snapshot_rows(model="late", measure=ERROR)]
    assert {row.window_end for row in kept} >= set(settled)


def test_without_labels_in_the_reference_what_has_settled_before_a_window_teaches(
    fresh_store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_from: list[tuple[int, int]] = []
    maps = ModelCaches.maps_once

    def recorded(caches: ModelCaches, span: tuple[int, int], *given: Any) -> CalibrationMaps:
        learned_from.append(span)
        return maps(caches, span, *given)

    monkeypatch.setattr(ModelCaches, "maps_once", recorded)
    table = reference_rows().drop_columns(["label"])
    monitored = monitored_of(log_of(12, per_day=480).source(), fresh_store, windows=ONE_DAY, table=table)
    reasons: list[Reason | None] = []
    errors: list[MeasurementRow] = []
    for as_of in ticks_between(START, START + 12 * DAY, DAY):
        rows = monitored.cycle(as_of)[1]
        reasons += [row.measurement.reason for row in picked(rows, AREA)]
        errors += picked(rows, ERROR)

    assert reasons[0] is Reason.NOT_SETTLED
    assert reasons[-1] is None
    assert errors[-1].measurement.value == pytest.approx(0, abs=0.1)
    assert learned_from
    assert all(START - DAY <= start < end <= START + 10 * DAY for start, end in learned_from)


def test_a_restart_estimates_alike(fresh_store: SqlStore) -> None:
    table, source = reference_rows().drop_columns(["label"]), log_of(9, per_day=480).source()
    ends = list(ticks_between(START, START + 9 * DAY, DAY))
    running = monitored_of(source, fresh_store, windows=ONE_DAY, table=table)
    for as_of in ends:
        before = running.cycle(as_of)[1]

    after = monitored_of(source, fresh_store, windows=ONE_DAY, table=table).cycle(ends[-1])[1]

    for name in (AREA, ERROR):
        assert picked(after, name) == picked(before, name) != []


def test_a_model_without_labels_has_no_estimates(fresh_store: SqlStore) -> None:
    reading = replace(READING, labelled=False)
    table = reference_rows().drop_columns(["label"])
    monitored = monitored_of(
        log_of(3).source(), fresh_store, windows=ONE_DAY, reading=reading, table=table, labels=None
    )

    rows = monitored.cycle(START + 3 * DAY)[1]

    assert rows
    assert not [row for row in rows if row.measure.startswith("estimated_")]


def test_a_segment_is_estimated_by_its_own_labels(fresh_store: SqlStore) -> None:
    """In town b labels of the reference say nothing of the scores."""
    reading = replace(READING, segments=("town",), numeric=(), categorical=())
    log, reference = log_of(5, per_day=480), reference_rows(3_000)
    towns = np.where(np.arange(reference.num_rows) % 3 == 0, "b", "a")
    coin = np.random.default_rng(3).random(reference.num_rows) < 0.5
    labels = np.where(towns == "b", np.where(coin, "1", "0"), np.asarray(reference["label"]))
    reference = reference.drop_columns(["label"]).append_column("label", pa.array(labels.tolist()))
    reference = reference.append_column("segment:town", pa.array(towns.tolist()))
    several = pa.array((["a", "b", "c"] * log.predictions.num_rows)[: log.predictions.num_rows])
    predictions = log.predictions.append_column("segment:town", several)
    source = Log(predictions, log.labels).source()
    monitored = monitored_of(source, fresh_store, windows=ONE_DAY, reading=reading, table=reference)

    rows = [monitored.cycle(as_of)[1] for as_of in ticks_between(START, START + 2 * DAY, DAY)][-1]

    found = {row.segment: row for row in rows if row.measure == AREA and row.version is None}
    values = {segment: row.measurement.value for segment, row in found.items()}
    assert found.keys() == {None, "town=a", "town=b", "town=other"}
    assert values["town=b"] == pytest.approx(0.5, abs=0.06)
    assert values["town=a"] == pytest.approx(0.7, abs=0.06)
    assert found["town=other"].measurement.reason is Reason.NO_LABELS
    assert {row.measure for row in rows if row.segment == "town=b"} >= {"estimated_accuracy", AREA}
    assert not [row for row in rows if row.measure == ERROR and row.segment is not None]
