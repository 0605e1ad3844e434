"""Versions side by side, in the shadow, with references of their own; when they were first seen."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score
from synthetic import READING, SPEC, START, Log, Monitored, log_of, monitored_of, predictions_of

from monitor.core.clock import DAY, SECOND, to_iso
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ReadingOptions, ServingRule
from monitor.records.reference import count_on_grids
from monitor.store.sql_store import SqlStore

VERSIONED = replace(READING, versioned=True)
UNLABELLED = replace(VERSIONED, labelled=False)
SERVING = replace(VERSIONED, serving=ServingRule(column="stage", values=("live",)))
ONE_DAY = SPEC.windows[:1]
NO_LABELS = log_of(1, per_day=1).labels.slice(0, 0)
MOMENTS = (START + 3 * DAY, START + 4 * DAY, START + 5 * DAY)  # before, across and after the switch


def versioned(table: pa.Table, version: str) -> pa.Table:
    return table.append_column("version", pa.array([version] * table.num_rows, pa.string()))


def shifted(table: pa.Table) -> pa.Table:
    """A table with features and scores as the second version has them."""
    values = {name: np.asarray(table[name]) for name in ("feature:temp", "feature:carrier", "score")}
    values["feature:temp"] = values["feature:temp"] + 8.0
    values["feature:carrier"] = np.where(values["feature:carrier"] == "AA", "DL", values["feature:carrier"])
    values["score"] = np.round(np.sqrt(values["score"]), 6)
    for name, column in values.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(column))
    return table


def reference_rows(n: int = 4_000) -> pa.Table:
    return predictions_of(np.zeros(n, np.int64), seed=99)


def second_reference(n: int = 1_500) -> pa.Table:
    return shifted(predictions_of(np.zeros(n, np.int64), seed=77))


def retrained(per_day: int = 2_400) -> Log:
    """The first version, and from noon of the fourth day on the second one."""
    table = predictions_of(START + np.arange(6 * per_day) * (DAY // per_day), seed=5)
    switch = 3 * per_day + per_day // 2
    old, new = versioned(table.slice(0, switch), "v1"), versioned(shifted(table.slice(switch)), "v2")
    return Log(pa.concat_tables([old, new]), NO_LABELS)


def model(store: SqlStore, log: Log, reading: ReadingOptions = VERSIONED, **options: Any) -> Monitored:
    return monitored_of(
        log.source(), store, reading=reading, table=reference_rows(), windows=ONE_DAY, **options
    )


def with_second_reference(monitored: Monitored) -> Monitored:
    own = {"v2": count_on_grids(second_reference(), monitored.model.counting)}
    return monitored.other(version_references=own)


def values(
    rows: Iterable[MeasurementRow], measure: str, version: str | None = None
) -> dict[str, float | None]:
    """Value by subject, of the whole or of a version."""
    return {
        row.subject: row.measurement.value
        for row in rows
        if (row.measure, row.version, row.segment) == (measure, version, None)
    }


def shifted_subjects(rows: list[MeasurementRow], version: str | None = None) -> set[str]:
    """Subjects whose index lies above its critical value."""
    critical = values(rows, "stability_index_critical", version)
    index = values(rows, "stability_index", version)
    assert set(index) >= {"score", "prediction"}
    return {subject for subject, value in index.items() if (value or 0.0) > (critical[subject] or 0.0)}


def test_a_retraining_with_its_reference_is_no_shift(fresh_store: SqlStore) -> None:
    monitored = with_second_reference(model(fresh_store, retrained(), UNLABELLED, level=0.999))

    cycles = [monitored.cycle(moment)[1] for moment in MOMENTS]

    shares = [values(rows, "records", "v2").get("", 0.0) for rows in cycles]
    assert shares == [0.0, 1_200.0, 2_400.0]
    assert [shifted_subjects(rows) for rows in cycles] == [set(), set(), set()]
    assert all(set(values(rows, "stability_index")) > {"feature:temp", "score"} for rows in cycles)
    assert shifted_subjects(cycles[1], "v2") == set()


def test_a_retraining_without_a_reference_of_its_own_is_one(fresh_store: SqlStore) -> None:
    monitored = model(fresh_store, retrained(), UNLABELLED, level=0.999)

    cycles = [monitored.cycle(moment)[1] for moment in MOMENTS]

    moved = {"feature:temp", "feature:carrier", "score", "prediction"}
    assert [shifted_subjects(rows) for rows in cycles] == [set(), moved, moved]


def test_a_version_without_a_reference_is_compared_with_the_default_and_says_so(
    fresh_store: SqlStore,
) -> None:
    monitored = with_second_reference(model(fresh_store, retrained(), UNLABELLED, level=0.999))

    _, rows = monitored.cycle(START + 4 * DAY)

    warned = {(row.version, row.measure) for row in rows if row.warning == "default_reference"}
    assert {version for version, _ in warned} == {"v1"}
    assert {measure for _, measure in warned} >= {"stability_index", "ks_distance"}
    assert "missing_rate" not in {measure for _, measure in warned}
    assert shifted_subjects(rows, "v1") == set()


def side_by_side() -> Log:
    """The first days' requests answered by two versions, the second with scores of its own."""
    log = log_of(3)
    again = log.predictions.set_column(3, "score", pa.array(np.random.default_rng(8).random(720)))
    both = [versioned(log.predictions, "v1"), versioned(again, "v2")]
    return Log(pa.concat_tables(both), log.labels)


def test_versions_that_answered_the_same_requests_share_their_labels(fresh_store: SqlStore) -> None:
    log = side_by_side()

    _, rows = model(fresh_store, log).cycle(START + 3 * DAY)

    frame = log.predictions.to_pandas().merge(log.labels.to_pandas(), on="id")
    frame = frame[(frame["event_time"] >= START + 2 * DAY) & (frame["reported_at"] <= START + 3 * DAY)]
    provisional = [row for row in rows if row.truth is LabelTruth.PROVISIONAL]
    for version in ("v1", "v2"):
        mine = frame[frame["version"] == version]
        assert values(provisional, "labelled_records", version) == {"": float(len(mine))}
        auc = roc_auc_score(mine["label"] == "1", mine["score"])
        assert values(provisional, "roc_auc", version)[""] == pytest.approx(auc, abs=1e-3)
    assert values(rows, "records") == {"": 480.0}
    assert values(rows, "duplicate_records") == {"": 0.0}


def staged(stage: str | None) -> Log:
    """The same requests answered by a serving version and by another one in the given stage."""
    log = side_by_side()
    stages = ["live"] * 720 + [stage] * 720
    return Log(log.predictions.append_column("stage", pa.array(stages, pa.string())), log.labels)


def in_roles(log: Log) -> Log:
    names = [{"stage": "serving"}.get(name, name) for name in log.predictions.column_names]
    return Log(log.predictions.rename_columns(names), log.labels)


def of_all(rows: list[MeasurementRow]) -> list[MeasurementRow]:
    """Rows of all versions together, but of what the log holds of any."""
    return [row for row in rows if row.version is None and row.measure != "misdated_rate"]


@pytest.mark.parametrize("stage", ["shadow", None])
def test_shadow_rows_are_counted_for_their_version_only(
    new_store: Callable[[], SqlStore], stage: str | None
) -> None:
    alone = log_of(3)
    alone = Log(versioned(alone.predictions, "v1"), alone.labels)

    _, rows = model(new_store(), in_roles(staged(stage)), SERVING).cycle(START + 3 * DAY)

    _, expected = model(new_store(), alone).cycle(START + 3 * DAY)
    assert of_all(rows) == of_all(expected)
    assert values(rows, "records", "v2") == {"": 240.0}


def test_a_version_that_leaves_the_shadow_is_counted_with_the_whole(fresh_store: SqlStore) -> None:
    _, rows = model(fresh_store, in_roles(staged("live")), SERVING).cycle(START + 3 * DAY)

    assert values(rows, "records") == {"": 480.0}


def test_the_mixture_weighs_versions_by_their_serving_rows(fresh_store: SqlStore) -> None:
    first, second = predictions_of(START + np.arange(2_400) * (DAY // 2_400), seed=5), 2_400
    shadow = shifted(predictions_of(START + np.arange(second) * (DAY // second), seed=6, first_id=9_000))
    table = pa.concat_tables([versioned(first, "v1"), versioned(shadow, "v2")])
    table = table.append_column("serving", pa.array(["live"] * 2_400 + ["shadow"] * second))
    reading = replace(SERVING, labelled=False)
    monitored = with_second_reference(model(fresh_store, Log(table, NO_LABELS), reading, level=0.999))

    _, rows = monitored.cycle(START + DAY)

    assert shifted_subjects(rows) == set()
    assert shifted_subjects(rows, "v2") == set()


def test_the_first_sight_of_a_version_is_kept_once(fresh_store: SqlStore) -> None:
    log = retrained(per_day=240)
    monitored = model(fresh_store, log, UNLABELLED)

    monitored.replay(START, START + 5 * DAY, DAY)
    again = model(fresh_store, log, UNLABELLED)
    _, rows = again.cycle(START + 6 * DAY)

    events = fresh_store.events.read_events("late", "version_first_seen")
    assert [(event.subject, event.at) for event in events] == [("v1", START + DAY), ("v2", START + 4 * DAY)]
    assert json.loads(events[1].detail) == {"oldest_pane": to_iso(START + 3 * DAY + DAY // 2)}
    assert [event.log_moment for event in events] == [START, START + 3 * DAY + DAY // 2]
    seen = {
        row.version: row.measurement.value for row in rows if row.measure == "version_first_seen_timestamp"
    }
    assert seen == {"v1": (START + DAY) / SECOND, "v2": (START + 4 * DAY) / SECOND}


def test_a_model_without_versions_has_no_first_sight(fresh_store: SqlStore) -> None:
    log = Log(log_of(1).predictions, NO_LABELS)

    model(fresh_store, log, replace(READING, labelled=False)).cycle(START + DAY)

    assert fresh_store.events.read_events("late") == []


def test_the_20_versions_with_most_records_are_measured_and_the_rest_together(fresh_store: SqlStore) -> None:
    table = log_of(1).predictions
    names = [f"v{number:02}" for number in range(22) for _ in range(11)][:240]  # the last has 9 rows
    table = table.append_column("version", pa.array(names, pa.string()))

    _, rows = model(fresh_store, Log(table, NO_LABELS), UNLABELLED).cycle(START + DAY)

    counted = {row.version: row.measurement.value for row in rows if row.measure == "records"}
    assert counted.pop(None) == 240.0
    assert counted == {f"v{number:02}": 11.0 for number in range(20)} | {"other": 20.0}


def test_segments_have_no_shift_where_references_are_mixed(fresh_store: SqlStore) -> None:
    log = retrained(per_day=240)
    log = Log(log.predictions.append_column("segment:half", log.predictions["feature:carrier"]), NO_LABELS)
    table = reference_rows()
    table = table.append_column("segment:half", table["feature:carrier"])
    reading = replace(UNLABELLED, segments=("half",))
    monitored = with_second_reference(
        monitored_of(log.source(), fresh_store, reading=reading, table=table, windows=ONE_DAY)
    )

    cycles = [monitored.cycle(moment)[1] for moment in MOMENTS]

    reasons = [
        {row.measurement.reason for row in rows if (row.measure, row.segment) == ("ks_distance", "half=DL")}
        for rows in cycles
    ]
    assert reasons[:2] == [{None}, {Reason.NO_REFERENCE}]


def test_faulty_values_are_compared_with_the_references_of_the_versions(fresh_store: SqlStore) -> None:
    log, switch = retrained(), 3 * 2_400 + 1_200
    half = pa.array(
        np.asarray(log.predictions["feature:temp"]), mask=np.arange(len(log.predictions)) >= switch
    )
    at = log.predictions.column_names.index("feature:temp")
    log = Log(log.predictions.set_column(at, "feature:temp", half), log.labels)
    monitored = model(fresh_store, log, UNLABELLED)  # no rule has to ask
    second = second_reference()
    gone = pa.array(np.asarray(second["feature:temp"]), mask=np.arange(second.num_rows) % 5 > 0)
    second = second.set_column(second.column_names.index("feature:temp"), "feature:temp", gone)
    own = {"v2": count_on_grids(second, monitored.model.counting)}

    found = []
    for moment in MOMENTS:
        _, rows = monitored.other(version_references=own).cycle(moment)
        missing = [row for row in rows if (row.measure, row.against) == ("missing_rate", "reference")]
        found.append({row.subject: row.measurement for row in missing})

    before, across, after = (one["feature:temp"] for one in found)
    assert before.value == 0.0
    assert across.value == pytest.approx(0.5 - 0.5 * 0.8)
    assert after.value == pytest.approx(1.0 - 0.8)
    wilson = stats.binomtest(1_200, 1_500).proportion_ci(method="wilson")
    none = stats.binomtest(0, 4_000).proportion_ci(method="wilson").high
    half_way = stats.binomtest(1_200, 2_400).proportion_ci(method="wilson")
    upper = 0.1 + np.hypot(half_way.high - 0.5, 0.5 * (0.8 - wilson.low))
    lower = 0.1 - np.sqrt((0.5 - half_way.low) ** 2 + 0.25 * ((wilson.high - 0.8) ** 2 + none**2))
    assert across.interval is not None
    assert across.interval.lower == pytest.approx(lower)
    assert across.interval.upper == pytest.approx(upper)
