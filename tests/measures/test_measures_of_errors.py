"""Quantiles of errors and errors relative to a baseline, against NumPy, SciPy and scikit-learn."""

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_states import by_name, labels_part, measures_of_numbers, number_counting, numbered, table
from scipy import stats
from sklearn import metrics

from monitor.core.array_types import Floats
from monitor.core.measurement import Measurement, Reason
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.regression import QUANTILES, median_baseline
from monitor.records.counting import Counting
from monitor.records.labels.count_labels import count_labels
from monitor.records.reading import ComparedArms, ModelTask, ReadingOptions
from monitor.records.reference import reference_of
from monitor.states.counters import Counters
from monitor.states.error_tables import LabelErrors
from monitor.states.strata import WHOLE, Stratum

NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1000, 1000),
    st.sampled_from([0.0, 1e-9, 1e6, -1e6, 1e6 + 1e-3, 2.0**-20, 2.0**-20 * 1.01]),
)
RECORDS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40)
ROUNDING = 1e-9


def columns(records: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    predictions, labels = np.asarray(records).T
    return predictions, labels


def off(found: Measurement, expected: float) -> float:
    """By how much a value lies farther from the expected one than its resolution and rounding admit."""
    assert found.value is not None
    return abs(found.value - expected) - found.resolution - ROUNDING * max(1.0, abs(expected))


def order_statistic(ordered: Floats, percent: int) -> float:
    rank, rest = divmod(len(ordered) * percent, 100)
    return float(ordered[rank] if rest else ordered[rank - 1 : rank + 1].mean())


@given(RECORDS)
def test_order_statistics_lie_within_the_resolution(records: list[tuple[float, float]]) -> None:
    predictions, labels = columns(records)

    found = measures_of_numbers(predictions, labels)

    errors = np.sort(predictions - labels)
    for name, percent in QUANTILES.items():
        assert off(found[name], order_statistic(errors, percent)) <= 0, name
    median = metrics.median_absolute_error(labels, predictions)
    assert off(found["median_absolute_error"], median) <= 0
    assert off(found["max_error"], metrics.max_error(labels, predictions)) <= 0
    coarsest = max(0.0051 * float(np.abs(errors).max()), 2.0**-20)
    assert all(found[name].resolution <= coarsest for name in QUANTILES)


def test_quantiles_are_those_of_numpy() -> None:
    rng = np.random.default_rng(3)
    labels, errors = rng.normal(size=401), rng.standard_t(3, size=401)

    found = measures_of_numbers(labels + errors, labels)

    expected = np.quantile(errors, np.asarray([*QUANTILES.values()]) / 100, method="averaged_inverted_cdf")
    for name, value in zip(QUANTILES, expected.tolist(), strict=True):
        assert found[name].value == pytest.approx(value, rel=0.006)


@given(RECORDS)
def test_the_skill_against_the_median_is_scikit_learns_within_the_resolution(
    records: list[tuple[float, float]],
) -> None:
    predictions, labels = columns(records)

    found = measures_of_numbers(predictions, labels)["d2_absolute_error_score"]

    if found.value is None:
        assert found.reason is Reason.UNDEFINED
        assert np.ptp(labels) < 0.2 * np.abs(labels).max() + 2.0**-18
    else:
        expected = metrics.d2_absolute_error_score(labels, predictions)
        assert abs(found.value - expected) <= found.resolution * (1 + ROUNDING) + 1e-6 * abs(expected) + 1e-6


@given(st.lists(NUMBERS, min_size=1, max_size=40))
def test_the_baseline_of_the_median_lies_within_its_bounds(labels: list[float]) -> None:
    counting, values = number_counting(), np.asarray(labels)

    baseline = median_baseline(counting.label_errors(numbered(labels, labels, counting)))

    assert baseline is not None
    exact = float(np.abs(values - np.median(values)).sum())
    assert baseline.lowest - 1e-6 <= exact <= baseline.highest + 1e-6


def test_the_baseline_of_the_median_is_exact_where_the_median_lies_between_cells() -> None:
    labels = np.asarray([1.0, 2.0, 4.0, 8.0])

    found = measures_of_numbers(labels + 1, labels)["relative_absolute_error"]

    assert found.value == pytest.approx(4 / 9, rel=1e-12)
    assert found.resolution == 0


@given(RECORDS)
def test_percentages_are_scikit_learns_or_undefined(records: list[tuple[float, float]]) -> None:
    predictions, labels = columns(records)

    found = measures_of_numbers(predictions, labels)["mean_absolute_percentage_error"]

    if np.any(labels == 0):
        assert found == Measurement.without_value(Reason.UNDEFINED, n=len(labels))
    elif found.value is None:
        assert found.reason is Reason.OUT_OF_RANGE
        assert np.abs(labels).min() < 1e-6
    elif np.abs(labels).min() > 1e-12:
        expected = metrics.mean_absolute_percentage_error(labels, predictions)
        assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-11)


@given(RECORDS)
def test_sums_and_ratios_belong_to_the_means(records: list[tuple[float, float]]) -> None:
    predictions, labels = columns(records)
    errors = predictions - labels

    found = measures_of_numbers(predictions, labels)

    assert found["bias"].value == pytest.approx(errors.mean(), rel=1e-9, abs=1e-9)
    if found["mean_squared_error"].value is not None:
        assert found["sum_of_squared_errors"].value == pytest.approx((errors**2).sum(), rel=1e-9, abs=1e-9)
        assert found["half_sum_of_squared_errors"].value == pytest.approx(
            (errors**2).sum() / 2, rel=1e-9, abs=1e-9
        )
    ratio, skill, root = (
        found[name].value
        for name in ("relative_squared_error", "r2_score", "relative_root_mean_squared_error")
    )
    assert (ratio is None) == (skill is None) == (root is None)
    if ratio is not None and skill is not None and root is not None:
        assert skill == 1 - ratio
        assert root == math.sqrt(ratio)


def test_the_median_of_labels_far_from_zero_needs_a_reference() -> None:
    rng = np.random.default_rng(11)
    labels = 1e5 + rng.normal(size=300)
    predictions = labels + rng.normal(size=300) / 4

    alone = measures_of_numbers(predictions, labels)["relative_absolute_error"]
    referred = measures_of_numbers(predictions, labels, counting_of(labels))["relative_absolute_error"]

    assert alone.reason is Reason.UNDEFINED
    assert off(referred, 1 - metrics.d2_absolute_error_score(labels, predictions)) <= 0
    assert referred.resolution < 0.001


def counting_of(labels: Floats, arms: ComparedArms | None = None) -> Counting:
    """Counting with a reference of labels that are predicted right."""
    units = (("event_time", "us"), ("reported_at", "us"))
    reading = ReadingOptions(task=ModelTask.REGRESSION, labelled=True, time_units=units, arms=arms)
    return reference_of(pa.table({"prediction": labels, "label": labels}), reading).counting


@pytest.mark.parametrize("size", [1e15, 1e-15, 1e60, 1e-60])
def test_values_of_any_size_are_measured_where_the_reference_has_that_size(size: float) -> None:
    rng = np.random.default_rng(13)
    labels = size * rng.lognormal(0, 0.5, size=400)
    predictions = labels + size * rng.normal(size=400) / 4

    found = measures_of_numbers(predictions, labels, counting_of(labels))

    assert all(measurement.value is not None for measurement in found.values()), found
    exact = {
        "root_mean_squared_error": metrics.root_mean_squared_error(labels, predictions),
        "r2_score": metrics.r2_score(labels, predictions),
        "bias": (predictions - labels).mean(),
        "mean_absolute_percentage_error": np.abs((predictions - labels) / labels).mean(),
    }
    assert {name: found[name].value for name in exact} == pytest.approx(exact, rel=1e-6, abs=0)
    within = {
        "median_absolute_error": np.median(np.abs(predictions - labels)),
        "max_error": np.abs(predictions - labels).max(),
        "d2_absolute_error_score": metrics.d2_absolute_error_score(labels / size, predictions / size),
    }
    for name, expected in within.items():
        assert found[name].value == pytest.approx(expected, rel=0.006), name


def test_a_median_that_drifted_from_the_references_is_found_within_the_resolution() -> None:
    rng = np.random.default_rng(17)
    counting = counting_of(rng.normal(1e6, 10, size=2000))
    labels = rng.normal(1e6 + 15, 10, size=2000)
    predictions = labels + rng.normal(size=2000)

    found = measures_of_numbers(predictions, labels, counting)["relative_absolute_error"]

    assert off(found, 1 - metrics.d2_absolute_error_score(labels, predictions)) <= 0
    assert found.resolution < 0.005 * (found.value or 0)


@pytest.mark.parametrize("n", [72, 100, 1001])
def test_intervals_of_quantiles_lie_between_order_statistics(n: int) -> None:
    rng = np.random.default_rng(n)
    errors = np.sort(rng.normal(size=n))

    found = measures_of_numbers(errors, np.zeros(n))

    for name, percent in QUANTILES.items():
        low, high = np.asarray(stats.binom.ppf([0.025, 0.975], n, percent / 100)).astype(int)
        interval = found[name].interval
        assert interval is not None
        bounds = [errors[low - 1], errors[high]]
        assert [interval.lower, interval.upper] == pytest.approx(bounds, rel=0.011, abs=1e-5), name
        assert interval.lower <= bounds[0]
        assert bounds[1] <= interval.upper


@pytest.mark.parametrize(("n", "without"), [(71, {"error_p05", "error_p95"}), (5, set(QUANTILES))])
def test_too_few_records_have_quantiles_without_interval(n: int, without: set[str]) -> None:
    rng = np.random.default_rng(n)

    found = measures_of_numbers(rng.normal(size=n), np.zeros(n))

    assert {name for name in QUANTILES if found[name].interval is None} == without
    assert all(found[name].value is not None for name in QUANTILES)


def test_the_interval_of_an_error_relative_to_the_medians_is_the_delta_methods() -> None:
    rng = np.random.default_rng(19)
    labels = rng.gamma(2, size=1500)
    predictions = labels + rng.normal(size=1500) * labels / 2
    errors, distances = np.abs(predictions - labels), np.abs(labels - np.median(labels))
    ratio = errors.mean() / distances.mean()
    half = stats.norm.ppf(0.975) * np.std((errors - ratio * distances) / distances.mean()) / np.sqrt(1500)

    interval = measures_of_numbers(predictions, labels, counting_of(labels))[
        "relative_absolute_error"
    ].interval

    assert interval is not None
    assert [interval.lower, interval.upper] == pytest.approx([ratio - half, ratio + half], rel=0.003)


def test_the_interval_of_a_bias_may_lie_below_zero() -> None:
    errors = np.asarray([-3.0, -2.0, -1.0])
    half = stats.norm.ppf(0.975) / np.sqrt(3)

    found = measures_of_numbers(errors, np.zeros(3))["bias"]

    assert found.interval is not None
    assert [found.interval.lower, found.interval.upper] == pytest.approx([-2 - half, -2 + half])


def test_perfect_predictions_have_errors_of_zero_within_the_innermost_cell() -> None:
    labels = np.arange(1.0, 100.0)

    found = measures_of_numbers(labels, labels)

    for name in (*QUANTILES, "median_absolute_error", "max_error"):
        assert (found[name].value, found[name].resolution) == (0, 2.0**-20), name
    assert found["d2_absolute_error_score"].value == 1
    assert found["relative_root_mean_squared_error"].value == 0


def test_errors_beyond_the_last_cell_have_no_value_but_spare_the_other_quantiles() -> None:
    errors = np.asarray([*range(26), 1e10, 1e10, 1e10, 1e10])

    found = measures_of_numbers(errors, np.zeros(30))

    assert found["max_error"].reason is Reason.OUT_OF_RANGE
    assert off(found["error_median"], float(np.median(errors))) <= 0
    assert found["error_p75"].interval is None


def test_a_median_label_beyond_the_last_cell_has_no_baseline() -> None:
    found = measures_of_numbers(np.zeros(3), np.asarray([1e10, 2e10, 0.0]))

    assert found["relative_absolute_error"].reason is Reason.OUT_OF_RANGE


def test_squares_out_of_range_cost_the_interval_of_the_ratio_alone() -> None:
    labels = np.asarray([1.0, 2.0, 4.0, 8.0])

    found = measures_of_numbers(labels + np.asarray([2e6, 0, 1, 0]), labels)["relative_absolute_error"]

    assert found.value == pytest.approx((2e6 + 1) / 9)
    assert found.interval is None


def test_strata_have_no_errors_by_cell() -> None:
    labels = np.arange(1.0, 40.0)
    counting = counting_of(labels, ComparedArms(column="arm", control="a", treatment="b"))
    rows = table(prediction=pa.array(labels + 1), label=pa.array(labels), arm=pa.array(["a", "b", "b"] * 13))
    strata = count_labels(rows, counting, panes=np.zeros(1, np.int64), as_of=10**15)[0].strata

    arm = by_name(measure_performance(counting, strata[Stratum(segment="arm=b")], MeasureOptions()))

    assert strata[WHOLE] == labels_part(rows, counting)
    assert arm["error_p95"] == Measurement.without_value(Reason.NOT_COUNTED, n=26)
    assert arm["relative_absolute_error"] == Measurement.without_value(Reason.NOT_COUNTED, n=26)
    assert arm["bias"].value == 1
    assert arm["mean_absolute_percentage_error"].value is not None


def label_errors(
    edges: Sequence[float], cells: Sequence[Sequence[float]], errors: float = 1.0
) -> LabelErrors:
    """Labels by cell, each with the same absolute error."""
    n = np.asarray([len(cell) for cell in cells])
    counts = np.zeros((4, 2 * len(cells)), dtype=np.int64)
    counts[0], counts[2] = (
        np.tile(n, 2),
        [*(int(sum(cell)) for cell in cells), *(n * errors).astype(np.int64)],
    )
    return LabelErrors(np.asarray(edges), counts)


def test_the_baseline_of_a_median_within_a_cell_is_bounded_by_edmundsons_inequality() -> None:
    """Labels 1, 12, 16, 18, 30 in cells up to 10, 20, 40: those of [10, 20] have the mean 46 / 3."""
    found = median_baseline(label_errors([0, 10, 20, 40], [[], [1], [12, 16, 18], [30], []]))

    assert found is not None
    point = 46 / 3
    outside, spread = (point - 1) + (30 - point), 2 * (20 - point) * (point - 10) / 10
    assert found.lowest == pytest.approx(outside)
    assert found.highest == pytest.approx(outside + 3 * spread)
    assert found.distances.tolist() == pytest.approx([0.0, point - 1, spread / 2, 30 - point, 0.0])
    assert found.lowest <= 15 + 4 + 2 + 14 <= found.highest


def test_a_median_between_two_cells_lies_at_their_edge_and_in_an_open_one_nowhere() -> None:
    between = median_baseline(label_errors([0, 10, 20, 40], [[], [4, 6], [12, 16], [], []]))

    assert between is not None
    assert between.lowest == between.highest == pytest.approx((10 - 5) * 2 + (14 - 10) * 2)
    for cells in ([[-5, -6, -7], [1], [], [], []], [[], [1], [], [], [50, 60, 70]], [[-5], [], [], [], [50]]):
        assert median_baseline(label_errors([0, 10, 20, 40], cells)) is None
    second = median_baseline(label_errors([0, 10, 20, 40], [[], [4, 6, 7], [12], [], []]))
    assert second is not None
    assert second.distances[1] > 0


def test_what_is_absent_of_errors_by_cell_has_its_records() -> None:
    labels = np.asarray([1.0, 2.0, 4.0, 8.0])
    equal, beyond = (
        measures_of_numbers(labels * 0, labels * 0 + 3),
        measures_of_numbers(labels, labels * 1e10),
    )
    nothing = measures_of_numbers(labels[:0], labels[:0])

    names = ("relative_absolute_error", "relative_squared_error")
    assert [equal[name] for name in names] == [Measurement.without_value(Reason.UNDEFINED, n=4)] * 2
    assert beyond["relative_absolute_error"] == Measurement.without_value(Reason.OUT_OF_RANGE, n=4)
    assert beyond["max_error"] == Measurement.without_value(Reason.OUT_OF_RANGE, n=4)
    for name in (*names, *QUANTILES, "median_absolute_error", "max_error"):
        assert nothing[name] == Measurement.without_value(Reason.NO_LABELS, n=0), name
    found = measures_of_numbers(labels + 1, labels)
    for name in (*names, *QUANTILES, "median_absolute_error", "max_error"):
        assert found[name].n == 4, name


def test_ratios_of_errors_are_not_below_0() -> None:
    """Two large errors of many small ones: half the interval is wider than the value."""
    labels = np.linspace(1.0, 3.0, 80)
    found = measures_of_numbers(labels + np.where(np.arange(80) == 7, 9.0, 0.0), labels)

    for name in ("relative_absolute_error", "relative_squared_error"):
        interval = found[name].interval
        assert interval is not None, name
        assert interval.lower == 0.0, name


def test_strata_name_what_is_not_counted_by_cell() -> None:
    counting = number_counting()
    whole = numbered([1.0, 2.0], [1.5, 2.5], counting)
    dense = whole.dense_counts()
    for block in ("error_cells", "label_cells"):
        dense[counting.labels_layout.block_slice(block)] = 0

    found = by_name(
        measure_performance(counting, Counters.from_dense(counting.labels_layout, dense), MeasureOptions())
    )

    names = (
        *QUANTILES,
        "median_absolute_error",
        "max_error",
        "relative_absolute_error",
        "d2_absolute_error_score",
    )
    assert [found[name] for name in names] == [Measurement.without_value(Reason.NOT_COUNTED, n=2)] * len(
        names
    )
