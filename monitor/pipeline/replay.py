"""A replay: real cycles on the ticks of a virtual clock."""

from collections.abc import Callable, Iterator

from monitor.pipeline.cycle import run_cycle
from monitor.pipeline.model import Monitored
from monitor.specs.protocols import CycleReport


def ticks(start: int, end: int, every: int) -> list[int]:
    """UTC multiples of `every` in (start, end]."""
    first = (start // every + 1) * every
    return list(range(first, end + 1, every))


def replay(
    monitored: Monitored,
    moments: list[int],
    *,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[CycleReport]:
    """Run a cycle at each moment that the run has not passed yet; yield what each did."""
    done = monitored.store.state(monitored.name).as_of
    for moment in moments:
        if stopping():
            return
        if done is None or moment > done:
            yield run_cycle(monitored, moment, stopping=stopping)[0]
