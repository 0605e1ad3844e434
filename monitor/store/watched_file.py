"""The file of a SQLite store: what is written after it was deleted or replaced would be kept nowhere."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection

from monitor.core.errors import StoreLost

_BESIDE = ("-wal", "-shm")  # what was committed last, and who reads and writes
Identity = tuple[int, int] | None


class WatchedFile:
    """Refuses connections and transactions once a file is not the one that was opened.

    What an open connection writes then goes into a file without a name, and is gone with the process. None
    is made in its place: an empty store that a daemon fills anew would hide what has happened. Where the same
    one comes back, it is used again.
    """

    def __init__(self, url: URL) -> None:
        name = str(url.database)
        if name.startswith("file:"):
            name = unquote(name.removeprefix("file:").partition("?")[0])
        self._file, self._shown = Path(name), url.set(query={}).render_as_string(hide_password=True)
        self._first: Identity = None

    def require(self, *_connecting: object) -> None:
        """Refuse to connect to another file than before.

        Raises
        ------
        StoreLost
            if it is another one, or there is none.
        """
        if self._first is not None:
            self._compare(self._file, self._first)

    def opened(self, connection: Any, record: Any) -> None:
        """Remember what a connection has opened."""
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens what stands beside it
        self._first = self._first or _identity(self._file)
        real = os.path.realpath(self._file)
        files = [self._file, *(Path(f"{real}{beside}") for beside in _BESIDE)]
        record.info["files"] = {file: _identity(file) for file in files}

    def require_same(self, connection: Connection) -> None:
        """Refuse to read or write what is no part of the store any more.

        Raises
        ------
        StoreLost
            if a file that the connection has opened was deleted or replaced.
        """
        files: dict[Path, Identity] = connection.info["files"]
        for file, opened in files.items():
            if opened is None:  # what stands beside a new file comes with the first write
                files[file] = _identity(file)
            else:
                self._compare(file, opened)

    def _compare(self, file: Path, opened: Identity) -> None:
        found = _identity(file)
        if found == opened:
            return
        what = "was deleted or moved away" if found is None else "was replaced by another file"
        then = "start it again: SQLite keeps what was committed"
        if file == self._file:
            then = f"restore {file} from a backup, and start it again"
        raise StoreLost(
            f"store {self._shown}: {file} {what} while this process had it open, and nothing is written "
            f"until it is back. Put the same file back; or stop this process, {then}"
        )


def _identity(file: Path) -> Identity:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
