"""The days that people have: clocks that change, weekends without traffic, logs that are loaded at night."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from serving import Bench, Database
from sklearn import metrics
from synthetic import START, Log, log_of, monitored_of

from monitor.app.model_cycles import run_single_cycle
from monitor.core.clock import DAY, HOUR, MINUTE, from_iso, ticks_between, to_iso
from monitor.core.measurement import Reason
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

CONFIG = """
[[models]]
name = "late"
source = "log"
task = "binary"
timezone = "{zone}"
pane = "{pane}"
windows = ["day", "week", "month"]
horizon = "70d"
settle_after = "1d"
every = "1d"

[models.predictions]
table = "predictions"
id = "id"
event_time = "event_time"
logged_at = "logged_at"
score = "score"
threshold = 0.5

[models.labels]
table = "labels"
id = "id"
label = "late"
reported_at = "reported_at"
"""
PERIODS = {"day": "D", "week": "W-SUN", "month": "M"}


def served(start: str, end: str) -> pd.DataFrame:
    """Predictions every 20 minutes and their labels; different scores lie in different cells."""
    event = np.arange(from_iso(start), from_iso(end), 20 * MINUTE)
    rng = np.random.default_rng(17)
    score = rng.integers(0, 64, len(event)) / 64 + 1 / 128
    return pd.DataFrame(
        {
            "id": [f"p{at}" for at in range(len(event))],
            "event": event,
            "score": score,
            "late": (rng.random(len(event)) < score).astype(int),
        }
    )


def bench_of(rows: pd.DataFrame, directory: Path, zone: str, pane: str) -> Bench:
    """The rows in a database, and a configuration for them."""
    database = Database(f"sqlite:///{directory / 'log.db'}")
    database.create("predictions", id="TEXT", event_time="TEXT", logged_at="TEXT", score="REAL")
    database.create("labels", id="TEXT", late="INTEGER", reported_at="TEXT")
    moments = rows["event"].tolist()
    database.insert(
        "predictions",
        [
            {"id": name, "event_time": to_iso(at), "logged_at": to_iso(at + MINUTE), "score": score}
            for name, at, score in zip(rows["id"], moments, rows["score"], strict=True)
        ],
    )
    database.insert(
        "labels",
        [
            {"id": name, "late": late, "reported_at": to_iso(at + 2 * HOUR)}
            for name, at, late in zip(rows["id"], moments, rows["late"].tolist(), strict=True)
        ],
    )
    bench = Bench(directory, database, f"sqlite:///{directory / 'monitor.db'}")
    bench.configure(CONFIG.format(zone=zone, pane=pane))
    return bench


def kept(bench: Bench, as_of: int) -> dict[tuple[str, int], dict[str, MeasurementRow]]:
    """Rows of one cycle by window and end: those of whole windows."""
    with bench.app() as app:
        assert run_single_cycle(app, "late", as_of).error is None
        history = app.store.snapshots.read_snapshot_rows("late", segment="", version="")
    found: dict[tuple[str, int], dict[str, MeasurementRow]] = {}
    for stored in history:
        if stored.row.warning == "" and stored.row.subject == "" and not stored.row.against:
            found.setdefault((stored.row.window, stored.row.window_end), {})[stored.row.measure] = stored.row
    return found


@pytest.mark.parametrize(
    ("zone", "pane", "start", "end", "hours"),
    [
        pytest.param("Europe/Vienna", "1h", "2013-02-20", "2013-04-05", 31 * 24 - 1, id="March 31"),
        pytest.param("Europe/Vienna", "1h", "2013-09-20", "2013-11-05", 31 * 24 + 1, id="October 27"),
        pytest.param(
            *("Asia/Kolkata", "30m", "2013-02-20", "2013-04-05", 31 * 24),
            marks=pytest.mark.long,
            id="half an hour",
        ),
    ],
)
def test_days_weeks_and_months_of_a_zone_are_those_of_pandas(
    tmp_path: Path, zone: str, pane: str, start: str, end: str, hours: int
) -> None:
    rows = served(start, end)
    local = pd.to_datetime(rows["event"], unit="us", utc=True).dt.tz_convert(zone)

    found = kept(bench_of(rows, tmp_path, zone, pane), from_iso(end))

    compared, lengths = dict.fromkeys(PERIODS, 0), set()
    for window, frequency in PERIODS.items():
        for period, part in rows.groupby(local.dt.tz_localize(None).dt.to_period(frequency)):
            after = (period + 1).start_time.tz_localize(zone).value // 1_000
            if (window, after) not in found or after > from_iso(end) - DAY:
                continue  # partial, or not settled
            row = {name: one.measurement for name, one in found[window, after].items()}
            compared[window] += 1
            lengths.add((after - period.start_time.tz_localize(zone).value // 1_000) // HOUR)
            assert row["records"].value == row["labelled_records"].value == len(part)
            assert row["coverage"].value == 1.0
            assert row["accuracy"].value == pytest.approx(
                metrics.accuracy_score(part["late"], part["score"] >= 0.5), rel=1e-9
            )
            assert row["base_rate"].value == pytest.approx(part["late"].mean(), rel=1e-9)
            auc = metrics.roc_auc_score(part["late"], part["score"])
            assert row["roc_auc"].value == pytest.approx(auc, rel=1e-9)
    assert compared["month"] == 1
    assert compared["week"] >= 5
    assert compared["day"] >= 40
    assert hours in lengths


def weekdays_only(log: Log) -> Log:
    """The log without Saturdays and Sundays; it starts on a Monday."""
    event = np.asarray(log.predictions["event_time"])
    return Log(log.predictions.filter(pa.array((event - START) // DAY % 7 < 5)), log.labels)


def test_weekends_without_traffic_are_measurements_of_none_and_settle(sqlite_store: SqlStore) -> None:
    windows = (parse_window("day", HOUR), parse_window("7d", HOUR))
    log = weekdays_only(log_of(20, never=0.0))
    monitored = monitored_of(log.source(), sqlite_store, windows=windows, settle_after=3 * DAY)

    for as_of in ticks_between(START, START + 18 * DAY, DAY):
        monitored.cycle(as_of)

    sunday = START + 14 * DAY
    history = sqlite_store.snapshots.read_snapshot_rows("late", window="day", segment="", version="")
    rows = {
        (stored.row.window_end, stored.row.measure, stored.row.subject): stored.row
        for stored in history
        if not stored.row.against
    }
    for end in (sunday - DAY, sunday):
        assert rows[end, "records", ""].measurement.value == 0.0
        assert rows[end, "stability_index", "score"].measurement.reason is Reason.NO_RECORDS
        assert rows[end, "accuracy", ""].measurement.reason is Reason.NO_LABELS
        assert rows[end, "coverage", ""].measurement.reason is Reason.NO_RECORDS
        assert rows[end, "accuracy", ""].measurement.n == 0
        assert rows[end, "volume_ratio", ""].measurement.reason is Reason.NO_RECORDS
        assert rows[end, "volume_ratio", ""].warning == ""
    assert rows[sunday + DAY, "volume_ratio", ""].measurement.value == 1.0
    settled = {
        one.end: one.warning for one in sqlite_store.states.read_windows("late", START) if one.settled_as_of
    }
    assert {sunday - 2 * DAY: "", sunday - DAY: "", sunday: "", sunday + DAY: ""}.items() <= settled.items()


def test_without_settle_after_weekends_hold_no_window_back(sqlite_store: SqlStore) -> None:
    monitored = monitored_of(
        weekdays_only(log_of(25)).source(), sqlite_store, windows=(parse_window("day", HOUR),)
    )

    newest = {}
    for as_of in ticks_between(START, START + 24 * DAY, DAY):
        _, rows = monitored.cycle(as_of)
        ends = {row.window_end for row in rows if row.truth is LabelTruth.SETTLED}
        newest[(as_of - START) // DAY] = max(ends, default=START)

    assert all(as_of * DAY + START - newest[as_of] <= 2 * DAY for as_of in range(10, 25))


def loaded_at_night(days: int) -> Log:
    """A log whose rows of each day all become visible at 04:00 of the next."""
    log = log_of(days)
    event = np.asarray(log.predictions["event_time"])
    at = log.predictions.column_names.index("logged_at")
    night = pa.array((event // DAY + 1) * DAY + 4 * HOUR)
    return Log(log.predictions.set_column(at, "logged_at", night), log.labels)


@pytest.mark.parametrize(
    ("ready_after", "first", "records"),
    [
        pytest.param(6 * HOUR, 6 * HOUR, 240, id="six hours"),
        pytest.param(15 * MINUTE, HOUR, 0, id="the default"),
    ],
)
def test_a_log_loaded_at_night_is_complete_when_it_is_first_measured_ready_after_the_load(
    sqlite_store: SqlStore, ready_after: int, first: int, records: int
) -> None:
    monitored = monitored_of(
        loaded_at_night(5).source(),
        sqlite_store,
        windows=(parse_window("1d", HOUR, DAY),),
        every=HOUR,
        ready_after=ready_after,
    )

    for as_of in ticks_between(START + 2 * DAY, START + 4 * DAY, HOUR):
        monitored.cycle(as_of)

    end = START + 3 * DAY
    (measured, *later) = [
        (stored.as_of - end, stored.row.measurement.value)
        for stored in sqlite_store.snapshots.read_snapshot_rows(
            "late", measure="records", segment="", version=""
        )
        if stored.row.window_end == end
    ]
    assert measured == (first, records)
    assert later in ([], [(DAY, 240)])


def test_volumes_are_compared_with_the_same_hours_of_the_earlier_weeks_that_were_counted(
    sqlite_store: SqlStore,
) -> None:
    """Half the usual traffic on the last day; the log is 16 days old: two weeks to compare with."""
    log = log_of(16)
    event = np.asarray(log.predictions["event_time"])
    keep = (event < START + 15 * DAY) | (np.arange(len(event)) % 2 == 0)
    thinned = Log(log.predictions.filter(pa.array(keep)), log.labels)
    monitored = monitored_of(
        thinned.source(), sqlite_store, windows=(parse_window("1d", HOUR), parse_window("7d", HOUR))
    )

    _, rows = monitored.cycle(START + 16 * DAY)
    ratio = {row.window: row.measurement for row in rows if row.measure == "volume_ratio"}

    assert (ratio["1d"].value, ratio["1d"].n) == (0.5, 120)
    assert ratio["1d"].interval is not None
    assert ratio["1d"].interval.lower < 0.5 < ratio["1d"].interval.upper
    assert ratio["7d"].value == (7 * 240 - 120) / (7 * 240)
    assert ratio["7d"].interval is None


def test_beyond_the_horizon_there_is_nothing_to_compare_volumes_with(sqlite_store: SqlStore) -> None:
    log = log_of(16)
    monitored = monitored_of(log.source(), sqlite_store, windows=(parse_window("14d", HOUR),))

    _, rows = monitored.cycle(START + 16 * DAY)

    (ratio,) = (row.measurement for row in rows if row.measure == "volume_ratio")
    assert ratio.reason is Reason.NOT_COUNTED
