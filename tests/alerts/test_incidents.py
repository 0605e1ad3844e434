"""Alerts of one cause are one incident, which says once what happened, since when, what to do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from row_examples import row_of

from monitor.alerts.alert_rules import AlertedSeries, Rule, Severity
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_life import IncidentKind, JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.incident_words import incident_sentences, told_headline
from monitor.alerts.incidents import Incident, IncidentContext, describe_incidents, explain_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ChangeEffect, ExpectedBand
from monitor.core.clock import DAY, from_iso
from monitor.core.measurement import Interval, Measurement
from monitor.sentences.known_measurements import KnownMeasurements

RULES = default_rules(ALL)
NOON = from_iso("2024-03-10T12:00:00Z")


def fired(
    subject: str = "",
    rule: str = "changed",
    severity: Severity = Severity.WARNING,
    *,
    change: Change | None = None,
    since: int = NOON,
    **figures: Any,
) -> Alert:
    breach = Verdict(outcome=Outcome.BREACH, window_end=from_iso("2024-03-10"), change=change, **figures)
    return Alert(
        series=AlertedSeries(rule, subject=subject),
        severity=severity,
        state=AlertState.FIRING,
        since=since,
        judged_at=since,
        verdict=breach,
        breach=breach,
        fired_at=since,
    )


def missing(name: str, day: str = "2024-03-08", share: float = 1.0) -> Alert:
    change = Change(
        kind="missing",
        observed=share,
        expected=ExpectedBand(0.0, 0.0),
        since=day,
        size=share,
        day="2024-03-09T00:00:00Z",
    )
    return fired(f"feature:{name}", change=change)


def level(name: str, day: str = "2024-03-08", *, rises: bool = True, subject: str = "feature:") -> Alert:
    change = Change(
        kind="level",
        observed=0.9 if rises else -0.9,
        expected=ExpectedBand(-0.2, 0.2),
        rises=rises,
        since=day,
        size=0.3,
        day="2024-03-09T00:00:00Z",
    )
    return fired(f"{subject}{name}", change=change)


def grouped(alerts: Sequence[tuple[Alert, str]], rules: Sequence[Rule] = RULES) -> list[Incident]:
    standing = JudgedMoment(NOON, {alert.series: alert for alert, _ in alerts})
    opened = advance_incidents(ModelIncidents(), [standing], rules).incidents.open
    return describe_incidents(opened, alerts, rules)


def incidents(alerts: Sequence[Alert], acknowledged_by: str = "") -> list[Incident]:
    return grouped([(alert, acknowledged_by) for alert in alerts])


def told(alerts: Sequence[Alert]) -> list[str]:
    return [". ".join(incident_sentences(incident, from_iso("2024-03-11"))) for incident in incidents(alerts)]


def test_what_is_missing_is_one_incident_and_what_moved_that_day_belongs_to_it() -> None:
    alerts = [missing("rain"), missing("wind"), level("load"), level("score", subject="")]

    (incident,) = incidents(alerts)

    assert incident.kind is IncidentKind.MISSING
    assert [part.name for part in incident.alerts] == ["rain", "wind"]
    assert [part.name for part in incident.also] == ["load", "score"]
    assert incident.first_days == (from_iso("2024-03-08"), from_iso("2024-03-08"))
    (sentence,) = told(alerts)
    assert sentence == (
        "Two features are missing in every record since 8 Mar: rain and wind. Usually in no record. "
        "What that costs is not known yet: too few labels have come. "
        "load and score are different, too: probably one cause. "
        "Next: check what was deployed on 7–8 Mar, and their feed"
    )


def test_inputs_that_moved_on_other_days_are_an_incident_of_their_own() -> None:
    found = incidents([missing("rain"), level("load", "2024-03-05"), level("age", "2024-03-08")])

    assert [(one.kind, [part.name for part in one.every_alert]) for one in found] == [
        (IncidentKind.MISSING, ["rain", "age"]),
        (IncidentKind.MOVED, ["load"]),
    ]


def test_the_worst_stands_first_and_kinds_are_never_mixed_with_performance() -> None:
    fell = fired(
        rule="performance", severity=Severity.CRITICAL, value=-0.104, limit=-0.035, beside=0.698, n=900
    )

    found = incidents([missing("rain"), fell, fired(rule="log_stopped", value=11 * 86_400.0)])

    assert [(one.kind, one.severity) for one in found] == [
        (IncidentKind.PERFORMANCE, Severity.CRITICAL),
        (IncidentKind.RECORDS, Severity.WARNING),
        (IncidentKind.MISSING, Severity.WARNING),
    ]
    assert told([fell])[0].startswith(
        "ROC AUC fell below its limit: 0.594 in the 30 days to 9 Mar. "
        "Alert below 0.663; 0.698 in the reference"
    )


def test_a_value_inside_its_range_is_no_evidence() -> None:
    back = Change(
        kind="level",
        observed=0.1,
        expected=ExpectedBand(-0.2, 0.2),
        since="2024-03-08",
        size=0.3,
        day="2024-03-10T00:00:00Z",
    )

    (sentence,) = told([fired("feature:load", change=back)])

    assert sentence.startswith("load is higher since 8 Mar. What that costs")


@pytest.mark.parametrize(
    ("rule", "value", "sentence"),
    [
        ("log_stopped", 11 * 86_400.0, "No records for 11 days"),
        ("labels_stopped", 18 * 86_400.0, "No labels for 18 days"),
    ],
)
def test_a_feed_that_stopped_is_said_with_its_length(rule: str, value: float, sentence: str) -> None:
    assert told([fired(rule=rule, value=value)])[0].startswith(f"{sentence}. ")


def test_rules_without_a_sentence_of_their_own_say_their_figures() -> None:
    own = Rule(name="own", measure="accuracy", condition=RULES[0].condition, window="7d")
    alerts = [(fired(rule="own", value=0.5, limit=0.6), ""), (fired(rule="gone", value=0.5), "")]

    found = [next(incident_sentences(one, NOON)) for one in grouped(alerts, [own])]

    assert len(found) == 2
    assert found[0] == (
        "Accuracy is below your limit since 10 Mar: 50.0 % in the week to 9 Mar, limit 60 % (rule own)"
    )
    assert found[1].startswith("gone: ")


def test_who_acknowledged_all_of_it_is_said() -> None:
    (incident,) = incidents([missing("rain"), missing("wind")], "ada")

    assert incident.acknowledged_by == "ada"
    assert [*incident_sentences(incident, NOON)][-1] == "Acknowledged by ada"
    (half,) = grouped([(missing("rain"), "ada"), (missing("wind"), "")])
    assert half.acknowledged_by == ""


def test_first_days_that_differ_are_a_range() -> None:
    (sentence,) = told([missing("rain", "2024-03-07", 0.4), missing("wind", "2024-03-08", 0.6)])

    assert sentence.startswith("Two features are missing in 40.0 % to 60.0 % of the records since 7–8 Mar:")


def test_what_recovers_says_since_when_and_until_when() -> None:
    alert = missing("rain")
    over = replace(alert, state=AlertState.RESOLVED, resolved_at=NOON + DAY, ended=EndReason.CLEARED)
    moments = [
        JudgedMoment(NOON, {over.series: alert}),
        JudgedMoment(NOON + DAY, {}, [over]),
    ]
    opened = advance_incidents(ModelIncidents(), moments, RULES).incidents.open
    (incident,) = describe_incidents(opened, [(over, "")], RULES)

    assert list(incident_sentences(incident, NOON + DAY)) == [
        "Recovering since 11 Mar, over on 13 Mar unless it comes back",
        "It was: rain is missing in every record since 8 Mar",
    ]


def test_a_list_names_what_was_told_last_and_not_what_the_alert_says_now() -> None:
    first = fired("feature:rain", change=missing("rain", share=0.4).breach.change)
    worse = replace(first, breach=missing("rain").breach, judged_at=NOON + DAY)
    told_then = replace(worse, told=((NOON, first.breach),))
    moments = [JudgedMoment(NOON, {first.series: first})]
    (incident,) = advance_incidents(ModelIncidents(), moments, RULES).incidents.open

    assert told_headline(incident, [told_then], RULES, NOON) == (
        "rain is missing in 40.0 % of the records since 8 Mar"
    )


def test_it_says_what_its_features_do_to_the_score() -> None:
    by = {"rain": 0.048, "wind": -0.02}
    alerts = [missing(name) for name in by]
    effects = {name: ChangeEffect(own, 0.01, 0.062, 0.013, "known", "score") for name, own in by.items()}
    changes = [
        replace(alert.breach.change or Change(), effect=effects[name])
        for name, alert in zip(by, alerts, strict=True)
    ]
    with_effects = [
        replace(alert, breach=replace(alert.breach, change=change))
        for alert, change in zip(alerts, changes, strict=True)
    ]

    (sentence,) = told([*with_effects, level("score", subject="")])

    assert "The mean score rose by 0.062 since then. Together they move it by about +0.028. " in sentence
    assert "mean score" not in told(alerts)[0]


def test_a_score_that_changed_says_the_loss_that_is_expected_of_it() -> None:
    harder = Measurement(0.056, n=900, interval=Interval(0.04, 0.07))
    known = KnownMeasurements(
        [row_of("log_loss_by_scores", harder, subject="score", window_end=0)], "7d", "roc_auc"
    )
    of_score, of_rain = incidents([level("score", subject="")]), incidents([level("rain")])

    said, unsaid = (
        ". ".join(incident_sentences(explain_incidents(some, IncidentContext(measurements=known))[0], NOON))
        for some in (of_score, of_rain)
    )

    assert (
        "By their scores the records are harder: a log loss 0.056 above the reference's is expected" in said
    )
    assert "log loss" not in unsaid


@pytest.mark.parametrize(
    ("name", "observed", "expected", "said"),
    [
        ("records", 45.0, ExpectedBand(99.0, 145.0), "Records fell by 63 % on "),
        ("labels", 0.3, ExpectedBand(0.9, 0.99), "Labels for 30.0 % of the records, since "),
    ],
)
def test_records_and_labels_begin_a_sentence_as_no_column_does(
    name: str, observed: float, expected: ExpectedBand, said: str
) -> None:
    change = Change(
        kind="coverage" if name == "labels" else name,
        observed=observed,
        expected=expected,
        rises=False,
        since="2024-03-08",
        day="2024-03-10T00:00:00Z",
        size=0.9,
    )

    assert told([fired(name, change=change)])[0].startswith(said)
