"""Alerts and how models stand, as commands see them; what people decide of them. No source is opened."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from monitor.alerts.defaults import MAIN, main_window
from monitor.alerts.lifecycle import Alert, State, accepted
from monitor.alerts.rules import ACCEPTED, ACKNOWLEDGED, Accepted, read_accepted
from monitor.alerts.standing import Seen, Standing, standing
from monitor.app.model_history import Decision
from monitor.app.wiring import App
from monitor.config.judgeable import never_judged
from monitor.core.clock import to_iso
from monitor.core.errors import MonitorError
from monitor.measures.catalogue.daily import DAILY, EVIDENCE
from monitor.measures.rows import MeasurementRow
from monitor.records.reading import Task
from monitor.show.alerts import ShownAlert
from monitor.show.budget import Spent
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Event
from monitor.store import LIVE


def listed(
    app: App, *, model: str | None = None, history: bool = False, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts that are pending or firing, or, with the history, all; each with who has seen it."""
    names = set(app.names(model)) if model is None or not app.is_history(model) else {model}
    alerts = app.store.alerts(model, ended=history, as_of=as_of)
    seen = app.store.events(model, ACKNOWLEDGED)
    rules = {(spec.name, rule.name): rule for spec in app.settings.models for rule in spec.rules}
    return [
        ShownAlert(
            name,
            alert if as_of is None or history else _as_then(alert, as_of),
            _seen_by(name, alert, seen),
            rules.get((name, alert.series.rule)),
        )
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


def standings(app: App, model: str | None, now: int, as_of: int | None = None) -> list[Standing]:
    """How the configured models stand, or one of them: see `seen_models`."""
    return [standing(seen) for seen in seen_models(app, model, now, as_of)]


def seen_models(app: App, model: str | None, now: int, as_of: int | None = None) -> list[Seen]:
    """What the store knows of the configured models, or of one of them.

    Parameters
    ----------
    now
        the moment by which a model is stale; a history that is not the live one ends where it ends.
    as_of
        what was known then; None: now.
    """
    last = {name: app.store.state(name).as_of for name in app.names(model)}
    then = as_of if as_of is not None and any(as_of < (done or 0) for done in last.values()) else None
    kept = app.store.current(model) if then is None else _newest(app.store.history(model, as_of=then))
    alerts = listed(app, model=model, as_of=then)
    events = app.store.events(model, ACCEPTED)
    of_model: dict[str, list[tuple[int, MeasurementRow]]] = {name: [] for name in last}
    for name, moment, row in kept:
        of_model.get(name, []).append((moment, row))
    found = []
    for name, mine in of_model.items():
        done = last[name] if then is None else max((moment for moment, _ in mine), default=None)
        live = now if app.store.run == LIVE else (done or now)
        at = live if as_of is None else as_of
        accepted_then = read_accepted([event.detail for event in events if event.model == name], at)
        seen_by = [(shown.alert, shown.seen_by) for shown in alerts if shown.model == name]
        rows = [row for _, row in mine]
        seen = _seen(app.spec(name), rows, seen_by, accepted_then, now=at, as_of=done)
        found.append(replace(seen, past=then is not None))
    return found


def spent(app: App, model: str | None) -> list[Spent]:
    """Budgets of the configured models, or of one, and what is known of their days."""
    rows: dict[str, list[MeasurementRow]] = {name: [] for name in app.names(model)}
    for name, _, row in app.store.current(model, DAILY):
        rows.get(name, []).append(row)
    alerts = app.store.alerts(model, ended=True)
    return [
        Spent(
            model=name,
            budget=app.spec(name).budget,
            as_of=app.store.state(name).as_of,
            alerts=[
                alert for of, alert in alerts if of == name and alert.series.rule in _daily(app.spec(name))
            ],
            rows=mine,
        )
        for name, mine in rows.items()
    ]


def _daily(spec: ModelSpec) -> set[str]:
    """Names of the rules that judge days."""
    return {rule.name for rule in spec.rules if rule.measure == EVIDENCE}


def _newest(kept: Iterable[tuple[str, int, MeasurementRow]]) -> list[tuple[str, int, MeasurementRow]]:
    """Of each window, measure, … the row of the newest end."""
    newest: dict[tuple[object, ...], tuple[str, int, MeasurementRow]] = {}
    for model, moment, row in kept:
        place = (row.window, row.truth, row.version, row.segment, row.measure, row.subject, row.against)
        before = newest.get((model, *place))
        if before is None or before[2].window_end <= row.window_end:
            newest[model, *place] = (model, moment, row)
    return list(newest.values())


def _seen(
    spec: ModelSpec,
    rows: Sequence[MeasurementRow],
    alerts: Sequence[tuple[Alert, str]],
    accepted: Accepted,
    *,
    now: int,
    as_of: int | None,
) -> Seen:
    return Seen(
        model=spec.name,
        now=now,
        as_of=as_of,
        every=spec.every,
        window=main_window([window.name for window in spec.windows]),
        main=_main(spec),
        labels=spec.labels is not None,
        reference=spec.reference is not None,
        rows=rows,
        alerts=alerts,
        rules=spec.rules,
        never=dict(never_judged(spec)),
        accepted=accepted,
    )


def _as_then(alert: Alert, as_of: int) -> Alert:
    """An alert that may be over by now, in the state that it had."""
    fired = alert.fired_at is not None and alert.fired_at <= as_of
    return replace(alert, state=State.FIRING if fired else State.PENDING)


def _main(spec: ModelSpec) -> str:
    """Measure that stands for the others: that of the default rule on performance."""
    task = spec.reading.task
    return "accuracy" if task is Task.BINARY and not spec.reading.has_score else MAIN[task]


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
