"""A store of the first version, with data in every table, is upgraded: every row is still there."""

from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, Table, inspect, select

from monitor.core.clock import DAY
from monitor.measures.rows import Truth
from monitor.store.adapter import SqlStore
from monitor.store.connections import connect, reading, writing
from monitor.store.engine import _SCRIPTS, migrate, open_store
from monitor.store.tables import METADATA

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
}  # columns that old rows lack


def made_first(connection: Connection) -> Rows:
    """Make the first tables, and fill them by their columns' types."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes.update(connection=connection, metadata=METADATA)
    command.upgrade(config, "0001")
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
    table = Table(name, MetaData(), autoload_with=connection)
    return [dict(row) for row in connection.execute(select(table)).mappings()]


def test_every_row_of_the_first_version_is_kept(store_url: str) -> None:
    engine = connect(store_url)
    with writing(engine) as connection:
        before = made_first(connection)

    migrate(store_url)

    with reading(engine) as connection:
        names = set(inspect(connection).get_table_names()) - {"alembic_version"}
        after = {name: stored(connection, name) for name in names}
    engine.dispose()
    assert names == set(METADATA.tables)
    for name, rows in before.items():
        wide = [row | {key: _LATER[key] for key in after[name][0].keys() - row.keys()} for row in rows]
        assert sorted(after[name], key=str) == sorted(
            ({key: row[key] for key in after[name][0]} for row in wide), key=str
        ), name


@pytest.mark.parametrize("as_of", [DAY, 3 * DAY])
def test_what_was_kept_by_the_first_version_is_shown(store_url: str, as_of: int) -> None:
    engine = connect(store_url)
    with writing(engine) as connection:
        before = made_first(connection)["snapshots"]
    engine.dispose()
    migrate(store_url)

    store: SqlStore = open_store(store_url, "live")
    found = store.history(as_of=as_of)
    store.close()

    known = [row for row in before if row["as_of"] <= as_of]
    assert sorted(row.measurement.value or 0.0 for _, _, row in found) == [row["value"] for row in known]
    assert {row.truth for _, _, row in found} == {Truth.SETTLED}
    assert {row.against for _, _, row in found} == {""}
