"""The report of a model: two A4 pages to sign, then details; one file without script and links."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.incident_life import IncidentKind, KeptIncident
from monitor.alerts.lifecycle import EndReason
from monitor.alerts.model_facts import ModelFacts
from monitor.alerts.model_standing import ModelStanding, unjudged_sentences
from monitor.charts.marks import AlertZone, LinkedPoints, Mark, ShadedSpan
from monitor.charts.scales import Axis
from monitor.charts.stacks import Stack, StackChart
from monitor.core.clock import DAY, to_iso
from monitor.core.text import readable_text
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
    value_with_interval,
)
from monitor.pages.model_page import provenance_line, replay_note, spec_of
from monitor.pages.overview_page import ChangedGroup, OverviewPage, overview_page
from monitor.pages.page_request import PageData, PageRequest
from monitor.pages.page_templates import page_frame, read_asset, render_template, stylesheet_markup
from monitor.pages.periods_page import PeriodLine
from monitor.pages.report_periods import AskedPeriod, ReportPeriod, resolve_report_period
from monitor.pages.slices.compare_page import VALID, find_differing_outcomes, read_compare_page_rows
from monitor.pages.tab_counts import read_standing
from monitor.pages.window.performance_tiles import TILES, pick_headline_rows
from monitor.pages.window.window_page import WindowPage, read_window_page_rows, window_page
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    capitalize_first,
    end_sentence,
    readable_name,
    spoken_measure,
)
from monitor.sentences.performance_sentences import missing_estimate_sentences
from monitor.sentences.time_words import day_range_words, day_words, local_moment_words
from monitor.show.alert_tables import ShownAlert
from monitor.show.incident_tables import IncidentState, ShownIncident
from monitor.show.plain_rows import rows_as_json
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import count_epoch_days

_MOST_SEGMENTS, _MOST_INCIDENTS, _MOST_MONTHS = 10, 12, 12
_HELD = {
    "as reference": "held its performance",
    "better": "performed better than in the reference",
    "worse": "performed worse than in the reference",
}
_ENDED = {
    EndReason.CLEARED: "back to normal",
    EndReason.USUAL: "new normal",
    EndReason.REVISED: "withdrawn after late labels",
    EndReason.NO_DATA: "no data any more",
    EndReason.REMOVED: "its rule was removed",
    EndReason.ACCEPTED: "accepted",
}
_SHORT_WINDOWS = ("7d", "1d")  # of the picture, the better first


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFigure:
    """One of the four figures of page 1."""

    title: str
    value: str
    beside: str
    good: bool
    kind: str  # "critical", "warning" or ""
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSegment:
    """A segment with its main measure."""

    name: str
    value: str
    bounds: str
    interval: tuple[float, float, float] | None
    labels: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportIncident:
    """An incident of the period, how it ended, and who decided what."""

    since: str
    severity: str
    headline: str
    alerts: int
    ended: str
    decided: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """A report."""

    model: str
    heading: str
    says: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    figures: tuple[ReportFigure, ...]
    picture: Stack | None
    periods: tuple[PeriodLine, ...]
    axis: Axis | None
    zone: AlertZone | None
    main: str
    remarks: tuple[tuple[str, str], ...]
    inputs: str
    changed: tuple[ChangedGroup, ...]
    segments: tuple[ReportSegment, ...]
    segments_axis: Axis | None
    incidents: tuple[ReportIncident, ...]
    more_incidents: int
    unwatched: tuple[str, ...]
    # (measure, known then, known now); empty: nothing was kept since; None: nothing is asked of then.
    since: tuple[tuple[str, str, str], ...] | None
    window: WindowPage
    replayed: str
    behind: str


def render_report_html(data: PageData, model: str, asked: AskedPeriod, as_of: int | None) -> str:
    """HTML of a report; the same store and the same moment give the same bytes.

    Parameters
    ----------
    asked
        the period that it is about; of none the newest window of the kind that rules judge.
    as_of
        None: as it is known now.

    Raises
    ------
    AddressError
        see `resolve_report_period`.
    """
    period, facts = resolve_report_period(data, model, asked, as_of)
    page = _report_page(data, model, period, facts, as_of)
    around = page_frame(data, _page_request(model, facts.as_of if as_of is None else as_of), (model,))
    digest = b64encode(hashlib.sha256(read_asset("pages.css")).digest()).decode()
    return render_template(
        "report",
        page=page,
        frame=replace(
            around,
            title=f"{model}, {period.words}",
            banner="",
            tabs=(),
            crumbs=(),
            exports=(),
            refresh=0,
            report=True,
        ),
        sheet=stylesheet_markup(),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'",
    )  # fmt: skip


def report_rows_json(data: PageData, model: str, asked: AskedPeriod, as_of: int | None) -> str:
    """Rows of the period of a report, as `monitor show --format json` prints them."""
    period, facts = resolve_report_period(data, model, asked, as_of)
    if not period.window.name:
        return rows_as_json(read_window_page_rows(data, _page_request(model, as_of, **period.query), model))
    return rows_as_json(_period_rows(data, model, period, facts.as_of if as_of is None else as_of))


def requested_report_html(data: PageData, request: PageRequest, name: str) -> str:
    """The report that an address asks for."""
    return render_report_html(data, spec_of(data, name).name, _parse_report_address(request), request.as_of)


def requested_report_json(data: PageData, request: PageRequest, name: str) -> str:
    """Rows of the report that an address asks for."""
    return report_rows_json(data, spec_of(data, name).name, _parse_report_address(request), request.as_of)


def requested_report_text(data: PageData, request: PageRequest, name: str) -> bytes:
    """The report that an address asks for in a few lines: its period, the verdict, the four figures."""
    asked = _parse_report_address(request)
    period, facts = resolve_report_period(data, spec_of(data, name).name, asked, request.as_of)
    page = _report_page(data, name, period, facts, request.as_of)
    lines = [page.heading]
    for figure in page.figures:
        part = " " if figure.beside.startswith(("of ", "in ")) else ", "
        said = part.join(filter(None, (figure.value, figure.beside.lstrip("▲▼ "))))
        lines.append(" ".join(map(end_sentence, filter(None, (f"- {figure.title}: {said}", figure.said)))))
    lines += page.says[1:2]
    return "\n".join(map(readable_text, (period.words, *lines))).encode()


REPORT_QUERY = ("window", "end", "period", "from", "to")


def _parse_report_address(request: PageRequest) -> AskedPeriod:
    request.refuse_unknown_parameters(*REPORT_QUERY)
    return AskedPeriod(
        window=request.query.get("window"),
        end=request.parse_moment("end"),
        period=request.query.get("period"),
        first=request.parse_moment("from"),
        last=request.parse_moment("to"),
    )


def _page_request(model: str, as_of: int | None, *path: str, **query: str) -> PageRequest:
    then = {} if as_of is None else {"as_of": to_iso(as_of)}
    return PageRequest(("models", model, *path), {**query, **then})


def _report_page(
    data: PageData, model: str, period: ReportPeriod, facts: ModelFacts, as_of: int | None
) -> ReportPage:
    spec, today = spec_of(data, model), facts.as_of or 0
    window = window_page(data, _page_request(model, as_of, **period.query), model)
    # Inputs are judged at once: how they stood as the period ended is known from then on.
    then = min(period.end, today if as_of is None else as_of)
    at_end = overview_page(data, _page_request(model, then), model)
    over_time = _overview_of_weeks(data, spec, model, as_of)
    shown = [one for one in data.list_incidents(model, as_of) if _is_of_period(one.kept, period)]
    alerts = data.list_alerts(model, as_of)
    incidents = [_report_incident(one, alerts, today) for one in _order_of_page(shown)]
    rows = _segment_rows(data, model, period, facts, as_of)
    return ReportPage(
        model=model,
        heading=_report_heading(model, period, window, shown),
        says=tuple(filter(None, (end_sentence(window.title), *window.says, window.without))),
        facts=tuple(_report_facts(spec, facts, period, window, as_of)),
        figures=tuple(_report_figures(window, at_end, shown, incidents)),
        picture=_shade_period(over_time.stack, period),
        periods=tuple(one for one in over_time.periods if one.interval is not None)[:_MOST_MONTHS],
        axis=over_time.axis,
        zone=over_time.zone,
        main=over_time.main,
        remarks=(*_remarks(window), *_side_remarks(data, model, period, as_of)),
        inputs=_inputs_sentence(at_end),
        changed=at_end.changed,
        segments=tuple(_report_segment(row) for row in rows),
        segments_axis=_segments_axis(rows, over_time.zone),
        incidents=tuple(incidents[:_MOST_INCIDENTS]),
        more_incidents=max(len(incidents) - _MOST_INCIDENTS, 0),
        unwatched=tuple(_unwatched(spec, facts, period, window, read_standing(data, model, then))),
        since=None if as_of is None else tuple(_known_since(data, spec, facts, period, as_of)),
        window=window,
        replayed=replay_note(data, model, facts),
        behind=provenance_line(data, model, facts),
    )  # fmt: skip


def _overview_of_weeks(data: PageData, spec: ModelSpec, model: str, as_of: int | None) -> OverviewPage:
    """The model's page of its shortest lasting windows: weeks where it has them."""
    names = [window.name for window in spec.windows]
    query = {"range": "1y"}
    for name in _SHORT_WINDOWS:
        if name in names:
            query["window"] = name
            break
    return overview_page(data, _page_request(model, as_of, **query), model)


def _shade_period(stack: Stack | None, period: ReportPeriod) -> Stack | None:
    """The chart of performance alone, without links, the period shaded."""
    charts = [] if stack is None else [part for part in stack.parts if isinstance(part, StackChart)]
    if stack is None or not charts or not charts[0].legend or charts[0].title == "Records":
        return None
    chart, x = charts[0], stack.x
    low, high = max(period.start, x.low), min(period.end, x.high)
    shade: list[Mark] = [ShadedSpan(low, high, "now")] if low < high else []
    marks = [
        LinkedPoints([replace(point, href="") for point in mark.points])
        if isinstance(mark, LinkedPoints)
        else mark
        for mark in chart.marks
    ]
    note = f"shaded: {period.words}"
    return replace(
        stack, parts=(replace(chart, marks=(*shade, *marks), note=note, height=130),), ends=("", "")
    )


def _is_of_period(kept: KeptIncident, period: ReportPeriod) -> bool:
    """Whether an incident stood on a day of a period; what is for information alone is none."""
    first = min((member.first_day for member in kept.members), default=kept.first_day)
    over = kept.resolved_at
    return (
        kept.kind is not IncidentKind.INFORMATION
        and first < period.end
        and (over is None or over > period.start)
    )


def _order_of_page(shown: Sequence[ShownIncident]) -> list[ShownIncident]:
    """Those that are open first, then the newest."""
    states = tuple(IncidentState)
    return sorted(shown, key=lambda one: (states.index(one.state), -one.kept.opened_at, one.kept.address))


def _report_incident(shown: ShownIncident, alerts: Sequence[ShownAlert], today: int) -> ReportIncident:
    kept = shown.kept
    keys = {(member.series, member.since) for member in kept.members}
    decisions = [
        one for alert in alerts if (alert.alert.series, alert.alert.since) in keys for one in alert.decisions
    ]
    said = dict.fromkeys(f"{one.who} {one.kind} it: {one.why}" for one in decisions)
    ended = shown.state.value
    if kept.resolved_at is not None:
        reasons = [member.ended for member in kept.members if member.ended is not None]
        why = _ENDED[max(reasons, key=reasons.count)] if reasons else "over"
        ended = f"{why}, {day_words(kept.resolved_at, today)}"
    severity = kept.severity if kept.firing else kept.worst
    return ReportIncident(
        since=shown.first_days_words,
        severity=severity.value,
        headline=shown.headline,
        alerts=len(kept.members),
        ended=ended,
        decided="; ".join(said) or "nobody",
    )


def _report_heading(
    model: str, period: ReportPeriod, window: WindowPage, shown: Sequence[ShownIncident]
) -> str:
    """The verdict: how it performed, and the worst incident of the period."""
    tile = next((tile for tile in window.tiles if tile.measure == window.main), None)
    name = readable_name(model)
    if tile is None or tile.value.startswith("("):
        first = f"The performance of {name} {period.spoken} is not known yet."
    elif tile.beside in _HELD:
        first = f"{name} {_HELD[tile.beside]} {period.spoken}."
    else:
        first = f"{spoken_measure(window.main)} of {name} was {tile.value} {period.spoken}."
        first = capitalize_first(first)
    still = [one for one in _order_of_page(shown) if one.state is IncidentState.OPEN]
    if not still:
        return first
    headline = still[0].headline
    short = headline.partition(":")[0]
    return f"{first} {end_sentence(capitalize_first(short if ' ' in short else headline))}"


def _report_facts(
    spec: ModelSpec, facts: ModelFacts, period: ReportPeriod, window: WindowPage, as_of: int | None
) -> Iterator[tuple[str, str]]:
    """What the report is of, by term."""
    versions = sorted({row.version for row in facts.rows if row.version})
    named = f", version {', '.join(map(readable_name, versions[:3]))}" if versions else ""
    yield "Model", f"{readable_name(facts.model)}{named}"
    days = day_range_words(period.start, period.end - 1, facts.as_of or 0)
    yield "Period", period.words if period.words[:1].isdecimal() else f"{period.words}: {days}"
    if spec.keys.owner:
        yield "Owner", readable_name(spec.keys.owner)
    labelled = next((said for said in window.says if "label" in said), "")
    if labelled:
        yield "Records", labelled.rstrip(".")
    reference = spec.keys.reference
    if reference is not None:
        yield "Reference", readable_name(str(reference.file or reference.table or "a query"))
    moment = local_moment_words((facts.as_of or 0) if as_of is None else as_of, spec.reading.zone)
    yield "Known on", f"{moment} {spec.reading.zone}"


def _report_figures(
    window: WindowPage,
    at_end: OverviewPage,
    shown: Sequence[ShownIncident],
    incidents: Sequence[ReportIncident],
) -> Iterator[ReportFigure]:
    """Performance of the period, inputs as it ended, incidents, decisions."""
    tile = next((tile for tile in window.tiles if tile.measure == window.main), None)
    yield ReportFigure(
        title=capitalize_first(spoken_measure(window.main)),
        value="–" if tile is None else tile.value,
        beside="" if tile is None else f"{tile.sign} {tile.beside}".strip(),
        good=tile is not None and bool(tile.beside) and tile.sign != "▼",
        kind="critical" if tile is not None and tile.sign == "▼" else "",
        said="" if tile is None else end_sentence(capitalize_first(", ".join(tile.said) or "not known yet")),
    )
    inputs = at_end.tiles[1].figure
    yield ReportFigure(
        title=" · ".join(filter(None, (inputs.title, inputs.span))),
        value=inputs.value or "–",
        beside=inputs.beside,
        good=False,
        kind=inputs.mark.value if inputs.mark.value != "ok" else "",
        said=inputs.note,
    )
    still = sum(one.state is not IncidentState.OVER for one in shown)
    many = sum(one.alerts for one in incidents)
    told = f"{many} alert{'' if many == 1 else 's'} in all."
    yield ReportFigure(
        title="Incidents",
        value=str(len(incidents)),
        beside="in the period",
        good=False,
        kind="",
        said=f"{still} open, {len(incidents) - still} ended. {told}" if incidents else "No alert stood.",
    )
    decided = [one for one in incidents if one.decided != "nobody"]
    yield ReportFigure(
        title="Decisions",
        value=str(len(decided)),
        beside=f"of {len(incidents)} decided" if incidents else "",
        good=False,
        kind="",
        said="" if decided else "Nobody acknowledged or accepted anything.",
    )


def _remarks(window: WindowPage) -> Iterator[tuple[str, str]]:
    """What the questions to its performance answered."""
    titles = {
        "Does it rank well?": "Ranking",
        "Is the threshold right?": "Threshold",
        "Can its probabilities be trusted?": "Calibration",
    }
    for group in window.groups:
        if group.answer:
            yield titles.get(group.title, group.title.rstrip("?")), group.answer


def _side_remarks(
    data: PageData, model: str, period: ReportPeriod, as_of: int | None
) -> Iterator[tuple[str, str]]:
    """How the challenger ranked the same records, and how the arms of the experiment differ so far."""
    if period.window.name:
        for row in (stored.row for stored in _period_rows(data, model, period, as_of)):
            if row.measure == "challenger_auc_difference" and row.measurement.value is not None:
                yield "Challenger", f"ROC AUC {_difference_words(row)} beside the model on the same records."
                break
    last: dict[str, MeasurementRow] = {}
    rows = read_compare_page_rows(data, _page_request(model, as_of, "compare"), model)
    differing = find_differing_outcomes(rows, spec_of(data, model).keys.level)
    for row in (stored.row for stored in rows):
        if row.measure.endswith(VALID) and "_difference" in row.measure and row.measurement.value is not None:
            last[row.subject] = row
    for row in list(last.values())[:2]:
        how = "The arms differ" if row.subject in differing else "The arms do not differ detectably"
        yield "Experiment", f"{how} in outcome: {_difference_words(row)}, of all data so far."


def _difference_words(row: MeasurementRow) -> str:
    """A difference and its bounds, with their signs."""
    value = format_measure_difference(row.measure, row.measurement.value)
    bounds = format_interval_bounds(row.measure, row.measurement.interval, differs=True)
    return f"{value} ({bounds.strip('[]').replace(', ', ' to ')})" if bounds else value


def _inputs_sentence(at_end: OverviewPage) -> str:
    figure = at_end.tiles[1].figure
    if not figure.value:
        return figure.note
    on = f" on {figure.span}" if figure.span else ""
    return f"{figure.value} {figure.beside}{on}. Each day is compared with the weeks before it."


def _segment_rows(
    data: PageData, model: str, period: ReportPeriod, facts: ModelFacts, as_of: int | None
) -> list[MeasurementRow]:
    """Main measure of each segment, those with the most labels; of each the best truth."""
    if not period.window.name:
        return []
    rows = _period_rows(data, model, period, as_of, measure=facts.main)
    truths, best = tuple(LabelTruth), dict[str, MeasurementRow]()
    for row in (stored.row for stored in rows):
        segment = row.segment or ""
        if row.against or row.subject or row.measurement.value is None:
            continue
        if segment not in best or truths.index(row.truth) >= truths.index(best[segment].truth):
            best[segment] = row
    return sorted(best.values(), key=lambda row: -row.measurement.n)[:_MOST_SEGMENTS]


def _report_segment(row: MeasurementRow) -> ReportSegment:
    result = row.measurement
    places = None
    if result.interval is not None and result.value is not None:
        places = (result.interval.lower, result.value, result.interval.upper)
    return ReportSegment(
        name=row.segment or "",
        value=format_measure_value(row.measure, result.value),
        bounds=format_interval_bounds(row.measure, result.interval),
        interval=places,
        labels=f"{result.n:,}",
    )


def _segments_axis(rows: Sequence[MeasurementRow], zone: AlertZone | None) -> Axis | None:
    ends = [end for row in rows if row.measurement.interval is not None
            for end in (row.measurement.interval.lower, row.measurement.interval.upper)]  # fmt: skip
    if not ends:
        return None
    ends += [] if zone is None else [zone.limit]
    room = (max(ends) - min(ends)) / 10 or 1e-6
    return Axis(min(ends) - room, max(ends) + room)


def _unwatched(
    spec: ModelSpec, facts: ModelFacts, period: ReportPeriod, window: WindowPage, standing: ModelStanding
) -> Iterator[str]:
    """What was not watched in the period, and what is not known of it."""
    begin, end = (count_epoch_days(at, spec.reading.zone) for at in (period.start, period.end - 1))
    days = [
        day_range_words(max(first, begin) * DAY, min(last, end) * DAY, facts.as_of or 0)
        for first, last in spec.unusual_days
        if first <= end and last >= begin
    ]
    if days:
        yield f"{', '.join(days)}: unusual days. They were not compared; performance was."
    if spec.labels is not None and not window.is_final:
        yield f"Late labels of {period.words}: figures of performance are not final."
    yield from _unconfigured(spec)
    yield from map(
        end_sentence, missing_estimate_sentences(KnownMeasurements(facts.rows, facts.window, facts.main))
    )
    yield from map(end_sentence, unjudged_sentences(standing.unjudged))


def _unconfigured(spec: ModelSpec) -> Iterator[str]:
    """What nothing is configured of."""
    if spec.budget is None:
        yield "Single days: without [models.budget] none is compared with those before it."
    if spec.labels is None:
        yield "Performance: no labels are configured."
    if spec.keys.reference is None:
        yield "Distance from training: no reference is configured."
    if not spec.keys.segments:
        yield f"Segments: none is configured{' but the arms' if spec.keys.control else ''}."


def _known_since(
    data: PageData, spec: ModelSpec, facts: ModelFacts, period: ReportPeriod, as_of: int
) -> Iterator[tuple[str, str, str]]:
    """What was known then beside what is known now, a figure a line; none: it is the same."""
    if not period.window.name:
        return
    before, after = (
        _headline_words(spec, facts.main, _period_rows(data, facts.model, period, moment))
        for moment in (as_of, None)
    )
    if before != after:
        for name in {**after, **before}:
            yield capitalize_first(spoken_measure(name)), before.get(name, "–"), after.get(name, "–")


def _headline_words(spec: ModelSpec, main: str, rows: Sequence[StoredMeasurement]) -> Mapping[str, str]:
    """Headlines in words, each with its n and the day on which it was kept."""
    revisions = pick_headline_rows(rows)
    names = [
        name for name in dict.fromkeys((main, "coverage", *TILES[spec.reading.task])) if name in revisions
    ]
    zone = spec.reading.zone
    return {
        name: f"{value_with_interval(name, kept.row.measurement)} of {kept.row.measurement.n:,}, measured "
        f"{local_moment_words(kept.as_of, zone)}"
        for name in names
        for kept in [revisions[name]]
    }


def _period_rows(
    data: PageData, model: str, period: ReportPeriod, as_of: int | None, measure: str | None = None
) -> list[StoredMeasurement]:
    """Rows of a period as they were known at a moment (None: now); of a measure alone those of segments."""
    which = ChartedRows(
        window=period.window.name,
        after=period.end - 1,
        until=period.end,
        as_of=as_of,
        details=True,
        newest=True,
    )
    if measure is None:
        return data.read_revisions(model, which)
    of_all = data.read_revisions(model, replace(which, measures=(measure,), segment=None))
    return [stored for stored in of_all if stored.row.segment]
