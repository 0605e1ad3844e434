"""How a model stands: whether somebody is needed, and why; which rules are judged; what is said. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.alert_phrases import alert_figures, alerted_series_name, still_firing_words
from monitor.alerts.alert_rules import Accepted, AlertedSeries, Rule, Severity
from monitor.alerts.lifecycle import Alert, AlertState
from monitor.alerts.verdicts import NOT_KEPT, Outcome, Verdict, group_rule_rows, judge_rule, rule_measures
from monitor.core.clock import DAY, SECOND, from_iso
from monitor.core.measurement import Reason
from monitor.core.text import duration_text, readable_text
from monitor.measures.catalogue.daily_measures import EVIDENCE, REMEMBERED_DAYS
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.sentences import change_words, input_sentences, label_sentences, performance_sentences
from monitor.sentences.acceptance_words import acceptance_sentence
from monitor.sentences.change_words import FiredChange, subject_name
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    SentenceSection,
    end_sentence,
    filled_sections,
    join_few_names,
    readable_name,
)
from monitor.sentences.reason_words import reason_words
from monitor.sentences.time_words import utc_moment_words
from monitor.sentences.trouble_sentences import CycleTrouble, trouble_sentence

_NAMED = 5  # subjects of which the same is said
_SLACK = 60 * SECOND
_AFTER_REPLAY = 2 * DAY  # until a daemon is to have gone on
_PATIENCE = 3  # ticks without a cycle, as the health of the daemon counts them


class Need(StrEnum):
    """Who is needed for a model; in the order in which models are listed."""

    NEEDED = "needed"
    IN_HAND = "in hand"
    CANNOT_TELL = "cannot tell"
    NOTHING = "nothing to do"


_ORDER = tuple(Need)
_SEVERITIES = tuple(Severity)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelFacts:
    """What the store knows of a model at a moment, and what is configured of it."""

    model: str
    # now, as_of, every: the moment; the last cycle's, None: none ran; microseconds between ticks.
    now: int
    as_of: int | None
    every: int
    # window, main: name of the window that rules judge; measure of performance that stands for the others.
    window: str
    main: str
    # labels, reference: whether they are configured.
    labels: bool
    reference: bool
    rows: Sequence[MeasurementRow]  # current measurements, of strata too
    # those that are pending or firing, each with who has acknowledged it, or "".
    alerts: Sequence[tuple[Alert, str]]
    # rules, never: of the model; by name why one can never be judged, and what would help.
    rules: Sequence[Rule]
    never: Mapping[str, str]
    accepted: Accepted
    # the rows are kept ones of an earlier moment: figures of the log, for one, are not among them.
    past: bool = False
    followed: bool = True  # False: the last cycle was a replay's, and no daemon has run since
    of_past: bool = False  # the log is of the past on purpose: it ends, and no cycle is late
    # when the daemon of the last cycle was heard of last; None: one runs, or none is known of.
    heard: int | None = None
    # when a daemon that lives ended its last cycle, or went on, whatever the as of; None: not known.
    worked: int | None = None
    trouble: CycleTrouble | None = None  # what stands in the way of its cycles
    replay_until: int | None = None  # where the replay ends that runs now; None: none runs


@dataclass(frozen=True, slots=True)
class UnjudgedRule:
    """A rule that nothing is known of: why, and what would help; `ever`: that will not change by itself."""

    rule: str
    why: str
    ever: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStanding:
    """How a model stands."""

    model: str
    as_of: int | None
    need: Need
    # a sentence for each thing that somebody is needed for, that is in hand, or that cannot be told.
    because: tuple[str, ...]
    # of models with the same need the smaller first: critical, stale, warning; then the newest.
    rank: tuple[int, int]
    sections: tuple[SentenceSection, ...]  # what is known of it, in the order in which it is read


def judge_standing(facts: ModelFacts) -> ModelStanding:
    """How a model stands: who is needed, why, and what is known."""
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    unjudged = list(_unjudged_rules(facts, measurements))
    firing = _list_urgent_alerts(facts)
    open_ = [alert for alert, seen_by in firing if not seen_by]
    stale = list(filter(None, [trouble_sentence(facts.trouble, facts.as_of), _stale_sentence(facts)]))
    blind = list(_unknown_sentences(facts, measurements, unjudged))
    lasting = list(_lasting_changes_sentence(facts))
    fired = [
        FiredChange(alert.breach.change, alert.series.subject, alert.series.segment) for alert, _ in firing
    ]
    causes = list(change_words.common_cause_sentences(facts.rows, fired))
    # While a replay runs nobody is told of what fires: it is of the past.
    if facts.replay_until is not None:
        need, because = (
            Need.IN_HAND,
            [_replay_sentence(facts, facts.replay_until), *causes, *_firing_sentences(facts, firing)],
        )
    elif open_ or stale or lasting:
        critical = [(alert, "") for alert in open_ if alert.severity is Severity.CRITICAL]
        others = [(alert, "") for alert in open_ if alert.severity is not Severity.CRITICAL]
        taken = [pair for pair in firing if pair[1]]
        need = Need.NEEDED
        because = [*causes, *_firing_sentences(facts, critical), *stale]
        because += [*_firing_sentences(facts, others), *lasting, *_firing_sentences(facts, taken)]
    elif firing:
        need, because = Need.IN_HAND, [*causes, *_firing_sentences(facts, firing)]
    elif blind:
        need, because = Need.CANNOT_TELL, blind
    else:
        need, because = (
            Need.NOTHING,
            [*_quiet_sentences(facts), *performance_sentences.worse_segment_sentences(measurements)],
        )
    return ModelStanding(
        model=facts.model,
        as_of=facts.as_of,
        need=need,
        because=tuple(map(end_sentence, because)),
        rank=_urgency_rank(facts, firing, stale=bool(stale)),
        sections=tuple(
            _standing_sections(
                facts, measurements, () if need is Need.CANNOT_TELL else unjudged, len(unjudged)
            )
        ),
    )


def rank_models(models: Iterable[ModelStanding]) -> list[ModelStanding]:
    """Models in the order in which somebody is needed."""
    return sorted(models, key=lambda standing: (_ORDER.index(standing.need), standing.rank, standing.model))


def exit_code(models: Iterable[ModelStanding]) -> int:
    """What a script is told: 3 somebody is needed, 4 it cannot be judged, 0 neither."""
    needs = {standing.need for standing in models}
    if Need.NEEDED in needs:
        return 3
    return 4 if Need.CANNOT_TELL in needs else 0


def _list_urgent_alerts(facts: ModelFacts) -> list[tuple[Alert, str]]:
    """Alerts that call for somebody, the most urgent first: what is for information alone does not."""
    firing = [
        (alert, seen_by)
        for alert, seen_by in facts.alerts
        if alert.state is AlertState.FIRING and alert.severity is not Severity.INFO
    ]
    return sorted(firing, key=lambda one: (_SEVERITIES.index(one[0].severity), -one[0].since, one[0].series))


def _urgency_rank(facts: ModelFacts, firing: Sequence[tuple[Alert, str]], *, stale: bool) -> tuple[int, int]:
    critical = any(alert.severity is Severity.CRITICAL for alert, _ in firing)
    if critical:
        first = 0
    elif stale:
        first = 1
    else:
        first = 2
    newest = max((alert.since for alert, _ in firing), default=facts.as_of or 0)
    return (first, -newest)


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
    lasting = duration_text((facts.now - facts.as_of) / SECOND)
    sentence = f"No cycle has succeeded for {lasting}: look whether the daemon runs, and at its log"
    if facts.heard is not None:
        sentence = (
            f"No daemon has been heard of since {utc_moment_words(last_heard)}: start it, or look at its log"
        )
    return f"{sentence}. All that is said here is of {utc_moment_words(facts.as_of)}"


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
        sentence = join_few_names(f"{name} since {day}" for name, day in since.items())
        yield f"Not gone back, though no alert tells it any longer: {sentence}. Mend it, or accept it"


def _firing_sentences(facts: ModelFacts, firing: Iterable[tuple[Alert, str]]) -> Iterator[str]:
    """Alerts that fire: what, when, and who has it; subjects of which the same is said stand together."""
    groups: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for alert, seen_by in firing:
        place = tuple(readable_name(part) for part in (alert.series.version, alert.series.segment) if part)
        subjects = groups.setdefault((alert.series.rule, place, _firing_words(facts, alert, seen_by)), [])
        if alert.series.subject and not alert.series.subject.endswith("*"):
            subjects.append(readable_name(alert.series.subject))
    for (rule, place, sentence), subjects in groups.items():
        of = ", ".join([*place, *([join_few_names(subjects, _NAMED)] if subjects else [])])
        yield readable_text(f"{rule} ({of}){sentence}" if of else f"{rule}{sentence}")


def _firing_words(facts: ModelFacts, alert: Alert, seen_by: str) -> str:
    if alert.breach.reason == NOT_KEPT:
        return f" fires, found {utc_moment_words(alert.since)}; {NOT_KEPT}"
    rule = next((rule for rule in facts.rules if rule.name == alert.series.rule), None)
    found = "" if alert.breach.change is not None else f", found {utc_moment_words(alert.since)}"
    told = (still_firing_words(alert), f"acknowledged by {seen_by}" if seen_by else "")
    return "; ".join([f": {alert_figures(rule, alert.breach)}{found}", *filter(None, told)])


def _quiet_sentences(facts: ModelFacts) -> Iterator[str]:
    """Why nothing is to be done, and what is not watched at all."""
    every = (
        "Every rule"
        if len(_list_reportable_rules(facts)) == len(facts.rules)
        else "Every rule that something is kept of"
    )
    beyond = join_few_names(sorted(map(alerted_series_name, _describe_accepted_series(facts))))
    if facts.alerts:
        yield f"{every} is judged; what is in breach is pending, or for information alone"
    else:
        but = f" beyond what is accepted: {beyond}" if beyond else ""
        yield f"{every} is judged, and none is in breach{but}"
    if not facts.labels:
        yield "Performance is not watched: no labels are configured"


def _unknown_sentences(
    facts: ModelFacts, measurements: KnownMeasurements, unjudged: Sequence[UnjudgedRule]
) -> Iterator[str]:
    """Sentences on what cannot be told, each with what would help."""
    if facts.as_of is None:
        yield "No cycle has run yet: start the daemon, or run `monitor cycle`"
        return
    if not measurements.rows:
        yield "Nothing has been measured yet: wait for the next cycle, or look at the log's table"
        return
    if not facts.rules:
        yield "No rule is configured, so nothing is judged: leave alerts = [] out"
    if not facts.reference:
        yield f"Shifts and falls are not judged: {reason_words('no_reference')}"
    if facts.labels and not performance_sentences.is_performance_known(measurements):
        yield performance_sentences.unknown_performance_sentence(measurements)
        if measurements.newest_row(measurements.main, LabelTruth.SETTLED.value) is None:
            yield label_sentences.next_settling_sentence(measurements)
    yield from performance_sentences.wrong_ranking_sentences(measurements)
    yield from _unjudged_sentences(unjudged)


def _unjudged_sentences(unjudged: Sequence[UnjudgedRule]) -> Iterator[str]:
    """A sentence for each reason why rules are not judged."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for rule in unjudged:
        groups.setdefault((rule.why, rule.ever), []).append(rule.rule)
    for (reason, ever), names in groups.items():
        be = "is" if len(names) == 1 else "are"
        yield f"{join_few_names(names, 4)} {'can never be' if ever else f'{be} not'} judged: {reason}"


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
    return f"what it judges of the window {rule.window} is not there yet: wait until the window has ended"


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
    yield from filled_sections(
        (
            ("performance", performance_sentences.performance_sentences(measurements, labels=facts.labels)),
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
    rules = f"{len(known) - unjudged} of {len(facts.rules)} rules are judged"
    yield "; ".join([rules, *change_words.judged_subjects_words(facts.rows)])
    yield from change_words.alert_budget_sentences(facts.rows)
    if len(known) < len(facts.rules):
        past = [rule.name for rule in facts.rules if rule not in known]
        yield f"{join_few_names(past)} cannot be told of a moment in the past"
    if pending:
        yield f"In breach, but not for long enough to fire: {join_few_names(pending)}"
    yield from _unjudged_sentences(unjudged_rules)


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
        yield f"As of {utc_moment_words(facts.as_of or 0)} UTC, where a log of the past ends"
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
