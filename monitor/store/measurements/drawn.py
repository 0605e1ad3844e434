"""Kept measurements of one window's ends, as pages draw them.

Read from the tables behind the view `snapshots`: what names a measurement, and what many have alike, is
read once, not with each. Cost: a third of the view's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlalchemy import Connection, Select, Table, null, select

from monitor.measures.rows import MeasurementRow
from monitor.specs.rows import Drawn
from monitor.store.measurements.columns import row_of
from monitor.store.tables import details, row_sets, series, snapshot_rows

Values: TypeAlias = Mapping[tuple[str, str], Mapping[int, float | None]]
"""By measure and subject: value by the window's end."""
_NAMES = "truth", "version", "segment", "measure", "subject", "against"
_SHARED = "as_of", "window_end", "level", "coverage", "warning"
_AT_ONCE = 500  # rows: thousands at a time keep the garbage collector busy
_MEASURED = "value", "reason", "n", "lower", "upper", "resolution"


def read(connection: Connection, run: str, model: str, drawn: Drawn) -> list[tuple[int, MeasurementRow]]:
    """(as of, row) of all revisions, by end and as of."""
    names, shared, rows = _found(connection, (run, model), drawn, _NAMES, _SHARED, _MEASURED)
    found = []
    for row_set, number, value, reason, n, lower, upper, resolution, detail in rows:
        as_of, end, level, coverage, warning = shared[row_set]
        place = (drawn.window, end, *names[number])
        measured = (value, reason, n, lower, upper, level, resolution, coverage, warning, detail)
        found.append((as_of, row_of((*place, *measured))))
    return found


def values(connection: Connection, run: str, model: str, drawn: Drawn) -> Values:
    """Newest values of the measurements that are against nothing. Cost: a fifth of reading their rows."""
    drawn = replace(drawn, against=("",), details=False)
    names, ends, rows = _found(
        connection, (run, model), drawn, ("measure", "subject"), ("window_end",), ("value",)
    )
    found: dict[tuple[str, str], dict[int, float | None]] = {
        (measure, subject): {} for measure, subject in names.values()
    }
    by_number = {number: found[measure, subject] for number, (measure, subject) in names.items()}
    for row_set, number, value, _ in rows:  # later ones take the place
        by_number[number][ends[row_set][0]] = value
    return {name: by_end for name, by_end in found.items() if by_end}


def _found(
    connection: Connection,
    owner: tuple[str, str],
    drawn: Drawn,
    names: Sequence[str],
    shared: Sequence[str],
    measured: Sequence[str],
) -> tuple[dict[int, Sequence[Any]], dict[int, Sequence[Any]], Iterable[Sequence[Any]]]:
    """What names series, by number; what row sets share, by number; (row set, series, measured, detail)."""
    of_series = _of(series, owner, drawn)
    chosen = {"measure": drawn.measures, "subject": drawn.subjects, "against": drawn.against}
    for name, some in chosen.items():
        of_series = of_series if some is None else of_series.where(series.c[name].in_(list(some)))
    for name, one in (("segment", drawn.segment), ("version", drawn.version)):
        of_series = of_series if one is None else of_series.where(series.c[name] == one)
    of_sets = _of(row_sets, owner, drawn).where(
        row_sets.c.window_end > drawn.after, row_sets.c.window_end <= drawn.until
    )
    if drawn.as_of is not None:
        of_sets = of_sets.where(row_sets.c.as_of <= drawn.as_of)
    kept = snapshot_rows
    rows: Select[Any] = of_sets.join(kept, kept.c.row_set == row_sets.c.id)
    rows = rows.where(kept.c.series.in_(of_series))
    if drawn.details:
        rows = rows.outerjoin(details, details.c.id == kept.c.detail)
    columns = (kept.c.row_set, kept.c.series, *(kept.c[name] for name in measured))
    detail = details.c.text if drawn.details else null()
    rows = rows.with_only_columns(*columns, detail).order_by(row_sets.c.window_end, row_sets.c.as_of)
    return (
        _by_number(connection, of_series, series, names),
        _by_number(connection, of_sets, row_sets, shared),
        connection.execute(rows.execution_options(yield_per=_AT_ONCE)),
    )


def _of(table: Table, owner: tuple[str, str], drawn: Drawn) -> Select[Any]:
    """Numbers of the rows of a table that are of a model and a window."""
    run, model = owner
    own = (table.c.run == run, table.c.model == model, table.c.window == drawn.window)
    return select(table.c.id).where(*own)


def _by_number(
    connection: Connection, of: Select[Any], table: Table, names: Sequence[str]
) -> dict[int, Sequence[Any]]:
    """Columns of the rows of a table by their number."""
    columns = (table.c[name] for name in names)
    return {row[0]: row[1:] for row in connection.execute(of.add_columns(*columns))}
