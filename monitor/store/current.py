"""The latest measurements: what exposition, `monitor show` and a restart read."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from monitor.specs.rows import MeasurementRow
from monitor.store.measured import columns_of, row_of, values_of
from monitor.store.statements import write_many
from monitor.store.tables import current


def replace(connection: Connection, run: str, model: str, as_of: int, rows: Sequence[MeasurementRow]) -> None:
    """Put the rows in place of the model's current ones."""
    connection.execute(delete(current).where(current.c.run == run, current.c.model == model))
    write_many(connection, current, [values_of(run, model, as_of, row) for row in rows])


def read(connection: Connection, run: str, model: str | None) -> list[tuple[str, int, MeasurementRow]]:
    """(model, as of, row) of one model or of all, in the order of the key."""
    query = select(current.c.model, current.c.as_of, *columns_of(current)).where(current.c.run == run)
    if model is not None:
        query = query.where(current.c.model == model)
    found = connection.execute(query.order_by(*current.primary_key))
    return [(name, as_of, row_of(rest)) for name, as_of, *rest in found]
