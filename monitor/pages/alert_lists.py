"""Lists of alerts: those that stand, and those that are over."""

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.alerts.alert_links import alert_page_path, episode_parameters
from monitor.alerts.alert_phrases import alert_figures, end_reason_words, fill_annotations, rule_words
from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import AlertState
from monitor.core.text import readable_text
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
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


def describe_rules(data: PageData, model: str) -> tuple[tuple[str, str, str], ...]:
    """Rules of a model as configured now, the most severe first: name, severity, what each judges."""
    rules = sorted(spec_of(data, model).rules, key=lambda rule: _SEVERITIES.index(rule.severity.value))
    return tuple((rule.name, rule.severity.value, rule_words(rule)) for rule in rules)


def sort_alerts(alerts: Iterable[ShownAlert]) -> list[ShownAlert]:
    """Those that fire first, the most severe first, the newest first."""
    return sorted(alerts, key=_alert_order)


def make_alert_line(request: PageRequest, shown_alert: ShownAlert, zone: str) -> AlertLine:
    """Words of one alert."""
    alert, series = shown_alert.alert, shown_alert.alert.series
    return AlertLine(
        model=shown_alert.model,
        rule=series.rule,
        of=", ".join(part for part in (series.version, series.segment, series.subject) if part),
        severity=alert.severity.value,
        state=alert.state.value,
        what=readable_text(_breach_words(shown_alert, zone)),
        action=_action_words(shown_alert),
        since=local_moment_words(alert.since, zone),
        told="" if alert.fired_at in (None, alert.since) else local_moment_words(alert.fired_at, zone),
        until=""
        if alert.resolved_at is None
        else f"{local_moment_words(alert.resolved_at, zone)}, {end_reason_words(alert)}",
        decided=readable_text(shown_alert.decisions_line(lambda at: local_moment_words(at, zone))),
        href=request.link_to(*alert_page_path(shown_alert.model, series.rule), **episode_parameters(alert)),
    )


def _breach_words(shown_alert: ShownAlert, zone: str) -> str:
    """Figures of the newest breach; where it was told with others, those first."""
    last = alert_figures(shown_alert.rule, shown_alert.alert.breach)
    told = [
        one for one in shown_alert.alert.told if one[0] == shown_alert.alert.fired_at
    ] or shown_alert.alert.told[:1]
    first = alert_figures(shown_alert.rule, told[0][1]) if told else last
    if first == last:
        return last
    of = shown_alert.alert
    word = "first" if of.fired_at is None or of.severity is Severity.INFO else "fired first"
    newest = local_moment_words(of.breach.window_end, zone)
    return f"{word}, {local_moment_words(told[0][0], zone)}: {first}. Last, up to {newest}: {last}"


def _action_words(shown_alert: ShownAlert) -> str:
    """What to do; empty: nothing is said, or it is over."""
    if shown_alert.rule is None or shown_alert.alert.state is AlertState.RESOLVED:
        return ""
    return readable_text(fill_annotations(shown_alert.rule, shown_alert.alert.breach).get("action", ""))


def _alert_order(shown_alert: ShownAlert) -> tuple[int, int, int, str]:
    alert = shown_alert.alert
    return (_ORDER.index(alert.state), _SEVERITIES.index(alert.severity), -alert.since, str(alert.series))
