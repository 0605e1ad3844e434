"""Connections: how long clients may take, how many there are, how much is read, how they begin TLS."""

import asyncio
import errno
import math
import re
import resource
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
import uvicorn
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol
from uvicorn.server import ServerState

PATIENCE = 30.0
"""Seconds that a client has to send its next request, or to read the answer."""
MOST = 128
"""Connections at a time, and as many that wait to be taken."""
LARGEST = 16 * 1024
"""Bytes of a request: its line and its headers."""
LARGEST_FORM = 8 * 1024
"""Bytes of the body of a form, where forms are taken; else nothing is read behind the headers."""
LINGERING = 1.0
"""Seconds in which a client that was answered may still send; what it sends is forgotten."""
_DESCRIPTORS = 4  # that the process may open for each: the others are for stores, sources, the log
_SILENCE = 600.0  # seconds between lines about what fails again and again
_NONE_LEFT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_END = re.compile(rb"\n\r?\n")  # of the headers, as h11 has it


class OpenConnections:
    """Open connections, by when their clients last got an answer, or connected.

    A connection without progress for `PATIENCE` seconds is ended; where there are more than `most`, so is
    the one that has made none for the longest: silent ones, however many, keep out nobody who asks at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # in the order of their last progress
        self._deadlines: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def note_progress(self, transport: asyncio.Transport) -> None:
        """Give a client its time, anew."""
        self.forget_connection(transport)
        deadline = asyncio.get_running_loop().call_later(PATIENCE, transport.abort)
        self._deadlines[transport] = deadline
        if len(self._deadlines) > self._most:
            longest = next(iter(self._deadlines))
            self.forget_connection(longest)
            longest.abort()

    def forget_connection(self, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        deadline = self._deadlines.pop(transport, None)
        if deadline is not None:
            deadline.cancel()


def most_connections() -> int:
    """How many may be open: `MOST`, or fewer where the process may open few descriptors."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if limit == resource.RLIM_INFINITY else max(1, min(MOST, limit // _DESCRIPTORS))


class ServerConfig(uvicorn.Config):
    """What the connections of a server share.

    Parameters
    ----------
    tls
        certificate of the next connection; None: no TLS.
    takes_forms
        whether the body of a POST is read, up to `LARGEST_FORM`.
    """

    def __init__(
        self, app: Callable[..., Any], tls: Callable[[], ssl.SSLContext] | None, *, takes_forms: bool = False
    ) -> None:
        self.takes_forms = takes_forms
        self.crowd = OpenConnections(most_connections())
        self.tls = tls
        super().__init__(
            app,
            http=PatientProtocol if tls is None else TlsProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="error",  # what clients send is no reason to write a line
            access_log=False,
            server_header=False,
            proxy_headers=False,
            headers=[("Connection", "close")],
            timeout_graceful_shutdown=2,
            # asyncio takes so many before the crowd sees any, and where no descriptor is left, it fails that
            # often before it pauses for a second
            backlog=1,
        )


class PacedServer(uvicorn.Server):
    """Takes connections one by one, and says once in a while if the system gives none."""

    _last_line = -math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        asyncio.get_running_loop().set_exception_handler(self._handle_loop_failure)
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(MOST)  # more may wait than are taken at a time

    def _handle_loop_failure(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NONE_LEFT:
            loop.default_exception_handler(context)
        elif loop.time() >= self._last_line + _SILENCE:
            self._last_line = loop.time()
            log = structlog.stdlib.get_logger("monitor.web")
            log.error("new connections wait: the process can open no more (ulimit -n)", reason=error.strerror)


class LingeringTransport(asyncio.Transport):
    """A transport that is closed at once, or, if it `waits`, a moment later.

    Closed beside something that is still unread, it would take back the answer.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self.waits = False
        self._transport, self._ending = transport, False
        for name in ("write", "abort", "pause_reading", "resume_reading", "get_extra_info"):
            setattr(self, name, getattr(transport, name))

    def is_closing(self) -> bool:
        """Whether nothing more is said."""
        return self._ending or self._transport.is_closing()

    def close(self) -> None:
        """Say no more."""
        if self.is_closing():
            return
        self._ending = True
        if self.waits:
            self._transport.resume_reading()
            asyncio.get_running_loop().call_later(LINGERING, self._transport.close)
        else:
            self._transport.close()


class PatientProtocol(H11Protocol):
    """One request of a client in a crowd: its headers are read, and nothing behind them but a small form.

    So nothing can be wrong with a body, no header is longer than its bound however it comes, and who asks
    again and again without reading gets one answer.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._crowd = _server_config(config).crowd
        self._head = bytearray()
        self._read = False  # all of the headers
        self._takes_forms = _server_config(config).takes_forms
        self._room = 0  # bytes of a form that are still taken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the client's time."""
        if isinstance(transport, asyncio.Transport):  # always, on asyncio's own loop
            self._real, self._lingering = transport, LingeringTransport(transport)
            super().connection_made(self._lingering)
            self._crowd.note_progress(transport)

    def data_received(self, data: bytes) -> None:
        """Read the headers, and a form; forget what comes behind them."""
        if self._read:
            self._read_form(data)
            return
        before = len(self._head)
        self._head += data
        end = _END.search(self._head, max(0, before - 2))
        self._read = end is not None
        size = len(self._head) if end is None else end.end()
        if size > LARGEST:
            self._refuse_request(431, "request header fields too large")
        else:
            super().data_received(bytes(self._head[before:size]))
            unread = len(self._head) > size or getattr(self.cycle, "more_body", True)
            self._lingering.waits |= self._read and unread
            if self._read and self._takes_forms and self._head.startswith(b"POST "):
                self._room = LARGEST_FORM
                self._read_form(bytes(self._head[size:]))

    def _read_form(self, data: bytes) -> None:
        taken = data[: self._room]
        self._room -= len(taken)
        if taken:
            super().data_received(taken)

    def send_400_response(self, _msg: str) -> None:
        """Refuse what is no HTTP."""
        self._refuse_request(400, "this is no HTTP request")

    def _refuse_request(self, status: int, text: str) -> None:
        self._read = self._lingering.waits = True
        if self.transport.is_closing():
            return
        lines = [
            f"HTTP/1.1 {status} {STATUS_PHRASES[status].decode()}",
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(text) + 1}",
            "Connection: close",
        ]
        self.transport.write("\r\n".join([*lines, "", f"{text}\n"]).encode())
        self.transport.close()

    def on_response_complete(self) -> None:
        """Give the client time to read; one that sent more than it may makes room before others."""
        super().on_response_complete()
        if not self._real.is_closing() and not self._lingering.waits:
            self._crowd.note_progress(self._real)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._crowd.forget_connection(self._real)
        super().connection_lost(exc)


class TlsProtocol(asyncio.Protocol):
    """A client that has to shake hands; from then on another protocol speaks with it.

    The handshake is begun here and not by the listening socket, so that its time and the number of clients
    are bounded as of any other, and so that each has the certificate of its moment.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._settings = _server_config(config)
        self._then = partial(PatientProtocol, config, server_state, app_state, _loop)
        self._early = bytearray()
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        if isinstance(transport, asyncio.Transport):
            transport.pause_reading()  # until somebody listens who knows TLS
            self._settings.crowd.note_progress(transport)
            self._handshake = asyncio.create_task(self._shake_hands(transport))

    def data_received(self, data: bytes) -> None:
        """Keep what came together with the end of the handshake."""
        self._early += data

    async def _shake_hands(self, raw: asyncio.Transport) -> None:
        make = self._settings.tls
        assert make is not None
        try:
            tls = await asyncio.get_running_loop().start_tls(
                raw, self, make(), server_side=True, ssl_handshake_timeout=PATIENCE
            )
        except OSError:
            raw.abort()
            return
        finally:
            self._settings.crowd.forget_connection(raw)
        if tls is None or tls.is_closing():
            return
        http = self._then()
        tls.set_protocol(http)
        http.connection_made(tls)
        if self._early:
            http.data_received(bytes(self._early))


def _server_config(config: uvicorn.Config) -> ServerConfig:
    assert isinstance(config, ServerConfig)
    return config
