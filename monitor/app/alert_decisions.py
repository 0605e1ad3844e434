"""Alerts and how models stand, as commands see them; what people decide of them. No source is opened."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.backtest import Summary, backtest, newest, summaries
from monitor.alerts.defaults import main_measure, main_window
from monitor.alerts.lifecycle import Alert
from monitor.alerts.rules import (
    ACCEPTED,
    ACKNOWLEDGED,
    Accepted,
    Series,
    matches,
    standing_accepted,
)
from monitor.alerts.standing import Seen, Standing, standing
from monitor.alerts.verdicts import needed
from monitor.app.kept import KeptRun
from monitor.config.judgeable import never_judged
from monitor.config.messages import did_you_mean
from monitor.core.clock import LAST
from monitor.core.errors import ConfigurationError
from monitor.measures.catalogue.daily import DAILY, EVIDENCE
from monitor.measures.rows import CUMULATIVE, MeasurementRow
from monitor.measures.rows import newest as newest_revisions
from monitor.show.alerts import Decided, ShownAlert
from monitor.show.budget import Spent
from monitor.specs.model import ModelSpec
from monitor.specs.rows import REPLAYED, Drawn, Event
from monitor.store import LIVE
from monitor.store.adapter import SqlStore
from monitor.store.coordination.troubles import SqlTroubles

PAST = "past_log"  # kind of event: the log is of the past on purpose, as the demo's; no cycle is late


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
    past = {event.model for event in store.events(model, PAST)}

    def by_then(event: Event) -> bool:  # of a log of the past somebody decides years later, at its last cycle
        if as_of is None or event.at <= as_of:
            return True
        return event.model in past and event.kind == ACCEPTED and event.acceptance.since <= as_of

    alerts = store.alerts(model, ended=history, as_of=as_of)
    begun: dict[tuple[str, Series], list[int]] = {}
    for name, alert in alerts:
        begun.setdefault((name, alert.series), []).append(alert.since)
    known = [event for event in events if by_then(event)]
    return [
        ShownAlert(name, alert, decisions=tuple(_decisions(name, alert, begun[name, alert.series], known)))
        for name, alert in alerts
    ]


def since_text(alert: Alert) -> str:
    """Detail of an acknowledgement: of which episode it is."""
    return f'{{"since": {alert.since}}}'


def _decisions(model: str, alert: Alert, begun: Iterable[int], events: Iterable[Event]) -> Iterator[Decided]:
    """What was decided of one episode: accepted is the newest at the cycle that whoever decided had seen.

    Parameters
    ----------
    begun
        when the episodes of its series were found.
    """
    mine = [event for event in events if (event.model, event.subject) == (model, str(alert.series))]
    for event in sorted(mine, key=lambda one: one.at):
        until = None
        if event.kind == ACCEPTED:
            accepted = event.acceptance
            if alert.since != max((since for since in begun if since <= accepted.since), default=None):
                continue
            until = None if accepted.withdrawn else accepted.until
        elif event.detail != since_text(alert):
            continue
        yield Decided(event.at, event.words, event.who, event.why, until)


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
    replays = {event.model: event.at for event in kept.store.events(model, REPLAYED)}
    replayed = {name for name, until in replays.items() if until == last.get(name)}
    replaying = {} if as_of is not None else _replaying(kept, replays, last)
    heard = kept.store.last_heard() if kept.store.run == LIVE and as_of is None else {}
    worked = {name: last for name, (*_, last) in kept.store.progress().items()} if as_of is None else {}
    troubles = SqlTroubles(kept.store.engine, kept.store.run).by_model() if as_of is None else {}
    of_model: dict[str, list[tuple[int, MeasurementRow]]] = {name: [] for name in last}
    for name, moment, row in rows:
        of_model.get(name, []).append((moment, row))
    found = []
    for name, mine in of_model.items():
        done = last[name] if then is None else max((moment for moment, _ in mine), default=None)
        live = now if kept.store.run == LIVE and name not in past else (done or now)
        at = live if as_of is None else as_of
        mine_accepted = [event.acceptance for event in events if event.model == name]
        accepted_then = standing_accepted(mine_accepted, at, seen=None if then is not None else LAST)
        seen_by = [(shown.alert, shown.seen_by) for shown in alerts if shown.model == name]
        current = [row for _, row in mine]
        if then is not None and done is not None and daily_rules(kept.spec(name)):
            from monitor.app.alerts.then import with_days_then  # formulas, which the present does not need
            from monitor.app.pages.counting import counting_of

            counting = counting_of(kept.store, kept.spec(name), {})
            current = with_days_then(kept.store, kept.spec(name), counting, current, done)
        seen = _seen(kept.spec(name), current, seen_by, accepted_then, now=at, as_of=done)
        followed = name not in replayed or kept.store.run != LIVE
        seen = replace(seen, past=then is not None, followed=followed, of_past=name in past)
        seen = replace(seen, trouble=troubles.get(name), worked=worked.get(name))
        seen = replace(seen, replay_until=replaying.get(name))
        found.append(seen if seen.of_past else replace(seen, heard=heard.get(name)))
    return found


def _replaying(kept: KeptRun, replays: Mapping[str, int], last: Mapping[str, int | None]) -> dict[str, int]:
    """Where the replay that runs now will end, by model; a model whose cycles are past that is left out."""
    begun = {name: until for name, until in replays.items() if name in last and until > (last[name] or 0)}
    return begun if begun and kept.store.is_replaying(kept.settings.daemon.lease_ttl) else {}


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
                alert
                for of, alert in alerts
                if of == name and alert.series.rule in daily_rules(kept.spec(name))
            ],
            rows=mine,
        )
        for name, mine in rows.items()
    ]


def daily_rules(spec: ModelSpec) -> set[str]:
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
        main=main_measure(spec.reading.task, scored=spec.reading.has_score),
        labels=spec.labels is not None,
        reference=spec.reference is not None,
        rows=rows,
        alerts=alerts,
        rules=spec.rules,
        never=dict(never_judged(spec)),
        accepted=accepted,
    )


def refuse_rule(rule: str, names: Iterable[str]) -> None:
    """Refuse the name of a rule that there is not.

    Raises
    ------
    ConfigurationError
        with a suggestion.
    """
    names = list(names)
    if not any(matches(rule, name) for name in names):
        raise ConfigurationError([f'there is no rule "{rule}"{did_you_mean(rule, names)}'])


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
        refuse_rule(rule, (each.name for each in rules))
        rules = tuple(each for each in rules if each.name == rule)
    rows = kept.store.kept_of(model, needed(rules), span)
    alerts, judged = backtest(rules, newest(rows))
    by_name = {each.name: each for each in rules}
    shown = [ShownAlert(model, alert, rule=by_name[alert.series.rule]) for alert in alerts]
    return summaries(rules, alerts, judged, span), shown
