import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import wait_for

from monitor.core.clock import DAY, HOUR, MINUTE, SECOND, Clock, floor_to, from_iso, to_iso
from monitor.daemon.schedule import Schedule, aligned_trigger, tick_jitter

TICK = SECOND // 4


def real_clock() -> int:
    return time.time_ns() // 1_000


@contextmanager
def running(
    models: dict[str, int],
    run: Callable[[str, int], float | None],
    clock: Clock = real_clock,
    *,
    pace: float | None = None,
    skipped: Callable[[str], None] = lambda _model: None,
    idle: Callable[[str], None] = lambda _model: None,
    workers: int = 4,
) -> Iterator[Schedule]:
    schedule = Schedule(
        models,
        run,
        clock,
        stopping=threading.Event(),
        pace=pace,
        skipped=skipped,
        idle=idle,
        workers=workers,
    )
    schedule.start_ticks()
    try:
        yield schedule
    finally:
        schedule.stop_ticks(2.0)


def test_ticks_come_once_a_multiple_and_the_first_at_the_start() -> None:
    ticks: list[int] = []

    with running({"late": TICK}, lambda _model, as_of: ticks.append(as_of)):
        wait_for(lambda: len(ticks) >= 3)

    assert {as_of % TICK for as_of in ticks} == {0}
    assert all(b > a for a, b in pairwise(ticks))


@pytest.mark.parametrize("slow_one", [1, 2])
def test_an_overrunning_cycle_is_never_stacked_and_late_ticks_coalesce(slow_one: int) -> None:
    active = 0
    most = 0
    ticks: list[int] = []
    skipped: list[str] = []

    def run(_model: str, as_of: int) -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        ticks.append(as_of)
        time.sleep(3.5 * TICK / SECOND if len(ticks) == slow_one else 0.0)
        active -= 1

    with running({"late": TICK}, run, skipped=skipped.append):
        wait_for(lambda: len(ticks) > slow_one)

    assert most == 1
    assert ticks[slow_one] - ticks[slow_one - 1] >= 3 * TICK
    assert set(skipped) == {"late"}


def test_one_models_long_cycle_does_not_delay_another() -> None:
    release = threading.Event()
    quick: list[int] = []

    def run(model: str, as_of: int) -> None:
        if model == "slow":
            release.wait(5.0)
        else:
            quick.append(as_of)

    with running({"slow": TICK, "quick": TICK}, run):
        wait_for(lambda: len(quick) >= 2)
        release.set()


def test_a_source_whose_models_all_hang_stops_no_model_of_another() -> None:
    release = threading.Event()
    calm: list[int] = []

    def run(model: str, as_of: int) -> None:
        if model.startswith("hung"):
            release.wait(20.0)
        else:
            calm.append(as_of)

    models = {f"hung-{at}": TICK for at in range(12)} | {"calm": TICK}
    schedule = Schedule(
        models, run, real_clock, stopping=threading.Event(), source=lambda model: model.partition("-")[0]
    )
    schedule.start_ticks()
    wait_for(lambda: len(calm) >= 4)
    hung = sum(thread.name.startswith("cycles of hung") for thread in threading.enumerate())
    release.set()
    schedule.stop_ticks(5.0)

    assert hung == 4


def test_the_as_of_is_the_tick_whatever_the_delay() -> None:
    ticks: list[str] = []
    at = from_iso("2013-03-01T10:59:58.7Z")

    with running({"late": HOUR}, lambda _model, as_of: ticks.append(to_iso(as_of)), lambda: at):
        wait_for(lambda: ticks != [])

    assert ticks == ["2013-03-01T10:00:00Z"]


def test_at_a_pace_real_seconds_drive_a_virtual_clock() -> None:
    now = from_iso("2013-03-01")
    ticks: list[str] = []

    def run(_model: str, as_of: int) -> None:
        nonlocal now
        ticks.append(to_iso(as_of))
        now += DAY

    with running({"late": DAY}, run, lambda: now, pace=0.1):
        wait_for(lambda: len(ticks) >= 3)

    assert ticks[:3] == ["2013-03-01T00:00:00Z", "2013-03-02T00:00:00Z", "2013-03-03T00:00:00Z"]


def test_a_clock_that_stands_gives_no_further_cycle() -> None:
    ticks: list[int] = []
    idle: list[str] = []

    with running(
        {"late": DAY},
        lambda _model, as_of: ticks.append(as_of),
        lambda: 5 * DAY,
        pace=0.05,
        idle=idle.append,
    ):
        wait_for(lambda: len(idle) >= 3)

    assert ticks == [5 * DAY]
    assert set(idle) == {"late"}


def test_without_models_nothing_ticks_and_the_schedule_lives() -> None:
    with running({}, lambda _model, _as_of: None) as schedule:
        assert schedule.alive
    assert not schedule.alive


def test_a_failing_run_does_not_end_the_ticks() -> None:
    ticks: list[int] = []

    def broken(_model: str, as_of: int) -> None:
        ticks.append(as_of)
        raise RuntimeError("broken")

    with running({"late": TICK}, broken):
        wait_for(lambda: len(ticks) >= 2)


def test_stopping_waits_for_the_running_cycle_which_can_notice() -> None:
    stopping = threading.Event()
    began = threading.Event()
    ended: list[str] = []

    def run(_model: str, _as_of: int) -> None:
        began.set()
        stopping.wait(5.0)
        ended.append("in order")

    schedule = Schedule({"late": HOUR}, run, real_clock, stopping=stopping)
    schedule.start_ticks()
    began.wait(5.0)

    assert schedule.stop_ticks(5.0)
    assert ended == ["in order"]
    assert not schedule.alive


def test_stopping_waits_no_longer_than_told() -> None:
    release = threading.Event()
    began = threading.Event()

    def deaf(_model: str, _as_of: int) -> None:
        began.set()
        release.wait(5.0)

    schedule = Schedule({"late": HOUR}, deaf, real_clock, stopping=threading.Event())
    schedule.start_ticks()
    began.wait(5.0)
    before = time.monotonic()

    assert not schedule.stop_ticks(0.2)
    assert time.monotonic() - before < 1.0
    release.set()


def test_a_tick_that_waits_for_a_thread_is_not_run_after_stopping() -> None:
    began = threading.Event()
    ran: list[str] = []
    stopping = threading.Event()

    def run(model: str, _as_of: int) -> None:
        ran.append(model)
        began.set()
        stopping.wait(5.0)

    schedule = Schedule({"a": HOUR, "b": HOUR}, run, real_clock, stopping=stopping, workers=1)
    schedule.start_ticks()
    began.wait(5.0)
    schedule.stop_ticks(2.0)

    assert len(ran) == 1


def test_stopping_what_was_never_started_is_done_at_once() -> None:
    schedule = Schedule({"late": HOUR}, lambda _model, _as_of: None, real_clock, stopping=threading.Event())

    assert schedule.stop_ticks(1.0)


@given(st.text("late-_2"), st.integers(SECOND, 30 * DAY))
def test_jitter_is_fixed_and_at_most_a_tenth_or_a_minute(model: str, every: int) -> None:
    late = tick_jitter(model, every)

    assert 0 <= late <= min(every / 10, MINUTE)
    assert late == tick_jitter(model, every)


def test_jitter_tells_models_apart() -> None:
    assert len({tick_jitter(f"model {number}", HOUR) for number in range(20)}) == 20


@pytest.mark.parametrize("every", [MINUTE, 90 * MINUTE, HOUR, DAY])
def test_ticks_fall_on_utc_multiples_plus_the_jitter(every: int) -> None:
    trigger = aligned_trigger("late", every)
    fired: list[datetime] = []

    for _ in range(3):
        now = datetime(2013, 3, 10, 1, 2, 3, tzinfo=UTC)
        fired.append(trigger.get_next_fire_time(fired[-1] if fired else None, now))

    moments = [round(moment.timestamp() * SECOND) for moment in fired]
    assert {moment % every for moment in moments} == {tick_jitter("late", every)}
    assert [moments[1] - moments[0], moments[2] - moments[1]] == [every, every]


def test_other_models_tick_from_now_on_and_changed_ones_at_once() -> None:
    ticks: list[str] = []

    with running({"late": HOUR, "gone": TICK}, lambda model, _as_of: ticks.append(model)) as schedule:
        wait_for(lambda: {"late", "gone"} <= {*ticks})
        schedule.replace_models({"late": HOUR, "new": HOUR}, changed={"late"})
        wait_for(lambda: ticks.count("late") == 2 and "new" in ticks)
        after = ticks.count("gone")
        time.sleep(2.5 * TICK / SECOND)

    assert ticks.count("gone") <= after + 1  # one may have been on its way
    assert ticks.count("late") == 2


def test_what_asks_to_be_tried_again_is_tried_before_the_next_tick() -> None:
    at = from_iso("2024-03-01T12:00Z")
    ticks: list[int] = []

    def run(_model: str, as_of: int) -> float | None:
        ticks.append(as_of)
        return 0.05 if len(ticks) < 4 else None

    with running({"late": DAY}, run, lambda: at):
        wait_for(lambda: len(ticks) == 4)
        time.sleep(0.2)

    assert ticks == [floor_to(at, DAY)] * 4


def test_a_model_that_is_removed_is_not_tried_again() -> None:
    ticks: list[str] = []

    def run(model: str, _as_of: int) -> float | None:
        ticks.append(model)
        return 0.5

    with running({"late": DAY}, run) as schedule:
        wait_for(lambda: len(ticks) == 1)
        schedule.replace_models({}, changed=set())
        time.sleep(0.7)

    assert ticks == ["late"]


def test_threads_of_a_source_that_is_gone_end() -> None:
    sources = {"late": "log", "delay": "other"}
    ticks: list[str] = []
    every = dict.fromkeys(sources, DAY)
    schedule = Schedule(
        every,
        lambda model, _as_of: ticks.append(model),
        lambda: DAY,
        stopping=threading.Event(),
        source=sources.__getitem__,
    )
    schedule.start_ticks()
    try:
        wait_for(lambda: sorted(ticks) == ["delay", "late"])

        schedule.replace_models({"late": DAY}, changed=())

        wait_for(lambda: not any("other" in thread.name for thread in threading.enumerate()))
        assert any("log" in thread.name for thread in threading.enumerate())
    finally:
        schedule.stop_ticks(2.0)
