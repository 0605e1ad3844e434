"""Panes counted from small tables, by hand and against scikit-learn's losses."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import brier_score_loss, log_loss
from strategies import AS_OF, FIRST, PANES, Row, counting_of, record, table_of

from monitor.core.clock import DAY, HOUR, SECOND
from monitor.records.column_values import parse_numbers
from monitor.records.count_records import count_records, find_cells
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.labels.winning_labels import winning_labels
from monitor.records.pane import PanePart
from monitor.records.tabulate import CountTable
from monitor.records.winning_rows import parse_winning_rows
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid
from monitor.states.strata import WHOLE, Stratum

PREDICTIONS = ["id", "event_time", "logged_at", "version", "arm", "score", "prediction"]
LABELS = ["label", "reported_at", "revision"]


def labelled(*found: Row, kind: str = "binary", as_of: int = AS_OF, without: str = "") -> PanePart:
    """Count the labels part of the first pane."""
    names = [name for name in (*PREDICTIONS, *LABELS) if name != without]
    table = table_of(found, [name for name in names if kind != "regression" or name != "score"])
    return count_labels(table, counting_of(kind), panes=PANES[:1], as_of=as_of)[0]


def tally(part: PanePart) -> Any:
    """Return the tallies of the whole."""
    return counting_of("binary").tally_view(part.strata[WHOLE])


def label_counts(part: PanePart, kind: str = "binary") -> list[int]:
    """Return the label's cells: classes, other, unseen, missing, invalid."""
    return [int(count) for count in counting_of(kind).histogram_view(part.strata[WHOLE], "label").counts]


def test_the_highest_revision_wins_then_the_latest_report_then_the_smallest_value() -> None:
    for labels in (
        [("0", 9, "1"), ("1", 5, "2")],
        [("0", 5, "1"), ("1", 9, "1")],
        [("0", 5, None), ("1", 9, None)],
        [("0", 9, None), ("1", 5, "0")],
    ):
        rows = [record(label=one, reported_at=FIRST + at, revision=no) for one, at, no in labels]
        assert label_counts(labelled(*rows)) == label_counts(labelled(*rows[::-1])) == [0, 1, 0, 0, 0, 0]

    tie = [record(label=one, reported_at=FIRST, revision="1") for one in ("1", "0")]
    assert label_counts(labelled(*tie)) == [1, 0, 0, 0, 0, 0]


def test_labels_times_repeated_predictions_are_one_record_and_its_corrections() -> None:
    rows = [
        record(label=label, reported_at=FIRST + at, revision=str(at), logged_at=FIRST + again)
        for again in (0, 1)
        for at, label in enumerate(["0", "1", "1"])
    ]

    part = labelled(*rows)

    assert (part.rows, part.records, part.labelled) == (1, 1, 1)
    assert tally(part).corrections == 2
    assert label_counts(part) == [0, 1, 0, 0, 0, 0]


def test_an_equal_label_twice_is_no_correction() -> None:
    assert tally(labelled(*[record(label="1", reported_at=FIRST, revision="0")] * 2)).corrections == 0


def test_a_null_that_was_reported_retracts() -> None:
    part = labelled(
        record(label="1", reported_at=FIRST + 1, revision="0"),
        record(label=None, reported_at=FIRST + 2, revision="1"),
    )

    assert part.labelled == 0
    assert (tally(part).retracted, tally(part).corrections, tally(part).labelled) == (1, 1, 0)


def test_a_prediction_without_a_label_is_unlabelled() -> None:
    part = labelled(record(label=None, reported_at=None, revision=None))

    assert (part.records, part.labelled, part.newest) == (1, 0, None)
    assert tally(part).retracted == 0
    assert label_counts(part) == [0, 0, 0, 0, 1, 0]


def test_a_label_reported_later_is_not_known_yet() -> None:
    rows = [
        record(label="0", reported_at=FIRST, revision="0"),
        record(label="1", reported_at=AS_OF + 1, revision="1"),
    ]

    assert label_counts(labelled(*rows)) == [1, 0, 0, 0, 0, 0]
    assert label_counts(labelled(*rows, as_of=AS_OF + 1)) == [0, 1, 0, 0, 0, 0]


def test_a_label_that_nobody_dated_is_known_from_its_event_on() -> None:
    part = labelled(record(label="1", reported_at=None, revision=None))

    assert part.labelled == 1
    assert part.newest == FIRST


def test_without_reports_there_are_labels_but_no_delays() -> None:
    part = labelled(record(label="1"), without="reported_at")

    assert (part.labelled, part.newest) == (1, None)
    assert counting_of("binary").delays_view(part.strata[WHOLE]).counts.sum() == 0


def test_unseen_classes_are_counted_apart() -> None:
    rows = [record("a", label="what"), record("b", label="1", prediction="who"), record("c", label="1.0")]

    part = labelled(*rows, kind="classes")

    assert label_counts(part, "classes")[-3:] == [1, 0, 0]
    assert counting_of("classes").confusion_view(part.strata[WHOLE]).counts.sum() == part.labelled == 3


def test_labels_of_a_binary_model_that_are_no_class_are_invalid_and_no_label() -> None:
    labels = ["1", "0", "abc", "2", "NaN", "", None]

    part = labelled(*(record(str(at), label=label, prediction="1") for at, label in enumerate(labels)))

    assert (part.records, part.labelled, tally(part).invalid) == (7, 2, 4)
    assert label_counts(part) == [1, 1, 0, 0, 1, 4]
    assert counting_of("binary").confusion_view(part.strata[WHOLE]).counts.sum() == 2


def test_a_label_of_several_classes_that_is_nan_is_invalid() -> None:
    rows = [record(str(at), label=label) for at, label in enumerate(["nan", "NaN", "DM", "what"])]

    part = labelled(*rows, kind="classes")

    assert (part.labelled, tally(part).invalid) == (2, 2)


def test_numbers_that_are_none_are_invalid_labels() -> None:
    rows = [
        record(str(at), label=label, prediction="1")
        for at, label in enumerate(["1", "x", "inf", "NaN", None])
    ]

    part = labelled(*rows, kind="regression")

    assert (part.records, part.labelled) == (5, 1)
    assert tally(part).invalid == 3


def test_the_delay_is_that_of_the_first_report_of_a_value() -> None:
    delay = 3 * HOUR
    rows = [(None, 0, "0"), ("0", delay, "1"), ("1", 2 * delay, "2")]

    part = labelled(
        *(record(label=label, reported_at=FIRST + at, revision=no) for label, at, no in rows),
        as_of=AS_OF + DAY,
    )

    table = counting_of("binary").delays_view(part.strata[WHOLE])
    cell = int(np.flatnonzero(table.counts)[0])
    assert table.edges[cell - 1] <= delay / SECOND < table.edges[cell]
    assert table.counts.sum() == 1
    assert part.newest == FIRST + 2 * delay


def test_a_label_before_its_prediction_is_early_and_in_the_first_cell() -> None:
    part = labelled(record(label="1", reported_at=FIRST - HOUR, revision="0"))

    assert part.strata[WHOLE].dense_block("tally")[7] == 1
    assert counting_of("binary").delays_view(part.strata[WHOLE]).counts[0] == 1


def test_delays_are_counted_for_the_whole_alone() -> None:
    part = labelled(record(label="1", reported_at=FIRST, revision="0"))

    assert part.strata[WHOLE].dense_block("delays").sum() == 1
    assert part.strata[Stratum(version="v1")].dense_block("delays").sum() == 0


def test_an_invalid_score_with_a_valid_prediction_counts_in_the_confusion_alone() -> None:
    rows = [
        record("a", label="1", score="1.7"),
        record("b", label="0", score="NaN"),
        record("c", label="0", score="0.2"),
    ]
    state = labelled(*rows).strata[WHOLE]

    assert counting_of("binary").confusion_view(state).counts.sum() == 3
    assert counting_of("binary").score_table(state).negative.sum() == 1
    assert counting_of("binary").score_table(state).positive.sum() == 0
    assert counting_of("binary").losses_view(state).count_of("brier") == 1


def test_a_threshold_says_nothing_of_an_invalid_score() -> None:
    table = table_of(
        [record("a", label="1", score="1.7"), record("b", label="1", score="0.9")],
        [*PREDICTIONS[:6], *LABELS],
    )

    part = count_labels(table, counting_of("threshold"), panes=PANES[:1], as_of=AS_OF)[0]

    assert counting_of("threshold").confusion_view(part.strata[WHOLE]).counts.tolist() == [
        [0] * 3,
        [0, 1, 0],
        [0] * 3,
    ]


def test_losses_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    score, label = rng.random(500), rng.integers(0, 2, 500)
    score[:4], label[:4] = [0.0, 1.0, 0.0, 1.0], [0, 1, 1, 0]
    rows = [record(str(at), label=str(label[at]), score=repr(float(score[at]))) for at in range(500)]

    state = labelled(*rows).strata[WHOLE]

    losses = counting_of("binary").losses_view(state)
    assert float(losses.exact_mean("log_loss")) == pytest.approx(log_loss(label, score), abs=1e-11)
    assert float(losses.exact_mean("brier")) == pytest.approx(brier_score_loss(label, score), abs=1e-11)
    assert state.dense_block("tally")[6] == 4


def test_moments_of_errors_and_labels_are_those_of_the_numbers() -> None:
    rng = np.random.default_rng(1)
    label, prediction = rng.normal(3, 2, 300), rng.normal(3, 2, 300)
    rows = [
        record(str(at), label=repr(float(label[at])), prediction=repr(float(prediction[at])))
        for at in range(300)
    ]

    sums = counting_of("regression").errors_view(labelled(*rows, kind="regression").strata[WHOLE])

    error = prediction - label
    expected = {
        "error": error,
        "absolute_error": abs(error),
        "squared_error": error**2,
        "quartic_error": error**4,
        "label": label,
        "squared_label": label**2,
        "cubed_label": label**3,
        "quartic_label": label**4,
        "squared_error_label": error**2 * label,
        "squared_error_squared_label": error**2 * label**2,
    }
    assert set(sums.terms) == set(expected)
    for term, values in expected.items():
        assert float(sums.exact_mean(term)) == pytest.approx(np.mean(values), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_counted_sums_have_the_one_form_of_equal_counts(kind: str) -> None:
    rows = [record(str(at), label="1", prediction="0.75", score="0.3") for at in range(9)]

    state = labelled(*rows, kind=kind).strata[WHOLE]

    assert Counters.from_dense(state.layout, state.dense_counts()) == state


def test_terms_too_large_to_add_are_counted() -> None:
    part = labelled(record(label="1e300", prediction="-1e300"), kind="regression")

    sums = counting_of("regression").errors_view(part.strata[WHOLE])
    assert [sums.count_out_of_range(term) for term in sums.terms] == [1] * len(sums.terms)


def test_without_labels_records_are_tallied() -> None:
    part = labelled(record("a"), record("b"), kind="unlabelled")

    assert (part.records, part.labelled, part.newest) == (2, 0, None)
    assert part.strata[WHOLE].dense_block("tally").tolist() == [2, 0, 0, 0, 0, 0, 0, 0]


def test_a_binary_model_may_have_scores_alone() -> None:
    bare = counting_of("binary")
    table = table_of([record(label="1", score="0.4")], [*PREDICTIONS[:6], *LABELS])

    records = count_records(table, bare, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]
    labels = count_labels(table, bare, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]

    assert bare.histogram_view(records, "prediction").n == 0
    assert bare.histogram_view(records, "score").n == 1
    assert bare.confusion_view(labels).counts.sum() == 0
    assert bare.score_table(labels).positive.sum() == 1


def test_features_are_counted_for_the_whole_and_one_may_be_gone() -> None:
    rows = [
        record("a") | {"feature:width": "1", "feature:color": "new"},
        record("b") | {"feature:width": "x"},
    ]
    counting = counting_of("binary")

    for columns, widths in ((["feature:width", "feature:color"], 2), (["feature:color"], 0)):
        table = table_of(rows, [*PREDICTIONS, *columns])
        part = count_records(table, counting, panes=PANES[:1], as_of=AS_OF)[0]
        width = counting.histogram_view(part.strata[WHOLE], "feature:width")
        color = counting.histogram_view(part.strata[WHOLE], "feature:color")
        assert (width.n, width.invalid) == (widths, widths // 2)
        assert (color.n, color.unseen, color.missing) == (2, 1, 1)
        assert part.strata[Stratum(version="v1")].dense_block("feature:color").sum() == 0


@pytest.mark.parametrize("count", [count_labels, count_records])
def test_a_version_that_is_alone_counts_as_it_does_beside_another(count: Any) -> None:
    names = [*PREDICTIONS, *LABELS, "feature:color", "feature:temp"]
    shown: Row = {"label": "1", "reported_at": FIRST + HOUR, "feature:color": "red", "feature:temp": "3.5"}
    here = [record("a", **shown), record("b", score="0.1", **shown), record("c", arm=None, feature_temp=None)]
    elsewhere = record("d", event_time=int(PANES[1]), logged_at=int(PANES[1]), version="v2")

    alone = count(table_of(here, names), counting_of("binary"), panes=PANES[:2], as_of=AS_OF)
    beside = count(table_of([*here, elsewhere], names), counting_of("binary"), panes=PANES[:2], as_of=AS_OF)

    assert alone[0].strata == beside[0].strata
    assert Stratum(version="v1") in alone[0].strata
    assert alone[1].strata == {}


def test_numbers_have_no_cells_among_levels() -> None:
    with pytest.raises(TypeError, match="categories levels: got CategoryGrid"):
        find_cells(parse_numbers(pa.chunked_array([[1.0]])), CategoryGrid(("a",)))


@pytest.mark.parametrize("kind", [pa.string(), pa.null()])
def test_empty_tables_give_empty_panes(kind: Any) -> None:
    names = [*PREDICTIONS, *LABELS, "feature:width", "feature:color"]
    empty = pa.table({name: pa.array([], kind) for name in names})
    plain: Counting = replace(
        counting_of("binary"), reading=replace(counting_of("binary").reading, time_units=())
    )

    for count in (count_records, count_labels):
        assert count(empty, plain, panes=PANES, as_of=AS_OF) == [
            PanePart(start, {}) for start in PANES.tolist()
        ]
        assert count(empty, plain, panes=PANES[:0], as_of=AS_OF) == []


def test_columns_of_nulls_are_missing_and_stop_nothing() -> None:
    names = [*PREDICTIONS[3:], *LABELS, "feature:width", "feature:color"]
    times = {"id": ["a", "b"], "event_time": [FIRST, FIRST], "logged_at": [FIRST, FIRST]}
    table = pa.table({**times, **{name: pa.nulls(2) for name in names}})
    counting = counting_of("binary")

    records = count_records(table, counting, panes=PANES[:1], as_of=AS_OF)[0]
    labels = count_labels(table, counting, panes=PANES[:1], as_of=AS_OF)[0]

    for name in counting.output_grids:
        assert counting.histogram_view(records.strata[WHOLE], name).missing == 2
    assert (labels.records, labels.labelled) == (2, 0)


def test_scores_that_are_no_probabilities_have_no_losses() -> None:
    wide = replace(
        counting_of("binary"), reading=replace(counting_of("binary").reading, score_range=(0.0, 2.0))
    )
    table = table_of([record(label="1", score="0.4")], [*PREDICTIONS, *LABELS])

    state = count_labels(table, wide, panes=PANES[:1], as_of=AS_OF)[0].strata[WHOLE]

    assert "losses" not in wide.labels_layout.blocks_by_name
    assert wide.score_table(state).positive.sum() == 1


def test_labels_without_a_grid_are_refused() -> None:
    counting = counting_of("unlabelled")
    table = table_of([record(label="1")], [*PREDICTIONS, *LABELS])
    rows = parse_winning_rows(table, counting, PANES, AS_OF)

    with pytest.raises(ValueError, match="labels are counted on a grid: the model has none"):
        winning_labels(table, rows, counting, np.full(len(PANES), AS_OF))


def test_a_table_without_blocks_has_no_counters() -> None:
    key, value = CountTable(
        counting_of("binary").records_layout, np.zeros(3, dtype=np.int64), 1
    ).sparse_counts()
    assert key.tolist() == value.tolist() == []


def test_a_panes_facts_tell_what_was_read() -> None:
    table = table_of([record("a"), record("a", logged_at=FIRST + 7), record(None)], [*PREDICTIONS])

    part = count_records(table, counting_of("binary"), panes=PANES[:1], as_of=AS_OF)[0]

    assert (part.rows, part.records, part.newest) == (3, 1, FIRST + 7)


def test_a_pane_without_records_is_the_identity() -> None:
    layout = counting_of("binary").records_layout

    assert Counters.merge_all(layout, []) == Counters.make_empty(layout)
    assert count_records(table_of([], PREDICTIONS), counting_of("binary"), panes=PANES[:1], as_of=AS_OF) == [
        PanePart(int(PANES[0]), {})
    ]
