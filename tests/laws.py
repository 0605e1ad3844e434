"""What every state obeys, with `==`: a commutative monoid, whatever the order, grouping and reading."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import AS_OF, PANES, Log, logs

from monitor.core.clock import HOUR
from monitor.records.count_records import count_records
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.states.counters import Counters
from monitor.states.strata import Strata, Stratum

briefly = settings(max_examples=30, deadline=None)


@st.composite
def counters(draw: st.DrawFn, most: int = 3) -> list[Counters]:
    """Counters of one layout, of any panes and strata of a log."""
    log = draw(logs(ids=6))
    records = draw(st.booleans())
    parts = log.parts()
    parts = parts[: len(PANES)] if records else parts[len(PANES) :]
    found = [state for part in parts for state in part.strata.values()]
    layout = log.counting.records_layout if records else log.counting.labels_layout
    return draw(
        st.lists(st.sampled_from([*found, Counters.make_empty(layout)]), min_size=most, max_size=most)
    )


def together(many: Iterable[Strata]) -> dict[Stratum, Counters]:
    """Strata merged."""
    merged: dict[Stratum, Counters] = {}
    for strata in many:
        for stratum, state in strata.items():
            merged[stratum] = merge(merged[stratum], state) if stratum in merged else state
    return merged


def merge(one: Counters, other: Counters) -> Counters:
    """Sum of both."""
    return Counters.merge_all(one.layout, [one, other])


def visible_from(row: strategies.Row) -> int:
    """When a row can be seen: when it was logged, or, where that is unknown, made."""
    moment = row["event_time"] if row["logged_at"] is None else row["logged_at"]
    return moment or 0


@briefly
@given(counters())
def test_merging_with_nothing_changes_nothing(many: list[Counters]) -> None:
    state = many[0]
    nothing = Counters.make_empty(state.layout)

    assert merge(state, nothing) == state
    assert merge(nothing, state) == state
    assert Counters.merge_all(state.layout, []) == nothing


@briefly
@given(counters())
def test_merging_is_commutative(many: list[Counters]) -> None:
    assert merge(many[0], many[1]) == merge(many[1], many[0])


@briefly
@given(counters())
def test_merging_is_associative(many: list[Counters]) -> None:
    first, second, third = many

    assert merge(merge(first, second), third) == merge(first, merge(second, third))


@briefly
@given(counters(most=4), st.permutations(range(4)))
def test_merging_many_at_once_is_merging_one_by_one_in_any_order(
    many: list[Counters], order: list[int]
) -> None:
    one_by_one = reduce(merge, many)

    assert Counters.merge_all(many[0].layout, [many[at] for at in order]) == one_by_one


@briefly
@given(counters())
def test_merging_leaves_its_inputs_alone(many: list[Counters]) -> None:
    before = [(state.index.copy(), state.value.copy()) for state in many]

    merge(many[0], many[1])
    Counters.merge_all(many[0].layout, many)

    for state, (index, value) in zip(many, before, strict=True):
        assert np.array_equal(state.index, index)
        assert np.array_equal(state.value, value)


@briefly
@given(counters())
def test_there_is_one_form_of_equal_counts(many: list[Counters]) -> None:
    state = many[0]

    assert Counters.from_dense(state.layout, state.dense_counts()) == state
    assert hash(Counters.from_dense(state.layout, state.dense_counts())) == hash(state)
    assert np.all(np.diff(state.index) > 0)
    assert np.all(state.value != 0)


@briefly
@given(st.data())
def test_counting_two_logs_together_is_merging_their_counts(data: st.DataObject) -> None:
    kind = data.draw(strategies.kinds())
    one = data.draw(logs(kind=kind, prefix="a"))
    other = data.draw(logs(kind=kind, prefix="b"))
    both = Log(kind, one.records + other.records, one.labels + other.labels)

    for whole, first, second in zip(both.parts(), one.parts(), other.parts(), strict=True):
        assert together([first.strata, second.strata]) == whole.strata
        assert first.records + second.records == whole.records
        assert first.labelled + second.labelled == whole.labelled
        assert (first.checksum + second.checksum) % 2**63 == whole.checksum
        assert first.rows + second.rows == whole.rows


@briefly
@given(st.data())
def test_the_order_of_rows_does_not_matter(data: st.DataObject) -> None:
    log = data.draw(logs())
    records = data.draw(st.permutations(log.records))
    joined = data.draw(st.permutations(log.joined))

    shuffled = Log(log.kind, tuple(records), log.labels)
    labels = count_labels(log.joined_table(joined), log.counting, panes=PANES, as_of=AS_OF)

    assert count_records(shuffled.table, log.counting, panes=PANES, as_of=AS_OF) + labels == log.parts()


@briefly
@given(logs(), st.sets(st.sampled_from(PANES.tolist()[1:])))
def test_panes_may_be_counted_together_or_apart(log: Log, cuts: set[int]) -> None:
    chunks = np.split(PANES, np.searchsorted(PANES, sorted(cuts)))

    apart: list[PanePart] = []
    for count, table in ((count_records, log.table), (count_labels, log.joined_table())):
        for panes in chunks:
            apart += count(table, log.counting, panes=panes, as_of=AS_OF)

    assert apart == log.parts()


@briefly
@given(logs())
def test_every_stratum_of_a_kind_sums_to_the_whole(log: Log) -> None:
    count = len(PANES)
    for part in log.parts()[:count]:
        for of_kind in ("version", "segment"):
            strata = [state for name, state in part.strata.items() if getattr(name, of_kind) is not None]
            layout = log.counting.records_layout.offsets
            whole = ("moments", "log_delays", "unusual_names")
            outputs = [name for name in layout if name not in whole and not name.startswith("feature:")]
            for block in outputs if part.strata else ():
                total = sum(state.dense_block(block) for state in strata)
                assert np.array_equal(part.strata[Stratum()].dense_block(block), total)


@briefly
@given(logs(), st.integers(0, 4))
def test_what_is_not_yet_visible_changes_nothing(log: Log, hours: int) -> None:
    as_of = AS_OF - hours * HOUR
    seen = tuple(row for row in log.records if visible_from(row) <= as_of)

    earlier = count_records(Log(log.kind, seen, ()).table, log.counting, panes=PANES, as_of=as_of)

    assert earlier == count_records(log.table, log.counting, panes=PANES, as_of=as_of)
