"""Deadlines on the client's side: a thread that waits for a server that says nothing is freed.

A limit that the server keeps, as `statement_timeout`, ends no query of a server that hangs; who asks it to
cancel waits for it too. What frees the thread is the end of its socket.
"""

import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from monitor.core.clock import SECOND

CONNECTED = 10.0  # seconds until a server has to have answered who connects, or begins a transaction
MARK = "tcp_user_timeout"  # of libpq: what we sent is acknowledged by then, or the connection is lost
_OPTIONS = {
    "connect_timeout": str(round(CONNECTED)),
    "keepalives_idle": "30",  # these three: a host that is gone is noticed within a minute
    "keepalives_interval": "10",
    "keepalives_count": "3",
}
_LEAST_MS = 30_000
_NUMBERS = count()


def libpq_options(given: Collection[str] = ()) -> dict[str, str]:
    """Parameters of libpq for a connection, without those that are given.

    No other connection has its `tcp_user_timeout`: by this mark `end_marked_sockets` finds its socket.
    """
    options = {name: _OPTIONS[name] for name in _OPTIONS if name not in given}
    return options | {MARK: str(_LEAST_MS + next(_NUMBERS) % _LEAST_MS)}


def answered_within(statement_timeout: int) -> float:
    """Seconds until a server has to have answered a query that it ends itself after so many microseconds."""
    return statement_timeout / SECOND + CONNECTED


@contextmanager
def enforce_deadline(seconds: float, end: Callable[[], None]) -> Iterator[None]:
    """Call `end` from another thread if what runs meanwhile takes too long.

    Raises
    ------
    TimeoutError
        in place of any error that this has caused.
    """
    late = threading.Event()

    def ended() -> None:
        late.set()
        end()

    timer = threading.Timer(seconds, ended)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            raise TimeoutError(f"nothing came for {seconds:g} s, the connection was ended") from error
        raise
    finally:
        timer.cancel()


def end_marked_sockets(mark: int) -> None:
    """End the sockets of this process whose `tcp_user_timeout` is a mark, for drivers that hide theirs."""
    for descriptor in Path("/dev/fd").iterdir():
        end_socket(int(descriptor.name), mark)


def end_socket(descriptor: int, mark: int | None = None) -> None:
    """End a socket under the driver that waits for it; None: whatever its mark is.

    Nothing is closed here, not even a copy: whoever closes any descriptor of a file drops all locks that the
    process has on that file (POSIX, fcntl), and a descriptor may be that of a database of SQLite.
    """
    with suppress(OSError, AttributeError):  # no socket, or no such mark, as on macOS
        connection = socket.socket(fileno=descriptor)
        try:
            if mark is None or connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == mark:
                connection.shutdown(socket.SHUT_RDWR)
        finally:
            connection.detach()


def bound_waits(seconds: float, connection: Any, _record: object = None) -> None:
    """Let each wait of a connection of psycopg for its server end in time."""
    wait = connection.wait

    def bounded(*given: Any, **named: Any) -> Any:
        try:
            with enforce_deadline(seconds, lambda: end_socket(connection.fileno())):
                return wait(*given, **named)
        except TimeoutError as error:
            raise connection.OperationalError(str(error)) from error

    connection.wait = bounded
