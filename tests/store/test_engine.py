import os
import re
import stat
import threading
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from store_examples import START, commit, read_only, row
from waiting import at_once

from monitor.app.run_lock import lock_of
from monitor.core.errors import StoreError, StoreLost
from monitor.measures.measurement_row import StoredMeasurement
from monitor.specs.stored_rows import ModelState
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.store_database import (
    migrate_store,
    open_store,
    open_to_read,
    require_usable,
    schema_version,
)
from monitor.store.tables.measurement_schema import VIEWS, snapshots
from monitor.store.tables.shared_columns import METADATA

ROOT = Path(__file__).parents[2]


def test_migrations_make_the_tables_of_the_metadata(store: SqlStore) -> None:
    with read_transaction(store.engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, METADATA)

    if store.engine.dialect.name == "sqlite":  # knows no identity: older Alembic takes it for a default
        differences = [some for some in differences if {one[0] for one in some} != {"modify_default"}]
    assert differences == []


def test_views_have_the_columns_of_the_metadata_and_timestamps_beside_them(store: SqlStore) -> None:
    times = {"window_end_time", "as_of_time"}
    with read_transaction(store.engine) as connection:
        views = inspect(connection)

        found = {
            name: [column["name"] for column in views.get_columns(name)] for name in views.get_view_names()
        }

    assert set(found) == {*VIEWS.tables, "snapshots_latest"}
    for name, columns in found.items():
        assert columns[:-2] == VIEWS.tables.get(name, snapshots).columns.keys(), name
        assert set(columns[-2:]) == times


def test_modules_that_comments_of_the_store_name_are_there() -> None:
    tables = METADATA.sorted_tables
    comments = " ".join(
        str(comment) for table in tables for comment in (table.comment, *(one.comment for one in table.c))
    )

    modules = re.findall(r"monitor(?:\.\w+)+", comments)

    assert modules
    assert [name for name in modules if find_spec(name) is None] == []


def test_the_newest_version_is_that_of_the_migrations(empty_store: Path) -> None:
    head = ScriptDirectory(str(ROOT / "migrations")).get_current_head()

    assert schema_version(f"sqlite:///{empty_store}") == migrate_store(f"sqlite:///{empty_store}") == head


def test_a_sqlite_store_is_migrated_when_it_is_opened(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'monitor.db'}"

    open_store(url, "live").close()

    assert schema_version(url) == migrate_store(url)


def test_a_store_in_memory_works(tmp_path: Path) -> None:
    store = open_store("sqlite://", "live")

    store.commit_cycle("late", commit())

    assert store.states.read_state("late").as_of == START
    store.close()


@pytest.mark.postgres
def test_an_unmigrated_postgresql_says_what_to_run(postgres_url: str) -> None:
    with pytest.raises(StoreError, match="got none; run `monitor migrate`"):
        open_store(postgres_url, "live")

    assert schema_version(postgres_url) is None


@pytest.mark.postgres
def test_a_migrated_postgresql_opens(postgres_url: str) -> None:
    version = migrate_store(postgres_url)

    assert schema_version(postgres_url) == version
    open_store(postgres_url.replace("postgresql+psycopg:", "postgresql:"), "live").close()


def test_migrating_twice_changes_nothing(store_url: str) -> None:
    assert migrate_store(store_url) == migrate_store(store_url)


def test_a_store_of_an_unknown_version_is_refused(store_url: str) -> None:
    migrate_store(store_url)
    store = SqlStore(open_store(store_url, "live").engine, "live")
    with write_transaction(store.engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    store.close()

    with pytest.raises(StoreError, match="made by another version: got 9999"):
        open_store(store_url, "live")
    with pytest.raises(StoreError, match="made by another version: got 9999"):
        migrate_store(store_url)


def test_passwords_are_never_shown(tmp_path: Path) -> None:
    url = "postgresql+psycopg://me:hunter2@127.0.0.1:1/monitor?password=hunter2&connect_timeout=2"

    with pytest.raises(
        StoreError, match=r"store postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/monitor: "
    ) as caught:
        open_store(url, "live")

    assert "hunter2" not in str(caught.value)


def test_a_file_that_cannot_be_opened_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open database file"):
        open_store(f"sqlite:///{tmp_path / 'nowhere' / 'monitor.db'}", "live")


@pytest.mark.parametrize(
    ("url", "message"), [("mysql://a/b", "SQLite or PostgreSQL: got mysql"), ("%", "got no scheme")]
)
def test_other_databases_are_refused(url: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        open_store(url, "live")


def test_what_the_database_refuses_is_a_store_error_without_values(store: SqlStore) -> None:
    with write_transaction(store.engine) as connection:
        connection.execute(text("DROP TABLE waiting"))

    with pytest.raises(StoreError, match="waiting"):
        store.panes.read_waiting_panes("secret-model")


def test_readers_go_on_while_a_cycle_writes(store: SqlStore) -> None:
    store.commit_cycle("late", commit(current=(row("a"),)))

    with write_transaction(store.engine) as connection:
        connection.execute(text("DELETE FROM current_rows"))
        found = store.current.read_current()

    assert found == [StoredMeasurement("late", START, row("a"))]
    assert store.current.read_current() == []


def test_a_fresh_sqlite_store_is_opened_by_many_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    barrier = threading.Barrier(4)
    versions: list[ModelState] = []

    def opens() -> None:
        barrier.wait()
        store = open_store(url, "live")
        versions.append(store.states.read_state("late"))
        store.close()

    at_once([opens] * 4)

    assert versions == [ModelState()] * 4


@pytest.mark.postgres
def test_connections_that_the_server_ended_are_replaced(postgres_url: str) -> None:
    migrate_store(postgres_url)
    store, other = open_store(postgres_url, "live"), open_store(postgres_url, "other")
    store.commit_cycle("late", commit())

    with write_transaction(other.engine) as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        )

    assert store.states.read_state("late").as_of == START
    store.close()
    other.close()


def test_a_file_that_was_read_only_is_written_again_by_the_second_try(tmp_path: Path) -> None:
    """What SQLite opens while a file is read-only stays so, and so does a connection in a pool."""
    store = open_store(f"sqlite:///{tmp_path / 'monitor.db'}", "live")
    store.commit_cycle("late", commit())
    with read_only(store):
        with pytest.raises(StoreError, match="attempt to write a readonly database"):
            store.leases.claim_lease("late", "a", 1)
        assert store.states.read_state("late").as_of == START  # opens another connection
    with suppress(StoreError):
        store.leases.claim_lease("late", "a", 1)

    assert store.leases.claim_lease("late", "a", 1) is not None
    store.close()


def test_no_second_connection_opens_beside_one_whose_log_was_deleted(tmp_path: Path) -> None:
    """It would make a log of its own: two connections would write one file through two logs."""
    file = tmp_path / "monitor.db"
    store = open_store(f"sqlite:///{file}", "live")
    store.commit_cycle("late", commit())
    log = Path(f"{file}-wal")

    with read_transaction(store.engine):
        log.unlink()
        with pytest.raises(StoreLost, match="-wal was deleted or moved away"), read_transaction(store.engine):
            pass
        assert not log.exists()

    store.close()
    reopened = open_store(f"sqlite:///{file}", "live")  # once nobody has it open, the log is made anew
    assert reopened.states.read_state("late").as_of == START
    reopened.close()


@pytest.mark.parametrize("left", ["-wal", "-shm", ".live.lock", ".try%20it.lock"])
def test_no_store_is_made_where_something_says_that_one_was_moved_away(tmp_path: Path, left: str) -> None:
    """SQLite would throw the log away, with all that is in it alone."""
    file = tmp_path / "monitor.db"
    url, beside = f"sqlite:///{file}", Path(f"{file}{left}")
    beside.write_bytes(b"what was committed last")

    for touch in (
        partial(open_store, url, "live"),
        partial(open_to_read, url, "live"),
        partial(migrate_store, url),
        partial(schema_version, url),
        partial(require_usable, url),
    ):
        with pytest.raises(StoreError, match=f"not there, but monitor.db{left} is: .*Put it back") as told:
            touch()
        assert "makes one" not in str(told.value)
    assert beside.read_bytes() == b"what was committed last"
    assert list(tmp_path.iterdir()) == [beside]

    beside.unlink()
    open_store(url, "live").close()


def test_writers_wait_for_one_another(store: SqlStore) -> None:
    def write(model: str) -> None:
        for moment in range(10):
            store.panes.note_waiting(model, ModelState(as_of=moment), [])

    at_once(partial(write, f"model-{number}") for number in range(4))

    assert [store.states.read_state(f"model-{number}").as_of for number in range(4)] == [9] * 4


def test_migrations_import_nothing_of_monitor() -> None:
    sources = [path.read_text() for path in (ROOT / "migrations").rglob("*.py")]

    assert len(sources) >= 4
    assert not [source for source in sources if "import monitor" in source or "from monitor" in source]


@pytest.mark.postgres
def test_a_postgresql_that_hands_out_bytes_is_asked_for_text(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")  # as of a database of that encoding

    migrate_store(postgres_url)

    store = open_store(postgres_url, "live")
    store.commit_cycle("late", commit())
    assert store.states.read_state("late").as_of == START
    store.close()


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_files_of_a_store_are_its_owners_alone_and_those_that_are_there_stay_as_they_are(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        store = open_store(f"sqlite:///{tmp_path / 'monitor.db'}", "live")
        lock = lock_of(store)
        assert lock is not None
        assert lock.take_lock()
        store.commit_cycle("late", commit())
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        lock.release_lock()
        store.close()
        assert modes == {f"monitor.db{end}": 0o600 for end in ("", "-wal", "-shm", ".live.lock")}

        (tmp_path / "monitor.db").chmod(0o640)
        store = open_store(f"sqlite:///{tmp_path / 'monitor.db'}", "live")
        store.commit_cycle("late", commit())
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)

    assert modes == {
        "monitor.db": 0o640, "monitor.db-wal": 0o640, "monitor.db-shm": 0o640, "monitor.db.live.lock": 0o600,
    }  # fmt: skip
