"""What stands in the way of a model's cycles: one row as long as it does."""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from monitor.sentences.trouble_sentences import CycleTrouble
from monitor.store.dialect_statements import put_rows
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import troubles


@dataclass(frozen=True, slots=True)
class TroubleRepository(Repository):
    """The troubles of one run."""

    def read_troubles(self) -> dict[str, CycleTrouble]:
        """What stands in the way now, by model."""
        with read_transaction(self.engine) as connection:
            return _troubles_by_model(connection, self.run)

    def note_trouble(self, model: str, as_of: int, *, failed: bool, sentence: str) -> None:
        """Keep what a cycle met; where the cycle before met one of its kind, it began then."""
        with write_transaction(self.engine) as connection:
            before = _troubles_by_model(connection, self.run).get(model)
            since, times = as_of, int(failed)
            if before is not None and (before.failed > 0) is failed:
                since, times = before.since, before.failed + times
            row = {
                "run": self.run,
                "model": model,
                "as_of": as_of,
                "since": since,
                "failed": times,
                "told": sentence,
            }
            put_rows(connection, troubles, [row])

    def clear_trouble(self, model: str) -> None:
        """Nothing stands in the way any more."""
        with write_transaction(self.engine) as connection:
            connection.execute(delete(troubles).where(troubles.c.run == self.run, troubles.c.model == model))


def _troubles_by_model(connection: Connection, run: str) -> dict[str, CycleTrouble]:
    rows = connection.execute(select(troubles).where(troubles.c.run == run)).mappings()
    names = CycleTrouble.__dataclass_fields__
    return {row["model"]: CycleTrouble(**{name: row[name] for name in names}) for row in rows}
