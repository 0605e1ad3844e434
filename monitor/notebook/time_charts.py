"""A measure over time as a chart: the reference first on the same axis, limits, labels that still come."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from zoneinfo import ZoneInfo

from monitor.charts.marks import (
    IntervalBand,
    Kind,
    LegendKey,
    LinePath,
    Mark,
    PointDots,
    RuleLine,
    ShadedSpan,
    StandingBars,
)
from monitor.charts.plot import Plot
from monitor.charts.scales import MOST, Axis, AxisTick
from monitor.core.clock import DAY, HOUR, to_datetime
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.measures.catalogue.measure import BetterDirection
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.notebook.time_points import (
    COMING,
    MOVED,
    LineWindow,
    PointKey,
    PointState,
    TimePoint,
    judged_measure,
)
from monitor.pages.figures import Figure, value_axis
from monitor.pages.period_words import period_words
from monitor.sentences.input_sentences import INDEX
from monitor.sentences.known_measurements import capitalize_first, readable_name, spoken_measure
from monitor.windows.window_ends import Window

_UNITS = {7 * DAY: "week", DAY: "day", HOUR: "hour"}
_FEW_RECORDS = 0.1  # of what a window mostly has: intervals of fewer would stretch the axis
_WHOLE = 12  # the whole reference, which has no times, is a twelfth of the windows wide
_SMALL = 100  # pixels: lower charts stand below one that says what they have in common
_DOTS = 120  # windows: of more, points of one colour are a line already


def unit_noun(window: Window, count: int) -> str:
    """What the windows are called.

    >>> unit_noun(Window("7d", 7 * DAY, DAY), 2), unit_noun(Window("month", 31 * DAY, 0), 1)
    ('weeks', 'month')
    """
    noun = window.name if window.is_calendar else _UNITS.get(window.length, "window")
    return noun if count == 1 else f"{noun}s"


def line_window_words(window: LineWindow) -> str:
    """Period of a window in words."""
    if window.span is None:
        return "the reference"
    start, end = window.span
    kind = window.window if window.window.is_calendar else Window("", end - start, 1, window.window.zone)
    return period_words(kind, end)


def draw_line(
    windows: Sequence[LineWindow],
    key: PointKey,
    points: Sequence[TimePoint],
    estimate: Sequence[TimePoint] = (),
    *,
    height: int = 180,
) -> Figure:
    """A measure over time.

    Parameters
    ----------
    windows
        in order of time, those of the reference first.
    points, estimate
        of the measure and of its estimate, one for each window.
    """
    measure, subject = key
    edges = _window_edges(windows)
    middles = [(left + right) / 2 for left, right in pairwise(edges)]
    y = _level_axis(measure, points, estimate, most=5 if height > _SMALL else 3)
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    parts = (
        _draw_surroundings(windows, points, edges, height),
        _draw_limits(measure, windows, points, edges, y),
        _draw_window_values(measure, windows, points, edges),
        _draw_estimate(windows, estimate, middles),
    )
    for drawn, told in parts:
        marks += drawn
        legend += told
    name = line_title(measure, subject)
    noun = unit_noun(windows[0].window, 1)
    plot = Plot(
        x=Axis(edges[0], edges[-1], _window_ticks(windows, edges)),
        y=y,
        marks=tuple(marks),
        label=f"{name} by {noun}, {len(windows)} windows, those of the reference first",
        height=height,
        stops=tuple(middles),
    )
    columns = ("window", measure, "interval", "state", "n", *(("estimated",) if estimate else ()))
    return Figure(
        title=f"{name} by {noun}",
        plot=plot,
        legend=tuple(legend),
        columns=columns,
        rows=tuple(
            (
                *_table_row(measure, window, point),
                *((format_measure_value(measure, estimate[at].measurement.value),) if estimate else ()),
            )
            for at, (window, point) in enumerate(zip(windows, points, strict=True))
        ),
    )


def line_title(measure: str, subject: str = "") -> str:
    """What a line is called.

    >>> line_title("estimated_roc_auc"), line_title("stability_index", "feature:age")
    ('Estimated ROC AUC', 'PSI of age')
    """
    names = {INDEX: "PSI", MOVED: "Features with a PSI of 0.1 or more"}
    if measure in ESTIMATED:
        names[measure] = f"Estimated {spoken_measure(BY_NAME[measure].estimates)}"
    of = f" of {readable_name(subject)}" if subject else ""
    return f"{names.get(measure) or capitalize_first(spoken_measure(measure))}{of}"


def _table_row(measure: str, window: LineWindow, point: TimePoint) -> tuple[str, ...]:
    value, n = point.measurement.value, point.measurement.n
    told = format_measure_value(measure, value) if measure in BY_NAME else f"{value or 0:g}"
    return (
        f"reference, {line_window_words(window)}" if window.of_reference else line_window_words(window),
        str(point.measurement.reason) if value is None else told,
        format_interval_bounds(measure, point.measurement.interval) if measure in BY_NAME else "",
        ": ".join(filter(None, (str(point.state), point.reason.replace("_", " ")))),
        f"{n:,}",
    )


def _window_edges(windows: Sequence[LineWindow]) -> list[float]:
    """Where windows begin on the axis, and where the last one ends: all are equally wide.

    The reference may lie years before, or beside: so the axis counts windows, not days.
    """
    whole = max(1.0, len(windows) / _WHOLE)
    edges = [0.0]
    for window in windows:
        edges.append(edges[-1] + (whole if window.span is None else 1.0))
    return edges


def _window_ticks(windows: Sequence[LineWindow], edges: Sequence[float]) -> tuple[AxisTick, ...]:
    """Starts of some windows, a year with the first one of it."""
    each = -(-len(windows) // MOST)
    ticks, year = [], None
    for at in range(0, len(windows), each):
        window = windows[at]
        if window.span is None:
            ticks.append(AxisTick(edges[at], "reference"))
            continue
        local = to_datetime(window.span[0]).astimezone(ZoneInfo(window.window.zone))
        day = f"{local:%b}" if window.window.name in ("month", "quarter") else f"{local.day} {local:%b}"
        hour = f" {local:%H:%M}" if window.window.length < DAY else ""
        ticks.append(AxisTick(edges[at], f"{day}{hour}" if local.year == year else f"{day} {local.year}"))
        year = local.year
    return tuple(ticks)


def _level_axis(measure: str, points: Sequence[TimePoint], estimate: Sequence[TimePoint], most: int) -> Axis:
    """Axis that holds values, limits, and intervals of windows that are not tiny."""
    known = [point for point in points if point.measurement.value is not None]
    enough = _FEW_RECORDS * median([point.measurement.n for point in known] or [0])
    levels = [point.measurement.value for point in (*known, *estimate)]
    for point in known:
        levels += [point.reference, point.limit if measure != INDEX else None]
        interval = point.measurement.interval
        if interval is not None and point.measurement.n >= enough:
            levels += [interval.lower, interval.upper]
    finite = [level for level in levels if level is not None]
    if measure == INDEX:
        finite += [0.0, 0.12]
    if measure in (MOVED, "records"):
        finite += [0.0, 1.0]
    return value_axis(measure, finite, most=most)


_Drawn = tuple[list[Mark], list[LegendKey]]


def _draw_surroundings(
    windows: Sequence[LineWindow], points: Sequence[TimePoint], edges: Sequence[float], height: int
) -> _Drawn:
    """Where the reference ends, and where labels are still to come."""
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    own = sum(window.of_reference for window in windows)
    if own:
        label = "predictions" if height > _SMALL else ""
        marks += [
            ShadedSpan(edges[0], edges[own], "reference"),
            RuleLine(edges[own], "x", "now", label),
        ]
        if label:
            legend.append(LegendKey("area", "reference", "the reference's own rows"))
    coming = [at for at, point in enumerate(points) if point.reason == COMING]
    if coming:
        marks.append(ShadedSpan(edges[coming[0]], edges[coming[-1] + 1], "hatched"))
        legend.append(LegendKey("zone", "hatched", "labels still coming"))
    return marks, legend


def _draw_limits(
    measure: str,
    windows: Sequence[LineWindow],
    points: Sequence[TimePoint],
    edges: Sequence[float],
    y: Axis,
) -> _Drawn:
    """The reference's value, and all that is worse than the limit as a zone."""
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    limit = 0.1 if measure == INDEX else next((one.limit for one in points if one.limit is not None), None)
    if limit is not None:
        lower = is_worse_above(measure)
        ends = (limit, y.high) if lower else (y.low, limit)
        judged = (edges[sum(window.of_reference for window in windows)], edges[-1])
        marks += [
            IntervalBand([(edge, *ends) for edge in judged], "limit"),
            LinePath([(edge, limit) for edge in judged], "limit"),
        ]
        said = f"{'above' if lower else 'below'} the limit, {format_measure_value(measure, limit)}"
        legend.append(LegendKey("zone", "limit", "0.1 or more" if measure == INDEX else said))
    reference = next((one.reference for one in points if one.reference is not None), None)
    if reference is not None:
        marks.append(RuleLine(reference, "y", "reference"))
        said = f"reference {format_measure_value(measure, reference)}"
        if measure == INDEX:
            noun = unit_noun(windows[0].window, 2)
            said = f"highest of the reference's {noun}, {format_measure_value(measure, reference)}"
        legend.append(LegendKey("line", "reference", said))
    return marks, legend


def is_worse_above(measure: str) -> bool:
    """Whether more is worse, of a measure or of what it estimates."""
    return judged_measure(measure).direction is not BetterDirection.HIGHER


def _draw_window_values(
    measure: str, windows: Sequence[LineWindow], points: Sequence[TimePoint], edges: Sequence[float]
) -> _Drawn:
    if measure in (MOVED, "records"):
        bars = [
            (left + 0.1 * (right - left), right - 0.1 * (right - left), one.measurement.value or 0.0)
            for (left, right), one in zip(pairwise(edges), points, strict=True)
        ]
        return [StandingBars(bars)], []
    marks: list[Mark] = []
    legend: list[LegendKey] = []
    final = [_is_final(window, point) for window, point in zip(windows, points, strict=True)]
    # What is not final is joined to what is: both are one line to the eye.
    before = max((at for at, is_final in enumerate(final) if is_final), default=-1)
    tail = [not is_final or at == before for at, is_final in enumerate(final)]
    kinds: tuple[tuple[Kind, list[bool]], ...] = (("main", final), ("provisional", tail))
    for kind, chosen in kinds:
        if kind == "main" or not all(final):
            marks += [_path_of(windows, points, edges, chosen, kind)]
    marks.insert(0, _band_of(windows, points, edges, final))
    dots: dict[tuple[Kind, bool], list[tuple[float, float]]] = {}
    for at, point in enumerate(points):
        if point.measurement.value is not None:
            worse = point.state is PointState.WORSE
            look: Kind = "critical" if worse else "main" if final[at] else "provisional"
            middle = (edges[at] + edges[at + 1]) / 2
            dots.setdefault((look, not final[at]), []).append((middle, point.measurement.value))
    marks += [
        PointDots(where, look, hollow)
        for (look, hollow), where in sorted(dots.items(), key=lambda item: item[0][0] == "critical")
        if look != "main" or len(points) <= _DOTS
    ]
    level = next((one.measurement.interval.level for one in points if one.measurement.interval), None)
    if level is not None:
        legend.append(LegendKey("area", "main", f"{100 * level:g} % interval"))
    if ("critical", False) in dots:
        said = "moved beyond chance" if measure == INDEX else "clearly beyond it"
        legend.append(LegendKey("dot", "critical", said))
    return marks, legend


def _is_final(window: LineWindow, point: TimePoint) -> bool:
    return not (window.labels and point.reason == window.labels)


def _is_apart(windows: Sequence[LineWindow], at: int) -> bool:
    """Whether a window does not begin where the one before it ends: the reference was long ago, or beside."""
    before, now = windows[at - 1].span, windows[at].span
    return at > 0 and (before is None or now is None or before[1] != now[0])


def _path_of(
    windows: Sequence[LineWindow],
    points: Sequence[TimePoint],
    edges: Sequence[float],
    chosen: Sequence[bool],
    kind: Kind,
) -> LinePath:
    """Line through the middles of windows; of the reference as a whole from one edge to the other."""
    path: list[tuple[float, float | None]] = []
    for at, (left, right) in enumerate(pairwise(edges)):
        if _is_apart(windows, at):
            path.append((left, None))
        value = points[at].measurement.value if chosen[at] else None
        ends = (left, right) if right - left > 1 else ((left + right) / 2,)
        path += [(end, value) for end in ends]
    return LinePath(path, kind)


def _band_of(
    windows: Sequence[LineWindow], points: Sequence[TimePoint], edges: Sequence[float], chosen: Sequence[bool]
) -> IntervalBand:
    band: list[tuple[float, float | None, float | None]] = []
    for at, (left, right) in enumerate(pairwise(edges)):
        if _is_apart(windows, at):
            band.append((left, None, None))
        interval = points[at].measurement.interval if chosen[at] else None
        low, high = (None, None) if interval is None else (interval.lower, interval.upper)
        ends = (left, right) if right - left > 1 else ((left + right) / 2,)
        band += [(end, low, high) for end in ends]
    return IntervalBand(band)


def _draw_estimate(
    windows: Sequence[LineWindow], estimate: Sequence[TimePoint], middles: Sequence[float]
) -> _Drawn:
    """What was to be expected before labels came; with its interval where they are still to come."""
    if all(point.measurement.value is None for point in estimate):
        return [], []
    bands: list[tuple[float, float | None, float | None]] = []
    line: list[tuple[float, float | None]] = []
    for at, (window, middle, point) in enumerate(zip(windows, middles, estimate, strict=True)):
        if _is_apart(windows, at):
            line.append((middle, None))
        line.append((middle, point.measurement.value))
        interval = point.measurement.interval if window.labels == COMING else None
        bands.append((middle, None, None) if interval is None else (middle, interval.lower, interval.upper))
    return [
        IntervalBand(bands, "estimate"),
        LinePath(line, "estimate"),
    ], [LegendKey("line", "main", "by labels"), LegendKey("line", "estimate", "estimated before labels")]
