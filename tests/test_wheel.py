import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest
import servers
from click.testing import CliRunner
from waiting import wait_for

from monitor.cli import main
from monitor.core.version import DISTRIBUTION, VERSION

ROOT = Path(__file__).parent.parent
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of what the repository has."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for tree in ("monitor", "migrations", "examples/flights", "docker"):
        shutil.copytree(
            ROOT / tree, source / tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE", "config.example.toml", "config.schema.json"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-c", BUILD, str(wheels)]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return next(wheels.glob("*.whl"))


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, int]:
    """Names and sizes of the files in the wheel."""
    with ZipFile(wheel) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel is installed; what it needs is that of this environment."""
    directory = tmp_path_factory.mktemp("installed")
    with ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


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


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Callable[..., str]:
    """Runs a command of the installed wheel in an empty directory that is not that of the sources."""

    def of(*arguments: str) -> str:
        code = (
            f"import sys; sys.path.insert(0, {str(installed)!r}); import monitor.cli;"
            f" assert monitor.__file__.startswith({str(installed)!r}); monitor.cli.main()"
        )
        command = [sys.executable, "-I", "-c", code, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return of


def test_the_installed_wheel_works_from_any_directory(run: Callable[..., str], tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute(
            "CREATE TABLE log (id INTEGER PRIMARY KEY, at TEXT, score REAL, amount REAL, bad INTEGER)"
        )
        rows = (
            (at, f"2024-03-{1 + at // 48:02d} {at // 2 % 24:02d}:00:00", at % 97 / 97, at % 31, at % 3 // 2)
            for at in range(240)
        )
        connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", rows)
    run(
        "init",
        "--url",
        "sqlite:///log.db",
        "--predictions",
        "log",
        "--name",
        "made",
        "--output",
        "config.toml",
    )
    config = (tmp_path / "config.toml").read_text(encoding="utf-8")
    (tmp_path / "config.toml").write_text(config.replace("# settle_after", "settle_after"), encoding="utf-8")

    run("check")
    run("cycle", "--as-of", "2024-03-06")
    run("report", "--model", "made", "--output", "made.html")
    page = (tmp_path / "made.html").read_text(encoding="utf-8")

    assert page.startswith("<!doctype html>")


def test_files_writes_what_stands_beside_the_program(run: Callable[..., str], tmp_path: Path) -> None:
    written = run("files", "beside").splitlines()

    beside = {
        "beside/config.example.toml": ROOT / "config.example.toml",
        "beside/config.schema.json": ROOT / "config.schema.json",
        "beside/monitor.service": ROOT / "docker/monitor.service",
        "beside/alertmanager.yml": ROOT / "docker/alertmanager/alertmanager.yml",
        **{f"beside/prometheus/{path.name}": path for path in (ROOT / "docker/prometheus").iterdir()},
        **{f"beside/kubernetes/{path.name}": path for path in (ROOT / "docker/kubernetes").iterdir()},
        **{f"beside/dashboards/{path.name}": path for path in (ROOT / "docker/grafana/dashboards").iterdir()},
    }
    assert set(written) == set(beside)
    assert {
        name: (tmp_path / name).read_bytes() == path.read_bytes() for name, path in beside.items()
    } == dict.fromkeys(beside, True)


def test_files_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.example.toml").write_text("mine", encoding="utf-8")

    done = CliRunner().invoke(main, ["files", str(tmp_path)])

    assert (done.exit_code, done.stderr) == (
        2,
        f"{tmp_path}/config.example.toml is there already and is not overwritten\n",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["config.example.toml"]


def test_the_wheel_says_what_it_is_and_who_may_use_it(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        text = archive.read(metadata).decode()

    assert f"\nName: {DISTRIBUTION}\nVersion: {VERSION}\n" in text
    assert "License-Expression: Apache-2.0" in text
    assert "License-File: LICENSE" in text
    assert "Author: the monitor developers" in text


PYTHONS = ("3.11", "3.12", "3.13", "3.14")
CONSTRAINTS = ROOT / "constraints.txt"


def interpreter(version: str) -> str:
    """A Python of this version: on the path, or one of pyenv's."""
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for found in (shutil.which(f"python{version}"), *map(str, of_pyenv)):
        asked = f"import sys, venv; assert sys.version_info[:2] == ({version.replace('.', ', ')})"
        if found and subprocess.run([found, "-c", asked], capture_output=True, check=False).returncode == 0:
            return found
    pytest.skip(f"{servers.NEEDS}python{version}: on the path, or by pyenv")


@pytest.fixture
def by_pip(wheel: Path, tmp_path: Path) -> list[str]:
    """The command, installed by pip into a fresh environment."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--constraint", str(CONSTRAINTS)]
    subprocess.run([*pip, str(wheel)], check=True)
    return [str(environment / "bin" / "monitor")]


def by_uv(wheel: Path, version: str) -> list[str]:
    """The command, run by uv without installing it."""
    uvx = shutil.which("uvx", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uvx is None:
        pytest.skip(f"{servers.NEEDS}uv: pip install uv")
    asked = ["--quiet", "--python", interpreter(version), "--constraints", str(CONSTRAINTS)]
    return [uvx, *asked, "--from", str(wheel), "monitor"]


@pytest.mark.long
def test_a_fresh_environment_of_pip_has_all_that_it_needs(by_pip: list[str], tmp_path: Path) -> None:
    lives(by_pip, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS)
def test_uv_runs_it_on_each_python(wheel: Path, version: str, tmp_path: Path) -> None:
    lives(by_uv(wheel, version), tmp_path)


def lives(monitor: list[str], home: Path) -> None:
    """Do what a new user does, in an empty directory: each command ends well."""
    here = home / "elsewhere"
    here.mkdir()

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*monitor, *arguments], cwd=here, capture_output=True, text=True, check=False, env=outside()
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    assert run("--version") == f"monitor, version {VERSION}\n"
    run("demo", "--exit", "--until", "2013-03-09")
    log = ("--url", "sqlite:///monitor-demo/flights.db", "--predictions", "predictions", "--labels", "labels")
    run(
        "init",
        *log,
        "--reference",
        "monitor-demo/reference.parquet",
        "--name",
        "mine",
        "--output",
        "mine.toml",
    )
    port = servers.free_port()
    config = (here / "mine.toml").read_text(encoding="utf-8")
    (here / "mine.toml").write_text(f"{config}\n[http]\nport = {port}\n", encoding="utf-8")
    run("check", "--config", "mine.toml")
    serves([*monitor, "run", "--config", "mine.toml"], here, port)
    run("report", "--config", "monitor-demo/config.toml", "--model", "late", "--output", "late.html")
    assert (here / "late.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert len(run("files", "beside").splitlines()) == len(list((here / "beside").rglob("*.*")))


def serves(command: list[str], here: Path, port: int) -> None:
    """Start the daemon, wait until it is ready, end it: it ends well."""
    with subprocess.Popen(command, cwd=here, stderr=subprocess.DEVNULL, env=outside()) as daemon:
        try:
            wait_for(lambda: answer(port) == 200, timeout=120)
        finally:
            daemon.terminate()
        assert daemon.wait(60) == 0


def answer(port: int) -> int | None:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code
    except httpx.TransportError:
        return None


def outside() -> dict[str, str]:
    """Environment without what leads Python back to these sources, and with its authorities."""
    found = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    authorities = found.pop("AUTHORITIES_OUTSIDE", "")
    return found | {"SSL_CERT_FILE": authorities} if authorities else found
