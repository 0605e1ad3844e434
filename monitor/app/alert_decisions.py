"""Alerts as commands see them, and what people decide of them."""

from collections.abc import Iterable

from monitor.alerts.lifecycle import Alert, State, accepted
from monitor.alerts.rules import ACCEPTED, ACKNOWLEDGED
from monitor.app.model_history import Decision
from monitor.app.wiring import App
from monitor.core.clock import to_iso
from monitor.core.errors import MonitorError
from monitor.show.alerts import ShownAlert
from monitor.specs.rows import Event


def listed(
    app: App, *, model: str | None = None, history: bool = False, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts that are pending or firing, or, with the history, all; each with who has seen it."""
    names = set(app.names(model)) if model is None or not app.is_history(model) else {model}
    alerts = app.store.alerts(model, ended=history, as_of=as_of)
    seen = app.store.events(model, ACKNOWLEDGED)
    return [
        ShownAlert(name, alert, _seen_by(name, alert, seen))
        for name, alert in alerts
        if model is not None or name in names or history
    ]


def _seen_by(model: str, alert: Alert, seen: Iterable[Event]) -> str:
    mine = [
        event
        for event in seen
        if (event.model, event.subject) == (model, str(alert.series)) and event.detail == _since(alert)
    ]
    return f"{mine[-1].who}: {mine[-1].why}" if mine else ""


def accept(app: App, decision: Decision, until: int | None, *, model: str, **of: str | None) -> str:
    """Keep that an alert's newest breach is expected; what is then judged, in words.

    Raises
    ------
    MonitorError
        if no alert of the rule stands, or several do, or it is about no window.
    """
    alert = _one(app, model, **of)
    if not alert.series.window:
        raise MonitorError(
            f"{model}: {alert.series} is about the log as it is now, no window that could become the new "
            "normal: silence it in Alertmanager, or give its rule another limit"
        )
    spec, end = app.spec(model), alert.breach.window_end
    window = next((window for window in spec.windows if window.name == alert.series.window), None)
    seen = app.store.state(spec.name).as_of or 0
    acceptance = accepted(alert, end if window is None else window.start(end), seen, until)
    event = decision.event(model, ACCEPTED, subject=str(alert.series), detail=acceptance.text())
    app.store.record([event])
    then = "for ever" if until is None else f"until {to_iso(until)}"
    judged = "no breach" if window is None else f"judged against the window that ends {to_iso(end)}"
    settled = any(rule.name == alert.series.rule and rule.truth == "settled" for rule in spec.rules)
    begins = "from the next window on that settles or is revised" if settled else "from the next cycle on"
    return f"{model}: {alert.series} is {judged} {then}, {begins}"


def acknowledge(app: App, decision: Decision, *, model: str, **of: str | None) -> str:
    """Keep that somebody looks after an alert.

    Raises
    ------
    MonitorError
        as `accept`.
    """
    alert = _one(app, model, **of)
    event = decision.event(model, ACKNOWLEDGED, subject=str(alert.series), detail=_since(alert))
    app.store.record([event])
    return (
        f"{model}: {alert.series}, {alert.state} since {to_iso(alert.since)}: {decision.who} looks after it"
    )


def _one(app: App, model: str, **of: str | None) -> Alert:
    standing = [
        alert for _, alert in app.store.alerts(app.spec(model).name) if alert.state is not State.RESOLVED
    ]
    wanted = [
        alert
        for alert in standing
        if all(value in (None, getattr(alert.series, key)) for key, value in of.items())
    ]
    if len(wanted) == 1:
        return wanted[0]
    names = ", ".join(str(alert.series) for alert in wanted or standing) or "none"
    if wanted:
        raise MonitorError(f"{len(wanted)} alerts are meant, say which by --subject, --segment: {names}")
    raise MonitorError(f'no alert of the rule "{of["rule"]}" is pending or firing; those that are: {names}')


def _since(alert: Alert) -> str:
    return f'{{"since": {alert.since}}}'
