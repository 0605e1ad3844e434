"""Alerts for people: a table, what is behind them, JSON and CSV."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from monitor.alerts.lifecycle import Alert, Ended, State
from monitor.alerts.rules import Severity
from monitor.core.clock import to_iso
from monitor.core.measurement import Detail, Interval
from monitor.core.text import json_text, number, readable
from monitor.show.plain import flat, records_of
from monitor.show.words import aligned, between, iso

_HEAD = ("severity", "state", "model", "rule", "of", "window", "value", "interval", "limit", "n", "since", "")
_COLUMNS = (
    "model", "rule", "version", "segment", "window", "subject", "severity", "state", "since", "fired_at",
    "resolved_at", "reason", "value", "lower", "upper", "limit", "n", "window_end", "as_of", "verdict",
    "cause", "acknowledged",
)  # fmt: skip
_SEVERITIES = tuple(Severity)
_STATES = (State.FIRING, State.PENDING, State.RESOLVED)
_ENDED = {
    Ended.CLEARED: "clear again",
    Ended.REVISED: "taken back: the window was revised",
    Ended.NO_DATA: "no data",
    Ended.REMOVED: "the rule is gone",
    Ended.ACCEPTED: "accepted",
}


@dataclass(frozen=True, slots=True)
class ShownAlert:
    """An alert of a model, and who has seen it, with the words that were given."""

    model: str
    alert: Alert
    seen_by: str = ""


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
    causes = [(shown, cause) for shown in ordered if (cause := shown.alert.breach.cause) is not None]
    return "\n\n".join([text, *(_explained(*pair) for pair in causes if explain)])


def _line(shown: ShownAlert) -> tuple[str, ...]:
    alert = shown.alert
    series, breach = alert.series, alert.breach
    of = ", ".join(part for part in (series.version, series.segment, series.subject) if part)
    bounds = None if breach.lower is None or breach.upper is None else Interval(breach.lower, breach.upper)
    over = "" if alert.ended is None else f"{iso(alert.resolved_at)}: {_ENDED[alert.ended]}"
    return (
        alert.severity.value,
        alert.state.value,
        shown.model,
        series.rule,
        of,
        f"{series.window} to {to_iso(breach.window_end)}".strip() if series.window else "",
        number(breach.value),
        between(bounds, number),
        number(breach.limit),
        number(breach.n),
        to_iso(alert.since),
        "; ".join(part for part in (over, shown.seen_by) if part),
    )


def _explained(shown: ShownAlert, cause: Detail) -> str:
    rows = [tuple(value if isinstance(value, str) else number(value) for value in row) for row in cause.rows]
    return f"{readable(f'{shown.model}, {shown.alert.series}')}:\n{aligned([cause.columns, *rows])}"


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
