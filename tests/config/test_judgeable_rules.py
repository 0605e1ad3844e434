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


def test_a_rule_on_the_nowcast_of_the_whole_can_be_judged(file: File) -> None:
    assert never(file, LABELS, rule("accuracy", 'below = 0.3\ntruth = "nowcast"')) == {}
