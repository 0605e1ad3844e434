"""What is no honest request, over real sockets: an answer or an end, no line in the log, no dead server."""

import contextlib
import logging
import random
import socket
import ssl
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pages import PAGE, Page, make_certificate, serving

from monitor.specs.settings import HttpSpec
from monitor.web.client_connections import LARGEST
from monitor.web.server import ThreadedServer

SOON = 20.0
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module", params=["http", "https"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Served"]:
    """A server of a large page, and how it is spoken to."""
    directory = tmp_path_factory.mktemp("tls")
    make_certificate(directory, "one")
    secure = request.param == "https"
    http = HttpSpec(tls_certificate="one.pem", tls_key="one.key") if secure else HttpSpec()
    with serving(http, directory, Page(PAGE * 20_000)) as server:
        yield Served(server, secure=secure)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Served"]:
    """A server that wants a secret."""
    directory = tmp_path_factory.mktemp("secret")
    (directory / "word").write_text("s" * 32, encoding="utf-8")
    with serving(HttpSpec(secret_file="word"), directory) as server:  # noqa: S106 -- a file's name
        yield Served(server, secure=False)


class Served:
    """A server that runs, and what it answers to bytes."""

    def __init__(self, server: ThreadedServer, *, secure: bool) -> None:
        self._server, self._secure = server, secure

    def connected(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self._server.port), timeout=SOON)
        if not self._secure:
            return plain
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        return trusting.wrap_socket(plain)

    def answer(self, *pieces: bytes, pause: float = 0.0) -> bytes:
        """All that comes back until the server closes; it may close while pieces are still sent."""
        with contextlib.closing(self.connected()) as one:
            with contextlib.suppress(OSError):
                for piece in pieces:
                    one.sendall(piece)
                    time.sleep(pause)
            return everything(one)

    def is_well(self) -> bool:
        return b"# TYPE a gauge" in self.answer(GET + b"\r\n")


def everything(one: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while data := one.recv(1_000_000):
            received += data
    return received


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.fixture(autouse=True)
def clients_that_stay_are_left_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client here reads until the server closes."""
    monkeypatch.setattr("monitor.web.client_connections.LINGERING", 0.2)


@pytest.fixture(autouse=True)
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No test here writes a warning or worse: whoever reaches the port could fill a disk with them."""
    with caplog.at_level(logging.WARNING):
        yield
    assert [record.getMessage() for record in caplog.get_records("call")] == []


@pytest.mark.parametrize(
    "body",
    [
        *(b"zz\r\n", b"-1\r\n", b"5\r\nab", b"\x00\xff\r\n", b"1" * 40 + b"\r\n", b"0\r\n\x00: a\r\n\r\n"),
        *(b"2\r\nabX\r\n", b"0;" + b"x" * 100_000, b"G" * 100_000),
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"POST"])
@pytest.mark.parametrize("together", [True, False])
def test_a_chunked_body_that_is_none_writes_nothing_to_the_log(
    served: Served, body: bytes, method: bytes, *, together: bool
) -> None:
    head = GET.replace(b"GET", method) + BODY

    answer = served.answer(head + body) if together else served.answer(head, body, pause=0.02)

    assert status(answer) == {b"GET": 200, b"POST": 405}[method]
    assert served.is_well()


def test_a_chunked_body_that_is_none_writes_nothing_without_the_secret_either(guarded: Served) -> None:
    assert status(guarded.answer(GET + BODY + b"zz\r\n")) == 401
    assert status(guarded.answer(GET + BODY, b"zz\r\n", pause=0.02)) == 401


@pytest.mark.parametrize("path", [b"/metrics/", b"/healthz/", b"/readyz//", b"//metrics", b"//evil/.."])
@pytest.mark.parametrize("host", [b"evil.example", b"evil.example@localhost", b"[::1]", b"a,b"])
def test_nothing_is_redirected_whatever_host_is_named(served: Served, path: bytes, host: bytes) -> None:
    answer = served.answer(b"GET " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")

    assert status(answer) == 404
    assert b"location" not in answer.lower()
    assert host not in answer


def one_header(size: int) -> bytes:
    return b"X-Large: " + b"x" * (size - 11) + b"\r\n"


def many_headers(size: int) -> bytes:
    full, rest = divmod(size, 64)
    return one_header(64) * (full - 1) + one_header(64 + rest)


def folded_headers(size: int) -> bytes:
    full, rest = divmod(size, 64)
    return one_header(64 + rest) + (b" " + b"x" * 61 + b"\r\n") * (full - 1)


def long_line(size: int) -> bytes:
    return one_header(size // 2) + b"X-" + b"n" * (size - size // 2 - 7) + b": a\r\n"


@pytest.mark.parametrize("headers", [one_header, many_headers, folded_headers, long_line])
@pytest.mark.parametrize("trickled", [False, True])
@pytest.mark.parametrize(("size", "expected"), [(LARGEST - 100, 200), (LARGEST, 431), (100_000, 431)])
def test_headers_beyond_16_kib_are_refused_however_they_come(
    served: Served, headers: Callable[[int], bytes], size: int, expected: int, *, trickled: bool
) -> None:
    sent = GET + headers(size) + b"\r\n"
    pieces = [sent[at : at + 1_009] for at in range(0, len(sent), 1_009)] if trickled else [sent]

    answer = served.answer(*pieces)

    assert status(answer) == expected


def test_headers_without_an_end_are_refused_once_they_are_too_long(served: Served) -> None:
    assert status(served.answer(GET + one_header(3 * LARGEST))) == 431


def test_a_second_request_behind_the_first_cannot_bring_long_headers(served: Served) -> None:
    answer = served.answer(GET + b"\r\n" + GET + one_header(100_000) + b"\r\n")

    assert answer.count(b"HTTP/1.1 ") == 1
    assert status(answer) == 200


def test_a_scrape_is_quick_beside_many_that_ask_again_and_again_and_never_read(served: Served) -> None:
    def scrapes() -> float:
        took = []
        for _ in range(7):
            began = time.perf_counter()
            assert served.is_well()
            took.append(time.perf_counter() - began)
        return statistics.median(took)

    undisturbed = scrapes()
    with contextlib.ExitStack() as crowd:
        for _ in range(40):
            one = crowd.enter_context(contextlib.closing(served.connected()))
            one.settimeout(0.2)
            with contextlib.suppress(OSError):
                one.sendall((GET + b"\r\n") * 5_000)
        disturbed = scrapes()

    assert disturbed < 20 * undisturbed + 0.5


WORDS = (
    *(b"GET", b"POST", b"HEAD", b"CONNECT", b"PRI * HTTP/2.0", b"/metrics", b"*", b"http://evil/", b"%00%ff"),
    *(b" ", b"\t", b"\r\n", b"\n", b"\r\n\r\n", b"\r", b":", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"\x00"),
    *(
        b"Host: a",
        b"Content-Length: 5",
        b"Content-Length: -1",
        b"Content-Length: 1,2",
        b"Expect: 100-continue",
    ),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Upgrade: websocket", b"TE: x"),
    *(b"Connection: upgrade", b"Connection: keep-alive", b"0\r\n\r\n", b"5\r\nabcde\r\n", b"\x16\x03\x01"),
    *(
        b"Authorization: Basic !!!",
        b"Authorization: Bearer \xff",
        b"Accept: ;q=x",
        b"Accept-Encoding: gzip;q=1e999",
    ),
)
NONSENSE = st.one_of(
    st.binary(max_size=300),
    st.lists(st.one_of(st.sampled_from(WORDS), st.binary(max_size=5)), max_size=25).map(b"".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map(lambda found: GET + b"\r\n".join(found) + b"\r\n\r\n"),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sent=NONSENSE, cut=st.integers(0, 300))
def test_whatever_is_sent_is_answered_or_ended_and_leaves_the_server_well(
    served: Served, sent: bytes, cut: int
) -> None:
    with contextlib.closing(served.connected()) as one:
        with contextlib.suppress(OSError):
            one.sendall(sent[:cut])
            one.sendall(sent[cut:])
        if not served._secure:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
        else:
            one.settimeout(0.01)
        with contextlib.suppress(TimeoutError):
            answer = everything(one)
            assert answer == b"" or status(answer) in {200, 400, 401, 404, 405, 431, 503}


@pytest.mark.parametrize("seed", range(3))
def test_a_flood_of_nonsense_leaves_the_server_well(served: Served, seed: int) -> None:
    luck = random.Random(seed)  # noqa: S311 -- not for secrets
    for _ in range(60):
        with contextlib.closing(served.connected()) as one, contextlib.suppress(OSError):
            one.sendall(b"".join(luck.choices(WORDS, k=luck.randrange(1, 40))))
            one.sendall(luck.randbytes(luck.randrange(1, 30_000)))

    assert served.is_well()
