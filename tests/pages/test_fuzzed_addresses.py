"""Addresses as nobody honest writes them, over a real socket: an answer that says why, no line in the log."""

import contextlib
import json
import logging
import random
import re
import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from looked_at import END
from serving import Bench

from monitor.app.pages.page_cache import KeptPages
from monitor.app.pages.store_data import StoreData
from monitor.core.version import VERSION
from monitor.exposition.metrics_page import Exposition
from monitor.exposition.self_metrics import SelfMetrics
from monitor.pages.routes import openapi_document
from monitor.web.server import ThreadedServer, make_app

SOON = 30.0  # a busy machine is no failure
ADDRESSES = 150  # of each seed: about two seconds
PARAMETERS = {
    path: [one["name"] for one in page["get"]["parameters"] if one["in"] == "query"]
    for path, page in openapi_document()["paths"].items()
}
PROBES = ("/metrics", "/healthz", "/readyz", "/openapi.json", "/runbook", "/static/0/pages.css")
NOWHERE = ("/favicon.ico", "/models/", "//", "/.", "/..", "/%2e%2e/%2e%2e/etc/passwd", "/models/.json", "*")
PARTS = {
    "{model}": ("late", "late", "bare", "never", "gone"),
    "{rule}": ("busy", "changed", "gone"),
    "{measure}": ("roc_auc", "records", "stability_index", "gone"),
    "{incident}": ("2024-03-08-records", "2024-03-08", "gone"),
}
USUAL = ("1d", "7d", "month", "roc_auc", "amount", "group", "group=a", "all", "default", "2024-03-20", "late")
MOMENTS = (
    *("2024-04-10T00:00:00Z", "2024-W10-5", "20240320", "1900-01-01", "1899-12-31", "2999-12-31"),
    *("3000-01-01", "0001-01-01", "9999-12-31", "2024-03-20T06:00:00+14:00"),
    *("0001-01-01T00:00+23:59", "9999-12-31T23:59:59.999999-23:59", "2024-03-31T02:30", "2024-02-30"),
)
ODD = (
    *(
        "",
        "0",
        "-1",
        "9" * 30,
        "1e999",
        "NaN",
        "\x00",
        "a\x00b",
        "\ud800",
        "\u202e",
        "\U000e0041",
        "%",
        "%00",
    ),
    *("é" * 100, "x" * 1_900, "x" * 5_000, "x" * 20_000, "' OR 1=1 --", "<b>", "a=b=c", "=", "group=", "=a"),
)
BYTES = (
    *(
        b"%",
        b"%%",
        b"%0",
        b"%zz",
        b"%00",
        b"%ff%fe",
        b"%c3%28",
        b"%ed%a0%80",
        b"%u0041",
        b"%0d%0a",
        b"+",
        b";",
    ),
    *(
        b"&&",
        b"=",
        b"?",
        b"#",
        b"\\",
        b"|",
        b"{",
        b'"',
        b"/",
        b".json",
        b"\x00",
        b"\xff\xfe",
        b"\xc3\xa9",
        b"\x7f",
    ),
)


class Luck(random.Random):
    """Draws addresses."""

    def address(self) -> bytes:
        """A path and parameters, now and then with bytes that belong in no address."""
        path = self.choice([*PARAMETERS, *PARAMETERS, *PARAMETERS, *PROBES, *NOWHERE])
        names = self._names(PARAMETERS.get(path, []))
        pairs = "&".join(f"{name}={self._value()}" for name in names)
        if self.random() < 0.5:
            path = path.removesuffix(".json") or "/"
        path = re.sub("{.*?}", lambda part: self._part(part[0]), path)
        address = (f"{path}?{pairs}" if pairs else path).encode()
        while self.random() < 0.15:
            at = self.randint(1, len(address))
            address = address[:at] + self.choice(BYTES) + address[at:]
        return address

    def _names(self, known: list[str]) -> list[str]:
        """Parameters of the page, or such as it does not know, or many, or the same again and again."""
        some = self.sample(known, self.randint(0, min(3, len(known))))
        match self.randrange(10):
            case 0:
                return [f"p{at}" for at in range(self.choice((50, 51, 200, 3_000)))]
            case 1:
                return [*known, *some] * self.choice((1, 5, 60))
            case 2:
                return [*some, quote(self.choice(ODD), errors="surrogatepass")]
            case _:
                return some

    def _value(self) -> str:
        values = self.choice((USUAL, USUAL, MOMENTS, ODD))
        return quote(self.choice(values), safe="", errors="surrogatepass")

    def _part(self, part: str) -> str:
        return self.choice(PARTS[part]) if self.random() < 0.9 else self._value()


@pytest.fixture(scope="module")
def port(bench: Bench) -> Iterator[int]:
    """Port of a server of all that a daemon serves."""
    with bench.app() as app:
        metrics = Exposition(app.settings.models, SelfMetrics(VERSION, 0.0))
        pages = KeptPages(StoreData(app, lambda: END))
        server = ThreadedServer(
            make_app(metrics, healthy=lambda: None, ready=lambda: None, pages=pages), port=0
        )
        server.start_serving()
        yield server.port
        server.stop_serving()


def status(port: int, address: bytes) -> int:
    """Status of the answer to an address; 0: there is none."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=SOON)) as one:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):  # refused before all of it is read
            one.sendall(b"GET " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            return int(one.recv(1_000).split(b" ", 2)[1])
        return 0


@pytest.mark.parametrize("seed", range(4))
def test_an_address_of_any_kind_is_answered_and_writes_nothing_to_the_log(
    port: int, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    luck = Luck(seed)
    drawn = [luck.address() for _ in range(ADDRESSES)]

    with caplog.at_level(logging.WARNING):
        answered = [(status(port, address), address[:300]) for address in drawn]

    assert [one for one in answered if not 200 <= one[0] < 500] == []
    assert {one[0] for one in answered} >= {200, 400, 404}
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            "&".join(f"p{at}=1" for at in range(51)),
            'no parameter "p0": this page has "run", "as_of", "window"',
        ),
        ("&".join(["window=7d"] * 51), "each parameter may stand once"),
        ("segment=a%00b", "an address holds no NUL character (%00)"),  # PostgreSQL refuses to look for it
        ("end=9999-12-31", 'end lies in the years from 1900 to 2999: got "9999-12-31"'),
    ],
)
def test_what_no_page_can_be_asked_for_is_refused_in_a_sentence(
    bench: Bench, query: str, sentence: str
) -> None:
    with bench.app() as app:
        found = KeptPages(StoreData(app, lambda: END)).answer_page("/models/late/performance.json", query, "")

    assert found.status == 400
    assert json.loads(found.body)["error"].startswith(sentence)
