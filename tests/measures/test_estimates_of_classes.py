"""Estimates of several classes before labels arrive: closed forms, scikit-learn, coverage in simulation."""

from collections.abc import Mapping
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from measure_states import (
    labels_part,
    probability_columns,
    probability_counting,
    records_part,
    table,
)
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from monitor.core.array_types import Floats, Ints
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import learn_from_labels, measure_estimates, measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.score_estimates import measure_estimate_errors
from monitor.sentences.reason_words import why_absent

ASK = MeasureOptions(resamples=0, families=frozenset(MeasureFamily))
CLASSES = ("ant", "bee", "cat")
COUNTING = probability_counting(CLASSES)
MEASURES = ("roc_auc", "precision", "recall")
LATTICE = np.asarray([*permutations([0.6, 0.3, 0.1]), *permutations([0.8, 0.14, 0.06]), [0.42, 0.38, 0.2]])


def rows_of(shares: Floats, actual: Ints | None = None, predicted: Ints | None = None) -> pa.Table:
    named = np.asarray(CLASSES)
    columns = dict(probability_columns(CLASSES, shares))
    if actual is not None:
        columns["label"] = pa.array(named[actual].tolist())
    if predicted is not None:
        columns["prediction"] = pa.array(named[predicted].tolist())
    return table(**columns)


def drawn(rng: np.random.Generator, n: int, alpha: tuple[float, ...] = (1, 1, 1)) -> tuple[Floats, Ints]:
    """Calibrated class probabilities and their labels."""
    shares = rng.dirichlet(alpha, n)
    actual = (shares.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return shares, np.minimum(actual, len(alpha) - 1)


def estimated(taught: pa.Table, window: pa.Table) -> Mapping[tuple[str, str], Measurement]:
    known = learn_from_labels(COUNTING, labels_part(taught, COUNTING))
    found = measure_estimates(COUNTING, known, records_part(window, COUNTING), ASK)
    return {(one.measure, one.subject): one.measurement for one in found}


def values(found: Mapping[tuple[str, str], Measurement], name: str) -> list[float | None]:
    """Estimates of the classes."""
    return [found[f"estimated_{name}", f"class:{one}"].value for one in CLASSES]


def realised(shares: Floats, actual: Ints) -> dict[str, list[float]]:
    """What scikit-learn says of the classes."""
    predicted = shares.argmax(axis=1)
    return {
        "roc_auc": [float(roc_auc_score(actual == at, shares[:, at])) for at in range(3)],
        "precision": precision_score(actual, predicted, average=None).tolist(),
        "recall": recall_score(actual, predicted, average=None).tolist(),
    }


def test_exact_maps_give_what_scikit_learn_gives_of_expanded_expected_counts() -> None:
    """Each record once a class, with the weight of its probability."""
    whole = np.round(LATTICE * 500).astype(np.int64)
    taught = np.repeat(LATTICE, whole.sum(axis=1), axis=0)
    labels = np.concatenate([np.repeat(range(3), one) for one in whole])
    window = np.repeat(LATTICE, [5, 30, 2, 40, 9, 11, 3, 50, 20, 8, 1, 17, 25], axis=0)

    found = estimated(rows_of(taught, labels), rows_of(window))

    actual, weights = np.tile(range(3), len(window)), window.ravel()
    shares = np.repeat(window, 3, axis=0)
    predicted = shares.argmax(axis=1)
    expected = {
        "precision": precision_score(actual, predicted, average=None, sample_weight=weights),
        "recall": recall_score(actual, predicted, average=None, sample_weight=weights),
        "roc_auc": [roc_auc_score(actual == at, shares[:, at], sample_weight=weights) for at in range(3)],
    }
    for name in MEASURES:
        assert values(found, name) == pytest.approx(list(expected[name]), abs=1e-12), name
        mean = found[f"estimated_{name}_macro", ""].value
        assert mean == pytest.approx(np.mean(expected[name]), abs=1e-12)


@pytest.mark.parametrize(
    ("power", "alpha"), [(1.0, (2, 1, 0.5)), (1.0, (1, 1, 1)), (2.0, (1, 1, 1)), (0.4, (1, 1, 1))]
)
def test_probabilities_that_are_too_sure_or_not_sure_enough_are_put_right(
    power: float, alpha: tuple[float, ...]
) -> None:
    """Within four standard errors of what labels give; taken as they are, precision would be off by more."""
    rng = np.random.default_rng(5)
    (taught, taught_labels), (shares, labels) = drawn(rng, 20_000), drawn(rng, 20_000, alpha)
    told, window = (one**power / (one**power).sum(axis=1, keepdims=True) for one in (taught, shares))

    found = estimated(rows_of(told, taught_labels), rows_of(window))

    for name, actual in realised(window, labels).items():
        assert values(found, name) == pytest.approx(actual, abs=0.03), name
        mean = found[f"estimated_{name}_macro", ""].value
        assert mean == pytest.approx(np.mean(actual), abs=0.015)
    said = window.max(axis=1).mean()
    right = (window.argmax(axis=1) == labels).mean()
    assert power == 1.0 or abs(said - right) > 0.06


def test_intervals_hold_what_labels_give_in_95_percent_of_runs() -> None:
    """40 runs: by chance fewer than 33 in 1 % of the cases; of macro means they are upper bounds."""
    rng, of, held = np.random.default_rng(8), COUNTING, dict.fromkeys(MEASURES, 0)
    for _ in range(40):
        known = learn_from_labels(of, labels_part(rows_of(*drawn(rng, 3000)), of))
        window = rows_of(*drawn(rng, 800))
        found = measure_estimates(of, known, records_part(window, of), ASK)
        errors = list(measure_estimate_errors(found, measure_performance(of, labels_part(window, of), ASK)))
        by_key = {(one.measure, one.subject): one.measurement for one in errors}
        assert len(by_key) == 1 + 3 * 4
        for name in MEASURES:
            interval = by_key[f"estimated_{name}_macro_error", ""].interval
            assert interval is not None
            held[name] += interval.lower <= 0 <= interval.upper

    assert min(held.values()) >= 33


def test_the_error_of_a_class_is_its_estimate_less_what_its_labels_gave() -> None:
    rng, of = np.random.default_rng(2), COUNTING
    known = learn_from_labels(of, labels_part(rows_of(*drawn(rng, 3000)), of))
    shares, labels = drawn(rng, 1000)
    window = rows_of(shares, labels)

    found = measure_estimates(of, known, records_part(window, of), ASK)
    errors = list(measure_estimate_errors(found, measure_performance(of, labels_part(window, of), ASK)))

    by_key = {(one.measure, one.subject): one.measurement.value for one in (*found, *errors)}
    actual = recall_score(labels, shares.argmax(axis=1), average=None)[1]
    expected = (by_key["estimated_recall", "class:bee"] or 0) - actual
    assert by_key["estimated_recall_error", "class:bee"] == pytest.approx(expected, abs=1e-12)


def test_a_class_with_too_few_labels_has_no_estimates_nor_has_the_mean() -> None:
    shares, labels = drawn(np.random.default_rng(3), 2000)
    kept = (labels != 2) | (np.cumsum(labels == 2) <= 9)

    found = estimated(rows_of(shares[kept], labels[kept]), rows_of(shares))

    for name in MEASURES:
        assert found[f"estimated_{name}", "class:cat"].reason is Reason.TOO_FEW
        assert found[f"estimated_{name}_macro", ""].reason is Reason.TOO_FEW
        assert found[f"estimated_{name}", "class:ant"].value is not None


def test_a_class_that_labels_do_not_know_is_left_out_of_the_mean() -> None:
    shares, labels = drawn(np.random.default_rng(3), 2000)

    found = estimated(rows_of(shares[labels != 2], labels[labels != 2]), rows_of(shares))

    for name in MEASURES:
        assert found[f"estimated_{name}", "class:cat"].reason is Reason.NO_LABELS
        ant, bee, _ = values(found, name)
        mean = found[f"estimated_{name}_macro", ""].value
        assert mean == pytest.approx(((ant or 0) + (bee or 0)) / 2, abs=1e-12)


def test_a_class_that_is_never_predicted_has_no_precision_and_counts_as_0_in_the_mean() -> None:
    rng = np.random.default_rng(4)
    window = np.tile([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]], (100, 1))

    found = estimated(rows_of(*drawn(rng, 3000)), rows_of(window))

    ant, bee, cat = values(found, "precision")
    assert (cat, found["estimated_precision", "class:cat"].reason) == (None, Reason.UNDEFINED)
    mean = found["estimated_precision_macro", ""].value
    assert mean == pytest.approx(((ant or 0) + (bee or 0)) / 3, abs=1e-12)
    assert found["estimated_recall", "class:cat"].value == 0


def test_predictions_that_are_not_the_most_probable_class_have_an_area_alone() -> None:
    rng = np.random.default_rng(5)
    (shares, labels), other = drawn(rng, 2000), rng.integers(0, 3, 2000)

    found = estimated(rows_of(shares, labels, other), rows_of(shares, predicted=other))

    assert found["estimated_roc_auc_macro", ""].value is not None
    for name in ("precision", "recall"):
        assert found[f"estimated_{name}_macro", ""].reason is Reason.NOT_CONFIGURED
        assert "do not follow from the scores" in why_absent(found[f"estimated_{name}_macro", ""])
        assert found[f"estimated_{name}", "class:ant"].reason is Reason.NOT_CONFIGURED


@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, None)])
def test_a_prediction_of_one_of_several_largest_probabilities_is_no_contradiction(rows: slice) -> None:
    """Probabilities that were rounded after the class was chosen; scikit-learn has the expected figures."""
    (exact, labels), decimals = drawn(np.random.default_rng(11), 6000), 1
    kept = np.abs(exact.round(decimals).sum(axis=1) - 1) < 0.001
    rounded, said, labels = exact[kept].round(decimals), exact[kept].argmax(axis=1), labels[kept]
    tied = (rounded == rounded.max(axis=1, keepdims=True)).sum(axis=1) > 1
    other = np.flatnonzero(tied & (said != rounded.argmax(axis=1)))
    assert len(other) > 100
    chosen = rounded.argmax(axis=1)
    chosen[other[rows]] = said[other[rows]]
    labels[other[:1]] = said[other[:1]]
    taught = rows_of(rounded, labels, chosen)

    found = estimated(taught, taught)

    assert found["estimated_accuracy", ""].value == pytest.approx((chosen == labels).mean(), abs=1e-12)
    expected = {"precision": precision_score, "recall": recall_score}
    for name, score in expected.items():
        actual = score(labels, chosen, average=None).tolist()
        assert values(found, name) == pytest.approx(actual, abs=0.03), name
        assert found[f"estimated_{name}_macro", ""].value == pytest.approx(np.mean(actual), abs=0.02)


def test_without_records_or_labels_there_is_a_reason() -> None:
    shares, labels = drawn(np.random.default_rng(6), 500)
    rows = rows_of(shares, labels)

    empty, untaught = estimated(rows, rows.slice(0, 0)), estimated(rows.slice(0, 0), rows)

    assert {one.reason for one in empty.values()} == {Reason.NO_RECORDS}
    assert {one.reason for one in untaught.values()} == {Reason.NO_LABELS}
    assert ("estimated_recall_macro", "") in untaught


def test_records_whose_probabilities_cannot_be_used_leave_predictions_without_an_estimate() -> None:
    shares, labels = drawn(np.random.default_rng(7), 1000)
    doubled = np.where(np.arange(1000)[:, None] % 20 == 0, shares / 2, shares)

    found = estimated(rows_of(shares, labels), rows_of(doubled))

    assert found["estimated_recall_macro", ""].reason is Reason.NOT_COUNTED
    assert "more than 1 % of the records" in why_absent(found["estimated_recall_macro", ""])
    assert found["estimated_roc_auc_macro", ""].n == 950
