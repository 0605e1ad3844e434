"""Pages that were made already: kept until the store moves on."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from monitor.app.pages.store_data import StoreData
from monitor.core.clock import MINUTE
from monitor.core.errors import MonitorError
from monitor.core.text import content_hash
from monitor.core.version import VERSION
from monitor.pages.routes import answer_page, answer_program_file, needs_no_store
from monitor.web.answers import FormVisit, PageAnswer, store_unavailable_answer

_MOST = 64


@dataclass(slots=True)
class KeptPages:
    """Pages of a store: one is made anew once a cycle, a decision or a minute has passed."""

    data: StoreData
    _kept: OrderedDict[str, PageAnswer] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer_page(self, path: str, query: str, known: str, visit: FormVisit | None = None) -> PageAnswer:
        """Answer an address as it was sent; `known`: the ETag that the client has, or empty."""
        if needs_no_store(path):
            return answer_program_file(self.data, path)
        try:
            if visit is not None and visit.fault:
                return answer_page(self.data, path, query, visit)
            tag = self._page_tag(path, query, visit)
            with self._lock:
                answer = self._kept.get(tag)
            if answer is None:
                answer = self._make_page(tag, path, query, visit)
        except MonitorError as error:
            return store_unavailable_answer(error)
        if answer.status == 200 and known == tag:
            return PageAnswer(b"", answer.content_type, 304, answer.headers)
        return answer

    def _make_page(self, tag: str, path: str, query: str, visit: FormVisit | None) -> PageAnswer:
        answer = answer_page(self.data, path, query, visit)
        if answer.status != 200:
            return answer
        kept_answer = PageAnswer(answer.body, answer.content_type, headers={**answer.headers, "ETag": tag})
        with self._lock:
            self._kept[tag] = kept_answer
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return kept_answer

    def _page_tag(self, path: str, query: str, visit: FormVisit | None) -> str:
        """Hash of all that a page depends on: two reads by key."""
        app = self.data.app
        moments = sorted((name, as_of) for name, (as_of, *_) in app.store.daemons.read_progress().items())
        state = [
            moments,
            app.store.events.newest_event_number(),
            app.fingerprint,
            self.data.page_moment() // MINUTE,
        ]
        of_visitor = [] if visit is None else [visit.token, visit.user]
        return f'"{content_hash([VERSION, app.store.run, state, path, query, *of_visitor])[:24]}"'
