"""Mixes of faults: one of each kind, and any of them together."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from simulation import ClockStep, Delay, Mix

from monitor.core.clock import DAY, HOUR, MINUTE

PER_DAY = 200
SHARES = (
    "never",
    "corrections",
    "retractions",
    "updates",
    "label_deletions",
    "label_repeats",
    "label_conflicts",
    "orphans",
    "early",
    "stale_labels",
    "late",
    "stale",
    "future",
    "repeats",
    "conflicts",
    "rewrites",
    "moves",
    "deletions",
    "hidden",
    "reused",
)
SLOW = Delay(median=20 * HOUR, spread=0.5, tail=0.1)
STEPS = (
    ClockStep(start=DAY, end=DAY + 5 * HOUR, by=3 * HOUR),
    ClockStep(start=3 * DAY, end=3 * DAY + 9 * HOUR, by=-5 * HOUR),
)


def shares(names: Iterable[str], share: float) -> dict[str, Any]:
    """The same share of each."""
    return dict.fromkeys(names, share)


MIXES = {
    "delays": Mix(per_day=PER_DAY, positives=SLOW, never=0.03, nightly=True, outages=((DAY, 2 * DAY),)),
    "times": Mix(
        per_day=PER_DAY,
        late=0.05,
        stale=0.03,
        stale_after=5 * DAY,
        future=0.03,
        early=0.03,
        stale_labels=0.02,
        orphans=0.02,
    ),
    "repeats": Mix(
        per_day=PER_DAY,
        repeats=0.05,
        conflicts=0.05,
        label_repeats=0.05,
        label_conflicts=0.05,
        corrections=0.05,
        retractions=0.03,
    ),
    "changes in place": Mix(
        per_day=PER_DAY, updates=0.05, label_deletions=0.03, rewrites=0.03, moves=0.03, deletions=0.03
    ),
    "reused ids": Mix(per_day=PER_DAY, reused=0.1, label_repeats=0.05, corrections=0.05),
    "refilled labels": Mix(per_day=PER_DAY, refilled=((DAY, 2 * DAY), (2 * DAY + HOUR, 2 * DAY + 2 * HOUR))),
    "labels loaded anew": Mix(per_day=PER_DAY, refilled=((DAY, 30 * HOUR),), restamped=True),
    "hidden rows": Mix(per_day=PER_DAY, hidden=0.1, corrections=0.05, deletions=0.05),
    "clocks": Mix(per_day=PER_DAY, clock_steps=STEPS, missing_days=(2,)),
    "purges": Mix(per_day=PER_DAY, keep=2 * DAY, late=0.03, negatives=SLOW),
    "schema": Mix(per_day=PER_DAY, dropped=(DAY + HOUR, 2 * DAY + 30 * MINUTE), late=0.03),
    "everything": replace(
        Mix(per_day=PER_DAY, outages=((2 * DAY, 3 * DAY),), missing_days=(3,), keep=4 * DAY),
        **shares(SHARES, 0.02),
    ),
}


def drawn(rng: np.random.Generator, days: int) -> Mix:
    """Any faults together, from random numbers; a log of so many days."""

    def span() -> tuple[int, int]:
        first, last = np.sort(rng.integers(0, days * 24, 2)).tolist()
        return first * HOUR, (last + 1) * HOUR

    def jump() -> ClockStep:
        start, end = span()
        return ClockStep(start=start, end=end, by=int(rng.integers(-300, 300)) * MINUTE)

    delays = [Delay(), SLOW, Delay(median=2 * HOUR, spread=1.0), Delay(median=30 * HOUR, spread=0.8)]
    some: dict[str, Any] = {name: float(rng.choice([0.0, 0.0, 0.01, 0.03, 0.1])) for name in SHARES}
    made = Mix(
        per_day=int(rng.choice([48, 100, 200])),
        negatives=delays[rng.integers(4)],
        positives=delays[rng.integers(4)],
        nightly=bool(rng.random() < 0.3),
        outages=tuple(span() for _ in range(rng.integers(0, 2))),
        slower=(int(rng.integers(0, days)) * DAY, 3.0) if rng.random() < 0.3 else None,
        clock_steps=tuple(jump() for _ in range(rng.integers(0, 3))),
        missing_days=tuple(rng.integers(0, days, rng.integers(0, 3)).tolist()),
        keep=int(rng.integers(2, days)) * DAY if rng.random() < 0.4 else None,
        dropped=span() if rng.random() < 0.3 else None,
    )
    refilled = tuple(span() for _ in range(rng.choice([0, 0, 1, 2])))
    hidden_for = int(rng.choice([10, 40, 300])) * MINUTE  # within the overlap, and beyond
    made = replace(made, refilled=refilled, restamped=bool(rng.random() < 0.3), hidden_for=hidden_for)
    return replace(made, **some)


def added(mix: Mix) -> Mix:
    """The same without what is not append-only, or not visible at once."""
    gone = ("updates", "label_deletions", "rewrites", "moves", "deletions", "hidden")
    return replace(mix, clock_steps=(), keep=None, dropped=None, refilled=(), **shares(gone, 0.0))


def seen_in_time(mix: Mix) -> Mix:
    """The same with rows that are only added, each visible within the overlap."""
    return replace(added(mix), hidden=0.2, hidden_for=10 * MINUTE)
