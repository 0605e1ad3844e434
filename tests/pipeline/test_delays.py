"""Delays of all panes, added up as panes come, change and go: always those of a count from scratch."""

import numpy as np
import pytest

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, SECOND
from monitor.pipeline.delay_counts import DelayCounts, select_delay_counts
from monitor.records.counting import DELAY_EDGES
from monitor.states.counters import CounterBlock, CounterLayout, Counters

EDGES = np.asarray(DELAY_EDGES)
CELLS = len(DELAY_EDGES) + 1
LAYOUT = CounterLayout(
    (
        CounterBlock("tally", (3,), "a"),
        CounterBlock("delays", (2, CELLS), "b"),
        CounterBlock("after", (3,), "c"),
    )
)


def whole(rng: np.random.Generator, longest: int) -> Counters:
    """Some delays of both classes up to a number of seconds, between other blocks."""
    dense = np.ones(LAYOUT.size, dtype=np.int64)
    seconds = rng.integers(0, longest, rng.integers(0, 30))
    cell = np.searchsorted(EDGES, seconds, side="right") + CELLS * rng.integers(0, 2, len(seconds))
    dense[LAYOUT.block_slice("delays")] = np.bincount(cell, minlength=2 * CELLS)
    return Counters.from_dense(LAYOUT, dense)


def move(delays: DelayCounts, start: int, before: Counters | None, after: Counters | None) -> None:
    for counters, sign in ((before, -1), (after, 1)):
        if counters is not None:
            index, value = select_delay_counts(counters)
            delays.add_delays(np.full(len(index), start), index, sign * value)


def from_scratch(panes: dict[int, Counters], starts: Ints, ages: Ints) -> tuple[Ints, Ints]:
    count, shown = np.zeros((2, 2, CELLS), dtype=np.int64)
    for start, age in zip(starts.tolist(), ages.tolist(), strict=True):
        last = int(np.searchsorted(EDGES, age / SECOND, side="right")) - 1
        if start in panes:
            seen = panes[start].dense_block("delays").copy()
            seen[:, last + 1 :] = 0
            count += seen
            shown[:, max(last, 0)] += seen.sum(axis=1)
    return count, shown


@pytest.mark.parametrize("seed", range(20))
def test_delays_that_panes_can_show_are_those_of_a_count_from_scratch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.arange(0, 3 * DAY, HOUR)
    delays = DelayCounts(2, HOUR, 2 * DAY)
    panes: dict[int, Counters] = {}
    for _ in range(200):
        start = int(rng.choice(starts))
        if rng.integers(3) == 0:
            move(delays, start, panes.pop(start, None), None)
        else:
            new = {int(at): whole(rng, 100_000) for at in rng.choice(starts, rng.integers(1, 9))}
            for at, counters in new.items():
                move(delays, at, panes.get(at), counters)
            panes |= new
    ages = rng.integers(-HOUR, 2 * DAY, len(starts))
    longest = [(select_delay_counts(panes[at])[0] % CELLS).max(initial=0) for at in sorted(panes)]
    just_below = EDGES[np.maximum(longest, 5) - rng.integers(-2, 5, len(longest))] * SECOND
    near = rng.random(len(longest)) < 0.5
    ages[np.searchsorted(starts, sorted(panes))[near]] = just_below[near]

    found = delays.observable_delays(starts, ages, panes.__getitem__)

    count, shown = from_scratch(panes, starts, ages)
    assert np.array_equal(found.count, count)
    assert np.array_equal(found.shown, shown)
    again = delays.observable_delays(starts, ages, panes.__getitem__)
    assert np.array_equal(again.count, count), "asking changes nothing"


def test_delays_are_added_up_by_step_and_lag_and_taken_off_again() -> None:
    delays = DelayCounts(2, HOUR, 64 * DAY)
    one, other = (np.zeros(LAYOUT.size, dtype=np.int64) for _ in range(2))
    cell = int(np.searchsorted(EDGES, 3 * DAY / SECOND, side="right"))
    one[LAYOUT.offsets["delays"] + cell] = 5
    other[LAYOUT.offsets["delays"] + CELLS + 0] = 2
    held: dict[int, Counters] = {}
    for start, dense in ((2 * HOUR, one), (4 * DAY, other), (4 * DAY, other)):
        move(delays, start, held.get(start), counters := Counters.from_dense(LAYOUT, dense))
        held[start] = counters

    first, count = delays.count_delays_by_step(10 * DAY)

    assert (first, count.shape[:2], delays.step) == (0, (2, 5), DAY)
    assert {tuple(at): count[tuple(at)] for at in np.argwhere(count).tolist()} == {(0, 0, 3): 5, (1, 4, 0): 2}
    assert delays.longest_silence(10 * DAY) == DAY  # reports on the days 3 and 4
    assert delays.count_delays_by_step(4 * DAY)[1].shape[1] == 1
    for start, counters in held.items():
        move(delays, start, counters, None)
    assert delays.count_delays_by_step(10 * DAY)[1].shape[1] == 0
