"""Evaluate: all measures of a set of counters, by name."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from monitor.core.errors import GridMismatch
from monitor.core.measurement import LEVEL, DetailTable, Reason
from monitor.measures import regression
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.class_estimates import class_results, estimate_top_class_accuracy
from monitor.measures.classification import binary_scores, confusion, gains, multiclass_scores
from monitor.measures.classification.binary_scores import ScoredLabels
from monitor.measures.classification.confusion import ConfusionMargins, list_overall_shares
from monitor.measures.comparison import arm_outcomes, challenger
from monitor.measures.day_intervals import without_day
from monitor.measures.label_arrival import class_coverage, label_results
from monitor.measures.measure_options import FEATURE, MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import NO_RECORDS, SegmentMean
from monitor.measures.regression import mean_absolute_error
from monitor.measures.score_estimates import (
    ClassCalibrations,
    ExpectedErrors,
    LearnedCalibration,
    ScoreCalibration,
    binary_results,
    estimate_absolute_error,
    list_absent_estimates,
)
from monitor.measures.shift import seasonal_shift, stability_index, value_statistics
from monitor.measures.shift.shift_cells import ExpectedCells, ReferenceMixture, ShiftSubject
from monitor.measures.statistics.intervals import mix_moments, moments_of
from monitor.measures.statistics.ranked_scores import RankedScores
from monitor.measures.volume import measure_log_delays, volume_results
from monitor.records.counting import TALLY, VOLUME, Counting
from monitor.records.labels import paired_scores
from monitor.records.reading import ModelTask
from monitor.states.counters import CounterLayout, Counters
from monitor.states.views import CellHistogram


def measure_performance(counting: Counting, labels: Counters, options: MeasureOptions) -> list[MeasureResult]:
    """Measures of a labels part; none for a model without labels.

    Cost: without a bootstrap about 0.3 ms for a binary model, with one (400 resamples) below 10 ms.
    """
    if counting.label is None:
        return []
    _require_layout(counting.labels_layout, labels)
    if counting.reading.task is ModelTask.REGRESSION:
        moments = counting.errors_view(labels)
        tables = counting.error_table(labels), counting.label_errors(labels)
        return [
            *regression.regression_results(moments, counting.percentages_view(labels), options),
            *regression.cell_based_results(moments, *tables, options),
        ]
    rng, opened = _seeded_generator(labels) if options.resamples else None, labels.make_dense()
    results = list(confusion.confusion_results(counting.confusion_view(opened), options, rng))
    clipped = int(opened.dense_block("tally")[TALLY.index("clipped")])
    if counting.counts_scores:
        losses = counting.losses_view(opened) if counting.has_probability_scores else None
        table, bounds = counting.score_table(opened), counting.score_bounds
        results += binary_scores.score_results(
            ScoredLabels(table, bounds, counting.reading.classes, losses, clipped), options, rng
        )
    if counting.probability_classes:
        results += multiclass_scores.probability_results(
            counting.class_tables(opened), counting.losses_view(opened), clipped, options
        )
        if options.whole and MeasureFamily.CALIBRATION in options.families:
            table, bounds = counting.score_table(opened), counting.score_bounds
            results += multiclass_scores.measure_top_class_calibration(table, bounds, options, rng)
    return results


def make_curve_tables(
    counting: Counting, labels: Counters, options: MeasureOptions
) -> dict[str, DetailTable]:
    """Curves behind measures of a labels part, by their corners; none of a model without scores."""
    if not counting.counts_scores:
        return {}
    _require_layout(counting.labels_layout, labels)
    opened = labels.make_dense()
    table, bounds = counting.score_table(opened), counting.score_bounds
    scored = ScoredLabels(table, bounds, counting.reading.classes, None, 0)
    profit = options.profit if MeasureFamily.GAINS in options.families else {}
    return binary_scores.make_score_curves(scored, profit, counting.reading.threshold)


def make_stability_tables(
    counting: Counting, expected: ExpectedCells, records: Counters, options: MeasureOptions
) -> dict[str, DetailTable]:
    """All cells behind the stability index of a records part, by subject."""
    _require_layout(counting.records_layout, records)
    sides = stability_index.StabilityCounts.from_counts(
        expected, records.index, records.value, Reason.NO_RECORDS
    )
    indices = stability_index.stability_indices(sides, replace(options, detailed=True))
    pairs = zip(expected.subjects, indices, strict=True)
    return {subject.name: index.detail for subject, index in pairs if index.detail is not None}


def find_best_threshold(counting: Counting, labels: Counters, options: MeasureOptions) -> float | None:
    """Threshold on the score that would have given the largest profit; None where nothing tells."""
    if not (counting.counts_scores and options.profit):
        return None
    _require_layout(counting.labels_layout, labels)
    scores = RankedScores.from_table(counting.score_table(labels), counting.score_bounds)
    return gains.largest_profit_threshold(
        scores, gains.make_binary_amounts(counting.reading.classes, options.profit)
    )


def make_expected_cells(
    counting: Counting, reference: Counters | ReferenceMixture, *, features: bool = True, only: str = ""
) -> ExpectedCells:
    """What a reference, or several, lead one to expect of outputs and features: made once, used often.

    Parameters
    ----------
    reference
        records part.
    features
        False for versions, segments and arms, whose features are not counted.
    only
        the one output or feature; empty: all of them.
    """
    parts = reference.parts if isinstance(reference, ReferenceMixture) else ((1.0, reference),)
    for _, counters in parts:
        _require_layout(counting.records_layout, counters)
    subjects = tuple(
        ShiftSubject(name, grid, counting.records_layout.offsets[name])
        for name, grid in counting.output_grids.items()
        if (features or not name.startswith(FEATURE)) and only in ("", name)
    )
    moments = {
        name: mix_moments(
            [(share, moments_of(counting.moments_view(counters), name)) for share, counters in parts]
        )
        for name in (subject.name for subject in subjects if subject.name in counting.summed_names)
    }
    return ExpectedCells(subjects, reference.dense_counts(), moments)


def measure_shifts(
    counting: Counting, expected: ExpectedCells | None, records: Counters, options: MeasureOptions
) -> list[MeasureResult]:
    """Shift of score, prediction and each feature of a records part against what is expected.

    Parameters
    ----------
    expected
        None: score and prediction are absent for want of a reference.
    """
    _require_layout(counting.records_layout, records)
    results: list[MeasureResult] = []
    if expected is not None:
        absent = Reason.NOT_COUNTED if _record_count(records) else Reason.NO_RECORDS
        if MeasureFamily.SHIFT in options.families:
            results += stability_index.stability_results(
                expected, records.index, records.value, options, absent
            )
        if options.whole and MeasureFamily.VALUES in options.families:
            sums = counting.moments_view(records) if counting.summed_names else None
            results += value_statistics.value_results(
                expected, records.index, records.value, sums, options.level, absent
            )
        return results
    for name, grid in counting.output_grids.items():
        if MeasureFamily.SHIFT in options.families and not name.startswith(FEATURE):
            n = counting.histogram_view(records, name).n
            results += stability_index.list_absent_shifts(name, grid, Reason.NO_REFERENCE, n, options)
    return results


def measure_seasonal_shift(
    counting: Counting, periods: Sequence[Counters], records: Counters, options: MeasureOptions, when: str
) -> list[MeasureResult]:
    """Shift of a records part against the sum of earlier periods, by how far these lie from one another.

    Parameters
    ----------
    periods
        records parts of the same phase, each with records.
    when
        what is said where there are fewer than three of them.
    """
    total = Counters.merge_all(counting.records_layout, periods)
    expected = make_expected_cells(counting, total)
    shifted = measure_shifts(
        counting, expected, records, replace(options, families=frozenset({MeasureFamily.SHIFT}))
    )
    # Each period against the sum of all others, as the window is compared with the sum of all.
    others = [(period, make_expected_cells(counting, without_day(total, period))) for period in periods]
    apart, blind = (
        seasonal_shift.PeriodDistances.from_periods(others, options),
        seasonal_shift.list_unbounded_subjects(expected),
    )
    results = list(seasonal_shift.season_results(shifted, apart, blind, options.level, when))
    if MeasureFamily.VALUES not in options.families or not counting.summed_names:
        return results
    now, *sums = (counting.moments_view(part) for part in (records, *periods))
    for name in counting.summed_names:
        then = [moments_of(each, name) for each in sums]
        grid = counting.output_grids[name]
        mean = seasonal_shift.season_mean_difference(moments_of(now, name), then, grid, options.level, when)
        results.append(MeasureResult(seasonal_shift.MEAN, name, mean))
    return results


def measure_quality(
    counting: Counting, records: Counters, *, level: float = LEVEL, features: bool = True
) -> list[MeasureResult]:
    """Volumes, and the rates of missing, invalid and unseen values, of a records part.

    Parameters
    ----------
    features
        False for versions and arms, whose features are not counted.
    """
    _require_layout(counting.records_layout, records)
    dense, layout = records.dense_counts(), counting.records_layout
    counted = dense[layout.block_slice("volume")]
    unusual = int(dense[layout.block_slice("unusual_names")][0]) if features else None
    results = list(volume_results(counted, unusual))
    if features:
        delays = counting.log_delays_view(records) if counting.reading.has_logged_column else None
        results += measure_log_delays(delays, int(counted[VOLUME.index("records")]))
    absent = Reason.NOT_COUNTED if counted[VOLUME.index("records")] else Reason.NO_RECORDS
    for name, grid in counting.output_grids.items():
        if features or not name.startswith(FEATURE):
            histogram = CellHistogram(grid, dense[layout.block_slice(name)])
            results += value_statistics.quality_results(name, histogram, absent, level)
    return results


def measure_label_quality(
    counting: Counting, labels: Counters, options: MeasureOptions, *, delays: bool = True
) -> list[MeasureResult]:
    """Coverage, delays and oddities of the labels; none for a model without labels.

    Parameters
    ----------
    delays
        False for versions, segments and arms, whose delays are not counted.
    """
    if counting.label is None:
        return []
    _require_layout(counting.labels_layout, labels)
    opened = labels.make_dense()
    table, reading = counting.delays_view(opened) if delays else None, counting.reading
    results = list(label_results(opened.dense_block("tally"), table, options.level))
    if delays and reading.classes:
        predicted = counting.predicted_counts(opened)
        results += class_coverage(reading.classes, predicted, options.level, reading.only_for)
    return results


def compare_arms(
    counting: Counting, control: Counters | None, treatment: Counters | None, options: MeasureOptions
) -> list[MeasureResult]:
    """Outcomes of two arms' labels parts; none without labels, or without arms."""
    no_arms = counting.reading.arms is None and control is None and treatment is None
    wanted = MeasureFamily.COMPARISON in options.families
    if counting.label is None or no_arms or not wanted:
        return []
    for arm in (control, treatment):
        if arm is not None:
            _require_layout(counting.labels_layout, arm)
    if counting.reading.task is ModelTask.REGRESSION:
        means = [
            arm_outcomes.summarize_arm_labels(None if arm is None else counting.errors_view(arm))
            for arm in (control, treatment)
        ]
        return list(arm_outcomes.compare_arm_means(means[0], means[1], options.level))
    classes = counting.reading.classes
    labels = [None if arm is None else counting.histogram_view(arm, "label") for arm in (control, treatment)]
    rates = [arm_outcomes.rates_of(label, len(classes)) for label in labels]
    return [
        result
        for at, subject in arm_outcomes.compared_classes(classes)
        for result in arm_outcomes.compare_arm_rates(rates[0][at], rates[1][at], options.level, subject)
    ]


def compare_challenger(counting: Counting, labels: Counters, options: MeasureOptions) -> list[MeasureResult]:
    """Champion against challenger on the records of a labels part; none without a challenger."""
    if not counting.counts_challenger:
        return []
    _require_layout(counting.labels_layout, labels)
    opened = labels.make_dense()
    losses = paired_scores.loss_differences_view(opened) if counting.has_probability_scores else None
    scores = paired_scores.paired_scores_view(opened) if counting.counts_scores else None
    return list(
        challenger.challenger_results(paired_scores.agreement_view(opened), scores, losses, options.level)
    )


def measure_segment_mean(counting: Counting, labels: Counters) -> SegmentMean:
    """Mean of the main measure over a labels part."""
    if counting.reading.task is ModelTask.REGRESSION:
        error = mean_absolute_error(counting.errors_view(labels))
        return NO_RECORDS if error.value is None else SegmentMean(error.n, error.value)
    right, n, _ = list_overall_shares(ConfusionMargins.from_confusion(counting.confusion_view(labels)))[
        "accuracy"
    ]
    return SegmentMean(n, right / n) if n else NO_RECORDS


def learn_from_labels(
    counting: Counting, labels: Counters, *, whole: bool = True
) -> LearnedCalibration | Reason:
    """What a labels part teaches of records whose labels are not there: made once, used often.

    Parameters
    ----------
    whole
        False for segments, whose class probabilities are not counted: of several classes the largest alone.
    """
    _require_layout(counting.labels_layout, labels)
    if "scores" in counting.labels_layout.blocks_by_name and counting.score is not None:
        opened = labels.make_dense()
        of_scores = counting.score_table(opened), counting.confusion_view(opened)
        if counting.counts_scores or not whole:
            return ScoreCalibration.from_labels(*of_scores)
        return ClassCalibrations.from_labels(
            *of_scores, counting.probability_classes, counting.coarse_tables(opened)
        )
    errors = counting.prediction_errors(labels)
    if errors is None:
        return Reason.NO_REFERENCE
    return ExpectedErrors.from_errors(errors, counting.prediction.regular_size)


def measure_estimates(
    counting: Counting,
    taught: LearnedCalibration | Reason,
    records: Counters,
    options: MeasureOptions,
    *,
    whole: bool = True,
) -> list[MeasureResult]:
    """Estimates of the performance on a records part; none for a model without labels, or without scores.

    Cost: about 0.2 ms; of class probabilities see `class_results`.

    Parameters
    ----------
    whole
        False for segments: as in `learn_from_labels`.
    """
    names = _estimated_measures(counting, whole=whole)
    if not names or MeasureFamily.ESTIMATE not in options.families:
        return []
    _require_layout(counting.records_layout, records)
    because = ""
    if counting.reading.only_for and counting.reading.threshold is None:
        taught = Reason.NOT_CONFIGURED
        because = (
            "labels come for some predictions, and which scores are theirs is counted by threshold alone"
        )
    predictions = counting.histogram_view(records, "prediction")
    match taught:
        case ScoreCalibration():
            scores = counting.histogram_view(records, "score")
            if not counting.counts_scores:
                return [estimate_top_class_accuracy(taught, scores, options.level)]
            return list(
                binary_results(
                    taught, scores, predictions, options.level, _label_flags_by_prediction(counting)
                )
            )
        case ClassCalibrations():
            scores, tables = counting.histogram_view(records, "score"), counting.predicted_tables(records)
            return list(class_results(taught, tables, scores, predictions, options.level))
        case ExpectedErrors():
            return list(estimate_absolute_error(taught, predictions, options.level))
        case Reason():
            return list(list_absent_estimates(names, taught, _record_count(records), because))


def _estimated_measures(counting: Counting, *, whole: bool) -> tuple[str, ...]:
    """Measures of a model, or of its segments, that are estimated."""
    if counting.label is None:
        return ()
    if counting.reading.task is ModelTask.REGRESSION:
        return ("mean_absolute_error",)
    if counting.counts_scores:
        return ("roc_auc", "accuracy", "precision", "recall")
    if not counting.probability_classes:
        return ()
    return ("accuracy", "roc_auc_macro", "precision_macro", "recall_macro") if whole else ("accuracy",)


def _label_flags_by_prediction(counting: Counting) -> tuple[bool, bool]:
    """Whether labels come for negative, and for positive predictions of a binary model."""
    reading = counting.reading
    negative, positive = (not reading.only_for or name in reading.only_for for name in reading.classes)
    return negative, positive


def _record_count(records: Counters) -> int:
    return int(records.dense_block("volume")[VOLUME.index("records")])


def _require_layout(layout: CounterLayout, counters: Counters) -> None:
    if counters.layout is not layout and counters.layout != layout:
        raise GridMismatch("the counters were counted on other grids than the model's")


def _seeded_generator(counters: Counters) -> np.random.Generator:
    """Random numbers seeded by the counters' content: equal states have equal intervals."""
    digest = hashlib.blake2b(counters.layout.hash.encode(), digest_size=16)
    digest.update(counters.index.data)
    digest.update(counters.value.data)
    return np.random.default_rng(int.from_bytes(digest.digest()))
