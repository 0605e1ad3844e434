"""Count the records part of panes: volumes, outputs, features."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from monitor.core.array_types import Bools, Ints
from monitor.core.clock import SECOND
from monitor.records.column_values import CategoryValues, NumberValues, parse_categories, parse_numbers
from monitor.records.counting import DELAY_EDGES, Counting
from monitor.records.pane import PanePart
from monitor.records.probabilities import Cells, parse_class_probabilities, predicted_cells
from monitor.records.tabulate import CountTable, Term
from monitor.records.winning_rows import (
    WinningRows,
    compact_codes,
    parse_predictions,
    parse_scores,
    parse_winning_rows,
    select_output_columns,
)
from monitor.states.counters import CounterLayout, Counters
from monitor.states.grids import CategoryGrid, Grid, NumericGrid, cached_lookup
from monitor.states.strata import WHOLE, Stratum

_NEVER = np.iinfo(np.int64).min

ByStratum: TypeAlias = tuple[Sequence[Stratum], Ints, Ints]
"""Strata; (position of the pane x number of strata + position of the stratum) x size of the layout + position
of the counter, ascending; what was counted there, not 0."""


def count_records(table: pa.Table, counting: Counting, *, panes: Ints, as_of: int) -> list[PanePart]:
    """Count the records part of each of the given panes. Cost: one pass over the rows for each column.

    Parameters
    ----------
    table
        role-named columns; a feature's column may be missing: its block stays empty.
    panes
        int64 starts, ascending.
    """
    rows = parse_winning_rows(table, counting, panes, as_of)
    chosen = select_output_columns(table, rows.rows)
    values = output_values(chosen, counting)
    probable = _probability_cells(chosen, values.get("prediction"), counting)
    cells = {name: find_cells(column, counting.output_grids[name]) for name, column in values.items()}
    stale = rows.logged_at - rows.event_time > counting.reading.horizon
    unusual = rows.has_unusual_name
    for column in values.values():
        unusual |= column.renamed_rows() if isinstance(column, CategoryValues) else False
    late, has_late = find_log_delay_cells(rows.event_time, rows.logged_at, ~rows.no_logged_at)
    volume = (np.ones_like(rows.pane), rows.repeats, stale, rows.adjusted, rows.no_logged_at)

    def fill(tabulated: CountTable) -> None:
        tabulated.add_tallies("volume", volume)
        tabulated.add_tallies("unusual_names", (unusual,))
        if counting.reading.has_logged_column:
            tabulated.add_cells("log_delays", late, has_late)
        for block, cell in cells.items():
            tabulated.add_cells(block, cell)
        for block, (cell, mask) in probable.items():
            tabulated.add_cells(block, cell, mask)
        if counting.summed_names:
            tabulated.add_sums("moments", _moment_terms(values, cells, counting))
        if "served" in counting.records_layout.blocks_by_name:
            tabulated.add_tallies("served", (rows.serves,))

    # What is counted for the whole alone: a pane would else grow by all features with each segment and
    # version.
    whole_only = frozenset(
        {
            "moments",
            "unusual_names",
            "log_delays",
            *probable,
            *(name for name in cells if name.startswith("feature:")),
        }
    )
    strata = count_each_stratum(rows, counting, counting.records_layout, fill, whole_only)
    newest = [None if moment == _NEVER else moment for moment in rows.newest.tolist()]
    records = np.bincount(rows.pane[rows.serves], minlength=len(panes)).tolist()
    return [
        PanePart(
            start,
            strata[at],
            int(rows.read[at]),
            newest[at],
            records=records[at],
            checksum=int(rows.checksum[at]),
        )
        for at, start in enumerate(panes.tolist())
    ]


def find_log_delay_cells(event_time: Ints, logged_at: Ints, logged: Bools) -> Cells:
    """Cells of the times from event to log, of the rows that say when they were logged."""
    return cached_lookup(DELAY_EDGES)((logged_at - event_time) / SECOND), logged


def count_each_stratum(
    rows: WinningRows,
    counting: Counting,
    layout: CounterLayout,
    fill: Callable[[CountTable], None],
    whole_only: frozenset[str],
) -> list[dict[Stratum, Counters]]:
    """Counters of every pane by stratum: see `count_each_dimension`."""
    strata: list[dict[Stratum, Counters]] = [{} for _ in rows.panes]
    for names, key, value in count_each_dimension(rows, counting, layout, fill, whole_only):
        group = key // layout.size
        index = key - group * layout.size
        bounds = [*np.flatnonzero(np.diff(group, prepend=-1)).tolist(), len(key)]
        for first, last in pairwise(bounds):
            pane, name = divmod(int(group[first]), len(names))
            counters = Counters(layout, index[first:last].copy(), value[first:last].copy())
            strata[pane][names[name]] = counters
    return strata


def count_each_dimension(
    rows: WinningRows,
    counting: Counting,
    layout: CounterLayout,
    fill: Callable[[CountTable], None],
    whole_only: frozenset[str],
) -> Iterator[ByStratum]:
    """Yield what is counted of the strata of each dimension. Cost of one: a bincount a block.

    Parameters
    ----------
    fill
        adds the winning rows to a table.
    whole_only
        blocks that are counted for the whole, not for its strata.
    """
    of_whole = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    of_strata = np.ones(layout.size, dtype=bool)
    for block in whole_only & layout.blocks_by_name.keys():
        of_strata[layout.block_slice(block)] = False
    for names, code in rows.strata_positions(counting):
        is_whole = names == [WHOLE]
        # One version, or one segment, of all rows holds what the whole holds: it is not counted twice.
        if not is_whole and len(code) and rows.serves.all() and (code == code[0]).all():
            pane, index = np.divmod(of_whole[0], layout.size)
            kept = of_strata[index] & (code[0] >= 0)
            yield names, ((pane * len(names) + code[0]) * layout.size + index)[kept], of_whole[1][kept]
            continue
        inside = code >= 0
        group = np.full(len(code), -1)
        # Groups that occur are numbered without gaps: there may be many strata of which a pane has few.
        present, group[inside] = compact_codes(rows.pane[inside] * len(names) + code[inside])
        tabulated = CountTable(layout, group, len(present), frozenset() if is_whole else whole_only)
        fill(tabulated)
        key, value = tabulated.sparse_counts()
        group = key // layout.size
        # From the number of the group back to the position of pane and stratum.
        key += (present[group] - group) * layout.size
        if is_whole:
            of_whole = key, value
        yield names, key, value


def output_values(chosen: pa.Table, counting: Counting) -> dict[str, NumberValues | CategoryValues]:
    """Values of each output and feature whose column is there."""
    score = parse_scores(chosen, counting.reading)
    values = {"prediction": parse_predictions(chosen, counting.reading, score)}
    values["score"] = None if counting.score is None else score
    for name, grid in counting.features:
        if f"feature:{name}" in chosen.column_names:
            column = chosen[f"feature:{name}"]
            values[f"feature:{name}"] = (
                parse_numbers(column) if isinstance(grid, NumericGrid) else parse_categories(column)
            )
    return {name: column for name, column in values.items() if column is not None}


def _probability_cells(
    chosen: pa.Table, prediction: NumberValues | CategoryValues | None, counting: Counting
) -> dict[str, Cells]:
    """Cells of the class probabilities, where estimates before labels are made of them."""
    if (
        not counting.probability_classes
        or counting.label is None
        or not isinstance(prediction, CategoryValues)
    ):
        return {}
    probabilities = parse_class_probabilities(chosen, counting.reading)
    if probabilities is None:
        return {}
    return predicted_cells(probabilities, prediction.level_positions(probabilities.names, -1))


def _moment_terms(
    values: dict[str, NumberValues | CategoryValues], cells: dict[str, Ints], counting: Counting
) -> Iterator[Term]:
    """Deviations and their squares of the numbers in regular cells; a column that is not there has no row."""
    n = len(next(iter(cells.values()), []))
    for name in counting.summed_names:
        grid, column = counting.output_grids[name], values.get(name)
        if not isinstance(column, NumberValues) or not isinstance(grid, NumericGrid):
            yield from [(np.zeros(n), np.zeros(n, dtype=bool))] * 2
            continue
        has = cells[name] < grid.regular_size
        # Numbers that are not in regular cells stand at the centre, where they add nothing and overflow
        # nowhere.
        numbers = column.values if has.all() else np.where(has, column.values, grid.centre)
        with np.errstate(over="ignore", under="ignore"):
            away = (numbers - grid.centre) / grid.scale
            yield away, has
            yield away * away, has


def find_cells(values: NumberValues | CategoryValues, grid: Grid) -> Ints:
    """Cells of numbers on a numeric grid, of categories on a grid of levels."""
    match values, grid:
        case NumberValues(), NumericGrid():
            return grid.value_cells(values.values, values.missing)
        case CategoryValues(), CategoryGrid():
            return values.grid_cells(grid)
        case _:
            raise TypeError(f"numbers need a numeric grid, categories levels: got {type(grid).__name__}")
