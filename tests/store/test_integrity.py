"""Damage is looked for in time, and where nobody could look that is said."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import servers
from sqlalchemy import make_url

from monitor.core.errors import StoreError
from monitor.store.integrity import Integrity, require_sound
from monitor.store.store_database import migrate_store, open_store, require_usable

PAGE = 8_192  # of PostgreSQL
N = 5_000


@pytest.fixture
def server() -> Iterator[servers.Restartable]:
    """A server with a store, and leases of many models in it."""
    with servers.restartable() as server:
        migrate_store(server.url)
        with asked(server.url) as connection:
            leases = "SELECT 'live', 'model ' || n, 'ann', n, 1 FROM generate_series(1, %s) n"
            connection.execute(f"INSERT INTO leases (run, model, owner, token, expires_at) {leases}", [N])
        yield server


def asked(url: str) -> psycopg.Connection[tuple[object, ...]]:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True)


def harm(server: servers.Restartable, relation: str, at: int, written: bytes) -> None:
    """Write into a relation's file as a disk might: nobody has its pages in memory."""
    with asked(server.url) as connection:
        connection.execute("VACUUM")
        connection.execute("CHECKPOINT")
        (path,) = connection.execute("SELECT pg_relation_filepath(%s)", [relation]).fetchone() or ("",)
    server.stop()
    file = server.directory / "data" / str(path)
    content = bytearray(file.read_bytes())
    content[at : at + len(written)] = written
    file.write_bytes(content)
    (server.directory / "data" / "postmaster.pid").unlink(missing_ok=True)
    server.start()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("at", "said"),
    [
        (PAGE + 24, "damaged, says PostgreSQL: table leases, block 1: line pointer "),
        (PAGE, "invalid page in block 1 of relation base/"),
    ],
)
def test_pages_of_postgresql_are_looked_at_by_amcheck(
    server: servers.Restartable, at: int, said: str
) -> None:
    (note,) = require_sound(server.url).notes
    assert ": nobody looked at the pages of its tables: that needs the extension amcheck" in note
    with asked(server.url) as connection:
        connection.execute('CREATE SCHEMA "Odd"; CREATE EXTENSION amcheck SCHEMA "Odd"')
    assert require_sound(server.url) == Integrity()

    harm(server, "leases", at, b"A" * 40)

    require_usable(server.url)
    with pytest.raises(StoreError, match="restore a backup") as told:
        require_sound(server.url)
    assert said in str(told.value)


@pytest.mark.postgres
def test_checksums_that_failed_are_told(server: servers.Restartable) -> None:
    programs, data = Path(server.command[0]).parent, server.directory / "data"
    for command in (("pg_ctl", "stop", "-m", "fast"), ("pg_checksums", "--enable")):
        asked_for = [programs / command[0], *command[1:], "-D", data]
        subprocess.run(asked_for, check=True, capture_output=True, user=data.owner(), cwd=data)
    server.stop()
    server.start()
    (path,) = value(server.url, "SELECT pg_relation_filepath('leases')")
    file, at = data / str(path), 2 * PAGE - 100
    assert require_sound(server.url).warnings == ()
    harm(server, "leases", at, bytes([file.read_bytes()[at] ^ 1]))
    with pytest.raises(psycopg.errors.DataCorrupted):
        value(server.url, "SELECT max(owner || token) FROM leases")

    (warning,) = require_sound(server.url).warnings
    assert "the server has met wrong checksums of pages of this database, " in warning


def value(url: str, query: str) -> tuple[object, ...]:
    with asked(url) as connection:
        return connection.execute(query).fetchone() or ()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """URL of a store with a hundred thousand leases."""
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    open_store(url, "live").close()
    with closing(sqlite3.connect(tmp_path / "monitor.db")) as connection, connection:
        leases = (("live", f"model {n}", "ann", n, 1) for n in range(100_000))
        connection.executemany("INSERT INTO leases VALUES (?, ?, ?, ?, ?)", leases)
    return url


def test_a_file_that_takes_too_long_is_said_to_be_looked_at_in_part(store: str) -> None:
    assert require_sound(store) == Integrity()

    (note,) = require_sound(store, 0.12).notes

    assert ": 0.12 seconds were too short to look at the whole file" in note


def test_an_empty_file_stays_empty_and_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "monitor.db"
    file.touch()

    require_usable(f"sqlite:///{file}")
    (warning,) = require_sound(f"sqlite:///{file}").warnings

    assert f"the file {file} is empty: the first cycle makes a store of it" in warning
    assert [path.name for path in tmp_path.iterdir()] == ["monitor.db"]
    assert file.stat().st_size == 0
