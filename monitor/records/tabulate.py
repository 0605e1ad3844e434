"""Rows to sparse counters: one pass of bincounts for many panes and strata at once."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from monitor.core.typing import Bools, Floats, Ints
from monitor.states import sums
from monitor.states.counters import Counters, Layout

_DENSE = 16  # counters for a row up to which counting in a dense table is faster than sorting


class Table:
    """Counts of rows by group (pane and stratum) and cell, collected block by block, each block once.

    Parameters
    ----------
    layout
        of the counters to make.
    group
        int64, shape (rows,): number of each row's group; rows of -1 are passed over.
    groups
        number of groups.
    skipped
        blocks that are not counted.
    """

    def __init__(
        self, layout: Layout, group: Ints, groups: int, skipped: frozenset[str] = frozenset()
    ) -> None:
        inside = group >= 0
        self._inside = None if inside.all() else inside
        self._layout, self._group, self._groups, self._skipped = layout, group, groups, skipped
        self._parts: list[tuple[Ints, Ints]] = []

    def add(self, block: str, cell: Ints, mask: Bools | None = None) -> None:
        """Count one for each row (of the mask) in its cell of a block."""
        if block in self._skipped:
            return
        mask = self._counted(mask)
        group = self._group if mask is None else self._group[mask]
        cell = cell if mask is None else cell[mask]
        size = self._layout.by_name[block].size
        keys = group * size + cell
        if self._groups * size <= _DENSE * len(keys):
            counted = np.bincount(keys)
            present = np.flatnonzero(counted)
            counts = counted[present]
        else:
            present, counts = np.unique(keys, return_counts=True)
        self._keep(block, present, counts)

    def add_tallies(self, block: str, columns: Sequence[Ints | Bools]) -> None:
        """Add each column's numbers to its cell of a block."""
        table = np.zeros((len(columns), self._groups), dtype=np.int64)
        mask = self._counted(None)
        group = self._group if mask is None else self._group[mask]
        for total, column in zip(table, columns, strict=True):
            np.add.at(total, group, (column if mask is None else column[mask]).astype(np.int64))
        self._keep_dense(block, table.T)

    def add_sums(self, block: str, terms: Sequence[Floats], scales: Sequence[float], mask: Bools) -> None:
        """Add terms exactly; terms out of range are counted.

        Parameters
        ----------
        mask
            rows that have the terms: shape (rows,), or (terms, rows) where they differ by term.
        """
        if block in self._skipped:
            return
        mask = mask if self._inside is None else mask & self._inside
        table = np.zeros((4, len(terms), self._groups), dtype=np.int64)
        masks = mask if mask.ndim == 2 else [mask] * len(terms)
        for position, (term, scale, has) in enumerate(zip(terms, scales, masks, strict=True)):
            group, present = (self._group, term) if has.all() else (self._group[has], term[has])
            hi, lo, fits = sums.halves(present, scale)
            table[0, position] = np.bincount(group, minlength=self._groups)
            if not fits.all():
                table[1, position] = np.bincount(group[~fits], minlength=self._groups)
            np.add.at(table[2, position], group, hi)
            np.add.at(table[3, position], group, lo)
        table[2], table[3] = sums.normalise(table[2], table[3])
        self._keep_dense(block, table.reshape(4 * len(terms), self._groups).T)

    def add_cell_sums(self, block: str, cell: Ints, terms: Sequence[Floats], mask: Bools) -> None:
        """Add terms, of scale 1, exactly to each row's cell of a block of sums: columns are term x cell."""
        if block in self._skipped:
            return
        mask = mask if self._inside is None else mask & self._inside
        width = self._layout.by_name[block].shape[1]
        cells = width // len(terms)
        key, slot = np.unique(self._group[mask] * cells + cell[mask], return_inverse=True)
        table = np.zeros((4, len(terms), len(key)), dtype=np.int64)
        table[0] = np.bincount(slot, minlength=len(key))
        for position, term in enumerate(terms):
            hi, lo, fits = sums.halves(term[mask], 1.0)
            table[1, position] = np.bincount(slot[~fits], minlength=len(key))
            np.add.at(table[2, position], slot, hi)
            np.add.at(table[3, position], slot, lo)
        table[2], table[3] = sums.normalise(table[2], table[3])
        group, place = np.divmod(key, cells)
        column = np.arange(4 * len(terms)).reshape(4, len(terms), 1) * cells + place
        present = table != 0
        self._keep(block, (group * (4 * width) + column)[present], table[present])

    def counters(self) -> Iterator[tuple[int, Counters]]:
        """Yield the counters of each group that has any, by ascending group."""
        if not self._parts:
            return
        key, value = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.argsort(key, kind="stable")  # a few ascending runs
        key, value, size = key[order], value[order], self._layout.size
        bounds = np.searchsorted(key, np.arange(self._groups + 1) * size)
        for number, (first, last) in enumerate(pairwise(bounds.tolist())):
            if first < last:
                index = key[first:last] - number * size
                yield number, Counters(self._layout, index, value[first:last].copy())

    def _counted(self, mask: Bools | None) -> Bools | None:
        """Rows of a mask that have a group; None: all rows."""
        both = [one for one in (mask, self._inside) if one is not None and not one.all()]
        return np.logical_and.reduce(both) if both else None

    def _keep_dense(self, block: str, table: Ints) -> None:
        flat = table.ravel()
        present = np.flatnonzero(flat)
        self._keep(block, present, flat[present])

    def _keep(self, block: str, keys: Ints, counts: Ints) -> None:
        """Keep non-zero counts by group x size of the block + cell."""
        size = self._layout.by_name[block].size
        further = keys // size * (self._layout.size - size) + self._layout.offsets[block]
        self._parts.append((keys + further, counts))
