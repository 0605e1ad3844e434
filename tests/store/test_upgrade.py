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
from monitor.measures.measurement_row import LabelTruth
from monitor.store.sql_store import SqlStore
from monitor.store.store_connections import make_store_engine, read_transaction, write_transaction
from monitor.store.store_database import _SCRIPTS, _list_revisions, migrate_store, open_store, schema_version
from monitor.store.tables import METADATA, VIEWS

Rows = dict[str, list[dict[str, Any]]]
FIRST = 3  # rows of each table
_LATER = {
    "against": "",
    "detail": None,
    "settling_age": None,
    "seen_again": None,
    "labelled_as_of": None,
    "mapping": None,
    "holds": None,
    "label_writes": None,
    "rows_seen_again": None,
    "made_of": "",
    "rows": 0,
    "told": None,
}  # columns that old rows lack


KILLED = """
import os, signal, sys
from sqlalchemy import Engine, event
from monitor.store.store_database import migrate_store

def kill(_connection, _cursor, statement, *_others):
    if statement.strip().startswith(sys.argv[2]):
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


def assert_kept(connection: Connection, before: Rows) -> None:
    """Every row of before is there, in a table or a view."""
    for name, rows in before.items():
        after = stored(connection, name)
        wide = [row | {key: _LATER[key] for key in after[0].keys() - row.keys()} for row in rows]
        assert sorted(after, key=str) == sorted(
            ({key: row[key] for key in after[0]} for row in wide), key=str
        )


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
        before = made(connection, "0010")

    killed = subprocess.run([sys.executable, "-c", KILLED, store_url, "DROP TABLE"], check=False)

    with read_transaction(engine) as connection:
        assert {name: stored(connection, name) for name in before} == before
    assert (killed.returncode, schema_version(store_url)) == (-signal.SIGKILL, "0010")
    migrate_store(store_url)
    with read_transaction(engine) as connection:
        assert_kept(connection, before)
    engine.dispose()


@pytest.mark.postgres
def test_who_could_read_the_tables_reads_the_views(postgres_url: str) -> None:
    engine = make_store_engine(postgres_url)
    with write_transaction(engine) as connection:
        made(connection, "0010")
        connection.execute(text('CREATE ROLE "an Analyst"'))
        connection.execute(text('GRANT SELECT ON snapshots, current TO "an Analyst"'))
    try:
        migrate_store(postgres_url)

        with write_transaction(engine) as connection:
            connection.execute(text('SET LOCAL ROLE "an Analyst"'))
            for view in (*VIEWS.tables, "snapshots_latest"):
                assert len(stored(connection, view)) == FIRST
    finally:
        with write_transaction(engine) as connection:
            connection.execute(text('DROP OWNED BY "an Analyst"'))
            connection.execute(text('DROP ROLE "an Analyst"'))
        engine.dispose()


@pytest.mark.parametrize("as_of", [DAY, 3 * DAY])
def test_what_was_kept_by_the_first_version_is_shown(store_url: str, as_of: int) -> None:
    engine = make_store_engine(store_url)
    with write_transaction(engine) as connection:
        before = made(connection, "0001")["snapshots"]
    engine.dispose()
    migrate_store(store_url)

    store: SqlStore = open_store(store_url, "live")
    found = store.snapshots.read_snapshot_rows(as_of=as_of)
    store.close()

    known = [row for row in before if row["as_of"] <= as_of]
    assert sorted(row.measurement.value or 0.0 for _, _, row in found) == [row["value"] for row in known]
    assert {row.truth for _, _, row in found} == {LabelTruth.SETTLED}
    assert {row.against for _, _, row in found} == {""}
