import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_examples import COUNTING, READING

from monitor.core.errors import CodecError
from monitor.records.codec import counting_text, parse_counting
from monitor.records.counting import Counting
from monitor.records.reading import ReadingOptions
from monitor.states.grids import NumericGrid

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sets(finite), finite | st.just(-np.inf), finite | st.just(np.inf), st.none() | finite)
def test_a_counting_comes_back_equal(
    edges: set[float], lower: float, upper: float, threshold: float | None
) -> None:
    reading = replace(READING, score_range=(lower, upper), threshold=threshold)
    grid = NumericGrid(tuple(sorted(edges)), (), lower, upper)
    counting = replace(COUNTING, reading=reading, score=grid, features=(("x", grid),))

    found = parse_counting(counting_text(counting))

    assert found == counting
    assert found.hash == counting.hash


def test_a_counting_without_score_label_and_arms_comes_back_equal() -> None:
    bare = Counting(replace(READING, arms=None), (), None, COUNTING.prediction, None)

    assert parse_counting(counting_text(bare)) == bare


def test_every_reading_option_is_kept() -> None:
    kept = json.loads(counting_text(COUNTING))["reading"]

    assert set(kept) == {field.name for field in fields(ReadingOptions)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 1 expected: got 2"),
        ({"score": {"kind": "category", "levels": [], "rare": []}}, "a score's grid is numeric"),
        ({"prediction": {"kind": "other"}}, "damaged"),
        ({"reading": {}}, "damaged"),
    ],
)
def test_a_counting_that_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    text = json.dumps(json.loads(counting_text(COUNTING)) | change)

    with pytest.raises(CodecError, match=message):
        parse_counting(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_damaged_json_is_refused(text: str) -> None:
    with pytest.raises(CodecError, match="damaged"):
        parse_counting(text)
