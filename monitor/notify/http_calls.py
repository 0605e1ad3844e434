"""Calls by HTTP that channels make: no redirects, no address in what is said of a failure."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from monitor.core.errors import NotificationError
from monitor.core.text import json_text
from monitor.specs.stored_rows import AttachedFile
from monitor.specs.urls import without_channel

_TIMEOUT = 10.0  # seconds, for each step of an answer
_LONGEST_ANSWER = 1_000_000  # bytes
JSON = "application/json; charset=utf-8"


class RefusedFileError(NotificationError):
    """A message with a file was refused: without it, it may be taken."""


class _NoRedirects(HTTPRedirectHandler):
    """An answer that points elsewhere is a failure: a POST that is redirected becomes a GET."""

    def redirect_request(self, *_arguments: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a receiver answered."""

    status: int
    reason: str
    body: bytes = b""

    @property
    def is_taken(self) -> bool:
        """Whether it took what it was sent: any status from 200 to 299."""
        return 200 <= self.status < 300

    @property
    def said(self) -> Mapping[str, Any]:
        """Its JSON object; empty: it answered none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class HttpBody:
    """What is sent, and what it is."""

    content: bytes
    kind: str


def json_body(said: Mapping[str, Any]) -> HttpBody:
    """A body of JSON."""
    return HttpBody(json_text(said).encode(), JSON)


def form_body(fields: Mapping[str, str], files: Sequence[tuple[str, AttachedFile]]) -> HttpBody:
    """A body of fields and files by name: multipart/form-data, RFC 7578."""
    edge = secrets.token_hex(16)
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n'
        f"Content-Type: text/plain; charset=utf-8\r\n\r\n{text}".encode()
        for name, text in fields.items()
    ]
    parts += [
        f'Content-Disposition: form-data; name="{name}"; filename="{file.name}"\r\n'
        f"Content-Type: {file.kind}\r\n\r\n".encode()
        + file.content
        for name, file in files
    ]
    whole = b"".join(b"--%s\r\n%s\r\n" % (edge.encode(), part) for part in parts)
    return HttpBody(whole + f"--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}")


def call_receiver(
    address: str, body: HttpBody, of: str, *, method: str = "POST", headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """Send something and wait for the answer, whatever its status is.

    `of`: URL of the channel: no part of it is told in an error.

    Raises
    ------
    NotificationError
        if nothing answers, or no HTTP.
    """
    sent = {"Content-Type": body.kind, "User-Agent": "monitor", **(headers or {})}
    try:
        request = Request(address, body.content, sent, method=method)  # noqa: S310 -- http(s) alone
        with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT) as answer:
            return HttpAnswer(answer.status, answer.reason, answer.read(_LONGEST_ANSWER))
    except HTTPError as error:
        with error:
            return HttpAnswer(error.code, str(error.reason), _read_rest(error))
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise send_error(f"the receiver does not answer: {reason}", of) from None
    except (HTTPException, ValueError) as error:
        raise NotificationError(f"the receiver's answer is no HTTP: {type(error).__name__}") from None


def send_error(text: str, of: str) -> NotificationError:
    """The error of a channel's URL, without any part of it."""
    return NotificationError(without_channel(text, of)[:200])


def _read_rest(error: HTTPError) -> bytes:
    try:
        return error.read(_LONGEST_ANSWER)
    except (OSError, HTTPException):
        return b""
