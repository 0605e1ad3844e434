"""Locks on the files of SQLite: nothing in a process closes such a file behind SQLite's back.

Whoever closes any descriptor of a file drops all locks that the process has on it. Then another process takes
the log of a store away that is still written.
"""

import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import process
import pytest
import servers
from serving import Database, fill_tables, model, predictions, quick, sqlite_bench
from silent_servers import proxy

from monitor.core.clock import DAY, HOUR, floor_to
from monitor.core.errors import SourceError
from monitor.sources.source_opening import address_of
from monitor.specs.deadlines import end_marked_sockets, end_socket

WATCH = """
import os, sys

def watch(event, given, log=os.environ["OPENED_FILES"]):
    # A file that is only opened if it is not there (O_EXCL) has no locks yet.
    if event == "open" and isinstance(given[0], (str, bytes)) and not given[2] & os.O_EXCL:
        name = os.path.basename(os.fsdecode(given[0]))
        if ".db" in name and not name.endswith(".lock"):
            import traceback
            descriptor = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
            os.write(descriptor, "".join(traceback.format_stack()).encode())
            os.close(descriptor)

sys.addaudithook(watch)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="locks are read from /proc/locks")


def locks(pid: int, file: Path) -> list[str]:
    """Locks of a process on a file."""
    inode = f":{file.stat().st_ino} "
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    own = [line for line in lines if f" {pid} " in line and inode in line]
    return sorted(re.sub(r"^\d+: ", "", line) for line in own)


@contextmanager
def half_written(file: Path) -> Iterator[sqlite3.Connection]:
    """A connection in mid-commit of a database with a log."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE kept (value)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO kept VALUES (1)")
        yield connection
        connection.execute("COMMIT")


@needs_proc
def test_ending_sockets_leaves_all_locks_on_files_alone(tmp_path: Path) -> None:
    file = tmp_path / "monitor.db"
    shared = Path(f"{file}-shm")
    with half_written(file), socket.create_server(("127.0.0.1", 0)) as other:
        before = locks(os.getpid(), shared)

        end_marked_sockets(31_000)  # nobody's
        for link in Path("/dev/fd").iterdir():
            if os.path.realpath(link).startswith(str(file)):
                end_socket(int(link.name))

        assert before
        assert locks(os.getpid(), shared) == before
        with (
            closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as second,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            second.execute("BEGIN IMMEDIATE")
        assert other.getsockname()  # it is open


def test_a_source_that_is_the_store_by_whatever_name_is_read_by_the_library_that_has_its_locks(
    tmp_path: Path,
) -> None:
    store = tmp_path / "monitor.db"
    sqlite3.connect(store).close()
    names = [store, tmp_path / "folder" / ".." / "monitor.db", tmp_path / "link.db", tmp_path / "hard.db"]
    (tmp_path / "folder").mkdir()
    names[2].symlink_to(store)
    names[3].hardlink_to(store)

    readers = [address_of(f"sqlite:///{name}", store_url=f"sqlite:///{store}").how for name in names]

    assert readers == ["fetchmany"] * len(names)
    assert address_of(f"sqlite:///{tmp_path}/log.db", store_url=f"sqlite:///{store}").how == "adbc"
    with pytest.raises(SourceError, match="the file is also the store"):
        address_of(f"sqlite:///{names[3]}?reader=adbc", store_url=f"sqlite:///{store}")


@pytest.mark.parametrize("form", ["csv", "openmetrics"])
def test_an_export_does_not_take_the_place_of_the_store(tmp_path: Path, form: str) -> None:
    bench = sqlite_bench(tmp_path, predictions(30, 0, DAY), model(options=quick("1d")), labelled=DAY)
    bench.monitor("cycle", "--as-of", "1970-01-02")
    store = tmp_path / "monitor.db"

    done = bench.monitor("export", str(store), "--format", form)

    assert done.exit_code == 1
    assert "is the store itself" in done.stderr
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)


@pytest.mark.postgres
@needs_proc
@pytest.mark.parametrize(
    "rounds", [2, pytest.param(9, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.long)]
)
def test_commands_beside_a_daemon_whose_source_hangs_leave_its_store_whole(
    tmp_path: Path, postgres_url: str, rounds: int
) -> None:
    now, port, opened = time.time_ns() // 1_000, servers.free_port(), tmp_path / "opened.txt"
    store, config = tmp_path / "monitor.db", tmp_path / "config.toml"
    rows = predictions(300, floor_to(now, DAY) - 6 * HOUR, now + HOUR)
    calm = f"sqlite:///{tmp_path}/log.db"
    for url in (calm, postgres_url):
        fill_tables(Database(url), rows, labelled=now)
    (tmp_path / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    environ = {"PYTHONPATH": str(tmp_path), "OPENED_FILES": str(opened)}
    with proxy(postgres_url) as way:
        head = (
            f'[http]\nport = {port}\n[log]\nformat = "json"\n[store]\nurl = "sqlite:///{store}"\n'
            f'[sources.calm]\nurl = "{calm}"\n'
            f'[sources.hung]\nurl = "{way.url(postgres_url)}"\nstatement_timeout = "1s"\n'
        )
        models = [
            model(name, options=quick("2s", horizon="1d")).replace('source = "log"', f'source = "{name}"')
            for name in ("calm", "hung")
        ]
        config.write_text(head + "".join(models), encoding="utf-8")

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            line = [sys.executable, "-m", "monitor.cli", *command, "--config", str(config)]
            return subprocess.run(
                line, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=120
            )

        with process.daemon(config, port, environ) as daemon:
            daemon.started()
            for name in ("calm", "hung"):
                daemon.first_cycle(name)
            way.hold()
            daemon.wait(
                lambda: (daemon.value("source_silent_seconds", source="hung") or 0) > 0, "a source given up"
            )
            commands = (
                ("status",),
                ("alerts", "ack", "--model", "hung", "--rule", "stale_log", "--why", "looking"),
                ("cycle", "--model", "calm"),
            )
            for at in range(rounds):
                done = run(*commands[at % 3 if at % 2 else 0])
                assert "Traceback" not in done.stderr
                assert daemon.process is not None
                assert locks(daemon.process.pid, Path(f"{store}-shm"))
                assert Path(f"{store}-wal").exists()

            assert run("export", str(tmp_path / "kept.csv")).returncode == 0
            assert "does not answer" in run("check").stderr
            before = len(daemon.logged("cycle", model="calm"))
            daemon.wait(lambda: len(daemon.logged("cycle", model="calm")) > before + 2, "cycles beside it")
            way.forward()
            since = len(daemon.logged("cycle", model="hung"))
            daemon.wait(lambda: len(daemon.logged("cycle", model="hung")) > since, "a cycle of the model")
            assert daemon.status("/readyz") == 200
            assert not daemon.logged("the store is lost")
            daemon.stop()

    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert not opened.exists(), opened.read_text(encoding="utf-8")
