"""What happened to histories: append-only, kept for ever."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select

from monitor.specs.stored_rows import HistoryEvent
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.service_schema import events


@dataclass(frozen=True, slots=True)
class EventRepository(Repository):
    """Events of a run."""

    def append_events(self, happened: Sequence[HistoryEvent]) -> None:
        """Keep events, in one transaction and in their order."""
        with write_transaction(self.engine) as connection:
            write_events(connection, self.run, happened)

    def read_events(self, model: str | None = None, kind: str | None = None) -> list[HistoryEvent]:
        """Events in the order in which they were kept; None: of any model, of any kind."""
        given = {"run": self.run, "model": model, "kind": kind}
        asked = {name: value for name, value in given.items() if value is not None}
        with read_transaction(self.engine) as connection:
            rows = connection.execute(_events_query(tuple(asked)), asked).mappings()
            return [HistoryEvent(**row) for row in rows]

    def newest_event_number(self) -> int:
        """Number of the run's newest event; 0: there is none."""
        query = select(func.max(events.c.id)).where(events.c.run == self.run)
        with read_transaction(self.engine) as connection:
            return connection.execute(query).scalar() or 0


def write_events(connection: Connection, run: str, happened: Sequence[HistoryEvent]) -> None:
    """Keep events within a transaction that does more."""
    if happened:
        connection.execute(
            insert(events), [asdict(event) | {"run": run, "at": int(event.at)} for event in happened]
        )


@lru_cache(maxsize=4)
def _events_query(asked: tuple[str, ...]) -> Select[Any]:
    columns = (events.c[name] for name in HistoryEvent.__dataclass_fields__)
    chosen = (events.c[name] == bindparam(name) for name in asked)
    return select(*columns).where(*chosen).order_by(events.c.id)
