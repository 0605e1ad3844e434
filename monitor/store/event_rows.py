"""What happened to histories: append-only, kept for ever."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select

from monitor.specs.stored_rows import HistoryEvent
from monitor.store.tables import events


def append_events(connection: Connection, run: str, happened: Sequence[HistoryEvent]) -> None:
    """Keep events, in their order."""
    if happened:
        connection.execute(
            insert(events), [asdict(event) | {"run": run, "at": int(event.at)} for event in happened]
        )


def read_events(
    connection: Connection, run: str, *, model: str | None = None, kind: str | None = None
) -> list[HistoryEvent]:
    """Events in the order in which they were kept; None: of any model, of any kind."""
    given = {"run": run, "model": model, "kind": kind}
    asked = {name: value for name, value in given.items() if value is not None}
    return [HistoryEvent(**row) for row in connection.execute(_events_query(tuple(asked)), asked).mappings()]


def newest_event_number(connection: Connection, run: str) -> int:
    """Number of the newest event of a run; 0: there is none."""
    query = select(func.max(events.c.id)).where(events.c.run == run)
    return connection.execute(query).scalar() or 0


@lru_cache(maxsize=4)
def _events_query(asked: tuple[str, ...]) -> Select[Any]:
    columns = (events.c[name] for name in HistoryEvent.__dataclass_fields__)
    chosen = (events.c[name] == bindparam(name) for name in asked)
    return select(*columns).where(*chosen).order_by(events.c.id)
