"""A SQLite store that is deleted, moved or replaced under the real daemon: it says so, and writes nothing."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import process
import pytest
from test_store_failures import daemon, goes_on

from monitor.core.clock import SECOND, from_iso

Attack = Callable[[Path], Callable[[], None]]


def deleted(file: Path) -> Callable[[], None]:
    kept = file.with_name("kept")
    os.link(file, kept)
    file.unlink()
    return lambda: os.link(kept, file)


def replaced(file: Path) -> Callable[[], None]:
    kept, other = file.with_name("kept"), file.with_name("other")
    os.link(file, kept)
    shutil.copy(file, other)
    other.rename(file)
    return lambda: os.rename(kept, file)  # noqa: PTH104 -- gives nothing back


def directory_replaced(file: Path) -> Callable[[], None]:
    directory, away = file.parent, file.parent.with_name("away")
    directory.rename(away)
    directory.mkdir()

    def back() -> None:
        directory.rmdir()  # nothing was made in it
        away.rename(directory)

    return back


def health(running: process.Process) -> tuple[int, str]:
    answer = httpx.get(f"http://127.0.0.1:{running.port}/healthz", timeout=10)
    return answer.status_code, answer.text


def answered(running: process.Process, path: str, status: int) -> str:
    """Text of an answer of this status."""
    answer = httpx.get(f"http://127.0.0.1:{running.port}{path}", timeout=30)
    assert answer.status_code == status, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (deleted, "monitor.db was deleted or moved away"),
        pytest.param(replaced, "monitor.db was replaced by another file", marks=pytest.mark.slow),
        pytest.param(directory_replaced, "monitor.db was deleted or moved away", marks=pytest.mark.long),
    ],
)
def test_a_file_that_is_gone_is_named_at_once_and_used_again_when_it_is_back(
    tmp_path: Path, attack: Attack, told: str
) -> None:
    directory = tmp_path / "store"
    directory.mkdir()
    file, url = directory / "monitor.db", f"sqlite:///{directory}/monitor.db"
    with daemon(tmp_path, url) as running:
        if attack is replaced:  # otherwise the process of pages begins with the other file
            answered(running, "/", 200)
        back = attack(file)
        there = file.read_bytes() if file.exists() else None
        failed = running.wait_cycle("late", "cycle failed")
        running.wait(lambda: health(running)[0] == 503, "503")

        assert told in failed["error"]
        assert told in health(running)[1]
        assert "Put the same file back; or stop this process" in health(running)[1]
        assert len(running.logged("the store is lost")) == 1
        assert (file.read_bytes() if file.exists() else None) == there
        assert running.value("store_away", reason="lost") == 1
        assert told in answered(running, "/readyz", 503)
        assert "modelmonitorstoreaway" in answered(running, "/runbook", 200)
        for _ in range(3):
            assert "monitor.db" in answered(running, "/", 503)
        assert not [line for line in running.logged("cycle") if line["timestamp"] > failed["timestamp"]]

        back()
        goes_on(running, url)
        running.wait(lambda: running.value("store_away", reason="lost") == 0, "the store")
        assert len(running.logged("the store is there again")) == 1
        answered(running, "/readyz", 200)
        answered(running, "/", 200)
        assert running.stop()[0] == 0


@pytest.mark.slow
def test_who_follows_the_advice_beside_a_lost_store_makes_no_other_and_harms_none(tmp_path: Path) -> None:
    file, url = tmp_path / "monitor.db", f"sqlite:///{tmp_path}/monitor.db"
    config = ("--config", str(tmp_path / "config.toml"))
    with daemon(tmp_path, url) as running:
        away = file.rename(tmp_path / "away.db")
        for line in (("status",), ("cycle",), ("run",), ("migrate",), ("check",)):
            done = subprocess.run(
                process.monitor(*line, *config), capture_output=True, text=True, timeout=60, check=False
            )

            assert done.returncode != 0, line
            assert "monitor.db is not there, but monitor.db-wal, " in done.stdout + done.stderr, line
            assert "Put it back" in done.stdout + done.stderr, line
            assert not file.exists(), line

        away.rename(file)
        goes_on(running, url)
        running.stop(signal.SIGKILL)
        file.rename(away)
        running.start()
        assert running.process is not None
        assert running.process.wait(60) == 1
        away.rename(file)
        running.started()
        goes_on(running, url)
        running.stop()


@pytest.mark.parametrize("beside", ["-wal", pytest.param("-shm", marks=pytest.mark.long)])
def test_a_file_beside_it_that_is_deleted_is_named_and_a_restart_keeps_what_was_committed(
    tmp_path: Path, beside: str
) -> None:
    file, url = tmp_path / "monitor.db", f"sqlite:///{tmp_path}/monitor.db"
    with daemon(tmp_path, url) as running:
        Path(f"{file}{beside}").unlink()
        failed = running.wait_cycle("late", "cycle failed")
        running.wait(lambda: health(running)[0] == 503, "503")
        ticks = [line["as_of"] for line in running.logged("cycle", model="late")]

        assert f"monitor.db{beside} was deleted" in failed["error"]
        assert f"monitor.db{beside} was deleted" in health(running)[1]
        assert running.stop()[0] == 0

        running.started()
        goes_on(running, url)
        first = running.logged("cycle", model="late")[len(ticks)]["as_of"]
        assert from_iso(first) == from_iso(ticks[-1]) + 2 * SECOND
        running.stop()
