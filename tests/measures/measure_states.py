"""States of small examples, counted by the real counting functions."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from scipy import stats

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.shift import stability_index
from monitor.measures.shift.shift_cells import ExpectedCells, ShiftSubject
from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.records.reference import Reference, make_plain_counting, reference_of
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.states.views import CellHistogram

PANE = np.zeros(1, dtype=np.int64)
LATER = 10**15


def table(**columns: object) -> pa.Table:
    """Table of role-named columns (`feature_x` for `feature:x`), an id and the event time 0 added."""
    named = {name.replace("feature_", "feature:"): pa.array(column) for name, column in columns.items()}
    n = len(next(iter(named.values())))
    named.setdefault("id", pa.array([str(number) for number in range(n)], pa.string()))
    named.setdefault("event_time", pa.array(np.zeros(n, dtype=np.int64)))
    return pa.table({name: pa.chunked_array([column]) for name, column in named.items()})


def labels_part(rows: pa.Table, counting: Counting) -> Counters:
    """Labels part of one pane that holds all rows."""
    whole = count_labels(rows, counting, panes=PANE, as_of=LATER)[0].strata.get(WHOLE)
    return whole or Counters.make_empty(counting.labels_layout)


def records_part(rows: pa.Table, counting: Counting) -> Counters:
    """Records part of one pane that holds all rows."""
    whole = count_records(rows, counting, panes=PANE, as_of=LATER)[0].strata.get(WHOLE)
    return whole or Counters.make_empty(counting.records_layout)


def binary_counting(*, threshold: float = 0.5) -> Counting:
    """Counting of a binary model with probabilities and without a reference; classes "0" and "1"."""
    return make_plain_counting(binary_reading(threshold=threshold))


def binary_reading(*, threshold: float = 0.5) -> ReadingOptions:
    """Reading of a binary model with probabilities."""
    return ReadingOptions(
        task=ModelTask.BINARY,
        classes=("0", "1"),
        has_score=True,
        score_range=(0.0, 1.0),
        threshold=threshold,
        labelled=True,
        time_units=(("event_time", "us"), ("reported_at", "us")),
    )


def scored(scores: Sequence[float] | Floats, labels: Sequence[object] | Ints, counting: Counting) -> Counters:
    """Labels part of a binary model."""
    texts = [None if label is None else str(label) for label in labels]
    return labels_part(
        table(score=pa.array(scores, pa.float64()), label=pa.array(texts, pa.string())), counting
    )


def measures_of_scores(
    scores: Sequence[float] | Floats, labels: Sequence[int] | Ints, options: MeasureOptions
) -> dict[str, Measurement]:
    """Performance of a binary model with probabilities."""
    counting = binary_counting()
    return by_name(measure_performance(counting, scored(scores, labels, counting), options))


def class_counting(classes: tuple[str, ...]) -> Counting:
    """Counting of a model that predicts classes and has no score: binary where there are two."""
    task = ModelTask.BINARY if len(classes) == 2 else ModelTask.MULTICLASS
    units = (("event_time", "us"), ("reported_at", "us"))
    return make_plain_counting(ReadingOptions(task=task, classes=classes, labelled=True, time_units=units))


def classified(actual: Sequence[str], predicted: Sequence[str], counting: Counting) -> Counters:
    """Labels part of a model that predicts classes."""
    rows = table(label=pa.array(actual, pa.string()), prediction=pa.array(predicted, pa.string()))
    return labels_part(rows, counting)


def probability_counting(classes: tuple[str, ...]) -> Counting:
    """Counting of a model of several classes with their probabilities and without a reference."""
    reading = replace(binary_reading(), task=ModelTask.MULTICLASS, classes=classes, probabilities=classes)
    return make_plain_counting(replace(reading, threshold=None))


def probability_columns(classes: Sequence[str], shares: Floats) -> Mapping[str, object]:
    """Columns of class probabilities, shape (records, classes)."""
    columns = zip(classes, shares.T, strict=True)
    return {f"probability:{name}": pa.array(column, pa.float64()) for name, column in columns}


def of_matrix(classes: tuple[str, ...], matrix: Sequence[Sequence[int]]) -> tuple[Counting, Counters]:
    """Labels part of a confusion matrix: rows actual, columns predicted."""
    counting = class_counting(classes)
    actual = [name for name, row in zip(classes, matrix, strict=True) for _ in range(sum(row))]
    predicted = [
        name for row in matrix for name, count in zip(classes, row, strict=True) for _ in range(count)
    ]
    return counting, classified(actual, predicted, counting)


def number_counting(scale: float = 1.0) -> Counting:
    """Counting of a regression model without a reference."""
    units = (("event_time", "us"), ("reported_at", "us"))
    return make_plain_counting(
        ReadingOptions(task=ModelTask.REGRESSION, labelled=True, scale=scale, time_units=units)
    )


def numbered(
    predictions: Sequence[float] | Floats, labels: Sequence[float] | Floats, counting: Counting
) -> Counters:
    """Labels part of a regression model."""
    rows = table(prediction=pa.array(predictions, pa.float64()), label=pa.array(labels, pa.float64()))
    return labels_part(rows, counting)


def measures_of_numbers(
    predictions: Sequence[float] | Floats, labels: Sequence[float] | Floats, counting: Counting | None = None
) -> dict[str, Measurement]:
    """Performance of a regression model; without a counting that of `number_counting`."""
    counting = counting or number_counting()
    return by_name(measure_performance(counting, numbered(predictions, labels, counting), MeasureOptions()))


def reference_of_rows(rows: pa.Table, reading: ReadingOptions) -> Reference:
    """Reference of rows made by `table`."""
    return reference_of(rows.drop_columns(["id", "event_time"]), reading)


def raw_distance(first: Floats, second: Floats) -> float:
    """SciPy's K-S distance of raw values; its p-value, of which it may warn, is not wanted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(stats.ks_2samp(first, second, method="asymp").statistic)


def expected_of(reference: CellHistogram) -> ExpectedCells:
    """A reference of a single subject."""
    return ExpectedCells((ShiftSubject("", reference.grid, 0),), reference.counts)


def compare(
    reference: CellHistogram, current: CellHistogram, options: MeasureOptions
) -> dict[str, Measurement]:
    """All measures of one subject's shift, by name."""
    assert reference.grid == current.grid
    positions = np.arange(len(current.counts))
    return by_name(
        list(stability_index.stability_results(expected_of(reference), positions, current.counts, options))
    )


def by_name(results: Sequence[MeasureResult]) -> dict[str, Measurement]:
    """Measurements by name, "name subject" where there is a subject."""
    named = {f"{result.measure} {result.subject}".strip(): result.measurement for result in results}
    assert len(named) == len(results)
    return named
