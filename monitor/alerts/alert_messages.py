"""What people are told of incidents: one notice where one opens, grows or is over. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.alerts.alert_links import incident_link
from monitor.alerts.alert_phrases import (
    alert_figures,
    cause_lines,
    end_reason_words,
    fill_annotations,
    place_words,
)
from monitor.alerts.alert_rules import Rule, Severity
from monitor.alerts.incident_life import IncidentStep, IncidentTurn
from monitor.alerts.incidents import Incident, IncidentAlert, incident_words
from monitor.alerts.lifecycle import Alert, EndReason
from monitor.core.clock import to_iso
from monitor.core.text import readable_text
from monitor.measures.catalogue import BY_NAME
from monitor.sentences.known_measurements import capitalize_first, end_sentence
from monitor.sentences.time_words import day_words

PAGE = "Page: "  # begins the line of a message that links to the page of the incident's largest alert
_MOST = 10  # alerts that a text lists; the payload holds them all
_LONGEST_TITLE = 150  # characters: a line of a phone's list, and what pagers take
_OTHERWISE: dict[EndReason | None, str] = {EndReason.NO_DATA: "no data", EndReason.ACCEPTED: "accepted"}
_OWN = ("summary", "action", "runbook_url", "owner")
_URGENCY = {severity: at for at, severity in enumerate((Severity.INFO, Severity.WARNING, Severity.CRITICAL))}


@dataclass(frozen=True, slots=True)
class Recipient:
    """A channel that is told of a model's incidents: its name, and the least severity that it wants."""

    channel: str
    severity: Severity = Severity.INFO

    def wants_severity(self, severity: Severity) -> bool:
        """Whether it is told of what is so urgent.

        >>> Recipient("pager", Severity.CRITICAL).wants_severity(Severity.WARNING)
        False
        """
        return _URGENCY[severity] >= _URGENCY[self.severity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice, and the channels that it goes to."""

    incident: str  # its address; of a report a name of its own
    kind: str  # an `IncidentTurn`, or that of reports
    severity: Severity
    as_of: int
    channels: tuple[str, ...]
    # JSON: `title` and `text` for people, all else for programs. It holds no ids of records.
    payload: str


def make_notices(
    model: str,
    told: Iterable[tuple[Incident, IncidentStep]],
    recipients: Sequence[Recipient],
    at: int,
    url: str = "",
) -> tuple[Notice, ...]:
    """Notices of a cycle, one an incident.

    Parameters
    ----------
    told
        incidents that opened, grew or were over in the cycle, each with its step.
    at
        as of of the cycle.
    url
        address of the pages from outside; empty: nothing links to them.
    """
    written = []
    for incident, step in told:
        # What is over was as urgent as the worst of it; else it is as urgent as it is now.
        is_over = step.turn is IncidentTurn.RESOLVED
        severity = incident.kept.worst if is_over else incident.severity
        channels = tuple(recipient.channel for recipient in recipients if recipient.wants_severity(severity))
        if channels:
            payload = _notice_payload(model, incident, step, severity, at, url)
            notice = Notice(
                incident=incident.address,
                kind=step.turn,
                severity=severity,
                as_of=at,
                channels=channels,
                payload=payload,
            )
            written.append(notice)
    return tuple(written)


def _notice_payload(
    model: str, incident: Incident, step: IncidentStep, severity: Severity, at: int, url: str
) -> str:
    first = incident.alerts[0]
    page = {"page": incident_link(url, model, incident.address)} if url else {}
    words = incident_words(incident, at)
    first_day, last_day = incident.first_days
    return json.dumps(
        {
            "title": _notice_title(model, incident, step, severity, at),
            "text": _notice_text(incident, step, at, **page),
            **page,
            "kind": step.turn.value,
            "growth": None if step.growth is None else step.growth.value,
            "model": model,
            "incident": incident.address,
            "about": incident.kind.value,
            "severity": severity.value,
            "as_of": to_iso(at),
            "first_day": to_iso(first_day)[:10],
            "last_day": to_iso(last_day)[:10],
            "opened_at": to_iso(incident.kept.opened_at),
            "headline": words.headline,
            "next": words.next_step,
            "same_day": list(incident.same_day),
            "labels": {} if first.rule is None else dict(first.rule.labels),
            "annotations": {} if first.rule is None else fill_annotations(first.rule, first.alert.breach),
            "alerts": [_plain_alert(part.alert, part.rule) for part in incident.every_alert],
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def _plain_alert(alert: Alert, rule: Rule | None) -> dict[str, Any]:
    breach, newest, cause = alert.breach, alert.verdict, alert.breach.evidence_table
    unit = BY_NAME[rule.measure].unit.value if rule is not None and rule.measure in BY_NAME else None
    return {
        "rule": alert.series.rule,
        "measure": None if rule is None else rule.measure,
        "unit": unit,
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


def _notice_title(model: str, incident: Incident, step: IncidentStep, severity: Severity, at: int) -> str:
    """Subject line: how urgent, or that it is over; which model; what happened."""
    state = severity.value
    if step.turn is IncidentTurn.RESOLVED:
        # What ended because nothing is known any more, or was accepted, is not said to be resolved.
        why = {part.alert.ended for part in incident.every_alert}
        state = _OTHERWISE.get(next(iter(why)), "resolved") if len(why) == 1 else "resolved"
    elif step.turn is IncidentTurn.GREW:
        state = f"{state}, grew"
    title = readable_text(f"{state.capitalize()} · {model} · {incident_words(incident, at).headline}")
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"


def _notice_text(incident: Incident, step: IncidentStep, at: int, page: str = "") -> str:
    """Body of a message: plain lines that read well in any font; no name brings a line of its own.

    Headline, what it is compared with and costs, what to do, what belongs to it; the last line links to the
    page of the largest alert.
    """
    words, first = incident_words(incident, at), incident.alerts[0]
    is_over = step.turn is IncidentTurn.RESOLVED
    lines = [words.headline]
    if is_over:
        reasons = dict.fromkeys(end_reason_words(part.alert) for part in incident.every_alert)
        last = day_words(incident.kept.last_fired_at, at)
        lines = [f"Over: no alert of it has fired since {last}", f"It was: {words.headline}"]
        lines.insert(1, capitalize_first("; ".join(filter(None, reasons))))
    elif step.growth is not None:
        lines.append(capitalize_first(step.growth.value))
    lines += [words.beside] if is_over else [words.beside, words.consequence, words.also]
    lines = [end_sentence(line) for line in lines if line]
    if not is_over:
        lines.append(f"Next: {end_sentence(words.next_step)}")
    lines += ["", *_belonging_lines(incident, is_over=is_over)]
    if not is_over:
        lines += cause_lines(first.rule, [part.alert for part in incident.alerts])
        lines += _advice_lines({} if first.rule is None else fill_annotations(first.rule, first.alert.breach))
    if page:
        lines += ["", f"{PAGE}{page}"]
    return "\n".join(map(readable_text, lines)).rstrip("\n")


def _belonging_lines(incident: Incident, *, is_over: bool) -> Iterator[str]:
    """Its alerts, the largest of its kind first, and what else began that day."""
    parts = incident.every_alert
    yield "Its last alerts:" if is_over else "What belongs to it:"
    yield from (f"- {_alert_line(part, is_over=is_over)}" for part in parts[:_MOST])
    if len(parts) > _MOST:
        yield f"- and {len(parts) - _MOST} more"
    if incident.same_day and not is_over:
        yield f"The same day, perhaps another cause: {', '.join(incident.same_day)}."


def _alert_line(part: IncidentAlert, *, is_over: bool) -> str:
    """One alert: its rule, its place, the breach, and what became of it."""
    alert, figures = part.alert, alert_figures(part.rule, part.alert.breach)
    if is_over:
        recovered = alert.ended in (EndReason.CLEARED, EndReason.USUAL, EndReason.REVISED)
        now = f"now {alert_figures(part.rule, alert.verdict)}; " if recovered else ""
        figures = f"{now}it was {figures}"
    place = place_words(alert.series)
    return f"{alert.series.rule}{f' ({place})' if place else ''}: {figures}"


def _advice_lines(notes: Mapping[str, str]) -> list[str]:
    titles = {"owner": "Owner", "runbook_url": "Runbook"}
    lines = [f"{title}: {notes[name]}" for name, title in titles.items() if notes.get(name)]
    lines += [f"{name}: {value}" for name, value in notes.items() if name not in _OWN]
    return ["", *(part for line in lines for part in line.split("\n"))] if lines else []
