import contextlib
import gzip
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from monitor.core.errors import ConfigurationError
from monitor.web.server import Server, make_app

PAGE = b"# HELP a A.\n# TYPE a gauge\na 1.0\n"


@dataclass
class Faults:
    """What the checks answer."""

    health: str | None = None
    readiness: str | None = None


@dataclass
class Page:
    """Serves a fixed page."""

    body: bytes = PAGE

    def render(self, accept: str) -> tuple[bytes, str]:
        kind = "application/openmetrics-text" if "openmetrics" in accept else "text/plain"
        return self.body, kind

    def render_gzip(self, accept: str) -> tuple[bytes, str]:
        body, kind = self.render(accept)
        return gzip.compress(body), kind


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Server, Page, Faults]]:
    """One server for all tests: stopping takes a fifth of a second."""
    page, faults = Page(), Faults()
    app = make_app(page, healthy=lambda: faults.health, ready=lambda: faults.readiness)
    started = Server(app, port=0)
    started.start()
    yield started, page, faults
    started.stop()


@pytest.fixture
def server(served: tuple[Server, Page, Faults]) -> Server:
    return served[0]


@pytest.fixture
def page(served: tuple[Server, Page, Faults]) -> Page:
    served[1].body = PAGE
    return served[1]


@pytest.fixture
def faults(served: tuple[Server, Page, Faults]) -> Faults:
    served[2].health = served[2].readiness = None
    return served[2]


@pytest.fixture
def client(server: Server, page: Page, faults: Faults) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=3.0, trust_env=False) as one:
        yield one


def test_metrics_are_served_in_the_format_asked_for(client: httpx.Client) -> None:
    text = client.get("/metrics")
    openmetrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text"})

    assert (text.status_code, text.content, text.headers["content-type"]) == (200, PAGE, "text/plain")
    assert openmetrics.headers["content-type"] == "application/openmetrics-text"


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("gzip", "gzip"),
        ("deflate, gzip;q=0.2", "gzip"),
        ("gzip;q=0", None),
        ("identity", None),
        ("*", "gzip"),
    ],
)
def test_metrics_are_packed_for_those_who_take_it(
    client: httpx.Client, accepted: str, expected: str | None
) -> None:
    answer = client.get("/metrics", headers={"Accept-Encoding": accepted})

    assert answer.headers.get("content-encoding") == expected
    assert answer.content == PAGE


def test_health_is_200_or_503_with_the_reason(client: httpx.Client, faults: Faults) -> None:
    well = client.get("/healthz")
    faults.health = "model late: no successful cycle for 4 h"
    ill = client.get("/healthz")

    assert (well.status_code, well.text) == (200, "ok\n")
    assert (ill.status_code, ill.text) == (503, "model late: no successful cycle for 4 h\n")


def test_readiness_is_200_or_503_with_the_reason(client: httpx.Client, faults: Faults) -> None:
    faults.readiness = "the last measurements are not restored yet"
    early = client.get("/readyz")
    faults.readiness = None
    later = client.get("/readyz")

    assert (early.status_code, later.status_code) == (503, 200)
    assert early.text == "the last measurements are not restored yet\n"


def test_the_index_names_the_endpoints(client: httpx.Client) -> None:
    index = client.get("/")

    assert all(f'href="{path}"' in index.text for path in ("/metrics", "/healthz", "/readyz"))


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/metrics", 405)])
def test_what_is_not_offered_is_refused(client: httpx.Client, method: str, path: str, status: int) -> None:
    assert client.request(method, path).status_code == status


def test_a_port_that_is_taken_is_named_with_its_key(server: Server) -> None:
    second = Server(make_app(Page(), healthy=lambda: None, ready=lambda: None), port=server.port)

    with pytest.raises(ConfigurationError) as caught:
        second.start()

    assert caught.value.faults == (
        f"http.host, http.port: cannot listen on 127.0.0.1, port {server.port}: Address already in use",
    )


def test_a_host_that_does_not_exist_is_named() -> None:
    server = Server(make_app(Page(), healthy=lambda: None, ready=lambda: None), host="256.0.0.1", port=0)

    with pytest.raises(
        ConfigurationError, match=r"http\.host, http\.port: cannot listen on 256\.0\.0\.1, port 0"
    ):
        server.start()


def test_clients_that_send_half_a_request_do_not_hold_up_others(server: Server, client: httpx.Client) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for connection in slow:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")

    answer = client.get("/metrics")

    assert answer.content == PAGE
    for connection in slow:
        connection.close()


def test_clients_that_do_not_read_do_not_hold_up_others(
    server: Server, client: httpx.Client, page: Page
) -> None:
    page.body = b"x" * 20_000_000
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for connection in slow:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.recv(1)
    page.body = PAGE

    assert client.get("/healthz").status_code == 200
    for connection in slow:
        connection.close()


def test_silent_clients_are_cut_off_and_do_not_use_up_what_is_admitted(
    monkeypatch: pytest.MonkeyPatch, server: Server, client: httpx.Client
) -> None:
    monkeypatch.setattr("monitor.web.server.PATIENCE", 0.3)
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(64)]
    until = time.monotonic() + 5.0

    status = first = client.get("/healthz").status_code
    while status == 503 and time.monotonic() < until:
        time.sleep(0.1)
        status = client.get("/healthz").status_code

    assert (first, status) == (503, 200)
    for connection in silent:
        connection.close()


def test_a_client_that_does_not_read_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, server: Server, page: Page
) -> None:
    monkeypatch.setattr("monitor.web.server.PATIENCE", 0.3)
    page.body = b"x" * 20_000_000
    with socket.create_connection(("127.0.0.1", server.port), timeout=5.0) as slow:
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = len(slow.recv(1))
        time.sleep(0.8)
        with contextlib.suppress(ConnectionResetError):
            while data := slow.recv(1_000_000):
                received += len(data)

    assert received < len(page.body)


def test_a_stopped_server_gives_its_port_back() -> None:
    app = make_app(Page(), healthy=lambda: None, ready=lambda: None)
    first = Server(app, port=0)
    first.start()

    began = time.monotonic()
    first.stop()
    second = Server(app, port=first.port)
    second.start()
    second.stop()

    assert time.monotonic() - began < 4.0


def test_stopping_what_was_never_started_does_nothing() -> None:
    Server(make_app(Page(), healthy=lambda: None, ready=lambda: None)).stop()
