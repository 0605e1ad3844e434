"""Alerts for people: a table, what is behind them, JSON and CSV."""

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from monitor.alerts.alert_phrases import (
    alert_figures,
    alert_sentence,
    alerted_series_name,
    cause_heading,
    cause_table,
    end_reason_words,
    fill_annotations,
    place_words,
    still_firing_words,
)
from monitor.alerts.alert_rules import ACKNOWLEDGED, Rule, Severity
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.core.clock import SECOND, to_iso
from monitor.core.text import json_text, readable_text
from monitor.measures.measurement_comparison import FIGURES
from monitor.measures.measurement_row import CUMULATIVE
from monitor.sentences.effect_sentences import exact_effect_sentence
from monitor.show.plain_rows import csv_row, detail_row_dicts
from monitor.show.terminal_layout import align_columns, indent_columns
from monitor.show.terminal_words import iso_or_none, short_moment_text

_HEAD = ("severity", "state", "model", "rule", "of", "found", "")
_COLUMNS = (
    "model", "rule", "version", "segment", "window", "subject", "severity", "state", "since", "fired_at",
    "resolved_at", "reason", "value", "lower", "upper", "limit", "n", "window_end", "as_of", "verdict",
    "cause", "acknowledged", "decisions",
)  # fmt: skip
_SEVERITIES = tuple(Severity)
_STATES = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)


@dataclass(frozen=True, slots=True)
class AlertDecision:
    """What somebody decided of an alert: acknowledged, accepted (`until`, None: for ever); when, who, why."""

    at: int
    kind: str
    who: str
    why: str
    until: int | None = None

    def decision_line(self, moment: Callable[[int], str] = short_moment_text) -> str:
        """What, when, who, until when, and why: in a line; `moment` writes times."""
        until = "" if self.until is None else f" until {moment(self.until)}"
        return f"{self.kind} {moment(self.at // SECOND * SECOND)} by {self.who}{until}: {self.why}"

    def plain_decision(self) -> dict[str, str | None]:
        """Plain values, times ISO-8601 UTC."""
        until = iso_or_none(self.until)
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
    decisions: tuple[AlertDecision, ...] = ()
    odd_values: str = ""
    incident: str = ""  # address of the one that it belongs to, where that was asked for; empty: none

    @property
    def seen_by(self) -> str:
        """Who has it, with the words that were given; empty: nobody."""
        seen = [one for one in self.decisions if one.kind == ACKNOWLEDGED]
        return f"{seen[-1].who}: {seen[-1].why}" if seen else ""

    def decisions_line(self, moment: Callable[[int], str] = short_moment_text) -> str:
        """All that was decided of it, in a line; empty: nothing was."""
        return "; ".join(one.decision_line(moment) for one in self.decisions)


def plain_alert(shown_alert: ShownAlert) -> dict[str, object]:
    """One alert as plain values; times are ISO-8601 UTC, None for the whole and for what is absent."""
    alert = shown_alert.alert
    series, breach = alert.series, alert.breach
    return {
        "model": shown_alert.model,
        "rule": series.rule,
        "version": series.version or None,
        "segment": series.segment or None,
        "window": series.window or None,
        "subject": series.subject,
        "severity": alert.severity.value,
        "state": alert.state.value,
        "since": to_iso(alert.since),
        "fired_at": iso_or_none(alert.fired_at),
        "resolved_at": iso_or_none(alert.resolved_at),
        "reason": None if alert.ended is None else alert.ended.value,
        "value": breach.value,
        "lower": breach.lower,
        "upper": breach.upper,
        "limit": breach.limit,
        "n": breach.n,
        "window_end": to_iso(breach.window_end),
        "as_of": to_iso(alert.judged_at),
        "verdict": alert.verdict.outcome.value,
        "cause": None if breach.evidence_table is None else detail_row_dicts(breach.evidence_table),
        "acknowledged": shown_alert.seen_by or None,
        "decisions": [one.plain_decision() for one in shown_alert.decisions],
    }


def alerts_as_json(alerts: Iterable[ShownAlert]) -> str:
    """JSON list of alerts."""
    return json_text([plain_alert(shown_alert) for shown_alert in _order_alerts(alerts)], indent=1)


def alerts_as_csv(alerts: Iterable[ShownAlert]) -> str:
    """CSV with a header; what is behind an alert, and what was decided of it, as JSON."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for shown_alert in _order_alerts(alerts):
        plain = plain_alert(shown_alert)
        writer.writerow(csv_row(plain | {"decisions": json_text(plain["decisions"])}, "cause"))
    return out.getvalue()


def alerts_as_table(alerts: Iterable[ShownAlert], *, explain: bool = False, width: int | None = None) -> str:
    """A line for each alert, the most urgent first, and what it says; all that is behind it, if asked for."""
    ordered = _order_alerts(alerts)
    if not ordered:
        return "no alert is pending or firing"
    text = align_columns(
        [_HEAD, *(_alert_cells(shown_alert, explain=explain) for shown_alert in ordered)], width
    )
    return "\n\n".join([text, *(_explain_alert(shown_alert, width) for shown_alert in ordered if explain)])


def _alert_cells(shown_alert: ShownAlert, *, explain: bool) -> tuple[str, ...]:
    alert, series = shown_alert.alert, shown_alert.alert.series
    over = (
        ""
        if alert.ended is None
        else f"ended {short_moment_text(alert.resolved_at or 0)}, {end_reason_words(alert)}"
    )
    sentence = "" if alert.fired_at in (None, alert.since) else f"told {short_moment_text(alert.fired_at)}"
    window = (
        ""
        if series.window in ("", CUMULATIVE)
        else f"{series.window} to {short_moment_text(alert.breach.window_end)}"
    )
    says = (
        ""
        if explain
        else ": ".join(part for part in (window, alert_figures(shown_alert.rule, alert.breach)) if part)
    )
    return (
        alert.severity.value,
        alert.state.value,
        shown_alert.model,
        series.rule,
        place_words(series),
        short_moment_text(alert.since),
        "; ".join(
            part
            for part in (
                sentence,
                over,
                "" if explain else still_firing_words(alert),
                shown_alert.decisions_line(),
                says,
            )
            if part
        ),
    )


def _explain_alert(shown_alert: ShownAlert, width: int | None) -> str:
    """What an alert says, and the segments, cells or features behind it, under a heading."""
    alert, cause = shown_alert.alert, shown_alert.alert.breach.cause
    lines = [
        readable_text(
            f"{shown_alert.model}, {alerted_series_name(alert.series)}, found "
            f"{short_moment_text(alert.since)}"
        ),
        f"  {alert_sentence(shown_alert.rule, alert.series, alert.breach)}.",
    ]
    if exact := exact_effect_sentence(alert.breach.change):
        lines.append(f"  {exact}.")
    lines += [f"  It is {kept}." for kept in (still_firing_words(alert),) if kept]
    lines += [f"  {readable_text(shown_alert.odd_values)}."] if shown_alert.odd_values else []
    if cause is not None and cause.rows:
        title = "What it is compared with" if cause.columns == FIGURES else cause_heading(cause)
        lines += [
            f"  {readable_text(title)}:",
            indent_columns(cause_table(shown_alert.rule, cause), width),
        ]
    if shown_alert.rule is not None and alert.state is not AlertState.RESOLVED:
        action = fill_annotations(shown_alert.rule, alert.breach).get("action", "")
        lines += [f"  What to do: {readable_text(line)}" for line in action.split("\n") if line]
    return "\n".join(lines)


def _order_alerts(alerts: Iterable[ShownAlert]) -> list[ShownAlert]:
    return sorted(
        alerts,
        key=lambda shown_alert: (
            _STATES.index(shown_alert.alert.state),
            _SEVERITIES.index(shown_alert.alert.severity),
            shown_alert.model,
            -shown_alert.alert.since,
            shown_alert.alert.series,
        ),
    )
