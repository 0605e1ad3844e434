"""One window: all charts of its labelled records, from one state, the counts as they are now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.charts.marks import Kind
from monitor.charts.scales import Axis
from monitor.measures.classification.discrimination import roc_auc
from monitor.measures.evaluate import find_best_threshold, measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.measures.value_words import format_interval_bounds, format_measure_value
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import CountedWindow, PageData, PageLink, PageRequest
from monitor.pages.period_words import local_moment_words
from monitor.pages.window import class_charts, curve_charts, error_charts, unlabelled
from monitor.pages.window.class_charts import OF_CLASS, ClassRow, ConfusionTable
from monitor.pages.window.curve_charts import ScoreSide
from monitor.pages.window.headline_tiles import (
    HeadlineTile,
    chart_value_words,
    kept_value_words,
    make_headline_tiles,
    pick_headline_rows,
)
from monitor.pages.window.kept_charts import draw_kept_groups
from monitor.pages.window_choice import PickedWindow, pick_window
from monitor.records.labels.paired_scores import paired_scores_view
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum, select_segments
from monitor.windows.window_ends import Window

ASKED = "window", "end", "from", "to", "segment", "version"  # what its address may ask for
_RATES = Axis(0.0, 1.0)
_LARGE = 10  # segments, of which the one with the lowest area is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPage:
    """Page of one window."""

    model: str
    pick: PickedWindow
    truth: str  # of the newest kept revision; `kept`: what that said, with its date
    kept: str
    without: str  # why there are no charts; empty: there are
    lost: int
    # what charts and tables count, where they are of the counts as they are now; empty: of what was kept.
    counted: str
    slices: tuple[PageLink, ...]
    tiles: tuple[HeadlineTile, ...]
    groups: tuple[FigureGroup, ...]
    confusion: ConfusionTable | None
    classes: tuple[ClassRow, ...]
    labelled: bool  # whether classes are those of labels; else of predictions
    rates_of_classes: tuple[str, ...]  # headings of the rates of each class
    main: str
    revisions: tuple[tuple[str, ...], ...]  # (revision, as of, truth, value, interval, n, coverage)
    rates: Axis = _RATES

    @property
    def widest(self) -> float:
        """Largest share of a class, at which the bars of shares end."""
        return max((max(row.share, row.reference or 0.0) for row in self.classes), default=1.0) or 1.0


def window_page(data: PageData, request: PageRequest, name: str) -> WindowPage:
    """Page of one window of a model, or of any whole panes between `from` and `to`."""
    request.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    pick = pick_window(data, request, spec, place)
    window, end = pick.window, pick.end
    slice_ = Stratum(request.query.get("version"), request.query.get("segment"))
    window_counts = None
    # Counts are those of now: what was known at another moment is drawn by what was kept.
    if end is not None and request.as_of is None:
        window_counts = data.read_window_counts(spec, window.start_of(end), end, PaneHalf.LABELS)
    by_kept = window_counts is None or not window_counts.panes
    every = _read_window_revisions(data, spec, window, end, None, slice_, details=by_kept)
    rows = [stored for stored in every if request.as_of is None or stored.as_of <= request.as_of]
    revisions = pick_headline_rows(rows)
    charts = _draw_charts(spec, window_counts, slice_, revisions)
    # What is known by now stands beside what was kept: of the newest kept row, or better of the counts.
    known = {
        measure: (stored.as_of, stored.row.measurement)
        for measure, stored in pick_headline_rows(every).items()
    }
    verb = "kept" if request.as_of is None else "later kept"
    if charts.labelled:
        of_whole = (result for result in charts.results if not result.subject)
        known = {each.measure: (place.as_of or 0, each.measurement) for each in of_whole}
        verb = "counted" if window.name else ""
    main = [
        stored
        for stored in rows
        if stored.row.measure == place.main and not (stored.row.subject or stored.row.against)
    ]
    has_value = place.main in revisions and revisions[place.main].row.measurement.value is not None
    tiles = tuple(
        make_headline_tiles(
            spec, revisions, pick_headline_rows(rows, REFERENCE), known, verb, window.zone, place.main
        )
    )
    counted = ""
    if charts.labelled and place.main in known:
        at, measurement = known[place.main]
        counted = f"{measurement.n:,} records, as of {local_moment_words(at, window.zone)}"
    page = WindowPage(
        model=name,
        truth=str(revisions[place.main].row.truth) if has_value else "",
        kept=kept_value_words(revisions.get(place.main), window.zone),
        without=_why_no_charts(end, request, window_counts, charts.groups, spec),
        lost=0 if window_counts is None or window_counts.counting.label is None else window_counts.lost,
        pick=pick,
        slices=_slice_links(request, window_counts, slice_),
        tiles=tiles,
        counted=counted,
        groups=tuple(draw_kept_groups(rows)) if by_kept else charts.groups,
        confusion=charts.confusion,
        classes=charts.classes,
        labelled=charts.labelled,
        rates_of_classes=tuple(OF_CLASS.values()),
        main=place.main,
        revisions=tuple(_revision_table_rows(main))
        if any(stored.row.measurement.value is not None for stored in main)
        else (),
    )
    if tiles or charts.labelled or end is None:
        return page
    page = replace(page, tiles=unlabelled.estimate_tiles(revisions))
    if request.as_of is not None:
        return page
    records = data.read_window_counts(spec, window.start_of(end), end, PaneHalf.RECORDS)
    if not records.panes:
        return page
    predicted = unlabelled.predicted_class_rows(records, slice_, rows)
    rates = tuple(unlabelled.ESTIMATED_RATES.values()) if any(row.rates for row in predicted) else ()
    return replace(
        page,
        without=unlabelled.why_no_performance(spec, revisions),
        groups=tuple(unlabelled.draw_output_groups(spec, records, slice_)),
        classes=predicted,
        rates_of_classes=rates,
    )


def read_window_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows of the window, the newest revision of each; of panes between two moments those of now."""
    request.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    pick = pick_window(data, request, spec, place)
    slice_ = Stratum(request.query.get("version"), request.query.get("segment"))
    if pick.end is not None and not pick.window.name:
        then = request.as_of is not None  # counts are those of now alone
        return [] if then else _measure_counted_window(data, spec, pick, slice_, place.as_of or 0)
    return _read_window_revisions(
        data, spec, pick.window, pick.end, request.as_of, slice_, details=True, newest=True
    )


def _measure_counted_window(
    data: PageData, spec: ModelSpec, pick: PickedWindow, slice_: Stratum, as_of: int
) -> list[StoredMeasurement]:
    """Performance of panes of which nothing is kept together, as it is known now."""
    end = pick.end or 0
    window_counts = data.read_window_counts(spec, pick.window.start_of(end), end, PaneHalf.LABELS)
    return [
        StoredMeasurement(
            spec.name,
            as_of,
            MeasurementRow(
                window="",
                window_end=end,
                truth=LabelTruth.PROVISIONAL,
                version=slice_.version,
                segment=slice_.segment,
                measure=result.measure,
                subject=result.subject,
                measurement=result.measurement,
            ),
        )
        for result in _draw_charts(spec, window_counts, slice_, {}).results
    ]


def _read_window_revisions(
    data: PageData,
    spec: ModelSpec,
    window: Window,
    end: int | None,
    as_of: int | None,
    slice_: Stratum,
    *,
    details: bool = False,
    newest: bool = False,
) -> list[StoredMeasurement]:
    if end is None or not window.name:
        return []
    which = ChartedRows(
        window=window.name,
        after=end - 1,
        until=end,
        as_of=as_of,
        segment=slice_.segment or "",
        version=slice_.version or "",
        details=details,
        newest=newest,
    )
    return data.read_revisions(spec.name, which)


@dataclass(frozen=True, slots=True)
class _WindowCharts:
    """Measures, charts and tables of one and the same counts."""

    results: Sequence[MeasureResult] = ()
    groups: tuple[FigureGroup, ...] = ()
    confusion: ConfusionTable | None = None
    classes: tuple[ClassRow, ...] = ()
    labelled: bool = True


def _draw_charts(
    spec: ModelSpec,
    window_counts: CountedWindow | None,
    slice_: Stratum,
    revisions: Mapping[str, StoredMeasurement],
) -> _WindowCharts:
    labels = None if window_counts is None else window_counts.strata.get(slice_)
    if window_counts is None or labels is None or window_counts.counting.label is None:
        return _WindowCharts(labelled=False)
    options = _options_with_threshold(spec, window_counts)
    results = measure_performance(window_counts.counting, labels, options)
    if not window_counts.counting.tally_view(labels).labelled:
        return _WindowCharts(results, labelled=False)
    if spec.reading.task is ModelTask.REGRESSION:
        return _WindowCharts(
            results,
            tuple(error_charts.draw_error_groups(window_counts, labels, results, options.level, revisions)),
        )
    confusion = window_counts.counting.confusion_view(labels)
    groups: Iterator[FigureGroup] = iter(())
    if window_counts.counting.counts_scores:
        groups = _draw_score_groups(spec, window_counts, slice_, results, options, revisions)
    elif spec.reading.task is ModelTask.MULTICLASS:
        groups = class_charts.draw_class_groups(window_counts, labels, results, options.level, revisions)
    of_reference = None
    if window_counts.reference is not None:
        of_reference = window_counts.counting.confusion_view(window_counts.reference.labels)
    rows = class_charts.class_rows(confusion, results, of_reference)
    return _WindowCharts(results, tuple(groups), class_charts.confusion_table(confusion), rows)


def _options_with_threshold(spec: ModelSpec, window_counts: CountedWindow) -> MeasureOptions:
    options = spec.options
    if options.profit and window_counts.reference is not None:
        chosen = find_best_threshold(window_counts.counting, window_counts.reference.labels, options)
        return replace(options, threshold=chosen)
    return options


def _draw_score_groups(
    spec: ModelSpec,
    window_counts: CountedWindow,
    slice_: Stratum,
    results: Sequence[MeasureResult],
    options: MeasureOptions,
    revisions: Mapping[str, StoredMeasurement],
) -> Iterator[FigureGroup]:
    """Charts of a binary model's scores."""
    counting, labels = window_counts.counting, window_counts.strata[slice_]
    scores = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    if not scores.has_both_classes:
        return
    sides = [ScoreSide("model", "main", scores)]
    if window_counts.reference is not None:
        ranked_scores = RankedScores.from_table(
            counting.score_table(window_counts.reference.labels), counting.score_bounds
        )
        sides += (
            [ScoreSide("reference", "reference", ranked_scores)] if ranked_scores.has_both_classes else []
        )
    rivals = [*sides[:1], *_challenger_side(window_counts, labels), *sides[1:]]
    told = {result.measure: chart_value_words(result, revisions) for result in results if not result.subject}
    threshold, names = spec.reading.threshold, counting.reading.classes
    by_segment = tuple(_draw_segment_roc(window_counts, slice_))
    yield FigureGroup(
        "How well does it rank?",
        "four" if by_segment else "three",
        (
            curve_charts.draw_roc(
                [*rivals, *_pick_drawn_slices(window_counts, slice_)],
                counting.confusion_view(labels),
                f"AUC {told['roc_auc']}",
            ),
            curve_charts.draw_separation(scores, told["ks_separation"]),
            curve_charts.draw_precision_recall(rivals, f"average precision {told['average_precision']}"),
            *by_segment,
        ),
    )
    meaning = [curve_charts.draw_scores(sides, counting.score_bounds, names, threshold)]
    if counting.has_probability_scores:
        error = told.get("expected_calibration_error", "")
        figure = curve_charts.draw_calibration(scores, f"expected error {error}", options.level)
        meaning += [] if figure is None else [figure]
    yield FigureGroup("What do its scores mean?", "two", tuple(meaning))
    gain, lift, more, cumulative = curve_charts.draw_deciles(rivals)
    yield FigureGroup("Whom does it find?", "four", (gain, cumulative, lift, more))
    decided = [curve_charts.draw_threshold_rates(scores, threshold)]
    if options.profit:
        decided.append(curve_charts.draw_threshold_profit(scores, names, options.profit, threshold))
    yield FigureGroup("Is the threshold right?", "two", tuple(decided))


def _challenger_side(window_counts: CountedWindow, labels: Counters) -> Iterator[ScoreSide]:
    """The challenger's scores on the same records; of its cells only the order is known."""
    if not (window_counts.counting.counts_challenger and window_counts.counting.counts_scores):
        return
    table = paired_scores_view(labels.make_dense()).challenger
    scores = RankedScores.from_table(table, np.arange(len(table.negative) + 1.0))
    if scores.has_both_classes:
        yield ScoreSide("challenger", "third", scores)


_OTHER_KINDS: tuple[Kind, ...] = ("estimate", "provisional", "limit")


def _pick_drawn_slices(window_counts: CountedWindow, slice_: Stratum) -> Iterator[ScoreSide]:
    """Versions beside the whole, those with the most labels; beside a part the whole."""
    versions = [each for each in window_counts.strata if each.version is not None and each.segment is None]
    others = versions if len(versions) > 1 else []
    if slice_ != WHOLE:
        others = [WHOLE] if WHOLE in window_counts.strata else []
    yield from _largest_sides(window_counts, others, _OTHER_KINDS)


def _draw_segment_roc(window_counts: CountedWindow, slice_: Stratum) -> Iterator[Figure]:
    """ROC of the segments with the most labels, the lowest of the ten largest among them, and the whole."""
    segments = (
        select_segments(window_counts.strata, window_counts.counting.segments) if slice_ == WHOLE else []
    )
    large = sorted(_rank_strata_scores(window_counts, segments), key=lambda pair: -pair[1].n)[:_LARGE]
    if not large:
        return
    lowest = min(large, key=lambda pair: roc_auc(pair[1].table).value or 0.0)
    drawn = [lowest, *(pair for pair in large if pair is not lowest)]
    kinds: tuple[Kind, ...] = ("main", "second", "third", "estimate")
    sides = [
        ScoreSide(_stratum_name(each), kind, scores)
        for kind, (each, scores) in zip(kinds, drawn, strict=False)
    ]
    which = ": the lowest of the largest, then the largest" if len(sides) < len(segments) else ""
    note = f"{len(sides)} of {len(segments)} segments{which}"
    yield curve_charts.draw_roc(
        [*sides, *_largest_sides(window_counts, [WHOLE], ("reference",))], None, note, "ROC by segment"
    )


def _largest_sides(
    window_counts: CountedWindow, strata: Sequence[Stratum], kinds: Sequence[Kind]
) -> Iterator[ScoreSide]:
    """Ranked scores of the strata with the most labels that have both classes, one for each kind."""
    largest = sorted(_rank_strata_scores(window_counts, strata), key=lambda pair: -pair[1].n)
    for kind, (each, scores) in zip(kinds, largest, strict=False):
        yield ScoreSide(_stratum_name(each), kind, scores)


def _rank_strata_scores(
    window_counts: CountedWindow, strata: Sequence[Stratum]
) -> list[tuple[Stratum, RankedScores]]:
    """Ranked scores of the strata that have both classes."""
    counting = window_counts.counting
    ranked = (
        RankedScores.from_table(counting.score_table(window_counts.strata[each]), counting.score_bounds)
        for each in strata
    )
    return [(each, scores) for each, scores in zip(strata, ranked, strict=True) if scores.has_both_classes]


def _stratum_name(stratum: Stratum) -> str:
    return stratum.segment or (f"version {stratum.version}" if stratum.version else "the whole")


def _slice_links(
    request: PageRequest, window_counts: CountedWindow | None, chosen: Stratum
) -> tuple[PageLink, ...]:
    """Links to the versions and segments that are counted apart."""
    if window_counts is None or len(window_counts.strata) < 2:
        return ()
    order = sorted(
        window_counts.strata, key=lambda each: (each != Stratum(), each.version or "", each.segment or "")
    )
    return tuple(
        PageLink(
            _stratum_name(each),
            request.link_here(segment=each.segment, version=each.version),
            each == chosen,
        )
        for each in order[:30]
    )


def _why_no_charts(
    end: int | None,
    request: PageRequest,
    window_counts: CountedWindow | None,
    groups: Sequence[FigureGroup],
    spec: ModelSpec,
) -> str:
    """Why there are no charts."""
    if end is None:
        return "No window of this kind has been measured yet."
    if request.as_of is not None:
        return "Counts are those of now alone: as known then only what was kept is shown."
    if window_counts is not None and not window_counts.panes:
        gone = "were counted on other grids, or are gone: only what was kept is shown."
        free = "from" in request.query
        return "No pane of these days has been counted." if free else f"The panes of this window {gone}"
    if not groups and spec.reading.task is ModelTask.BINARY:
        return "No labelled records of both classes, or no score: curves need both."
    return ""


def _revision_table_rows(main: Sequence[StoredMeasurement]) -> Iterator[tuple[str, ...]]:
    moments = sorted({stored.as_of for stored in main})
    for stored in main:
        row, result = stored.row, stored.row.measurement
        yield (
            str(moments.index(stored.as_of) + 1),
            local_moment_words(stored.as_of),
            str(row.truth),
            str(result.reason) if result.value is None else format_measure_value(row.measure, result.value),
            format_interval_bounds(row.measure, result.interval),
            f"{result.n:,}",
            "" if row.coverage is None else format_measure_value("coverage", row.coverage),
        )
