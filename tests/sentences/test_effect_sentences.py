"""What is said of what moved the mean score."""

import pytest

from monitor.core.change import Change, ChangeEffect, EffectStanding
from monitor.core.effect import MOVE, TOGETHER, UNATTRIBUTED
from monitor.core.measurement import DetailTable, Interval, Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.effect_sentences import (
    change_effect_sentence,
    effects_by_feature,
    score_move_sentences,
)
from monitor.sentences.known_measurements import KnownMeasurements

Cells = tuple[float | str | None, ...]
COLUMNS = ("feature", "effect", "lower", "upper")


def known(value: float, *rows: Cells, half: float = 0.002, subject: str = "score") -> KnownMeasurements:
    """A window whose mean score moved, and what stands behind it."""
    measurement = Measurement(
        value, 9_000, interval=Interval(value - half, value + half), detail=DetailTable(COLUMNS, rows)
    )
    row = MeasurementRow(
        window="7d",
        window_end=0,
        truth=LabelTruth.NONE,
        version=None,
        segment=None,
        measure=MOVE,
        subject=subject,
        measurement=measurement,
    )
    return KnownMeasurements([row], "7d", "roc_auc")


def effect(own: float, half: float, standing: str = EffectStanding.KNOWN, moved: float = 0.0617) -> Change:
    return Change(effect=ChangeEffect(own, half, moved, 0.013, standing, "score"))


@pytest.mark.parametrize(
    ("measurements", "said"),
    [
        (known(0.001, (TOGETHER, 0.001, None, None)), []),
        (
            known(
                -0.0454,
                (TOGETHER, -0.0433, None, None),
                ("delay", -0.0249, -0.0278, -0.022),
                ("rain", -0.0056, -0.0079, -0.0031),
                ("third", 0.0009, 0.0002, 0.0016),
                ("heat", None, None, None),
            ),
            [
                "The mean score is 0.045 below the reference",
                "By itself delay moves it by about −0.025, rain by about −0.006",
                "The effect of heat is not known: it lies beyond the reference",
            ],
        ),
        (
            known(0.0231, (UNATTRIBUTED, 0.114, None, None), ("heat", None, None, None)),
            [
                "The mean score is 0.023 above the reference",
                "What moved it cannot be attributed to single features: one by one they make +0.11",
            ],
        ),
        (
            known(1204.0, (TOGETHER, 1190.0, None, None), ("km", 873.4, 800.0, 940.0), subject="prediction"),
            ["The mean prediction is 1,204 above the reference", "By itself km moves it by about +873"],
        ),
        (
            known(0.04, (TOGETHER, 0.04, None, None), subject="class:DM"),
            ["The mean probability of DM is 0.040 above the reference"],
        ),
    ],
)
def test_what_is_said_of_a_window(measurements: KnownMeasurements, said: list[str]) -> None:
    assert list(score_move_sentences(measurements)) == said


def test_features_come_by_their_effects() -> None:
    rows = (("delay", -0.02, -0.03, -0.01), ("rain", 0.01, 0.005, 0.015), ("heat", None, None, None))

    assert effects_by_feature(known(0.05, (TOGETHER, 0.05, None, None), *rows)) == {
        "delay": -0.02,
        "rain": 0.01,
    }
    assert effects_by_feature(KnownMeasurements([], "7d", "roc_auc")) == {}


ROSE = "The mean score rose by 0.062 since then"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"a": Change()}, ""),
        ({"a": effect(0.03, 0.01, moved=0.01)}, "The mean score shows no detectable change since then"),
        ({"a": effect(0.0301, 0.01)}, f"{ROSE}. By itself a moves it by about +0.030"),
        ({"a": effect(0.03, 0.04)}, f"{ROSE}, not detectably by it"),
        (
            {"a": effect(0.03, 0.01, EffectStanding.MIXED)},
            f"{ROSE}. That cannot be attributed to single features",
        ),
        (
            {"a": effect(0.03, 0.01, EffectStanding.BEYOND)},
            f"{ROSE}. The part of it is not known: the reference hardly has such values",
        ),
        (
            {"a": effect(0.03, 0.01), "b": effect(0.02, 0.01)},
            f"{ROSE}. Together they move it by about +0.050",
        ),
        (
            {
                "a": effect(0.01, 0.02),
                "b": effect(0.04, 0.01),
                "c": effect(-0.03, 0.02),
                "d": effect(0.02, 0.01),
            },
            f"{ROSE}. By itself b moves it by about +0.040, c by about −0.030",
        ),
        (
            {"a": effect(0.01, 0.02, EffectStanding.BEYOND), "b": effect(0.04, 0.01)},
            f"{ROSE}. By itself b moves it by about +0.040",
        ),
        ({"a": effect(0.01, 0.02), "b": effect(0.0, 0.01)}, f"{ROSE}, not detectably by them"),
        (
            {"a": effect(-0.0301, 0.01, moved=-0.05)},
            "The mean score fell by 0.050 since then. By itself a moves it by about −0.030",
        ),
    ],
)
def test_what_is_said_of_features_that_changed(changes: dict[str, Change], said: str) -> None:
    assert change_effect_sentence(changes) == said


@pytest.mark.parametrize("change", [Change(), effect(0.03, 0.01)])
def test_an_effect_is_kept_and_takes_no_room_where_there_is_none(change: Change) -> None:
    assert Change.from_cells(change.cells()) == change
    assert ("effect" in change.text) is (change.effect is not None)
