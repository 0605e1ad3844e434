"""Servers that say nothing: one that accepts and never answers, a way to a real one that can be stopped."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import make_url


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """Port of a server that accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:  # the kernel accepts for it
        yield int(listening.getsockname()[1])


@dataclass(slots=True)
class Proxy:
    """A way to a server that forwards, or holds back what comes.

    Parameters
    ----------
    passing
        set: it forwards.
    left
        bytes that the server may still send before it holds back by itself; None: any number.
    """

    to: tuple[str, int]
    listening: socket.socket
    passing: threading.Event = field(default_factory=threading.Event)
    left: int | None = None
    connections: list[socket.socket] = field(default_factory=list)

    def hold(self, after: int | None = None) -> None:
        """Forward nothing, from now on or after so many bytes of the server."""
        self.left = after
        if after is None:
            self.passing.clear()

    def forward(self) -> None:
        """Forward what was held back, and what comes."""
        self.left = None
        self.passing.set()

    def url(self, url: str) -> str:
        """URL of the server, by this way."""
        port = self.listening.getsockname()[1]
        return make_url(url).set(host="127.0.0.1", port=port).render_as_string(hide_password=False)

    def accept(self) -> None:
        """Take connections until the end."""
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listening.accept()
                far = socket.create_connection(self.to)
                self.connections += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        from_server = one.getpeername() == self.to
        with contextlib.suppress(OSError):
            while found := one.recv(4_096):
                if from_server and self.left is not None:
                    self.left -= len(found)
                    if self.left < 0:
                        self.hold()
                self.passing.wait()
                other.sendall(found)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """A way to the server of a URL."""
    at = make_url(url)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        made = Proxy((at.host or "127.0.0.1", int(at.port or 5432)), listening)
        made.forward()
        threading.Thread(target=made.accept, daemon=True).start()
        try:
            yield made
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            made.forward()
            for one in made.connections:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
