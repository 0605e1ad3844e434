"""What the monitor says of silencing an alert, done in a real Alertmanager."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
import servers
from alerting import ROOT
from process import Process

from monitor.alerts.alert_rules import AlertedSeries
from monitor.app.alert_decisions import Decision
from monitor.app.alerts.alert_acceptance import silence_command

pytestmark = pytest.mark.alertmanager
ODD = 'feature:a "b", {c}=\\ $(d) é'


def test_the_command_silences_that_alert_alone(tmp_path: Path) -> None:
    server = servers.program("prometheus-alertmanager", package="prometheus-alertmanager")
    port, example = servers.free_port(), ROOT / "docker" / "alertmanager" / "alertmanager.yml"
    command = [server, f"--config.file={example}", f"--storage.path={tmp_path}", "--cluster.listen-address="]
    process = Process([*command, f"--web.listen-address=127.0.0.1:{port}"], port, tmp_path / "log")

    def amtool(*arguments: str) -> str:
        program = servers.program("amtool", package="prometheus-alertmanager")
        done = subprocess.run(
            [program, f"--alertmanager.url=http://127.0.0.1:{port}", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    process.start()
    try:
        process.wait(lambda: process.status("/-/ready") == 200, "Alertmanager")
        subject = ODD.replace("\\", "\\\\").replace('"', '\\"')
        labels = ["alertname=ModelChanged", "model=late", "rule=changed", f'subject="{subject}"']
        amtool("alert", "add", *labels)
        amtool("alert", "add", *labels, 'segment="carrier=AA"')
        told = silence_command(
            "late", AlertedSeries("changed", subject=ODD), Decision(0, "ada", """why "so"; it's""")
        )

        amtool(*shlex.split(told)[1:])

        for option, segment in (("--silenced", None), ("--active", "carrier=AA")):
            (found,) = json.loads(amtool("alert", "query", option, "-o", "json"))
            assert (found["labels"]["subject"], found["labels"].get("segment")) == (ODD, segment)
    finally:
        process.kill()
