"""Alerts and how models stand, as commands see them; what people decide of them. No source is opened."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import (
    ACCEPTED,
    ACKNOWLEDGED,
    Accepted,
    AlertedSeries,
    matches_pattern,
    select_standing_acceptances,
)
from monitor.alerts.incident_words import told_headline
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding, judge_standing
from monitor.alerts.rule_backtest import (
    BacktestSummary,
    backtest_rules,
    skip_superseded_rows,
    summarize_rules,
)
from monitor.alerts.verdicts import rule_measures
from monitor.app.kept_run import KeptRun
from monitor.config.unjudgeable_rules import never_judged
from monitor.core.clock import LAST
from monitor.core.errors import ConfigurationError
from monitor.measures.catalogue.daily_measures import DAILY, EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, MeasurementRow, StoredMeasurement
from monitor.sentences.change_words import told_later_sentence
from monitor.show.alert_tables import AlertDecision, ShownAlert
from monitor.show.budget_tables import BudgetStatus
from monitor.show.incident_tables import ShownIncident
from monitor.specs.fault_words import did_you_mean
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import REPLAYED, ChartedRows, HistoryEvent
from monitor.store import LIVE
from monitor.store.sql_store import SqlStore

PAST = "past_log"  # kind of event: the log is of the past on purpose, as the demo's; no cycle is late


@dataclass(frozen=True, slots=True)
class Decision:
    """Who decided, when (microseconds), and why."""

    at: int
    who: str
    why: str = ""

    def history_event(self, model: str, kind: str, *, subject: str = "", detail: str = "{}") -> HistoryEvent:
        """What the store keeps of it."""
        return HistoryEvent(
            model=model, at=self.at, kind=kind, subject=subject, who=self.who, why=self.why, detail=detail
        )


def list_alerts(
    kept_run: KeptRun, *, model: str | None = None, history: bool = False, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts that are pending or firing, or, with the history, all: see `read_shown_alerts`."""
    names = (
        set(kept_run.model_names(model)) if model is None or not kept_run.is_history_only(model) else {model}
    )
    rules = {(spec.name, rule.name): rule for spec in kept_run.settings.models for rule in spec.rules}
    return [
        replace(shown_alert, rule=rules.get((shown_alert.model, shown_alert.alert.series.rule)))
        for shown_alert in read_shown_alerts(kept_run.store, model, history=history, as_of=as_of)
        if model is not None or shown_alert.model in names or history
    ]


def read_shown_alerts(
    store: SqlStore, model: str | None, *, history: bool, as_of: int | None = None
) -> list[ShownAlert]:
    """Alerts of a store, each with who has seen it; as of a moment in the state that they had then."""
    events = [*store.events.read_events(model, ACKNOWLEDGED), *store.events.read_events(model, ACCEPTED)]
    past = {event.model for event in store.events.read_events(model, PAST)}

    # of a log of the past somebody decides years later, at its last cycle
    def was_decided_then(event: HistoryEvent) -> bool:
        if as_of is None or event.at <= as_of:
            return True
        return event.model in past and event.kind == ACCEPTED and event.acceptance.since <= as_of

    alerts = store.alerts.read_alerts(model, ended=history, as_of=as_of)
    begun: dict[tuple[str, AlertedSeries], list[int]] = {}
    for name, alert in alerts:
        begun.setdefault((name, alert.series), []).append(alert.since)
    known = [event for event in events if was_decided_then(event)]
    return [
        ShownAlert(name, alert, decisions=tuple(_decisions_of(name, alert, begun[name, alert.series], known)))
        for name, alert in alerts
    ]


def list_incidents(
    kept_run: KeptRun, *, model: str | None = None, as_of: int | None = None
) -> list[ShownIncident]:
    """Incidents that are open and that are over, as of a moment as they were known then."""
    names = kept_run.model_names(model) if model is None or not kept_run.is_history_only(model) else [model]
    rules = {spec.name: spec.rules for spec in kept_run.settings.models}
    alerts: dict[str, dict[tuple[AlertedSeries, int], Alert]] = {name: {} for name in names}
    for name, alert in kept_run.store.alerts.read_alerts(model, ended=True):
        alerts.get(name, {})[alert.series, alert.since] = alert
    shown = []
    for name, kept in kept_run.store.incidents.read_incidents(model, ended=True, as_of=as_of):
        if name in alerts:
            keys = [(member.series, member.since) for member in kept.members]
            mine = [alerts[name][key] for key in keys if key in alerts[name]]
            today = kept_run.store.states.read_state(name).as_of or 0
            headline = told_headline(kept, mine, rules.get(name, ()), today if as_of is None else as_of)
            shown.append(ShownIncident(name, kept, headline))
    return shown


def episode_detail(alert: Alert) -> str:
    """Detail of an acknowledgement: of which episode it is."""
    return f'{{"since": {alert.since}}}'


def _decisions_of(
    model: str, alert: Alert, begun: Iterable[int], events: Iterable[HistoryEvent]
) -> Iterator[AlertDecision]:
    """What was decided of one episode: accepted is the newest at the cycle that whoever decided had seen.

    `begun`: when the episodes of its series were found.
    """
    mine = [event for event in events if (event.model, event.subject) == (model, str(alert.series))]
    for event in sorted(mine, key=lambda one: one.at):
        until = None
        if event.kind == ACCEPTED:
            accepted = event.acceptance
            if alert.since != max((since for since in begun if since <= accepted.since), default=None):
                continue
            until = None if accepted.is_withdrawal else accepted.until
        elif event.detail != episode_detail(alert):
            continue
        yield AlertDecision(event.at, event.words, event.who, event.why, until)


def list_standings(
    kept_run: KeptRun, model: str | None, now: int, as_of: int | None = None
) -> list[ModelStanding]:
    """How the configured models stand, or one of them: see `gather_model_facts`."""
    return [judge_standing(facts) for facts in gather_model_facts(kept_run, model, now, as_of)]


def gather_model_facts(
    kept_run: KeptRun, model: str | None, now: int, as_of: int | None = None
) -> list[ModelFacts]:
    """What the store knows of the configured models, or of one of them.

    Parameters
    ----------
    now
        the moment by which a model is stale; a history of a past log, or another run's, ends where it ends.
    as_of
        what was known then; None: now.
    """
    store = kept_run.store
    last = {name: store.states.read_state(name).as_of for name in kept_run.model_names(model)}
    then = as_of if as_of is not None and any(as_of < (done or 0) for done in last.values()) else None
    rows = (
        store.current.read_current(model)
        if then is None
        else _select_newest_ends(_read_newest_then(kept_run, last, then))
    )
    alerts = list_alerts(kept_run, model=model, as_of=then)
    incidents = store.incidents.read_incidents(model, as_of=then)
    # Of an incident that recovers no alert stands: those that ended tell what it was.
    recovering = not all(incident.firing for _, incident in incidents)
    ended = store.alerts.read_alerts(model, ended=True, as_of=then) if recovering else []
    events = store.events.read_events(model, ACCEPTED)
    past = {event.model for event in store.events.read_events(model, PAST)}
    replays = {event.model: event.at for event in store.events.read_events(model, REPLAYED)}
    replayed = {name for name, until in replays.items() if until == last.get(name)}
    replaying = {} if as_of is not None else _replay_ends(kept_run, replays, last)
    heard = store.daemons.read_last_heartbeats() if store.run == LIVE and as_of is None else {}
    progress = store.daemons.read_progress() if as_of is None else {}
    worked = {name: last for name, (*_, last) in progress.items()}
    troubles = store.troubles.read_troubles() if as_of is None else {}
    of_model: dict[str, list[StoredMeasurement]] = {name: [] for name in last}
    for stored in rows:
        of_model.get(stored.model, []).append(stored)
    model_facts = []
    for name, mine in of_model.items():
        done = last[name] if then is None else max((stored.as_of for stored in mine), default=None)
        live = now if store.run == LIVE and name not in past else (done or now)
        at = live if as_of is None else as_of
        mine_accepted = [event.acceptance for event in events if event.model == name]
        accepted_then = select_standing_acceptances(
            mine_accepted, at, seen=None if then is not None else LAST
        )
        seen_by = [
            (shown_alert.alert, shown_alert.seen_by) for shown_alert in alerts if shown_alert.model == name
        ]
        current = [stored.row for stored in mine]
        if then is not None and done is not None and daily_rule_names(kept_run.find_spec(name)):
            from monitor.app.alerts.past_judgements import add_newest_days
            from monitor.app.pages.window_counts import read_newest_counting

            counting = read_newest_counting(store, kept_run.find_spec(name), {})
            current = add_newest_days(store, kept_run.find_spec(name), counting, current, done)
        facts = _model_facts(kept_run.find_spec(name), current, seen_by, accepted_then, now=at, as_of=done)
        followed = name not in replayed or store.run != LIVE
        facts = replace(facts, past=then is not None, followed=followed, of_past=name in past)
        facts = replace(facts, trouble=troubles.get(name), worked=worked.get(name))
        facts = replace(facts, replay_until=replaying.get(name))
        mine_open = tuple(incident for of, incident in incidents if of == name)
        recovered = [alert for of, alert in ended if of == name and alert.state is AlertState.RESOLVED]
        facts = replace(facts, incidents=mine_open, recovered=recovered)
        model_facts.append(facts if facts.of_past else replace(facts, heard=heard.get(name)))
    return model_facts


def _replay_ends(
    kept_run: KeptRun, replays: Mapping[str, int], last: Mapping[str, int | None]
) -> dict[str, int]:
    """Where the replay that runs now will end, by model; a model whose cycles are past that is left out."""
    begun = {name: until for name, until in replays.items() if name in last and until > (last[name] or 0)}
    return begun if begun and kept_run.store.daemons.is_replaying(kept_run.settings.daemon.lease_ttl) else {}


def list_budgets(kept_run: KeptRun, model: str | None) -> list[BudgetStatus]:
    """Budgets of the configured models, or of one, and what is known of their days."""
    rows: dict[str, list[MeasurementRow]] = {name: [] for name in kept_run.model_names(model)}
    for stored in kept_run.store.current.read_current(model, DAILY):
        rows.get(stored.model, []).append(stored.row)
    alerts = kept_run.store.alerts.read_alerts(model, ended=True)
    return [
        BudgetStatus(
            model=name,
            budget=kept_run.find_spec(name).budget,
            as_of=kept_run.store.states.read_state(name).as_of,
            alerts=[
                alert
                for of, alert in alerts
                if of == name and alert.series.rule in daily_rule_names(kept_run.find_spec(name))
            ],
            rows=mine,
        )
        for name, mine in rows.items()
    ]


def daily_rule_names(spec: ModelSpec) -> set[str]:
    """Names of the rules that judge days."""
    return {rule.name for rule in spec.rules if rule.measure == EVIDENCE}


def _read_newest_then(run: KeptRun, names: Iterable[str], then: int) -> Iterator[StoredMeasurement]:
    """What was newest then: of each window the last end, and the last settled one.

    To read all that was kept by then took 10 seconds of a model with a year of days, these 0.1.
    """
    for name in names:
        ends: dict[str, dict[bool, int]] = {}
        for state in run.store.states.read_windows(name, 0):
            settled = state.settled_as_of is not None and state.settled_as_of <= then
            for of_settled in {False, settled} if state.first_as_of <= then else ():
                newest_end = ends.setdefault(state.window, {})
                newest_end[of_settled] = max(state.end, newest_end.get(of_settled, 0))
        spans = [(window, end - 1, end) for window, of in ends.items() for end in set(of.values())]
        for window, after, until in (*spans, (CUMULATIVE, 0, then)):
            which = ChartedRows(
                window=window,
                after=after,
                until=until,
                as_of=then,
                segment=None,
                version=None,
                details=True,
                newest=True,
            )
            yield from run.store.charts.read_charted_rows(name, which)


def _select_newest_ends(kept: Iterable[StoredMeasurement]) -> list[StoredMeasurement]:
    """Of each window, measure, … the row of the newest end."""
    last: dict[tuple[object, ...], StoredMeasurement] = {}
    for stored in kept:
        row = stored.row
        place = (row.window, row.truth, row.version, row.segment, row.measure, row.subject, row.against)
        before = last.get((stored.model, *place))
        if before is None or before.row.window_end <= row.window_end:
            last[stored.model, *place] = stored
    return list(last.values())


def _model_facts(
    spec: ModelSpec,
    rows: Sequence[MeasurementRow],
    alerts: Sequence[tuple[Alert, str]],
    accepted: Accepted,
    *,
    now: int,
    as_of: int | None,
) -> ModelFacts:
    return ModelFacts(
        model=spec.name,
        now=now,
        as_of=as_of,
        every=spec.keys.every,
        window=spec.main_window,
        main=spec.main_measure,
        labels=spec.labels is not None,
        reference=spec.reference is not None,
        rows=rows,
        alerts=alerts,
        rules=spec.rules,
        never=dict(never_judged(spec)),
        accepted=accepted,
        told_later=_told_later(spec),
        records_table=spec.records_table,
        labels_table=spec.labels_table,
    )


def _told_later(spec: ModelSpec) -> str:
    """By when gross faults are told, where a budget has them told at all, and not within two hours."""
    if spec.budget is None:
        return ""
    logged = spec.predictions.column_of("logged_at") is not None
    return told_later_sentence(spec.reading.pane, spec.keys.every, logged=logged)


def refuse_rule(rule: str, names: Iterable[str]) -> None:
    """Refuse the name of a rule that there is not.

    Raises
    ------
    ConfigurationError
        with a suggestion.
    """
    names = list(names)
    if not any(matches_pattern(rule, name) for name in names):
        raise ConfigurationError([f'there is no rule "{rule}"{did_you_mean(rule, names)}'])


def backtest_model(
    kept_run: KeptRun, model: str, rule: str | None, span: tuple[int, int]
) -> tuple[list[BacktestSummary], list[ShownAlert]]:
    """How rules would have done, and each alert that would have fired.

    Raises
    ------
    ConfigurationError
        if the model has no such rule.
    """
    rules = kept_run.find_spec(model).rules
    if rule is not None:
        refuse_rule(rule, (each.name for each in rules))
        rules = tuple(each for each in rules if each.name == rule)
    rows = kept_run.store.snapshots.stream_measures(model, rule_measures(rules), span)
    alerts, judged = backtest_rules(rules, skip_superseded_rows(rows))
    by_name = {each.name: each for each in rules}
    shown = [ShownAlert(model, alert, rule=by_name[alert.series.rule]) for alert in alerts]
    return summarize_rules(rules, alerts, judged, span), shown
