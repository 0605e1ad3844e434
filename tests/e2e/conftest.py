"""Fixtures that several end-to-end tests share."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import servers
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


KEY, SECRET = "testing-key", "testing-secret"  # of a server that asks nobody


@pytest.fixture(scope="module")
def s3(monkeypatch_module: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of an S3 server in this process; credentials come by the environment."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line a request
    for name, value in {"ID": KEY, "SECRET": SECRET}.items():
        key = {"ID": "AWS_ACCESS_KEY_ID", "SECRET": "AWS_SECRET_ACCESS_KEY"}[name]
        monkeypatch_module.setenv(key, value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=servers.free_port(), verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """Undone after the module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
