"""A feature that is an output of the model is warned of; one that only goes with it is not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kept_texts import compare_cases

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


def decided(at: float, no: Any, yes: Any) -> Any:
    return np.where(at <= SCORE, yes, no)


@pytest.mark.texts
def test_what_is_said_of_features_that_are_outputs() -> None:
    words = {"a": "x", "b": "y", "c": "z"}
    classes = ReadingOptions(
        task=ModelTask.MULTICLASS, classes=("a", "b", "c"), names=(("prediction", "said"),)
    )
    price = np.exp(9 + SCORE)
    cases = {
        "the score": told(BINARY, score=SCORE, feature__risk=SCORE),
        "the score, rounded": told(BINARY, score=SCORE, feature__risk=SCORE.round(4)),
        "the score, reversed": told(BINARY, score=SCORE, feature__risk=-100 * SCORE),
        "the score, as text": told(
            BINARY, score=SCORE, feature__risk=[f"{100 * each:.3f}" for each in SCORE]
        ),
        "the predicted number": told(REGRESSION, prediction=price, feature__est_price=price.round(2)),
        "a decision": told(BINARY, score=SCORE, feature__approved=decided(0.5, "no", "yes")),
        "a decision at another threshold": told(
            BINARY, score=SCORE, feature__approved=decided(0.3, 0.0, 1.0)
        ),
        "the predicted class": told(
            classes, prediction=CLASSES, feature__copy=[words[each] for each in CLASSES]
        ),
    }

    compare_cases("check_output_features", cases.items())


def test_what_only_goes_with_an_output_is_a_feature() -> None:
    near = SCORE + RNG.normal(0, 0.03, N)
    mostly = np.where(RNG.random(N) < 0.02, SCORE < 0.5, SCORE >= 0.5)

    assert told(BINARY, score=SCORE, feature__near=near, feature__mostly=mostly.astype(float)) == []
    assert told(BINARY, score=SCORE, feature__constant=["a"] * N, feature__none=pa.nulls(N)) == []
    assert told(DECIDED, score=SCORE, prediction=["1"] * N, feature__constant=["a"] * N) == []
    assert told(REGRESSION, prediction=SCORE[:40], feature__few=SCORE[:40]) == []
    assert list(output_features(None, BINARY, "")) == []
