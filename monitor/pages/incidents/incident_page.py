"""The page of one incident: what happened, its evidence, who is affected, what else changed, its alerts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_headlines import EVERY_RECORD
from monitor.alerts.incident_life import OF_INPUTS, IncidentKind
from monitor.alerts.incidents import Incident, explain_incidents, told_incident
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import incident_context
from monitor.alerts.model_summary import FigureMark, SummaryFigure
from monitor.core.clock import DAY, SECOND, to_iso
from monitor.core.errors import AddressError
from monitor.measures.value_words import format_measure_value
from monitor.pages.incident_cards import HeadlineCard, incident_card
from monitor.pages.incidents.incident_decisions import (
    DecideForm,
    FoundIncident,
    HistoryStep,
    how_it_ended,
    list_history_steps,
    make_decide_form,
)
from monitor.pages.incidents.incident_evidence import RANGES, IncidentEvidence, gather_evidence
from monitor.pages.incidents.member_alerts import MemberRow, list_member_rows, runbook_address
from monitor.pages.model_page import make_choice_links, spec_of
from monitor.pages.page_request import IncidentData, PageLink, PageRequest, zone_of
from monitor.pages.tab_counts import judge_once, read_standing
from monitor.sentences.known_measurements import (
    capitalize_first,
    join_few_names,
    spoken_measure,
)
from monitor.sentences.time_words import day_range_words, day_words, length_words
from monitor.show.incident_tables import incidents_as_json
from monitor.specs.fault_words import did_you_mean, quote_names, quote_value
from monitor.specs.stored_rows import HistoryEvent

_MOST_EARLIER, _MOST_SEGMENTS, _MOST_TOGETHER = 8, 12, 4
_NEAR = 7 * DAY  # about a first day, in which a deployment is named
_OWN_FIGURE = {  # of what an incident is about: all others are what else changed
    IncidentKind.RECORDS: "Records",
    IncidentKind.LABELS: "Labels",
    IncidentKind.OUTCOME: "Labels",
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


def incident_page(data: IncidentData, request: PageRequest, name: str, address: str) -> IncidentPage:
    """Page of an incident, open or over.

    Raises
    ------
    AddressError
        404 with a suggestion, if there is no such incident.
    """
    request.refuse_unknown_parameters("range")
    shown_range = request.parse_choice("range", list(RANGES), "60d")
    found = find_incident(data, request, name, address)
    zone = zone_of(data, name)
    affected, note = _affected_parts(found)
    return IncidentPage(
        model=name,
        card=_headline_card(request, found),
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
        now_title="Now" if found.is_current else "Then",
        earlier=tuple(_earlier_rows(request, found)),
        earlier_title=f"Earlier incidents: {found.kept.kind.value}",
        decide=make_decide_form(data, request, found, zone),
        history=tuple(list_history_steps(data, found, zone)),
        members=tuple(list_member_rows(request, found, data.list_alerts(name, request.as_of), zone)),
    )


def incident_json(data: IncidentData, request: PageRequest, name: str, address: str) -> str:
    """The incident as `monitor incidents --format json` prints it."""
    request.refuse_unknown_parameters("range")
    spec_of(data, name)
    listed = data.list_incidents(name, request.as_of)
    mine = [one for one in listed if one.kept.address == address]
    if not mine:
        raise _no_such_incident(address, [one.kept.address for one in listed])
    return incidents_as_json(mine)


def find_incident(data: IncidentData, request: PageRequest, name: str, address: str) -> FoundIncident:
    """The incident that an address asks for. AddressError: see `incident_page`."""
    spec = spec_of(data, name)
    standing = read_standing(data, name, request.as_of)
    (facts,) = data.read_model_facts(name, request.as_of)
    listed = data.list_incidents(name, request.as_of)
    alerts = data.list_alerts(name, request.as_of)
    current = next((one for one in standing.incidents if one.address == address), None)
    kept = next((one.kept for one in listed if one.kept.address == address), None)
    incident = current
    if incident is None and kept is not None:
        keys = {(member.series, member.since) for member in kept.members}
        mine = [one.alert for one in alerts if (one.alert.series, one.alert.since) in keys]
        incident = told_incident(kept, mine, spec.rules)
    if incident is None:
        raise _no_such_incident(address, [one.kept.address for one in listed])
    then, then_facts = standing, facts
    if current is None:
        told = max((step.at for step in incident.kept.steps), default=incident.kept.opened_at)
        (then_facts,) = data.read_model_facts(name, told)
        then = judge_once(then_facts)
        # What it cost is what was known when it was over.
        over_at = None if kept is None else kept.resolved_at
        (last_facts,) = data.read_model_facts(name, request.as_of if over_at is None else over_at)
        context = replace(incident_context(last_facts), is_over=over_at is not None)
        (incident,) = explain_incidents([incident], context)
    by_key = {(one.alert.series, one.alert.since): one for one in alerts}
    members = sorted(incident.kept.members if kept is None else kept.members, key=lambda one: one.joined)
    keyed = ((member.series, member.since) for member in members)
    return FoundIncident(
        model=name,
        kept=incident.kept if kept is None else kept,
        incident=incident,
        shown=[by_key[key] for key in keyed if key in by_key],
        listed=listed,
        facts=facts,
        then=then,
        then_facts=then_facts,
        is_current=current is not None,
    )


def _no_such_incident(address: str, known: Sequence[str]) -> AddressError:
    newest = sorted(known, reverse=True)
    there = f"the newest are {quote_names(newest[:4])}" if newest else "none has been opened"
    return AddressError(
        f"there is no incident {quote_value(address)}: {there}{did_you_mean(address, newest)}", 404
    )


def _headline_card(request: PageRequest, found: FoundIncident) -> HeadlineCard:
    """The card of other pages, with what leads on from here."""
    plain = incident_card(request, [found.model], found.incident, found.today)
    kept = found.kept
    meta = [one for one in plain.meta if one != "not acknowledged" or found.is_current]
    over_at = kept.resolved_at
    if over_at is not None:
        meta.append(f"over {day_words(over_at, found.today)} after {_length_words(kept.opened_at, over_at)}")
    elif found.is_current:
        meta.append(f"open for {_length_words(found.incident.first_days[0], found.today)}")
    before = request.link_to("models", found.model, as_of=to_iso(found.incident.first_days[0]))
    runbook = runbook_address(request, found.parts[0][1]) if found.parts else request.link_to("runbook")
    actions = [("The model the day before", before, "plain"), ("Runbook", runbook, "plain")]
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


def _length_words(start: int, end: int) -> str:
    return length_words(max(end - start, 0) / SECOND)


def _affected_parts(found: FoundIncident) -> tuple[list[AffectedRow], str]:
    """Segments that are affected, by what is kept of each; and what is not known of them."""
    facts = found.then_facts
    columns = _kept_segments(facts)
    own = {part.alert.series.segment for part in found.incident.every_alert} - {""}
    rows = [AffectedRow(*_segment_parts(segment), "an alert of its own") for segment in sorted(own)]
    if _is_of_every_record(found.incident):
        of_all = (
            AffectedRow(column, _few_values(values), "every record") for column, values in columns.items()
        )
        return [*rows, *of_all], "" if columns else "Every record: no segments are configured."
    if found.kept.kind is IncidentKind.PERFORMANCE:
        rows += _segment_performance(facts)
    shares = [part.change.segment for part in found.incident.every_alert if part.change is not None]
    rows += [
        AffectedRow(*_segment_parts(one.name), f"{_share_words(one.of_change)} of the change, "
                    f"{_share_words(one.of_records)} of what is counted")
        for one in dict.fromkeys(shares)
        if one is not None and one.name
    ]  # fmt: skip
    if rows or not columns:
        return rows, "" if rows else "No segments are configured, so it is known of all records alone."
    if any(one is not None for one in shares):
        return rows, "No segment stands out: the change is spread over all of them."
    if found.kept.kind in OF_INPUTS:
        return rows, (
            "Inputs are counted for all records, not by segment. The log itself knows more: compare "
            f"{join_few_names(columns)} there."
        )
    return rows, "Nothing of it is stored by segment."


def _share_words(share: float) -> str:
    return format_measure_value("missing_rate", share)


def _segment_parts(segment: str) -> tuple[str, str]:
    column, _, value = segment.partition("=")
    return column, value


def _is_of_every_record(incident: Incident) -> bool:
    shares = [part.change.observed for part in incident.alerts if part.change is not None]
    return (
        incident.kind is IncidentKind.MISSING
        and bool(shares)
        and min(one or 0.0 for one in shares) >= EVERY_RECORD
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
    mine = [
        row
        for row in facts.rows
        if (row.measure, row.window, row.version, row.subject) == (facts.main, facts.window, None, "")
        if row.segment is not None and row.measurement.value is not None
    ]
    steps = {(row.segment, row.window_end): row for row in mine if row.against == _REFERENCE}
    plain = sorted((row for row in mine if not row.against), key=lambda row: row.window_end)
    newest = {str(row.segment): row for row in plain}
    measure = capitalize_first(spoken_measure(facts.main))
    for segment, row in sorted(newest.items())[:_MOST_SEGMENTS]:
        value, step = row.measurement.value or 0.0, steps.get((segment, row.window_end))
        said = f"{measure} {format_measure_value(facts.main, value)}"
        if step is not None:
            reference = value - (step.measurement.value or 0.0)
            said += f", {format_measure_value(facts.main, reference)} in training"
        yield AffectedRow(*_segment_parts(segment), said)


def _compared_rows(data: IncidentData, request: PageRequest, found: FoundIncident) -> Iterator[ComparedRow]:
    """The other figures before and now, other incidents of that day, deployments: what did not change too."""
    first_day, _ = found.incident.first_days
    before = read_standing(data, found.model, first_day)
    pages = ("performance", "features", "log", "log")
    for then, figure, page in zip(before.summary.figures, found.then.summary.figures, pages, strict=True):
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
    yield from _rows_of_others(request, found)
    versions = [one for one in data.read_events(found.model) if one.kind == "version_first_seen"]
    if versions:
        yield _version_row(request, found, first_day, versions)


def _rows_of_others(request: PageRequest, found: FoundIncident) -> Iterator[ComparedRow]:
    """Other incidents that began that day, or were open at the same time."""
    own, end = found.kept, found.kept.resolved_at or found.today
    others = [one for one in found.listed if one.kept.address != own.address]
    together = [
        one
        for one in others
        if one.kept.opened_at <= end and (one.kept.resolved_at or found.today) >= own.opened_at
    ]
    together.sort(key=lambda one: one.kept.address not in found.incident.same_day)
    for one in together[:_MOST_TOGETHER]:
        is_same_day = one.kept.address in found.incident.same_day
        yield ComparedRow(
            name="Same day" if is_same_day else "Same time",
            href=request.link_to("models", found.model, "incidents", one.kept.address),
            before="",
            now="",
            said=f"{one.headline}: perhaps another cause" if is_same_day else one.headline,
            kind=one.kept.worst.value if one.kept.worst is not Severity.INFO else "",
        )


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


def _version_row(
    request: PageRequest, found: FoundIncident, first_day: int, versions: Sequence[HistoryEvent]
) -> ComparedRow:
    """Versions that began about the first day; that there is none is said too."""
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


def _earlier_rows(request: PageRequest, found: FoundIncident) -> Iterator[EarlierRow]:
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
