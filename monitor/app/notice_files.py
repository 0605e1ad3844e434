"""What goes with a notice as it is sent: the picture of an incident's evidence, words and file of a report.

They are made of the store then, by the process of the pages, and are kept nowhere.
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from urllib.parse import urlencode

import structlog

from monitor.alerts.alert_links import incident_page_path, page_address
from monitor.alerts.alert_messages import PAGE
from monitor.alerts.report_notices import REPORT
from monitor.core.errors import NotificationError, error_line
from monitor.specs.protocols import Channel
from monitor.specs.stored_rows import AttachedFile, WaitingNotice
from monitor.web.answers import PageAnswer, PageSource

_LONGEST = 60.0  # seconds for a picture or a report: the notice goes without, or waits
_LONGEST_NAME = 80
_SILENT = "the process of pages does not answer"


@dataclass(slots=True)
class NoticeFiles:
    """Makes pictures and reports, one at a time."""

    pages: PageSource
    _asking: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _said: set[str] = field(default_factory=set)

    def prepare_notice(self, notice: WaitingNotice, channel: Channel) -> WaitingNotice:
        """The notice with what goes with it in this channel.

        Raises
        ------
        NotificationError
            if a report cannot be made; without its picture an incident is told all the same.
        """
        if notice.kind == REPORT:
            return self._with_report(notice, shows_files=channel.shows_files)
        if not channel.shows_files or find_spec("resvg_py") is None:
            return notice
        answer = self._ask_page(
            page_address(incident_page_path(notice.model, notice.incident), {}) + ".png", {}
        )
        if isinstance(answer, str):
            if answer not in self._said:
                self._said.add(answer)
                log = structlog.stdlib.get_logger("monitor.daemon")
                log.info("a notice goes without its picture", model=notice.model, reason=answer)
            return notice
        picture = AttachedFile(_file_name(notice.model, notice.incident, "png"), "image/png", answer.body)
        return replace(notice, files=(picture,))

    def _with_report(self, notice: WaitingNotice, *, shows_files: bool) -> WaitingNotice:
        period, said = str(notice.payload["period"]), notice.payload
        path, asked = page_address(("models", notice.model, REPORT), {}), {"period": period}
        words = self._ask_page(f"{path}.txt", asked)
        if isinstance(words, str):
            raise NotificationError(f"the report cannot be made: {words}")
        spoken, *lines = words.body.decode().split("\n")
        text = "\n".join((*lines, "", f"{PAGE}{said['page']}"))
        payload = {**said, "title": f"Report · {notice.model} · {spoken}", "text": text}
        if not shows_files:
            return replace(notice, payload=payload)
        whole = self._ask_page(path, asked)
        if isinstance(whole, str):
            raise NotificationError(f"the report cannot be made: {whole}")
        file = AttachedFile(_file_name(REPORT, notice.model, period, "html"), "text/html", whole.body)
        return replace(notice, payload=payload, files=(file,))

    def _ask_page(self, path: str, query: Mapping[str, str]) -> PageAnswer | str:
        """A page, or why there is none. Where one hangs, no channel hangs with it."""
        if not self._lock.acquire(timeout=_LONGEST):
            return _SILENT
        try:
            return self._ask_in_time(path, query)
        finally:
            self._lock.release()

    def _ask_in_time(self, path: str, query: Mapping[str, str]) -> PageAnswer | str:
        if self._asking is not None and self._asking.is_alive():  # it was given up, and hangs still
            return _SILENT
        found: list[PageAnswer] = []

        def ask() -> None:
            try:
                found.append(self.pages.answer_page(path, urlencode(query), ""))
            except Exception as error:  # noqa: BLE001 -- whatever a page does, the notice goes without it
                found.append(PageAnswer(error_line(error).encode(), status=500))

        self._asking = threading.Thread(target=ask, name="notice files", daemon=True)
        self._asking.start()
        self._asking.join(_LONGEST)
        if not found:
            return _SILENT
        (answer,) = found
        return answer if answer.status == 200 else answer.body.decode(errors="replace").strip()


def _file_name(*parts: str) -> str:
    """A name of plain signs; the last part is its ending.

    >>> _file_name("report", "a/b", "2013-12", "html")
    'report-a-b-2013-12.html'
    """
    *words, ending = parts
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', '-'.join(words))[:_LONGEST_NAME]}.{ending}"
