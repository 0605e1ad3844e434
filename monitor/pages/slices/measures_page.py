"""All that is measured of a model now, and any one measure over time."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.alerts.model_facts import ModelFacts
from monitor.charts.marks import LegendKey, Mark, RuleLine
from monitor.charts.stacks import Stack
from monitor.core.clock import DAY
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import OF_SHIFT, MeasureFamily
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    format_measure_value,
)
from monitor.pages.figures import (
    critical_measure_name,
    definition_of,
)
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import (
    RANGE_WORDS,
    RANGES,
    make_choice_links,
    spec_of,
)
from monitor.pages.page_request import PageData, PageLink, PageRequest, require_known_name
from monitor.pages.period_words import period_words, time_axis
from monitor.pages.reading_charts import (
    MOST_POINTS,
    ChartGround,
    LinkedReadings,
    ReadingLine,
    draw_readings,
    link_windows,
    reading_bounds,
    reading_words,
    with_value,
)
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import drop_scarcely_labelled, reference_value, window_readings
from monitor.sentences.known_measurements import FEATURE, capitalize_first, readable_name, spoken_measure
from monitor.sentences.time_words import local_moment_words
from monitor.show.plain_rows import order_rows
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

LOG = "log"  # what the log itself is called among the windows: its figures have none
_PARTS = "subject", "against", "segment", "version"  # by which a measure's rows differ, beside their window
SORTS = ("measure", "of", "n")
_MOST = 300  # lines
_TRUTHS = {
    LabelTruth.SETTLED: "final",
    LabelTruth.NOWCAST: "estimated",
    LabelTruth.PROVISIONAL: "labels still come",
    LabelTruth.NONE: "",
}
_FAMILIES = {
    MeasureFamily.PERFORMANCE: "Performance",
    MeasureFamily.AVERAGES: "Performance, averages of classes",
    MeasureFamily.GAINS: "Gains",
    MeasureFamily.CALIBRATION: "Calibration",
    MeasureFamily.ESTIMATE: "Estimates without labels",
    MeasureFamily.SHIFT: "Shift",
    MeasureFamily.DISTANCES: "Distances",
    MeasureFamily.VALUES: "Values",
    MeasureFamily.QUALITY: "Missing, invalid and new values",
    MeasureFamily.COMPARISON: "Comparisons",
    MeasureFamily.LABELS: "Labels",
    MeasureFamily.VOLUME: "Records",
    MeasureFamily.DAILY: "Days",
    MeasureFamily.LOG: "The log",
}


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """A current measurement in words; `href`: where it is drawn over time, empty where it is not."""

    measure: str
    href: str
    family: str
    of: str
    period: str
    value: str
    bounds: str
    n: str
    truth: str
    warning: str

    def sort_value(self, column: str) -> str | int:
        """What a column is sorted by."""
        return int(self.n.replace(",", "")) if column == "n" else self.of if column == "of" else self.measure


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuresPage:
    """Page of all current measurements of a kind of window; `left_out`: lines that are too many."""

    model: str
    headline: str
    about: str
    windows: tuple[PageLink, ...]
    window: str
    filter: str
    sorted_by: str
    sorts: dict[str, str]  # address by column
    # groups of lines with their titles: families of measures, or one without a title where lines are sorted.
    groups: tuple[tuple[str, tuple[MeasuredLine, ...]], ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurePage:
    """Page of one measure over time."""

    model: str
    headline: str
    definition: str  # what it is, in a sentence
    window: str
    windows: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    range: str
    # (parameter, its values, the one that is shown) where there are several.
    parts: tuple[tuple[str, tuple[str, ...], str], ...]
    against_nothing: str  # what it is called if it is against nothing else
    stack: Stack | None


def measures_page(data: PageData, request: PageRequest, name: str) -> MeasuresPage:
    """Page of all current measurements; the parameter `q` filters by measure, subject, segment, version."""
    spec, windows, window, rows = _resolve_measures_request(data, request, name)
    sort = request.parse_choice("sort", [*SORTS, *(f"-{one}" for one in SORTS)], "")
    lines = [_make_measured_line(request, spec, stored) for stored in rows]
    if sort:
        column = sort.removeprefix("-")
        lines.sort(key=lambda line: line.sort_value(column), reverse=sort.startswith("-"))
    shown = lines[:_MOST]
    groups = [("", shown)]
    if not sort:
        groups = [(title, list(of)) for title, of in groupby(shown, lambda line: line.family)]
    wanted = request.query.get("q", "")
    return MeasuresPage(
        model=name,
        headline=_measures_headline(len(rows), window, wanted),
        about=_measures_about(rows, spec, window),
        windows=make_choice_links(request, "window", windows, window, _window_name),
        window=window,
        filter=wanted,
        sorted_by=sort,
        sorts={one: request.link_here(sort=f"-{one}" if sort == one else one) for one in SORTS},
        groups=tuple((title, tuple(of)) for title, of in groups if of),
        left_out=max(0, len(rows) - _MOST),
    )


def _measures_headline(many: int, window: str, wanted: str) -> str:
    """How many values the page has, and of what."""
    of = "figures of the log itself" if window == LOG else f"values by {_window_name(window).lower()}"
    if wanted:
        return f"{many or 'No'} {of} with “{readable_name(wanted)}”"
    return f"{many:,} {of}" if many else "Nothing is measured yet"


def _measures_about(rows: Sequence[StoredMeasurement], spec: ModelSpec, window: str) -> str:
    """Of which newest window they are, and by which labels."""
    if not rows:
        return ""
    named = {each.name: each for each in spec.windows}
    newest = max(stored.row.window_end for stored in rows)
    what = f"The newest is {period_words(named[window], newest)}. " if window in named else ""
    known = local_moment_words(rows[0].as_of, spec.reading.zone)
    return f"{what}With the labels known on {known}. Names are those of configuration and exports."


def _window_name(window: str) -> str:
    return "Log" if window == LOG else "All so far" if window == CUMULATIVE else grain_name(window)


def read_measures_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Rows of the page, those that are too many for it as well."""
    *_, rows = _resolve_measures_request(data, request, name)
    return rows


def measure_page(data: PageData, request: PageRequest, name: str, measure: str) -> MeasurePage:
    """Page of one measure over time."""
    spec, window, span, parts, rows = _resolve_measure_request(data, request, name, measure)
    chosen = {part: value for part, _, value in parts}
    (facts,) = data.read_model_facts(name, request.as_of)
    rows = [*rows, *_current_rows(facts, window, {stored.row.measure for stored in rows}, chosen)]

    return MeasurePage(
        model=name,
        headline=_measure_headline(rows, measure, window, chosen),
        definition=definition_of(measure),
        window=window.name,
        windows=make_choice_links(
            request, "window", [each.name for each in spec.windows], window.name, grain_name
        ),
        ranges=make_choice_links(request, "range", list(RANGES), span, RANGE_WORDS.__getitem__),
        range=span,
        parts=tuple((part, tuple(values), value) for part, values, value in parts if len(values) > 1),
        against_nothing="the reference"
        if measure in BY_NAME and BY_NAME[measure].family in OF_SHIFT
        else "nothing",
        stack=_measure_stack(request, facts, window, rows, measure, chosen),
    )


def _current_rows(
    facts: ModelFacts, window: Window, measures: Collection[str], chosen: dict[str, str]
) -> Iterator[StoredMeasurement]:
    """What is known now of the newest windows, as `current_readings` says of the whole."""
    mine = [
        row
        for row in facts.rows
        if row.window == window.name and row.measure in measures
        if all((getattr(row, part) or "") == value for part, value in chosen.items())
    ]
    final = {(row.measure, row.window_end) for row in mine if row.truth is LabelTruth.SETTLED}
    for row in mine:
        if row.truth is not LabelTruth.PROVISIONAL or (row.measure, row.window_end) not in final:
            yield StoredMeasurement(facts.model, facts.as_of or 0, row)


def _measure_headline(
    rows: Sequence[StoredMeasurement], measure: str, window: Window, chosen: dict[str, str]
) -> str:
    """The newest value that is final, else the newest; without one the name alone."""
    name = capitalize_first(spoken_measure(measure))
    series = window_readings(rows, measure, chosen["subject"], chosen["against"])
    known = [one.row for one in series if one.row.measurement.value is not None]
    row = next((one for one in reversed(known) if one.is_final), known[-1] if known else None)
    if row is None:
        return name
    of = readable_name(_scope_words(row))
    value = f"{reading_words(StoredMeasurement('', 0, row))}, {period_words(window, row.window_end)}"
    return f"{name}{f' ({of})' if of else ''}: {value}"


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
    request.refuse_unknown_parameters("window", "q", "sort")
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
    # Features come last: of too many lines the last ones are left out. Of each kind families stand together.
    families = list(MeasureFamily)

    def rank(stored: StoredMeasurement) -> tuple[bool, int]:
        row = stored.row
        known = families.index(BY_NAME[row.measure].family) if row.measure in BY_NAME else len(families)
        return row.subject.startswith(FEATURE), known

    found.sort(key=rank)
    return spec, windows, window, found


def _make_measured_line(request: PageRequest, spec: ModelSpec, stored: StoredMeasurement) -> MeasuredLine:
    row, result = stored.row, stored.row.measurement
    windows = {each.name: each for each in spec.windows}
    given = {"window": row.window, **{part: getattr(row, part) or None for part in _PARTS}}
    return MeasuredLine(
        measure=row.measure,
        family=_FAMILIES[BY_NAME[row.measure].family] if row.measure in BY_NAME else "Other",
        href=request.link_to("models", request.path[1], "measures", row.measure, **given)
        if row.window in windows
        else "",
        of=_scope_words(row),
        period=period_words(windows[row.window], row.window_end)
        if row.window in windows
        else local_moment_words(row.window_end, spec.windows[0].zone),
        value=f"({result.reason})" if result.value is None else reading_words(stored),
        bounds=reading_bounds(stored),
        n=f"{result.n:,}",
        truth=_TRUTHS[row.truth],
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


def _measure_stack(
    request: PageRequest,
    facts: ModelFacts,
    window: Window,
    rows: Sequence[StoredMeasurement],
    measure: str,
    chosen: dict[str, str],
) -> Stack | None:
    """The measure over time, beside it its reference or its critical value; None: nothing was kept."""
    subject, against = chosen["subject"], chosen["against"]
    series = with_value(drop_scarcely_labelled(window_readings(rows, measure, subject, against)))
    if not series:
        return None
    reference = None if any(chosen.values()) else reference_value(facts.rows, measure)
    marks, legend, lines = list[Mark](), list[LegendKey](), [ReadingLine(series=series, banded=True)]
    if reference is not None:
        marks.append(RuleLine(reference[0], "y", "reference"))
        text = f"reference {format_measure_value(measure, reference[0])}"
        legend.append(LegendKey("line", "reference", text))
    if any(one.row.measurement.interval for one in series):
        legend.insert(0, LegendKey("area", "main", "95 % interval"))
    critical = critical_measure_name(measure)
    limits = [] if critical is None else with_value(window_readings(rows, critical, subject, against))
    if limits:
        lines.append(ReadingLine(series=limits, name="critical value", kind="chance"))
    title = readable_name(_scope_words(series[-1].row)) or "Of all records"
    ends = [one.row.window_end for one in series]
    chart = draw_readings(
        title,
        lines,
        window,
        ground=ChartGround(marks=marks, legend=legend, levels=[] if reference is None else [reference[0]]),
        height=220,
        points=LinkedReadings(
            series if len(series) <= 2 * MOST_POINTS else (), link_windows(request, facts.model, window)
        ),
    )
    axis = time_axis(window.start_of(ends[0]), max(ends[-1], facts.as_of or 0), window.zone)
    label = f"{measure} over time, {len(series)} windows of {window.name}"
    return None if chart is None else Stack(name="measure", label=label, x=axis, parts=(chart,))
