"""What was and can be decided of an incident, and its history."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_rules import AlertedSeries
from monitor.alerts.incident_life import IncidentTurn, KeptIncident
from monitor.alerts.incidents import Incident, IncidentAlert
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding
from monitor.alerts.model_summary import changed_what_words
from monitor.core.clock import SECOND
from monitor.core.text import readable_text
from monitor.measures.measurement_row import LabelTruth
from monitor.pages.page_request import IncidentData, PageRequest
from monitor.sentences.change_words import is_against_scores
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    join_few_names,
    readable_name,
    spoken_measure,
)
from monitor.sentences.label_sentences import next_settling
from monitor.sentences.time_words import day_words, local_moment_words
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import ShownIncident
from monitor.web.answers import FormVisit

_ENDED = {
    "cleared": "resolved by itself",
    "accepted": "accepted",
    "usual": "became usual",
    "removed": "rule removed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundIncident:
    """All that a page says of an incident."""

    model: str
    kept: KeptIncident  # as it is, while `incident` is as it was told
    incident: Incident
    shown: Sequence[ShownAlert]  # all alerts that ever belonged to it, in the order in which they joined
    listed: Sequence[ShownIncident]  # all incidents of its model
    facts: ModelFacts
    # then, then_facts: how its model stood as the incident was told last, and by which facts; of one that is
    # open: now.
    then: ModelStanding
    then_facts: ModelFacts
    is_current: bool  # it is open, and told as it is now

    @property
    def today(self) -> int:
        """Moment of the last cycle."""
        return self.facts.as_of or 0

    @property
    def parts(self) -> list[tuple[IncidentAlert, ShownAlert]]:
        """Its alerts as they are told, each with how it is now."""
        by_key = {(one.alert.series, one.alert.since): one for one in self.shown}
        keyed = ((part, (part.alert.series, part.alert.since)) for part in self.incident.every_alert)
        return [(part, by_key[key]) for part, key in keyed if key in by_key]


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """Something that happened, or will."""

    at: str
    what: str
    is_to_come: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideForm:
    """What can be decided: by a form where somebody who may is there, else by commands."""

    visit: FormVisit | None
    action: str
    buttons: tuple[tuple[str, str], ...]  # value and text
    decided: tuple[str, ...]
    commands: tuple[str, ...]
    why_not: str  # why there is no form; empty: there is


def how_it_ended(kept: KeptIncident) -> str:
    """Why the last of its alerts ended; "open" where one fires, "recovering" where that is not confirmed."""
    if kept.resolved_at is None:
        return "open" if kept.firing else "recovering"
    last = max(kept.members, key=lambda one: one.left or 0)
    ended = "" if last.ended is None else last.ended.value
    return _ENDED.get(ended, ended.replace("_", " ") or "over")


def make_decide_form(data: IncidentData, request: PageRequest, found: FoundIncident, zone: str) -> DecideForm:
    """What can be decided now, and by what: a form where somebody who may is there, else commands."""
    kept, past = found.kept, request.as_of is not None
    withdrawable = set() if past else data.list_withdrawable(found.model)
    members = {(member.series, member.since) for member in kept.members}
    buttons = []
    if kept.firing and not past:
        buttons.append(("acknowledge", "Acknowledge"))
        if all(member.series.window for member in kept.firing):
            buttons.append(("accept", "Accept as normal"))
    decided = list(_decision_lines(found, zone))
    if withdrawable & members:
        buttons.append(("withdraw", "Withdraw acceptance"))
        if kept.firing:
            decided.append("What is accepted ends with the next cycle.")
    verbs = {"acknowledge": "ack", "accept": "accept", "withdraw": "withdraw"}
    named = shlex.join(["--model", found.model, "--incident", kept.address])
    commands = [f"monitor alerts {verbs[value]} {named} --by NAME --why WHY" for value, _ in buttons]
    commands.append(f"monitor alerts --explain {shlex.join(['--model', found.model])}")
    visit = request.visit if buttons else None
    why_not = ""
    if past:
        why_not = "You see the past: decide on the latest state."
    elif not buttons:
        why_not = (
            "It is over, so there is nothing to decide." if kept.resolved_at else "No alert of it fires."
        )
    elif visit is None:
        why_not = (
            "Nobody is signed in here, so decide by a command. To decide on this page, give the daemon "
            "http.secret_file, or http.user_header behind a proxy that signs people in."
        )
    action = request.link_to("models", found.model, "incidents", kept.address, "decide")
    return DecideForm(
        visit=visit,
        action=action.partition("?")[0],
        buttons=tuple(buttons),
        decided=tuple(decided),
        commands=tuple(commands),
        why_not=why_not,
    )


def _decision_lines(found: FoundIncident, zone: str) -> Iterator[str]:
    for at, what, many in _decisions(found):
        of = "" if many == len(found.shown) else f" ({many} of {len(found.shown)} alerts)"
        yield f"{what}, {local_moment_words(at // SECOND * SECOND, zone)}{of}"


def _decisions(found: FoundIncident) -> Iterator[tuple[int, str, int]]:
    """(when, what, of how many alerts) of each decision, in order."""
    many: dict[tuple[int, str, str, str], int] = {}
    for shown in found.shown:
        for one in shown.decisions:
            key = (one.at, one.kind, one.who, one.why)
            many[key] = many.get(key, 0) + 1
    for (at, kind, who, why), count in sorted(many.items()):
        yield at, readable_text(f"{capitalize_first(kind)} by {who}: {why}"), count


def list_history_steps(data: IncidentData, found: FoundIncident, zone: str) -> Iterator[HistoryStep]:
    """From the first day to what is still to come."""
    kept = found.kept
    steps = [(min(member.first_day for member in kept.members), "First day of the change")]
    steps += _member_steps(kept, {one.alert.series: name_member(one) for one in found.shown})
    steps += [
        (step.at, f"Grew: {step.growth.value}")
        for step in kept.steps
        if step.turn is IncidentTurn.GREW and step.growth is not None
    ]
    for notice in data.read_sent_notices(found.model, kept.address):
        sent = "sent by" if notice.is_delivered else "given up for" if notice.is_given_up else "waits for"
        steps.append((notice.as_of, f"Notice ({notice.kind}) {sent} {notice.channel}"))
    steps += [(at, what) for at, what, _ in _decisions(found)]
    if kept.resolved_at is not None:
        steps.append((kept.resolved_at, "Over"))
    for at, what in sorted(steps, key=lambda one: one[0]):
        yield HistoryStep(local_moment_words(at // SECOND * SECOND, zone), readable_text(what))
    if found.is_current:
        yield from _steps_to_come(found, zone)


def _member_steps(kept: KeptIncident, called: Mapping[AlertedSeries, str]) -> Iterator[tuple[int, str]]:
    """Which alerts fired and ended, those of one moment together."""
    for joined in sorted({member.joined for member in kept.members}):
        names = [called.get(one.series, str(one.series)) for one in kept.members if one.joined == joined]
        if joined == kept.opened_at:
            yield joined, f"{len(names)} alerts fired: one incident" if len(names) > 1 else "1 alert fired"
        else:
            yield joined, f"Joined: {join_few_names(names)}"
    for left in sorted({member.left for member in kept.members if member.left is not None}):
        gone = [one for one in kept.members if one.left == left]
        why = sorted({_ENDED.get(one.ended.value, one.ended.value) for one in gone if one.ended is not None})
        names = [called.get(one.series, str(one.series)) for one in gone]
        yield left, f"Ended: {join_few_names(names)}" + (f" ({', '.join(why)})" if why else "")


def _steps_to_come(found: FoundIncident, zone: str) -> Iterator[HistoryStep]:
    """When it will be over, and when more is known of performance."""
    recovers_at = found.kept.recovers_at
    if recovers_at is not None:
        yield HistoryStep(
            local_moment_words(recovers_at, zone), "Over, unless it comes back", is_to_come=True
        )
    measurements = KnownMeasurements(found.facts.rows, found.facts.window, found.facts.main)
    row = next_settling(measurements) if found.facts.labels else None
    if row is not None and row.measurement.value is not None:
        at = round(row.measurement.value) * SECOND
        what = "Labels of the next window are in, and performance is final"
        yield HistoryStep(f"about {day_words(at, found.today)}", what, is_to_come=True)


def name_member(shown: ShownAlert) -> str:
    """What an alert is about: its feature, its measure, or what changed."""
    series, rule, change = shown.alert.series, shown.rule, shown.alert.breach.change
    name = readable_name(series.subject.removeprefix(FEATURE))
    if not name and change is not None:
        name = "labels" if is_against_scores(change) else changed_what_words(change) or series.rule
    if not name and rule is not None:
        estimated = ", estimated" if rule.truth == LabelTruth.NOWCAST else ""
        name = capitalize_first(spoken_measure(rule.measure)) + estimated
    return ", ".join(part for part in (name or series.rule, series.segment, series.version) if part)
