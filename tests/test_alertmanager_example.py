import subprocess
from pathlib import Path

import pytest
import servers

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
