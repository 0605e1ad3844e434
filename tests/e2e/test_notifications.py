"""The real daemon tells a real receiver that a log has stopped, and that it goes on."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import process
import pytest
import servers
from receivers import Receiver, receiver
from serving import Bench, model, predictions, quick, sqlite_bench

from monitor.core.clock import DAY, MINUTE, SECOND, floor_to, to_iso

RULE = """
[[models.alerts]]
name = "stopped"
measure = "log_age"
above = 1800
severity = "critical"
annotations = { summary = "No prediction for {value}." }
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A log that stopped an hour ago."""
    now = time.time_ns() // 1_000
    rows = predictions(300, floor_to(now, DAY) - DAY, now - 60 * MINUTE)
    return sqlite_bench(tmp_path, rows, model(options=quick()) + RULE, labelled=now)


def with_channels(bench: Bench, head: str, *channels: tuple[str, str]) -> Path:
    config = bench.config
    tables = "".join(f'[[notify]]\nname = "{name}"\nurl = "{url}"\n' for name, url in channels)
    config.write_text(head + tables + config.read_text(encoding="utf-8"), encoding="utf-8")
    return config


@pytest.fixture
def found() -> Iterator[Receiver]:
    """A receiver that refuses once."""
    with receiver(503) as running:
        yield running


def test_a_log_that_stops_and_goes_on_is_told_beside_a_dead_channel(bench: Bench, found: Receiver) -> None:
    port, dead = servers.free_port(), servers.free_port()
    head = f'[http]\nport = {port}\n[log]\nformat = "json"\nlevel = "debug"\n'
    url = f"http://127.0.0.1:{dead}/tokentoken"
    config = with_channels(bench, head, ("dead", url), ("live", found.url("/hook/tokentoken")))

    with process.daemon(config, port) as running:
        running.started()
        running.wait(lambda: len(found.bodies) >= 2, "the notice, again")
        now = time.time_ns() // 1_000
        times = {"event_time": to_iso(now - SECOND), "logged_at": to_iso(now)}
        (row,) = predictions(1, now, now + 1, prefix="new")
        bench.database.insert("predictions", [row | times])
        running.wait(lambda: running.value("alert_firing", model="late", rule="stopped") is None, "its end")
        running.wait(lambda: running.value("notices_waiting", channel="live") == 0, "an empty outbox")
        running.wait(
            lambda: running.value("notices_waiting", channel="dead") == 1, "what the dead one misses"
        )
        refused, again = found.bodies  # it recovers for two days, and is told of no more until then

        assert refused == again
        assert (again["kind"], again["about"], again["severity"]) == ("opened", "records", "critical")
        assert again["title"].startswith("Critical · late · No ")
        assert again["alerts"][0]["rule"] == "stopped"
        assert running.value("notices_total", channel="live", outcome="delivered") == 1
        assert running.value("notices_total", channel="live", outcome="failed") == 1
        assert running.logged("cycle failed") == []
        running.stop()
    assert "tokentoken" not in running.log_file.read_text(encoding="utf-8")
    stored = b"".join(path.read_bytes() for path in bench.directory.glob("monitor.db*"))
    assert b"tokentoken" not in stored


def test_a_cycle_by_hand_sends_what_waits_and_one_of_another_run_nothing(
    bench: Bench, found: Receiver
) -> None:
    found.answers.clear()
    config = str(with_channels(bench, "", ("live", found.url())))

    tried = subprocess.run(process.monitor("cycle", "--config", config, "--run", "try"), check=False)
    done = subprocess.run(process.monitor("cycle", "--config", config), check=False)

    assert (tried.returncode, done.returncode) == (0, 0)
    assert [body["about"] for body in found.bodies] == ["records"]


def test_a_cycle_by_hand_logs_what_it_sends_as_configured_beside_its_output(
    bench: Bench, found: Receiver
) -> None:
    found.answers.clear()
    config = with_channels(bench, '[log]\nformat = "json"\n', ("live", found.url()))

    done = subprocess.run(
        process.monitor("cycle", "--config", str(config)), capture_output=True, text=True, check=True
    )

    assert [line.partition(" as of ")[0] for line in done.stdout.splitlines()] == ["late"]
    (line,) = (json.loads(line) for line in done.stderr.splitlines() if line.startswith("{"))
    assert (line["event"], line["channel"], line["logger"]) == ("notified", "live", "monitor.daemon")
