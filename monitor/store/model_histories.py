"""Whole histories: a model that is renamed keeps its own, one that is forgotten loses its numbers.

Every table with a column `model` takes part, whatever its run; configurations, references and events are
kept for ever.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, delete, func, literal, select, update

from monitor.store.tables import (
    METADATA,
    configurations,
    current_rows,
    details,
    events,
    leases,
    models,
    provenance,
    references,
    row_sets,
    series,
    snapshot_rows,
)

_FOR_EVER = (configurations, references, events)
_NUMBERED = {"snapshots": (snapshot_rows.c.row_set, row_sets), "current": (current_rows.c.series, series)}
_HISTORY = [table for table in METADATA.sorted_tables if "model" in table.c and table not in _FOR_EVER]


def list_runs(connection: Connection, model: str) -> list[str]:
    """Runs in which a model has a history."""
    statement = select(models.c.run).where(models.c.model == model).order_by(models.c.run)
    return list(connection.execute(statement).scalars())


def rename_history(connection: Connection, old: str, new: str, keys: Mapping[str, str]) -> None:
    """Hand the rows of `old` over to `new`, in all runs.

    Parameters
    ----------
    keys
        new keys of kept references by their old ones; the others keep theirs. Where one is kept under the
        new key already, it is the same: it stays, the other goes.
    """
    connection.execute(delete(leases).where(leases.c.model.in_([old, new])))
    # row sets refer to rows of provenance, whose key may not change below them
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


def forget_history(connection: Connection, model: str) -> dict[str, int]:
    """Delete the history of a model in all runs; how many rows, by table or view."""
    gone = {}
    for name, (number, table) in _NUMBERED.items():  # rows before what they are numbered by
        numbers = select(table.c.id).where(table.c.model == model)
        gone[name] = connection.execute(delete(number.table).where(number.in_(numbers))).rowcount
    for table in reversed(_HISTORY):  # row sets before the provenance that they refer to
        deleted = connection.execute(delete(table).where(table.c.model == model)).rowcount
        if table not in (leases, series, row_sets, details):
            gone[table.name] = deleted
    return {name: rows for name, rows in gone.items() if rows}
