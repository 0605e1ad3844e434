"""Settling in logs whose truth is known: a few worlds of `benchmarks/sim_settling.py`."""

import importlib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def sim(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("sim_settling")


@pytest.mark.parametrize(
    "name",
    [
        "log-normal, 12 h",
        "outage and flood",
        "3 % corrected after as long again",
        "weekly batches",
        "5 to 40 d by class, plateau 0.1",
        "5 to 40 d, plateau 0.1, the feed stops",
        "two humps within a class",
    ],
)
def test_settled_values_are_near_the_final_ones_and_windows_settle_in_time(name: str, sim: Any) -> None:
    text, reached = sim.line(name, sim.WORLDS[name], sim.simulated(sim.WORLDS[name], seed=2))

    assert reached, text


@pytest.mark.parametrize("horizon", [45, 72, 107])
def test_labels_up_to_forty_days_late_settle_within_65_days_whatever_the_horizon(
    horizon: int, sim: Any
) -> None:
    world = sim.World(**{**sim.LOAN, "days": 66}, horizon=horizon)

    found = sim.simulated(world)

    assert min(found.settled_at) <= 65
    assert set(found.warnings) == {""}


def test_the_first_settled_window_is_foretold_some_weeks_before(sim: Any) -> None:
    """What is foretold before the longest delays were seen is too early; it does not fall back."""
    world = sim.World(**{**sim.LOAN, "days": 66}, horizon=107)
    first = min(sim.simulated(world).settled_at)

    foretold = [sim.foretold(world, as_of) for as_of in (20.0, 30.0, 40.0, 50.0, 58.0)]

    assert foretold == sorted(foretold)
    assert all(moment <= first for moment in foretold)
    assert foretold[2] >= first - 5


def test_where_a_class_is_unheard_of_for_months_all_windows_that_are_wrong_say_so(sim: Any) -> None:
    """Defaults come early, repayments after 90 days: until then nothing tells how many there will be."""
    world = sim.World(negatives=sim.uniform(90, 91), positives=sim.log_normal(20), days=250, horizon=180)

    found = sim.simulated(world)

    wrong = [said for said, error in zip(found.warnings, found.errors, strict=True) if error > 0.075]
    assert set(wrong) == {"few_delays"}
    assert found.warnings.count("") > 50


def test_a_stopped_feed_settles_no_window_that_ended_after_it_stopped(sim: Any) -> None:
    world = sim.WORLDS["the feed stops on day 30"]

    found = sim.simulated(world)

    assert max(found.ends) <= 30
