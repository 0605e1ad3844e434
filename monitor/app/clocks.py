"""Clocks: the only places that ask what time it is."""

import time

from monitor.core.clock import Clock


def system_clock() -> int:
    """Microseconds of now."""
    return time.time_ns() // 1_000


def standing_clock(at: int) -> Clock:
    """A clock that stands."""
    return lambda: at


def paced_clock(start: int, end: int, every: int, pace: int) -> Clock:
    """A clock that moves by `every` each `pace` of real time, from `start` to `end`."""
    began = time.monotonic_ns() // 1_000

    def now() -> int:
        steps = (time.monotonic_ns() // 1_000 - began) // pace
        return min(start + steps * every, end)

    return now
