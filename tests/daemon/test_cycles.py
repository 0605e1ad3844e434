"""What is due at a tick: missed ones in order, again after failures, never a growing pile."""

from collections.abc import Callable
from dataclasses import dataclass, field

from structlog.testing import capture_logs

from monitor.core.clock import HOUR
from monitor.daemon.due_cycles import CycleRunner
from monitor.daemon.health import Health
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport

OK, BROKEN, BUSY = "ok", "broken", "busy"


@dataclass
class Bench:
    """Cycles whose ends are told, over a history that they write."""

    ends: list[str] = field(default_factory=list)
    done: int = 0
    ran: list[int] = field(default_factory=list)
    now: int = 0
    meanwhile: Callable[[], None] = lambda: None
    aside: bool = False
    seconds: float = 0.1

    def cycle(self, model: str, as_of: int) -> CycleReport | None:
        end = self.ends.pop(0) if self.ends else OK
        if end == BUSY:
            return None
        self.ran.append(as_of // HOUR)
        self.meanwhile()
        if end == OK:
            self.done = as_of
        error = None if end == OK else "no such table"
        return CycleReport(model=model, as_of=as_of, duration=self.seconds, error=error)

    def owed(self, _model: str, as_of: int) -> list[int]:
        return list(range(self.done + HOUR, as_of + 1, HOUR))

    def cycles(self) -> CycleRunner:
        return CycleRunner(
            self.cycle,
            lambda _model: None,
            lambda _model: None,
            Health({"late": 1e9}, now=lambda: 0.0),
            Exposition([], SelfMetrics("1", 0.0)),
            owed=self.owed,
            aside=lambda: self.aside,
            luck=lambda: 1.0,
        )


def test_missed_ticks_are_run_in_order_each_as_of_its_own_and_then_it_looks_again() -> None:
    bench = Bench()
    cycles = bench.cycles()

    again = cycles("late", 4 * HOUR)

    assert (bench.ran, again) == ([1, 2, 3, 4], 0.0)
    assert cycles("late", 4 * HOUR) is None
    assert bench.ran == [1, 2, 3, 4]


def test_a_failed_tick_is_tried_again_as_of_its_own_at_longer_and_longer_intervals() -> None:
    bench = Bench([OK, BROKEN, BROKEN, BROKEN, OK, BROKEN])
    cycles = bench.cycles()

    with capture_logs() as logs:
        waits = [cycles("late", at * HOUR) for at in (1, 2, 3, 3, 3)]

    assert bench.ran == [1, 2, 2, 2, 2, 3]
    assert waits == [None, 1.0, 2.0, 4.0, 1.0]
    assert [line["retry_in"] for line in logs if line["event"] == "cycle failed"] == [1.0, 2.0, 4.0, 1.0]


def test_a_model_that_another_process_has_is_looked_at_again_and_no_tick_is_lost() -> None:
    bench = Bench([OK, BUSY])
    cycles = bench.cycles()
    cycles("late", HOUR)

    again = cycles("late", 4 * HOUR)
    cycles("late", 4 * HOUR)

    assert again == 1.0
    assert bench.ran == [1, 2, 3, 4]


def test_ticks_that_come_while_a_cycle_in_time_runs_are_left_out() -> None:
    bench = Bench()
    cycles = bench.cycles()
    bench.meanwhile = lambda: cycles.note_skipped("late")

    with capture_logs() as logs:
        cycles("late", HOUR)
    bench.meanwhile = lambda: None
    cycles("late", 4 * HOUR)

    assert bench.ran == [1, 4]
    assert [line["event"] for line in logs] == ["tick left out: the cycle before still runs", "cycle"]


def test_ticks_that_come_while_a_single_cycle_stalls_are_run() -> None:
    bench = Bench()
    cycles = bench.cycles()
    cycles("late", HOUR)
    bench.meanwhile, bench.seconds = lambda: cycles.note_skipped("late"), 60.0
    cycles("late", 2 * HOUR)
    bench.meanwhile, bench.seconds = lambda: None, 0.1

    cycles("late", 5 * HOUR)

    assert bench.ran == [1, 2, 3, 4, 5]


def test_ticks_that_come_while_a_model_waits_for_a_thread_are_run() -> None:
    bench = Bench()
    cycles = bench.cycles()
    cycles("late", HOUR)

    cycles.note_skipped("late")
    cycles("late", 4 * HOUR)

    assert bench.ran == [1, 2, 3, 4]


def test_of_cycles_that_always_take_long_ticks_are_left_out() -> None:
    bench = Bench(seconds=60.0)
    cycles = bench.cycles()
    bench.meanwhile = lambda: cycles.note_skipped("late")

    for at in (1, 3, 5):
        cycles("late", at * HOUR)

    assert bench.ran == [1, 3, 5]


def test_what_was_missed_while_no_tick_came_is_run_whatever_was_left_out_before() -> None:
    bench = Bench()
    cycles = bench.cycles()
    bench.meanwhile = lambda: cycles.note_skipped("late")
    cycles("late", HOUR)
    bench.meanwhile = lambda: None

    cycles.note_resumed()
    cycles("late", 4 * HOUR)

    assert bench.ran == [1, 2, 3, 4]


def test_ticks_that_come_while_missed_ones_are_run_are_run_too() -> None:
    bench = Bench()
    cycles = bench.cycles()
    bench.meanwhile = lambda: cycles.note_skipped("late")

    assert cycles("late", 3 * HOUR) == 0.0
    cycles("late", 5 * HOUR)

    assert bench.ran == [1, 2, 3, 4, 5]


def test_a_pile_of_missed_ticks_that_does_not_shrink_is_left_out_but_for_the_newest() -> None:
    bench = Bench()
    cycles = bench.cycles()

    cycles("late", 3 * HOUR)
    cycles("late", 6 * HOUR)

    assert bench.ran == [1, 2, 3, 6]


def test_a_store_that_does_not_answer_is_a_failure_that_is_tried_again() -> None:
    bench = Bench()

    def owed(_model: str, _as_of: int) -> list[int]:
        raise OSError("no answer")

    with capture_logs() as logs:
        again = CycleRunner(
            bench.cycle,
            lambda _model: None,
            lambda _model: None,
            Health({"late": 1e9}, now=lambda: 0.0),
            Exposition([], SelfMetrics("1", 0.0)),
            owed=owed,
            luck=lambda: 0.0,
        )("late", HOUR)

    assert again == 0.5
    assert [line["event"] for line in logs] == ["cycle failed"]


def test_a_daemon_that_stands_aside_runs_nothing_and_looks_again() -> None:
    bench = Bench(aside=True)

    assert bench.cycles()("late", HOUR) == 10.0
    assert bench.ran == []


def test_a_daemon_that_is_to_stand_aside_leaves_the_other_missed_ticks() -> None:
    bench = Bench()
    bench.meanwhile = lambda: setattr(bench, "aside", True)

    assert bench.cycles()("late", 4 * HOUR) == 1.0
    assert bench.ran == [1]
