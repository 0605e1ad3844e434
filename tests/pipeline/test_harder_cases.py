"""Harder records, scores that mean what they meant: the score's own alert tells them, and what they cost."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from synthetic import READING, START, log_normal, monitored_of

from monitor.alerts.alert_messages import Recipient
from monitor.alerts.default_rules import RuleGrounds, default_rules
from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.incident_words import incident_words
from monitor.alerts.incidents import IncidentContext, describe_incidents, explain_incidents
from monitor.core.array_types import Floats, Ints
from monitor.core.clock import DAY
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import MeasurementRow
from monitor.records.reading import ModelTask
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.specs.model_table import BudgetTable
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
DAYS, HARDER, PER_DAY = 46, 36, 200
BEFORE, NOW = -2.2, -1.0  # mean log odds of the scores
WINDOWS = (parse_window("1d", DAY), parse_window("7d", DAY))
GROUNDS = RuleGrounds(
    task=ModelTask.BINARY,
    windows=(("1d", DAY, DAY), ("7d", 7 * DAY, DAY)),
    score=True,
    labels=True,
    reference=True,
    horizon=20 * DAY,
    every=DAY,
)
COST = "By their scores the records are harder: a log loss "


def scores(rng: np.random.Generator, odds: Floats) -> Floats:
    """Chances whose log odds have these means and a standard deviation of 1."""
    made: Floats = np.round(1 / (1 + np.exp(-rng.normal(odds))), 6)
    return made


def log_loss(chance: Floats) -> float:
    """What outcomes of these chances cost on average."""
    return float(-(chance * np.log(chance) + (1 - chance) * np.log1p(-chance)).mean())


def rows(rng: np.random.Generator, event: Ints) -> tuple[pa.Table, np.ndarray]:
    """Records, harder from a day on; and their outcomes, which are as likely as their scores say."""
    score = scores(rng, np.where(event >= START + HARDER * DAY, NOW, BEFORE))
    columns = {
        "id": pa.array([f"p{at}" for at in range(len(event))]),
        "event_time": event,
        "logged_at": event + 30_000_000,
        "score": score,
        "feature:temp": rng.normal(10.0, 5.0, len(event)),
        "feature:carrier": rng.choice(["AA", "UA"], len(event)),
    }
    return pa.table(columns), np.where(rng.random(len(event)) < score, "1", "0")


@pytest.fixture(scope="module")
def source() -> MemorySource:
    """A log of daily records, with labels of the next day."""
    rng = np.random.default_rng(5)
    event = START + np.arange(DAYS * PER_DAY) * (DAY // PER_DAY)
    predictions, outcomes = rows(rng, event)
    labels = {
        "id": predictions["id"],
        "reported_at": event + log_normal(rng, event),
        "revision": np.zeros(len(event)),
        "label": outcomes,
    }
    return MemorySource(predictions, pa.table(labels))


def test_harder_records_are_told_by_the_score_with_the_loss_that_is_expected_and_performance_is_not(
    source: MemorySource, new_store: NewStore
) -> None:
    store, rules, rng = new_store(), default_rules(GROUNDS), np.random.default_rng(7)
    table, outcomes = rows(np.random.default_rng(6), np.zeros(3_000, np.int64))
    monitored = monitored_of(
        source,
        store,
        table=table.drop_columns(["event_time", "logged_at"]).append_column("label", pa.array(outcomes)),
        rules=rules,
        windows=WINDOWS,
        budget=BudgetTable(),
        families=frozenset({MeasureFamily.PERFORMANCE, MeasureFamily.VALUES}),
        reading=replace(READING, pane=DAY),
    )
    measured: list[MeasurementRow] = []
    said: dict[int, str] = {}  # by cycle: what it costs, as status and pages say it
    for day in range(2, DAYS + 1):
        at = START + day * DAY
        _, measured = monitored.cycle(at, recipients=(Recipient("chat"),))
        open_ = [one for _, one in store.incidents.read_incidents("late")]
        alerts = [(alert, "") for _, alert in store.alerts.read_alerts("late")]
        known = KnownMeasurements(measured, "7d", "roc_auc")
        described = explain_incidents(
            describe_incidents(open_, alerts, rules), IncidentContext(measurements=known)
        )
        of_score = [one for one in described if one.kind is IncidentKind.OUTPUT]
        for one in of_score:
            said[at] = incident_words(one, at).consequence

    ever = [alert for _, alert in store.alerts.read_alerts("late", ended=True)]
    begun = {(alert.series.rule, alert.series.subject): (alert.since - START) // DAY for alert in ever}
    # More of the outcome is true, too; what scores mean is as it was.
    assert begun == {
        ("changed", "score"): HARDER + 1,
        ("changed", "prediction"): HARDER + 1,
        ("changed", "label"): HARDER + 3,
    }
    (expected,) = [
        row.measurement for row in measured if row.measure == "log_loss_by_scores" and row.window == "7d"
    ]
    truth = log_loss(scores(rng, np.full(50_000, NOW))) - log_loss(scores(rng, np.full(50_000, BEFORE)))
    assert expected.interval is not None
    assert expected.interval.lower < truth < expected.interval.upper
    told = f"{COST}{expected.value:.3f} above the reference's is expected"
    assert said[START + DAYS * DAY].startswith(told)
    # A notice is sent once, as the change is one day old: it says what that day costs, not the week with it.
    notices = [notice.payload["text"] for notice in store.outbox.read_waiting_notices("chat")]
    (notice,) = [text for text in notices if text.startswith("score and prediction")]
    first = said[START + (HARDER + 1) * DAY]
    assert f"\n{first}.\n" in notice
    assert float(first.removeprefix(COST).split()[0]) == pytest.approx(truth, abs=0.05)
