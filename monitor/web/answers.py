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


class PageSource(Protocol):
    """Pages by their addresses."""

    def answer_page(self, path: str, query: str, known: str) -> PageAnswer:
        """Answer a path and a query as they were sent; `known`: the ETag that the client has, or empty."""
        ...


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header admits gzip.

    >>> accepts_gzip("deflate, gzip;q=0.5"), accepts_gzip("gzip;q=0"), accepts_gzip("")
    (True, False, False)
    """
    liked = header_preferences(accept_encoding)
    return liked.get("gzip", liked.get("*", 0.0)) > 0
