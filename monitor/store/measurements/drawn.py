"""Kept measurements of one window's ends, as pages draw them: read by a range of the key."""

from sqlalchemy import Connection, null, select

from monitor.measures.rows import MeasurementRow
from monitor.specs.rows import Drawn
from monitor.store.measurements.columns import columns_of, row_of
from monitor.store.tables import snapshots


def read(connection: Connection, run: str, model: str, drawn: Drawn) -> list[tuple[int, MeasurementRow]]:
    """(as of, row) of all revisions, by end and as of."""
    columns = columns_of(snapshots)
    if not drawn.details:
        columns = tuple(null() if column is snapshots.c.detail else column for column in columns)
    query = select(snapshots.c.as_of, *columns).where(
        snapshots.c.run == run,
        snapshots.c.model == model,
        snapshots.c.window == drawn.window,
        snapshots.c.window_end > drawn.after,
        snapshots.c.window_end <= drawn.until,
    )
    for name, value in (("segment", drawn.segment), ("version", drawn.version)):
        if value is not None:
            query = query.where(snapshots.c[name] == value)
    chosen = {"measure": drawn.measures, "subject": drawn.subjects}
    for name, values in chosen.items():
        if values is not None:
            query = query.where(snapshots.c[name].in_(list(values)))
    if drawn.as_of is not None:
        query = query.where(snapshots.c.as_of <= drawn.as_of)
    rows = connection.execute(query.order_by(snapshots.c.window_end, snapshots.c.as_of))
    return [(as_of, row_of(values)) for as_of, *values in rows]
