"""Measures of classes, against scikit-learn."""

import math
import tracemalloc
import warnings
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_states import by_name, class_counting, classified, of_matrix
from scipy import stats
from sklearn import metrics

from monitor.core.array_types import Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.confusion_measures import CONFUSION_ROWS
from monitor.measures.classification import confusion_statistics as statistics
from monitor.measures.classification.confusion import confusion_results
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.intervals import percentile_intervals
from monitor.records.reading import ModelTask
from monitor.states.counters import Counters
from monitor.states.views import ConfusionCounts

QUICK = MeasureOptions(resamples=2)
CLASSES = ("ant", "bee", "cat")
NAMES = tuple(f"c{at:03}" for at in range(100))
PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60)
BINARY_PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


COUNTS = st.sampled_from([0, 0, 1, 2, 7, 10, 9_990, 10**9])


def direct(matrix: Sequence[Sequence[int]] | Ints, options: MeasureOptions = QUICK) -> dict[str, Measurement]:
    """Measures of counts by actual and predicted class, the last row and column unseen."""
    counts = np.asarray(matrix, dtype=np.int64)
    confusion = ConfusionCounts(NAMES[: len(counts) - 1], counts)
    return by_name(list(confusion_results(confusion, options, np.random.default_rng(1))))


def square(k: int) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(st.lists(COUNTS, min_size=k, max_size=k), min_size=k, max_size=k)


def unfolded(matrix: list[list[int]]) -> tuple[list[str], list[str], list[int]]:
    """Actual, predicted class and weight of each cell; an unseen class never equals another one."""
    names = NAMES[: len(matrix) - 1]
    rows, columns = [*names, "unseen"], [*names, "other unseen"]
    cells = [
        (row, column, count)
        for row, line in zip(rows, matrix, strict=True)
        for column, count in zip(columns, line, strict=True)
        if count
    ]
    actual, predicted, weights = zip(*cells, strict=True)
    return list(actual), list(predicted), list(weights)


def expected_of(matrix: list[list[int]]) -> dict[str, float]:
    """What scikit-learn says; NaN where it is undefined."""
    known = list(NAMES[: len(matrix) - 1])
    actual, predicted, weights = unfolded(matrix)
    present = [name for name in known if name in actual]
    sides = {"y_true": actual, "y_pred": predicted, "sample_weight": weights}
    found = {"error_rate": metrics.zero_one_loss(**sides)}
    found["cohen_kappa_score"] = metrics.cohen_kappa_score(actual, predicted, sample_weight=weights)
    constant = len(set(actual)) == 1 or len(set(predicted)) == 1
    found["matthews_corrcoef"] = np.nan if constant else metrics.matthews_corrcoef(**sides)
    for average in ("macro", "weighted", "micro"):
        of = known if average == "micro" else present
        scores = (np.nan,) * 3
        if of:
            undefined = np.nan if average == "micro" else 0
            scores = metrics.precision_recall_fscore_support(
                **sides, labels=of, average=average, zero_division=undefined
            )
        for name, score in zip(("precision", "recall", "f1"), scores, strict=False):
            found[f"{name}_{average}"] = score
    cells = metrics.multilabel_confusion_matrix(**sides, labels=known).astype(float)
    for name, cell in zip(known, cells, strict=True):
        (tn, fp), (fn, tp) = cell
        found[f"false_positive_rate class:{name}"] = fp / (fp + tn) if fp + tn else np.nan
        found[f"false_negative_rate class:{name}"] = fn / (fn + tp) if fn + tp else np.nan
    for name, beta in (("f1", 1), ("f2", 2), ("f05", 0.5)):
        values = metrics.fbeta_score(**sides, beta=beta, labels=known, average=None, zero_division=np.nan)
        found |= {f"{name} class:{label}": score for label, score in zip(known, values, strict=True)}
    if len(known) == 2:  # the positive class is the measures' own
        found = {key.removesuffix(f" class:{known[1]}"): value for key, value in found.items()}
        found = {key: value for key, value in found.items() if "class:" not in key}
    return found


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("k", [2, 3])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_measures_of_adversarial_counts_equal_scikit_learn(k: int, data: st.DataObject) -> None:
    matrix = data.draw(square(k + 1).filter(lambda rows: any(map(any, rows))))

    measured, expected = direct(matrix), expected_of(matrix)

    for name, value in expected.items():
        if np.isnan(value):
            reasons = {Reason.ONE_CLASS} if k == 2 and name.endswith("rate") else {Reason.UNDEFINED}
            assert measured[name].reason in reasons, name
        else:
            assert measured[name].value == pytest.approx(value, rel=1e-6, abs=1e-9), name


@given(square(3).filter(lambda rows: sum(map(sum, rows)) > 0))
def test_correlation_and_kappa_lose_nothing_where_a_class_is_rare(matrix: list[list[int]]) -> None:
    counts = [[100_000 * cell + (cell > 0) for cell in row] for row in matrix]
    n, right = sum(map(sum, counts)), counts[0][0] + counts[1][1]
    actual, predicted = [sum(row) for row in counts], [sum(row) for row in zip(*counts, strict=True)]
    chance = sum(a * p for a, p in zip(actual[:-1], predicted[:-1], strict=True))
    spread = [n * n - sum(side * side for side in sides) for sides in (actual, predicted)]

    measured = direct(counts)

    if n * n > chance:
        exact = float(Fraction(n * right - chance, n * n - chance))
        assert measured["cohen_kappa_score"].value == pytest.approx(exact, rel=1e-9, abs=1e-12)
    if all(spread):
        exact = (n * right - chance) / (math.isqrt(spread[0] * spread[1] * 10**20) / 10**10)
        assert measured["matthews_corrcoef"].value == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_a_hundred_classes_equal_scikit_learn() -> None:
    k, rng = 100, np.random.default_rng(8)
    actual = np.minimum(rng.geometric(0.04, size=20_000) - 1, k - 1)
    predicted = np.where(rng.random(len(actual)) < 0.7, actual, rng.integers(k, size=len(actual)))
    counts = np.zeros((k + 1, k + 1), dtype=np.int64)
    np.add.at(counts, (actual, predicted), 1)

    measured = direct(counts, MeasureOptions())

    expected = metrics.precision_recall_fscore_support(actual, predicted, average="macro", zero_division=0)
    assert [measured[f"{name}_macro"].value for name in ("precision", "recall", "f1")] == pytest.approx(
        list(expected[:3])
    )
    of_each = metrics.f1_score(actual, predicted, labels=range(k), average=None, zero_division=np.nan)
    assert [measured[f"f1 class:{name}"].value for name in NAMES[:k]] == pytest.approx(of_each.tolist())
    assert measured["cohen_kappa_score"].value == pytest.approx(metrics.cohen_kappa_score(actual, predicted))


def test_many_cells_are_resampled_with_the_spread_of_records() -> None:
    k, rng = 30, np.random.default_rng(8)
    actual = np.minimum(rng.geometric(0.08, size=4_000) - 1, k - 1)
    predicted = np.where(rng.random(len(actual)) < 0.6, actual, rng.integers(k, size=len(actual)))
    counts = np.zeros((k + 1, k + 1), dtype=np.int64)
    np.add.at(counts, (actual, predicted), 1)
    amounts = {(NAMES[0], NAMES[0]): 3.0, (NAMES[1], NAMES[1]): -2.0}
    worth = 3.0 * ((actual == 0) & (predicted == 0)) - 2.0 * ((actual == 1) & (predicted == 1))
    picked = [rng.integers(len(actual), size=len(actual)) for _ in range(200)]
    spread = {
        "matthews_corrcoef": [metrics.matthews_corrcoef(actual[at], predicted[at]) for at in picked],
        "profit": [worth[at].sum() for at in picked],
    }

    measured = direct(counts, MeasureOptions(resamples=2_000, profit=amounts))

    assert np.count_nonzero(counts) > 256
    for name, draws in spread.items():
        interval = measured[name].interval
        assert interval is not None
        width = 2 * 1.96 * np.std(draws)
        assert interval.upper - interval.lower == pytest.approx(width, rel=0.15), name


def test_ten_positives_in_ten_thousand() -> None:
    measured = direct([[9_980, 10, 0], [4, 6, 0], [0, 0, 0]], MeasureOptions())

    assert measured["false_positive_rate"].value == pytest.approx(10 / 9_990)
    assert measured["false_negative_rate"].value == 0.4
    assert measured["f2"].value == pytest.approx(30 / (30 + 10 + 16))
    for name in ("f1", "f2", "f05", "matthews_corrcoef", "cohen_kappa_score", "precision_macro"):
        value, interval = measured[name].value, measured[name].interval
        assert value is not None
        assert interval is not None
        assert 0 <= interval.lower < value < interval.upper <= 1


def test_one_record_has_values_where_they_are_defined() -> None:
    measured = direct([[0, 0, 0], [0, 1, 0], [0, 0, 0]], MeasureOptions())

    assert measured["f1_macro"].value == measured["precision_weighted"].value == 1
    assert measured["error_rate"].value == 0
    assert measured["false_positive_rate"].reason is Reason.ONE_CLASS
    assert measured["matthews_corrcoef"].reason is Reason.UNDEFINED
    assert measured["cohen_kappa_score"].reason is Reason.UNDEFINED


def test_strata_have_the_headlines_and_no_more() -> None:
    matrix = [[50, 9, 3, 0], [8, 40, 2, 0], [6, 6, 20, 0], [0, 0, 0, 0]]

    measured = direct(matrix, MeasureOptions(resamples=0, whole=False, profit={("c000", "c000"): 1.0}))

    headlines = {row.name for row in CONFUSION_ROWS if row.headline and ModelTask.MULTICLASS in row.tasks}
    assert {name.partition(" ")[0] for name in measured} == headlines
    whole = direct(matrix, MeasureOptions(profit={("c000", "c000"): 1.0}))
    assert {name: one.value for name, one in measured.items()} == {
        name: whole[name].value for name in measured
    }


def test_rates_have_clopper_pearson_intervals_on_request() -> None:
    options = MeasureOptions(resamples=0, rate_interval="clopper-pearson")

    measured = direct([[0, 9, 0], [0, 21, 0], [0, 0, 0]], options)["accuracy"].interval

    expected = stats.binomtest(21, 30).proportion_ci(0.95, method="exact")
    assert measured is not None
    assert [measured.lower, measured.upper] == pytest.approx([expected.low, expected.high])


@given(BINARY_PAIRS)
def test_binary_measures_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    actual, predicted = ([str(side) for side in sides] for sides in zip(*pairs, strict=True))
    counting = class_counting(("0", "1"))

    measured = by_name(measure_performance(counting, classified(actual, predicted, counting), QUICK))

    assert measured["accuracy"].value == pytest.approx(metrics.accuracy_score(actual, predicted))
    for name, score, reason in (
        ("precision", metrics.precision_score, Reason.UNDEFINED),
        ("recall", metrics.recall_score, Reason.ONE_CLASS),
        ("f1", metrics.f1_score, Reason.UNDEFINED),
    ):
        expected = score(actual, predicted, pos_label="1", zero_division=np.nan)
        assert measured[name].value == (None if np.isnan(expected) else pytest.approx(expected)), name
        assert measured[name].reason == (reason if np.isnan(expected) else None), name
    specificity = metrics.recall_score(actual, predicted, pos_label="0", zero_division=np.nan)
    assert measured["specificity"].value == (None if np.isnan(specificity) else pytest.approx(specificity))


@given(PAIRS)
def test_multi_class_measures_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    actual, predicted = ([CLASSES[side] for side in sides] for sides in zip(*pairs, strict=True))
    counting = class_counting(CLASSES)

    measured = by_name(measure_performance(counting, classified(actual, predicted, counting), QUICK))

    for name, score in (("precision", metrics.precision_score), ("recall", metrics.recall_score)):
        values = score(actual, predicted, labels=CLASSES, average=None, zero_division=np.nan)
        expected = {
            f"{name} class:{label}": None if np.isnan(value) else pytest.approx(value)
            for label, value in zip(CLASSES, values, strict=True)
        }
        assert {key: measured[key].value for key in expected} == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns of predicted classes that are not there
        balanced = metrics.balanced_accuracy_score(actual, predicted)
    assert measured["average_class_accuracy"].value == pytest.approx(balanced)
    cells = metrics.confusion_matrix(actual, predicted, labels=CLASSES)
    for row, column in zip(*np.nonzero(cells), strict=True):
        key = f"confusion_records actual:{CLASSES[row]},predicted:{CLASSES[column]}"
        assert measured[key].value == cells[row, column]


def test_a_class_without_recall_makes_the_harmonic_mean_zero() -> None:
    measured = by_name(measure_performance(*of_matrix(CLASSES, [[5, 0, 0], [3, 0, 0], [0, 0, 2]]), QUICK))

    assert measured["harmonic_class_accuracy"].value == 0
    assert measured["average_class_accuracy"].value == pytest.approx(2 / 3)


def test_a_class_without_labels_is_left_out_of_averages_and_counted() -> None:
    measured = by_name(measure_performance(*of_matrix(CLASSES, [[4, 4, 0], [0, 4, 0], [0, 0, 0]]), QUICK))

    assert measured["average_class_accuracy"].value == 0.75
    assert measured["harmonic_class_accuracy"].value == pytest.approx(2 / 3)
    assert measured["absent_classes"].value == 1
    assert measured["recall class:cat"].reason is Reason.UNDEFINED
    assert measured["precision class:cat"].reason is Reason.UNDEFINED


def test_an_unseen_class_is_an_error_wherever_it_stands() -> None:
    counting = class_counting(CLASSES)
    counters = classified(["ant", "dog", "dog", "bee"], ["ant", "dog", "ant", "eel"], counting)

    measured = by_name(measure_performance(counting, counters, QUICK))

    assert measured["accuracy"].value == 0.25
    assert measured["precision class:ant"].value == 0.5
    assert measured["recall class:bee"].value == 0
    assert measured["average_class_accuracy"].value == 0.5
    assert measured["confusion_records actual:(unseen),predicted:(unseen)"].value == 1
    assert measured["confusion_records actual:(unseen),predicted:ant"].value == 1
    assert measured["confusion_records actual:bee,predicted:(unseen)"].value == 1


def test_without_labels_everything_is_absent_for_that_reason() -> None:
    counting = class_counting(("0", "1"))

    measured = measure_performance(
        counting, Counters.make_empty(counting.labels_layout), MeasureOptions(profit={("1", "1"): 2.0})
    )

    reasons = {r.measurement.reason for r in measured if r.measure != "confusion_records"}
    assert reasons == {Reason.NO_LABELS}


def test_profit_counts_left_out_pairs_as_nothing() -> None:
    options = MeasureOptions(resamples=0, profit={("1", "1"): 10.0, ("0", "1"): -4.0})

    measured = by_name(measure_performance(*of_matrix(("0", "1"), [[50, 5], [2, 7]]), options))

    assert measured["profit"].value == 50
    assert measured["profit_per_record"].value == pytest.approx(50 / 64)


def test_bootstrap_of_the_profit_has_the_spread_of_theory() -> None:
    matrix = np.asarray([[500, 50], [20, 70]])
    amounts = np.asarray([[0.0, -4.0], [0.0, 10.0]])
    options = MeasureOptions(resamples=4000, profit={("1", "1"): 10.0, ("0", "1"): -4.0})

    measured = by_name(measure_performance(*of_matrix(("0", "1"), matrix.tolist()), options))[
        "profit_per_record"
    ]

    n, mean = matrix.sum(), (matrix * amounts).sum() / matrix.sum()
    deviation = np.sqrt(((matrix * amounts**2).sum() / n - mean**2) / n)
    assert measured.interval is not None
    assert measured.interval.upper - measured.interval.lower == pytest.approx(2 * 1.96 * deviation, rel=0.05)


def test_bootstrap_intervals_hold_the_value() -> None:
    options = MeasureOptions(profit={("bee", "bee"): 1.0})

    measured = by_name(
        measure_performance(*of_matrix(CLASSES, [[50, 9, 3], [8, 40, 2], [6, 6, 20]]), options)
    )

    for name in ("relative_accuracy", "average_class_accuracy", "harmonic_class_accuracy", "profit"):
        value, interval = measured[name].value, measured[name].interval
        assert value is not None
        assert interval is not None
        assert interval.lower < value < interval.upper


def test_amounts_of_classes_that_the_model_does_not_know_are_passed_over() -> None:
    options = MeasureOptions(resamples=0, profit={("1", "1"): 10.0, ("9", "1"): 1000.0})

    measured = by_name(measure_performance(*of_matrix(("0", "1"), [[50, 5], [2, 7]]), options))

    assert measured["profit"].value == 70


def test_many_classes_are_resampled_within_bounds() -> None:
    k, rng = 1_000, np.random.default_rng(5)
    counting = class_counting(tuple(f"c{at:03}" for at in range(k)))
    actual = rng.integers(k, size=20_000)
    predicted = np.where(rng.uniform(size=len(actual)) < 0.7, actual, rng.integers(k, size=len(actual)))
    names = np.asarray(counting.reading.classes)
    counters = classified(names[actual].tolist(), names[predicted].tolist(), counting)

    tracemalloc.start()
    measured = by_name(measure_performance(counting, counters, MeasureOptions()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 300e6
    interval = measured["average_class_accuracy"].interval
    assert measured["average_class_accuracy"].value == pytest.approx(
        metrics.balanced_accuracy_score(actual, predicted)
    )
    assert interval is not None


def test_cells_that_are_drawn_as_one_have_the_spread_of_cells_that_are_drawn_apart() -> None:
    matrix = np.asarray([[50, 9, 3], [8, 40, 2], [6, 6, 20]])
    profit = {("ant", "bee"): -2.0, ("ant", "ant"): 3.0, ("cat", "bee"): -1.0, ("cat", "ant"): -1.0}
    n, rng = matrix.sum(), np.random.default_rng(3)
    drawn = rng.multinomial(n, matrix.ravel() / n, size=20_000).reshape(-1, 3, 3)
    recalls = np.diagonal(drawn, axis1=1, axis2=2) / drawn.sum(axis=2)
    amounts = np.zeros((3, 3))
    for (row, column), amount in profit.items():
        amounts[CLASSES.index(row), CLASSES.index(column)] = amount
    expected = {
        "average_class_accuracy": recalls.mean(axis=1),
        "harmonic_class_accuracy": stats.hmean(recalls, axis=1),
        "relative_accuracy": np.trace(drawn, axis1=1, axis2=2) / drawn.sum(axis=2).max(axis=1),
        "profit": (drawn * amounts).sum(axis=(1, 2)),
    }

    measured = by_name(
        measure_performance(
            *of_matrix(CLASSES, matrix.tolist()), MeasureOptions(resamples=20_000, profit=profit)
        )
    )

    for name, draws in expected.items():
        interval = measured[name].interval
        assert interval is not None
        bounds = np.quantile(draws, [0.025, 0.975])
        assert [interval.lower, interval.upper] == pytest.approx(bounds, abs=0.06 * draws.std())


def test_counts_of_cells_are_all_of_two_classes_and_those_with_records_of_more() -> None:
    two = direct([[5, 0, 0], [0, 3, 2], [0, 0, 0]])
    three = direct([[5, 0, 0, 0], [0, 0, 0, 1], [0, 2, 4, 0], [0, 0, 0, 0]])

    def cells(found: dict[str, Measurement]) -> dict[str, tuple[float | None, int]]:
        named = {name: each for name, each in found.items() if name.startswith("confusion_records")}
        return {name.partition(" ")[2]: (each.value, each.n) for name, each in named.items()}

    assert cells(two) == {
        "actual:c000,predicted:c000": (5.0, 10),
        "actual:c000,predicted:c001": (0.0, 10),
        "actual:c001,predicted:c000": (0.0, 10),
        "actual:c001,predicted:c001": (3.0, 10),
        "actual:c001,predicted:(unseen)": (2.0, 10),
    }
    assert cells(three) == {
        "actual:c000,predicted:c000": (5.0, 12),
        "actual:c001,predicted:(unseen)": (1.0, 12),
        "actual:c002,predicted:c001": (2.0, 12),
        "actual:c002,predicted:c002": (4.0, 12),
    }


def test_shares_of_all_and_of_each_class_are_of_the_records_that_they_name() -> None:
    found = direct([[5, 1, 0, 0], [0, 2, 0, 0], [1, 1, 6, 2], [9, 0, 0, 0]])

    def shares(name: str) -> tuple[float, int]:
        value = found[name].value
        assert value is not None
        return round(value * found[name].n), found[name].n

    assert shares("majority_accuracy") == (10, 27), "the largest known class, which may be the last"
    assert [shares(f"predicted_rate class:c00{at}") for at in range(3)] == [(15, 27), (4, 27), (6, 27)]
    assert [shares(f"base_rate class:c00{at}") for at in range(3)] == [(6, 27), (2, 27), (10, 27)]
    assert (found["absent_classes"].value, found["absent_classes"].n) == (0.0, 27)
    assert {each.n for name, each in found.items() if name in ("cohen_kappa_score", "f1_macro")} == {27}


def test_without_a_record_the_reason_is_the_labels_and_n_is_nothing() -> None:
    found = direct([[0, 0, 0], [0, 0, 0], [0, 0, 0]])

    for name in ("absent_classes", "matthews_corrcoef", "accuracy", "base_rate"):
        assert (found[name].reason, found[name].n) == (Reason.NO_LABELS, 0), name
    some = direct([[4, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert (some["matthews_corrcoef"].reason, some["matthews_corrcoef"].n) == (Reason.UNDEFINED, 4)
    assert some["precision"].reason is Reason.UNDEFINED


def test_intervals_are_of_the_resamples_and_not_of_the_counts() -> None:
    counts = np.array([[40, 10, 0], [5, 45, 0], [0, 0, 0]])
    confusion = ConfusionCounts(NAMES[:2], counts)
    sums = statistics.resample_sums(confusion, None, 50, np.random.default_rng(3))
    found = by_name(
        list(confusion_results(confusion, MeasureOptions(resamples=50), np.random.default_rng(3)))
    )
    kappas = statistics.kappa_values(sums)

    (expected,) = percentile_intervals(kappas[None, 1:], 0.95)
    assert found["cohen_kappa_score"].interval == expected
    assert found["cohen_kappa_score"].value == kappas[0]
    without = by_name(list(confusion_results(confusion, MeasureOptions(resamples=50), None)))
    assert without["cohen_kappa_score"].interval is None
    assert "profit" not in found
