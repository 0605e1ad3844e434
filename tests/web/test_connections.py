"""Clients that are slow, silent or many, against the real server, with and without TLS."""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pages import PAGE, Page, make_certificate, serving

from monitor.specs.settings import HttpSpec
from monitor.web.client_connections import LARGEST, MOST
from monitor.web.server import ThreadedServer

MANY = 200
HALF = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
SOON = 20.0  # a busy machine is no failure


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tls")
    make_certificate(made, "one")
    return made


@pytest.fixture(scope="module")
def page() -> Page:
    return Page()


@pytest.fixture(scope="module", params=["http", "https"])
def server(
    request: pytest.FixtureRequest, directory: Path, page: Page
) -> Iterator[tuple[ThreadedServer, str]]:
    """A server, and its scheme."""
    http = HttpSpec(tls_certificate="one.pem", tls_key="one.key") if request.param == "https" else HttpSpec()
    with serving(http, directory, page) as started:
        yield started, request.param


@pytest.fixture
def client(server: tuple[ThreadedServer, str], directory: Path) -> Iterator[httpx.Client]:
    """A client that connects anew for each request."""
    url = f"{server[1]}://127.0.0.1:{server[0].port}"
    trusted = ssl.create_default_context(cafile=directory / "one.pem")
    limits = httpx.Limits(max_keepalive_connections=0)
    with httpx.Client(base_url=url, verify=trusted, timeout=SOON, trust_env=False, limits=limits) as one:
        yield one


@pytest.fixture
def crowd() -> Iterator[contextlib.ExitStack]:
    """Closes the connections of a test."""
    with contextlib.ExitStack() as stack:
        yield stack


def connected(crowd: contextlib.ExitStack, server: ThreadedServer) -> socket.socket:
    return crowd.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SOON))


def spoken_to(crowd: contextlib.ExitStack, served: tuple[ThreadedServer, str]) -> socket.socket:
    """A connection that requests can be sent on."""
    server, scheme = served
    plain = connected(crowd, server)
    if scheme == "http":
        return plain
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return crowd.enter_context(trusting.wrap_socket(plain))


def test_a_scrape_is_answered_beside_many_silent_connections(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], client: httpx.Client
) -> None:
    for _ in range(MANY):
        connected(crowd, server[0])

    assert client.get("/metrics").content == PAGE


def test_a_scrape_is_answered_beside_many_half_sent_requests(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], client: httpx.Client
) -> None:
    for _ in range(MANY):
        spoken_to(crowd, server).sendall(HALF)

    assert client.get("/metrics").content == PAGE


def test_a_scrape_is_answered_beside_many_half_done_handshakes(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], client: httpx.Client
) -> None:
    for _ in range(MANY):
        connected(crowd, server[0]).sendall(b"\x16\x03\x01\x02\x00\x01")

    assert client.get("/metrics").content == PAGE


def test_the_connection_that_has_made_no_progress_for_the_longest_makes_room(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], client: httpx.Client
) -> None:
    first = spoken_to(crowd, server)
    for _ in range(MOST + 1):
        connected(crowd, server[0])
    client.get("/healthz")

    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        assert first.recv(1) == b""


def test_silent_clients_are_cut_off(
    monkeypatch: pytest.MonkeyPatch, crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str]
) -> None:
    monkeypatch.setattr("monitor.web.client_connections.PATIENCE", 0.3)
    silent, half = connected(crowd, server[0]), spoken_to(crowd, server)
    half.sendall(HALF)

    for one in (silent, half):
        with contextlib.suppress(ConnectionResetError, ssl.SSLError):
            assert one.recv(1) == b""


def test_a_client_that_sends_a_byte_now_and_then_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str]
) -> None:
    monkeypatch.setattr("monitor.web.client_connections.PATIENCE", 0.3)
    slow = spoken_to(crowd, server)
    slow.sendall(HALF)

    with pytest.raises((OSError, ssl.SSLError)):  # noqa: PT012 -- whichever byte it is
        until = time.monotonic() + SOON
        while time.monotonic() < until:
            slow.sendall(b"x")
            time.sleep(0.05)


def test_clients_that_do_not_read_do_not_hold_up_others(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], client: httpx.Client, page: Page
) -> None:
    page.body = b"x" * 20_000_000
    for _ in range(5):
        slow = spoken_to(crowd, server)
        slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        slow.recv(1)
    page.body = PAGE

    assert client.get("/healthz").status_code == 200


def test_a_client_that_does_not_read_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
    crowd: contextlib.ExitStack,
    server: tuple[ThreadedServer, str],
    page: Page,
) -> None:
    monkeypatch.setattr("monitor.web.client_connections.PATIENCE", 0.3)
    page.body = b"x" * 20_000_000
    slow = spoken_to(crowd, server)
    slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    received = len(slow.recv(1))
    page.body = PAGE
    time.sleep(0.8)
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while data := slow.recv(1_000_000):
            received += len(data)

    assert received < 20_000_000


def test_of_many_requests_on_one_connection_the_first_is_answered_and_the_connection_closed(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str]
) -> None:
    one = spoken_to(crowd, server)
    one.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300)
    received = b""
    while data := one.recv(100_000):
        received += data

    assert received.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close\r\n" in received
    assert received.endswith(b"ok\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * 300_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 300_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-\x00: a\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n Host: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_closed(
    crowd: contextlib.ExitStack, server: tuple[ThreadedServer, str], sent: bytes
) -> None:
    one = spoken_to(crowd, server)
    received = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError, ssl.SSLError):
        one.sendall(sent)
        while data := one.recv(100_000):
            received += data

    assert received.startswith(b"HTTP/1.1 431 " if len(sent) > LARGEST else b"HTTP/1.1 400 ")
    assert b"model" not in received


def test_a_server_stops_at_once_beside_clients_that_have_not_shaken_hands(
    directory: Path, crowd: contextlib.ExitStack
) -> None:
    with serving(HttpSpec(tls_certificate="one.pem", tls_key="one.key"), directory) as server:
        for _ in range(3):
            connected(crowd, server)
        began = time.monotonic()

    assert time.monotonic() - began < 4.0
