"""Labels that come for some predictions only: a reason and what to write, or a comparison of these alone."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from picking import only
from synthetic import READING as USUAL
from synthetic import START, Log, Monitored, log_of, monitored_of, reference_rows

from monitor.core.clock import DAY
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ReadingOptions
from monitor.store.sql_store import SqlStore

READING = replace(USUAL, horizon=8 * DAY)  # the log is older: what coverage labels reach is known
END = START + 12 * DAY
Keep = Callable[[np.ndarray], np.ndarray]


def everybody(score: np.ndarray) -> np.ndarray:
    return np.ones(len(score), dtype=bool)


def negatives(score: np.ndarray) -> np.ndarray:
    """All that are predicted negative, and very few others."""
    return (score < 0.5) | (np.random.default_rng(3).random(len(score)) < 0.03)


def labelled(log: Log, keep: Keep) -> Log:
    score = np.asarray(log.predictions["score"])
    return log.without(labels_of=np.asarray(log.predictions["id"])[~keep(score)].tolist())


def monitored(
    store: SqlStore, keep: Keep, *, reading: ReadingOptions = READING, known: Keep = everybody
) -> Monitored:
    """Twelve days; labels of the log, and of the reference, only for those that are kept."""
    table = reference_rows(4_000)
    label = pa.array(np.asarray(table["label"]), mask=~known(np.asarray(table["score"])))
    table = table.set_column(table.column_names.index("label"), "label", label)
    return monitored_of(
        labelled(log_of(12), keep).source(), store, reading=reading, table=table, settle_after=2 * DAY
    )


def cycled(monitored: Monitored) -> list[MeasurementRow]:
    rows: list[MeasurementRow] = []
    for day in (10, 11, 12):
        _, rows = monitored.cycle(START + day * DAY)
    return rows


def settled(rows: list[MeasurementRow], measure: str, **more: str) -> MeasurementRow:
    of_window = [row for row in rows if row.window == "7d" and row.truth is LabelTruth.SETTLED]
    return only(of_window, measure, **more)


def test_coverage_is_told_of_each_predicted_class(fresh_store: SqlStore) -> None:
    rows = cycled(monitored(fresh_store, negatives))

    negative, positive = (settled(rows, "coverage", subject=f"class:{name}").measurement for name in "01")
    assert negative.value is not None
    assert negative.value > 0.9
    assert positive.value is not None
    assert positive.value < 0.1
    assert negative.n + positive.n == settled(rows, "coverage").measurement.n


@pytest.mark.parametrize("truth", [LabelTruth.SETTLED, LabelTruth.PROVISIONAL])
def test_a_reference_of_everybody_is_no_measure_for_those_that_get_labels(
    fresh_store: SqlStore, truth: LabelTruth
) -> None:
    rows = cycled(monitored(fresh_store, negatives))

    of_window = [row for row in rows if row.truth is truth and row.window == "7d"]
    compared = [row for row in of_window if row.against == "reference"]
    assert compared
    assert {row.measurement.reason for row in compared} == {Reason.SELECTIVE_LABELS}
    detail = compared[0].measurement.detail
    assert detail is not None
    assert dict(zip(detail.columns, detail.rows[0], strict=True)) == {
        "because": 'labels come for predictions of "0" and hardly for others: they are compared with all',
        "write": '[models.labels] only_for = ["0"]',
    }


def test_labels_and_estimates_are_not_compared_either(fresh_store: SqlStore) -> None:
    rows = cycled(monitored(fresh_store, negatives))

    of_labels = settled(rows, "stability_index", subject="label")
    assert of_labels.measurement.reason is Reason.SELECTIVE_LABELS
    assert settled(rows, "estimated_roc_auc_error").measurement.reason is Reason.SELECTIVE_LABELS


@pytest.mark.parametrize("known", [everybody, negatives])
def test_with_the_key_both_sides_are_of_these_predictions_alone(fresh_store: SqlStore, known: Keep) -> None:
    reading = replace(READING, only_for=("0",))

    model = monitored(fresh_store, negatives, reading=reading, known=known)
    rows = cycled(model)

    accuracy = settled(rows, "roc_auc", against="reference").measurement
    assert accuracy.value is not None
    assert accuracy.interval is not None
    assert accuracy.interval.lower < 0 < accuracy.interval.upper
    coverage = settled(rows, "coverage").measurement
    assert coverage.value is not None
    assert coverage.value > 0.9
    assert not [row for row in rows if row.measure == "coverage" and row.subject == "class:1"]


def test_estimates_are_of_these_predictions_alone_and_are_confirmed(fresh_store: SqlStore) -> None:
    rows = cycled(monitored(fresh_store, negatives, reading=replace(READING, only_for=("0",))))

    newest = [row for row in rows if row.window == "7d" and row.truth is LabelTruth.NONE]
    records, estimate = only(newest, "records"), only(newest, "estimated_accuracy")
    error = settled(rows, "estimated_accuracy_error")
    assert estimate.measurement.n < 0.8 * (records.measurement.value or 0)
    assert error.measurement.interval is not None
    assert error.measurement.interval.lower < 0 < error.measurement.interval.upper


@pytest.mark.parametrize("keep", [everybody, negatives])
def test_labels_are_compared_with_a_reference_whose_labels_are_alike(
    fresh_store: SqlStore, keep: Keep
) -> None:
    rows = cycled(monitored(fresh_store, keep, known=keep))

    assert settled(rows, "roc_auc", against="reference").measurement.value is not None


def test_a_class_whose_labels_are_only_slower_is_not_taken_for_one_without(fresh_store: SqlStore) -> None:
    def slower(rng: np.random.Generator, event: np.ndarray) -> np.ndarray:
        return np.where(rng.random(len(event)) < 0.5, DAY // 2, 4 * DAY)

    source = log_of(12, delay=slower).source()
    rows = cycled(monitored_of(source, fresh_store, reading=READING, table=reference_rows(4_000)))

    assert not [row for row in rows if row.measurement.reason is Reason.SELECTIVE_LABELS]


def test_another_choice_counts_the_labels_again(fresh_store: SqlStore) -> None:
    before = monitored(fresh_store, negatives)
    before.cycle(END)
    after = monitored(fresh_store, negatives, reading=replace(READING, only_for=("0",)))

    report, rows = after.cycle(END + DAY)

    assert report.error is None
    young = [row for row in rows if row.window == "7d" and row.truth is LabelTruth.PROVISIONAL]
    assert only(young, "coverage").measurement.n < 0.8 * 7 * 240
