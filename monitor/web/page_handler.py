"""Pages over HTTP: threads of their own wait for them, so that no scrape does."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from monitor.web.answers import FormVisit, PageAnswer, PageSource, accepts_gzip
from monitor.web.decision_form import DecisionForm

_AT_ONCE, _WAITING = 2, 8  # pages that are made or packed, and that wait
_SMALL = 1_000  # bytes that are not worth packing


def make_pages_endpoint(
    pages: PageSource, hosts: frozenset[str] | None, form: DecisionForm | None = None
) -> Callable[[Request], Awaitable[Response]]:
    """Endpoint of all pages.

    Parameters
    ----------
    hosts
        by which they may be asked for, without a port; None: any. Others are answered 421.
    form
        by which people decide on incidents; None: nobody may.
    """
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pages")
    making: dict[_PageQuestion, asyncio.Future[PageAnswer]] = {}

    async def show(request: Request) -> Response:
        if hosts is not None and _host_name(request.headers.get("host", "")) not in hosts:
            return PlainTextResponse("pages are not shown under this host: see http.url\n", status_code=421)
        if form is not None and request.method == "POST":
            return await form.answer_post(request, pages)
        question = _PageQuestion.from_request(request, form)
        answer = making.get(question)
        if answer is None and len(making) >= _AT_ONCE + _WAITING:
            again = {"Retry-After": "1"}
            return PlainTextResponse("too many pages are asked for at once\n", status_code=503, headers=again)
        if answer is None:
            answer = asyncio.get_running_loop().run_in_executor(pool, _compressed_answer, pages, question)
            making[question] = answer
            answer.add_done_callback(lambda _: making.pop(question))
        page_answer = await asyncio.shield(answer)  # others may wait for it too
        headers = dict(page_answer.headers) | {"Content-Type": page_answer.content_type}
        return Response(page_answer.body, page_answer.status, headers=headers)

    return show


@dataclass(frozen=True, slots=True)
class _PageQuestion:
    """What a client asks for: those who ask the same at once are given one answer."""

    # path, query: as they were sent.
    path: str
    query: str
    known: str  # ETag that the client has, or empty
    packed: bool  # whether it takes gzip
    visit: FormVisit | None  # of a page with a form, who asks

    @classmethod
    def from_request(cls, request: Request, form: DecisionForm | None) -> "_PageQuestion":
        path = request.scope.get("raw_path", request.scope["path"].encode())
        return cls(
            path=path.decode("latin-1"),
            query=request.scope["query_string"].decode("latin-1"),
            known=request.headers.get("if-none-match", ""),
            packed=accepts_gzip(request.headers.get("accept-encoding", "")),
            visit=None if form is None else form.find_visit(request),
        )


def _compressed_answer(pages: PageSource, question: _PageQuestion) -> PageAnswer:
    """The answer, packed for those who take it."""
    answer = pages.answer_page(question.path, question.query, question.known, question.visit)
    if len(answer.body) < _SMALL or not question.packed:
        return answer
    packed = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return replace(answer, body=gzip.compress(answer.body, 6, mtime=0), headers=dict(answer.headers) | packed)


def _host_name(header: str) -> str:
    """Host of a Host header, without its port.

    >>> _host_name("localhost:9839"), _host_name("[::1]:80"), _host_name("LOCALHOST")
    ('localhost', '[::1]', 'localhost')
    """
    host = header.strip().lower()
    return host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
