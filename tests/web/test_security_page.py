"""The examples of docs/security.md work: the configuration, and Prometheus with its scrape_config."""

import re
import subprocess
import time
import tomllib
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest
import servers
from pages import Page, make_certificate, serving
from pydantic import TypeAdapter

from monitor.config.schema import HttpTable, SourceTable, StoreTable
from monitor.specs.settings import HttpSpec
from monitor.web.server import ThreadedServer

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
FENCE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
PATIENCE = 60.0


def examples(kind: str) -> list[str]:
    return [text for name, text in FENCE.findall(PAGE.read_text(encoding="utf-8")) if name == kind]


def test_the_configurations_are_valid() -> None:
    port, databases = map(tomllib.loads, examples("toml"))

    http: HttpSpec = TypeAdapter(HttpTable).validate_python(port["http"])
    TypeAdapter(StoreTable).validate_python(databases["store"])
    TypeAdapter(SourceTable).validate_python(databases["sources"]["serving"])

    assert None not in asdict(http).values()


@pytest.mark.promtool
def test_prometheus_scrapes_with_tls_and_the_secret(tmp_path: Path) -> None:
    make_certificate(tmp_path, "one")
    (tmp_path / "secret").write_text("a-secret-of-many-letters\n", encoding="utf-8")
    http = HttpSpec(tls_certificate="one.pem", tls_key="one.key", secret_file=str(tmp_path / "secret"))

    with serving(http, tmp_path, Page(b"# TYPE a gauge\na 1.0\n# EOF\n")) as server:
        up = asked_of_prometheus(tmp_path, server)

    assert up == "1"


def asked_of_prometheus(directory: Path, server: ThreadedServer) -> str:
    """Value of `up` once a Prometheus with the page's configuration has scraped."""
    (text,) = examples("yaml")
    for old, new in (
        ("/etc/prometheus/monitor-ca.pem", f"{directory}/one.pem"),
        ("/etc/prometheus/monitor-secret", f"{directory}/secret"),
        ("monitor.example:9839", f"127.0.0.1:{server.port}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (directory / "prometheus.yml").write_text(f"global: {{ scrape_interval: 1s }}\n{text}", encoding="utf-8")
    port = servers.free_port()
    program = servers.program("prometheus", package="prometheus")
    options = ["--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    options.append(f"--web.listen-address=127.0.0.1:{port}")
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen([program, *options], cwd=directory, stdout=log, stderr=log) as process,
    ):
        try:
            return scraped(f"http://127.0.0.1:{port}/api/v1/query?query=up")
        finally:
            process.kill()


def scraped(url: str) -> str:
    """The first value that there is."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            found = httpx.get(url, trust_env=False, timeout=30).json()["data"]["result"]
        except (httpx.TransportError, ValueError, KeyError):
            found = []
        if found:
            return str(found[0]["value"][1])
        time.sleep(0.2)
    raise AssertionError("Prometheus has scraped nothing")
