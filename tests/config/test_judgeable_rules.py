"""Rules that can never be judged as a model is configured: each is named, with what helps."""

from pathlib import Path

import pytest
from configurations import File, model

from monitor.config.config_loading import settings_of
from monitor.config.unjudgeable_rules import never_judged
from monitor.windows.day_moments import ENOUGH_DAYS

LABELS = '[models.labels]\ntable = "labels"\nlabel = "late"\nreported_at = "reported_at"'
TIMELESS = '[models.labels]\ntable = "labels"\nlabel = "late"'
REFERENCE = '[models.reference]\nfile = "reference.parquet"'
OF_VERSIONS = f'{REFERENCE}\n[models.reference.versions.v2]\nfile = "second.parquet"'
CONTROL = '[models.control]\narm_column = "group"\ncontrol_value = "c"\ntreatment_value = "t"'
CLASSES = '[models.classes]\nvalues = ["a", "b", "c"]'
NUMBERS = '[models.features]\nnumeric = ["temp"]'
EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
DEMO = Path(__file__).parents[2] / "monitor" / "demo" / "demo.toml"


def never(
    file: File, *tables: str, keys: str = "", task: str = "binary", version: bool = False
) -> dict[str, str]:
    predictions = 'score = "score"\nthreshold = 0.5' if task == "binary" else 'prediction = "predicted"'
    predictions += '\nversion = "model_version"' if version else ""
    return dict(
        never_judged(file.spec(model(task, keys=keys, tables="\n".join(tables), predictions=predictions)))
    )


def rule(measure: str, more: str = "above = 1") -> str:
    return f'[[models.alerts]]\nname = "own"\nmeasure = "{measure}"\n{more}'


@pytest.mark.parametrize("path", [EXAMPLE, DEMO])
def test_all_rules_of_the_example_and_of_the_demo_can_be_judged(path: Path) -> None:
    places = {"MONITOR_DEMO_STORE": "sqlite:///s.db", "MONITOR_DEMO_SOURCE": "sqlite:///f.db"}

    for spec in settings_of(path, places).models:
        assert list(never_judged(spec)) == []


@pytest.mark.parametrize(
    ("tables", "task"),
    [
        ((), "binary"),
        ((LABELS, REFERENCE, CONTROL), "binary"),
        ((LABELS, REFERENCE, CONTROL, CLASSES), "multiclass"),
        ((LABELS, REFERENCE, CONTROL), "multiclass"),
        ((LABELS, REFERENCE, CONTROL), "regression"),
        ((TIMELESS, REFERENCE, NUMBERS), "binary"),
    ],
)
def test_default_rules_can_be_judged(file: File, tables: tuple[str, ...], task: str) -> None:
    keys = 'settle_after = "5d"' if TIMELESS in tables else ""

    assert never(file, *tables, task=task, keys=keys) == {}


def test_performance_against_references_of_versions_is_named(file: File) -> None:
    found = never(file, LABELS, OF_VERSIONS, version=True)

    assert list(found) == ["performance", "performance_nowcast"]
    assert all(why.endswith('write it with a number as limit, or against = "28d"') for why in found.values())


def test_a_volume_whose_earlier_weeks_lie_beyond_the_horizon_is_named(file: File) -> None:
    sure = rule("volume_ratio", 'below = 0.5\nbound = "upper"\nwindow = "30d"')

    assert never(file, sure)["own"].endswith('take a shorter window, or horizon = "101d"')
    assert never(file, sure, keys='horizon = "101d"') == {}
    value = rule("volume_ratio", 'below = 0.5\nwindow = "30d"')
    assert never(file, value)["own"].endswith('or horizon = "66d"')
    assert never(file, value, keys='horizon = "66d"') == {}
    assert never(file, rule("volume_ratio", 'below = 0.5\nwindow = "7d"')) == {}


@pytest.mark.parametrize(
    ("keys", "horizon"), [("", "16d"), ('settle_after = "9d"', "11d"), ('settle_after = "36h"', "4d")]
)
def test_evidence_of_labels_whose_days_leave_the_horizon_before_they_are_due_is_named(
    file: File, keys: str, horizon: str
) -> None:
    def found(horizon: str) -> dict[str, str]:
        windows = f'horizon = "{horizon}"\nwindows = ["1d"]\n{keys}'
        return never(file, LABELS, keys=windows)

    assert ENOUGH_DAYS == 14
    shorter = f"{int(horizon[:-1]) - 1}d"
    assert found(shorter)["performance_changed"].endswith(f'take horizon = "{horizon}"')
    assert "performance_changed" not in found(horizon)


def test_evidence_of_performance_needs_labels(file: File) -> None:
    assert "give [models.labels]" in never(file, rule("evidence"), keys="budget = {}")["own"]


@pytest.mark.parametrize(
    ("tables", "text", "why"),
    [
        ((), rule("stability_index", 'above = 0.1\nsubject = "score"'), "give [models.reference]"),
        (
            (REFERENCE,),
            rule("stability_index", 'above = 1\nbound = "lower"\nsubject = "score"'),
            "no interval",
        ),
        ((), rule("missing_rate", 'above = 0.1\nsubject = "feature:temp"'), "give [models.reference]"),
        (
            (REFERENCE, NUMBERS),
            rule("missing_rate", 'above = 0.1\nsubject = "feature:tmp"'),
            'no such feature: got "feature:tmp"',
        ),
        ((REFERENCE, NUMBERS), rule("unseen_rate", 'above = 0.1\nsubject = "feature:*"'), "no such feature"),
        (
            (REFERENCE, LABELS),
            rule("stability_index", 'above = 1\nsubject = "label"\ntruth = "provisional"'),
            "once they are settled",
        ),
        (
            (LABELS,),
            rule("ks_separation", 'below = 0.3\ntruth = "nowcast"'),
            "the whole model alone has nowcasts, of accuracy",
        ),
        (
            (REFERENCE, LABELS),
            rule("missing_rate", 'above = 1\nsubject = "label"'),
            "of labels the stability",
        ),
        ((), rule("estimated_roc_auc", "below = 0.7"), "give [models.labels]"),
        ((LABELS,), rule("control_p_value_always_valid", "below = 0.05"), "give [models.control]"),
        (
            (LABELS, CONTROL),
            rule("sample_ratio_p_value_always_valid", "below = 0.05"),
            "give control.control_share",
        ),
        (
            (LABELS, CONTROL),
            rule("control_p_value_always_valid", 'below = 0.05\nsubject = "class:*"'),
            "leave subject out",
        ),
        ((LABELS,), rule("challenger_log_evidence"), "give [models.challenger]"),
        ((LABELS,), rule("profit"), "give [models.profit]"),
    ],
)
def test_what_is_not_there_is_named(file: File, tables: tuple[str, ...], text: str, why: str) -> None:
    assert why in never(file, *tables, text).get("own", "judged")


def test_a_class_is_compared_by_itself_where_there_are_several(file: File) -> None:
    text = rule("control_p_value_always_valid", "below = 0.05")

    assert 'give subject = "class:*"' in never(file, LABELS, CONTROL, CLASSES, text, task="multiclass")["own"]


def test_a_bound_of_a_sum_that_has_none_of_its_own_is_named(file: File) -> None:
    sure = rule("sum_of_squared_errors", 'above = 1\nbound = "lower"')

    assert "no interval" in never(file, LABELS, sure, task="regression")["own"]
    assert never(file, LABELS, rule("sum_of_squared_errors"), task="regression") == {}


def test_a_rule_on_the_nowcast_of_the_whole_can_be_judged(file: File) -> None:
    assert never(file, LABELS, rule("accuracy", 'below = 0.3\ntruth = "nowcast"')) == {}


@pytest.mark.parametrize("measure", ["label_delay_p90", "late_visible_labels"])
def test_delays_need_the_times_of_reports(file: File, measure: str) -> None:
    found = never(file, TIMELESS, rule(measure), keys='settle_after = "5d"')

    assert found["own"] == "nothing says when: give labels.reported_at"
