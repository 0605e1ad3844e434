"""The service: restore, serve, tick, until a signal comes."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Protocol

import structlog

from monitor.daemon.health import Health
from monitor.daemon.schedule import Schedule

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOOK_AGAIN = 1.0  # seconds
_AT_LAST = 9.0  # seconds after a signal to end: the process ends, whatever still waits for a database
_LOG = "monitor.daemon"


class HttpServer(Protocol):
    """Serves from a thread of its own."""

    def start_serving(self) -> None:
        """Begin to answer."""
        ...

    def stop_serving(self, timeout: float = 5.0) -> None:
        """Answer no more."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """All that runs, once it is wired."""

    schedule: Schedule
    server: HttpServer
    health: Health
    # brings the last committed measurements to the exposition; readiness waits for it.
    restore: Callable[[], None]
    # reads the configuration again, on SIGHUP; its failures it handles itself.
    reload: Callable[[], None] = lambda: None
    stopped: Callable[[], None] = lambda: None  # is told that the service ends
    grace: float = 8.0  # seconds that a running cycle has to reach its end after a signal
    # ends the process at once where a cycle does not end in time: its transaction is rolled back.
    abandon: Callable[[int], None] = os._exit

    def run_until(self, received: SimpleQueue[int]) -> int:
        """Serve until a signal is received, or was before, that is no SIGHUP; the exit code.

        On SIGHUP the configuration is read again.
        """
        log = structlog.stdlib.get_logger(_LOG)
        self.server.start_serving()
        try:
            self.restore()
            self.health.mark_ready()
            self.schedule.start_ticks()
            log.info("ready")
            while (number := wait_for_signal(received)) == signal.SIGHUP:
                self.reload()
            log.info("stopping", signal=signal.Signals(number).name)
        finally:
            self.health.mark_stopping()
            self.stopped()
            ended = self.schedule.stop_ticks(self.grace)
            self.server.stop_serving()
        if not ended:
            log.warning("a cycle did not end in time and is given up; nothing of it is kept")
            self.abandon(0)
        log.info("stopped")
        return 0


def wait_for_signal(received: SimpleQueue[int]) -> int:
    """Wait for signals: of several that have come, one that asks to end; of others alike, one stands for all.

    It looks again each second: one that comes just before the wait does not end it.
    """
    numbers: list[int] = []
    while not numbers:
        with suppress(Empty):
            numbers.append(received.get(timeout=_LOOK_AGAIN))
    with suppress(Empty):
        while True:
            numbers.append(received.get_nowait())
    return next((number for number in numbers if number in _SIGNALS), numbers[0])


@contextmanager
def catch_signals(*more: signal.Signals) -> Iterator[SimpleQueue[int]]:
    """Signals that ask to end, and more, as they come; where they are obeyed too slowly, the process ends."""
    # A queue's `put`, unlike an event's `set`, may interrupt the `get` that waits for it.
    received: SimpleQueue[int] = SimpleQueue()

    asked: list[float] = []  # when to end: no lock that the signal might interrupt
    ended = threading.Event()

    def note(number: int, _frame: FrameType | None) -> None:
        received.put(number)
        if number in _SIGNALS:
            asked.append(time.monotonic())

    def watch() -> None:
        while not ended.wait(_LOOK_AGAIN / 2):
            if asked and time.monotonic() - asked[0] > _AT_LAST:
                structlog.stdlib.get_logger(_LOG).warning("what still waits for a database is given up")
                os._exit(0)

    threading.Thread(target=watch, name="end", daemon=True).start()
    before = {number: signal.signal(number, note) for number in (*_SIGNALS, *more)}
    try:
        yield received
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
