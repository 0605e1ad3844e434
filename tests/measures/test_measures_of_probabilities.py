"""Measures of class probabilities, against scikit-learn on the raw probabilities."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_states import by_name, labels_part, probability_columns, probability_counting, table
from sklearn import metrics

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.classification.discrimination import logit_interval, roc_auc
from monitor.measures.classification.multiclass_scores import RocAreas, roc_auc_macro, roc_auc_weighted
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.records.counting import Counting
from monitor.records.probabilities import UNUSABLE
from monitor.states.counters import Counters
from monitor.states.views import ScoreTable

SLACK = 1e-12
ODDS = st.sampled_from([0.0, 1e-9, 1e-6, 0.1, 0.5, 0.5, 1.0, 1.0, 3.0])


def counting_of(k: int) -> Counting:
    return probability_counting(tuple(f"c{at:03d}" for at in range(k)))


def counted(actual: Ints, given: Floats, counting: Counting) -> Counters:
    names = counting.reading.classes
    label = pa.array([names[at] for at in actual.tolist()], pa.string())
    return labels_part(table(label=label, **probability_columns(names, given)), counting)


def measured(actual: Ints, given: Floats, resamples: int = 20) -> dict[str, Measurement]:
    counting = counting_of(given.shape[1])
    return by_name(
        measure_performance(counting, counted(actual, given, counting), MeasureOptions(resamples=resamples))
    )


def areas_of(actual: Ints, given: Floats) -> RocAreas:
    counting = counting_of(given.shape[1])
    return RocAreas.from_tables(counting.class_tables(counted(actual, given, counting)))


def samples(seed: int, n: int, k: int, strength: float = 2.0) -> tuple[Ints, Floats]:
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, k + 1)
    actual = rng.choice(k, n, p=shares / shares.sum())
    odds = np.exp(rng.normal(size=(n, k)) + np.log(shares) + strength * (np.arange(k) == actual[:, None]))
    return actual, odds / odds.sum(axis=1, keepdims=True)


def areas(actual: Ints, given: Floats) -> list[float]:
    """scikit-learn's one-vs-rest areas of the classes that have records."""
    return [
        float(metrics.roc_auc_score(actual == at, given[:, at]))
        for at in range(given.shape[1])
        if 0 < np.sum(actual == at) < len(actual)
    ]


def brier(actual: Ints, given: Floats) -> float:
    """Sum over classes, mean over records: scikit-learn's unscaled score of several classes."""
    return float(((given - (np.arange(given.shape[1]) == actual[:, None])) ** 2).sum(axis=1).mean())


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(
            st.tuples(st.integers(0, k - 1), st.lists(ODDS, min_size=k, max_size=k).filter(any)),
            min_size=1,
            max_size=40,
        )
    )
)
def test_areas_and_losses_are_those_of_scikit_learn(records: list[tuple[int, list[float]]]) -> None:
    actual, odds = (np.asarray(column) for column in zip(*records, strict=True))
    given = odds / odds.sum(axis=1, keepdims=True)

    found = measured(actual, given)

    classes = range(given.shape[1])
    assert found["brier_score"].value == pytest.approx(brier(actual, given), abs=1e-11)
    loss = metrics.log_loss(actual, given, labels=list(classes))
    assert found["log_loss"].value == pytest.approx(loss, rel=1e-9, abs=1e-11)
    exact = areas(actual, given)
    macro, weighted = found["roc_auc_macro"], found["roc_auc_weighted"]
    if not exact:
        assert macro.reason is weighted.reason is Reason.ONE_CLASS
        return
    weights = [np.sum(actual == at) for at in classes if np.any(actual == at)]
    assert macro.value is not None
    assert weighted.value is not None
    assert abs(macro.value - np.mean(exact)) <= macro.resolution + SLACK
    assert abs(weighted.value - np.average(exact, weights=weights)) <= weighted.resolution + SLACK
    for one in (macro, weighted):
        assert one.interval is not None
        assert 0 <= one.interval.lower <= (one.value or 0) <= one.interval.upper <= 1


def test_the_averages_are_those_of_scikit_learn() -> None:
    actual, given = samples(1, 3000, 4)

    found = measured(actual, given)

    for average in ("macro", "weighted"):
        one = found[f"roc_auc_{average}"]
        expected = metrics.roc_auc_score(actual, given, multi_class="ovr", average=average)
        assert one.value == pytest.approx(expected, abs=one.resolution)
        assert (one.n, one.resolution < 1e-3) == (3000, True)


def test_the_area_of_a_class_is_that_of_its_scores() -> None:
    actual, given = samples(2, 400, 30)
    counting = counting_of(30)
    tables = counting.class_tables(counted(actual, given, counting))

    found = measured(actual, given)

    for at, name in enumerate(tables.classes):
        expected = roc_auc(ScoreTable(*tables.counts[at]))
        one = found[f"roc_auc class:{name}"]
        if expected.value is None:
            assert one == Measurement.without_value(Reason.UNDEFINED, n=400)
            continue
        assert one.interval is not None
        assert expected.interval is not None
        assert (one.value, one.n, one.resolution) == pytest.approx(
            (expected.value, 400, expected.resolution), abs=1e-14
        )
        assert (one.interval.lower, one.interval.upper) == pytest.approx(
            (expected.interval.lower, expected.interval.upper), abs=1e-12
        )


def test_probabilities_of_a_rare_class_are_told_apart_near_zero() -> None:
    rng = np.random.default_rng(3)
    actual = (np.arange(10_000) < 10).astype(np.int64)
    rare = 1e-6 * np.exp(rng.normal(size=10_000) + 2 * actual)
    given = np.stack([1 - rare, rare], axis=1)

    one = measured(actual, given)["roc_auc class:c001"]

    assert one.value == pytest.approx(metrics.roc_auc_score(actual, rare), abs=one.resolution)
    assert one.resolution < 0.03


def test_a_hundred_classes_are_bounded_and_exact_to_their_resolution() -> None:
    actual, given = samples(4, 2000, 100, strength=4)
    counting = counting_of(100)

    state = counted(actual, given, counting)

    assert len(state.index) <= 102_400 + 100 + 2000 + 500
    found = by_name(measure_performance(counting, state, MeasureOptions(resamples=0)))
    macro = found["roc_auc_macro"]
    assert macro.value == pytest.approx(np.mean(areas(actual, given)), abs=macro.resolution)
    assert macro.resolution < 2e-3


def test_the_interval_of_an_average_is_no_narrower_than_that_of_resampled_records() -> None:
    actual, given = samples(5, 500, 3)
    rng = np.random.default_rng(6)
    drawn = [areas(actual[at], given[at]) for at in rng.integers(0, 500, (80, 500))]

    for average, weights in ((roc_auc_macro, None), (roc_auc_weighted, np.bincount(actual))):
        interval = average(areas_of(actual, given)).interval
        deviation = np.std([np.average(one, weights=weights) for one in drawn])
        assert interval is not None
        assert 0.95 < (interval.upper - interval.lower) / (2 * 1.96 * deviation) < 2.5


def test_classes_without_records_are_left_out_of_the_averages() -> None:
    actual, given = samples(7, 300, 3)
    apart = np.column_stack([given * 0.999, np.full(300, 0.001)])

    found, without = measured(actual, apart), measured(actual, given * 0.999 + 0.0003)

    assert found["roc_auc class:c003"].reason is Reason.UNDEFINED
    assert found["absent_classes"].value == 1
    assert found["roc_auc_macro"].value == pytest.approx(without["roc_auc_macro"].value, abs=0.002)


def test_perfect_separation_has_an_interval_below_one() -> None:
    actual = np.arange(60) % 3
    given = np.where(np.arange(3) == actual[:, None], 0.8, 0.1)

    one = measured(actual, given)["roc_auc_macro"]

    assert (one.value, one.resolution) == (1.0, 0.0)
    assert one.interval is not None
    assert 0.9 < one.interval.lower < one.interval.upper == 1.0


def test_one_class_alone_or_no_label_has_no_area() -> None:
    given = np.full((5, 2), 0.5)
    counting = counting_of(2)
    nothing = Counters.make_empty(counting.labels_layout)

    one, none = (
        measured(np.zeros(5, np.int64), given),
        by_name(measure_performance(counting, nothing, MeasureOptions())),
    )

    assert one["roc_auc class:c000"].reason is Reason.ONE_CLASS
    assert one["roc_auc class:c001"].reason is Reason.UNDEFINED
    assert one["roc_auc_macro"].reason is one["roc_auc_weighted"].reason is Reason.ONE_CLASS
    assert one["log_loss"].value == pytest.approx(np.log(2))
    names = ("roc_auc_macro", "roc_auc_weighted", "roc_auc class:c000", "log_loss", "brier_score")
    assert {none[name].reason for name in names} == {Reason.NO_LABELS}


def test_a_probability_of_zero_for_what_happened_is_clipped_and_counted() -> None:
    given = np.asarray([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])

    found = measured(np.asarray([0, 0, 1]), given)

    assert found["clipped_records"] == Measurement(value=2.0, n=3)
    assert found["log_loss"].value == pytest.approx((52 * np.log(2) + np.log(2)) / 3)


def test_records_that_are_left_out_change_nothing_else_and_are_told_by_cause() -> None:
    counting = counting_of(3)
    given: list[list[float | None]] = [
        [0.7, 0.2, 0.33, None, 1.2, 0.5, 0.3, 0.9],
        [0.2, 0.5, 0.33, 0.5, -0.2, 0.5, 0.3, 0.05],
        [0.1, 0.3, 0.33, 0.5, 0.0, 0.02, 0.3, 0.05],
    ]
    label = ["c000", "c001", "c002", "c000", "c000", "c000", "c000", "what"]

    def found(rows: int) -> dict[str, Measurement]:
        columns = {f"probability:c00{at}": pa.array(one[:rows]) for at, one in enumerate(given)}
        state = labels_part(table(label=pa.array(label[:rows]), **columns), counting)
        return by_name(measure_performance(counting, state, MeasureOptions(resamples=0)))

    every, good = found(8), found(3)

    causes = tuple(zip(UNUSABLE, (1.0, 1.0, 2.0, 1.0), strict=True))
    assert every["unusable_probabilities"] == Measurement(
        5.0, 8, detail=DetailTable(("cause", "records"), causes)
    )
    assert good["unusable_probabilities"] == Measurement(0.0, 3)
    for name in ("roc_auc_macro", "roc_auc_weighted", "log_loss", "brier_score"):
        assert every[name] == good[name]
        assert good[name].n == 3


def test_the_largest_probability_should_be_right_as_often_as_it_says() -> None:
    actual, given = samples(8, 900, 4)
    top, right = given.max(axis=1), given.argmax(axis=1) == actual

    found = measured(actual, given, resamples=100)

    expected, largest = found["expected_calibration_error"], found["maximum_calibration_error"]
    assert expected.detail is not None
    gaps, sizes = [], []
    for lowest, highest, records, mean, rate in expected.detail.rows:
        inside = (top >= float(lowest or 0)) & (top < float(highest or 1))
        gaps.append(abs(float(top[inside].mean() - right[inside].mean())))
        sizes.append(int(inside.sum()))
        assert records == sizes[-1]
        assert rate == pytest.approx(right[inside].mean())
        assert mean == pytest.approx(top[inside].mean(), abs=largest.resolution)
    assert sum(sizes) == expected.n == 900
    assert expected.value == pytest.approx(np.average(gaps, weights=sizes), abs=expected.resolution + SLACK)
    assert largest.value == pytest.approx(max(gaps), abs=largest.resolution + SLACK)
    assert 0 < expected.resolution <= largest.resolution < 3e-4


def test_probabilities_that_are_too_sure_exceed_what_calibrated_ones_would() -> None:
    rng = np.random.default_rng(9)
    odds = rng.gamma(0.5, size=(2000, 3))
    given = odds / odds.sum(axis=1, keepdims=True)
    actual = (rng.random((2000, 1)) > np.cumsum(given, axis=1)).sum(axis=1)
    sure = given**3 / (given**3).sum(axis=1, keepdims=True)

    honest, bold = measured(actual, given, resamples=200), measured(actual, sure, resamples=200)

    name = "expected_calibration_error"
    assert (honest[name].value or 1) < (honest[f"{name}_critical"].value or 0)
    assert (bold[name].value or 0) > 3 * (bold[f"{name}_critical"].value or 1)


def test_calibration_of_few_records_is_not_measured() -> None:
    actual, given = samples(10, 100, 3)

    assert measured(actual, given)["expected_calibration_error"].reason is Reason.TOO_FEW


def deviations(actual: Ints, given: Floats) -> tuple[Floats, Floats]:
    """Variances of the positives' and of the negatives' mean placements by class, record by record."""
    found = []
    for at in range(given.shape[1]):
        own, others = given[actual == at, at], given[actual != at, at]
        wins = (own[:, None] > others) + 0.5 * (own[:, None] == others)
        sides = (wins.mean(axis=1), wins.mean(axis=0))
        found.append([float(np.var(side, ddof=1)) / len(side) for side in sides])
    return np.asarray(found).T[0], np.asarray(found).T[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_an_average_of_areas_has_the_bound_of_its_classes_variances(*, weighted: bool) -> None:
    actual, given = samples(31, 600, 3)
    value_of = np.asarray(areas(actual, given))

    found = (roc_auc_weighted if weighted else roc_auc_macro)(areas_of(actual, given), 0.9)

    counts = np.bincount(actual, minlength=3)
    weights = counts / 600 if weighted else np.full(3, 1 / 3)
    positives, negatives = deviations(actual, given)
    deviation = np.sqrt((weights**2 * positives).sum()) + (weights * np.sqrt(negatives)).sum()
    value = float(weights @ value_of)
    spread = float(weights @ (value_of - value) ** 2) / 600 if weighted else 0.0
    expected = logit_interval(value, float(deviation**2 + spread), 0.9)
    assert found.value == pytest.approx(value, abs=2e-3)
    assert found.interval is not None
    assert found.interval.level == 0.9
    width = found.interval.upper - found.interval.lower
    assert width == pytest.approx(expected.upper - expected.lower, rel=0.01)


def test_of_few_records_of_a_class_hanley_and_mcneils_variance_stands_for_both_parts() -> None:
    """5 of one class, 5 of the other, one pair of them in the wrong order: by hand."""
    given = np.asarray(
        [
            [0.9, 0.1],
            [0.8, 0.2],
            [0.7, 0.3],
            [0.6, 0.4],
            [0.35, 0.65],
            [0.4, 0.6],
            [0.3, 0.7],
            [0.2, 0.8],
            [0.15, 0.85],
            [0.1, 0.9],
        ]
    )
    actual = np.asarray([0] * 5 + [1] * 5)

    found = areas_of(actual, given)

    value, n = 24 / 25, 5
    a, star = (n * value + 1) / (n + 2), n - 1
    variance = a * (1 - a) * (1 + star * (1 - a) / (2 - a) + star * a / (1 + a)) / n**2
    assert found.value.tolist() == pytest.approx([value, value])
    assert found.parts[0].tolist() == pytest.approx([variance, variance])
    assert found.parts[1].tolist() == [0.0, 0.0]
    many, few = samples(32, 400, 2), samples(33, 400, 2)
    exact = areas_of(*many)
    assert exact.parts[0] is not exact.of_positives
    assert exact.parts[0].tolist() == exact.of_positives.tolist()
    assert exact.parts[1].tolist() == exact.of_negatives.tolist()
    assert areas_of(*few).parts[1].min() > 0


def test_an_area_of_unlike_sizes_is_rough_by_the_smaller_one() -> None:
    rng = np.random.default_rng(34)
    actual = np.asarray([0] * 4 + [1] * 60)
    odds = rng.normal(size=64) + 1.5 * (actual == 0)
    given = np.stack([1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))], axis=1)

    found = areas_of(actual, given)

    for at, (p, n) in enumerate(((4, 60), (60, 4))):
        a, star = (4 * found.value[at] + 1) / 6, (p + n) / 2 - 1
        variance = a * (1 - a) * (1 + star * (1 - a) / (2 - a) + star * a / (1 + a)) / (p * n)
        assert found.parts[0][at] == pytest.approx(variance)


def test_areas_of_classes_have_the_level_that_is_asked_for_and_say_of_how_many_they_are() -> None:
    actual, given = samples(35, 300, 3)
    counting = counting_of(4)
    padded = np.concatenate([given * 0.9, np.full((300, 1), 0.1)], axis=1)

    found = by_name(
        measure_performance(
            counting, counted(actual, padded, counting), MeasureOptions(resamples=20, level=0.8)
        )
    )

    assert found["roc_auc class:c003"] == Measurement.without_value(Reason.UNDEFINED, n=300)
    intervals = {name: one.interval for name, one in found.items() if one.interval is not None}
    assert {
        "roc_auc_macro",
        "roc_auc_weighted",
        "brier_score",
        "log_loss",
        "roc_auc class:c000",
    } <= intervals.keys()
    assert {one.level for one in intervals.values()} == {0.8}
    alone = by_name(
        measure_performance(counting, counted(actual * 0, padded, counting), MeasureOptions(resamples=0))
    )
    assert alone["roc_auc class:c000"] == Measurement.without_value(Reason.ONE_CLASS, n=300)
    nothing = by_name(
        measure_performance(counting, counted(actual[:0], padded[:0], counting), MeasureOptions(resamples=0))
    )
    assert nothing["roc_auc class:c000"] == Measurement.without_value(Reason.NO_LABELS, n=0)


def test_calibration_of_the_largest_probability_has_intervals_by_resamples() -> None:
    actual, given = samples(36, 500, 3)

    found = measured(actual, given, resamples=100)

    names = {name for name in found if name.endswith("calibration_error")}
    assert len(names) == 3
    for name in names:
        assert found[name].interval is not None, name
        assert found[f"{name}_critical"].value if "squared" not in name else True, name
