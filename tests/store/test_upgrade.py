"""A store of each earlier version, with data in every table, is upgraded: every row is still there."""

import signal
import subprocess
import sys
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, Table, inspect, select, text

from monitor.core.clock import DAY
from monitor.core.errors import StoreError
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import make_store_engine, read_transaction, write_transaction
from monitor.store.store_database import _SCRIPTS, _list_revisions, migrate_store, schema_version
from monitor.store.tables.measurement_schema import VIEWS
from monitor.store.tables.shared_columns import METADATA

Rows = dict[str, list[dict[str, Any]]]
FIRST = 3  # rows of each table
KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from monitor.store.store_database import migrate_store

def kill(_connection, _cursor, statement, *_others):
    if statement.split()[:3] == sys.argv[2].split():
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(Engine, "after_cursor_execute", kill)
migrate_store(sys.argv[1])
"""


def made(connection: Connection, version: str) -> Rows:
    """Make the tables of a version, and fill them by their columns' types."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes.update(connection=connection, metadata=METADATA)
    command.upgrade(config, version)
    tables = MetaData()
    tables.reflect(connection)
    rows: Rows = {}
    for table in tables.sorted_tables:
        if table.name != "alembic_version":
            rows[table.name] = [filled(table, number) for number in range(FIRST)]
            connection.execute(table.insert(), rows[table.name])
    return rows


def filled(table: Table, number: int) -> dict[str, Any]:
    """A row whose keys fit together across tables."""
    plain = {"run": "live", "truth": "settled", "reason": None, "as_of": DAY * (number + 1)}
    return {
        column.name: plain.get(column.name, by_type(column.type.python_type, column.name, number))
        for column in table.columns
    }


def by_type(kind: type, name: str, number: int) -> Any:
    if kind is bytes:
        return bytes([number, 255])
    return f"{name} {number}" if kind is str else kind(number + 1)


def stored(connection: Connection, name: str) -> list[dict[str, Any]]:
    """Rows of a table or a view, of views without the times that are for people."""
    table = Table(name, MetaData(), autoload_with=connection)
    columns = [column for column in table.c if not column.name.endswith("_time")]
    return [dict(row) for row in connection.execute(select(*columns)).mappings()]


RENAMED = {("outbox", "incident"): "rule"}  # columns that were called otherwise before


def assert_kept(connection: Connection, before: Rows) -> None:
    """Every row of before is there, in a table or a view; columns that came since are empty."""
    for name, rows in before.items():
        after = stored(connection, name)
        expected = (
            {key: row.get(key, row.get(RENAMED.get((name, key), ""))) for key in after[0]} for row in rows
        )
        assert sorted(after, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("version", _list_revisions()[:-1])
def test_every_row_of_each_earlier_version_is_kept(store_url: str, version: str) -> None:
    engine = make_store_engine(store_url)
    with write_transaction(engine) as connection:
        before = made(connection, version)

    migrate_store(store_url)

    with read_transaction(engine) as connection:
        found = inspect(connection)
        assert set(found.get_table_names()) == {*METADATA.tables, "alembic_version"}
        assert set(found.get_view_names()) == {*VIEWS.tables, "snapshots_latest"}
        assert_kept(connection, before)
    engine.dispose()


def test_a_migration_that_is_killed_changes_nothing_and_is_run_again(store_url: str) -> None:
    engine = make_store_engine(store_url)
    with write_transaction(engine) as connection:
        before = made(connection, "0014")

    killed = subprocess.run([sys.executable, "-c", KILLED, store_url, "CREATE TABLE troubles"], check=False)

    with read_transaction(engine) as connection:
        assert {name: stored(connection, name) for name in before} == before
    assert (killed.returncode, schema_version(store_url)) == (-signal.SIGKILL, "0014")
    migrate_store(store_url)
    with read_transaction(engine) as connection:
        assert_kept(connection, before)
    engine.dispose()


def test_a_store_that_is_too_old_is_refused_and_left_as_it_is(sqlite_store: SqlStore) -> None:
    with write_transaction(sqlite_store.engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0010'"))
    url = str(sqlite_store.engine.url)

    with pytest.raises(StoreError, match="too old to be upgraded: got 0010, the oldest known is 0014"):
        migrate_store(url)

    assert schema_version(url) == "0010"


@pytest.mark.parametrize("version", ["x'00'", "7", "'ÿ'", "''"])
def test_a_version_that_is_damaged_is_another_one(sqlite_store: SqlStore, version: str) -> None:
    with write_transaction(sqlite_store.engine) as connection:
        connection.execute(text(f"UPDATE alembic_version SET version_num = {version}"))

    with pytest.raises(StoreError, match=r"made by another version|too old"):
        migrate_store(str(sqlite_store.engine.url))
