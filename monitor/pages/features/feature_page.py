"""One feature: its values in a window against the reference, which cells moved, where they went by week."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.charts.marks import LegendKey, RuleLine, ShadedSpan
from monitor.charts.scales import logarithmic_axis
from monitor.core.clock import DAY, floor_to
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import make_expected_cells, measure_shifts
from monitor.measures.measure_options import FEATURE, MeasureOptions
from monitor.measures.measurement_comparison import SEASON
from monitor.measures.measurement_row import StoredMeasurement
from monitor.measures.shift.shift_cells import ExpectedCells
from monitor.measures.shift.value_statistics import quality_results
from monitor.measures.value_words import (
    SIZES,
    approximate_text,
    difference_base,
    format_detail_cell,
    format_factor,
    format_interval_bounds,
    format_measure_value,
)
from monitor.pages.features import feature_charts
from monitor.pages.features.cell_weeks import LEGEND, WeekMap, week_bounds, week_map
from monitor.pages.figures import Figure, draw_timeline
from monitor.pages.model_page import BANDS, add_second_line, align_readings, season_words, spec_of
from monitor.pages.page_request import CountedWindow, ModelPlace, PageData, PageRequest, require_known_name
from monitor.pages.period_words import time_axis
from monitor.pages.window.headline_tiles import HeadlineTile
from monitor.pages.window_choice import PickedWindow, pick_window
from monitor.pages.window_readings import line_points, window_readings
from monitor.records.pane import PaneHalf
from monitor.records.reference import Reference
from monitor.sentences.input_sentences import INDEX, OUT_OF_RANGE, find_lost_shares, is_moved_by_few
from monitor.sentences.reason_words import why_absent
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.states.grids import NumericGrid
from monitor.states.strata import WHOLE
from monitor.windows.window_ends import Window

_CRITICAL = f"{INDEX}_critical"
_BESIDE = {INDEX: _CRITICAL}  # what a tile names beside its value
_TILES = (INDEX, "ks_distance", "mean", "standard_deviation", "missing_rate", "unseen_rate", "invalid_rate")
_BEFORE = 180 * DAY
_MIXED = "Only what was kept is shown: each version has a reference of its own, and cycles mix them."
Known = Mapping[str, Measurement]


@dataclass(frozen=True, slots=True)
class IndexCell:
    """A cell of the stability index: its shares, and what it contributes, as numbers and in words."""

    name: str
    now: float
    then: float
    words: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePage:
    """Page of one feature."""

    model: str
    feature: str
    pick: PickedWindow
    moved: str  # how far its numbers have moved, in a sentence; empty: that is not known
    without: str  # why there are no charts of the window; empty: there are
    lost: int
    tiles: tuple[HeadlineTile, ...]
    season: str
    figures: tuple[Figure, ...]
    cells: tuple[IndexCell, ...]
    widest: float  # largest share of a cell, at which their bars end
    over_time: Figure | None
    weeks: WeekMap | None
    legend: tuple[tuple[str, str], ...] = LEGEND


def feature_page(data: PageData, request: PageRequest, name: str) -> FeaturePage:
    """Page of one feature of a model."""
    spec, place, feature, pick = _resolve_feature_request(data, request, name)
    kept = _read_feature_rows(data, spec, pick, feature, request.as_of)
    window_counts, mixed = None, spec.reference is not None and bool(spec.reference.versions)
    if pick.end is not None and request.as_of is None and not mixed:
        start = pick.window.start_of(pick.end)
        window_counts = data.read_window_counts(spec, start, pick.end, PaneHalf.RECORDS)
    measurements: Known
    measurements, season = (
        {stored.row.measure: stored.row.measurement for stored in kept if stored.row.against == against}
        for against in ("", SEASON)
    )
    reference, weeks = None, None
    figures: tuple[Figure, ...] = ()
    if (
        window_counts is not None
        and _has_feature(window_counts, feature)
        and window_counts.reference is not None
    ):
        reference = window_counts.reference
        expected = make_expected_cells(window_counts.counting, reference.records, only=f"{FEATURE}{feature}")
        measurements = _measure_feature(window_counts, expected, spec.options, feature)
        figures = tuple(_feature_figures(window_counts, feature, measurements, pick.name))
        weeks = _count_week_map(data, spec, place, pick, window_counts, expected)
    cells = _list_index_cells(measurements.get(INDEX))
    return FeaturePage(
        model=name,
        feature=feature,
        pick=pick,
        moved=_moved_words(measurements),
        without=_MIXED
        if mixed and pick.end is not None
        else _why_no_charts(pick, window_counts, feature, figures),
        lost=0 if window_counts is None else window_counts.lost,
        tiles=tuple(
            _feature_tiles(measurements, {} if reference is None else _reference_rates(reference, feature))
        ),
        season=_season_words(spec, season),
        figures=figures,
        cells=cells,
        widest=max((max(cell.now, cell.then) for cell in cells), default=1.0) or 1.0,
        over_time=_draw_index_timeline(data, spec, place, pick, feature),
        weeks=weeks,
    )


def read_feature_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows of the feature in the window, the newest revision of each."""
    spec, _, feature, pick = _resolve_feature_request(data, request, name)
    return _read_feature_rows(data, spec, pick, feature, request.as_of)


def _resolve_feature_request(
    data: PageData, request: PageRequest, name: str
) -> tuple[ModelSpec, ModelPlace, str, PickedWindow]:
    request.refuse_unknown_parameters("name", "window", "end")
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    pick, name = pick_window(data, request, spec, place), request.query.get("name", "")
    # A feature that is configured no more has its page as long as something is kept of it.
    if not _read_feature_rows(data, spec, pick, name, request.as_of):
        require_known_name(name, sorted({*spec.reading.numeric, *spec.reading.categorical}), "feature")
    return spec, place, name, pick


def _read_feature_rows(
    data: PageData, spec: ModelSpec, pick: PickedWindow, feature: str, as_of: int | None
) -> list[StoredMeasurement]:
    if pick.end is None:
        return []
    which = ChartedRows(
        window=pick.window.name,
        after=pick.end - 1,
        until=pick.end,
        subjects=(f"{FEATURE}{feature}",),
        as_of=as_of,
        details=True,
        newest=True,
    )
    return data.read_revisions(spec.name, which)


def _has_feature(window_counts: CountedWindow, feature: str) -> bool:
    return WHOLE in window_counts.strata and feature in dict(window_counts.counting.features)


def _measure_feature(
    window_counts: CountedWindow, expected: ExpectedCells, options: MeasureOptions, feature: str
) -> Known:
    """What is measured of the counts, by name: the same figures as those that are kept of them."""
    records, subject = window_counts.strata[WHOLE], f"{FEATURE}{feature}"
    options = replace(options, families=options.families - {MeasureFamily.DISTANCES}, detailed=True)
    histogram = window_counts.counting.histogram_view(records, subject)
    results = [
        *measure_shifts(window_counts.counting, expected, records, options),
        *quality_results(subject, histogram, Reason.NO_RECORDS, options.level),
    ]
    return {result.measure: result.measurement for result in results}


def _reference_rates(reference: Reference, feature: str) -> Known:
    """Rates of the reference's own values that are none."""
    subject = f"{FEATURE}{feature}"
    histogram = reference.counting.histogram_view(reference.records, subject)
    return {
        each.measure: each.measurement for each in quality_results(subject, histogram, Reason.NO_REFERENCE)
    }


def _factor_words(measurements: Known, value: float, usual: float) -> str:
    """How many times the reference's a mean is."""
    index, beyond = (
        measurements[name].value if name in measurements else None for name in (INDEX, OUT_OF_RANGE)
    )
    return format_factor(value, usual, of_few=is_moved_by_few(index, beyond))


def _feature_tiles(measurements: Known, of_reference: Known) -> Iterator[HeadlineTile]:
    for measure in _TILES:
        result = measurements.get(measure)
        if result is None or result.value is None:
            continue
        beside = measurements.get(_BESIDE.get(measure, ""))
        note = format_interval_bounds(measure, result.interval)
        if beside is not None and beside.value is not None:
            note = f"critical {format_measure_value(_CRITICAL, beside.value)}"
        if (usual := difference_base(result, None)) is not None:
            note = "; ".join(
                filter(
                    None,
                    (
                        f"reference {approximate_text(usual)}",
                        _factor_words(measurements, result.value, usual),
                    ),
                )
            )
        if measure in of_reference and of_reference[measure].value is not None:
            note = f"reference {format_measure_value(measure, of_reference[measure].value)}"
        yield HeadlineTile(measure, format_measure_value(measure, result.value), note)
    if INDEX in measurements:
        yield HeadlineTile("records", f"{measurements[INDEX].n:,}", "")


def _moved_words(measurements: Known) -> str:
    """What is missing, the mean in the window and in the reference, what lies beyond all of the reference."""
    mean, beyond = measurements.get("mean"), measurements.get(OUT_OF_RANGE)
    usual = None if mean is None else difference_base(mean, None)
    index = measurements.get(INDEX)
    parts = []
    if index is not None and (lost := find_lost_shares(index.value, index.detail)):
        parts.append(f"{INDEX} {format_measure_value(INDEX, index.value)}: {lost.loss_and_rest_words}.")
    if mean is None or mean.value is None or usual is None:
        return " ".join(parts)
    factor = _factor_words(measurements, mean.value, usual)
    parts.append(
        f"Mean {approximate_text(mean.value)}, in the reference "
        f"{approximate_text(usual)}{factor and f': {factor}'}."
    )
    if beyond is not None and beyond.value:
        share = format_measure_value(OUT_OF_RANGE, beyond.value)
        parts.append(f"{share} of the numbers lie beyond all of the reference's.")
    return " ".join(parts)


def _season_words(spec: ModelSpec, measurements: Known) -> str:
    """How far the feature is from its season; empty: there is none."""
    index, critical = (measurements.get(name) for name in (INDEX, _CRITICAL))
    sentence = ""
    if index is not None and index.value is None:
        sentence = f"No {INDEX} of the season: {why_absent(index)}. "
    elif index is not None and critical is not None:
        values = (format_measure_value(INDEX, one.value) for one in (index, critical))
        sentence = "{} of the season {}, critical {}. ".format(INDEX, *values)
    return f"{sentence}{season_words(spec)}"


def _feature_figures(
    window_counts: CountedWindow, feature: str, measurements: Known, period: str
) -> Iterator[Figure]:
    """Charts of a number; of a category the cells say all."""
    subject = f"{FEATURE}{feature}"
    histogram = window_counts.counting.histogram_view(window_counts.strata[WHOLE], subject)
    if window_counts.reference is None or not isinstance(histogram.grid, NumericGrid):
        return
    of = window_counts.counting.histogram_view(window_counts.reference.records, subject)
    compared_cells = feature_charts.ComparedCells.from_counts(
        feature, histogram.grid, histogram.regular_counts, of.regular_counts, period
    )
    if compared_cells is None:
        return
    yield feature_charts.draw_distribution(compared_cells)
    distance = measurements.get("ks_distance")
    if distance is not None and distance.value is not None:
        yield feature_charts.draw_cumulative(
            compared_cells, format_measure_value("ks_distance", distance.value)
        )


def _list_index_cells(index: Measurement | None) -> tuple[IndexCell, ...]:
    """Cells of the index, those that contribute most first."""
    detail: DetailTable | None = None if index is None else index.detail
    if detail is None or detail.columns != ("cell", "expected", "actual", "contribution"):
        return ()
    return tuple(
        IndexCell(
            str(cell),
            float(now or 0),
            float(then or 0),
            (
                _format_contribution(part),
                format_detail_cell("actual", now),
                format_detail_cell("expected", then),
            ),
        )
        for cell, then, now, part in detail.rows
    )


def _format_contribution(part: float | str | None) -> str:
    return (
        "< 0.0001"
        if isinstance(part, float) and 0 < part < 0.0001
        else format_detail_cell("contribution", part)
    )


def _draw_index_timeline(
    data: PageData, spec: ModelSpec, place: ModelPlace, pick: PickedWindow, feature: str
) -> Figure | None:
    """The stability index by the shortest windows that have one; None: none has."""
    shortest_first = sorted(spec.windows, key=lambda each: each.length)
    figures = (_draw_stability_index(data, spec, place, pick, feature, window) for window in shortest_first)
    return next((figure for figure in figures if figure is not None), None)


def _draw_stability_index(
    data: PageData, spec: ModelSpec, place: ModelPlace, pick: PickedWindow, feature: str, window: Window
) -> Figure | None:
    """The stability index by windows of one kind, the shown window shaded; None: none has a value."""
    if pick.end is None or place.as_of is None:
        return None
    subject, until = f"{FEATURE}{feature}", min(place.as_of, pick.end + _BEFORE // 2)
    which = ChartedRows(
        window=window.name,
        after=until - _BEFORE if window.length <= DAY else 0,
        until=until,
        measures=(INDEX, _CRITICAL),
        subjects=(subject,),
        against=("",),
        as_of=place.as_of,
        newest=True,
    )
    rows = data.read_revisions(spec.name, which)
    index, critical = (window_readings(rows, name, subject) for name in (INDEX, _CRITICAL))
    if not any(one.row.measurement.value is not None for one in index):
        return None
    axis = time_axis(window.start_of(index[0].row.window_end), index[-1].row.window_end, window.zone)
    shade = ShadedSpan(float(pick.window.start_of(pick.end)), float(pick.end))
    limits = [RuleLine(size, "y", "limit") for size in SIZES]
    title, note = f"{INDEX} of windows of {window.name}", "logarithmic; shaded: the window that is shown"
    figure = draw_timeline(INDEX, index, window, axis, marks=(shade, *limits), title=title, note=note)
    key = LegendKey("line", "chance", "critical value")
    cells = [
        format_measure_value(INDEX, one.row.measurement.value) for one in align_readings(index, critical)
    ]
    figure = add_second_line(figure, INDEX, line_points(critical, window), key, note, cells)
    known = (one.row.measurement.value for one in (*index, *critical))
    levels = [value for value in known if value is not None]
    plot = replace(figure.plot, y=logarithmic_axis([*levels, *SIZES]))
    return replace(figure, plot=plot, legend=(*figure.legend, BANDS))


def _count_week_map(
    data: PageData,
    spec: ModelSpec,
    place: ModelPlace,
    pick: PickedWindow,
    window_counts: CountedWindow,
    expected: ExpectedCells,
) -> WeekMap | None:
    """Weeks up to the last cycle, or up to the window that is shown where that is much older."""
    if pick.end is None or place.as_of is None:
        return None
    pane = window_counts.counting.reading.pane
    last = floor_to(place.as_of, pane)
    bounds = week_bounds(last, pane)
    if pick.end < bounds[len(bounds) // 2]:
        bounds = week_bounds(pick.end, pane)
    subject = expected.subjects[0]
    counts = data.read_span_counts(spec.name, window_counts, subject.name, bounds)
    numeric = isinstance(subject.grid, NumericGrid)
    return week_map(expected, bounds, counts, pick.window.zone, numeric=numeric)


def _why_no_charts(
    pick: PickedWindow, window_counts: CountedWindow | None, feature: str, figures: Sequence[Figure]
) -> str:
    """Why there are no charts of the window."""
    if pick.end is None:
        return "No window of this kind has been measured yet."
    if window_counts is None:
        return "Counts are those of now alone: as known then only what was kept is shown."
    grid = dict(window_counts.counting.features).get(feature)
    reasons = (
        (
            window_counts.reference is None,
            "There is no reference, which would give features their cells.",
        ),
        (
            not window_counts.panes,
            "The panes of this window were counted on other grids, or are gone: only what was kept is shown.",
        ),
        (grid is None, "The reference has no such column, so the feature is not counted."),
        (
            isinstance(grid, NumericGrid) and not figures,
            "The window, or the reference, has no number of this feature to draw.",
        ),
    )
    return next((reason for is_so, reason in reasons if is_so), "")
