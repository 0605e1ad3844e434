"""What people are told of alerts: one notice for each rule that fired or ended in a cycle. Pure.

Rules on the evidence of days share a budget, and a notice: what changed together is told together.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitor.alerts.alert_links import alert_link
from monitor.alerts.alert_phrases import (
    alert_figures,
    alert_sentence,
    cause_lines,
    end_reason_words,
    fill_annotations,
    place_words,
    rule_words,
)
from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.lifecycle import Alert, AlertState, EndReason
from monitor.alerts.verdicts import excess_over_limit
from monitor.core.clock import SECOND, to_iso
from monitor.core.text import duration_text, readable_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth
from monitor.sentences.change_words import changed_subjects_sentence, follow_up_commands
from monitor.sentences.effect_sentences import change_effect_sentence
from monitor.sentences.known_measurements import FEATURE, end_sentence
from monitor.sentences.time_words import utc_moment_words as day

PAGE = "Page: "  # begins the line of a message that links to the alert's page
_NAMED = 4  # alerts of one rule that the first line names
_MOST_CHANGES = 6  # of days: with what stands around them they are a screen
_MOST = 10  # alerts of one rule that a text lists; the payload holds them all
_OTHERWISE: dict[EndReason | None, str] = {EndReason.NO_DATA: "NO DATA", EndReason.ACCEPTED: "ACCEPTED"}
_OWN = ("summary", "action", "runbook_url", "owner")
_URGENCY = {severity: at for at, severity in enumerate((Severity.INFO, Severity.WARNING, Severity.CRITICAL))}
_LABELS = {
    LabelTruth.SETTLED: "settled labels",
    LabelTruth.PROVISIONAL: "provisional labels",
    LabelTruth.NOWCAST: "nowcast: the labels so far, weighed",
}


class NoticeKind(StrEnum):
    """What a notice tells."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Recipient:
    """A channel that is told of a model's alerts: its name, and the least severity that it wants."""

    channel: str
    severity: Severity = Severity.INFO

    def wants_severity(self, severity: Severity) -> bool:
        """Whether it is told of an alert so urgent.

        >>> Recipient("pager", Severity.CRITICAL).wants_severity(Severity.WARNING)
        False
        """
        return _URGENCY[severity] >= _URGENCY[self.severity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice, and the channels that it goes to."""

    rule: str
    kind: NoticeKind
    severity: Severity
    as_of: int
    channels: tuple[str, ...]
    # JSON: `notice_title` and `notice_text` for people, all else for programs. It holds no ids of records.
    payload: str


def make_notices(
    model: str,
    rules: Iterable[Rule],
    turned: Iterable[Alert],
    standing: Iterable[Alert],
    recipients: Sequence[Recipient],
    at: int,
    url: str = "",
) -> tuple[Notice, ...]:
    """Notices of a cycle, by rule and kind; those of the evidence of days as one, the most urgent first.

    Parameters
    ----------
    rules
        of the model; an alert whose rule is gone is told of too.
    turned
        alerts that fired or were resolved in the cycle.
    standing
        those that are pending or firing after it.
    at
        as of of the cycle.
    url
        address of the pages from outside; empty: nothing links to them.
    """
    by_name = {rule.name: rule for rule in rules}
    daily = {rule.name for rule in by_name.values() if rule.measure == EVIDENCE}
    groups: dict[tuple[str, NoticeKind, str], list[Alert]] = {}
    for alert in turned:
        kind = NoticeKind.RESOLVED if alert.state is AlertState.RESOLVED else NoticeKind.FIRING
        # What changed together is told together; of other rules each has a notice of its own.
        own = (alert.series.rule, kind, alert.severity.value)
        groups.setdefault((EVIDENCE, kind, "") if alert.series.rule in daily else own, []).append(alert)
    firing = [alert for alert in standing if alert.state is AlertState.FIRING]
    written = []
    for (_, kind, _), group in sorted(groups.items()):
        group.sort(
            key=lambda alert: (-_URGENCY[alert.severity], -excess_over_limit(alert.breach), alert.series)
        )
        name, severity = group[0].series.rule, group[0].severity
        channels = tuple(recipient.channel for recipient in recipients if recipient.wants_severity(severity))
        if channels:
            turning, told = {alert.series for alert in group}, daily if name in daily else {name}
            others = sum(alert.series.rule in told and alert.series not in turning for alert in firing)
            payload = _notice_payload(model, by_name.get(name), kind, group, others, at, url)
            written.append(
                Notice(rule=name, kind=kind, severity=severity, as_of=at, channels=channels, payload=payload)
            )
    return tuple(written)


def _notice_payload(
    model: str, rule: Rule | None, kind: NoticeKind, group: Sequence[Alert], others: int, at: int, url: str
) -> str:
    first = group[0]
    page = {"page": alert_link(url, model, first)} if url else {}
    unit = BY_NAME[rule.measure].unit.value if rule is not None and rule.measure in BY_NAME else None
    return json.dumps(
        {
            "title": notice_title(model, kind, group),
            "text": notice_text(model, rule, kind, group, others, at, **page),
            **page,
            "kind": kind.value,
            "model": model,
            "rule": first.series.rule,
            "severity": first.severity.value,
            "as_of": to_iso(at),
            "measure": None if rule is None else rule.measure,
            "unit": unit,
            "others_firing": others,
            "labels": {} if rule is None else dict(rule.labels),
            "annotations": {} if rule is None else fill_annotations(rule, first.breach),
            "alerts": [_plain_alert(alert) for alert in group],
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def _plain_alert(alert: Alert) -> dict[str, Any]:
    breach, newest, cause = alert.breach, alert.verdict, alert.breach.evidence_table
    return {
        "rule": alert.series.rule,
        "severity": alert.severity.value,
        "version": alert.series.version,
        "segment": alert.series.segment,
        "window": alert.series.window,
        "subject": alert.series.subject,
        "window_end": to_iso(breach.window_end),
        "since": to_iso(alert.since),
        "fired_at": None if alert.fired_at is None else to_iso(alert.fired_at),
        "resolved_at": None if alert.resolved_at is None else to_iso(alert.resolved_at),
        "ended": None if alert.ended is None else alert.ended.value,
        "value": breach.value,
        "lower": breach.lower,
        "upper": breach.upper,
        "n": breach.n,
        "limit": breach.limit,
        "beside": breach.beside,
        "newest_value": newest.value,
        "newest_window_end": to_iso(newest.window_end),
        "cause": [] if cause is None else [dict(zip(cause.columns, row, strict=True)) for row in cause.rows],
    }


def notice_title(model: str, kind: NoticeKind, group: Sequence[Alert]) -> str:
    """Subject line: what, how urgent, where."""
    first = group[0]
    what = f"{len(group)} alerts" if len(group) > 1 else place_words(first.series)
    window = f" ({first.series.window})" if first.series.window not in ("", CUMULATIVE) else ""
    about = f", {what}" if what else ""
    if len(group) > 1 and first.breach.change is not None:
        about = f", {place_words(first.series)}".rstrip(", ") + f" and {len(group) - 1} more"
    # What ended because nothing is known any more, or was accepted, is not said to be resolved.
    why = {alert.ended for alert in group} if kind is NoticeKind.RESOLVED else set()
    word = _OTHERWISE.get(next(iter(why)), kind.value.upper()) if len(why) == 1 else kind.value.upper()
    return readable_text(f"{word} {first.severity}: {model} {first.series.rule}{about}{window}")


def notice_text(
    model: str,
    rule: Rule | None,
    kind: NoticeKind,
    group: Sequence[Alert],
    others: int,
    at: int,
    page: str = "",
) -> str:
    """Body of a message: plain lines that read well in any font; no name brings a line of its own.

    The first line says it all: which part, value, reference, limit, and what is behind it. The last one links
    to the page of the largest alert.
    """
    change = group[0].breach.change
    lines = [_first_line(rule, kind, group), ""]
    asked = "" if rule is None else f" It judges {rule_words(rule)}"
    rules = " and ".join(dict.fromkeys(alert.series.rule for alert in group))
    lines.append(f"Model {model}, rule {rules}, {group[0].severity}.{asked}")
    lines += [*_window_lines(rule, group), *_time_lines(kind, group, at)]
    if change is not None and kind is NoticeKind.FIRING:
        lines.append(changed_subjects_sentence(change, len(group)))
        lines += _effect_lines(group)
    if len(group) > 1:
        most = _MOST if change is None else _MOST_CHANGES
        lines += ["", *(f"- {_alert_line(rule, kind, alert)}" for alert in group[:most])]
        if len(group) > most:
            lines.append(f"- and {len(group) - most} more")
    if others:
        more = "more" if change is not None else "more of this rule"
        fire = "fire already" if kind is NoticeKind.FIRING else "still fire"
        lines.append(f"{others} {more} {fire}.")
    if kind is NoticeKind.FIRING:
        lines += cause_lines(rule, group)
        lines += _advice_lines({} if rule is None else fill_annotations(rule, group[0].breach))
        first = group[0].series
        looks = follow_up_commands(model, first.subject, first.segment) if change is not None else ()
        lines += [f"To see more: {look}" for look in looks]
    if page:
        lines += ["", f"{PAGE}{page}"]
    return "\n".join(map(readable_text, lines)).rstrip("\n")


def _effect_lines(group: Sequence[Alert]) -> list[str]:
    """What the features that changed do to the mean score."""
    series_changes = [(alert.series, alert.breach.change) for alert in group if not alert.series.segment]
    named = {
        series.subject.removeprefix(FEATURE): change
        for series, change in series_changes
        if change is not None and series.subject.startswith(FEATURE)
    }
    sentence = change_effect_sentence(named)
    return [end_sentence(sentence)] if sentence else []


def _first_line(rule: Rule | None, kind: NoticeKind, group: Sequence[Alert]) -> str:
    first = group[0]
    breach = "; ".join([alert_sentence(rule, first.series, first.breach), *_date_lines(first)])
    others = [place_words(alert.series) or "the whole" for alert in group[1:_NAMED]]
    others += ["…"] if len(group) > _NAMED else []
    more = f"; and {len(group) - 1} more: {', '.join(others)}" if others else ""
    if kind is NoticeKind.FIRING:
        return f"{breach}{more}."
    reasons = dict.fromkeys(end_reason_words(alert) for alert in group)
    now = f" Now {alert_figures(rule, first.verdict)}." if _has_recovered(first) else ""
    return f"Ended, {'; '.join(reasons)}.{now} It was: {breach}{more}."


def _date_lines(alert: Alert) -> Iterator[str]:
    """Which window an alert is of, and when it was found: where the first line alone is shown."""
    if alert.series.window not in ("", CUMULATIVE):
        yield f"{alert.series.window} to {day(alert.breach.window_end)}"
    yield f"found {day(alert.since)}"


def _has_recovered(alert: Alert) -> bool:
    """Whether what is known now is why the alert ended."""
    return alert.ended in (EndReason.CLEARED, EndReason.USUAL, EndReason.REVISED)


def _window_lines(rule: Rule | None, group: Sequence[Alert]) -> Iterator[str]:
    series, end = group[0].series, max(alert.breach.window_end for alert in group)
    labels = "" if rule is None or not rule.truth else f", {_LABELS[LabelTruth(rule.truth)]}"
    if rule is not None and rule.measure == EVIDENCE:
        yield f"The day up to {to_iso(end)}."
    elif series.window:
        yield f"Window {series.window} up to {to_iso(end)}{labels}."
    else:
        yield f"As of {to_iso(end)}."


def _time_lines(kind: NoticeKind, group: Sequence[Alert], at: int) -> Iterator[str]:
    since = min(alert.since for alert in group)
    # The first line says when a change began.
    if kind is NoticeKind.FIRING and group[0].breach.change is not None:
        return
    if kind is NoticeKind.FIRING:
        sentence = f" and told {_span_words(at - since)} later" if at > since else ""
        yield f"Found {to_iso(since)}{sentence}."
    else:
        yield f"Found {to_iso(since)}, ended {to_iso(at)}, {_span_words(at - since)} later."


def _alert_line(rule: Rule | None, kind: NoticeKind, alert: Alert) -> str:
    """One alert of several: its place, the breach, and what became of it."""
    line = alert_figures(rule, alert.breach)
    if kind is NoticeKind.RESOLVED:
        now = f"now {alert_figures(rule, alert.verdict)}; " if _has_recovered(alert) else ""
        line = f"{now}it was {line} ({end_reason_words(alert)})"
    return f"{place_words(alert.series) or 'the whole'}: {line}"


def _advice_lines(notes: Mapping[str, str]) -> list[str]:
    titles = {"action": "What to do", "runbook_url": "Runbook", "owner": "Owner"}
    lines = [f"{title}: {notes[name]}" for name, title in titles.items() if notes.get(name)]
    lines += [f"{name}: {value}" for name, value in notes.items() if name not in _OWN]
    return ["", *(part for line in lines for part in line.split("\n"))] if lines else []


def _span_words(microseconds: int) -> str:
    return duration_text(microseconds / SECOND)
