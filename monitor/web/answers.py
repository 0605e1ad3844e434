"""What an address is answered with: bytes that others made, and how they may be kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from monitor.core.errors import MonitorError
from monitor.exposition.metrics_page import header_preferences

PRIVATE = {"Cache-Control": "private, no-cache"}


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """An answer of a page."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    # beside the content type, as ETag and Cache-Control.
    headers: Mapping[str, str] = field(default_factory=dict)


def store_unavailable_answer(error: MonitorError) -> PageAnswer:
    """Page of a store that does not answer."""
    return PageAnswer(
        f"{error}\n".encode(), "text/plain; charset=utf-8", 503, {"Retry-After": "10", **PRIVATE}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FormVisit:
    """Somebody who may decide by a form, and what the last try of it came to."""

    token: str  # which the form sends back
    user: str  # who asks, as far as it is known; empty: it is not
    is_signed_in: bool  # `user` is who decides; else the form asks for a name
    fault: str = ""  # why nothing was decided; empty: nothing was tried
    who: str = ""
    why: str = ""


class PageSource(Protocol):
    """Pages by their addresses."""

    def answer_page(self, path: str, query: str, known: str, visit: FormVisit | None = None) -> PageAnswer:
        """Answer a path and a query as they were sent; `known`: the ETag that the client has, or empty.

        Parameters
        ----------
        visit
            of a page with a form, who may use it; None: nobody.
        """
        ...


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header admits gzip.

    >>> accepts_gzip("deflate, gzip;q=0.5"), accepts_gzip("gzip;q=0"), accepts_gzip("")
    (True, False, False)
    """
    liked = header_preferences(accept_encoding)
    return liked.get("gzip", liked.get("*", 0.0)) > 0
