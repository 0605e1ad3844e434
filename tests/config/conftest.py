from pathlib import Path

import pytest
from configurations import File


@pytest.fixture
def file(tmp_path: Path) -> File:
    """A configuration file."""
    return File(tmp_path / "config.toml")
