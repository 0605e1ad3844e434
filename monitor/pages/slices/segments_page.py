"""Segments and versions beside all records: one measure of each, the worst first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.alert_rules import Severity
from monitor.alerts.default_rules import MAIN
from monitor.alerts.model_facts import ModelFacts, limited_measurements
from monitor.charts.marks import Kind
from monitor.charts.scales import Axis, linear_axis
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import Measurement
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import BetterDirection
from monitor.measures.measurement_comparison import FALL, difference_among, is_comparable
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import certainty_words, format_interval_bounds, format_measure_value
from monitor.pages.figures import choose_tick_format
from monitor.pages.fleet_page import SIGNS, find_named_window
from monitor.pages.model_page import MEASURES, make_choice_links, spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest, read_kept_ends
from monitor.pages.period_words import period_words
from monitor.pages.tab_counts import read_standing
from monitor.pages.window_choice import grain_name
from monitor.pages.window_readings import REFERENCE, window_readings
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    capitalize_first,
    end_sentence,
    join_few_names,
    readable_name,
    spoken_measure,
)
from monitor.sentences.performance_sentences import awaited_performance_sentence
from monitor.sentences.reason_words import why_absent
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

QUERY = ("window", "measure", "sort", "q")
FEWEST = 50  # labels of a segment, below which it is folded away: its interval would stretch the scale
SORTS = ("name", "value", "records", "labelled")
_BEST = (LabelTruth.SETTLED, LabelTruth.PROVISIONAL, LabelTruth.NOWCAST, LabelTruth.NONE)
_TRUTH_WORDS = {
    LabelTruth.SETTLED: ", final",
    LabelTruth.PROVISIONAL: ": labels still come",
    LabelTruth.NOWCAST: ", by the labels so far",
    LabelTruth.NONE: "",
}
_OF_ALL = ("base_rate", "coverage", "records")
_MOST, _STEPS, _POINTS = 100, 10, 30  # lines; windows of a spark line, and points of it


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLine:
    """A segment, a version or all records in the table."""

    name: str
    href: str
    value: str
    exact: str  # code name, interval, labels: one step further
    interval: tuple[float, float, float] | None
    kind: Kind  # colour of its interval: that of an alert that fires on it
    alert: str  # address of the incident that it has; empty: it has none
    spark: tuple[float | None, ...]
    sure: str  # ▼ or ▲: clearly worse or better than all records
    since: str  # the same, than this segment of the reference
    compared: bool  # whether it is compared with the reference
    records: str
    labelled: str
    sort_values: Mapping[str, float | str]
    is_hidden: bool = False  # by a filter


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsPage:
    """Page of the segments and versions of a model."""

    model: str
    headline: str
    about: str
    measure: str  # as people say it
    shows: tuple[str, ...]  # columns: "interval", "since" training, "records", "labelled"
    windows: tuple[PageLink, ...]
    measures: tuple[PageLink, ...]
    filter: str
    sorted_by: str
    sorts: dict[str, str]  # address by column
    # groups of lines with their titles: all records and segments, then versions.
    groups: tuple[tuple[str, tuple[SegmentLine, ...]], ...]
    axis: Axis
    whole: float | None  # value of all records
    steps: str  # what the spark lines show: "10 weeks"
    few: tuple[SegmentLine, ...]  # with too few labels for the table
    few_words: str
    needed: str  # how many labels a segment needs
    left_out: int  # lines that are too many
    without: str  # why there is no table
    columns: tuple[str, ...]  # of which segments may be made, where none is

    @property
    def bare_axis(self) -> Axis:
        """The same without ticks, as each interval is drawn on it."""
        return replace(self.axis, ticks=())

    @property
    def is_empty(self) -> bool:
        """Whether the filter hides all of them."""
        return all(line.is_hidden for _, lines in self.groups for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """What the page compares: rows of one measure, of one window that all lines share."""

    spec: ModelSpec
    facts: ModelFacts
    window: Window
    measure: str
    truth: LabelTruth
    end: int
    own: Sequence[MeasurementRow]  # the whole among them, if it was measured
    others: Mapping[tuple[str | None, str | None, str, str], MeasurementRow]  # of the same window
    is_kept: bool  # whether the window is kept: only then it has a page

    @property
    def whole(self) -> MeasurementRow | None:
        return next((row for row in self.own if row.is_of_whole), None)

    @property
    def direction(self) -> BetterDirection:
        """Which values are better, of measures that segments of other sizes share."""
        measured = BY_NAME.get(self.measure)
        return BetterDirection.NONE if measured is None or not is_comparable(measured) else measured.direction

    @property
    def name(self) -> str:
        return capitalize_first(spoken_measure(self.measure))

    def say(self, result: Measurement) -> str:
        return format_measure_value(self.measure, result.value)


def segments_page(data: PageData, request: PageRequest, name: str) -> SegmentsPage:
    """Page of the segments and versions of a model; `sort` orders, `q` filters by name."""
    rows, window, measure, offered = _resolve_segments_request(data, request, name)
    sort = request.parse_choice("sort", [*SORTS, *(f"-{one}" for one in SORTS)], "")
    of = _compare_segments(data, name, rows, window, measure, request)
    few = [row for row in of.own if _has_too_few(of, row)]
    large = [row for row in of.own if not _has_too_few(of, row)]
    shown, signs = large[:_MOST], _segment_signs(of, large)
    made = _segment_lines(data, request, of, shown, window_values(data, of), signs)
    lines = {(row.version, row.segment): line for row, line in zip(shown, made, strict=True)}
    ends = [end for line in lines.values() if line.interval for end in line.interval]
    headline, about = _headline_and_about(of, large, signs)
    return SegmentsPage(
        model=name,
        headline=headline,
        about=about,
        measure=of.name,
        shows=tuple(
            column
            for column, is_shown in (
                ("interval", bool(ends)),
                ("since", any(line.compared for line in lines.values())),
                ("records", measure != "records"),
                ("labelled", measure != "coverage" and of.truth is not LabelTruth.NONE),
            )
            if is_shown
        ),
        windows=make_choice_links(
            request, "window", [one.name for one in of.spec.windows], window.name, grain_name
        ),
        measures=make_choice_links(
            request, "measure", offered, measure, lambda one: capitalize_first(spoken_measure(one))
        ),
        filter=request.query.get("q", ""),
        sorted_by=sort,
        sorts={one: request.link_here(sort=f"-{one}" if sort == one else one) for one in SORTS},
        groups=tuple(_grouped_lines(of, lines, sort)),
        axis=linear_axis(ends, label=choose_tick_format(measure)),
        whole=of.whole.measurement.value if of.whole is not None and ends else None,
        steps=f"{_STEPS} {window.name}s" if window.is_calendar else f"{_STEPS} weeks",
        few=tuple(_segment_lines(data, request, of, few, {}, {})),
        few_words=_few_words(of, few),
        needed=_needed_words(of),
        left_out=max(0, len(large) - _MOST),
        without=_why_no_segments(of),
        columns=of.spec.reading.categorical[:2],
    )


def read_segments_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Current rows behind the page."""
    rows, _, measure, _ = _resolve_segments_request(data, request, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    names = (measure, f"estimated_{measure}")
    return [StoredMeasurement(name, facts.as_of or 0, row) for row in rows if row.measure in names]


def _resolve_segments_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[list[MeasurementRow], Window, str, list[str]]:
    """Rows of the chosen window, the window, the measure, those that are offered.

    The window is the one whose performance a rule limits, as on the page of the model.
    """
    request.refuse_unknown_parameters(*QUERY)
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    usual = limited_measurements(facts.rules, KnownMeasurements(facts.rows, facts.window, facts.main)).window
    window = request.parse_choice("window", [each.name for each in spec.windows], usual)
    rows = [row for row in facts.rows if row.window == window and not row.subject]
    rows = [row for row in rows if row.against in ("", REFERENCE)]
    there = sorted({row.measure for row in rows if not (row.is_of_whole or row.against)})
    measures = MEASURES[spec.reading.task]
    default = next((each for each in (facts.main, *measures) if each in there), facts.main)
    measure = request.parse_choice("measure", there, default)
    usual_ones = (MAIN[spec.reading.task], *measures, *_OF_ALL, measure)
    offered = [each for each in dict.fromkeys(usual_ones) if each in there]
    return rows, find_named_window(spec, window), measure, offered


def _compare_segments(
    data: PageData,
    name: str,
    rows: Sequence[MeasurementRow],
    window: Window,
    measure: str,
    request: PageRequest,
) -> _Compared:
    """Lines below one another are of the same records: one window, the newest by the best labels."""
    (facts,) = data.read_model_facts(name, request.as_of)
    own = [row for row in rows if row.measure == measure and not row.against]
    truth = next((each for each in _BEST if any(row.truth is each for row in own)), LabelTruth.NONE)
    end = max((row.window_end for row in own if row.truth is truth), default=0)
    versions = {row.version for row in own if row.version is not None}
    own = [
        row
        for row in own
        if (row.truth, row.window_end) == (truth, end)
        if row.version is None or (len(versions) > 1 and row.segment is None)
    ]
    others = {
        (row.version, row.segment, row.measure, row.against): row
        for row in rows
        if row.window_end == end and row.truth in (truth, LabelTruth.NONE)
    }
    is_kept = bool(own) and bool(read_kept_ends(data, name, window.name, after=end - 1, until=end))
    return _Compared(
        spec=spec_of(data, name), facts=facts, window=window, measure=measure, truth=truth, end=end,
        own=own, others=others, is_kept=is_kept,
    )  # fmt: skip


def _has_too_few(of: _Compared, row: MeasurementRow) -> bool:
    """Whether a segment has too few labels to lie beside the others."""
    result, whole = row.measurement, of.whole
    if row.is_of_whole or whole is None or whole.measurement.value is None:
        return False
    is_estimated = whole.measurement.interval is not None
    return result.value is None or (is_estimated and (result.interval is None or result.n < FEWEST))


def window_values(
    data: PageData, of: _Compared
) -> dict[tuple[str | None, str | None], tuple[float | None, ...]]:
    """Values of the last windows by version and segment, in one read."""
    if of.facts.as_of is None or not of.own:
        return {}
    which = ChartedRows(
        window=of.window.name,
        after=of.end - _STEPS * (of.window.length if of.window.is_calendar else 7 * DAY),
        until=of.end,
        measures=(of.measure,),
        subjects=("",),
        against=("",),
        as_of=of.facts.as_of,
        newest=True,
        segment=None,
        version=None,
    )
    by_place: dict[tuple[str | None, str | None], list[StoredMeasurement]] = {}
    for stored in data.read_revisions(of.facts.model, which):
        by_place.setdefault((stored.row.version, stored.row.segment), []).append(stored)
    found = {}
    for place, rows in by_place.items():
        values = [one.row.measurement.value for one in window_readings(rows, of.measure)]
        each = -(-len(values) // _POINTS) or 1
        found[place] = tuple(values[::-1][::each][::-1])
    return found


def _segment_lines(
    data: PageData,
    request: PageRequest,
    of: _Compared,
    rows: Sequence[MeasurementRow],
    sparks: Mapping[tuple[str | None, str | None], tuple[float | None, ...]],
    signs: Mapping[tuple[str | None, str | None], str],
) -> Iterator[SegmentLine]:
    """Lines of some rows."""
    wanted, model = request.query.get("q", "").casefold(), of.facts.model
    alerts = _segment_alerts(data, request, model)
    for row in rows:
        result, place = row.measurement, (row.version, row.segment)
        records, labelled = (of.others.get((*place, name, "")) for name in ("records", "coverage"))
        count = None if records is None else records.measurement.value
        if count is None and labelled is not None:
            count = float(labelled.measurement.n)
        step = of.others.get((*place, of.measure, REFERENCE))
        severity, address = alerts.get(row.segment or "", (None, ""))
        name = segment_name(row)
        places = None
        if result.value is not None and result.interval is not None:
            places = (result.interval.lower, result.value, result.interval.upper)
        known = {
            "name": name.casefold(),
            "value": result.value,
            "records": count,
            "labelled": None if labelled is None else labelled.measurement.value,
        }
        yield SegmentLine(
            name=name,
            href=request.link_to(
                "models",
                model,
                "performance",
                window=row.window,
                end=to_iso(row.window_end) if of.is_kept else None,
                segment=row.segment,
                version=row.version,
            ),
            value="" if result.value is None else of.say(result),
            exact=why_absent(result) if result.value is None else _exact_words(row),
            interval=places,
            kind="main" if severity is None else "critical" if severity is Severity.CRITICAL else "warning",
            alert=address,
            spark=sparks.get(place, ()),
            sure=signs.get(place, ""),
            since="" if step is None else SIGNS.get(certainty_words(of.measure, step.measurement), ""),
            compared=step is not None and step.measurement.value is not None,
            records=f"{count:,.0f}" if count is not None else "",
            labelled=_figure_words(labelled),
            sort_values={key: "" if value is None else value for key, value in known.items()},
            is_hidden=wanted not in name.casefold(),
        )


def segment_name(row: MeasurementRow) -> str:
    """What a segment or a version is called."""
    return row.segment or (f"version {row.version}" if row.version else "all records")


def _exact_words(row: MeasurementRow) -> str:
    result = row.measurement
    bounds = format_interval_bounds(row.measure, result.interval)
    return " ".join(filter(None, (row.measure, bounds, f"of {result.n:,}")))


def _figure_words(row: MeasurementRow | None) -> str:
    known = row is not None and row.measurement.value is not None
    return format_measure_value(row.measure, row.measurement.value) if known and row is not None else ""


def _segment_alerts(data: PageData, request: PageRequest, model: str) -> dict[str, tuple[Severity, str]]:
    """By segment the worst alert that fires on it, and the address of its incident."""
    found: dict[str, tuple[Severity, str]] = {}
    for incident in read_standing(data, model, request.as_of).incidents:
        for part in () if incident.is_recovering else incident.every_alert:
            segment, severity = part.alert.series.segment, part.alert.severity
            if segment and (segment not in found or severity is Severity.CRITICAL):
                address = request.link_to("models", model, "incidents", incident.address)
                found[segment] = severity, address
    return found


def _grouped_lines(
    of: _Compared, lines: Mapping[tuple[str | None, str | None], SegmentLine], sort: str
) -> Iterator[tuple[str, tuple[SegmentLine, ...]]]:
    """All records, then segments, then versions: by a column, else the worst first."""
    whole = [line for (version, segment), line in lines.items() if not (version or segment)]
    segments = [line for (_, segment), line in lines.items() if segment]
    versions = [line for (version, segment), line in lines.items() if version and not segment]
    if whole and (segments or versions):
        yield "", tuple(whole)
    column = sort.removeprefix("-") or "value"
    downwards = sort.startswith("-") if sort else of.direction is not BetterDirection.HIGHER

    def rank(line: SegmentLine) -> tuple[bool, bool, float | str]:
        value, is_calm = line.sort_values[column], not sort and line.sure != "▼"
        if isinstance(value, str):
            return is_calm, value == "", value if column == "name" else 0.0
        return is_calm, False, -value if downwards else value

    for title, of_kind in (("Segments, the worst first", segments), ("Versions", versions)):
        if of_kind:
            ordered = sorted(of_kind, key=rank)
            if column == "name" and downwards:
                ordered.reverse()
            is_worst = not sort and of.direction is not BetterDirection.NONE
            yield title if is_worst or title == "Versions" else "Segments", tuple(ordered)


def _headline_and_about(
    of: _Compared,
    large: Sequence[MeasurementRow],
    signs: Mapping[tuple[str | None, str | None], str],
) -> tuple[str, str]:
    """Which segment is worst, or that none is clearly; then of which days, and how final."""
    whole, segments = of.whole, [row for row in large if row.segment]
    segments = [row for row in segments if row.measurement.value is not None]
    if not any(row.segment or row.version for row in of.own):
        return "No segment is measured", ""
    if whole is None or whole.measurement.value is None or not segments:
        measurements = KnownMeasurements(of.facts.rows, of.window.name, of.measure)
        waits = awaited_performance_sentence(measurements, of.facts.as_of or 0)
        return "Segments cannot be compared yet", end_sentence(waits)
    days = f"{period_words(of.window, of.end)}{_TRUTH_WORDS[of.truth]}."
    if of.direction is BetterDirection.NONE:
        return _range_headline(of, segments), days
    worse = [row for row in segments if signs.get((row.version, row.segment)) == "▼"]
    worse.sort(key=lambda row: row.measurement.value or 0.0, reverse=of.direction is BetterDirection.LOWER)
    everywhere = f"{of.say(whole.measurement)} over all records"
    if not worse:
        return "No segment is clearly worse than the rest", f"{of.name} {everywhere}, {days}"
    first = of.say(worse[0].measurement)
    if len(worse) == 1:
        beside = f"{of.name} {first}, all records {of.say(whole.measurement)}"
        return f"{_told_name(worse[0])} is the worst segment: {beside}", capitalize_first(days)
    named = join_few_names(map(_told_name, worse))
    headline = f"{len(worse)} of {len(segments)} segments are clearly worse: {named}"
    return headline, f"{of.name} {first} in {_told_name(worse[0])}, {everywhere}, {days}"


def _range_headline(of: _Compared, segments: Sequence[MeasurementRow]) -> str:
    """In which segments a value is largest and least, where none is better than another."""
    ranked = sorted(segments, key=lambda row: row.measurement.value or 0.0)
    low, high = ranked[0], ranked[-1]
    if of.measure == "records" and of.whole is not None:
        most = f"{of.say(high.measurement)} of {of.say(of.whole.measurement)}"
        return f"{_told_name(high)} has the most records: {most}"
    lowest = f", lowest in {_told_name(low)}: {of.say(low.measurement)}" if low is not high else ""
    return f"{of.name} is highest in {_told_name(high)}: {of.say(high.measurement)}{lowest}"


def _segment_signs(
    of: _Compared, large: Sequence[MeasurementRow]
) -> dict[tuple[str | None, str | None], str]:
    """▼ or ▲ of what is clearly worse or better than all records, by version and segment."""
    whole = of.whole
    parts = [row for row in large if not row.is_of_whole]
    if whole is None or of.direction is BetterDirection.NONE:
        return {}
    steps = ((row, difference_among(row.measurement, whole.measurement, len(parts))) for row in parts)
    return {
        (row.version, row.segment): SIGNS.get(certainty_words(of.measure, step), "") for row, step in steps
    }


def _told_name(row: MeasurementRow) -> str:
    return readable_name(segment_name(row))


def _few_words(of: _Compared, few: Sequence[MeasurementRow]) -> str:
    """Which segments have too few labels, the largest first."""
    ranked = sorted(few, key=lambda row: -row.measurement.n)
    named = join_few_names(f"{_told_name(row)} ({row.measurement.n:,})" for row in ranked)
    what = "records" if of.measure == "coverage" else "labels, or of one class alone"
    return f"fewer than {FEWEST} {what}: {named}" if few else ""


def _needed_words(of: _Compared) -> str:
    """From how many labels on a difference of a twentieth shows, by the interval of all records.

    Half an interval is as wide as 1 / √n.
    """
    result = None if of.whole is None else of.whole.measurement
    if result is None or result.interval is None or not result.value or not result.n:
        return ""
    if of.direction is BetterDirection.NONE:
        return ""
    half = (result.interval.upper - result.interval.lower) / 2
    needed = result.n * (half / (FALL * abs(result.value))) ** 2
    rounded = float(f"{max(needed, FEWEST):.1g}")
    return f"A difference of {100 * FALL:.0f} % shows from about {rounded:,.0f} labels on."


def _why_no_segments(of: _Compared) -> str:
    if any(row.segment or row.version for row in of.own):
        return ""
    if of.facts.as_of is None:
        return "No cycle has run yet."
    if of.spec.reading.segments:
        return "No window of this kind has been measured of any segment."
    return "none"
