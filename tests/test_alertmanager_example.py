import subprocess
from pathlib import Path

import pytest
import servers
import yaml

from monitor.exposition.alert_metrics import LABELS

EXAMPLE = Path(__file__).parent.parent / "docker" / "alertmanager" / "alertmanager.yml"

pytestmark = pytest.mark.alertmanager


def amtool(*arguments: str) -> str:
    path = servers.program("amtool", package="prometheus-alertmanager")
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alertmanager_finds_nothing_to_object_to() -> None:
    assert "SUCCESS" in amtool("check-config", str(EXAMPLE))


@pytest.mark.parametrize(
    ("labels", "receivers"),
    [
        (["alertname=ModelScoreShift", "severity=warning"], "everybody"),
        (["alertname=ModelScoreShift", "severity=critical"], "on-call"),
        (["alertname=ModelMonitorDown", "severity=critical"], "on-call"),
        (["alertname=ModelScoreShift", "severity=warning", "team=risk"], "risk"),
        (["alertname=ModelScoreShift", "severity=critical", "team=risk"], "risk,on-call"),
        (["alertname=ModelScoreShift", "severity=info"], "nobody"),
    ],
)
def test_alerts_go_to_whom_they_concern(labels: list[str], receivers: str) -> None:
    routed = amtool("config", "routes", "test", f"--config.file={EXAMPLE}", *labels)

    assert routed.strip() == receivers


def test_alerts_of_one_incident_are_one_message() -> None:
    route = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["route"]

    assert route["group_by"] == ["model", "incident"]
    assert set(route["group_by"]) <= set(LABELS)
    assert not any("group_by" in inner for inner in route["routes"])
