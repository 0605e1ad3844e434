"""Readings of windows as charts of a stack, whose points lead to them; records, and when alerts stood."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from monitor.alerts.alert_rules import Severity
from monitor.alerts.incident_life import IncidentKind, alert_kind
from monitor.alerts.model_facts import ModelFacts
from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    LinkedPoint,
    LinkedPoints,
    MarginLabel,
    Mark,
)
from monitor.charts.scales import Axis
from monitor.charts.stacks import LaneSpan, StackChart
from monitor.core.clock import DAY, to_iso
from monitor.measures.catalogue.daily_measures import EVIDENCE
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
)
from monitor.pages.alert_lists import link_alert
from monitor.pages.figures import is_difference, value_axis
from monitor.pages.page_request import ChartableDays, PageRequest
from monitor.pages.period_words import period_words
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import band_points, line_points
from monitor.sentences.known_measurements import FEATURE, readable_name
from monitor.sentences.time_words import day_range_words
from monitor.show.alert_tables import ShownAlert
from monitor.windows.window_ends import Window

_BEHIND = ("interval", "n")  # what the numbers behind an interval have
MOST_POINTS = 45  # of a chart: more of them hide its line


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLine:
    """A line of a chart: readings that have a value, by end."""

    series: Sequence[StoredMeasurement]
    name: str = ""  # in the legend and the numbers; empty: the chart's title says it
    kind: Kind = "main"
    banded: bool = False  # whether its intervals are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartGround:
    """What a chart has besides its lines."""

    # marks, legend, levels: what lies below the lines, its keys, values that the axis holds besides.
    marks: Sequence[Mark] = ()
    legend: Sequence[LegendKey] = ()
    levels: Sequence[float] = ()
    # share of the newest n: what stands on less stretches no axis, and is drawn at its end.
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkedReadings:
    """Readings of the first line that are points, and the address to which the end of one leads."""

    series: Sequence[StoredMeasurement]
    link: Callable[[int], str]


def draw_readings(
    title: str,
    lines: Sequence[ReadingLine],
    window: Window,
    *,
    note: str = "",
    ground: ChartGround = ChartGround(),
    height: int = 72,
    say: Callable[[StoredMeasurement], str] | None = None,
    points: LinkedReadings | None = None,
) -> StackChart | None:
    """Values of one measure, or of several of one unit, over time: dashed while labels still come.

    `say`: a value in words; None: as of its measure. None is the answer where nothing has a value.
    """
    lines = [line for line in lines if line.series]
    if not lines:
        return None
    say = say or reading_words
    held, keys = [*ground.levels], [*ground.legend]
    drawn: list[Mark] = [*ground.marks]
    labels: list[Mark] = []
    for line in lines:
        series = line.series
        final = [one for one in series if one.row.is_final]
        coming = series[max(len(final) - 1, 0) :]
        enough = [
            one for one in series if one.row.measurement.n >= ground.least * series[-1].row.measurement.n
        ]
        held += [one.row.measurement.value or 0.0 for one in enough]
        if line.banded:
            held += [end for _, *ends in band_points(enough, window) for end in ends if end is not None]
            drawn.insert(0, IntervalBand(band_points(series, window), line.kind))
        drawn.append(LinePath(line_points(final, window), line.kind))
        if line.name:
            keys.append(LegendKey("line", line.kind, line.name))
        if len(coming) > 1:
            drawn.append(LinePath(line_points(coming, window), "provisional"))
        newest = (final or series)[-1]
        labels.append(MarginLabel(newest.row.measurement.value or 0.0, say(newest), line.kind))
    if any(not one.row.is_final for line in lines for one in line.series):
        keys.append(LegendKey("line", "provisional", "labels still come"))
    first = lines[0]
    if points is not None and points.series:
        made = [_window_point(window, one, first.kind, say, points.link) for one in points.series]
        drawn.append(LinkedPoints(made))
    row = first.series[0].row
    by_end = [{one.row.window_end: say(one) for one in line.series} for line in lines]
    return StackChart(
        title=title,
        note=note,
        y=value_axis(
            row.measure, held, differs=is_difference(row.measure, row.against), most=5 if height > 100 else 3
        ),
        marks=(*drawn, *labels),
        legend=tuple(keys),
        height=height,
        stops=tuple(float(window.middle_of(one.row.window_end)) for one in first.series),
        columns=("when", *(line.name or title for line in lines), *(_BEHIND if first.banded else ())),
        rows=tuple(
            (
                period_words(window, one.row.window_end),
                *(cells.get(one.row.window_end, "–") for cells in by_end),
                *((reading_bounds(one), f"{one.row.measurement.n:,}") if first.banded else ()),
            )
            for one in first.series
        ),
    )


def reading_words(one: StoredMeasurement) -> str:
    """Value of a reading, a difference with its sign."""
    row = one.row
    differs = is_difference(row.measure, row.against)
    told = format_measure_difference if differs else format_measure_value
    return told(row.measure, row.measurement.value)


def reading_bounds(one: StoredMeasurement) -> str:
    """Interval of a reading; empty: it has none."""
    row = one.row
    differs = is_difference(row.measure, row.against)
    return format_interval_bounds(row.measure, row.measurement.interval, differs=differs)


def with_value(series: Sequence[StoredMeasurement]) -> list[StoredMeasurement]:
    """Readings that have a value."""
    return [one for one in series if one.row.measurement.value is not None]


def link_windows(request: PageRequest, model: str, window: Window) -> Callable[[int], str]:
    """Address of the page of a window by its end."""

    def link(end: int) -> str:
        return request.link_to("models", model, "performance", window=window.name, end=to_iso(end))

    return link


def _window_point(
    window: Window,
    one: StoredMeasurement,
    kind: Kind,
    say: Callable[[StoredMeasurement], str],
    link: Callable[[int], str],
) -> LinkedPoint:
    end = one.row.window_end
    return LinkedPoint(
        x=float(window.middle_of(end)),
        y=one.row.measurement.value or 0.0,
        kind=kind,
        words=" · ".join(filter(None, (period_words(window, end), say(one), reading_bounds(one)))),
        href=link(end),
    )


def draw_records(
    request: PageRequest,
    facts: ModelFacts,
    days: ChartableDays | None,
    readings: Sequence[StoredMeasurement],
    window: Window,
    *,
    height: int = 48,
    linked: bool = False,
) -> StackChart | None:
    """Records by window, of days with what was expected.

    `linked`: points lead to their windows; of many days those alone that lie outside of what was expected.
    """
    known = with_value(readings)
    of = (EVIDENCE, "records", None)
    rows = (row for row in facts.rows if (row.measure, row.subject, row.segment) == of)
    change = next((row.measurement.change for row in rows), None)
    charted = [] if days is None or change is None else days.chart_change("records", change)
    if window.length != DAY or not known:
        charted = []
    charted = [one for one in charted if one.start >= window.start_of(known[0].row.window_end)]
    outside = {one.end for one in charted if not one.low <= one.value <= one.high}
    pointed = [one for one in known if len(known) <= MOST_POINTS or one.row.window_end in outside]
    middles: list[tuple[float, float | None, float | None]] = []
    for before, one in zip([None, *charted], charted, strict=False):
        if before is not None and one.day > before.day + 1:
            middles.append((float(before.end), None, None))  # days that were not compared have no band
        middles.append(((one.start + one.end) / 2, one.low, one.high))
    return draw_readings(
        "Records",
        [ReadingLine(series=known, kind="second")],
        window,
        note=f"by {grain_name(window.name).lower()}",
        ground=ChartGround(
            marks=(IntervalBand(middles, "expected"),) if charted else (),
            legend=(LegendKey("area", "expected", "expected"),) if charted else (),
            levels=[0.0, *(one.high for one in charted)],
        ),
        height=height,
        points=LinkedReadings(pointed, link_windows(request, facts.model, window)) if linked else None,
    )


def list_alert_spans(
    request: PageRequest,
    facts: ModelFacts,
    alerts: Sequence[ShownAlert],
    axis: Axis,
    kinds: Iterable[IncidentKind],
) -> Iterator[LaneSpan]:
    """When alerts of some kinds stood, as a lane shows them; what is for information alone is none."""
    for shown in alerts:
        alert = shown.alert
        end = float(alert.resolved_at or facts.as_of or 0)
        if alert.fired_at is None or alert.severity is Severity.INFO or end < axis.low:
            continue
        if alert_kind(alert, shown.rule) not in kinds or alert.fired_at > axis.high:
            continue
        name = readable_name(alert.series.subject.removeprefix(FEATURE)) or alert.series.rule
        since = day_range_words(alert.fired_at, int(end) - 1, facts.as_of or 0)
        yield LaneSpan(
            start=max(float(alert.fired_at), axis.low),
            end=end,
            kind="critical" if alert.severity is Severity.CRITICAL else "warning",
            words=f"{name} · {alert.severity.value} · {since}",
            href=link_alert(request, shown) or request.link_to("models", facts.model, "alerts"),
        )
