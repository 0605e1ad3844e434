"""What a part is measured to be as a whole: the same for equal counters, and absent by name where it is."""

from dataclasses import replace

import numpy as np
import pytest
from measure_states import (
    binary_counting,
    binary_reading,
    by_name,
    class_counting,
    classified,
    labels_part,
    measures_of_scores,
    number_counting,
    probability_columns,
    probability_counting,
    records_part,
    reference_of_rows,
    scored,
    table,
)

from monitor.core.measurement import Measurement, Reason
from monitor.measures.evaluate import (
    measure_estimates,
    measure_label_quality,
    measure_performance,
    measure_quality,
    measure_segment_mean,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions
from monitor.records.counting import Counting
from monitor.states.counters import Counters

RNG = np.random.default_rng(17)
SCORES = RNG.beta(2, 3, 300)
LABELS = (RNG.uniform(size=300) < SCORES).astype(int)
CLASSES = ("ant", "bee", "cat")


def grids() -> Counting:
    reading = replace(binary_reading(), numeric=("x",), categorical=("c",))
    rows = table(score=[0.1, 0.9] * 20, feature_x=np.arange(40.0), feature_c=["red", "blue"] * 20)
    return reference_of_rows(rows, reading).counting


def test_equal_records_have_equal_intervals_whatever_their_order() -> None:
    order = RNG.permutation(300)

    first = measures_of_scores(SCORES, LABELS, MeasureOptions(resamples=100))
    again = measures_of_scores(SCORES[order], LABELS[order], MeasureOptions(resamples=100))

    assert first == again


def test_equal_matrices_have_equal_intervals_and_another_seed_would_not() -> None:
    counting = class_counting(CLASSES)
    actual, predicted = RNG.choice(CLASSES, 200).tolist(), RNG.choice(CLASSES, 200).tolist()
    counters = classified(actual, predicted, counting)

    found = [
        by_name(measure_performance(counting, counters, MeasureOptions(resamples=100))) for _ in range(3)
    ]

    assert found[0] == found[1] == found[2]
    resampled = found[0]["f1_macro"].interval
    assert resampled is not None
    other = classified([*actual, "ant"], [*predicted, "ant"], counting)
    assert (
        by_name(measure_performance(counting, other, MeasureOptions(resamples=100)))["f1_macro"].interval
        != resampled
    )


@pytest.mark.parametrize(
    ("counting", "whole", "names"),
    [
        (binary_counting(), True, ["roc_auc", "accuracy", "precision", "recall"]),
        (binary_counting(), False, ["roc_auc", "accuracy", "precision", "recall"]),
        (
            probability_counting(CLASSES),
            True,
            ["accuracy", "roc_auc_macro", "precision_macro", "recall_macro"],
        ),
        (probability_counting(CLASSES), False, ["accuracy"]),
        (number_counting(), True, ["mean_absolute_error"]),
        (class_counting(CLASSES), True, []),
    ],
)
def test_without_anything_learned_each_estimate_is_absent_by_its_name(
    counting: Counting, names: list[str], *, whole: bool
) -> None:
    records = Counters.make_empty(counting.records_layout)

    found = measure_estimates(counting, Reason.NO_REFERENCE, records, MeasureOptions(), whole=whole)

    assert [(one.measure, one.subject) for one in found] == [(f"estimated_{name}", "") for name in names]
    assert {one.measurement for one in found} <= {Measurement.without_value(Reason.NO_RECORDS, n=0)}


def test_without_a_reference_the_outputs_say_so_and_features_are_left_out() -> None:
    counting = grids()
    records = records_part(table(score=[0.2, 0.7, 0.8], feature_x=[1.0, 2.0, 3.0]), counting)

    found = measure_shifts(counting, None, records, MeasureOptions())

    assert {one.subject for one in found} == {"score", "prediction"}
    assert {(one.measurement.reason, one.measurement.n) for one in found} == {(Reason.NO_REFERENCE, 3)}


def test_rates_of_quality_have_the_level_that_is_asked_for_and_a_reason_without_records() -> None:
    counting = grids()
    records = records_part(table(score=[0.2, None], feature_x=[1.0, 2.0], feature_c=["red", None]), counting)

    found = by_name(measure_quality(counting, records, level=0.8))
    nothing = by_name(measure_quality(counting, Counters.make_empty(counting.records_layout)))

    intervals = {name: one.interval for name, one in found.items() if one.interval is not None}
    assert {"missing_rate score", "missing_rate feature:c", "unseen_rate feature:c"} <= intervals.keys()
    assert {one.level for one in intervals.values()} == {0.8}
    assert nothing["missing_rate score"] == Measurement.without_value(Reason.NO_RECORDS, n=0)
    assert (nothing["unusual_names"].value, nothing["unusual_names"].n) == (0.0, 0)


def test_names_that_are_unusual_are_counted_of_the_whole_alone() -> None:
    counting = grids()
    records = records_part(table(score=[0.2], feature_x=[1.0], feature_c=["red"]), counting)
    at = counting.records_layout.block_slice("unusual_names").start
    dense = records.dense_counts()
    dense[at] = 7

    named = Counters.from_dense(counting.records_layout, dense)

    assert by_name(measure_quality(counting, named))["unusual_names"].value == 7.0
    assert "unusual_names" not in by_name(measure_quality(counting, named, features=False))


def test_coverage_by_class_is_told_of_those_that_labels_come_for() -> None:
    counting = binary_counting()
    some = replace(counting, reading=replace(counting.reading, only_for=("1",)))
    counters = scored(SCORES.tolist(), LABELS.tolist(), counting)

    of_all, of_one, without = (
        {
            one.subject
            for one in measure_label_quality(each, counters, MeasureOptions(), delays=delays)
            if one.measure == "coverage"
        }
        for each, delays in ((counting, True), (some, True), (counting, False))
    )

    assert (of_all, of_one, without) == ({"", "class:0", "class:1"}, {"", "class:1"}, {""})


def test_the_mean_of_a_part_is_its_main_measure_and_its_records() -> None:
    classes = class_counting(CLASSES)
    right = classified(["ant", "bee", "cat", "cat"], ["ant", "bee", "cat", "ant"], classes)
    numbers = number_counting()
    errors = labels_part(table(prediction=[1.0, 4.0], label=[2.0, 1.0]), numbers)

    assert (measure_segment_mean(classes, right).value, measure_segment_mean(classes, right).n) == (0.75, 4)
    assert (measure_segment_mean(numbers, errors).value, measure_segment_mean(numbers, errors).n) == (2.0, 2)
    assert measure_segment_mean(classes, Counters.make_empty(classes.labels_layout)).n == 0
    assert measure_segment_mean(numbers, Counters.make_empty(numbers.labels_layout)).n == 0


def test_probabilities_without_labels_have_no_calibration_of_the_whole_where_it_is_not_asked_for() -> None:
    counting = probability_counting(CLASSES)
    shares = RNG.dirichlet([1, 1, 1], 60)
    rows = table(label=[CLASSES[at] for at in shares.argmax(axis=1)], **probability_columns(CLASSES, shares))
    counters = labels_part(rows, counting)

    whole, headlines = (
        {
            one.measure
            for one in measure_performance(counting, counters, MeasureOptions(resamples=0, whole=whole))
        }
        for whole in (True, False)
    )

    assert {name for name in whole - headlines if "calibration" in name} != set()
    assert not any("calibration" in name for name in headlines)
