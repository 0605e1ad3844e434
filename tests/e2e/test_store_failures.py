"""A store that fails under the daemon: a clear error, nothing corrupt, and it goes on by itself."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import process
import pytest
import servers
import sqlalchemy as sa
from serving import Bench, Database, fill_tables, model, predictions, quick
from silent_servers import proxy

from monitor.core.clock import DAY, HOUR, floor_to
from monitor.store.store_database import migrate_store


@contextmanager
def daemon(directory: Path, store_url: str) -> Iterator[process.Process]:
    """A daemon that has run a cycle."""
    now, port = time.time_ns() // 1_000, servers.free_port()
    log = Database(f"sqlite:///{directory / 'log.db'}")
    rows = predictions(600, floor_to(now, DAY) - 6 * HOUR, now + HOUR)
    fill_tables(log, rows, labelled=now)
    head = f'[http]\nport = {port}\n[log]\nformat = "json"\n[daemon]\nlease_ttl = "2s"\n'
    Bench(directory, log, store_url).configure(head, model(options=quick("2s", horizon="1d")))
    with process.daemon(directory / "config.toml", port) as running:
        running.started()
        running.wait_cycle("late")
        yield running


def _fill(file: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), file.open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4_096))


def goes_on(running: process.Process, store_url: str) -> None:
    """The daemon runs cycles again, and serves what is kept."""
    running.wait_cycle("late")
    as_of = running.value("as_of_seconds", model="late")
    assert as_of
    running.wait(lambda: running.status("/healthz") == 200, "health")
    if store_url.startswith("sqlite"):
        with sa.create_engine(store_url).connect() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"


def test_a_full_disk_fails_cycles_with_its_name_until_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    url = f"sqlite:///{disk / 'monitor.db'}"
    try:
        with daemon(tmp_path, url) as running:
            _fill(disk / "filler")
            failed = running.wait_cycle("late", "cycle failed")
            assert "disk is full" in failed["error"]
            assert running.value("cycles_total", model="late", outcome="failure")
            assert running.status("/readyz") == 200
            waits = [line["retry_in"] for line in running.logged("cycle failed", model="late")]
            assert all(0.5 <= wait <= 300 for wait in waits)
            (disk / "filler").unlink()
            goes_on(running, url)
            running.stop()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


@pytest.mark.long
def test_a_daemon_says_that_its_file_is_read_only_and_starts_once_it_is_not(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    file = disk / "monitor.db"
    url = f"sqlite:///{file}"
    with daemon(tmp_path, url) as running:
        running.stop()
        kept = file.read_bytes()
        with _read_only(file):
            done = subprocess.run(running.command, capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 1
            assert done.stderr == f"monitor: store {url}: attempt to write a readonly database\n"
            assert file.read_bytes() == kept
        running.started()
        goes_on(running, url)
        running.stop()


@contextmanager
def _read_only(file: Path) -> Iterator[None]:
    """Nobody writes a file: of root by an attribute, permissions do not bind it."""
    if os.geteuid() != 0:
        file.chmod(0o444)
        yield
        file.chmod(0o644)
        return
    if subprocess.run(["chattr", "+i", str(file)], check=False, capture_output=True).returncode != 0:
        pytest.skip("a file cannot be made immutable here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", str(file)], check=True)


@pytest.mark.postgres
@pytest.mark.long
def test_a_store_that_becomes_read_only_fails_cycles_until_it_is_not(
    tmp_path: Path, postgres_url: str
) -> None:
    name = sa.make_url(postgres_url).database
    migrate_store(postgres_url)
    with daemon(tmp_path, postgres_url) as running:
        Database(postgres_url).run(
            f"ALTER DATABASE {name} SET default_transaction_read_only = on", _others_ended()
        )
        failed = running.wait_cycle("late", "cycle failed")
        assert "read-only transaction" in failed["error"]
        assert running.status("/readyz") == 200
        Database(postgres_url).run(
            "SET transaction_read_only = off",
            f"ALTER DATABASE {name} SET default_transaction_read_only = off",
            _others_ended(),
        )
        goes_on(running, postgres_url)
        running.stop()


def _others_ended() -> str:
    return (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


@pytest.mark.postgres
@pytest.mark.long
def test_a_database_that_restarts_fails_cycles_until_it_is_back(tmp_path: Path) -> None:
    with servers.restartable() as server:
        migrate_store(server.url)
        with daemon(tmp_path, server.url) as running:
            for _ in range(2):
                server.stop()
                failed = running.wait_cycle("late", "cycle failed")
                assert failed["error"].startswith("store postgresql")
                assert running.status("/readyz") == 200
                server.start()
                goes_on(running, server.url)
            running.stop()


@pytest.mark.postgres
@pytest.mark.long
def test_a_store_that_hangs_is_told_by_health_and_stops_neither_the_page_nor_the_end(
    tmp_path: Path, postgres_url: str
) -> None:
    migrate_store(postgres_url)
    with proxy(postgres_url) as way, daemon(tmp_path, way.url(postgres_url)) as running:
        way.hold()
        running.wait(lambda: running.status("/healthz") == 503, "503")
        for probe in ("healthz", "readyz"):
            answer = httpx.get(f"http://127.0.0.1:{running.port}/{probe}", timeout=10)
            assert answer.status_code == 503
            assert answer.text.startswith("the store has not answered for ")
        assert running.value("as_of_seconds", model="late")
        way.forward()
        goes_on(running, postgres_url)
        running.wait(lambda: running.status("/readyz") == 200, "200")
        way.hold()
        time.sleep(3)
        code, took = running.stop()
        assert code == 0
        assert took < 15
