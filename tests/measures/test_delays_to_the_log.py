"""How long rows take from their event to the log."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from measure_states import binary_reading, by_name, records_part, table

from monitor.core.clock import HOUR, SECOND
from monitor.core.measurement import Measurement, Reason
from monitor.measures.evaluate import measure_quality
from monitor.records.counting import Counting
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters

SHARES = {"log_delay_median": 0.5, "log_delay_p90": 0.9}


def counting() -> Counting:
    units = (("event_time", "us"), ("logged_at", "us"))
    return make_plain_counting(
        replace(binary_reading(), names=(("logged_at", "written_at"),), time_units=units)
    )


def measured(logged: list[int | None], event: list[int] | None = None) -> dict[str, Measurement]:
    grids = counting()
    rows = table(
        score=pa.array([0.5] * len(logged)),
        logged_at=pa.array(logged, pa.int64()),
        event_time=pa.array(event or [0] * len(logged)),
    )
    return by_name(measure_quality(grids, records_part(rows, grids)))


@example(list(range(10, 1_010, 10)))
@given(st.lists(st.integers(2, 10**7), min_size=1, max_size=60))
def test_it_lies_above_numpys_order_statistic_by_at_most_its_resolution(seconds: list[int]) -> None:
    found = measured([second * SECOND for second in seconds])

    for name, share in SHARES.items():
        exact, one = float(np.quantile(seconds, share, method="inverted_cdf")), found[name]
        assert one.n == len(seconds)
        assert one.value is not None
        assert one.value - one.resolution <= exact <= one.value
        assert one.resolution <= 0.011 * one.value


def test_a_row_that_is_logged_before_its_event_counts_as_one_second() -> None:
    assert measured([HOUR // 4], [HOUR // 2])["log_delay_median"].value == 1


def test_rows_that_do_not_say_when_they_were_logged_are_left_out() -> None:
    found = measured([None, 100 * SECOND, None])

    assert found["log_delay_p90"].n == 1
    assert found["log_delay_p90"].value == pytest.approx(100, rel=0.011)
    assert measured([None, None])["log_delay_p90"].reason is Reason.NOT_COUNTED


def test_without_a_column_that_says_when_it_is_not_counted() -> None:
    grids = make_plain_counting(binary_reading())
    found = by_name(measure_quality(grids, records_part(table(score=pa.array([0.5])), grids)))

    assert [found[name].reason for name in SHARES] == [Reason.NOT_COUNTED] * 2


def test_a_window_without_records_has_none_and_says_so() -> None:
    grids = counting()
    found = by_name(measure_quality(grids, Counters.make_empty(grids.records_layout)))

    assert [found[name].reason for name in SHARES] == [Reason.NO_RECORDS] * 2


def test_strata_do_not_have_it() -> None:
    grids = counting()
    part = records_part(table(score=pa.array([0.5]), logged_at=pa.array([SECOND])), grids)

    assert not SHARES.keys() & by_name(measure_quality(grids, part, features=False)).keys()
