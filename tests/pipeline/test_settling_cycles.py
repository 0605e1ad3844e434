"""Settling through real cycles: late, missing, batched and stalled labels, rare classes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from picking import only, picked
from synthetic import READING, SPEC, START, Log, log_of, monitored_of, weekly

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, SECOND, ticks_between
from monitor.exposition.series_selection import expose_model
from monitor.measures.measurement_row import LabelTruth
from monitor.specs.model_spec import Relation
from monitor.store.measurements.current_measurements import CurrentRepository
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

NewStore = Callable[[], SqlStore]
ONE_DAY = SPEC.windows[:1]
LONG = replace(READING, horizon=28 * DAY)  # several times the longest delay


@dataclass(frozen=True)
class Seen:
    """The newest settled window of a cycle."""

    window: str
    as_of: int
    end: int
    coverage: float
    warning: str

    @property
    def age(self) -> int:
        return self.as_of - self.end


def watched(store: SqlStore, log: Log, days: int, first: int = 0, **options: Any) -> list[Seen]:
    """What was settled cycle by cycle, a cycle a day from the first one on."""
    monitored = monitored_of(log.source(), store, **{"windows": ONE_DAY, **options})
    seen = []
    for as_of in ticks_between(START + first * DAY, START + days * DAY, monitored.model.spec.keys.every):
        for row in picked(monitored.cycle(as_of)[1], "accuracy", truth=LabelTruth.SETTLED):
            assert row.coverage is not None
            seen.append(Seen(row.window, as_of, row.window_end, row.coverage, row.warning))
    return seen


def test_windows_settle_when_95_percent_of_what_will_come_is_there(fresh_store: SqlStore) -> None:
    """Log-normal delays, median 12 h: 95 % are there after 32 h; 3 % never come and block nothing."""
    seen = watched(fresh_store, log_of(16), 16)

    assert seen[0].as_of == START + 3 * DAY  # heard for 1.5 times as long on the third day
    late = [one for one in seen if one.as_of >= START + 8 * DAY]
    assert len(late) == 9
    assert {one.warning for one in late} == {""}
    assert all(30 * HOUR <= one.age <= 36 * HOUR for one in late)
    assert all(0.9 <= one.coverage <= 0.98 for one in late)


def test_a_first_cycle_over_a_log_older_than_the_horizon_settles_windows(fresh_store: SqlStore) -> None:
    """Also where no row lies at the horizon's cut: older rows say how old the log is."""
    log = log_of(40, never=0.4)
    quiet = pc.less(pc.subtract(log.predictions["event_time"], START), 8 * DAY)
    later = pc.greater_equal(pc.subtract(log.predictions["event_time"], START), 24 * DAY)
    sparse = replace(log, predictions=log.predictions.filter(pc.or_(quiet, later)))
    monitored = monitored_of(sparse.source(), fresh_store, windows=ONE_DAY)

    rows = picked(monitored.cycle(START + 40 * DAY)[1], "accuracy", truth=LabelTruth.SETTLED)

    assert [row.window_end >= START + 38 * DAY for row in rows] == [True]


def test_labels_that_never_come_block_nothing_even_when_they_are_many(fresh_store: SqlStore) -> None:
    """What panes of that age have reached is usual: from the first that are that old."""
    seen = watched(fresh_store, log_of(18, never=0.4), 18)

    assert seen[0].as_of == START + 3 * DAY
    assert seen[-1].as_of == START + 18 * DAY
    assert seen[-1].age <= 36 * HOUR
    assert seen[-1].coverage == pytest.approx(0.58, abs=0.06)
    assert {one.warning for one in seen} == {""}


def five_to_forty_days(rng: np.random.Generator, event: Ints) -> Ints:
    return rng.integers(5 * DAY, 40 * DAY, len(event))


@pytest.mark.parametrize(
    "horizon", [pytest.param(45, marks=pytest.mark.long), 72, pytest.param(107, marks=pytest.mark.long)]
)
def test_labels_up_to_forty_days_late_settle_within_65_days_whatever_the_horizon(
    fresh_store: SqlStore, horizon: int
) -> None:
    """Delays of 5 to 40 days, and a quarter of the labels never comes."""
    log = log_of(
        66, per_day=48, never=0.24, delay=lambda rng, event: rng.integers(5 * DAY, 40 * DAY, len(event))
    )
    reading = replace(READING, horizon=horizon * DAY, pane=DAY)

    seen = watched(fresh_store, log, 66, 38, reading=reading, windows=(parse_window("7d", DAY),))

    assert START + 44 * DAY <= seen[0].as_of <= START + 65 * DAY
    assert seen[0].coverage == pytest.approx(0.74, abs=0.08)
    assert {one.warning for one in seen} <= {"", "partial"}


def test_with_weekly_batches_no_window_settles_before_its_batch(fresh_store: SqlStore) -> None:
    """0.95 of the plateau of 0.97, less three standard deviations of a day's 240 records, is 0.87."""
    seen = watched(fresh_store, log_of(42, delay=weekly), 42, windows=SPEC.windows, reading=LONG)

    for name, least in (("1d", 0.87), ("7d", 0.92)):
        mine = [one for one in seen if one.window == name]
        assert all(one.coverage >= least for one in mine)
        assert {one.warning for one in mine} == {""}
        assert len({one.end // (7 * DAY) for one in mine if one.as_of >= START + 29 * DAY}) >= 2


def stalled(days: int, at: int) -> Log:
    """A log whose label feed stands still from a day on."""
    log = log_of(days)
    return Log(log.predictions, log.labels.filter(pc.less(log.labels["reported_at"], START + at * DAY)))


def test_while_a_young_logs_label_feed_stands_still_nothing_new_settles(fresh_store: SqlStore) -> None:
    seen = watched(fresh_store, stalled(18, 9), 18, windows=SPEC.windows)

    assert seen[-1].as_of == START + 18 * DAY
    assert max(one.end for one in seen) <= START + 9 * DAY
    assert all(one.coverage >= 0.9 for one in seen)


def test_while_an_old_logs_label_feed_stands_still_nothing_new_settles(fresh_store: SqlStore) -> None:
    """Not even when the log has outlived every label that it holds."""
    reading = replace(READING, horizon=8 * DAY)

    seen = watched(fresh_store, stalled(26, 10), 26, reading=reading)

    assert seen[-1].as_of == START + 26 * DAY
    assert max(one.end for one in seen) <= START + 10 * DAY
    assert all(one.coverage >= 0.85 for one in seen if one.as_of <= START + 12 * DAY)
    settled_ends = [
        one.end for one in fresh_store.states.read_windows("late", START) if one.settled_as_of is not None
    ]
    assert max(settled_ends) <= START + 10 * DAY


def test_labels_lost_for_good_settle_their_windows_with_a_warning(fresh_store: SqlStore) -> None:
    """The labels of one day never come, those of the next days do."""
    log, reading = log_of(17), replace(READING, horizon=8 * DAY)
    day = START + 11 * DAY
    event = np.asarray(log.predictions["event_time"])
    lost = np.asarray(log.predictions["id"])[(event >= day) & (event < day + DAY)].tolist()

    seen = watched(fresh_store, log.without(labels_of=set(lost)), 17, reading=reading)

    assert {one.warning for one in seen if one.coverage >= 0.85} == {""}
    kept = {one.end: one for one in fresh_store.states.read_windows("late", day)}
    assert kept[day + DAY].warning == "low_coverage"
    assert (kept[day + DAY].settled_as_of or 0) >= day + 3 * DAY
    history = fresh_store.snapshots.read_snapshot_rows(
        model="late", window="1d", measure="accuracy", segment="", version=""
    )
    found = [
        stored.row
        for stored in history
        if stored.row.window_end == day + DAY and stored.row.truth is LabelTruth.SETTLED
    ]
    assert [row.warning for row in found] == ["low_coverage"]
    assert [row.coverage for row in found] == [0.0]


def test_the_current_rows_of_a_window_with_lost_labels_carry_the_warning(fresh_store: SqlStore) -> None:
    log, reading = log_of(15), replace(READING, horizon=8 * DAY)
    event = np.asarray(log.predictions["event_time"])
    lost = np.asarray(log.predictions["id"])[(event >= START + 10 * DAY) & (np.arange(len(event)) % 2 == 0)]

    seen = watched(fresh_store, log.without(labels_of=set(lost.tolist())), 15, reading=reading)

    low = [one for one in seen if one.coverage < 0.75]
    assert low != []
    assert {one.warning for one in low} == {"low_coverage"}
    current = picked(
        [stored.row for stored in fresh_store.current.read_current("late")],
        "accuracy",
        truth=LabelTruth.SETTLED,
    )
    assert {row.warning for row in current} == {"low_coverage"}


@pytest.mark.parametrize(
    ("restarted", "dependence", "warning"),
    [
        (False, "none", "low_coverage"),
        (True, "none", "low_coverage"),
        (True, "day", "low_coverage, independent_records"),
    ],
)
def test_the_current_rows_keep_the_warning_that_their_window_settled_with(
    fresh_store: SqlStore, *, restarted: bool, dependence: str, warning: str
) -> None:
    """The lost labels come after all, before the next window settles."""
    log = log_of(15)
    options: dict[str, Any] = {
        "windows": (parse_window("1d", DAY),),
        "reading": replace(READING, horizon=8 * DAY),
        "dependence": dependence,
    }
    event = np.asarray(log.predictions["event_time"])
    ids = np.asarray(log.predictions["id"])[(event >= START + 10 * DAY) & (np.arange(len(event)) % 2 == 0)]
    lost = log.without(labels_of=set(ids.tolist()))
    as_of = START + 15 * DAY
    source = lost.source()
    monitored = monitored_of(source, fresh_store, **options)
    *_, last = (monitored.cycle(moment)[1] for moment in ticks_between(START, as_of, DAY))
    source.labels = lost.with_labels(*((name, as_of + HOUR, 0, "1") for name in ids.tolist())).labels

    if restarted:
        monitored = monitored_of(source, fresh_store, **options)
    _, rows = monitored.cycle(as_of + 2 * HOUR)

    before, after = (only(each, "accuracy", truth=LabelTruth.SETTLED) for each in (last, rows))
    assert (before.window_end, before.warning) == (after.window_end, warning)
    assert (before.coverage or 0) < 0.75
    assert (after.coverage or 0) > 0.9
    assert after.warning == warning


def test_what_was_committed_last_is_read_once_also_where_nothing_ever_settles(
    fresh_store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    read_current = CurrentRepository.read_current

    def counted(repository: CurrentRepository, model: str | None = None) -> Any:
        asked.append(model)
        return read_current(repository, model)

    monkeypatch.setattr(CurrentRepository, "read_current", counted)
    reading = replace(READING, labelled=False)

    assert watched(fresh_store, log_of(3), 3, reading=reading, labels=None) == []

    assert asked == ["late"]


def test_when_the_feed_comes_back_windows_settle_again(fresh_store: SqlStore) -> None:
    log = log_of(20)
    reported = np.asarray(log.labels["reported_at"])
    held = np.where((reported >= START + 8 * DAY) & (reported < START + 13 * DAY), START + 13 * DAY, reported)
    names = log.labels.column_names
    labels = log.labels.set_column(names.index("reported_at"), "reported_at", pa.array(held))

    seen = watched(fresh_store, Log(log.predictions, labels), 20)

    during = [one for one in seen if START + 9 * DAY <= one.as_of < START + 13 * DAY]
    assert max(one.end for one in during) <= START + 8 * DAY
    assert seen[-1].end > START + 13 * DAY
    assert all(one.coverage >= 0.9 for one in seen)


def test_a_rare_class_has_the_delays_of_all_and_its_windows_say_so(fresh_store: SqlStore) -> None:
    log = log_of(12)
    few = np.arange(log.labels.num_rows) % 100 == 0
    labels = log.labels.set_column(3, "label", pa.array(np.where(few, "1", "0")))

    seen = watched(fresh_store, Log(log.predictions, labels), 12)

    assert seen[0].as_of <= START + 3 * DAY
    assert {one.warning for one in seen} == {"partial, few_delays", "few_delays"}
    kept = [one for one in fresh_store.states.read_windows("late", START) if one.settled_as_of is not None]
    assert {one.warning for one in kept} == {"few_delays"}


@pytest.mark.parametrize("reported", [True, False])
def test_with_settle_after_a_feed_that_stands_still_settles_nothing(
    fresh_store: SqlStore, *, reported: bool
) -> None:
    """Also where nothing says when labels were reported: then the events say it that have one."""
    labels = SPEC.labels if reported else Relation(table="labels")

    seen = watched(fresh_store, stalled(14, 8), 14, settle_after=2 * DAY, labels=labels)

    assert seen[-1].as_of == START + 14 * DAY
    assert START + 7 * DAY <= max(one.end for one in seen) <= START + 8 * DAY
    assert all(one.coverage >= 0.4 for one in seen)


def test_settle_after_settles_at_a_fixed_age(fresh_store: SqlStore) -> None:
    seen = watched(fresh_store, log_of(6), 6, settle_after=4 * DAY)

    assert {one.age for one in seen if one.as_of > START + 5 * DAY} == {4 * DAY}


def test_cycles_say_at_what_age_windows_settle_and_when_the_next_one_does(fresh_store: SqlStore) -> None:
    monitored = monitored_of(log_of(6).source(), fresh_store, windows=ONE_DAY)
    told = []

    for as_of in ticks_between(START, START + 6 * DAY, DAY):
        rows = monitored.cycle(as_of)[1]
        age, moment = only(rows, "settling_age").measurement, only(rows, "next_settling")
        settled = picked(rows, "accuracy", truth=LabelTruth.SETTLED)
        told.append((age.reason, bool(settled)))
        assert moment.window == "1d"
        because = moment.measurement.detail and moment.measurement.detail.rows[0][0]
        assert (moment.measurement.value or 0) * SECOND > as_of

    exposed = {
        (one.family, one.labels): one.value for one in expose_model(monitored.model.spec, as_of, rows).series
    }
    whole = ("late", "", "")
    assert exposed["model_monitor_next_settling_seconds", (*whole, "1d", "")] == moment.measurement.value
    assert exposed["model_monitor_settling_age_seconds", (*whole, "", "")] == age.value
    assert told[0] == ("too_few", False)
    assert told[-1] == (None, True)
    assert 30 * HOUR <= (age.value or 0) * SECOND <= 36 * HOUR
    assert because == f"95 % of each class's labels come within {round((age.value or 0) / 3_600)} hours"


def test_while_the_feed_stands_still_cycles_say_that_it_cannot_be_known(fresh_store: SqlStore) -> None:
    monitored = monitored_of(stalled(16, 9).source(), fresh_store, windows=ONE_DAY)
    *_, rows = (monitored.cycle(as_of)[1] for as_of in ticks_between(START, START + 16 * DAY, DAY))

    found = only(rows, "next_settling").measurement

    assert found.reason == "not_settled"
    assert found.detail is not None
    assert str(found.detail.rows[0][0]).endswith("and the feed has reported nothing since 2024-01-09")


def test_once_settled_a_window_stays_so_and_is_revised(new_store: NewStore) -> None:
    """Labels taken back after settling: the kept window goes on being called settled."""
    store = new_store()
    log = log_of(10, never=0.0)
    watched(store, log, 9)
    end = max(one.end for one in store.states.read_windows("late", START) if one.settled_as_of is not None)
    ids = [
        name
        for name, event in zip(
            log.predictions["id"].to_pylist(), log.predictions["event_time"].to_pylist(), strict=True
        )
        if end - DAY <= event < end
    ]
    later = log.with_labels(*((name, START + 9 * DAY + HOUR, 1, None) for name in ids[:200]))

    monitored_of(later.source(), store, windows=ONE_DAY).cycle(START + 10 * DAY)

    history = store.snapshots.read_snapshot_rows(
        model="late", window="1d", measure="accuracy", segment="", version=""
    )
    of_then = (
        stored.row for stored in history if stored.as_of == START + 10 * DAY and stored.row.window_end == end
    )
    revised = [row for row in of_then if not row.against]
    assert [row.truth for row in revised] == [LabelTruth.SETTLED]
    assert revised[0].measurement.n == len(ids) - 200
