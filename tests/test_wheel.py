import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Names and sizes of the files in the wheel."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for tree in ("monitor", "migrations", "examples/flights"):
        shutil.copytree(
            ROOT / tree, source / tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-c", BUILD, str(wheels)]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    with ZipFile(next(wheels.glob("*.whl"))) as wheel:
        return {entry.filename: entry.file_size for entry in wheel.infolist()}


def test_the_wheel_carries_every_module(contents: dict[str, int]) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "monitor").rglob("*.py")}
    modules |= {f"monitor/store/{path.relative_to(ROOT)}" for path in (ROOT / "migrations").rglob("*.py")}

    assert modules <= set(contents)


def test_the_wheel_carries_the_data_and_configuration_of_the_demo(contents: dict[str, int]) -> None:
    data = sorted((ROOT / "examples" / "flights").glob("*.parquet"))

    assert {path.name: contents.get(f"monitor/demo/data/{path.name}") for path in data} == {
        path.name: path.stat().st_size for path in data
    }
    assert "monitor/demo/demo.toml" in contents


def test_the_wheel_carries_nothing_else(contents: dict[str, int]) -> None:
    roots = {name.split("/")[0] for name in contents}

    assert {root for root in roots if not root.endswith(".dist-info")} == {"monitor"}
