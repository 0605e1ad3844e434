"""Records of one day that go together: intervals of a window by its days, and a warning where not."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from synthetic import READING, START, Log, log_of, monitored_of

from monitor.core.clock import DAY, HOUR
from monitor.core.measurement import Dependence, Measurement
from monitor.measures.day_intervals import jackknife_results
from monitor.measures.evaluate import measure_performance, measure_quality
from monitor.measures.measure_options import MeasureOptions, MeasureResult
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.counting import Counting
from monitor.records.pane import PaneHalf
from monitor.records.reading import ComparedArms
from monitor.states.counters import Counters
from monitor.states.strata import WHOLE
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import open_store
from monitor.windows.window_ends import parse_window

LAST = START + 23 * DAY
INDEPENDENT = "independent_records"
LONG = replace(
    READING,
    horizon=40 * DAY,
    arms=ComparedArms(column="arm", control="control", treatment="treatment"),
    pane=6 * HOUR,
)
WINDOWS = (parse_window("7d", 6 * HOUR), parse_window("21d", 6 * HOUR))


def log() -> Log:
    """Days that differ: on every third one the labels are the wrong way round for half of the records."""
    plain = log_of(23, per_day=32)
    ids = [int(one[1:]) for one in plain.labels["id"].to_pylist()]
    flipped = [
        {"0": "1", "1": "0"}[label] if number // 32 % 3 == 0 and number % 2 else label
        for number, label in zip(ids, plain.labels["label"].to_pylist(), strict=True)
    ]
    arms = np.random.default_rng(5).choice(["control", "treatment"], plain.predictions.num_rows).tolist()
    holes = np.random.default_rng(6).random(plain.predictions.num_rows) < 0.1
    temp = pa.array(plain.predictions["feature:temp"].to_numpy(), mask=holes)
    at = plain.predictions.schema.get_field_index("feature:temp")
    return Log(
        plain.predictions.append_column("arm", pa.array(arms)).set_column(at, "feature:temp", temp),
        plain.labels.set_column(plain.labels.schema.get_field_index("label"), "label", pa.array(flipped)),
    )


@dataclass(frozen=True)
class Measured:
    """Rows of one cycle, and what the days of its long window were counted to."""

    rows: list[MeasurementRow]
    counting: Counting
    labels: list[Counters]
    records: list[Counters]


def cycle(store: SqlStore, dependence: Dependence) -> Measured:
    monitored = monitored_of(
        log().source(),
        store,
        reading=LONG,
        dependence=dependence,
        windows=WINDOWS,
        against=("previous",),
        settle_after=0,
        resamples=50,
    )
    rows = monitored.cycle(LAST)[1]
    days = range(LAST - 21 * DAY, LAST, DAY)
    labels, records = (
        [monitored.caches.panes.sum_window(part, day, day + DAY)[WHOLE] for day in days]
        for part in (PaneHalf.LABELS, PaneHalf.RECORDS)
    )
    return Measured(rows, monitored.model.counting, labels, records)


@pytest.fixture(scope="module")
def by_day(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    path = tmp_path_factory.mktemp("by_day") / "store.db"
    shutil.copy(empty_store, path)
    store = open_store(f"sqlite:///{path}", "live")
    yield cycle(store, "day")
    store.close()


def one(
    rows: list[MeasurementRow], measure: str, *, window: str = "21d", subject: str = ""
) -> MeasurementRow:
    found = [
        row
        for row in rows
        if (row.measure, row.window, row.subject, row.against) == (measure, window, subject, "")
        and row.truth in (LabelTruth.PROVISIONAL, LabelTruth.NONE)
        and row.version is None
        and row.segment is None
    ]
    assert len(found) == 1
    return found[0]


def intervals(
    days: list[Counters], measures: Callable[[Counters, int], list[MeasureResult]]
) -> dict[tuple[str, str], Measurement]:
    """Of the sum of the days, by what is left without each."""
    layout = days[0].layout
    found = measures(Counters.merge_all(layout, days), 50)
    sums = (Counters.merge_all(layout, days[:at] + days[at + 1 :]) for at in range(len(days)))
    return jackknife_results(found, [measures(one, 1) for one in sums])


def test_the_performance_of_a_long_window_has_its_intervals_by_days(by_day: Measured) -> None:
    def measures(labels: Counters, resamples: int) -> list[MeasureResult]:
        return measure_performance(by_day.counting, labels, MeasureOptions(resamples=resamples))

    expected = intervals(by_day.labels, measures)

    for measure in ("accuracy", "roc_auc", "log_loss", "f1", "calibration_slope"):
        row = one(by_day.rows, measure)
        assert row.measurement.interval == expected[measure, ""].interval
        assert row.warning == ""


def test_the_rates_of_data_have_their_intervals_by_days(by_day: Measured) -> None:
    expected = intervals(by_day.records, lambda records, _: measure_quality(by_day.counting, records))

    row = one(by_day.rows, "missing_rate", subject="feature:temp")
    assert row.measurement.interval == expected["missing_rate", "feature:temp"].interval
    assert row.warning == ""


def test_the_arms_are_compared_by_days(by_day: Measured) -> None:
    row = one(by_day.rows, "outcome_rate_difference")

    assert row.measurement.interval is not None
    assert row.warning == ""


def test_a_maximum_has_no_interval_by_days(by_day: Measured) -> None:
    row = one(by_day.rows, "ks_separation")

    assert row.measurement.value is not None
    assert row.measurement.interval is None
    assert row.warning == ""


def test_intervals_that_take_records_as_independent_say_so(by_day: Measured) -> None:
    """Of few days, of strata, of differences from other windows, of estimates; volumes are of whole weeks."""
    told = [row for row in by_day.rows if row.measurement.interval is not None]
    short = [row for row in told if row.window == "7d"]
    strata = [row for row in told if row.segment is not None]
    differences = [row for row in told if row.against]

    for rows in (short, strata, differences):
        doubtful = [row for row in rows if row.measure != "volume_ratio"]
        assert doubtful
        assert all(INDEPENDENT in row.warning for row in doubtful)
    assert not any(INDEPENDENT in row.warning for row in by_day.rows if row.measurement.interval is None)
    assert not any(INDEPENDENT in row.warning for row in by_day.rows if row.measure == "volume_ratio")


def test_records_are_independent_by_default(fresh_store: SqlStore, by_day: Measured) -> None:
    found = cycle(fresh_store, "none")

    expected = measure_performance(
        found.counting, Counters.merge_all(found.labels[0].layout, found.labels), MeasureOptions()
    )
    accuracy = next(result.measurement for result in expected if result.measure == "accuracy")
    assert one(found.rows, "accuracy").measurement.interval == accuracy.interval
    assert not any(INDEPENDENT in row.warning for row in found.rows)
    assert values(found.rows) == values(by_day.rows)


def values(rows: list[MeasurementRow]) -> list[float | None]:
    return [row.measurement.value for row in rows if not row.against]
