"""One window: all charts of its labelled records, from one state, the counts as they are now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.charts.marks import Kind
from monitor.charts.scales import Axis
from monitor.measures.classification.discrimination import roc_auc
from monitor.measures.evaluate import best_threshold, measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import REFERENCE
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, Revision, newest_revisions
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.measures.value_words import bounds_of, value_of
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.model_page import PageLink, spec_of
from monitor.pages.page_request import CountedWindow, PageData, PageRequest
from monitor.pages.period_words import local_moment_words
from monitor.pages.window import class_charts, curve_charts, error_charts, unlabelled
from monitor.pages.window.class_charts import OF_CLASS, ClassRow, ConfusionTable
from monitor.pages.window.curve_charts import ScoreSide
from monitor.pages.window.headline_tiles import (
    HeadlineTile,
    chart_value_words,
    headline_rows,
    kept_words,
    tiles_of,
)
from monitor.pages.window.kept_charts import kept_groups
from monitor.pages.window_choice import PickedWindow, pick_window
from monitor.records.labels.paired_scores import paired_scores
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Stratum, segments_of
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


def window_page(data: PageData, asked: PageRequest, name: str) -> WindowPage:
    """Page of one window of a model, or of any whole panes between `from` and `to`."""
    asked.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    seen = data.read_place(name, asked.as_of)
    pick = pick_window(data, asked, spec, seen)
    window, end = pick.window, pick.end
    slice_ = Stratum(asked.query.get("version"), asked.query.get("segment"))
    counted = None
    if end is not None and asked.as_of is None:
        counted = data.count_window(spec, window.start_of(end), end, PaneHalf.LABELS)
    by_kept = counted is None or not counted.panes
    every = _kept_rows(data, spec, window, end, None, slice_, details=by_kept)
    rows = [pair for pair in every if asked.as_of is None or pair[0] <= asked.as_of]
    kept = headline_rows(rows)
    charts = _draw_charts(spec, counted, slice_, kept)
    known = {measure: (at, row.measurement) for measure, (at, row) in headline_rows(every).items()}
    verb = "kept" if asked.as_of is None else "later kept"
    if charts.labelled:
        of_whole = (result for result in charts.results if not result.subject)
        known = {each.measure: (seen.as_of or 0, each.measurement) for each in of_whole}
        verb = "counted" if window.name else ""
    main = [
        pair for pair in rows if pair[1].measure == seen.main and not (pair[1].subject or pair[1].against)
    ]
    has_value = seen.main in kept and kept[seen.main][1].measurement.value is not None
    tiles = tuple(tiles_of(spec, kept, headline_rows(rows, REFERENCE), known, verb, window.zone, seen.main))
    page = WindowPage(
        model=name,
        truth=str(kept[seen.main][1].truth) if has_value else "",
        kept=kept_words(kept.get(seen.main), window.zone),
        without=_why_no_charts(end, asked, counted, charts.groups, spec),
        lost=0 if counted is None or counted.counting.label is None else counted.lost,
        pick=pick,
        slices=_slice_links(asked, counted, slice_),
        tiles=tiles,
        counted=f"{known[seen.main][1].n:,} records, as of "
        f"{local_moment_words(known[seen.main][0], window.zone)}"
        if charts.labelled and seen.main in known
        else "",
        groups=tuple(kept_groups(rows)) if by_kept else charts.groups,
        confusion=charts.confusion,
        classes=charts.classes,
        labelled=charts.labelled,
        rates_of_classes=tuple(OF_CLASS.values()),
        main=seen.main,
        revisions=tuple(_revision_lines(main))
        if any(row.measurement.value is not None for _, row in main)
        else (),
    )
    if tiles or charts.labelled or end is None:
        return page
    page = replace(page, tiles=unlabelled.estimate_tiles(kept))
    if asked.as_of is not None:
        return page
    records = data.count_window(spec, window.start_of(end), end, PaneHalf.RECORDS)
    if not records.panes:
        return page
    return replace(
        page,
        without=unlabelled.unlabelled_because(spec, kept),
        groups=tuple(unlabelled.output_groups(spec, records, slice_)),
        classes=(predicted := unlabelled.predicted_rows(records, slice_, rows)),
        rates_of_classes=tuple(unlabelled.ESTIMATED_RATES.values())
        if any(row.rates for row in predicted)
        else (),
    )


def window_rows(data: PageData, asked: PageRequest, name: str) -> list[Revision]:
    """Kept rows of the window, the newest revision of each; of panes between two moments those of now."""
    asked.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    seen = data.read_place(name, asked.as_of)
    pick = pick_window(data, asked, spec, seen)
    slice_ = Stratum(asked.query.get("version"), asked.query.get("segment"))
    if pick.end is not None and not pick.window.name:
        then = asked.as_of is not None  # counts are those of now alone
        return [] if then else _counted_rows(data, spec, pick, slice_, seen.as_of or 0)
    return newest_revisions(_kept_rows(data, spec, pick.window, pick.end, asked.as_of, slice_, details=True))


def _counted_rows(
    data: PageData, spec: ModelSpec, pick: PickedWindow, slice_: Stratum, as_of: int
) -> list[Revision]:
    """Performance of panes of which nothing is kept together, as it is known now."""
    end = pick.end or 0
    counted = data.count_window(spec, pick.window.start_of(end), end, PaneHalf.LABELS)
    return [
        (
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
        for result in _draw_charts(spec, counted, slice_, {}).results
    ]


def _kept_rows(
    data: PageData,
    spec: ModelSpec,
    window: Window,
    end: int | None,
    as_of: int | None,
    slice_: Stratum,
    *,
    details: bool = False,
) -> list[Revision]:
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
    spec: ModelSpec, counted: CountedWindow | None, slice_: Stratum, kept: Mapping[str, Revision]
) -> _WindowCharts:
    labels = None if counted is None else counted.strata.get(slice_)
    if counted is None or labels is None or counted.counting.label is None:
        return _WindowCharts(labelled=False)
    options = _chart_options(spec, counted)
    results = measure_performance(counted.counting, labels, options)
    if not counted.counting.tally_view(labels).labelled:
        return _WindowCharts(results, labelled=False)
    if spec.reading.task is ModelTask.REGRESSION:
        return _WindowCharts(
            results, tuple(error_charts.error_figures(counted, labels, results, options.level, kept))
        )
    confusion = counted.counting.confusion_view(labels)
    groups: Iterator[FigureGroup] = iter(())
    if counted.counting.scored:
        groups = _of_scores(spec, counted, slice_, results, options, kept)
    elif spec.reading.task is ModelTask.MULTICLASS:
        groups = class_charts.class_figures(counted, labels, results, options.level, kept)
    of_reference = None
    if counted.reference is not None:
        of_reference = counted.counting.confusion_view(counted.reference.labels)
    rows = class_charts.class_rows(confusion, results, of_reference)
    return _WindowCharts(results, tuple(groups), class_charts.confusion_table(confusion), rows)


def _chart_options(spec: ModelSpec, counted: CountedWindow) -> MeasureOptions:
    options = spec.options
    if options.profit and counted.reference is not None:
        chosen = best_threshold(counted.counting, counted.reference.labels, options)
        return replace(options, threshold=chosen)
    return options


def _of_scores(
    spec: ModelSpec,
    counted: CountedWindow,
    slice_: Stratum,
    results: Sequence[MeasureResult],
    options: MeasureOptions,
    kept: Mapping[str, Revision],
) -> Iterator[FigureGroup]:
    """Charts of a binary model's scores."""
    counting, labels = counted.counting, counted.strata[slice_]
    ranked = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    if not ranked.two:
        return
    sides = [ScoreSide("model", "main", ranked)]
    if counted.reference is not None:
        of = RankedScores.from_table(counting.score_table(counted.reference.labels), counting.score_bounds)
        sides += [ScoreSide("reference", "reference", of)] if of.two else []
    rivals = [*sides[:1], *_challenger_side(counted, labels), *sides[1:]]
    told = {result.measure: chart_value_words(result, kept) for result in results if not result.subject}
    threshold, names = spec.reading.threshold, counting.reading.classes
    by_segment = tuple(_by_segment(counted, slice_))
    yield FigureGroup(
        "How well does it rank?",
        "four" if by_segment else "three",
        (
            curve_charts.draw_roc(
                [*rivals, *_slices_drawn(counted, slice_)],
                counting.confusion_view(labels),
                f"AUC {told['roc_auc']}",
            ),
            curve_charts.draw_separation(ranked, told["ks_separation"]),
            curve_charts.precision_recall(rivals, f"average precision {told['average_precision']}"),
            *by_segment,
        ),
    )
    meaning = [curve_charts.draw_scores(sides, counting.score_bounds, names, threshold)]
    if counting.probabilistic:
        error = told.get("expected_calibration_error", "")
        figure = curve_charts.draw_calibration(ranked, f"expected error {error}", options.level)
        meaning += [] if figure is None else [figure]
    yield FigureGroup("What do its scores mean?", "two", tuple(meaning))
    gain, lift, more, cumulative = curve_charts.by_decile(rivals)
    yield FigureGroup("Whom does it find?", "four", (gain, cumulative, lift, more))
    decided = [curve_charts.rates_by_threshold(ranked, threshold)]
    if options.profit:
        decided.append(curve_charts.profit_by_threshold(ranked, names, options.profit, threshold))
    yield FigureGroup("Is the threshold right?", "two", tuple(decided))


def _challenger_side(counted: CountedWindow, labels: Counters) -> Iterator[ScoreSide]:
    """The challenger's scores on the same records; of its cells only the order is known."""
    if not (counted.counting.challenged and counted.counting.scored):
        return
    table = paired_scores(labels.make_dense()).challenger
    ranked = RankedScores.from_table(table, np.arange(len(table.negative) + 1.0))
    if ranked.two:
        yield ScoreSide("challenger", "third", ranked)


_OTHER_KINDS: tuple[Kind, ...] = ("estimate", "provisional", "limit")


def _slices_drawn(counted: CountedWindow, slice_: Stratum) -> Iterator[ScoreSide]:
    """Versions beside the whole, those with the most labels; beside a part the whole."""
    versions = [each for each in counted.strata if each.version is not None and each.segment is None]
    others = versions if len(versions) > 1 else []
    if slice_ != WHOLE:
        others = [WHOLE] if WHOLE in counted.strata else []
    yield from _largest_sides(counted, others, _OTHER_KINDS)


def _by_segment(counted: CountedWindow, slice_: Stratum) -> Iterator[Figure]:
    """ROC of the segments with the most labels, the lowest of the ten largest among them, and the whole."""
    segments = segments_of(counted.strata, counted.counting.segments) if slice_ == WHOLE else []
    large = sorted(_ranked_strata(counted, segments), key=lambda pair: -pair[1].n)[:_LARGE]
    if not large:
        return
    lowest = min(large, key=lambda pair: roc_auc(pair[1].table).value or 0.0)
    drawn = [lowest, *(pair for pair in large if pair is not lowest)]
    kinds: tuple[Kind, ...] = ("main", "second", "third", "estimate")
    sides = [ScoreSide(_name_of(each), kind, of) for kind, (each, of) in zip(kinds, drawn, strict=False)]
    which = ": the lowest of the largest, then the largest" if len(sides) < len(segments) else ""
    note = f"{len(sides)} of {len(segments)} segments{which}"
    yield curve_charts.draw_roc(
        [*sides, *_largest_sides(counted, [WHOLE], ("reference",))], None, note, "ROC by segment"
    )


def _largest_sides(
    counted: CountedWindow, strata: Sequence[Stratum], kinds: Sequence[Kind]
) -> Iterator[ScoreSide]:
    """Ranked scores of the strata with the most labels that have both classes, one for each kind."""
    largest = sorted(_ranked_strata(counted, strata), key=lambda pair: -pair[1].n)
    for kind, (each, of) in zip(kinds, largest, strict=False):
        yield ScoreSide(_name_of(each), kind, of)


def _ranked_strata(counted: CountedWindow, strata: Sequence[Stratum]) -> list[tuple[Stratum, RankedScores]]:
    """Ranked scores of the strata that have both classes."""
    counting = counted.counting
    ranked = (
        RankedScores.from_table(counting.score_table(counted.strata[each]), counting.score_bounds)
        for each in strata
    )
    return [(each, of) for each, of in zip(strata, ranked, strict=True) if of.two]


def _name_of(stratum: Stratum) -> str:
    return stratum.segment or (f"version {stratum.version}" if stratum.version else "the whole")


def _slice_links(asked: PageRequest, counted: CountedWindow | None, chosen: Stratum) -> tuple[PageLink, ...]:
    """Links to the versions and segments that are counted apart."""
    if counted is None or len(counted.strata) < 2:
        return ()
    order = sorted(
        counted.strata, key=lambda each: (each != Stratum(), each.version or "", each.segment or "")
    )
    return tuple(
        PageLink(
            _name_of(each),
            asked.link_here(segment=each.segment, version=each.version),
            each == chosen,
        )
        for each in order[:30]
    )


def _why_no_charts(
    end: int | None,
    asked: PageRequest,
    counted: CountedWindow | None,
    groups: Sequence[FigureGroup],
    spec: ModelSpec,
) -> str:
    """Why there are no charts."""
    if end is None:
        return "No window of this kind has been measured yet."
    if asked.as_of is not None:
        return "Counts are those of now alone: as known then only what was kept is shown."
    if counted is not None and not counted.panes:
        gone = "were counted on other grids, or are gone: only what was kept is shown."
        free = "from" in asked.query
        return "No pane of these days has been counted." if free else f"The panes of this window {gone}"
    if not groups and spec.reading.task is ModelTask.BINARY:
        return "No labelled records of both classes, or no score: curves need both."
    return ""


def _revision_lines(main: Sequence[Revision]) -> Iterator[tuple[str, ...]]:
    moments = sorted({kept for kept, _ in main})
    for kept, row in main:
        result = row.measurement
        yield (
            str(moments.index(kept) + 1),
            local_moment_words(kept),
            str(row.truth),
            str(result.reason) if result.value is None else value_of(row.measure, result.value),
            bounds_of(row.measure, result.interval),
            f"{result.n:,}",
            "" if row.coverage is None else value_of("coverage", row.coverage),
        )
