"""Fifteen models through daily cycles: what happened to each is told once, and of the calm one nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, Monitored, log_normal, monitored_of

from monitor.alerts.alert_rules import Severity
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.model_standing import HealthState, ModelStanding
from monitor.alerts.shared_incidents import share_incidents
from monitor.app.alert_decisions import list_standings
from monitor.app.kept_run import KeptRun
from monitor.core.array_types import Ints
from monitor.core.clock import DAY
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import SourceSpec
from monitor.specs.model_table import BudgetTable
from monitor.specs.settings import HttpSpec, LogSpec, Settings, StoreSpec
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

DAYS, PER_DAY = 45, 120
DRIFT, MISSING, FALL = 36, 41, 42  # first days of what is planted
FEED = ("rain", "wind", "temperature", "pressure", "cloud", "humidity")  # of one feed
OWN = ("amount", "age")
FED = tuple(f"fed-{at:02}" for at in range(11))
FALLING, DRIFTING, CALM = ("falling-0", "falling-1"), "drifting", "calm"
FLEET = (*FED, *FALLING, DRIFTING, CALM)
GROUNDS = RuleGrounds(
    task=ModelTask.BINARY,
    windows=(("7d", 7 * DAY, DAY),),
    score=True,
    labels=True,
    reference=True,
    horizon=20 * DAY,
    every=DAY,
    hours=False,
)
FIELDS = ("id", "event_time", "logged_at")


def records(rng: np.random.Generator, event: Ints, name: str) -> tuple[pa.Table, np.ndarray]:
    """Records of a model, with what was planted, and their outcomes."""
    day = (event - START) // DAY
    score = np.round(rng.beta(2.0, 3.0, len(event)), 6)
    lost = (day >= MISSING) & (name in FED)
    columns = {
        "id": pa.array([f"p{at}" for at in range(len(event))]),
        "event_time": event,
        "logged_at": event + 30_000_000,
        "score": score,
    }
    for feature in FEED:
        columns[f"feature:{feature}"] = pa.array(rng.normal(10.0, 5.0, len(event)), mask=lost)
    for feature in OWN:
        columns[f"feature:{feature}"] = rng.normal(100.0, 20.0, len(event))
    # As many labels are positive as ever: scores say less which ones.
    drifted = (day >= DRIFT) & (name == DRIFTING)
    chance = np.where(drifted, 0.4, score)
    return pa.table(columns), np.where(rng.random(len(event)) < chance, "1", "0")


def log_of_model(name: str) -> MemorySource:
    """All of its records, labels of the next day."""
    rng = np.random.default_rng([17, FLEET.index(name)])
    event = START + np.arange(DAYS * PER_DAY) * (DAY // PER_DAY) + rng.integers(0, 60_000_000)
    gone = (event >= START + FALL * DAY) & (name in FALLING) & (rng.random(len(event)) < 0.7)
    event = event[~gone]
    predictions, outcome = records(rng, event, name)
    labels = {
        "id": predictions["id"],
        "reported_at": event + log_normal(rng, event),
        "revision": np.zeros(len(event)),
        "label": outcome,
    }
    return MemorySource(predictions, pa.table(labels))


def model_of(name: str, store: SqlStore, reference: pa.Table) -> Monitored:
    """A model of the fleet."""
    return monitored_of(
        log_of_model(name),
        store,
        table=reference,
        name=name,
        rules=default_rules(GROUNDS),
        windows=(parse_window("7d", DAY),),
        budget=BudgetTable(),
        families=frozenset(),
        resamples=1,
        reading=replace(READING, pane=DAY, numeric=(*FEED, *OWN), categorical=()),
    )


@pytest.fixture(scope="module")
def reference() -> pa.Table:
    """Labelled rows like those of every model."""
    table, outcome = records(np.random.default_rng(3), np.zeros(2_000, np.int64), CALM)
    return table.drop_columns(list(FIELDS)).append_column("label", pa.array(outcome))


@pytest.mark.slow
def test_each_planted_cause_is_one_incident_and_what_models_share_is_said_once(
    sqlite_store: SqlStore, reference: pa.Table
) -> None:
    fleet = [model_of(name, sqlite_store, reference) for name in FLEET]
    for day in range(2, DAYS + 1):
        for one in fleet:
            one.cycle(START + day * DAY)

    standings = {one.model: one for one in standings_of(fleet, sqlite_store)}

    assert {name: incidents_of(one) for name, one in standings.items()} == {
        **dict.fromkeys(FED, ("2024-02-11-inputs-missing",)),
        **dict.fromkeys(FALLING, ("2024-02-12-records",)),
        DRIFTING: ("2024-02-06-performance",),
        CALM: (),
    }
    assert {name: one.state for name, one in standings.items()} == {
        name: state_of(one) for name, one in standings.items()
    }
    assert standings[CALM].state is HealthState.OK
    assert standings[DRIFTING].state is HealthState.CRITICAL

    feed, records_fell = share_incidents(standings.values()).incidents
    assert (feed.models, records_fell.models) == (FED, FALLING)
    assert feed.sentence.startswith(
        "Six features are missing in every record since 11 Feb: "
        "cloud, humidity, pressure, rain, temperature and wind. The same six features in 11 models: "
    )
    # What came and went before that was told by chance, no more often than the budget has it.
    ever = sqlite_store.incidents.read_incidents(None, ended=True)
    false = [kept.address for _, kept in ever if kept.resolved_at is not None]
    assert len(false) <= BudgetTable().false_alerts * len(FLEET) * DAYS / 30


def standings_of(fleet: list[Monitored], store: SqlStore) -> list[ModelStanding]:
    """How the models stand, as `status` and pages have it."""
    settings = Settings(
        store=StoreSpec(url=""),
        http=HttpSpec(),
        log=LogSpec(),
        sources=(SourceSpec(name="memory", url="sqlite://"),),
        models=tuple(one.model.spec for one in fleet),
    )
    return list_standings(KeptRun(settings, Path(), store), None, START + DAYS * DAY)


def incidents_of(standing: ModelStanding) -> tuple[str, ...]:
    """Addresses of its open incidents."""
    return tuple(one.address for one in standing.incidents)


def state_of(standing: ModelStanding) -> HealthState:
    """State that the worst of its open incidents makes."""
    severities = {one.severity for one in standing.incidents}
    if Severity.CRITICAL in severities:
        return HealthState.CRITICAL
    return HealthState.WARNING if severities else HealthState.OK
