"""A SQLite store that is deleted, moved or replaced under the real daemon: it says so, and writes nothing."""

import os
import shutil
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


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (deleted, "monitor.db was deleted or moved away"),
        (replaced, "monitor.db was replaced by another file"),
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
        back = attack(file)
        there = file.read_bytes() if file.exists() else None
        failed = running.wait_cycle("late", "cycle failed")
        running.wait(lambda: health(running)[0] == 503, "503")

        assert told in failed["error"]
        assert told in health(running)[1]
        assert "Put the same file back; or stop this process" in health(running)[1]
        assert len(running.logged("the store is lost")) == 1
        assert (file.read_bytes() if file.exists() else None) == there
        assert not [line for line in running.logged("cycle") if line["timestamp"] > failed["timestamp"]]

        back()
        goes_on(running, url)
        assert running.stop()[0] == 0


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
