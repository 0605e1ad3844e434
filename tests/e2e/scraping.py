"""A real Prometheus, on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import servers
from process import Process

CONFIG = """
global: {{ scrape_interval: {every}, scrape_timeout: {every}, evaluation_interval: 1s }}
scrape_configs:
  - job_name: monitor
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A server to ask."""

    process: Process
    client: httpx.Client

    def ask(self, path: str, **parameters: str) -> Any:
        """Data of an answer of its HTTP interface; fails with its words on an error."""
        answer = self.client.get(f"/api/v1/{path}", params=parameters).json()
        assert answer["status"] == "success", f"{answer.get('error')}: {parameters}"
        return answer["data"]

    def query(self, expression: str) -> list[Any]:
        """Series of an instant query."""
        found: list[Any] = self.ask("query", query=expression)["result"]
        return found

    def values(self, selector: str, label: str) -> list[str]:
        """Values of a label in series, as a dashboard's variable lists them."""
        found: list[str] = self.ask(f"label/{label}/values", **{"match[]": selector})
        return found


@contextmanager
def prometheus(
    directory: Path, scraped: int, *options: str, more: str = "", every: str = "1s"
) -> Iterator[Prometheus]:
    """Prometheus on a monitor's port; `more` stands in its configuration besides."""
    program, port = servers.program("prometheus", package="prometheus"), servers.free_port()
    (directory / "prometheus.yml").write_text(
        CONFIG.format(port=scraped, every=every) + more, encoding="utf-8"
    )
    command = [program, "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn", *options]
    process = Process(command, port, directory / "prometheus.log")
    process.start()
    try:
        process.wait(lambda: process.status("/-/ready") == 200, "Prometheus")
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield Prometheus(process, client)
    finally:
        process.kill()
