"""Rows to sparse counters: one pass of bincounts for many panes and strata at once."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Bools, Floats, Ints
from monitor.states import sums
from monitor.states.counters import CounterLayout

Term: TypeAlias = tuple[Floats, Bools]  # numbers, and the rows that have them

_DENSE = 16  # counters for a row up to which counting in a dense table is faster than sorting


class CountTable:
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
        self, layout: CounterLayout, group: Ints, groups: int, skipped: frozenset[str] = frozenset()
    ) -> None:
        inside = group >= 0
        self._inside = None if inside.all() else inside
        self._layout, self._group, self._groups, self._skipped = layout, group, groups, skipped
        self._parts: list[tuple[Ints, Ints]] = []
        first = np.flatnonzero(np.diff(group, prepend=-1))
        self._first = first if np.array_equal(group[first], np.arange(groups)) else None  # of one run each

    def take_rows(self, rows: Ints) -> "CountTable":
        """Table of some of the rows: what is counted of them there is counted here."""
        table = CountTable(self._layout, self._group[rows], self._groups, self._skipped)
        table._parts = self._parts
        return table

    def add_cells(self, block: str, cell: Ints, mask: Bools | None = None) -> None:
        """Count one for each row (of the mask) in its cell of a block."""
        if block in self._skipped:
            return
        group = self._group
        masks = [rows for rows in (mask, self._inside) if rows is not None and not rows.all()]
        if masks:
            counted = np.logical_and.reduce(masks)
            group, cell = group[counted], cell[counted]
        size = self._layout.blocks_by_name[block].size
        keys = group * size + cell
        # A dense table is faster as long as it is not much larger than the rows: it is written and searched
        # whole.
        if self._groups * size <= _DENSE * len(keys):
            dense = np.bincount(keys)
            present = np.flatnonzero(dense > 0)  # of booleans: twice as fast
            counts = dense[present]
        else:
            present, counts = np.unique(keys, return_counts=True)
        self._keep_counts(block, present, counts)

    def add_tallies(self, block: str, columns: Sequence[Ints | Bools]) -> None:
        """Add each column's numbers to its cell of a block."""
        if block in self._skipped:
            return
        inside = self._inside
        totals = [self._sum_by_group(column if inside is None else column * inside) for column in columns]
        self._keep_dense(block, np.stack(totals, axis=1))

    def add_sums(self, block: str, terms: Iterable[Term]) -> None:
        """Add terms exactly; terms out of range are counted. No more than one is in memory at a time."""
        if block in self._skipped:
            return
        columns = []
        for term, mask in terms:
            has = mask if self._inside is None else mask & self._inside
            present = term if has.all() else np.where(has, term, 0.0)
            counts = self._sum_by_group(has)
            unfit, hi = np.zeros((2, self._groups), dtype=np.int64)
            # Where no sum can overflow, terms are added as whole units, at a quarter of the cost of halves.
            whole = sums.whole_units(present, int(counts.max(initial=0)))
            if whole is not None:
                lo = self._sum_by_group(whole)
            else:
                *halves, fits = sums.split_halves(present)
                (hi, lo), unfit = map(self._sum_by_group, halves), self._sum_by_group(~fits)
            columns.append((counts, unfit, *sums.normalise_halves(hi, lo)))
        table = np.asarray(columns).transpose(2, 1, 0).reshape(self._groups, 4 * len(columns))
        self._keep_dense(block, table)

    def add_cell_sums(self, block: str, cell: Ints, terms: Sequence[Floats], mask: Bools) -> None:
        """Add terms exactly to each row's cell of a block of sums: columns are term x cell."""
        if block in self._skipped:
            return
        mask = mask if self._inside is None else mask & self._inside
        width = self._layout.blocks_by_name[block].shape[1]
        cells = width // len(terms)
        slot = self._group[mask] * cells + cell[mask]
        key = np.arange(self._groups * cells)
        if len(key) > _DENSE * len(slot):
            key, slot = np.unique(slot, return_inverse=True)
        table = np.zeros((4, len(terms), len(key)), dtype=np.int64)
        table[0] = counts = np.bincount(slot, minlength=len(key))
        most = int(counts.max(initial=0))
        for position, term in enumerate(terms):
            present = term[mask]
            whole = sums.whole_units(present, most)
            if whole is not None:
                np.add.at(table[3, position], slot, whole)
                continue
            hi, lo, fits = sums.split_halves(present)
            table[1, position] = np.bincount(slot[~fits], minlength=len(key))
            np.add.at(table[2, position], slot, hi)
            np.add.at(table[3, position], slot, lo)
        table[2], table[3] = sums.normalise_halves(table[2], table[3])
        group, place = np.divmod(key, cells)
        column = np.arange(4 * len(terms)).reshape(4, len(terms), 1) * cells + place
        present = table != 0
        self._keep_counts(block, (group * (4 * width) + column)[present], table[present])

    def sparse_counts(self) -> tuple[Ints, Ints]:
        """Return group x size of the layout + position, ascending, and what was counted there: not 0."""
        none = np.empty(0, dtype=np.int64)
        key, value = (np.concatenate(column) for column in zip(*(self._parts or [(none, none)]), strict=True))
        order = np.argsort(key, kind="stable")  # a few ascending runs
        return key[order], value[order]

    def _sum_by_group(self, values: Ints | Bools) -> Ints:
        """Sum by group: rows of ascending groups run by run, ten times faster than one by one."""
        if self._first is not None:
            return np.add.reduceat(values, self._first, dtype=np.int64)
        total = np.zeros(self._groups, dtype=np.int64)
        np.add.at(total, self._group, values.astype(np.int64))
        return total

    def _keep_dense(self, block: str, table: Ints) -> None:
        flat = table.ravel()
        present = np.flatnonzero(flat != 0)
        self._keep_counts(block, present, flat[present])

    def _keep_counts(self, block: str, keys: Ints, counts: Ints) -> None:
        """Keep non-zero counts by group x size of the block + cell."""
        size = self._layout.blocks_by_name[block].size
        # From group x size of the block to group x size of the layout: all blocks are then sorted together.
        further = keys // size * (self._layout.size - size) + self._layout.offsets[block]
        self._parts.append((keys + further, counts))
