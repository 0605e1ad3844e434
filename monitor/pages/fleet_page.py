"""The fleet: what needs action, what happened, and a line a model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.alerts.incident_words import short_incident_words
from monitor.alerts.incidents import Incident
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import (
    HealthState,
    ModelStanding,
    StateBadge,
    judge_standing,
    rank_models,
)
from monitor.alerts.model_summary import FigureMark, PerformanceScale, SummaryFigure
from monitor.alerts.shared_incidents import SharedIncidents, share_incidents
from monitor.charts.marks import AlertZone, Kind
from monitor.charts.scales import Axis, linear_axis
from monitor.core.clock import DAY
from monitor.core.text import readable_text
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.value_words import format_measure_value
from monitor.pages.figures import choose_tick_format
from monitor.pages.incident_cards import HeadlineCard, incident_card
from monitor.pages.page_request import PageData, PageLink, PageRequest
from monitor.pages.window_readings import window_readings
from monitor.sentences.known_measurements import capitalize_first, join_few_names, spoken_measure
from monitor.sentences.time_words import day_range_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

SIGNS = {"surely worse": "▼", "surely better": "▲"}
_MOST_CARDS = 6
_WEEKS = 10  # of a spark line
_ICONS = {
    HealthState.CRITICAL: "critical",
    HealthState.WARNING: "warning",
    HealthState.NO_DATA: "none",
    HealthState.OK: "ok",
}
_HEADLINES = {
    HealthState.CRITICAL: ("The model needs action", "needs action", "need action"),
    HealthState.WARNING: ("The model has a warning", "has a warning", "have a warning"),
    HealthState.NO_DATA: ("The model has no data yet", "has no data", "have no data"),
}
_STALE = "stale"
_STATES = (*_ICONS.values(), _STALE)
_NAMED = 4  # stale models that the banner names
_SORTS = ("state", "model", "value", "inputs", "labels", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRow:
    """A model in the fleet: its figures as `status` says them."""

    model: str
    icon: str  # critical, warning, ok, none or stale
    state: str
    why: str
    is_calm: bool  # `why` is no incident
    performance: SummaryFigure
    scale: PerformanceScale | None
    kind: Kind  # colour of its interval
    spark: tuple[float | None, ...]
    inputs: SummaryFigure
    labels: SummaryFigure
    records: SummaryFigure
    is_hidden: bool = False  # by a filter: it is there all the same, for the script to show it again
    sort_values: tuple[float, ...]  # of state, value, inputs, labels, records: what a column is sorted by

    @property
    def zone(self) -> AlertZone | None:
        """What its rule alerts on."""
        return alert_zone(self.scale)

    @property
    def records_sign(self) -> str:
        """▼ or ▲ where fewer or more than expected came."""
        beside = self.records.beside
        if "low" in beside or "fewer" in beside:
            return "▼"
        return "▲" if "high" in beside or "more" in beside else ""


@dataclass(frozen=True, slots=True)
class FleetTable:
    """Models of one main measure, on one scale."""

    measure: str  # as people say it
    name: str
    rows: tuple[FleetRow, ...]
    axis: Axis
    note: str

    @property
    def bare_axis(self) -> Axis:
        """The same without ticks, as each interval is drawn on it."""
        return replace(self.axis, ticks=())


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPage:
    """The page of all models."""

    headline: str
    about: str
    replayed: str  # of a log of the past, or a replay; empty: it is neither
    count: int
    measured: int | None  # moment of the newest cycle of any model
    filter: str
    sorted_by: str
    states: tuple[tuple[PageLink, str, int], ...]  # link, icon, how many models
    sorts: dict[str, str]  # address by column
    cards: tuple[HeadlineCard, ...]
    others: tuple[HeadlineCard, ...]
    tables: tuple[FleetTable, ...]

    @property
    def is_empty(self) -> bool:
        """Whether the filter hides all of them."""
        return all(row.is_hidden for table in self.tables for row in table.rows)


def fleet_page(data: PageData, request: PageRequest) -> FleetPage:
    """Page of all models; `q` filters by name and what is said, `state` by state, `sort` orders."""
    request.refuse_unknown_parameters("q", "state", "sort")
    wanted = request.query.get("q", "").casefold()
    state = request.parse_choice("state", list(_STATES), "")
    sort = request.parse_choice("sort", [*_SORTS, *(f"-{name}" for name in _SORTS)], "state")
    facts = {one.model: one for one in data.read_model_facts(None, request.as_of)}
    standings = rank_models(map(judge_standing, facts.values()))
    shared = share_incidents(standings)
    rows = [
        _fleet_row(data, facts[standing.model], standing, place) for place, standing in enumerate(standings)
    ]
    chosen = [
        replace(
            row,
            is_hidden=state not in ("", row.icon)
            or wanted not in f"{row.model} {row.why} {row.state}".casefold(),
        )
        for row in rows
    ]
    cards = _incident_cards(request, standings, shared)
    return FleetPage(
        headline=_headline(standings),
        about=_about_sentence(standings, cards),
        replayed=_replayed_sentence(facts.values(), standings),
        count=len(facts),
        measured=max((one.as_of for one in facts.values() if one.as_of is not None), default=None),
        filter=request.query.get("q", ""),
        sorted_by=sort,
        states=_state_links(request, rows, state),
        sorts={name: request.link_here(sort=f"-{name}" if sort == name else name) for name in _SORTS},
        cards=tuple(cards[:_MOST_CARDS]),
        others=tuple(cards[_MOST_CARDS:]),
        tables=tuple(_fleet_tables(facts, chosen, sort)),
    )


def _headline(standings: Sequence[ModelStanding]) -> str:
    """How many models need action, or have a warning, or that all are well."""
    total = len(standings)
    if not total:
        return "No model yet"
    for state, (one_of_one, one, several) in _HEADLINES.items():
        count = sum(standing.state is state for standing in standings)
        if count and total == 1:
            return one_of_one
        if count:
            headline = f"{count} of {total} models {one if count == 1 else several}"
            warned = sum(standing.state is HealthState.WARNING for standing in standings)
            if state is not HealthState.CRITICAL or not warned:
                return headline
            return f"{headline}, {warned} more {'has' if warned == 1 else 'have'} a warning"
    return "All models are OK" if total > 1 else "The model is OK"


def _about_sentence(standings: Sequence[ModelStanding], cards: Sequence[HeadlineCard]) -> str:
    """How many incidents are open, in how many models."""
    parts = []
    if cards:
        number = f"{len(cards)} open incident{'' if len(cards) == 1 else 's'}"
        critical = sum(card.icon == "critical" for card in cards)
        warnings = len(cards) - critical
        parts.append(
            f"{number}: {critical} critical, {warnings} warning{'' if warnings == 1 else 's'}."
            if critical
            else f"{number}."
        )
    else:
        parts.append("No incident is open.")
    acknowledged = sum(StateBadge.ACKNOWLEDGED in one.badges for one in standings)
    if acknowledged:
        parts.append(f"{acknowledged} model{'' if acknowledged == 1 else 's'} acknowledged.")
    return " ".join(parts)


def _stale_sentence(standings: Sequence[ModelStanding]) -> str:
    """Models of which nothing newer is known; of all of them once, with what to do."""
    stale = [one for one in standings if one.stale]
    if not stale:
        return ""
    if len({one.stale for one in stale}) == 1 and len(stale) == len(standings):
        return f"Stale: {' '.join(stale[0].stale)}"
    names = join_few_names([readable_text(one.model) for one in stale], _NAMED)
    return f"Stale, as cycles fail or have stopped: {names}."


def _replayed_sentence(facts: Iterable[ModelFacts], standings: Sequence[ModelStanding]) -> str:
    if any(StateBadge.REPLAYING in one.badges for one in standings):
        return "A replay runs: models stand as they stood at its moment."
    ends = [one.as_of for one in facts if one.of_past and one.as_of is not None]
    if not ends:
        return _stale_sentence(standings)
    day = day_range_words(max(ends) - 1, max(ends) - 1, 0)
    return f"The replayed log ends on {day}. You see models as they stood then."


def _state_links(
    request: PageRequest, rows: Sequence[FleetRow], chosen: str
) -> tuple[tuple[PageLink, str, int], ...]:
    links = [(PageLink("All", request.link_here(state=None), not chosen), "", len(rows))]
    for state, icon in _ICONS.items():
        many = sum(row.icon == icon for row in rows)
        links.append((PageLink(state.value, request.link_here(state=icon), chosen == icon), icon, many))
    if stale := sum(row.icon == _STALE for row in rows):  # else each of them is among those of its state
        link = PageLink("Stale", request.link_here(state=_STALE), chosen == _STALE)
        links.append((link, _STALE, stale))
    return tuple(links)


def _incident_cards(
    request: PageRequest, standings: Sequence[ModelStanding], shared: SharedIncidents
) -> list[HeadlineCard]:
    """Incidents that fire, what several models share once; critical ones first, then those of most models."""
    cards: dict[tuple[str, str], tuple[Incident, list[ModelStanding]]] = {}
    for standing in standings:
        for incident in standing.incidents:
            if incident.is_recovering:
                continue
            part = shared.by_part.get((standing.model, incident.address))
            first = standing.model if part is None else part.models[0]
            address = incident.address if part is None else part.incident.address
            cards.setdefault((first, address), (incident, []))[1].append(standing)
    made = [_shared_card(request, incident, of) for incident, of in cards.values()]
    return sorted(made, key=lambda card: (card.icon != "critical", -len(card.models)))


def _shared_card(
    request: PageRequest, incident: Incident, standings: Sequence[ModelStanding]
) -> HeadlineCard:
    """The card of the model's page, with whose it is."""
    names = sorted(one.model for one in standings)
    card = incident_card(request, names, incident, max(one.as_of or 0 for one in standings))
    links = tuple(PageLink(name, request.link_to("models", name), False) for name in names)
    meta = tuple(one for one in card.meta if one != "not acknowledged")  # most are not
    return replace(card, meta=meta, models=links, actions=())


def _fleet_row(data: PageData, facts: ModelFacts, standing: ModelStanding, place: int) -> FleetRow:
    summary, today = standing.summary, facts.as_of or 0
    firing = [one for one in standing.incidents if not one.is_recovering]
    words = [short_incident_words(one, today) for one in firing]
    why = capitalize_first(words[0]) if words else standing.because[0]
    if len(words) > 1:
        why += f", {len(words) - 1} more"
    value = 0.0 if summary.scale is None else summary.scale.value
    return FleetRow(
        model=standing.model,
        icon=icon_of(standing),
        state=standing.state.value,
        why=why,
        is_calm=not words,
        performance=summary.performance,
        scale=summary.scale,
        kind=_interval_kind(summary.performance),
        spark=_main_values(data, facts),
        inputs=summary.inputs,
        labels=summary.labels,
        records=summary.records,
        sort_values=(
            float(place),
            value,
            _leading_number(summary.inputs.value),
            _leading_number(summary.labels.value),
            _leading_number(summary.records.value),
        ),
    )


def _interval_kind(performance: SummaryFigure) -> Kind:
    if performance.mark is FigureMark.CRITICAL:
        return "critical"
    return "warning" if performance.mark is FigureMark.WARNING else "main"


def _leading_number(text: str) -> float:
    digits = text.replace(",", "").partition(" ")[0]
    try:
        return float(digits)
    except ValueError:
        return -1.0


def _fleet_tables(facts: dict[str, ModelFacts], rows: Sequence[FleetRow], sort: str) -> Iterable[FleetTable]:
    """Models by main measure, each on a scale of its own."""
    by_measure: dict[str, list[FleetRow]] = {}
    for row in rows:
        by_measure.setdefault(facts[row.model].main, []).append(row)
    for measure, alike in by_measure.items():
        scales = [row.scale for row in alike if row.scale is not None]
        ends = [end for scale in scales for end in scale.ends]
        axis = linear_axis(ends, label=choose_tick_format(measure))
        yield FleetTable(
            capitalize_first(spoken_measure(measure)),
            measure,
            tuple(sorted(alike, key=_sort_key(sort), reverse=sort.startswith("-"))),
            axis,
            _table_note(measure, scales),
        )


def _sort_key(sort: str) -> Callable[[FleetRow], Any]:
    name = sort.removeprefix("-")
    if name == "model":
        return lambda row: row.model
    place = [one for one in _SORTS if one != "model"].index(name)
    return lambda row: row.sort_values[place]


def _table_note(measure: str, scales: Sequence[PerformanceScale]) -> str:
    """What the columns mean."""
    spoken = capitalize_first(spoken_measure(measure))
    parts = [f"{spoken} of the newest window whose labels are in, with its interval."]
    references = {format_measure_value(measure, one.reference) for one in scales if one.reference is not None}
    if references:
        parts.append(f"Dotted: reference{f' {next(iter(references))}' if len(references) == 1 else ''}.")
    if any(one.limit is not None for one in scales):
        parts.append("Red zone: an alert fires.")
    parts.append("Inputs: how many have an alert. Labelled: share of that window. Records: last full day.")
    return " ".join(parts)


def row_value_words(row: MeasurementRow) -> str:
    """Value of a row in words; "" where there is none."""
    value = row.measurement.value
    return "" if value is None else format_measure_value(row.measure, value)


def alert_zone(scale: PerformanceScale | None) -> AlertZone | None:
    """What a rule alerts on; None: none limits the performance."""
    if scale is None or scale.limit is None:
        return None
    return AlertZone(scale.limit, "above" if scale.is_alert_above else "below")


def icon_of(standing: ModelStanding) -> str:
    """Shape and colour of a state; a model that is stale is not green."""
    if standing.state is HealthState.OK and StateBadge.STALE in standing.badges:
        return _STALE
    return _ICONS[standing.state]


def find_named_window(spec: ModelSpec, name: str) -> Window:
    """Window of a model by its name."""
    return next(window for window in spec.windows if window.name == name)


def _main_values(data: PageData, facts: ModelFacts) -> tuple[float | None, ...]:
    """Values of the main measure in the last ten weeks' windows, one a week."""
    if facts.as_of is None:
        return ()
    after = facts.as_of - _WEEKS * 7 * DAY
    which = ChartedRows(
        window=facts.window,
        after=after,
        until=facts.as_of,
        measures=(facts.main,),
        subjects=("",),
        against=("",),
        as_of=facts.as_of,
        newest=True,
    )
    readings = window_readings(data.read_revisions(facts.model, which), facts.main)
    values = [one.row.measurement.value for one in readings]
    each = -(-len(values) // 30) or 1  # windows that slide by hours: more points than pixels say nothing
    return tuple(values[::-1][::each][::-1])
