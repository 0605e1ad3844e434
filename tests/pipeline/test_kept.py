"""Which snapshots are kept: first, settled, noticeably moved; once a day, never twice."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from synthetic import READING, SPEC, START, Log, labels_of, log_of, monitored_of

from monitor.core.clock import DAY, HOUR
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.records.reading import ComparedArms
from monitor.store.sql_store import SqlStore

ONE_DAY = SPEC.windows[:1]
Kept = list[tuple[int, MeasurementRow]]


@pytest.fixture(scope="module")
def log() -> Log:
    return log_of(9, never=0.0)


def kept(store: SqlStore, measure: str, window: str = "1d") -> Kept:
    """(as of, row) of a measure of the whole."""
    found = store.snapshots.read_snapshot_rows(
        model="late", window=window, measure=measure, segment="", version="", subject=""
    )
    return [
        (stored.as_of, stored.row)
        for stored in found
        if not stored.row.against and stored.row.truth is not LabelTruth.NOWCAST
    ]


def of_end(rows: Kept, end: int) -> list[tuple[int, LabelTruth]]:
    return [(as_of, row.truth) for as_of, row in rows if row.window_end == end]


def reported_at(log: Log, ids: set[str], moment: int) -> Log:
    """The log with the first labels of some ids reported at another moment."""
    mine = pc.is_in(log.labels["id"], value_set=pa.array(sorted(ids)))
    when = pc.if_else(mine, moment, log.labels["reported_at"])
    return Log(log.predictions, log.labels.set_column(1, "reported_at", when))


def ids_of_day(log: Log, day: int) -> list[str]:
    event = np.asarray(log.predictions["event_time"])
    inside = (event >= START + day * DAY) & (event < START + (day + 1) * DAY)
    return list(np.asarray(log.predictions["id"])[inside])


def test_kept_ends_fall_once_a_day_though_windows_end_every_hour(fresh_store: SqlStore, log: Log) -> None:
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY, every=HOUR)

    monitored.replay(START, START + 2 * DAY + 5 * HOUR, HOUR)

    assert {row.window_end for _, row in kept(fresh_store, "records")} == {START + DAY, START + 2 * DAY}
    rows = [stored.row for stored in fresh_store.current.read_current("late") if stored.row.window == "1d"]
    current = {row.window_end for row in rows if row.truth is not LabelTruth.SETTLED}
    assert current == {START + 2 * DAY + 5 * HOUR}


def test_a_window_is_first_kept_when_it_has_ended_and_is_ready(fresh_store: SqlStore, log: Log) -> None:
    monitored = monitored_of(
        log.source(), fresh_store, windows=ONE_DAY, every=HOUR, ready_after=90 * 60 * 10**6
    )

    monitored.replay(START, START + DAY + 4 * HOUR, HOUR)

    assert of_end(kept(fresh_store, "records"), START + DAY) == [(START + DAY + 2 * HOUR, LabelTruth.NONE)]


def test_records_are_kept_once_and_performance_again_when_it_settles(fresh_store: SqlStore, log: Log) -> None:
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY, revise_every=100 * DAY)

    monitored.replay(START, START + 8 * DAY, DAY)

    end = START + 5 * DAY
    assert of_end(kept(fresh_store, "records"), end) == [(end, LabelTruth.NONE)]
    assert of_end(kept(fresh_store, "accuracy"), end) == [
        (end, LabelTruth.PROVISIONAL),
        (end + 2 * DAY, LabelTruth.SETTLED),
    ]


def test_a_window_is_kept_again_when_a_value_moved_by_a_quarter_of_its_half_width(
    fresh_store: SqlStore, log: Log
) -> None:
    """Before the corrections nothing moves for days; then half of the day's labels turn round."""
    day, moment = START + 2 * DAY, START + 7 * DAY + HOUR
    labels = dict(zip(log.labels["id"].to_pylist(), log.labels["label"].to_pylist(), strict=True))
    turned = [(name, moment, 1, "1" if labels[name] == "0" else "0") for name in ids_of_day(log, 2)[:120]]
    monitored = monitored_of(log.with_labels(*turned).source(), fresh_store, windows=ONE_DAY)

    monitored.replay(START, START + 9 * DAY, DAY)

    found = of_end(kept(fresh_store, "accuracy"), day + DAY)
    assert found[-1] == (START + 8 * DAY, LabelTruth.SETTLED)
    assert START + 6 * DAY not in {as_of for as_of, _ in found}
    assert START + 7 * DAY not in {as_of for as_of, _ in found}


@pytest.mark.parametrize("corrected", [1, 120])
def test_labels_updated_in_place_revise_a_kept_window_when_a_value_moves(
    corrected: int, fresh_store: SqlStore, log: Log
) -> None:
    """As many rows and labels as before; a look at one changed label finds that nothing has moved."""
    ids, end = set(ids_of_day(log, 2)[:corrected]), START + 3 * DAY
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY)
    monitored.replay(START, START + 7 * DAY, DAY)
    before = len(of_end(kept(fresh_store, "accuracy"), end))
    updated = reported_at(log, ids, START + 7 * DAY + HOUR)
    mine = pc.is_in(updated.labels["id"], value_set=pa.array(sorted(ids)))
    label = pc.if_else(mine, "1", updated.labels["label"])
    monitored.change(source=Log(log.predictions, updated.labels.set_column(3, "label", label)).source())

    monitored.cycle(START + 8 * DAY)

    assert len(of_end(kept(fresh_store, "accuracy"), end)) == before + (corrected == 120)


def test_labels_that_change_places_revise_a_kept_window(fresh_store: SqlStore, log: Log) -> None:
    """As many labels of each class as before: late flights with high scores and others with low ones."""
    labels = dict(zip(log.labels["id"].to_pylist(), log.labels["label"].to_pylist(), strict=True))
    score = dict(zip(log.predictions["id"].to_pylist(), log.predictions["score"].to_pylist(), strict=True))
    ranked = sorted(ids_of_day(log, 2), key=lambda name: score[name])
    low = [name for name in ranked if labels[name] == "0"][:50]
    high = [name for name in ranked[::-1] if labels[name] == "1"][:50]
    moment = START + 6 * DAY + HOUR
    turned = [(name, moment, 1, "1") for name in low] + [(name, moment, 1, "0") for name in high]
    monitored = monitored_of(log.with_labels(*turned).source(), fresh_store, windows=ONE_DAY)

    monitored.replay(START, START + 8 * DAY, DAY)

    found = of_end(kept(fresh_store, "accuracy"), START + 3 * DAY)
    assert found[-1] == (START + 7 * DAY, LabelTruth.SETTLED)
    assert found[-2][0] <= START + 6 * DAY


def test_a_window_is_revised_at_most_once_per_revise_every(fresh_store: SqlStore, log: Log) -> None:
    """A tenth of a day's labels turns round with every cycle."""
    labels = dict(zip(log.labels["id"].to_pylist(), log.labels["label"].to_pylist(), strict=True))
    names = ids_of_day(log, 1)
    turned = [
        (name, START + 5 * DAY + (at // 24) * 6 * HOUR + HOUR, 1, "1" if labels[name] == "0" else "0")
        for at, name in enumerate(names)
    ]
    monitored = monitored_of(log.with_labels(*turned).source(), fresh_store, windows=ONE_DAY, every=6 * HOUR)

    monitored.replay(START, START + 8 * DAY, 6 * HOUR)

    times = [as_of for as_of, truth in of_end(kept(fresh_store, "accuracy"), START + 2 * DAY)]
    revised = [as_of for as_of in times if as_of > START + 5 * DAY]
    assert len(revised) >= 2
    assert min(np.diff(revised)) >= DAY


def test_strata_are_kept_when_a_window_is_first_measured_and_when_it_settles(
    fresh_store: SqlStore, log: Log
) -> None:
    reading = replace(READING, arms=ComparedArms(column="group", control="a", treatment="b"))
    arms = pa.array(np.where(np.arange(log.predictions.num_rows) % 2, "a", "b"))
    labels = dict(zip(log.labels["id"].to_pylist(), log.labels["label"].to_pylist(), strict=True))
    turned = [
        (name, START + 6 * DAY + HOUR, 1, "1" if labels[name] == "0" else "0")
        for name in ids_of_day(log, 2)[:150]
    ]
    grown = log.with_labels(*turned)
    source = Log(grown.predictions.append_column("arm", arms), grown.labels).source()
    monitored = monitored_of(source, fresh_store, windows=ONE_DAY, reading=reading)

    monitored.replay(START, START + 8 * DAY, DAY)

    found = fresh_store.snapshots.read_snapshot_rows(model="late", window="1d", measure="accuracy")
    mine = [
        (stored.as_of, stored.row.segment) for stored in found if stored.row.window_end == START + 3 * DAY
    ]
    by_time = {as_of: {segment for at, segment in mine if at == as_of} for as_of, _ in mine}
    assert by_time[START + 3 * DAY] == {None, "group=a", "group=b"}
    assert by_time[START + 7 * DAY] == {None}


def test_no_snapshot_is_kept_twice(fresh_store: SqlStore, log: Log) -> None:
    monitored = monitored_of(log.source(), fresh_store)

    monitored.replay(START, START + 8 * DAY, DAY)

    keys = Counter(
        (
            stored.as_of,
            stored.row.window,
            stored.row.window_end,
            stored.row.truth,
            stored.row.version,
            stored.row.segment,
            stored.row.measure,
            stored.row.subject,
            stored.row.against,
        )
        for stored in fresh_store.snapshots.read_snapshot_rows(model="late")
    )
    assert set(keys.values()) == {1}
    behind = {one.as_of for _, one in fresh_store.snapshots.read_provenance("late")}
    assert behind == {key[0] for key in keys}


def test_provenance_says_what_was_read_and_how_far(fresh_store: SqlStore, log: Log) -> None:
    monitored = monitored_of(log.source(), fresh_store, windows=ONE_DAY, config_hash="c")

    monitored.cycle(START + DAY)

    [(_, found)] = fresh_store.snapshots.read_provenance("late")
    logged, reported = (
        np.asarray(column) for column in (log.predictions["logged_at"], log.labels["reported_at"])
    )
    assert found.newest_logged_at == logged[logged <= START + DAY].max()
    assert found.newest_reported_at == reported[reported <= START + DAY].max()
    assert (found.config, found.grid) == ("c", monitored.model.counting.hash)
    assert found.rows_read >= 3 * 240


def test_old_revisions_go_with_the_audit_those_of_the_horizon_never(fresh_store: SqlStore, log: Log) -> None:
    """The labels of a day are corrected again and again, a few each day."""
    day, ids = START + 2 * DAY, ids_of_day(log, 2)
    turned = [(name, day + (2 + at // 60) * DAY, 1, "1") for at, name in enumerate(ids)]
    source = Log(log.predictions, pa.concat_tables([log.labels, labels_of(turned)])).source()
    monitored = monitored_of(
        source,
        fresh_store,
        windows=ONE_DAY,
        revise_every=DAY,
        reading=replace(READING, horizon=6 * DAY),
        settle_after=2 * DAY,
        retention=DAY,  # it is never shorter than the horizon and the longest window
        audit_every=DAY,
    )

    monitored.replay(START, START + 10 * DAY, DAY)
    before = of_end(kept(fresh_store, "accuracy"), day + DAY)
    monitored.replay(START + 11 * DAY, START + 16 * DAY, DAY)
    after = of_end(kept(fresh_store, "accuracy"), day + DAY)

    settled = [as_of for as_of, truth in before if truth is LabelTruth.SETTLED]
    assert len(settled) > 2
    assert after == [(as_of, truth) for as_of, truth in before if as_of not in settled[1:-1]]
