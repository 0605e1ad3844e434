"""Estimates of segments: those of their rows alone, by what the labels of their rows taught."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from measure_states import (
    LATER,
    PANE,
    binary_reading,
    by_name,
    labels_part,
    records_part,
    reference_of_rows,
    table,
)

from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import learn_from_labels, measure_estimates
from monitor.measures.measure_options import MeasureOptions
from monitor.records.count_records import count_records
from monitor.records.reading import ModelTask, ReadingOptions
from monitor.states.strata import Stratum, select_segments

ASK = MeasureOptions(resamples=0, families=frozenset(MeasureFamily))
CLASSES = ("ant", "bee", "cat")
B = Stratum(segment="town=b")
BINARY = replace(binary_reading(), segments=("town",))
SEVERAL = replace(BINARY, task=ModelTask.MULTICLASS, classes=CLASSES, probabilities=CLASSES, threshold=None)
NUMBERS = ReadingOptions(
    task=ModelTask.REGRESSION, labelled=True, segments=("town",), time_units=BINARY.time_units
)


def rows_of(reading: ReadingOptions, n: int, seed: int) -> pa.Table:
    """Rows of two towns; in b labels are not what the outputs say."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["a", "b"], n)
    columns: dict[str, object] = {"town": pa.array(town.tolist())}
    if reading.task is ModelTask.BINARY:
        score = rng.random(n)
        columns |= {
            "score": score,
            "label": np.where(rng.random(n) < score * np.where(town == "a", 1, 0.5), "1", "0"),
        }
    elif reading.task is ModelTask.MULTICLASS:
        shares = rng.dirichlet((1, 1, 1), n)
        right = np.asarray(CLASSES)[shares.argmax(axis=1)]
        columns |= {f"probability:{name}": one for name, one in zip(CLASSES, shares.T, strict=True)}
        columns["label"] = np.where(rng.random(n) < np.where(town == "a", 0.8, 0.5), right, "ant")
    else:
        prediction = rng.normal(30, 10, n)
        columns |= {"prediction": prediction, "label": prediction + rng.normal(0, 1 + 4 * (town == "b"), n)}
    made = table(**{name: pa.array(column) for name, column in columns.items()})
    return made.rename_columns(["segment:town" if name == "town" else name for name in made.column_names])


@pytest.mark.parametrize("reading", [BINARY, SEVERAL, NUMBERS], ids=["binary", "classes", "numbers"])
def test_a_segment_is_estimated_as_a_model_of_its_rows_alone(reading: ReadingOptions) -> None:
    reference, window = rows_of(reading, 3_000, 1), rows_of(reading, 500, 2)
    made = reference_of_rows(reference, reading)
    records = count_records(window, made.counting, panes=PANE, as_of=LATER)[0].strata
    lesson = learn_from_labels(made.counting, made.label_segments[B], whole=False)

    found = by_name(measure_estimates(made.counting, lesson, records[B], ASK, whole=False))

    alone, now = (
        rows.filter(pa.array(np.asarray(rows["segment:town"]) == "b")) for rows in (reference, window)
    )
    taught = learn_from_labels(made.counting, labels_part(alone, made.counting))
    of_rows = by_name(measure_estimates(made.counting, taught, records_part(now, made.counting), ASK))
    assert found
    assert found == {name: of_rows[name] for name in found}
    assert all(one.value is not None and one.interval is not None for one in found.values())
    assert {one.n for one in found.values()} == {now.num_rows}


def test_arms_and_versions_are_no_segments() -> None:
    strata = [Stratum(), B, Stratum(version="v"), Stratum(segment="group=control"), Stratum(segment="town=a")]

    assert select_segments(strata, [("town", ("a", "b"))]) == [Stratum(segment="town=a"), B]
    assert select_segments(strata, []) == []
