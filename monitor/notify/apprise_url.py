"""Whatever Apprise knows: chats, e-mail, pagers, text messages."""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from monitor.alerts.alert_messages import PAGE
from monitor.core.errors import NotificationError
from monitor.core.text import readable_lines, readable_text
from monitor.core.version import install_command
from monitor.specs.stored_rows import WaitingNotice
from monitor.specs.urls import without_channel

Markup = Callable[[str], str]

_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_LINK = re.compile(r"\](?=[(\[])")
_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # within a word, as in roc_auc, it means nothing
_SIGNS = str.maketrans("@<>`*~|#", "＠＜＞｀＊～｜＃")  # noqa: RUF001 -- that is what they are for
_WIDE = {":": "：", ".": "．"}  # noqa: RUF001
_RUNBOOK = "Runbook: "

_MAILS = (
    *("mailto", "mailtos", "mailgun", "sendgrid", "ses", "sparkpost", "smtp2go", "postmark", "resend"),
    *("brevo", "azure", "o365", "mailersend", "groundmail", "sendpulse"),
)
_PROGRAMS = ("json", "jsons", "xml", "xmls", "form", "forms")
MISSING = f"needs Apprise: {install_command('notify')}"
_LOG = "apprise"
_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)  # Apprise may send in another thread


def unescaped_text(text: str) -> str:
    """Text for a program, which reads it as data."""
    return text


def mail_text(text: str) -> str:
    """Text for a mail: no address in it becomes a link. Apprise escapes it where it sends HTML."""
    return _ADDRESS.sub(lambda address: re.sub("[:.]", lambda sign: _WIDE[sign[0]], address[0]), text)


def chat_text(text: str) -> str:
    """Text for a chat, a pager or whatever else: it names nobody, links to nothing, hides nothing.

    >>> chat_text("@all [a](http://b) <!channel> roc_auc")
    '＠all [a］(http：//b) ＜!channel＞ roc_auc'
    """  # noqa: RUF002
    return _EMPHASIS.sub("＿", _LINK.sub("］", mail_text(text).translate(_SIGNS)))  # noqa: RUF001


_BY_SCHEME: Mapping[str, Markup] = dict.fromkeys(_MAILS, mail_text) | dict.fromkeys(_PROGRAMS, unescaped_text)


def escape_for_channel(url: str, title: str, text: str, links: Collection[str] = ()) -> tuple[str, str]:
    """Title and text as the channel of a URL may be sent them.

    Parameters
    ----------
    links
        lines that stay links: what they lead to is what the configuration gives.
    """
    markup = _BY_SCHEME.get(url.partition("://")[0].lower(), chat_text)
    lines = (line if line in links else markup(line) for line in readable_lines(text).split("\n"))
    return markup(readable_text(title)), "\n".join(lines)


@dataclass(frozen=True, slots=True)
class AppriseUrl:
    """Sends notices as text to one Apprise URL."""

    url: str = field(repr=False)
    _service: Any = field(repr=False)

    @classmethod
    def from_url(cls, url: str) -> "AppriseUrl":
        """Channel of a URL.

        Raises
        ------
        NotificationError
            if Apprise is not installed, or does not understand the URL; it is not told.
        """
        apprise = _import_apprise()
        asset = apprise.AppriseAsset(app_id="monitor", app_desc="monitor", app_url="", storage_mode="memory")
        with _collect_warnings():
            try:
                service = apprise.Apprise.instantiate(url, asset=asset, suppress_exceptions=True)
            except Exception:  # noqa: BLE001 -- whatever a plug-in makes of it, its text may quote the URL
                service = None
        if service is None:
            raise NotificationError(
                f'Apprise does not understand this URL of "{url.partition("://")[0]}://": '
                "see https://appriseit.com/services/"
            )
        return cls(url, service)

    @property
    def receiver_identity(self) -> str:
        """What two channels of the same receiver have in common."""
        return str(self._service.url(privacy=False))

    def send_notice(self, notice: WaitingNotice) -> None:
        """Send a notice.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        apprise = _import_apprise()
        sender = apprise.Apprise()
        sender.add(self._service)
        said = notice.payload
        runbook = readable_text(said.get("annotations", {}).get("runbook_url", ""))
        links = (f"{_RUNBOOK}{runbook}", f"{PAGE}{said.get('page', '')}")
        title, text = escape_for_channel(self.url, said["title"], said["text"], links)
        with _collect_warnings() as warned:
            try:
                taken = sender.notify(
                    body=f"{text}\n\n(notice {notice.key})",
                    title=title,
                    notify_type=_notice_type(notice),
                    body_format="text",
                )
            except Exception as error:  # noqa: BLE001 -- a plug-in's text may quote the URL
                raise NotificationError(f"Apprise failed: {type(error).__name__}") from None
        if not taken:
            reason = warned[-1] if warned else "Apprise did not send it"
            raise NotificationError(without_channel(reason, self.url)[:200])


def apprise_service_name(url: str) -> str | None:
    """Name of the service that Apprise knows an https URL as; None: of none, or Apprise is not installed."""
    try:
        channel = AppriseUrl.from_url(url)
    except NotificationError:
        return None
    return str(channel._service.service_name)  # noqa: SLF001 -- of this class


def _import_apprise() -> Any:
    try:
        import apprise
    except ImportError:
        raise NotificationError(MISSING) from None
    return apprise


def _notice_type(notice: WaitingNotice) -> str:
    if notice.kind == "resolved":
        ended = {alert["ended"] for alert in notice.payload["alerts"]}
        return "success" if ended <= {"cleared", "revised"} else "info"
    return {"critical": "failure", "warning": "warning"}.get(str(notice.payload["severity"]), "info")


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """What Apprise warns of in here. It goes to no log: it may hold parts of a URL."""
    log = logging.getLogger(_LOG)
    log.propagate = False
    lines: list[str] = []
    handler, token = _WarningCollector(lines), _SAID.set(lines)
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        _SAID.reset(token)


class _WarningCollector(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = lines

    def emit(self, record: logging.LogRecord) -> None:
        if _SAID.get() is self._said:
            self._said.append(record.getMessage())
