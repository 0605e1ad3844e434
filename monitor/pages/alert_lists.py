"""Lists of alerts: those that stand, and those that are over."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from monitor.alerts.alert_links import episode_parameters, page_of
from monitor.alerts.alert_phrases import alert_figures, end_reason_words, fill_annotations, rule_words
from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.core.text import readable_text
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest, zone_of
from monitor.pages.period_words import local_moment_words
from monitor.show.alert_tables import ShownAlert

_MOST = 200
_ORDER = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)
_SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLine:
    """An alert in a list, in words; `told`: when, if later than it was found; `decided`: by whom, and why."""

    model: str
    rule: str
    of: str
    severity: str
    state: str
    what: str
    action: str
    since: str
    told: str
    until: str
    decided: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertList:
    """Alerts of one model or of all."""

    model: str
    standing: tuple[AlertLine, ...]
    over: tuple[AlertLine, ...]
    left_out: int  # how many older ones are not listed
    period: str = ""  # of a report, whose alerts alone they are; empty: they are all
    # of one model: name, severity and what each judges, in words.
    rules: tuple[tuple[str, str, str], ...] = ()


def alert_list(data: PageData, asked: PageRequest, model: str | None) -> AlertList:
    """Page of the alerts of a model, or of all."""
    asked.refuse_unknown_parameters()
    alerts = data.list_alerts(model, asked.as_of, ended=True)
    listed = listed_alerts(alerts, asked, model, zone=zone_of(data, model or ""))
    return listed if model is None else replace(listed, rules=rules_of(data, model))


def rules_of(data: PageData, model: str) -> tuple[tuple[str, str, str], ...]:
    """Rules of a model as configured now, the most severe first: name, severity, what each judges."""
    rules = sorted(spec_of(data, model).rules, key=lambda rule: _SEVERITIES.index(rule.severity.value))
    return tuple((rule.name, rule.severity.value, rule_words(rule)) for rule in rules)


def listed_alerts(
    alerts: Iterable[ShownAlert],
    asked: PageRequest,
    model: str | None,
    span: tuple[int, int] | None = None,
    *,
    zone: str = "UTC",
) -> AlertList:
    """Alerts in their order: of a span those that stood in it, or are of its days.

    Parameters
    ----------
    span
        None: all.
    """
    alerts = sorted(
        (shown for shown in alerts if span is None or is_about(shown.alert, span)), key=_alert_order
    )
    over = [shown for shown in alerts if shown.alert.state is AlertState.RESOLVED]
    standing = [shown for shown in alerts if shown.alert.state is not AlertState.RESOLVED]
    return AlertList(
        model=model or "",
        standing=tuple(alert_line(asked, shown, zone) for shown in standing),
        over=tuple(alert_line(asked, shown, zone) for shown in over[:_MOST]),
        left_out=max(len(over) - _MOST, 0),
    )


def is_about(alert: Alert, span: tuple[int, int]) -> bool:
    """Whether an alert stood in a span, or was told later of windows that end in it, as late labels came."""
    told = [alert.breach, *(breach for _, breach in alert.told)] if alert.fired_at is not None else []
    return is_active_in_span(alert, span) or any(span[0] < breach.window_end <= span[1] for breach in told)


def alert_line(asked: PageRequest, shown: ShownAlert, zone: str) -> AlertLine:
    """Words of one alert."""
    alert, series = shown.alert, shown.alert.series
    return AlertLine(
        model=shown.model,
        rule=series.rule,
        of=", ".join(part for part in (series.version, series.segment, series.subject) if part),
        severity=alert.severity.value,
        state=alert.state.value,
        what=readable_text(_breach_figures(shown, zone)),
        action=_action_words(shown),
        since=local_moment_words(alert.since, zone),
        told="" if alert.fired_at in (None, alert.since) else local_moment_words(alert.fired_at, zone),
        until=""
        if alert.resolved_at is None
        else f"{local_moment_words(alert.resolved_at, zone)}, {end_reason_words(alert)}",
        decided=readable_text(shown.decisions_line(lambda at: local_moment_words(at, zone))),
        href=asked.link_to(*page_of(shown.model, series.rule), **episode_parameters(alert)),
    )


def _breach_figures(shown: ShownAlert, zone: str) -> str:
    """Figures of the newest breach; where it was told with others, those first."""
    last = alert_figures(shown.rule, shown.alert.breach)
    told = [one for one in shown.alert.told if one[0] == shown.alert.fired_at] or shown.alert.told[:1]
    first = alert_figures(shown.rule, told[0][1]) if told else last
    if first == last:
        return last
    of = shown.alert
    word = "first" if of.fired_at is None or of.severity is Severity.INFO else "told first"
    newest = local_moment_words(of.breach.window_end, zone)
    return f"{word}, {local_moment_words(told[0][0], zone)}: {first}. Last, up to {newest}: {last}"


def is_active_in_span(alert: Alert, span: tuple[int, int]) -> bool:
    """Whether an alert fired, or was pending, in a span."""
    at, over = alert.fired_at or alert.since, alert.resolved_at
    return at < span[1] and (over is None or over >= span[0])


def _action_words(shown: ShownAlert) -> str:
    """What to do; empty: nothing is said, or it is over."""
    if shown.rule is None or shown.alert.state is AlertState.RESOLVED:
        return ""
    return readable_text(fill_annotations(shown.rule, shown.alert.breach).get("action", ""))


def _alert_order(shown: ShownAlert) -> tuple[int, int, int, str]:
    alert = shown.alert
    return (_ORDER.index(alert.state), _SEVERITIES.index(alert.severity), -alert.since, str(alert.series))
