"""The configuration, read again by a daemon: refused as a whole, or in use from the next cycles on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from monitor.app.application import App
from monitor.app.clocks import system_clock
from monitor.app.model_history import rename_models, renamed_models
from monitor.core.clock import SECOND
from monitor.core.errors import ConfigurationError, MonitorError, error_line
from monitor.daemon.health import Health, success_limit
from monitor.daemon.schedule import Schedule
from monitor.exposition.metrics_page import Exposition
from monitor.specs.settings import Settings

_LOG = "monitor.daemon"


@dataclass(frozen=True, slots=True)
class ConfigReloader:
    """Reads the configuration again and hands it to all that runs."""

    app: App
    reread: Callable[[], Settings]  # reads the file; every fault at once
    # microseconds between the ticks of each model that shall tick.
    ticks: Callable[[Settings], Mapping[str, int]]
    schedule: Schedule
    health: Health
    exposition: Exposition
    publish: Callable[[str], None]  # hands a model's committed rows to the exposition
    # says that another configuration is in use; whether this daemon may act on it.
    in_use: Callable[[], bool] = lambda: True
    # is told of models that are configured otherwise, before they run at once.
    changed: Callable[[set[str]], None] = lambda _changed: None
    pace: int | None = None  # microseconds of real time between ticks, where the clock is not the real one

    def __call__(self) -> None:
        """Read it; where it has a fault or cannot be taken over, say so and go on with the old one."""
        log = structlog.stdlib.get_logger(_LOG)
        before = self.app.settings
        try:
            settings = self.reread()
            if before.store.url != settings.store.url:
                raise ConfigurationError(["store.url: another store takes a restart of the daemon"])  # noqa: TRY301
            renamed_models(self.app, settings)
            self._take_over(settings)
        except Exception as error:  # noqa: BLE001 -- whatever fails, the old configuration runs on
            for fault in error.faults if isinstance(error, ConfigurationError) else [error_line(error)]:
                log.error("configuration refused", fault=fault)  # noqa: TRY400 -- a fault, no failure of ours
            self.exposition.note_reload(None, at=time.time())
            return
        for name in ("http", "log"):
            if getattr(before, name) != getattr(settings, name):
                log.warning("takes effect at the next start", table=name)
        changes = self._apply_settings(before, settings)
        self.app.forget_removed()
        log.info("configuration read again", **changes)

    def _take_over(self, settings: Settings) -> None:
        """Put them in use, and rename in the store: both or neither."""
        before, self.app.settings = self.app.settings, settings  # first: no cycle begins under an old name
        try:
            if self.in_use():
                rename_models(self.app, system_clock(), held=True)
        except BaseException:
            self.app.settings = before
            self.in_use()
            raise

    def _apply_settings(self, old: Settings, settings: Settings) -> dict[str, list[str]]:
        before = {model.name: model for model in old.models}
        sources = {source.name: source for source in old.sources}
        after = {model.name: model for model in settings.models}
        changed = {
            name
            for name, model in after.items()
            if before.get(name) != model or sources.get(model.source) != settings.find_source(model.source)
        }
        self.exposition.note_reload(settings.models, at=time.time())
        for name in sorted(changed):
            try:
                self.publish(name)
            except MonitorError as error:
                log = structlog.stdlib.get_logger(_LOG)
                log.warning("not shown before its next cycle", model=name, reason=error_line(error))
        self.changed(changed)
        every = self.ticks(settings)
        self.health.replace_limits(success_limits(every, self.pace))
        self.schedule.replace_models(every, changed=changed)
        return {
            "added": sorted({*after} - {*before}),
            "removed": sorted({*before} - {*after}),
            "changed": sorted(changed & {*before}),
        }


def success_limits(every: Mapping[str, int], pace: int | None) -> dict[str, float]:
    """Seconds that each model may be without a successful cycle."""
    return {name: success_limit((tick if pace is None else pace) / SECOND) for name, tick in every.items()}
