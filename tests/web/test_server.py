import time
from collections.abc import Iterator

import httpx
import pytest
from pages import PAGE, Faults, Page

from monitor.core.errors import ConfigurationError
from monitor.web.server import ThreadedServer, make_app


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[ThreadedServer, Page, Faults]]:
    """One server for all tests: stopping takes a fifth of a second."""
    page, faults = Page(), Faults()
    app = make_app(page, healthy=lambda: faults.health, ready=lambda: faults.readiness)
    started = ThreadedServer(app, port=0)
    started.start_serving()
    yield started, page, faults
    started.stop_serving()


@pytest.fixture
def server(served: tuple[ThreadedServer, Page, Faults]) -> ThreadedServer:
    return served[0]


@pytest.fixture
def page(served: tuple[ThreadedServer, Page, Faults]) -> Page:
    served[1].body = PAGE
    return served[1]


@pytest.fixture
def faults(served: tuple[ThreadedServer, Page, Faults]) -> Faults:
    served[2].health = served[2].readiness = None
    return served[2]


@pytest.fixture
def client(server: ThreadedServer, page: Page, faults: Faults) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=20.0, trust_env=False) as one:
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


def test_a_port_that_is_taken_is_named_with_its_key(server: ThreadedServer) -> None:
    second = ThreadedServer(make_app(Page(), healthy=lambda: None, ready=lambda: None), port=server.port)

    with pytest.raises(ConfigurationError) as caught:
        second.start_serving()

    assert caught.value.faults == (
        f"http.host, http.port: cannot listen on 127.0.0.1, port {server.port}: Address already in use",
    )


def test_a_host_that_does_not_exist_is_named() -> None:
    server = ThreadedServer(
        make_app(Page(), healthy=lambda: None, ready=lambda: None), host="256.0.0.1", port=0
    )

    with pytest.raises(
        ConfigurationError, match=r"http\.host, http\.port: cannot listen on 256\.0\.0\.1, port 0"
    ):
        server.start_serving()


def test_a_stopped_server_gives_its_port_back() -> None:
    app = make_app(Page(), healthy=lambda: None, ready=lambda: None)
    first = ThreadedServer(app, port=0)
    first.start_serving()

    began = time.monotonic()
    first.stop_serving()
    second = ThreadedServer(app, port=first.port)
    second.start_serving()
    second.stop_serving()

    assert time.monotonic() - began < 4.0


def test_stopping_what_was_never_started_does_nothing() -> None:
    ThreadedServer(make_app(Page(), healthy=lambda: None, ready=lambda: None)).stop_serving()
