"""What a command imports before it does its work: counted, not timed."""

import subprocess
import sys
from pathlib import Path

import pytest
from serving import model, predictions, sqlite_bench

from monitor.core.clock import DAY, from_iso
from monitor.store.store_database import migrate_store

ROOT = Path(__file__).parents[2]
CONFIG = """
[store]
url = "sqlite:///{directory}/monitor.db"

[sources.log]
url = "sqlite:///{directory}/log.db"

[[models]]
name = "late"
source = "log"
task = "binary"
predictions = {{ table = "predictions", id = "id", event_time = "at", event_time_unit = "s", score = "score", threshold = 0.5 }}
"""  # noqa: E501 -- TOML's inline tables take one line
HEAVY = {
    "alembic",
    "apprise",
    "jinja2",
    "pandas",
    "pyarrow.parquet",
    "scipy.special",
    "scipy.stats",
    "sqlalchemy.dialects.postgresql",
}
WITHOUT_PANDAS = """
import sys

class Nowhere:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Nowhere)
import monitor.cli
monitor.cli.main()
"""
OF_THE_DAEMON = {"apscheduler", "starlette", "uvicorn"}
OF_CYCLES = {
    "adbc_driver_manager", "numpy", "pyarrow", "scipy", "structlog",
    "monitor.advice", "monitor.look", "monitor.measures.evaluate", "monitor.pipeline",
    "monitor.records.counting", "monitor.sources",
}  # fmt: skip
LIBRARIES = {"numpy", "pyarrow", "pydantic", "sqlalchemy"}


def imported(*arguments: str, directory: Path | None = None) -> set[str]:
    """Modules that a command has imported at its end."""
    code = "import sys, monitor.cli\ntry: monitor.cli.main()\nfinally: print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, *arguments]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, cwd=directory or ROOT)
    return set(ended.stderr.split())


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a configuration and its store."""
    directory = tmp_path_factory.mktemp("started")
    (directory / "config.toml").write_text(CONFIG.format(directory=directory), encoding="utf-8")
    migrate_store(f"sqlite:///{directory / 'monitor.db'}")
    return directory


def test_help_needs_no_library_but_that_of_commands() -> None:
    assert not imported("run", "--help") & (LIBRARIES | HEAVY | OF_THE_DAEMON)


@pytest.mark.parametrize("command", ["show", "alerts", "status"])
def test_reading_what_is_kept_needs_nothing_of_cycles_and_daemons(command: str, directory: Path) -> None:
    assert not imported(command, directory=directory) & (HEAVY | OF_THE_DAEMON | OF_CYCLES)


def test_a_check_of_the_file_needs_nothing_that_counts(directory: Path) -> None:
    assert not imported("check", "--offline", directory=directory) & (HEAVY | {"apscheduler", "uvicorn"})


@pytest.mark.parametrize(
    ("module", "not_needed"),
    [
        ("monitor", LIBRARIES | HEAVY | OF_THE_DAEMON),
        ("monitor.app.daemon_wiring", HEAVY | {"monitor.pages"}),
    ],
)
def test_importing_imports_nothing_that_is_needed_later_if_at_all(module: str, not_needed: set[str]) -> None:
    code = f"import sys, {module}\nprint(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert not set(ended.stdout.split()) & not_needed


@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("cycle", "--as-of", "2024-03-04"),
        ("show",),
        ("export", "kept.parquet"),
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                ("init", "--url", "sqlite:///log.db", "--predictions", "predictions"),
                *(("status",), ("alerts",), ("export", "kept.csv")),
            )
        ),
    ],
    ids=" ".join,
)  # fmt: skip
def test_commands_do_without_pandas(command: tuple[str, ...], logged: Path) -> None:
    """A frame is what notebooks take: where pandas is not installed everything else works."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS, *command],
        check=False,
        capture_output=True,
        text=True,
        cwd=logged,
    )

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of a configuration, and of a log of three days."""
    directory, start = tmp_path_factory.mktemp("logged"), from_iso("2024-03-01")
    rows = predictions(100, start, start + 3 * DAY)
    sqlite_bench(directory, rows, model(options='windows = ["1d"]\n'), labelled=start + 4 * DAY)
    migrate_store(f"sqlite:///{directory / 'monitor.db'}")
    return directory
