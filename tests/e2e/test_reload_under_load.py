"""The real daemon, whose configuration is read again and again while it works: good and bad files in turn."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import process
import pytest
import servers
from receivers import receiver
from serving import Bench, bench_in, fill_tables, model, predictions, quick

from monitor.core.clock import DAY, SECOND, floor_to

KEPT = ("first", "second", "third")
MOST_GROWTH = 60 << 20  # bytes: caches of four models and what the allocator keeps


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[tuple[Bench, process.Process, str]]:
    """A daemon with four models that tick each second, over a log of yesterday and today, and a channel."""
    now = time.time_ns() // 1_000
    bench = bench_in(tmp_path)
    rows = predictions(2_000, floor_to(now, DAY) - DAY, now - 60 * SECOND)
    fill_tables(bench.database, rows, labelled=now)
    port = servers.free_port()
    with receiver() as received, process.daemon(tmp_path / "config.toml", port) as running:
        configure(bench, port, received.url(), 0)
        running.started()
        for name in (*KEPT, "fourth"):
            running.first_cycle(name)
        yield bench, running, received.url()


def configure(bench: Bench, port: int, hook: str, turn: int) -> None:
    """Write the file of a turn: good ones change a model, a source and the channels; every other is bad."""
    names = (*KEPT, "fourth") if turn % 4 == 0 else KEPT
    models = [model(name, options=quick()) for name in names[:-1]]
    models.append(model(names[-1], options=quick(resamples=20 + turn)))
    if turn % 2:
        models[0] = model(KEPT[0], options='colour = "red"')
    bench.configure(*models, batch_rows=10_000 + turn)
    config = bench.config
    channels = "".join(f'[[notify]]\nname = "chat{at}"\nurl = "{hook}"\n' for at in range(1 + turn % 4))
    text = f'[http]\nport = {port}\n[log]\nformat = "json"\n{config.read_text(encoding="utf-8")}\n{channels}'
    config.write_text(text, encoding="utf-8")


def resident(running: process.Process) -> int:
    """Bytes of memory."""
    assert running.process is not None
    status = Path(f"/proc/{running.process.pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024


def threads(running: process.Process) -> int:
    assert running.process is not None
    return len(list(Path(f"/proc/{running.process.pid}/task").iterdir()))


def reload(running: process.Process) -> None:
    assert running.process is not None
    os.kill(running.process.pid, signal.SIGHUP)


def read(running: process.Process) -> int:
    """How often the configuration was read again, or refused."""
    return len(running.logged("configuration read again")) + len(running.logged("configuration refused"))


@pytest.mark.parametrize("turns", [12, pytest.param(100, marks=pytest.mark.long)])
def test_reloading_again_and_again_fails_no_cycle_keeps_memory_and_the_end_is_near(
    busy: tuple[Bench, process.Process, str], turns: int
) -> None:
    bench, running, hook = busy
    warm = 0

    for turn in range(1, turns + 1):
        configure(bench, running.port, hook, turn)
        before = read(running)
        reload(running)
        running.wait(lambda: read(running) > before, "the configuration")  # noqa: B023 -- waited for here
        time.sleep(0.1 * (turn % 4))
        if turn == turns // 4:
            warm = resident(running)

    grown, most = resident(running) - warm, threads(running)
    before, busyness = read(running), os.getloadavg()[0] / (os.cpu_count() or 1)
    for _ in range(20):
        reload(running)
    code, seconds = running.stop()
    failed = [line for line in running.lines() if line["level"] in ("error", "critical")]
    assert [line for line in failed if line["event"] != "configuration refused"] == []
    assert "Traceback" not in running.log_file.read_text(encoding="utf-8")
    assert grown < MOST_GROWTH
    assert most < 40
    assert read(running) - before <= 2  # SIGTERM does not wait for those that came before it
    assert (code, seconds < 3.0 * max(1.0, busyness)) == (0, True), seconds  # a busy machine is no failure
