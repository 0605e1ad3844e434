"""How a model stands: whether somebody is needed, and why; which rules are judged; what is said. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.alerts.lifecycle import Alert, State
from monitor.alerts.phrases import called, figures, still
from monitor.alerts.rules import Accepted, Rule, Series, Severity
from monitor.alerts.verdicts import NOT_KEPT, Outcome, Verdict, index, judge, needed
from monitor.core.clock import DAY, SECOND, from_iso
from monitor.core.measurement import Reason
from monitor.core.text import duration, readable
from monitor.measures.catalogue.daily import EVIDENCE, REMEMBERED_DAYS
from monitor.measures.rows import CUMULATIVE, MeasurementRow, Truth
from monitor.sentences import change_words, inputs, labels, performance
from monitor.sentences.accepted import accepted_change
from monitor.sentences.change_words import FiredChange, subject_name
from monitor.sentences.known import Known, Section, few, named, sections, sentence
from monitor.sentences.reasons import why
from monitor.sentences.troubles import CycleTrouble, trouble_told
from monitor.sentences.windows import at

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
class Seen:
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
class Unjudged:
    """A rule that nothing is known of: why, and what would help; `ever`: that will not change by itself."""

    rule: str
    why: str
    ever: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a model stands."""

    model: str
    as_of: int | None
    need: Need
    # a sentence for each thing that somebody is needed for, that is in hand, or that cannot be told.
    because: tuple[str, ...]
    # of models with the same need the smaller first: critical, stale, warning; then the newest.
    rank: tuple[int, int]
    sections: tuple[Section, ...]  # what is known of it, in the order in which it is read


def standing(seen: Seen) -> Standing:
    """How a model stands: who is needed, why, and what is known."""
    known = Known(seen.rows, seen.window, seen.main)
    unjudged = list(_unjudged(seen, known))
    firing = _firing(seen)
    open_ = [alert for alert, seen_by in firing if not seen_by]
    stale = list(filter(None, [trouble_told(seen.trouble, seen.as_of), _stale(seen)]))
    blind = list(_blind(seen, known, unjudged))
    lasting = list(_not_back(seen))
    fired = [
        FiredChange(alert.breach.change, alert.series.subject, alert.series.segment) for alert, _ in firing
    ]
    causes = list(change_words.common_causes(seen.rows, fired))
    if seen.replay_until is not None:  # nobody is told of what fires in the past
        need, because = Need.IN_HAND, [_replay(seen, seen.replay_until), *causes, *_fire(seen, firing)]
    elif open_ or stale or lasting:
        critical = [(alert, "") for alert in open_ if alert.severity is Severity.CRITICAL]
        others = [(alert, "") for alert in open_ if alert.severity is not Severity.CRITICAL]
        taken = [pair for pair in firing if pair[1]]
        need = Need.NEEDED
        because = [*causes, *_fire(seen, critical), *stale]
        because += [*_fire(seen, others), *lasting, *_fire(seen, taken)]
    elif firing:
        need, because = Need.IN_HAND, [*causes, *_fire(seen, firing)]
    elif blind:
        need, because = Need.CANNOT_TELL, blind
    else:
        need, because = Need.NOTHING, [*_quiet(seen), *performance.segments_worse(known)]
    return Standing(
        model=seen.model,
        as_of=seen.as_of,
        need=need,
        because=tuple(map(sentence, because)),
        rank=_rank(seen, firing, stale=bool(stale)),
        sections=tuple(_sections(seen, known, () if need is Need.CANNOT_TELL else unjudged, len(unjudged))),
    )


def ranked(models: Iterable[Standing]) -> list[Standing]:
    """Models in the order in which somebody is needed."""
    return sorted(models, key=lambda one: (_ORDER.index(one.need), one.rank, one.model))


def exit_code(models: Iterable[Standing]) -> int:
    """What a script is told: 3 somebody is needed, 4 it cannot be judged, 0 neither."""
    needs = {one.need for one in models}
    return 3 if Need.NEEDED in needs else 4 if Need.CANNOT_TELL in needs else 0


def _firing(seen: Seen) -> list[tuple[Alert, str]]:
    """Alerts that call for somebody, the most urgent first: what is for information alone does not."""
    firing = [
        (alert, seen_by)
        for alert, seen_by in seen.alerts
        if alert.state is State.FIRING and alert.severity is not Severity.INFO
    ]
    return sorted(firing, key=lambda one: (_SEVERITIES.index(one[0].severity), -one[0].since, one[0].series))


def _rank(seen: Seen, firing: Sequence[tuple[Alert, str]], *, stale: bool) -> tuple[int, int]:
    critical = any(alert.severity is Severity.CRITICAL for alert, _ in firing)
    first = 0 if critical else 1 if stale else 2
    newest = max((alert.since for alert, _ in firing), default=seen.as_of or 0)
    return (first, -newest)


def _replay(seen: Seen, until: int) -> str:
    """Where a replay is that runs now."""
    if seen.as_of is None:
        return f"Replaying to {at(until)}: no cycle of this model has ended yet"
    return f"Replaying: at {at(seen.as_of)} of {at(until)}"


def _stale(seen: Seen) -> str | None:
    """That no cycle ran for too long, or none will; None: one did, or the first one is still awaited."""
    patience = max(_PATIENCE * seen.every + _SLACK, 0 if seen.followed else _AFTER_REPLAY)
    heard = seen.now if seen.heard is None else seen.heard
    done = max(seen.as_of or 0, seen.worked or 0)  # a daemon that makes up for missed ticks works
    if seen.as_of is None or seen.past or (seen.now - heard <= _SLACK and seen.now - done <= patience):
        return None
    lasting = duration((seen.now - seen.as_of) / SECOND)
    told = f"No cycle has succeeded for {lasting}: look whether the daemon runs, and at its log"
    if seen.heard is not None:
        told = f"No daemon has been heard of since {at(heard)}: start it, or look at its log"
    return f"{told}. All that is said here is of {at(seen.as_of)}"


def _not_back(seen: Seen) -> Iterator[str]:
    """What nobody has accepted, and no alert tells any longer: silence would look like health."""
    accepted = {
        (one.series.subject, one.series.segment): one.end
        for one in seen.accepted.values()
        if one.series.window == CUMULATIVE
    }
    since = {
        subject_name(*of): day
        for of, day in change_words.changes_now_usual(seen.rows).items()
        if accepted.get(of, 0) <= from_iso(day)
    }
    if since:
        told = few(f"{name} since {day}" for name, day in since.items())
        yield f"Not gone back, though no alert tells it any longer: {told}. Mend it, or accept it"


def _fire(seen: Seen, firing: Iterable[tuple[Alert, str]]) -> Iterator[str]:
    """Alerts that fire: what, when, and who has it; subjects of which the same is said stand together."""
    groups: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for alert, seen_by in firing:
        place = tuple(named(part) for part in (alert.series.version, alert.series.segment) if part)
        subjects = groups.setdefault((alert.series.rule, place, _told(seen, alert, seen_by)), [])
        if alert.series.subject and not alert.series.subject.endswith("*"):
            subjects.append(named(alert.series.subject))
    for (rule, place, told), subjects in groups.items():
        of = ", ".join([*place, *([few(subjects, _NAMED)] if subjects else [])])
        yield readable(f"{rule} ({of}){told}" if of else f"{rule}{told}")


def _told(seen: Seen, alert: Alert, seen_by: str) -> str:
    if alert.breach.reason == NOT_KEPT:
        return f" fires, found {at(alert.since)}; {NOT_KEPT}"
    rule = next((rule for rule in seen.rules if rule.name == alert.series.rule), None)
    found = "" if alert.breach.change is not None else f", found {at(alert.since)}"
    told = (still(alert), f"acknowledged by {seen_by}" if seen_by else "")
    return "; ".join([f": {figures(rule, alert.breach)}{found}", *filter(None, told)])


def _quiet(seen: Seen) -> Iterator[str]:
    """Why nothing is to be done, and what is not watched at all."""
    every = "Every rule" if len(_told_of(seen)) == len(seen.rules) else "Every rule that something is kept of"
    beyond = few(sorted(map(called, _accepted(seen))))
    if seen.alerts:
        yield f"{every} is judged; what is in breach is pending, or for information alone"
    else:
        but = f" beyond what is accepted: {beyond}" if beyond else ""
        yield f"{every} is judged, and none is in breach{but}"
    if not seen.labels:
        yield "Performance is not watched: no labels are configured"


def _blind(seen: Seen, known: Known, unjudged: Sequence[Unjudged]) -> Iterator[str]:
    """Sentences on what cannot be told, each with what would help."""
    if seen.as_of is None:
        yield "No cycle has run yet: start the daemon, or run `monitor cycle`"
        return
    if not known.rows:
        yield "Nothing has been measured yet: wait for the next cycle, or look at the log's table"
        return
    if not seen.rules:
        yield "No rule is configured, so nothing is judged: leave alerts = [] out"
    if not seen.reference:
        yield f"Shifts and falls are not judged: {why('no_reference')}"
    if seen.labels and not performance.is_known(known):
        yield performance.not_known(known)
        if known.newest(known.main, Truth.SETTLED.value) is None:
            yield labels.when_settles(known)
    yield from performance.wrong_way(known)
    yield from _not_judged(unjudged)


def _not_judged(unjudged: Sequence[Unjudged]) -> Iterator[str]:
    """A sentence for each reason why rules are not judged."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for rule in unjudged:
        groups.setdefault((rule.why, rule.ever), []).append(rule.rule)
    for (reason, ever), names in groups.items():
        be = "is" if len(names) == 1 else "are"
        yield f"{few(names, 4)} {'can never be' if ever else f'{be} not'} judged: {reason}"


def _unjudged(seen: Seen, known: Known) -> Iterator[Unjudged]:
    """Rules of which nothing is known by the newest measurements."""
    rows = index(seen.rows, needed(seen.rules))
    for rule in _told_of(seen):
        if rule.name in seen.never:
            yield Unjudged(rule.name, seen.never[rule.name], ever=True)
            continue
        verdicts = judge(rule, rows, seen.accepted)
        if not verdicts:
            yield Unjudged(rule.name, _no_row(rule, known))
        elif all(verdict.outcome is Outcome.UNKNOWN for verdict in verdicts.values()):
            yield Unjudged(rule.name, _why(verdicts.values(), known))


def _told_of(seen: Seen) -> list[Rule]:
    """Rules of which something can be told: of the past only those whose measurements are kept."""
    if not seen.past:
        return list(seen.rules)
    kept = {(row.measure, row.window, row.truth) for row in seen.rows}
    return [
        rule
        for rule in seen.rules
        if rule.truth == "settled" or (rule.measure, rule.window, rule.truth) in kept
    ]


def _no_row(rule: Rule, known: Known) -> str:
    """Why a rule has nothing to judge."""
    of = (rule.measure, rule.truth, rule.window, rule.against)
    if rule.truth and (told := performance.not_judged(known, *of)) is not None:
        return told
    if rule.truth == "settled":
        return labels.none_settled(known, "" if rule.window == CUMULATIVE else rule.window)
    if rule.truth == "nowcast":
        return f"nothing has been nowcast yet: {why('too_early')}"
    if not rule.window:
        return "its figure of the log is not there yet: wait for the next cycle, or the next audit"
    return f"what it judges of the window {rule.window} is not there yet: wait until the window has ended"


def _why(verdicts: Iterable[Verdict], known: Known) -> str:
    reasons = [verdict.reason for verdict in verdicts]
    reason = max(dict.fromkeys(reasons), key=reasons.count)
    return labels.when_settles(known) if reason == Reason.NOT_SETTLED else why(reason)


def _sections(seen: Seen, known: Known, told: Sequence[Unjudged], unjudged: int) -> Iterator[Section]:
    if seen.as_of is None or not known.rows:
        return
    yield from sections(
        (
            ("performance", performance.performance(known, labels=seen.labels)),
            ("inputs", inputs.inputs(known)),
            ("labels", labels.labels(known) if seen.labels else iter(())),
            ("data", inputs.quality(known)),
            ("rules", _rules(seen, told, unjudged)),
            ("accepted", iter(_accepted(seen).values())),
            ("next", _next(seen)),
        )
    )


def _rules(seen: Seen, told: Sequence[Unjudged], unjudged: int) -> Iterator[str]:
    """How many rules are judged, what waits; which are not, where the head does not tell it."""
    known = _told_of(seen)
    pending = sorted({alert.series.rule for alert, _ in seen.alerts if alert.state is State.PENDING})
    rules = f"{len(known) - unjudged} of {len(seen.rules)} rules are judged"
    yield "; ".join([rules, *change_words.judged_subjects(seen.rows)])
    yield from change_words.alerts_beside_budget(seen.rows)
    if len(known) < len(seen.rules):
        past = [rule.name for rule in seen.rules if rule not in known]
        yield f"{few(past)} cannot be told of a moment in the past"
    if pending:
        yield f"In breach, but not for long enough to fire: {few(pending)}"
    yield from _not_judged(told)


def accepted_of(accepted: Accepted, rules: Sequence[Rule], as_of: int) -> dict[Series, str]:
    """Who has accepted what of these rules, until when and why; days while they are learned from.

    Parameters
    ----------
    as_of
        of the last cycle.
    """
    daily = {rule.name: rule.measure == EVIDENCE for rule in rules}
    return {
        one.series: accepted_change(
            called(one.series),
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


def _accepted(seen: Seen) -> dict[Series, str]:
    return accepted_of(seen.accepted, seen.rules, seen.as_of or 0)


def _next(seen: Seen) -> Iterator[str]:
    due = (seen.as_of or 0) + seen.every
    if seen.of_past and not seen.past:
        yield f"As of {at(seen.as_of or 0)} UTC, where a log of the past ends"
        return
    if seen.replay_until is not None:
        yield f"As of {at(seen.as_of or 0)} UTC; the replay goes on to {at(seen.replay_until)}"
        return
    if not seen.followed and not seen.past:
        yield f"As of {at(seen.as_of or 0)} UTC, the last cycle of a replay: monitor run goes on from there"
        return
    behind = seen.now - due > _PATIENCE * seen.every and not (seen.past or seen.trouble or _stale(seen))
    what = "missed ticks are being made up for" if behind else f"the next cycle is due at {at(due)}"
    yield f"As of {at(seen.as_of or 0)} UTC; {what}"
