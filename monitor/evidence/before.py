"""The days before, as arrays: what is learned from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.core.typing import Bools, Floats, Ints
from monitor.evidence.days import DayRow
from monitor.evidence.expected import FEWEST, LearnedDays
from monitor.evidence.watched import KINDS, Trait, Watch

_BELIEVED = 0.1  # of the smallest size that is told: no smaller deviation of days is believed


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """Rows of days, one below the other: arrays of shape (days, …).

    Parameters
    ----------
    usable
        of each subject: days that are learned from: no change stood on them, and none was taken for what is
        expected after them.
    suspected
        of each series: days of a change that may have begun. They are not learned from while that is open,
        unless fewer than 14 days were left: else a change would be what is expected before it is found.
    """

    days: Ints
    values: Floats
    learned: Floats
    samples: Floats
    hits: Ints
    trials: Ints
    usable: Bools
    suspected: Bools

    @classmethod
    def of(cls, watch: Watch, rows: Sequence[DayRow], suspected: Bools) -> "Before":
        """Arrays of rows, oldest first."""
        days = np.asarray([row.day for row in rows], dtype=np.int64)
        series, faults = len(watch.series), len(watch.faults)
        return cls(
            days,
            _stack([row.values for row in rows], series, np.float64),
            _stack([row.learned for row in rows], series, np.float64),
            _stack([row.samples for row in rows], watch.samples, np.float64),
            _stack([row.hits for row in rows], faults, np.int64),
            _stack([row.trials for row in rows], faults, np.int64),
            _usable(days, rows, len(watch.subjects)),
            suspected,
        )

    def of_series(self, watch: Watch) -> LearnedDays:
        """What is learned of the series."""
        learned = np.where(self.usable[:, watch.subject], self.learned, np.nan)
        left = np.where(self.suspected, np.nan, learned)
        enough = np.isfinite(left).sum(axis=0) >= FEWEST
        return LearnedDays(
            self.days,
            np.where(enough, left, learned),
            self.samples[:, watch.sample],
            watch.kind,
            watch.sampled,
            _BELIEVED * watch.floor,
        )

    def rarely_any(self, watch: Watch) -> Bools:
        """Numbers of records that are 0 on half of the days: of a log in bursts none of them is unusual."""
        if not len(self.days):
            return np.zeros(len(watch.series), dtype=np.bool_)
        usual = np.median(self.samples, axis=0)[watch.sample]
        rarely: Bools = (watch.kind == KINDS.index(Trait.RECORDS)) & (usual < 1)
        return rarely

    def lag(self, day: int, days: int) -> Floats:
        """Values so many days before a day; NaN where there are none."""
        at = np.flatnonzero(self.days == day - days)
        return self.values[at[0]] if len(at) else np.full(self.values.shape[1], np.nan)


def _usable(days: Ints, rows: Sequence[DayRow], subjects: int) -> Bools:
    if not rows:
        return np.ones((0, subjects), dtype=np.bool_)
    restart = rows[-1].restart
    since = np.stack([row.since for row in rows])
    first = np.where(since > restart, since, days[:, None] + 1)  # of the change that stands on a day
    usable: Bools = days[:, None] < np.minimum.accumulate(first[::-1])[::-1]
    return usable & (days[:, None] >= restart)


def _stack(arrays: Sequence[NDArray[Any]], width: int, kind: Any) -> NDArray[Any]:
    return np.stack(arrays).astype(kind) if arrays else np.empty((0, width), dtype=kind)
