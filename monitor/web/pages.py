"""Pages over HTTP: rendered in threads of their own, so that neither a cycle nor a scrape waits for them."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from monitor.web.answers import Answer, Pages, accepts_gzip

_AT_ONCE, _WAITING = 2, 8  # pages that are rendered, and that wait
_SMALL = 1_000  # bytes that are not worth packing


def pages_at(pages: Pages, hosts: frozenset[str] | None) -> Callable[[Request], Awaitable[Response]]:
    """Endpoint of all pages.

    Parameters
    ----------
    hosts
        by which they may be asked for, without a port; None: any. Others are answered 421.
    """
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pages")
    asked: set[object] = set()

    async def show(request: Request) -> Response:
        if hosts is not None and _host(request.headers.get("host", "")) not in hosts:
            return PlainTextResponse("pages are not shown under this host: see http.url\n", status_code=421)
        if len(asked) >= _AT_ONCE + _WAITING:
            again = {"Retry-After": "1"}
            return PlainTextResponse("too many pages are asked for at once\n", status_code=503, headers=again)
        mine = object()
        asked.add(mine)
        try:
            found = await asyncio.get_running_loop().run_in_executor(pool, _answer, pages, request)
        finally:
            asked.discard(mine)
        headers = dict(found.headers) | {"Content-Type": found.content_type}
        return Response(found.body, found.status, headers=headers)

    return show


def _answer(pages: Pages, request: Request) -> Answer:
    """The answer, packed for those who take it."""
    found = _found(pages, request)
    if len(found.body) < _SMALL or not accepts_gzip(request.headers.get("accept-encoding", "")):
        return found
    packed = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return replace(found, body=gzip.compress(found.body, 6, mtime=0), headers=dict(found.headers) | packed)


def _found(pages: Pages, request: Request) -> Answer:
    path = request.scope.get("raw_path", request.scope["path"].encode()).decode("latin-1")
    query = request.scope["query_string"].decode("latin-1")
    return pages.answer(path, query, request.headers.get("if-none-match", ""))


def _host(header: str) -> str:
    """Host of a Host header, without its port.

    >>> _host("localhost:9839"), _host("[::1]:80"), _host("LOCALHOST")
    ('localhost', '[::1]', 'localhost')
    """
    host = header.strip().lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
