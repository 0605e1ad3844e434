"""Published examples, through the states."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measure_states import (
    binary_counting,
    by_name,
    class_counting,
    classified,
    number_counting,
    numbered,
    of_matrix,
    scored,
)

from monitor.measures.comparison import mean_of
from monitor.measures.evaluate import Ask, comparison, performance
from monitor.measures.shift import compare
from monitor.states.grids import EXTRA_CELLS, category_grid
from monitor.states.views import Histogram

HERE = Path(__file__).parents[1] / "golden"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads((HERE / "golden.json").read_text(encoding="utf-8"))
}
MATRICES = (
    "churn_avg_class_accuracy_knn",
    "churn_avg_class_accuracy_nb",
    "kfold_matrix_1",
    "kfold_matrix_2",
    "profit_model1_knn",
    "profit_model2_tree",
    "heskes_cost_M1",
    "heskes_cost_M2",
    "bacteria_multinomial",
    "breast_cancer_ci",
    "imbalance_accuracy",
    "dummy_majority",
    "relative_accuracy",
)
SPAM = ("spam_confusion_0.5", "spam_rates_0.5", "spam_confusion_0.25", "spam_confusion_0.75")
WILSON = ("wilson_100_0.9", "wilson_1000_0.9", "wilson_5000_0.9", "wilson_10000_0.9", "wilson_5000_0.75")
RANKED = ("spam_ks", "spam_auc_gini", "heskes_roc_ties")
STABILITY = ("si_new_sample_1", "si_new_sample_2", "own_si_zero_level")
OTHERS = ("spam_threshold_table", "regression_linreg", "regression_knn", "control_group")
NOT_YET = {
    "spam_gain_lift": "there is no gain or lift by decile",
    "relative_rmse": "there is no baseline of the mean: only rounded results are given, no records",
    "rse_rae_definitions": "there are no errors relative to a baseline",
    **{f"sign_test_ex{number}": "two models on the same records are not compared" for number in range(1, 7)},
}
NO_BOOTSTRAP = Ask(resamples=0)
CLASS_NAMES = {  # the source's names and ours
    "accuracy": "accuracy",
    "TPR": "recall",
    "recall": "recall",
    "TNR": "specificity",
    "precision": "precision",
    "F1": "f1",
    "f1": "f1",
    "hm": "harmonic_class_accuracy",
    "arithmetic": "average_class_accuracy",
    "balanced": "average_class_accuracy",
    "balanced_accuracy": "average_class_accuracy",
    "relative_accuracy": "relative_accuracy",
    "profit": "profit",
    "cost": "profit",
}


def close(expected: Any) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


def rows_of(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def spam(threshold: float) -> dict[str, Any]:
    rows = rows_of("spam_ham.csv")
    counting = binary_counting(threshold=threshold)
    labels = [int(row["target"] == "spam") for row in rows]
    return by_name(
        performance(counting, scored([float(row["score"]) for row in rows], labels, counting), NO_BOOTSTRAP)
    )


def matrix_of(case: dict[str, Any]) -> tuple[tuple[str, ...], list[list[int]]]:
    """Classes (negative, positive where there are two) and counts of a case."""
    inputs, name = case["inputs"], case["id"]
    match name:
        case "breast_cancer_ci":
            cells = inputs["implied_matrix"]
            return ("0", "1"), [[cells["TN"], cells["FP"]], [cells["FN"], cells["TP"]]]
        case "imbalance_accuracy" | "dummy_majority":
            return ("0", "1"), [[inputs["n_neg"], 0], [inputs["n_pos"], 0]]
        case "relative_accuracy":
            return ("0", "1"), [[260, 9], [17, 14]]
        case "bacteria_multinomial":
            return tuple(inputs["levels"]), case["expected"]["confusion"]
        case _:
            keys = ("confusion", "confusion_target_by_prediction", "confusion_actual_by_predicted")
            return tuple(inputs["levels"]), next(inputs[key] for key in keys if key in inputs)


def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    tested = {*MATRICES, *SPAM, *WILSON, *RANKED, *STABILITY, *OTHERS}

    assert tested.isdisjoint(NOT_YET)
    assert tested | set(NOT_YET) == set(CASES)


@pytest.mark.parametrize("name", MATRICES)
def test_measures_of_a_confusion_matrix(name: str) -> None:
    case = CASES[name]
    classes, matrix = matrix_of(case)
    amounts = case["inputs"].get("profit_matrix", case["inputs"].get("cost_actual_by_predicted"))
    pairs = [(actual, predicted) for actual in classes for predicted in classes]
    profit = dict(zip(pairs, np.ravel(amounts).tolist(), strict=True)) if amounts else {}

    measured = by_name(performance(*of_matrix(classes, matrix), Ask(resamples=0, profit=profit)))

    expected = {
        ours: case["expected"][theirs]
        for theirs, ours in CLASS_NAMES.items()
        if isinstance(case["expected"].get(theirs), int | float)
    }
    assert expected
    assert {ours: measured[ours].value for ours in expected} == close(expected)


def test_recalls_and_precisions_of_several_classes() -> None:
    case, rows = CASES["bacteria_multinomial"], rows_of("bacteria.csv")
    levels = tuple(case["inputs"]["levels"])
    counting = class_counting(levels)

    counters = classified([row["target"] for row in rows], [row["prediction"] for row in rows], counting)
    measured = by_name(performance(counting, counters, NO_BOOTSTRAP))

    assert counting.confusion(counters).counts[:-1, :-1].tolist() == case["expected"]["confusion"]
    for measure in ("recall", "precision"):
        values = [measured[f"{measure} class:{level}"].value for level in levels]
        assert values == close(case["expected"][measure])


@pytest.mark.parametrize("name", SPAM)
def test_rates_at_a_threshold(name: str) -> None:
    case = CASES[name]
    cells = {"TP": "1,predicted:1", "FN": "1,predicted:0", "FP": "0,predicted:1", "TN": "0,predicted:0"}
    names = {
        **CLASS_NAMES,
        **{cell: f"confusion_records actual:{where}" for cell, where in cells.items()},
    }

    measured = spam(case["inputs"]["threshold"])

    for theirs, ours in names.items():
        if theirs in case["expected"]:
            assert measured[ours].value == close(case["expected"][theirs]), theirs


def test_rates_at_several_thresholds() -> None:
    case = CASES["spam_threshold_table"]

    measured = [spam(threshold) for threshold in case["inputs"]["thresholds"]]

    assert [row["recall"].value for row in measured] == close(case["expected"]["TPR"])
    assert [row["specificity"].value for row in measured] == close(case["expected"]["TNR"])
    assert [1 - row["accuracy"].value for row in measured] == close(case["expected"]["error"])


def test_separation_of_the_classes() -> None:
    measured = spam(0.5)["ks_separation"]

    assert measured.value == close(CASES["spam_ks"]["expected"]["ks"])


def test_area_under_the_curve_without_ties() -> None:
    measured = spam(0.5)["roc_auc"]

    assert measured.value == close(CASES["spam_auc_gini"]["expected"]["auc"])
    assert measured.resolution == 0


def test_area_under_the_curve_with_ties() -> None:
    case, counting = CASES["heskes_roc_ties"], binary_counting()

    counters = scored(case["inputs"]["scores"], case["inputs"]["y"], counting)
    measured = by_name(performance(counting, counters, NO_BOOTSTRAP))

    assert measured["roc_auc"].value == close(case["expected"]["auc_ties_half"])


@pytest.mark.parametrize("name", WILSON)
def test_wilson_intervals_of_an_accuracy(name: str) -> None:
    case = CASES[name]
    n, right = case["inputs"]["n"], round(case["inputs"]["n"] * case["inputs"]["p_hat"])

    measured = by_name(performance(*of_matrix(("0", "1"), [[right, 0], [n - right, 0]]), NO_BOOTSTRAP))

    interval = measured["accuracy"].interval
    assert interval is not None
    assert [interval.lower, interval.upper] == close([case["expected"]["lo"], case["expected"]["hi"]])


def test_wilson_interval_of_the_breast_cancer_classifier() -> None:
    case = CASES["breast_cancer_ci"]

    measured = by_name(performance(*of_matrix(*matrix_of(case)), NO_BOOTSTRAP))

    interval = measured["accuracy"].interval
    assert interval is not None
    assert interval.lower == close(case["expected"]["wilson_lo"])
    assert interval.upper == close(case["expected"]["wilson_hi"])


def test_majority_baseline() -> None:
    case = CASES["dummy_majority"]

    measured = by_name(performance(*of_matrix(*matrix_of(case)), NO_BOOTSTRAP))

    assert measured["majority_accuracy"].value == case["expected"]["accuracy"]
    assert measured["recall"].value == 0


@pytest.mark.parametrize("model", ["linreg", "knn"])
def test_errors_of_a_regression(model: str) -> None:
    expected, rows = CASES[f"regression_{model}"]["expected"], rows_of("regression.csv")
    counting = number_counting()

    counters = numbered([float(row[model]) for row in rows], [float(row["target"]) for row in rows], counting)
    measured = by_name(performance(counting, counters, NO_BOOTSTRAP))

    assert {name: measurement.value for name, measurement in measured.items()} == close(
        {
            "mean_squared_error": expected["MSE"],
            "root_mean_squared_error": expected["RMSE"],
            "mean_absolute_error": expected["MAE"],
            "r2_score": expected["R2"],
        }
    )


def histograms(original: list[int], new: list[int]) -> tuple[Histogram, Histogram]:
    grid = category_grid([f"level{position}" for position in range(len(original))], [10] * len(original))
    extra = [0] * (EXTRA_CELLS + 1)
    return Histogram(grid, np.asarray(original + extra)), Histogram(grid, np.asarray(new + extra))


@pytest.mark.parametrize("name", ["si_new_sample_1", "si_new_sample_2"])
def test_stability_index_without_pseudocounts(name: str) -> None:
    case = CASES[name]

    sides = histograms(case["inputs"]["original"], case["inputs"]["new"])
    measured = compare(*sides, Ask(pseudocount=0, min_per_cell=0))["stability_index"]

    assert measured.value == close(case["expected"]["si"])


def test_stability_index_of_a_new_level() -> None:
    case = CASES["own_si_zero_level"]

    sides = histograms(case["inputs"]["original"], case["inputs"]["new"])
    measured = compare(*sides, Ask())["stability_index"]

    assert measured.value == close(case["expected"]["si_plus_half_count"])


def test_means_of_a_control_group() -> None:
    expected, rows = CASES["control_group"]["expected"], rows_of("control_group.csv")
    counting = number_counting()
    arms = [
        numbered([0.0] * len(rows), [float(row[arm]) for row in rows], counting)
        for arm in ("control", "treatment")
    ]

    measured = by_name(comparison(counting, arms[0], arms[1], Ask(level=1 - expected["welch_p"])))

    assert measured["control_outcome_mean"].value == close(expected["mean_control"])
    assert measured["treatment_outcome_mean"].value == close(expected["mean_treatment"])
    deviations = [mean_of(counting.errors(arm)).variance ** 0.5 for arm in arms]
    assert deviations == close([expected["sd_control"], expected["sd_treatment"]])
    interval = measured["outcome_mean_difference"].interval
    assert interval is not None
    assert interval.upper == pytest.approx(0, abs=1e-8)
