"""A small part of `make sim-alerts`: false alerts, incidents and a real log, by the programs themselves."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.evidence.judging import AlertBudget

ROOT = Path(__file__).parents[2]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return lambda name: importlib.import_module(f"alert_gates.{name}")


@pytest.mark.parametrize("noise", [1, 4])
def test_where_nothing_happens_fewer_alerts_are_told_than_the_budget_allows(gate: Any, noise: int) -> None:
    quiet = gate("quiet")
    cell = quiet.Quiet(quiet.NOISES[noise], 5_000, 20, AlertBudget(smallest=0.0))

    alerts, _, months = quiet.false_alerts(cell, 3, 2)

    assert max(alerts) / months <= 1.0


def test_a_level_that_moves_by_half_a_standard_deviation_is_found_within_days(gate: Any) -> None:
    quiet = gate("quiet")
    change, most = quiet.CHANGES["level by .5 sd"]

    found = quiet.found_after(change, 5, 4, features=20)

    assert float(np.mean(found)) <= most


@pytest.mark.parametrize(
    ("log", "kinds"),
    [
        ("FLIGHTS", ["unit", "renamed", "no_labels", "unknown_version"]),
        ("RODENTS", ["missing", "stuck_score", "wrong_labels", "repeated"]),
    ],
)
def test_incidents_in_dealt_rows_are_found_by_alerts_about_them_and_by_no_others(
    gate: Any, log: str, kinds: list[str]
) -> None:
    found, logs = gate("found"), gate("logs")

    run = found.incidents(getattr(logs, log), (17,), kinds)
    told = list(found.alerts(run.dirty))

    assert [one.incident.kind for one in run.outcomes(told) if one.size > 1 and one.delay is None] == []
    assert run.false(told) == []


def test_what_is_broken_twice_is_found_twice(gate: Any) -> None:
    found, logs = gate("found"), gate("logs")

    pairs = [found.twice(logs.RODENTS, (5, seed)) for seed in (0, 4)]

    assert {what for what, *_ in pairs} == {"missing", "class"}
    assert all(first and second for _, first, second in pairs)


def test_ten_months_of_flights_take_at_most_two_notices_in_30_days(gate: Any) -> None:
    in_order = gate("in_order")

    flights = in_order.SERIES["flights"]
    told = in_order.told(flights, in_order.calendar(flights))
    months = (len(flights.days().records) - 14) / 30

    assert in_order.notices(told) / months <= 2.0
    assert [(in_order.date(flights, one.day), one.subject) for one in told if one.what == "missing"][-6:] == [
        ("2013-12-31", f"feature:{name}")
        for name in ("humid_pct", "precip_in", "pressure_mb", "temp_f", "visib_mi", "wind_mph")
    ]
