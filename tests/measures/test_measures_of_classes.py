"""Measures of classes, against scikit-learn."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_states import by_name, class_counting, classified, of_matrix
from scipy import stats
from sklearn import metrics

from monitor.core.measurement import Reason
from monitor.measures.evaluate import Ask, performance
from monitor.states.counters import Counters

NO_BOOTSTRAP = Ask(resamples=2)
CLASSES = ("ant", "bee", "cat")
PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60)
BINARY_PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60)


@given(BINARY_PAIRS)
def test_binary_measures_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    actual, predicted = ([str(side) for side in sides] for sides in zip(*pairs, strict=True))
    counting = class_counting(("0", "1"))

    measured = by_name(performance(counting, classified(actual, predicted, counting), NO_BOOTSTRAP))

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

    measured = by_name(performance(counting, classified(actual, predicted, counting), NO_BOOTSTRAP))

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
    measured = by_name(performance(*of_matrix(CLASSES, [[5, 0, 0], [3, 0, 0], [0, 0, 2]]), NO_BOOTSTRAP))

    assert measured["harmonic_class_accuracy"].value == 0
    assert measured["average_class_accuracy"].value == pytest.approx(2 / 3)


def test_a_class_without_labels_is_left_out_of_averages_and_counted() -> None:
    measured = by_name(performance(*of_matrix(CLASSES, [[4, 4, 0], [0, 4, 0], [0, 0, 0]]), NO_BOOTSTRAP))

    assert measured["average_class_accuracy"].value == 0.75
    assert measured["harmonic_class_accuracy"].value == pytest.approx(2 / 3)
    assert measured["absent_classes"].value == 1
    assert measured["recall class:cat"].reason is Reason.UNDEFINED
    assert measured["precision class:cat"].reason is Reason.UNDEFINED


def test_an_unseen_class_is_an_error_wherever_it_stands() -> None:
    counting = class_counting(CLASSES)
    counters = classified(["ant", "dog", "dog", "bee"], ["ant", "dog", "ant", "eel"], counting)

    measured = by_name(performance(counting, counters, NO_BOOTSTRAP))

    assert measured["accuracy"].value == 0.25
    assert measured["precision class:ant"].value == 0.5
    assert measured["recall class:bee"].value == 0
    assert measured["average_class_accuracy"].value == 0.5
    assert measured["confusion_records actual:(unseen),predicted:(unseen)"].value == 1
    assert measured["confusion_records actual:(unseen),predicted:ant"].value == 1
    assert measured["confusion_records actual:bee,predicted:(unseen)"].value == 1


def test_without_labels_everything_is_absent_for_that_reason() -> None:
    counting = class_counting(("0", "1"))

    measured = performance(counting, Counters.empty(counting.labels), Ask(profit={("1", "1"): 2.0}))

    reasons = {r.measurement.reason for r in measured if r.measure != "confusion_records"}
    assert reasons == {Reason.NO_LABELS}


def test_profit_counts_left_out_pairs_as_nothing() -> None:
    ask = Ask(resamples=0, profit={("1", "1"): 10.0, ("0", "1"): -4.0})

    measured = by_name(performance(*of_matrix(("0", "1"), [[50, 5], [2, 7]]), ask))

    assert measured["profit"].value == 50
    assert measured["profit_per_record"].value == pytest.approx(50 / 64)


def test_bootstrap_of_the_profit_has_the_spread_of_theory() -> None:
    matrix = np.asarray([[500, 50], [20, 70]])
    amounts = np.asarray([[0.0, -4.0], [0.0, 10.0]])
    ask = Ask(resamples=4000, profit={("1", "1"): 10.0, ("0", "1"): -4.0})

    measured = by_name(performance(*of_matrix(("0", "1"), matrix.tolist()), ask))["profit_per_record"]

    n, mean = matrix.sum(), (matrix * amounts).sum() / matrix.sum()
    deviation = np.sqrt(((matrix * amounts**2).sum() / n - mean**2) / n)
    assert measured.interval is not None
    assert measured.interval.upper - measured.interval.lower == pytest.approx(2 * 1.96 * deviation, rel=0.05)


def test_bootstrap_intervals_hold_the_value() -> None:
    ask = Ask(profit={("bee", "bee"): 1.0})

    measured = by_name(performance(*of_matrix(CLASSES, [[50, 9, 3], [8, 40, 2], [6, 6, 20]]), ask))

    for name in ("relative_accuracy", "average_class_accuracy", "harmonic_class_accuracy", "profit"):
        value, interval = measured[name].value, measured[name].interval
        assert value is not None
        assert interval is not None
        assert interval.lower < value < interval.upper


def test_amounts_of_classes_that_the_model_does_not_know_are_passed_over() -> None:
    ask = Ask(resamples=0, profit={("1", "1"): 10.0, ("9", "1"): 1000.0})

    measured = by_name(performance(*of_matrix(("0", "1"), [[50, 5], [2, 7]]), ask))

    assert measured["profit"].value == 70


def test_many_classes_are_resampled_within_bounds() -> None:
    k, rng = 1_000, np.random.default_rng(5)
    counting = class_counting(tuple(f"c{at:03}" for at in range(k)))
    actual = rng.integers(k, size=20_000)
    predicted = np.where(rng.uniform(size=len(actual)) < 0.7, actual, rng.integers(k, size=len(actual)))
    names = np.asarray(counting.reading.classes)
    counters = classified(names[actual].tolist(), names[predicted].tolist(), counting)

    tracemalloc.start()
    measured = by_name(performance(counting, counters, Ask()))
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
        performance(*of_matrix(CLASSES, matrix.tolist()), Ask(resamples=20_000, profit=profit))
    )

    for name, draws in expected.items():
        interval = measured[name].interval
        assert interval is not None
        bounds = np.quantile(draws, [0.025, 0.975])
        assert [interval.lower, interval.upper] == pytest.approx(bounds, abs=0.06 * draws.std())
