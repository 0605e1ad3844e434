"""A run's history belongs to at most one daemon."""

import os
import signal
import threading
from typing import Self

import structlog

from monitor.app.wiring import LEASE, App
from monitor.core.clock import SECOND, format_duration
from monitor.core.errors import StoreError

DAEMON = ""  # in place of a model's name: the lease of the daemon that has the run


class Held:
    """The run's history is a daemon's as long as this is open: a lease, renewed from a thread.

    A daemon whose lease was taken over, as after a long sleep of its machine, ends itself.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._token = 0
        self.lost = False

    def __enter__(self) -> Self:
        token = self._app.store.claim(DAEMON, self._app.owner, LEASE)
        if token is None:
            raise StoreError(
                f'another daemon has the run "{self._app.store.run}"; '
                f"one that was killed has it for at most {format_duration(LEASE)} more"
            )
        self._token = token
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        self._app.store.release(DAEMON, self._token)

    def _renew(self) -> None:
        while not self._ended.wait(LEASE / SECOND / 3):
            try:
                renewed = self._app.store.renew(DAEMON, self._token, LEASE)
            except StoreError:
                continue  # the next third of the lease may find the database again
            if not renewed:
                self.lost = True
                structlog.stdlib.get_logger(__name__).error("another daemon has taken the run over")
                os.kill(os.getpid(), signal.SIGTERM)
                return


def refuse_beside_daemon(app: App) -> None:
    """Refuse to write history that a daemon has.

    Raises
    ------
    StoreError
        if a daemon runs.
    """
    token = app.store.claim(DAEMON, app.owner, 0)
    if token is None:
        raise StoreError(f'a daemon has the run "{app.store.run}": name another run with --run NAME')
