from dataclasses import replace
from itertools import product

import pytest
from exposition_rows import AS_OF, model, row, typical_rows

from monitor.alerts.default_rules import ALL, default_rules
from monitor.core.clock import DAY, SECOND
from monitor.core.measurement import DetailTable, Measurement, Reason
from monitor.exposition.metric_names import WINDOW_COVERAGE, WINDOW_END, WINDOW_RECORDS
from monitor.exposition.series_selection import (
    ExposedModel,
    SeriesGroup,
    expose_model,
    exposed_family_name,
    exposed_measures,
)
from monitor.measures.catalogue import BY_NAME, CATALOGUE
from monitor.measures.catalogue.measure import MeasureFamily
from monitor.measures.measurement_row import CUMULATIVE, LabelTruth, MeasurementRow
from monitor.records.reading import ModelTask

AUC = "model_monitor_roc_auc_ratio"
INDEX = "model_monitor_stability_index"
ACCURACY = "model_monitor_accuracy_ratio"


def exposed(
    *rows: MeasurementRow, task: ModelTask = ModelTask.BINARY, max_series: int = 2_000
) -> ExposedModel:
    return expose_model(model(task=task, max_series=max_series), AS_OF, rows)


def values(found: ExposedModel, family: str) -> dict[tuple[str, ...], float]:
    return {series.labels[1:]: series.value for series in found.series if series.family == family}


def test_a_headline_measure_of_the_whole_comes_with_its_bounds() -> None:
    found = exposed(row("roc_auc", 0.75, truth=LabelTruth.SETTLED, bounds=(0.7, 0.8)))

    labels = ("", "", "7d", "", "settled")
    assert values(found, AUC) == {labels: 0.75}
    assert values(found, f"{AUC}_lower") == {labels: 0.7}
    assert values(found, f"{AUC}_upper") == {labels: 0.8}


def test_a_measure_that_is_no_headline_is_not_exposed() -> None:
    found = exposed(row("mean_squared_error", 4.0, truth=LabelTruth.SETTLED), task=ModelTask.REGRESSION)

    assert values(found, "model_monitor_mean_squared_error") == {}


def test_rows_against_another_moment_and_tables_behind_values_are_not_exposed() -> None:
    accuracy = row("accuracy", 0.9, truth=LabelTruth.SETTLED)
    curve = replace(accuracy.measurement, detail=DetailTable(("threshold", "recall"), ((0.5, 0.7),)))

    found = exposed(
        replace(accuracy, measurement=curve),
        replace(accuracy, against="previous", measurement=Measurement(-0.1, 1_000)),
    )

    assert [series.value for series in found.series if series.family == ACCURACY] == [0.9]
    assert 0.7 not in {series.value for series in found.series}


def test_the_reference_s_own_value_stands_beside_performance_that_is_compared_with_it() -> None:
    figures = DetailTable(("value", "lower", "upper", "n"), ((0.8, 0.75, 0.85, 500),))
    against = Measurement(-0.05, 1_000, detail=figures)
    settled = row("roc_auc", 0.75, truth=LabelTruth.SETTLED, end=AS_OF - DAY)
    old = row("roc_auc", 0.7, truth=LabelTruth.SETTLED, end=AS_OF - 2 * DAY)
    past = Measurement(-0.2, 1_000, detail=DetailTable(figures.columns, ((0.9, 0.85, 0.95, 500),)))

    found = exposed(
        settled,
        replace(settled, measurement=against, against="reference"),
        replace(old, measurement=past, against="reference"),
        replace(settled, measurement=past, against="previous"),
        replace(row("accuracy", 0.9, truth=LabelTruth.SETTLED), against="reference"),
    )

    assert values(found, f"{AUC}_reference") == {("", "", "7d", "", "settled"): 0.8}
    assert values(found, f"{ACCURACY}_reference") == {}


def test_comparisons_that_go_on_are_a_window_of_their_own() -> None:
    found = exposed(
        row("control_p_value_always_valid", 0.5, window="cumulative", truth=LabelTruth.SETTLED),
        row("challenger_log_evidence", 0.5, window="cumulative", truth=LabelTruth.SETTLED),
    )

    labels = ("", "", "cumulative", "", "settled")
    assert values(found, "model_monitor_control_p_value_always_valid_ratio") == {labels: 0.5}
    assert {series.labels[3] for series in found.series} == {"cumulative"}
    assert not [series for series in found.series if "evidence" in series.family]


def test_a_measure_that_the_catalogue_does_not_know_is_not_exposed() -> None:
    found = exposed(row("invented", 4.0))

    assert {series.family for series in found.series} == {WINDOW_END, WINDOW_RECORDS}


@pytest.mark.parametrize("task", list(ModelTask))
def test_rows_that_are_not_read_change_nothing(task: ModelTask) -> None:
    spec = replace(model(task=task), rules=default_rules(ALL))
    rows = [
        row(measure.name, 0.5, window=window, truth=truth, subject=subject, segment=segment, n=n)
        for n, (measure, window, truth, subject, segment) in enumerate(
            product(
                CATALOGUE, ("7d", "1d", CUMULATIVE), LabelTruth, ("", "score", "feature:age"), (None, "a=b")
            )
        )
        if segment is None or measure.headline  # as cycles have it
        if window != CUMULATIVE or measure.family is MeasureFamily.COMPARISON
    ]
    rows += [replace(one, against="reference") for one in rows]

    read = [one for one in rows if one.measure in exposed_measures(spec)]

    assert expose_model(spec, AS_OF, read) == expose_model(spec, AS_OF, rows)
    assert len(read) < len(rows)


def test_features_have_three_measures_on_one_window_without_bounds() -> None:
    found = exposed(*typical_rows())

    features = [series for series in found.series if series.group is SeriesGroup.FEATURE]
    assert {(series.family, series.labels[3], series.value) for series in features} == {
        (INDEX, "7d", 0.2),
        ("model_monitor_missing_rate_ratio", "7d", 0.01),
    }


def test_segments_have_only_their_main_measure_base_rate_records_and_coverage() -> None:
    found = exposed(*typical_rows())

    segment = {series.family for series in found.series if series.labels[2] == "carrier=AA"}
    assert segment == {AUC, "model_monitor_base_rate_ratio", WINDOW_END, WINDOW_RECORDS}


@pytest.mark.parametrize(
    ("task", "main"),
    [
        (ModelTask.BINARY, "roc_auc"),
        (ModelTask.MULTICLASS, "accuracy"),
        (ModelTask.REGRESSION, "root_mean_squared_error"),
    ],
)
def test_the_main_measure_of_a_version_follows_the_task(task: ModelTask, main: str) -> None:
    measures = ("roc_auc", "accuracy", "root_mean_squared_error")
    found = exposed(*(row(name, 0.5, truth=LabelTruth.SETTLED, version="v2") for name in measures), task=task)

    versions = {series.family for series in found.series if series.labels[1] == "v2"} - {
        WINDOW_END,
        WINDOW_RECORDS,
    }
    assert {name.removeprefix("model_monitor_").removesuffix("_ratio") for name in versions} == {main}


def test_window_end_records_and_coverage_come_once_a_window_and_truth() -> None:
    found = exposed(*typical_rows())

    whole = {key: value for key, value in values(found, WINDOW_RECORDS).items() if key[1] == ""}
    assert whole[("", "", "7d", "", "")] == 1_200
    assert whole[("", "", "7d", "", "settled")] == 1_000
    assert values(found, WINDOW_END)[("", "", "7d", "", "settled")] == 15 * DAY / SECOND
    assert values(found, WINDOW_COVERAGE) == {
        ("", "", "7d", "", "settled"): 0.9,
        ("", "", "7d", "", "provisional"): 0.1,
    }


def test_the_records_of_a_labelled_window_are_those_that_coverage_is_taken_of() -> None:
    found = exposed(
        row("coverage", 0.25, truth=LabelTruth.SETTLED, n=400),
        row("roc_auc", 0.7, truth=LabelTruth.SETTLED, n=100),
    )

    labels = ("", "", "7d", "", "settled")
    assert values(found, WINDOW_RECORDS) == {labels: 400}
    assert values(found, WINDOW_COVERAGE) == {labels: 0.25}


def test_of_two_ends_of_a_window_the_newer_one_is_served() -> None:
    found = exposed(
        row("stability_index", 0.2, subject="score", end=AS_OF),
        row("stability_index", 0.1, subject="score", end=AS_OF - DAY, n=5_000),
    )

    assert values(found, INDEX) == {("", "", "7d", "score"): 0.2}
    assert values(found, WINDOW_RECORDS) == {("", "", "7d", "", ""): 1_000}


def test_figures_of_the_cycle_have_no_window_and_so_no_end() -> None:
    found = exposed(row("stale_records", 3, window=""))

    assert values(found, "model_monitor_stale_records") == {("", "", "", ""): 3}
    assert values(found, WINDOW_END) == {}


def test_no_series_is_there_twice() -> None:
    label_shift = [
        row("stability_index", 0.2, subject="label", truth=truth)
        for truth in (LabelTruth.SETTLED, LabelTruth.NONE)
    ]
    found = exposed(*typical_rows(), *typical_rows(), *label_shift)

    keys = [(series.family, series.labels) for series in found.series]
    assert len(keys) == len(set(keys))


def test_an_absent_measurement_is_no_series_but_is_counted_by_reason() -> None:
    found = exposed(
        row("roc_auc", Measurement.without_value(Reason.ONE_CLASS, n=10), truth=LabelTruth.SETTLED),
        row("log_loss", Measurement.without_value(Reason.TOO_FEW, n=10), truth=LabelTruth.SETTLED),
        row("brier_score", Measurement.without_value(Reason.TOO_FEW, n=10), truth=LabelTruth.SETTLED),
        row(
            "mean_squared_error", Measurement.without_value(Reason.UNDEFINED, n=10), truth=LabelTruth.SETTLED
        ),
    )

    assert {series.family for series in found.series} == {WINDOW_END, WINDOW_RECORDS}
    assert found.absent == (("one_class", 1), ("too_few", 2))


def test_features_then_segments_then_bounds_are_dropped_and_the_whole_never() -> None:
    everything = exposed(*typical_rows())
    by_group = {group: sum(series.group is group for series in everything.series) for group in SeriesGroup}
    assert all(by_group.values())
    room = len(everything.series)

    for group in (SeriesGroup.FEATURE, SeriesGroup.STRATUM, SeriesGroup.BOUND):
        room -= by_group[group]
        found = exposed(*typical_rows(), max_series=room)
        assert {series.group for series in found.series} == {one for one in SeriesGroup if one < group}
        assert found.dropped == len(everything.series) - room
    assert len(exposed(*typical_rows(), max_series=0).series) == by_group[SeriesGroup.WHOLE]


def test_what_is_dropped_does_not_depend_on_the_order_of_rows() -> None:
    rows = typical_rows()

    assert exposed(*rows, max_series=20) == exposed(*reversed(rows), max_series=20)


def test_the_name_of_a_measure_is_the_one_that_it_is_served_under() -> None:
    named = {name: exposed_family_name(BY_NAME[name]) for name in ("accuracy", "coverage", "records", "gini")}

    assert named == {
        "accuracy": ACCURACY,
        "coverage": WINDOW_COVERAGE,
        "records": WINDOW_RECORDS,
        "gini": "",
    }
