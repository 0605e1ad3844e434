"""Configurations of models by their hash: kept for ever, so that a number's configuration can be read."""

import json

from sqlalchemy import Connection, select

from monitor.specs.stored_rows import KeptConfiguration
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import database_now, insert_missing
from monitor.store.tables import configurations


def keep_configuration(connection: Connection, key: str, model: str, content: str) -> None:
    """Keep a configuration; one that is kept under this hash already stays as it is."""
    now = connection.execute(select(database_now(connection))).scalar_one()
    insert_missing(
        connection, configurations, [{"hash": key, "model": model, "content": content, "created": now}]
    )


def read_configuration(connection: Connection, key: str) -> KeptConfiguration | None:
    """Return the configuration of a hash, if it is kept."""
    columns = [configurations.c[name] for name in KeptConfiguration.__dataclass_fields__]
    row = connection.execute(select(*columns).where(configurations.c.hash == key)).mappings().first()
    if row is None:
        return None
    with named_damage(f"table configurations, hash {key}"):
        json.loads(row["content"])
    return KeptConfiguration(**row)
