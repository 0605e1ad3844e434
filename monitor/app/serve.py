"""The daemon, wired: ticks, the page, health."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
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
from monitor.daemon.service import Cycles, Service, signals
from monitor.exposition.page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
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
        received = stack.enter_context(signals(signal.SIGHUP))
        if held is None:
            held = hold_when_free(app, received)
            if held is None:
                return 0
            stack.enter_context(held)
        rename_models(app, clock(), held=True)
        code = _service(app, clock, reread, ticking=ticking, pace=pace).run_until(received)
    return 1 if held.lost else code


def _service(
    app: App, clock: Clock, reread: Callable[[], Settings] | None, *, ticking: bool, pace: int | None
) -> Service:
    settings, stopping = app.settings, threading.Event()
    ticks = _ticks if ticking else _no_ticks
    every = ticks(settings)
    health = Health(limits(every, pace), now=time.monotonic)
    exposition = Exposition(settings.models, SelfMetrics(version("monitor"), time.time(), app.usage))

    publish = partial(_publish, app, exposition)
    cycles = Cycles(
        cycle=partial(cycle_once, app, stopping=stopping.is_set),
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
        last=_last(app),
    )
    web = make_app(exposition, healthy=lambda: health.fault(ticking=schedule.alive), ready=health.unready)
    server = Server(web, host=settings.http.host, port=settings.http.port)
    reread = reread or (lambda: app.settings)
    return Service(
        schedule=schedule,
        server=server,
        health=health,
        restore=partial(_restore, app, exposition),
        reload=Reloading(app, reread, ticks, schedule, health, exposition, publish, pace),
    )


def _ticks(settings: Settings) -> dict[str, int]:
    return {model.name: model.every for model in settings.models}


def _no_ticks(_settings: Settings) -> dict[str, int]:
    return {}


def _last(app: App) -> dict[str, int]:
    return {name: at for name in app.names() if (at := app.store.state(name).as_of) is not None}


def _publish(app: App, exposition: Exposition, name: str) -> None:
    rows = app.store.current(name)
    if rows:
        exposition.publish(name, rows[0][1], [row for _, _, row in rows])


def _restore(app: App, exposition: Exposition) -> None:
    for name in app.names():
        _publish(app, exposition, name)
