"""Lists of alerts: those that stand, and those that are over."""

from collections.abc import Iterable
from dataclasses import dataclass

from monitor.alerts.alert_links import alert_anchor, incident_page_path
from monitor.alerts.alert_phrases import alert_figures, end_reason_words, rule_words
from monitor.alerts.alert_rules import Severity
from monitor.alerts.lifecycle import AlertState
from monitor.core.errors import AddressError
from monitor.core.text import readable_text
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import PageData, PageRequest
from monitor.sentences.time_words import local_moment_words
from monitor.show.alert_tables import ShownAlert

_ORDER = (AlertState.FIRING, AlertState.PENDING, AlertState.RESOLVED)
OF_ONE = ("since", "subject", "segment", "version")  # parameters that name an alert of a rule
_SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLine:
    """An alert in a list, in words; `decided`: by whom, and why."""

    model: str
    rule: str
    of: str
    severity: str
    state: str
    what: str
    since: str
    until: str
    decided: str
    href: str


def find_alert_address(data: PageData, request: PageRequest, name: str, rule: str) -> str:
    """Address of the newest alert that is meant by its rule, on the page of its incident.

    Of one that belongs to no incident that of the list.

    Raises
    ------
    AddressError
        404, if there is no such alert.
    """
    request.refuse_unknown_parameters(*OF_ONE)
    alerts = data.list_alerts(spec_of(data, name).name, request.as_of)
    given = {key: request.query[key] for key in OF_ONE[1:] if key in request.query}
    meant = [
        one
        for one in alerts
        if one.alert.series.rule == rule
        and all(getattr(one.alert.series, key) == value for key, value in given.items())
        and request.query.get("since") in (None, str(one.alert.since))
    ]
    if not meant:
        fired = ", ".join(sorted({one.alert.series.rule for one in alerts})) or "none has fired"
        raise AddressError(f'there is no such alert of the rule "{rule}"; alerts are of: {fired}', 404)
    newest = max(meant, key=lambda one: one.alert.since)
    return link_alert(request, newest) or request.link_to("models", name, "alerts")


def describe_rules(data: PageData, model: str) -> tuple[tuple[str, str, str], ...]:
    """Rules of a model as configured now, the most severe first: name, severity, what each judges."""
    rules = sorted(spec_of(data, model).rules, key=lambda rule: _SEVERITIES.index(rule.severity.value))
    return tuple((rule.name, rule.severity.value, rule_words(rule)) for rule in rules)


def sort_alerts(alerts: Iterable[ShownAlert]) -> list[ShownAlert]:
    """Those that fire first, the most severe first, the newest first."""
    return sorted(alerts, key=_alert_order)


def link_alert(request: PageRequest, shown_alert: ShownAlert) -> str:
    """Where an alert stands on the page of its incident; "": it belongs to none."""
    if not shown_alert.incident:
        return ""
    anchor = alert_anchor(shown_alert.alert.series, shown_alert.alert.since)
    return f"{request.link_to(*incident_page_path(shown_alert.model, shown_alert.incident))}#{anchor}"


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
        since=local_moment_words(alert.since, zone),
        until=""
        if alert.resolved_at is None
        else f"{local_moment_words(alert.resolved_at, zone)}, {end_reason_words(alert)}",
        decided=readable_text(shown_alert.decisions_line(lambda at: local_moment_words(at, zone))),
        href=link_alert(request, shown_alert),
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


def _alert_order(shown_alert: ShownAlert) -> tuple[int, int, int, str]:
    alert = shown_alert.alert
    return (_ORDER.index(alert.state), _SEVERITIES.index(alert.severity), -alert.since, str(alert.series))
