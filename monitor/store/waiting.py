"""Panes that changed in the source and are not yet counted again."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, case, select

from monitor.records.pane import Part
from monitor.specs.rows import WaitingPane
from monitor.store.damage import understood
from monitor.store.statements import Insert, insert_of
from monitor.store.tables import waiting

_WAITING = (
    select(waiting.c.start, waiting.c.part, waiting.c.since, waiting.c.labels)
    .where(waiting.c.run == bindparam("run"), waiting.c.model == bindparam("model"))
    .order_by(waiting.c.since, waiting.c.start, waiting.c.part)
)


def note(connection: Connection, run: str, model: str, panes: Iterable[WaitingPane]) -> None:
    """Remember dirty panes: labels add up, the oldest since stays."""
    rows = [
        {
            "run": run,
            "model": model,
            "part": pane.part.value,
            "start": int(pane.start),
            "since": int(pane.since),
            "labels": int(pane.labels),
        }
        for pane in panes
    ]
    if rows:
        connection.execute(_noted(connection.dialect.name), rows)


@lru_cache
def _noted(dialect: str) -> Insert:
    statement = insert_of(dialect, waiting)
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["run", "model", "part", "start"],
        set_={
            "since": case((new.since < waiting.c.since, new.since), else_=waiting.c.since),
            "labels": waiting.c.labels + new.labels,
        },
    )


def read(connection: Connection, run: str, model: str) -> list[WaitingPane]:
    """Panes that wait, longest waiting first."""
    found = connection.execute(_WAITING, {"run": run, "model": model})
    with understood(f'table waiting, panes of "{model}"'):
        return _panes(found)


def _panes(found: Iterable[Sequence[Any]]) -> list[WaitingPane]:
    return [
        WaitingPane(start=start, part=Part(part), since=since, labels=labels)
        for start, part, since, labels in found
    ]
