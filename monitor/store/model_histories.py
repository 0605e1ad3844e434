"""Whole histories: a model that is renamed keeps its own, one that is forgotten loses its numbers.

Every table with a column `model` takes part, whatever its run; configurations, references and events are
kept for ever.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, delete, func, literal, select, update

from monitor.specs.stored_rows import HistoryEvent
from monitor.store.event_rows import write_events
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction, write_transaction
from monitor.store.tables.measurement_schema import current_rows, details, row_sets, series, snapshot_rows
from monitor.store.tables.service_schema import configurations, events, leases, models, provenance, references
from monitor.store.tables.shared_columns import METADATA

_FOR_EVER = (configurations, references, events)
_NUMBERED = {"snapshots": (snapshot_rows.c.row_set, row_sets), "current": (current_rows.c.series, series)}
_HISTORY = [table for table in METADATA.sorted_tables if "model" in table.c and table not in _FOR_EVER]


@dataclass(frozen=True, slots=True)
class HistoryRepository(Repository):
    """Histories of models, in all runs; the events that tell of them are of this run."""

    def list_runs(self, model: str) -> list[str]:
        """Runs in which a model has a history."""
        statement = select(models.c.run).where(models.c.model == model).order_by(models.c.run)
        with read_transaction(self.engine) as connection:
            return list(connection.execute(statement).scalars())

    def rename_histories(self, renamed: Sequence[tuple[HistoryEvent, Mapping[str, str]]]) -> None:
        """Hand histories of subjects over to their models, with new keys of references by their old ones."""
        with write_transaction(self.engine) as connection:
            for event, keys in renamed:
                _rename_history(connection, event.subject, event.model, keys)
            write_events(connection, self.run, [event for event, _ in renamed])

    def forget_history(self, event: HistoryEvent) -> dict[str, int]:
        """Delete the history of the event's model, in one transaction; how many rows, by table or view."""
        with write_transaction(self.engine) as connection:
            gone = _delete_history(connection, event.model)
            write_events(connection, self.run, [replace(event, detail=json.dumps(gone))])
        return gone


def _rename_history(connection: Connection, old: str, new: str, keys: Mapping[str, str]) -> None:
    """Hand the rows of `old` over to `new`, in all runs.

    `keys`: new keys of kept references by their old ones; the others keep theirs. Where one is kept under the
    new key already, it is the same: it stays, the other goes.
    """
    connection.execute(delete(leases).where(leases.c.model.in_([old, new])))
    # Row sets refer to rows of provenance, whose key may not change below them: these are copied first, and
    # deleted once nothing refers to them.
    columns = [literal(new) if column.name == "model" else column for column in provenance.c]
    copied = select(*columns).where(provenance.c.model == old)
    connection.execute(provenance.insert().from_select(provenance.c.keys(), copied))
    for table in [*(table for table in _HISTORY if table not in (provenance, leases)), references, events]:
        connection.execute(update(table).where(table.c.model == old).values(model=new))
    connection.execute(delete(provenance).where(provenance.c.model == old))
    for before, after in keys.items():
        if connection.execute(select(references.c.key).where(references.c.key == after)).first() is not None:
            connection.execute(delete(references).where(references.c.key == before))
        connection.execute(update(references).where(references.c.key == before).values(key=after))
        renamed = func.replace(provenance.c.reference, before, after)
        connection.execute(update(provenance).where(provenance.c.model == new).values(reference=renamed))


def _delete_history(connection: Connection, model: str) -> dict[str, int]:
    gone = {}
    for name, (number, table) in _NUMBERED.items():  # rows before what they are numbered by
        numbers = select(table.c.id).where(table.c.model == model)
        gone[name] = connection.execute(delete(number.table).where(number.in_(numbers))).rowcount
    for table in reversed(_HISTORY):  # row sets before the provenance that they refer to
        deleted = connection.execute(delete(table).where(table.c.model == model)).rowcount
        if table not in (leases, series, row_sets, details):
            gone[table.name] = deleted
    return {name: rows for name, rows in gone.items() if rows}
