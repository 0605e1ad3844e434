"""The list of incidents: those that are open, then those that are over by month; alerts one step further."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentKind, alert_kind
from monitor.core.clock import SECOND, to_datetime
from monitor.pages.alert_lists import (
    AlertLine,
    describe_rules,
    make_alert_line,
    sort_alerts,
)
from monitor.pages.incidents.incident_decisions import how_it_ended
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import IncidentData, PageLink, PageRequest, zone_of
from monitor.sentences.known_measurements import capitalize_first
from monitor.sentences.time_words import day_range_words, length_words
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import IncidentState, ShownIncident

FILTERS = ("kind", "severity", "q")
"""Parameters that filter."""
_KINDS = {kind.value.replace(" ", "-"): kind for kind in IncidentKind}
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentLine:
    """An incident in the list."""

    model: str
    icon: str  # critical, warning or none
    severity: str
    state: str
    kind: str
    headline: str
    href: str
    first_days: str
    many: str
    ended: str  # how, and after how long; of one that is open who has it
    decided: str


@dataclass(frozen=True, slots=True)
class IncidentMonth:
    """Incidents that were over in a month."""

    title: str
    lines: tuple[IncidentLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentList:
    """Incidents of one model or of all."""

    model: str
    headline: str
    open: tuple[IncidentLine, ...]
    over: tuple[IncidentMonth, ...]
    left_out: int
    kinds: tuple[PageLink, ...]
    severities: tuple[PageLink, ...]
    filter: str
    is_filtered: bool
    clear: str  # address without filters
    alone: tuple[
        AlertLine, ...
    ]  # alerts that belong to no incident: pending, or of before incidents were kept
    rules: tuple[tuple[str, str, str], ...]


def incident_list(data: IncidentData, request: PageRequest, model: str | None) -> IncidentList:
    """Page of the incidents of a model, or of all."""
    request.refuse_unknown_parameters(*FILTERS)
    kind = request.parse_choice("kind", list(_KINDS), "")
    severity = request.parse_choice("severity", [one.value for one in Severity], "")
    wanted = request.query.get("q", "").casefold()
    listed = data.list_incidents(model, request.as_of)
    alerts = sort_alerts(data.list_alerts(model, request.as_of))
    zone, today = zone_of(data, model or ""), _newest_moment(data, request, alerts)
    by_key = {(one.model, one.alert.series, one.alert.since): one for one in alerts}
    chosen = [
        one
        for one in listed
        if kind in ("", _kind_name(one.kept.kind)) and severity in ("", one.kept.worst.value)
        if wanted in f"{one.model} {one.headline} {one.kept.kind.value} {one.kept.address}".casefold()
    ]
    open_ = [one for one in chosen if one.state is not IncidentState.OVER]
    over = sorted(
        (one for one in chosen if one.state is IncidentState.OVER),
        key=lambda one: -(one.kept.resolved_at or 0),
    )
    alone = [make_alert_line(request, one, zone) for one in alerts if not one.incident][:_MOST]

    def line_of(one: ShownIncident) -> IncidentLine:
        keys = ((one.model, member.series, member.since) for member in one.kept.members)
        return _incident_line(request, one, [by_key[key] for key in keys if key in by_key], today)

    is_filtered = bool(kind or severity or wanted)
    return IncidentList(
        model=model or "",
        headline=_headline(open_, is_filtered=is_filtered),
        open=tuple(line_of(one) for one in sorted(open_, key=_open_order)),
        over=tuple(
            IncidentMonth(title, tuple(line_of(one) for one in of))
            for title, of in groupby(
                over[:_MOST], lambda one: f"{to_datetime(one.kept.resolved_at or 0):%B %Y}"
            )
        ),
        left_out=max(len(over) - _MOST, 0),
        kinds=tuple(_choice_links(request, "kind", _kinds_of(listed), kind)),
        severities=tuple(_choice_links(request, "severity", _severities_of(listed), severity)),
        filter=request.query.get("q", ""),
        is_filtered=is_filtered,
        clear=request.link_here(kind=None, severity=None, q=None),
        alone=tuple(alone),
        rules=() if model is None else describe_rules(data, spec_of(data, model).name),
    )


def filter_alerts(alerts: Iterable[ShownAlert], request: PageRequest) -> list[ShownAlert]:
    """Alerts that the filters of the list leave."""
    request.refuse_unknown_parameters(*FILTERS)
    kind = request.parse_choice("kind", list(_KINDS), "")
    severity = request.parse_choice("severity", [one.value for one in Severity], "")
    wanted = request.query.get("q", "").casefold()
    return [
        one
        for one in alerts
        if kind in ("", _kind_name(alert_kind(one.alert, one.rule)))
        and severity in ("", one.alert.severity.value)
        and wanted in f"{one.model} {one.alert.series}".casefold()
    ]


def _newest_moment(data: IncidentData, request: PageRequest, alerts: Sequence[ShownAlert]) -> int:
    """The moment by which days are told with or without their year: that of the newest verdict."""
    if request.as_of is not None:
        return request.as_of
    return max((one.alert.judged_at for one in alerts), default=data.page_moment())


def _kind_name(kind: IncidentKind) -> str:
    return kind.value.replace(" ", "-")


def _kinds_of(listed: Iterable[ShownIncident]) -> list[tuple[str, str]]:
    there = {one.kept.kind for one in listed}
    return [(name, capitalize_first(kind.value)) for name, kind in _KINDS.items() if kind in there]


def _severities_of(listed: Iterable[ShownIncident]) -> list[tuple[str, str]]:
    there = {one.kept.worst for one in listed}
    return [(one.value, capitalize_first(one.value)) for one in Severity if one in there]


def _choice_links(
    request: PageRequest, name: str, values: Sequence[tuple[str, str]], chosen: str
) -> Iterator[PageLink]:
    if len(values) < 2 and not chosen:
        return
    yield PageLink("All", request.link_here(**{name: None}), not chosen)
    for value, text in values:
        yield PageLink(text, request.link_here(**{name: value}), value == chosen)


def _headline(listed: Sequence[ShownIncident], *, is_filtered: bool) -> str:
    many = sum(one.state is IncidentState.OPEN for one in listed)
    recovering = sum(one.state is IncidentState.RECOVERING for one in listed)
    which = " of these" if is_filtered else ""
    if not many and not recovering:
        return f"No incident{which} is open"
    said = f"{many} incident{'' if many == 1 else 's'}{which} {'is' if many == 1 else 'are'} open"
    return said + (f", {recovering} recovering" if recovering else "")


def _open_order(one: ShownIncident) -> tuple[bool, int, int, str]:
    return (
        one.state is IncidentState.RECOVERING,
        tuple(Severity).index(one.kept.severity),
        -one.kept.opened_at,
        one.model,
    )


def _incident_line(
    request: PageRequest, one: ShownIncident, members: Sequence[ShownAlert], today: int
) -> IncidentLine:
    kept = one.kept
    days = [member.first_day for member in kept.members]
    severity = kept.severity if one.state is IncidentState.OPEN else kept.worst
    many = len(kept.members)
    ended = how_it_ended(kept)
    if kept.resolved_at is not None:
        ended += f" after {length_words((kept.resolved_at - kept.opened_at) / SECOND)}"
    decided = dict.fromkeys(
        f"{decision.kind} by {decision.who}" for member in members for decision in member.decisions
    )
    return IncidentLine(
        model=one.model,
        icon="none" if severity is Severity.INFO else severity.value,
        severity=capitalize_first(severity.value),
        state=one.state.value,
        kind=kept.kind.value,
        headline=one.headline,
        href=request.link_to("models", one.model, "incidents", kept.address),
        first_days=day_range_words(min(days), max(days), today),
        many=f"{many} alert{'' if many == 1 else 's'}",
        ended=ended,
        decided="; ".join(decided),
    )
