"""All that is measured of a model now, and any one measure over time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.charts.marks import LegendKey
from monitor.core.clock import DAY
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import OF_SHIFT
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    format_interval_bounds,
    format_measure_difference,
    format_measure_value,
)
from monitor.pages.figures import (
    Figure,
    critical_measure_name,
    definition_of,
    draw_timeline,
    is_difference,
)
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import RANGES, add_second_line, align_readings, make_choice_links, spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest, require_known_name
from monitor.pages.period_words import local_moment_words, period_words, time_axis
from monitor.pages.window_readings import line_points, reference_value, window_readings
from monitor.sentences.known_measurements import FEATURE
from monitor.show.plain_rows import order_rows
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

LOG = "log"  # what the log itself is called among the windows: its figures have none
_PARTS = "subject", "against", "segment", "version"  # by which a measure's rows differ, beside their window
_MOST = 300  # lines


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """A current measurement in words; `href`: where it is drawn over time, empty where it is not."""

    measure: str
    href: str
    of: str
    period: str
    value: str
    bounds: str
    n: str
    truth: str
    warning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuresPage:
    """Page of all current measurements of a kind of window; `left_out`: lines that are too many."""

    model: str
    windows: tuple[PageLink, ...]
    window: str
    filter: str
    lines: tuple[MeasuredLine, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurePage:
    """Page of one measure over time."""

    model: str
    measure: str
    definition: str  # what it is, in a sentence
    window: str
    windows: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    range: str
    # (parameter, its values, the one that is shown) where there are several.
    parts: tuple[tuple[str, tuple[str, ...], str], ...]
    against_nothing: str  # what it is called if it is against nothing else
    figure: Figure | None


def measures_page(data: PageData, request: PageRequest, name: str) -> MeasuresPage:
    """Page of all current measurements; the parameter `q` filters by measure, subject, segment, version."""
    spec, windows, window, rows = _resolve_measures_request(data, request, name)
    return MeasuresPage(
        model=name,
        windows=make_choice_links(request, "window", windows, window),
        window=window,
        filter=request.query.get("q", ""),
        lines=tuple(_make_measured_line(request, spec, stored.row) for stored in rows[:_MOST]),
        left_out=max(0, len(rows) - _MOST),
    )


def read_measures_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Rows of the page, those that are too many for it as well."""
    *_, rows = _resolve_measures_request(data, request, name)
    return rows


def measure_page(data: PageData, request: PageRequest, name: str, measure: str) -> MeasurePage:
    """Page of one measure over time."""
    spec, window, span, parts, rows = _resolve_measure_request(data, request, name, measure)
    chosen = {part: value for part, _, value in parts}
    return MeasurePage(
        model=name,
        measure=measure,
        definition=definition_of(measure),
        window=window.name,
        windows=make_choice_links(request, "window", [each.name for each in spec.windows], window.name),
        ranges=make_choice_links(request, "range", list(RANGES), span),
        range=span,
        parts=tuple((part, tuple(values), value) for part, values, value in parts if len(values) > 1),
        against_nothing="the reference"
        if measure in BY_NAME and BY_NAME[measure].family in OF_SHIFT
        else "nothing",
        figure=_measure_figure(data, request, window, rows, measure, chosen),
    )


def read_measure_page_rows(
    data: PageData, request: PageRequest, name: str, measure: str
) -> list[StoredMeasurement]:
    """Kept rows behind the chart, the newest revision of each."""
    *_, rows = _resolve_measure_request(data, request, name, measure)
    return [stored for stored in rows if stored.row.measure == measure]


def _resolve_measures_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[ModelSpec, list[str], str, list[StoredMeasurement]]:
    """Specification, kinds of windows, the chosen one, its current rows in the order of `monitor show`."""
    request.refuse_unknown_parameters("window", "q")
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    there = dict.fromkeys(row.window or LOG for row in facts.rows)
    windows = list(dict.fromkeys([*(each.name for each in spec.windows), *there]))
    window = request.parse_choice("window", windows, facts.window)
    wanted = request.query.get("q", "").casefold()
    found = order_rows(
        StoredMeasurement(name, facts.as_of or 0, row)
        for row in facts.rows
        if (row.window or LOG) == window and wanted in f"{row.measure} {_scope_words(row)}".casefold()
    )
    # Features come last: of too many lines the last ones are left out.
    found.sort(key=lambda stored: stored.row.subject.startswith(FEATURE))
    return spec, windows, window, found


def _make_measured_line(request: PageRequest, spec: ModelSpec, row: MeasurementRow) -> MeasuredLine:
    result = row.measurement
    windows = {each.name: each for each in spec.windows}
    told = format_measure_difference if is_difference(row.measure, row.against) else format_measure_value
    given = {"window": row.window, **{part: getattr(row, part) or None for part in _PARTS}}
    return MeasuredLine(
        measure=row.measure,
        href=request.link_to("models", request.path[1], "measures", row.measure, **given)
        if row.window in windows
        else "",
        of=_scope_words(row),
        period=period_words(windows[row.window], row.window_end)
        if row.window in windows
        else local_moment_words(row.window_end, spec.windows[0].zone),
        value=f"({result.reason})" if result.value is None else told(row.measure, result.value),
        bounds=format_interval_bounds(
            row.measure, result.interval, differs=is_difference(row.measure, row.against)
        ),
        n=f"{result.n:,}",
        truth=str(row.truth),
        warning=row.warning.replace("_", " "),
    )


def _scope_words(row: MeasurementRow) -> str:
    """Of what a measurement is, where it is not of the whole model and against nothing."""
    parts = (
        row.subject,
        row.segment,
        f"version {row.version}" if row.version is not None else "",
        f"against {row.against}" if row.against else "",
    )
    return ", ".join(filter(None, parts))


def _resolve_measure_request(
    data: PageData, request: PageRequest, name: str, measure: str
) -> tuple[ModelSpec, Window, str, list[tuple[str, list[str], str]], list[StoredMeasurement]]:
    """Specification, window, range, what the measure's rows may be of, and its kept rows."""
    request.refuse_unknown_parameters("window", "range", *_PARTS)
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    names = [each.name for each in spec.windows]
    require_known_name(
        measure, list(dict.fromkeys(row.measure for row in facts.rows if row.window in names)), "measure"
    )
    own = [row for row in facts.rows if row.measure == measure and row.window in names]
    of = [row.window for row in own]
    window = find_named_window(
        spec, request.parse_choice("window", names, facts.window if facts.window in of else of[0])
    )
    span = request.parse_choice("range", list(RANGES), "180d" if window.length <= DAY else "all")
    parts = [(part, *_choose_name_part(request, part, own)) for part in _PARTS]
    chosen = {part: value for part, _, value in parts}
    until = facts.as_of or 0
    which = ChartedRows(
        window=window.name,
        after=until - RANGES[span] if RANGES[span] else 0,
        until=until,
        measures=[measure, *filter(None, [critical_measure_name(measure)])],
        subjects=(chosen["subject"],),
        against=(chosen["against"],),
        as_of=request.as_of,
        segment=chosen["segment"],
        version=chosen["version"],
        newest=True,
    )
    return spec, window, span, parts, data.read_revisions(name, which)


def _choose_name_part(
    request: PageRequest, part: str, rows: Sequence[MeasurementRow]
) -> tuple[list[str], str]:
    """Values that a part of the names has among some rows, the whole first; the one that is asked for."""
    values = sorted({getattr(row, part) or "" for row in rows})
    return values, request.parse_choice(part, values, values[0])


def _measure_figure(
    data: PageData,
    request: PageRequest,
    window: Window,
    rows: Iterable[StoredMeasurement],
    measure: str,
    chosen: dict[str, str],
) -> Figure | None:
    """The measure over time, beside it its critical value; None: nothing was kept."""
    rows, subject, against = list(rows), chosen["subject"], chosen["against"]
    series = window_readings(rows, measure, subject, against)
    if not any(one.row.measurement.value is not None for one in series):
        return None
    (facts,) = data.read_model_facts(request.path[1], request.as_of)
    of_whole = not any(chosen.values())
    axis = time_axis(
        window.start_of(series[0].row.window_end),
        max(series[-1].row.window_end, facts.as_of or 0),
        window.zone,
    )
    figure = draw_timeline(
        measure,
        series,
        window,
        axis,
        reference=reference_value(facts.rows, measure) if of_whole else None,
        title=_scope_words(series[-1].row) or "Of all records",
        height=220,
    )
    critical = critical_measure_name(measure)
    limits = [] if critical is None else window_readings(rows, critical, subject, against)
    if not limits:
        return figure
    key = LegendKey("line", "chance", "critical value")
    cells = [
        format_measure_value(measure, one.row.measurement.value) for one in align_readings(series, limits)
    ]
    return add_second_line(figure, measure, line_points(limits, window), key, figure.note, cells)
