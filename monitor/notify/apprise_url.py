"""Whatever Apprise knows: chats, e-mail, pagers, text messages."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monitor.core.errors import NotificationError
from monitor.core.version import install_command
from monitor.notify.escaping import escape_notice, is_mail
from monitor.specs.protocols import NoteMessage, no_message
from monitor.specs.stored_rows import AttachedFile, WaitingNotice
from monitor.specs.urls import without_channel

MISSING = f"needs Apprise: {install_command('notify')}"
_LOG = "apprise"
_SAID: ContextVar[list[str] | None] = ContextVar("said", default=None)  # Apprise may send in another thread


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

    @property
    def shows_files(self) -> bool:
        """Whether it is a mail: other services take files by messages of their own, which may fail alone."""
        return is_mail(self.url)

    def send_notice(self, notice: WaitingNotice, note_message: NoteMessage = no_message) -> None:
        """Send a notice.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        del note_message  # Apprise tells of no message that could be edited
        apprise = _import_apprise()
        sender = apprise.Apprise()
        sender.add(self._service)
        title, text = escape_notice(self.url, notice)
        with _collect_warnings() as warned, _written_files(notice.files if self.shows_files else ()) as files:
            try:
                taken = sender.notify(
                    body=f"{text}\n\n(notice {notice.key})",
                    title=title,
                    notify_type=_notice_type(notice),
                    body_format="text",
                    attach=files or None,
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


@contextmanager
def _written_files(files: Sequence[AttachedFile]) -> Iterator[list[str]]:
    """Files on disk, for as long as they are sent: mails of older Apprise take no others."""
    with ExitStack() as stack:
        paths: list[str] = []
        with suppress(OSError):  # where nothing can be written, the text goes alone
            directory = Path(stack.enter_context(TemporaryDirectory(prefix="monitor-")))
            for file in files:
                (directory / file.name).write_bytes(file.content)
                paths.append(str(directory / file.name))
        yield paths


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
