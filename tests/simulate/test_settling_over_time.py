"""Settled values against what turns out to be true, in simulated logs whose truth is known.

By real cycles on tables in memory, daily panes. A settled base rate may be off by 1.5 times what the settled
share leaves out, and by three standard deviations of which labels those are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from memory import MemorySource
from simulation import Delay, Mix, Plan, plan, truth
from simulation.changes import Changes
from synthetic import READING, START, monitored_of

from monitor.core.clock import DAY, HOUR
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import parse_window

pytestmark = pytest.mark.slow

SHARE = 0.95
LONG_AFTER = START + 2_000 * DAY


@dataclass(frozen=True, slots=True)
class Seen:
    """The base rate of a window as a cycle said it, and what it was in the end."""

    as_of: int
    end: int
    row: MeasurementRow
    final: float

    @property
    def error(self) -> float:
        """Relative."""
        return (self.row.measurement.value or 0.0) / self.final - 1.0

    @property
    def bound(self) -> float:
        """1.5 (1 - share), and sampling: which of the positives are missing."""
        positives = max(1.0, self.final * self.row.measurement.n)
        return 1.5 * (1.0 - SHARE) + 3.0 * float(np.sqrt((1.0 - SHARE) / positives))


def in_memory(planned: Plan) -> MemorySource:
    """A log whose rows are only added, as role-named tables."""
    return MemorySource(
        _table(
            planned.predictions, {"logged_at": pa.int64(), "event_time": pa.int64(), "score": pa.float64()}
        ),
        _table(planned.labels, {"reported_at": pa.int64(), "revision": pa.float64()}),
    )


def _table(changes: Changes, types: dict[str, pa.DataType]) -> pa.Table:
    columns = {name: pa.array(changes.columns[name]).cast(kind) for name, kind in types.items()}
    columns["id"] = pa.array(changes.columns["id"]).cast(pa.string())
    if "label" in changes.columns:
        columns["label"] = (
            pa.array(changes.columns["label"], from_pandas=True).cast(pa.int64()).cast(pa.string())
        )
    return pa.table(columns)


def watched(
    store: SqlStore,
    mix: Mix,
    days: int,
    *,
    horizon: int,
    window: str,
    every: int = DAY,
    measure: str = "base_rate",
) -> Iterator[Seen]:
    """Base rates of the newest and the newest settled window, as cycles of a log's first days say them."""
    planned = plan(mix, 5, (START, START + days * DAY))
    final = truth(planned, LONG_AFTER)
    reading = replace(READING, pane=DAY, horizon=horizon, numeric=(), categorical=())
    monitored = monitored_of(
        in_memory(planned),
        store,
        reference=False,
        reading=reading,
        windows=(parse_window(window, DAY),),
        families=frozenset(),
        every=every,
        settled_share=SHARE,
    )
    length = monitored.model.spec.windows[0].length
    for as_of in range(START + every, START + days * DAY + 1, every):
        _, rows = monitored.cycle(as_of)
        for row in rows:
            inside = row.window_end - length >= START
            if row.measure == measure and inside and row.version is None:
                rate = final.base_rate(row.window_end - length, row.window_end)
                yield Seen(as_of, row.window_end, row, rate)


def of_truth(seen: list[Seen], truth_of: LabelTruth) -> list[Seen]:
    return [one for one in seen if one.row.truth is truth_of]


def require_close(seen: list[Seen]) -> None:
    """Settled values are close to what turns out to be true, and there are some.

    Where a class has too few delays of its own they say so, and are off by 0.075 at most.
    """
    settled = of_truth(seen, LabelTruth.SETTLED)
    sure = [one for one in settled if one.row.warning != "few_delays"]
    assert sure != []
    assert [one for one in sure if abs(one.error) > one.bound] == []
    assert [one for one in settled if abs(one.error * one.final) > 0.075] == []


LOGS = {
    "log-normal delays": (Mix(per_day=1_000), 16, 16 * DAY),
    "a heavy tail of one class": (
        Mix(per_day=1_000, base_rate=0.1, positives=Delay(tail=0.2)),
        36,
        30 * DAY,
    ),
    "one class eight times as slow": (
        Mix(per_day=1_000, base_rate=0.1, positives=Delay(median=4 * DAY)),
        40,
        36 * DAY,
    ),
    "nightly batches": (Mix(per_day=1_000, nightly=True), 16, 16 * DAY),
    "corrections, retractions, labels that never come": (
        Mix(per_day=1_000, never=0.03, corrections=0.05, retractions=0.01),
        20,
        20 * DAY,
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_settled_values_are_close_to_the_final_ones_from_the_first_day_on(
    name: str, fresh_store: SqlStore
) -> None:
    mix, days, horizon = LOGS[name]

    seen = list(watched(fresh_store, mix, days, horizon=horizon, window="2d"))

    require_close(seen)
    assert {one.row.warning for one in of_truth(seen, LabelTruth.SETTLED)} <= {"", "few_delays"}


def test_defaults_that_take_a_month_settle_truly_and_their_provisional_rate_says_that_it_is_wrong(
    fresh_store: SqlStore,
) -> None:
    """Base rate 1 %; negatives after a day, positives after 30; horizon 180 days."""
    mix = Mix(per_day=700, base_rate=0.01, negatives=Delay(median=DAY), positives=Delay(median=30 * DAY))

    seen = list(watched(fresh_store, mix, 220, horizon=180 * DAY, window="30d", every=20 * DAY))

    require_close(seen)
    provisional = of_truth(seen, LabelTruth.PROVISIONAL)[1:]
    assert all(one.error < -0.6 for one in provisional)
    assert min(one.row.coverage or 0.0 for one in provisional) > 0.9
    assert {one.row.warning for one in provisional} == {"uneven_labels"}


def test_where_classes_are_reported_alike_the_provisional_rate_is_right_and_has_no_warning(
    fresh_store: SqlStore,
) -> None:
    seen = list(watched(fresh_store, Mix(per_day=1_000), 10, horizon=20 * DAY, window="2d"))

    provisional = of_truth(seen, LabelTruth.PROVISIONAL)
    assert all(abs(one.error) < 0.12 for one in provisional)
    assert {one.row.warning for one in provisional} == {""}


def newest_settled(seen: list[Seen], day: int) -> int:
    """Day at which the newest settled window ends, as of a day."""
    known = [one.end for one in of_truth(seen, LabelTruth.SETTLED) if one.as_of <= START + day * DAY]
    return (max(known) - START) // DAY


def test_an_outage_delays_windows_and_the_flood_releases_them(fresh_store: SqlStore) -> None:
    mix = Mix(per_day=1_000, outages=((10 * DAY, 15 * DAY),))

    seen = list(watched(fresh_store, mix, 25, horizon=20 * DAY, window="1d"))

    require_close(seen)
    assert newest_settled(seen, 14) <= 10
    assert newest_settled(seen, 17) > 10
    assert newest_settled(seen, 25) > 15  # the wait that it taught is over


def test_corrections_do_not_pollute_delays(new_store: Callable[[], SqlStore]) -> None:
    """A third of the labels is corrected days later: windows settle as soon as without."""
    mix = Mix(per_day=1_000)
    logs = [mix, replace(mix, corrections=0.33)]

    plain, corrected = (list(watched(new_store(), one, 12, horizon=20 * DAY, window="1d")) for one in logs)

    ends = [
        [(one.as_of, one.end) for one in of_truth(seen, LabelTruth.SETTLED)] for seen in (plain, corrected)
    ]
    assert ends[0] == ends[1] != []


def test_a_change_of_the_delay_is_a_measurement(fresh_store: SqlStore) -> None:
    """From the tenth day on labels take four times as long: the settled window's median delay says so."""
    mix = Mix(per_day=1_000, slower=(10 * DAY, 4.0))

    rows = list(watched(fresh_store, mix, 26, horizon=24 * DAY, window="1d", measure="label_delay_median"))

    medians = {
        (one.end - START) // DAY: one.row.measurement.value for one in of_truth(rows, LabelTruth.SETTLED)
    }
    before = [value for day, value in medians.items() if value is not None and day <= 10]
    after = [value for day, value in medians.items() if value is not None and day > 10]
    assert before == pytest.approx([12 * HOUR / 1e6] * len(before), rel=0.1)
    assert after == pytest.approx([48 * HOUR / 1e6] * len(after), rel=0.1)
    assert len(before) > 3
    assert len(after) > 3
