"""Rows to sparse counters: one pass of bincounts for many panes and strata at once."""

from collections.abc import Iterator

import numpy as np

from monitor.core.typing import Bools, Floats, Ints
from monitor.states import sums
from monitor.states.counters import Counters, Layout

_DENSE = 1 << 23  # counters of a block up to which a dense table is used


class Table:
    """Counts of rows by group (pane × stratum) and cell, collected block by block.

    Parameters
    ----------
    layout
        of the counters to make.
    group
        int64, shape (rows,): number of each row's group.
    groups
        number of groups.
    """

    def __init__(self, layout: Layout, group: Ints, groups: int) -> None:
        self._layout, self._group, self._groups = layout, group, groups
        self._parts: list[tuple[Ints, Ints, Ints]] = []

    def add(self, block: str, cell: Ints, mask: Bools | None = None) -> None:
        """Count one for each row (of the mask) in its cell of a block."""
        group = self._group if mask is None else self._group[mask]
        cell = cell if mask is None else cell[mask]
        self._count(block, group, cell, self._layout.by_name[block].size)

    def add_tallies(self, block: str, columns: list[Ints | Bools]) -> None:
        """Add each column's numbers to its cell of a block."""
        table = np.zeros((self._groups, len(columns)), dtype=np.int64)
        for position, column in enumerate(columns):
            np.add.at(table[:, position], self._group, column.astype(np.int64))
        self._dense(block, table)

    def add_sums(self, block: str, terms: list[Floats], scales: list[float], mask: Bools) -> None:
        """Add terms exactly; terms out of range are counted."""
        group = self._group[mask]
        table = np.zeros((self._groups, 4, len(terms)), dtype=np.int64)
        for position, (term, scale) in enumerate(zip(terms, scales, strict=True)):
            hi, lo, fits = sums.halves(term[mask], scale)
            for row, column in enumerate((np.ones_like(hi), (~fits).astype(np.int64), hi, lo)):
                np.add.at(table[:, row, position], group, column)
        table[:, 2], table[:, 3] = sums.normalise(table[:, 2], table[:, 3])
        self._dense(block, table.reshape(self._groups, -1))

    def counters(self) -> Iterator[tuple[int, Counters]]:
        """Counters of each group that has any, by ascending group."""
        if not self._parts:
            return
        group, index, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((index, group))
        group, index, value = group[order], index[order], value[order]
        present, starts = np.unique(group, return_index=True)
        for number, first, last in zip(present, starts, [*starts[1:], len(group)], strict=True):
            yield int(number), Counters(self._layout, index[first:last].copy(), value[first:last].copy())

    def _count(self, block: str, group: Ints, cell: Ints, size: int) -> None:
        keys = group * size + cell
        if self._groups * size <= _DENSE:
            counted = np.bincount(keys, minlength=0)
            present = np.flatnonzero(counted)
            counts = counted[present]
        else:
            present, counts = np.unique(keys, return_counts=True)
        self._keep(block, present // size, present % size, counts)

    def _dense(self, block: str, table: Ints) -> None:
        group, cell = np.nonzero(table)
        self._keep(block, group, cell, table[group, cell])

    def _keep(self, block: str, group: Ints, cell: Ints, counts: Ints) -> None:
        offset = self._layout.offsets[block]
        self._parts.append((group.astype(np.int64), cell + offset, counts.astype(np.int64)))
