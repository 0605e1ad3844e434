"""Which rows are in which pane, what they predict, and what has no pane."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from strategies import AS_OF, FIRST, PANES, Row, counting_of, reading_of, record, table_of

from monitor.core.clock import HOUR, MINUTE
from monitor.core.errors import SourceError
from monitor.core.text import mark_reserved_name
from monitor.records import winning_rows
from monitor.records.column_values import CategoryValues, NumberValues
from monitor.records.counting import Counting
from monitor.records.reading import ComparedArms
from monitor.records.winning_rows import WinningRows, parse_winning_rows
from monitor.states.strata import NONE, OTHER, Stratum

COLUMNS = ("id", "event_time", "logged_at", "version", "arm", "score", "prediction")


def read(*records: Row, as_of: int = AS_OF, counting: Counting | None = None) -> WinningRows:
    """Read rows of the log."""
    return parse_winning_rows(table_of(records, COLUMNS), counting or counting_of("binary"), PANES, as_of)


def panes(found: WinningRows) -> list[int]:
    """Number of records in each pane."""
    return [int(count) for count in np.bincount(found.pane, minlength=len(PANES))]


def test_a_pane_holds_its_start_and_not_its_end() -> None:
    found = read(record("a", FIRST), record("b", FIRST + HOUR - 1), record("c", FIRST + HOUR))

    assert panes(found) == [2, 1, 0, 0]


def test_rows_outside_the_panes_are_passed_over() -> None:
    found = parse_winning_rows(
        table_of([record("a", FIRST - 1), record("b", FIRST + HOUR), record("c", AS_OF)], COLUMNS),
        counting_of("binary"),
        PANES[[0, 2]],
        AS_OF,
    )

    assert len(found.rows) == 0
    assert found.read.tolist() == [0, 0]


def test_the_future_is_in_no_pane_until_its_time_comes() -> None:
    ahead = record("a", AS_OF + 5 * MINUTE + 1, logged_at=FIRST)

    assert panes(read(ahead)) == [0, 0, 0, 0]
    assert panes(read(ahead, as_of=AS_OF + 1)) == [0, 0, 0, 1]


def test_an_event_within_the_tolerance_counts_as_soon_as_it_is_logged() -> None:
    assert panes(read(record("a", AS_OF + 5 * MINUTE, logged_at=AS_OF))) == [0, 0, 0, 1]
    assert panes(read(record("a", FIRST, logged_at=AS_OF + 1))) == [0, 0, 0, 0]


def test_a_row_that_nobody_dated_is_dated_by_its_event() -> None:
    found = read(record("a", FIRST + 7, logged_at=None))

    assert found.logged_at.tolist() == [FIRST + 7]
    assert found.no_logged_at.tolist() == [True]


def test_an_id_counts_once_in_its_pane_and_its_first_row_wins() -> None:
    found = read(
        record("a", logged_at=FIRST + 2, score="0.1"),
        record("a", logged_at=FIRST + 1, score="0.2"),
        record("a", at=FIRST + HOUR),
    )

    assert panes(found) == [1, 1, 0, 0]
    assert found.rows.tolist() == [1, 2]
    assert found.repeats.tolist() == [1, 0]


def test_versions_that_log_the_same_id_count_each() -> None:
    assert panes(read(record(version="v1"), record(version="v2"), record(version="v1"))) == [2, 0, 0, 0]


def test_without_versions_an_id_counts_once() -> None:
    plain = counting_of("binary")
    plain = replace(plain, reading=replace(plain.reading, versioned=False))

    assert panes(read(record(version="v1"), record(version="v2"), counting=plain)) == [1, 0, 0, 0]


@pytest.mark.parametrize(
    "conflict",
    [
        [{"score": None}, {"score": "NaN"}, {"score": "0.1"}, {"score": "0.2"}],
        [{"prediction": None}, {"prediction": "0"}, {"prediction": "1"}, {"prediction": "DM"}],
        [{"at": FIRST}, {"at": FIRST + 1}],
        [{"arm": None}, {"arm": "control"}, {"arm": "treatment"}],
    ],
)
def test_conflicting_repeats_are_settled_null_then_nan_then_values(conflict: list[Row]) -> None:
    for order in ([0, 1], [1, 0]):
        for smaller, larger in pairwise(conflict):
            pair = [record("a", **{"at": FIRST, "logged_at": FIRST + 9} | one) for one in (smaller, larger)]
            assert read(*[pair[at] for at in order]).rows.tolist() == [order.index(0)]


def test_rows_read_are_all_that_can_be_seen_in_a_pane() -> None:
    found = read(
        record("a"), record("a", logged_at=FIRST + 5), record(None), record("b", logged_at=AS_OF + 1)
    )

    assert found.read.tolist() == [3, 0, 0, 0]
    assert found.newest[0] == FIRST + 5
    assert panes(found) == [1, 0, 0, 0]


@pytest.mark.parametrize("role", ["event_time", "logged_at"])
def test_formats_of_time_that_differ_from_batch_to_batch_are_refused(role: str) -> None:
    reading = replace(reading_of("binary"), time_units=())
    zulu, space = "2013-03-01T00:00:00Z", "2013-03-01 00:00:00.5"
    batches = [
        pa.table({"event_time": [zulu] * 50, "logged_at": [zulu] * 50} | {role: [text] * 50})
        for text in (zulu, zulu, space)
    ]

    with pytest.raises(SourceError, match=r'mixes formats of time: "0000-00-00T00:00:00Z" 100 times, "0000'):
        list(winning_rows.parse_dated_rows((table for table in batches), "logged_at", reading))


def test_a_message_names_the_users_column() -> None:
    reading = replace(reading_of("binary"), time_units=(), names=(("event_time", "made_at"),))
    table = pa.table({"event_time": ["2013-03-01T00:00:00Z", "2013-03-01 00:00:00"] * 50})

    with pytest.raises(SourceError, match='column "made_at" mixes formats of time'):
        winning_rows.parse_role_times(table, "event_time", reading)


@pytest.mark.parametrize("kind", [pa.string(), pa.null()])
def test_an_empty_table_has_no_rows(kind: Any) -> None:
    empty = pa.table({name: pa.array([], kind) for name in COLUMNS})
    reading = replace(reading_of("binary"), time_units=())

    found = parse_winning_rows(empty, replace(counting_of("binary"), reading=reading), PANES, AS_OF)

    assert len(found.rows) == len(found.group) == 0
    assert [len(code) for _, code in found.strata_positions(counting_of("binary"))] == [0, 0, 0]


def test_without_panes_there_are_no_rows() -> None:
    found = parse_winning_rows(table_of([record()], COLUMNS), counting_of("binary"), PANES[:0], AS_OF)

    assert len(found.rows) == 0


def test_versions_keep_their_spelling_and_the_nameless_share_a_name() -> None:
    found = read(*(record(str(at), version=name) for at, name in enumerate(["1.0", "1", None, "", "(none)"])))

    _, (names, codes), _ = found.strata_positions(counting_of("binary"))
    counted = {names[code]: int((codes == code).sum()) for code in codes}
    assert counted == {
        Stratum(version="1.0"): 1,
        Stratum(version="1"): 1,
        Stratum(version=NONE): 2,
        Stratum(version=mark_reserved_name("(none)")): 1,
    }


def test_arms_beside_the_configured_ones_are_other() -> None:
    found = read(*(record(str(at), arm=name) for at, name in enumerate(["control", "treatment", None, "x"])))

    *_, (names, codes) = found.strata_positions(counting_of("binary"))
    assert [names[code].segment for code in codes[np.argsort(found.rows)]] == [
        "group=control",
        "group=treatment",
        f"group={OTHER}",
        f"group={OTHER}",
    ]


def test_arms_are_counted_under_the_strata_that_comparisons_read() -> None:
    counting = counting_of("binary")
    arms = ComparedArms(column="group", control=OTHER, treatment="")
    counting = replace(counting, reading=replace(counting.reading, arms=arms))
    found = read(*(record(str(at), arm=name) for at, name in enumerate([OTHER, "", "x"])), counting=counting)

    *_, (names, codes) = found.strata_positions(counting)

    assert [names[code] for code in codes[np.argsort(found.rows)]] == [*arms.arm_strata, arms.rest_stratum]
    assert len({*arms.arm_strata, arms.rest_stratum}) == 3


def predictions(
    kind: str, **columns: list[str | None]
) -> tuple[NumberValues | None, NumberValues | CategoryValues | None]:
    """Scores and predictions of columns."""
    table = pa.table(
        {name.replace("_", ":"): pa.array(found, pa.string()) for name, found in columns.items()}
    )
    score = winning_rows.parse_scores(table, reading_of(kind))
    return score, winning_rows.parse_predictions(table, reading_of(kind), score)


def test_a_prediction_of_an_invalid_score_is_missing() -> None:
    _, found = predictions("threshold", score=["0.29", "0.3", "1", "1.7", "-0.1", "NaN", None])

    assert isinstance(found, CategoryValues)
    assert found.codes.tolist() == [0, 1, 1, -1, -1, -1, -1]


def test_a_prediction_column_speaks_whatever_the_score() -> None:
    _, found = predictions("binary", score=["1.7", None], prediction=["true", "0.0"])

    assert isinstance(found, CategoryValues)
    assert [found.levels[code] for code in found.codes] == ["1", "0"]


def test_the_most_probable_class_is_predicted_the_first_of_equals() -> None:
    score, found = predictions(
        "multiclass",
        probability_0=["0.2", "0.4"],
        probability_1=["0.5", "0.4"],
        probability_DM=["0.3", "0.2"],
    )

    assert isinstance(found, CategoryValues)
    assert [found.levels[code] for code in found.codes] == ["1", "0"]
    assert score is not None
    assert score.values.tolist() == [0.5, 0.4]


@pytest.mark.parametrize("bad", ["NaN", "1.7", "-0.1", "x"])
def test_one_invalid_probability_makes_score_and_prediction_unusable(bad: str) -> None:
    score, found = predictions(
        "multiclass", probability_0=["0.9", bad], probability_1=[bad, None], probability_DM=["0.1", "0.2"]
    )

    assert isinstance(found, CategoryValues)
    assert found.codes.tolist() == [-1, -1]
    assert score is not None
    assert score.missing.tolist() == [False, True]
    assert np.isnan(score.values[0])


def test_where_nothing_gives_a_prediction_there_is_none() -> None:
    assert predictions("binary", score=["0.5"])[1] is None
    assert predictions("classes", id=["a"]) == (None, None)
