"""What people are told of alerts: one notice for each rule that fired or ended in a cycle. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from monitor.alerts.lifecycle import Alert, Ended, State
from monitor.alerts.phrases import beyond, cause_lines, measured, worded
from monitor.alerts.rules import EVERY, Rule, Series, Severity
from monitor.alerts.verdicts import excess
from monitor.core.clock import SECOND, to_iso
from monitor.core.text import duration, readable
from monitor.measures.catalogue import BY_NAME

_MOST = 10  # alerts of one rule that a text lists; the payload holds them all
_PLACE = re.compile(r"\{(value|measure|n|limit)\}")
_OWN = ("summary", "action", "runbook_url", "owner")
_URGENCY = {severity: at for at, severity in enumerate((Severity.INFO, Severity.WARNING, Severity.CRITICAL))}
_ENDED = {
    Ended.CLEARED: "back within its limit",
    Ended.REVISED: "taken back: by what is known now, the same window was within its limit",
    Ended.NO_DATA: "no longer known: there was nothing to judge for too long. This is no all-clear",
    Ended.ACCEPTED: "expected: somebody has accepted the change",
    Ended.REMOVED: "no longer judged: its rule was removed from the configuration",
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

    def wants(self, severity: Severity) -> bool:
        """Whether it is told of an alert so urgent.

        >>> Recipient("pager", Severity.CRITICAL).wants(Severity.WARNING)
        False
        """
        return _URGENCY[severity] >= _URGENCY[self.severity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice, and the channels that it goes to.

    Parameters
    ----------
    payload
        JSON: `title` and `text` for people, all else for programs. It holds no ids of records.
    """

    rule: str
    kind: NoticeKind
    severity: Severity
    as_of: int
    channels: tuple[str, ...]
    payload: str


def notices(
    model: str,
    rules: Iterable[Rule],
    turned: Iterable[Alert],
    standing: Iterable[Alert],
    recipients: Sequence[Recipient],
    at: int,
) -> tuple[Notice, ...]:
    """Notices of a cycle, by rule and kind.

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
    """
    by_name = {rule.name: rule for rule in rules}
    groups: dict[tuple[str, NoticeKind, Severity], list[Alert]] = {}
    for alert in turned:
        kind = NoticeKind.RESOLVED if alert.state is State.RESOLVED else NoticeKind.FIRING
        groups.setdefault((alert.series.rule, kind, alert.severity), []).append(alert)
    firing = [alert for alert in standing if alert.state is State.FIRING]
    written = []
    for (name, kind, severity), group in sorted(groups.items()):
        channels = tuple(recipient.channel for recipient in recipients if recipient.wants(severity))
        if channels:
            largest = sorted(group, key=lambda alert: (-excess(alert.breach), alert.series))
            turning = {alert.series for alert in group}
            others = sum(alert.series.rule == name and alert.series not in turning for alert in firing)
            payload = _payload(model, by_name.get(name), kind, largest, others, at)
            written.append(
                Notice(rule=name, kind=kind, severity=severity, as_of=at, channels=channels, payload=payload)
            )
    return tuple(written)


def _payload(
    model: str, rule: Rule | None, kind: NoticeKind, group: Sequence[Alert], others: int, at: int
) -> str:
    first = group[0]
    unit = BY_NAME[rule.measure].unit.value if rule is not None and rule.measure in BY_NAME else None
    return json.dumps(
        {
            "title": title(model, kind, group),
            "text": text(model, rule, kind, group, others, at),
            "kind": kind.value,
            "model": model,
            "rule": first.series.rule,
            "severity": first.severity.value,
            "as_of": to_iso(at),
            "measure": None if rule is None else rule.measure,
            "unit": unit,
            "others_firing": others,
            "labels": {} if rule is None else dict(rule.labels),
            "annotations": {} if rule is None else _annotations(rule, first),
            "alerts": [_plain(alert) for alert in group],
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def _plain(alert: Alert) -> dict[str, Any]:
    breach, newest, cause = alert.breach, alert.verdict, alert.breach.cause
    return {
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
        "newest_value": newest.value,
        "newest_window_end": to_iso(newest.window_end),
        "cause": [] if cause is None else [dict(zip(cause.columns, row, strict=True)) for row in cause.rows],
    }


def title(model: str, kind: NoticeKind, group: Sequence[Alert]) -> str:
    """Subject line: what, how urgent, where."""
    first, place = group[0], _place(group[0].series)
    what = f"{len(group)} alerts" if len(group) > 1 else place
    window = f" ({first.series.window})" if first.series.window else ""
    about = f", {what}" if what else ""
    # what ended because nothing is known any more is not said to be resolved
    no_data = kind is NoticeKind.RESOLVED and {alert.ended for alert in group} == {Ended.NO_DATA}
    word = "NO DATA" if no_data else kind.value.upper()
    return readable(f"{word} {first.severity}: {model} {first.series.rule}{about}{window}")


def text(
    model: str, rule: Rule | None, kind: NoticeKind, group: Sequence[Alert], others: int, at: int
) -> str:
    """Body of a message: plain lines that read well in any font; no name brings a line of its own."""
    notes = {} if rule is None else _annotations(rule, group[0])
    lines = list(_headline(rule, kind, group, notes))
    lines += ["", f"Model {model}, rule {group[0].series.rule}, {group[0].severity}."]
    lines += [*_window(rule, group), *_times(kind, group, at), ""]
    bullet = "- " if len(group) > 1 else ""
    for alert in group[:_MOST]:
        lines.append(bullet + _line(rule, kind, alert, many=len(group) > 1))
    lines += [f"- and {len(group) - _MOST} more"] if len(group) > _MOST else []
    lines += [f"{others} more of this rule fire already."] if others and kind is NoticeKind.FIRING else []
    lines += [f"{others} more of this rule still fire."] if others and kind is NoticeKind.RESOLVED else []
    if kind is NoticeKind.FIRING:
        lines += cause_lines(rule, group)
        lines += _advice(notes)
    return "\n".join(map(readable, lines)).rstrip("\n")


def _headline(
    rule: Rule | None, kind: NoticeKind, group: Sequence[Alert], notes: Mapping[str, str]
) -> Iterator[str]:
    if kind is NoticeKind.FIRING:
        what = notes.get("summary") or measured(rule, group[0].breach)
        yield from (what if len(group) == 1 else f"{readable(_named(group[0].series))}: {what}").split("\n")
        return
    reasons = dict.fromkeys(_ENDED[alert.ended] for alert in group if alert.ended is not None)
    yield "Ended, " + "; ".join(reasons) + "."
    if rule is not None and notes.get("summary"):
        yield from f"It was: {notes['summary']}".split("\n")


def _window(rule: Rule | None, group: Sequence[Alert]) -> Iterator[str]:
    series, end = group[0].series, max(alert.breach.window_end for alert in group)
    labels = f", {rule.truth} labels" if rule is not None and rule.truth else ""
    if series.window:
        yield f"Window {series.window} up to {to_iso(end)}{labels}."
    else:
        yield f"As of {to_iso(end)}."


def _times(kind: NoticeKind, group: Sequence[Alert], at: int) -> Iterator[str]:
    since = min(alert.since for alert in group)
    if kind is NoticeKind.FIRING:
        lasting = f", {_span(at - since)} before it was told" if at > since else ""
        yield f"In breach since {to_iso(since)}{lasting}."
    else:
        yield f"In breach from {to_iso(since)} to {to_iso(at)}, {_span(at - since)}."


def _line(rule: Rule | None, kind: NoticeKind, alert: Alert, *, many: bool) -> str:
    """One alert: its place, the breach, and what became of it."""
    place, line = _named(alert.series) if many else _place(alert.series), beyond(rule, alert.breach)
    if kind is NoticeKind.RESOLVED:
        back = alert.ended in (Ended.CLEARED, Ended.REVISED)
        now = f"now {measured(rule, alert.verdict)}; " if back else ""
        why = f" ({alert.ended})" if many and alert.ended is not None else ""
        line = f"{now}it was {line}{why}"
    return f"{place}: {line}" if place else line


def _advice(notes: Mapping[str, str]) -> list[str]:
    lines = [f"What to do: {notes['action']}"] if notes.get("action") else []
    lines += [f"Runbook: {notes['runbook_url']}"] if notes.get("runbook_url") else []
    lines += [f"Owner: {notes['owner']}"] if notes.get("owner") else []
    lines += [f"{name}: {value}" for name, value in notes.items() if name not in _OWN]
    return ["", *(part for line in lines for part in line.split("\n"))] if lines else []


def _annotations(rule: Rule, alert: Alert) -> dict[str, str]:
    """Annotations of a rule, with {value}, {measure}, {n} and {limit} of the breach filled in."""
    breach = alert.breach
    filled = {
        "value": worded(rule, breach.value),
        "measure": rule.measure,
        "n": f"{breach.n:,}",
        "limit": worded(rule, breach.limit),
    }
    return {name: _PLACE.sub(lambda place: filled[place[1]], value) for name, value in rule.annotations}


def _place(series: Series) -> str:
    """Which part of the model; empty: the whole."""
    subject = "" if series.subject.endswith(EVERY) else series.subject
    version = f"version {series.version}" if series.version else ""
    return ", ".join(part for part in (subject, version, series.segment) if part)


def _named(series: Series) -> str:
    return _place(series) or "the whole"


def _span(microseconds: int) -> str:
    return duration(microseconds / SECOND)
