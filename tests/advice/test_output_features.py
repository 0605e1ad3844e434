"""A feature that is an output of the model is warned of; one that only goes with it is not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from monitor.advice.output_features import output_features
from monitor.records.reading import ModelTask, ReadingOptions

RNG = np.random.default_rng(7)
N = 500
SCORE = RNG.random(N)
BINARY = ReadingOptions(
    task=ModelTask.BINARY,
    classes=("0", "1"),
    has_score=True,
    score_range=(0.0, 1.0),
    threshold=0.5,
    names=(("score", "p"),),
)
DECIDED = replace(BINARY, threshold=None)
REGRESSION = ReadingOptions(task=ModelTask.REGRESSION, names=(("prediction", "est"),))
CLASSES = np.asarray(["a", "b", "c"])[RNG.integers(0, 3, N)]


def told(reading: ReadingOptions, **columns: Any) -> list[str]:
    table = pa.table({name.replace("__", ":"): pa.array(values) for name, values in columns.items()})
    return list(output_features(table, reading, "table: in the rows looked at"))


@pytest.mark.parametrize(
    "same", [SCORE, SCORE.round(4), -100 * SCORE, [f"{100 * each:.3f}" for each in SCORE]]
)
def test_a_feature_that_ranks_as_the_score_does_is_warned_of(same: Any) -> None:
    (warning,) = told(BINARY, score=SCORE, feature__risk=same)

    assert warning.startswith('table: in the rows looked at the feature "risk" ranks records as "p" (score)')
    assert warning.endswith("take it out of [models.features]")


def test_a_copy_of_a_predicted_number_is_warned_of() -> None:
    value = np.exp(9 + SCORE)

    (warning,) = told(REGRESSION, prediction=value, feature__est_price=value.round(2))

    assert (
        'the feature "est_price" ranks records as "est" (prediction) does: rank correlation 1.000' in warning
    )


@pytest.mark.parametrize("at", [0.3, 0.5])
@pytest.mark.parametrize("words", [("no", "yes"), (0.0, 1.0)])
def test_a_decision_by_the_score_is_warned_of_whatever_the_configured_threshold(
    at: float, words: Any
) -> None:
    decided = np.where(at <= SCORE, words[1], words[0])

    (warning,) = told(BINARY, score=SCORE, feature__approved=decided)

    assert f"from there on, in all of {N} rows" in warning
    assert (
        'write [models.predictions] prediction = "approved", and take it out of [models.features]' in warning
    )


def test_the_predicted_class_in_other_words_is_warned_of() -> None:
    words = {"a": "x", "b": "y", "c": "z"}
    reading = ReadingOptions(
        task=ModelTask.MULTICLASS, classes=("a", "b", "c"), names=(("prediction", "said"),)
    )

    (warning,) = told(reading, prediction=CLASSES, feature__copy=[words[each] for each in CLASSES])

    assert 'the feature "copy" has a value of its own for each predicted class' in warning


def test_what_only_goes_with_an_output_is_a_feature() -> None:
    near = SCORE + RNG.normal(0, 0.03, N)
    mostly = np.where(RNG.random(N) < 0.02, SCORE < 0.5, SCORE >= 0.5)

    assert told(BINARY, score=SCORE, feature__near=near, feature__mostly=mostly.astype(float)) == []
    assert told(BINARY, score=SCORE, feature__constant=["a"] * N, feature__none=pa.nulls(N)) == []
    assert told(DECIDED, score=SCORE, prediction=["1"] * N, feature__constant=["a"] * N) == []
    assert told(REGRESSION, prediction=SCORE[:40], feature__few=SCORE[:40]) == []
    assert list(output_features(None, BINARY, "")) == []
