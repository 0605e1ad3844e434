"""Alerts for people: a table, what is behind them, JSON and CSV."""

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from monitor.alerts.lifecycle import Alert, State
from monitor.alerts.phrases import (
    annotations,
    called,
    cause_table,
    ended,
    figures,
    heading,
    place,
    said,
    still,
)
from monitor.alerts.rules import ACKNOWLEDGED, Rule, Severity
from monitor.core.clock import SECOND, to_iso
from monitor.core.measurement import Detail
from monitor.core.text import json_text, readable
from monitor.measures.against import FIGURES
from monitor.measures.rows import CUMULATIVE
from monitor.show.columns import aligned, indented
from monitor.show.plain import flat, records_of
from monitor.show.words import iso, when

_HEAD = ("severity", "state", "model", "rule", "of", "found", "")
_COLUMNS = (
    "model", "rule", "version", "segment", "window", "subject", "severity", "state", "since", "fired_at",
    "resolved_at", "reason", "value", "lower", "upper", "limit", "n", "window_end", "as_of", "verdict",
    "cause", "acknowledged", "decisions",
)  # fmt: skip
_SEVERITIES = tuple(Severity)
_STATES = (State.FIRING, State.PENDING, State.RESOLVED)


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody decided of an alert: acknowledged, accepted (`until`, None: for ever); when, who, why."""

    at: int
    kind: str
    who: str
    why: str
    until: int | None = None

    def told(self, moment: Callable[[int], str] = when) -> str:
        """What, when, who, until when, and why: in a line; `moment` writes times."""
        until = "" if self.until is None else f" until {moment(self.until)}"
        return f"{self.kind} {moment(self.at // SECOND * SECOND)} by {self.who}{until}: {self.why}"

    def plain(self) -> dict[str, str | None]:
        """Plain values, times ISO-8601 UTC."""
        until = iso(self.until)
        return {
            "at": to_iso(self.at),
            "decision": self.kind,
            "who": self.who,
            "why": self.why,
            "until": until,
        }


@dataclass(frozen=True, slots=True)
class ShownAlert:
    """An alert, its rule, if there is one, what people decided of it, and which of its values are odd."""

    model: str
    alert: Alert
    rule: Rule | None = None
    decisions: tuple[Decided, ...] = ()
    odd_values: str = ""

    @property
    def seen_by(self) -> str:
        """Who has it, with the words that were given; empty: nobody."""
        seen = [one for one in self.decisions if one.kind == ACKNOWLEDGED]
        return f"{seen[-1].who}: {seen[-1].why}" if seen else ""

    def decided(self, moment: Callable[[int], str] = when) -> str:
        """All that was decided of it, in a line; empty: nothing was."""
        return "; ".join(one.told(moment) for one in self.decisions)


def plain_alert(shown: ShownAlert) -> dict[str, object]:
    """One alert as plain values; times are ISO-8601 UTC, None for the whole and for what is absent."""
    alert = shown.alert
    series, breach = alert.series, alert.breach
    return {
        "model": shown.model,
        "rule": series.rule,
        "version": series.version or None,
        "segment": series.segment or None,
        "window": series.window or None,
        "subject": series.subject,
        "severity": alert.severity.value,
        "state": alert.state.value,
        "since": to_iso(alert.since),
        "fired_at": iso(alert.fired_at),
        "resolved_at": iso(alert.resolved_at),
        "reason": None if alert.ended is None else alert.ended.value,
        "value": breach.value,
        "lower": breach.lower,
        "upper": breach.upper,
        "limit": breach.limit,
        "n": breach.n,
        "window_end": to_iso(breach.window_end),
        "as_of": to_iso(alert.judged_at),
        "verdict": alert.verdict.outcome.value,
        "cause": None if breach.behind is None else records_of(breach.behind),
        "acknowledged": shown.seen_by or None,
        "decisions": [one.plain() for one in shown.decisions],
    }


def alerts_as_json(alerts: Iterable[ShownAlert]) -> str:
    """JSON list of alerts."""
    return json_text([plain_alert(shown) for shown in _ordered(alerts)], indent=1)


def alerts_as_csv(alerts: Iterable[ShownAlert]) -> str:
    """CSV with a header; what is behind an alert, and what was decided of it, as JSON."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for shown in _ordered(alerts):
        plain = plain_alert(shown)
        writer.writerow(flat(plain | {"decisions": json_text(plain["decisions"])}, "cause"))
    return out.getvalue()


def alerts_as_table(alerts: Iterable[ShownAlert], *, explain: bool = False, width: int | None = None) -> str:
    """A line for each alert, the most urgent first, and what it says; all that is behind it, if asked for."""
    ordered = _ordered(alerts)
    if not ordered:
        return "no alert is pending or firing"
    text = aligned([_HEAD, *(_line(shown, explain=explain) for shown in ordered)], width)
    return "\n\n".join([text, *(_explained(shown, width) for shown in ordered if explain)])


def _line(shown: ShownAlert, *, explain: bool) -> tuple[str, ...]:
    alert, series = shown.alert, shown.alert.series
    over = "" if alert.ended is None else f"ended {when(alert.resolved_at or 0)}, {ended(alert)}"
    told = "" if alert.fired_at in (None, alert.since) else f"told {when(alert.fired_at)}"
    window = (
        "" if series.window in ("", CUMULATIVE) else f"{series.window} to {when(alert.breach.window_end)}"
    )
    says = "" if explain else ": ".join(part for part in (window, figures(shown.rule, alert.breach)) if part)
    return (
        alert.severity.value,
        alert.state.value,
        shown.model,
        series.rule,
        place(series),
        when(alert.since),
        "; ".join(
            part for part in (told, over, "" if explain else still(alert), shown.decided(), says) if part
        ),
    )


def _explained(shown: ShownAlert, width: int | None) -> str:
    """What an alert says, and the segments, cells or features behind it, under a heading."""
    alert, cause = shown.alert, shown.alert.breach.cause
    lines = [
        readable(f"{shown.model}, {called(alert.series)}, found {when(alert.since)}"),
        f"  {said(shown.rule, alert.series, alert.breach)}.",
    ]
    lines += [f"  It is {kept}." for kept in (still(alert),) if kept]
    lines += [f"  {readable(shown.odd_values)}."] if shown.odd_values else []
    if cause is not None and cause.rows:
        lines += [f"  {readable(_title(cause))}:", indented(cause_table(shown.rule, cause), width)]
    if shown.rule is not None and alert.state is not State.RESOLVED:
        action = annotations(shown.rule, alert.breach).get("action", "")
        lines += [f"  What to do: {readable(line)}" for line in action.split("\n") if line]
    return "\n".join(lines)


def _title(cause: Detail) -> str:
    return "What it is compared with" if cause.columns == FIGURES else heading(cause)


def _ordered(alerts: Iterable[ShownAlert]) -> list[ShownAlert]:
    return sorted(
        alerts,
        key=lambda shown: (
            _STATES.index(shown.alert.state),
            _SEVERITIES.index(shown.alert.severity),
            shown.model,
            -shown.alert.since,
            shown.alert.series,
        ),
    )
