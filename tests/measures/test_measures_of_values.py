"""Where numbers lie and how far they moved, against NumPy and SciPy on the raw values."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from measure_states import binary_reading, by_name, records_part, table
from scipy import stats
from scipy.spatial.distance import jensenshannon

from monitor.core.array_types import Floats
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.shift.distances import share_distances
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.records.reference import reference_of

DISTANCES = frozenset({MeasureFamily.SHIFT, MeasureFamily.DISTANCES})
SAMPLE = st.lists(st.one_of(st.floats(-10, 10), st.integers(-3, 3).map(float)), min_size=2, max_size=100).map(
    lambda values: np.asarray(values, dtype=np.float64)
)


def measured(
    reference: Floats,
    current: Floats,
    *,
    missing: int = 0,
    families: frozenset[MeasureFamily] = frozenset({MeasureFamily.SHIFT, MeasureFamily.VALUES}),
) -> dict[str, Measurement]:
    """Measures of the feature x."""
    reading = replace(binary_reading(), numeric=("x",))
    made = reference_of(plain(reference), reading)
    rows = table(
        score=pa.array(np.full(len(current) + missing, 0.5)),
        feature_x=pa.array([*current.tolist(), *[None] * missing], pa.float64()),
    )
    window = records_part(rows, made.counting)
    found = measure_shifts(
        made.counting,
        make_expected_cells(made.counting, made.records),
        window,
        MeasureOptions(families=families),
    )
    return by_name([result for result in found if result.subject == "feature:x"])


def plain(values: Floats) -> pa.Table:
    rows = table(score=pa.array(np.full(len(values), 0.5)), feature_x=pa.array(values, pa.float64()))
    return rows.drop_columns(["id", "event_time"])


def value(found: dict[str, Measurement], name: str) -> float:
    got = found[f"{name} feature:x"].value
    assert got is not None
    return got


@given(SAMPLE, SAMPLE)
def test_mean_and_spread_are_numpys(reference: Floats, current: Floats) -> None:
    spread = float(np.std(reference)) or float(np.abs(reference[0])) or 1.0
    assume(spread > 1e-4)  # else squares are beyond what can be summed

    found = measured(reference, current, missing=2)

    assert value(found, "mean") == pytest.approx(np.mean(current), abs=1e-9)
    assert value(found, "standard_deviation") == pytest.approx(np.std(current, ddof=1), abs=1e-5)


def test_the_difference_of_means_is_in_standard_deviations_with_welchs_interval() -> None:
    rng = np.random.default_rng(1)
    reference, current = rng.normal(5, 2, 400), rng.normal(5.5, 3, 150)

    found = measured(reference, current)["standardized_mean_difference feature:x"]

    pooled = np.sqrt((np.var(reference, ddof=1) + np.var(current, ddof=1)) / 2)
    welch = stats.ttest_ind(current, reference, equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx((current.mean() - reference.mean()) / pooled)
    assert found.interval is not None
    assert found.interval.lower == pytest.approx(welch.low / pooled)
    assert found.interval.upper == pytest.approx(welch.high / pooled)


@given(SAMPLE, SAMPLE)
def test_extremes_are_within_their_resolution_or_beyond_the_reference(
    reference: Floats, current: Floats
) -> None:
    found = measured(reference, current)

    low, high = found["minimum feature:x"], found["maximum feature:x"]
    if current.min() < reference.min():
        assert low.reason is Reason.OUT_OF_RANGE
    elif low.value is not None:
        assert 0 <= current.min() - low.value <= low.resolution
    if current.max() > reference.max():
        assert high.reason is Reason.OUT_OF_RANGE
    elif high.value is not None:
        assert 0 <= high.value - current.max() <= high.resolution


@given(SAMPLE, SAMPLE)
def test_the_share_out_of_the_references_range_is_exact(reference: Floats, current: Floats) -> None:
    beyond = np.mean((current < reference.min()) | (current > reference.max()))

    assert value(measured(reference, current), "out_of_range_rate") == pytest.approx(beyond)


@given(SAMPLE, SAMPLE)
def test_the_area_between_the_cumulative_shares_is_within_its_resolution(
    reference: Floats, current: Floats
) -> None:
    found = measured(reference, current, families=DISTANCES)["wasserstein_distance feature:x"]

    if found.value is None:
        inside = reference.min() <= current.min() and current.max() <= reference.max()
        assert not inside or np.std(reference) < 1e-9
    else:
        exact = stats.wasserstein_distance(reference, current) / np.std(reference, ddof=1)
        assert found.value == pytest.approx(exact, abs=found.resolution + 1e-6)


def test_the_area_of_a_large_sample_is_close_to_scipys() -> None:
    rng = np.random.default_rng(3)
    reference = rng.normal(size=20_000)
    current = rng.uniform(-1, 2, size=5_000)

    found = measured(reference, current, families=DISTANCES)["wasserstein_distance feature:x"]

    exact = stats.wasserstein_distance(reference, current) / np.std(reference, ddof=1)
    assert found.value == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("draw", ["uniform", "exponential"])
def test_the_critical_area_is_exceeded_by_five_of_a_hundred_pairs_of_samples(draw: str) -> None:
    rng = np.random.default_rng(4)
    one_of = getattr(rng, draw)
    pairs = [(one_of(size=1_000), one_of(size=150)) for _ in range(400)]
    apart = [stats.wasserstein_distance(*pair) / np.std(pair[0], ddof=1) for pair in pairs]
    reference = one_of(size=1_000)

    current = np.clip(one_of(size=150), reference.min(), reference.max())
    found = measured(reference, current, families=DISTANCES)

    critical = value(found, "wasserstein_distance_critical")
    assert 0.02 <= np.mean(np.asarray(apart) > critical) <= 0.09


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=9).filter(any),
    st.data(),
)
def test_distances_of_shares_are_scipys(reference: list[int], data: st.DataObject) -> None:
    size = len(reference)
    current = data.draw(st.lists(st.integers(0, 40), min_size=size, max_size=size).filter(any))
    counts = np.asarray([reference, current], dtype=np.float64)
    q, p = counts / counts.sum(axis=1, keepdims=True)

    js, hellinger, largest, variation, statistic, p_value, v = (
        float(column[0]) for column in share_distances(counts[:1], counts[1:])
    )

    assert js == pytest.approx(float(jensenshannon(p, q, base=2)), abs=1e-6)
    assert hellinger == pytest.approx(float(np.linalg.norm(np.sqrt(p) - np.sqrt(q)) / np.sqrt(2)))
    assert largest == pytest.approx(float(np.abs(p - q).max()))
    assert variation == pytest.approx(float(np.maximum(p - q, 0).sum()))
    used = counts[:, counts.sum(axis=0) > 0]
    if used.shape[1] > 1:
        oracle = stats.chi2_contingency(used, correction=False)
        assert statistic == pytest.approx(float(oracle.statistic), abs=1e-9)
        assert p_value == pytest.approx(float(oracle.pvalue), abs=1e-9)
        assert v == pytest.approx(float(stats.contingency.association(used.astype(int), "cramer")), abs=1e-7)


def test_large_numbers_with_a_large_reference_lose_nothing() -> None:
    rng = np.random.default_rng(4)
    reference, current = 1e15 + rng.normal(0, 100, 500).round(), 1e15 + rng.normal(7, 100, 300).round()

    found = measured(reference, current)

    assert value(found, "mean") == pytest.approx(1e15 + np.mean(current - 1e15), abs=0.2)
    assert value(found, "standard_deviation") == pytest.approx(np.std(current - 1e15, ddof=1), rel=1e-9)


def test_numbers_far_beyond_the_reference_have_no_mean() -> None:
    found = measured(np.arange(100.0), np.asarray([1.0, 2.0, 1e15]))

    assert found["mean feature:x"].reason is Reason.OUT_OF_RANGE
    assert value(found, "out_of_range_rate") == pytest.approx(1 / 3)


def test_squares_beyond_what_can_be_summed_leave_the_mean() -> None:
    found = measured(np.asarray([0.0, 1e-9]), np.asarray([0.0, 1.0]))

    assert value(found, "mean") == pytest.approx(0.5)
    assert found["standard_deviation feature:x"].reason is Reason.OUT_OF_RANGE
    assert found["standardized_mean_difference feature:x"].reason is Reason.OUT_OF_RANGE


def test_the_cells_that_moved_most_are_told_with_both_shares() -> None:
    found = measured(np.arange(1000.0), np.arange(1000.0) * 0.5)["stability_index feature:x"]

    assert found.detail is not None
    assert found.detail.columns == ("cell", "expected", "actual", "contribution")
    contributions = [float(row[3] or 0) for row in found.detail.rows]
    assert contributions == sorted(contributions, reverse=True)
    assert found.detail.rows[0][0] == "899 and more"
    assert found.detail.rows[0][1] == pytest.approx(0.1, abs=0.002)
    assert found.detail.rows[0][2] == 0.0  # as counted: the pseudocount is in the contribution alone


def test_one_subject_has_no_moments_without_a_reference() -> None:
    assert ExpectedCells((), np.empty(0)).moments == {}


def test_a_number_that_is_all_missing_has_a_shift_and_a_reason_for_the_rest() -> None:
    found = measured(np.arange(1_000.0), np.empty(0), missing=200, families=frozenset(MeasureFamily))

    expected = np.asarray([100.5] * 10 + [0.5]) / 1_005.5
    actual = np.asarray([0.5] * 10 + [200.5]) / 205.5
    assert value(found, "stability_index") == pytest.approx(
        stats.entropy(actual, expected) + stats.entropy(expected, actual), rel=1e-3
    )
    absent = {name.partition(" ")[0]: one for name, one in found.items() if one.value is None}
    assert absent.keys() >= {"mean", "standard_deviation", "minimum", "ks_distance", "wasserstein_distance"}
    assert {one.reason for one in absent.values()} <= {Reason.NO_RECORDS, Reason.NOT_COUNTED, Reason.TOO_FEW}
    assert all(one.n == 0 for one in absent.values())


def together(
    reference: dict[str, Floats], current: dict[str, Floats], level: float = 0.95
) -> dict[str, Measurement]:
    """Every measure of some features that are compared at once."""
    reading = replace(binary_reading(), numeric=tuple(sorted(reference)))
    columns = {f"feature_{name}": pa.array(values, pa.float64()) for name, values in reference.items()}
    rows = table(score=np.full(len(next(iter(reference.values()))), 0.5), **columns)
    made = reference_of(rows.drop_columns(["id", "event_time"]), reading)
    now = {
        f"feature_{name}": pa.array(values, pa.float64(), from_pandas=True)
        for name, values in current.items()
    }
    window = records_part(table(score=np.full(len(next(iter(current.values()))), 0.5), **now), made.counting)
    options = MeasureOptions(families=frozenset(MeasureFamily), level=level)
    found = measure_shifts(made.counting, make_expected_cells(made.counting, made.records), window, options)
    return by_name([result for result in found if result.subject.startswith("feature:")])


def test_features_that_are_measured_together_are_measured_as_alone() -> None:
    """The first has no value, the second one, the others many: none changes what is said of another."""
    rng = np.random.default_rng(6)
    shapes = {"a": (0.0, 1.0), "b": (4.0, 2.0), "c": (-3.0, 0.5), "d": (100.0, 30.0)}
    reference = {name: rng.normal(*shape, 600) for name, shape in shapes.items()}
    current = {
        name: np.clip(rng.normal(middle + spread / 3, spread, 300), values.min(), values.max())
        for (name, values), (middle, spread) in zip(reference.items(), shapes.values(), strict=True)
    }
    current["a"][:], current["b"][1:], current["c"][:90] = np.nan, np.nan, np.nan

    found = together(reference, current)

    alone: dict[str, Measurement] = {}
    for name in shapes:
        alone |= together({name: reference[name]}, {name: current[name]})
    assert found == alone
    assert len({one.value for name, one in found.items() if name.startswith("wasserstein_distance ")}) >= 3


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_mean_has_its_interval_its_records_and_the_references_beside_it(level: float) -> None:
    rng = np.random.default_rng(7)
    reference, current = {"x": rng.normal(50, 9, 800)}, {"x": rng.normal(53, 9, 200)}

    found = together(reference, current, level)

    mean, spread = found["mean feature:x"], found["standard_deviation feature:x"]
    assert (mean.n, spread.n) == (200, 200)
    half = stats.norm.ppf(0.5 + level / 2) * np.std(current["x"], ddof=1) / np.sqrt(200)
    assert mean.interval is not None
    assert mean.interval.level == level
    assert [mean.interval.lower, mean.interval.upper] == pytest.approx(
        [current["x"].mean() - half, current["x"].mean() + half]
    )
    assert mean.detail is not None
    assert mean.detail.columns == ("value", "lower", "upper", "n")
    ((usual, *bounds, n),) = mean.detail.rows
    assert usual == pytest.approx(reference["x"].mean())
    assert [*bounds, n] == [None, None, 800]
    moved = found["standardized_mean_difference feature:x"]
    welch = stats.ttest_ind(current["x"], reference["x"], equal_var=False).confidence_interval(level)
    pooled = np.sqrt((np.var(current["x"], ddof=1) + np.var(reference["x"], ddof=1)) / 2)
    assert moved.n == 200
    assert moved.interval is not None
    assert moved.interval.level == level
    assert [moved.interval.lower * pooled, moved.interval.upper * pooled] == pytest.approx(
        [welch.low, welch.high]
    )


def test_one_number_has_a_mean_and_no_spread() -> None:
    reference = {"x": np.random.default_rng(8).normal(50, 9, 800)}

    one, two = (together(reference, {"x": np.asarray(values)}) for values in ([51.0], [51.0, 53.0]))

    assert one["mean feature:x"].value == pytest.approx(51.0)
    assert one["mean feature:x"].n == 1
    assert one["mean feature:x"].interval is None
    for name in ("standard_deviation", "standardized_mean_difference"):
        assert one[f"{name} feature:x"] == Measurement.without_value(Reason.UNDEFINED, n=1), name
        assert two[f"{name} feature:x"].value is not None, name
    assert two["mean feature:x"].interval is not None
    assert two["standardized_mean_difference feature:x"].interval is not None


def test_measures_of_values_and_distances_say_of_how_many_numbers_they_are() -> None:
    rng = np.random.default_rng(9)
    found = together({"x": rng.normal(size=900)}, {"x": np.append(rng.normal(size=90) / 4, [np.nan] * 10)})

    of_numbers = {name for name, one in found.items() if one.n == 90}
    of_cells = {name for name, one in found.items() if one.n == 100}
    assert of_numbers | of_cells == found.keys()
    for name in ("mean", "minimum", "maximum", "ks_distance", "ks_p_value", "wasserstein_distance"):
        assert f"{name} feature:x" in of_numbers, name
    for name in ("stability_index", "hellinger_distance", "chi_squared", "cramers_v", "cramers_v_critical"):
        assert f"{name} feature:x" in of_cells, name


def test_the_area_cannot_be_off_by_more_than_one_and_a_half_of_what_its_cells_hold() -> None:
    """Σ width · the larger share, times 1.5, in deviations of the reference: of one wide cell by hand."""
    reference, current = (
        np.repeat([0.0, 1.0, 2.0, 3.0], 100),
        np.repeat([0.0, 1.0, 2.0, 3.0], [10, 20, 30, 40]),
    )

    found = measured(reference, current, families=DISTANCES)["wasserstein_distance feature:x"]

    exact = stats.wasserstein_distance(reference, current) / np.std(reference, ddof=1)
    assert found.value is not None
    assert abs(found.value - exact) <= found.resolution
    assert found.n == 100


def test_a_share_of_nothing_is_no_distance() -> None:
    nothing, one = np.zeros((1, 3)), np.asarray([[5.0, 0.0, 0.0]])

    *_, statistic, p_value, v = (float(column[0]) for column in share_distances(one, one * 2))

    assert (statistic, p_value, v) == (0.0, 1.0, 0.0)
    assert all(np.isnan(column[0]) for column in share_distances(nothing, one)[:2])


def test_rows_of_shares_are_compared_each_with_its_own() -> None:
    rng = np.random.default_rng(10)
    reference, current = rng.integers(0, 9, (5, 4)).astype(float), rng.integers(0, 9, (5, 4)).astype(float)

    found = share_distances(reference, current)

    for row in range(5):
        alone = share_distances(reference[row : row + 1], current[row : row + 1])
        assert [float(each[row]) for each in found] == pytest.approx([float(each[0]) for each in alone])
