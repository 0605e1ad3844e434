"""How a column of times can be compared: from the database's type, or from a look at some values."""

from dataclasses import replace

from monitor.records.reading import Reading
from monitor.sources.sql.relations import Looked
from monitor.sources.sql.statements import Session
from monitor.sources.sql.time_ranges import Comparable, Shape
from monitor.sources.sql.time_shapes import TimeColumn
from monitor.specs.model import ModelSpec
from monitor.specs.protocols import Range


def comparable(
    session: Session,
    looked: Looked,
    column: str,
    role: str,
    reading: Reading,
    *,
    near: str | Range | None = None,
) -> Comparable:
    """Column of times, ready to be compared.

    Parameters
    ----------
    near
        where a server that does not know the type of its texts shall look at some: at times of a range, or
        at rows of a condition. Elsewhere only if there is none.

    Raises
    ------
    SourceError
        if the column is not there, or holds integers and no unit is configured.
    """
    ref, unit = looked.ref(column, role), reading.unit(role)
    time = Comparable(ref, Shape.UNKNOWN, unit=unit or "us", zone=reading.zone)
    asked = TimeColumn(looked.item, looked.title, column, role, looked.types[column], unit, near)
    return looked.engine.comparable(session, asked, time)


def event_time(session: Session, looked: Looked, model: ModelSpec, near: Range | None) -> Comparable:
    """Event times of the predictions, ready to be compared near a range of time."""
    column = str(model.predictions.column("event_time"))
    return comparable(session, looked, column, "event_time", model.reading, near=near)


def without_offsets(session: Session, looked: Looked, time: Comparable, lo: int, hi: int) -> Comparable:
    """Text whose offsets are all +00:00 in a range of time is not widened by them."""
    if not time.offsets:
        return time
    other = f"{time.sql} NOT LIKE '%+00:00' AND {time.sql} NOT LIKE '%Z'"
    sql = f"SELECT 1 AS one FROM {looked.item} WHERE ({time.condition(lo, hi)}) AND {other} LIMIT 1"
    return time if session.rows(sql) else replace(time, offsets=False)
