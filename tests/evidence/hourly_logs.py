"""Logs made hour by hour, of which nothing is wrong: rhythms, bursts, few records, features that rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from monitor.core.array_types import Floats, Ints
from monitor.core.clock import HOUR
from monitor.evidence.hour_counts import FAULTS, LAGS, HourCounts
from monitor.evidence.hourly_faults import (
    HourlyFault,
    find_lag,
    find_record_fault,
    find_value_faults,
    hourly_surprise,
    silence_limit,
)
from monitor.evidence.judging import AlertBudget

START = 1_704_067_200_000_000  # Monday, 1 January 2024
WEEK = 168


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyLog:
    """A log of nothing but what is usual."""

    per_day: float = 5_000.0
    night: float = 0.05  # of the rate by day
    weekend: float = 0.4
    varies: float = 0.2  # standard deviation of a day's rate, as a share
    burst: float = 1.0  # records that come together
    rare_bursts: float = 0.0  # chance of an hour with twenty times as many records
    missing: float = 0.01
    flaky: float = 0.0  # chance that a feed is lost for an hour
    cells: int = 20

    def rates(self, hours: int, rng: np.random.Generator) -> Floats:
        """Records that each hour expects."""
        at = np.arange(hours)
        day = np.where((at % 24 >= 7) & (at % 24 < 22), 1.0, self.night)
        day = day * np.where(at % WEEK >= 120, self.weekend, 1.0)
        level = np.exp(rng.normal(0, self.varies, hours // 24 + 1))[at // 24]
        return self.per_day / 24 * day / np.mean(day[:WEEK]) * level

    def count_hours(self, weeks: int, seed: int) -> HourCounts:
        """The log as it is counted."""
        rng = np.random.default_rng(seed)
        hours = weeks * WEEK
        records = (rng.poisson(self.rates(hours, rng) / self.burst) * self.burst).astype(np.int64)
        records = np.where(rng.random(hours) < self.rare_bursts, 20 * records, records)
        values = {
            "feature:often": _fault_counts(rng, records, self.missing, self.flaky),
            "feature:steady": _value_counts(rng, records, np.full(hours, 1 / self.cells)),
            # The weather: hardly any two values in one hour, at times.
            "feature:resting": _value_counts(rng, records, _resting_shares(rng, hours)),
            "feature:hour": _value_counts(rng, records, np.ones(hours)),
            "feature:mostly": _value_counts(rng, records, np.full(hours, 0.93)),
        }
        return hour_counts(records, values)


def hour_counts(records: Ints, values: Mapping[str, Ints], prompt: Ints | None = None) -> HourCounts:
    """Counts of each subject, shape (hours, faults); without `prompt` all records are logged at once."""
    lags = np.repeat(records[:, None], len(LAGS), axis=1) if prompt is None else prompt
    return HourCounts(START, HOUR, tuple(values), records, lags, np.stack([*values.values()], axis=1))


def _fault_counts(rng: np.random.Generator, records: Ints, share: float, flaky: float) -> Ints:
    """Missing values, more of them on some hours; a feed that is lost now and then."""
    hourly = rng.beta(2.0, 2.0 / share - 2.0, len(records))
    hourly = np.where(rng.random(len(records)) < flaky, 1.0, hourly)
    counts = np.zeros((len(records), len(FAULTS)), dtype=np.int64)
    counts[:, 1] = rng.binomial(records, hourly)
    counts[:, 3] = (records - counts[:, 1]) // 5
    return counts


def _value_counts(rng: np.random.Generator, records: Ints, shares: Floats) -> Ints:
    counts = np.zeros((len(records), len(FAULTS)), dtype=np.int64)
    counts[:, 3] = rng.binomial(records, shares)
    return counts


def _resting_shares(rng: np.random.Generator, hours: int) -> Floats:
    walk = np.cumsum(rng.normal(0, 0.3, hours))
    walk -= np.convolve(walk, np.ones(48) / 48, mode="same")
    return 1 / (1 + np.exp(-(walk - 0.5)))


@dataclass(slots=True)
class ToldFaults:
    """What was told of a log, beginning with the first hour that could be judged."""

    faults: list[tuple[int, HourlyFault]] = field(default_factory=list)  # hour at whose end it was told
    silences: list[tuple[int, int | None]] = field(
        default_factory=list
    )  # moments, and the limit that each passed
    limits: list[int | None] = field(default_factory=list)


def tell_faults(counts: HourCounts, seed: int = 0, *, since: int = 3 * WEEK, every: int = HOUR) -> ToldFaults:
    """Judge hour by hour, as cycles do; records lie anywhere in their hour."""
    needed = hourly_surprise(AlertBudget(), len(counts.subjects), counts.unit)
    told, rng = ToldFaults(), np.random.default_rng(seed)
    last = START
    silent = False
    for hour in range(len(counts.records)):
        moments = np.sort(rng.integers(0, HOUR, min(int(counts.records[hour]), 200))) + counts.start_of(hour)
        if hour >= since:
            told.faults += [(hour, one) for one in find_value_faults(counts, hour, needed)]
            lag = find_lag(counts, hour)
            if lag is not None:
                fault = find_record_fault(counts, hour, lag, needed)
                told.faults += [(hour, fault)] if fault is not None else []
                for as_of in range(counts.start_of(hour), counts.start_of(hour + 1), every):
                    before = moments[moments < as_of]
                    last = int(before[-1]) if len(before) else last
                    if as_of - last < 2 * HOUR:
                        silent = False
                        continue
                    limit = silence_limit(_until(counts, hour), as_of, lag, needed)
                    told.limits.append(limit)
                    beyond = as_of - last > (36 * HOUR if limit is None else limit)
                    told.silences += [(as_of, limit)] if beyond and not silent else []
                    silent = silent or beyond
        last = int(moments[-1]) if len(moments) else last
    return told


def _until(counts: HourCounts, hour: int) -> HourCounts:
    return HourCounts(
        counts.first,
        counts.unit,
        counts.subjects,
        counts.records[:hour],
        counts.prompt[:hour],
        counts.values[:hour],
    )
