"""The real daemon in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from prometheus_client import parser as text_parser
from prometheus_client.core import Metric

from monitor.core.clock import SECOND, to_iso

PATIENCE = 120.0  # a busy machine is no failure
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]

_parse: Callable[[str], Iterable[Metric]] = text_parser.text_string_to_metric_families


@dataclass(slots=True)
class Process:
    """A command that serves over HTTP and logs JSON to a file; it runs beside that file."""

    command: list[str]
    port: int
    log_file: Path
    process: subprocess.Popen[bytes] | None = field(default=None)
    environ: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> None:
        """Start it; the log goes on where it ended."""
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.log_file.parent,
                env={**os.environ, **self.environ},
            )

    def started(self) -> None:
        """Start it, and wait until it is ready."""
        self.start()
        self.wait(lambda: self.status("/readyz") == 200, "readiness")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Send a signal; the exit code, and the seconds it took."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process = None
        return code, time.monotonic() - began

    def kill(self) -> None:
        """End it, should it still run."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def status(self, path: str) -> int | None:
        """Status of an answer; None: there is none."""
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=30).status_code
        except httpx.TransportError:
            return None

    def text(self, path: str) -> str:
        """Text of an answer."""
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=30).text

    def page(self) -> str:
        """Page of metrics."""
        return httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=30).text

    def series(self, prefix: str = "model_monitor_") -> Series:
        """Values by name and non-empty labels."""
        return {
            (sample.name.removeprefix(prefix), labelled(sample.labels)): float(sample.value)
            for family in _parse(self.page())
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float | None:
        """Value of a series."""
        return self.series().get((name, labelled(labels)))

    def lines(self) -> Iterator[dict[str, Any]]:
        """Lines of the log."""
        for line in self.log_file.read_text(encoding="utf-8").splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def logged(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """Lines of an event whose fields are these."""
        return [line for line in self.lines() if fields.items() <= line.items() and line["event"] == event]

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if condition():
                return
            assert self.process is None or self.process.poll() is None, self._tail()
            time.sleep(0.1)
        raise AssertionError(f"waited in vain for {what}: {self._tail()}")

    def wait_cycle(self, model: str, event: str = "cycle") -> dict[str, Any]:
        """Wait for a cycle whose tick comes after this moment and that ends so; its line in the log.

        One that fails is tried again as of its own tick: of these any that fails after this moment.
        """
        since = to_iso(-(-time.time_ns() // 1_000_000_000) * SECOND)
        told = "as_of" if event == "cycle" else "timestamp"

        def found() -> list[dict[str, Any]]:
            return [line for line in self.logged(event, model=model) if line[told] >= since]

        self.wait(lambda: bool(found()), f"{event} of {model}")
        return found()[0]

    def first_cycle(self, model: str) -> dict[str, Any]:
        """Wait for a model's first successful cycle; its line in the log."""
        self.wait(lambda: bool(self.logged("cycle", model=model)), f"a cycle of {model}")
        return self.logged("cycle", model=model)[0]

    def _tail(self) -> str:
        return self.log_file.read_text(encoding="utf-8", errors="replace")[-3_000:]


def labelled(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Labels that say something."""
    return frozenset((name, value) for name, value in labels.items() if value)


def monitor(*arguments: str) -> list[str]:
    """Command line."""
    return [sys.executable, "-m", "monitor.cli", *arguments]


@contextmanager
def daemon(config: Path, port: int, environ: Mapping[str, str] | None = None) -> Iterator[Process]:
    """`monitor run`, not yet started; ended afterwards."""
    command = monitor("run", "--config", str(config))
    running = Process(command, port, config.with_name("daemon.log"), environ=environ or {})
    try:
        yield running
    finally:
        running.kill()
