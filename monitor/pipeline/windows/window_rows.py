"""Windows to rows: fold, measure, and say what stands behind it; intervals by how much days differ."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from monitor.alerts.alert_rules import Acceptance, AlertedSeries
from monitor.core.array_types import Ints
from monitor.core.clock import floor_to
from monitor.measures.catalogue import BY_NAME
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.catalogue.shift_measures import LOSS_BY_SCORES
from monitor.measures.day_intervals import FEWEST, jackknife_results, without_day
from monitor.measures.evaluate import (
    compare_arms,
    compare_challenger,
    measure_label_quality,
    measure_performance,
    measure_quality,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import SEASON
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift.loss_split import loss_by_scores
from monitor.measures.shift.score_effects import score_move_result
from monitor.measures.volume import WEEKS, volume_ratio
from monitor.pipeline.caches import ModelCaches, NewestSettled, RowsKey
from monitor.pipeline.cycle_model import CycleModel
from monitor.pipeline.windows.due_windows import LabelArrivals, is_counted
from monitor.pipeline.windows.estimate_rows import (
    compare_label_shift,
    estimate_error_rows,
    estimate_rows,
    measure_label_shift,
)
from monitor.pipeline.windows.moment_comparison_rows import (
    EarlierSpans,
    accepted_spans,
    compare_accepted_quality,
    compare_nowcasts,
    compare_performance,
    compare_reference_quality,
    compare_with_reference,
    compare_with_seasons,
    make_uncounted_rows,
    measure_earlier_shift,
)
from monitor.pipeline.windows.nowcast_rows import nowcast_pooled_spans, nowcast_rows
from monitor.pipeline.windows.window_references import window_references
from monitor.pipeline.windows.window_target import WindowTarget, add_independence_warning, fold_window_part
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum
from monitor.windows.day_moments import without_days, zone_of_days
from monitor.windows.strata_folding import merge_rare_versions
from monitor.windows.window_ends import Window, earlier_spans


def make_record_rows(target: WindowTarget, folded: Strata, *, strata: bool = True) -> list[MeasurementRow]:
    """Shift, data quality and volume of a window; of strata only the outputs' headlines."""
    counting, options = target.model.counting, target.options
    references = window_references(target.model, folded)
    rows: list[MeasurementRow] = []
    measured = (
        merge_rare_versions(counting.records_layout, folded, "volume") if strata else {WHOLE: folded[WHOLE]}
    )
    for stratum, records in order_strata(measured):
        features = stratum == WHOLE
        expected = references.expected_cells(stratum, counting, target.caches)
        shifted = measure_shifts(counting, expected, records, replace(options, whole=features))
        checked = measure_quality(counting, records, level=options.level, features=features)
        warned = replace(target, warning=target.warning or references.missing_reference_warning(stratum))
        rows += [
            warned.result_row(result, LabelTruth.NONE, stratum, None)
            for result in _select_stratum_results(stratum, shifted)
        ]
        rows += [
            target.result_row(result, LabelTruth.NONE, stratum, None)
            for result in _select_stratum_results(stratum, checked)
        ]
    rows = jackknife_rows(
        target, PaneHalf.RECORDS, folded, rows, lambda rest: measure_quality(counting, rest[WHOLE])
    )
    rows += warn_independent(target, compare_reference_quality(target, rows, references))
    return [*rows, *_score_move_rows(target, folded[WHOLE]), *_expected_loss_rows(target, folded[WHOLE])]


def _score_move_rows(target: WindowTarget, records: Counters) -> list[MeasurementRow]:
    """How far the mean score of a window is from the reference's, and which features move it by how much."""
    effects = target.model.score_effects
    if effects is None or MeasureFamily.VALUES not in target.options.families:
        return []
    level = target.options.level
    move = effects.explain_move(records, None, level)
    result = score_move_result(move, effects.target, level)
    return [target.result_row(result, LabelTruth.NONE, WHOLE, None)]


def _expected_loss_rows(target: WindowTarget, records: Counters) -> list[MeasurementRow]:
    """How far the scores of a window alone move the log loss, by what scores mean in the reference."""
    reference = target.model.reference
    if reference is None or target.model.version_references:
        return []
    if MeasureFamily.VALUES not in target.options.families:
        return []
    part = loss_by_scores(target.model.counting, reference.labels, records, target.options.level)
    if part is None:
        return []
    return [target.result_row(MeasureResult(LOSS_BY_SCORES, "score", part), LabelTruth.NONE, WHOLE, None)]


def make_label_rows(
    target: WindowTarget, folded: Strata, truth: LabelTruth, *, strata: bool = True
) -> list[MeasurementRow]:
    """Performance and labels of a window: the whole's with intervals, strata's headlines, the arms."""
    options, counting = target.options, target.model.counting
    whole = measure_performance(counting, folded[WHOLE], options)
    rows = _stratum_rows(target, truth, WHOLE, folded[WHOLE], whole)
    coverage = rows[0].coverage
    challenged = compare_challenger(counting, folded[WHOLE], options)
    rows += [target.result_row(result, truth, WHOLE, coverage) for result in challenged]
    rows += measure_label_shift(target, folded[WHOLE], truth, coverage)
    if strata:
        everyone = counting.tally_view(folded[WHOLE]).records
        resampled = target.model.spec.keys.resample_segments
        # Resampling is most of the cost of a stratum, and there may be many: it is done where the model asks
        # for it.
        of_stratum = options if resampled else replace(options, resamples=0, whole=False)
        for stratum, counters in order_strata(merge_rare_versions(counting.labels_layout, folded, "tally")):
            if stratum == WHOLE:
                continue
            # If all rows serve, a stratum is a part of the whole: with as many records it is the whole.
            same = counting.reading.serving is None and counting.tally_view(counters).records == everyone
            results = whole if same else measure_performance(counting, counters, of_stratum)
            rows += _stratum_rows(target, truth, stratum, counters, results)
        rows += [
            target.result_row(result, truth, WHOLE, coverage)
            for result in _arm_results(target, folded, options)
        ]
    rows = jackknife_rows(
        target,
        PaneHalf.LABELS,
        folded,
        rows,
        lambda rest: _measure_label_values(target, rest, options),
        _both_arms(counting),
    )
    return rows + warn_independent(target, compare_with_reference(target, rows, folded))


def order_strata(folded: Strata) -> list[tuple[Stratum, Counters]]:
    """Strata by version and segment, the whole first."""
    return sorted(folded.items(), key=lambda item: tuple(part or "" for part in item[0]))


def measure_performance_values(target: WindowTarget) -> dict[tuple[str, str], MeasureResult]:
    """Performance of the whole without resampling: what a kept window is compared by."""
    counting = target.model.counting
    whole = fold_window_part(target, PaneHalf.LABELS, strata=False)[WHOLE]
    results = measure_performance(counting, whole, replace(target.options, resamples=0, whole=False))
    return {(result.measure, result.subject): result for result in results}


def has_value_moved(
    results: Mapping[tuple[str, str], MeasureResult], kept_rows: Iterable[MeasurementRow]
) -> bool:
    """Whether a value moved by more than a quarter of the half width kept with it, or came, or went."""
    for row in kept_rows:
        result = results.get((row.measure, row.subject))
        if result is None:
            continue
        now, before = result.measurement, row.measurement
        if now.reason != before.reason:
            return True
        if now.value is None or before.value is None or before.interval is None:
            continue
        # An eighth of the interval's width is a quarter of its half width.
        if abs(now.value - before.value) > (before.interval.upper - before.interval.lower) / 8:
            return True
    return False


@dataclass(frozen=True, slots=True)
class WindowMeasures:
    """Windows of one kind, each measured once in a cycle."""

    model: CycleModel
    caches: ModelCaches
    window: Window
    first: int  # windows that start before this moment are partial
    lacking: Ints  # int64, ascending: starts of panes that are not counted; windows that hold one are partial
    oldest: int = 0  # earlier weeks that volumes are compared with begin here or later, as in `first`
    settled: NewestSettled | None = None  # newest settled window of this kind
    # changes that are expected, as of the cycle.
    accepted: Mapping[AlertedSeries, Acceptance] = field(default_factory=dict)

    def measure_without_labels(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the window that ends at `end`."""
        target = self._window_target(end)
        rows = self._rows_once(target, PaneHalf.RECORDS, LabelTruth.NONE)
        rows += [
            self._volume_row(target),
            *estimate_rows(target, self._cached_strata(target, LabelTruth.NONE)),
        ]
        now = self._cached_strata(target, LabelTruth.NONE)[WHOLE]
        compared_rows = self._compare_earlier_spans(target, PaneHalf.RECORDS, LabelTruth.NONE, rows, now)
        return [*rows, *compared_rows, *self._seasonal_rows(target, now)]

    def measure_record_revision(self, end: int) -> list[MeasurementRow]:
        """Shift, data quality and volume of the whole, for a revision."""
        target = self._window_target(end)
        folded = fold_window_part(target, PaneHalf.RECORDS)
        rows = make_record_rows(target, folded, strata=False)
        return [*rows, self._volume_row(target), *estimate_rows(target, folded, strata=False)]

    def measure_with_labels(self, end: int, truth: LabelTruth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the window that ends at `end`, and of its strata."""
        target = self._window_target(end, warning)
        rows = self._rows_once(target, PaneHalf.LABELS, truth)
        state = self._cached_strata(target, truth)
        if truth is LabelTruth.SETTLED:
            rows += estimate_error_rows(target, rows, state)
        return [*rows, *self._compare_earlier_spans(target, PaneHalf.LABELS, truth, rows, state[WHOLE])]

    def measure_label_revision(self, end: int, truth: LabelTruth, warning: str = "") -> list[MeasurementRow]:
        """Performance and labels of the whole, for a revision, also against other moments."""
        target = self._window_target(end, warning)
        folded = fold_window_part(target, PaneHalf.LABELS, strata=False)
        rows = make_label_rows(target, folded, truth, strata=False)
        rows += estimate_error_rows(target, rows, folded) if truth is LabelTruth.SETTLED else []
        return [*rows, *self._compare_earlier_spans(target, PaneHalf.LABELS, truth, rows, folded[WHOLE])]

    def measure_nowcasts(self, end: int, truths: LabelArrivals) -> list[MeasurementRow]:
        """Performance of the window that ends at `end` by the labels so far, weighed; also against others."""
        target = self._window_target(end, truths.breach)
        rows = nowcast_rows(target, truths)
        compared_rows: list[MeasurementRow] = []
        for earlier, counted in self._earlier_spans(target, PaneHalf.LABELS):
            if not counted:
                compared_rows += make_uncounted_rows(target, PaneHalf.LABELS, rows, earlier)
            elif earlier.spans:
                figures = nowcast_pooled_spans(target, truths, earlier.spans)
                compared_rows += compare_nowcasts(target, rows, figures, earlier.name)
        return warn_independent(target, [*rows, *compare_with_reference(target, rows, {}), *compared_rows])

    def has_performance_moved(self, end: int, kept_rows: Iterable[MeasurementRow]) -> bool:
        """Whether the window's performance moved away from what was kept."""
        return has_value_moved(measure_performance_values(self._window_target(end)), kept_rows)

    def _volume_row(self, target: WindowTarget) -> MeasurementRow:
        """Records against the same hours of earlier weeks. Cost: sums over the panes' facts, no state."""
        panes, level = self.caches.panes, self.model.spec.keys.level
        weeks = (self.window.earlier_span(target.end, back) for back in range(1, WEEKS + 1))
        earlier = [panes.sum_records(*week) for week in weeks if self._is_counted(*week)]
        measurement = volume_ratio(panes.sum_records(target.start, target.end), earlier, level)
        return target.result_row(MeasureResult("volume_ratio", "", measurement), LabelTruth.NONE, WHOLE, None)

    def _is_counted(self, start: int, end: int, *, frozen: bool = False) -> bool:
        """Whether a span was counted whole: within the horizon, or also where it is no longer followed."""
        oldest = self.first if frozen else max(self.first, self.oldest)
        return start >= oldest and is_counted(self.lacking, start, end)

    def _compare_earlier_spans(
        self,
        target: WindowTarget,
        part: PaneHalf,
        truth: LabelTruth,
        rows: list[MeasurementRow],
        now: Counters,
    ) -> list[MeasurementRow]:
        """What a window has to say against each of the earlier spans that are configured."""
        compared_rows: list[MeasurementRow] = []
        for earlier, counted in self._earlier_spans(target, part):
            if not counted:
                compared_rows += make_uncounted_rows(target, part, rows, earlier)
            elif earlier.spans:
                compared_rows += self._compare_with_span(target, part, truth, rows, now, earlier)
        return warn_independent(target, compared_rows)

    def _seasonal_rows(self, target: WindowTarget, now: Counters) -> list[MeasurementRow]:
        """Shift against earlier periods of the season: those that were counted whole, less unusual days."""
        spec = self.model.spec
        if not spec.season:
            return []
        spans = earlier_spans(self.window, target.end, spec.season, self.model.reading.pane)
        zone = zone_of_days(self.window.zone, self.model.reading.pane)
        periods = [
            EarlierSpans(SEASON, without_days(span, spec.unusual_days, zone))
            for span in spans
            if self._is_counted(*span, frozen=True)
        ]

        def fold() -> Strata:
            sums = (period.fold_spans(target, PaneHalf.RECORDS)[WHOLE] for period in periods)
            # All periods are in what the cache compares: rows are made anew where any of them changed.
            return {WHOLE: now} | {Stratum(version=str(at)): each for at, each in enumerate(sums)}

        def measure(sides: Strata) -> list[MeasurementRow]:
            then = [sides[stratum] for stratum in sides if stratum != WHOLE]
            return compare_with_seasons(target, now, then, self.first)

        return warn_independent(
            target,
            self.caches.measure_rows_once(self._rows_key(target, LabelTruth.NONE, SEASON), fold, measure),
        )

    def _earlier_spans(self, target: WindowTarget, part: PaneHalf) -> Iterator[tuple[EarlierSpans, bool]]:
        """Earlier spans that a window is compared with, and whether they were counted whole."""
        pane = self.model.reading.pane
        spans = [
            EarlierSpans(name, tuple(earlier_spans(self.window, target.end, name, pane)))
            for name in self.model.spec.keys.against
        ]
        for earlier in (*spans, *accepted_spans(target, part)):
            yield earlier, all(self._is_counted(*span, frozen=True) for span in earlier.spans)

    def _compare_with_span(
        self,
        target: WindowTarget,
        part: PaneHalf,
        truth: LabelTruth,
        rows: list[MeasurementRow],
        now: Counters,
        earlier: EarlierSpans,
    ) -> list[MeasurementRow]:
        def fold() -> Strata:
            return {WHOLE: now, Stratum(version=earlier.name): earlier.fold_spans(target, part)[WHOLE]}

        def measure(sides: Strata) -> list[MeasurementRow]:
            then = sides[Stratum(version=earlier.name)]
            if part is PaneHalf.RECORDS:
                shifted = measure_earlier_shift(target, now, earlier, then)
                return shifted + compare_accepted_quality(target, rows, earlier, then)
            differences = compare_performance(target, rows, earlier, then)
            coverage = rows[0].coverage
            return differences + compare_label_shift(target, (now, then), truth, coverage, earlier.name)

        return self.caches.measure_rows_once(self._rows_key(target, truth, earlier.name), fold, measure)

    def _rows_once(self, target: WindowTarget, part: PaneHalf, truth: LabelTruth) -> list[MeasurementRow]:
        """Measure a window, unless this cycle did so already, or the last one did and nothing changed."""

        def measure(folded: Strata) -> list[MeasurementRow]:
            if part is PaneHalf.RECORDS:
                return make_record_rows(target, folded)
            return make_label_rows(target, folded, truth)

        return self.caches.measure_rows_once(
            self._rows_key(target, truth), lambda: fold_window_part(target, part), measure
        )

    def _cached_strata(self, target: WindowTarget, truth: LabelTruth) -> Strata:
        """State behind what was measured once."""
        return self.caches.get_cached_strata(self._rows_key(target, truth))

    def _rows_key(self, target: WindowTarget, truth: LabelTruth, against: str = "") -> RowsKey:
        return (self.window.name, target.end, truth, target.warning, against)

    def _window_target(self, end: int, warning: str = "") -> WindowTarget:
        whole = self._is_counted(self.window.start_of(end), end, frozen=True)
        partial = "" if whole else "partial"
        return WindowTarget(
            self.model,
            self.caches,
            self.window,
            end,
            ", ".join(filter(None, (partial, warning))),
            self.settled,
            self.accepted,
        )


def _stratum_rows(
    target: WindowTarget,
    truth: LabelTruth,
    stratum: Stratum,
    counters: Counters,
    results: list[MeasureResult],
) -> list[MeasurementRow]:
    counting = target.model.counting
    tally = counting.tally_view(counters)
    coverage = tally.labelled / tally.records if tally.records else None
    labels = measure_label_quality(counting, counters, target.options, delays=stratum == WHOLE)
    return [
        target.result_row(result, truth, stratum, coverage)
        for result in _select_stratum_results(stratum, [*results, *labels])
    ]


def _select_stratum_results(stratum: Stratum, results: list[MeasureResult]) -> list[MeasureResult]:
    """All results of the whole, the headline measures of a stratum without detail: there may be many."""
    if stratum == WHOLE:
        return results
    return [
        result
        if result.measurement.detail is None
        else replace(result, measurement=replace(result.measurement, detail=None))
        for result in results
        if BY_NAME[result.measure].headline
    ]


def _arm_results(target: WindowTarget, folded: Strata, options: MeasureOptions) -> list[MeasureResult]:
    counting = target.model.counting
    if counting.reading.arms is None:
        return []
    control, treatment = (folded.get(arm) for arm in _both_arms(counting))
    return compare_arms(counting, control, treatment, options)


def _both_arms(counting: Counting) -> tuple[Stratum, ...]:
    """Strata of control and treatment, if there are any."""
    arms = counting.reading.arms
    return () if arms is None else arms.arm_strata


def _measure_label_values(
    target: WindowTarget, folded: Strata, options: MeasureOptions
) -> list[MeasureResult]:
    """Everything that labels say of the whole: values without intervals."""
    counting, whole, options = target.model.counting, folded[WHOLE], replace(options, resamples=0)
    return [
        *measure_performance(counting, whole, options),
        *measure_label_quality(counting, whole, options),
        *compare_challenger(counting, whole, options),
        *_arm_results(target, folded, options),
    ]


def jackknife_rows(
    target: WindowTarget,
    part: PaneHalf,
    folded: Strata,
    rows: list[MeasurementRow],
    results: Callable[[Strata], Iterable[MeasureResult]],
    also: Sequence[Stratum] = (),
) -> list[MeasurementRow]:
    """Rows of a window, those of the whole with intervals by its days, where the model asks for that.

    Parameters
    ----------
    folded
        the window by stratum.
    results
        measures that the whole of a sum has. Cost: it is called once for each day.
    also
        strata that it looks at besides the whole.
    """
    if target.model.spec.keys.dependence == "none":
        return rows
    days = _day_sums(target, part, strata=len(folded) > 1)
    if len(days) < FEWEST:
        return rows
    measured = [
        MeasureResult(row.measure, row.subject, row.measurement) for row in rows if _is_uncompared_whole(row)
    ]
    # Sums less a day are integers less integers: exact, and no day is counted again.
    left_out = [results(_strata_without_day(folded, day, (WHOLE, *also))) for day in days]
    changed = jackknife_results(measured, left_out, target.model.spec.keys.level)
    return [
        replace(row, measurement=changed[row.measure, row.subject], warning=target.warning)
        if _is_uncompared_whole(row) and (row.measure, row.subject) in changed
        else row
        for row in rows
    ]


def warn_independent(target: WindowTarget, rows: list[MeasurementRow]) -> list[MeasurementRow]:
    """Rows with a warning where their intervals, or parts of them, take the records as independent."""
    if target.model.spec.keys.dependence == "none":
        return rows
    return [replace(row, warning=add_independence_warning(row.warning, row.measurement)) for row in rows]


def _day_sums(target: WindowTarget, part: PaneHalf, *, strata: bool) -> list[Strata]:
    """Sums of the panes of each day of a window that holds any: of the zone, from a pane's start on."""
    panes, pane = target.caches.panes, target.model.counting.reading.pane
    # In a zone whose midnight lies within a pane a day begins with that pane: panes are not divided.
    starts = (floor_to(at, pane) for at in target.window.days_of(target.end))
    bounds = [*sorted({max(at, target.start) for at in starts}), target.end]
    sums = (panes.sum_window(part, *span, strata=strata, kept=False) for span in pairwise(bounds))
    return [day for day in sums if WHOLE in day]


def _is_uncompared_whole(row: MeasurementRow) -> bool:
    return row.is_of_whole and not row.against


def _strata_without_day(folded: Strata, day: Strata, needed: Iterable[Stratum]) -> Strata:
    return {
        stratum: without_day(folded[stratum], day[stratum]) if stratum in day else folded[stratum]
        for stratum in needed
        if stratum in folded
    }
