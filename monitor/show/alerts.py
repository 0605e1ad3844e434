"""Alerts for people: a table, what is behind them, JSON and CSV."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from monitor.alerts.lifecycle import Alert, State
from monitor.alerts.phrases import (
    cause_table,
    ended,
    heading,
    interval_in_words,
    is_difference,
    limit_in_words,
    said,
    still,
    worded,
)
from monitor.alerts.rules import Rule, Severity
from monitor.core.clock import to_iso
from monitor.core.measurement import Detail
from monitor.core.text import json_text, number, readable
from monitor.measures.against import FIGURES
from monitor.show.plain import flat, records_of
from monitor.show.words import aligned, iso

_HEAD = ("severity", "state", "model", "rule", "of", "window", "value", "interval", "limit", "n", "since", "")
_COLUMNS = (
    "model", "rule", "version", "segment", "window", "subject", "severity", "state", "since", "fired_at",
    "resolved_at", "reason", "value", "lower", "upper", "limit", "n", "window_end", "as_of", "verdict",
    "cause", "acknowledged",
)  # fmt: skip
_SEVERITIES = tuple(Severity)
_STATES = (State.FIRING, State.PENDING, State.RESOLVED)


@dataclass(frozen=True, slots=True)
class ShownAlert:
    """An alert of a model, who has seen it, with the words that were given, and its rule, if there is one."""

    model: str
    alert: Alert
    seen_by: str = ""
    rule: Rule | None = None


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
        "cause": None if breach.cause is None else records_of(breach.cause),
        "acknowledged": shown.seen_by or None,
    }


def alerts_as_json(alerts: Iterable[ShownAlert]) -> str:
    """JSON list of alerts."""
    return json_text([plain_alert(shown) for shown in _ordered(alerts)], indent=1)


def alerts_as_csv(alerts: Iterable[ShownAlert]) -> str:
    """CSV with a header; what is behind an alert as JSON."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat(plain_alert(shown), "cause") for shown in _ordered(alerts))
    return out.getvalue()


def alerts_as_table(alerts: Iterable[ShownAlert], *, explain: bool = False) -> str:
    """A line for each alert, the most urgent first; what is behind them below, if asked for."""
    ordered = _ordered(alerts)
    if not ordered:
        return "no alert is pending or firing"
    text = aligned([_HEAD, *(_line(shown) for shown in ordered)])
    return "\n\n".join([text, *(_explained(shown) for shown in ordered if explain)])


def _line(shown: ShownAlert) -> tuple[str, ...]:
    alert = shown.alert
    series, breach = alert.series, alert.breach
    of = ", ".join(part for part in (series.version, series.segment, series.subject) if part)
    over = "" if alert.ended is None else f"{iso(alert.resolved_at)}: {ended(alert)}"
    return (
        alert.severity.value,
        alert.state.value,
        shown.model,
        series.rule,
        of,
        f"{series.window} to {to_iso(breach.window_end)}".strip() if series.window else "",
        f"{'difference ' if is_difference(shown.rule) else ''}{worded(shown.rule, breach.value)}",
        interval_in_words(shown.rule, breach),
        limit_in_words(shown.rule, breach.limit),
        number(breach.n),
        to_iso(alert.since),
        "; ".join(part for part in (over, shown.seen_by) if part),
    )


def _explained(shown: ShownAlert) -> str:
    """What an alert says, and the segments, cells or features behind it, under a heading."""
    alert, cause = shown.alert, shown.alert.breach.cause
    lines = [readable(f"{shown.model}, {alert.series}"), f"  {said(shown.rule, alert.series, alert.breach)}"]
    lines += [f"  It is {kept}." for kept in (still(alert),) if kept]
    if cause is not None and cause.rows:
        table = aligned(cause_table(shown.rule, cause)).split("\n")
        lines += [f"  {readable(_title(cause))}:", *(f"    {line}" for line in table)]
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
