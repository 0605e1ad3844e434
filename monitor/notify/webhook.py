"""A webhook: the notice as JSON, posted."""

import base64
import re
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from monitor.core.errors import NotificationError
from monitor.notify.http_calls import call_receiver, json_body, send_error
from monitor.specs.protocols import NoteMessage, no_message
from monitor.specs.stored_rows import WaitingNotice

SCHEMES = ("http", "https")


@dataclass(frozen=True, slots=True)
class Webhook:
    """Posts notices to a URL; user and password in it are sent as basic authentication.

    Any status from 200 to 299 says that the notice was taken.
    """

    url: str = field(repr=False)
    shows_files: ClassVar[bool] = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = bool(parts.hostname) and parts.port != 0
        except ValueError:  # its message quotes the URL
            usable = False
        if not usable or re.search(r"[\s\x00-\x1f\x7f]", self.url):
            raise NotificationError('an address is like "https://host:port/path"')

    @property
    def receiver_identity(self) -> str:
        """What two channels of the same receiver have in common."""
        parts = urlsplit(self.url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        return f"{parts.scheme}://{parts.hostname}:{port}{parts.path or '/'}?{parts.query}"

    def send_notice(self, notice: WaitingNotice, note_message: NoteMessage = no_message) -> None:
        """Post a notice; its key stands in the body and in the header Idempotency-Key.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        del note_message  # what was posted cannot be edited
        answer = call_receiver(
            self._address_without_credentials(),
            json_body({"key": notice.key, "channel": notice.channel, **notice.payload}),
            self.url,
            headers=self._request_headers(notice),
        )
        if not answer.is_taken:
            raise send_error(f"the receiver answered {answer.status} {answer.reason}", self.url)

    def _address_without_credentials(self) -> str:
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()

    def _request_headers(self, notice: WaitingNotice) -> dict[str, str]:
        parts = urlsplit(self.url)
        headers = {"Idempotency-Key": notice.key}
        if parts.username is not None:
            account = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(account).decode()}"
        return headers
