"""The HTTP side: metrics, health, readiness. It hands out bytes that others made."""

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Protocol

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from monitor.core.errors import ConfigurationError
from monitor.core.text import readable_lines
from monitor.web.answers import PageSource, accepts_gzip
from monitor.web.client_connections import MOST, PacedServer, ServerConfig
from monitor.web.decision_form import DecisionForm
from monitor.web.guard import RequestGuard, Secrets, is_trusted
from monitor.web.page_handler import make_pages_endpoint

_INDEX = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>monitor</title></head><body>
<h1>monitor</h1>
<ul>
<li><a href="/metrics">/metrics</a>: current measurements and the daemon's own health, for Prometheus</li>
<li><a href="/healthz">/healthz</a>: 200 while cycles are run and succeed</li>
<li><a href="/readyz">/readyz</a>: 200 once the last measurements are restored</li>
</ul>
</body></html>
"""

Check = Callable[[], str | None]
"""Answers None if all is well, else what is wrong."""


class MetricsSource(Protocol):
    """The page of metrics."""

    def render_page(self, accept: str) -> tuple[bytes, str]:
        """Page and content type for an Accept header."""
        ...

    def render_gzip(self, accept: str) -> tuple[bytes, str]:
        """Pack the same."""
        ...


def make_app(
    metrics: MetricsSource | None,
    *,
    healthy: Check,
    ready: Check,
    noted: Check = lambda: None,
    secrets: Secrets | None = None,
    pages: PageSource | None = None,
    hosts: frozenset[str] | None = None,
    form: DecisionForm | None = None,
) -> Starlette:
    """Application with `/metrics`, `/healthz` and `/readyz`, and with pages or `/` alone.

    Parameters
    ----------
    metrics
        None: there is no `/metrics`.
    healthy, ready
        what is wrong, or None; a fault is answered with 503 and its text.
    noted
        what there is to say of a health without fault, or None.
    secrets
        who sends none of them is told whether the service is well, not why; None: everybody is answered.
    pages, hosts
        what all other paths show, and by which hosts they may be asked for; None: nothing; any.
    form
        by which people decide; None: nothing is changed by the port.
    """

    async def show_metrics(request: Request) -> Response:
        if metrics is None:
            return PlainTextResponse("no metrics are kept here\n", status_code=404)
        accept = request.headers.get("accept", "")
        headers = {"Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            # Packed once a commit, but not while other requests wait.
            body, content_type = await asyncio.to_thread(metrics.render_gzip, accept)
            headers["Content-Encoding"] = "gzip"
        else:
            body, content_type = metrics.render_page(accept)
        return Response(body, headers=headers | {"Content-Type": content_type})

    async def show_health(request: Request) -> Response:
        return _health_response(healthy(), noted(), trusted=is_trusted(request))

    async def show_readiness(request: Request) -> Response:
        return _health_response(ready(), None, trusted=is_trusted(request))

    async def show_index(_request: Request) -> Response:
        return HTMLResponse(_INDEX)

    app = Starlette(
        routes=[
            Route("/metrics", show_metrics),
            Route("/healthz", show_health),
            Route("/readyz", show_readiness),
            Route("/", show_index)
            if pages is None
            else Route("/{path:path}", make_pages_endpoint(pages, hosts, form), methods=["GET", "POST"]),
        ],
        middleware=[Middleware(RequestGuard, secrets=secrets, forms=form is not None and pages is not None)],
    )
    app.state.takes_forms = form is not None
    app.router.redirect_slashes = False  # it would redirect to whichever host the client names
    return app


def _health_response(fault: str | None, note: str | None, *, trusted: bool) -> Response:
    if fault is not None:
        return PlainTextResponse(f"{readable_lines(fault)}\n" if trusted else "not ok\n", status_code=503)
    return PlainTextResponse(f"ok\n{readable_lines(note)}\n" if trusted and note is not None else "ok\n")


class ThreadedServer:
    """Serves an application from a thread of its own.

    Parameters
    ----------
    host, port
        to listen on; port 0 takes a free one, see `port`.
    tls
        certificate of the next connection; None: no TLS.
    """

    def __init__(
        self,
        app: Starlette,
        *,
        host: str = "127.0.0.1",
        port: int = 9839,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._app = app
        self._tls = tls
        self._host = host
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._listening: socket.socket | None = None

    @property
    def port(self) -> int:
        """Port that is listened on."""
        return self._port

    def start_serving(self) -> None:
        """Listen and serve; requests are answered from now on.

        Raises
        ------
        ConfigurationError
            if the address cannot be listened on.
        """
        listening = self._listening = open_listening_socket(self._host, self._port)
        self._port = listening.getsockname()[1]
        self._server = PacedServer(
            ServerConfig(self._app, self._tls, takes_forms=self._app.state.takes_forms)
        )
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), name="http", daemon=True
        )
        self._thread.start()
        log = structlog.stdlib.get_logger("monitor.web")
        scheme = "http" if self._tls is None else "https"
        log.info("listening", metrics=f"{scheme}://{self._host}:{self._port}/metrics")

    def stop_serving(self, timeout: float = 5.0) -> None:
        """Answer what was asked, then close; waits at most `timeout` seconds."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(timeout)
        if self._listening is not None:
            self._listening.close()  # older versions of uvicorn leave it open if they are stopped at once


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Socket that listens on an address.

    Raises
    ------
    ConfigurationError
        if the address is taken, unknown or forbidden.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _listen_error(host, port, error) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(MOST)
    except OSError as error:
        listening.close()
        raise _listen_error(host, port, error) from error
    return listening


def _listen_error(host: str, port: int, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        [f"http.host, http.port: cannot listen on {host}, port {port}: {error.strerror or error}"]
    )
