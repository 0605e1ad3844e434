"""One database a test, over each engine and each way to read it."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from source_databases import Database

READERS = [
    pytest.param(f"{engine}-{reader}", marks=pytest.mark.postgres if engine == "postgres" else ())
    for engine, reader in itertools.product(("sqlite", "postgres"), ("adbc", "fetchmany"))
]
MARIADB = pytest.param("mariadb-fetchmany", marks=pytest.mark.mariadb)


@pytest.fixture
def make_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Database]]:
    """A function from "engine-reader" to a database."""
    made: list[Database] = []

    def make(kind: str) -> Database:
        engine, _, reader = kind.partition("-")
        url = f"sqlite:///{tmp_path / 'log of predictions.db'}"
        if engine == "postgres":
            url = request.getfixturevalue("postgres_url")
        if engine == "mariadb":
            url = request.getfixturevalue("mariadb_url")
        made.append(Database(url, reader))
        return made[-1]

    yield make
    for source in (source for database in made for source in database.opened):
        source.close()


@pytest.fixture(params=[*READERS, MARIADB])
def database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """Each engine, each reader."""
    return make_database(request.param)


@pytest.fixture(params=["sqlite-adbc", "sqlite-fetchmany"])
def sqlite_database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """SQLite, each reader."""
    return make_database(request.param)


@pytest.fixture(params=[MARIADB])
def mariadb_database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """MariaDB, by its one reader."""
    return make_database(request.param)


@pytest.fixture(params=READERS[2:])
def postgres_database(request: pytest.FixtureRequest, make_database: Callable[[str], Database]) -> Database:
    """PostgreSQL, each reader."""
    return make_database(request.param)
