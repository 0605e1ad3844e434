"""Alerts in /metrics."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from exposition_rows import AS_OF, model, typical_rows
from prometheus_client import parser
from prometheus_client.core import Metric
from row_examples import firing

from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, Rule, RuleLimit
from monitor.alerts.incident_life import JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.clock import DAY, to_iso
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics

parse: Callable[[str], Iterable[Metric]] = parser.text_string_to_metric_families
RULES = (
    Rule(
        name="moved",
        measure="stability_index",
        condition=BreachCondition(above=RuleLimit(0.1)),
        subject="feature:*",
        window="7d",
        labels=(("team", "flights"),),
    ),
    Rule(name="small", measure="records", condition=BreachCondition(below=RuleLimit(10)), window="7d"),
    Rule(
        name="unheard", measure="volume_ratio", condition=BreachCondition(below=RuleLimit(0.5)), window="7d"
    ),
)
BREACH = Verdict(outcome=Outcome.BREACH, window_end=AS_OF, value=0.2, n=100)
ALERT = firing(AlertedSeries("moved", window="7d", subject="feature:temp_f"), BREACH, AS_OF)


def shown(*alerts: Alert, others: tuple[Alert, ...] = ()) -> dict[str, list[tuple[dict[str, str], float]]]:
    late, other = replace(model(), rules=RULES), model("other")
    served = Exposition([late, other], SelfMetrics("1.2.3", started_at=1_000.0))
    moment = JudgedMoment(AS_OF, {alert.series: alert for alert in alerts})
    incidents = advance_incidents(ModelIncidents(), [moment], RULES).incidents.open
    served.publish_model("late", AS_OF, typical_rows(), alerts, incidents=incidents)
    served.publish_model("other", AS_OF, typical_rows(), others)
    text = served.render_page()[0].decode()
    return {
        family.name: [(dict(sample.labels), float(sample.value)) for sample in family.samples]
        for family in parse(text)
    }


def test_a_firing_alert_is_one_with_all_its_labels() -> None:
    labels = {
        "model": "late",
        "rule": "moved",
        "version": "",
        "segment": "",
        "window": "7d",
        "subject": "feature:temp_f",
        "severity": "warning",
        "incident": f"{to_iso(AS_OF - DAY)[:10]}-inputs-moved",
        "team": "flights",
    }

    found = shown(ALERT)

    assert found["model_monitor_alert_firing"] == [(labels, 1.0)]
    assert found["model_monitor_alert_since_timestamp_seconds"] == [(labels, AS_OF / 1e6)]
    assert found["model_monitor_alert_pending"] == []


def test_incidents_that_are_open_are_counted_by_model_and_severity() -> None:
    other = replace(ALERT, series=replace(ALERT.series, subject="feature:humid"))

    found = shown(ALERT, other)["model_monitor_incidents_open"]

    assert {(labels["model"], labels["severity"]): value for labels, value in found} == {
        ("late", "critical"): 0.0,
        ("late", "warning"): 1.0,
        ("other", "critical"): 0.0,
        ("other", "warning"): 0.0,
    }


def test_what_a_firing_alert_says_is_shown_with_the_moment_it_was_judged() -> None:
    labels = {
        "model": "late",
        "rule": "moved",
        "version": "",
        "segment": "",
        "window": "7d",
        "subject": "feature:temp_f",
        "text": "feature:temp_f, stability_index 0.200 (minor), n 100",
    }

    assert shown(ALERT)["model_monitor_alert_said_timestamp_seconds"] == [(labels, ALERT.judged_at / 1e6)]
    kept = replace(ALERT, clear_since=AS_OF)
    ((labels, _),) = shown(kept)["model_monitor_alert_said_timestamp_seconds"]
    assert "n 100; within its limit again from " in labels["text"]
    pending = replace(ALERT, state=AlertState.PENDING)
    assert shown(pending)["model_monitor_alert_said_timestamp_seconds"] == []


def test_a_pending_alert_does_not_fire_and_one_that_is_over_is_gone() -> None:
    pending = replace(ALERT, state=AlertState.PENDING, fired_at=None)
    over = replace(ALERT, state=AlertState.RESOLVED, resolved_at=AS_OF, ended=EndReason.CLEARED)

    assert [len(shown(pending)[f"model_monitor_alert_{state}"]) for state in ("firing", "pending")] == [0, 1]
    assert [len(shown(over)[f"model_monitor_alert_{state}"]) for state in ("firing", "pending")] == [0, 0]


def test_alerts_of_models_with_other_labels_have_these_empty() -> None:
    found = shown(ALERT, others=(replace(ALERT, series=AlertedSeries("plain")),))[
        "model_monitor_alert_firing"
    ]

    assert [(labels["model"], labels["team"]) for labels, _ in found] == [("late", "flights"), ("other", "")]


def test_no_data_is_told_from_healthy() -> None:
    found = shown()["model_monitor_rule_series"]

    assert {(labels["rule"], labels["verdict"]): value for labels, value in found} == {
        ("moved", "breach"): 1.0,
        ("small", "clear"): 1.0,
        ("unheard", "unknown"): 1.0,
    }
