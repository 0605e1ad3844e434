"""Receivers on loopback, for tests of channels: of a webhook, of mail."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


@dataclass(repr=False)
class Receiver:
    """What was posted, and what is answered: one after the other, then 200."""

    port: int = 0
    answers: list[int] = field(default_factory=list)
    echo: bool = False
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    taking: threading.Lock = field(default_factory=threading.Lock)

    def url(self, path: str = "/hook", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        with self.taking:
            self.paths.append(path)
            self.headers.append(headers)
            self.bodies.append(json.loads(body))
            return self.answers.pop(0) if self.answers else 200


@contextmanager
def receiver(*answers: int) -> Iterator[Receiver]:
    """A receiver that runs."""
    found = Receiver(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = found.take(self.path, dict(self.headers), body)
            self.send_response(status, f"no {unquote(self.path)}" if found.echo else None)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")  # Slack's own answer

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(repr=False)
class Mailbox:
    """Mails that came."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A mail server that takes everything."""
    found = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say(220)
            while line := self.rfile.readline():
                match line.split()[0].upper():
                    case b"DATA":
                        self._say(354)
                        found.mails.append(self._mail())
                        self._say(250)
                    case b"QUIT":
                        self._say(221)
                        return
                    case _:
                        self._say(250)

        def _mail(self) -> EmailMessage:
            lines = list(iter(self.rfile.readline, b".\r\n"))
            whole = b"".join(line.removeprefix(b".") for line in lines)
            mail = message_from_bytes(whole, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            return mail

        def _say(self, code: int) -> None:
            self.wfile.write(f"{code} well\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        found.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
