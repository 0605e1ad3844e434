"""Published examples, through the states."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from measure_states import (
    binary_counting,
    binary_reading,
    by_name,
    class_counting,
    classified,
    compare,
    labels_part,
    number_counting,
    numbered,
    of_matrix,
    scored,
    table,
)

from monitor.core.measurement import RateMethod
from monitor.measures.evaluate import compare_arms, compare_challenger, measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.statistics.intervals import RATE_INTERVALS
from monitor.records.reading import ChallengerOutput
from monitor.records.reference import make_plain_counting
from monitor.states.grids import EXTRA_CELLS, category_grid
from monitor.states.views import CellHistogram

HERE = Path(__file__).parents[1] / "golden"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads((HERE / "golden.json").read_text(encoding="utf-8"))
}
WITHOUT_A_TEST: dict[str, str] = {}
QUICK = MeasureOptions(resamples=2)
CLASS_NAMES = {  # the source's names and ours
    "accuracy": "accuracy",
    "TPR": "recall",
    "recall": "recall",
    "TNR": "specificity",
    "FPR": "false_positive_rate",
    "FNR": "false_negative_rate",
    "error": "error_rate",
    "precision": "precision",
    "F1": "f1",
    "f1": "f1",
    "macro_f1": "f1_macro",
    "hm": "harmonic_class_accuracy",
    "arithmetic": "average_class_accuracy",
    "balanced": "average_class_accuracy",
    "balanced_accuracy": "average_class_accuracy",
    "relative_accuracy": "relative_accuracy",
    "profit": "profit",
    "cost": "profit",
}


def golden(*names: str) -> pytest.MarkDecorator:
    """Test of published cases, each given as `case`: what a test has is what carries this mark."""
    return pytest.mark.parametrize("case", [CASES[name] for name in names], ids=names)


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
        measure_performance(counting, scored([float(row["score"]) for row in rows], labels, counting), QUICK)
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


def accuracy_intervals(
    classes: tuple[str, ...], matrix: list[list[int]]
) -> dict[RateMethod, tuple[float, float]]:
    """Interval of the accuracy of a confusion matrix by each method."""
    intervals: dict[RateMethod, tuple[float, float]] = {}
    counting, counters = of_matrix(classes, matrix)
    for method in RATE_INTERVALS:
        options = MeasureOptions(resamples=0, rate_interval=method)
        interval = by_name(measure_performance(counting, counters, options))["accuracy"].interval
        assert interval is not None
        intervals[method] = (interval.lower, interval.upper)
    return intervals


def test_every_case_is_tested_or_listed_with_a_reason() -> None:
    marks = [mark for test in globals().values() for mark in getattr(test, "pytestmark", [])]
    tested = {name for mark in marks if mark.args[0] == "case" for name in mark.kwargs["ids"]}

    assert set(WITHOUT_A_TEST) == set(CASES) - tested


def test_where_a_source_prints_something_else_the_documentation_says_so() -> None:
    documented = (HERE.parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")

    notes = [case["note"] for case in CASES.values() if "The source " in case["note"]]
    figures = [re.search(r"\d\.\d\d+|\[\[.*\]\]", note) for note in notes if "calls" not in note]

    assert len(figures) >= 7
    assert [found for found in figures if found is None or found.group() not in documented] == []


@golden(
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
    "relative_accuracy",
)
def test_measures_of_a_confusion_matrix(case: dict[str, Any]) -> None:
    classes, matrix = matrix_of(case)
    amounts = case["inputs"].get("profit_matrix", case["inputs"].get("cost_actual_by_predicted"))
    pairs = [(actual, predicted) for actual in classes for predicted in classes]
    profit = dict(zip(pairs, np.ravel(amounts).tolist(), strict=True)) if amounts else {}

    measured = by_name(
        measure_performance(*of_matrix(classes, matrix), MeasureOptions(resamples=2, profit=profit))
    )

    expected = {
        ours: case["expected"][theirs]
        for theirs, ours in CLASS_NAMES.items()
        if isinstance(case["expected"].get(theirs), int | float)
    }
    assert expected
    assert {ours: measured[ours].value for ours in expected} == close(expected)
    if "recalls" in case["expected"]:
        assert [measured[name].value for name in ("specificity", "recall")] == close(
            case["expected"]["recalls"]
        )


@golden("bacteria_multinomial")
def test_recalls_and_precisions_of_several_classes(case: dict[str, Any]) -> None:
    rows = rows_of("bacteria.csv")
    levels = tuple(case["inputs"]["levels"])
    counting = class_counting(levels)

    counters = classified([row["target"] for row in rows], [row["prediction"] for row in rows], counting)
    measured = by_name(measure_performance(counting, counters, QUICK))

    assert counting.confusion_view(counters).counts[:-1, :-1].tolist() == case["expected"]["confusion"]
    for measure in ("recall", "precision"):
        values = [measured[f"{measure} class:{level}"].value for level in levels]
        assert values == close(case["expected"][measure])


@golden("spam_confusion_0.5", "spam_rates_0.5", "spam_confusion_0.25", "spam_confusion_0.75")
def test_rates_at_a_threshold(case: dict[str, Any]) -> None:
    cells = {"TP": "1,predicted:1", "FN": "1,predicted:0", "FP": "0,predicted:1", "TN": "0,predicted:0"}
    names = {
        **CLASS_NAMES,
        **{cell: f"confusion_records actual:{where}" for cell, where in cells.items()},
    }

    measured = spam(case["inputs"]["threshold"])

    for theirs, ours in names.items():
        if theirs in case["expected"]:
            assert measured[ours].value == close(case["expected"][theirs]), theirs


@golden("spam_threshold_table")
def test_rates_at_several_thresholds(case: dict[str, Any]) -> None:
    names = ("error", "TPR", "TNR", "FPR", "FNR")

    measured = [spam(threshold) for threshold in case["inputs"]["thresholds"]]

    for name in names:
        assert [row[CLASS_NAMES[name]].value for row in measured] == close(case["expected"][name]), name


@golden("spam_ks")
def test_separation_of_the_classes(case: dict[str, Any]) -> None:
    measured = spam(0.5)

    assert measured["ks_separation"].value == close(case["expected"]["ks"])
    threshold = measured["ks_separation_threshold"]
    assert threshold.value - threshold.resolution <= case["expected"]["at_score"] < threshold.value


@golden("spam_auc_gini")
def test_area_under_the_curve_without_ties(case: dict[str, Any]) -> None:
    expected, measured = case["expected"], spam(0.5)
    area = measured["roc_auc"]

    assert area.value == close(expected["auc"])
    assert area.resolution == 0
    assert measured["gini"].value == close(expected["gini"])
    curve = {(round(x, 6), round(y, 6)) for x, y in zip(expected["fpr"], expected["tpr"], strict=True)}
    assert {row[1:] for row in area.detail.rows} <= curve


@golden("spam_gain_lift")
def test_gain_and_lift_by_decile(case: dict[str, Any]) -> None:
    names = {"pos": "positives", "gain": "gain", "cum_gain": "cumulative_gain", "lift": "lift"}
    names["cum_lift"] = "cumulative_lift"

    measured = spam(0.5)

    assert measured["gain_top_decile"].value == close(case["expected"]["gain"][0])
    assert measured["lift_top_decile"].value == close(case["expected"]["lift"][0])
    detail = measured["lift_top_decile"].detail
    columns = dict(zip(detail.columns, zip(*detail.rows, strict=True), strict=True))
    for theirs, ours in names.items():
        assert list(columns[ours]) == pytest.approx(case["expected"][theirs], abs=1e-6), theirs
    assert columns["records"] == (2,) * 10


@golden("heskes_roc_ties")
def test_area_under_the_curve_with_ties(case: dict[str, Any]) -> None:
    counting = binary_counting()

    counters = scored(case["inputs"]["scores"], case["inputs"]["y"], counting)
    measured = by_name(measure_performance(counting, counters, QUICK))

    assert measured["roc_auc"].value == close(case["expected"]["auc_ties_half"])
    detail = measured["roc_auc"].detail
    assert detail is not None
    rates = zip(case["expected"]["FPR"], case["expected"]["TPR"], strict=True)
    assert set(rates) | {(0, 0), (0, 0.4)} == {row[1:] for row in detail.rows}


@golden("wilson_100_0.9", "wilson_1000_0.9", "wilson_5000_0.9", "wilson_10000_0.9", "wilson_5000_0.75")
def test_intervals_of_an_accuracy(case: dict[str, Any]) -> None:
    n, right = case["inputs"]["n"], round(case["inputs"]["n"] * case["inputs"]["p_hat"])

    intervals = accuracy_intervals(("0", "1"), [[right, 0], [n - right, 0]])

    assert intervals["wilson"] == close((case["expected"]["lo"], case["expected"]["hi"]))
    assert intervals["clopper-pearson"] == close((case["expected"]["beta_lo"], case["expected"]["beta_hi"]))


@golden("breast_cancer_ci")
def test_intervals_of_the_breast_cancer_classifier(case: dict[str, Any]) -> None:
    intervals = accuracy_intervals(*matrix_of(case))

    expected = case["expected"]
    assert intervals["wilson"] == close((expected["wilson_lo"], expected["wilson_hi"]))
    assert intervals["clopper-pearson"] == close((expected["beta_lo"], expected["beta_hi"]))


@golden("dummy_majority")
def test_majority_baseline(case: dict[str, Any]) -> None:
    measured = by_name(measure_performance(*of_matrix(*matrix_of(case)), QUICK))

    assert measured["majority_accuracy"].value == case["expected"]["accuracy"]
    assert measured["recall"].value == 0


REGRESSION_NAMES = {  # the source's names and ours
    "SSE_half": "half_sum_of_squared_errors",
    "MSE": "mean_squared_error",
    "RMSE": "root_mean_squared_error",
    "MAE": "mean_absolute_error",
    "R2": "r2_score",
    "RSE": "relative_squared_error",
    "RAE_vs_median": "relative_absolute_error",
    "skill_mse": "r2_score",
    "skill_mae_median": "d2_absolute_error_score",
    "relative_rmse": "relative_root_mean_squared_error",
    "bias": "bias",
    "median_ae": "median_absolute_error",
    "max_error": "max_error",
}
NOT_OURS = {"R2_squared_pearson", "R2_explained_variance", "R2_sst_n_minus_1", "RAE_vs_mean"}


def errors_of(model: str) -> dict[str, Any]:
    rows, counting = rows_of("regression.csv"), number_counting()
    counters = numbered([float(row[model]) for row in rows], [float(row["target"]) for row in rows], counting)
    return by_name(measure_performance(counting, counters, QUICK))


def check_errors(measured: dict[str, Any], expected: dict[str, float]) -> None:
    for theirs in set(expected) - NOT_OURS:
        found = measured[REGRESSION_NAMES[theirs]]
        assert abs(found.value - expected[theirs]) <= found.resolution + 1e-9 * expected[theirs] + 1e-9, (
            theirs
        )


@golden("regression_linreg", "regression_knn")
def test_errors_of_a_regression(case: dict[str, Any]) -> None:
    check_errors(errors_of(case["id"].removeprefix("regression_")), case["expected"])


@golden("rse_rae_definitions")
def test_errors_relative_to_a_baseline(case: dict[str, Any]) -> None:
    for model, expected in case["expected"].items():
        check_errors(errors_of(model), expected)


@golden("relative_rmse")
def test_error_relative_to_the_means(case: dict[str, Any]) -> None:
    model, dummy = case["inputs"]["rmse_model"], case["inputs"]["rmse_dummy"]
    counting = number_counting()

    counters = numbered([model - dummy, dummy - model], [-dummy, dummy], counting)

    check_errors(by_name(measure_performance(counting, counters, QUICK)), case["expected"])


def histograms(original: list[int], new: list[int]) -> tuple[CellHistogram, CellHistogram]:
    grid = category_grid([f"level{position}" for position in range(len(original))], [10] * len(original))
    extra = [0] * (EXTRA_CELLS + 1)
    return CellHistogram(grid, np.asarray(original + extra)), CellHistogram(grid, np.asarray(new + extra))


@golden("si_new_sample_1", "si_new_sample_2")
def test_stability_index_without_pseudocounts(case: dict[str, Any]) -> None:
    sides = histograms(case["inputs"]["original"], case["inputs"]["new"])
    measured = compare(*sides, MeasureOptions(pseudocount=0, min_per_cell=0))["stability_index"]

    assert measured.value == close(case["expected"]["si"])


@golden("si_new_sample_1", "si_new_sample_2")
def test_the_page_of_the_stability_index_has_the_textbooks_figures_and_ours(case: dict[str, Any]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    original, new = case["inputs"]["original"], case["inputs"]["new"]
    shares = [[(n + 0.5) / (sum(counts) + 2) for n in counts] for counts in (original, new)]
    by_hand = sum((p - q) * np.log(p / q) for q, p in zip(*shares, strict=True))

    measured = compare(*histograms(original, new), MeasureOptions())

    index, critical = (measured[name].value for name in ("stability_index", "stability_index_critical"))
    assert index == close(by_hand)
    row = f"| {', '.join(map(str, new))} | {case['expected']['si']:.4f} | {index:.4f} | {critical:.2f} |"
    assert row in page


@golden("own_si_zero_level")
def test_stability_index_of_a_new_level(case: dict[str, Any]) -> None:
    sides = histograms(case["inputs"]["original"], case["inputs"]["new"])
    measured = compare(*sides, MeasureOptions())["stability_index"]

    assert measured.value == close(case["expected"]["si_plus_half_count"])


@golden("control_group")
def test_means_of_a_control_group(case: dict[str, Any]) -> None:
    expected, rows = case["expected"], rows_of("control_group.csv")
    counting = number_counting()
    arms = [
        numbered([0.0] * len(rows), [float(row[arm]) for row in rows], counting)
        for arm in ("control", "treatment")
    ]

    measured = by_name(
        compare_arms(counting, arms[0], arms[1], MeasureOptions(level=1 - expected["welch_p"]))
    )

    assert measured["control_outcome_mean"].value == close(expected["mean_control"])
    assert measured["treatment_outcome_mean"].value == close(expected["mean_treatment"])
    assert measured["control_outcome_sd"].value == close(expected["sd_control"])
    assert measured["treatment_outcome_sd"].value == close(expected["sd_treatment"])
    interval = measured["outcome_mean_difference"].interval
    assert interval is not None
    assert interval.upper == pytest.approx(0, abs=1e-8)


@golden(*(f"sign_test_ex{number}" for number in range(1, 7)))
def test_two_models_on_the_same_records(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    kinds = {"both_correct": (1, 1), "only_m1": (1, 0), "only_m2": (0, 1), "both_wrong": (0, 0)}
    right = np.repeat(list(kinds.values()), [inputs[kind] for kind in kinds], axis=0).astype(float)
    counting = make_plain_counting(
        replace(binary_reading(), challenger=ChallengerOutput(column="m2", threshold=0.5))
    )
    champion, challenger = right.T

    rows = table(
        label=pa.array(["1"] * len(right)), score=pa.array(champion), challenger=pa.array(challenger)
    )
    measured = by_name(compare_challenger(counting, labels_part(rows, counting), QUICK))

    assert case["inputs"]["alternative"] == "M2 > M1"
    assert measured["sign_test_p_value_one_sided"].value == close(expected["p_one_sided"])
    assert measured["sign_test_p_value"].value == close(expected["p_two_sided_exact"])
    difference = expected["acc_m2"] - expected["acc_m1"]
    assert measured["challenger_accuracy_difference"].value == close(difference)
