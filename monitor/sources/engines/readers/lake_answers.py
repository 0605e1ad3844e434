"""What a place of files answers, in words: what Arrow says of a bucket, a key, a file; or that none comes."""

import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from contextlib import suppress
from dataclasses import dataclass, field

from monitor.core.errors import DatabaseTrouble, SourceError, SourceUnavailable
from monitor.core.secrets import hide_secrets
from monitor.specs.deadlines import CONNECTED

_FRESH = 60.0  # seconds for which a place that answered is taken to be there
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_REQUEST = re.compile(
    r"\s*\((?:Request ID|HTTP status)[^)]*\)|error_info=.*|\s*Details:.*"
    r"| during \w+ operation|curlCode: \d+, "
)
# What the services and their libraries say, and what it means. The first that is found is taken.
_AWAY = re.compile(
    r"NETWORK_CONNECTION|not connect|not resolve|CURL error|DEADLINE_EXCEEDED|UNAVAILABLE|timed? ?out"
    r"|Connection (?:refused|reset)|Fail to get a new connection",
    re.IGNORECASE,
)
_ASKED_MACHINE = re.compile(r"169\.254\.169\.254|metadata\.google")  # for credentials, as a last resort
_COLOUR = re.compile(r"\x1b\[\d*m")
_NO_CREDENTIALS = (
    "no valid credentials were found, neither behind ? in the URL nor where the place's own tools look"
)
_REFUSALS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE),
        "there is no such bucket or container",
    ),
    (
        re.compile(r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId"),
        "the access key is not known there: look at access_key, or at AWS_ACCESS_KEY_ID",
    ),
    (
        re.compile(r"SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch"),
        "the secret key is not that of the access key: look at secret_key, or at AWS_SECRET_ACCESS_KEY",
    ),
    (
        re.compile(r"InvalidToken|ExpiredToken|EXPIRED_TOKEN|INVALID_CLIENT_TOKEN|TokenRefreshRequired"),
        "the session token is not valid, or has expired",
    ),
    (
        re.compile(r"AuthenticationFailed|AuthorizationFailure|account key", re.IGNORECASE),
        "the account key is refused: look at account and account_key",
    ),
    (
        re.compile(
            r"credential|UNAUTHENTICATED|oauth|metadata\.google|HTTP status 401|\[401\]", re.IGNORECASE
        ),
        _NO_CREDENTIALS,
    ),
    (
        re.compile(r"ACCESS_DENIED|AccessDenied|PERMISSION_DENIED|HTTP status 403|\[403\]", re.IGNORECASE),
        "access is denied: without credentials, or by ones without the rights to list and to get",
    ),
)
_GONE = re.compile("No such file|NoSuchKey|NO_SUCH_KEY|BlobNotFound|Path does not exist", re.IGNORECASE)


def place_error(shown: str, reason: str, endpoint: str = "") -> SourceError:
    """What an error of a file system says.

    Parameters
    ----------
    shown
        the place, without options.
    endpoint
        where its service is asked; empty: where its scheme says.
    """
    if _GONE.search(reason) and "BUCKET" not in reason.upper():
        # A writer that compacts takes files away that were listed a moment ago.
        return SourceUnavailable(f"{shown}: a file went away: {reason}", DatabaseTrouble.CONFLICT)
    said = _short_reason(reason)
    if _ASKED_MACHINE.search(reason):
        return SourceUnavailable(f"{shown}: {_NO_CREDENTIALS}")
    if _AWAY.search(reason):
        asked = f" at {endpoint}" if endpoint else ""
        return SourceUnavailable(f"{shown} does not answer{asked}: {said}")
    for pattern, meaning in _REFUSALS:
        if pattern.search(reason):
            return SourceUnavailable(f"{shown}: {meaning} ({said})")
    return SourceUnavailable(f"{shown} does not answer: {said}")


def _short_reason(reason: str) -> str:
    """What a service says, without names, numbers of requests and what its library adds."""
    reason = _COLOUR.sub("", reason)
    said = reason.partition("AWS Error ")[2] or reason.partition("last message of ")[2] or reason
    said = _REQUEST.sub("", said)
    return " ".join(_QUOTED.sub("***", hide_secrets(said)).split()).rstrip(" .:;{(")[:200]


@dataclass(slots=True)
class PlaceProbe:
    """Whether a place answers, asked at most once a minute: libraries of stores try again for minutes.

    Parameters
    ----------
    ask
        asks it something small. A thread of its own waits for the answer; one at a time.
    limit
        seconds to wait.
    """

    shown: str
    ask: Callable[[], object] = field(repr=False)
    endpoint: str = ""
    limit: float = CONNECTED
    _answered: float | None = None
    _asking: Future[None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def require_answer(self) -> None:
        """Return once the place has answered, whatever it said.

        Raises
        ------
        SourceUnavailable
            if nothing came in time, or it cannot be connected to.
        """
        with self._lock:
            if self._answered is not None and time.monotonic() - self._answered < _FRESH:
                return
            if self._asking is None or self._asking.done():
                self._asking = Future()
                threading.Thread(target=self._wait, args=(self._asking,), daemon=True).start()
            asking = self._asking
        try:
            asking.result(self.limit)
        except NoAnswer:
            asked = f" at {self.endpoint}" if self.endpoint else ""
            raise SourceUnavailable(
                f"{self.shown} does not answer{asked}: nothing came for {self.limit:g} seconds"
            ) from None
        except OSError as error:
            if _AWAY.search(str(error)):
                raise place_error(self.shown, str(error), self.endpoint) from None
        with self._lock:
            self._answered = time.monotonic()

    def _wait(self, asking: "Future[None]") -> None:
        try:
            self.ask()
        except OSError as error:
            asking.set_exception(error)
        except Exception:  # noqa: BLE001 -- whoever reads next is told
            with suppress(RuntimeError):
                asking.set_result(None)
        else:
            asking.set_result(None)
