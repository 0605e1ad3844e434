"""Names that come from data: bounded, readable, told apart; which versions of a pane are counted apart."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.text import MOST_BYTES, make_shown_name, readable_text
from monitor.records.column_values import CategoryValues, parse_categories, parse_texts
from monitor.records.reading import canonical_name
from monitor.records.winning_rows import MOST_VERSIONS, limit_frequent_versions, version_name
from monitor.states.strata import NONE, OTHER, make_segment_stratum

ANY = st.text(st.characters(), max_size=400) | st.text("ab\x00\x1b\u202e\U000e0041é€😀", max_size=400)


@given(ANY)
def test_a_name_is_readable_bounded_and_its_own_name(text: str) -> None:
    name = make_shown_name(text)

    assert name == readable_text(name)
    assert len(name.encode()) <= MOST_BYTES
    assert make_shown_name(name) == name
    assert canonical_name(canonical_name(text)) == canonical_name(text)


@given(ANY)
def test_what_is_readable_and_short_is_its_name(text: str) -> None:
    if text == readable_text(text) and len(text.encode()) <= MOST_BYTES:
        assert make_shown_name(text) == text
    else:
        assert make_shown_name(text)[-9] == "~"


@given(st.lists(ANY, unique=True, max_size=8))
def test_texts_that_differ_have_names_that_differ(found: list[str]) -> None:
    assert len({make_shown_name(text) for text in found}) == len(found)


def test_long_texts_with_one_beginning_have_two_names() -> None:
    assert make_shown_name("x" * 5_000 + "1") != make_shown_name("x" * 5_000 + "2")


@given(st.lists(ANY | st.none(), max_size=12))
def test_columns_hold_names_and_say_which_rows_were_renamed(found: list[str | None]) -> None:
    column = pa.chunked_array(
        [
            pa.array(
                [None if text is None else text.encode("utf-8", "replace").decode() for text in found],
                pa.string(),
            )
        ]
    )
    written = column.to_pylist()

    named = parse_texts(column)

    assert [None if code < 0 else named.levels[code] for code in named.codes] == [
        None if text is None else make_shown_name(text) for text in written
    ]
    assert named.renamed_rows().tolist() == [
        text is not None and make_shown_name(text) != text for text in written
    ]
    assert parse_categories(column).renamed_rows().tolist() == named.renamed_rows().tolist()


def test_bytes_that_are_no_unicode_are_names_too() -> None:
    raw = pa.array([b"ok", b"\xff\xfe", b"\xff\xfd", None], pa.binary()).view(pa.string())

    named = parse_texts(pa.chunked_array([raw]))

    assert len(set(named.codes.tolist())) == 4
    assert named.renamed_rows().tolist() == [False, True, True, False]
    assert all(level == readable_text(level) for level in named.levels)


def test_our_own_names_are_told_apart_from_those_of_the_data() -> None:
    for name in (OTHER, NONE):
        assert version_name(name).startswith(f"{name}~")
        assert make_segment_stratum("carrier", name).segment == f"carrier={version_name(name)}"
    assert version_name("others") == "others"


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 1_400), st.integers(1, 3)), max_size=2_500))
def test_of_each_pane_the_thousand_versions_with_most_rows_stay(found: list[tuple[int, int, int]]) -> None:
    crowd = [(0, version, 1) for version in range(MOST_VERSIONS)]
    rows = [(pane, version) for pane, version, times in [*found, *crowd] for _ in range(times)]
    pane, codes = np.asarray(rows).T
    levels = tuple(f"{at:04}" for at in range(1_401))

    version = limit_frequent_versions(CategoryValues(levels, codes), pane)
    beyond = version.renamed_rows()

    for one in range(3):
        counts = Counter(code for at, code in rows if at == one and code >= 0)
        ranked = sorted(counts, key=lambda code: (-counts[code], code))
        kept = set(ranked[:MOST_VERSIONS])
        expected = [code >= 0 and code not in kept for at, code in rows if at == one]
        assert beyond[pane == one].tolist() == expected
    assert {version.levels[code] for code in version.codes[beyond]} <= {OTHER}
    assert (version.codes[~beyond] == codes[~beyond]).all()
