"""The real daemon where the system lets it open few files and connections (`ulimit -n`)."""

import contextlib
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import process
import pytest
import servers
from serving import model, predictions, quick, sqlite_bench

from monitor.core.clock import DAY, floor_to

LIMIT, MANY = 64, 300
WAIT = "new connections wait: the process can open no more (ulimit -n)"
FEW_BYTES = 20_000  # of a log: a line of each cycle, and what there is to say


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[process.Process]:
    """A daemon that may open few descriptors, and has run a cycle."""
    now, port = time.time_ns() // 1_000, servers.free_port()
    bench = sqlite_bench(tmp_path, predictions(200, floor_to(now, DAY) - DAY, now), labelled=now)
    bench.configure(model(options=quick()), port=port)
    assert bench.monitor("migrate").exit_code == 0
    with process.daemon(bench.config, port) as running:
        running.command = ["sh", "-c", f'ulimit -n {LIMIT} && exec "$@"', "sh", *running.command]
        running.started()
        running.first_cycle("late")
        yield running


@contextlib.contextmanager
def connections(port: int) -> Iterator[None]:
    """Many that stay, and say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(MANY):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(("127.0.0.1", port))
        yield


def test_more_connections_than_descriptors_stop_neither_cycles_nor_scrapes(daemon: process.Process) -> None:
    before = daemon.log_file.stat().st_size

    with connections(daemon.port):
        daemon.wait_cycle("late")
        daemon.wait(lambda: daemon.status("/metrics") == 200, "metrics beside many connections")
        # those that the system had no room for come again within seconds, and may take its place at first
        daemon.wait(lambda: daemon.status("/") == 200, "a page beside many connections")
    daemon.wait(lambda: daemon.status("/metrics") == 200, "metrics after many connections")
    daemon.wait_cycle("late")

    assert daemon.log_file.stat().st_size - before < FEW_BYTES
    assert daemon.logged("cycle failed") == daemon.logged(WAIT) == []
    assert daemon.stop()[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux changes the limits of another process")
def test_where_no_descriptor_is_left_one_line_says_so_and_connections_are_taken_later(
    daemon: process.Process,
) -> None:
    assert daemon.process is not None
    before, pid = daemon.log_file.stat().st_size, daemon.process.pid
    in_use = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + 2, LIMIT))

    with connections(daemon.port):
        daemon.wait(lambda: bool(daemon.logged(WAIT)), "a line about connections")
        time.sleep(5.0)  # in which it tries again
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
    daemon.wait(lambda: daemon.status("/metrics") == 200, "metrics")
    daemon.wait_cycle("late")

    assert len(daemon.logged(WAIT)) == 1
    assert daemon.log_file.stat().st_size - before < FEW_BYTES
    assert "Traceback" not in daemon.log_file.read_text(encoding="utf-8")
    assert daemon.stop()[0] == 0
