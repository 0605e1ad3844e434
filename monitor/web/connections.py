"""Connections: how long their clients may take, how many there are, how they begin to speak TLS."""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

PATIENCE = 30.0
"""Seconds that a client has to send its next request, or to read the answer."""
MOST = 128
"""Connections at a time."""


class Crowd:
    """Open connections, by when their clients last got an answer, or connected.

    A connection without progress for `PATIENCE` seconds is ended; where there are more than `MOST`, so is
    the one that has made none for the longest: silent ones, however many, keep out nobody who asks at once.
    """

    def __init__(self) -> None:
        # in the order of their last progress
        self._deadlines: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def progress(self, transport: asyncio.Transport) -> None:
        """Give a client its time, anew."""
        self.leave(transport)
        deadline = asyncio.get_running_loop().call_later(PATIENCE, transport.abort)
        self._deadlines[transport] = deadline
        if len(self._deadlines) > MOST:
            longest = next(iter(self._deadlines))
            self.leave(longest)
            longest.abort()

    def leave(self, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        deadline = self._deadlines.pop(transport, None)
        if deadline is not None:
            deadline.cancel()


class Settings(uvicorn.Config):
    """What the connections of a server share.

    Parameters
    ----------
    tls
        certificate of the next connection; None: no TLS.
    """

    def __init__(self, app: Callable[..., Any], tls: Callable[[], ssl.SSLContext] | None) -> None:
        self.crowd = Crowd()
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
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
        )


class PatientProtocol(H11Protocol):
    """HTTP/1.1 of a client in a crowd."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._crowd = _shared(config).crowd

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the client's time."""
        if isinstance(transport, asyncio.Transport):  # always, on asyncio's own loop
            super().connection_made(transport)
            self._crowd.progress(transport)

    def on_response_complete(self) -> None:
        """Give the client time to read and to ask again."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._crowd.progress(self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._crowd.leave(self.transport)
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
        self._settings = _shared(config)
        self._then = partial(PatientProtocol, config, server_state, app_state, _loop)
        self._early = bytearray()
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        if isinstance(transport, asyncio.Transport):
            transport.pause_reading()  # until somebody listens who knows TLS
            self._settings.crowd.progress(transport)
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
            self._settings.crowd.leave(raw)
        if tls is None or tls.is_closing():
            return
        http = self._then()
        tls.set_protocol(http)
        http.connection_made(tls)
        if self._early:
            http.data_received(bytes(self._early))


def _shared(config: uvicorn.Config) -> Settings:
    assert isinstance(config, Settings)
    return config
