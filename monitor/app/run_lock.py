"""Who writes a run's history: one process alone, or the daemons that share it."""

import fcntl
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self
from urllib.parse import quote

import structlog

from monitor.app.application import App, lease_owner_words
from monitor.app.clocks import measure_clock_lead, system_clock
from monitor.core.clock import SECOND, format_duration
from monitor.core.errors import StoreError
from monitor.store.coordination.daemons import WHOLE_RUN, IdleReason
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import LOCK

_APART = 30 * SECOND  # of two clocks that differ by a minute one differs by so much from a third
RETRY = 1.0  # seconds between two looks whether the run is free
WHY = {
    IdleReason.CONFIGURATION: "a daemon of a newer configuration or version has the run",
    IdleReason.SCHEMA: "the store was migrated by a newer version: update this daemon",
    IdleReason.HELD: "another process has the run for itself",
}


class ExclusiveRun:
    """The run's history is this process's alone as long as this is open.

    On SQLite an operating system's lock on a file beside the store, which ends with the process; elsewhere
    a lease, renewed from a thread: a process whose lease was taken over, as after a long sleep of its
    machine, ends itself.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = lock_of(app.store)
        self._beating = _LeaseHeartbeat(app.settings.daemon.lease_ttl, self._renew_lease)
        self._token: int | None = None
        self.lost = False

    def claim_run(self) -> bool:
        """Whether the run is this process's now."""
        if self._lock is not None:
            if taken := self._lock.take_lock():
                self._app.store.daemons.inherit_run(self._app.owner)
            return taken
        if self._token is None:
            self._token = self._app.store.daemons.hold_run(
                self._app.owner, self._app.settings.daemon.lease_ttl
            )
        return self._token is not None

    def __enter__(self) -> Self:
        """Take the run, or refuse to share it."""
        if not self.claim_run():
            store = self._app.store
            raise StoreError(
                f'a daemon or a replay has the run "{store.run}" ({lease_owner_words(store, WHOLE_RUN)}): '
                "wait, or name another run with --run NAME"
            )
        if self._token is not None:
            self._beating.start_thread()
        return self

    def __exit__(self, *_error: object) -> None:
        """Give the run back."""
        self._beating.stop_thread()
        if self._lock is not None:
            self._lock.release_lock()
        if self._token is not None:
            self._app.store.leases.release_lease(WHOLE_RUN, self._token)

    def _renew_lease(self) -> bool:
        assert self._token is not None
        if self._app.store.leases.renew_lease(WHOLE_RUN, self._token, self._app.settings.daemon.lease_ttl):
            return True
        self.lost = True
        structlog.stdlib.get_logger(__name__).error("another process has taken the run over")
        os.kill(os.getpid(), signal.SIGTERM)
        return False


class SharedRun:
    """The daemon is one of those that share the run, or on SQLite its only one, as long as this is open.

    `generation` is that of its configuration; `before` the as of of each model's last cycle when it came
    into use, None if a daemon had it before.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = lock_of(app.store)
        self._config = app.fingerprint
        self._beating = _LeaseHeartbeat(app.settings.daemon.lease_ttl, self._note_heartbeat)
        self._joining = threading.RLock()  # our own new generation is no other daemon's
        self._aside: IdleReason | None = None
        self._listener: Callable[[IdleReason | None], None] = lambda _aside: None
        self.ahead = 0  # microseconds, of this machine's clock to that of the store's server
        self.generation = 0
        self.before: dict[str, int] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether other daemons may share the run."""
        return self._lock is None

    @property
    def idle_reason(self) -> str | None:
        """Why no cycles are claimed, as it was seen last; None: they are."""
        return None if self._aside is None else f"claiming no cycles: {WHY[self._aside]}"

    @property
    def clock_fault(self) -> str | None:
        """That this machine's clock and that of the store's server differ; None: they do not."""
        if abs(self.ahead) < _APART:
            return None
        seconds = format_duration(round(abs(self.ahead) / SECOND) * SECOND)
        which = "ahead of" if self.ahead > 0 else "behind"
        return (
            f"this machine's clock is {seconds} {which} that of the store's server: set the wrong one right. "
            "Daemons whose clocks differ run cycles as of different times"
        )

    def set_listener(self, listener: Callable[[IdleReason | None], None]) -> None:
        """Have it told why nothing is claimed, None: it is, now and at each change."""
        self._listener = listener
        listener(self._aside)

    def join_run(self) -> bool:
        """Whether the run may be shared now; where it is a file, whether it is this process's."""
        if self._lock is not None and not self._lock.take_lock():
            return False
        return self.renew_membership()

    def renew_membership(self) -> bool:
        """Join with the configuration of now; False: another process has the run for itself."""
        ttl = self._app.settings.daemon.lease_ttl
        with self._joining:
            self._config = self._app.fingerprint
            joined = self._app.store.daemons.join_run(
                self._app.owner, self._config, ttl, alone=self._lock is not None
            )
            if joined is not None:
                self.generation, self.before = joined
        return joined is not None

    def renew_and_check(self) -> bool:
        """Join with the configuration of now; whether this daemon may act on it."""
        return self.renew_membership() and self.refresh_idle_reason() is None

    def refresh_idle_reason(self) -> IdleReason | None:
        """Why nothing may be claimed now, by a look at the store."""
        with self._joining:
            aside = self._app.store.daemons.why_idle(self.generation)
            if self._lock is not None and not self._lock.take_lock():
                aside = IdleReason.HELD
            if aside is not self._aside:
                self._aside = aside
                log = structlog.stdlib.get_logger(__name__)
                if aside is None:
                    log.info("claiming cycles again")
                else:
                    log.warning("claiming no cycles, serving what others measure", reason=WHY[aside])
                self._listener(aside)
            return aside

    def __enter__(self) -> Self:
        """Say at once, and again and again, that this daemon lives."""
        with suppress(StoreError):  # the next third of the lease may find the database again
            self._note_heartbeat()
        self._beating.start_thread()
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave."""
        self._beating.stop_thread()
        with suppress(StoreError):  # what ends unsaid expires
            self._app.store.daemons.leave_run(self._app.owner)
        if self._lock is not None:
            self._lock.release_lock()

    def _note_heartbeat(self) -> bool:
        with self._joining:
            if (
                self.refresh_idle_reason() is not IdleReason.SCHEMA
            ):  # what is known of other tables' columns may be wrong
                ttl = self._app.settings.daemon.lease_ttl
                beat = partial(
                    self._app.store.daemons.note_heartbeat,
                    self._app.owner,
                    self._config,
                    self.generation,
                    ttl,
                )
                self._compare_clocks(measure_clock_lead(system_clock, beat))
        return True

    def _compare_clocks(self, ahead: int) -> None:
        """Log when the clocks begin to differ, and when they no longer do; of a file both are one."""
        differed, self.ahead = self.clock_fault is not None, ahead if self.is_shared else 0
        log = structlog.stdlib.get_logger(__name__)
        if self.clock_fault is not None and not differed:
            log.warning("the clock is wrong", reason=self.clock_fault)
        elif self.clock_fault is None and differed:
            log.info("the clock is right again")


class _LeaseHeartbeat:
    """Calls a function each third of a lease from a thread of its own, until it answers False."""

    def __init__(self, ttl: int, beat: Callable[[], bool]) -> None:
        self._wait = ttl / SECOND / 3
        self._beat = beat
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run_heartbeats, name="lease", daemon=True)

    def start_thread(self) -> None:
        self._thread.start()

    def stop_thread(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run_heartbeats(self) -> None:
        while not self._ended.wait(self._wait):
            try:
                if not self._beat():
                    return
            except StoreError:
                continue  # the next third of the lease may find the database again


def join_when_free(app: App, received: SimpleQueue[int]) -> SharedRun | None:
    """Join the run as soon as no other process has it; None: a signal to end came first.

    `received`: signals; one to read the configuration again is left for the service that follows.
    """
    joined, reread = SharedRun(app), False
    log = structlog.stdlib.get_logger(__name__)
    said = False
    while not joined.join_run():
        if not said:
            by = lease_owner_words(app.store, WHOLE_RUN)
            log.info("another process has the run, waiting", run=app.store.run, by=by)
            said = True
        with suppress(Empty):
            number = received.get(timeout=RETRY)
            if number != signal.SIGHUP:
                log.info("stopped", signal=signal.Signals(number).name)
                return None
            reread = True
    if reread:
        received.put(signal.SIGHUP)
    return joined


class FileLock:
    """An exclusive lock on a file, which is made where there is none and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._taking = threading.Lock()

    def take_lock(self) -> bool:
        """Take it unless another process has it; whether it is this one's now.

        A file that was deleted or replaced is taken anew: others would take it.

        Raises
        ------
        StoreError
            if the file cannot be made.
        """
        with self._taking:
            return (
                self._descriptor is not None and self._is_at_path(self._descriptor)
            ) or self._open_and_lock()

    def _open_and_lock(self) -> bool:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"lock {self._path}: {error.strerror or error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        if not self._is_at_path(descriptor):
            os.close(descriptor)
            return False
        self.release_lock()
        self._descriptor = descriptor
        return True

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except OSError:
            return False

    def release_lock(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_of(store: SqlStore) -> FileLock | None:
    """Lock of a run in a SQLite file; None: the store is shared by leases."""
    if store.file is None:
        return None
    return FileLock(Path(f"{store.file}.{quote(store.run, safe='')}{LOCK}"))
