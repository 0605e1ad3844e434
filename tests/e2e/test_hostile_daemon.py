"""The real daemon, on a log of hostile names: its log, its page."""

import subprocess
from pathlib import Path

import process
import pytest
import servers
from hostile import FORGED, assert_quiet
from hostile_log import Hostile

from monitor.daemon.log import LogFormat


@pytest.mark.promtool
@pytest.mark.parametrize("form", list(LogFormat))
def test_the_daemons_log_and_page_are_quiet(form: LogFormat, tmp_path: Path) -> None:
    made = Hostile(tmp_path, form.value)

    with process.daemon(made.config, made.port) as running:
        running.start()
        running.wait(lambda: running.status("/readyz") == 200, "readiness")
        running.wait(lambda: "columns are missing" in running.log_file.read_text(encoding="utf-8"), "a cycle")
        page = running.page()
        running.stop()

    log = running.log_file.read_text(encoding="utf-8")
    assert_quiet(log)
    assert f"gone\\n{FORGED}\\x1b[2J" in log.replace("\\\\", "\\")
    assert page.count("model_monitor_alert_firing{") > 20
    assert [line for line in page.split("\n") if line.startswith(FORGED)] == []
    path = servers.program("promtool", package="prometheus")
    done = subprocess.run([path, "check", "metrics"], input=page.encode(), capture_output=True, check=False)
    assert b"error" not in done.stderr
