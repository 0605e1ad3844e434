"""A service with a cycle that does as told: idle, patient (it notices the end) or deaf. Run by the tests."""

import signal
import sys
import threading
import time

from monitor.core.clock import HOUR
from monitor.daemon.due_cycles import CycleRunner
from monitor.daemon.health import Health
from monitor.daemon.log_setup import LogFormat, configure_logging
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Service, catch_signals
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport
from monitor.web.server import ThreadedServer, make_app


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(manner: str) -> int:
    configure_logging(LogFormat.JSON)
    stopping = threading.Event()

    def cycle(model: str, as_of: int) -> CycleReport:
        say("cycle begins")
        if manner == "patient":
            stopping.wait(30.0)
            say("cycle ends in order")
        elif manner == "deaf":
            time.sleep(30.0)
        return CycleReport(model=model, as_of=as_of)

    health = Health({"late": 3_600.0}, now=time.monotonic)
    exposition = Exposition([], SelfMetrics("1", time.time()))
    cycles = CycleRunner(cycle, lambda _model: None, lambda _model: None, health, exposition)
    schedule = Schedule({"late": HOUR}, cycles, lambda: time.time_ns() // 1_000, stopping=stopping)
    app = make_app(
        exposition, healthy=lambda: health.fault_text(ticking=schedule.alive), ready=health.why_unready
    )
    server = ThreadedServer(app, port=0)
    service = Service(schedule, server, health, restore=lambda: say(f"port {server.port}"), grace=1.0)
    with catch_signals(signal.SIGHUP) as received:
        return service.run_until(received)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
