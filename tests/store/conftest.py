"""The store on every database it supports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.store.adapter import SqlStore
from monitor.store.engine import migrate, open_store


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a fresh database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'monitor.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[SqlStore]:
    """Store of the run "live" in a fresh database."""
    migrate(store_url)
    opened = open_store(store_url, "live")
    yield opened
    opened.close()
