"""Pages that were made already: kept until the store moves on."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from monitor.app.pages.reading import StoreData
from monitor.core.clock import MINUTE
from monitor.core.errors import MonitorError
from monitor.core.text import content_hash
from monitor.core.version import VERSION
from monitor.pages.routes import answer, is_of_program, of_program
from monitor.web.answers import Answer, away

_MOST = 64


@dataclass(slots=True)
class KeptPages:
    """Pages of a store: one is made anew once a cycle, a decision or a minute has passed."""

    data: StoreData
    _kept: OrderedDict[str, Answer] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, query: str, known: str) -> Answer:
        """Answer an address as it was sent; `known`: the ETag that the client has, or empty."""
        if is_of_program(path):
            return of_program(self.data, path)
        try:
            tag = self._tag(path, query)
            with self._lock:
                kept = self._kept.get(tag)
            if kept is None:
                kept = self._made(tag, path, query)
        except MonitorError as error:
            return away(error)
        if kept.status == 200 and known == tag:
            return Answer(b"", kept.content_type, 304, kept.headers)
        return kept

    def _made(self, tag: str, path: str, query: str) -> Answer:
        made = answer(self.data, path, query)
        if made.status != 200:
            return made
        kept = Answer(made.body, made.content_type, headers={**made.headers, "ETag": tag})
        with self._lock:
            self._kept[tag] = kept
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return kept

    def _tag(self, path: str, query: str) -> str:
        """Hash of all that a page depends on: two reads by key."""
        app = self.data.app
        moments = sorted((name, as_of) for name, (as_of, *_) in app.store.progress().items())
        state = [moments, app.store.newest_event(), app.fingerprint, self.data.now() // MINUTE]
        return f'"{content_hash([VERSION, app.store.run, state, path, query])[:24]}"'
