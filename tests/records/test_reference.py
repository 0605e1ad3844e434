"""A reference: its grids and its own counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from strategies import reading_of, table_of

from monitor.core.errors import SourceError
from monitor.records.reading import ReadingOptions
from monitor.records.reference import make_plain_counting, reference_of
from monitor.states.grids import CategoryGrid, NumericGrid


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    """Return rows of columns; "__" stands for ":"."""
    named = {name.replace("__", ":"): found for name, found in columns.items()}
    return [dict(zip(named, values, strict=True)) for values in zip(*named.values(), strict=True)]


def referenced(reading: ReadingOptions, **columns: list[Any]) -> Any:
    """Return the reference of a table of these columns."""
    found = rows(**columns)
    return reference_of(table_of(found, list(found[0])), reading)


def test_a_reference_counts_its_own_records_and_labels() -> None:
    reference = referenced(
        reading_of("binary"),
        score=["0.1", "0.6", None, "1.7"],
        prediction=["0", "1", "1", None],
        label=["0", "1", None, "what"],
        feature__width=["1", "2", "x", None],
        feature__color=["red", "red", "blue", None],
    )

    counting = reference.counting
    score = counting.histogram_view(reference.records, "score")
    assert (score.n, score.missing, score.invalid) == (4, 1, 1)
    assert counting.histogram_view(reference.records, "feature:width").counts[-3:].tolist() == [0, 1, 1]
    assert counting.histogram_view(reference.labels, "label").counts.tolist() == [1, 1, 0, 0, 1, 1]
    assert counting.confusion_view(reference.labels).counts.sum() == 2
    assert reference.records.layout == counting.records_layout


def test_levels_of_fewer_than_ten_records_are_not_named() -> None:
    reference = referenced(
        reading_of("classes"), prediction=["0"] * 19, feature__color=["red"] * 10 + ["blue"] * 9
    )

    grid = reference.counting.output_grids["feature:color"]
    assert isinstance(grid, CategoryGrid)
    assert grid.levels == ("red",)
    assert reference.counting.histogram_view(reference.records, "feature:color").counts.tolist() == [
        10,
        9,
        0,
        0,
        0,
    ]


def test_classes_come_from_the_reference_where_none_are_configured() -> None:
    reading = replace(reading_of("classes"), classes=())

    reference = referenced(reading, prediction=["b", "1.0", None], label=["a", "true", "b"])

    assert reference.counting.reading.classes == ("1", "a", "b")


def test_a_regression_has_no_classes_whatever_numbers_its_reference_holds() -> None:
    reference = referenced(reading_of("regression"), prediction=["1", "2.5"], label=["1", "3"])

    assert reference.counting.reading.classes == ()
    assert reference.counting.labels_layout.blocks_by_name["delays"].shape[0] == 1


def test_classes_may_be_known_from_probabilities_alone() -> None:
    reading = replace(reading_of("multiclass"), classes=(), probabilities=("1.0", "a"))

    reference = referenced(reading, **{"probability:1.0": ["0.3"], "probability:a": ["0.7"]})

    assert reference.counting.reading.classes == ("1", "a")
    assert reference.counting.histogram_view(reference.records, "prediction").counts.tolist() == [
        0,
        1,
        0,
        0,
        0,
        0,
    ]


def test_a_reference_may_lack_an_output_a_label_or_a_feature() -> None:
    reference = referenced(reading_of("binary"), feature__width=["1", "2", "3"])

    counting = reference.counting
    assert [name for name, _ in counting.features] == ["feature:width".removeprefix("feature:")]
    assert counting.score == make_plain_counting(reading_of("binary")).score
    assert counting.histogram_view(reference.records, "score").n == 0
    assert counting.histogram_view(reference.records, "prediction").n == 0
    assert counting.label is not None
    assert counting.histogram_view(reference.labels, "label").n == 0


def test_the_order_of_a_reference_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    columns = {
        "label": rng.normal(5, 3, 99),
        "prediction": rng.normal(5, 3, 99),
        "feature:width": rng.random(99),
    }
    found = [{name: repr(float(values[at])) for name, values in columns.items()} for at in range(99)]

    one, other = (
        reference_of(table_of(order, list(columns)), reading_of("regression"))
        for order in (found, found[::-1])
    )

    assert one.counting.hash == other.counting.hash
    assert (one.records, one.labels) == (other.records, other.labels)


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        (["0", "10"], 4.0),
        (["-1e300", "1e300"], 2.0**250),
        (["0", "1e-300"], 2.0**-250),
        (["0", "5e-324"], 2.0**-250),
        (["0.1", "0.1", "0.1"], 1.0),
        (["x", None], 1.0),
    ],
)
def test_the_scale_is_the_power_of_two_at_the_labels_deviation(
    labels: list[str | None], scale: float
) -> None:
    reference = referenced(reading_of("regression"), label=labels, prediction=["1"] * len(labels))

    assert reference.counting.scale == scale


def test_without_a_reference_scores_are_uniform_and_features_are_not_counted() -> None:
    counting = make_plain_counting(reading_of("binary"))

    assert counting.features == ()
    assert isinstance(counting.score, NumericGrid)
    assert counting.score.regular_size == 2_048
    assert counting.prediction == CategoryGrid(("0", "1")) == counting.label


@pytest.mark.parametrize("kind", ["regression", "unlabelled", "classes"])
def test_without_a_reference_every_task_has_its_grids(kind: str) -> None:
    counting = make_plain_counting(replace(reading_of(kind), scale=3.0))

    assert (counting.label is None) == (kind == "unlabelled")
    assert (counting.score is None) == (kind != "unlabelled")
    assert counting.scale == 2.0
    assert counting.records_layout.size > 0 < counting.labels_layout.size


def test_more_classes_than_are_measured_are_refused_with_their_number() -> None:
    names = [f"c{at}" for at in range(1_001)]

    with pytest.raises(SourceError, match=r"^the reference has 1,001 classes, at most 1,000 are measured"):
        referenced(replace(reading_of("classes"), classes=()), prediction=names)


def test_grids_that_differ_have_different_hashes() -> None:
    hashes = {
        make_plain_counting(reading).hash
        for reading in (
            reading_of("binary"),
            replace(reading_of("binary"), classes=("0", "2")),
            replace(reading_of("binary"), score_range=(0.0, 2.0)),
            reading_of("unlabelled"),
            reading_of("regression"),
            replace(reading_of("regression"), scale=8.0),
        )
    }

    assert len(hashes) == 6
