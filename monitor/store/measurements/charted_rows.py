"""Kept measurements of one window's ends, as pages draw them.

Read from the tables behind the view `snapshots`: what names a measurement is read once, not with each of
its values. Cost: a third of the view's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from sqlalchemy import Connection, Select, Table, null, select

from monitor.measures.measurement_row import LabelTruth, StoredMeasurement
from monitor.specs.stored_rows import ChartedRows
from monitor.store.measurements.measurement_columns import AT_ONCE, COLUMNS, row_of
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.measurement_schema import details, row_sets, series, snapshot_rows

Values: TypeAlias = Mapping[tuple[str, str], Mapping[int, float | None]]
"""By measure and subject: value by the window's end."""
_NAMES = COLUMNS[COLUMNS.index("truth") : COLUMNS.index("value")]
_VALUES = COLUMNS[COLUMNS.index("value") : COLUMNS.index("detail")]


@dataclass(frozen=True, slots=True)
class ChartRepository(Repository):
    """Kept measurements of a run, as charts have them."""

    def read_charted_rows(self, model: str, which: ChartedRows) -> list[StoredMeasurement]:
        """Kept measurements of one window's ends, by end and as of."""
        with read_transaction(self.engine) as connection:
            names, rows = _find_rows(connection, (self.run, model), which, _NAMES, ("as_of", *_VALUES))
            if which.newest:
                rows = _newest_rows(names, rows)
            return [
                StoredMeasurement(model, as_of, row_of((which.window, end, *names[number], *values)))
                for number, end, as_of, *values in rows
            ]

    def read_charted_values(self, model: str, which: ChartedRows) -> Values:
        """Newest values of the measurements that are against nothing. Cost: a fifth of reading their rows."""
        which = replace(which, against=("",), details=False)
        with read_transaction(self.engine) as connection:
            names, rows = _find_rows(connection, (self.run, model), which, ("measure", "subject"), ("value",))
            found: dict[tuple[str, str], dict[int, float | None]] = {}
            by_number = {
                number: found.setdefault((measure, subject), {})
                for number, (measure, subject) in names.items()
            }
            for number, end, value, _ in rows:  # later ones take the place
                by_number[number][end] = value
            return {name: by_end for name, by_end in found.items() if by_end}


def _newest_rows(
    names: Mapping[int, Sequence[Any]], rows: Iterable[Sequence[Any]]
) -> Iterable[Sequence[Any]]:
    """What `newest_revisions` keeps, in its order, by the series' names: before rows are made of it."""
    places: dict[Sequence[Any], int] = {}
    of = {
        number: (truth, places.setdefault(tuple(place), number)) for number, (truth, *place) in names.items()
    }
    kept: dict[tuple[int, int, bool], Sequence[Any]] = {}
    settled = set()
    for row in rows:  # later ones take the place
        truth, place = of[row[0]]
        kept[row[1], place, truth == LabelTruth.NOWCAST] = row
        if truth == LabelTruth.SETTLED:
            settled.add((row[1], place))
    return [
        row for (end, place, is_nowcast), row in kept.items() if not (is_nowcast and (end, place) in settled)
    ]


def _find_rows(
    connection: Connection,
    owner: tuple[str, str],
    which: ChartedRows,
    names: Sequence[str],
    columns: Sequence[str],
) -> tuple[dict[int, Sequence[Any]], Iterable[Sequence[Any]]]:
    """Names of series by their number; (series, end, columns, detail) of what is kept, by end and as of."""
    of_series = _rows_of_window(series, owner, which)
    chosen = {
        "measure": which.measures,
        "subject": which.subjects,
        "against": which.against,
    }
    for name, some in chosen.items():
        of_series = of_series if some is None else of_series.where(series.c[name].in_(list(some)))
    for name, one in (("segment", which.segment), ("version", which.version)):
        of_series = of_series if one is None else of_series.where(series.c[name] == one)
    kept, sets = snapshot_rows.c, row_sets.c
    rows = _rows_of_window(row_sets, owner, which).where(
        sets.window_end > which.after,
        sets.window_end <= which.until,
        kept.series.in_(of_series),
    )
    rows = rows.join(snapshot_rows, kept.row_set == sets.id)
    if which.as_of is not None:
        rows = rows.where(sets.as_of <= which.as_of)
    if which.details:
        rows = rows.outerjoin(details, details.c.id == kept.detail)
    detail = details.c.text if which.details else null()
    wanted = (kept[name] if name in kept else sets[name] for name in columns)
    query: Select[Any] = rows.with_only_columns(kept.series, sets.window_end, *wanted, detail)
    parts = connection.execute(query.order_by(sets.window_end, sets.as_of)).partitions(AT_ONCE)
    named = connection.execute(of_series.add_columns(*(series.c[name] for name in names)))
    return {row[0]: row[1:] for row in named}, chain.from_iterable(parts)


def _rows_of_window(table: Table, owner: tuple[str, str], which: ChartedRows) -> Select[Any]:
    """Numbers of the rows of a table that are of a model and a window."""
    run, model = owner
    own = (table.c.run == run, table.c.model == model, table.c.window == which.window)
    return select(table.c.id).where(*own)
