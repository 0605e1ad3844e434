"""Fixtures that several end-to-end tests share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import lake_servers
import pytest
from recipe_logs import Recipe
from spark_flights import WEEK, Flights, PaneKey, flights_in

from monitor.app import daemon_wiring
from monitor.records.pane import PanePart


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> Flights:
    """The flights of a week."""
    return flights_in(tmp_path_factory.mktemp("flights"), WEEK[-1])


@pytest.fixture(scope="session")
def week_panes(week: Flights, tmp_path_factory: pytest.TempPathFactory) -> dict[PaneKey, PanePart]:
    """Its panes by SQLite."""
    return week.cycles(week.local, tmp_path_factory.mktemp("here") / "local.db", moments=WEEK)


@pytest.fixture
def here(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative files are in a test's own `directory`; a daemon that could start has done so."""
    monkeypatch.chdir(directory)
    monkeypatch.setattr(daemon_wiring, "serve_daemon", lambda *_args, **_options: 0)


@pytest.fixture
def recipe(tmp_path: Path) -> Callable[[str], Recipe]:
    """A recipe by its heading, on an empty SQLite file."""
    return lambda title: Recipe(title, tmp_path, f"sqlite:///{tmp_path / 'serving.db'}")


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Address of an S3 server in this process; credentials come by the environment."""
    with lake_servers.s3_server() as server:
        yield server
