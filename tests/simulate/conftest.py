"""A fresh store in a file, quickly: a copy of one that was migrated once."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lived import template

from monitor.store.adapter import SqlStore
from monitor.store.engine import open_store


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[Callable[[], SqlStore]]:
    """Makes stores of the run "live", each in a file of its own."""
    opened: list[SqlStore] = []

    def make() -> SqlStore:
        path = tmp_path / f"store{len(opened)}.db"
        shutil.copy(template() / "empty.db", path)
        opened.append(open_store(f"sqlite:///{path}", "live"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def fresh_store(new_store: Callable[[], SqlStore]) -> SqlStore:
    """One empty store."""
    return new_store()
