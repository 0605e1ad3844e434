"""Segments: marginal strata of the reference's frequent values; rows that serve."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from strategies import AS_OF, FIRST, PANES, Row, reading_of, table_of

from monitor.records.count_records import count_records
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.pane import PanePart
from monitor.records.reading import ServingRule
from monitor.records.reference import make_plain_counting, reference_of
from monitor.states.strata import WHOLE, Stratum

READING = replace(reading_of("threshold"), segments=("town", "plan"), arms=None, versioned=False)
COLUMNS = ["id", "event_time", "score", "segment:town", "segment:plan"]
TOWNS = {f"t{number:02}": 60 - number for number in range(25)} | {"rare": 9}


def reference_rows() -> list[Row]:
    towns = [name for name, count in TOWNS.items() for _ in range(count)]
    return [
        {"score": "0.4", "label": "1", "segment:town": town, "segment:plan": "1.0" if at % 3 else None}
        for at, town in enumerate(towns)
    ]


@pytest.fixture(scope="module")
def counting() -> Counting:
    rows = reference_rows()
    reading = replace(READING, numeric=(), categorical=())
    return reference_of(table_of(rows, list(rows[0])), reading).counting


def rows_of(*towns: str | None, **more: Any) -> list[Row]:
    return [
        {"id": str(at), "event_time": FIRST, "score": "0.5", "segment:town": town, "segment:plan": "1"} | more
        for at, town in enumerate(towns)
    ]


def records(part: PanePart) -> dict[str | None, int]:
    """Records by segment, the whole under None: the first counter of the first block."""
    first = {
        stratum.segment: counters.value[counters.index == 0] for stratum, counters in part.strata.items()
    }
    return {segment: int(counted[0]) for segment, counted in first.items()}


def test_the_20_most_frequent_values_of_at_least_10_records_are_segments(counting: Counting) -> None:
    towns, plans = dict(counting.segments)["town"], dict(counting.segments)["plan"]

    assert towns == tuple(f"t{number:02}" for number in range(20))
    assert plans == ("1",)
    assert "rare" not in repr(counting.segments)


def test_every_column_divides_the_records_into_its_values_other_and_none(counting: Counting) -> None:
    rows = rows_of("t00", "t00", "t19", "t20", "rare", "unseen", None, "")

    for part in (
        count_records(table_of(rows, COLUMNS), counting, panes=PANES[:1], as_of=AS_OF)[0],
        count_labels(table_of(rows, [*COLUMNS, "label"]), counting, panes=PANES[:1], as_of=AS_OF)[0],
    ):
        assert records(part) == {
            None: 8, "town=t00": 2, "town=t19": 1, "town=other": 3, "town=(none)": 2, "plan=1": 8
        }  # fmt: skip


def test_values_are_compared_as_canonical_text(counting: Counting) -> None:
    rows = [
        row | {"segment:plan": plan} for row, plan in zip(rows_of("a", "b"), ("true", "1.0"), strict=True)
    ]

    part = count_records(table_of(rows, COLUMNS), counting, panes=PANES[:1], as_of=AS_OF)[0]

    assert records(part)["plan=1"] == 2


def test_a_column_that_is_not_there_is_left_out_and_the_others_are_counted(counting: Counting) -> None:
    table = table_of(rows_of("t00"), [name for name in COLUMNS if name != "segment:town"])

    part = count_records(table, counting, panes=PANES[:1], as_of=AS_OF)[0]

    assert records(part) == {None: 1, "plan=1": 1}


def test_segments_count_outputs_and_labels_but_no_features() -> None:
    rows = [row | {"feature:width": "1", "feature:color": "red"} for row in reference_rows()]
    counting = reference_of(table_of(rows, list(rows[0])), READING).counting
    table = table_of(
        [row | {"feature:width": "2", "feature:color": "red"} for row in rows_of("t00", "t01")],
        [*COLUMNS, "feature:width", "feature:color"],
    )

    part = count_records(table, counting, panes=PANES[:1], as_of=AS_OF)[0]

    segment = part.strata[Stratum(segment="town=t00")]
    assert counting.histogram_view(segment, "score").n == 1
    assert counting.histogram_view(segment, "feature:width").n == 0
    assert counting.histogram_view(part.strata[WHOLE], "feature:width").n == 2


def test_labels_of_segments_are_those_of_a_group_by(counting: Counting) -> None:
    towns, labels = ["t00", "t01", "t00", "t00", None] * 7, ["1", "0", None, "0", "1"] * 7
    rows = [row | {"label": label} for row, label in zip(rows_of(*towns), labels, strict=True)]

    part = count_labels(table_of(rows, [*COLUMNS, "label"]), counting, panes=PANES[:1], as_of=AS_OF)[0]

    frame = pd.DataFrame({"town": towns, "label": labels}).fillna({"town": "(none)"})
    for town, found in frame.groupby("town")["label"]:
        counters = part.strata[Stratum(segment=f"town={town}")]
        assert counting.tally_view(counters).labelled == found.count()
        assert counting.histogram_view(counters, "label").counts[1] == (found == "1").sum()


def test_other_segments_make_other_panes_of_the_same_layout(counting: Counting) -> None:
    fewer = replace(counting, segments=counting.segments[:1])

    assert fewer.records_layout.hash == counting.records_layout.hash
    assert fewer.hash_stored_layout(fewer.records_layout) != counting.hash_stored_layout(
        counting.records_layout
    )
    assert fewer.hash_stored_layout(fewer.labels_layout) != counting.hash_stored_layout(
        counting.labels_layout
    )


def test_without_a_reference_there_are_no_segments() -> None:
    found = make_plain_counting(READING)

    assert found.segments == ()
    assert found.reading.segments == ()


def test_only_rows_that_serve_are_of_the_whole_and_its_segments(counting: Counting) -> None:
    reading = replace(
        counting.reading, versioned=True, serving=ServingRule(column="stage", values=("live", "1"))
    )
    served = replace(counting, reading=reading)
    stages = ["live", "true", "shadow", None, ""]
    rows = [
        row | {"serving": stage, "version": "v1" if at < 3 else "v2", "label": "1"}
        for at, (row, stage) in enumerate(zip(rows_of(*["t00"] * 5), stages, strict=True))
    ]
    table = table_of(rows, [*COLUMNS, "serving", "version", "label"])

    part = count_records(table, served, panes=PANES[:1], as_of=AS_OF)[0]
    labels = count_labels(table, served, panes=PANES[:1], as_of=AS_OF)[0]

    counted = {stratum: int(counters.dense_block("volume")[0]) for stratum, counters in part.strata.items()}
    assert counted == {
        WHOLE: 2,
        Stratum(version="v1"): 3,
        Stratum(version="v2"): 2,
        Stratum(segment="town=t00"): 2,
        Stratum(segment="plan=1"): 2,
    }
    assert int(part.strata[Stratum(version="v1")].dense_block("served")[0]) == 2
    assert (part.records, labels.records, labels.labelled, labels.rows) == (2, 2, 2, 5)


def test_of_a_repeated_row_the_one_that_serves_wins_a_tie(counting: Counting) -> None:
    served = replace(
        counting, reading=replace(counting.reading, serving=ServingRule(column="stage", values=("live",)))
    )
    rows = [rows_of("t00", serving=stage)[0] for stage in ("shadow", "live")]

    for order in (rows, rows[::-1]):
        table = table_of(order, [*COLUMNS, "serving"])
        assert count_records(table, served, panes=PANES[:1], as_of=AS_OF)[0].records == 1
