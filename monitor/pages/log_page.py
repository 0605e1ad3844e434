"""What is known of the log itself: volume, coverage, delays of labels, odd rows, what waits, events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.core.clock import DAY
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.value_words import format_measure_value
from monitor.pages.figures import Figure, definition_of, draw_timeline
from monitor.pages.fleet_page import find_named_window
from monitor.pages.model_page import RANGES, make_choice_links, read_events_until, spec_of
from monitor.pages.page_request import PageData, PageLink, PageRequest
from monitor.pages.period_words import local_moment_words, time_axis
from monitor.pages.window_readings import window_readings
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.windows.window_ends import Window

CHARTS = (
    ("records", "Records", "of each window"),
    ("volume_ratio", "Volume ratio", "against the same hours of earlier weeks"),
    ("coverage", "Labels in", "labelled share of the records, when each window was measured last"),
    ("label_delay_median", "Delay of the labels", "median time from the event to its first label"),
    ("label_delay_p90", "Delay of nine in ten labels", "90 % of the labels were there by then"),
)
_MOST_EVENTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Page of the log of a model."""

    model: str
    windows: tuple[PageLink, ...]
    ranges: tuple[PageLink, ...]
    figures: tuple[Figure, ...]
    # (measure, value, what it is) of the log itself: odd rows, what waits, ages.
    counts: tuple[tuple[str, str, str], ...]
    events: tuple[tuple[str, ...], ...]  # (when, kind, of what, who, why), the newest first
    left_out: int


def log_page(data: PageData, request: PageRequest, name: str) -> LogPage:
    """Page of the log of a model."""
    spec, window, span, rows = _resolve_log_request(data, request, name)
    (facts,) = data.read_model_facts(name, request.as_of)
    events = read_events_until(data, name, request.as_of)
    counts = {row.measure: row.measurement for row in facts.rows if not (row.window or row.subject)}
    return LogPage(
        model=name,
        windows=make_choice_links(request, "window", [each.name for each in spec.windows], window.name),
        ranges=make_choice_links(request, "range", list(RANGES), span),
        figures=tuple(_log_figures(rows, window)),
        counts=tuple(
            (
                measure,
                format_measure_value(measure, result.value)
                if result.reason is None
                else f"({result.reason})",
                definition_of(measure),
            )
            for measure, result in counts.items()
        ),
        events=tuple(
            (
                local_moment_words(event.log_moment),
                event.kind.replace("_", " "),
                event.subject,
                event.who,
                event.why,
            )
            for event in events[:_MOST_EVENTS]
        ),
        left_out=max(0, len(events) - _MOST_EVENTS),
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
        measures=[measure for measure, *_ in CHARTS],
        subjects=("",),
        as_of=request.as_of,
        newest=True,
    )
    return spec, window, span, data.read_revisions(name, which)


def _log_figures(rows: Sequence[StoredMeasurement], window: Window) -> Iterator[Figure]:
    for measure, title, note in CHARTS:
        series = [one for one in window_readings(rows, measure) if one.row.measurement.value is not None]
        if series:
            first, last = series[0].row.window_end, series[-1].row.window_end
            axis = time_axis(window.start_of(first), last, window.zone)
            yield draw_timeline(measure, series, window, axis, title=title, note=note, height=120)
