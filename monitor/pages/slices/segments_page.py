"""Segments and versions beside the whole: one measure of each, as a forest plot."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.alerts.default_rules import MAIN
from monitor.charts.scales import Axis, AxisTick
from monitor.core.clock import to_iso
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import MEASURES, make_choice_links, spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest, read_kept_ends
from monitor.pages.period_words import period_words
from monitor.sentences.known_measurements import readable_name

_BEST = (LabelTruth.SETTLED, LabelTruth.PROVISIONAL, LabelTruth.NOWCAST, LabelTruth.NONE)
_OF_ALL = ("base_rate", "coverage", "records")
_MOST = 200  # lines


@dataclass(frozen=True, slots=True)
class ForestLine:
    """A version or a segment: its value, in words and as (lower, value, upper); what is estimated of it."""

    name: str
    href: str
    n: str
    value: str
    bounds: str
    interval: tuple[float, float, float] | None
    estimate: str
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsPage:
    """Page of the segments and versions of a model."""

    model: str
    measure: str
    period: str
    estimated: str  # period of the estimates, which need no labels; empty: that of the values
    truth: str
    windows: tuple[PageLink, ...]
    measures: tuple[PageLink, ...]
    lines: tuple[ForestLine, ...]
    left_out: int  # lines that are too many
    columns: tuple[str, ...]  # of which segments may be made
    axis: Axis | None


def segments_page(data: PageData, request: PageRequest, name: str) -> SegmentsPage:
    """Page of the segments and versions of a model."""
    spec = spec_of(data, name)
    rows, window_name, measure = _resolve_segments_request(data, request, name)
    window = find_named_window(spec, window_name)
    estimates = {(row.version, row.segment): row for row in rows if row.measure == f"estimated_{measure}"}
    own = [row for row in rows if row.measure == measure]
    # Lines that stand below one another are of the same records: one window, the newest by the best labels.
    truth = next((each for each in _BEST if any(row.truth is each for row in own)), LabelTruth.NONE)
    newest = max((row.window_end for row in own if row.truth is truth), default=0)
    own = sorted((row for row in own if (row.truth, row.window_end) == (truth, newest)), key=_segment_order)
    guessed = max((row.window_end for row in estimates.values()), default=newest)
    end = _kept_end(data, name, own[0]) if own else None
    lines = [_make_forest_line(request, row, estimates.get((row.version, row.segment)), end) for row in own]
    there = {row.measure for row in rows if not row.is_of_whole}
    usual = (MAIN[spec.reading.task], *MEASURES[spec.reading.task], *_OF_ALL, measure)
    offered = [each for each in dict.fromkeys(usual) if each in there]
    return SegmentsPage(
        model=name,
        measure=measure,
        period=period_words(window, newest) if own else "",
        estimated="" if guessed == newest else period_words(window, guessed),
        truth=str(truth),
        windows=make_choice_links(request, "window", [each.name for each in spec.windows], window_name),
        measures=make_choice_links(request, "measure", offered, measure),
        lines=tuple(lines[:_MOST]),
        left_out=max(0, len(lines) - _MOST),
        columns=spec.reading.categorical[:2],
        axis=_forest_axis(own),
    )


def read_segments_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Current rows behind the page."""
    rows, _, measure = _resolve_segments_request(data, request, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    names = (measure, f"estimated_{measure}")
    return [StoredMeasurement(name, facts.as_of or 0, row) for row in rows if row.measure in names]


def _resolve_segments_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[list[MeasurementRow], str, str]:
    """Rows of the chosen window, the window, the measure."""
    request.refuse_unknown_parameters("window", "measure")
    spec = spec_of(data, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    window = request.parse_choice("window", [each.name for each in spec.windows], facts.window)
    rows = [row for row in facts.rows if row.window == window and not (row.against or row.subject)]
    there = sorted({row.measure for row in rows if not row.is_of_whole})
    default = next((each for each in (facts.main, *MEASURES[spec.reading.task]) if each in there), facts.main)
    return rows, window, request.parse_choice("measure", there, default)


def _segment_order(row: MeasurementRow) -> tuple[bool, bool, str, str]:
    """The whole first, then versions, then segments by name."""
    return (not row.is_of_whole, row.segment is not None, row.version or "", row.segment or "")


def _kept_end(data: PageData, model: str, row: MeasurementRow) -> str | None:
    """End of a current window, if it is kept too: only then it has a page."""
    end = row.window_end
    return to_iso(end) if read_kept_ends(data, model, row.window, after=end - 1, until=end) else None


def _make_forest_line(
    request: PageRequest, row: MeasurementRow, estimate: MeasurementRow | None, end: str | None
) -> ForestLine:
    result = row.measurement
    places = None
    if result.value is not None and result.interval is not None:
        places = (result.interval.lower, result.value, result.interval.upper)
    guess = None if estimate is None else estimate.measurement
    sentence = ""
    if guess is not None:
        words = f"({guess.reason})" if guess.value is None else format_measure_value(row.measure, guess.value)
        sentence = f"{words} {format_interval_bounds(row.measure, guess.interval)}".strip()
    window = {"window": row.window, "end": end}
    return ForestLine(
        name=row.segment or (f"version {row.version}" if row.version else "all records"),
        href=request.link_to(
            "models", request.path[1], "performance", segment=row.segment, version=row.version, **window
        ),
        n=f"{result.n:,}",
        value=f"({readable_name(str(result.reason))})"
        if result.value is None
        else format_measure_value(row.measure, result.value),
        bounds=format_interval_bounds(row.measure, result.interval),
        interval=places,
        estimate=sentence,
        whole=row.is_of_whole,
    )


def _forest_axis(rows: Sequence[MeasurementRow]) -> Axis | None:
    """Axis that all intervals share, a tick at the whole's value; None: no line has a value."""
    known = [row.measurement for row in rows if row.measurement.value is not None]
    ends = [one.value for one in known if one.value is not None]
    ends += [end for one in known if one.interval for end in (one.interval.lower, one.interval.upper)]
    if not ends:
        return None
    room = (max(ends) - min(ends)) / 20 or 1e-6
    whole = next((row.measurement.value for row in rows if row.is_of_whole), None)
    ticks = () if whole is None else (AxisTick(whole, "all records"),)
    return Axis(min(ends) - room, max(ends) + room, ticks)
