"""Who is answered, and to what."""

import base64
import ipaddress
from collections.abc import Iterator

import httpx
import pytest
from pages import PAGE, Faults, serving

from monitor.specs.settings import HttpSpec
from monitor.web.guard import exposure_warning

FILE = "secret"
WORD = "pass:wörd-0123456789"
PATHS = [
    "/",
    "/metrics",
    "/nothing",
    "/metrics/",
    "/../etc/passwd",
    "/%2e%2e/config.toml",
    "//metrics",
    "/metrics?x=1",
]


def basic(password: str, user: str = "prometheus") -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def bearer(token: str) -> bytes:
    return b"Bearer " + token.encode()


def raw(authorization: str | bytes) -> bytes:
    return authorization if isinstance(authorization, bytes) else authorization.encode()


@pytest.fixture(scope="module")
def faults() -> Faults:
    return Faults(health='model "late": no successful cycle for 4 h')


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, faults: Faults) -> Iterator[httpx.Client]:
    """A client without credentials of a server that asks for them."""
    directory = tmp_path_factory.mktemp("guard")
    (directory / "secret").write_text(f"{WORD}\n", encoding="utf-8")
    with (
        serving(HttpSpec(secret_file=FILE), directory, faults=faults) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=20, trust_env=False) as one,
    ):
        yield one


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_credentials(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path)

    assert answer.status_code == 401
    assert answer.text == ("" if method == "HEAD" else "credentials needed\n")
    assert answer.headers.get_list("www-authenticate") == [
        'Bearer realm="monitor"',
        'Basic realm="monitor", charset="UTF-8"',
    ]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_without_credentials_are_told_nothing_but_whether_it_is_well(
    client: httpx.Client, faults: Faults, path: str
) -> None:
    ill = Faults(faults.health, "the last measurements are not restored yet")
    faults.readiness = ill.readiness
    unwell = client.get(path)
    faults.health = faults.readiness = None
    well = client.get(path)
    faults.health = ill.health

    assert (unwell.status_code, unwell.text) == (503, "not ok\n")
    assert (well.status_code, well.text) == (200, "ok\n")


def test_health_with_credentials_says_what_is_wrong(client: httpx.Client, faults: Faults) -> None:
    answer = client.get("/healthz", headers={"Authorization": basic(WORD)})

    assert (answer.status_code, answer.text) == (503, f"{faults.health}\n")


@pytest.mark.parametrize(
    "authorization",
    [basic(WORD), basic(WORD, user=""), basic(WORD).replace("Basic", "basic"), bearer(WORD)],
)
def test_the_secret_is_a_token_or_the_password_of_any_user(
    client: httpx.Client, authorization: str | bytes
) -> None:
    answer = client.get("/metrics", headers=[(b"Authorization", raw(authorization))])

    assert (answer.status_code, answer.content) == (200, PAGE)


@pytest.mark.parametrize(
    "authorization",
    [
        "", "Basic", "Bearer", "Basic !!!", "Basic cHJvbWV0aGV1cw==", "Digest a",
        basic(""), basic(WORD[:-1]), basic(WORD + "x"), basic(WORD.upper()), bearer(WORD[:-1]),
        WORD.encode(), b"Bearer  " + WORD.encode() + b" x", bearer(f"x:{WORD}"),
    ],
)  # fmt: skip
def test_anything_else_is_refused(client: httpx.Client, authorization: str | bytes) -> None:
    headers = [(b"Authorization", raw(authorization))]

    assert client.get("/metrics", headers=headers).status_code == 401


def test_two_credentials_are_none(client: httpx.Client) -> None:
    both = [("Authorization", basic(WORD)), ("Authorization", basic("x"))]

    assert client.get("/metrics", headers=both).status_code == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"])
@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/nothing"])
def test_only_get_and_head_are_answered(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, path, headers={"Authorization": basic(WORD)})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


def test_head_is_answered_without_a_body(client: httpx.Client) -> None:
    answer = client.head("/metrics", headers={"Authorization": basic(WORD)})

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/nothing"])
@pytest.mark.parametrize("authorization", [basic(WORD), basic("x")])
def test_every_answer_has_careful_headers(client: httpx.Client, path: str, authorization: str) -> None:
    headers = client.get(path, headers={"Authorization": authorization}).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_nothing_that_a_client_sends_comes_back_in_a_header(client: httpx.Client) -> None:
    answer = client.get("/nothing%0d%0aSet-Cookie:%20a=b", headers={"Host": "evil.example"})

    assert not {"set-cookie", "location"} & set(answer.headers)
    assert "evil" not in str(answer.headers)


@pytest.mark.parametrize(
    ("http", "lacking"),
    [
        (
            HttpSpec(host=ipaddress.IPv4Address(0).exploded),
            "(tls_certificate), whoever reaches the port is answered, but not shown pages (secret_file)",
        ),
        (
            HttpSpec(host="::"),
            "(tls_certificate), whoever reaches the port is answered, but not shown pages (secret_file)",
        ),
        (HttpSpec(host="192.0.2.1", secret_file=FILE), "everything is sent in clear text (tls_certificate)"),
        (
            HttpSpec(host="192.0.2.1", tls_certificate="c"),
            "machines: whoever reaches the port is answered, but not shown pages (secret_file)",
        ),
        (
            HttpSpec(host="192.0.2.1", tls_certificate="c", pages=True),
            "whoever reaches the port is answered, pages included (secret_file)",
        ),
        (HttpSpec(host="192.0.2.1", tls_certificate="c", secret_file=FILE), None),
        (HttpSpec(host="127.0.0.1"), None),
        (HttpSpec(host="127.1.2.3"), None),
        (HttpSpec(host="::1"), None),
        (HttpSpec(host="localhost"), None),
    ],
)
def test_a_port_that_others_reach_unprotected_is_told(http: HttpSpec, lacking: str | None) -> None:
    warning = exposure_warning(http)

    assert (warning is None) == (lacking is None)
    assert warning is None or warning.endswith(str(lacking))
