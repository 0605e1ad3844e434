"""The page of one incident: what happened, the evidence, who is affected, what else changed, what to decide."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_phrases import (
    alert_figures,
    alert_sentence,
    alerted_series_name,
    cause_table,
    end_reason_words,
    fill_annotations,
    rule_words,
    still_firing_words,
)
from monitor.alerts.alert_rules import AlertedSeries, Severity
from monitor.alerts.incident_life import IncidentKind, IncidentTurn, KeptIncident
from monitor.alerts.incidents import Incident, IncidentAlert, told_incident
from monitor.alerts.lifecycle import AlertState
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding
from monitor.alerts.model_summary import FigureMark, SummaryFigure
from monitor.core.clock import DAY, SECOND, to_iso
from monitor.core.errors import AddressError
from monitor.core.text import readable_text
from monitor.exposition.forwarding import is_reachable_address, runbook_section
from monitor.measures.measure_options import FEATURE
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import format_measure_value
from monitor.pages.incidents.incident_evidence import RANGES, IncidentEvidence, gather_evidence
from monitor.pages.model_page import make_choice_links, spec_of
from monitor.pages.overview_page import HeadlineCard, incident_card
from monitor.pages.page_request import PageData, PageLink, PageRequest, zone_of
from monitor.pages.period_words import duration_words, local_moment_words
from monitor.pages.tab_counts import read_standing
from monitor.sentences.change_words import chart_title, observed_and_usual_words
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    capitalize_first,
    end_sentence,
    join_few_names,
    spoken_measure,
)
from monitor.sentences.performance_sentences import awaited_performance_sentence
from monitor.sentences.time_words import day_range_words, day_words
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import ShownIncident, incidents_as_json
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.web.answers import FormVisit

_MOST_EARLIER, _MOST_SEGMENTS, _MOST_CAUSES = 8, 12, 12
_EVERY = 0.999  # share of the records that reads as each of them
_NEAR = 7 * DAY  # about a first day, in which a deployment is named
_OWN_FIGURE = {  # of what an incident is about: all others are what else changed
    IncidentKind.RECORDS: "Records",
    IncidentKind.LABELS: "Labels",
    IncidentKind.MISSING: "Inputs",
    IncidentKind.MOVED: "Inputs",
}
_REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class AffectedRow:
    """A part of the records, and how it is affected."""

    column: str
    values: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """Something else, before the incident and now."""

    name: str
    href: str
    before: str
    now: str
    said: str
    kind: str  # of the badge: critical, warning or ""


@dataclass(frozen=True, slots=True)
class EarlierRow:
    """An earlier incident of the same kind."""

    since: str
    headline: str
    href: str
    ended: str
    lasted: str


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """Something that happened, or will."""

    at: str
    what: str
    is_to_come: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """An alert of the incident, and how it is judged."""

    name: str
    href: str  # of the feature's page; empty: it is of no feature
    icon: str  # critical, warning, none; ok: it is over
    what: str
    state: str  # of one that is over: why and when
    said: str
    rule: str
    still: str
    cause: tuple[tuple[str, ...], ...]  # lines of a table, the headings first
    alert: str  # address of the alert's own page


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideForm:
    """What can be decided: by a form where somebody who may is there, else by commands."""

    visit: FormVisit | None
    action: str
    buttons: tuple[tuple[str, str], ...]  # value and text
    decided: tuple[str, ...]
    commands: tuple[str, ...]
    why_not: str  # why there is no form; empty: there is


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    """Page of one incident."""

    model: str
    card: HeadlineCard
    ranges: tuple[PageLink, ...]
    evidence: IncidentEvidence
    affected: tuple[AffectedRow, ...]
    affected_note: str
    compared: tuple[ComparedRow, ...]
    now_title: str
    earlier: tuple[EarlierRow, ...]
    earlier_title: str
    decide: DecideForm
    history: tuple[HistoryStep, ...]
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundIncident:
    """All that a page says of an incident."""

    model: str
    incident: Incident
    shown: Sequence[ShownAlert]  # all alerts that ever belonged to it, in the order in which they joined
    listed: Sequence[ShownIncident]  # all incidents of its model
    standing: ModelStanding
    facts: ModelFacts
    is_current: bool  # it is open, and told as it is now

    @property
    def kept(self) -> KeptIncident:
        return self.incident.kept

    @property
    def today(self) -> int:
        return self.facts.as_of or 0

    @property
    def parts(self) -> list[tuple[IncidentAlert, ShownAlert]]:
        """Its alerts as they are told, each with how it is now."""
        by_key = {(one.alert.series, one.alert.since): one for one in self.shown}
        keyed = ((part, (part.alert.series, part.alert.since)) for part in self.incident.every_alert)
        return [(part, by_key[key]) for part, key in keyed if key in by_key]


def incident_page(data: PageData, request: PageRequest, name: str, address: str) -> IncidentPage:
    """Page of an incident, open or over.

    Raises
    ------
    AddressError
        404 with a suggestion, if there is no such incident.
    """
    request.refuse_unknown_parameters("range")
    shown_range = request.parse_choice("range", list(RANGES), "60d")
    found = _find_incident(data, request, name, address)
    zone = zone_of(data, name)
    affected, note = _affected_parts(found)
    return IncidentPage(
        model=name,
        card=_headline_card(request, found, zone),
        ranges=make_choice_links(request, "range", list(RANGES), shown_range),
        evidence=gather_evidence(
            data,
            request,
            spec_of(data, name),
            found.facts,
            found.parts,
            count=RANGES[shown_range],
            over_at=found.kept.resolved_at,
        ),
        affected=tuple(affected),
        affected_note=note,
        compared=tuple(_compared_rows(data, request, found)),
        now_title="Then" if found.kept.resolved_at is not None else "Now",
        earlier=tuple(_earlier_rows(request, found)),
        earlier_title=f"Earlier incidents: {found.kept.kind.value}",
        decide=_decide_form(data, request, found, zone),
        history=tuple(_history_steps(data, found, zone)),
        members=tuple(_member_rows(request, found, zone)),
    )


def incident_json(data: PageData, request: PageRequest, name: str, address: str) -> str:
    """The incident as `monitor incidents --format json` prints it."""
    request.refuse_unknown_parameters("range")
    spec_of(data, name)
    listed = data.list_incidents(name, request.as_of)
    mine = [one for one in listed if one.kept.address == address]
    if not mine:
        raise _no_such_incident(address, [one.kept.address for one in listed])
    return incidents_as_json(mine)


def _find_incident(data: PageData, request: PageRequest, name: str, address: str) -> _FoundIncident:
    spec = spec_of(data, name)
    standing = read_standing(data, name, request.as_of)
    (facts,) = data.read_model_facts(name, request.as_of)
    listed = data.list_incidents(name, request.as_of)
    alerts = data.list_alerts(name, request.as_of, ended=True)
    current = next((one for one in standing.incidents if one.address == address), None)
    kept = next((one.kept for one in listed if one.kept.address == address), None)
    incident = current
    if incident is None and kept is not None:
        keys = {(member.series, member.since) for member in kept.members}
        mine = [one.alert for one in alerts if (one.alert.series, one.alert.since) in keys]
        incident = told_incident(kept, mine, spec.rules)
    if incident is None:
        raise _no_such_incident(address, [one.kept.address for one in listed])
    by_key = {(one.alert.series, one.alert.since): one for one in alerts}
    members = sorted(incident.kept.members if kept is None else kept.members, key=lambda one: one.joined)
    keyed = ((member.series, member.since) for member in members)
    return _FoundIncident(
        model=name,
        incident=incident,
        shown=[by_key[key] for key in keyed if key in by_key],
        listed=listed,
        standing=standing,
        facts=facts,
        is_current=current is not None,
    )


def _no_such_incident(address: str, known: Sequence[str]) -> AddressError:
    newest = sorted(known, reverse=True)
    there = f"the newest are {quote_names(newest[:4])}" if newest else "none has been opened"
    return AddressError(
        f"there is no incident {quote_value(address)}: {there}{did_you_mean(address, newest)}", 404
    )


def _headline_card(request: PageRequest, found: _FoundIncident, zone: str) -> HeadlineCard:
    """The card of other pages, with what leads on from here."""
    plain = incident_card(request, found.model, found.incident, found.today)
    kept = found.kept
    meta = [one for one in plain.meta if one != "not acknowledged" or found.is_current]
    over_at = kept.resolved_at
    if over_at is not None:
        meta.append(f"over {day_words(over_at, found.today)} after {_length_words(kept.opened_at, over_at)}")
    elif found.is_current:
        meta.append(f"open for {_length_words(kept.opened_at, found.today)}")
    before = request.link_to("models", found.model, as_of=to_iso(found.incident.first_days[0]))
    actions = [("The model the day before", before, "plain"), _runbook_action(request, found)]
    if over_at is None and request.as_of is None:
        actions = [("Acknowledge…", "#decide", "go"), ("Accept as normal…", "#decide", ""), *actions]
    return HeadlineCard(
        icon="ok" if over_at is not None else plain.icon,
        state="Over" if over_at is not None else plain.state,
        meta=(*([plain.state] if over_at is not None else []), *meta),
        title=plain.title,
        says=plain.says,
        next_step=plain.next_step if over_at is None else "",
        actions=tuple(actions),
    )


def _runbook_action(request: PageRequest, found: _FoundIncident) -> tuple[str, str, str]:
    first = found.incident.alerts[0]
    own = (
        "" if first.rule is None else fill_annotations(first.rule, first.alert.breach).get("runbook_url", "")
    )
    if not is_reachable_address(own):
        own = f"{request.link_to('runbook')}#{runbook_section(first.alert.series.rule)}"
    return "Runbook", own, "plain"


def _length_words(start: int, end: int) -> str:
    return duration_words(max(end - start, 0))


def _affected_parts(found: _FoundIncident) -> tuple[list[AffectedRow], str]:
    """Segments that are affected, by what is kept of each; and what is not known of them."""
    shares = [part.change.segment for part in found.incident.every_alert if part.change is not None]
    holding = {one.name: one for one in shares if one is not None and one.name}
    rows = [
        AffectedRow(
            *one.name.split("=", 1),
            f"{one.of_change:.0%} of the change, {one.of_records:.0%} of what is counted".replace("%", " %"),
        )
        for one in holding.values()
        if "=" in one.name
    ]
    own = {part.alert.series.segment for part in found.incident.every_alert} - {""}
    rows += [AffectedRow(*_segment_parts(segment), "an alert of its own") for segment in sorted(own)]
    columns = _kept_segments(found.facts)
    if _is_of_every_record(found.incident):
        rows += [
            AffectedRow(column, _few_values(values), "every record") for column, values in columns.items()
        ]
        return rows, "" if columns else "Every record: no segments are configured."
    if found.incident.kind is IncidentKind.PERFORMANCE and found.is_current:
        rows += _segment_performance(found.facts)
        return rows, "" if rows else "No segments are configured, so it is known of the whole model alone."
    if not columns:
        return rows, "" if rows else "No segments are configured, so it is known of the whole model alone."
    if rows:
        return rows, ""
    if any(one is not None for one in shares):
        return rows, "No segment stands out: the change is spread over all of them."
    return rows, (
        "Inputs are counted for the whole model, not by segment. The log itself knows more: "
        f"compare {join_few_names(columns)} there."
    )


def _segment_parts(segment: str) -> tuple[str, str]:
    column, _, value = segment.partition("=")
    return column, value


def _is_of_every_record(incident: Incident) -> bool:
    shares = [part.change.observed for part in incident.alerts if part.change is not None]
    return (
        incident.kind is IncidentKind.MISSING and bool(shares) and min(one or 0.0 for one in shares) >= _EVERY
    )


def _kept_segments(facts: ModelFacts) -> Mapping[str, list[str]]:
    """Values of each column that has segments, as the newest windows have them."""
    found: dict[str, dict[str, None]] = {}
    for row in facts.rows:
        if row.measure == "records" and row.segment is not None and row.window == facts.window:
            column, value = _segment_parts(row.segment)
            found.setdefault(column, {})[value] = None
    return {column: list(values) for column, values in found.items()}


def _few_values(values: Sequence[str]) -> str:
    more = len(values) - _MOST_SEGMENTS
    return ", ".join(values[:_MOST_SEGMENTS]) + (f" and {more} more" if more > 0 else "")


def _segment_performance(facts: ModelFacts) -> Iterator[AffectedRow]:
    """The main measure of each segment in the newest window, beside its reference."""
    newest: dict[str, MeasurementRow] = {}
    steps: dict[tuple[str, int], float] = {}
    for row in facts.rows:
        if row.measure != facts.main or row.segment is None or row.window != facts.window:
            continue
        if row.measurement.value is None or row.version is not None or row.subject:
            continue
        if row.against == _REFERENCE:
            steps[row.segment, row.window_end] = row.measurement.value
        elif not row.against:
            before = newest.get(row.segment)
            if before is None or before.window_end <= row.window_end:
                newest[row.segment] = row
    measure = capitalize_first(spoken_measure(facts.main))
    for segment, row in sorted(newest.items())[:_MOST_SEGMENTS]:
        value, step = row.measurement.value or 0.0, steps.get((segment, row.window_end))
        said = f"{measure} {format_measure_value(facts.main, value)}"
        if step is not None:
            said += f", {format_measure_value(facts.main, value - step)} in training"
        yield AffectedRow(*_segment_parts(segment), said)


def _compared_rows(data: PageData, request: PageRequest, found: _FoundIncident) -> Iterator[ComparedRow]:
    """The other figures before and now, other incidents of that day, deployments: what did not change too."""
    first_day, _ = found.incident.first_days
    over_at = found.kept.resolved_at
    now = found.standing if over_at is None else read_standing(data, found.model, over_at)
    before = read_standing(data, found.model, first_day)
    pages = ("performance", "features", "log", "log")
    for then, figure, page in zip(before.summary.figures, now.summary.figures, pages, strict=True):
        if figure.title == _OWN_FIGURE.get(found.kept.kind):
            continue
        if found.kept.kind is IncidentKind.PERFORMANCE and page == "performance":
            continue
        yield ComparedRow(
            name=figure.title,
            href=request.link_to("models", found.model, page),
            before=_figure_text(then),
            now=_figure_text(figure),
            said=_figure_judgement(figure),
            kind=figure.mark.value if figure.mark in (FigureMark.CRITICAL, FigureMark.WARNING) else "",
        )
    for one in found.listed:
        if one.kept.address in found.incident.same_day:
            yield ComparedRow(
                name="Same day",
                href=request.link_to("models", found.model, "incidents", one.kept.address),
                before="",
                now="",
                said=f"{one.headline}: perhaps another cause",
                kind=one.kept.worst.value if one.kept.worst is not Severity.INFO else "",
            )
    yield _version_row(data, request, found, first_day)


def _figure_text(figure: SummaryFigure) -> str:
    if not figure.value:
        return "–"
    return f"{figure.value} {figure.beside}" if figure.beside.startswith("of ") else figure.value


def _figure_judgement(figure: SummaryFigure) -> str:
    if not figure.value:
        return figure.note
    if figure.beside and not figure.beside.startswith("of "):
        return figure.beside
    return {FigureMark.OK: "as expected", FigureMark.NONE: "no alert"}.get(figure.mark, "an alert fires")


def _version_row(data: PageData, request: PageRequest, found: _FoundIncident, first_day: int) -> ComparedRow:
    """Versions that began about the first day; that there is none is said too."""
    versions = [one for one in data.read_events(found.model) if one.kind == "version_first_seen"]
    near = [one for one in versions if abs(one.log_moment - first_day) <= _NEAR]
    before = [one for one in versions if one.log_moment < first_day - _NEAR]
    newest = max(before, key=lambda one: one.log_moment, default=None)
    said = "no deployment seen in the log that week"
    if near:
        told = (f"{one.subject} since {day_words(one.log_moment, found.today)}" for one in near)
        said = f"deployed near that day: {', '.join(told)}"
    return ComparedRow(
        name="Model version",
        href=request.link_to("models", found.model, "segments"),
        before="" if newest is None else newest.subject,
        now=near[-1].subject if near else ("" if newest is None else newest.subject),
        said=said,
        kind="",
    )


def _earlier_rows(request: PageRequest, found: _FoundIncident) -> Iterator[EarlierRow]:
    """Earlier incidents of its kind, and how they ended."""
    earlier = [
        one
        for one in found.listed
        if one.kept.kind is found.kept.kind
        and one.kept.address != found.kept.address
        and one.kept.opened_at < found.kept.opened_at
    ]
    for one in sorted(earlier, key=lambda one: -one.kept.opened_at)[:_MOST_EARLIER]:
        days = [member.first_day for member in one.kept.members]
        over_at = one.kept.resolved_at
        yield EarlierRow(
            since=day_range_words(min(days), max(days), found.today),
            headline=one.headline,
            href=request.link_to("models", found.model, "incidents", one.kept.address),
            ended=how_it_ended(one.kept),
            lasted="" if over_at is None else _length_words(one.kept.opened_at, over_at),
        )


_ENDED = {
    "cleared": "resolved by itself",
    "accepted": "accepted",
    "usual": "became usual",
    "removed": "rule removed",
}


def how_it_ended(kept: KeptIncident) -> str:
    """Why the last of its alerts ended; "open" where one fires, "recovering" where that is not confirmed."""
    if kept.resolved_at is None:
        return "open" if kept.firing else "recovering"
    last = max(kept.members, key=lambda one: one.left or 0)
    ended = "" if last.ended is None else last.ended.value
    return _ENDED.get(ended, ended.replace("_", " ") or "over")


def _decide_form(data: PageData, request: PageRequest, found: _FoundIncident, zone: str) -> DecideForm:
    kept, past = found.kept, request.as_of is not None
    withdrawable = set() if past else data.list_withdrawable(found.model)
    members = {member.series for member in kept.members}
    buttons = []
    if kept.firing and not past:
        buttons.append(("acknowledge", "Acknowledge"))
        if all(member.series.window for member in kept.firing):
            buttons.append(("accept", "Accept as normal"))
    if withdrawable & members:
        buttons.append(("withdraw", "Withdraw acceptance"))
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
        decided=tuple(_decision_lines(found, zone)),
        commands=tuple(commands),
        why_not=why_not,
    )


def _decision_lines(found: _FoundIncident, zone: str) -> Iterator[str]:
    for at, what, many in _decisions(found):
        of = "" if many == len(found.shown) else f" ({many} of {len(found.shown)} alerts)"
        yield f"{what}, {local_moment_words(at // SECOND * SECOND, zone)}{of}"


def _decisions(found: _FoundIncident) -> Iterator[tuple[int, str, int]]:
    """(when, what, of how many alerts) of each decision, in order."""
    many: dict[tuple[int, str, str, str], int] = {}
    for shown in found.shown:
        for one in shown.decisions:
            key = (one.at, one.kind, one.who, one.why)
            many[key] = many.get(key, 0) + 1
    for (at, kind, who, why), count in sorted(many.items()):
        yield at, readable_text(f"{capitalize_first(kind)} by {who}: {why}"), count


def _history_steps(data: PageData, found: _FoundIncident, zone: str) -> Iterator[HistoryStep]:
    """From the first day to what is still to come."""
    kept = found.kept
    steps: list[tuple[int, str]] = [(found.incident.first_days[0], "First day of the change")]
    together = [member for member in kept.members if member.joined == kept.opened_at]
    number = _count_alerts(len(together))
    steps.append((kept.opened_at, f"{number} fired" + (": one incident" if len(together) > 1 else "")))
    for member_at in sorted({member.joined for member in kept.members} - {kept.opened_at}):
        names = [alerted_series_name(one.series) for one in kept.members if one.joined == member_at]
        steps.append((member_at, f"Joined: {join_few_names(names)}"))
    for step in kept.steps:
        if step.turn is IncidentTurn.GREW and step.growth is not None:
            steps.append((step.at, f"Grew: {step.growth.value}"))
    for left in sorted({member.left for member in kept.members if member.left is not None}):
        gone = [one for one in kept.members if one.left == left]
        why = {_ENDED.get(one.ended.value, one.ended.value) for one in gone if one.ended is not None}
        names = join_few_names(alerted_series_name(one.series) for one in gone)
        steps.append((left, f"Ended: {names} ({', '.join(sorted(why))})" if why else f"Ended: {names}"))
    for notice in data.read_sent_notices(found.model, kept.address):
        sent = "sent by" if notice.is_delivered else "given up for" if notice.is_given_up else "waits for"
        steps.append((notice.as_of, f"Notice ({notice.kind}) {sent} {notice.channel}"))
    steps += [(at, what) for at, what, _ in _decisions(found)]
    if kept.resolved_at is not None:
        steps.append((kept.resolved_at, "Over"))
    for at, what in sorted(steps, key=lambda one: one[0]):
        yield HistoryStep(local_moment_words(at // SECOND * SECOND, zone), readable_text(what))
    if not found.is_current:
        return
    if kept.recovers_at is not None:
        words = local_moment_words(kept.recovers_at, zone)
        yield HistoryStep(words, "Over, unless it comes back", is_to_come=True)
    measurements = KnownMeasurements(found.facts.rows, found.facts.window, found.facts.main)
    awaited = awaited_performance_sentence(measurements, found.today) if found.facts.labels else ""
    if awaited:
        yield HistoryStep("to come", end_sentence(awaited), is_to_come=True)


def _count_alerts(many: int) -> str:
    return f"{many} alert{'' if many == 1 else 's'}"


def _member_rows(request: PageRequest, found: _FoundIncident, zone: str) -> Iterator[MemberRow]:
    """Alerts of the incident, those that fire first, the largest first."""
    order = {(part.alert.series, part.alert.since): at for at, part in enumerate(found.incident.every_alert)}
    last = len(order)
    ranked = sorted(
        found.shown,
        key=lambda one: (
            one.alert.state is AlertState.RESOLVED,
            order.get((one.alert.series, one.alert.since), last),
        ),
    )
    for shown in ranked:
        alert, series = shown.alert, shown.alert.series
        href = ""
        if series.subject.startswith(FEATURE):
            href = request.link_to(
                "models", found.model, "feature", name=series.subject.removeprefix(FEATURE)
            )
        state = ""
        if alert.resolved_at is not None:
            state = f"{end_reason_words(alert)}, {local_moment_words(alert.resolved_at, zone)}"
        cause = alert.breach.cause
        table = [] if cause is None or not cause.rows else cause_table(shown.rule, cause)
        icon = "none" if alert.severity is Severity.INFO else alert.severity.value
        yield MemberRow(
            name=_member_name(series),
            href=href,
            icon="ok" if alert.state is AlertState.RESOLVED else icon,
            what=readable_text(_member_words(shown)),
            state=readable_text(state),
            said=readable_text(end_sentence(alert_sentence(shown.rule, series, alert.breach))),
            rule="" if shown.rule is None else readable_text(end_sentence(rule_words(shown.rule))),
            still=readable_text(still_firing_words(alert)),
            cause=tuple(table[: _MOST_CAUSES + 1]),
            alert=request.link_to("models", found.model, "alerts", series.rule, **_of_alert(shown)),
        )


def _of_alert(shown: ShownAlert) -> dict[str, str]:
    series = shown.alert.series
    return {
        "since": str(shown.alert.since),
        "subject": series.subject,
        "segment": series.segment,
        "version": series.version,
    }


def _member_name(series: AlertedSeries) -> str:
    parts = (series.subject.removeprefix(FEATURE) or series.rule, series.segment, series.version)
    return ", ".join(part for part in parts if part)


def _member_words(shown: ShownAlert) -> str:
    """What is judged, and what it was when it fired last."""
    change = shown.alert.breach.change
    words = None if change is None else observed_and_usual_words(change)
    if change is None or words is None:
        return alert_figures(shown.rule, shown.alert.breach)
    observed, low, high = words
    usual = "" if _is_zero_text(low) and _is_zero_text(high) else f", usually {low} to {high}"
    return f"{chart_title(change)} {observed}{usual}"


def _is_zero_text(text: str) -> bool:
    """Whether a number in words is 0, as "0.0 %"."""
    return text.partition(" ")[0].strip("0.") == ""
