"""A process that dies between two transactions of its store."""

from typing import Any

from monitor.store.sql_store import SqlStore

WRITES = ("note_waiting", "save_panes", "add_differences", "fold_panes", "commit_cycle")


class Crash(Exception):  # noqa: N818 -- no error of ours
    """The process is gone."""


class Crashing:
    """A store whose process dies right after its n-th transaction."""

    def __init__(self, store: SqlStore, calls: int) -> None:
        self._store, self.left = store, calls

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in WRITES:
            return method

        def called(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            self.left -= 1
            if self.left == 0:
                raise Crash
            return result

        return called
