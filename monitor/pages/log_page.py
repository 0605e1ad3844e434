"""The data feed: whether records and labels arrive as usual, and what is odd of the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.alerts.incident_life import IncidentKind
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding
from monitor.charts.marks import Kind
from monitor.charts.stacks import LaneSpan, Stack, StackLane
from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import Measurement
from monitor.measures.measurement_row import StoredMeasurement
from monitor.pages.figures import definition_of
from monitor.pages.fleet_page import find_named_window
from monitor.pages.incident_cards import HeadlineCard, incident_card
from monitor.pages.model_page import RANGE_WORDS, RANGES, make_choice_links, read_events_until, spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest
from monitor.pages.period_words import period_words, time_axis
from monitor.pages.reading_charts import (
    MOST_POINTS,
    ChartGround,
    LinkedReadings,
    ReadingLine,
    draw_readings,
    draw_records,
    link_windows,
    list_alert_spans,
    with_value,
)
from monitor.pages.tab_counts import read_standing
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import window_readings
from monitor.records.pane import PaneHalf
from monitor.sentences.known_measurements import (
    FEATURE,
    KnownMeasurements,
    capitalize_first,
    join_few_names,
    readable_name,
)
from monitor.sentences.time_words import delay_words, local_moment_words
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows, HistoryEvent
from monitor.windows.window_ends import Window

CHARTED = ("records", "volume_ratio", "coverage", "label_delay_median", "label_delay_p90")
_ODD_BY_DAY = {
    "duplicate_records": "Repeated rows",
    "stale_records": "Late rows",
    "unusual_names": "Unreadable names",
    "invalid_labels": "Unreadable labels",
    "early_labels": "Labels before their event",
}
_ODD = {  # figures of the log itself: one, several
    "rows_without_id": ("row has no id", "rows have no id"),
    "rows_without_time": ("row has no time", "rows have no time"),
    "invalid_times": ("row has an unreadable time", "rows have an unreadable time"),
    "misdated_records": ("row is dated far off", "rows are dated far off"),
    "stale_log_records": ("row came too late to be counted", "rows came too late to be counted"),
    "repeated_ids": ("id is in more than one part of the log", "ids are in more than one part of the log"),
    "orphan_labels": ("label has no prediction", "labels have no prediction"),
}
_PENDING = {  # what the next cycles see to: no fault of the feed
    "future_records": ("row is dated ahead", "rows are dated ahead"),
    "late_visible_records": ("row became visible late", "rows became visible late"),
    "late_visible_labels": ("label became visible late", "labels became visible late"),
    "panes_waiting": ("part of the log waits to be counted", "parts of the log wait to be counted"),
}
_DELAYS: tuple[tuple[str, str, Kind], ...] = (
    ("label_delay_median", "half of the labels", "main"),
    ("label_delay_p90", "90 % of the labels", "second"),
)
_MOST_EVENTS, _SHOWN_DAYS = 200, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class OddFigure:
    """Something odd about the log that is not 0."""

    said: str  # "14 rows have no id"
    name: str
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """What happened at a moment, or what somebody decided, of one or several parts of the model."""

    when: str
    what: str
    of: str
    who: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Page of the log of a model."""

    model: str
    headline: str  # empty: the first card says it
    cards: tuple[HeadlineCard, ...]  # incidents of records or labels
    says: str
    windows: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    stack: Stack | None
    odd: tuple[OddFigure, ...]
    facts: tuple[tuple[str, str], ...]
    history: tuple[HistoryLine, ...]
    left_out: int
    method: tuple[tuple[str, str], ...]


def log_page(data: PageData, request: PageRequest, name: str) -> LogPage:
    """Page of the log of a model."""
    spec, window, span, rows = _resolve_log_request(data, request, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    standing = read_standing(data, name, request.as_of)
    events = read_events_until(data, name, request.as_of)
    figures = {row.measure: row.measurement for row in facts.rows if not (row.window or row.subject)}
    odd, pending = (tuple(_odd_figures(figures, words)) for words in (_ODD, _PENDING))
    incidents = [
        one
        for one in standing.incidents
        if one.kind in (IncidentKind.RECORDS, IncidentKind.LABELS) and not one.is_recovering
    ]
    headline, says = _headline_and_about(facts, standing, odd, figures)
    return LogPage(
        model=name,
        headline="" if incidents else headline,
        cards=tuple(incident_card(request, [name], one, facts.as_of or 0) for one in incidents),
        says=says,
        windows=make_choice_links(
            request, "window", [each.name for each in spec.windows], window.name, grain_name
        ),
        ranges=make_choice_links(request, "range", list(RANGES), span, RANGE_WORDS.__getitem__),
        stack=_feed_stack(data, request, spec, facts, window, rows),
        odd=(*odd, *pending),
        facts=tuple(_feed_facts(facts, figures, spec.reading.zone)),
        history=tuple(_history_lines(events[:_MOST_EVENTS])),
        left_out=max(0, len(events) - _MOST_EVENTS),
        method=tuple(_method_lines(rows, figures)),
    )


def read_log_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows behind the charts, the newest revision of each, and the figures of the log itself."""
    *_, rows = _resolve_log_request(data, request, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    figures = (StoredMeasurement(name, facts.as_of or 0, row) for row in facts.rows if not row.window)
    return [*rows, *figures]


def _resolve_log_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[ModelSpec, Window, str, list[StoredMeasurement]]:
    request.refuse_unknown_parameters("window", "range")
    spec, placed = spec_of(data, name), data.read_model_place(name, request.as_of)
    shortest = min(spec.windows, key=lambda each: each.length)
    window = find_named_window(
        spec, request.parse_choice("window", [each.name for each in spec.windows], shortest.name)
    )
    span = request.parse_choice("range", list(RANGES), "90d" if window.length <= DAY else "all")
    until = placed.as_of or 0
    which = ChartedRows(
        window=window.name,
        after=until - RANGES[span] if RANGES[span] else 0,
        until=until,
        measures=(*CHARTED, *_ODD_BY_DAY),
        subjects=("",),
        as_of=request.as_of,
        newest=True,
    )
    return spec, window, span, data.read_revisions(name, which)


def _headline_and_about(
    facts: ModelFacts,
    standing: ModelStanding,
    odd: Sequence[OddFigure],
    figures: Mapping[str, Measurement],
) -> tuple[str, str]:
    """Whether records and labels arrive as usual, by the figures of the model; what is odd."""
    if facts.as_of is None:
        return "Nothing has been read yet", "No cycle has run: the feed is measured from the first one on."
    records, labels = standing.summary.records, standing.summary.labels
    if not records.value:
        return "No record has been counted yet", labels.note
    is_day = records.span.count(" ") == 1 and "–" not in records.span
    when = f" on {records.span}" if is_day else f", {records.span}"
    late = KnownMeasurements(facts.rows, facts.window, facts.main).newest_labelled_row("label_delay_p90")
    if facts.labels and late is not None and late.measurement.value is not None:
        when += f", 90 % of labels within {delay_words(late.measurement.value)}"
    who = "Records and labels arrive" if labels.beside == "on time" else "Records arrive"
    is_usual = records.beside == "as usual"
    headline = f"Records are {records.beside}: {records.value}{when}"
    if is_usual:
        headline = f"{who} as usual: {records.value}{when}"
    elif not records.beside:  # the day was not compared, or none is
        headline = f"{records.value} records{when}"
    notes = [records.note] if records.note and not is_usual else []
    if odd:
        named = join_few_names((one.said for one in odd), 2)
        return capitalize_first(named), " ".join([f"{headline}.", *notes])
    if any(name in figures for name in _ODD):
        notes.append("No repeated, late or unreadable rows.")
    return headline, " ".join(notes)


def _odd_figures(
    figures: Mapping[str, Measurement], words: Mapping[str, tuple[str, str]]
) -> Iterator[OddFigure]:
    """What is not 0; the largest first."""
    known = [(figures[name].value or 0.0, name) for name in words if name in figures]
    for value, name in sorted((one for one in known if one[0] > 0), reverse=True):
        said = words[name][0 if value == 1 else 1]
        yield OddFigure(said=f"{value:,.0f} {said}", name=name, definition=definition_of(name))


def _feed_stack(
    data: PageData,
    request: PageRequest,
    spec: ModelSpec,
    facts: ModelFacts,
    window: Window,
    rows: Sequence[StoredMeasurement],
) -> Stack | None:
    """Records with what was expected, alerts, labels and their delay; odd rows where there are any."""
    known = [one for one in rows if one.row.measurement.value is not None]
    if not known or facts.as_of is None:
        return None
    ends = [one.row.window_end for one in known]
    axis = time_axis(window.start_of(min(ends)), max(*ends, facts.as_of), window.zone)
    days = None
    if spec.budget is not None and window.length == DAY:
        days = data.read_judged_days(spec, PaneHalf.RECORDS, _SHOWN_DAYS, facts.as_of)
    alerts = data.list_alerts(spec.name, request.as_of)
    kinds = (IncidentKind.RECORDS, IncidentKind.LABELS)
    spans = tuple(list_alert_spans(request, facts, alerts, axis, kinds))
    coverage = with_value(window_readings(rows, "coverage"))
    link = link_windows(request, spec.name, window)
    parts = [
        draw_records(
            request, facts, days, window_readings(rows, "records"), window, height=110, linked=True
        ),
        StackLane(title="Feed alerts", spans=spans, note="" if spans else "none"),
        *_odd_lanes(rows, window, link),
        draw_readings(
            "Labelled", [ReadingLine(series=coverage)], window, note="share of the records",
            ground=ChartGround(levels=[0.0]),
            points=LinkedReadings(coverage if len(coverage) <= MOST_POINTS else (), link),
        ),
        draw_readings(
            "Delay of labels",
            [
                ReadingLine(series=with_value(window_readings(rows, measure)), name=name, kind=kind)
                for measure, name, kind in _DELAYS
            ],
            window, note="from the event to the first label", ground=ChartGround(levels=[0.0]),
            say=lambda one: delay_words(one.row.measurement.value or 0.0),
        ),
    ]  # fmt: skip
    return Stack(
        name="feed",
        label="Records and labels over time, with alerts of the feed",
        x=axis,
        parts=tuple(part for part in parts if part is not None),
    )


def _odd_lanes(
    rows: Sequence[StoredMeasurement], window: Window, link: Callable[[int], str]
) -> Iterator[StackLane]:
    """Windows with repeated, late or unreadable rows; a kind that never was has no lane."""
    for measure, title in _ODD_BY_DAY.items():
        series = [one for one in window_readings(rows, measure) if one.row.measurement.value]
        spans = tuple(
            LaneSpan(
                start=float(window.start_of(one.row.window_end)),
                end=float(one.row.window_end),
                kind="main",
                words=f"{period_words(window, one.row.window_end)} · {title.lower()} "
                f"{one.row.measurement.value or 0:,.0f}",
                href=link(one.row.window_end),
            )
            for one in series
        )
        if spans:
            most = max(one.row.measurement.value or 0.0 for one in series)
            note = f"up to {most:,.0f} by {grain_name(window.name).lower()}"
            yield StackLane(title=title, spans=spans, note=note)


def _feed_facts(
    facts: ModelFacts, figures: Mapping[str, Measurement], zone: str
) -> Iterator[tuple[str, str]]:
    """How far the log and its labels are read, and from when on windows are final."""
    for measure, term in (("log_age", "Newest row"), ("label_age", "Newest label")):
        age = figures.get(measure)
        if age is not None and age.value is not None and facts.as_of is not None:
            moment = local_moment_words(facts.as_of - round(age.value * SECOND), zone)
            before = "just" if age.value < 60 else delay_words(age.value)
            yield term, f"{moment}, {before} before the last cycle"
    settling = figures.get("settling_age")
    if settling is not None and settling.value is not None:
        yield "Labels are final", f"{delay_words(settling.value)} after the end of a window"
    whole = figures.get("labels_counted_whole")
    if whole is not None and whole.value:
        yield "Labels are counted whole", "an audit found a wrong difference: monitor recount"


def _history_lines(events: Sequence[HistoryEvent]) -> Iterator[HistoryLine]:
    """What happened, the newest first; what was decided at once of several series is one line."""
    for key, alike in groupby(events, lambda one: (one.log_moment, one.words, one.who, one.why)):
        moment, what, who, why = key
        subjects = list(dict.fromkeys(one.subject for one in alike if one.subject))
        names = [readable_name(one.rpartition("/")[2].removeprefix(FEATURE)) for one in subjects]
        yield HistoryLine(
            when=local_moment_words(moment),
            what=what if not who else f"{readable_name(who)}: {what}",
            of=join_few_names(names, 4),
            who=who,
            why=why,
        )


def _method_lines(
    rows: Sequence[StoredMeasurement], figures: Mapping[str, Measurement]
) -> Iterator[tuple[str, str]]:
    """What is drawn, and what was looked for and not found."""
    there = {stored.row.measure for stored in rows}
    for measure in (*CHARTED, *_ODD_BY_DAY):
        if measure in there:
            yield measure, definition_of(measure)
    none = [name for name in (*_ODD, *_PENDING) if name in figures and figures[name].value == 0]
    if none:
        yield "looked for, none found", ", ".join(none)
