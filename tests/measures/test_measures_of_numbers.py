"""Measures of numbers, against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_states import measures_of_numbers, number_counting
from scipy import stats
from sklearn import metrics

from monitor.core.measurement import Measurement, Reason
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.states.counters import Counters

VALUES = st.floats(-1000, 1000).map(lambda value: round(value, 6))
RECORDS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=50)


@given(RECORDS)
def test_errors_equal_scikit_learn(records: list[tuple[float, float]]) -> None:
    predictions, labels = ([*column] for column in zip(*records, strict=True))

    found = measures_of_numbers(predictions, labels)

    squared = metrics.mean_squared_error(labels, predictions)
    assert found["mean_squared_error"].value == pytest.approx(squared, rel=1e-9, abs=1e-11)
    assert found["root_mean_squared_error"].value == pytest.approx(np.sqrt(squared), rel=1e-9, abs=1e-5)
    absolute = metrics.mean_absolute_error(labels, predictions)
    assert found["mean_absolute_error"].value == pytest.approx(absolute, rel=1e-9, abs=1e-11)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=50))
def test_r2_equals_scikit_learn_or_is_undefined(records: list[tuple[int, int]]) -> None:
    predictions, labels = ([float(value) for value in column] for column in zip(*records, strict=True))

    found = measures_of_numbers(predictions, labels)["r2_score"]

    if len(set(labels)) == 1:
        assert found == Measurement.without_value(Reason.UNDEFINED, n=len(labels))
    else:
        assert found.value == pytest.approx(metrics.r2_score(labels, predictions), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1234.567, -1e-7])
def test_equal_labels_that_are_no_multiple_of_the_unit_have_no_r2(constant: float) -> None:
    found = measures_of_numbers([1.0, 2.0, 3.0], [constant] * 3)["r2_score"]

    assert found.reason is Reason.UNDEFINED


def test_a_huge_mean_of_labels_does_not_spoil_r2() -> None:
    rng = np.random.default_rng(5)
    labels = 1e5 + rng.normal(size=300)
    predictions = labels + rng.normal(size=300) / 4

    found = measures_of_numbers(predictions, labels)["r2_score"]

    assert found.value == pytest.approx(metrics.r2_score(labels, predictions), rel=1e-6)


def test_r2_interval_is_the_delta_method_of_the_records_influence() -> None:
    rng = np.random.default_rng(7)
    labels = rng.normal(3, 2, size=500)
    predictions = labels + rng.normal(size=500)
    e2, spread = (predictions - labels) ** 2, labels.var()
    influence = -(e2 - e2.mean()) / spread + e2.mean() / spread**2 * ((labels - labels.mean()) ** 2 - spread)
    half = stats.norm.ppf(0.975) * influence.std() / np.sqrt(500)
    value = metrics.r2_score(labels, predictions)

    interval = measures_of_numbers(predictions, labels)["r2_score"].interval

    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx([value - half, value + half], rel=1e-6)


def test_error_intervals_are_those_of_means() -> None:
    rng = np.random.default_rng(9)
    labels, errors = rng.normal(size=400), rng.normal(size=400)
    z = stats.norm.ppf(0.975)

    found = measures_of_numbers(labels + errors, labels)

    for name, terms in (("mean_squared_error", errors**2), ("mean_absolute_error", np.abs(errors))):
        interval = found[name].interval
        assert interval is not None
        half = z * terms.std(ddof=1) / 20
        assert [interval.lower, interval.upper] == pytest.approx([terms.mean() - half, terms.mean() + half])
    root = found["root_mean_squared_error"]
    assert root.interval is not None
    assert root.value is not None
    half = z * (errors**2).std(ddof=1) / 20 / (2 * root.value)
    assert [root.interval.lower, root.interval.upper] == pytest.approx([root.value - half, root.value + half])


def test_without_records_there_is_a_reason() -> None:
    counting = number_counting()

    found = measure_performance(counting, Counters.make_empty(counting.labels_layout), MeasureOptions())

    assert {result.measurement.reason for result in found} == {Reason.NO_LABELS}


def test_a_perfect_constant_model_has_an_error_relative_to_the_means_of_one() -> None:
    labels = np.arange(10.0)

    found = measures_of_numbers([4.5] * 10, labels.tolist())

    assert found["relative_squared_error"] == Measurement(value=1.0, n=10)
    assert found["r2_score"] == Measurement(value=0.0, n=10)


def test_one_record_has_errors_without_interval() -> None:
    found = measures_of_numbers([3.0], [1.0])

    assert found["mean_squared_error"] == Measurement(value=4.0, n=1)
    assert found["root_mean_squared_error"] == Measurement(value=2.0, n=1)
    assert found["r2_score"].reason is Reason.UNDEFINED


def test_perfect_predictions_have_no_error_and_no_interval() -> None:
    found = measures_of_numbers([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])

    assert found["r2_score"] == Measurement(value=1.0, n=3)
    assert found["root_mean_squared_error"] == Measurement(value=0.0, n=3)


def test_a_value_out_of_range_is_a_reason() -> None:
    found = measures_of_numbers([1e13, 1.0], [0.0, 1.0])

    without = {name for name, measurement in found.items() if measurement.value is None}
    assert {found[name].reason for name in without - {"mean_absolute_percentage_error"}} == {
        Reason.OUT_OF_RANGE
    }
    assert set(found) - without == {"error_p05", "error_p25"}


def test_moments_out_of_range_cost_the_interval_alone() -> None:
    found = measures_of_numbers([1e4, 1.0, 2.0], [0.0, 1.0, 3.0])

    assert found["mean_squared_error"].value == pytest.approx((1e8 + 1) / 3)
    assert found["mean_squared_error"].interval is None
    assert found["r2_score"].value is not None
    assert found["r2_score"].interval is None
    assert found["mean_absolute_error"].interval is not None
