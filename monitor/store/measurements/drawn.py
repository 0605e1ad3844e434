"""Kept measurements of one window's ends, as pages draw them: read by a range of the key."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from sqlalchemy import Connection, Select, null, select

from monitor.measures.rows import MeasurementRow
from monitor.specs.rows import Drawn
from monitor.store.measurements.columns import columns_of, row_of
from monitor.store.tables import snapshots

Values: TypeAlias = Mapping[tuple[str, str], Mapping[int, float | None]]
"""By measure and subject: value by the window's end."""


def read(connection: Connection, run: str, model: str, drawn: Drawn) -> list[tuple[int, MeasurementRow]]:
    """(as of, row) of all revisions, by end and as of."""
    columns = columns_of(snapshots)
    if not drawn.details:
        columns = tuple(null() if column is snapshots.c.detail else column for column in columns)
    rows = connection.execute(_chosen(select(snapshots.c.as_of, *columns), run, model, drawn))
    return [(as_of, row_of(values)) for as_of, *values in rows]


def values(connection: Connection, run: str, model: str, drawn: Drawn) -> Values:
    """Newest values of the measurements that are against nothing. Cost: a tenth of reading their rows."""
    columns = (snapshots.c[name] for name in ("measure", "subject", "window_end", "value"))
    query = _chosen(select(*columns), run, model, drawn).where(snapshots.c.against == "")
    found: dict[tuple[str, str], dict[int, float | None]] = {}
    for measure, subject, end, value in connection.execute(query).all():  # later ones take the place
        found.setdefault((measure, subject), {})[end] = value
    return found


def _chosen(query: Select[Any], run: str, model: str, drawn: Drawn) -> Select[Any]:
    query = query.where(
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
    for name, names in chosen.items():
        if names is not None:
            query = query.where(snapshots.c[name].in_(list(names)))
    if drawn.as_of is not None:
        query = query.where(snapshots.c.as_of <= drawn.as_of)
    return query.order_by(snapshots.c.window_end, snapshots.c.as_of)
