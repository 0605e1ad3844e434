"""Gross faults by the hour: what is told, what never is, and how often chance alone tells something."""

import numpy as np
import pytest
from hourly_logs import START, WEEK, HourlyLog, hour_counts, tell_faults
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.array_types import Ints
from monitor.core.clock import HOUR, MINUTE
from monitor.evidence.hour_counts import FAULTS, LAGS, HourCounts
from monitor.evidence.hourly_faults import (
    HourlyFault,
    find_lag,
    find_record_fault,
    find_value_faults,
    hourly_surprise,
    seen_late,
    silence_limit,
    whole_after,
)
from monitor.evidence.judging import HOURS_SHARE, AlertBudget
from monitor.evidence.watch import FAULTS_SHARE, GROUP_SHARES, SEGMENTS_SHARE
from monitor.measures.catalogue.daily_measures import FEWEST_RECORDS

HOURS = 6 * WEEK  # of which the last one is judged
LAST = HOURS - 1
NEEDED = hourly_surprise(AlertBudget(), 20, HOUR)
KINDS = {kind: at for at, kind in enumerate(FAULTS)}


def log(
    records: Ints | int = 100, *, hits: Ints | int = 0, kind: str = "missing", prompt: Ints | None = None
) -> HourCounts:
    """A log of six weeks with one feature: so many records an hour, so many of them faulty."""
    every = np.broadcast_to(records, HOURS).astype(np.int64)
    values = np.zeros((HOURS, len(FAULTS)), dtype=np.int64)
    values[:, 3] = every // 10
    values[:, KINDS[kind]] = hits
    return hour_counts(every, {"feature:age": values}, prompt)


def changed(values: Ints | int, **at: int) -> Ints:
    """The same in all hours but some: h0 = value of the last one, h1 of the one before, …"""
    series = np.broadcast_to(values, HOURS).astype(np.int64).copy()
    for name, value in at.items():
        series[LAST - int(name[1:])] = value
    return series


def faults(counts: HourCounts) -> list[HourlyFault]:
    return list(find_value_faults(counts, LAST, NEEDED))


@pytest.mark.parametrize("kind", FAULTS)
def test_what_nearly_all_records_of_an_hour_have_and_few_had(kind: str) -> None:
    usual = 5 if kind != "constant" else 20

    (fault,) = faults(log(hits=changed(usual, h0=97), kind=kind))

    assert (fault.subject, fault.kind, fault.observed, fault.n) == ("feature:age", kind, 0.97, 100)
    assert fault.usual == (0.0, usual / 100)
    assert faults(log(hits=changed(usual, h0=85), kind=kind)) == []


@pytest.mark.parametrize(
    ("kind", "hits"),
    [
        ("missing", changed(60, h0=100)),  # lacks it often
        ("constant", changed(95, h0=100)),  # one value has nearly all
        ("missing", changed(0, h0=100, h90=100, h300=100)),  # was lost twice in the weeks before
        ("missing", np.where(np.arange(HOURS) >= LAST - 100, 100, 0)),  # lacks it for four days
    ],
)
def test_what_is_usual_is_not_told(kind: str, hits: Ints) -> None:
    assert faults(log(hits=hits, kind=kind)) == []


@pytest.mark.parametrize("hits", [changed(0, h0=100, h90=100, h91=100), changed(0, h0=100, h1=100, h2=100)])
def test_one_fault_before_does_not_hide_the_next(hits: Ints) -> None:
    assert [fault.kind for fault in faults(log(hits=hits))] == ["missing"]


def test_what_rests_for_hours_varies_by_itself() -> None:
    """An hour of one value is no fault where hours have often had nearly one."""
    rng = np.random.default_rng(2)
    alike = np.minimum(100, rng.binomial(100, 1 / (1 + np.exp(-rng.normal(-0.5, 1.0, HOURS)))))

    assert faults(log(hits=changed(alike, h0=97), kind="constant")) == []


@given(n=st.integers(1, 2 * FEWEST_RECORDS))
def test_few_records_are_told_together_with_those_of_the_hours_before(n: int) -> None:
    together = -(-FEWEST_RECORDS // n)
    hits = np.where(np.arange(HOURS) > LAST - together, n, 0)

    (fault,) = faults(log(n, hits=hits))

    assert (fault.first, fault.last, fault.n) == (LAST - together + 1, LAST, n * together)


@pytest.mark.parametrize("observed", [30, 3_000])
def test_a_tenth_and_ten_times(observed: int) -> None:
    fault = find_record_fault(log(changed(300, h0=observed)), LAST, 0, NEEDED)

    assert fault is not None
    assert (fault.observed, fault.rises, fault.usual) == (observed, observed > 300, (300.0, 300.0))


@pytest.mark.parametrize(
    "records",
    [
        changed(300, h0=60),
        changed(300, h0=1_800),
        changed(300, h0=0),  # silence is the log's alert
        changed(10, h0=1),  # too few to be sure
        changed(300, h0=3_000, h90=2_500, h300=2_700),  # has surged twice before
        changed(300, h0=30, h90=40, h300=40),
        changed(np.where(np.arange(HOURS) % WEEK == LAST % WEEK, 30, 300), h0=30),  # a quiet hour
        changed(np.where(np.arange(HOURS) % WEEK == (LAST - 1) % WEEK, 30, 300), h0=30),  # that is late
    ],
)
def test_other_numbers_of_records_are_not_told(records: Ints) -> None:
    assert find_record_fault(log(records), LAST, 0, NEEDED) is None


@pytest.mark.parametrize(("of_prompt", "lag"), [((100, 100, 100), 0), ((50, 95, 100), 1), ((0, 20, 90), 2)])
def test_an_hour_is_whole_once_most_records_are_logged(of_prompt: tuple[int, ...], lag: int) -> None:
    counts = log(prompt=np.tile(np.asarray(of_prompt), (HOURS, 1)))

    assert find_lag(counts, LAST) == lag
    assert whole_after(lag) == (0 if lag == 0 else LAGS[lag])


def test_a_batch_a_night_is_never_whole() -> None:
    counts = log(prompt=np.tile(np.asarray((0, 1, 5)), (HOURS, 1)))

    assert find_lag(counts, LAST) is None


def silent_after(records: Ints, hours: float) -> int | None:
    """Limit of the silence since the last hour, some hours later."""
    return silence_limit(log(records), START + HOURS * HOUR + int(hours * HOUR), 0, NEEDED)


def test_silence_is_twice_the_longest_gap_of_this_hour_of_the_week() -> None:
    slot = np.arange(HOURS) % WEEK
    pause = np.where((slot >= 2) & (slot < 5), 0, 500)  # three empty hours, on Monday night

    assert silent_after(np.full(HOURS, 500), 2) == 2 * HOUR
    assert silent_after(pause, 3.5) == 8 * HOUR  # four hours, perhaps, from the last record to the next
    assert silent_after(pause, 9) == 2 * HOUR
    assert silent_after(np.where(slot < 30, 0, 500), 12) is None  # beyond 36 hours


def test_gaps_seem_longer_where_records_are_seen_late() -> None:
    """The cycle before saw records of five hours ago, though all hours have some, as is known now."""
    counts, now = log(500), START + HOURS * HOUR
    late = seen_late(counts, now - HOUR, now - 6 * HOUR, 0)

    assert late == 5 * HOUR
    assert silence_limit(counts, now + 2 * HOUR, 0, NEEDED, late) == 2 * (HOUR + late)
    assert seen_late(counts, now - HOUR, now - HOUR - MINUTE, 0) == 0


def test_a_log_with_few_records_may_be_silent_for_longer() -> None:
    rng = np.random.default_rng(3)
    limits = [silent_after(rng.poisson(rate, HOURS), 2.5) for rate in (500, 6, 2)]

    assert limits[0] == 2 * HOUR
    assert limits[1] is not None
    assert limits[2] is not None
    assert 2 * HOUR < limits[1] < limits[2]


@given(
    rate=st.floats(0.5, 50.0),
    seed=st.integers(0, 99),
    after=st.integers(0, 48 * 4),
    longest=st.integers(0, 12),
)
def test_a_silence_that_this_hour_had_is_never_told(rate: float, seed: int, after: int, longest: int) -> None:
    """However the log came to be: what this hour of the week has seen is not beyond its limit."""
    records = np.random.default_rng(seed).poisson(rate, HOURS) + 1
    slot = np.arange(HOURS) % WEEK
    records[slot < longest] = 0
    moment = START + HOURS * HOUR + after * 15 * MINUTE

    limit = silence_limit(log(records), moment, 0, NEEDED)

    within = after * 15 * MINUTE < longest * HOUR
    assert limit is None or not within or limit >= (longest + 2) * HOUR
    assert limit is None or 2 * HOUR <= limit <= 36 * HOUR


def test_all_shares_of_the_budget_together_are_no_more_than_it() -> None:
    of_days = sum(GROUP_SHARES.values()) + 2 * SEGMENTS_SHARE + 1.5 * FAULTS_SHARE

    assert of_days * (1 - HOURS_SHARE) + HOURS_SHARE <= 1


LOGS = {
    "day, night, weekend": HourlyLog(),
    "bursts": HourlyLog(per_day=2_000, burst=20.0),
    "an hour of twenty times, now and then": HourlyLog(rare_bursts=0.01),
    "60 records a day": HourlyLog(per_day=60, night=0.2, weekend=0.6),
    "60 records a day, none by night": HourlyLog(per_day=60, night=0.0, weekend=0.5),
    "values that lack now and then": HourlyLog(per_day=500, missing=0.08),
}


@pytest.mark.parametrize("name", LOGS)
def test_where_nothing_happens_nothing_is_told(name: str) -> None:
    """Half a year of each: 5 % of the budget would be one alert in twenty months."""
    told = tell_faults(LOGS[name].count_hours(26, 1), 1, every=30 * MINUTE)

    assert told.faults == []
    assert [limit for _, limit in told.silences if limit is not None] == []


@pytest.mark.slow
def test_half_a_century_of_quiet_logs_keeps_the_share_of_the_budget() -> None:
    months, told = 0.0, 0
    for log_ in LOGS.values():
        for seed in range(12):
            found = tell_faults(log_.count_hours(40, seed), seed)
            days = {(hour // 24, fault.subject) for hour, fault in found.faults}
            told += len(days) + sum(limit is not None for _, limit in found.silences)
            months += 37 * 7 / 30

    assert told <= HOURS_SHARE * months


def test_a_silence_of_the_busy_hours_is_told_though_nights_are_silent() -> None:
    counts = HourlyLog(night=0.0).count_hours(6, 4)
    noon = 5 * WEEK + 12
    stopped = np.where((np.arange(6 * WEEK) >= noon) & (np.arange(6 * WEEK) < noon + 8), 0, counts.records)
    values = {name: counts.values[:, at] for at, name in enumerate(counts.subjects)}

    told = tell_faults(hour_counts(stopped, values), every=15 * MINUTE)

    ((moment, limit),) = told.silences
    assert limit == 2 * HOUR
    assert moment - (START + noon * HOUR) <= 2 * HOUR + 15 * MINUTE
