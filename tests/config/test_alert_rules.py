"""Rules of alerts in the configuration: what is built of them, and what is wrong with them."""

import pytest
from configurations import SOURCE, File, model

from monitor.alerts.alert_rules import BreachCondition, JudgedBound, LimitBase, Rule, RuleLimit, Severity
from monitor.core.clock import DAY, HOUR
from monitor.measures.measurement_row import CUMULATIVE
from monitor.specs.model_table import BudgetTable

LABELS = '[models.labels]\ntable = "labels"\nlabel = "late"\nreported_at = "reported_at"'
REFERENCE = '[models.reference]\nfile = "reference.parquet"'
CONTROL = (
    '[models.control]\narm_column = "group"\ncontrol_value = "c"\ntreatment_value = "t"\ncontrol_share = 0.1'
)
RULE = '[[models.alerts]]\nname = "moved"\nmeasure = "stability_index"\nsubject = "score"'


def rules(file: File, *tables: str, keys: str = "", task: str = "binary") -> dict[str, Rule]:
    predictions = {} if task == "binary" else {"predictions": 'prediction = "predicted"'}
    spec = file.spec(model(task, keys=keys, tables="\n".join(tables), **predictions))
    return {rule.name: rule for rule in spec.rules}


def rule(file: File, text: str, *tables: str) -> Rule:
    return rules(file, *tables, RULE, text)["moved"]


def test_a_model_without_rules_has_those_that_suit_it(file: File) -> None:
    assert list(rules(file)) == ["log_stopped", "misdated_records", "changed"]
    assert list(rules(file, LABELS, REFERENCE, CONTROL)) == [
        "log_stopped", "labels_stopped", "misdated_records", "performance_changed", "changed", "performance",
        "performance_nowcast", "control_group", "sample_ratio",
    ]  # fmt: skip


def test_what_hurts_at_once_is_critical_what_changed_a_warning_and_nothing_is_only_shown(file: File) -> None:
    found = rules(file, LABELS, REFERENCE, CONTROL).values()

    of = {severity: [rule.name for rule in found if rule.severity is severity] for severity in Severity}
    assert of[Severity.CRITICAL] == ["log_stopped", "labels_stopped", "performance_changed", "performance"]
    assert of[Severity.WARNING] == [
        "misdated_records",
        "changed",
        "performance_nowcast",
        "control_group",
        "sample_ratio",
    ]
    assert of[Severity.INFO] == []


def test_a_budget_is_there_by_default_with_the_default_rules_and_where_it_is_stated(file: File) -> None:
    stated = """
    [models.budget]
    false_alerts = 0.5
    smallest = 0.05
    unusual_days = ["2026-12-25", "2026-12-31/2027-01-01", 2026-07-04]
    """
    own = RULE + "\nabove = 0.25"

    assert file.spec(model()).budget == BudgetTable()
    assert file.spec(model(tables=own)).budget is None
    spec = file.spec(model(tables=stated))
    assert spec.budget is not None
    assert (spec.budget.false_alerts, spec.budget.smallest) == (0.5, 0.05)
    assert spec.unusual_days == ((20_812, 20_812), (20_818, 20_819), (20_638, 20_638))
    assert list(rules(file, stated, own)) == ["moved", "changed"]


@pytest.mark.parametrize(
    ("task", "measure", "condition"),
    [
        (
            "binary",
            "roc_auc",
            BreachCondition(below=RuleLimit(-0.05, LimitBase.LEEWAY), bound=JudgedBound.UPPER),
        ),
        (
            "multiclass",
            "accuracy",
            BreachCondition(below=RuleLimit(-0.05, LimitBase.LEEWAY), bound=JudgedBound.UPPER),
        ),
        (
            "regression",
            "root_mean_squared_error",
            BreachCondition(above=RuleLimit(0.05, LimitBase.EARLIER), bound=JudgedBound.LOWER),
        ),
    ],
)
def test_performance_is_judged_against_the_reference_by_a_bound(
    file: File, task: str, measure: str, condition: BreachCondition
) -> None:
    found = rules(file, LABELS, REFERENCE, task=task)["performance"]

    assert (found.measure, found.condition, found.truth) == (measure, condition, "settled")


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_performance_is_judged_on_the_labels_so_far_too_on_the_longest_window(file: File, task: str) -> None:
    found = rules(file, LABELS, REFERENCE, task=task, keys='windows = ["30d", "1d", "7d"]')
    settled, nowcast = found["performance"], found["performance_nowcast"]

    assert (settled.window, nowcast.window, nowcast.truth) == ("30d", "30d", "nowcast")
    assert (settled.severity, nowcast.severity) == (Severity.CRITICAL, Severity.WARNING)
    assert (nowcast.measure, nowcast.condition) == (settled.measure, settled.condition)


def test_what_comes_back_within_a_week_is_one_alert_but_not_what_has_stopped(file: File) -> None:
    found = rules(file, LABELS, REFERENCE, CONTROL).values()

    at_once = [rule.name for rule in found if rule.keep_firing_for == 0]
    assert {rule.keep_firing_for for rule in found} == {0, 7 * DAY}
    assert at_once == [
        "log_stopped", "labels_stopped", "misdated_records", "performance_changed", "changed",
        "control_group", "sample_ratio",
    ]  # fmt: skip


def test_own_rules_take_the_place_of_the_default_ones_unless_these_are_asked_for(file: File) -> None:
    own = RULE.replace("moved", "log_stopped") + "\nabove = 0.25"

    assert list(rules(file, own)) == ["log_stopped"]
    both = rules(file, own, keys="default_alerts = true")
    assert list(both) == ["log_stopped", "misdated_records", "changed"]
    assert both["log_stopped"].measure == "stability_index"
    assert rules(file, keys="alerts = []") == {}


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("above = 0.25", BreachCondition(above=RuleLimit(0.25))),
        ("below = 1", BreachCondition(below=RuleLimit(1.0))),
        ("outside = [0.5, 2]", BreachCondition(below=RuleLimit(0.5), above=RuleLimit(2.0))),
        (
            'above = "critical"\nand_above = 0.1',
            BreachCondition(above=RuleLimit(1.0, LimitBase.CRITICAL), and_above=RuleLimit(0.1)),
        ),
        (
            'above = 0.25\nclear_at = 0.2\nbound = "lower"',
            BreachCondition(above=RuleLimit(0.25), clear_above=0.2, bound=JudgedBound.LOWER),
        ),
        (
            "outside = [0.5, 2]\nclear_at = [0.6, 1.8]",
            BreachCondition(below=RuleLimit(0.5), above=RuleLimit(2.0), clear_below=0.6, clear_above=1.8),
        ),
    ],
)
def test_conditions_are_as_they_are_written(file: File, text: str, condition: BreachCondition) -> None:
    assert rule(file, text).condition == condition


def test_a_share_is_one_of_the_earlier_value(file: File) -> None:
    text = RULE.replace("stability_index", "roc_auc").replace("score", "") + '\nagainst = "reference"'
    found = rules(file, LABELS, REFERENCE, text, 'below = "-2.5%"')["moved"]

    assert found.condition.below == RuleLimit(-0.025, LimitBase.EARLIER)
    assert (found.against, found.truth, found.window) == ("reference", "settled", "7d")


def test_segments_are_judged_against_the_same_ones_of_the_reference(file: File) -> None:
    text = (
        RULE.replace("stability_index", "roc_auc").replace("score", "")
        + '\nagainst = "reference"\nsegment = "*"'
    )
    found = rules(file, LABELS, REFERENCE, text, 'below = "-5%"')["moved"]

    assert (found.against, found.segment) == ("reference", "*")


def test_a_rule_waits_and_is_routed_as_it_says(file: File) -> None:
    found = rules(
        file,
        RULE,
        'above = 0.25\nfor = "2h"\nkeep_firing_for = "1d"\nunknown_after = "3d"\nlabels = { team = "b" }',
        keys='alert_labels = { team = "a", tier = "1" }\nowner = "ml"\nrunbook_url = "https://wiki"',
    )["moved"]

    assert (found.hold, found.keep_firing_for, found.unknown_after) == (2 * HOUR, DAY, 3 * DAY)
    assert found.labels == (("team", "b"), ("tier", "1"))
    assert found.annotations == (("owner", "ml"), ("runbook_url", "https://wiki"))


def test_default_rules_are_only_of_what_is_measured(file: File) -> None:
    found = rules(file, LABELS, REFERENCE, CONTROL, keys='measures = ["values"]')

    assert "control_group" not in found
    assert "performance" in found


def test_comparisons_that_go_on_need_no_window(file: File) -> None:
    text = '[[models.alerts]]\nname = "one"\nmeasure = "sample_ratio_p_value_always_valid"\nbelow = 0.01'

    assert rules(file, LABELS, CONTROL, text)["one"].window == CUMULATIVE


def test_comparisons_that_go_on_are_judged_in_their_window(file: File) -> None:
    found = file.settings(SOURCE + model(tables=f"{LABELS}\n{CONTROL}")).models[0].rules
    assert {rule.window for rule in found if rule.name in {"control_group", "sample_ratio"}} == {CUMULATIVE}


@pytest.mark.parametrize(
    ("measure", "truth"),
    [
        ("accuracy", "settled"),
        ("estimated_accuracy", ""),
        ("estimated_accuracy_error", "settled"),
        ("control_record_share", ""),
        ("outcome_rate_difference", "settled"),
        ("records", ""),
        ("coverage", "settled"),
    ],
)
def test_what_stands_on_labels_is_judged_on_settled_ones(file: File, measure: str, truth: str) -> None:
    text = f'[[models.alerts]]\nname = "one"\nmeasure = "{measure}"\nabove = 1'

    assert rules(file, LABELS, CONTROL, text)["one"].truth == truth


def test_the_shift_of_labels_is_judged_on_settled_ones_and_needs_them(file: File) -> None:
    text = RULE.replace("score", "label") + "\nabove = 0.25"

    assert rules(file, LABELS, REFERENCE, text)["moved"].truth == "settled"
    (fault,) = file.faults_of(model(tables=text))
    assert 'alerts[0].measure: needs [models.labels]: got "stability_index"' in fault


def test_arms_of_several_classes_are_judged_class_by_class(file: File) -> None:
    named = '[models.classes]\nvalues = ["a", "b", "c", "d"]'

    found = rules(file, LABELS, CONTROL, named, task="multiclass")["control_group"]
    assert found.subject == "class:*"
    assert found.condition.below is not None
    assert found.condition.below.amount == pytest.approx(0.05 / 4)
    assert rules(file, LABELS, CONTROL)["control_group"].subject == ""
    assert "control_group" not in rules(file, LABELS, CONTROL, REFERENCE, task="multiclass")


def test_two_named_classes_are_compared_as_one(file: File) -> None:
    named = '[models.classes]\nvalues = ["a", "b"]'

    found = rules(file, LABELS, CONTROL, named, task="multiclass")["control_group"]
    assert found.subject == ""
    assert found.condition.below is not None
    assert found.condition.below.amount == pytest.approx(0.05)


def test_a_log_that_comes_by_loads_has_stopped_later(file: File) -> None:
    loaded = '[models.reading]\nready_after = "26h"'

    limits = [rules(file, *tables)["log_stopped"].condition.above for tables in ((), (loaded,))]
    assert limits == [
        RuleLimit(36 * 3_600.0, LimitBase.SILENCE),
        RuleLimit(50 * 3_600.0, LimitBase.SILENCE),
    ]


@pytest.mark.parametrize(
    ("labels", "keys", "days"),
    [
        (LABELS, "", 8),
        (
            LABELS.replace('\nreported_at = "reported_at"', ""),
            'windows = ["1d"]\nhorizon = "20d"\nsettle_after = "15d"',
            20,
        ),
        (LABELS.replace('\nreported_at = "reported_at"', ""), 'settle_after = "5d"', 13),
    ],
)
def test_labels_without_a_time_have_stopped_once_they_should_have_come(
    file: File, labels: str, keys: str, days: int
) -> None:
    assert rules(file, labels, keys=keys)["labels_stopped"].condition.above == RuleLimit(days * 86_400.0)
