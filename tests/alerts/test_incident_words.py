"""Each incident says what it costs and what to do, in short sentences, whatever is known of its model."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_examples import row_of

from monitor.alerts.alert_messages import Recipient, make_notices
from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, Rule, RuleLimit, Severity
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_life import IncidentKind, JudgedMoment, ModelIncidents, advance_incidents
from monitor.alerts.incident_words import incident_sentences, incident_words
from monitor.alerts.incidents import Incident, IncidentContext, describe_incidents, explain_incidents
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ChangeEffect, ExpectedBand, HourSpan, OutcomeCounts, SegmentShare
from monitor.core.clock import DAY, SECOND, from_iso
from monitor.core.measurement import Interval, Measurement
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.sentences.change_words import CHANGE_KINDS
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.sentences.linked_text import plain_text

NOON = from_iso("2024-03-10T12:00:00Z")
OWN = Rule(name="own", measure="accuracy", condition=BreachCondition(below=RuleLimit(0.7)), window="7d")
BUSY = Rule(name="busy", measure="records", condition=BreachCondition(above=RuleLimit(20.0)), window="1d")
RULES = (*default_rules(ALL), OWN, BUSY)
KNOWING = ("nothing", "no labels", "delay", "settling", "performance")
SUBJECTS = ("", "feature:rain", "score", "label", "records", "log")


def alert(series: AlertedSeries, severity: Severity = Severity.WARNING, **of_breach: Any) -> Alert:
    breach = Verdict(outcome=Outcome.BREACH, window_end=from_iso("2024-03-10"), **of_breach)
    return Alert(
        series=series,
        severity=severity,
        state=AlertState.FIRING,
        since=NOON,
        judged_at=NOON,
        verdict=breach,
        breach=breach,
        fired_at=NOON,
    )


def rows_of(known: str) -> list[MeasurementRow]:
    """What is measured of a model of which this is known."""
    end = from_iso("2024-03-10")
    if known == "settling":
        due = Measurement(from_iso("2024-03-14") / SECOND, n=0)
        return [row_of("next_settling", due, window="7d", window_end=end)]
    if known == "delay":
        late = Measurement(2.5 * DAY / SECOND, n=90)
        return [row_of("label_delay_p90", late, truth=LabelTruth.SETTLED, window="7d", window_end=end)]
    if known == "performance":
        of = {"truth": LabelTruth.SETTLED, "window": "1d", "window_end": end}
        fell = Measurement(-0.1, n=400, interval=Interval(-0.15, -0.05))
        return [
            row_of(measure, one, against=against, **of)
            for measure in ("roc_auc", "accuracy", "profit_per_record")
            for against, one in (("", Measurement(0.6, n=400)), ("reference", fell))
        ]
    return []


def told(alerts: list[Alert], known: str = "nothing") -> list[Incident]:
    standing = JudgedMoment(NOON, {one.series: one for one in alerts})
    opened = advance_incidents(ModelIncidents(), [standing], RULES).incidents.open
    context = IncidentContext(
        measurements=KnownMeasurements(rows_of(known), "7d", "roc_auc"), labels=known != "no labels",
        records_table="predictions", labels_table="outcomes",
    )  # fmt: skip
    return explain_incidents(describe_incidents(opened, [(one, "") for one in alerts], RULES), context)


def change(kind: str = "level", **more: Any) -> Change:
    given: dict[str, Any] = {
        "observed": 1.0,
        "expected": ExpectedBand(0.0, 0.02),
        "since": "2024-03-08",
        "size": 0.5,
    }
    return Change(kind=kind, day="2024-03-09", **(given | more))


CHANGES = st.builds(
    change,
    kind=st.sampled_from(sorted(CHANGE_KINDS)),
    category=st.sampled_from(["", "1", "DEFAULT"]),
    rises=st.booleans(),
    observed=st.sampled_from([None, 0.0, 0.4, 1.0, 120.0]),
    averaged_days=st.sampled_from([0, 1, 9]),
    segment=st.sampled_from([None, SegmentShare(), SegmentShare("carrier=EV", 0.8, 0.1)]),
    outcomes=st.sampled_from([None, OutcomeCounts(900, 80.0, 60.0)]),
    hours=st.sampled_from([None, HourSpan("2024-03-09T09:00Z", "2024-03-09T11:00Z")]),
    effect=st.sampled_from([None, *(
        ChangeEffect(0.04, width, 0.06, 0.01, standing, "class:DEFAULT")
        for standing in ("known", "mixed", "beyond") for width in (0.01, 0.05)
    )]),
)  # fmt: skip
ALERTS = st.one_of(
    st.builds(
        lambda subject, one, n: alert(AlertedSeries("changed", subject=subject), change=one, n=n),
        st.sampled_from(SUBJECTS),
        CHANGES,
        st.sampled_from([0, 492]),
    ),
    st.builds(
        lambda rule, value, severity: alert(
            AlertedSeries(rule.name, window=rule.window),
            severity,
            value=value,
            limit=-0.035,
            beside=0.7,
            n=900,
        ),
        st.sampled_from(RULES),
        st.sampled_from([None, -0.1, 0.5, 18 * 86_400.0]),
        st.sampled_from(Severity),
    ),
    st.just(alert(AlertedSeries("gone"), value=0.5)),
)


@given(st.lists(ALERTS, min_size=1, max_size=6, unique_by=lambda one: one.series), st.sampled_from(KNOWING))
def test_each_incident_says_what_it_costs_and_what_to_do_in_short_sentences(
    alerts: list[Alert], known: str
) -> None:
    incidents = told(alerts, known)

    assert incidents
    for incident in incidents:
        words = incident_words(incident, NOON)
        assert words.headline
        assert words.consequence
        assert words.step_text
        for sentence in words.consequence.split(". "):
            assert len(sentence.split()) <= 20, sentence
            assert "unknown" not in sentence.split()[:1], sentence
        every = ". ".join(incident_sentences(incident, NOON))
        assert words.consequence in every
        assert f"Next: {words.step_text}" in every
        (notice,) = make_notices("late", [(incident, incident.kept.steps[0])], [Recipient("chat")], NOON)
        assert words.consequence.split(". ")[0] in notice.payload.replace('\\"', '"')


def test_all_kinds_of_incidents_are_among_them() -> None:
    """The law above is of every kind."""
    found = {
        incident.kind
        for subject in SUBJECTS
        for kind in ("level", "missing", "records", "residual_level", "beyond", "base_rate")
        for incident in told([alert(AlertedSeries("changed", subject=subject), change=change(kind))])
    }
    found |= {
        incident.kind
        for rule in RULES
        for severity in (Severity.WARNING, Severity.INFO)
        for incident in told([alert(AlertedSeries(rule.name), severity, value=0.5)])
    }
    found |= {incident.kind for incident in told([alert(AlertedSeries("gone"), value=0.5)])}

    assert found == set(IncidentKind)


@pytest.mark.parametrize(
    ("known", "cost"),
    [
        ("nothing", "What that costs is not known yet: too few labels have come"),
        ("no labels", "What that costs stays unknown: no labels are configured"),
        ("delay", "What that costs is known about 11 Mar"),
        ("settling", "What that costs is known about 14 Mar"),
        ("performance", "ROC AUC since then is 0.600, worse than 0.700 in the reference"),
    ],
)
def test_an_input_says_what_is_known_of_performance_since_then(known: str, cost: str) -> None:
    missing = alert(AlertedSeries("changed", subject="feature:rain"), change=change("missing"), n=492)

    (incident,) = told([missing], known)

    assert incident_words(incident, NOON).consequence == (
        f"Every one of the 492 records of 9 Mar was scored without it. {cost}"
    )


def test_a_card_has_at_most_sixty_words() -> None:
    """Six features and one more, all that is said of them, and what to do."""
    effect = ChangeEffect(0.049, 0.02, 0.062, 0.01, "known", "score")
    names = ("humid_pct", "precip_in", "pressure_mb", "temp_f", "visib_mi", "wind_mph")
    gone = [
        alert(
            AlertedSeries("changed", subject=f"feature:{name}"),
            change=replace(change("missing"), effect=effect),
        )
        for name in names
    ]
    more = alert(AlertedSeries("changed", subject="feature:load"), change=change(observed=-0.9))

    (incident,) = told([*gone, more], "settling")
    words = incident_words(incident, NOON)

    said = (words.headline, words.beside, words.consequence, plain_text(words.also), "Next:", words.step_text)
    assert len(" ".join(said).split()) <= 60


def test_what_recovers_or_is_over_says_what_is_known_of_performance_since() -> None:
    """That a log was silent stands in the way of nothing any more."""
    (silent,) = told([alert(AlertedSeries("log_stopped"), Severity.CRITICAL, value=2 * 86_400.0)], "settling")
    over = replace(silent, context=replace(silent.context, is_over=True))
    ended = tuple(replace(one, left=NOON + 1, ended=EndReason.CLEARED) for one in silent.kept.members)
    recovering = replace(silent, kept=replace(silent.kept, members=ended))

    assert incident_words(silent, NOON).consequence == "Performance is not known after 8 Mar"
    for one in (over, recovering):
        assert incident_words(one, NOON).consequence == "What that costs is known about 14 Mar"


def test_more_positives_stand_beside_the_performance_that_they_make_worse() -> None:
    outcomes = OutcomeCounts(2312, 1094.0, 623.0)
    of_scores = alert(
        AlertedSeries("performance_changed"), Severity.CRITICAL,
        change=change("residual_level", category="1", outcomes=outcomes),
    )  # fmt: skip
    of_labels = alert(AlertedSeries("changed", subject="label"), change=change("base_rate", category="1"))

    (incident,) = told([of_scores, of_labels])
    words = incident_words(incident, NOON)

    assert words.headline.startswith("More positive labels than the scores say: 1,094 instead of 623")
    assert plain_text(words.also) == "The mix of labels is different, too: probably one cause"


def test_where_labels_have_stopped_nothing_is_promised() -> None:
    stopped = alert(AlertedSeries("labels_stopped"), Severity.CRITICAL, value=18 * 86_400.0)
    moved = alert(AlertedSeries("changed", subject="feature:rain"), change=change(rises=False))

    of_labels, of_rain = told([stopped, moved], "settling")

    assert incident_words(of_labels, NOON).consequence == "Performance is unknown after 21 Feb"
    assert incident_words(of_rain, NOON).consequence == "What that costs is not known until labels come again"


def test_a_performance_that_fell_says_how_many_records_more_are_wrong() -> None:
    fell = alert(
        AlertedSeries("performance", window="30d"), Severity.CRITICAL,
        value=-0.1, limit=-0.035, beside=0.7, n=900,
    )  # fmt: skip

    (incident,) = told([fell], "performance")

    assert incident_words(incident, NOON).consequence == (
        "About 40 more of 400 records a day are wrong than in the reference"
    )


def test_next_steps_name_feature_segment_table_and_day_with_their_pages() -> None:
    held = change("level", segment=SegmentShare("carrier=EV", 0.8, 0.1))
    moved = alert(AlertedSeries("changed", subject="feature:rain"), change=held)

    (incident,) = told([moved])
    words = incident_words(incident, NOON)

    assert plain_text(words.next_step) == (
        "look at rain, segment carrier = EV, what writes it to predictions and what was deployed on 7–8 Mar"
    )
    assert words.step_text.endswith("7–8 Mar. If something known explains it, accept it as normal")
    assert [(piece.text, piece.page) for piece in words.next_step if piece.page] == [
        ("rain", ("feature",)),
        ("carrier = EV", ("segments",)),
        ("predictions", ("log",)),
        ("7–8 Mar", ("",)),
    ]


def test_a_rule_of_ones_own_has_a_headline_in_words_and_its_own_step() -> None:
    busy = alert(AlertedSeries("busy", window="1d"), value=420.0, limit=20.0, n=420)
    spoken = replace(OWN, annotations=(("action", "Call the `fraud` desk."),))

    (incident,) = told([busy])
    words = incident_words(incident, NOON)
    opened = advance_incidents(
        ModelIncidents(),
        [JudgedMoment(NOON, {AlertedSeries("own"): alert(AlertedSeries("own"), value=0.5)})],
        [],
    ).incidents.open
    (own,) = describe_incidents(opened, [(alert(AlertedSeries("own"), value=0.5, limit=0.7), "")], [spoken])

    assert words.headline == "Records are above your limit since 10 Mar: 420 a day, limit 20 (rule busy)"
    assert incident_words(own, NOON).step_text == "call the `fraud` desk"


def test_records_that_fell_before_the_day_that_tells_it_say_since_when() -> None:
    fell = change("records", observed=37.0, expected=ExpectedBand(90.0, 110.0), rises=False)
    today = replace(fell, since="2024-03-09")

    (before,) = told([alert(AlertedSeries("changed", subject="records"), change=fell)])
    (same,) = told([alert(AlertedSeries("changed", subject="records"), change=today)])

    assert incident_words(before, NOON).headline == "Records fell by 63 % on 9 Mar, since 8 Mar"
    assert incident_words(same, NOON).headline == "Records fell by 63 % on 9 Mar"
    assert incident_words(same, NOON).consequence == (
        "If rows were lost, how the model did on about 63 records stays unknown"
    )
