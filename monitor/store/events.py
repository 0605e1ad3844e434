"""What happened to histories: append-only, kept for ever."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, insert, select

from monitor.specs.rows import Event
from monitor.store.tables import events


def append(connection: Connection, run: str, happened: Sequence[Event]) -> None:
    """Keep events, in their order."""
    if happened:
        connection.execute(
            insert(events), [asdict(event) | {"run": run, "at": int(event.at)} for event in happened]
        )


def read(
    connection: Connection, run: str, *, model: str | None = None, kind: str | None = None
) -> list[Event]:
    """Events in the order in which they were kept; None: of any model, of any kind."""
    wanted = {events.c.model: model, events.c.kind: kind}
    chosen = [column == value for column, value in wanted.items() if value is not None]
    columns = [events.c[name] for name in Event.__dataclass_fields__]
    found = connection.execute(select(*columns).where(events.c.run == run, *chosen).order_by(events.c.id))
    return [Event(**row) for row in found.mappings()]
