"""How a model stands: its state, badges beside it, and why; which rules are judged; what is said. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.alert_phrases import alerted_series_name
from monitor.alerts.alert_rules import Accepted, AlertedSeries, Rule, Severity
from monitor.alerts.incident_life import (
    JudgedMoment,
    ModelIncidents,
    advance_incidents,
)
from monitor.alerts.incident_words import incident_sentences
from monitor.alerts.incidents import Incident, IncidentContext, describe_incidents, explain_incidents
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.alerts.model_facts import ModelFacts, limited_measurements, limits_performance
from monitor.alerts.model_summary import ModelSummary, summarize_model
from monitor.alerts.verdicts import Outcome, Verdict, group_rule_rows, judge_rule, rule_measures
from monitor.core.clock import DAY, SECOND, from_iso
from monitor.core.measurement import Reason
from monitor.measures.catalogue.daily_measures import EVIDENCE, REMEMBERED_DAYS
from monitor.measures.measurement_row import CUMULATIVE
from monitor.sentences import change_words, input_sentences, label_sentences, performance_sentences
from monitor.sentences.acceptance_words import acceptance_sentence
from monitor.sentences.change_words import subject_name
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    SentenceSection,
    capitalize_first,
    end_sentence,
    filled_sections,
    join_few_names,
)
from monitor.sentences.reason_words import reason_words
from monitor.sentences.time_words import day_words, length_words, utc_moment_words
from monitor.sentences.trouble_sentences import open_trouble_sentence

_SLACK = 60 * SECOND
_AFTER_REPLAY = 2 * DAY  # until a daemon is to have gone on
_PATIENCE = 3  # ticks without a cycle, as the health of the daemon counts them


class HealthState(StrEnum):
    """State of a model: that of the worst alert which fires; in the order in which models are listed."""

    CRITICAL = "Critical"
    WARNING = "Warning"
    NO_DATA = "No data"  # nothing at all could be judged: no cycle, no records, a model that learns
    OK = "OK"


class StateBadge(StrEnum):
    """What stands beside a state."""

    ACKNOWLEDGED = "acknowledged"
    STALE = "stale"
    REPLAYING = "replaying"


_ORDER = tuple(HealthState)
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True)
class UnjudgedRule:
    """A rule that nothing is known of: why, and what would help; `ever`: that will not change by itself."""

    rule: str
    why: str
    ever: bool = False


class WatchedArea(StrEnum):
    """What rules watch."""

    PERFORMANCE = "Performance"
    INPUTS = "Inputs"
    FEED = "The log"
    EXPERIMENT = "The experiment"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStanding:
    """How a model stands."""

    model: str
    as_of: int | None
    state: HealthState
    badges: tuple[StateBadge, ...]
    needs_action: bool  # something fires that nobody has acknowledged, or cycles fail
    # the headline, then a sentence for each further thing that is to be known first.
    because: tuple[str, ...]
    rank: tuple[int, int]  # of models with the same state the smaller first: stale ones; then the newest
    sections: tuple[SentenceSection, ...]  # what is known of it, in the order in which it is read
    incidents: tuple[Incident, ...] = ()  # that are open, the worst first, those that recover last
    unjudged: tuple[UnjudgedRule, ...] = ()  # rules that could not run
    stale: tuple[str, ...] = ()  # why nothing newer is known, sentences; none: it is
    summary: ModelSummary  # at a glance: four figures, and what changed

    @property
    def first_incident(self) -> Incident | None:
        """Incident that `because` begins with; None: it begins with something else."""
        firing = [one for one in self.incidents if not one.is_recovering]
        if not firing or StateBadge.REPLAYING in self.badges:
            return None
        return min(firing, key=lambda one: bool(one.acknowledged_by))


def incident_context(facts: ModelFacts) -> IncidentContext:
    """What is known of a model beside its alerts, as its incidents are told by it."""
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    return IncidentContext(
        measurements=limited_measurements(facts.rules, measurements),
        labels=facts.labels,
        records_table=facts.records_table,
        labels_table=facts.labels_table,
    )


def judge_standing(facts: ModelFacts) -> ModelStanding:
    """How a model stands: its state, why, and what is known."""
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    unjudged = list(_unjudged_rules(facts, measurements))
    firing = _list_urgent_alerts(facts)
    incidents = explain_incidents(_list_incidents(facts), incident_context(facts))
    replaying = facts.replay_until is not None
    stale = list(filter(None, [open_trouble_sentence(facts.trouble, facts.as_of), _stale_sentence(facts)]))
    stale = [] if replaying else stale  # the moment of a replay is not today's
    lacking = list(_no_data_sentences(facts, measurements, unjudged))
    if firing:
        critical = any(alert.severity is Severity.CRITICAL for alert, _ in firing)
        state = HealthState.CRITICAL if critical else HealthState.WARNING
        because = [*_alert_sentences(facts, incidents, stale), *_recovering_sentences(facts, incidents)]
    elif lacking:
        state, because = HealthState.NO_DATA, [*stale, *lacking]
    else:
        calm = _calm_sentences(facts, measurements, unjudged)
        state, because = HealthState.OK, [*stale, *calm, *_recovering_sentences(facts, incidents)]
    if replaying:
        because = [_replay_sentence(facts, facts.replay_until or 0), *(because if facts.as_of else ())]
    open_ = [alert for alert, seen_by in firing if not seen_by]
    badges = {
        StateBadge.ACKNOWLEDGED: bool(firing) and not open_,
        StateBadge.STALE: bool(stale),
        StateBadge.REPLAYING: replaying,
    }
    return ModelStanding(
        model=facts.model,
        as_of=facts.as_of,
        state=state,
        badges=tuple(badge for badge, shown in badges.items() if shown),
        needs_action=bool(open_ or stale) and not replaying,  # nobody is told of what fires in the past
        because=tuple(map(end_sentence, because)),
        stale=tuple(map(end_sentence, stale)),
        rank=_urgency_rank(facts, firing, open_, stale=bool(stale)),
        sections=tuple(
            _standing_sections(
                facts, measurements, () if state is HealthState.NO_DATA else unjudged, len(unjudged)
            )
        ),
        incidents=tuple(incidents),
        unjudged=tuple(unjudged),
        summary=summarize_model(facts, incidents),
    )


def rank_models(models: Iterable[ModelStanding]) -> list[ModelStanding]:
    """Models in the order in which they are looked at."""
    return sorted(models, key=lambda standing: (_ORDER.index(standing.state), standing.rank, standing.model))


def exit_code(models: Iterable[ModelStanding]) -> int:
    """What a script is told: 3 action is needed, 4 there are no data to judge by, 0 neither."""
    models = list(models)
    if any(standing.needs_action for standing in models):
        return 3
    return 4 if any(standing.state is HealthState.NO_DATA for standing in models) else 0


def _list_urgent_alerts(facts: ModelFacts) -> list[tuple[Alert, str]]:
    """Alerts that call for somebody, the most urgent first: what is for information alone does not."""
    firing = [
        (alert, seen_by)
        for alert, seen_by in facts.alerts
        if alert.state is AlertState.FIRING and alert.severity is not Severity.INFO
    ]
    return sorted(firing, key=lambda one: (_SEVERITIES.index(one[0].severity), -one[0].since, one[0].series))


def _list_incidents(facts: ModelFacts) -> list[Incident]:
    """Incidents that are open; alerts that no cycle has grouped yet are grouped as the next one will."""
    standing = JudgedMoment(facts.as_of or 0, {alert.series: alert for alert, _ in facts.alerts})
    known = ModelIncidents(tuple(facts.incidents), frozenset(one.address for one in facts.incidents))
    open_ = advance_incidents(known, [standing], facts.rules).incidents.open
    alerts = [*facts.alerts, *((alert, "") for alert in facts.recovered)]
    incidents = describe_incidents(open_, alerts, facts.rules)
    return [one for one in incidents if one.severity is not Severity.INFO]


def _urgency_rank(
    facts: ModelFacts, firing: Sequence[tuple[Alert, str]], open_: Sequence[Alert], *, stale: bool
) -> tuple[int, int]:
    newest = max((alert.since for alert, _ in firing), default=facts.as_of or 0)
    return (0 if open_ or stale else 1, -newest)


def _alert_sentences(facts: ModelFacts, incidents: Sequence[Incident], stale: Sequence[str]) -> list[str]:
    """Why a model is in a state of alert, what nobody has acknowledged first."""
    told = [
        ". ".join(incident_sentences(incident, facts.as_of or 0))
        for incident in sorted(incidents, key=lambda one: bool(one.acknowledged_by))
        if not incident.is_recovering
    ]
    first_days = {
        part.change.since
        for incident in incidents
        for part in incident.every_alert
        if part.change is not None and part.change.since
    }
    # What moved besides, as surely though not as far, may be the cause.
    smaller = change_words.evident_input_sentences(facts.rows, sorted(first_days))
    return [*told[:1], *stale, *told[1:], *smaller, *_lasting_changes_sentence(facts)]


def _recovering_sentences(facts: ModelFacts, incidents: Iterable[Incident]) -> Iterator[str]:
    """What fires no longer, and is not confirmed to be over."""
    for incident in incidents:
        if incident.is_recovering:
            yield ". ".join(incident_sentences(incident, facts.as_of or 0))


def _replay_sentence(facts: ModelFacts, until: int) -> str:
    """Where a replay is that runs now."""
    if facts.as_of is None:
        return f"Replaying to {utc_moment_words(until)}: no cycle of this model has ended yet"
    return f"Replaying: at {utc_moment_words(facts.as_of)} of {utc_moment_words(until)}"


def _stale_sentence(facts: ModelFacts) -> str | None:
    """That no cycle ran for too long, or none will; None: one did, or the first one is still awaited."""
    patience = max(_PATIENCE * facts.every + _SLACK, 0 if facts.followed else _AFTER_REPLAY)
    last_heard = facts.now if facts.heard is None else facts.heard
    # A daemon that makes up for missed ticks works, though the moment of its last cycle is long ago.
    done = max(facts.as_of or 0, facts.worked or 0)
    if (
        facts.as_of is None
        or facts.past
        or (facts.now - last_heard <= _SLACK and facts.now - done <= patience)
    ):
        return None
    lasting = length_words((facts.now - facts.as_of) / SECOND)
    sentence = f"No cycle has succeeded for {lasting}: look whether the daemon runs, and at its log"
    if facts.heard is not None:
        sentence = (
            f"No daemon has been heard of since {utc_moment_words(last_heard)}: start it, or look at its log"
        )
    return f"{sentence}. Nothing newer than {utc_moment_words(facts.as_of)} is known"


def _lasting_changes_sentence(facts: ModelFacts) -> Iterator[str]:
    """What nobody has accepted, and no alert tells any longer: silence would look like health."""
    accepted = {
        (one.series.subject, one.series.segment): one.end
        for one in facts.accepted.values()
        if one.series.window == CUMULATIVE
    }
    since = {
        subject_name(*of): day
        for of, day in change_words.usual_since_by_subject(facts.rows).items()
        if accepted.get(of, 0) <= from_iso(day)
    }
    if since:
        names = join_few_names(
            f"{name} since {day_words(from_iso(day), facts.as_of or 0)}" for name, day in since.items()
        )
        yield f"Still different from before, its alert is closed: {names}. Fix it, or accept it as normal"


def _calm_sentences(
    facts: ModelFacts, measurements: KnownMeasurements, unjudged: Sequence[UnjudgedRule]
) -> Iterator[str]:
    """What is said first of a model of which nothing fires: performance, and what is not watched."""
    today = facts.as_of or 0
    yield from performance_sentences.wrong_ranking_sentences(measurements)
    measurements = limited_measurements(facts.rules, measurements)
    is_limited = any(limits_performance(rule, facts.main) for rule in facts.rules)
    worse = performance_sentences.worse_than_reference_sentence(
        measurements, today, within=", within its limit" if is_limited else ""
    )
    if worse is not None:
        yield worse
        if split := performance_sentences.loss_split_sentence(measurements):
            yield split
    elif not facts.labels:
        yield "No alert. Performance is not watched: no labels are configured"
    elif performance_sentences.is_performance_known(measurements):
        yield f"No alert. {performance_sentences.newest_performance_sentence(measurements, today)}"
    else:
        yield f"No alert. {performance_sentences.awaited_performance_sentence(measurements, today)}"
        yield from performance_sentences.estimate_sentences(measurements)
    yield from performance_sentences.worse_segment_sentences(measurements)
    if not facts.reference:
        yield f"Shifts and falls are not compared: {reason_words('no_reference')}"
    yield from _blind_area_sentences(facts, unjudged)
    yield from _lasting_changes_sentence(facts)
    beyond = join_few_names(sorted(map(alerted_series_name, _describe_accepted_series(facts))))
    if beyond:
        yield f"Accepted, and so no alert: {beyond}"


def _watched_area(rule: Rule) -> WatchedArea:
    """What a rule watches."""
    if not rule.window:
        return WatchedArea.FEED
    if rule.measure == EVIDENCE:
        return WatchedArea.INPUTS if rule.subject else WatchedArea.PERFORMANCE
    if rule.window == CUMULATIVE:
        return WatchedArea.EXPERIMENT
    return WatchedArea.PERFORMANCE if rule.truth else WatchedArea.INPUTS


def _blind_area_sentences(facts: ModelFacts, unjudged: Sequence[UnjudgedRule]) -> Iterator[str]:
    """Of inputs and the feed, where no rule that watches them could be judged; of performance see above."""
    reasons = {rule.rule: rule.why for rule in unjudged}
    for area in (WatchedArea.INPUTS, WatchedArea.FEED):
        rules = [rule for rule in _list_reportable_rules(facts) if _watched_area(rule) is area]
        if rules and all(rule.name in reasons for rule in rules):
            yield f"{area.value} could not be checked: {reasons[rules[0].name]}"


def _no_data_sentences(
    facts: ModelFacts, measurements: KnownMeasurements, unjudged: Sequence[UnjudgedRule]
) -> Iterator[str]:
    """Why nothing could be judged of performance or inputs, and what would help; none where something was."""
    if facts.as_of is None:
        yield "No cycle has run yet: start the daemon, or run `monitor cycle`"
        return
    if not measurements.rows:
        yield "Nothing has been measured yet: wait for the next cycle, or look at the log's table"
        return
    if not facts.rules:
        yield "No rule is configured, so nothing is checked: leave alerts = [] out"
        return
    unknown = {rule.rule for rule in unjudged}
    areas = {_watched_area(rule) for rule in _list_reportable_rules(facts) if rule.name not in unknown}
    if areas & {WatchedArea.PERFORMANCE, WatchedArea.INPUTS}:
        return
    yield from unjudged_sentences(unjudged)
    if facts.labels and not performance_sentences.is_performance_known(measurements):
        yield performance_sentences.awaited_performance_sentence(measurements, facts.as_of or 0)
    if not facts.reference:
        yield f"Shifts and falls cannot be checked: {reason_words('no_reference')}"


def unjudged_sentences(unjudged: Sequence[UnjudgedRule]) -> Iterator[str]:
    """A sentence for each reason why rules could not run."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for rule in unjudged:
        groups.setdefault((rule.why, rule.ever), []).append(rule.rule)
    for (reason, ever), names in groups.items():
        yield f"{join_few_names(names, 4)} {'can never' if ever else 'could not'} run: {reason}"


def _unjudged_rules(facts: ModelFacts, measurements: KnownMeasurements) -> Iterator[UnjudgedRule]:
    """Rules of which nothing is known by the newest measurements."""
    rows = group_rule_rows(facts.rows, rule_measures(facts.rules))
    for rule in _list_reportable_rules(facts):
        if rule.name in facts.never:
            yield UnjudgedRule(rule.name, facts.never[rule.name], ever=True)
            continue
        verdicts = judge_rule(rule, rows, facts.accepted)
        if not verdicts:
            yield UnjudgedRule(rule.name, _why_no_row(rule, measurements))
        elif all(verdict.outcome is Outcome.UNKNOWN for verdict in verdicts.values()):
            yield UnjudgedRule(rule.name, _main_reason(verdicts.values(), measurements))


def _list_reportable_rules(facts: ModelFacts) -> list[Rule]:
    """Rules of which something can be told: of the past only those whose measurements are kept."""
    if not facts.past:
        return list(facts.rules)
    kept = {(row.measure, row.window, row.truth) for row in facts.rows}
    return [
        rule
        for rule in facts.rules
        if rule.truth == "settled" or (rule.measure, rule.window, rule.truth) in kept
    ]


def _why_no_row(rule: Rule, measurements: KnownMeasurements) -> str:
    """Why a rule has nothing to judge."""
    of = (rule.measure, rule.truth, rule.window, rule.against)
    if rule.truth and (sentence := performance_sentences.why_window_unjudged(measurements, *of)) is not None:
        return sentence
    if rule.truth == "settled":
        return label_sentences.none_settled_words(
            measurements, "" if rule.window == CUMULATIVE else rule.window
        )
    if rule.truth == "nowcast":
        return f"nothing has been nowcast yet: {reason_words('too_early')}"
    if not rule.window:
        return "its figure of the log is not there yet: wait for the next cycle, or the next audit"
    return f"the window {rule.window} is not there yet: wait until it has ended"


def _main_reason(verdicts: Iterable[Verdict], measurements: KnownMeasurements) -> str:
    reasons = [verdict.reason for verdict in verdicts]
    reason = max(dict.fromkeys(reasons), key=reasons.count)
    return (
        label_sentences.next_settling_sentence(measurements)
        if reason == Reason.NOT_SETTLED
        else reason_words(reason)
    )


def _standing_sections(
    facts: ModelFacts, measurements: KnownMeasurements, unjudged_rules: Sequence[UnjudgedRule], unjudged: int
) -> Iterator[SentenceSection]:
    if facts.as_of is None or not measurements.rows:
        return
    limited = limited_measurements(facts.rules, measurements)
    yield from filled_sections(
        (
            ("performance", performance_sentences.performance_sentences(limited, labels=facts.labels)),
            ("inputs", input_sentences.input_sentences(measurements)),
            ("labels", label_sentences.label_sentences(measurements) if facts.labels else iter(())),
            ("data", input_sentences.quality_sentences(measurements)),
            ("rules", _rule_sentences(facts, unjudged_rules, unjudged)),
            ("accepted", iter(_describe_accepted_series(facts).values())),
            ("next", _next_cycle_sentences(facts)),
        )
    )


def _rule_sentences(
    facts: ModelFacts, unjudged_rules: Sequence[UnjudgedRule], unjudged: int
) -> Iterator[str]:
    """How many rules are judged, what waits; which are not, where the head does not tell it."""
    known = _list_reportable_rules(facts)
    pending = sorted({alert.series.rule for alert, _ in facts.alerts if alert.state is AlertState.PENDING})
    ran = len(known) - unjudged
    many = f"{ran} of {len(facts.rules)} rules ran"
    every = "The rule ran" if ran == 1 else f"All {ran} rules ran"
    yield every if ran == len(facts.rules) > 0 else many
    parts = list(change_words.judged_subjects_words(facts.rows))
    if parts:
        yield capitalize_first("; ".join(parts))
    yield from change_words.alert_budget_sentences(facts.rows)
    if len(known) < len(facts.rules):
        past = [rule.name for rule in facts.rules if rule not in known]
        yield f"{join_few_names(past)} cannot be known of a moment in the past"
    if pending:
        yield f"In breach, but not for long enough to fire: {join_few_names(pending)}"
    yield from unjudged_sentences(unjudged_rules)
    yield from filter(None, [facts.told_later])


def describe_acceptances(accepted: Accepted, rules: Sequence[Rule], as_of: int) -> dict[AlertedSeries, str]:
    """Who has accepted what of these rules, until when and why; days while they are learned from.

    Parameters
    ----------
    as_of
        of the last cycle.
    """
    daily = {rule.name: rule.measure == EVIDENCE for rule in rules}
    return {
        one.series: acceptance_sentence(
            alerted_series_name(one.series),
            who=one.who,
            why=one.why,
            window="" if one.series.window == CUMULATIVE else one.series.window,
            end=one.end,
            until=one.until,
            days=daily[one.series.rule],
        )
        for one in accepted.values()
        if one.series.rule in daily
        and (not daily[one.series.rule] or one.end > as_of - REMEMBERED_DAYS * DAY)
    }


def _describe_accepted_series(facts: ModelFacts) -> dict[AlertedSeries, str]:
    return describe_acceptances(facts.accepted, facts.rules, facts.as_of or 0)


def _next_cycle_sentences(facts: ModelFacts) -> Iterator[str]:
    due = (facts.as_of or 0) + facts.every
    if facts.of_past and not facts.past:
        yield f"The log of the past ends on {day_words((facts.as_of or 1) - 1, 0)}"
        return
    if facts.replay_until is not None:
        yield (
            f"As of {utc_moment_words(facts.as_of or 0)} UTC; the replay goes on to "
            f"{utc_moment_words(facts.replay_until)}"
        )
        return
    if not facts.followed and not facts.past:
        yield (
            f"As of {utc_moment_words(facts.as_of or 0)} UTC, the last cycle of a replay: monitor run goes "
            "on from there"
        )
        return
    behind = facts.now - due > _PATIENCE * facts.every and not (
        facts.past or facts.trouble or _stale_sentence(facts)
    )
    what = (
        "missed ticks are being made up for"
        if behind
        else f"the next cycle is due at {utc_moment_words(due)}"
    )
    yield f"As of {utc_moment_words(facts.as_of or 0)} UTC; {what}"
