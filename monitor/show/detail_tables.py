"""What stands behind values: the segments and cells that moved, curves, deciles, reliability."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from monitor.core.measurement import DetailTable
from monitor.core.text import readable_text
from monitor.measures.catalogue import BY_NAME
from monitor.measures.measurement_comparison import contributed_measure
from monitor.measures.measurement_row import MeasurementRow, StoredMeasurement
from monitor.measures.value_words import (
    comparison_words,
    format_detail_cell,
    format_measure_value,
    is_compared_by_difference,
    value_with_interval,
)
from monitor.show.measurement_tables import measurements_as_table, table_heading
from monitor.show.plain_rows import has_large_table, order_rows
from monitor.show.terminal_layout import indent_columns

_FEW = 3  # subjects of one measure
_MOST = 12  # lines of one table


def format_tables_behind(rows: Sequence[StoredMeasurement], width: int | None = None) -> str:
    """Tables behind the values of whole models, window by window.

    First the segments that contribute most to a fall; of a measure of many subjects the three largest values.
    """
    whole = order_rows(stored for stored in rows if stored.row.is_of_whole)
    text = []
    for heading, group in groupby(whole, key=table_heading):
        texts = list(_window_tables([stored.row for stored in group], width))
        text += [f"{heading}\n", *texts] if texts else []
    return "\n".join(text).rstrip("\n") or "there is no detail behind these values"


def table_with_details(
    rows: Sequence[StoredMeasurement], *, everything: bool = True, width: int | None = None
) -> str:
    """Rows as a table, and what stands behind their values."""
    return (
        f"{measurements_as_table(rows, everything=everything, width=width)}"
        f"\n\n{format_tables_behind(rows, width)}"
    )


def _window_tables(rows: Sequence[MeasurementRow], width: int | None) -> Iterator[str]:
    """Tables of one window."""
    values = {(row.measure, row.subject, row.against): row.measurement.value for row in rows}
    for row, detail in _rows_with_tables(rows):
        critical = BY_NAME[row.measure].critical if row.measure in BY_NAME else None
        limit = None if critical is None else values.get((critical, row.subject, row.against))
        yield f"  {_table_title(row, limit)}\n{_detail_table(detail, width)}\n"


def _rows_with_tables(rows: Iterable[MeasurementRow]) -> list[tuple[MeasurementRow, DetailTable]]:
    """Rows with a table that says more than the note does."""
    of_measure: dict[tuple[str, str], list[tuple[MeasurementRow, DetailTable]]] = {}
    for row in rows:
        detail = row.measurement.table
        if detail is not None and has_large_table(row.measurement):
            of_measure.setdefault((row.measure, row.against), []).append((row, detail))
    few = [
        sorted(many, key=lambda pair: -abs(pair[0].measurement.value or 0.0))[:_FEW]
        for many in of_measure.values()
    ]
    chosen = [pair for many in few for pair in many]
    return sorted(chosen, key=lambda pair: not contributed_measure(pair[1]))


def _table_title(row: MeasurementRow, limit: float | None) -> str:
    result = row.measurement
    name = " ".join(part for part in (row.measure, row.subject) if part)
    if is_compared_by_difference(row.measure, row.against):
        return readable_text(f"{name}: {comparison_words(row)}")
    parts = (
        f"{name}: {value_with_interval(row.measure, result)}",
        "" if limit is None else f"critical value {format_measure_value(row.measure, limit)}",
        f"against {row.against}" if row.against else "",
    )
    return readable_text(", ".join(part for part in parts if part))


def _detail_table(detail: DetailTable, width: int | None) -> str:
    of = contributed_measure(detail)
    cells = [
        [format_detail_cell(column, value, of) for column, value in zip(detail.columns, row, strict=True)]
        for row in detail.rows[:_MOST]
    ]
    more = len(detail.rows) - len(cells)
    table = indent_columns([list(detail.columns), *cells], width)
    return f"{table}\n    … {more} more: --explain --format json" if more else table
