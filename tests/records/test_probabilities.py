"""Class probabilities: which are used, where they are counted."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from strategies import AS_OF, FIRST, PANES, counting_of, reading_of, table_of

from monitor.core.array_types import Ints
from monitor.records.count_records import count_records
from monitor.records.labels.count_labels import count_labels
from monitor.records.probabilities import COARSE_EDGES, EDGES, UNUSABLE
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE

COUNTING = counting_of("multiclass")
CLASSES = ("0", "1", "DM")


def counted(*rows: tuple[str | None, ...], names: tuple[str, ...] = ()) -> Counters:
    """Labels part of rows of three probabilities and a label."""
    return count_labels(logged(rows, names), COUNTING, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]


def predicted(*rows: tuple[str | None, ...]) -> Ints:
    """Class probabilities of the records part of rows of three probabilities."""
    table = logged([(*row, None) for row in rows], ())
    parts = count_records(table, COUNTING, panes=PANES[:1], as_of=AS_OF)
    return COUNTING.predicted_tables(parts[0].strata[WHOLE])


def logged(rows: Sequence[tuple[str | None, ...]], names: tuple[str, ...]) -> pa.Table:
    found = [
        {"id": names[at] if names else str(at), "event_time": FIRST, "label": row[3]}
        | {f"probability:{name}": given for name, given in zip(CLASSES, row, strict=False)}
        for at, row in enumerate(rows)
    ]
    table = table_of(found, list(found[0]))
    empty = pa.nulls(len(found))
    for name in ("logged_at", "version", "arm"):
        table = table.append_column(name, empty.cast(pa.int64() if name == "logged_at" else pa.string()))
    return table


def test_edges_are_exact_and_lie_alike_around_one_half() -> None:
    edges = [Fraction(edge) for edge in EDGES]

    assert len(EDGES) == 511
    assert edges == sorted(set(edges))
    assert edges == [1 - edge for edge in reversed(edges)]
    assert (EDGES[0], EDGES[255]) == (2.0**-24, 0.5)
    assert max(np.diff(EDGES)) == 2.0**-8


def test_coarse_cells_are_eight_of_the_fine_ones() -> None:
    state = counted(*((str(p), str(1 - p), "0", "0") for p in (0.0, 1e-6, 0.003, 0.2, 0.49, 0.5, 0.97, 1.0)))

    fine = COUNTING.class_tables(state).counts[0, 1]

    assert (len(COARSE_EDGES), COARSE_EDGES[31]) == (63, 0.5)
    assert tuple(1 - edge for edge in reversed(COARSE_EDGES)) == COARSE_EDGES
    coarse = np.searchsorted(COARSE_EDGES, [0.0, 1e-6, 0.003, 0.2, 0.49, 0.5, 0.97, 1.0], side="right")
    assert np.flatnonzero(COUNTING.coarse_tables(state)[0, 1]).tolist() == sorted(set(coarse.tolist()))
    assert sorted({cell // 8 for cell in np.flatnonzero(fine).tolist()}) == sorted(set(coarse.tolist()))


def test_records_without_labels_count_whether_a_class_is_the_predicted_one() -> None:
    tables = predicted(("0.5", "0.25", "0.25"), ("0", "1", "0"), ("0.3", "0.3", "0.4"))

    assert tables.shape == (3, 2, 64)
    assert tables.sum(axis=2).tolist() == [[2, 1], [2, 1], [2, 1]]
    assert np.flatnonzero(tables[0, 1]).tolist() == [32]
    assert np.flatnonzero(tables[1, 1]).tolist() == [63]


def test_records_whose_probabilities_cannot_be_used_are_not_counted() -> None:
    tables = predicted((None, "0.5", "0.5"), ("1.7", "-0.7", "0"), ("0.5", "0.5", "0.011"), ("x", "1", "0"))

    assert tables.sum() == 0


def test_class_probabilities_of_records_are_counted_for_estimates_alone() -> None:
    unlabelled = make_plain_counting(replace(reading_of("multiclass"), labelled=False))

    named = [block for block in COUNTING.records_layout.blocks_by_name if block.startswith("probability:")]
    assert named == [f"probability:{name}" for name in CLASSES]
    for other in (unlabelled, counting_of("classes"), counting_of("binary")):
        assert not [
            block for block in other.records_layout.blocks_by_name if block.startswith("probability:")
        ]


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
    assert COUNTING.score_table(state).negative.sum() == COUNTING.losses_view(state).count_of("brier") == 0


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
    percent = make_plain_counting(replace(reading_of("multiclass"), score_range=(0.0, 100.0)))
    no_columns = make_plain_counting(reading_of("classes"))

    assert percent.probability_classes == no_columns.probability_classes == ()
    assert {"losses", "scores", "unusable"}.isdisjoint(percent.labels_layout.blocks_by_name)
