"""A run's history is written by at most one daemon, replay or demo at a time."""

import os
import signal
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Self

import structlog

from monitor.app.wiring import LEASE, App
from monitor.core.clock import SECOND, format_duration
from monitor.core.errors import StoreError

DAEMON = ""  # in place of a model's name: the lease of the process that has the run
RETRY = 3.0  # seconds between two looks whether the run is free


class Held:
    """The run's history is this process's as long as this is open: a lease, renewed from a thread.

    A process whose lease was taken over, as after a long sleep of its machine, ends itself.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._token: int | None = None
        self.lost = False

    def claimed(self) -> bool:
        """Whether the run is this process's now."""
        if self._token is None:
            self._token = self._app.store.claim(DAEMON, self._app.owner, LEASE)
        return self._token is not None

    def __enter__(self) -> Self:
        """Take the run, or refuse to share it."""
        if not self.claimed():
            raise StoreError(
                f'a daemon or a replay has the run "{self._app.store.run}" (one that was killed has it for '
                f"at most {format_duration(LEASE)} more): wait, or name another run with --run NAME"
            )
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the run back."""
        self._ended.set()
        self._thread.join()
        if self._token is not None:
            self._app.store.release(DAEMON, self._token)

    def _renew(self) -> None:
        if self._token is None:
            return
        while not self._ended.wait(LEASE / SECOND / 3):
            try:
                renewed = self._app.store.renew(DAEMON, self._token, LEASE)
            except StoreError:
                continue  # the next third of the lease may find the database again
            if not renewed:
                self.lost = True
                structlog.stdlib.get_logger(__name__).error("another process has taken the run over")
                os.kill(os.getpid(), signal.SIGTERM)
                return


def hold_when_free(app: App, received: SimpleQueue[int]) -> Held | None:
    """The run's history as soon as no other process has it; None: a signal to end came first.

    Parameters
    ----------
    received
        signals; one to read the configuration again is left for the service that follows.
    """
    held, reread = Held(app), False
    log = structlog.stdlib.get_logger(__name__)
    while not held.claimed():
        log.info("another process has the run, waiting", run=app.store.run)
        with suppress(Empty):
            number = received.get(timeout=RETRY)
            if number != signal.SIGHUP:
                log.info("stopped", signal=signal.Signals(number).name)
                return None
            reread = True
    if reread:
        received.put(signal.SIGHUP)
    return held
