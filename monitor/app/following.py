"""What other processes commit is served too: a look at the store every few seconds."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from monitor.app.wiring import App
from monitor.core.errors import CodecError, StoreError

EVERY = 2.0  # seconds


@dataclass(slots=True)
class Following:
    """Publishes what others have committed, and what could not be published when it was committed.

    Parameters
    ----------
    publish
        hands a model's committed rows to the exposition.
    followed
        is told of a model that another process has run.
    """

    app: App
    publish: Callable[[str], None]
    followed: Callable[[str], None]
    _seen: dict[str, tuple[int | None, str, int, bool]] = field(default_factory=dict)
    _unshown: set[str] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    def show(self, name: str) -> None:
        """Publish a model."""
        self._unshown.add(name)  # until it is shown: the store may not answer
        self.publish(name)
        self._unshown.discard(name)

    def restore(self) -> None:
        """Publish all models, and follow them from now on."""
        for name in self.app.names():
            self._show_if_sound(name)
        threading.Thread(target=self._run, name="following", daemon=True).start()

    def stop(self) -> None:
        """Follow no more."""
        self._ended.set()

    def look(self) -> None:
        """Publish what is new."""
        found = self.app.store.progress()
        for name in self.app.names():
            now, before = found.get(name), self._seen.get(name)
            if now is None:
                continue
            others = now != before and now[1] != self.app.owner
            if others or name in self._unshown:
                self._show_if_sound(name)
            if others and (before is None or now[0] != before[0]):
                self.followed(name)
            self._seen[name] = now

    def _show_if_sound(self, name: str) -> None:
        """Publish a model; one whose rows are damaged stops no other, and is looked at when they are new."""
        try:
            self.show(name)
        except CodecError as error:
            self._unshown.discard(name)
            log = structlog.stdlib.get_logger(__name__)
            log.warning("what is kept cannot be shown", model=name, reason=str(error))

    def _run(self) -> None:
        log = structlog.stdlib.get_logger(__name__)
        while not self._ended.wait(EVERY):
            try:
                self.look()
            except StoreError as error:
                log.debug("the store does not answer", reason=str(error))
            except Exception:
                log.exception("what others measured was not served")
