"""Class probabilities: which are used, where they are counted."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from strategies import AS_OF, FIRST, PANES, counting_of, reading_of, table_of

from monitor.records.count_labels import count_labels
from monitor.records.probabilities import EDGES, UNUSABLE
from monitor.records.reference import counting_without_reference
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE

COUNTING = counting_of("multiclass")
CLASSES = ("0", "1", "DM")


def counted(*rows: tuple[str | None, ...], names: tuple[str, ...] = ()) -> Counters:
    """Labels part of rows of three probabilities and a label."""
    found = [
        {"id": names[at] if names else str(at), "event_time": FIRST, "label": row[3]}
        | {f"probability:{name}": given for name, given in zip(CLASSES, row, strict=False)}
        for at, row in enumerate(rows)
    ]
    table = table_of(found, list(found[0]))
    empty = pa.nulls(len(found))
    for name in ("logged_at", "version", "arm"):
        table = table.append_column(name, empty.cast(pa.int64() if name == "logged_at" else pa.string()))
    return count_labels(table, COUNTING, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]


def test_edges_are_exact_and_lie_alike_around_one_half() -> None:
    edges = [Fraction(edge) for edge in EDGES]

    assert len(EDGES) == 511
    assert edges == sorted(set(edges))
    assert edges == [1 - edge for edge in reversed(edges)]
    assert (EDGES[0], EDGES[255]) == (2.0**-24, 0.5)
    assert max(np.diff(EDGES)) == 2.0**-8


def test_each_class_counts_whether_it_is_the_actual_one() -> None:
    tables = COUNTING.class_tables(counted(("0.5", "0.25", "0.25", "DM"), ("0", "1", "0", "1")))

    assert tables.classes == CLASSES
    assert tables.counts.sum(axis=2).tolist() == [[2, 0], [1, 1], [1, 1]]
    assert [np.flatnonzero(side).tolist() for side in tables.counts[0]] == [[0, 256], []]
    assert [np.flatnonzero(side).tolist() for side in tables.counts[1]] == [[192], [511]]


def test_the_largest_counts_whether_its_class_is_the_actual_one_the_first_of_equals() -> None:
    table = COUNTING.score_table(
        counted(("0.5", "0.5", "0", "0"), ("0.5", "0.5", "0", "1"), ("0.1", "0.2", "0.7", "DM"))
    )

    assert (int(table.positive.sum()), int(table.negative.sum())) == (2, 1)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ((None, "1.7", "0", "0"), "missing"),
        (("1.7", "-0.7", "0", "0"), "invalid"),
        (("NaN", "0.5", "0.5", "0"), "invalid"),
        (("x", "0.5", "0.5", "0"), "invalid"),
        (("0.5", "0.5", "0.011", "0"), "sum"),
        (("0.5", "0.4", "0.089", "0"), "sum"),
        (("0.5", "0.4", "0.1", "what"), "unseen"),
    ],
)
def test_a_labelled_record_that_is_left_out_counts_under_its_cause(
    row: tuple[str | None, ...], cause: str
) -> None:
    state = counted(row)

    assert COUNTING.class_tables(state).unusable.tolist() == [int(cause == name) for name in UNUSABLE]
    assert COUNTING.class_tables(state).counts.sum() == 0
    assert COUNTING.score_table(state).negative.sum() == COUNTING.losses(state).n("brier") == 0


@pytest.mark.parametrize("row", [("0.33", "0.33", "0.33"), ("0.34", "0.33", "0.34"), ("1", "0", "0")])
def test_probabilities_may_be_rounded(row: tuple[str, ...]) -> None:
    assert COUNTING.class_tables(counted((*row, "0"))).unusable.sum() == 0


def test_a_record_without_a_label_is_not_left_out() -> None:
    state = counted((None, "0.5", "0.5", None), ("0.5", "0.5", "0.5", None))

    assert COUNTING.class_tables(state).unusable.sum() == 0


def test_of_equal_rows_of_an_id_the_smaller_probabilities_count() -> None:
    rows = ("0.6", "0.3", "0.1", "0"), ("0.6", "0.1", "0.3", "0")

    one, other = counted(*rows, names=("a", "a")), counted(*rows[::-1], names=("a", "a"))

    assert one == other == counted(rows[1])


def test_probabilities_out_of_zero_to_one_are_not_measured_as_such() -> None:
    percent = counting_without_reference(replace(reading_of("multiclass"), score_range=(0.0, 100.0)))
    no_columns = counting_without_reference(reading_of("classes"))

    assert percent.probable == no_columns.probable == ()
    assert {"losses", "scores", "unusable"}.isdisjoint(percent.labels.by_name)
