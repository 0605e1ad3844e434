"""The whole of a window against another moment: the reference's labels, the window before, earlier weeks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from monitor.alerts.default_rules import main_measure
from monitor.core.clock import DAY, to_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.comparison_measures import CONTRIBUTION, LOSS_BY_MIX
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.evaluate import (
    make_expected_cells,
    measure_performance,
    measure_quality,
    measure_seasonal_shift,
    measure_segment_mean,
    measure_shifts,
)
from monitor.measures.measure_options import LABEL, MeasureResult
from monitor.measures.measurement_comparison import (
    MEANS,
    OF_MEANS,
    REFERENCE,
    SEASON,
    SegmentMean,
    is_comparable,
    is_worse,
    largest_segment_contribution,
    measurement_difference,
    mix_measurements,
)
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift.loss_split import loss_by_mix
from monitor.measures.shift.stability_index import list_absent_shifts
from monitor.pipeline.windows.estimate_rows import blank_row_values, find_selective_classes
from monitor.pipeline.windows.window_references import WindowReferences
from monitor.pipeline.windows.window_target import WindowTarget, fold_window_part
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.records.reference import Reference
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE, Strata, Stratum, select_segments
from monitor.windows.strata_folding import fold_strata
from monitor.windows.window_ends import FEWEST_PERIODS, WEEK, count_shift_weeks, seasonal_reach

Figures: TypeAlias = Mapping[tuple[str, str], Measurement]
"""By measure and subject."""

_OF_SHIFT = frozenset({MeasureFamily.SHIFT, MeasureFamily.DISTANCES, MeasureFamily.VALUES})
_FAULTY = frozenset(measure.name for measure in CATALOGUE if measure.family is MeasureFamily.QUALITY)


@dataclass(frozen=True, slots=True)
class EarlierSpans:
    """Spans of the past that a window is compared with, under the name that its rows bear."""

    name: str
    spans: tuple[tuple[int, int], ...]

    def fold_spans(self, target: WindowTarget, part: PaneHalf, *, strata: bool = False) -> Strata:
        """Sum of the spans by stratum, or of the whole alone; the whole is always there."""
        layout, panes = target.model.counting.layout_of(part), target.caches.panes
        folded = fold_strata(layout, (panes.sum_window(part, *span, strata=strata) for span in self.spans))
        return {WHOLE: Counters.make_empty(layout)} | folded


def accepted_spans(target: WindowTarget, part: PaneHalf) -> list[EarlierSpans]:
    """Windows that rules on a kind of window are judged against, as their change was accepted."""
    truths = {
        rule.name: rule.truth
        for rule in target.model.spec.rules
        if BY_NAME[rule.measure].family is MeasureFamily.SHIFT or rule.against
    }
    return [
        EarlierSpans(change.comparison_name, ((change.start, change.end),))
        for series, change in target.accepted.items()
        if (series.window, series.version, series.segment) == (target.window.name, "", "")
        and series.rule in truths
        and (truths[series.rule] == "") == (part is PaneHalf.RECORDS)
    ]


def compare_with_reference(
    target: WindowTarget, rows: Iterable[MeasurementRow], folded: Strata
) -> list[MeasurementRow]:
    """Differences from the reference's performance, and the segment that contributes most to a fall.

    Of segments the main measure's alone, each from the same segment of the reference. Where labels come for
    some predictions only, and the reference's for all, no difference has a value: ``selective_labels``. None
    where the reference has no labels, or versions have references of their own: what a mixture of their
    performances leads one to expect is not known. Cost: the reference and its segments are measured once.

    Parameters
    ----------
    rows
        performance of the whole and of segments.
    folded
        labels part by stratum; of the whole alone, or of nothing, there is no contribution.
    """
    reference = target.model.reference
    if reference is None or target.model.version_references:
        return []
    then = target.caches.made_once(
        ("performance", reference.labels), lambda: _earlier_performance(target, reference.labels, every=False)
    )
    figures = {key: figure for key, figure in then.items() if figure.value is not None}
    measured = list(rows)
    differences = _difference_rows(target, measured, figures, REFERENCE)
    # If labels come for some predictions alone, and the reference's for all, that choice makes the
    # difference.
    classes = find_selective_classes(target, folded.get(WHOLE), measured[0].truth) if differences else ()
    if classes:
        return blank_row_values(differences, classes)
    # Before differences of segments join in: it is the whole's fall that segments contribute to.
    fall = _fall_of_main(target, differences)
    differences += _split_loss(target, reference, folded.get(WHOLE), measured)
    differences += _compare_segments(target, measured, reference)
    if fall is None:
        return differences
    labels = {WHOLE: reference.labels, **reference.label_segments}
    return differences + _contribution_rows(target, fall, folded, labels)


def _split_loss(
    target: WindowTarget, reference: Reference, labels: Counters | None, measured: Sequence[MeasurementRow]
) -> list[MeasurementRow]:
    """What of a difference of log losses from the reference other records make."""
    if labels is None or not measured:
        return []
    part = loss_by_mix(target.model.counting, reference.labels, labels, target.options.level)
    if part is None:
        return []
    result = MeasureResult(LOSS_BY_MIX, "", part)
    return [target.result_row(result, measured[0].truth, WHOLE, measured[0].coverage, against=REFERENCE)]


def _compare_segments(
    target: WindowTarget, rows: Sequence[MeasurementRow], reference: Reference
) -> list[MeasurementRow]:
    """Differences of the main measure, of each segment from the same one of the reference."""
    reading = target.model.counting.reading
    main = main_measure(reading.task, scored=reading.has_score)

    def measured() -> Mapping[str | None, Measurement]:
        options = replace(target.options, resamples=0, whole=False)
        strata = reference.label_segments.items()
        parts = {
            of.segment: measure_performance(target.model.counting, labels, options) for of, labels in strata
        }
        return {
            segment: one.measurement
            for segment, results in parts.items()
            for one in results
            if (one.measure, one.subject) == (main, "") and one.measurement.value is not None
        }

    then = target.caches.made_once(("segments", reference.labels), measured)
    return [
        target.result_row(
            MeasureResult(main, "", measurement_difference(row.measurement, then[row.segment])),
            row.truth,
            Stratum(segment=row.segment),
            row.coverage,
            against=REFERENCE,
        )
        for row in rows
        if (row.measure, row.subject, row.against, row.version) == (main, "", "", None)
        and row.segment in then
        and row.measurement.interval is not None
    ]


def compare_reference_quality(
    target: WindowTarget, rows: Iterable[MeasurementRow], references: WindowReferences
) -> list[MeasurementRow]:
    """Differences of faulty values from the reference's: of the main window, and where a rule reads them.

    Of versions with references of their own, from what these lead one to expect. Cost: each reference is
    looked at once.
    """
    spec, place = target.model.spec, (REFERENCE, target.window.name)
    wanted = _FAULTY
    if target.window.name != spec.main_window:
        wanted &= {rule.measure for rule in spec.rules if (rule.against, rule.window) == place}
    if not wanted or references.default is None:
        return []
    shares = references.shares or ((1.0, references.default),)

    def checked(records: Counters) -> Figures:
        return target.caches.made_once(("quality", records), lambda: _reference_quality(target, records))

    then = [(share, checked(reference.records)) for share, reference in shares]
    return _compare_quality(target, rows, wanted, then, REFERENCE)


def compare_accepted_quality(
    target: WindowTarget, rows: Iterable[MeasurementRow], earlier: EarlierSpans, then: Counters
) -> list[MeasurementRow]:
    """Differences of faulty values from an accepted window's, if a rule on them is judged against it."""
    accepted = {change.comparison_name: series.rule for series, change in target.accepted.items()}
    rules = target.model.spec.rules
    measures = {rule.measure for rule in rules if rule.name == accepted.get(earlier.name)}
    wanted = {name for name in measures if BY_NAME[name].family is MeasureFamily.QUALITY}
    if not wanted:
        return []
    return _compare_quality(target, rows, wanted, [(1.0, _reference_quality(target, then))], earlier.name)


def _reference_quality(target: WindowTarget, records: Counters) -> Figures:
    results = measure_quality(target.model.counting, records, level=target.model.spec.keys.level)
    return {(result.measure, result.subject): result.measurement for result in results}


def _compare_quality(
    target: WindowTarget,
    rows: Iterable[MeasurementRow],
    wanted: Collection[str],
    then: Sequence[tuple[float, Figures]],
    against: str,
) -> list[MeasurementRow]:
    return [
        target.result_row(_difference_result(row, then), LabelTruth.NONE, WHOLE, None, against=against)
        for row in rows
        if row.measure in wanted and row.is_of_whole and not row.against
    ]


def _difference_result(row: MeasurementRow, figures: Sequence[tuple[float, Figures]]) -> MeasureResult:
    parts = [(share, each[row.measure, row.subject]) for share, each in figures]
    then = parts[0][1] if len(parts) == 1 else mix_measurements(parts)
    return MeasureResult(
        row.measure, row.subject, replace(measurement_difference(row.measurement, then), detail=None)
    )


def compare_performance(
    target: WindowTarget, rows: Iterable[MeasurementRow], earlier: EarlierSpans, then: Counters
) -> list[MeasurementRow]:
    """Differences from the performance of earlier spans, as `compare_with_reference`, of every measure.

    `then`: labels of the spans, the whole.
    """
    differences = _difference_rows(target, rows, _earlier_performance(target, then, every=True), earlier.name)
    fall = _fall_of_main(target, differences)
    if fall is None:
        return differences
    sides = (
        fold_window_part(target, PaneHalf.LABELS),
        earlier.fold_spans(target, PaneHalf.LABELS, strata=True),
    )
    return differences + _contribution_rows(target, fall, *sides)


def compare_nowcasts(
    target: WindowTarget, rows: Iterable[MeasurementRow], then: Iterable[MeasureResult], against: str
) -> list[MeasurementRow]:
    """Differences of nowcasts from those of earlier spans."""
    figures = {(result.measure, result.subject): result.measurement for result in then}
    return _difference_rows(target, rows, figures, against)


def measure_earlier_shift(
    target: WindowTarget, now: Counters, earlier: EarlierSpans, then: Counters
) -> list[MeasurementRow]:
    """Shift against the records of earlier spans, as against a reference."""
    counting, options = target.model.counting, target.options
    if MeasureFamily.SHIFT not in options.families:
        return []
    expected = make_expected_cells(counting, then)
    results = measure_shifts(counting, expected, now, replace(options, families=options.families & _OF_SHIFT))
    return [
        target.result_row(result, LabelTruth.NONE, WHOLE, None, against=earlier.name)
        for result in results
        if BY_NAME[result.measure].family is not MeasureFamily.VALUES or result.measure == OF_MEANS
    ]


def compare_with_seasons(
    target: WindowTarget, now: Counters, periods: Sequence[Counters], first: int
) -> list[MeasurementRow]:
    """Shift against the same phase of earlier periods.

    Parameters
    ----------
    periods
        records parts of them; those without records are none.
    first
        moment from which on the log is counted.
    """
    if MeasureFamily.SHIFT not in target.options.families:
        return []
    counters = [period for period in periods if len(period.index)]
    results = measure_seasonal_shift(
        target.model.counting,
        counters,
        now,
        target.options,
        _enough_periods_words(target, len(counters), first),
    )
    return [target.result_row(result, LabelTruth.NONE, WHOLE, None, against=SEASON) for result in results]


def _enough_periods_words(target: WindowTarget, count: int, first: int) -> str:
    """When there will be enough periods, and the line to write where an older log would do."""
    spec, name = target.model.spec, target.window.name
    needed = seasonal_reach(name, spec.season, FEWEST_PERIODS)
    days, horizon = count_shift_weeks(name, spec.season) * WEEK // DAY, spec.reading.horizon
    if count >= FEWEST_PERIODS:
        return f"fewer than {FEWEST_PERIODS} of {count} earlier periods hold it"
    sentence = f"{count} of {FEWEST_PERIODS} earlier periods of {days} days are counted with records"
    if first + needed > target.end:
        sentence += f"; the third is counted from {to_iso(first + needed)[:10]} on"
    if needed > horizon:
        sentence += f'; horizon = "{-(-needed // DAY)}d" counts what the log holds of them'
    return sentence


def make_uncounted_rows(
    target: WindowTarget, part: PaneHalf, rows: Iterable[MeasurementRow], earlier: EarlierSpans
) -> list[MeasurementRow]:
    """What would be compared with earlier spans that were not counted whole."""
    if part is PaneHalf.LABELS:
        return [
            replace(
                row,
                measurement=Measurement.without_value(Reason.NOT_COUNTED, n=row.measurement.n),
                warning=target.warning,
                against=earlier.name,
            )
            for row in rows
            if _is_compared(row, every=True) or (row.subject == LABEL and not row.against)
        ]
    options = target.options
    if MeasureFamily.SHIFT not in options.families:
        return []
    n = target.caches.panes.sum_records(target.start, target.end)
    results = [
        result
        for name, grid in target.model.counting.output_grids.items()
        for result in list_absent_shifts(name, grid, Reason.NOT_COUNTED, n, options)
    ]
    if MeasureFamily.VALUES in options.families:
        absent = Measurement.without_value(Reason.NOT_COUNTED, n=n)
        results += [MeasureResult(OF_MEANS, name, absent) for name in target.model.counting.summed_names]
    return [
        target.result_row(result, LabelTruth.NONE, WHOLE, None, against=earlier.name) for result in results
    ]


def _earlier_performance(target: WindowTarget, labels: Counters, *, every: bool) -> Figures:
    """Performance that later ones can be compared with."""
    results = measure_performance(target.model.counting, labels, target.options)
    return {
        (result.measure, result.subject): result.measurement
        for result in results
        if is_comparable(BY_NAME[result.measure], every=every)
    }


def _is_compared(row: MeasurementRow, *, every: bool) -> bool:
    plain = row.is_of_whole and not row.against
    certain = every or row.measurement.interval is not None
    return plain and certain and is_comparable(BY_NAME[row.measure], every=every)


def _difference_rows(
    target: WindowTarget, rows: Iterable[MeasurementRow], then: Figures, against: str
) -> list[MeasurementRow]:
    """Of the headlines that have an interval, or, against the log's own past, of all; with a figure then."""
    differences, every = [], against != REFERENCE
    for row in rows:
        figure = then.get((row.measure, row.subject))
        if figure is not None and _is_compared(row, every=every):
            result = MeasureResult(row.measure, row.subject, measurement_difference(row.measurement, figure))
            differences.append(target.result_row(result, row.truth, WHOLE, row.coverage, against=against))
    return differences


def _fall_of_main(target: WindowTarget, differences: Iterable[MeasurementRow]) -> MeasurementRow | None:
    """The main measure's difference, if it is one to the worse."""
    main = MEANS[target.model.counting.reading.task]
    direction = BY_NAME[main].direction
    falls = (row for row in differences if row.measure == main and is_worse(direction, row.measurement))
    return next(falls, None)


def _contribution_rows(
    target: WindowTarget, fall: MeasurementRow, now: Strata, then: Strata
) -> list[MeasurementRow]:
    counting = target.model.counting
    sides = _segment_means(counting, now), _segment_means(counting, then)
    if not all(sides):
        return []
    whole = measure_segment_mean(counting, now[WHOLE]), measure_segment_mean(counting, then[WHOLE])
    measurement = largest_segment_contribution(BY_NAME[fall.measure], *sides, whole)
    return [] if measurement is None else [replace(fall, measure=CONTRIBUTION, measurement=measurement)]


def _segment_means(counting: Counting, strata: Strata) -> Mapping[str, SegmentMean]:
    return {
        segment.segment or "": measure_segment_mean(counting, strata[segment])
        for segment in select_segments(strata, counting.segments)
    }
