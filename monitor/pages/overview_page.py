"""The page of a model: what happened, four figures, the picture, what changed, month by month."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import OF_INPUTS, IncidentKind
from monitor.alerts.incident_words import incident_words
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding, StateBadge
from monitor.alerts.model_summary import (
    ChangedSeries,
    ModelSummary,
    PerformanceScale,
    SummaryFigure,
)
from monitor.charts.marks import (
    AlertZone,
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    Mark,
    RuleLine,
)
from monitor.charts.scales import Axis, linear_axis
from monitor.charts.stacks import LaneSpan, Stack, StackChart, StackLane
from monitor.core.change import Change
from monitor.core.clock import DAY, to_iso
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import (
    certainty_words,
    format_interval_bounds,
    format_measure_value,
)
from monitor.pages.day_charts import calendar_days, group_alike_series
from monitor.pages.features.day_cells import SHOWN_DAYS
from monitor.pages.figures import choose_tick_format
from monitor.pages.fleet_page import alert_zone, find_named_window, icon_of
from monitor.pages.incident_cards import HeadlineCard, incident_card
from monitor.pages.model_page import MEASURES, RANGE_WORDS, RANGES, make_choice_links, spec_of
from monitor.pages.page_request import ChartableDays, PageData, PageLink, PageRequest
from monitor.pages.period_words import period_words, time_axis
from monitor.pages.periods_page import PeriodLine, make_periods_table, period_window
from monitor.pages.reading_charts import draw_records, list_alert_spans
from monitor.pages.tab_counts import read_standing
from monitor.pages.window_choice import GRAINS
from monitor.pages.window_readings import REFERENCE, current_readings, drop_scarcely_labelled, window_readings
from monitor.records.pane import PaneHalf
from monitor.sentences.change_words import usual_since_by_subject
from monitor.sentences.known_measurements import (
    FEATURE,
    SentenceSection,
    capitalize_first,
    readable_name,
    spoken_measure,
)
from monitor.sentences.time_words import day_range_words, day_words, window_length_words
from monitor.show.alert_tables import ShownAlert
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

QUERY = ("window", "measure", "range", "from", "to")
_SPARK_DAYS, _MOST_CHANGED, _MOST_SERIES = 31, 12, 2
_LANE_EVENTS = {"version_first_seen": "version {}", "accepted": "accepted", "recounted": "recounted"}
_MOST_EVENTS = 40  # of a lane


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTile:
    """One of the four figures, as a tile that leads to its page."""

    figure: SummaryFigure
    href: str
    axis: Axis | None = None  # of performance: what its interval is drawn on
    scale: PerformanceScale | None = None

    @property
    def what(self) -> str:
        """Title and days."""
        return " · ".join(filter(None, (self.figure.title, self.figure.span)))

    @property
    def zone(self) -> AlertZone | None:
        """What its rule alerts on."""
        return alert_zone(self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRow:
    """A series that changed: usual → now, with its last month."""

    series: ChangedSeries
    href: str
    since: str
    values: tuple[float | None, ...]
    expected: tuple[tuple[float, float] | None, ...]
    last: Kind


@dataclass(frozen=True, slots=True)
class ChangedGroup:
    """Series of one incident, or whose alert is closed."""

    title: str
    rows: tuple[ChangedRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """The page of one model."""

    model: str
    card: HeadlineCard
    others: tuple[HeadlineCard, ...]
    tiles: tuple[FigureTile, ...]
    grains: tuple[PageLink, ...]
    measures: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    zoomed: str  # days of a range that was dragged; empty: all of the range is shown
    reset: str  # address that shows all of it again
    stack: Stack | None
    without: str  # why there is no picture
    changed: tuple[ChangedGroup, ...]
    more_changed: int
    without_change: str  # what is said where nothing changed
    main: str
    periods: tuple[PeriodLine, ...]
    axis: Axis | None
    zone: AlertZone | None
    folds: tuple[SentenceSection, ...]


def overview_page(data: PageData, request: PageRequest, name: str) -> OverviewPage:
    """Page of one model."""
    request.refuse_unknown_parameters(*QUERY)
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    standing = read_standing(data, name, request.as_of)
    summary = standing.summary
    days = None
    if facts.as_of is not None and spec.budget is not None:
        days = data.read_judged_days(spec, PaneHalf.RECORDS, SHOWN_DAYS, facts.as_of)
    groups, more = _changed_groups(request, facts, standing, days)
    stack, grains, measures, ranges = _picture(data, request, spec, facts, standing, days)
    periods, axis = make_periods_table(data, request, spec, facts)
    cards = _headline_cards(request, facts, standing)
    return OverviewPage(
        model=name,
        card=cards[0],
        others=tuple(cards[1:]),
        tiles=tuple(_figure_tiles(request, facts, summary)),
        grains=grains,
        measures=measures,
        ranges=ranges,
        zoomed=_zoomed_words(request, facts),
        reset=request.link_here(**{"from": None, "to": None}),
        stack=stack,
        without=_why_no_picture(facts),
        changed=groups,
        more_changed=more,
        without_change="No series has an alert." if facts.as_of is not None else "Nothing is checked yet.",
        main=capitalize_first(spoken_measure(facts.main)),
        periods=periods[:_MOST_CHANGED],
        axis=axis,
        zone=_period_zone(spec, facts, summary.scale),
        folds=tuple(_folded_sections(standing)),
    )


def _headline_cards(request: PageRequest, facts: ModelFacts, standing: ModelStanding) -> list[HeadlineCard]:
    """A card of each incident, that which nobody has acknowledged first; of none how the model stands."""
    incidents = sorted(standing.incidents, key=lambda one: (one.is_recovering, bool(one.acknowledged_by)))
    cards = [incident_card(request, [facts.model], one, facts.as_of or 0) for one in incidents]
    if standing.stale and cards:
        title, *more = standing.stale
        cards.insert(1, HeadlineCard(icon="stale", state="Stale", meta=(), title=title, says=tuple(more)))
    if StateBadge.REPLAYING in standing.badges or not cards:
        first, *rest = standing.because
        cards.insert(
            0,
            HeadlineCard(
                icon=icon_of(standing),
                state=standing.state.value,
                meta=tuple(badge.value for badge in standing.badges),
                title=first,
                says=tuple(rest) if not incidents else (),
            ),
        )
    return cards


def _figure_tiles(request: PageRequest, facts: ModelFacts, summary: ModelSummary) -> Iterator[FigureTile]:
    pages = ("performance", "features", "log", "log")
    for figure, page in zip(summary.figures, pages, strict=True):
        href = request.link_to("models", facts.model, page)
        scale = summary.scale if figure is summary.performance else None
        yield FigureTile(
            figure=figure, href=href, axis=None if scale is None else _scale_axis(scale), scale=scale
        )


def _scale_axis(scale: PerformanceScale) -> Axis | None:
    """Axis that holds the interval, the reference and some of the alert's zone."""
    if scale.interval is None:
        return None
    low, high = min(scale.ends), max(scale.ends)
    room = (high - low) / 4 or 1e-6
    return Axis(low - room, high + room)


def _period_zone(spec: ModelSpec, facts: ModelFacts, scale: PerformanceScale | None) -> AlertZone | None:
    """What its rule alerts on, where the windows of the table are as long as the rule's."""
    is_theirs = scale is not None and scale.is_of_length(period_window(spec, facts).name)
    return alert_zone(scale) if is_theirs else None


def _limit_words(scale: PerformanceScale | None) -> str:
    """The limit of windows of another length than those that are drawn."""
    if scale is None or scale.limit is None:
        return ""
    side = "above" if scale.is_alert_above else "below"
    limit = format_measure_value(scale.measure, scale.limit)
    return f"alert {side} {limit} over {window_length_words(scale.window)}"


def _changed_groups(
    request: PageRequest, facts: ModelFacts, standing: ModelStanding, days: ChartableDays | None
) -> tuple[tuple[ChangedGroup, ...], int]:
    """What changed by incident, then what is not back though its alert is closed; how many more there are."""
    changes = _changes_by_subject(facts, standing)
    titles = {one.address: incident_words(one, facts.as_of or 0).title for one in standing.incidents}
    groups: dict[str, list[ChangedRow]] = {}
    for one in standing.summary.changed[:_MOST_CHANGED]:
        title = titles.get(one.incident, "Alert closed, still different")
        groups.setdefault(title, []).append(_changed_row(request, facts, one, changes.get(one.subject), days))
    more = len(standing.summary.changed) - _MOST_CHANGED
    return tuple(ChangedGroup(title, tuple(rows)) for title, rows in groups.items()), max(more, 0)


def _changes_by_subject(facts: ModelFacts, standing: ModelStanding) -> dict[str, Change]:
    """What changed of each subject: as its alert says; of one that is closed as its newest day says."""
    closed = usual_since_by_subject(facts.rows)
    found = {
        row.subject: row.measurement.change
        for row in facts.rows
        if row.measure == EVIDENCE and row.segment is None and row.measurement.change is not None
        if (row.subject, "") in closed
    }
    for incident in standing.incidents:
        for part in incident.every_alert:
            if part.change is not None and not part.alert.series.segment:
                found[part.alert.series.subject] = part.change
    return found


def _changed_row(
    request: PageRequest,
    facts: ModelFacts,
    series: ChangedSeries,
    change: Change | None,
    days: ChartableDays | None,
) -> ChangedRow:
    charted = [] if days is None or change is None else days.chart_change(series.subject, change)
    shown = calendar_days(charted)[-_SPARK_DAYS:]
    href = ""
    if series.subject.startswith(FEATURE):
        bare = series.subject.removeprefix(FEATURE)
        href = request.link_to("models", facts.model, "feature", name=bare)
    last: Kind = "main"
    if series.severity is not None:
        last = "critical" if series.severity is Severity.CRITICAL else "warning"
    return ChangedRow(
        series=series,
        href=href,
        since=day_words(series.since, facts.as_of or 0),
        values=tuple(None if one is None else one.value for one in shown),
        expected=tuple(None if one is None else (one.low, one.high) for one in shown),
        last=last,
    )


def _picture(
    data: PageData,
    request: PageRequest,
    spec: ModelSpec,
    facts: ModelFacts,
    standing: ModelStanding,
    days: ChartableDays | None,
) -> tuple[Stack | None, tuple[PageLink, ...], tuple[PageLink, ...], tuple[PageLink, ...]]:
    """The stack of charts over one axis of time, and what it may be switched to."""
    window = find_named_window(
        spec, request.parse_choice("window", [each.name for each in spec.windows], facts.window)
    )
    offered = _offered_measures(spec, facts)
    measure = request.parse_choice("measure", offered, facts.main)
    span = request.parse_choice("range", list(RANGES), "all" if window.step > DAY else "180d")
    grains = tuple(
        PageLink(GRAINS.get(one.text) or window_length_words(one.text), one.href, one.chosen)
        for one in make_choice_links(request, "window", [each.name for each in spec.windows], window.name)
    )
    measures = tuple(
        PageLink(capitalize_first(spoken_measure(one.text)), one.href, one.chosen)
        for one in make_choice_links(request, "measure", offered, measure)
    )
    ranges = tuple(
        PageLink(RANGE_WORDS[one.text], one.href, one.chosen)
        for one in make_choice_links(request, "range", list(RANGES), span)
    )
    begin, until = _asked_span(request, facts, RANGES[span])
    which = ChartedRows(
        window=window.name,
        after=begin,
        until=until,
        measures=(measure, "records"),
        subjects=("",),
        against=("", REFERENCE),
        as_of=facts.as_of,
        newest=True,
    )
    current = current_readings(facts, window.name)
    shown = [
        one
        for one in current
        if begin < one.row.window_end <= until and one.row.measure in (measure, "records")
    ]
    kept = data.read_revisions(spec.name, which)
    rows = [*kept, *shown]
    readings = window_readings(rows, measure)
    if facts.as_of is None or not rows:
        return None, grains, measures, ranges
    ends = [stored.row.window_end for stored in rows]
    axis = time_axis(max(window.start_of(min(ends)), begin), min(max(facts.as_of, *ends), until), window.zone)
    alerts = data.list_alerts(spec.name, request.as_of)
    parts = [
        _measure_chart(
            request, facts, standing, window, measure, readings, rows, {one.row.window_end for one in kept}
        ),
        *_alert_lanes(request, facts, alerts, axis),
        _deployment_lane(data, facts, axis),
        *_incident_charts(facts, standing, days),
        draw_records(request, facts, days, window_readings(rows, "records"), window),
    ]
    stack = Stack(
        name="picture",
        label=f"{capitalize_first(spoken_measure(measure))} over time, with alerts and records",
        x=axis,
        parts=tuple(part for part in parts if part is not None),
        ends=(to_iso(int(axis.low))[:10], to_iso(int(axis.high))[:10]),
    )
    return stack, grains, measures, ranges


def _asked_span(request: PageRequest, facts: ModelFacts, length: int) -> tuple[int, int]:
    """What is drawn: what was dragged, else a range that ends with the last cycle."""
    end = facts.as_of or 0
    asked = request.parse_moment("from"), request.parse_moment("to")
    begin = asked[0] if asked[0] is not None else (end - length if length else 0)
    return begin, min(end, asked[1]) if asked[1] is not None else end


def _zoomed_words(request: PageRequest, facts: ModelFacts) -> str:
    """Days of a range that was dragged; empty: none was."""
    first, last = request.parse_moment("from"), request.parse_moment("to")
    if first is None and last is None:
        return ""
    end = (facts.as_of or 0) if last is None else last
    return day_range_words(end - 1 if first is None else first, end - 1, facts.as_of or 0)


def _offered_measures(spec: ModelSpec, facts: ModelFacts) -> list[str]:
    """Measures that have a value, the main one first."""
    known = {row.measure for row in facts.rows if row.is_of_whole and row.measurement.value is not None}
    others = (name for name in MEASURES[spec.reading.task] if name in known and name != facts.main)
    return [facts.main, *others]


def _measure_chart(
    request: PageRequest,
    facts: ModelFacts,
    standing: ModelStanding,
    window: Window,
    measure: str,
    readings: Sequence[StoredMeasurement],
    rows: Sequence[StoredMeasurement],
    kept: Collection[int],
) -> StackChart | None:
    """The measure with its band, its reference and what its rule alerts on.

    Points lead to their windows, if these are kept: the last cycle's own, which ends within a day, is not.
    """
    shown = drop_scarcely_labelled(readings)
    known = [one for one in shown if one.row.measurement.value is not None]
    if not known:
        return None
    scale = standing.summary.scale if measure == facts.main else None
    steps = {one.row.window_end: one.row.measurement for one in window_readings(rows, measure, "", REFERENCE)}
    reference = _reference_of(known, steps)
    zone = None if scale is None or not scale.is_of_length(window.name) else alert_zone(scale)
    bands = [(float(window.middle_of(one.row.window_end)), *_interval_ends(one)) for one in shown]
    points = [(x, one.row.measurement.value) for (x, *_), one in zip(bands, shown, strict=True)]
    levels = [value for _, value in points if value is not None]
    levels += [end for _, *ends in bands for end in ends if end is not None]
    levels += [end for end in (reference, None if zone is None else zone.limit) if end is not None]
    marks: list[Mark] = [*([] if zone is None else [zone]), IntervalBand(bands), LinePath(points)]
    name = capitalize_first(spoken_measure(measure))
    legend = [LegendKey("area", "main", "95 % interval")]
    if reference is not None:
        marks.append(RuleLine(reference, "y", "reference"))
        marks.append(MarginLabel(reference, "reference", "reference"))
        text = f"reference {format_measure_value(measure, reference)}"
        legend.append(LegendKey("line", "reference", text))
    if zone is not None:
        side = f"alert {zone.side} {format_measure_value(measure, zone.limit)}"
        legend.append(LegendKey("zone", "limit", side))
    dots = []
    for one in known:
        end = one.row.window_end
        place = {"window": window.name, "end": to_iso(end)}
        href = request.link_to("models", facts.model, "performance", **place) if end in kept else ""
        dots.append(_measure_point(href, window, one, zone, steps))
    if len(known) <= 120:
        marks.append(LinkedPoints(dots))
    if any(dot.kind == "critical" for dot in dots):
        legend.append(LegendKey("dot", "critical", "clearly beyond the limit"))
    return StackChart(
        title=f"{name} {_grain_words(window)}",
        note="" if zone is not None else _limit_words(scale),
        y=linear_axis(levels, label=choose_tick_format(measure)),
        marks=tuple(marks),
        legend=tuple(legend),
        height=170,
        stops=tuple(float(window.middle_of(one.row.window_end)) for one in known),
        columns=("when", name, "interval", "labels"),
        rows=tuple(
            (
                period_words(window, one.row.window_end),
                format_measure_value(measure, one.row.measurement.value),
                format_interval_bounds(measure, one.row.measurement.interval),
                f"{one.row.measurement.n:,}",
            )
            for one in known
        ),
    )


def _grain_words(window: Window) -> str:
    """How windows are drawn: "by week", "over 30 days"."""
    grain = GRAINS.get(window.name)
    return f"over {window_length_words(window.name)}" if grain is None else f"by {grain.lower()}"


def _interval_ends(one: StoredMeasurement) -> tuple[float | None, float | None]:
    interval = one.row.measurement.interval
    return (None, None) if interval is None else (interval.lower, interval.upper)


def _reference_of(known: Sequence[StoredMeasurement], steps: Mapping[int, object]) -> float | None:
    """Value of the reference: the newest value less its difference."""
    for one in reversed(known):
        step = steps.get(one.row.window_end)
        value = getattr(step, "value", None)
        if value is not None and one.row.measurement.value is not None:
            return float(one.row.measurement.value - value)
    return None


def _measure_point(
    href: str,
    window: Window,
    one: StoredMeasurement,
    zone: AlertZone | None,
    steps: Mapping[int, object],
) -> LinkedPoint:
    """A window as a point: red where its whole interval lies beyond the limit."""
    row, interval = one.row, one.row.measurement.interval
    value = row.measurement.value or 0.0
    is_beyond = False
    if zone is not None and interval is not None:
        is_beyond = interval.upper < zone.limit if zone.side == "below" else interval.lower > zone.limit
    step = steps.get(row.window_end)
    words = [
        period_words(window, row.window_end),
        f"{capitalize_first(spoken_measure(row.measure))} {format_measure_value(row.measure, value)}",
        format_interval_bounds(row.measure, interval),
        f"{row.measurement.n:,} labels",
    ]
    if step is not None:
        certainty = certainty_words(row.measure, step)  # type: ignore[arg-type]
        words.append({"surely worse": "worse", "surely better": "better"}.get(certainty, ""))
    return LinkedPoint(
        x=float(window.middle_of(row.window_end)),
        y=value,
        kind="critical" if is_beyond else "main",
        words=" · ".join(filter(None, words)),
        href=href,
    )


def _alert_lanes(
    request: PageRequest,
    facts: ModelFacts,
    alerts: Sequence[ShownAlert],
    axis: Axis,
) -> Iterator[StackLane]:
    """When alerts stood: of performance, of inputs and outputs, of records and labels."""
    lanes = {
        "Performance alerts": (IncidentKind.PERFORMANCE, IncidentKind.EXPERIMENT),
        "Input alerts": OF_INPUTS,
        "Feed alerts": (IncidentKind.RECORDS, IncidentKind.LABELS, IncidentKind.OUTCOME),
    }
    for title, kinds in lanes.items():
        spans = sorted(
            list_alert_spans(request, facts, alerts, axis, kinds), key=lambda one: one.kind == "critical"
        )
        if spans or title != "Feed alerts":
            yield StackLane(title=title, spans=tuple(spans), note="" if spans else "none")


def _deployment_lane(data: PageData, facts: ModelFacts, axis: Axis) -> StackLane | None:
    """First days of versions; what was accepted and counted anew since."""
    known = max(int(axis.high), facts.as_of or 0)
    shown = [
        one
        for one in data.read_events(facts.model)
        if one.kind in _LANE_EVENTS and one.at <= known and one.words != "withdrawn"
        if axis.low <= one.log_moment <= axis.high
    ][-_MOST_EVENTS:]
    if not shown:
        return None
    spans = []
    for one in shown:
        words = _LANE_EVENTS[one.kind].format(readable_name(one.subject))
        is_version = one.kind == "version_first_seen"
        spans.append(
            LaneSpan(
                start=float(one.log_moment),
                end=float(one.log_moment),
                kind="main" if is_version else "muted",
                words=f"{words} · {day_words(one.log_moment, facts.as_of or 0)}",
            )
        )
    versions = [one for one in shown if one.kind == "version_first_seen"]
    newest = max(versions, key=lambda one: one.log_moment, default=None)
    note = "" if newest is None else f"newest version: {readable_name(newest.subject)}"
    return StackLane(title="Deployments and decisions", spans=tuple(spans), note=note)


def _incident_charts(
    facts: ModelFacts, standing: ModelStanding, days: ChartableDays | None
) -> list[StackChart]:
    """Series of the first incident, those that look alike drawn once."""
    first = standing.first_incident
    if first is None or days is None:
        return []
    alike = group_alike_series(
        (part, True, days.chart_change(part.alert.series.subject, part.change))
        for part in first.every_alert
        if part.change is not None and not part.alert.series.segment
    )
    return [one.draw(facts.as_of or 0) for one in alike[:_MOST_SERIES]]


def _why_no_picture(facts: ModelFacts) -> str:
    if facts.as_of is None:
        return "No cycle has run yet: the picture begins with the first one."
    return "No window of this range has been measured."


def _folded_sections(standing: ModelStanding) -> Iterator[SentenceSection]:
    """What is told on demand: rules, inputs against training, the feed."""
    by_title = {section.title: section for section in standing.sections}
    titles = {
        "Performance in words": ("performance",),
        "Inputs in words": ("inputs",),
        "Data feed": ("labels", "data"),
        "Rules": ("rules", "accepted", "next"),
    }
    for title, names in titles.items():
        sentences = [one for name in names if name in by_title for one in by_title[name].sentences]
        if sentences:
            yield SentenceSection(title, tuple(sentences))
