"""Pages that simulations write: they say what the programs in `benchmarks` find."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_parts import part_of

from monitor.measures.catalogue import BY_NAME

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmark_module(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def test_the_page_of_the_stability_index_shows_what_the_ways_of_counting_give(benchmark_module: Any) -> None:
    told = benchmark_module("stability_index").table()

    assert told in (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")


def test_cells_over_both_samples_hide_a_shift_behind_one_value(benchmark_module: Any) -> None:
    ways = benchmark_module("stability_index")
    shifted, outlying = (data for data in ways.cases() if "half" in data.name or "the same and" in data.name)

    hidden = ways.widths_of_both(outlying)

    assert ways.widths_of_both(shifted) > 0.25
    assert hidden < 0.01
    assert float(ways.ours(outlying)[0].strip("*")) > 0.2


def test_intervals_of_rates_areas_errors_and_differences_hold_the_true_value(
    benchmark_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases, sim = benchmark_module("sim_cases"), benchmark_module("sim_intervals")
    monkeypatch.setattr(cases, "UNIVERSE", 40_000)
    wanted = {
        cases.of_arms_rates: ("control_outcome_rate", "outcome_rate_difference"),
        cases.of_normal_errors: ("root_mean_squared_error", "bias"),
        cases.CASES[0]: ("accuracy", "roc_auc", "average_precision"),
        cases.CASES[1]: ("average_precision",),
    }

    held: dict[str, float] = {}
    for make, names in wanted.items():
        table = sim.Table(make())
        table.fill(300, 150, np.random.default_rng(5))
        held |= {f"{table.case.name} {name}": table.tallies[name][300].share(alarms=False) for name in names}

    assert {name: share for name, share in held.items() if not 90 <= share <= 99} == {}


def test_nowcasts_are_near_to_what_all_labels_give_and_their_intervals_hold_the_true_value(
    benchmark_module: Any,
) -> None:
    sim = benchmark_module("sim_nowcast")
    counting = sim.make_plain_counting(sim.READING)

    tallies = sim.simulated(sim.Case(0.2, "positives thirty times slower", 100), 25, counting)

    rare = tallies["base_rate"]
    raw, told = (abs(float(np.mean(side))) for side in (rare.raw, rare.told))
    assert raw > 0.04
    assert told < raw / 5
    held = {name: float(np.mean(tally.held)) for name, tally in tallies.items()}
    assert {name: share for name, share in held.items() if share < 0.75} == {}


def test_the_simulation_writes_a_page_with_a_line_for_each_measure(
    benchmark_module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim, alarms = benchmark_module("sim_intervals"), benchmark_module("sim_alarms")
    cases = benchmark_module("sim_cases")
    monkeypatch.setattr(cases, "UNIVERSE", 40_000)
    monkeypatch.setattr(sim, "CASES", (cases.of_heavy_errors,))
    monkeypatch.setattr(sim, "ALARMS", (alarms.of_challenger_alarms,))
    monkeypatch.setattr(sim, "SIZES", (50, 200))
    page = tmp_path / "evidence.md"
    page.write_text("<!-- part: make sim-intervals -->\n<!-- end of part -->\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["sim_intervals", "--repetitions", "3", "--output", str(page)])

    ended = sim.main()

    text = page.read_text(encoding="utf-8")
    assert ended == 0
    assert text.count("\n### ") == 3
    assert "`bias`" in text
    assert "`signed_rank_p_value`" in text


def test_the_page_of_intervals_names_measures_of_the_catalogue() -> None:
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    lines = part_of(page, "make sim-intervals").splitlines()
    cells = [line.split("|")[1] for line in lines if line.startswith("| `")]
    cells += [line.partition(": ")[2].rstrip(".") for line in lines if line.startswith("No share outside: ")]
    named = {name.strip(" `").partition(" ")[0] for cell in cells for name in cell.split(", ")}

    assert named - set(BY_NAME) == set()
    assert {"accuracy", "roc_auc", "root_mean_squared_error", "stability_index"} <= named
