"""Who is answered, and to what: credentials, methods, headers, from which site."""

import binascii
import hashlib
import hmac
import re
import socket
from base64 import b64decode
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.specs.settings import HttpSpec

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths that answer those without credentials too, but with "ok" or "not ok" alone."""
_TRUSTED = "monitor.trusted"
_METHODS: tuple[str, ...] = ("GET", "HEAD")
_DECISION = re.compile(r"(/models/[^/]+/incidents/[^/]+)/decide")
_PLAIN = "default-src 'none'; form-action 'none'; frame-ancestors 'none'"
_OF_PAGES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Secrets = Callable[[], tuple[bytes, ...]]
"""SHA-256 of each secret that is accepted now."""


class RequestGuard:
    """Stands before an application: nothing without credentials, only GET and HEAD, careful headers.

    Parameters
    ----------
    secrets
        None: everybody is answered.
    forms
        whether the form of an incident may be sent: POST, to its address alone.
    """

    def __init__(self, app: ASGIApp, secrets: Secrets | None, *, forms: bool = False) -> None:
        self._app, self._secrets, self._forms = app, secrets, forms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        trusted = self._secrets is None or _has_valid_secret(Headers(scope=scope), self._secrets())
        scope[_TRUSTED] = trusted

        async def careful(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                headers["Content-Security-Policy"] = _OF_PAGES if is_page else _PLAIN
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        allowed = _METHODS
        if self._forms and decided_page(scope) is not None:
            allowed = (*_METHODS, "POST")
        refusal = _refusal_response(scope["path"], scope["method"], allowed, trusted=trusted)
        await (self._app if refusal is None else refusal)(scope, receive, careful)


def decided_page(scope: Scope) -> str | None:
    """Address of the incident's page whose form is sent to this address, as it was sent; None: none is."""
    path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    matched = _DECISION.fullmatch(path)
    return None if matched is None else matched.group(1)


def is_trusted(request: Request) -> bool:
    """Whether the client may know everything."""
    return bool(request.scope.get(_TRUSTED))


def exposure_warning(http: HttpSpec) -> str | None:
    """Warning of a server that others than this machine reach without TLS or credentials."""
    lacking = []
    if http.tls_certificate is None:
        lacking.append("everything is sent in clear text (tls_certificate)")
    if http.secret_file is None:
        seen = ", pages included" if serves_pages(http) else ", but not shown pages"
        lacking.append(f"whoever reaches the port is answered{seen} (secret_file)")
    if not lacking or _is_loopback(http.host):
        return None
    return f'http.host: "{http.host}" is reached from other machines: {", ".join(lacking)}'


def serves_pages(http: HttpSpec) -> bool:
    """Whether people are shown pages: unless it is said, on loopback, or with a secret."""
    if http.pages is not None:
        return http.pages
    return http.secret_file is not None or _is_loopback(http.host)


def allowed_page_hosts(http: HttpSpec) -> frozenset[str] | None:
    """Hosts by which pages are asked for; None: any.

    A page of another site can have its own name resolved to this machine, and then read what it is answered
    (DNS rebinding). It has no secret to send; where none is asked for, the name in `Host` gives it away.
    """
    outside = urlsplit(http.url or "").hostname or ""
    outside = f"[{outside}]" if ":" in outside else outside
    if http.secret_file is not None or not (_is_loopback(http.host) or outside):
        return None
    return frozenset({"localhost", "127.0.0.1", "[::1]", *([outside] if outside else [])})


def _refusal_response(path: str, method: str, allowed: tuple[str, ...], *, trusted: bool) -> Response | None:
    if not trusted and path not in PROBES:
        refusal = PlainTextResponse("credentials needed\n", status_code=401)
        refusal.headers.append("WWW-Authenticate", 'Bearer realm="monitor"')
        refusal.headers.append("WWW-Authenticate", 'Basic realm="monitor", charset="UTF-8"')
        return refusal
    if method not in allowed:
        named = {"Allow": ", ".join(allowed)}
        return PlainTextResponse("only GET and HEAD\n", status_code=405, headers=named)
    return None


def is_of_own_site(request: Request, outside: str | None) -> bool:
    """Whether a form was sent by a page of this server: browsers say of which site a page is.

    `outside`: address from outside, `http.url`: behind a proxy browsers know the server by it.
    """
    sites, origins, referers = (
        request.headers.getlist(name) for name in ("sec-fetch-site", "origin", "referer")
    )
    if any(site != "same-origin" for site in sites):
        return False
    sent = origins or [_origin_of(one) for one in referers]
    own = {_origin_of(f"{request.url.scheme}://{request.headers.get('host', '')}")}
    if outside:
        own.add(_origin_of(outside))
    return len(sent) == 1 and _origin_of(sent[0]) in own - {""}


def _origin_of(address: str) -> str:
    """Scheme, host and port of an address; empty: it has none.

    >>> _origin_of("HTTPS://monitor.example/m/"), _origin_of("http://[::1]:80/"), _origin_of("null")
    ('https://monitor.example', 'http://[::1]:80', '')
    """
    scheme, mark, rest = address.partition("://")
    host = rest.partition("/")[0]
    return f"{scheme}://{host}".lower() if mark and host and "@" not in host else ""


def _has_valid_secret(headers: Headers, secrets: tuple[bytes, ...]) -> bool:
    """Whether a secret was sent; how long that takes tells nothing of it."""
    given = headers.getlist("authorization")
    secret = _sent_secret(given[0]) if len(given) == 1 else None
    digest = hashlib.sha256(b"" if secret is None else secret).digest()
    # A list: to stop at the first that is equal would take less time.
    equal = [hmac.compare_digest(digest, accepted) for accepted in secrets]
    return secret is not None and any(equal)


def basic_user(request: Request) -> str:
    """User that a client with a secret calls itself; empty: none."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(value.strip(), validate=True).partition(b":")[0].decode()
    except (binascii.Error, ValueError):
        return ""


def _sent_secret(authorization: str) -> bytes | None:
    """Secret of an Authorization header: a bearer token, or the password of any user."""
    scheme, _, value = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return value.strip().encode("latin-1")
        case "basic":
            try:
                _, colon, password = b64decode(value.strip(), validate=True).partition(b":")
            except (binascii.Error, ValueError):
                return None
            return password if colon else None
        case _:
            return None


def _is_loopback(host: str) -> bool:
    try:
        addresses = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return True  # it cannot be listened on
    return all(ip_address(address).is_loopback for address in addresses)
