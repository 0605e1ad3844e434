"""The one form of the port, over real sockets: who may decide, what is refused before anything is kept."""

import base64
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page

from monitor.core.errors import ConfigurationError, MonitorError, StoreError
from monitor.specs.settings import HttpSpec
from monitor.web.answers import FormVisit, PageAnswer
from monitor.web.client_connections import LARGEST_FORM
from monitor.web.decision_form import FormTokens, SentDecision, make_decision_form
from monitor.web.guard import allowed_page_hosts, serves_pages
from monitor.web.server import ThreadedServer, make_app
from monitor.web.server_files import make_secrets_reloader

WORD = "a-secret-of-many-letters"
PLACE = "/models/late/incidents/2013-12-31-inputs-missing"
WHY = "weather feed down, ticket 4711"


@dataclass
class Shown:
    """Pages that say who may decide; what was decided."""

    sent: list[SentDecision] = field(default_factory=list)
    fault: MonitorError | None = None

    def answer_page(self, path: str, query: str, _known: str, visit: FormVisit | None = None) -> PageAnswer:
        if visit is None:
            return PageAnswer(f"{path} {query} none".encode())
        lines = (visit.token, visit.user, str(visit.is_signed_in), visit.fault, visit.who, visit.why)
        return PageAnswer("\n".join(lines).encode())

    def decide(self, sent: SentDecision) -> None:
        if self.fault is not None:
            raise self.fault
        self.sent.append(sent)


@dataclass
class Site:
    """A server, and somebody who looks at it."""

    client: httpx.Client
    shown: Shown
    server: ThreadedServer

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def token(self, place: str = PLACE, **headers: str) -> str:
        return self.client.get(place, headers=utf8(headers)).text.split("\n")[0]

    def post(
        self, fields: dict[str, str] | None = None, place: str = PLACE, **headers: str
    ) -> httpx.Response:
        """Send the form as a browser does; `headers` with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"decision": "acknowledge", "who": "Ada", "why": WHY} if fields is None else fields
        of_user = {name: value for name, value in named.items() if name.startswith("X-")}
        sent = {"token": self.token(place, **of_user), **given}
        own = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin"} | named
        return self.client.post(f"{place}/decide", data=sent, headers=utf8(own))


def utf8(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as a proxy sends them; an empty one is none."""
    return [(name.encode(), value.encode()) for name, value in headers.items() if value]


@contextmanager
def site(directory: Path, http: HttpSpec | None = None, user: str = "ada") -> Iterator[Site]:
    (directory / "secret").write_text(f"{WORD}\n", encoding="utf-8")
    http = http or HttpSpec(secret_file="secret")  # noqa: S106 -- a file's name
    shown = Shown()
    secrets = make_secrets_reloader(http, directory)
    app = make_app(
        Page(),
        healthy=lambda: None,
        ready=lambda: None,
        secrets=secrets,
        pages=shown,
        hosts=allowed_page_hosts(http),
        form=make_decision_form(http, secrets, shown.decide) if serves_pages(http) else None,
    )
    server = ThreadedServer(app, port=0)
    server.start_serving()
    login = (user, WORD) if http.secret_file else None
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{server.port}", timeout=20, trust_env=False, auth=login
        ) as client:
            yield Site(client, shown, server)
    finally:
        server.stop_serving()


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with a secret, and somebody who knows it."""
    with site(tmp_path_factory.mktemp("signed")) as one:
        yield one


@pytest.fixture(autouse=True)
def nothing_decided(signed: Site) -> None:
    signed.shown.sent.clear()
    signed.shown.fault = None


def test_who_knows_the_secret_decides_under_the_name_that_they_give(signed: Site) -> None:
    answer = signed.post()

    assert (answer.status_code, answer.headers["location"]) == (303, f"{PLACE}#decide")
    assert signed.shown.sent == [
        SentDecision(
            model="late", incident="2013-12-31-inputs-missing", decision="acknowledge", who="Ada", why=WHY
        )
    ]


def test_only_the_page_of_an_incident_is_told_who_asks(signed: Site) -> None:
    token, user, is_signed_in, *_ = signed.client.get(PLACE).text.split("\n")

    assert (len(token.partition(".")[2]), user, is_signed_in) == (64, "ada", "False")
    for other in ("/", "/models/late", f"{PLACE}.json/x", f"{PLACE}/decide"):
        assert signed.client.get(other).text.endswith("none"), other


@pytest.mark.parametrize(
    "place",
    [
        "/",
        "/models/late",
        PLACE,
        f"{PLACE}/decide/",
        f"{PLACE}/decide/x",
        "/models/late/alerts/x/decide",
        "/models/a/b/incidents/c/decide",
        "/metrics",
        "/healthz",
        "//models/late/incidents/x/decide",
    ],
)
def test_nothing_else_can_be_posted_to(signed: Site, place: str) -> None:
    answer = signed.client.post(place, data={"decision": "acknowledge"}, headers={"Origin": signed.origin})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_its_address_takes_no_other_method(signed: Site, method: str) -> None:
    assert signed.client.request(method, f"{PLACE}/decide").status_code == 405


def test_without_secret_and_proxy_nothing_can_be_decided(tmp_path: Path) -> None:
    with site(tmp_path, HttpSpec()) as open_site:
        assert open_site.client.get(PLACE).text.endswith("none")
        answer = open_site.client.post(f"{PLACE}/decide", data={"decision": "acknowledge", "why": "x"})

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert not open_site.shown.sent


def test_without_the_secret_the_form_is_not_taken(signed: Site) -> None:
    fields = {"decision": "acknowledge", "who": "Ada", "why": WHY, "token": signed.token()}
    answer = httpx.post(f"{signed.origin}{PLACE}/decide", data=fields, headers={"Origin": signed.origin})

    assert answer.status_code == 401
    assert not signed.shown.sent


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "", "Referer": "https://evil.example/http://127.0.0.1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Host": "evil.example"},
        {"Host": "evil.example", "Origin": "http://monitor.example"},
    ],
)
def test_forms_of_other_sites_are_refused(signed: Site, headers: dict[str, str]) -> None:
    answer = signed.post(None, PLACE, **headers)

    assert (answer.status_code, signed.shown.sent) == (403, [])


def test_a_referer_does_where_there_is_no_origin_and_behind_a_proxy_the_address_from_outside(
    signed: Site, tmp_path: Path
) -> None:
    assert signed.post(Origin="", Referer=f"{signed.origin}{PLACE}").status_code == 303

    with site(tmp_path, HttpSpec(secret_file="secret", url="https://monitor.example/")) as proxied:  # noqa: S106
        assert proxied.post(Origin="https://monitor.example").status_code == 303
        assert proxied.post(Origin="http://monitor.example").status_code == 403


def test_where_hosts_are_bounded_another_is_misdirected(tmp_path: Path) -> None:
    with site(tmp_path, HttpSpec(user_header="X-User")) as one:
        answer = one.client.post(
            f"{PLACE}/decide",
            data={"why": WHY},
            headers={"Host": "evil.example", "Origin": "http://evil.example", "X-User": "ada"},
        )

    assert (answer.status_code, one.shown.sent) == (421, [])


@pytest.mark.parametrize("token", ["", "1", "1.", ".", "ü", "1.ü", f"{10**30}.{'0' * 64}", "0" * 500])
def test_a_token_that_is_none_decides_nothing_and_keeps_what_was_written(signed: Site, token: str) -> None:
    answer = signed.post({"decision": "accept", "who": "Ada", "why": WHY, "token": token})

    fresh, _, _, fault, who, why = answer.text.split("\n")
    assert (answer.status_code, signed.shown.sent) == (403, [])
    assert fault.startswith("This form was too old")
    assert (fresh, who, why) == (signed.token(), "Ada", WHY)


def test_a_token_is_of_one_page_and_of_one_user(signed: Site) -> None:
    other = signed.token("/models/late/incidents/2013-01-01-records")
    somebody = httpx.get(f"{signed.origin}{PLACE}", auth=("bob", WORD)).text.split("\n")[0]

    for token in (other, somebody):
        assert signed.post({"decision": "accept", "who": "A", "why": "b", "token": token}).status_code == 403
    assert not signed.shown.sent


@given(st.integers(0, 40), st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=40)
def test_a_token_is_good_for_half_a_day_and_by_every_secret_that_is_accepted(
    hours: int, user: str, page: str
) -> None:
    now = [1_700_000_000.0]
    keys = [(b"one",), (b"two", b"one"), (b"two",)]
    held = [keys[0]]
    tokens = FormTokens(lambda: held[0], lambda: now[0])
    token = tokens.make_token(user, page)
    now[0] += hours * 3_600

    assert tokens.is_good(token, user, page) == (hours <= 12)
    held[0] = keys[1]  # another secret is the first now
    assert tokens.is_good(token, user, page) == (hours <= 12)
    held[0] = keys[2]
    assert not tokens.is_good(token, user, page)
    assert not tokens.is_good(token, f"{user}x", page)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"decision": "acknowledge", "who": "Ada", "why": " \n\t\0"}, "Why is missing"),
        ({"decision": "acknowledge", "who": "", "why": "x"}, "Your name is missing"),
        ({"decision": "acknowledge", "why": "x"}, "Your name is missing"),
        ({"decision": "acknowledge", "who": "Ada", "why": "x" * 1_001}, "at most 1,000 characters"),
        ({"decision": "acknowledge", "who": "A" * 101, "why": "x"}, "at most 100 characters"),
        ({"decision": "delete", "who": "Ada", "why": "x"}, "Say what you decide"),
        ({"who": "Ada", "why": "x"}, "Say what you decide"),
    ],
)
def test_what_lacks_is_said_on_the_page(signed: Site, fields: dict[str, str], said: str) -> None:
    answer = signed.post(fields)

    assert (answer.status_code, signed.shown.sent) == (400, [])
    assert said in answer.text


def test_text_is_kept_in_one_line_without_what_a_database_refuses(signed: Site) -> None:
    signed.post({"decision": "accept", "who": " Ada\0 L. ", "why": "<b>one</b>\r\n\ttwo "})

    assert [(one.who, one.why) for one in signed.shown.sent] == [("Ada L.", "<b>one</b> two")]


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("decision=accept&decision=withdraw", "application/x-www-form-urlencoded", 400),
        ("until=2099", "application/x-www-form-urlencoded", 400),
        ("decision", "application/x-www-form-urlencoded", 400),
        ("a=1&b=2&c=3&d=4&e=5", "application/x-www-form-urlencoded", 400),
        ("why=%FF", "application/x-www-form-urlencoded", 400),
        ("", "application/x-www-form-urlencoded", 403),
        ('{"decision": "accept"}', "application/json", 415),
        ("--x\r\n", "multipart/form-data; boundary=x", 415),
        ("why=x", "text/plain", 415),
        ("why=" + "x" * LARGEST_FORM, "application/x-www-form-urlencoded", 413),
        ("why=" + "x" * 5_000_000, "application/x-www-form-urlencoded", 413),
    ],
    ids=range(11),
)
def test_what_is_no_small_form_is_refused(signed: Site, body: str, kind: str, status: int) -> None:
    answer = signed.client.post(
        f"{PLACE}/decide", content=body, headers={"Origin": signed.origin, "Content-Type": kind}
    )

    assert (answer.status_code, signed.shown.sent) == (status, [])


@pytest.mark.parametrize("length", [b"", b"Transfer-Encoding: chunked\r\n", b"Content-Length: 90\r\n"])
def test_a_form_that_does_not_say_its_length_or_breaks_off_keeps_nothing(signed: Site, length: bytes) -> None:
    login = base64.b64encode(f"ada:{WORD}".encode()).decode()
    head = (
        f"POST {PLACE}/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
        f"Authorization: Basic {login}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", signed.server.port), timeout=20) as one:
        one.sendall(head + length + b"\r\n5\r\nwhy=x\r\n0\r\n\r\n")
        one.shutdown(socket.SHUT_WR)
        answer = one.recv(1_000)

    assert answer.startswith(b"HTTP/1.1 411") or b"200" not in answer[:13]
    assert not signed.shown.sent
    assert signed.client.get("/healthz").status_code == 200


def test_a_second_request_behind_a_form_is_not_read(signed: Site) -> None:
    login = base64.b64encode(f"ada:{WORD}".encode()).decode()
    body = urlencode({"decision": "accept", "who": "Ada", "why": "x", "token": signed.token()})
    one = (
        f"POST {PLACE}/decide HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
        f"Authorization: Basic {login}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    with socket.create_connection(("127.0.0.1", signed.server.port), timeout=20) as client:
        client.sendall(one + one.replace(b"why=x", b"why=y"))
        answer = b"".join(iter(lambda: client.recv(4_096), b""))

    assert answer.count(b"HTTP/1.1 ") == 1
    assert [sent.why for sent in signed.shown.sent] == ["x"]


def test_what_cannot_be_decided_is_said_and_a_store_that_fails_too(signed: Site) -> None:
    signed.shown.fault = MonitorError('late has no incident "x"')
    refused = signed.post()
    signed.shown.fault = StoreError("the store does not answer")
    failed = signed.post()

    assert (refused.status_code, failed.status_code) == (409, 503)
    assert "Nothing was decided: late has no incident" in refused.text
    assert failed.headers["retry-after"] == "10"


def test_a_proxy_says_who_decides_whatever_the_form_says(tmp_path: Path) -> None:
    with site(tmp_path, HttpSpec(user_header="X-User")) as proxied:
        answer = proxied.post({"decision": "accept", "who": "Eve", "why": WHY}, X_User="Ada Ü")
        without = proxied.client.get(PLACE).text
        alone = proxied.client.post(f"{PLACE}/decide", data={"why": "x"}, headers={"Origin": proxied.origin})
        twice = proxied.client.post(
            f"{PLACE}/decide",
            data={"why": "x"},
            headers=[("Origin", proxied.origin), ("X-User", "a"), ("X-User", "b")],
        )

    assert answer.status_code == 303
    assert [(one.decision, one.who) for one in proxied.shown.sent] == [("accept", "Ada Ü")]
    assert without.endswith("none")  # nobody is signed in: the page says the command
    assert (alone.status_code, twice.status_code) == (403, 403)


@pytest.mark.parametrize(
    ("http", "fault"),
    [
        ('user_header = "X-User"', ""),
        ('host = "::1"\nuser_header = "X-User"', ""),
        ('host = "localhost"\nuser_header = "X-User"', ""),
        ('host = "0.0.0.0"\nsecret_file = "s"\nuser_header = "X-User"', ""),
        ('host = "0.0.0.0"\nuser_header = "X-User"', "whoever reaches the port could send this header"),
        ('host = "monitor.example"\nuser_header = "X-User"', "whoever reaches the port"),
        ('user_header = "X User"', "a header that the proxy alone sets"),
        ('user_header = "Authorization"', "a header that the proxy alone sets"),
        ('user_header = "Sec-Fetch-Site"', "a header that the proxy alone sets"),
        ('user_header = ""', "user_header"),
    ],
)
def test_a_header_that_anybody_could_send_is_refused(tmp_path: Path, http: str, fault: str) -> None:
    from monitor.config.config_loading import settings_of

    file = tmp_path / "config.toml"
    file.write_text(
        f'[http]\n{http}\n[sources.s]\nurl = "sqlite:///x.db"\n[[models]]\nname = "m"\nsource = "s"\n'
        'task = "binary"\n[models.predictions]\ntable = "p"\nid = "id"\ntime = "t"\nscore = "s"\n'
        'threshold = 0.5\n[models.classes]\npositive = "1"\nnegative = "0"\n',
        encoding="utf-8",
    )
    said = ""
    try:
        settings_of(file, {})
    except ConfigurationError as error:
        said = "\n".join(one for one in error.faults if "http" in one)

    assert (fault in said) if fault else not said
