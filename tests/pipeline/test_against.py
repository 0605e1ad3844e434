"""Windows against the reference's labels, the window before and trailing weeks, beside pandas on raw rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from memory import MemorySource
from picking import only
from synthetic import READING, START, Monitored, labels_of, monitored_of

from monitor.alerts.alert_phrases import alert_sentence
from monitor.alerts.alert_rules import BreachCondition, Rule, RuleLimit
from monitor.core.clock import DAY, HOUR, MINUTE, from_iso
from monitor.core.measurement import Reason
from monitor.measures.catalogue.shift_measures import DISTANCE_ROWS
from monitor.measures.evaluate import measure_performance
from monitor.measures.measure_options import MeasureOptions
from monitor.measures.measurement_comparison import measurement_difference
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.measures.shift.stability_index import NAMES
from monitor.pipeline.windows import window_rows
from monitor.states.strata import Stratum
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

SEGMENTED = replace(READING, segments=("town",), numeric=("temp",), categorical=(), horizon=30 * DAY)
TOWNS = ("a", "b", "c")
COLLAPSE = START + 21 * DAY
Rows = list[MeasurementRow]

FAULTS = {"missing_rate", "invalid_rate", "unseen_rate"}  # compared with the reference in the main window


def rows_of(days: int, *, start: int = START, per_day: int = 120, seed: int = 5) -> pd.DataFrame:
    """A log whose model is right nine times in ten; from the collapse on half as often in town b."""
    rng = np.random.default_rng(seed)
    event = start + np.arange(days * per_day) * (DAY // per_day)
    score = rng.integers(0, 64, len(event)) / 64 + 1 / 128
    town = rng.choice(TOWNS, len(event))
    right = rng.random(len(event)) < np.where((town == "b") & (event >= COLLAPSE), 0.45, 0.9)
    late = np.where(right, score >= 0.5, score < 0.5).astype(int)
    names = [f"p{at}" for at in range(len(event))]
    return pd.DataFrame(
        {
            "id": names,
            "event": event,
            "score": score,
            "town": town,
            "late": late,
            "temp": rng.normal(size=len(event)),
        }
    )


def columns_of(rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "score": rows["score"].to_numpy(),
        "feature:temp": rows["temp"].to_numpy(),
        "segment:town": pa.array(rows["town"].tolist()),
    }


def model(
    rows: pd.DataFrame, store: SqlStore, *windows: str, labels: bool = True, **options: Any
) -> Monitored:
    """A model on the log; its reference are other rows of it, before the collapse."""
    event = rows["event"].to_numpy()
    predictions = pa.table(
        {"id": rows["id"].tolist(), "event_time": event, "logged_at": event, **columns_of(rows)}
    )
    reported = [
        (name, at + MINUTE, 0, str(late))
        for name, at, late in zip(rows["id"], event.tolist(), rows["late"].tolist(), strict=True)
    ]
    before = rows_of(20, seed=6)
    reference = pa.table(columns_of(before))
    if labels:
        reference = reference.append_column("label", pa.array(before["late"].astype(str).tolist()))
    return monitored_of(
        MemorySource(predictions, labels_of(reported)),
        store,
        reading=options.pop("reading", SEGMENTED),
        table=reference,
        windows=tuple(parse_window(name, HOUR) for name in windows),
        settle_after=6 * HOUR,
        **options,
    )


def found(rows: Iterable[MeasurementRow], measure: str, against: str, subject: str = "") -> MeasurementRow:
    """The provisional row of the newest window, or the one without labels."""
    newest = (row for row in rows if row.truth is not LabelTruth.SETTLED)
    return only(newest, measure, against=against, subject=subject)


def table(row: MeasurementRow) -> pd.DataFrame:
    detail = row.measurement.detail
    assert detail is not None
    return pd.DataFrame(detail.rows, columns=list(detail.columns))


def accuracy(rows: pd.DataFrame, *spans: tuple[int, int]) -> float:
    inside = pd.concat([rows[(rows["event"] >= start) & (rows["event"] < end)] for start, end in spans])
    return float(((inside["score"] >= 0.5) == (inside["late"] == 1)).mean())


@pytest.fixture
def collapsed() -> pd.DataFrame:
    return rows_of(28)


def test_the_reference_has_figures_of_its_own_and_the_segment_that_fell_is_named(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d")
    end = START + 28 * DAY

    _, rows = monitored.cycle(end)

    before = rows_of(20, seed=6)
    then, now = accuracy(before, (0, end)), accuracy(collapsed, (end - 7 * DAY, end))
    row = found(rows, "accuracy", "reference")
    assert row.measurement.value == pytest.approx(now - then)
    assert row.measurement.interval is not None
    assert row.measurement.interval.upper < 0
    assert table(row)["value"].tolist() == [pytest.approx(then)]
    assert table(row)["n"].tolist() == [len(before)]
    fall = table(found(rows, "segment_contribution", "reference"))
    assert fall["segment"][0] == "town=b"
    b = collapsed[(collapsed["town"] == "b") & (collapsed["event"] < end)]
    assert fall["accuracy"][0] == pytest.approx(accuracy(b, (end - 7 * DAY, end)), abs=1e-6)
    assert fall["before"][0] == pytest.approx(accuracy(before[before["town"] == "b"], (0, end)), abs=1e-6)
    assert fall["contribution"][0] == pytest.approx((now - then), abs=0.05)
    assert found(rows, "segment_contribution", "reference").measurement.value == pytest.approx(
        fall["contribution"][0], abs=1e-6
    )


def test_only_headlines_that_do_not_grow_with_the_records_are_compared(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    amounts = tuple((actual, predicted, 1.0) for actual in "01" for predicted in "01")
    monitored = model(collapsed, fresh_store, "7d", profit=amounts, resamples=30)

    _, rows = monitored.cycle(START + 14 * DAY)

    compared = {row.measure for row in rows if row.against}
    assert {"accuracy", "roc_auc", "log_loss", "profit_per_record"} <= compared
    assert not {"profit", "confusion_records", "segment_contribution", "average_precision"} & compared
    assert {row.against for row in rows} == {"", "reference"}
    of_segments = [row for row in rows if row.against and row.segment]
    rows = [row for row in rows if row not in of_segments]
    assert {(row.measure, row.version, row.segment) for row in of_segments} == {
        ("roc_auc", None, f"town={town}") for town in TOWNS
    }
    assert {(row.version, row.segment) for row in rows if row.against} == {(None, None)}
    whole = [row for row in rows if not row.against and row.segment is None]
    plain = {(row.measure, row.subject, row.truth): row for row in whole}
    for row in rows:
        if row.against and row.measure != "log_loss_by_mix":  # a part of a difference: no value of its own
            assert row.measurement.n == plain[row.measure, row.subject, row.truth].measurement.n
            assert row.measurement.interval is not None


def test_a_segment_is_compared_with_the_same_one_of_the_reference(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d")

    monitored.cycle(COLLAPSE + 7 * DAY)

    reference = monitored.model.reference
    assert reference is not None
    _, rows = monitored.cycle(COLLAPSE + 8 * DAY)
    settled = [row for row in rows if row.measure == "roc_auc" and row.truth is LabelTruth.PROVISIONAL]
    for town in TOWNS:
        of = {row.against: row for row in settled if row.segment == f"town={town}"}
        now, step = of[""], of["reference"]
        labels = reference.label_segments[Stratum(segment=f"town={town}")]
        figures = {
            one.measure: one.measurement
            for one in measure_performance(reference.counting, labels, MeasureOptions())
        }
        assert step.measurement == replace(
            measurement_difference(now.measurement, figures["roc_auc"]), detail=step.measurement.detail
        )


def test_against_the_logs_own_past_every_measure_of_performance_is_compared(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d", against=("previous",), resamples=30)

    _, rows = monitored.cycle(START + 20 * DAY)

    compared = {row.measure for row in rows if row.against == "previous" and row.truth is not LabelTruth.NONE}
    assert {"accuracy", "matthews_corrcoef", "average_precision", "expected_calibration_error"} <= compared
    assert not {"confusion_records", "expected_calibration_error_critical"} & compared


def test_a_reference_without_labels_is_not_compared_with(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    _, rows = model(collapsed, fresh_store, "7d", labels=False).cycle(START + 14 * DAY)

    assert {row.against for row in rows if row.measure not in FAULTS} == {""}


def test_versions_with_references_of_their_own_are_not_compared_as_a_whole(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d")
    assert monitored.model.reference is not None
    monitored.change(version_references={"v2": monitored.model.reference})

    _, rows = monitored.cycle(START + 14 * DAY)

    assert {row.against for row in rows if row.measure not in FAULTS} == {""}


def test_revisions_carry_the_differences_from_other_moments(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "1d", against=("previous",))
    turned = collapsed.assign(late=1 - collapsed["late"])
    day = START + 5 * DAY
    inside = turned[(turned["event"] >= day - DAY) & (turned["event"] < day)]
    moment = START + 8 * DAY
    corrections = [
        (name, moment, 1, str(late)) for name, late in zip(inside["id"], inside["late"].tolist(), strict=True)
    ]
    source = monitored.model.source
    assert isinstance(source, MemorySource)
    assert source.labels is not None
    monitored.change(
        source=MemorySource(source.predictions, pa.concat_tables([source.labels, labels_of(corrections)]))
    )

    monitored.replay(START + 2 * DAY, START + 10 * DAY, DAY)

    history = fresh_store.snapshots.read_snapshot_rows("late", measure="accuracy", segment="")
    kept = {(stored.row.against, stored.as_of) for stored in history if stored.row.window_end == day}
    revised = max(as_of for against, as_of in kept if not against)
    assert revised >= moment
    assert {("reference", revised), ("previous", revised)} <= kept
    told = {
        stored.row.against: stored.row.measurement.value
        for stored in history
        if stored.as_of == revised and stored.row.window_end == day
    }
    now, before = accuracy(turned, (day - DAY, day)), accuracy(collapsed, (day - 2 * DAY, day - DAY))
    assert told[""] == pytest.approx(now)
    assert told["previous"] == pytest.approx(now - before)


def test_a_fall_against_the_week_before_names_its_segment(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d", against=("previous",), labels=False)
    end = START + 28 * DAY

    _, rows = monitored.cycle(end)

    now = accuracy(collapsed, (end - 7 * DAY, end))
    row = found(rows, "accuracy", "previous")
    assert row.measurement.value == pytest.approx(now - accuracy(collapsed, (COLLAPSE - 7 * DAY, COLLAPSE)))
    assert table(found(rows, "segment_contribution", "previous"))["segment"][0] == "town=b"


def test_a_fall_of_ranking_alone_names_the_segment_that_is_surely_worst(fresh_store: SqlStore) -> None:
    """Town b errs no more often than before, but where it is most certain: accuracy has not fallen."""
    rows = rows_of(21)
    wrong = (rows["town"] == "b") & (rows["event"] >= START + 14 * DAY)
    wrong &= (rows["score"] >= 0.5) != (rows["late"] == 1)
    rows.loc[wrong, "score"] = np.where(rows.loc[wrong, "score"] >= 0.5, 127 / 128, 1 / 128)
    rule = Rule(
        name="ranking",
        measure="roc_auc",
        condition=BreachCondition(below=RuleLimit(-0.01)),
        window="7d",
        truth=LabelTruth.PROVISIONAL,
        against="reference",
    )
    monitored = model(rows, fresh_store, "7d", rules=(rule,))

    _, measured = monitored.cycle(START + 21 * DAY)

    assert not [row for row in measured if row.measure == "segment_contribution"]
    ((_, alert),) = fresh_store.alerts.read_alerts("late")
    assert alert.breach.cause is not None
    names = [str(name) for name, *_ in alert.breach.cause.rows]
    assert (names[0], sorted(names)) == ("town=b", ["town=a", "town=b", "town=c"])
    assert "; segment town=b is worst by its better bound, 0." in alert_sentence(
        rule, alert.series, alert.breach
    )


def test_a_trailing_reference_is_the_same_weekdays_of_the_weeks_before(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "1d", against=("14d",), labels=False)
    end = START + 25 * DAY

    _, rows = monitored.cycle(end)

    weeks = [(end - DAY - back * 7 * DAY, end - back * 7 * DAY) for back in (1, 2)]
    now = accuracy(collapsed, (end - DAY, end))
    assert found(rows, "accuracy", "14d").measurement.value == pytest.approx(
        now - accuracy(collapsed, *weeks)
    )
    assert table(found(rows, "accuracy", "14d"))["n"].tolist() == [240]
    today = collapsed[(collapsed["event"] >= end - DAY) & (collapsed["event"] < end)]
    before = pd.concat(
        [collapsed[(collapsed["event"] >= start) & (collapsed["event"] < stop)] for start, stop in weeks]
    )
    expected = index_of(before["score"], today["score"], monitored)
    assert found(rows, "stability_index", "14d", "score").measurement.value == pytest.approx(expected)


def index_of(before: pd.Series, now: pd.Series, monitored: Monitored) -> float:
    """Stability index of raw scores over the reference's deciles, half a record added to each cell."""
    grid = monitored.model.counting.score
    assert grid is not None
    edges = [-np.inf, *(grid.edges[at] for at in grid.deciles), np.inf]
    sides = [np.histogram(scores, edges)[0] + 0.5 for scores in (before, now)]
    q, p = (side / side.sum() for side in sides)
    return float(((p - q) * np.log(p / q)).sum())


def test_shift_against_an_earlier_window_has_all_measures_of_every_subject(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d", against=("previous", "14d"))

    _, rows = monitored.cycle(START + 28 * DAY)

    names = {*NAMES, "ks_distance", "ks_p_value", *(measure.name for measure in DISTANCE_ROWS)}
    names.add("standardized_mean_difference")
    for against in ("previous", "14d"):
        shifted = {(row.measure, row.subject) for row in rows if row.against == against and not row.truth}
        assert {(name, "score") for name in names} <= shifted
        assert {(name, "feature:temp") for name in names} <= shifted
        assert {name for name, _ in shifted} == names
        moved = table(found(rows, "stability_index", against, "score"))
        assert list(moved.columns) == ["cell", "expected", "actual", "contribution"]


def test_the_month_before_is_the_calendar_month(fresh_store: SqlStore) -> None:
    log = rows_of(96, per_day=24)
    reading = replace(SEGMENTED, horizon=100 * DAY)
    monitored = model(log, fresh_store, "month", against=("previous",), reading=reading)

    _, rows = monitored.cycle(from_iso("2024-04-02"))

    january, february, march, april = (from_iso(f"2024-0{month}-01") for month in range(1, 5))
    expected = accuracy(log, (march, april)) - accuracy(log, (february, march))
    assert found(rows, "accuracy", "previous").measurement.value == pytest.approx(expected)
    assert table(found(rows, "accuracy", "previous"))["n"].tolist() == [29 * 24]
    kept = fresh_store.snapshots.read_snapshot_rows("late", measure="accuracy", segment="")
    before = {
        stored.row.window_end: stored.row.measurement for stored in kept if stored.row.against == "previous"
    }
    assert before[march].value == pytest.approx(
        accuracy(log, (february, march)) - accuracy(log, (january, february))
    )
    assert before[february].reason is Reason.NOT_COUNTED


def test_spans_that_were_not_counted_are_a_reason(fresh_store: SqlStore, collapsed: pd.DataFrame) -> None:
    monitored = model(collapsed, fresh_store, "7d", "1d", against=("previous", "14d"))

    _, rows = monitored.cycle(START + 10 * DAY)

    of_week = [row for row in rows if row.window == "7d" and row.against not in ("", "reference")]
    assert {row.measurement.reason for row in of_week} == {Reason.NOT_COUNTED}
    assert {"accuracy", "stability_index", "ks_distance"} <= {row.measure for row in of_week}
    of_day = [row for row in rows if row.window == "1d" and row.measure == "accuracy" and row.against]
    assert {(row.against, row.measurement.reason) for row in of_day} == {
        ("reference", None),
        ("previous", None),
        ("14d", Reason.NOT_COUNTED),
    }


def test_a_window_too_long_for_a_trailing_reference_has_no_rows_of_it(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "8d", "1d", against=("7d",))

    _, rows = monitored.cycle(START + 25 * DAY)

    assert {row.window for row in rows if row.against == "7d"} == {"1d"}


def test_a_restart_loads_what_windows_are_compared_with(
    new_store: Callable[[], SqlStore], collapsed: pd.DataFrame
) -> None:
    """The horizon ends where the newest window starts; what it is compared with lies before."""
    reading = replace(SEGMENTED, horizon=9 * DAY)
    stores = new_store(), new_store()
    before = [model(collapsed, store, "7d", against=("14d",), reading=reading) for store in stores]
    for monitored in before:
        monitored.replay(START + 6 * DAY, START + 27 * DAY, 7 * DAY)
    restarted = model(collapsed, stores[0], "7d", against=("14d",), reading=reading)

    _, rows = restarted.cycle(START + 28 * DAY)
    _, straight = before[1].cycle(START + 28 * DAY)

    now = accuracy(collapsed, (COLLAPSE, COLLAPSE + 7 * DAY))
    earlier = [(COLLAPSE - back * 7 * DAY, COLLAPSE - (back - 1) * 7 * DAY) for back in (1, 2)]
    assert found(rows, "accuracy", "14d").measurement.value == pytest.approx(
        now - accuracy(collapsed, *earlier)
    )
    assert rows == straight


def test_what_did_not_change_is_not_measured_again(
    fresh_store: SqlStore, collapsed: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitored = model(collapsed, fresh_store, "7d", against=("previous",))
    end = START + 21 * DAY
    _, first = monitored.cycle(end + 8 * HOUR)
    for measures in ("make_record_rows", "make_label_rows", "measure_earlier_shift", "compare_performance"):
        monkeypatch.delattr(window_rows, measures)

    _, second = monitored.cycle(end + 8 * HOUR)

    assert second == first
    assert {row.against for row in first} >= {"", "previous"}


def test_without_the_family_there_is_no_shift_against_anything(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    monitored = model(collapsed, fresh_store, "7d", against=("previous",), families=frozenset())

    for end in (START + 10 * DAY, START + 21 * DAY):
        _, rows = monitored.cycle(end)
        known = {row.truth for row in rows if row.against and row.measure not in FAULTS}
        assert known == {*LabelTruth} - {LabelTruth.NONE}


def test_segments_are_resampled_where_that_is_asked_for(
    fresh_store: SqlStore, collapsed: pd.DataFrame
) -> None:
    def with_intervals(end: int, *, resampled: bool) -> set[str]:
        monitored = model(collapsed, fresh_store, "7d", resamples=30, resample_segments=resampled)
        _, rows = monitored.cycle(end)
        return {row.measure for row in rows if row.segment and row.measurement.interval}

    closed = with_intervals(START + 20 * DAY, resampled=False)
    assert with_intervals(START + 21 * DAY, resampled=True) > closed > set()
