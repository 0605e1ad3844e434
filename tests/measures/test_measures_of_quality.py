"""Quality of the records: what is missing, invalid, unseen, repeated."""

from dataclasses import replace

import pyarrow as pa
import pytest
from measure_states import binary_counting, binary_reading, by_name, records_part, reference_of_rows, table
from scipy import stats

from monitor.core.errors import GridMismatch
from monitor.core.measurement import Reason
from monitor.measures.evaluate import measure_performance, measure_quality
from monitor.measures.measure_options import MeasureOptions
from monitor.records.counting import Counting
from monitor.states.counters import Counters


def counting() -> Counting:
    reading = replace(binary_reading(), numeric=("x",), categorical=("c",))
    rows = table(
        score=pa.array([0.1, 0.9] * 20),
        feature_x=pa.array([float(value) for value in range(40)]),
        feature_c=pa.array(["red", "blue"] * 20),
    )
    return reference_of_rows(rows, reading).counting


def window() -> pa.Table:
    return table(
        score=pa.array([0.1, None, 1.7, 0.9, -0.1]),
        feature_x=pa.array([1.0, float("nan"), None, None, float("inf")]),
        feature_c=pa.array(["red", "green", None, "blue", "green"]),
        id=pa.array(["a", "b", "c", "d", "e"]),
    )


def test_missing_invalid_and_unseen_values_are_told_apart() -> None:
    grids = counting()

    measured = by_name(measure_quality(grids, records_part(window(), grids)))

    rates = {
        name: [measured[f"{rate}_rate {name}"].value for rate in ("missing", "invalid")]
        for name in ("score", "feature:x", "feature:c")
    }
    assert rates == {"score": [0.2, 0.4], "feature:x": [0.4, 0.4], "feature:c": [0.2, 0.0]}
    assert measured["unseen_rate feature:c"].value == 0.4
    assert "unseen_rate feature:x" not in measured


def test_rates_have_wilson_intervals() -> None:
    grids = counting()

    interval = by_name(measure_quality(grids, records_part(window(), grids)))[
        "missing_rate feature:x"
    ].interval

    expected = stats.binomtest(2, 5).proportion_ci(method="wilson")
    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx([expected.low, expected.high])


def test_repeated_ids_are_counted_once_and_said() -> None:
    grids = counting()
    repeated = table(score=pa.array([0.1, 0.1, 0.3]), id=pa.array(["a", "a", "b"]))

    measured = by_name(measure_quality(grids, records_part(repeated, grids), features=False))

    assert measured["records"].value == 2
    assert measured["duplicate_records"].value == 1
    assert measured["stale_records"].value == 0


def test_a_dropped_column_is_not_counted() -> None:
    grids = counting()

    measured = by_name(measure_quality(grids, records_part(window().drop_columns(["feature:x"]), grids)))

    assert measured["missing_rate feature:x"].reason is Reason.NOT_COUNTED
    assert measured["missing_rate feature:c"].value == 0.2


def test_strata_have_no_rates_of_features() -> None:
    grids = counting()

    measured = measure_quality(grids, records_part(window(), grids), features=False)

    assert {result.subject for result in measured} == {"", "score", "prediction"}


def test_counters_of_other_grids_are_refused() -> None:
    grids = counting()

    with pytest.raises(GridMismatch, match="other grids"):
        measure_quality(grids, Counters.make_empty(binary_counting().records_layout))
    with pytest.raises(GridMismatch, match="other grids"):
        measure_performance(grids, Counters.make_empty(grids.records_layout), MeasureOptions())
