"""What stands behind values: the segments and cells that moved, curves, deciles, reliability."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from monitor.core.measurement import BECAUSE, WHEN, Detail
from monitor.core.text import readable
from monitor.measures.against import FIGURES, contributes_to
from monitor.measures.catalogue import BY_NAME
from monitor.measures.rows import MeasurementRow
from monitor.measures.worded import cell_of, compared, differs, value_of, with_interval
from monitor.show.columns import indented
from monitor.show.plain import Shown, ordered
from monitor.show.table import Line, as_table

_FEW = 3  # subjects of one measure
_MOST = 12  # lines of one table


def explained(rows: Sequence[Shown], width: int | None = None) -> str:
    """Tables behind the values of whole models, window by window.

    First the segments that contribute most to a fall; of a measure of many subjects the three largest values.
    """
    whole = [(model, as_of, row) for model, as_of, row in rows if row.of_whole]
    lines = [Line(*shown) for shown in ordered(whole)]
    text = []
    for heading, group in groupby(lines, key=lambda line: line.heading):
        texts = list(_tables([line.row for line in group], width))
        text += [f"{heading}\n", *texts] if texts else []
    return "\n".join(text).rstrip("\n") or "there is no detail behind these values"


def with_details(rows: Sequence[Shown], *, everything: bool = True, width: int | None = None) -> str:
    """Rows as a table, and what stands behind their values."""
    return f"{as_table(rows, everything=everything, width=width)}\n\n{explained(rows, width)}"


def _tables(rows: Sequence[MeasurementRow], width: int | None) -> Iterator[str]:
    """Tables of one window."""
    values = {(row.measure, row.subject, row.against): row.measurement.value for row in rows}
    for row, detail in _chosen(rows):
        critical = BY_NAME[row.measure].critical if row.measure in BY_NAME else None
        limit = None if critical is None else values.get((critical, row.subject, row.against))
        yield f"  {_title(row, limit)}\n{_table(detail, width)}\n"


def _chosen(rows: Iterable[MeasurementRow]) -> list[tuple[MeasurementRow, Detail]]:
    """Rows with a table that says more than the note does."""
    of_measure: dict[tuple[str, str], list[tuple[MeasurementRow, Detail]]] = {}
    for row in rows:
        detail = row.measurement.table
        if detail is not None and detail.columns not in (FIGURES, BECAUSE, WHEN):
            of_measure.setdefault((row.measure, row.against), []).append((row, detail))
    few = [
        sorted(many, key=lambda pair: -abs(pair[0].measurement.value or 0.0))[:_FEW]
        for many in of_measure.values()
    ]
    chosen = [pair for many in few for pair in many]
    return sorted(chosen, key=lambda pair: not contributes_to(pair[1]))


def _title(row: MeasurementRow, limit: float | None) -> str:
    result = row.measurement
    name = " ".join(part for part in (row.measure, row.subject) if part)
    if differs(row.measure, row.against):
        return readable(f"{name}: {compared(row)}")
    parts = (
        f"{name}: {with_interval(row.measure, result)}",
        "" if limit is None else f"critical value {value_of(row.measure, limit)}",
        f"against {row.against}" if row.against else "",
    )
    return readable(", ".join(part for part in parts if part))


def _table(detail: Detail, width: int | None) -> str:
    of = contributes_to(detail)
    cells = [
        [cell_of(column, value, of) for column, value in zip(detail.columns, row, strict=True)]
        for row in detail.rows[:_MOST]
    ]
    more = len(detail.rows) - len(cells)
    table = indented([list(detail.columns), *cells], width)
    return f"{table}\n    … {more} more: --format json" if more else table
