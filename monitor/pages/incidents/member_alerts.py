"""Alerts of an incident, each with how it is judged: what a page says of a single alert."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_links import alert_anchor
from monitor.alerts.alert_phrases import (
    alert_figures,
    alert_sentence,
    cause_table,
    end_reason_words,
    fill_annotations,
    rule_words,
    still_firing_words,
)
from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import AlertState
from monitor.alerts.model_summary import changed_what_words, usual_and_now_words
from monitor.alerts.verdicts import COUNTED
from monitor.core.clock import to_iso
from monitor.core.text import readable_text
from monitor.exposition.forwarding import is_reachable_address, runbook_section
from monitor.measures.measure_options import FEATURE
from monitor.measures.value_words import format_measure_value
from monitor.pages.alert_lists import link_alert
from monitor.pages.incidents.incident_decisions import FoundIncident, name_member
from monitor.pages.page_request import PageLink, PageRequest
from monitor.sentences.change_words import is_against_scores, outcomes_sentence
from monitor.sentences.known_measurements import end_sentence, readable_name
from monitor.sentences.time_words import local_moment_words
from monitor.show.alert_tables import ShownAlert

_MOST_CAUSES, _MOST_EARLIER = 12, 6
_DIFFERENCE = re.compile(r" \([+−][^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """An alert of the incident, and how it is judged."""

    anchor: str
    name: str
    icon: str  # critical, warning, none; ok: it is over
    what: str
    state: str  # of one that is over: why and when
    facts: tuple[tuple[str, str], ...]  # title and text
    features: tuple[PageLink, ...]
    cause: tuple[tuple[str, ...], ...]  # lines of a table, the headings first
    earlier: tuple[PageLink, ...]  # episodes of the same series before, each in its incident
    links: tuple[PageLink, ...]
    commands: tuple[str, ...]  # that decide on it alone


def list_member_rows(
    request: PageRequest, found: FoundIncident, every: Sequence[ShownAlert], zone: str
) -> Iterator[MemberRow]:
    """Alerts of the incident, those that fire first, the largest first.

    `every`: all alerts of the model.
    """
    order = {(part.alert.series, part.alert.since): at for at, part in enumerate(found.incident.every_alert)}
    last = len(order)
    ranked = sorted(
        found.shown,
        key=lambda one: (
            one.alert.state is AlertState.RESOLVED,
            order.get((one.alert.series, one.alert.since), last),
        ),
    )
    for shown in ranked:
        alert, series = shown.alert, shown.alert.series
        state = ""
        if alert.resolved_at is not None:
            state = f"{end_reason_words(alert)}, {local_moment_words(alert.resolved_at, zone)}"
        cause = alert.breach.cause
        table = [] if cause is None or not cause.rows else cause_table(shown.rule, cause)
        icon = "none" if alert.severity is Severity.INFO else alert.severity.value
        yield MemberRow(
            anchor=alert_anchor(series, alert.since),
            name=name_member(shown),
            icon="ok" if alert.state is AlertState.RESOLVED else icon,
            what=readable_text(_member_words(shown)),
            state=readable_text(state),
            facts=tuple((title, readable_text(text)) for title, text in _list_facts(shown, zone) if text),
            features=tuple(_feature_links(request, shown)),
            cause=tuple(table[: _MOST_CAUSES + 1]),
            earlier=tuple(_earlier_links(request, shown, every, zone)),
            links=(
                PageLink(
                    "As known then",
                    request.link_to("models", found.model, as_of=to_iso(alert.judged_at)),
                    False,
                ),
                PageLink("Runbook", runbook_address(request, shown), False),
            ),
            commands=tuple(_list_commands(shown)),
        )


def runbook_address(request: PageRequest, shown: ShownAlert) -> str:
    """What the rule names, else its section of our own."""
    alert, rule = shown.alert, shown.rule
    own = "" if rule is None else fill_annotations(rule, alert.breach).get("runbook_url", "")
    if is_reachable_address(own):
        return own
    return f"{request.link_to('runbook')}#{runbook_section(alert.series.rule)}"


def _list_facts(shown: ShownAlert, zone: str) -> Iterator[tuple[str, str]]:
    """What is known of an alert, under titles."""
    alert, rule = shown.alert, shown.rule
    yield "Checked", end_sentence(alert_sentence(rule, alert.series, alert.breach))
    yield "Now", still_firing_words(alert)
    fired = (
        "" if alert.fired_at in (None, alert.since) else f", fired {local_moment_words(alert.fired_at, zone)}"
    )
    yield "Found", local_moment_words(alert.since, zone) + fired
    yield "Decided", shown.decisions_line(lambda at: local_moment_words(at, zone))
    yield "Rule", "" if rule is None else f"{alert.series.rule}: {end_sentence(rule_words(rule))}"


def _feature_links(request: PageRequest, shown: ShownAlert) -> Iterator[PageLink]:
    """Pages of the features that the alert is about, on the day or in the window of its newest breach."""
    series, breach = shown.alert.series, shown.alert.breach
    names = [series.subject] if series.subject.startswith(FEATURE) and "*" not in series.subject else []
    if breach.cause is not None and breach.cause.columns == COUNTED:
        names += [str(row[0]) for row in breach.cause.rows[:_MOST_CAUSES]]
    for name in dict.fromkeys(names):
        bare = name.removeprefix(FEATURE)
        end = to_iso(breach.window_end) if breach.change is not None else None
        href = request.link_to("models", shown.model, "feature", name=bare, end=end)
        yield PageLink(readable_name(bare), href, False)


def _earlier_links(
    request: PageRequest, shown: ShownAlert, every: Sequence[ShownAlert], zone: str
) -> Iterator[PageLink]:
    """Earlier episodes of its series, the newest first, each in its incident."""
    earlier = [
        one for one in every if one.alert.series == shown.alert.series and one.alert.since < shown.alert.since
    ]
    for one in sorted(earlier, key=lambda one: -one.alert.since)[:_MOST_EARLIER]:
        yield PageLink(local_moment_words(one.alert.since, zone), link_alert(request, one), False)


def _list_commands(shown: ShownAlert) -> Iterator[str]:
    """What to type to decide on it alone, while it stands."""
    series = shown.alert.series
    if shown.alert.state is AlertState.RESOLVED:
        return
    named = ["--model", shown.model, "--rule", series.rule]
    for option, value in (
        ("--subject", series.subject),
        ("--segment", series.segment),
        ("--model-version", series.version),
    ):
        named += [option, value] if value else []
    yield f"monitor alerts ack {shlex.join(named)} --by NAME --why WHY"
    if series.window:
        yield f"monitor alerts accept {shlex.join(named)} --by NAME --why WHY"


def _member_words(shown: ShownAlert) -> str:
    """What is judged, and what it was when it fired last."""
    breach, rule = shown.alert.breach, shown.rule
    if breach.change is not None and is_against_scores(breach.change):
        return outcomes_sentence(breach.change)
    if breach.change is not None:
        usual, now = usual_and_now_words(breach.change)
        beside = f", usually {usual}" if usual and now else ""
        # The name says what it is of where there is no subject, the figures where they are of a category.
        says_it = not shown.alert.series.subject or (breach.change.category and now)
        what = "" if says_it else changed_what_words(breach.change)
        return f"{what} {_DIFFERENCE.sub('', now)}{beside}".strip()
    if (
        rule is None
        or breach.value is None
        or breach.limit is None
        or (rule.against and breach.beside is None)
    ):
        return alert_figures(rule, breach)
    more = (breach.beside or 0.0) if rule.against else 0.0
    value, limit = (format_measure_value(rule.measure, one + more) for one in (breach.value, breach.limit))
    side = "below" if rule.condition.below is not None else "above"
    return f"{value}; alert {side} {limit}"
