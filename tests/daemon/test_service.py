import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue

import httpx
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs
from waiting import wait_for

from monitor.core.clock import DAY, HOUR
from monitor.core.errors import SourceError, StoreError, error_line
from monitor.daemon.due_cycles import CycleRunner
from monitor.daemon.health import Health
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Service, catch_signals, wait_for_signal
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport, NewLabels

SCRIPT = Path(__file__).with_name("service_script.py")


@dataclass
class Bench:
    """Cycles with everything around them, and what they did."""

    cycle: Callable[[str, int], CycleReport]
    published: list[str] = field(default_factory=list)
    metrics: SelfMetrics = field(default_factory=lambda: SelfMetrics("1", 0.0))
    health: Health = field(default_factory=lambda: Health({"late": 1e9, "delay": 1e9}, now=lambda: 0.0))

    def cycles(self) -> CycleRunner:
        exposition = Exposition([], self.metrics)
        return CycleRunner(self.cycle, self.published.append, lambda _model: HOUR, self.health, exposition)

    def value(self, name: str, **labels: str) -> float | None:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self.metrics)
        return registry.get_sample_value(f"model_monitor_{name}", labels)


def succeed(model: str, as_of: int) -> CycleReport:
    return CycleReport(model=model, as_of=as_of, rows_read=5, missing_columns=("group",))


def test_a_successful_cycle_is_published_counted_and_logged() -> None:
    bench = Bench(succeed)

    with capture_logs() as logs:
        bench.cycles()("late", 2 * HOUR)

    assert bench.published == ["late"]
    assert bench.value("cycles_total", model="late", outcome="success") == 1
    assert bench.value("source_lag_seconds", model="late") == 3_600
    assert bench.health.last_reports() == {"late": succeed("late", 2 * HOUR)}
    assert [(line["event"], line["log_level"]) for line in logs] == [
        ("cycle", "info"),
        ("columns are missing", "warning"),
    ]


def test_tables_without_rows_and_labels_in_other_words_are_logged() -> None:
    def met(model: str, as_of: int) -> CycleReport:
        labels = NewLabels(40, 40, ("N", "Y"))
        return CycleReport(
            model=model, as_of=as_of, empty_tables=('table "log"',), new_labels=labels, lost="gone"
        )

    with capture_logs() as logs:
        Bench(met).cycles()("late", 2 * HOUR)

    _, empty, lost, other = logs
    assert (empty["event"], empty["tables"]) == ("no rows are left", ['table "log"'])
    assert (lost["event"].partition(":")[0], lost["why"]) == ("what was rewritten is not known", "gone")
    assert other["event"] == "labels are none that the model knows"
    assert (other["labels"], other["unknown"], other["words"]) == (40, 40, ["N", "Y"])
    assert empty["log_level"] == other["log_level"] == "warning"


@pytest.mark.parametrize("error", [SourceError("no such table: predictions"), RuntimeError("a bug")])
def test_a_cycle_that_raises_is_one_line_counted_and_reported(error: Exception) -> None:
    def fail(_model: str, _as_of: int) -> CycleReport:
        raise error

    bench = Bench(fail)

    with capture_logs() as logs:
        bench.cycles()("late", 2 * HOUR)

    (line,) = logs
    assert (line["event"], line["model"], line["as_of"]) == ("cycle failed", "late", "1970-01-01T02:00:00Z")
    assert str(error) in line["error"]
    assert bench.published == []
    assert bench.value("cycles_total", model="late", outcome="failure") == 1
    assert bench.health.last_reports()["late"].error == line["error"]


def test_a_failure_in_the_report_is_treated_alike() -> None:
    bench = Bench(lambda model, as_of: CycleReport(model=model, as_of=as_of, error="no such column: id"))

    with capture_logs() as logs:
        bench.cycles()("late", HOUR)

    assert [line["event"] for line in logs] == ["cycle failed"]
    assert bench.published == []
    assert bench.value("cycles_total", model="late", outcome="failure") == 1


def test_one_models_failure_does_not_stop_the_others() -> None:
    done: list[str] = []

    def cycle(model: str, as_of: int) -> CycleReport:
        if model == "late":
            raise SourceError("no such table: predictions")
        done.append(model)
        return CycleReport(model=model, as_of=as_of)

    bench = Bench(cycle)
    every = {"late": DAY, "delay": DAY}
    schedule = Schedule(every, bench.cycles(), lambda: DAY, stopping=threading.Event())

    with capture_logs():
        schedule.start_ticks()
        wait_for(lambda: len(bench.health.last_reports()) >= 2, timeout=60.0)
        schedule.stop_ticks(2.0)

    assert done == ["delay"]
    assert bench.health.last_reports()["late"].error == "no such table: predictions"


def test_a_cycle_that_gives_up_while_the_service_ends_has_not_failed() -> None:
    bench = Bench(lambda model, as_of: CycleReport(model=model, as_of=as_of, error="stopped"))

    with capture_logs() as logs:
        replace(bench.cycles(), stopping=lambda: True)("late", HOUR)

    assert [(line["event"], line["log_level"]) for line in logs] == [("cycle given up", "info")]
    assert bench.value("cycles_total", model="late", outcome="failure") is None
    assert bench.health.last_reports() == {}


def test_a_tick_left_out_is_counted_and_logged() -> None:
    def overrun(model: str, as_of: int) -> CycleReport:
        cycles.note_skipped(model)
        return succeed(model, as_of)

    bench = Bench(overrun)
    cycles = bench.cycles()

    with capture_logs() as logs:
        cycles("late", HOUR)

    assert bench.value("skipped_ticks_total", model="late") == 1
    assert logs[0]["event"] == "tick left out: the cycle before still runs"
    assert logs[0]["model"] == "late"


def test_an_error_is_described_in_one_line_and_an_unexpected_one_with_its_place() -> None:
    try:
        int("x")
    except ValueError as error:
        unexpected = error_line(error)

    assert error_line(SourceError("first\nsecond")) == "first"
    assert error_line(StoreError()) == "StoreError"
    assert unexpected.startswith("ValueError: invalid literal for int() with base 10: *** (test_service.py:")
    assert error_line(ValueError()) == "ValueError: "


@dataclass
class Recorder:
    """A server that writes down when it was started and stopped."""

    events: list[str]

    def start_serving(self) -> None:
        self.events.append("serving")

    def stop_serving(self, timeout: float = 5.0) -> None:
        self.events.append("closed" if timeout > 0 else "cut")


def test_the_exposition_is_restored_before_readiness_and_after_serving() -> None:
    events: list[str] = []
    health = Health({}, now=lambda: 0.0)
    schedule = Schedule({}, lambda _model, _as_of: None, lambda: 0, stopping=threading.Event())

    def restore() -> None:
        events.append(f"restoring: {health.why_unready()}")
        os.kill(os.getpid(), signal.SIGTERM)

    with capture_logs() as logs, catch_signals(signal.SIGHUP) as received:
        code = Service(schedule, Recorder(events), health, restore).run_until(received)

    assert events == ["serving", "restoring: the last measurements are not restored yet", "closed"]
    assert [line["event"] for line in logs] == ["ready", "stopping", "stopped"]
    assert (code, health.why_unready()) == (0, "the service is stopping")


def test_a_signal_that_the_wait_for_it_misses_is_seen_at_the_next_look() -> None:
    class Missed(SimpleQueue[int]):
        looks = 0

        def get(self, block: bool = True, timeout: float | None = None) -> int:  # noqa: ARG002, FBT001, FBT002 -- the queue's own
            self.looks += 1
            if self.looks == 1:
                assert timeout is not None, "a wait without an end misses it for good"
                raise Empty
            return signal.SIGTERM

    schedule = Schedule({}, lambda _model, _as_of: None, lambda: 0, stopping=threading.Event())
    service = Service(schedule, Recorder([]), Health({}, now=lambda: 0.0), lambda: None)

    code = service.run_until(received := Missed())

    assert (code, received.looks) == (0, 2)


def test_a_failing_restore_ends_the_service_and_closes_the_server() -> None:
    events: list[str] = []
    before = signal.getsignal(signal.SIGTERM)
    schedule = Schedule({}, lambda _model, _as_of: None, lambda: 0, stopping=threading.Event())

    def restore() -> None:
        raise StoreError("the store does not answer")

    with pytest.raises(StoreError), catch_signals(signal.SIGHUP) as received:
        Service(schedule, Recorder(events), Health({}, now=lambda: 0.0), restore).run_until(received)

    assert events == ["serving", "closed"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_cycle_that_does_not_end_in_time_is_given_up() -> None:
    began, release = threading.Event(), threading.Event()
    codes: list[int] = []

    def deaf(_model: str, _as_of: int) -> None:
        began.set()
        os.kill(os.getpid(), signal.SIGTERM)
        release.wait(5.0)

    schedule = Schedule({"late": DAY}, deaf, lambda: DAY, stopping=threading.Event())
    health = Health({}, now=lambda: 0.0)
    service = Service(schedule, Recorder([]), health, lambda: None, grace=0.1, abandon=codes.append)

    with capture_logs() as logs, catch_signals(signal.SIGHUP) as received:
        service.run_until(received)
    release.set()

    assert began.is_set()
    assert codes == [0]
    assert "did not end in time" in str(logs)


def started(manner: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", str(SCRIPT), manner]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline() for _ in range(count)]


@pytest.mark.parametrize(
    ("manner", "sent", "said", "logged"),
    [
        ("idle", signal.SIGINT, "cycle begins\n", '"signal": "SIGINT"'),
        ("patient", signal.SIGTERM, "cycle begins\ncycle ends in order\n", '"event": "stopped"'),
        ("deaf", signal.SIGTERM, "cycle begins\n", "did not end in time"),
    ],
)
def test_a_signal_ends_the_process_within_seconds_and_in_order(
    manner: str, sent: signal.Signals, said: str, logged: str
) -> None:
    with started(manner) as process:
        port, first = lines(process, 2)
        before = time.monotonic()
        process.send_signal(sent)
        try:
            out, err = process.communicate(timeout=25.0)
        finally:
            process.kill()  # one that does not hear must not be waited for

    assert (process.returncode, first + out) == (0, said)
    assert port.startswith("port ")
    assert logged in err
    assert "Traceback" not in err
    assert time.monotonic() - before < 20.0  # a deaf cycle would take 30


def test_a_running_service_answers_and_counts_its_cycles() -> None:
    with started("idle") as process, httpx.Client(trust_env=False, timeout=30.0) as client:
        port = int(lines(process, 2)[0].removeprefix("port "))
        answers = {path: client.get(f"http://127.0.0.1:{port}{path}") for path in ("/readyz", "/healthz")}
        until = time.monotonic() + 60.0
        counted = 'model_monitor_cycles_total{model="late",outcome="success"} 1.0'
        while counted not in (page := client.get(f"http://127.0.0.1:{port}/metrics").text):
            assert time.monotonic() < until, page
        process.terminate()
        process.communicate(timeout=25.0)

    assert {path: answer.status_code for path, answer in answers.items()} == {"/readyz": 200, "/healthz": 200}
    assert process.returncode == 0


def test_a_signal_to_end_is_obeyed_before_others_that_wait() -> None:
    received: SimpleQueue[int] = SimpleQueue()
    for number in (*[signal.SIGHUP] * 100, signal.SIGTERM):
        received.put(number)

    assert wait_for_signal(received) == signal.SIGTERM


def test_signals_to_read_again_that_came_meanwhile_are_one() -> None:
    received: SimpleQueue[int] = SimpleQueue()
    for _ in range(3):
        received.put(signal.SIGHUP)

    assert (wait_for_signal(received), received.empty()) == (signal.SIGHUP, True)
