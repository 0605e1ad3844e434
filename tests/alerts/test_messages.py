"""What people are told: one notice an incident, in words that hold."""

import json
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from kept_texts import compare_cases
from messages_page import notices_of
from row_examples import firing
from shift_rules import own_rules

from monitor.alerts.alert_messages import Notice, Recipient
from monitor.alerts.alert_phrases import alert_sentence, still_firing_words
from monitor.alerts.alert_rules import AlertedSeries, BreachCondition, JudgedBound, Rule, RuleLimit, Severity
from monitor.alerts.default_rules import ALL, default_rules
from monitor.alerts.incident_life import IncidentTurn
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import Outcome, Verdict
from monitor.core.change import Change, ChangeEffect, ExpectedBand, SegmentShare, UnitFigures
from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import DetailTable
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_comparison import contribution_columns

AT = 15_000 * DAY
CHAT, PAGER = Recipient("chat"), Recipient("pager", Severity.CRITICAL)
RULE = Rule(
    name="missing",
    measure="missing_rate",
    condition=BreachCondition(above=RuleLimit(0.05)),
    subject="feature:*",
    window="7d",
    annotations=(
        ("summary", "{measure} is {value} of {n}, {limit} at most; {unknown} and {value.__class__} stay."),
        ("action", "Look."),
    ),
)


def alert(subject: str = "feature:age", value: float = 0.2, **changes: Any) -> Alert:
    verdict = Verdict(
        outcome=Outcome.BREACH,
        window_end=AT,
        value=value,
        lower=value - 0.01,
        upper=value + 0.01,
        n=1_234,
        limit=0.05,
    )
    series = AlertedSeries("missing", window="7d", subject=subject)
    since = AT - 2 * HOUR
    return firing(series, verdict, AT, **({"since": since, "fired_at": since, "judged_at": since} | changes))


def over(why: EndReason = EndReason.CLEARED, **changes: Any) -> Alert:
    return alert(**changes, state=AlertState.RESOLVED, resolved_at=AT, ended=why)


def told(*turned: Alert, rule: Rule | None = RULE, before: Sequence[Alert] = ()) -> list[Notice]:
    rounds = [before, turned] if before else [turned]
    return notices_of([rule] if rule else [], *rounds, recipients=[CHAT, PAGER])


def text_of(*turned: Alert, rule: Rule | None = RULE, before: Sequence[Alert] = ()) -> str:
    (notice,) = told(*turned, rule=rule, before=before)
    payload = json.loads(notice.payload)
    return f"{payload['title']}\n{payload['text']}"


def test_there_is_one_notice_an_incident_when_it_opens_grows_and_is_over() -> None:
    first, more = alert("feature:a"), alert("feature:b", judged_at=AT)

    (opened,), (grew,), (over_,) = told(first), told(first, more, before=[first]), told(over())

    assert [one.kind for one in (opened, grew, over_)] == [*IncidentTurn]
    assert {one.incident for one in (opened, grew, over_)} == {"2011-01-25-inputs-missing"}
    assert "\nTwice as many alerts belong to it.\n" in json.loads(grew.payload)["text"]
    assert json.loads(over_.payload)["text"].startswith("Over: no alert of it has fired since 26 Jan.\n")


def test_a_channel_is_told_of_what_is_urgent_enough_for_it() -> None:
    critical_one = alert("feature:b", severity=Severity.CRITICAL, judged_at=AT)
    (warning,), (critical,) = told(alert()), told(alert(severity=Severity.CRITICAL))
    (turned,) = told(alert(), critical_one, before=[alert()])

    assert (warning.channels, critical.channels) == (("chat",), ("chat", "pager"))
    assert (turned.channels, turned.kind) == (("chat", "pager"), IncidentTurn.GREW)
    assert told(over(severity=Severity.CRITICAL))[0].channels == ("chat", "pager")
    assert notices_of([RULE], [alert()], recipients=[PAGER]) == []


def test_the_largest_leads_and_a_long_list_is_cut_in_the_text_alone() -> None:
    rules = [rule for rule in default_rules(ALL) if rule.measure == EVIDENCE]
    found = [changed(rules[1], f"feature:{at:02}", at) for at in range(13)]
    (notice,) = notices_of(rules, found, recipients=[CHAT])
    payload = json.loads(notice.payload)

    assert payload["headline"].startswith("13 features are different since 25 Jan: 12, 11, 10,")
    assert payload["text"].count("\n- changed") == 10
    assert "- and 3 more" in payload["text"]
    assert [one["subject"] for one in payload["alerts"]] == [f"feature:{at:02}" for at in range(12, -1, -1)]
    assert sum(len(textwrap.wrap(line, 100)) or 1 for line in payload["text"].split("\n")) <= 50


def test_other_incidents_of_the_day_are_named() -> None:
    stopped = firing(AlertedSeries("log_stopped"), alert().breach, AT - HOUR)
    rules = [*(rule for rule in default_rules(ALL) if rule.name == "log_stopped"), RULE]
    records, inputs = (json.loads(one.payload) for one in notices_of(rules, [alert(), stopped]))

    assert (records["same_day"], inputs["same_day"]) == ([inputs["incident"]], [records["incident"]])
    assert f"The same day, perhaps another cause: {records['incident']}." in inputs["text"]


CELLS = DetailTable(("cell", "expected", "actual", "contribution"), (("0 to 12", 0.1, 0.431, 0.4),))
LOST = DetailTable(CELLS.columns, (("(missing)", 0.0, 0.3, 2.2),))
SEGMENTS = DetailTable(
    contribution_columns("accuracy"),
    (("region=North", -0.03, 0.6, 0.7, 0.3, 0.3),),
)
WORST_SEGMENTS = DetailTable(
    ("segment", "value", "lower", "upper", "n"), (("region=North", 0.6, 0.55, 0.65, 300),)
)
COUNTED = DetailTable(
    ("feature", "value", "limit", "beside", "cell", "expected", "actual"),
    (("feature:income", 0.42, 0.1, 0.002, "0 to 12", 0.1, 0.431),),
)


FIRST_LINES: list[tuple[str, dict[str, Any]]] = [
    ("feature_far_off", {"value": 0.42, "limit": 0.25, "beside": 0.002, "cause": CELLS}),
    ("feature_shift", {"value": 0.25, "n": 12, "limit": 0.2, "cause": COUNTED}),
    ("score_shift", {"value": 2.2 + 0.107, "limit": 0.25, "beside": 0.002, "cause": LOST}),
    (
        "score_shift",
        {"value": 4.307, "limit": 0.25, "cause": replace(LOST, rows=(("9 to 12", 0.1, 0.3, 2), *LOST.rows))},
    ),
    ("performance", {"value": -0.05, "limit": -0.036, "beside": 0.72, "cause": SEGMENTS}),
    ("performance", {"value": -0.05, "limit": -0.036, "beside": 0.72, "cause": WORST_SEGMENTS}),
    ("log_stopped", {"value": 151_200.0, "limit": 129_600.0, "n": 0}),
    ("volume", {"value": 0.3, "limit": 0.5}),
]


def first_line(name: str, breach: dict[str, Any]) -> str:
    """The line that Prometheus has as the summary of an alert."""
    (rule,) = (rule for rule in (*default_rules(ALL), *own_rules()) if rule.name == name)
    subject = "feature:income" if name == "feature_far_off" else rule.subject
    verdict = replace(Verdict(outcome=Outcome.BREACH, window_end=AT, n=900), **breach)
    return alert_sentence(rule, AlertedSeries(name, window=rule.window, subject=subject), verdict)


@pytest.mark.texts
def test_the_first_line_names_the_part_the_value_the_reference_and_the_limit_that_decided() -> None:
    cases = [(name, first_line(name, breach)) for name, breach in FIRST_LINES]
    for measure, against, value in VALUES:
        limit = 86_400.0 if value > 1 else 0.01 if value < 0.01 else 0.1
        condition = BreachCondition(above=RuleLimit(limit))
        rule = replace(RULE, measure=measure, against=against, condition=condition, annotations=())
        breach = replace(alert().breach, value=value, lower=None, upper=None, n=0, limit=limit)
        said = alert_sentence(rule, alert().series, breach)
        cases.append((f"{measure} {value} {against}".rstrip(), said))

    compare_cases("message_first_lines", cases)


VALUES = [
    ("log_age", "", 183_600.0),
    ("log_age", "", 86_580.0),
    ("missing_rate", "reference", 0.2),
    ("sample_ratio_p_value_always_valid", "", 0.0001),
    ("stability_index", "previous", 0.31),
    ("no_such_measure", "", 0.31),
]


@pytest.mark.texts
def test_messages() -> None:
    then = over()
    cells = DetailTable(("cell", "expected", "actual"), (("a", 0.1, 0.2), ("b", None, 0.1)))
    earlier = DetailTable(("value", "lower", "upper", "n"), ((0.05, None, None, 900),))
    more = replace(
        RULE, condition=replace(RULE.condition, bound=JudgedBound.LOWER, and_above=RuleLimit(0.01))
    )
    cases = [
        ("one subject", text_of(alert())),
        ("three subjects", text_of(*(alert(f"feature:{name}", at) for name, at in ONE_TO_THREE))),
        ("more is asked for", text_of(alert(), rule=more)),
        ("a cause", text_of(alert(breach=replace(alert().breach, cause=cells)))),
        ("another moment", text_of(alert(breach=replace(alert().breach, cause=earlier)))),
        ("no rule", text_of(over(EndReason.REMOVED), rule=None)),
        *((f"ended: {why}", text_of(over(why))) for why in EndReason),
    ]
    for value, limit in ((0.06, 0.05), (0.04, 0.05), (0.05, 0.05), (0.06, 0.055)):  # the last: the other side
        now = replace(then.verdict, outcome=Outcome.CLEAR, value=value, lower=0.0, upper=0.1, limit=limit)
        still = replace(then, verdict=now, state=AlertState.FIRING, ended=None, clear_since=AT)
        said = f"{text_of(replace(then, verdict=now))}\n\nwhile it fires: {still_firing_words(still)}"
        cases.append((f"clear at {value} by a limit of {limit}", said))

    compare_cases("messages", cases)


ONE_TO_THREE = (("a", 0.1), ("b", 0.4), ("c", 0.2))


@pytest.mark.parametrize("one", [alert(), over()])
def test_a_notice_links_to_where_one_decides_on_its_incident_where_there_is_an_address(one: Alert) -> None:
    (with_link,) = notices_of([RULE], [one], url="https://monitor.example/at")
    (without,) = notices_of([RULE], [one])
    linked, plain = json.loads(with_link.payload), json.loads(without.payload)

    page = f"https://monitor.example/at/models/late/incidents/{plain['incident']}#decide"
    assert linked.pop("page") == page
    text = linked.pop("text")
    assert text == f"{plain.pop('text')}\n\nPage: {page}"
    assert linked == plain


def test_no_name_from_data_breaks_a_line() -> None:
    cells = DetailTable(("cell", "expected", "actual"), (("a\nb\x1b[31m", 0.1, 0.2),))
    lines = text_of(alert("feature:x\ny", breach=replace(alert().breach, cause=cells))).split("\n")

    assert "feature:x\\ny" in lines[1]
    assert any("values a\\nb\\x1b[31m" in line for line in lines)


def test_a_notice_says_what_the_features_do_to_the_score() -> None:
    rules = [rule for rule in default_rules(ALL) if rule.measure == EVIDENCE]
    plain = [changed(rules[1], f"feature:{name}", 9.0) for name in "ab"]
    effect = ChangeEffect(0.02, 0.005, 0.0617, 0.013, "known", "score")
    told_effects = [
        replace(one, breach=replace(one.breach, change=replace(one.breach.change or Change(), effect=effect)))
        for one in plain
    ]

    texts = [
        json.loads(notice.payload)["text"].split("\n")
        for turned in (told_effects, plain)
        for notice in notices_of(rules, turned, recipients=[CHAT])
    ]

    sentence = "The mean score rose by 0.062 since then: together they move it by about +0.040."
    assert [sentence in lines for lines in texts] == [True, False]


def changed(rule: Rule, subject: str, size: float) -> Alert:
    change = Change(
        kind="level",
        observed=1.4,
        expected=ExpectedBand(-0.2, 0.2),
        in_unit=UnitFigures(91.3, 61.9, 69.4),
        since="2011-01-25",
        day="2011-01-25",
        size=size,
        chance_months=2e7,
        watched_subjects=21,
        segment=SegmentShare("origin=EWR", 0.71, 0.36),
    )
    verdict = Verdict(outcome=Outcome.BREACH, window_end=AT, value=9.0, limit=1.0, change=change)
    series = AlertedSeries(rule.name, window="cumulative", subject=subject)
    return firing(series, verdict, AT, severity=rule.severity)
