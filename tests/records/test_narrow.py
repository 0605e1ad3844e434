"""Counts of more features than are asked for: what is asked for comes out of them, exact."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import AS_OF, PANES, Log, counting_of, logs

from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.narrow import hangs_on_features, narrowed, places
from monitor.states.grids import CategoryGrid


def with_features(counting: Counting, *names: str) -> Counting:
    """The same grids of some of the features."""
    reading = counting.reading
    return replace(
        counting,
        features=tuple(one for one in counting.features if one[0] in names),
        reading=replace(
            reading,
            numeric=tuple(name for name in reading.numeric if name in names),
            categorical=tuple(name for name in reading.categorical if name in names),
        ),
    )


@given(logs(), st.sets(st.sampled_from(["width", "color"])))
def test_counts_without_a_feature_are_those_of_a_model_that_never_had_it(log: Log, names: set[str]) -> None:
    old, new = log.counting, with_features(log.counting, *names)
    where = places(old, new)

    assert where is not None
    before = count_records(log.table, old, panes=PANES, as_of=AS_OF)
    after = count_records(log.table, new, panes=PANES, as_of=AS_OF)
    for wide, part in zip(before, after, strict=True):
        assert hangs_on_features(wide) or narrowed(wide, where, new.records) == part


def test_of_rows_that_tie_a_feature_that_is_gone_may_have_chosen() -> None:
    first = {
        "id": "a", "event_time": PANES[0], "logged_at": PANES[0], "score": "0.3",
        "feature:color": "blue", "feature:width": "2",
    }  # fmt: skip
    log = Log("threshold", (first, first | {"feature:color": "red", "feature:width": "1"}), ())
    old, new = log.counting, with_features(log.counting, "width")

    (wide,) = count_records(log.table, old, panes=PANES[:1], as_of=AS_OF)
    (part,) = count_records(log.table, new, panes=PANES[:1], as_of=AS_OF)

    where = places(old, new)
    assert where is not None
    assert narrowed(wide, where, new.records) != part
    assert hangs_on_features(wide)


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_what_was_not_counted_or_otherwise_comes_out_of_nothing(kind: str) -> None:
    all_of_them = counting_of(kind)
    other = replace(all_of_them, features=(("color", CategoryGrid(("green",))),))
    sliced = replace(all_of_them, segments=(("town", ("Graz",)),))

    assert places(with_features(all_of_them, "color"), all_of_them) is None
    assert places(with_features(all_of_them), with_features(all_of_them, "width")) is None
    assert places(all_of_them, other) is None
    assert places(all_of_them, sliced) is None
    assert places(sliced, with_features(all_of_them)) is None
