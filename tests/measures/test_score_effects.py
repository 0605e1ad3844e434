"""What moved the mean score: laws of the sums, the truth where it is known, and the gate."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from effect_worlds import READING, WORLDS, World, reference_of_world

from monitor.config.config_loading import settings_of
from monitor.core.change import EffectStanding
from monitor.core.effect import ScoreMove
from monitor.core.measurement import LEVEL
from monitor.demo.load_flights import flights_directory, widen_floats
from monitor.measures.shift.score_effects import ScoreEffects, find_change_effect, score_move_result
from monitor.records.effect_table import effect_target, make_effect_cells
from monitor.records.reading import ModelTask
from monitor.records.reference import Reference, count_on_grids, reference_of, with_effects
from monitor.sources.reference_loading import load_reference_file, take_reference_columns
from monitor.states.counters import Counters

SHIFTS = ((0.5, 0.0), (0.0, -0.4, 0.4), (-0.7, 0.3, 0.2), (0.2, 0.6, -0.5))


def effects_of(reference: Reference) -> ScoreEffects:
    assert reference.effects is not None
    cells = make_effect_cells(reference.counting, reference.records)
    target = effect_target(reference.counting, reference.records)
    return ScoreEffects(reference.counting, target, reference.effects, cells, reference.records)


def explained(reference: Reference, now: Counters, before: Counters | None = None) -> ScoreMove:
    move = effects_of(reference).explain_move(now, before, LEVEL)
    assert move is not None
    return move


def test_what_did_not_move_has_no_effect() -> None:
    reference = reference_of_world(World("additive"))

    move = explained(reference, reference.records)

    assert move.actual == move.total == 0.0
    assert move.is_attributed
    assert move.certain_effects() == []
    assert {one.value for one in move.features} == {0.0}


def test_effects_add_up_and_the_way_back_is_their_opposite() -> None:
    world = World("additive")
    reference = reference_of_world(world)
    one, other = (world.moved(seed, *SHIFTS[seed]).counted(reference) for seed in (0, 2))

    there, back = explained(reference, one, other), explained(reference, other, one)

    assert sum(one.value for one in there.features) == pytest.approx(there.total)
    assert [one.value for one in there.features] == pytest.approx([-one.value for one in back.features])
    assert [one.half_width for one in there.features] == pytest.approx(
        [one.half_width for one in back.features]
    )
    assert there.actual == pytest.approx(-back.actual)


@pytest.mark.parametrize("means", SHIFTS)
def test_of_a_linear_model_the_effect_of_a_replaced_feature_is_the_exact_one(
    means: tuple[float, ...],
) -> None:
    """One column is replaced by that of a shifted world: what that does to the score is known row by row."""
    world = World("additive", rows=12_000, correlation=0.0)
    reference, other = reference_of_world(world), world.moved(7, *means)
    x, kind, before = world.columns()
    for at in range(3):
        replaced = x.copy()
        replaced[at] = other.columns()[0][at]
        after = world.score(replaced, kind)
        table = pa.table(
            {"score": after, **{f"feature:x{which}": replaced[which] for which in range(3)}}
        ).append_column("feature:kind", world.table()["feature:kind"])

        move = explained(reference, count_on_grids(table, reference.counting).records)

        effect = next(one for one in move.features if one.name == f"x{at}")
        truth = float((after - before).mean())
        # Beyond the outermost sixteenths a cell's effect is their mean: what lies there moves less.
        assert abs(effect.value - truth) <= effect.half_width + 0.05 * abs(truth)
        assert move.is_attributed
        assert move.actual == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("name", WORLDS)
def test_shares_are_said_of_worlds_that_are_additive_and_never_of_others(name: str) -> None:
    world = World(name)
    reference = reference_of_world(world)

    moves = [explained(reference, world.moved(20 + at, *SHIFTS[at]).counted(reference)) for at in range(4)]

    attributed = sum(move.is_attributed for move in moves)
    assert attributed >= 3 if name in ("additive", "mild") else attributed == 0
    if name in ("product", "xor"):
        assert all(move.certain_effects() == [] for move in moves)


def test_of_values_that_the_reference_hardly_has_no_effect_is_said() -> None:
    world = World("additive")
    reference = reference_of_world(world)

    far = explained(reference, world.moved(3, 2.0).counted(reference))
    missing = explained(reference, replace(world, seed=3, missing=0.3).counted(reference))

    for move in (far, missing):
        (beyond,) = [one for one in move.features if one.is_beyond]
        assert beyond.name == "x0"
        assert "x0" not in [one.name for one in move.certain_effects()]
        change = find_change_effect(move, "x0")
        assert change is not None
        assert change.standing == EffectStanding.BEYOND


def test_behind_the_measurement_stand_the_effects_that_may_be_said() -> None:
    world = World("additive")
    reference = reference_of_world(world)
    move = explained(reference, world.moved(5, 0.5).counted(reference))

    result = score_move_result(move, "score", LEVEL)

    assert (result.measure, result.subject) == ("score_move", "score")
    assert result.measurement.detail is not None
    (first, *others) = result.measurement.detail.rows
    assert first[0] == "(together)"
    assert others[0][0] == "x0"
    assert score_move_result(None, "score", LEVEL).measurement.value is None
    assert find_change_effect(move, "nobody") is None


def test_a_regression_has_effects_on_its_prediction_and_classes_on_a_probability() -> None:
    world = World("additive")
    table = world.table()
    regression = replace(READING, task=ModelTask.REGRESSION, classes=(), has_score=False, threshold=None)
    regression = replace(regression, score_range=(-np.inf, np.inf))
    numbers = table.rename_columns(["prediction", *table.column_names[1:]])
    score = np.asarray(table["score"])
    classes = replace(
        READING,
        task=ModelTask.MULTICLASS,
        classes=("p", "q"),
        probabilities=("p", "q"),
        threshold=None,
        labelled=True,
    )
    two = table.drop_columns("score")
    two = two.append_column("probability:p", pa.array(score))
    two = two.append_column("probability:q", pa.array(1 - score))
    for reading, rows, target in (
        (regression, numbers, "prediction"),
        (classes, two, "class:p" if (score > 0.5).mean() > 0.5 else "class:q"),
    ):
        reference = with_effects(reference_of(rows, reading), rows)

        effects = effects_of(reference)

        assert effects.target == target
        assert effects.table.r2 > 0.9
        assert effects.explain_move(reference.records, None, LEVEL) is not None


def test_on_ten_months_of_flights_features_and_score_agree() -> None:
    """January and February teach, ten months are explained, to .005 on average; each may be attributed."""
    nowhere = {"MONITOR_DEMO_STORE": "sqlite://", "MONITOR_DEMO_SOURCE": "sqlite://"}
    settings = settings_of(flights_directory().parent / "demo.toml", nowhere)
    (spec,) = settings.models
    rows, reading = take_reference_columns(
        spec, {}, load_reference_file(flights_directory() / "reference.parquet"), "reference"
    )
    reference = with_effects(reference_of(rows, reading), rows)
    log = widen_floats(load_reference_file(flights_directory() / "predictions.parquet"))
    month = np.asarray(log["event_time"].cast(pa.timestamp("us"))).astype("datetime64[M]")
    remainders, attributed = [], []
    for each in np.arange("2013-03", "2014-01", dtype="datetime64[M]"):
        of_month, _ = take_reference_columns(spec, {}, log.filter(pa.array(month == each)), "log")
        move = explained(reference, count_on_grids(of_month, reference.counting).records)
        remainders.append(abs(move.actual - move.total))
        attributed.append(move.is_attributed)

    assert reference.effects is not None
    assert reference.effects.r2 == pytest.approx(0.70, abs=0.01)
    assert attributed == [True] * 10
    assert np.mean(remainders) <= 0.005
