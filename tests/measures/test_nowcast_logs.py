"""Nowcasts on real flights: nearer to the final value than raw ones, where bias is what is wrong."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.core.clock import DAY

ROOT = Path(__file__).parents[2]


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("nowcast_logs")


def ticks(nearer: int, of: int) -> list[tuple[float, float, float, float, bool]]:
    """Raw values that are off by 0.1, and nowcasts that are nearer in some of them."""
    return [(0.1, 0.05 if at < nearer else 0.2, np.inf, np.inf, True) for at in range(of)]


@pytest.mark.long
def test_on_flights_nowcasts_are_nearer_to_the_final_value_as_often_as_is_asked(logs: Any) -> None:
    log = replace(logs.LOGS["flights"], windows=("7d", "30d"), every=15 * DAY)

    errors = logs.replayed(ROOT / "examples" / "flights", log)

    assert {name for _, name in errors} >= {*logs.MIX, "recall", "roc_auc"}
    assert logs.missing(errors) == []


def test_what_misses_the_bars_is_named(logs: Any) -> None:
    """Four measures in eight of ten windows, the fifth in seven; an area in four. Days are not asked of."""
    errors = {("7d", name): ticks(8, 10) for name in logs.MIX}
    assert logs.missing(errors) == []

    errors |= {("7d", "accuracy"): ticks(7, 10), ("30d", "roc_auc"): ticks(4, 10), ("1d", "f1"): ticks(0, 10)}

    assert logs.missing(errors) == [
        "nearer in 78.0% of 50 windows of accuracy, base_rate, brier_score, log_loss, precision",
        "roc_auc: nearer in 40.0% of 10",
    ]
