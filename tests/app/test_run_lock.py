"""The lock on a run's file: it holds as long as its file is at its path."""

from pathlib import Path

from monitor.app.run_lock import FileLock


def test_a_lock_whose_file_was_deleted_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "live.lock"
    first, second = FileLock(path), FileLock(path)
    assert first.take_lock()
    path.unlink()

    again = first.take_lock()
    other = second.take_lock()
    first.release_lock()

    assert (again, other) == (True, False)
    assert second.take_lock()
    second.release_lock()


def test_a_lock_whose_file_was_deleted_is_lost_to_who_took_it_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "live.lock"
    first, second = FileLock(path), FileLock(path)
    assert first.take_lock()
    path.unlink()

    assert second.take_lock()
    assert not first.take_lock()
    second.release_lock()
    first.release_lock()
