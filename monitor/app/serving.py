"""The daemon, wired: ticks, the page, health."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import structlog

from monitor.app.clocks import system_clock
from monitor.app.model_history import rename_models
from monitor.app.notifying import Notifying
from monitor.app.pages.apart import PagesApart
from monitor.app.reloading import Reloading, limits
from monitor.app.run_lock import Held, Joined, join_when_free
from monitor.app.running import Owed, last_ticks
from monitor.app.store_watch import StoreWatch
from monitor.app.wiring import App
from monitor.core.clock import SECOND, Clock
from monitor.core.version import VERSION
from monitor.daemon.cycles import Cycles
from monitor.daemon.health import Health
from monitor.daemon.log import LogFormat, configure
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Service, signals
from monitor.exposition.page import Exposition
from monitor.exposition.selection import reads
from monitor.exposition.self_metrics import SelfMetrics
from monitor.pipeline.alerting import accepted_changes
from monitor.specs.settings import Settings
from monitor.store.coordination.daemons import Aside
from monitor.web.files import certificate, secrets
from monitor.web.guard import exposed, own_hosts, serves_pages
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
        joined: Joined | None = None
        if held is None:
            joined = join_when_free(app, received)
            if joined is None:
                return 0
            stack.enter_context(joined)
        if joined is None or joined.aside() is None:
            rename_models(app, clock(), held=True)
        code = _service(app, clock, reread, joined, ticking=ticking, pace=pace).run_until(received)
    return 1 if held is not None and held.lost else code


def _service(
    app: App,
    clock: Clock,
    reread: Callable[[], Settings] | None,
    joined: Joined | None,
    *,
    ticking: bool,
    pace: int | None,
) -> Service:
    stopping = threading.Event()

    def ticks(settings: Settings) -> dict[str, int]:
        return {model.name: model.every for model in settings.models} if ticking else {}

    every = ticks(app.settings)
    own = SelfMetrics(VERSION, time.time(), partial(_usage, app), () if ticking else app.names())
    exposition = Exposition(app.settings.models, own)
    watch = StoreWatch(app, partial(_publish, app, exposition))
    own.away = watch.away
    if joined is not None and joined.shared:
        own.clock_ahead = lambda: joined.ahead / SECOND
    health = Health(limits(every, pace), now=time.monotonic, silent=app.silent, store=watch.fault)
    notifying = Notifying(app, clock, exposition.notified, lambda: joined is None or joined.why is None)
    owed = Owed(app, last_ticks(app, app.names()) if joined is None else joined.before or {})

    def follow(name: str) -> None:
        health.idle(name)
        exposition.followed(name, at=time.time())

    def publish(name: str) -> None:
        watch.show(name)
        notifying.wake()

    def restore() -> None:
        watch.restore()
        notifying.renew()

    def stop() -> None:
        stopping.set()  # first: cycles come to their end while the channels do
        watch.stop()
        notifying.stop()

    watch.followed = follow
    cycles = _cycles(owed, publish, health, exposition, joined, stopping)
    schedule = _schedule(every, cycles, clock, stopping, pace)
    reloading = Reloading(
        app,
        reread or (lambda: app.settings),
        ticks,
        schedule,
        health,
        exposition,
        watch.show,
        in_use=(lambda: True) if joined is None else joined.renew_and_act,
        changed=partial(_changed, owed, joined, notifying),
        pace=pace,
    )
    return Service(
        schedule=schedule,
        server=_server(app, exposition, health, schedule, joined, clock),
        health=health,
        restore=restore,
        reload=reloading,
        stopped=stop,
    )


def _cycles(
    owed: Owed,
    publish: Callable[[str], None],
    health: Health,
    exposition: Exposition,
    joined: Joined | None,
    stopping: threading.Event,
) -> Cycles:
    def source(name: str) -> str:
        configured = owed.app.configured(name)
        return "" if configured is None else configured[0].source

    return Cycles(
        cycle=partial(owed.cycle, stopping=stopping.is_set),
        publish=publish,
        newest_logged_at=lambda name: owed.app.store.state(name).logged_cursor,
        health=health,
        exposition=exposition,
        owed=owed,
        aside=(lambda: False) if joined is None else (lambda: joined.aside() is not None),
        source=source,
        stopping=stopping.is_set,
    )


def _schedule(
    every: dict[str, int], cycles: Cycles, clock: Clock, stopping: threading.Event, pace: int | None
) -> Schedule:
    schedule = Schedule(
        every,
        cycles,
        clock,
        stopping=stopping,
        skipped=cycles.skipped,
        idle=cycles.health.idle,
        pace=None if pace is None else pace / SECOND,
        source=cycles.source,
    )
    schedule.resumed = cycles.resumed
    return schedule


def _server(
    app: App,
    exposition: Exposition,
    health: Health,
    schedule: Schedule,
    joined: Joined | None,
    clock: Clock,
) -> Server:
    http = app.settings.http
    if warning := exposed(http):
        structlog.stdlib.get_logger("monitor.web").warning(warning)
    if joined is not None:
        joined.listen(
            lambda aside: exposition.stands_aside({reason.value: reason is aside for reason in Aside})
        )

    def noted() -> str | None:
        of_run = (None, None) if joined is None else (joined.why, joined.clock_fault)
        notes = (*of_run, health.note())
        return "\n".join(note for note in notes if note) or None

    web = make_app(
        exposition,
        healthy=lambda: health.fault(ticking=schedule.alive),
        ready=health.unready,
        noted=noted,
        secrets=secrets(http, app.base),
        pages=PagesApart(app, clock) if serves_pages(http) else None,
        hosts=own_hosts(http),
    )
    return Server(web, host=http.host, port=http.port, tls=certificate(http, app.base))


def _usage(app: App) -> dict[str, tuple[float, int, float]]:
    return {name: (used.seconds, used.rows, used.silent) for name, used in app.usage().items()}


def _publish(app: App, exposition: Exposition, name: str) -> None:
    configured = app.configured(name)
    if configured is None:  # removed while its cycle ran
        return
    spec, _ = configured
    rows = app.store.current(name, reads(spec))
    if rows:
        as_of = min(row[1] for row in rows)  # a replay that was stopped leaves older rows beside newer ones
        alerts = [alert for _, alert in app.store.alerts(name)]
        accepted = accepted_changes(app.store, spec, as_of)
        exposition.publish(name, as_of, [row for _, _, row in rows], alerts, accepted)


def _changed(owed: Owed, joined: Joined | None, notifying: Notifying, models: set[str]) -> None:
    """Run changed models at once, unless another daemon has this configuration already, and did."""
    notifying.renew()
    if joined is None or not joined.shared:
        owed.again.update(last_ticks(owed.app, models))
    elif joined.before is not None:
        owed.again.update({name: at for name, at in joined.before.items() if name in models})
