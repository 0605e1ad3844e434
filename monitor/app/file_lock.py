"""A run in a SQLite file is one process's at a time: a lock of the operating system, which dies with it."""

import fcntl
import os
import threading
from pathlib import Path
from urllib.parse import quote

from monitor.core.errors import StoreError
from monitor.store.adapter import SqlStore


class FileLock:
    """An exclusive lock on a file, which is made where there is none and stays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._taking = threading.Lock()

    def taken(self) -> bool:
        """Take it unless another process has it; whether it is this one's now.

        A file that was deleted or replaced is taken anew: others would take it.

        Raises
        ------
        StoreError
            if the file cannot be made.
        """
        with self._taking:
            return (self._descriptor is not None and self._is_at_path(self._descriptor)) or self._take()

    def _take(self) -> bool:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"lock {self._path}: {error.strerror or error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        if not self._is_at_path(descriptor):
            os.close(descriptor)
            return False
        self.release()
        self._descriptor = descriptor
        return True

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except OSError:
            return False

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
