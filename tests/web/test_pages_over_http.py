"""Pages over HTTP: by which hosts, with which headers, and never more at once than two."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx
import pytest
from pages import Page

from monitor.specs.settings import HttpSpec
from monitor.web.answers import FormVisit, PageAnswer
from monitor.web.guard import allowed_page_hosts, serves_pages
from monitor.web.server import ThreadedServer, make_app

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass
class Fixed:
    """Answers what it was asked; waits while it is held."""

    held: threading.Event = field(default_factory=threading.Event)
    asked: int = 0
    at_once: int = 0
    most: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer_page(self, path: str, query: str, known: str, _visit: FormVisit | None = None) -> PageAnswer:
        with self._lock:
            self.asked += 1
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        self.held.wait(20)
        with self._lock:
            self.at_once -= 1
        text = f"{path} {query} {known} " + "x" * (2_000 if "long" in path else 0)
        kind = "text/css" if path.startswith("/static") else "text/html; charset=utf-8"
        return PageAnswer(text.encode(), kind, headers={"Cache-Control": "private, no-cache", "ETag": '"1"'})


@contextlib.contextmanager
def served(
    hosts: frozenset[str] | None = None, *, held: bool = False
) -> Iterator[tuple[httpx.Client, Fixed]]:
    fixed = Fixed()
    if not held:
        fixed.held.set()
    app = make_app(Page(), healthy=lambda: None, ready=lambda: None, pages=fixed, hosts=hosts)
    server = ThreadedServer(app, port=0)
    server.start_serving()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=20, trust_env=False) as client:
            yield client, fixed
    finally:
        fixed.held.set()
        server.stop_serving()


def test_pages_are_asked_for_as_they_were_sent_and_bear_their_policy() -> None:
    with served() as (client, _):
        page = client.get("/models/a%2Fb?x=%C3%A4", headers={"If-None-Match": '"0"'})
        style, metrics = client.get("/static/1/pages.css"), client.get("/metrics")

    assert page.text.strip() == '/models/a%2Fb x=%C3%A4 "0"'
    assert page.headers["content-security-policy"] == POLICY
    assert page.headers["cache-control"] == "private, no-cache"
    assert (page.headers["x-frame-options"], page.headers["referrer-policy"]) == ("DENY", "no-referrer")
    assert style.headers["content-security-policy"].startswith("default-src 'none'; form-action 'none'")
    assert (metrics.status_code, metrics.headers["cache-control"]) == (200, "no-store")


def test_a_long_page_is_packed_for_those_who_take_it() -> None:
    with served() as (client, _):
        packed = client.get("/long", headers={"Accept-Encoding": "gzip"})
        plain = client.get("/long", headers={"Accept-Encoding": "identity"})

    assert (packed.headers["content-encoding"], packed.text) == ("gzip", plain.text)
    assert "content-encoding" not in plain.headers


def test_nothing_but_reading_is_allowed() -> None:
    with served() as (client, _):
        answers = {
            method: client.request(method, "/models/late") for method in ("POST", "PUT", "DELETE", "HEAD")
        }

    assert {method: one.status_code for method, one in answers.items()} == {
        "POST": 405, "PUT": 405, "DELETE": 405, "HEAD": 200,
    }  # fmt: skip
    assert answers["HEAD"].content == b""


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:9839", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:9839", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:9839", 421),
        ("", 421),
    ],
)
def test_a_page_is_shown_under_its_own_hosts_alone(host: str, status: int) -> None:
    with served(allowed_page_hosts(HttpSpec())) as (client, _):
        page, metrics = (client.get(path, headers={"Host": host}) for path in ("/", "/metrics"))

    assert (page.status_code, metrics.status_code) == (status, 200)


@pytest.mark.parametrize(
    ("http", "shown", "hosts"),
    [
        (HttpSpec(), True, {"localhost", "127.0.0.1", "[::1]"}),
        (
            HttpSpec(url="https://monitor.example/x"),
            True,
            {"localhost", "127.0.0.1", "[::1]", "monitor.example"},
        ),
        (HttpSpec(url="http://[FD00::1]:81"), True, {"localhost", "127.0.0.1", "[::1]", "[fd00::1]"}),
        (HttpSpec(pages=False), False, {"localhost", "127.0.0.1", "[::1]"}),
        (HttpSpec(host="192.0.2.1"), False, None),
        (HttpSpec(host="192.0.2.1", secret_file="s"), True, None),  # noqa: S106 -- a file's name
        (HttpSpec(secret_file="s"), True, None),  # noqa: S106
        (HttpSpec(host="192.0.2.1", pages=True), True, None),
    ],
)
def test_pages_are_shown_where_strangers_do_not_reach_them_unless_it_is_said(
    http: HttpSpec, shown: object, hosts: set[str] | None
) -> None:
    assert (serves_pages(http), allowed_page_hosts(http)) == (shown, hosts)


def refused(client: httpx.Client, path: str) -> bool:
    """Whether a page is refused at once; one that waits in the place of another is not."""
    try:
        return client.get(path, timeout=1).status_code == 503
    except httpx.ReadTimeout:
        return False


def test_two_pages_are_made_at_once_eight_wait_and_scrapes_do_not() -> None:
    with served(held=True) as (client, fixed), ThreadPoolExecutor(11) as asking:
        asked = [asking.submit(client.get, f"/{at}") for at in range(10)]
        until = time.monotonic() + 20
        while fixed.at_once < 2 or not refused(client, f"/more/{time.monotonic()}"):
            assert time.monotonic() < until
        too_many, scrape = client.get("/more"), client.get("/metrics")
        fixed.held.set()
        done = [one.result().status_code for one in asked]

    assert (too_many.status_code, too_many.headers["retry-after"]) == (503, "1")
    assert (scrape.status_code, fixed.most) == (200, 2)
    assert done.count(200) >= 9


def test_those_who_ask_for_the_same_page_at_once_are_given_one_answer() -> None:
    with served(held=True) as (client, fixed), ThreadPoolExecutor(31) as asking:
        asked = [asking.submit(client.get, "/same") for _ in range(30)]
        until = time.monotonic() + 20
        while fixed.at_once < 1:
            assert time.monotonic() < until
        other = asking.submit(client.get, "/other")
        fixed.held.set()
        done = [one.result() for one in (*asked, other)]

    assert {answer.status_code for answer in done} == {200}
    assert {answer.text for answer in done[:-1]} == {"/same   "}
    assert fixed.asked < 31
