"""A webhook: the notice as JSON, posted."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from monitor.core.errors import NotificationError
from monitor.core.text import json_text
from monitor.specs.stored_rows import WaitingNotice
from monitor.specs.urls import without_channel

_TIMEOUT = 10.0  # seconds, for each step of an answer
SCHEMES = ("http", "https")


class _NoRedirects(HTTPRedirectHandler):
    """An answer that points elsewhere is a failure: a POST that is redirected becomes a GET."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Webhook:
    """Posts notices to a URL; user and password in it are sent as basic authentication.

    Any status from 200 to 299 says that the notice was taken.
    """

    url: str = field(repr=False)

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

    def send_notice(self, notice: WaitingNotice) -> None:
        """Post a notice; its key stands in the body and in the header Idempotency-Key.

        Raises
        ------
        NotificationError
            if it was not taken.
        """
        body = json_text(body_of(notice)).encode()
        request = Request(  # noqa: S310 -- http(s) alone
            self._address_without_credentials(), body, self._request_headers(notice), method="POST"
        )
        try:
            with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT):
                return
        except HTTPError as error:
            error.close()
            raise self._make_send_error(f"the receiver answered {error.code} {error.reason}") from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise self._make_send_error(f"the receiver does not answer: {reason}") from None
        except (HTTPException, ValueError) as error:
            raise NotificationError(f"the receiver's answer is no HTTP: {type(error).__name__}") from None

    def _make_send_error(self, text: str) -> NotificationError:
        return NotificationError(without_channel(text, self.url)[:200])

    def _address_without_credentials(self) -> str:
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()

    def _request_headers(self, notice: WaitingNotice) -> dict[str, str]:
        parts = urlsplit(self.url)
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Idempotency-Key": notice.key,
            "User-Agent": "monitor",
        }
        if parts.username is not None:
            account = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(account).decode()}"
        return headers


def body_of(notice: WaitingNotice) -> Mapping[str, Any]:
    """JSON body of a notice."""
    return {"key": notice.key, "channel": notice.channel, **notice.payload}
