"""Alerts and how models stand, as commands see them; what people decide of them. No source is opened."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.backtest import Summary, backtest, newest, summaries
from monitor.alerts.defaults import MAIN, main_window
from monitor.alerts.lifecycle import Alert, Ended, State, accepted
from monitor.alerts.phrases import called
from monitor.alerts.rules import ACCEPTED, ACKNOWLEDGED, EVERY, Accepted, Series, matches, read_accepted
from monitor.alerts.standing import Seen, Standing, standing
from monitor.alerts.verdicts import needed
from monitor.app.kept import KeptRun
from monitor.config.judgeable import never_judged
from monitor.config.messages import did_you_mean
from monitor.core.clock import format_duration, to_iso
from monitor.core.errors import ConfigurationError, MonitorError
from monitor.core.text import json_text, number
from monitor.measures.catalogue.daily import DAILY, EVIDENCE
from monitor.measures.rows import CUMULATIVE, MeasurementRow
from monitor.measures.rows import newest as newest_revisions
from monitor.records.reading import Task
from monitor.show.alerts import Decided, ShownAlert, alerts_as_table, plain_alert
from monitor.show.budget import Spent
from monitor.show.columns import aligned
from monitor.show.words import when
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn, Event
from monitor.store import LIVE
from monitor.store.adapter import SqlStore
from monitor.store.damage import understood

PAST = "past_log"  # kind of event: the log is of the past on purpose, as the demo's; no cycle is late
REPLAYED = "replayed"  # kind of event: up to here cycles were a replay's, and nobody follows the log yet
_HEAD = ("rule", "judged", "fired", "per 30 days", "firing in all", "longest", "")


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided, when (microseconds), and why."""

    at: int
    who: str
    why: str = ""

    def event(self, model: str, kind: str, *, subject: str = "", detail: str = "{}") -> Event:
        """What the store keeps of it."""
        return Event(
            model=model, at=self.at, kind=kind, subject=subject, who=self.who, why=self.why, detail=detail
        )


def listed(
    kept: KeptRun, *, model: str | None = None, history: bool = False, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts that are pending or firing, or, with the history, all: see `shown_alerts`."""
    names = set(kept.names(model)) if model is None or not kept.is_history(model) else {model}
    rules = {(spec.name, rule.name): rule for spec in kept.settings.models for rule in spec.rules}
    return [
        replace(shown, rule=rules.get((shown.model, shown.alert.series.rule)))
        for shown in shown_alerts(kept.store, model, history=history, as_of=as_of)
        if model is not None or shown.model in names or history
    ]


def shown_alerts(
    store: SqlStore, model: str | None, *, history: bool, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts of a store, each with who has seen it; as of a moment in the state that they had then."""
    events = [*store.events(model, ACKNOWLEDGED), *store.events(model, ACCEPTED)]
    known = [event for event in events if as_of is None or event.at <= as_of]
    alerts = store.alerts(model, ended=history, as_of=as_of)
    begun: dict[tuple[str, Series], list[int]] = {}
    for name, alert in alerts:
        begun.setdefault((name, alert.series), []).append(alert.since)
    with understood("table events, decisions on alerts"):
        return [
            ShownAlert(
                name, alert, decisions=tuple(_decisions(name, alert, begun[name, alert.series], known))
            )
            for name, alert in alerts
        ]


def _decisions(model: str, alert: Alert, begun: Iterable[int], events: Iterable[Event]) -> Iterator[Decided]:
    """What was decided of one episode: accepted is the newest at the cycle that whoever decided had seen.

    Parameters
    ----------
    begun
        when the episodes of its series were found.
    """
    mine = [event for event in events if (event.model, event.subject) == (model, str(alert.series))]
    for event in sorted(mine, key=lambda one: one.at):
        found, until = json.loads(event.detail), None
        if event.kind == ACCEPTED:
            until = found["until"]
            if alert.since != max((since for since in begun if since <= found["since"]), default=None):
                continue
        elif event.detail != _since(alert):
            continue
        yield Decided(event.at, event.kind, event.who, event.why, until)


def standings(kept: KeptRun, model: str | None, now: int, as_of: int | None = None) -> list[Standing]:
    """How the configured models stand, or one of them: see `seen_models`."""
    return [standing(seen) for seen in seen_models(kept, model, now, as_of)]


def seen_models(kept: KeptRun, model: str | None, now: int, as_of: int | None = None) -> list[Seen]:
    """What the store knows of the configured models, or of one of them.

    Parameters
    ----------
    now
        the moment by which a model is stale; a history of a past log, or another run's, ends where it ends.
    as_of
        what was known then; None: now.
    """
    last = {name: kept.store.state(name).as_of for name in kept.names(model)}
    then = as_of if as_of is not None and any(as_of < (done or 0) for done in last.values()) else None
    rows = kept.store.current(model) if then is None else _newest(_known_then(kept, last, then))
    alerts = listed(kept, model=model, as_of=then)
    events = kept.store.events(model, ACCEPTED)
    past = {event.model for event in kept.store.events(model, PAST)}
    replayed = {
        event.model for event in kept.store.events(model, REPLAYED) if event.at == last.get(event.model)
    }
    of_model: dict[str, list[tuple[int, MeasurementRow]]] = {name: [] for name in last}
    for name, moment, row in rows:
        of_model.get(name, []).append((moment, row))
    found = []
    for name, mine in of_model.items():
        done = last[name] if then is None else max((moment for moment, _ in mine), default=None)
        live = now if kept.store.run == LIVE and name not in past else (done or now)
        at = live if as_of is None else as_of
        accepted_then = read_accepted([event.detail for event in events if event.model == name], at)
        seen_by = [(shown.alert, shown.seen_by) for shown in alerts if shown.model == name]
        seen = _seen(kept.spec(name), [row for _, row in mine], seen_by, accepted_then, now=at, as_of=done)
        followed = name not in replayed or kept.store.run != LIVE
        found.append(replace(seen, past=then is not None, followed=followed))
    return found


def spent(kept: KeptRun, model: str | None) -> list[Spent]:
    """Budgets of the configured models, or of one, and what is known of their days."""
    rows: dict[str, list[MeasurementRow]] = {name: [] for name in kept.names(model)}
    for name, _, row in kept.store.current(model, DAILY):
        rows.get(name, []).append(row)
    alerts = kept.store.alerts(model, ended=True)
    return [
        Spent(
            model=name,
            budget=kept.spec(name).budget,
            as_of=kept.store.state(name).as_of,
            alerts=[
                alert for of, alert in alerts if of == name and alert.series.rule in _daily(kept.spec(name))
            ],
            rows=mine,
        )
        for name, mine in rows.items()
    ]


def _daily(spec: ModelSpec) -> set[str]:
    """Names of the rules that judge days."""
    return {rule.name for rule in spec.rules if rule.measure == EVIDENCE}


def _known_then(run: KeptRun, names: Iterable[str], then: int) -> Iterator[tuple[str, int, MeasurementRow]]:
    """(model, as of, row) of what was newest then: of each window the last end, and the last settled one.

    To read all that was kept by then took 10 seconds of a model with a year of days, these 0.1.
    """
    for name in names:
        ends: dict[str, dict[bool, int]] = {}
        for state in run.store.windows(name, 0):
            settled = state.settled_as_of is not None and state.settled_as_of <= then
            for of_settled in {False, settled} if state.first_as_of <= then else ():
                newest_end = ends.setdefault(state.window, {})
                newest_end[of_settled] = max(state.end, newest_end.get(of_settled, 0))
        spans = [(window, end - 1, end) for window, of in ends.items() for end in set(of.values())]
        for window, after, until in (*spans, (CUMULATIVE, 0, then)):
            which = Drawn(
                window=window, after=after, until=until, as_of=then, segment=None, version=None, details=True
            )
            for kept, row in newest_revisions(run.store.drawn(name, which)):
                yield name, kept, row


def _newest(kept: Iterable[tuple[str, int, MeasurementRow]]) -> list[tuple[str, int, MeasurementRow]]:
    """Of each window, measure, … the row of the newest end."""
    last: dict[tuple[object, ...], tuple[str, int, MeasurementRow]] = {}
    for model, moment, row in kept:
        place = (row.window, row.truth, row.version, row.segment, row.measure, row.subject, row.against)
        before = last.get((model, *place))
        if before is None or before[2].window_end <= row.window_end:
            last[model, *place] = (model, moment, row)
    return list(last.values())


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
        main=main_measure(spec),
        labels=spec.labels is not None,
        reference=spec.reference is not None,
        rows=rows,
        alerts=alerts,
        rules=spec.rules,
        never=dict(never_judged(spec)),
        accepted=accepted,
    )


def main_measure(spec: ModelSpec) -> str:
    """Measure that stands for the others: that of the default rule on performance."""
    task = spec.reading.task
    return "accuracy" if task is Task.BINARY and not spec.reading.has_score else MAIN[task]


def accept(
    kept: KeptRun, decision: Decision, until: int | None, *, model: str, **of: str | None
) -> list[str]:
    """Keep that alerts' newest breaches are expected; what is then judged, in words: a line each.

    Raises
    ------
    MonitorError
        if no alert of the rule stands, if several do and no pattern means them, or if one is about no window.
    """
    meant = _meant(kept, model, of, lasting=True)
    accepting = [_accepting(kept, decision, until, model, alert) for alert in meant]
    kept.store.record([event for event, _ in accepting])
    return [text for _, text in accepting]


def _accepting(
    kept: KeptRun, decision: Decision, until: int | None, model: str, alert: Alert
) -> tuple[Event, str]:
    """The event that accepts an alert, and what is then judged."""
    if not alert.series.window:
        raise MonitorError(
            f"{model}: {alert.series} is about the log as it is now, no window that could become the new "
            "normal: silence it in Alertmanager, or give its rule another limit"
        )
    spec, end = kept.spec(model), alert.breach.window_end
    window = next((window for window in spec.windows if window.name == alert.series.window), None)
    seen = kept.store.state(spec.name).as_of or 0
    acceptance = accepted(alert, end if window is None else window.start(end), seen, until)
    event = decision.event(model, ACCEPTED, subject=str(alert.series), detail=acceptance.text())
    rules = [rule for rule in spec.rules if rule.name == alert.series.rule]
    if alert.series.rule in _daily(spec):
        return event, (
            f"{model}: {called(alert.series)} is accepted. From the next cycle on its days are what is "
            "expected; a later change is told anew."
        )
    settled = any(rule.truth == "settled" for rule in rules)
    begins = "From the next window on that settles or is revised" if settled else "From the next cycle on"
    judged = "no breach" if window is None else f"judged by the window that ends {when(end)}"
    again = "This does not end by itself: to end it, accept again with --until"
    ends = again if until is None else f"This ends at {when(until)}"
    return event, f"{model}: {called(alert.series)} is accepted. {begins} it is {judged}. {ends}."


def acknowledge(kept: KeptRun, decision: Decision, *, model: str, **of: str | None) -> list[str]:
    """Keep that somebody looks after alerts; a line each.

    Raises
    ------
    MonitorError
        as `accept`.
    """
    meant, who = _meant(kept, model, of), decision.who
    kept.store.record(
        [
            decision.event(model, ACKNOWLEDGED, subject=str(alert.series), detail=_since(alert))
            for alert in meant
        ]
    )
    return [
        f"{model}: {called(alert.series)}, found {when(alert.since)}, is acknowledged by {who}. It fires on."
        for alert in meant
    ]


def _meant(kept: KeptRun, model: str, of: Mapping[str, str | None], *, lasting: bool = False) -> list[Alert]:
    """The alert that is meant, or all of a pattern; `lasting`: also of changes that have not gone back."""
    kept_ones = kept.store.alerts(kept.spec(model).name, ended=lasting)
    newest = {alert.series: alert for _, alert in sorted(kept_ones, key=lambda pair: pair[1].since)}
    standing = [
        alert for alert in newest.values() if alert.state is not State.RESOLVED or alert.ended is Ended.USUAL
    ]
    given = {key: value for key, value in of.items() if value is not None}
    wanted = [
        alert
        for alert in standing
        if all(matches(value, getattr(alert.series, key)) for key, value in given.items())
    ]
    if len(wanted) == 1 or (wanted and any(value.endswith(EVERY) for value in given.values())):
        return wanted
    names = ", ".join(str(alert.series) for alert in wanted or standing) or "none"
    if wanted:
        raise MonitorError(f"{len(wanted)} alerts are meant, say which by --subject, --segment: {names}")
    asked = ", ".join(f'{key} "{value}"' for key, value in given.items())
    raise MonitorError(f"no alert of the {asked} is pending or firing; those that are: {names}")


def _since(alert: Alert) -> str:
    return f'{{"since": {alert.since}}}'


def tried(
    kept: KeptRun, model: str, rule: str | None, span: tuple[int, int]
) -> tuple[list[Summary], list[ShownAlert]]:
    """How rules would have done, and each alert that would have fired.

    Raises
    ------
    ConfigurationError
        if the model has no such rule.
    """
    rules = kept.spec(model).rules
    if rule is not None:
        names = [each.name for each in rules]
        if rule not in names:
            raise ConfigurationError([f'there is no rule "{rule}"{did_you_mean(rule, names)}'])
        rules = tuple(each for each in rules if each.name == rule)
    rows = kept.store.kept_of(model, needed(rules), span)
    alerts, judged = backtest(rules, newest(rows))
    by_name = {each.name: each for each in rules}
    shown = [ShownAlert(model, alert, rule=by_name[alert.series.rule]) for alert in alerts]
    return summaries(rules, alerts, judged, span), shown


def as_report(summed: list[Summary], alerts: list[ShownAlert], width: int | None = None) -> str:
    """Tables: a line for each rule, a line for each alert."""
    text = aligned([_HEAD, *(_line(summary) for summary in summed)], width)
    return f"{text}\n\n{alerts_as_table(alerts, width=width)}" if alerts else text


def _line(summary: Summary) -> tuple[str, ...]:
    silent = (
        "" if summary.judged else "nothing kept to judge: figures of the log itself are not kept by window"
    )
    times = (format_duration(summary.firing), format_duration(summary.longest)) if summary.fired else ("", "")
    return (
        summary.rule,
        number(summary.judged),
        number(summary.fired),
        number(round(summary.per_month, 2)),
        *times,
        silent,
    )


def as_plain(model: str, summed: list[Summary], alerts: list[ShownAlert], span: tuple[int, int]) -> str:
    """JSON of both."""
    rules = [
        {
            "rule": summary.rule,
            "judged": summary.judged,
            "fired": summary.fired,
            "per_30_days": summary.per_month,
            "firing_seconds": summary.firing / 1e6,
            "longest_seconds": summary.longest / 1e6,
        }
        for summary in summed
    ]
    shown = [plain_alert(alert) for alert in alerts]
    start, end = map(to_iso, span)
    return json_text({"model": model, "from": start, "to": end, "rules": rules, "alerts": shown}, indent=1)
