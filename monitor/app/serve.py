"""The daemon, wired: ticks, the page, health."""

import threading
import time
from importlib.metadata import version

from monitor.app.clocks import system_clock
from monitor.app.running import DAEMON, LEASE, cycle_once
from monitor.app.wiring import App
from monitor.core.clock import SECOND, Clock
from monitor.core.errors import StoreError
from monitor.daemon.health import Health, patience
from monitor.daemon.log import LogFormat, configure
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Cycles, Service
from monitor.exposition.page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.specs.protocols import CycleReport
from monitor.web.server import Server, make_app


def serve(app: App, *, clock: Clock = system_clock, ticking: bool = True, pace: int | None = None) -> int:
    """Run until SIGTERM or SIGINT; return the exit code.

    Parameters
    ----------
    clock
        tells the time that cycles go by.
    ticking
        False: nothing is ever due, the last commit is served.
    pace
        microseconds of real time between ticks, where the clock is not the real one.

    Raises
    ------
    StoreError
        if another daemon has the run's history.
    """
    settings = app.settings
    configure(LogFormat(settings.log.format), settings.log.level)
    every = {model.name: model.every for model in settings.models} if ticking else {}
    seconds = {name: (one if pace is None else pace) / SECOND for name, one in every.items()}
    health = Health({name: patience(one) for name, one in seconds.items()}, now=time.monotonic)
    exposition = Exposition(settings.models, SelfMetrics(version("monitor"), time.time()))
    stopping = threading.Event()

    def publish(name: str) -> None:
        rows = app.store.current(name)
        if rows:
            exposition.publish(name, rows[0][1], [row for _, _, row in rows])

    def cycle(name: str, as_of: int) -> CycleReport:
        return cycle_once(app, name, as_of, stopping=stopping.is_set)

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
    service = Service(
        schedule=schedule,
        server=Server(web, host=settings.http.host, port=settings.http.port),
        health=health,
        restore=lambda: [publish(name) for name in app.names()].clear(),
    )
    with _Held(app):
        return service.run_until_signal()


class _Held:
    """The run's history is a daemon's as long as this is open: a lease, renewed from a thread."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._token: int | None = None

    def __enter__(self) -> None:
        self._token = self._app.store.claim(DAEMON, self._app.owner, LEASE)
        if self._token is None:
            raise StoreError(f'another daemon has the run "{self._app.store.run}"')
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._token is not None:
            self._app.store.release(DAEMON, self._token)

    def _renew(self) -> None:
        while not self._ended.wait(LEASE / SECOND / 3):
            try:
                self._app.store.renew(DAEMON, self._token or 0, LEASE)
            except StoreError:
                continue  # the next third of the lease may find the database again
