"""Labels: coverage, delays, oddities."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from measure_states import binary_counting, binary_reading, by_name, labels_part, scored, table

from monitor.core.clock import DAY, HOUR, SECOND
from monitor.core.measurement import Measurement, Reason
from monitor.measures.evaluate import measure_label_quality, measure_performance
from monitor.measures.label_arrival import TALLY_MEASURES, class_coverage, label_results, preferred_classes
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.label_delays import delay_quantile
from monitor.records.counting import DELAY_EDGES, TALLY
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters
from monitor.states.views import DelayTable

DELAYS = [("label_delay_median", 0.5), ("label_delay_p90", 0.9), ("label_delay_p99", 0.99)]


def measured(labels: list[str | None], reported: list[int | None]) -> dict[str, Measurement]:
    counting = binary_counting()
    rows = table(
        score=pa.array([0.5] * len(labels)),
        label=pa.array(labels, pa.string()),
        reported_at=pa.array(reported, pa.int64()),
    )
    return by_name(measure_label_quality(counting, labels_part(rows, counting), MeasureOptions()))


def test_coverage_and_oddities() -> None:
    found = measured(["1", None, "0", None], [HOUR, None, 90 * DAY, 2 * HOUR])

    assert found["coverage"].value == 0.5
    assert found["labelled_records"].value == 2
    assert found["retracted_labels"].value == 1
    assert found["stale_labels"].value == 1
    assert found["coverage"].interval is not None


@example(list(range(10, 1_010, 10)), ("label_delay_p99", 0.99))
@given(st.lists(st.integers(2, 10**7), min_size=1, max_size=60), st.sampled_from(DELAYS))
def test_delay_lies_above_the_order_statistic_by_at_most_its_resolution(
    seconds: list[int], asked: tuple[str, float]
) -> None:
    name, share = asked

    found = measured(["1"] * len(seconds), [second * SECOND for second in seconds])[name]

    exact = float(np.quantile(seconds, share, method="inverted_cdf"))
    assert found.value is not None
    assert found.value - found.resolution <= exact <= found.value
    assert found.resolution <= 0.011 * found.value


def test_early_labels_count_as_one_second() -> None:
    counting = binary_counting()
    rows = table(
        score=pa.array([0.5]),
        label=pa.array(["1"]),
        event_time=pa.array([HOUR // 2]),
        reported_at=pa.array([HOUR // 4]),
    )

    found = by_name(measure_label_quality(counting, labels_part(rows, counting), MeasureOptions()))

    assert found["early_labels"].value == 1
    assert found["label_delay_median"].value == 1


def test_no_label_has_no_delay() -> None:
    assert measured([None], [None])["label_delay_median"].reason is Reason.NO_LABELS
    assert measured([None], [None])["coverage"].value == 0


def test_a_delay_beyond_the_last_edge_is_out_of_range() -> None:
    counts = np.zeros(len(DELAY_EDGES) + 1, dtype=np.int64)
    counts[-1] = 3

    assert (
        delay_quantile(DelayTable(DELAY_EDGES, counts), 0.5, Reason.NO_LABELS).reason is Reason.OUT_OF_RANGE
    )


def test_labels_whose_delays_were_not_counted_say_so() -> None:
    delays = DelayTable(DELAY_EDGES, np.zeros(len(DELAY_EDGES) + 1, dtype=np.int64))
    tally = np.asarray([9 if name in ("records", "labelled") else 0 for name in TALLY])

    found = by_name(list(label_results(tally, delays, 0.95)))

    assert found["label_delay_median"] == Measurement.without_value(Reason.NOT_COUNTED, n=9)


def test_strata_have_no_measures_of_delays() -> None:
    counting = binary_counting()
    counters = scored([0.2, 0.7], [0, 1], counting)

    whole, stratum = (
        {
            result.measure
            for result in measure_label_quality(counting, counters, MeasureOptions(), delays=delays)
        }
        for delays in (True, False)
    )

    assert whole - stratum == {"label_delay_median", "label_delay_p90", "label_delay_p99"}
    assert "coverage" in stratum


def test_a_model_without_labels_has_no_measures_of_them() -> None:
    counting = make_plain_counting(replace(binary_reading(), labelled=False))
    counters = Counters.make_empty(counting.labels_layout)

    assert measure_label_quality(counting, counters, MeasureOptions()) == []
    assert measure_performance(counting, counters, MeasureOptions()) == []


def test_empty_counters_have_no_records() -> None:
    counting = binary_counting()

    found = by_name(
        measure_label_quality(counting, Counters.make_empty(counting.labels_layout), MeasureOptions())
    )

    assert found["coverage"].reason is Reason.NO_RECORDS
    assert found["labelled_records"].value == pytest.approx(0)


def test_coverage_is_told_of_each_class_that_labels_come_for() -> None:
    predicted = np.asarray([[1, 8, 5, 0], [3, 2, 1, 0]])

    of_all, of_one = (list(class_coverage(("a", "b"), predicted, 0.95, only)) for only in ((), ("b",)))

    found = [(result.subject, result.measurement.value) for result in of_all]
    assert found == [("class:a", 0.75), ("class:b", 0.2)]
    assert [result.subject for result in of_one] == ["class:b"]


@pytest.mark.parametrize(
    ("without", "labelled", "preferred"),
    [
        ([10, 480], [740, 20], ("a",)),
        ([480, 10, 5], [20, 740, 400], ("b", "c")),
        ([10, 480], [740, 380], ()),  # less than twice as often
        ([2, 7], [8, 1], ()),  # too few to be sure
        ([0, 1], [100_000, 0], ()),  # one record says nothing
        ([100, 900], [0, 0], ()),  # nobody has a label
        ([0, 0], [100, 0], ()),  # of one class alone
        ([], [], ()),
    ],
)
def test_classes_that_labels_come_for_are_surely_covered_twice_as_often(
    without: list[int], labelled: list[int], preferred: tuple[str, ...]
) -> None:
    predicted = np.asarray([without, labelled], dtype=np.int64)

    assert preferred_classes("abc"[: len(without)], predicted) == preferred


def test_every_measure_has_its_own_count_and_the_invalid_rate_is_of_all_labels_that_came() -> None:
    counts = {name: at for at, name in enumerate(TALLY, start=3)} | {
        "records": 90,
        "labelled": 60,
        "invalid": 20,
    }

    found = by_name(list(label_results(np.asarray([counts[name] for name in TALLY]), None, 0.95)))

    assert {(found[measure].value, found[measure].n) for measure in TALLY_MEASURES.values()} == {
        (float(counts[name]), 90) for name in TALLY_MEASURES
    }
    assert (found["labelled_records"].value, found["early_labels"].value) == (60.0, float(counts["early"]))
    assert (found["invalid_label_rate"].value, found["invalid_label_rate"].n) == (0.25, 80)
    assert found.keys() == {"coverage", "invalid_label_rate", *TALLY_MEASURES.values()}


def test_a_delay_is_the_upper_edge_of_its_cell_and_the_first_cell_begins_at_0() -> None:
    delays = [DelayTable((1.0, 10.0, 20.0), np.asarray(counts)) for counts in ([3, 0, 0, 0], [1, 2, 1, 0])]

    first, second = (delay_quantile(each, 0.5, Reason.NO_LABELS) for each in delays)

    assert (first.value, first.resolution, first.n) == (1.0, 1.0, 3)
    assert (second.value, second.resolution, second.n) == (10.0, 9.0, 4)
    nothing = DelayTable((1.0, 10.0, 20.0), np.zeros(4, dtype=np.int64))
    beyond = DelayTable((1.0, 10.0, 20.0), np.asarray([1, 0, 0, 3]))
    assert delay_quantile(nothing, 0.5, Reason.NO_LABELS) == Measurement.without_value(Reason.NO_LABELS, n=0)
    assert delay_quantile(beyond, 0.5, Reason.NO_LABELS) == Measurement.without_value(
        Reason.OUT_OF_RANGE, n=4
    )
