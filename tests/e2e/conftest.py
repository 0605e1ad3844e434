"""Fixtures that several end-to-end tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest
from recipe_logs import Recipe

from monitor.app import daemon_wiring


@pytest.fixture
def here(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative files are in a test's own `directory`; a daemon that could start has done so."""
    monkeypatch.chdir(directory)
    monkeypatch.setattr(daemon_wiring, "serve_daemon", lambda *_args, **_options: 0)


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[[str], Recipe]:
    """A recipe by its heading, on an empty SQLite file."""
    return lambda title: Recipe(title, tmp_path, f"sqlite:///{tmp_path / 'serving.db'}")
