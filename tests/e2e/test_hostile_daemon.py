"""The real daemon, on a log of hostile names: its log, its page."""

import socket
import subprocess
from pathlib import Path

import process
import pytest
import servers
from hostile_log import Hostile
from hostile_texts import FORGED, assert_quiet

from monitor.daemon.log_setup import LogFormat

GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
NONSENSE = (
    *(
        GET + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x1b[2J\x00\r\n\r\n",
        b"GET /a\x1b[2J HTTP/1.1\r\n\r\n",
    ),
    *(GET + b"X: " + b"x" * 100_000 + b"\r\n\r\n", (GET + b"\r\n") * 1_000, b"POST / HTTP/1.1\r\n\r\n"),
)


@pytest.mark.promtool
@pytest.mark.parametrize("form", [LogFormat.JSON, pytest.param(LogFormat.CONSOLE, marks=pytest.mark.slow)])
def test_the_daemons_log_and_page_are_quiet(form: LogFormat, tmp_path: Path) -> None:
    made = Hostile(tmp_path, form.value)

    with process.daemon(made.config, made.port) as running:
        running.start()
        running.wait(lambda: running.status("/readyz") == 200, "readiness")
        running.wait(lambda: "columns are missing" in running.log_file.read_text(encoding="utf-8"), "a cycle")
        page = running.page()
        before = len(running.log_file.read_bytes())
        for nonsense in NONSENSE:
            with socket.create_connection(("127.0.0.1", made.port), timeout=process.PATIENCE) as one:
                one.sendall(nonsense)
                assert one.recv(100).startswith(b"HTTP/1.1 ")
        assert running.status("/metrics") == 200
        added = running.log_file.read_bytes()[before:]
        assert [word for word in (b"Traceback", b"uvicorn", b"asyncio", b"HTTP") if word in added] == []
        assert running.stop()[0] == 0

    log = running.log_file.read_text(encoding="utf-8")
    assert_quiet(log)
    assert f"gone\\n{FORGED}\\x1b[2J" in log.replace("\\\\", "\\")
    assert page.count("model_monitor_alert_firing{") > 20
    assert [line for line in page.split("\n") if line.startswith(FORGED)] == []
    path = servers.program("promtool", package="prometheus")
    done = subprocess.run([path, "check", "metrics"], input=page.encode(), capture_output=True, check=False)
    assert b"error" not in done.stderr
