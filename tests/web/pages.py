"""What a server under test serves."""

import gzip
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import servers

from monitor.specs.settings import HttpSpec
from monitor.web.server import ThreadedServer, make_app
from monitor.web.server_files import make_certificate_reloader, make_secrets_reloader

PAGE = b"# HELP a A.\n# TYPE a gauge\na 1.0\n"


@dataclass
class Faults:
    """What the checks answer."""

    health: str | None = None
    readiness: str | None = None


@dataclass
class Page:
    """Serves a fixed page."""

    body: bytes = PAGE

    def render_page(self, accept: str) -> tuple[bytes, str]:
        kind = "application/openmetrics-text" if "openmetrics" in accept else "text/plain"
        return self.body, kind

    def render_gzip(self, accept: str) -> tuple[bytes, str]:
        body, kind = self.render_page(accept)
        return gzip.compress(body), kind


@contextmanager
def serving(
    http: HttpSpec, base: Path, page: Page | None = None, faults: Faults | None = None
) -> Iterator[ThreadedServer]:
    """Server with the TLS and the secrets of a configuration."""
    said = faults or Faults()
    app = make_app(
        page or Page(),
        healthy=lambda: said.health,
        ready=lambda: said.readiness,
        noted=lambda: "stands aside",
        secrets=make_secrets_reloader(http, base),
    )
    server = ThreadedServer(app, port=0, tls=make_certificate_reloader(http, base))
    server.start_serving()
    try:
        yield server
    finally:
        server.stop_serving()


def make_certificate(directory: Path, name: str) -> None:
    """NAME.pem and NAME.key: a certificate for 127.0.0.1 that signs itself."""
    openssl = servers.program("openssl", package="openssl")
    making = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    named = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(directory / f"{name}.key"), "-out", str(directory / f"{name}.pem")]
    subprocess.run([openssl, *making, *named, *files], check=True, capture_output=True)
