"""A real Prometheus with rules, a real Alertmanager, and somebody who is told: all on loopback."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import servers
from process import PATIENCE, Process
from receivers import Receiver, receiver
from scraping import prometheus

ROOT = Path(__file__).parent.parent.parent
RULES = """
rule_files: [rules.yaml]
alerting: {{ alertmanagers: [{{ static_configs: [{{ targets: ["127.0.0.1:{port}"] }}] }}] }}
"""
WEBHOOK = '    webhook_configs: [{{ url: "http://127.0.0.1:{port}/{name}", send_resolved: true }}]\n'
QUICK = {"group_wait: 30s": "group_wait: 0s", "group_interval: 5m": "group_interval: 1s"}


@dataclass(frozen=True, slots=True)
class Told:
    """What was delivered: each message's alerts, in order, with the path that they came to."""

    receiver: Receiver

    @property
    def alerts(self) -> list[dict[str, Any]]:
        with self.receiver.taking:
            messages = list(zip(self.receiver.paths, self.receiver.bodies, strict=True))
        return [alert | {"path": path} for path, message in messages for alert in message["alerts"]]

    def of(self, status: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Alerts that came as firing or resolved, and have these labels."""
        return [
            alert
            for alert in self.alerts
            if alert["status"] == status and labels.items() <= alert["labels"].items()
        ]

    def wait(self, status: str, labels: Mapping[str, str], after: int = 0) -> dict[str, Any]:
        """Wait for the next alert like that, after so many."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if len(found := self.of(status, labels)) > after:
                return found[after]
            time.sleep(0.1)
        came = [(one["status"], one["labels"]) for one in self.alerts]
        raise AssertionError(f"waited in vain for {status} {labels}; what came: {came}")


@contextmanager
def stack(directory: Path, rules: str, monitor: int) -> Iterator[Told]:
    """Prometheus that scrapes a monitor and judges by rules, and Alertmanager behind it; what they tell."""
    program = servers.program("prometheus-alertmanager", package="prometheus-alertmanager")
    with ExitStack() as stack:
        told = Told(stack.enter_context(receiver()))
        port, example = servers.free_port(), ROOT / "docker" / "alertmanager" / "alertmanager.yml"
        text = example.read_text(encoding="utf-8")
        for name in ("everybody", "on-call"):
            hook = WEBHOOK.format(port=told.receiver.port, name=name)
            text = text.replace(f"  - name: {name}\n", f"  - name: {name}\n{hook}")
        for slow, quick in QUICK.items():
            assert slow in text
            text = text.replace(slow, quick)
        (directory / "alertmanager.yml").write_text(text, encoding="utf-8")
        command = [program, "--config.file=alertmanager.yml", "--log.level=warn", "--storage.path=told"]
        command += ["--cluster.listen-address=", f"--web.listen-address=127.0.0.1:{port}"]
        process = Process(command, port, directory / "alertmanager.log")
        stack.callback(process.kill)
        process.start()
        process.wait(lambda: process.status("/-/ready") == 200, "Alertmanager")
        (directory / "rules.yaml").write_text(rules, encoding="utf-8")
        resend, more = "--rules.alert.resend-delay=1s", RULES.format(port=port)
        stack.enter_context(prometheus(directory, monitor, resend, more=more, every="2s"))
        yield told
