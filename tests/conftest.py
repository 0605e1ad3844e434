"""Servers that tests share, and a loud word on those that the machine lacks."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import servers
from hypothesis import Phase, settings
from serving import Bench, Monitor

from monitor.core import secrets
from monitor.store.sql_store import SqlStore
from monitor.store.store_database import migrate_store, open_store

pytest_plugins = ["source_fixtures"]

# a busy machine is no failure
settings.register_profile("monitor", deadline=None, max_examples=60)
settings.register_profile("quick", deadline=None, max_examples=25)  # CI, which runs at each change
settings.register_profile(  # make mutants: what fails once has failed
    "mutants",
    deadline=None,
    max_examples=30,
    database=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile("quick" if os.environ.get("CI") else "monitor")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of commands are started: each would compile all
os.environ.pop("COLUMNS", None)  # readline sets it for what a test run starts; tables would have its width
sys.dont_write_bytecode = False  # rewriting the assertions of all tests takes half of their collection

# Files of tests are kept in memory where there is enough: a database of PostgreSQL alone is 300 of them.
_MEMORY = Path("/dev/shm")  # noqa: S108 (nothing but private directories is made there)
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= 2 * 2**30:
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None  # what was found before


# No test speaks TLS with a public host, and reading the authorities of all takes each client 50 ms of CPU.
os.environ.setdefault("AUTHORITIES_OUTSIDE", os.environ.get("SSL_CERT_FILE", ""))
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("nobody.pem"))


@pytest.fixture(autouse=True)
def unlearned() -> Iterator[None]:
    """A process keeps the secrets that it has met: those of another test are none here."""
    yield
    secrets.forget()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.PostgresServer]:
    """One PostgreSQL server a test process."""
    with servers.postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: servers.PostgresServer) -> Iterator[str]:
    """URL of a fresh, empty PostgreSQL database."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[servers.MariadbServer]:
    """One MariaDB server a test process."""
    with servers.mariadb() as server:
        yield server


@pytest.fixture
def mariadb_url(mariadb_server: servers.MariadbServer) -> Iterator[str]:
    """URL of a fresh, empty MariaDB database."""
    with mariadb_server.database() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a fresh database without tables, once on each database that a store may be in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'monitor.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[SqlStore]:
    """Store of the run "live" in a fresh database."""
    migrate_store(store_url)
    opened = open_store(store_url, "live")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file: copying it is quicker than migrating."""
    path = tmp_path_factory.mktemp("store") / "empty.db"
    migrate_store(f"sqlite:///{path}")
    return path


@pytest.fixture
def new_store(empty_store: Path, tmp_path: Path) -> Iterator[Callable[[], SqlStore]]:
    """Makes stores of the run "live", each in a file of its own."""
    opened: list[SqlStore] = []

    def make() -> SqlStore:
        path = tmp_path / f"store{len(opened)}.db"
        shutil.copy(empty_store, path)
        opened.append(open_store(f"sqlite:///{path}", "live"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def fresh_store(new_store: Callable[[], SqlStore]) -> SqlStore:
    """One empty store."""
    return new_store()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what to install where tests were skipped for want of a program."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    lacking = servers.skipped_for_programs(reasons)
    if lacking:
        terminalreporter.section("TESTS WERE SKIPPED: programs are missing", sep="!", red=True, bold=True)
        for reason, count in lacking.items():
            terminalreporter.line(f"{count} tests: {reason}", red=True, bold=True)


@pytest.fixture
def monitor(bench: Bench) -> Monitor:
    """A command on the configuration of a test's own `bench`."""
    return bench.monitor


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[SqlStore]:
    """Store of the run "live" in a fresh file of SQLite."""
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    migrate_store(url)
    opened = open_store(url, "live")
    yield opened
    opened.close()
