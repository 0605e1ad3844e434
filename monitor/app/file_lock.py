"""A run in a SQLite file is one process's at a time: a lock of the operating system, which dies with it."""

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from monitor.core.errors import StoreError
from monitor.store.adapter import SqlStore


class FileLock:
    """An exclusive lock on a file, which is made where there is none and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def taken(self) -> bool:
        """Take it unless another process has it; whether it is this one's now.

        Raises
        ------
        StoreError
            if the file cannot be made.
        """
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"lock {self._path}: {error.strerror or error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def lock_of(store: SqlStore) -> FileLock | None:
    """Lock of a run in a SQLite file; None: the store is shared by leases."""
    url = store.engine.url
    if url.get_backend_name() != "sqlite":
        return None
    name = url.database or ":memory:"
    if name == ":memory:":
        return None
    return FileLock(Path(f"{name.removeprefix('file:')}.{quote(store.run, safe='')}.lock"))
