"""A clock that jumps: cycles go on soon after it is right, and none is run by a time that was wrong."""

import importlib
import threading
import time

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from shifted_clock import microseconds, wrong_by
from waiting import wait_for

from monitor.core.clock import SECOND
from monitor.daemon import schedule
from monitor.daemon import schedule as scheduling
from monitor.daemon.schedule import Schedule

TICK = SECOND // 4
EVENLY, LOOK = 0.6, 0.05
JUMPS = st.lists(
    st.tuples(
        st.floats(2, 100_000) | st.floats(-100_000, -2),  # seconds by which it is wrong
        st.floats(0.0, 0.4),  # seconds for which
        st.floats(0.0, 0.3),  # seconds until the next
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=6, deadline=None, phases=[Phase.generate])  # shrinking takes minutes
@given(JUMPS)
def test_whenever_the_clock_has_been_right_for_a_while_due_cycles_run(
    jumps: list[tuple[float, float, float]],
) -> None:
    wrong, ticks = 0.0, []
    modules, clock = wrong_by(lambda: wrong)
    with pytest.MonkeyPatch.context() as patch:
        for name, shifted in modules.items():
            patch.setattr(importlib.import_module(name), "datetime", shifted)
        patch.setattr(schedule, "time", clock)
        patch.setattr(schedule, "EVENLY", EVENLY)
        patch.setattr(scheduling, "_LOOK", LOOK)

        def run(_model: str, as_of: int) -> None:
            ticks.append((as_of, time.time_ns() // 1_000))

        made = Schedule({"late": TICK}, run, microseconds(clock), stopping=threading.Event())
        made.start_ticks()
        for seconds, lasting, rest in jumps:
            wrong = seconds
            time.sleep(lasting)
            wrong = 0.0
            time.sleep(rest)
        right = time.time_ns() // 1_000
        wait_for(lambda: sum(as_of > right for as_of, _ in ticks) >= 3)
        made.stop_ticks(2.0)

    assert all(abs(at - as_of) < 3 * SECOND for as_of, at in ticks)  # none by a wrong clock
