"""The daemon, wired: ticks, the page, health."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version

from monitor.app.clocks import system_clock
from monitor.app.histories import rename_models
from monitor.app.holding import Held, hold_when_free
from monitor.app.reloading import Reloading, limits
from monitor.app.running import cycle_once
from monitor.app.wiring import App
from monitor.core.clock import SECOND, Clock
from monitor.daemon.health import Health
from monitor.daemon.log import LogFormat, configure
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Cycles, Service
from monitor.exposition.page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport
from monitor.specs.settings import Settings
from monitor.web.server import Server, make_app


def serve(
    app: App,
    *,
    held: Held | None = None,
    clock: Clock = system_clock,
    ticking: bool = True,
    pace: int | None = None,
    reread: Callable[[], Settings] | None = None,
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
    reread
        reads the configuration again, on SIGHUP; None: it stays as it is.
    """
    settings = app.settings
    configure(LogFormat(settings.log.format), settings.log.level)
    with ExitStack() as stack:
        if held is None:
            held = hold_when_free(app)
            if held is None:
                return 0
            stack.enter_context(held)
        rename_models(app, clock(), held=True)
        code = _service(app, clock, reread, ticking=ticking, pace=pace).run_until_signal()
    return 1 if held.lost else code


def _service(
    app: App, clock: Clock, reread: Callable[[], Settings] | None, *, ticking: bool, pace: int | None
) -> Service:
    settings, stopping = app.settings, threading.Event()

    def ticks(settings: Settings) -> dict[str, int]:
        return {model.name: model.every for model in settings.models} if ticking else {}

    every = ticks(settings)
    health = Health(limits(every, pace), now=time.monotonic)
    exposition = Exposition(settings.models, SelfMetrics(version("monitor"), time.time(), app.usage))

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
        last={name: at for name in every if (at := app.store.state(name).as_of) is not None},
    )
    web = make_app(exposition, healthy=lambda: health.fault(ticking=schedule.alive), ready=health.unready)
    server = Server(web, host=settings.http.host, port=settings.http.port)
    reload = Reloading(
        app=app,
        reread=reread or (lambda: app.settings),
        ticks=ticks,
        schedule=schedule,
        health=health,
        exposition=exposition,
        publish=publish,
        pace=pace,
    )
    return Service(schedule=schedule, server=server, health=health, restore=restore, reload=reload)
