"""Configurations of models by their hash: kept for ever, so that a number's configuration can be read."""

import json
from dataclasses import dataclass

from sqlalchemy import select

from monitor.specs.stored_rows import KeptConfiguration
from monitor.store.damaged_rows import named_damage
from monitor.store.dialect_statements import database_now, insert_missing
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import configurations


@dataclass(frozen=True, slots=True)
class ConfigurationRepository(Repository):
    """Kept configurations, of all runs."""

    def save_configuration(self, key: str, model: str, content: str) -> None:
        """Keep a configuration; one that is kept under this hash already stays as it is."""
        with write_transaction(self.engine) as connection:
            now = connection.execute(select(database_now(connection))).scalar_one()
            row = {"hash": key, "model": model, "content": content, "created": now}
            insert_missing(connection, configurations, [row])

    def read_configuration(self, key: str) -> KeptConfiguration | None:
        """Return the configuration of a hash, if it is kept."""
        columns = [configurations.c[name] for name in KeptConfiguration.__dataclass_fields__]
        with read_transaction(self.engine) as connection:
            query = select(*columns).where(configurations.c.hash == key)
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        with named_damage(f"table configurations, hash {key}"):
            json.loads(row["content"])
        return KeptConfiguration(**row)
