"""Gross faults, told by the hour: what is so far off that nobody waits for the day to be over. Pure.

Nearly all records of an hour lack a feature, or have it new, unreadable or constant, where few did; an hour
has a tenth or ten times of the records that this hour of the week had; nothing was logged for twice the
longest gap of this hour of the week. All together spend `HOURS_SHARE` of the budget of false alerts: the
chance of each is bounded by Chernoff's inequality [1]_, for records that come in clumps as large as the last
weeks show. What that cannot bound, a feed that is lost now and then, is usual once 8 weeks have it twice.

.. [1] Boucheron, Lugosi & Massart (2013). Concentration Inequalities, section 2.2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.core.clock import DAY, HOUR, MINUTE
from monitor.evidence.hour_counts import FAULTS, LAGS, WEEKS, HourCounts
from monitor.evidence.judging import HOURS_SHARE, MONTH, AlertBudget
from monitor.measures.catalogue.daily_measures import FEWEST_RECORDS
from monitor.measures.catalogue.volume_measures import MOST_SILENCE

RECORDS = "records"
FEWEST_WEEKS = 3  # of records, before silence and falls are judged by them
NEARLY_ALL = 0.9  # of the records
SEVENFOLD = 7.0  # a tenth or ten times, give or take what chance makes of it in an hour
LEAST_SILENCE = 2 * HOUR
LATE_DAYS = 14  # of which it is remembered how late records were seen
_TOLD_TWICE = 2  # times that a silence lasts longer than the longest gap
_USUALLY_FEW, _USUALLY_ALIKE = 0.1, 0.5  # share above which a fault, or one value, is usual
_FEWEST_CHUNKS = 30  # of past records
_FEW = 0.05  # of the past that one earlier fault may take, to be no part of what is usual
_PROMPT = 0.9  # share of the records by which the lag of a log is told
_SPARSE = 0.1  # of the mean hour: an hour that usually has less is taken to have so much, where records surge
_LONGEST = 48  # hours


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyFault:
    """A gross fault of an hour, or of the last hours where one has too few records."""

    subject: str  # "records", or an output or feature
    kind: str  # "records", or one of `FAULTS`
    first: int  # hours are from the first to the last one, by their positions
    last: int
    n: int  # records
    observed: float  # records of the hour, or share of the records
    usual: tuple[float, float]  # least and most of the weeks before; of shares 0 and the largest one
    excess: float  # how much more surprising than the budget asks for, in nats: above 0
    rises: bool = True


def hourly_surprise(budget: AlertBudget, subjects: int, unit: int) -> float:
    """How surprising an hour must be, in nats: all hours and subjects together spend `HOURS_SHARE`.

    >>> round(hourly_surprise(AlertBudget(), 20, HOUR), 1)
    14.0
    """
    looks = (len(FAULTS) * subjects + 3) * MONTH * DAY / unit  # a fall, a rise, silence
    return float(np.log(looks / (HOURS_SHARE * budget.false_alerts)))


def find_value_faults(counts: HourCounts, hour: int, needed: float) -> Iterator[HourlyFault]:
    """Outputs and features that nearly all records of an hour lack, or have new, unreadable or constant."""
    back = counts.records[max(0, hour + 1 - DAY // counts.unit) : hour + 1][::-1].cumsum()
    enough = np.flatnonzero(back >= FEWEST_RECORDS)
    if not len(enough) or not counts.records[hour]:
        return
    n, first = int(back[enough[0]]), hour - int(enough[0])
    shares: Floats = counts.values[first : hour + 1].sum(axis=0) / n
    faulty = np.argwhere(shares >= NEARLY_ALL).tolist()
    begin = max(0, hour + 1 - WEEKS * counts.slots)
    if not faulty or first - begin < 2 * counts.slots:
        return
    # As many records together as the judged ones are at least: hours that have fewer vary more.
    before = counts.records[begin:first].cumsum()
    chunk = (before - counts.records[begin:first]) // FEWEST_RECORDS
    starts = np.flatnonzero(np.diff(chunk, prepend=-1))
    sizes = np.add.reduceat(counts.records[begin:first], starts)
    if len(starts) < _FEWEST_CHUNKS:
        return
    for subject, fault in faulty:
        past, share = counts.values[begin:first, subject, fault], float(shares[subject, fault])
        limit = _USUALLY_ALIKE if FAULTS[fault] == "constant" else _USUALLY_FEW
        if past.sum() > (limit + _FEW) * before[-1]:
            continue
        hits = np.add.reduceat(past, starts)
        surprise, largest = _share_surprise(hits, sizes, share, n, limit)
        if surprise > needed:
            yield HourlyFault(
                subject=counts.subjects[subject],
                kind=FAULTS[fault],
                first=first,
                last=hour,
                n=n,
                observed=share,
                usual=(0.0, largest),
                excess=surprise - needed,
            )


def _share_surprise(hits: Ints, sizes: Ints, share: float, n: int, limit: float) -> tuple[float, float]:
    """How surprising a share is, in nats, and the largest one that is usual; 0 where it is usual itself."""
    known = sizes > 0
    hits, sizes = hits[known], sizes[known]
    kept = _without_one_spell(hits >= (1 + limit) / 2 * sizes)
    hits, sizes = hits[kept], sizes[kept]
    usual = (hits.sum() + 1) / (sizes.sum() + 2)
    if usual > limit or not len(hits):
        return 0.0, 0.0
    # Records of one hour are alike: their correlation, as the weeks before show it, makes clumps of them.
    variance = usual * (1 - usual)
    own = np.square(hits - sizes * usual).sum() - sizes.sum() * variance
    correlation = np.clip(own / max((sizes * (sizes - 1.0)).sum() * variance, 1e-300), 0.0, 1.0)
    clump = 1 + (n - 1) * float(correlation)
    distance = share * np.log(share / usual) + (1 - share) * np.log(max(1 - share, 1e-12) / (1 - usual))
    # And however the shares of hours came to be, this one lies as far beyond them, as logits.
    logits = np.log((hits + 0.5) / (sizes - hits + 0.5))
    beyond = np.log((share * n + 0.5) / ((1 - share) * n + 0.5)) - logits.mean()
    surprise = min(n / clump * distance, np.square(beyond) / (2 * max(logits.var(), 1e-9)))
    return float(surprise), float((hits / sizes).max())


def _without_one_spell(odd: Bools) -> Bools:
    """What is usual: all, but one short spell of what is odd; nothing, if it was there twice, or for long."""
    begins = odd & ~np.concatenate([[False], odd[:-1]])
    return ~odd if begins.sum() <= 1 and odd.mean() <= _FEW else np.zeros_like(odd)


def find_lag(counts: HourCounts, hour: int) -> int | None:
    """Position in `LAGS` of the time within which most records of the weeks before are logged.

    None: there is none, or less than 3 weeks are known: when an hour is whole nobody knows.
    """
    past = slice(max(0, hour - WEEKS * counts.slots), hour)
    total = counts.records[past].sum()
    prompt = counts.prompt[past].sum(axis=0) >= _PROMPT * total
    known = hour >= FEWEST_WEEKS * counts.slots and total > 0 and prompt.any()
    return int(np.argmax(prompt)) if known else None


def whole_after(lag: int) -> int:
    """How long after its end an hour is whole, microseconds: what lacks within a minute is no tenth."""
    return LAGS[lag] if LAGS[lag] > MINUTE else 0


def find_record_fault(counts: HourCounts, hour: int, lag: int, needed: float) -> HourlyFault | None:
    """A tenth or ten times of the records that this hour of the week had, give or take an hour.

    An hour without any is no fall: that is silence, see `silence_limit`.
    """
    observed = int(counts.records[hour])
    prompt, every = (
        _WeeklyCounts.of(series, hour, counts.slots) for series in (counts.prompt[:, lag], counts.records)
    )
    low, high = prompt.usual[0], every.usual[1]
    if 0 < observed * SEVENFOLD <= low:
        weekly, usual, rises = prompt, low, False
    elif observed >= max(SEVENFOLD * high, FEWEST_RECORDS):
        weekly, usual, rises = every, high, True
    else:
        return None
    kept = _without_one_spell(weekly.is_odd(rises=rises))
    if not kept.any():
        return None
    ratio = observed / usual
    surprise = usual / weekly.clump(kept) * (1 - ratio + ratio * np.log(ratio))
    this_hour = weekly.matrix[:, 0]
    least, most = float(this_hour.min()), float(this_hour.max())
    return (
        None
        if surprise <= needed
        else HourlyFault(
            subject=RECORDS,
            kind=RECORDS,
            first=hour,
            last=hour,
            n=observed,
            observed=float(observed),
            usual=(least, most),
            excess=float(surprise - needed),
            rises=rises,
        )
    )


def seen_late(counts: HourCounts, as_of: int, newest: int, lag: int) -> int:
    """How long records that had been logged were not to be seen in a cycle, by what is known now.

    So it is where a table is loaded by the hour or by night: rows say when they were logged elsewhere.

    Parameters
    ----------
    as_of, newest
        of that cycle, and the newest moment of logging that it saw; microseconds.
    """
    over = max(0, (as_of - counts.first) // counts.unit)
    heard = np.flatnonzero(counts.prompt[:over, lag])
    late = counts.start_of(int(heard[-1])) - newest if len(heard) else 0
    return late + counts.unit if late > 0 else 0


def usual_lateness(by_day: Mapping[int, int], today: int) -> int:
    """How late records are seen: as on the day before, or on two of the last 14 days; microseconds.

    >>> [usual_lateness(days, 20) for days in ({19: 5}, {12: 5}, {12: 5, 9: 7}, {})]
    [5, 0, 5, 0]
    """
    lately = max(by_day.get(today, 0), by_day.get(today - 1, 0))
    return max(lately, *sorted(by_day.get(today - ago, 0) for ago in range(LATE_DAYS))[-2:-1])


def silence_limit(counts: HourCounts, as_of: int, lag: int, needed: float, lateness: int = 0) -> int | None:
    """How long nothing may be logged, microseconds: twice the longest gap that this hour of the week had.

    At least two hours, and as long as it takes until chance alone would hardly leave a log so long without a
    record. None: longer than a day and a half, or not known.

    Parameters
    ----------
    counts
        of the hours that are over, and perhaps of the running one.
    lateness
        how late records are usually seen: gaps seem so much longer.
    """
    heard = counts.prompt[:, lag]
    last = int(np.flatnonzero(heard)[-1]) if heard.any() else -1
    now = (as_of - counts.first) // counts.unit
    history, slots = heard[: last + 1], counts.slots
    if len(history) < FEWEST_WEEKS * slots:
        return None
    gaps = _gap_lengths(history == 0)
    earlier = now - np.arange(1, WEEKS + 1)[:, None] * slots + np.arange(-1, 2)
    longest = int(gaps[earlier[(earlier >= 0) & (earlier <= last)]].max(initial=0))
    weekly = _WeeklyCounts.of(history, len(history), slots)
    means = np.min(_with_neighbours(weekly.matrix.mean(axis=0)), axis=0)
    odd = weekly.is_odd(rises=True)
    kept = _without_one_spell(odd)
    clump = weekly.clump(kept if kept.any() else np.ones_like(odd))
    surprise = means[(now - len(history) - np.arange(_LONGEST)) % slots] / clump
    running = (as_of - counts.start_of(now)) / counts.unit
    surprise[0] *= running
    enough = np.flatnonzero(np.cumsum(surprise) >= needed)
    if not len(enough):
        return None
    chance = int((running + enough[0]) * counts.unit)
    # A gap of so many empty hours is at most two hours longer than these: one more, twice, is never less.
    gap = (longest + 1) * counts.unit + lateness
    limit = max(LEAST_SILENCE, _TOLD_TWICE * gap, chance + lateness)
    return limit if limit <= MOST_SILENCE else None


def _gap_lengths(empty: Bools) -> Ints:
    """Of each hour the longest run of empty ones that it lies in, or that ends or begins beside it."""
    edges = np.flatnonzero(np.diff(empty, prepend=False, append=False))
    lengths = np.zeros(len(empty) + 2, dtype=np.int64)
    runs = edges[1::2] - edges[::2]
    lengths[1:-1][empty] = np.repeat(runs, runs)
    longest: Ints = np.maximum(lengths[1:-1], np.maximum(lengths[:-2], lengths[2:]))
    return longest


def _with_neighbours(week: Floats) -> tuple[Floats, Floats, Floats]:
    """Values of the hours before, of the hours of the week themselves, and of the hours after."""
    around = np.concatenate([week[-1:], week, week[:1]])
    return around[:-2], week, around[2:]


def _medians(matrix: Floats) -> Floats:
    """Median of each column: of few rows several times as fast as NumPy's."""
    rows, weeks = np.sort(matrix, axis=0), len(matrix)
    middle: Floats = (rows[(weeks - 1) // 2] + rows[weeks // 2]) / 2
    return middle


@dataclass(frozen=True, slots=True, eq=False)
class _WeeklyCounts:
    """Records by hour of the week, of the weeks up to an hour, which is the first of the next one."""

    matrix: Floats  # shape (weeks, hours)

    @classmethod
    def of(cls, records: Ints, hour: int, slots: int) -> "_WeeklyCounts":
        weeks = min(WEEKS, hour // slots)
        return cls(records[hour - weeks * slots : hour].reshape(weeks, slots).astype(np.float64))

    @property
    def sparse(self) -> float:
        """What an hour has at least that counts as usual, where records surge."""
        return _SPARSE * float(self.matrix.mean())

    @property
    def usual(self) -> tuple[float, float]:
        """Least and most of what this hour, the one before and the one after usually have."""
        medians = _medians(self.matrix[:, [-1, 0, 1]])
        return float(medians.min()), max(float(medians.max()), self.sparse)

    def is_odd(self, *, rises: bool) -> Bools:
        """Past hours, oldest first, that were half as far off as what is told."""
        medians, half = _medians(self.matrix), SEVENFOLD / 2
        if rises:
            high = np.maximum(np.max(_with_neighbours(medians), axis=0), self.sparse)
            odd: Bools = self.matrix >= np.maximum(half * high, FEWEST_RECORDS)
        else:
            odd = (self.matrix * half <= np.min(_with_neighbours(medians), axis=0)) & (medians > 0)
        return odd.ravel()

    def clump(self, kept: Bools) -> float:
        """Variance of an hour over its mean, at least 1: as many records come together."""
        mean, weeks, chosen = self.matrix.mean(axis=0), len(self.matrix), kept.reshape(self.matrix.shape)
        squares = (np.square(self.matrix - mean) * chosen).sum() * weeks / (weeks - 1)
        return max(1.0, float(squares / max((mean * chosen).sum(), 1.0)))
