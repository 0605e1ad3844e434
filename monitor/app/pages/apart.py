"""Pages of the daemon, made in a process of its own: people who look take no time from a cycle.

Two threads of one interpreter share its lock, so a page beside a cycle would slow it down.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from monitor.app.wiring import App, opened_to_read
from monitor.core.clock import Clock
from monitor.core.errors import MonitorError, StoreError
from monitor.daemon.log import LogFormat, configure
from monitor.specs.model import ModelSpec
from monitor.specs.settings import Settings
from monitor.web.answers import Answer, away

_NICE = 10  # where cores are short, cycles and scrapes come first


@dataclass(slots=True)
class PagesApart:
    """Pages of an application's run, as `monitor view` shows them, one at a time."""

    app: App
    clock: Clock  # tells the time by which a model is stale
    _asked: Connection | None = None
    _of: Settings | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, query: str, known: str) -> Answer:
        """Answer an address as it was sent; `known`: the ETag that the client has, or empty.

        The process begins with the first page; another one where it has ended, or by another configuration.
        """
        with self._lock:
            try:
                if self._asked is None or self._of is not self.app.settings:
                    self._begin()
                assert self._asked is not None
                self._asked.send((path, query, known, self.clock()))
                found: Answer | Exception = self._asked.recv()
            except (EOFError, OSError):
                self._asked = None
                return away(StoreError("the process of pages has ended: the next page starts another"))
        if isinstance(found, Exception):
            raise found
        return found

    def _begin(self) -> None:
        if self._asked is not None:
            self._asked.close()  # the process before reads its end, and ends
        spawning = multiprocessing.get_context("spawn")
        self._asked, others = spawning.Pipe()
        self._of = self.app.settings
        given = self._of, self.app.base, self.app.store.run, others, gc.get_threshold()
        spawning.Process(target=_serve, args=given, name="pages", daemon=True).start()
        others.close()  # so that its end is seen here


@dataclass(frozen=True, slots=True)
class _Around:
    """What surrounds pages that need no store."""

    run: str
    moment: int
    models: Sequence[ModelSpec]
    probes: bool = True

    def now(self) -> int:
        return self.moment

    def specs(self) -> Sequence[ModelSpec]:
        return self.models


def _serve(
    settings: Settings, base: Path, run: str, asked: Connection, thresholds: tuple[int, int, int]
) -> None:
    """Answer until the daemon has ended, or has closed its side; garbage is looked for as seldom as there."""
    from monitor.app.pages.keeping import KeptPages  # the daemon itself makes no page
    from monitor.app.pages.reading import StoreData
    from monitor.pages.routes import is_of_program, of_program

    os.nice(_NICE)
    gc.set_threshold(*thresholds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the daemon's
    configure(LogFormat(settings.log.format), settings.log.level)
    now = 0

    def clock() -> int:
        return now

    pages: KeptPages | None = None
    with ExitStack() as stack, suppress(EOFError, OSError):
        while True:
            path, query, known, now = asked.recv()
            found: Answer | Exception
            try:
                if is_of_program(path):
                    found = of_program(_Around(run, now, settings.models), path)
                else:
                    if pages is None:  # where there is no store, the next page looks again
                        app = stack.enter_context(opened_to_read(settings, base, run))
                        pages = KeptPages(StoreData(app, clock))
                    found = pages.answer(path, query, known)
            except MonitorError as error:
                found = away(error)
            except Exception as error:  # noqa: BLE001 -- whatever it is, the page that was asked for fails by it
                found = error
            asked.send(found)
            if not gc.get_freeze_count():  # what the first page loads stays: a look at it took 95 ms
                gc.collect()
                gc.freeze()
