"""Standing: when a change is found, how long it stands, and when it is what is expected."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitor.core.typing import Bools, Floats, Ints
from monitor.evidence.days import NEVER, DayRow
from monitor.evidence.faults import Faulty
from monitor.evidence.gathering import Gathered
from monitor.evidence.watched import Trait, Watch

LONGEST = 28  # days that a change stands, before it is what is expected
BACK = 3  # days, of which most must be back
MOST = 1e30  # of evidence: still a number in single precision


@dataclass(frozen=True, slots=True, eq=False)
class WeighedEvidence:
    """Evidence as multiples of what an alert needs.

    Parameters
    ----------
    series
        shape (2, series): of either side, whatever the size.
    told
        shape (series,): of the sides whose size is told.
    faults
        shape (faults,).
    """

    series: Floats
    told: Floats
    faults: Floats

    def by_subject(self, watch: Watch) -> tuple[Floats, Ints]:
        """Evidence told of each subject, and the series, or series + fault, with most of it; -1: none."""
        subjects = len(watch.subjects)
        total = np.bincount(watch.subject, self.told, minlength=subjects)
        every = np.concatenate([self.told, self.faults])
        subject = np.concatenate([watch.subject, watch.fault_subject])
        by = np.full(subjects, -1)
        order = np.argsort(every, kind="stable")
        by[subject[order]] = order  # the last one, that with most, stays
        of_fault = np.zeros(subjects)
        np.maximum.at(of_fault, watch.fault_subject, self.faults)
        by = np.where(of_fault > total, by, _most_of_series(watch, self.told, by))
        return np.minimum(np.maximum(total, of_fault), MOST), by


def _most_of_series(watch: Watch, told: Floats, by: Ints) -> Ints:
    """Series that tells each subject's change: the level, where it suffices alone: it is read first."""
    most = by.copy()
    is_level = np.asarray([one.trait is Trait.LEVEL for one in watch.series], dtype=bool)
    order = np.lexsort((told, is_level & (told > 1.0)))
    most[watch.subject[order]] = order
    return most


def with_standing(
    watch: Watch,
    rows: Sequence[DayRow],
    value: Floats,
    weighed: WeighedEvidence,
    gathered: Gathered,
    faults: Faulty,
) -> DayRow:
    """The day's row with what stands.

    A change stands from the day on that it is found: until most of 3 days are back, at half of its size or
    less, or 28 days have passed since it began. Then its days are what is expected.

    Parameters
    ----------
    rows
        up to the day's own, the last one, on which still stands what stood the day before.
    value
        shape (series,): of the day.
    """
    row = rows[-1]
    stood = row.since > NEVER
    back = stood & _is_back(watch, rows[-BACK:])
    lasted = stood & ~back & (row.day - row.since >= LONGEST)
    ends = back | lasted
    evidence, by = weighed.by_subject(watch)
    found = ~stood & (evidence > 1.0)
    first, size = _found(watch, rows, by, found, gathered, faults)
    stands = found | (stood & ~ends)
    learned = np.where((stands | lasted)[watch.subject], value, row.learned)
    return replace(
        row,
        learned=learned.astype(np.float32),
        since=np.select([found, ends], [first, NEVER], row.since).astype(np.int32),
        by=np.select([found, ends], [by, -1], row.by).astype(np.int32),
        size=np.select([found, ends], [size, 0.0], row.size).astype(np.float32),
        evidence=np.select([stood & ~ends, ends], [row.evidence, 0.0], evidence).astype(np.float32),
        reset=np.where(found | ends, row.day, row.reset).astype(np.int32),
        restart=np.where(lasted, row.since, row.restart).astype(np.int32),
    )


def usual_since(watch: Watch, rows: Sequence[DayRow]) -> Ints:
    """First day of the change that is now what is expected, by subject: it did not go back. 0: there is none.

    A change that goes back ends too, but what is learned does not begin anew with it. A fault that goes away
    later is no change: it is looked at itself.

    Parameters
    ----------
    rows
        the days that are remembered, oldest first, and the judged one.
    """
    since, reset, restart = (
        np.stack([getattr(row, name) for row in rows]) for name in ("since", "reset", "restart")
    )
    days = np.asarray([row.day for row in rows])[:, None]
    taken = (since == NEVER) & (restart != np.concatenate([restart[:1], restart[:-1]]))
    ended = taken | ((reset == days) & (days > days[0]))
    last, columns = len(rows) - 1 - np.argmax(ended[::-1], axis=0), np.arange(since.shape[1])
    lasts = taken[last, columns] & ~_is_gone(watch, rows, np.maximum(last - 1, 0))
    return np.where(lasts, restart[last, columns], NEVER).astype(np.int64)


def _is_gone(watch: Watch, rows: Sequence[DayRow], stood: Ints) -> Bools:
    """Subjects whose fault has gone away: the last days have less than half of the share that was found.

    Parameters
    ----------
    stood
        of each subject the position of a day on which its change stood.
    """
    columns, series = np.arange(len(stood)), len(watch.series)
    by, size = (np.stack([getattr(row, name) for row in rows])[stood, columns] for name in ("by", "size"))
    hits, trials = (sum(getattr(row, name) for row in rows[-BACK:]) for name in ("hits", "trials"))
    share = np.append(np.where(trials > 0, hits / np.maximum(trials, 1), np.nan), np.nan)
    at = np.where((by >= series) & (by < series + len(watch.faults)), by - series, len(watch.faults))
    gone: Bools = share[at] < np.abs(size) / 2
    return gone


def _found(
    watch: Watch, rows: Sequence[DayRow], by: Ints, found: Bools, gathered: Gathered, faults: Faulty
) -> tuple[Ints, Floats]:
    """First day and size of what is found."""
    first, size = np.full(len(by), rows[-1].day), np.zeros(len(by))
    for subject in np.flatnonzero(found):
        at = int(by[subject])
        if at >= len(watch.series):
            size[subject] = faults.share[at - len(watch.series)]
        else:
            side = int(np.argmax(gathered.evidence[:, at]))
            first[subject] = rows[-int(gathered.span[side, at])].day
            size[subject] = gathered.away[side, at]
    return first, size


def _is_back(watch: Watch, rows: Sequence[DayRow]) -> Bools:
    """Subjects of which the mean of the last days is less than half of the size that was found.

    A day without a value changes nothing: else the days before the change would speak for it.
    """
    row, series = rows[-1], len(watch.series)
    away = np.stack([one.away for one in rows]).astype(np.float64)
    hits, trials = (np.stack([getattr(one, name) for one in rows]) for name in ("hits", "trials"))
    shares = np.where(trials > 0, hits / np.maximum(trials, 1), np.nan)
    every = np.concatenate([away, shares], axis=1)
    has = np.isfinite(every)
    mean = np.where(has, every, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    mean, has_day = np.append(mean, 0.0), np.append(has[-1], np.False_)  # of -1: nothing
    at = np.where((row.by >= 0) & (row.by < series + len(watch.faults)), row.by, len(mean) - 1)
    size = row.size.astype(np.float64)
    back: Bools = has_day[at] & (mean[at] * np.sign(size) < np.abs(size) / 2)
    return back
