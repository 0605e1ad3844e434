"""Counting a million values of 20 columns into their cells: ours against what NumPy and pandas offer.

Cells are those of a reference, 250 of equal mass; then also by hour. All counts are compared, cell by cell,
also of values that are NaN, infinite, huge, or on an edge. Ends with 1 where they differ.
python benchmarks/kernel.py DIRECTORY [ROWS]
"""

import sys
from collections.abc import Callable
from pathlib import Path

import data
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq
from timing import in_turn, save

from monitor.core.clock import HOUR
from monitor.records.column_values import parse_numbers
from monitor.states.grids import NumericGrid, cached_lookup, feature_grid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Column = tuple[NumericGrid, Floats]
BAR = 6.0


def ours(grid: NumericGrid, values: Floats) -> Ints:
    """Finite values by the lookup table."""
    return np.bincount(cached_lookup(grid.edges)(values), minlength=grid.regular_size)


def ours_of_any(grid: NumericGrid, values: Floats, missing: npt.NDArray[np.bool_]) -> Ints:
    """All values, with cells for missing and invalid ones: what a pane counts."""
    return np.bincount(grid.value_cells(values, missing), minlength=grid.size)


def searched(grid: NumericGrid, values: Floats) -> Ints:
    """Binary search."""
    return np.bincount(np.searchsorted(grid.edges, values, side="right"), minlength=grid.regular_size)


def histogram(grid: NumericGrid, values: Floats) -> Ints:
    """Histogram of NumPy: its last cell is closed, and here holds nothing but infinity."""
    counts: Ints = np.histogram(values, [-np.inf, *grid.edges, np.inf])[0].astype(np.int64)
    return counts


def cut(grid: NumericGrid, values: Floats) -> Ints:
    """pandas."""
    cells = pd.cut(values, [-np.inf, *grid.edges, np.inf], right=False, labels=False)
    counts: Ints = np.asarray(
        pd.Series(cells).value_counts().reindex(range(grid.regular_size), fill_value=0), dtype=np.int64
    )
    return counts


def hourly(grid: NumericGrid, values: Floats, hour: Ints) -> Ints:
    """Ours by hour: one count of hour and cell."""
    keys = hour * grid.regular_size + cached_lookup(grid.edges)(values)
    return np.bincount(keys, minlength=(int(hour[-1]) + 1) * grid.regular_size)


def hourly_searched(grid: NumericGrid, values: Floats, hour: Ints) -> Ints:
    """The same by binary search."""
    keys = hour * grid.regular_size + np.searchsorted(grid.edges, values, side="right")
    return np.bincount(keys, minlength=(int(hour[-1]) + 1) * grid.regular_size)


def hourly_histogram(grid: NumericGrid, values: Floats, hour: Ints) -> Ints:
    """A histogram of NumPy for each hour."""
    bounds = np.searchsorted(hour, np.arange(1, int(hour[-1]) + 1))
    return np.concatenate([histogram(grid, part) for part in np.split(values, bounds)])


def hourly_grouped(grid: NumericGrid, values: Floats, hour: Ints) -> Ints:
    """Cells and groups of pandas."""
    cells = pd.cut(values, [-np.inf, *grid.edges, np.inf], right=False, labels=False)
    counted = pd.DataFrame({"hour": hour, "cell": cells}).groupby(["hour", "cell"]).size()
    every = pd.MultiIndex.from_product([range(int(hour[-1]) + 1), range(grid.regular_size)])
    counts: Ints = np.asarray(counted.reindex(every, fill_value=0), dtype=np.int64)
    return counts


def differing(columns: list[Column], hour: Ints) -> int:
    """Columns of which not all counts are equal, of the log's values and of the worst ones."""
    wrong = 0
    for grid, values in columns:
        counts = [count(grid, values) for count in (ours, searched, histogram, cut)]
        counts += [ours_of_any(grid, values, np.zeros(len(values), dtype=bool))[: grid.regular_size]]
        by_hour = [c(grid, values, hour) for c in (hourly, hourly_searched, hourly_histogram, hourly_grouped)]
        equal = [np.array_equal(counts[0], one) for one in counts]
        equal += [np.array_equal(by_hour[0], one) for one in by_hour]
        wrong += not (all(equal) and _worst_equal(grid))
    return wrong


def _worst_equal(grid: NumericGrid) -> bool:
    """NaN, infinities, the largest and smallest doubles, all edges and their neighbours, missing values."""
    edges = np.asarray(grid.edges)
    extreme = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308]
    values = np.concatenate(
        [extreme, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), [1.0]]
    )
    missing = np.arange(len(values)) == len(values) - 1
    plain = np.searchsorted(edges, values, side="right")
    plain = np.where(np.isfinite(values), plain, grid.regular_size + 2)
    expected = np.bincount(np.where(missing, grid.regular_size + 1, plain), minlength=grid.size)
    return np.array_equal(ours_of_any(grid, values, missing), expected)


def main() -> int:
    """Compare, measure, print."""
    directory = Path(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else data.ROWS
    log = pq.read_table(data.parquet(directory, rows), columns=["event_time", *data.NUMERIC])
    known = pq.read_table(data.reference(directory), columns=list(data.NUMERIC))
    hour: Ints = (np.asarray(log["event_time"]) - data.START) // HOUR
    columns = []
    for name in data.NUMERIC:
        column, before = parse_numbers(log[name]), parse_numbers(known[name])
        values = np.where(column.finite, column.values, 0.0)
        columns.append((feature_grid(before.values[before.finite]), values))
    nothing = np.zeros(rows, dtype=bool)

    def each(count: Callable[[NumericGrid, Floats], object]) -> Callable[[], object]:
        return lambda: [count(grid, values) for grid, values in columns]

    def by_hour(count: Callable[[NumericGrid, Floats, Ints], object]) -> Callable[[], object]:
        return lambda: [count(grid, values, hour) for grid, values in columns]

    wrong = differing(columns, hour)
    size = f"{rows:,} x {len(columns)}"
    any_value = each(lambda grid, values: ours_of_any(grid, values, nothing))
    pairs = [
        in_turn(size, each(ours), ("searchsorted + bincount", each(searched)), bar=BAR),
        in_turn(size, each(ours), ("numpy.histogram", each(histogram)), bar=BAR),
        in_turn(size, each(ours), ("pandas.cut + value_counts", each(cut)), bar=BAR, pairs=3),
        in_turn(f"{size}, any value", any_value, ("searchsorted + bincount", each(searched))),
        in_turn(f"{size}, by hour", by_hour(hourly), ("searchsorted + bincount", by_hour(hourly_searched))),
        in_turn(
            f"{size}, by hour",
            by_hour(hourly),
            ("numpy.histogram an hour", by_hour(hourly_histogram)),
            pairs=3,
        ),
        in_turn(
            f"{size}, by hour", by_hour(hourly), ("pandas.cut + groupby", by_hour(hourly_grouped)), pairs=3
        ),
    ]
    save("kernel", pairs, columns_that_differ=wrong, rows=rows)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
