"""Shift, against SciPy on the raw values and the formula written out."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_states import (
    binary_counting,
    binary_reading,
    by_name,
    class_counting,
    compare,
    expected_of,
    raw_distance,
    records_part,
    reference_of_rows,
    table,
)
from scipy import stats

from monitor.core.array_types import Floats
from monitor.core.errors import GridMismatch
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.shift.shift_cells import SIMULATIONS, mix_expected_cells, seeded_generator
from monitor.measures.shift.stability_index import list_absent_shifts, simulate_critical_index
from monitor.records.counting import Counting
from monitor.records.reference import make_plain_counting
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, NumericGrid, category_grid, feature_grid
from monitor.states.views import CellHistogram

SLACK = 1e-12
CELL_DISTANCES = (
    "jensen_shannon_distance",
    "hellinger_distance",
    "largest_share_distance",
    "total_variation_distance",
    "chi_squared",
    "cramers_v",
)
SAMPLE = st.lists(st.one_of(st.floats(-10, 10), st.integers(-3, 3).map(float)), min_size=1, max_size=120).map(
    lambda values: np.asarray(values, dtype=np.float64)
)


def counted(grid: NumericGrid, values: Floats, *, missing: int = 0) -> CellHistogram:
    every = np.concatenate([values, np.zeros(missing)])
    absent = np.arange(len(every)) >= len(values)
    return CellHistogram(grid, np.bincount(grid.value_cells(every, absent), minlength=grid.size))


def levels(grid: CategoryGrid, counts: list[int], *, other: int = 0, unseen: int = 0) -> CellHistogram:
    return CellHistogram(grid, np.asarray([*counts, other, unseen, 0, 0]))


def both(reference: list[int], current: list[int]) -> tuple[CellHistogram, CellHistogram]:
    grid = CategoryGrid(tuple(f"l{position}" for position in range(len(reference))))
    return levels(grid, reference), levels(grid, current)


def index(
    reference: CellHistogram, current: CellHistogram, *, pseudocount: float = 0.5, min_per_cell: float = 10
) -> Measurement:
    options = MeasureOptions(pseudocount=pseudocount, min_per_cell=min_per_cell)
    return compare(reference, current, options)["stability_index"]


def distance_of(reference: CellHistogram, current: CellHistogram) -> Measurement:
    return compare(reference, current, MeasureOptions())["ks_distance"]


def tables(reference: CellHistogram, current: CellHistogram) -> tuple[list[float], list[float]]:
    """Cells of the index that are not empty on both sides."""
    expected = expected_of(reference)
    now = expected.tabulate_counts(np.arange(len(current.counts)), current.counts)[0]
    used = expected.reference_counts[0] + now > 0
    return expected.reference_counts[0][used].tolist(), now[used].tolist()


@given(SAMPLE, SAMPLE)
def test_distance_is_within_its_resolution_of_the_raw_one(reference: Floats, current: Floats) -> None:
    grid = feature_grid(reference)

    measured = distance_of(counted(grid, reference), counted(grid, current, missing=3))

    exact = raw_distance(reference, current)
    assert measured.value is not None
    assert measured.value <= exact + SLACK <= measured.value + measured.resolution + 2 * SLACK
    assert measured.n == len(current)


def test_resolution_is_at_most_the_largest_cell() -> None:
    rng = np.random.default_rng(0)
    reference, current = rng.normal(size=4000), rng.normal(0.3, 1, size=900)
    grid = feature_grid(reference)
    sides = counted(grid, reference), counted(grid, current)

    measured = distance_of(*sides)

    largest = max(float(side.regular_counts.max() / side.regular_counts.sum()) for side in sides)
    assert 0 <= measured.resolution <= largest + SLACK


def test_p_value_is_kolmogorovs_limit() -> None:
    rng = np.random.default_rng(1)
    reference, current = np.round(rng.normal(size=500), 1), np.round(rng.normal(0.1, 1, size=300), 1)
    grid = NumericGrid(edges=tuple(np.unique(np.concatenate([reference, current])).tolist()))

    measured = compare(counted(grid, reference), counted(grid, current), MeasureOptions())

    raw = raw_distance(reference, current)
    assert measured["ks_distance"].value == pytest.approx(raw)
    expected = stats.kstwobign.sf(raw * np.sqrt(500 * 300 / 800))
    assert measured["ks_p_value"].value == pytest.approx(float(expected))


@given(SAMPLE, SAMPLE, st.integers(0, 5))
def test_index_is_the_formula_on_deciles_and_missing(
    reference: Floats, current: Floats, missing: int
) -> None:
    grid = feature_grid(reference)
    borders = [-np.inf, *np.unique(np.asarray(grid.edges)[list(grid.deciles)]), np.inf]
    sides = [
        np.append(
            [np.sum((low <= side) & (side < high)) for low, high in pairwise(borders)],
            gaps,
        )
        for side, gaps in ((reference, 0), (current, missing))
    ]
    used = sides[0] + sides[1] > 0
    q, p = ((side[used] + 0.5) / (side[used] + 0.5).sum() for side in sides)

    measured = index(counted(grid, reference), counted(grid, current, missing=missing), min_per_cell=0)

    assert measured.value == pytest.approx(float(np.sum((p - q) * np.log(p / q))), abs=1e-12)


def test_index_of_a_distribution_with_itself_is_zero() -> None:
    sides = both([50, 30, 20, 0], [500, 300, 200, 0])

    assert index(*sides, pseudocount=0).value == 0


def test_index_merges_levels_beyond_the_19_most_frequent() -> None:
    names = [f"l{position}" for position in range(30)]
    grid = category_grid(names, list(range(400, 100, -10)))
    reference = levels(grid, list(range(400, 100, -10)), other=40)
    current = levels(grid, [20] * 30, other=0, unseen=6)

    before, now = tables(reference, current)

    assert before == [*range(400, 210, -10), sum(range(210, 100, -10)) + 40, 0]
    assert now == [20] * 19 + [11 * 20, 6]


def test_the_most_frequent_levels_are_those_of_the_reference_whatever_their_order() -> None:
    counts = list(range(10, 260, 10))

    before, _ = tables(*both(counts, counts))

    assert before == [*sorted(counts, reverse=True)[:19], sum(range(10, 70, 10))]


def test_a_cell_empty_on_both_sides_changes_nothing() -> None:
    with_empty = index(*both([60, 40, 0], [40, 60, 0]))
    without = index(*both([60, 40], [40, 60]))

    assert with_empty == without


@pytest.mark.parametrize(
    ("reference", "current", "reason"),
    [
        ([0, 0], [5, 5], Reason.NO_REFERENCE),
        ([5, 5], [0, 0], Reason.NO_RECORDS),
        ([5, 5], [5, 5], Reason.TOO_FEW),
    ],
)
def test_index_has_a_reason_where_it_has_no_value(
    reference: list[int], current: list[int], reason: Reason
) -> None:
    assert index(*both(reference, current)).reason is reason


def test_index_without_pseudocount_is_undefined_where_one_side_is_empty() -> None:
    assert index(*both([60, 40, 0], [40, 50, 10]), pseudocount=0).reason is Reason.UNDEFINED


def test_bias_and_critical_value_of_large_samples_are_those_of_chi_squared() -> None:
    measured = compare(*both([1000, 2000, 3000, 0], [400, 900, 1700, 3]), MeasureOptions())
    both_sizes = 1 / 3003 + 1 / 6000

    assert measured["stability_index_bias"].value == pytest.approx(2 * both_sizes)
    expected = float(stats.chi2.ppf(0.95, 2)) * both_sizes
    assert measured["stability_index_critical"].value == pytest.approx(expected)


def test_simulated_critical_value_approaches_chi_squared() -> None:
    shares = (0.2, 0.3, 0.5)

    simulated = simulate_critical_index(5000, 20000, shares, 0.5, 0.95)

    assert SIMULATIONS >= 1000
    assert simulated == pytest.approx(float(stats.chi2.ppf(0.95, 2)) * (1 / 5000 + 1 / 20000), rel=0.12)


def test_small_cells_have_simulated_critical_values_exceeded_five_times_in_a_hundred() -> None:
    rng, shares = np.random.default_rng(3), np.asarray([0.01, 0.04, 0.15, 0.3, 0.5])
    exceeded = dict.fromkeys(("stability_index", *CELL_DISTANCES), 0)
    for _ in range(250):
        reference = rng.multinomial(2000, shares)
        found = compare(*both(reference.tolist(), rng.multinomial(200, shares).tolist()), MeasureOptions())
        for name in exceeded:
            value, critical = found[name].value, found[f"{name}_critical"].value
            assert value is not None
            assert critical is not None
            exceeded[name] += value > critical

    assert {name: times for name, times in exceeded.items() if not 0.02 <= times / 250 <= 0.09} == {}


def test_critical_distances_of_large_samples_are_those_of_chi_squared() -> None:
    reference, current = both([10_000, 20_000, 30_000], [1_700, 3_400, 4_900])
    n, m, limit = 10_000, 60_000, float(stats.chi2.ppf(0.95, 2))

    found = compare(reference, current, MeasureOptions())

    expected = {
        "chi_squared_critical": limit,
        "cramers_v_critical": np.sqrt(limit / (n + m)),
        "hellinger_distance_critical": np.sqrt(limit * (1 / n + 1 / m) / 8),
        "jensen_shannon_distance_critical": np.sqrt(limit * (1 / n + 1 / m) / 8 / np.log(2)),
    }
    assert {name: found[name].value for name in expected} == pytest.approx(expected, rel=0.06)


def test_a_critical_distance_is_scaled_to_the_sizes_that_it_is_asked_for() -> None:
    sides = [both([1000, 3000], [2 * n // 5, n - 2 * n // 5]) for n in (1001, 1049)]

    one, other = (compare(*side, MeasureOptions())["hellinger_distance_critical"].value for side in sides)

    assert one is not None
    assert other == pytest.approx(one * np.sqrt((1 / 1049 + 1 / 4000) / (1 / 1001 + 1 / 4000)))


def test_windows_of_about_one_size_share_a_simulation() -> None:
    one = compare(*both([100, 300], [21, 80]), MeasureOptions())["stability_index_critical"]
    other = compare(*both([300, 100], [80, 22]), MeasureOptions())["stability_index_critical"]

    assert one.value == other.value


def test_a_critical_value_tells_the_records_of_the_reference() -> None:
    reference, current = both([100, 300], [21, 80])

    of_whole, of_segment = (
        compare(reference, current, MeasureOptions(whole=whole))["stability_index_critical"]
        for whole in (True, False)
    )

    assert of_whole.detail == DetailTable(("reference_records",), ((400,),))
    assert of_segment.detail is None


def test_one_cell_can_not_shift() -> None:
    measured = compare(*both([1000], [800]), MeasureOptions(families=frozenset({MeasureFamily.SHIFT})))

    assert {measured[name].value for name in measured} == {0}


def test_other_grids_are_refused() -> None:
    counting, other = binary_counting(), class_counting(("a", "b", "c"))
    expected = make_expected_cells(counting, Counters.make_empty(counting.records_layout))

    with pytest.raises(GridMismatch, match="other grids"):
        measure_shifts(counting, expected, Counters.make_empty(other.records_layout), MeasureOptions())
    with pytest.raises(GridMismatch, match="other grids"):
        make_expected_cells(counting, Counters.make_empty(other.records_layout))


def test_nothing_regular_on_one_side_has_no_distance() -> None:
    grid = feature_grid(np.arange(20.0))
    full, empty = counted(grid, np.arange(20.0)), counted(grid, np.empty(0), missing=4)

    assert distance_of(full, empty) == Measurement.without_value(Reason.NO_RECORDS, n=0)
    assert distance_of(empty, full) == Measurement.without_value(Reason.NO_REFERENCE, n=20)
    assert compare(empty, full, MeasureOptions())["ks_p_value"].reason is Reason.NO_REFERENCE


def test_without_reference_only_the_outputs_are_absent() -> None:
    counting = make_plain_counting(binary_reading())

    found = measure_shifts(counting, None, Counters.make_empty(counting.records_layout), MeasureOptions())

    assert {result.subject for result in found} == {"score", "prediction"}
    assert {result.measurement.reason for result in found} == {Reason.NO_REFERENCE}


def reference_and_window(*, with_feature: bool = True) -> tuple[Counters, Counters, Counting]:
    rng = np.random.default_rng(5)
    reading = replace(binary_reading(), numeric=("x",), categorical=("c",))
    columns = {
        "score": pa.array(rng.random(600)),
        "feature_x": pa.array(rng.normal(size=600)),
        "feature_c": pa.array(rng.choice(["a", "b"], 600).tolist()),
    }
    rows = table(**columns)
    reference = reference_of_rows(rows, reading)
    window = rows if with_feature else rows.drop_columns(["feature:x"])
    return reference.records, records_part(window, reference.counting), reference.counting


def test_every_subject_of_an_unshifted_window_is_at_rest() -> None:
    reference, window, counting = reference_and_window()

    measured = by_name(
        measure_shifts(counting, make_expected_cells(counting, reference), window, MeasureOptions())
    )

    for subject in ("score", "prediction", "feature:x", "feature:c"):
        assert measured[f"stability_index {subject}"].value == pytest.approx(0, abs=1e-15)
    assert measured["ks_distance feature:x"].value == 0
    assert measured["ks_p_value score"].value == 1
    assert "ks_distance feature:c" not in measured
    without = measure_shifts(
        counting, make_expected_cells(counting, reference, features=False), window, MeasureOptions()
    )
    assert {result.subject for result in without} == {"score", "prediction"}


def test_a_dropped_column_is_not_counted_and_stops_no_other() -> None:
    reference, window, counting = reference_and_window(with_feature=False)

    measured = by_name(
        measure_shifts(counting, make_expected_cells(counting, reference), window, MeasureOptions())
    )

    assert measured["stability_index feature:x"].reason is Reason.NOT_COUNTED
    assert measured["ks_distance feature:x"].reason is Reason.NOT_COUNTED
    assert measured["stability_index feature:c"].value is not None


def test_critical_value_without_pseudocount_is_undefined_where_simulated_cells_are_empty() -> None:
    measured = compare(*both([1, 500], [1, 60]), MeasureOptions(pseudocount=0))

    assert measured["stability_index_critical"].reason is Reason.UNDEFINED


def cells_of(
    reference: CellHistogram, current: CellHistogram, *, detailed: bool
) -> tuple[tuple[object, ...], ...]:
    found = compare(reference, current, MeasureOptions(detailed=detailed, min_per_cell=0))[
        "stability_index"
    ].detail
    assert found is not None
    return found.rows


def test_cells_of_levels_are_named_and_those_that_moved_most_come_first() -> None:
    grid = CategoryGrid(tuple(f"l{at}" for at in range(25)))
    reference = levels(grid, [*range(100, 350, 10)], other=5)
    current = levels(grid, [0, *range(110, 340, 10), 900], other=50, unseen=30)

    few, all_ = (cells_of(reference, current, detailed=detailed) for detailed in (False, True))

    assert few == all_[:5]
    names = [row[0] for row in all_]
    assert sorted(map(str, names)) == sorted(["(other)", "(unseen)", *[f"l{at}" for at in range(6, 25)]])
    contributions = [float(str(row[3])) for row in all_]
    assert contributions == sorted(contributions, reverse=True)
    shares = {row[0]: row[1:3] for row in all_}
    m, n = reference.n, current.n
    rest = [100 + 10 * at for at in range(6)]  # the six least frequent ones, and those that the grid left out
    assert shares["l24"] == (round(340 / m, 6), round(900 / n, 6))
    assert shares["(other)"] == (round((sum(rest) + 5) / m, 6), round((sum(rest[1:]) + 50) / n, 6))
    assert shares["(unseen)"] == (0.0, round(30 / n, 6))


def test_cells_of_numbers_are_named_by_their_ranges() -> None:
    values = np.arange(1000.0)
    grid = feature_grid(values)
    rows = cells_of(counted(grid, values), counted(grid, values[:500], missing=40), detailed=True)

    names = {str(row[0]): row[1:3] for row in rows}
    edges = [grid.edges[at] for at in grid.deciles]
    assert names[f"below {edges[0]:g}"] == (round(edges[0] / 1000, 6), round(edges[0] / 540, 6))
    assert names[f"{edges[-1]:g} and more"][1] == 0.0
    assert names["(missing)"] == (0.0, round(40 / 540, 6))
    assert len(names) == 11


def test_cells_that_say_nothing_are_left_out_of_the_few_and_kept_among_all() -> None:
    sides = both([100, 200, 300, 400, 500, 600, 0], [100, 200, 300, 400, 500, 600, 0])
    few, all_ = (
        compare(*sides, MeasureOptions(detailed=detailed, whole=True))["stability_index"].detail
        for detailed in (False, True)
    )

    assert few is None
    assert all_ is not None
    assert [row[0] for row in all_.rows] == ["l5", "l4", "l3", "l2", "l1", "l0"]
    assert compare(*sides, MeasureOptions(whole=False))["stability_index"].detail is None


def test_references_that_are_mixed_are_worth_as_many_records_as_their_shares_vary() -> None:
    cells = np.asarray([[60, 30, 10], [10, 10, 180]])

    mixed = mix_expected_cells(np.asarray([0.25, 0.75]), cells)

    worth = 1 / (0.25**2 / 100 + 0.75**2 / 200)
    assert mixed.tolist() == pytest.approx([worth * (0.25 * a / 100 + 0.75 * b / 200) for a, b in cells.T])
    assert mix_expected_cells(np.asarray([0.5, 0.5]), np.asarray([[1, 0], [0, 0]])).tolist() == [0.0, 0.0]
    assert mix_expected_cells(np.asarray([0.5, 0.5]), np.asarray([[1, 0], [0, 1]])).tolist() == [1.0, 1.0]


def test_simulations_of_one_key_are_the_same_and_of_another_are_not() -> None:
    one, again, other = (seeded_generator(*key).integers(0, 2**62) for key in ((7, "a"), (7, "a"), (7, "b")))

    assert one == again
    assert one != other


def test_without_a_reference_each_name_is_absent_with_the_records() -> None:
    everything = MeasureOptions(families=frozenset({MeasureFamily.SHIFT, MeasureFamily.DISTANCES}))
    number, level = feature_grid(np.arange(20.0)), CategoryGrid(("a", "b"))

    found = {
        (kind, whole): {
            one.measure: one.measurement
            for one in list_absent_shifts("x", grid, Reason.NO_REFERENCE, 7, replace(everything, whole=whole))
        }
        for kind, grid in (("number", number), ("level", level))
        for whole in (True, False)
    }

    few = {"stability_index", "stability_index_critical", "stability_index_bias"}
    assert found["level", False].keys() == few
    assert found["number", False].keys() == few | {"ks_distance", "ks_p_value"}
    assert found["level", True].keys() > few | {"cramers_v", "hellinger_distance_critical"}
    areas = {"wasserstein_distance", "wasserstein_distance_critical"}
    assert found["number", True].keys() == found["level", True].keys() | {"ks_distance", "ks_p_value"} | areas
    measured = {one for names in found.values() for one in names.values()}
    assert measured == {Measurement.without_value(Reason.NO_REFERENCE, n=7)}


def test_all_that_is_said_of_a_subject_that_cannot_be_compared_has_its_records() -> None:
    grid = CategoryGrid(("a", "b"))
    nothing, some = levels(grid, [0, 0]), levels(grid, [5, 9])

    for reference, current, n in ((nothing, some, 14), (some, nothing, 0)):
        assert {one.n for one in compare(reference, current, MeasureOptions()).values()} == {n}
    assert {one.n for one in compare(some, levels(grid, [30, 40]), MeasureOptions()).values()} == {70}


def test_the_spread_of_a_number_is_in_its_own_unit_and_of_a_constant_there_is_none() -> None:
    rows = table(score=np.full(40, 0.5), feature_x=np.arange(40.0) * 1000, feature_c=np.full(40, 3.0))
    made = reference_of_rows(rows, replace(binary_reading(), numeric=("c", "x"), categorical=()))
    expected = make_expected_cells(made.counting, made.records)

    assert expected.reference_deviation("feature:x") == pytest.approx(np.std(np.arange(40.0) * 1000, ddof=1))
    assert expected.reference_deviation("feature:c") == 0.0
    assert expected.reference_deviation("prediction") == 0.0
