"""Clocks: the only places that ask what time it is."""

import time
from collections.abc import Callable

from monitor.core.clock import Clock


def system_clock() -> int:
    """Microseconds of now."""
    return time.time_ns() // 1_000


def frozen_clock(at: int) -> Clock:
    """A clock that stands."""
    return lambda: at


def paced_clock(start: int, end: int, every: int, pace: int) -> Clock:
    """A clock that moves by `every` each `pace` of real time, from `start` to `end`."""
    began = time.monotonic_ns() // 1_000

    def now() -> int:
        steps = (time.monotonic_ns() // 1_000 - began) // pace
        return min(start + steps * every, end)

    return now


def measure_clock_lead(clock: Clock, ask_other: Callable[[], int]) -> int:
    """Microseconds by which a clock is surely ahead of another one; negative: behind it.

    The other one may have told its time at any moment between question and answer.

    >>> measure_clock_lead(frozen_clock(70), lambda: 10), measure_clock_lead(frozen_clock(0), lambda: 10)
    (60, -10)
    """
    asked, other, answered = clock(), ask_other(), clock()
    return max(0, asked - other) + min(0, answered - other)
