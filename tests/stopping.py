"""A process that dies between two transactions of its store."""

from collections.abc import Callable
from typing import Any

from monitor.store.pane_rows import PaneRepository
from monitor.store.sql_store import SqlStore

WRITES = ("note_waiting", "save_panes", "add_differences", "fold_panes", "commit_cycle")


class Crash(Exception):  # noqa: N818 -- no error of ours
    """The process is gone."""


class Crashing:
    """A store whose process dies right after its n-th transaction."""

    def __init__(self, store: SqlStore, calls: int) -> None:
        self._store, self.left = store, calls

    def __getattr__(self, name: str) -> Any:
        return self._counted(self._store, name)

    @property
    def panes(self) -> Any:
        """Panes of the store, whose writes count too."""
        return _CrashingPanes(self._store.panes, self._counted)

    def _counted(self, owner: object, name: str) -> Any:
        method = getattr(owner, name)
        if name not in WRITES:
            return method

        def called(*args: Any, **options: Any) -> Any:
            result = method(*args, **options)
            self.left -= 1
            if self.left == 0:
                raise Crash
            return result

        return called


class _CrashingPanes:
    def __init__(self, panes: PaneRepository, counted: Callable[[object, str], Any]) -> None:
        self._panes, self._counted = panes, counted

    def __getattr__(self, name: str) -> Any:
        return self._counted(self._panes, name)
