"""Numbers, categories and the order of values."""

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.records import column_values
from monitor.records.reading import canonical_name
from monitor.states.grids import CategoryGrid


def chunked(items: list[Any], kind: Any = None) -> pa.ChunkedArray:
    """Return a column of one chunk."""
    return pa.chunked_array([pa.array(items, kind)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", "1"), ("True", "1"), ("FALSE", "0"), ("1", "1"), ("1.0", "1"), ("1.", "1"),
        ("1.000", "1"), ("0", "0"), ("-0", "0"), ("-0.0", "0"), ("-3.0", "-3"), ("1.5", "1.5"),
        ("1.50", "1.50"), ("DM", "DM"), ("", ""), ("01", "01"), ("1e3", "1e3"), ("v1.0", "v1.0"),
        (" 1", " 1"), ("٣.0", "٣.0"),
    ],
)  # fmt: skip
def test_equal_classes_have_one_text(text: str, expected: str) -> None:
    assert canonical_name(text) == expected


@given(st.text() | st.floats().map(str) | st.integers().map(str))
def test_a_canonical_text_is_its_own(text: str) -> None:
    assert canonical_name(canonical_name(text)) == canonical_name(text)


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        ([True, False, None], pa.bool_()), ([1, 0, None], pa.int8()), ([1.0, 0.0, None], pa.float64()),
        (["1", "0.0", None], pa.string()), (["TRUE", "false", None], pa.large_string()),
        (pa.array(["true", "0", None]).dictionary_encode(), None),
    ],
)  # fmt: skip
def test_classes_of_any_type_compare_equal(items: Any, kind: Any) -> None:
    column = pa.chunked_array([items]) if isinstance(items, pa.Array) else chunked(items, kind)

    found = column_values.parse_categories(column)

    assert found.levels == ("0", "1")
    assert found.codes.tolist() == [1, 0, -1]


def test_levels_are_in_the_order_of_their_bytes() -> None:
    found = column_values.parse_categories(chunked(["b", "é", "Z", "a", None, "z"]))

    assert found.levels == ("Z", "a", "b", "z", "é")
    assert found.rank_ties().tolist() == [2, 4, 0, 1, -1, 3]


def test_names_are_kept_as_they_are_written() -> None:
    found = column_values.parse_texts(chunked(["1.0", "1", None, "true"]))

    assert found.levels == ("1", "1.0", "true")
    assert found.codes.tolist() == [1, 0, -1, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1.0), ("-1.5", -1.5), ("+2", 2.0), (" 3 ", 3.0), ("5.", 5.0), (".5", 0.5), ("-.5e-3", -5e-4),
        ("1e+5", 1e5), ("1E5", 1e5), ("007", 7.0), ("1e999", np.inf), ("1e-999", 0.0), ("-0.0", 0.0),
        ("+ 1", np.nan), ("++1", np.nan), ("1,5", np.nan), ("1_000", np.nan), ("0x10", np.nan), ("", np.nan),
        ("NaN", np.nan), ("inf", np.nan), ("abc", np.nan), ("1 2", np.nan), ("e5", np.nan), (".", np.nan),
    ],
)  # fmt: skip
def test_a_text_is_a_number_or_invalid(text: str, expected: float) -> None:
    found = column_values.parse_numbers(chunked([text]))

    assert np.array_equal(found.values, [expected], equal_nan=True)
    assert not found.missing[0]


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        ([1, None], pa.int64()), ([True, None], pa.bool_()), ([1.0, None], pa.float32()),
        ([decimal.Decimal(1), None], pa.decimal128(9, 3)), (["1", None], pa.large_string()),
    ],
)  # fmt: skip
def test_numbers_of_any_type_are_doubles(items: list[Any], kind: Any) -> None:
    found = column_values.parse_numbers(chunked(items, kind))

    assert found.values.dtype == np.float64
    assert found.values[0] == 1.0
    assert found.missing.tolist() == [False, True]
    assert found.finite.tolist() == [True, False]


@pytest.mark.parametrize("kind", [pa.null(), pa.string(), pa.float64()])
def test_columns_without_a_value_are_all_missing(kind: Any) -> None:
    assert column_values.parse_numbers(chunked([None, None], kind)).missing.all()
    assert column_values.parse_categories(chunked([None, None], kind)).codes.tolist() == [-1, -1]
    assert column_values.encode_texts(chunked([None, None], kind)).tolist() == [-1, -1]
    assert len(column_values.parse_numbers(chunked([], kind)).values) == 0
    assert column_values.parse_categories(chunked([], kind)).levels == ()


def test_nan_is_invalid_and_null_is_missing() -> None:
    found = column_values.parse_numbers(chunked([np.nan, None, np.inf, -np.inf, 0.5], pa.float64()))

    assert found.missing.tolist() == [False, True, False, False, False]
    assert found.finite.tolist() == [False, False, False, False, True]
    assert found.lies_within((0.0, 0.4)).tolist() == [False] * 5


def test_ties_are_settled_null_then_nan_then_numbers() -> None:
    found = column_values.parse_numbers(
        chunked([3.0, np.nan, None, -np.inf, 0.0, -0.0, np.inf, None], pa.float64())
    )

    assert found.rank_ties().tolist() == [4, 1, 0, 2, 3, 3, 5, 0]


def test_levels_fall_into_their_cells() -> None:
    grid = CategoryGrid(("b", "1"))

    assert column_values.parse_categories(chunked(["1.0", "b", "new", None])).grid_cells(grid).tolist() == [
        1,
        0,
        3,
        4,
    ]


def test_positions_tell_unknown_levels_from_missing_ones() -> None:
    found = column_values.parse_categories(chunked(["1.0", "b", "new", None]))

    assert found.level_positions(("b", "1"), 9).tolist() == [1, 0, 9, -1]


def test_ids_are_compared_as_they_are_written() -> None:
    codes = column_values.encode_texts(chunked(["1", "1.0", None, "1", "true"]))

    assert codes[0] == codes[3]
    assert len({int(code) for code in codes}) == 4
    assert codes[2] == -1
