"""The HTTP side: metrics, health, readiness. It hands out bytes that others made."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Protocol

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from monitor.core.errors import ConfigurationError
from monitor.exposition.accept import likes

PATIENCE = 30.0
"""Seconds that a client has to send its next request, or to read the answer."""
MAX_CONNECTIONS = 64
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


class Metrics(Protocol):
    """The page of metrics."""

    def render(self, accept: str) -> tuple[bytes, str]:
        """Page and content type for an Accept header."""
        ...

    def render_gzip(self, accept: str) -> tuple[bytes, str]:
        """Pack the same."""
        ...


def make_app(metrics: Metrics, *, healthy: Check, ready: Check, noted: Check = lambda: None) -> Starlette:
    """Application with `/`, `/metrics`, `/healthz` and `/readyz`.

    Parameters
    ----------
    healthy, ready
        what is wrong, or None; a fault is answered with 503 and its text.
    noted
        what there is to say of a health without fault, or None.
    """

    async def show_metrics(request: Request) -> Response:
        accept = request.headers.get("accept", "")
        headers = {"Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            # Packed once a commit, but not while other requests wait.
            body, content_type = await asyncio.to_thread(metrics.render_gzip, accept)
            headers["Content-Encoding"] = "gzip"
        else:
            body, content_type = metrics.render(accept)
        return Response(body, headers=headers | {"Content-Type": content_type})

    async def show_health(_request: Request) -> Response:
        return _verdict(healthy(), noted())

    async def show_readiness(_request: Request) -> Response:
        return _verdict(ready())

    async def show_index(_request: Request) -> Response:
        return HTMLResponse(_INDEX)

    return Starlette(
        routes=[
            Route("/", show_index),
            Route("/metrics", show_metrics),
            Route("/healthz", show_health),
            Route("/readyz", show_readiness),
        ]
    )


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding header admits gzip.

    >>> accepts_gzip("deflate, gzip;q=0.5"), accepts_gzip("gzip;q=0"), accepts_gzip("")
    (True, False, False)
    """
    liked = likes(accept_encoding)
    return liked.get("gzip", liked.get("*", 0.0)) > 0


def _verdict(fault: str | None, note: str | None = None) -> Response:
    if fault is not None:
        return PlainTextResponse(f"{fault}\n", status_code=503)
    return PlainTextResponse("ok\n" if note is None else f"ok\n{note}\n")


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that ends connections whose client neither asks nor reads for `PATIENCE` seconds.

    Without it, a few dozen silent connections use up all that are admitted.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the client's time."""
        if isinstance(transport, asyncio.Transport):  # always, on asyncio's own loop
            super().connection_made(transport)
            self._extend()

    def on_response_complete(self) -> None:
        """Give the client time to read and to ask again."""
        super().on_response_complete()
        self._extend()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client's time."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _extend(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(PATIENCE, self.transport.abort)


class Server:
    """Serves an application from a thread of its own.

    Parameters
    ----------
    host, port
        to listen on; port 0 takes a free one, see `port`.
    """

    def __init__(self, app: Starlette, *, host: str = "127.0.0.1", port: int = 9839) -> None:
        self._app = app
        self._host = host
        self._port = port
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Port that is listened on."""
        return self._port

    def start(self) -> None:
        """Listen and serve; requests are answered from now on.

        Raises
        ------
        ConfigurationError
            if the address cannot be listened on.
        """
        listening = listen(self._host, self._port)
        self._port = listening.getsockname()[1]
        self._server = uvicorn.Server(_settings(self._app))
        self._thread = threading.Thread(
            target=self._server.run, args=([listening],), name="http", daemon=True
        )
        self._thread.start()
        log = structlog.stdlib.get_logger("monitor.web")
        log.info("listening", metrics=f"http://{self._host}:{self._port}/metrics")

    def stop(self, timeout: float = 5.0) -> None:
        """Answer what was asked, then close; waits at most `timeout` seconds."""
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(timeout)


def listen(host: str, port: int) -> socket.socket:
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
        raise _refused(host, port, error) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(MAX_CONNECTIONS)
    except OSError as error:
        listening.close()
        raise _refused(host, port, error) from error
    return listening


def _refused(host: str, port: int, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        [f"http.host, http.port: cannot listen on {host}, port {port}: {error.strerror or error}"]
    )


def _settings(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=2,
    )
