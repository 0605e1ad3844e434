"""The daemon, wired: ticks, the page, health."""

import threading
import time
from contextlib import ExitStack
from importlib.metadata import version

from monitor.app.clocks import system_clock
from monitor.app.holding import Held, hold_when_free
from monitor.app.running import cycle_once
from monitor.app.wiring import App
from monitor.core.clock import SECOND, Clock
from monitor.daemon.health import Health, patience
from monitor.daemon.log import LogFormat, configure
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Cycles, Service
from monitor.exposition.page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport
from monitor.web.server import Server, make_app


def serve(
    app: App,
    *,
    held: Held | None = None,
    clock: Clock = system_clock,
    ticking: bool = True,
    pace: int | None = None,
) -> int:
    """Run until SIGTERM or SIGINT; return the exit code.

    Parameters
    ----------
    held
        the run, where the caller has it already; otherwise it is waited for.
    clock
        tells the time that cycles go by.
    ticking
        False: nothing is ever due, the last commit is served.
    pace
        microseconds of real time between ticks, where the clock is not the real one.
    """
    settings = app.settings
    configure(LogFormat(settings.log.format), settings.log.level)
    with ExitStack() as stack:
        if held is None:
            held = hold_when_free(app)
            if held is None:
                return 0
            stack.enter_context(held)
        code = _service(app, clock, ticking=ticking, pace=pace).run_until_signal()
    return 1 if held.lost else code


def _service(app: App, clock: Clock, *, ticking: bool, pace: int | None) -> Service:
    settings, stopping = app.settings, threading.Event()
    every = {model.name: model.every for model in settings.models} if ticking else {}
    seconds = {name: (one if pace is None else pace) / SECOND for name, one in every.items()}
    health = Health({name: patience(one) for name, one in seconds.items()}, now=time.monotonic)
    exposition = Exposition(settings.models, SelfMetrics(version("monitor"), time.time()))

    def cycle(name: str, as_of: int) -> CycleReport:
        return cycle_once(app, name, as_of, stopping=stopping.is_set)

    def publish(name: str) -> None:
        rows = app.store.current(name)
        if rows:
            exposition.publish(name, rows[0][1], [row for _, _, row in rows])

    def restore() -> None:
        for name in app.names():
            publish(name)

    cycles = Cycles(
        cycle=cycle,
        publish=publish,
        newest_logged_at=lambda name: app.store.state(name).logged_cursor,
        health=health,
        exposition=exposition,
        stopping=stopping.is_set,
    )
    schedule = Schedule(
        every,
        cycles,
        clock,
        stopping=stopping,
        skipped=cycles.skipped,
        idle=health.idle,
        pace=None if pace is None else pace / SECOND,
    )
    web = make_app(exposition, healthy=lambda: health.fault(ticking=schedule.alive), ready=health.unready)
    server = Server(web, host=settings.http.host, port=settings.http.port)
    return Service(schedule=schedule, server=server, health=health, restore=restore)
