"""Kept measurements of one window's ends, as pages draw them: by a range of the key, never by a scan of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, null, select

from monitor.measures.rows import MeasurementRow
from monitor.store.measurements.columns import columns_of, row_of
from monitor.store.tables import snapshots


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Which kept rows are drawn.

    Parameters
    ----------
    after, until
        bounds of the windows' ends: after the one, up to the other.
    measures, subjects
        None: any.
    as_of
        only what was kept then; None: all revisions.
    segment, version
        empty: the whole.
    details
        whether the tables behind the values are read too.
    """

    window: str
    after: int
    until: int
    measures: Sequence[str] | None = None
    subjects: Sequence[str] | None = None
    as_of: int | None = None
    segment: str = ""
    version: str = ""
    details: bool = False


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
        snapshots.c.segment == drawn.segment,
        snapshots.c.version == drawn.version,
    )
    chosen = {"measure": drawn.measures, "subject": drawn.subjects}
    for name, values in chosen.items():
        if values is not None:
            query = query.where(snapshots.c[name].in_(list(values)))
    if drawn.as_of is not None:
        query = query.where(snapshots.c.as_of <= drawn.as_of)
    rows = connection.execute(query.order_by(snapshots.c.window_end, snapshots.c.as_of))
    return [(as_of, row_of(values)) for as_of, *values in rows]

