"""The one form of the port: who may decide on an incident, and what is checked before anything is kept.

Nothing here knows a store: what is decided is handed on. No cookie is set, so what proves that a form is
ours is a token bound to who asks, to the page and to the hour.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from monitor.core.errors import MonitorError, StoreError
from monitor.core.text import readable_text
from monitor.specs.settings import HttpSpec
from monitor.web.answers import FormVisit, PageAnswer, PageSource, store_unavailable_answer
from monitor.web.client_connections import LARGEST_FORM
from monitor.web.guard import Secrets, basic_user, decided_page, is_of_own_site

DECISIONS = ("acknowledge", "accept", "withdraw")
LONGEST_WHO, LONGEST_WHY = 100, 1_000
"""Characters of a name, of a reason."""
_FIELDS = ("decision", "who", "why", "token")
_HOUR, _HOURS = 3_600, 12  # a token is good for so many hours
_ENCODING = "application/x-www-form-urlencoded"
_MOST = 8  # forms at a time: one is kept, the others wait
_STALE = "This form was too old, or not yours. Nothing was decided. Look at it again, and send it."


@dataclass(frozen=True, slots=True, kw_only=True)
class SentDecision:
    """What somebody decided on an incident."""

    model: str
    incident: str  # its address
    decision: str  # one of `DECISIONS`
    who: str
    why: str


@dataclass(frozen=True, slots=True)
class FormTokens:
    """Tokens of forms: no other site can know one."""

    # The first makes tokens, each of them is good: replicas with one secret take each other's.
    keys: Callable[[], tuple[bytes, ...]]
    clock: Callable[[], float] = time.time  # seconds since 1970

    def make_token(self, user: str, page: str) -> str:
        """Token of who asks for a page; within an hour it is the same."""
        hour = int(self.clock()) // _HOUR
        return f"{hour}.{_token_digest(self.keys()[0], hour, user, page)}"

    def is_good(self, token: str, user: str, page: str) -> bool:
        """Whether it was made for them, in the last hours."""
        number, _, digest = token.partition(".")
        now = int(self.clock()) // _HOUR
        hours = [hour for hour in range(now - _HOURS, now + 2) if str(hour) == number]
        return any(
            hmac.compare_digest(_token_digest(key, hour, user, page), digest)
            for hour in hours
            for key in self.keys()
            if digest.isascii()
        )


@dataclass(slots=True)
class DecisionForm:
    """Who may decide by a form, and how it is answered."""

    http: HttpSpec  # as configured: `user_header`, `url`
    tokens: FormTokens
    decide: Callable[[SentDecision], None]  # keeps a decision; raises MonitorError with why it cannot be
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "decisions"))
    _deciding: int = 0

    def find_visit(self, request: Request) -> FormVisit | None:
        """Who asks for the page of an incident; None: it is another page, or nobody says who asks."""
        scope = dict(request.scope)
        path = scope.get("raw_path", scope["path"].encode())
        page = decided_page({**scope, "raw_path": path + b"/decide"})
        return None if page is None else self._visit(request, page)

    def _visit(self, request: Request, page: str) -> FormVisit | None:
        if self.http.user_header is None:
            user = _plain_text(basic_user(request))[:LONGEST_WHO]
            return FormVisit(token=self.tokens.make_token(user, page), user=user, is_signed_in=False)
        sent = request.headers.getlist(self.http.user_header)
        user = _plain_text(_decoded_header(sent[0])) if len(sent) == 1 else ""
        if not 0 < len(user) <= LONGEST_WHO:
            return None
        return FormVisit(token=self.tokens.make_token(user, page), user=user, is_signed_in=True)

    async def answer_post(self, request: Request, pages: PageSource) -> Response:
        """Keep what was decided, and lead back to the page; or say why not."""
        page = decided_page(request.scope)
        visit = None if page is None else self._visit(request, page)
        if page is None or visit is None:
            return _refusal(403, "who asks is not known: the proxy sent no user")
        if not is_of_own_site(request, self.http.url):
            return _refusal(403, "forms are taken from pages of this address alone: see http.url")
        fields = await _read_fields(request)
        if isinstance(fields, Response):
            return fields
        if self._deciding >= _MOST:
            return _refusal(503, "too many decide at once: send it again")
        self._deciding += 1
        work = asyncio.get_running_loop().run_in_executor(
            self._pool, self._answer_fields, page, visit, fields, pages
        )
        work.add_done_callback(self._note_done)
        answer = await asyncio.shield(work)
        headers = dict(answer.headers) | {"Content-Type": answer.content_type}
        return Response(answer.body, answer.status, headers=headers)

    def _note_done(self, _work: asyncio.Future[PageAnswer]) -> None:
        self._deciding -= 1

    def _answer_fields(
        self, page: str, visit: FormVisit, fields: dict[str, str], pages: PageSource
    ) -> PageAnswer:
        who = visit.user if visit.is_signed_in else _plain_text(fields.get("who", ""))
        why = _plain_text(fields.get("why", ""))
        tried = replace(visit, who=who[:LONGEST_WHO], why=why[:LONGEST_WHY])
        if not self.tokens.is_good(fields.get("token", ""), visit.user, page):
            return _page_again(pages, page, tried, 403, _STALE)
        if fault := _field_fault(fields.get("decision", ""), who, why):
            return _page_again(pages, page, tried, 400, fault)
        _, _, model, _, address = (unquote(part) for part in page.split("/"))
        sent = SentDecision(model=model, incident=address, decision=fields["decision"], who=who, why=why)
        try:
            self.decide(sent)
        except StoreError as error:
            return store_unavailable_answer(error)
        except MonitorError as error:
            return _page_again(pages, page, tried, 409, f"Nothing was decided: {readable_text(str(error))}.")
        return PageAnswer(b"", "text/plain; charset=utf-8", 303, {"Location": f"{page}#decide"})


def make_decision_form(
    http: HttpSpec, accepted: Secrets | None, decide: Callable[[SentDecision], None]
) -> DecisionForm | None:
    """The form as configured; None: nobody may decide by it, for nothing says who they are.

    Parameters
    ----------
    accepted
        secrets that are accepted now.
    """
    if accepted is None and http.user_header is None:
        return None
    own = (secrets.token_bytes(32),)
    return DecisionForm(http, FormTokens(accepted or (lambda: own)), decide)


def _token_digest(key: bytes, hour: int, user: str, page: str) -> str:
    said = "\0".join(("monitor decides", str(hour), user, page))
    return hmac.new(key, said.encode(), hashlib.sha256).hexdigest()


async def _read_fields(request: Request) -> dict[str, str] | Response:
    """Fields of a form, each once; or why it is none."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _ENCODING:
        return _refusal(415, f"a form is sent as {_ENCODING}")
    size = request.headers.get("content-length", "")
    if not (size.isascii() and size.isdigit()):
        return _refusal(411, "a form says how long it is")
    if len(size) > 6 or int(size) > LARGEST_FORM:
        return _refusal(413, f"a form has at most {LARGEST_FORM:,} bytes")
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict",
            max_num_fields=len(_FIELDS),
        )  # fmt: skip
    except ValueError:
        return _refusal(400, "this is no form of the page")
    fields = dict(pairs)
    if len(fields) < len(pairs) or not fields.keys() <= set(_FIELDS):
        return _refusal(400, "this is no form of the page")
    return fields


def _field_fault(decision: str, who: str, why: str) -> str:
    if decision not in DECISIONS:
        return "Say what you decide: acknowledge, accept or withdraw."
    for name, text, most in (("Your name", who, LONGEST_WHO), ("Why", why, LONGEST_WHY)):
        if not text:
            return f"{name} is missing. It is kept with the decision."
        if len(text) > most:
            return f"{name} has at most {most:,} characters, and had {len(text):,}."
    return ""


def _plain_text(text: str) -> str:
    """Text in one line, without what PostgreSQL does not take."""
    return " ".join(text.replace("\0", " ").split())


def _decoded_header(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except ValueError:
        return value


def _page_again(pages: PageSource, page: str, tried: FormVisit, status: int, fault: str) -> PageAnswer:
    """The incident's page, with what was written and why it was not kept."""
    answer = pages.answer_page(page, "", "", replace(tried, fault=fault))
    return replace(answer, status=status) if answer.status == 200 else answer


def _refusal(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status_code=status)
