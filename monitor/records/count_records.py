"""Count the records part of panes: volumes, outputs, features."""

import numpy as np
import pyarrow as pa

from monitor.core.typing import Ints
from monitor.records.counting import VOLUME, Counting
from monitor.records.pane import PanePart
from monitor.records.rows import Rows, prediction_of, read_rows, score_of
from monitor.records.tabulate import Table
from monitor.records.values import Categories, Numbers, categories, numbers
from monitor.states.counters import Counters
from monitor.states.grids import CategoryGrid, Grid, NumericGrid
from monitor.states.strata import WHOLE, Stratum


def count_records(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Records part of each of the given panes. Cost: one pass over the rows for each column.

    Parameters
    ----------
    table
        role-named columns; a feature's column may be missing: its block stays empty.
    panes
        int64 starts, ascending.
    """
    rows = read_rows(table, counting, panes, as_of)
    cells = output_cells(table.take(pa.array(rows.rows)), counting)
    stale = rows.logged_at - rows.event_time > counting.reading.horizon
    strata: list[dict[Stratum, Counters]] = [{} for _ in panes]
    for names, code in rows.strata(counting.reading):
        tabulated = Table(counting.records, rows.pane * len(names) + code, len(panes) * len(names))
        tallies = (np.ones_like(rows.pane), rows.repeats, stale, rows.adjusted, rows.no_logged_at)
        assert len(tallies) == len(VOLUME)
        tabulated.add_tallies("volume", list(tallies))
        for block, cell in cells.items():
            if names == [WHOLE] or not block.startswith("feature:"):
                tabulated.add(block, cell)
        _spread(tabulated, names, strata)
    read = np.bincount(rows.pane[rows.group], minlength=len(panes)) if len(panes) else np.empty(0, np.int64)
    newest = newest_by_pane(rows, rows.logged_at, len(panes))
    return [
        PanePart(start, strata[at], int(read[at]), newest[at], records=_records(strata[at]))
        for at, start in enumerate(panes.tolist())
    ]


def output_cells(chosen: pa.Table, counting: Counting) -> dict[str, Ints]:
    """Cell of every row for each output and feature whose column is there."""
    reading = counting.reading
    score = score_of(chosen, reading)
    cells = {"prediction": cells_of(prediction_of(chosen, reading, score), counting.prediction)}
    if counting.score is not None and score is not None:
        cells["score"] = counting.score.cells(score.values, score.missing)
    for name, grid in counting.features:
        if f"feature:{name}" in chosen.column_names:
            column = chosen[f"feature:{name}"]
            values = numbers(column) if isinstance(grid, NumericGrid) else categories(column)
            cells[f"feature:{name}"] = cells_of(values, grid)
    return cells


def cells_of(values: Numbers | Categories, grid: Grid) -> Ints:
    """Cells of numbers on a numeric grid, of categories on a grid of levels."""
    if isinstance(values, Numbers):
        assert isinstance(grid, NumericGrid)
        return grid.cells(values.values, values.missing)
    assert isinstance(grid, CategoryGrid)
    return values.cells(grid)


def newest_by_pane(rows: Rows, moments: Ints, panes: int) -> list[int | None]:
    """Largest of the winners' moments in each pane."""
    newest = np.full(panes, np.iinfo(np.int64).min)
    np.maximum.at(newest, rows.pane, moments)
    return [None if moment == np.iinfo(np.int64).min else int(moment) for moment in newest]


def _records(strata: dict[Stratum, Counters]) -> int:
    return int(strata[WHOLE].block("volume")[0]) if WHOLE in strata else 0


def _spread(tabulated: Table, names: list[Stratum], strata: list[dict[Stratum, Counters]]) -> None:
    for group, counters in tabulated.counters():
        strata[group // len(names)][names[group % len(names)]] = counters

