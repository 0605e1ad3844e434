"""What a simulated log is like: traffic, how long labels take, faults. Times are microseconds."""

from dataclasses import dataclass, fields

from monitor.core.clock import DAY, HOUR, MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How long the labels of a class take: log-normal, and a heavy tail.

    Parameters
    ----------
    median
        of the delay.
    spread
        standard deviation of its logarithm.
    tail
        share of the labels whose delay is the median times a Pareto variable of index 1.2 instead: its
        variance is infinite.
    """

    median: int = 12 * HOUR
    spread: float = 0.6
    tail: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """From `start` to `end`, since the log began, the clock that stamps predictions is wrong by `by`."""

    start: int
    end: int
    by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Traffic, delays and faults; shares are of the rows, moments count from the log's beginning.

    Parameters
    ----------
    per_day, base_rate
        predictions a day; share of the class 1.
    negatives, positives
        delays of the labels of the two classes.
    never
        labels that never come.
    nightly
        labels come in one batch a night, at two o'clock.
    outages
        (start, end): labels that would come in between all come at the end, in a flood.
    slower
        (moment, factor): delays of later events are so many times as long.
    corrections, retractions
        another label, of a higher revision, days after the first; NULL for a retraction.
    updates, label_deletions
        labels whose value is changed in place, and nothing else; that are deleted.
    label_repeats, label_conflicts
        labels that come again: as they are; with another value and the same revision.
    orphans, early, stale_labels
        labels of no prediction; reported before the event; reported later than `stale_after`.
    late, stale
        predictions logged up to three days after the event; logged later than `stale_after`.
    future
        predictions with an event time hours ahead.
    repeats, conflicts
        predictions logged again: as they are; with other values and times.
    rewrites, moves, deletions
        predictions changed in place, with a new `logged_at`: another score; another event time; deleted.
    hidden, hidden_for
        rows that become visible after their `logged_at` or `reported_at`, and by how much at most.
    clock_steps, missing_days
        see `ClockStep`; days without a prediction.
    reused
        ids that another prediction has again, one to five days later.
    refilled, restamped
        (start, end): all labels are deleted, and come back at the end; as if they were reported then.
    keep
        predictions and their labels older than this are purged each night; None: never.
    dropped
        (start, end): the feature column `temp` is not there.
    stale_after
        the horizon.
    """

    per_day: int = 240
    base_rate: float = 0.3
    negatives: Delay = Delay()
    positives: Delay = Delay()
    never: float = 0.0
    nightly: bool = False
    outages: tuple[tuple[int, int], ...] = ()
    slower: tuple[int, float] | None = None
    corrections: float = 0.0
    retractions: float = 0.0
    updates: float = 0.0
    label_deletions: float = 0.0
    label_repeats: float = 0.0
    label_conflicts: float = 0.0
    orphans: float = 0.0
    early: float = 0.0
    stale_labels: float = 0.0
    late: float = 0.0
    stale: float = 0.0
    future: float = 0.0
    repeats: float = 0.0
    conflicts: float = 0.0
    rewrites: float = 0.0
    moves: float = 0.0
    deletions: float = 0.0
    hidden: float = 0.0
    hidden_for: int = 40 * MINUTE
    reused: float = 0.0
    refilled: tuple[tuple[int, int], ...] = ()
    restamped: bool = False
    clock_steps: tuple[ClockStep, ...] = ()
    missing_days: tuple[int, ...] = ()
    keep: int | None = None
    dropped: tuple[int, int] | None = None
    stale_after: int = 20 * DAY

    @property
    def append_only(self) -> bool:
        """Whether rows are only added, each visible at its `logged_at` or `reported_at`."""
        in_place = self.updates + self.label_deletions + self.rewrites + self.moves + self.deletions
        return not (in_place or self.hidden or self.refilled or self.clock_steps or self.keep or self.dropped)

    @property
    def faults(self) -> tuple[str, ...]:
        """Names of what differs from a log without a fault."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != one.default)
