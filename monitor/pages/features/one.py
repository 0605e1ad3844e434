"""One feature: its values in a window against the reference, which cells moved, where they went by week."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.charts.marks import RuleLine, Shade
from monitor.charts.scales import logarithmic
from monitor.core.clock import DAY, floor_to
from monitor.core.measurement import Detail, Measurement, Reason
from monitor.measures.against import SEASON
from monitor.measures.catalogue.measure import Family
from monitor.measures.evaluate import expectation, shift
from monitor.measures.options import FEATURE, Options
from monitor.measures.rows import Revision, newest
from monitor.measures.shift.cells import Expected
from monitor.measures.shift.values import quality_results
from monitor.measures.worded import (
    SIZES,
    about,
    before_of,
    bounds_of,
    cell_of,
    factor_of,
    value_of,
)
from monitor.pages.asked import Asked, CountedWindow, PageData, Placed, found
from monitor.pages.features import drawings
from monitor.pages.features.weeks import LEGEND, WeekMap, week_bounds, week_map
from monitor.pages.figures import Figure, LegendKey, timeline
from monitor.pages.model import BANDS, aligned, beside, of_season, spec_of
from monitor.pages.moments import time_axis
from monitor.pages.picking import Picked, picked
from monitor.pages.series import line, readings
from monitor.pages.window.tiles import Tile
from monitor.records.pane import Part
from monitor.records.reference import Reference
from monitor.sentences.inputs import INDEX, OUT_OF_RANGE, is_of_few, lost_of
from monitor.sentences.reasons import why_absent
from monitor.specs.model import ModelSpec
from monitor.specs.rows import Drawn
from monitor.states.grids import NumericGrid
from monitor.states.strata import WHOLE
from monitor.windows.ends import Window

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
    pick: Picked
    moved: str  # how far its numbers have moved, in a sentence; empty: that is not known
    without: str  # why there are no charts of the window; empty: there are
    lost: int
    tiles: tuple[Tile, ...]
    season: str
    figures: tuple[Figure, ...]
    cells: tuple[IndexCell, ...]
    widest: float  # largest share of a cell, at which their bars end
    over_time: Figure | None
    weeks: WeekMap | None
    legend: tuple[tuple[str, str], ...] = LEGEND


def feature_page(data: PageData, asked: Asked, name: str) -> FeaturePage:
    """Page of one feature of a model."""
    spec, seen, feature, pick = _asked(data, asked, name)
    kept = _kept(data, spec, pick, feature, asked.as_of)
    counted, mixed = None, spec.reference is not None and bool(spec.reference.versions)
    if pick.end is not None and asked.as_of is None and not mixed:
        start = pick.window.start(pick.end)
        counted = data.counted(spec, start, pick.end, Part.RECORDS)
    known: Known
    known, season = (
        {row.measure: row.measurement for _, row in newest(kept) if row.against == against}
        for against in ("", SEASON)
    )
    reference, weeks = None, None
    figures: tuple[Figure, ...] = ()
    if counted is not None and _has(counted, feature) and counted.reference is not None:
        reference = counted.reference
        expected = expectation(counted.counting, reference.records, only=f"{FEATURE}{feature}")
        known = _measured(counted, expected, spec.options, feature)
        figures = tuple(_figures(counted, feature, known, pick.name))
        weeks = _weeks(data, spec, seen, pick, counted, expected)
    cells = _cells(known.get(INDEX))
    return FeaturePage(
        model=name,
        feature=feature,
        pick=pick,
        moved=_moved(known),
        without=_MIXED if mixed and pick.end is not None else _without(pick, counted, feature, figures),
        lost=0 if counted is None else counted.lost,
        tiles=tuple(_tiles(known, {} if reference is None else _rates(reference, feature))),
        season=_season(spec, season),
        figures=figures,
        cells=cells,
        widest=max((max(cell.now, cell.then) for cell in cells), default=1.0) or 1.0,
        over_time=_over_time(data, spec, seen, pick, feature),
        weeks=weeks,
    )


def feature_rows(data: PageData, asked: Asked, name: str) -> list[Revision]:
    """Kept rows of the feature in the window, the newest revision of each."""
    spec, _, feature, pick = _asked(data, asked, name)
    return newest(_kept(data, spec, pick, feature, asked.as_of))


def _asked(data: PageData, asked: Asked, name: str) -> tuple[ModelSpec, Placed, str, Picked]:
    asked.only("name", "window", "end")
    spec = spec_of(data, name)
    seen = data.placed(name, asked.as_of)
    pick, name = picked(data, asked, spec, seen), asked.query.get("name", "")  # it may be configured no more
    if not _kept(data, spec, pick, name, asked.as_of):
        found(name, sorted({*spec.reading.numeric, *spec.reading.categorical}), "feature")
    return spec, seen, name, pick


def _kept(data: PageData, spec: ModelSpec, pick: Picked, feature: str, as_of: int | None) -> list[Revision]:
    if pick.end is None:
        return []
    which = Drawn(
        window=pick.window.name,
        after=pick.end - 1,
        until=pick.end,
        subjects=(f"{FEATURE}{feature}",),
        as_of=as_of,
        details=True,
    )
    return data.rows(spec.name, which)


def _has(counted: CountedWindow, feature: str) -> bool:
    return WHOLE in counted.strata and feature in dict(counted.counting.features)


def _measured(counted: CountedWindow, expected: Expected, options: Options, feature: str) -> Known:
    """What is measured of the counts, by name: the same figures as those that are kept of them."""
    records, subject = counted.strata[WHOLE], f"{FEATURE}{feature}"
    options = replace(options, families=options.families - {Family.DISTANCES}, detailed=True)
    histogram = counted.counting.histogram(records, subject)
    results = [
        *shift(counted.counting, expected, records, options),
        *quality_results(subject, histogram, Reason.NO_RECORDS, options.level),
    ]
    return {result.measure: result.measurement for result in results}


def _rates(reference: Reference, feature: str) -> Known:
    """Rates of the reference's own values that are none."""
    subject = f"{FEATURE}{feature}"
    histogram = reference.counting.histogram(reference.records, subject)
    return {
        each.measure: each.measurement for each in quality_results(subject, histogram, Reason.NO_REFERENCE)
    }


def _factor(known: Known, value: float, usual: float) -> str:
    """How many times the reference's a mean is."""
    index, beyond = (known[name].value if name in known else None for name in (INDEX, OUT_OF_RANGE))
    return factor_of(value, usual, of_few=is_of_few(index, beyond))


def _tiles(known: Known, of_reference: Known) -> Iterator[Tile]:
    for measure in _TILES:
        result = known.get(measure)
        if result is None or result.value is None:
            continue
        beside = known.get(_BESIDE.get(measure, ""))
        note = bounds_of(measure, result.interval)
        if beside is not None and beside.value is not None:
            note = f"critical {value_of(_CRITICAL, beside.value)}"
        if (usual := before_of(result, None)) is not None:
            note = "; ".join(filter(None, (f"reference {about(usual)}", _factor(known, result.value, usual))))
        if measure in of_reference and of_reference[measure].value is not None:
            note = f"reference {value_of(measure, of_reference[measure].value)}"
        yield Tile(measure, value_of(measure, result.value), note)
    if INDEX in known:
        yield Tile("records", f"{known[INDEX].n:,}", "")


def _moved(known: Known) -> str:
    """What is missing, the mean in the window and in the reference, what lies beyond all of the reference."""
    mean, beyond = known.get("mean"), known.get(OUT_OF_RANGE)
    usual = None if mean is None else before_of(mean, None)
    index = known.get(INDEX)
    parts = []
    if index is not None and (lost := lost_of(index.value, index.detail)):
        parts.append(f"{INDEX} {value_of(INDEX, index.value)}: {lost.besides}.")
    if mean is None or mean.value is None or usual is None:
        return " ".join(parts)
    factor = _factor(known, mean.value, usual)
    parts.append(f"Mean {about(mean.value)}, in the reference {about(usual)}{factor and f': {factor}'}.")
    if beyond is not None and beyond.value:
        share = value_of(OUT_OF_RANGE, beyond.value)
        parts.append(f"{share} of the numbers lie beyond all of the reference's.")
    return " ".join(parts)


def _season(spec: ModelSpec, known: Known) -> str:
    """How far the feature is from its season; empty: there is none."""
    index, critical = (known.get(name) for name in (INDEX, _CRITICAL))
    told = ""
    if index is not None and index.value is None:
        told = f"No {INDEX} of the season: {why_absent(index)}. "
    elif index is not None and critical is not None:
        values = (value_of(INDEX, one.value) for one in (index, critical))
        told = "{} of the season {}, critical {}. ".format(INDEX, *values)
    return f"{told}{of_season(spec)}"


def _figures(counted: CountedWindow, feature: str, known: Known, period: str) -> Iterator[Figure]:
    """Charts of a number; of a category the cells say all."""
    subject = f"{FEATURE}{feature}"
    histogram = counted.counting.histogram(counted.strata[WHOLE], subject)
    if counted.reference is None or not isinstance(histogram.grid, NumericGrid):
        return
    of = counted.counting.histogram(counted.reference.records, subject)
    compared = drawings.Compared.of(feature, histogram.grid, histogram.regular, of.regular, period)
    if compared is None:
        return
    yield drawings.distribution(compared)
    distance = known.get("ks_distance")
    if distance is not None and distance.value is not None:
        yield drawings.cumulative(compared, value_of("ks_distance", distance.value))


def _cells(index: Measurement | None) -> tuple[IndexCell, ...]:
    """Cells of the index, those that contribute most first."""
    detail: Detail | None = None if index is None else index.detail
    if detail is None or detail.columns != ("cell", "expected", "actual", "contribution"):
        return ()
    return tuple(
        IndexCell(
            str(cell),
            float(now or 0),
            float(then or 0),
            (_added(part), cell_of("actual", now), cell_of("expected", then)),
        )
        for cell, then, now, part in detail.rows
    )


def _added(part: float | str | None) -> str:
    return "< 0.0001" if isinstance(part, float) and 0 < part < 0.0001 else cell_of("contribution", part)


def _over_time(data: PageData, spec: ModelSpec, seen: Placed, pick: Picked, feature: str) -> Figure | None:
    """The stability index by the shortest windows that have one; None: none has."""
    shortest_first = sorted(spec.windows, key=lambda each: each.length)
    figures = (_index_of(data, spec, seen, pick, feature, window) for window in shortest_first)
    return next((figure for figure in figures if figure is not None), None)


def _index_of(
    data: PageData, spec: ModelSpec, seen: Placed, pick: Picked, feature: str, window: Window
) -> Figure | None:
    """The stability index by windows of one kind, the shown window shaded; None: none has a value."""
    if pick.end is None or seen.as_of is None:
        return None
    subject, until = f"{FEATURE}{feature}", min(seen.as_of, pick.end + _BEFORE // 2)
    which = Drawn(
        window=window.name,
        after=until - _BEFORE if window.length <= DAY else 0,
        until=until,
        measures=(INDEX, _CRITICAL),
        subjects=(subject,),
        against=("",),
        as_of=seen.as_of,
    )
    rows = data.rows(spec.name, which)
    index, critical = (readings(rows, window, name, subject) for name in (INDEX, _CRITICAL))
    if not any(one.value is not None for one in index):
        return None
    axis = time_axis(window.start(index[0].end), index[-1].end, window.zone)
    shade = Shade(float(pick.window.start(pick.end)), float(pick.end))
    limits = [RuleLine(size, "y", "limit") for size in SIZES]
    title, note = f"{INDEX} of windows of {window.name}", "logarithmic; shaded: the window that is shown"
    figure = timeline(INDEX, index, window, axis, marks=(shade, *limits), title=title, note=note)
    key = LegendKey("line", "chance", "critical value")
    cells = [value_of(INDEX, one.value) for one in aligned(index, critical)]
    figure = beside(figure, INDEX, line(critical, window), key, note, cells)
    levels = [one.value for one in (*index, *critical) if one.value is not None]
    plot = replace(figure.plot, y=logarithmic([*levels, *SIZES]))
    return replace(figure, plot=plot, legend=(*figure.legend, BANDS))


def _weeks(
    data: PageData, spec: ModelSpec, seen: Placed, pick: Picked, counted: CountedWindow, expected: Expected
) -> WeekMap | None:
    """Weeks up to the last cycle, or up to the window that is shown where that is much older."""
    if pick.end is None or seen.as_of is None:
        return None
    pane = counted.counting.reading.pane
    last = floor_to(seen.as_of, pane)
    bounds = week_bounds(last, pane)
    if pick.end < bounds[len(bounds) // 2]:
        bounds = week_bounds(pick.end, pane)
    subject = expected.subjects[0]
    counts = data.spans(spec.name, counted, subject.name, bounds)
    numeric = isinstance(subject.grid, NumericGrid)
    return week_map(expected, bounds, counts, pick.window.zone, numeric=numeric)


def _without(pick: Picked, counted: CountedWindow | None, feature: str, figures: Sequence[Figure]) -> str:
    """Why there are no charts of the window."""
    if pick.end is None:
        return "No window of this kind has been measured yet."
    if counted is None:
        return "Counts are those of now alone: as known then only what was kept is shown."
    grid = dict(counted.counting.features).get(feature)
    reasons = (
        (
            counted.reference is None,
            "There is no reference, which would give features their cells.",
        ),
        (
            not counted.panes,
            "The panes of this window were counted on other grids, or are gone: only what was kept is shown.",
        ),
        (grid is None, "The reference has no such column, so the feature is not counted."),
        (
            isinstance(grid, NumericGrid) and not figures,
            "The window, or the reference, has no number of this feature to draw.",
        ),
    )
    return next((reason for is_so, reason in reasons if is_so), "")
