"""What other processes commit is served too: a look at the store every few seconds."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from monitor.app.application import App
from monitor.core.clock import SECOND, format_duration
from monitor.core.errors import CodecError, StoreError, StoreLost

EVERY = 2.0  # seconds
PATIENCE = 60.0  # seconds that the store may be silent


@dataclass(slots=True)
class StoreWatch:
    """Publishes what others have committed, and what could not be published when it was committed."""

    app: App
    publish: Callable[[str], None]  # hands a model's committed rows to the exposition
    followed: Callable[[str], None] = lambda _name: None  # is told of a model that another process has run
    _seen: dict[str, tuple[int | None, str, int, bool]] = field(default_factory=dict)
    _unshown: set[str] = field(default_factory=set)
    _answered: float = field(default_factory=time.monotonic)
    _why: str = "it does not answer"
    _lost: bool = False
    _told: bool = False
    _ended: threading.Event = field(default_factory=threading.Event)

    def publish_model(self, name: str) -> None:
        """Publish a model."""
        self._unshown.add(name)  # until it is shown: the store may not answer
        self.publish(name)
        self._unshown.discard(name)

    def start_watching(self) -> None:
        """Publish all models, and follow them from now on."""
        for name in self.app.model_names():
            self._publish_if_sound(name)
        threading.Thread(target=self._watch_store, name="following", daemon=True).start()

    def store_fault(self) -> str | None:
        """What is wrong with the store: it is lost, or has not answered for a minute; None: nothing."""
        if self._lost:
            return self._why
        silent = format_duration(int(self._silent_seconds()) * SECOND)
        return (
            f"the store has not answered for {silent}: {self._why}" if self.away_reasons()["silent"] else None
        )

    def away_reasons(self) -> dict[str, bool]:
        """For which of all reasons there is no store now: its file is lost, it has long been silent."""
        return {"lost": self._lost, "silent": not self._lost and self._silent_seconds() > PATIENCE}

    def _silent_seconds(self) -> float:
        return time.monotonic() - self._answered

    def stop_watching(self) -> None:
        """Follow no more."""
        self._ended.set()

    def publish_changed_models(self) -> None:
        """Publish what is new."""
        progress = self.app.store.daemons.read_progress()
        for name in self.app.model_names():
            if name not in progress:
                continue
            now = progress[name][:4]  # a lease that is renewed shows nothing new
            before = self._seen.get(name)
            others = now != before and now[1] != self.app.owner
            if others or name in self._unshown:
                self._publish_if_sound(name)
            if others and (before is None or now[0] != before[0]):
                self.followed(name)
            self._seen[name] = now

    def _publish_if_sound(self, name: str) -> None:
        """Publish a model; one whose rows are damaged stops no other, and is looked at when they are new."""
        try:
            self.publish_model(name)
        except CodecError as error:
            self._unshown.discard(name)
            log = structlog.stdlib.get_logger(__name__)
            log.warning("what is kept cannot be shown", model=name, reason=str(error))

    def _watch_store(self) -> None:
        log = structlog.stdlib.get_logger(__name__)
        while not self._ended.wait(EVERY):
            try:
                self.publish_changed_models()
            except StoreError as error:
                self._why, self._lost = str(error), isinstance(error, StoreLost)
                if not self._told and (fault := self.store_fault()):
                    what = "the store is lost" if self._lost else "the store does not answer"
                    log.error(what, reason=fault)  # noqa: TRY400 -- in one line
                    self._told = True
                continue
            except Exception:
                log.exception("what others measured was not served")
            self._answered, self._lost = time.monotonic(), False
            if self._told:
                log.info("the store is there again")
                self._told = False
