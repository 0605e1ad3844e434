"""Alerts of a cycle: what its rules read, and on which windows they changed.

Rules on settled labels judge what is kept: a window when it settles, and its kept revisions, so that the
evidence of every such verdict stands in the store. Rules on the evidence of days judge each day once, at the
moment at which it was due, whichever tick finds it. All others judge the newest window of each cycle.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from monitor.alerts.alert_messages import Notice, Recipient, make_notices
from monitor.alerts.alert_rules import ACCEPTED, Acceptance, AlertedSeries, Rule, select_standing_acceptances
from monitor.alerts.incident_life import IncidentRound, JudgedMoment
from monitor.alerts.incidents import IncidentContext, describe_incidents, explain_incidents
from monitor.alerts.judging_rounds import (
    JudgingRound,
    advance_alerts,
    chain_rounds,
    end_accepted_breaches,
    merge_rounds,
)
from monitor.alerts.lifecycle import Alert
from monitor.alerts.model_facts import limited_measurements
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.pipeline.kept_rows import Place
from monitor.pipeline.sequential.day_rows import is_label_subject
from monitor.sentences.known_measurements import KnownMeasurements
from monitor.specs.model_spec import ModelSpec
from monitor.store.sql_store import SqlStore


def read_accepted_changes(store: SqlStore, spec: ModelSpec, as_of: int) -> dict[AlertedSeries, Acceptance]:
    """Changes that are expected as of a moment. Cost: a query of few rows, none without rules."""
    if not spec.rules:
        return {}
    events = store.events.read_events(spec.name, ACCEPTED)
    return select_standing_acceptances([event.acceptance for event in events], as_of)


def judge_rules(
    rules: Sequence[Rule],
    standing: Mapping[AlertedSeries, Alert],
    accepted: Mapping[AlertedSeries, Acceptance],
    *,
    settled: Mapping[str, int],
    rows: Sequence[MeasurementRow],
    kept_rows: Sequence[MeasurementRow],
    days: Sequence[tuple[int, Sequence[MeasurementRow]]] = (),
    hours: Sequence[MeasurementRow] = (),
    as_of: int,
) -> tuple[JudgingRound, list[JudgedMoment], Collection[Place]]:
    """Judge a model's rules; the moments that were judged; the windows on which alerts fired or ended.

    Parameters
    ----------
    standing
        alerts that were pending or firing.
    accepted
        changes that are expected.
    settled
        ends of the newest kept windows that are settled, by name.
    rows
        of the newest windows, and figures of the cycle.
    kept_rows
        of the windows that are due.
    days
        (when it was due, rows) of the days that were judged now.
    hours
        rows of gross faults of a day that is not judged yet: the alert of their subject begins with them,
        and goes on with the day's once that is judged.
    """
    if not rules and not standing:
        return JudgingRound({}), [JudgedMoment(as_of, {})], ()
    daily = {rule.name: rule for rule in rules if rule.measure == EVIDENCE}
    others = [rule for rule in rules if rule.name not in daily]
    of_days = {series: alert for series, alert in standing.items() if series.rule in daily}
    of_others = {series: alert for series, alert in standing.items() if series.rule not in daily}
    outcome = advance_alerts(
        others, _select_judged_rows(rows, kept_rows, settled), of_others, as_of, accepted=accepted
    )
    # Days one after the other, each as of its due moment: whichever tick finds several of them due, alerts
    # are the same.
    judging_round, moments = JudgingRound(of_days), list[JudgedMoment]()
    for at, evidence in days:
        of_day = _judge_some_series(
            daily.values(), evidence, judging_round.standing, at, accepted, _is_of_part(evidence)
        )
        moments.append(JudgedMoment(at, {**of_others, **of_day.standing}, of_day.ended))
        judging_round = chain_rounds(judging_round, of_day)
    if hours:
        of_hours = _judge_some_series(
            daily.values(), hours, judging_round.standing, as_of, accepted, _is_of_subjects(hours)
        )
        judging_round = chain_rounds(judging_round, of_hours)
    outcome = merge_rounds(outcome, end_accepted_breaches(judging_round, accepted, as_of))
    moments.append(JudgedMoment(as_of, outcome.standing, outcome.ended))
    truths = {rule.name: rule.truth for rule in rules}
    return (
        outcome,
        moments,
        {
            (alert.series.window, alert.verdict.window_end, truths[alert.series.rule])
            for alert in outcome.turned
            if alert.series.rule in truths
        },
    )


def _is_of_part(rows: Sequence[MeasurementRow]) -> Callable[[AlertedSeries], bool]:
    """Series of the part of a day that rows are of: they say nothing of the other part's."""
    there = {is_label_subject(row.subject) for row in rows}
    return lambda series: is_label_subject(series.subject) in there


def _is_of_subjects(rows: Sequence[MeasurementRow]) -> Callable[[AlertedSeries], bool]:
    """Series of the subjects of gross faults: they say nothing of others."""
    faulty = {row.subject for row in rows}
    return lambda series: series.subject in faulty and not series.segment


def _judge_some_series(
    rules: Iterable[Rule],
    rows: Sequence[MeasurementRow],
    standing: Mapping[AlertedSeries, Alert],
    at: int,
    accepted: Mapping[AlertedSeries, Acceptance],
    is_judged: Callable[[AlertedSeries], bool],
) -> JudgingRound:
    """Judge rows that speak of some series alone: the alerts of others stay as they are."""
    mine = {series: alert for series, alert in standing.items() if is_judged(series)}
    others = {series: alert for series, alert in standing.items() if series not in mine}
    return merge_rounds(JudgingRound(others), advance_alerts(rules, rows, mine, at, accepted=accepted))


def round_notices(
    store: SqlStore,
    spec: ModelSpec,
    judged: JudgingRound,
    grouped: IncidentRound,
    recipients: tuple[Recipient, ...],
    as_of: int,
    *,
    rows: Sequence[MeasurementRow],
    of_all: bool,
    url: str,
) -> tuple[Notice, ...]:
    """Notices of a round; nothing is made where nobody is to be told.

    Parameters
    ----------
    rows
        the newest measurements, by which it is said what an incident costs.
    of_all
        of all incidents that have an alert that fires, not only of what opens, grows or is over now.
    url
        see `make_notices`.
    """
    steps = dict(grouped.steps)
    if of_all:
        steps = {one.address: one.steps[0] for one in grouped.incidents.open if one.firing} | steps
    if not (recipients and steps):
        return ()
    open_ = grouped.incidents.open
    incidents = {one.address: one for one in (*open_, *grouped.written) if one.address in steps}
    alerts = [*judged.standing.values(), *judged.ended]
    if any(not incident.firing for incident in incidents.values()):  # its alerts ended cycles ago
        alerts = [alert for _, alert in store.alerts.read_alerts(spec.name, ended=True)] + alerts
    described = describe_incidents(incidents.values(), [(alert, "") for alert in alerts], spec.rules)
    known = KnownMeasurements(rows, spec.main_window, spec.main_measure)
    context = IncidentContext(
        measurements=limited_measurements(spec.rules, known),
        labels=spec.labels is not None,
        records_table=spec.records_table,
        labels_table=spec.labels_table,
    )
    costed = explain_incidents(described, context)
    told = [(incident, steps[incident.address]) for incident in costed]
    return make_notices(spec.name, told, recipients, as_of, url)


def _select_judged_rows(
    rows: Iterable[MeasurementRow], kept_rows: Iterable[MeasurementRow], settled: Mapping[str, int]
) -> Iterator[MeasurementRow]:
    """Rows that rules may read; of settled windows only the newest."""
    for row in rows:
        if row.truth is not LabelTruth.SETTLED or row.window == CUMULATIVE:
            yield row
    for row in kept_rows:
        if row.truth is LabelTruth.SETTLED and settled.get(row.window) == row.window_end:
            yield row
