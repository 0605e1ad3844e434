"""The latest measurements: what exposition, `monitor show` and a restart read."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, select

from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.store.measurements.measurement_columns import AT_ONCE, columns_of, row_of, values_of
from monitor.store.measurements.series_rows import number_series, write_current
from monitor.store.repository import Repository
from monitor.store.store_connections import read_transaction
from monitor.store.tables.measurement_schema import current, current_rows, series


@dataclass(frozen=True, slots=True)
class CurrentRepository(Repository):
    """Current measurements of a run; a cycle's commit replaces them."""

    def read_current(
        self, model: str | None = None, measures: Collection[str] | None = None
    ) -> list[StoredMeasurement]:
        """Those of one model or of all, of some measures or of all, in the order of the key."""
        named = None if measures is None else sorted(measures)
        given = {"run": self.run, "model": model, "measures": named}
        asked = {name: value for name, value in given.items() if value is not None}
        with read_transaction(self.engine) as connection:
            parts = connection.execute(_current_query(tuple(asked)), asked).partitions(AT_ONCE)
            return [StoredMeasurement(row[0], row[1], row_of(row[2:])) for row in chain.from_iterable(parts)]


def replace_current(
    connection: Connection, run: str, model: str, as_of: int, rows: Sequence[MeasurementRow], *, whole: bool
) -> None:
    """Put the rows in place of the model's current ones; not whole: of those that no window has."""
    replaced = select(series.c.id).where(series.c.run == run, series.c.model == model)
    replaced = replaced if whole else replaced.where(series.c.window == "")
    old = delete(current_rows).where(current_rows.c.series.in_(replaced))
    values = [values_of(run, model, as_of, row) for row in rows]
    connection.execute(old)
    if not write_current(connection, values):  # seldom: some are named for the first time
        number_series(connection, values)
        connection.execute(old)
        write_current(connection, values)


@lru_cache(maxsize=4)
def _current_query(asked: tuple[str, ...]) -> Select[Any]:
    conditions = {
        "run": current.c.run == bindparam("run"),
        "model": current.c.model == bindparam("model"),
        "measures": current.c.measure.in_(bindparam("measures", expanding=True)),
    }
    query = select(current.c.model, current.c.as_of, *columns_of(current))
    return query.where(*(conditions[name] for name in asked)).order_by(*current.primary_key)
