"""Laws that hold for every measure of the catalogue."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from laws import merge
from measure_states import LATER, PANE, binary_reading, labels_part, records_part, table

from monitor.core.measurement import LEVEL, Measurement, Reason
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.comparison_measures import CONTRIBUTION, LOSS_BY_MIX
from monitor.measures.catalogue.measure import BetterDirection, ChanceYardstick, MeasureFamily, MeasureUnit
from monitor.measures.catalogue.shift_measures import LOSS_BY_SCORES
from monitor.measures.comparison.arm_outcomes import compared_classes, rates_of
from monitor.measures.comparison.arm_outcomes import summarize_arm_labels as mean_of_arm
from monitor.measures.comparison.challenger import evidence_results
from monitor.measures.comparison.sequential_tests import measure_arm_shares, outcome_results
from monitor.measures.evaluate import (
    compare_arms,
    compare_challenger,
    find_best_threshold,
    learn_from_labels,
    make_expected_cells,
    measure_estimates,
    measure_label_quality,
    measure_performance,
    measure_quality,
    measure_segment_mean,
    measure_shifts,
)
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_comparison import SegmentMean, largest_segment_contribution
from monitor.measures.score_estimates import measure_estimate_errors
from monitor.measures.shift.loss_split import loss_by_mix, loss_by_scores
from monitor.measures.shift.score_effects import ScoreEffects, score_move_result
from monitor.measures.volume import volume_ratio
from monitor.records.counting import VOLUME, Counting
from monitor.records.effect_table import FOLDS, EffectTable, effect_target, make_effect_cells
from monitor.records.labels.count_labels import count_labels
from monitor.records.labels.paired_scores import agreement_view
from monitor.records.reading import ChallengerOutput, ComparedArms, ModelTask, ReadingOptions
from monitor.records.reference import Reference, reference_of
from monitor.states.counters import Counters
from monitor.states.strata import Stratum

TASKS = tuple(ModelTask)
Key = tuple[str, str]


@dataclass(frozen=True)
class Example:
    """A model with its reference and one window of all that can be counted."""

    reference: Reference
    rows: pa.Table
    records: Counters
    labels: Counters
    arms: Mapping[str, Counters]

    @property
    def counting(self) -> Counting:
        return self.reference.counting


def reading_of(task: ModelTask) -> ReadingOptions:
    reading = replace(
        binary_reading(),
        task=task,
        names=(("logged_at", "logged_at"),),
        time_units=(*binary_reading().time_units, ("logged_at", "us")),
        numeric=("x",),
        categorical=("c",),
        arms=ComparedArms(column="arm", control="control", treatment="treatment"),
    )
    if task is ModelTask.BINARY:
        return replace(reading, challenger=ChallengerOutput(column="other", threshold=0.5))
    if task is ModelTask.MULTICLASS:
        classes = ("ant", "bee", "cat")
        challenger = ChallengerOutput(column="other")
        return replace(reading, classes=classes, probabilities=classes, threshold=None, challenger=challenger)
    return replace(reading, classes=(), has_score=False, threshold=None, score_range=(-math.inf, math.inf))


def rows_of(task: ModelTask, seed: int, n: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {
        "feature_x": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.03),
        "feature_c": pa.array(rng.choice(["red", "green", "blue"], n).tolist()),
        "reported_at": pa.array(rng.integers(0, 10**11, n)),
        "logged_at": pa.array(rng.integers(0, 10**9, n)),
        "arm": pa.array(rng.choice(["control", "treatment"], n).tolist()),
    }
    none = rng.random(n) < 0.1
    match task:
        case ModelTask.BINARY:
            label = rng.integers(0, 2, n)
            columns["score"] = pa.array(np.clip(rng.normal(0.4 + 0.2 * label, 0.2), 0, 1))
            columns["label"] = pa.array(label.astype(str).tolist(), mask=none)
            columns["challenger"] = pa.array(np.clip(rng.normal(0.4 + 0.25 * label, 0.2), 0, 1))
        case ModelTask.MULTICLASS:
            names = rng.choice(["ant", "bee", "cat"], n)
            columns["label"] = pa.array(names.tolist(), mask=none)
            columns["challenger"] = pa.array(np.where(rng.random(n) < 0.6, names, "bee").tolist())
            odds = rng.gamma(1, size=(3, n)) + (names == np.asarray([["ant"], ["bee"], ["cat"]]))
            columns["prediction"] = pa.array(np.asarray(["ant", "bee", "cat"])[odds.argmax(axis=0)].tolist())
            for name, column in zip(("ant", "bee", "cat"), odds / odds.sum(axis=0), strict=True):
                columns[f"probability:{name}"] = pa.array(np.where(rng.random(n) < 0.998, column, np.nan))
        case ModelTask.REGRESSION:
            number = rng.normal(3, 2, n)
            columns["prediction"] = pa.array(number + rng.normal(size=n))
            columns["label"] = pa.array(number, mask=none)
    return table(**columns)


@cache
def example(task: ModelTask) -> Example:
    plain = rows_of(task, 1, 3000).drop_columns(["id", "event_time", "reported_at", "logged_at", "arm"])
    reference, rows = reference_of(plain, reading_of(task)), rows_of(task, 2, 1400)
    return counted(reference, rows)


def counted(reference: Reference, rows: pa.Table) -> Example:
    counting = reference.counting
    strata = count_labels(rows, counting, panes=PANE, as_of=LATER)[0].strata
    arms = {arm: strata[Stratum(segment=f"arm={arm}")] for arm in ("control", "treatment")}
    return Example(reference, rows, records_part(rows, counting), labels_part(rows, counting), arms)


def profit_of(counting: Counting) -> dict[Key, float]:
    return {(name, name): 5.0 for name in counting.reading.classes}


def measured(case: Example) -> dict[Key, Measurement]:
    counting, everything = case.counting, frozenset(MeasureFamily)
    options = MeasureOptions(resamples=60, profit=profit_of(case.counting), families=everything)
    n = int(case.records.dense_block("volume")[VOLUME.index("records")])
    options = replace(options, threshold=find_best_threshold(counting, case.reference.labels, options))
    found = measure_performance(counting, case.labels, options)
    estimated = measure_estimates(
        counting, learn_from_labels(counting, case.reference.labels), case.records, options
    )
    results = [
        *found,
        *estimated,
        *measure_estimate_errors(estimated, found),
        *measure_shifts(
            counting, make_expected_cells(counting, case.reference.records), case.records, options
        ),
        *measure_quality(counting, case.records),
        *measure_label_quality(counting, case.labels, options),
        *compare_arms(counting, case.arms["control"], case.arms["treatment"], options),
        *compare_challenger(counting, case.labels, options),
        *going_on(case, n),
        MeasureResult("volume_ratio", "", volume_ratio(n, (n, 2 * n, n))),
        MeasureResult(CONTRIBUTION, "", contribution_of(case)),
        move_of(case),
        *loss_split_of(case),
    ]
    named = {(result.measure, result.subject): result.measurement for result in results}
    assert len(named) == len(results)
    return named


def loss_split_of(case: Example) -> list[MeasureResult]:
    """How much of a difference of log losses other records make, with labels and before any."""
    found = loss_by_mix(case.counting, case.arms["control"], case.labels, LEVEL)
    few = Measurement.without_value(Reason.NO_LABELS, n=0)
    is_binary = case.counting.reading.task is ModelTask.BINARY
    by_scores = loss_by_scores(case.counting, case.labels, case.records, LEVEL)
    results = [
        MeasureResult(LOSS_BY_MIX, "", found or few),
        MeasureResult(LOSS_BY_SCORES, "score", by_scores or few),
    ]
    return results if is_binary else []


def move_of(case: Example) -> MeasureResult:
    """How far the mean score moved, by a table in which nothing has an effect."""
    counting, records = case.counting, case.reference.records
    cells, target = make_effect_cells(counting, records), effect_target(counting, records)
    table = EffectTable(np.zeros((1 + FOLDS, int(cells.starts[-1])), np.float32), 0.9, 0.1, 3_000)
    move = ScoreEffects(counting, target, table, cells, records).explain_move(case.records, None, LEVEL)
    return score_move_result(move, target, LEVEL)


def contribution_of(case: Example) -> Measurement:
    """Of an arm in which the model was right before, if any of its records are labelled."""
    counting = case.counting
    numbers = counting.reading.task is ModelTask.REGRESSION
    whole, now = (measure_segment_mean(counting, labels) for labels in (case.labels, case.arms["control"]))
    then = SegmentMean(whole.n, 0.0 if numbers else 1.0)
    mean = BY_NAME["mean_absolute_error" if numbers else "accuracy"]
    found = largest_segment_contribution(mean, {"arm=control": now}, {"arm=control": then}, (whole, then))
    return found or Measurement.without_value(Reason.NO_LABELS, n=0)


def going_on(case: Example, n: int) -> list[MeasureResult]:
    counting, arms = case.counting, [case.arms[name] for name in ("control", "treatment")]
    found = list(measure_arm_shares(n // 2, n - n // 2, planned=0.5, most=0.0, level=0.95))
    if counting.reading.task is ModelTask.REGRESSION:
        means = [mean_of_arm(counting.errors_view(arm)) for arm in arms]
        found += outcome_results(means[0], means[1], detect=0.5, most=0.0, level=0.95)
        return found
    classes = counting.reading.classes
    rates = [rates_of(counting.histogram_view(arm, "label"), len(classes)) for arm in arms]
    for at, subject in compared_classes(classes):
        pair = rates[0][at], rates[1][at]
        found += outcome_results(*pair, detect=0.02, most=0.0, level=0.95, subject=subject)
    return [*found, *evidence_results(agreement_view(case.labels), 0.0)]


@pytest.mark.parametrize("task", TASKS)
def test_what_is_measured_is_what_the_catalogue_lists_for_the_task(task: ModelTask) -> None:
    names = {name for name, _ in measured(example(task))}

    of_windows = [one for one in CATALOGUE if one.family not in (MeasureFamily.LOG, MeasureFamily.DAILY)]
    assert names == {measure.name for measure in of_windows if task in measure.tasks}


@pytest.mark.parametrize("task", TASKS)
def test_values_are_plain_numbers_within_the_range_of_their_unit(task: ModelTask) -> None:
    for (name, subject), measurement in measured(example(task)).items():
        value = measurement.value
        assert type(value) is float, (name, subject, measurement)
        assert type(measurement.n) is int
        assert type(measurement.resolution) is float
        assert math.isfinite(value)
        if BY_NAME[name].unit is MeasureUnit.RATIO and "difference" not in name:
            assert 0 <= value <= 1


@pytest.mark.parametrize("task", TASKS)
def test_intervals_are_where_the_catalogue_says_and_hold_the_value(task: ModelTask) -> None:
    for (name, subject), measurement in measured(example(task)).items():
        assert (measurement.interval is not None) == BY_NAME[name].has_interval, (name, subject)
        if measurement.interval is not None:
            assert measurement.value is not None
            assert type(measurement.interval.lower) is float
            assert measurement.interval.lower <= measurement.value <= measurement.interval.upper, name


@pytest.mark.parametrize("task", TASKS)
def test_the_order_of_the_records_changes_nothing(task: ModelTask) -> None:
    case = example(task)
    order = np.random.default_rng(0).permutation(case.rows.num_rows)

    shuffled = counted(case.reference, case.rows.take(pa.array(order)))

    assert measured(shuffled) == measured(case)


@pytest.mark.parametrize("task", TASKS)
def test_equal_states_have_equal_results_however_they_were_merged(task: ModelTask) -> None:
    case = example(task)
    half = case.rows.num_rows // 2
    parts = [counted(case.reference, case.rows.slice(*bounds)) for bounds in ((half, None), (0, half))]
    merged = Example(
        case.reference,
        case.rows,
        merge(parts[0].records, parts[1].records),
        merge(parts[0].labels, parts[1].labels),
        {arm: merge(parts[0].arms[arm], parts[1].arms[arm]) for arm in case.arms},
    )

    assert measured(merged) == measured(case)


@pytest.mark.parametrize("task", TASKS)
def test_every_record_twice_doubles_counts_and_keeps_the_rest(task: ModelTask) -> None:
    case = example(task)
    doubled = Example(
        case.reference,
        case.rows,
        merge(case.records, case.records),
        merge(case.labels, case.labels),
        {arm: merge(counters, counters) for arm, counters in case.arms.items()},
    )
    moved = {
        "profit",
        "best_profit",
        "reference_threshold_profit",
        "squared_calibration_error",
        "standard_deviation",
        "standardized_mean_difference",
        "stability_index",
        "stability_index_bias",
        "stability_index_critical",
        "ks_p_value",
        "sign_test_p_value",
        "sign_test_p_value_one_sided",
        "signed_rank_p_value",
        "control_outcome_sd",
        "treatment_outcome_sd",
        "challenger_log_evidence",
        "sum_of_squared_errors",
        "half_sum_of_squared_errors",
    }

    once, twice = measured(case), measured(doubled)

    for (name, subject), measurement in once.items():
        if name in moved or name.endswith("_critical") or BY_NAME[name].family is MeasureFamily.DISTANCES:
            continue
        factor = 2 if BY_NAME[name].unit is MeasureUnit.RECORDS else 1
        other = twice[name, subject]
        assert measurement.value is not None
        assert other.value == pytest.approx(factor * measurement.value, rel=1e-12), name
        assert other.n == 2 * measurement.n


@pytest.mark.parametrize("task", TASKS)
def test_nothing_counted_is_a_reason_or_a_count_of_zero(task: ModelTask) -> None:
    counting = example(task).counting
    labels, records = (
        Counters.make_empty(counting.labels_layout),
        Counters.make_empty(counting.records_layout),
    )
    empty = Example(
        example(task).reference,
        pa.table({}),
        records,
        labels,
        dict.fromkeys(("control", "treatment"), labels),
    )

    for (name, _), measurement in measured(empty).items():
        if BY_NAME[name].unit is MeasureUnit.RECORDS:
            assert measurement == Measurement(value=0.0, n=0), name
        else:
            assert measurement.reason in {Reason.NO_LABELS, Reason.NO_RECORDS, Reason.NOT_COUNTED}, name


@pytest.mark.parametrize("task", TASKS)
def test_without_resamples_only_bootstraps_and_of_a_part_only_headlines_are_there(task: ModelTask) -> None:
    case = example(task)
    options = MeasureOptions(resamples=60, profit=profit_of(case.counting))
    whole = {
        (r.measure, r.subject): r.measurement
        for r in measure_performance(case.counting, case.labels, options)
    }

    closed = measure_performance(case.counting, case.labels, replace(options, resamples=0))
    of_part = measure_performance(case.counting, case.labels, replace(options, resamples=0, whole=False))

    asked, wanted = ({(r.measure, r.subject) for r in results} for results in (closed, of_part))
    drawn = {
        (name, "") for name in ("expected_calibration_error_critical", "maximum_calibration_error_critical")
    }
    assert asked == set(whole) - drawn
    of_classes = {("roc_auc", f"class:{name}") for name in case.counting.probability_classes}
    headlines = {name for name, subject in set(whole) - of_classes if BY_NAME[name].headline}
    assert headlines <= {name for name, _ in wanted}
    assert task is ModelTask.REGRESSION or wanted < asked
    for one in (*closed, *of_part):
        full = whole[one.measure, one.subject]
        resampled = "bootstrap" in (BY_NAME[one.measure].interval or "")
        expected = replace(full, interval=None) if resampled else full
        assert replace(one.measurement, detail=None) == replace(expected, detail=None)


def test_wider_levels_have_wider_intervals() -> None:
    case = example(ModelTask.BINARY)
    narrow, wide = (
        {
            (r.measure, r.subject): r.measurement.interval
            for r in measure_performance(case.counting, case.labels, options)
        }
        for options in (MeasureOptions(level=0.8), MeasureOptions(level=0.99))
    )

    for key, interval in narrow.items():
        other = wide[key]
        if interval is not None:
            assert other is not None
            assert other.lower <= interval.lower <= interval.upper <= other.upper
            assert (interval.level, other.level) == (0.8, 0.99)


def test_names_are_unique_and_say_their_direction() -> None:
    assert len(BY_NAME) == len(CATALOGUE)
    endings = {
        "_error": BetterDirection.LOWER,
        "_loss": BetterDirection.LOWER,
        "_distance": BetterDirection.LOWER,
    }
    for measure in CATALOGUE:
        for ending, direction in endings.items():
            assert not measure.name.endswith(ending) or measure.direction is direction, measure.name
        if measure.name.endswith("_score") and measure.name != "brier_score":
            assert measure.direction is BetterDirection.HIGHER
        assert measure.definition.endswith((".", "`"))


def test_a_critical_value_is_that_of_one_measure_and_what_stands_beside_a_value_is_there() -> None:
    critical = [measure.critical for measure in CATALOGUE if measure.critical is not None]
    beside = {measure.beside for measure in CATALOGUE if measure.beside is not None}

    yardsticks = [measure.name for measure in CATALOGUE if measure.yardstick is ChanceYardstick.CRITICAL]
    assert sorted(critical) == sorted(yardsticks)
    assert beside <= BY_NAME.keys()
    assert all(measure.interval is None for measure in CATALOGUE if measure.beside is not None)


def test_an_estimate_and_its_error_name_what_they_estimate() -> None:
    estimates = {measure.name: measure for measure in CATALOGUE if measure.family is MeasureFamily.ESTIMATE}

    assert {f"estimated_{measure.estimates}" for measure in estimates.values()} < estimates.keys()
    for measure in CATALOGUE:
        assert (measure.family is MeasureFamily.ESTIMATE) == (measure.estimates in BY_NAME)
        assert measure.estimates == "" or BY_NAME[measure.estimates].tasks >= measure.tasks


def test_every_family_but_those_for_a_closer_look_has_a_headline_measure() -> None:
    headlines = {measure.family for measure in CATALOGUE if measure.headline}

    closer = {
        MeasureFamily.DISTANCES,
        MeasureFamily.AVERAGES,
        MeasureFamily.CALIBRATION,
        MeasureFamily.GAINS,
        MeasureFamily.DAILY,
    }
    assert headlines == set(MeasureFamily) - closer
