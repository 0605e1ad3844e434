"""Performance of one window: a verdict, figures beside their reference, three questions and their charts."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from monitor.alerts.model_facts import ModelFacts, limited_measurements
from monitor.alerts.model_summary import find_performance_limit
from monitor.charts.scales import Axis
from monitor.core.clock import from_iso, to_iso
from monitor.core.errors import AddressError
from monitor.core.measurement import Measurement
from monitor.core.text import readable_text
from monitor.measures.evaluate import find_best_threshold, measure_performance
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import REFERENCE, measurement_difference
from monitor.measures.measurement_row import LabelTruth, MeasurementRow, StoredMeasurement, newest_revisions
from monitor.measures.value_words import certainty_words, format_interval_bounds, format_measure_value
from monitor.pages.figures import Figure, FigureGroup
from monitor.pages.model_page import spec_of
from monitor.pages.page_request import (
    CountedWindow,
    ModelPlace,
    PageData,
    PageLink,
    PageRequest,
    read_kept_ends,
)
from monitor.pages.period_words import period_words
from monitor.pages.window import class_charts, error_charts, unlabelled
from monitor.pages.window.class_charts import OF_CLASS, ClassRow, ConfusionTable
from monitor.pages.window.kept_charts import draw_kept_groups
from monitor.pages.window.performance_tiles import (
    TILES,
    ListedMeasure,
    PerformanceTile,
    list_measures,
    make_performance_tiles,
    pick_headline_rows,
)
from monitor.pages.window.questions import (
    ComparedSide,
    answer_binary_questions,
    rank_stratum_scores,
    stratum_name,
)
from monitor.pages.window_choice import PickedWindow, grain_name, pick_window
from monitor.records.pane import PaneHalf
from monitor.records.reading import ModelTask
from monitor.sentences.known_measurements import (
    KnownMeasurements,
    capitalize_first,
    end_sentence,
    spoken_measure,
)
from monitor.sentences.performance_sentences import (
    newest_performance_row,
    newest_performance_sentence,
    performance_cause_sentence,
)
from monitor.sentences.time_words import local_moment_words
from monitor.specs.fault_words import quote_value
from monitor.specs.model_spec import ModelSpec
from monitor.specs.stored_rows import ChartedRows
from monitor.states.strata import WHOLE, Stratum
from monitor.windows.window_ends import Window

ASKED = "window", "end", "from", "to", "segment", "version", "vs"  # what its address may ask for
_RATES = Axis(0.0, 1.0)
_MOST_OTHERS = 24  # windows that a window may be compared with
_FEW_CLASSES = 3  # whose confusion matrix stands beside the calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPage:
    """Page of one window."""

    model: str
    pick: PickedWindow
    grains: tuple[PageLink, ...]
    title: str
    says: tuple[str, ...]
    is_final: bool  # all labels are in that are waited for
    without: str  # why there are no charts; empty: there are
    lost: int
    slices: tuple[PageLink, ...]
    # (value, text, whether it is chosen) of what it may be compared with beside the reference.
    others: tuple[tuple[str, str, bool], ...]
    other: str  # what it is compared with; empty: the reference alone
    tiles: tuple[PerformanceTile, ...]
    listed: tuple[ListedMeasure, ...]
    groups: tuple[FigureGroup, ...]
    more: tuple[Figure, ...]
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

    @property
    def is_confusion_small(self) -> bool:
        """Whether the confusion matrix has room beside a chart."""
        return self.has_room and self.confusion is not None and len(self.confusion.classes) <= _FEW_CLASSES

    @property
    def has_room(self) -> bool:
        """Whether tables stand beside the charts of the last question: of three, not of a chart a class."""
        return bool(self.groups) and self.groups[-1].columns == "three"


def window_page(data: PageData, request: PageRequest, name: str) -> WindowPage:
    """Page of one window of a model, or of any whole panes between `from` and `to`."""
    request.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    (facts,) = data.read_model_facts(name, request.as_of)
    pick = pick_window(data, request, spec, place, _newest_performance(data, name, request))
    window, end = pick.window, pick.end
    slice_ = Stratum(request.query.get("version"), request.query.get("segment"))
    window_counts = None
    # Counts are those of now: what was known at another moment is drawn by what was kept.
    if end is not None and request.as_of is None:
        window_counts = data.read_window_counts(spec, window.start_of(end), end, PaneHalf.LABELS)
    by_kept = window_counts is None or not window_counts.panes
    kept = _read_window_revisions(data, spec, window, end, request.as_of, slice_, details=by_kept, whole=True)
    rows = [*kept, *_current_window_rows(facts, window, end, slice_)]
    now, steps = (_best_measurements(rows, against) for against in ("", REFERENCE))
    others, other = _find_other_side(data, request, spec, pick, slice_, window_counts)
    period = pick.name if end is not None else ""
    if other is not None and other.name[-5:] == period[-5:]:  # the year stands in the heading
        other, period = replace(other, name=_without_year(other.name)), _without_year(period)
    charts = _draw_charts(spec, window_counts, slice_, period, now, steps, other)
    if not now and charts.labelled and window_counts is not None:
        now = _by_measure(charts.results)
        steps = _counted_differences(spec, window_counts, now)
    main = [
        stored
        for stored in kept
        if stored.row.measure == place.main and not (stored.row.subject or stored.row.against)
    ]
    task = spec.reading.task
    tiles = tuple(
        make_performance_tiles(task, now, steps, lambda measure: _limit_of_window(facts, window, measure))
    )
    known = {} if other is None else other.known
    page = WindowPage(
        model=name,
        pick=pick,
        grains=tuple(PageLink(grain_name(one.text), one.href, one.chosen) for one in pick.windows),
        title=_title_words(pick, place, rows, now),
        says=tuple(_verdict_details(window, place, rows)) or tuple(_counted_words(place, window, now)),
        is_final=_is_final(place, rows),
        without=_why_no_charts(end, request, window_counts, charts.groups, spec),
        lost=0 if window_counts is None or window_counts.counting.label is None else window_counts.lost,
        slices=_slice_links(request, window_counts, slice_),
        others=others,
        other="" if other is None else other.name,
        tiles=tiles,
        listed=list_measures(task, now, known, steps),
        groups=tuple(draw_kept_groups(rows)) if by_kept else charts.groups,
        more=charts.more,
        confusion=charts.confusion,
        classes=charts.classes,
        labelled=charts.labelled,
        rates_of_classes=tuple(OF_CLASS.values()),
        main=place.main,
        revisions=tuple(_revision_table_rows(main))
        if any(stored.row.measurement.value is not None for stored in main)
        else (),
    )
    if any(tile.axis or tile.exact for tile in tiles) or charts.labelled or end is None:
        return page
    revisions = pick_headline_rows(rows)
    page = replace(page, tiles=unlabelled.estimate_tiles(revisions), listed=())
    if request.as_of is not None:
        return page
    records = data.read_window_counts(spec, window.start_of(end), end, PaneHalf.RECORDS)
    if not records.panes:
        return page
    every = _read_window_revisions(data, spec, window, end, request.as_of, slice_)
    predicted = unlabelled.predicted_class_rows(records, slice_, every)
    rates = tuple(unlabelled.ESTIMATED_RATES.values()) if any(row.rates for row in predicted) else ()
    return replace(
        page,
        without=unlabelled.why_no_performance(spec, revisions),
        groups=tuple(unlabelled.draw_output_groups(spec, records, slice_)),
        classes=predicted,
        rates_of_classes=rates,
    )


def _current_window_rows(
    facts: ModelFacts, window: Window, end: int | None, slice_: Stratum
) -> list[StoredMeasurement]:
    """Rows of a window that the last cycle measured: what `status` tells is of these."""
    return [
        StoredMeasurement(facts.model, facts.as_of or 0, row)
        for row in facts.rows
        if window.name and (row.window, row.window_end) == (window.name, end)
        if (row.version, row.segment) == slice_
    ]


def _without_year(period: str) -> str:
    return re.sub(r" \d{4}$", "", period)


def _newest_performance(data: PageData, name: str, request: PageRequest) -> tuple[str, int] | None:
    """Window and end of the performance that `status` tells; None: none, or an address names another."""
    if any(part in request.query for part in ("window", "end", "from", "to")):
        return None
    (facts,) = data.read_model_facts(name, request.as_of)
    measurements = KnownMeasurements(facts.rows, facts.window, facts.main)
    row = newest_performance_row(limited_measurements(facts.rules, measurements))
    return None if row is None or row.window is None else (row.window, row.window_end)


def _best_measurements(rows: Sequence[StoredMeasurement], against: str) -> dict[str, Measurement]:
    return {name: kept.row.measurement for name, kept in pick_headline_rows(rows, against).items()}


def _by_measure(results: Sequence[MeasureResult]) -> dict[str, Measurement]:
    return {result.measure: result.measurement for result in results if not result.subject}


def _counted_differences(
    spec: ModelSpec, window_counts: CountedWindow, now: Mapping[str, Measurement]
) -> dict[str, Measurement]:
    """Differences from the reference of days that nothing is kept of together."""
    if window_counts.reference is None:
        return {}
    options = _options_with_threshold(spec, window_counts)
    labels = window_counts.reference.labels
    then = _by_measure(measure_performance(window_counts.counting, labels, options))
    return {
        name: measurement_difference(result, then[name])
        for name, result in now.items()
        if name in then and name in TILES[spec.reading.task]
    }


def _limit_of_window(facts: ModelFacts, window: Window, measure: str) -> float | None:
    """Value beyond which a rule on windows of this kind fires."""
    rules = [rule for rule in facts.rules if rule.window == window.name]
    return find_performance_limit(rules, facts.rows, measure)


def _title_words(
    pick: PickedWindow,
    place: ModelPlace,
    rows: Sequence[StoredMeasurement],
    now: Mapping[str, Measurement],
) -> str:
    """The verdict in a sentence: the main measure of the window beside the reference."""
    if pick.end is None:
        return capitalize_first(pick.name)
    measurements = KnownMeasurements(
        [one.row for one in newest_revisions(rows)], pick.window.name, place.main
    )
    if pick.window.name and newest_performance_row(measurements) is not None:
        return newest_performance_sentence(measurements, place.as_of or pick.end)
    name, known = capitalize_first(spoken_measure(place.main)), now.get(place.main)
    if known is None or known.value is None:
        return f"{name} is not known: {pick.name}"
    return f"{name} {format_measure_value(place.main, known.value)}, by the labels so far: {pick.name}"


def _verdict_details(window: Window, place: ModelPlace, rows: Sequence[StoredMeasurement]) -> Iterator[str]:
    """How many labels are in, whether figures are final, and what is behind a worse one."""
    best = pick_headline_rows(rows)
    labelled, main = best.get("labelled_records"), best.get(place.main)
    if labelled is not None and labelled.row.measurement.value:
        has, of = round(labelled.row.measurement.value), labelled.row.measurement.n
        share = format_measure_value("coverage", has / max(of, 1))
        yield f"{has:,} of {of:,} records have their label ({share})."
    if main is not None and main.row.measurement.value is not None:
        match main.row.truth:
            case LabelTruth.NOWCAST:
                yield "Figures are corrected for late labels."
            case LabelTruth.PROVISIONAL:
                yield "Figures are of the labels so far."
            case LabelTruth.SETTLED:
                yield "Figures are final."
    measurements = KnownMeasurements([one.row for one in newest_revisions(rows)], window.name, place.main)
    step = pick_headline_rows(rows, REFERENCE).get(place.main)
    if step is not None and certainty_words(place.main, step.row.measurement) == "surely worse":
        cause = performance_cause_sentence(measurements)
        if cause:
            yield end_sentence(cause)


def _is_final(place: ModelPlace, rows: Sequence[StoredMeasurement]) -> bool:
    main = pick_headline_rows(rows).get(place.main)
    return (
        main is not None and main.row.truth is LabelTruth.SETTLED and main.row.measurement.value is not None
    )


def _counted_words(place: ModelPlace, window: Window, now: Mapping[str, Measurement]) -> Iterator[str]:
    """Of how many labels the figures are, where nothing is kept of these days together."""
    main = now.get(place.main)
    if main is not None and main.value is not None and place.as_of is not None:
        moment = local_moment_words(place.as_of, window.zone)
        yield f"{main.n:,} labelled records, counted as of {moment}."


def _find_other_side(
    data: PageData,
    request: PageRequest,
    spec: ModelSpec,
    pick: PickedWindow,
    slice_: Stratum,
    window_counts: CountedWindow | None,
) -> tuple[tuple[tuple[str, str, bool], ...], ComparedSide | None]:
    """What a window may be compared with beside the reference, and what it is compared with.

    Raises
    ------
    AddressError
        of what no window, version or segment is.
    """
    if pick.end is None:
        return (), None
    window = pick.window
    strata = {} if window_counts is None or slice_ != WHOLE else window_counts.strata
    slices = {readable_text(stratum_name(each)): each for each in strata if each != WHOLE}
    ends = _list_other_ends(data, request, spec, pick)
    names = {to_iso(end): period_words(window, end) for end in ends}
    first = next(iter(names), REFERENCE)
    chosen = _requested_other(request, slices) or first
    offered = (
        *((end, f"reference and {text}") for end, text in names.items()),
        (REFERENCE, "reference alone"),
        *((text, f"reference and {text}") for text in slices),
    )
    # An address that names none means the window before: a form that leaves it so goes on meaning that.
    links = tuple((value if value != first else "", text, value == chosen) for value, text in offered)
    if chosen == REFERENCE:
        return links, None
    if chosen in slices:
        rows = _read_window_revisions(data, spec, window, pick.end, request.as_of, slices[chosen], whole=True)
        scores = None if window_counts is None else rank_stratum_scores(window_counts, slices[chosen])
        return links, ComparedSide(name=chosen, known=_best_measurements(rows, ""), scores=scores)
    if chosen not in names:
        known = f"the end of another {window.name or 'measured'} window, a version or a segment"
        raise AddressError(f"vs is {REFERENCE}, {known}: got {quote_value(chosen)}")
    end = from_iso(chosen)
    rows = _read_window_revisions(data, spec, window, end, request.as_of, slice_, whole=True)
    scores = None
    if request.as_of is None:
        counts = data.read_window_counts(spec, window.start_of(end), end, PaneHalf.LABELS)
        scores = rank_stratum_scores(counts, slice_)
    return links, ComparedSide(name=names[chosen], known=_best_measurements(rows, ""), scores=scores)


def _requested_other(request: PageRequest, slices: Collection[str]) -> str:
    """What an address compares with: a slice by its name, a window by its end, in one form."""
    asked = request.query.get("vs", "")
    if asked in slices or not asked[:1].isdecimal():
        return asked
    return to_iso(request.parse_moment("vs") or 0)


def _list_other_ends(data: PageData, request: PageRequest, spec: ModelSpec, pick: PickedWindow) -> list[int]:
    """Ends of windows that begin where a later one ended, the newest first; and the one that is asked for."""
    window = pick.window
    if not window.name or pick.end is None:
        return []
    kept = read_kept_ends(data, spec.name, window.name, as_of=request.as_of)
    apart: list[int] = []
    for end in kept:  # windows that overlap hold the same records
        if end <= window.start_of(apart[-1] if apart else pick.end):
            apart.append(end)
    apart = apart[:_MOST_OTHERS]
    asked = _requested_other(request, ())
    return [*apart, *(end for end in kept if to_iso(end) == asked and end not in apart)]


def read_window_page_rows(data: PageData, request: PageRequest, name: str) -> list[StoredMeasurement]:
    """Kept rows of the window, the newest revision of each; of panes between two moments those of now."""
    request.refuse_unknown_parameters(*ASKED)
    spec = spec_of(data, name)
    place = data.read_model_place(name, request.as_of)
    pick = pick_window(data, request, spec, place, _newest_performance(data, name, request))
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
        for result in _draw_charts(spec, window_counts, slice_, "", {}, {}, None).results
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
    whole: bool = False,
) -> list[StoredMeasurement]:
    """Kept rows of a window; `whole`: those of no subject alone, which are a tenth of all."""
    if end is None or not window.name:
        return []
    which = ChartedRows(
        window=window.name,
        after=end - 1,
        until=end,
        as_of=as_of,
        segment=slice_.segment or "",
        version=slice_.version or "",
        subjects=("",) if whole else None,
        details=details,
        newest=newest,
    )
    return data.read_revisions(spec.name, which)


@dataclass(frozen=True, slots=True)
class _WindowCharts:
    """Measures, charts and tables of one and the same counts."""

    results: Sequence[MeasureResult] = ()
    groups: tuple[FigureGroup, ...] = ()
    more: tuple[Figure, ...] = ()
    confusion: ConfusionTable | None = None
    classes: tuple[ClassRow, ...] = ()
    labelled: bool = True


def _draw_charts(
    spec: ModelSpec,
    window_counts: CountedWindow | None,
    slice_: Stratum,
    period: str,
    now: Mapping[str, Measurement],
    steps: Mapping[str, Measurement],
    other: ComparedSide | None,
) -> _WindowCharts:
    labels = None if window_counts is None else window_counts.strata.get(slice_)
    if window_counts is None or labels is None or window_counts.counting.label is None:
        return _WindowCharts(labelled=False)
    options = _options_with_threshold(spec, window_counts)
    # What was kept need not be measured again; of several classes each class' rates are wanted too.
    is_known = bool(now) and spec.reading.task is not ModelTask.MULTICLASS
    results = [] if is_known else measure_performance(window_counts.counting, labels, options)
    if not window_counts.counting.tally_view(labels).labelled:
        return _WindowCharts(results, labelled=False)
    known = now or _by_measure(results)
    if spec.reading.task is ModelTask.REGRESSION:
        groups = error_charts.draw_error_groups(window_counts, labels, known, options.level)
        return _WindowCharts(results, tuple(groups))
    confusion = window_counts.counting.confusion_view(labels)
    drawn: tuple[FigureGroup, ...] = ()
    more: tuple[Figure, ...] = ()
    if window_counts.counting.counts_scores:
        drawn, more = answer_binary_questions(
            spec, window_counts, slice_, options, period, known, steps, other
        )
    elif spec.reading.task is ModelTask.MULTICLASS:
        drawn = tuple(class_charts.draw_class_groups(window_counts, labels, results, options.level))
    of_reference = None
    if window_counts.reference is not None:
        of_reference = window_counts.counting.confusion_view(window_counts.reference.labels)
    rows = class_charts.class_rows(confusion, results, of_reference)
    return _WindowCharts(results, drawn, more, class_charts.confusion_table(confusion), rows)


def _options_with_threshold(spec: ModelSpec, window_counts: CountedWindow) -> MeasureOptions:
    options = spec.options
    if options.profit and window_counts.reference is not None:
        chosen = find_best_threshold(window_counts.counting, window_counts.reference.labels, options)
        return replace(options, threshold=chosen)
    return options


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
            stratum_name(each),
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
        if "from" in request.query:
            return "These days are counted as they are known now: nothing is stored of them as known then."
        return "Curves are sketches: those that were known then."
    if window_counts is not None and not window_counts.panes:
        gone = "were counted on other grids, or are gone: only what was measured then is shown."
        free = "from" in request.query
        return "No pane of these days has been counted." if free else f"The panes of this window {gone}"
    if not groups and spec.reading.task is ModelTask.BINARY:
        return "Curves need scores, and labelled records of both classes."
    return ""


_TRUTHS = {
    LabelTruth.PROVISIONAL: "labels so far",
    LabelTruth.NOWCAST: "corrected for late labels",
    LabelTruth.SETTLED: "final",
}


def _revision_table_rows(main: Sequence[StoredMeasurement]) -> Iterator[tuple[str, ...]]:
    moments = sorted({stored.as_of for stored in main})
    for stored in main:
        row, result = stored.row, stored.row.measurement
        yield (
            str(moments.index(stored.as_of) + 1),
            local_moment_words(stored.as_of),
            _TRUTHS.get(row.truth, str(row.truth)),
            str(result.reason) if result.value is None else format_measure_value(row.measure, result.value),
            format_interval_bounds(row.measure, result.interval),
            f"{result.n:,}",
            "" if row.coverage is None else format_measure_value("coverage", row.coverage),
        )
