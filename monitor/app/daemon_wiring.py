"""The daemon, wired: ticks, the page, health."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import structlog

from monitor.app.alert_decisions import Decision
from monitor.app.application import App
from monitor.app.channel_wiring import ConfiguredDelivery
from monitor.app.clocks import system_clock
from monitor.app.config_reloading import ConfigReloader, success_limits
from monitor.app.model_cycles import DueTicks, last_ticks
from monitor.app.model_history import rename_models
from monitor.app.pages.page_process import PageProcess
from monitor.app.run_lock import ExclusiveRun, SharedRun, join_when_free
from monitor.app.store_watch import StoreWatch
from monitor.core.clock import SECOND, Clock
from monitor.core.version import VERSION
from monitor.daemon.due_cycles import CycleRunner
from monitor.daemon.health import Health
from monitor.daemon.log_setup import LogFormat, configure_logging
from monitor.daemon.schedule import Schedule
from monitor.daemon.service import Service, catch_signals
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.exposition.series_selection import exposed_measures
from monitor.pipeline.cycle_alerts import read_accepted_changes
from monitor.specs.settings import Settings
from monitor.store.coordination.daemons import IdleReason
from monitor.web.decision_form import SentDecision, make_decision_form
from monitor.web.guard import allowed_page_hosts, exposure_warning, serves_pages
from monitor.web.server import ThreadedServer, make_app
from monitor.web.server_files import make_certificate_reloader, make_secrets_reloader


def serve_daemon(
    app: App,
    *,
    exclusive_run: ExclusiveRun | None = None,
    clock: Clock = system_clock,
    ticking: bool = True,
    pace: int | None = None,
    reread: Callable[[], Settings] | None = None,
) -> int:
    """Run until SIGTERM or SIGINT; return the exit code.

    Parameters
    ----------
    exclusive_run
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
    configure_logging(LogFormat(settings.log.format), settings.log.level)
    with ExitStack() as stack:
        received = stack.enter_context(catch_signals(signal.SIGHUP))
        joined: SharedRun | None = None
        if exclusive_run is None:
            joined = join_when_free(app, received)
            if joined is None:
                return 0
            stack.enter_context(joined)
        if joined is None or joined.refresh_idle_reason() is None:
            rename_models(app, clock(), held=True)
        code = _make_service(app, clock, reread, joined, ticking=ticking, pace=pace).run_until(received)
    return 1 if exclusive_run is not None and exclusive_run.lost else code


def _make_service(
    app: App,
    clock: Clock,
    reread: Callable[[], Settings] | None,
    joined: SharedRun | None,
    *,
    ticking: bool,
    pace: int | None,
) -> Service:
    stopping = threading.Event()

    def ticks(settings: Settings) -> dict[str, int]:
        return {model.name: model.keys.every for model in settings.models} if ticking else {}

    every = ticks(app.settings)
    own = SelfMetrics(VERSION, time.time(), partial(_source_usage, app), () if ticking else app.model_names())
    exposition = Exposition(app.settings.models, own)
    watch = StoreWatch(app, partial(_publish_model, app, exposition))
    own.away = watch.away_reasons
    if joined is not None and joined.is_shared:
        own.clock_ahead = lambda: joined.ahead / SECOND
    health = Health(
        success_limits(every, pace),
        now=time.monotonic,
        silent=app.source_silence_by_model,
        store=watch.store_fault,
    )
    pages = PageProcess(app, clock)
    notifying = ConfiguredDelivery(
        app, clock, exposition.note_channels, lambda: joined is None or joined.idle_reason is None, pages
    )
    owed = DueTicks(app, last_ticks(app, app.model_names()) if joined is None else joined.before or {})

    def follow(name: str) -> None:
        health.note_idle(name)
        exposition.note_followed(name, at=time.time())

    def publish(name: str) -> None:
        watch.publish_model(name)
        notifying.wake_delivery()

    def restore() -> None:
        watch.start_watching()
        notifying.renew_channels()

    def stop() -> None:
        stopping.set()  # first: cycles come to their end while the channels do
        watch.stop_watching()
        notifying.stop_delivery()

    watch.followed = follow
    cycles = _make_cycle_runner(owed, publish, health, exposition, joined, stopping)
    schedule = _make_schedule(every, cycles, clock, stopping, pace)
    reloading = ConfigReloader(
        app,
        reread or (lambda: app.settings),
        ticks,
        schedule,
        health,
        exposition,
        watch.publish_model,
        in_use=(lambda: True) if joined is None else joined.renew_and_check,
        changed=partial(_run_changed_models, owed, joined, notifying),
        pace=pace,
    )
    return Service(
        schedule=schedule,
        server=_make_server(app, exposition, health, schedule, joined, clock, pages),
        health=health,
        restore=restore,
        reload=reloading,
        stopped=stop,
    )


def _make_cycle_runner(
    owed: DueTicks,
    publish: Callable[[str], None],
    health: Health,
    exposition: Exposition,
    joined: SharedRun | None,
    stopping: threading.Event,
) -> CycleRunner:
    def source(name: str) -> str:
        configured = owed.app.find_configured(name)
        return "" if configured is None else configured[0].source

    return CycleRunner(
        cycle=partial(owed.run_tick, stopping=stopping.is_set),
        publish=publish,
        newest_logged_at=lambda name: owed.app.store.states.read_state(name).logged_cursor,
        health=health,
        exposition=exposition,
        owed=owed,
        aside=(lambda: False) if joined is None else (lambda: joined.refresh_idle_reason() is not None),
        source=source,
        stopping=stopping.is_set,
    )


def _make_schedule(
    every: dict[str, int], cycles: CycleRunner, clock: Clock, stopping: threading.Event, pace: int | None
) -> Schedule:
    schedule = Schedule(
        every,
        cycles,
        clock,
        stopping=stopping,
        skipped=cycles.note_skipped,
        idle=cycles.health.note_idle,
        pace=None if pace is None else pace / SECOND,
        source=cycles.source,
    )
    schedule.resumed = cycles.note_resumed
    return schedule


def _make_server(
    app: App,
    exposition: Exposition,
    health: Health,
    schedule: Schedule,
    joined: SharedRun | None,
    clock: Clock,
    pages: PageProcess,
) -> ThreadedServer:
    http = app.settings.http
    if warning := exposure_warning(http):
        structlog.stdlib.get_logger("monitor.web").warning(warning)
    if joined is not None:
        joined.set_listener(
            lambda aside: exposition.note_standing_aside(
                {reason.value: reason is aside for reason in IdleReason}
            )
        )

    def noted() -> str | None:
        of_run = (None, None) if joined is None else (joined.idle_reason, joined.clock_fault)
        notes = (*of_run, health.silent_sources_text())
        return "\n".join(note for note in notes if note) or None

    secrets = make_secrets_reloader(http, app.base)
    form = make_decision_form(http, secrets, partial(_keep_decision, app, clock))
    web = make_app(
        exposition,
        healthy=lambda: health.fault_text(ticking=schedule.alive),
        ready=health.why_unready,
        noted=noted,
        secrets=secrets,
        pages=pages if serves_pages(http) else None,
        hosts=allowed_page_hosts(http),
        form=form if serves_pages(http) else None,
    )
    return ThreadedServer(web, host=http.host, port=http.port, tls=make_certificate_reloader(http, app.base))


def _keep_decision(app: App, clock: Clock, sent: SentDecision) -> None:
    """Keep what somebody decided by the form of an incident's page."""
    from monitor.app.alerts.alert_acceptance import decide_incident  # with the first decision

    decide_incident(app, Decision(clock(), sent.who, sent.why), sent.decision, sent.model, sent.incident)
    log = structlog.stdlib.get_logger("monitor.web")
    log.info("decided", model=sent.model, incident=sent.incident, decision=sent.decision, who=sent.who)


def _source_usage(app: App) -> dict[str, tuple[float, int, float]]:
    return {name: (usage.seconds, usage.rows, usage.silent) for name, usage in app.source_usage().items()}


def _publish_model(app: App, exposition: Exposition, name: str) -> None:
    configured = app.find_configured(name)
    if configured is None:  # removed while its cycle ran
        return
    spec, _ = configured
    rows = app.store.current.read_current(name, exposed_measures(spec))
    if rows:
        as_of = min(
            stored.as_of for stored in rows
        )  # a replay that was stopped leaves older rows beside newer ones
        alerts = [alert for _, alert in app.store.alerts.read_alerts(name)]
        accepted = read_accepted_changes(app.store, spec, as_of)
        incidents = [incident for _, incident in app.store.incidents.read_incidents(name)]
        exposition.publish_model(name, as_of, [stored.row for stored in rows], alerts, accepted, incidents)


def _run_changed_models(
    owed: DueTicks, joined: SharedRun | None, notifying: ConfiguredDelivery, models: set[str]
) -> None:
    """Run changed models at once, unless another daemon has this configuration already, and did."""
    notifying.renew_channels()
    if joined is None or not joined.is_shared:
        owed.again.update(last_ticks(owed.app, models))
    elif joined.before is not None:
        owed.again.update({name: at for name, at in joined.before.items() if name in models})
