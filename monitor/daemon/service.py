"""The service: restore, serve, tick, until a signal comes."""

import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Protocol

import structlog

from monitor.core.clock import to_iso
from monitor.core.errors import MonitorError, without_quotes
from monitor.daemon.health import Health
from monitor.daemon.schedule import Schedule
from monitor.specs.protocols import CycleReport

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOOK_AGAIN = 1.0  # seconds
_LOG = "monitor.daemon"


class Observer(Protocol):
    """Takes the daemon's own figures: the exposition."""

    def observe(self, report: CycleReport, *, at: float, newest_logged_at: int | None = None) -> None:
        """Take a cycle's report."""
        ...

    def skipped(self, model: str) -> None:
        """Count a tick that was left out."""
        ...


class HttpServer(Protocol):
    """Serves from a thread of its own."""

    def start(self) -> None:
        """Begin to answer."""
        ...

    def stop(self, timeout: float = 5.0) -> None:
        """Answer no more."""
        ...


@dataclass(frozen=True, slots=True)
class Cycles:
    """Runs one cycle of one model: whatever happens, it is reported, and nobody else is stopped.

    Parameters
    ----------
    cycle
        one cycle; failures that it expects are in its report.
    publish
        hands a model's committed rows to the exposition.
    newest_logged_at
        of the rows that a model's source has shown, microseconds.
    stopping
        whether the service ends: a cycle that gives up then has not failed.
    """

    cycle: Callable[[str, int], CycleReport]
    publish: Callable[[str], None]
    newest_logged_at: Callable[[str], int | None]
    health: Health
    exposition: Observer
    stopping: Callable[[], bool] = lambda: False

    def __call__(self, model: str, as_of: int) -> None:
        """Run a tick."""
        self.health.began(model)
        began = time.monotonic()
        report = CycleReport(model=model, as_of=as_of)
        newest: int | None = None
        try:
            report = self.cycle(model, as_of)
            if report.error is None:
                self.publish(model)
                newest = self.newest_logged_at(model)
        except Exception as error:  # noqa: BLE001 -- one model's failure must not stop the others
            report = replace(report, duration=time.monotonic() - began, error=described(error))
        if report.error is not None and self.stopping():
            structlog.stdlib.get_logger(_LOG).info("cycle given up", model=model, reason=report.error)
            return
        self.health.ended(report)
        self.exposition.observe(report, at=time.time(), newest_logged_at=newest)
        _log_cycle(report)

    def skipped(self, model: str) -> None:
        """Report a tick that came while the model's cycle still ran."""
        self.exposition.skipped(model)
        log = structlog.stdlib.get_logger(_LOG)
        log.warning("tick left out: the cycle before still runs", model=model)


@dataclass(frozen=True, slots=True)
class Service:
    """All that runs, once it is wired.

    Parameters
    ----------
    restore
        brings the last committed measurements to the exposition; readiness waits for it.
    reload
        reads the configuration again, on SIGHUP; its failures it handles itself.
    grace
        seconds that a running cycle has to reach its end after a signal.
    abandon
        ends the process at once where a cycle does not end in time: its transaction is rolled back.
    """

    schedule: Schedule
    server: HttpServer
    health: Health
    restore: Callable[[], None]
    reload: Callable[[], None] = lambda: None
    grace: float = 8.0
    abandon: Callable[[int], None] = os._exit

    def run_until_signal(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit code. On SIGHUP the configuration is read again."""
        with signals(signal.SIGHUP) as received:
            return self.run_until(received)

    def run_until(self, received: SimpleQueue[int]) -> int:
        """Serve until one of the signals that are received, or were before, is no SIGHUP; the exit code."""
        log = structlog.stdlib.get_logger(_LOG)
        self.server.start()
        try:
            self.restore()
            self.health.became_ready()
            self.schedule.start()
            log.info("ready")
            while (number := _next(received)) == signal.SIGHUP:
                self.reload()
            log.info("stopping", signal=signal.Signals(number).name)
        finally:
            self.health.is_stopping()
            ended = self.schedule.stop(self.grace)
            self.server.stop()
        if not ended:
            log.warning("a cycle did not end in time and is given up; nothing of it is kept")
            self.abandon(0)
        log.info("stopped")
        return 0


def described(error: Exception) -> str:
    """One line on an error; on an unexpected one also where it was raised.

    An unexpected error of a conversion may quote a value of a row: what stands in quotes is left out.

    >>> described(MonitorError("no such table: predictions"))
    'no such table: predictions'
    >>> described(ValueError("could not convert string to float: 'Jane Doe'"))
    'ValueError: could not convert string to float: ***'
    """
    first = (str(error).splitlines() or [""])[0]
    if isinstance(error, MonitorError):
        return first or type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    first = without_quotes(first) if isinstance(error, ValueError | TypeError | LookupError) else first
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {first}{where}"


def _log_cycle(report: CycleReport) -> None:
    log = structlog.stdlib.get_logger(_LOG).bind(
        model=report.model, as_of=to_iso(report.as_of), seconds=round(report.duration, 3)
    )
    if report.error is not None:
        log.error("cycle failed", error=report.error)
        return
    log.info(
        "cycle",
        rows=report.rows_read,
        label_rows=report.label_rows_read,
        panes=report.panes_counted,
        waiting=report.panes_waiting,
    )
    if report.missing_columns:
        log.warning("columns are missing", columns=list(report.missing_columns))


def _next(received: SimpleQueue[int]) -> int:
    """Wait for a signal. It looks again each second: one that comes just before the wait does not end it."""
    while True:
        with suppress(Empty):
            return received.get(timeout=_LOOK_AGAIN)


@contextmanager
def signals(*more: signal.Signals) -> Iterator[SimpleQueue[int]]:
    """Signals that ask to end, and more, as they come."""
    # A queue's `put`, unlike an event's `set`, may interrupt the `get` that waits for it.
    received: SimpleQueue[int] = SimpleQueue()

    def note(number: int, _frame: FrameType | None) -> None:
        received.put(number)

    before = {number: signal.signal(number, note) for number in (*_SIGNALS, *more)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
