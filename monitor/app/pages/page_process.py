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

from monitor.app.application import App, open_application_readonly
from monitor.core.clock import Clock
from monitor.core.errors import MonitorError, StoreError
from monitor.daemon.log_setup import LogFormat, configure_logging
from monitor.specs.model_spec import ModelSpec
from monitor.specs.settings import Settings
from monitor.web.answers import FormVisit, PageAnswer, store_unavailable_answer

_NICE = 10  # where cores are short, cycles and scrapes come first


@dataclass(slots=True)
class PageProcess:
    """Pages of an application's run, as `monitor view` shows them, one at a time."""

    app: App
    clock: Clock  # tells the time by which a model is stale
    _asked: Connection | None = None
    _of: Settings | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer_page(self, path: str, query: str, known: str, visit: FormVisit | None = None) -> PageAnswer:
        """Answer an address as it was sent; `known`: the ETag that the client has, or empty.

        The process begins with the first page; another one where it has ended, or by another configuration.
        """
        with self._lock:
            try:
                if self._asked is None or self._of is not self.app.settings:
                    self._begin_process()
                assert self._asked is not None
                self._asked.send((path, query, known, visit, self.clock()))
                found: PageAnswer | Exception = self._asked.recv()
            except (EOFError, OSError):
                self._asked = None
                return store_unavailable_answer(
                    StoreError("the process of pages has ended: the next page starts another")
                )
        if isinstance(found, Exception):
            raise found
        return found

    def _begin_process(self) -> None:
        if self._asked is not None:
            self._asked.close()  # the process before reads its end, and ends
        spawning = multiprocessing.get_context("spawn")
        self._asked, others = spawning.Pipe()
        self._of = self.app.settings
        given = self._of, self.app.base, self.app.store.run, others, gc.get_threshold()
        spawning.Process(target=_serve_pages, args=given, name="pages", daemon=True).start()
        others.close()  # so that its end is seen here


@dataclass(frozen=True, slots=True)
class _PageSurroundings:
    """What surrounds pages that need no store."""

    run: str
    moment: int
    models: Sequence[ModelSpec]
    probes: bool = True

    def page_moment(self) -> int:
        return self.moment

    def list_specs(self) -> Sequence[ModelSpec]:
        return self.models


def _serve_pages(
    settings: Settings, base: Path, run: str, asked: Connection, thresholds: tuple[int, int, int]
) -> None:
    """Answer until the daemon has ended, or has closed its side; garbage is looked for as seldom as there."""
    from monitor.app.pages.page_cache import KeptPages  # the daemon itself makes no page
    from monitor.app.pages.store_data import StoreData
    from monitor.pages.routes import answer_program_file, needs_no_store

    os.nice(_NICE)
    gc.set_threshold(*thresholds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the daemon's
    configure_logging(LogFormat(settings.log.format), settings.log.level)
    now = 0

    def clock() -> int:
        return now

    pages: KeptPages | None = None
    with ExitStack() as stack, suppress(EOFError, OSError):
        while True:
            path, query, known, visit, now = asked.recv()
            found: PageAnswer | Exception
            try:
                if needs_no_store(path):
                    found = answer_program_file(_PageSurroundings(run, now, settings.models), path)
                else:
                    if pages is None:  # where there is no store, the next page looks again
                        app = stack.enter_context(open_application_readonly(settings, base, run))
                        pages = KeptPages(StoreData(app, clock))
                    found = pages.answer_page(path, query, known, visit)
            except MonitorError as error:
                found = store_unavailable_answer(error)
            except Exception as error:  # noqa: BLE001 -- whatever it is, the page that was asked for fails by it
                found = error
            asked.send(found)
            if not gc.get_freeze_count():  # what the first page loads stays: a look at it took 95 ms
                gc.collect()
                gc.freeze()
