"""Cells: the two sides of a comparison, all subjects at once, the reference's side prepared once."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from monitor.core.array_types import Counts, Floats, Ints
from monitor.measures.statistics.intervals import SampleMoments
from monitor.measures.value_words import range_words
from monitor.states.counters import Counters
from monitor.states.grids import EXTRA_CELLS, Grid, NumericGrid

NAMED = 19  # levels of the stability index, the rest merged
OTHER, EXTRA = "(other)", ("(unseen)", "(missing)", "(invalid)")
SIMULATIONS = 1_000


@dataclass(frozen=True, slots=True)
class ShiftSubject:
    """An output or a feature: its grid, and where its cells begin in a vector of counts."""

    name: str
    grid: Grid
    start: int


@dataclass(frozen=True)
class ExpectedCells:
    """The reference's side of the comparison of some subjects. Cost: one pass over the cells, once."""

    subjects: tuple[ShiftSubject, ...]  # in the order of the rows of every table here
    # shape (cells of a vector,): the reference's counts, or those expected of several references.
    counts: Counts
    moments: Mapping[str, SampleMoments] = field(default_factory=dict)  # of numbers, by name

    @cached_property
    def numeric_rows(self) -> list[int]:
        """Rows of the subjects that are numbers."""
        return [row for row, subject in enumerate(self.subjects) if isinstance(subject.grid, NumericGrid)]

    @cached_property
    def slots_per_row(self) -> int:
        """Cells of the stability index that a row has place for."""
        return max((self._cell_count(subject.grid) for subject in self.subjects), default=0)

    @cached_property
    def slot_by_cell(self) -> Ints:
        """Place of every cell of a vector in the flat table of the index's cells; the last one: none."""
        slots = np.full(len(self.counts), len(self.subjects) * self.slots_per_row, dtype=np.int64)
        for row, subject in enumerate(self.subjects):
            own = self._slots_of(subject)
            slots[subject.start : subject.start + len(own)] = row * self.slots_per_row + own
        return slots

    @cached_property
    def reference_counts(self) -> Floats:
        """The reference's counts in the index's cells, shape (subjects, width)."""
        return self.tabulate_counts(np.arange(len(self.counts)), self.counts)

    @cached_property
    def m(self) -> Floats:
        """Records of the reference, missing ones too; of several: as many as are worth as much."""
        total: Floats = self.reference_counts.sum(axis=1)
        return total

    @cached_property
    def held_cells(self) -> Ints:
        """Cells of the index that hold reference records."""
        held: Ints = (self.reference_counts > 0).sum(axis=1, dtype=np.int64)
        return held

    @cached_property
    def fewest_records(self) -> Floats:
        """Fewest reference records of a cell that holds any; infinite without any."""
        least: Floats = np.where(self.reference_counts > 0, self.reference_counts, np.inf).min(
            axis=1, initial=np.inf
        )
        return least

    def cell_shares(self, row: int) -> tuple[float, ...]:
        """Shares of the cells that hold reference records, ascending, to two digits."""
        if row not in self._shares:
            held = sorted((self.reference_counts[row][self.reference_counts[row] > 0] / self.m[row]).tolist())
            self._shares[row] = tuple(float(f"{share:.2g}") for share in held)
        return self._shares[row]

    @cached_property
    def _shares(self) -> dict[int, tuple[float, ...]]:
        return {}

    @cached_property
    def fine_reference(self) -> "FineCells":
        """The reference's regular cells of the numbers."""
        grids = [self.subjects[row].grid for row in self.numeric_rows]
        starts = [self.subjects[row].start for row in self.numeric_rows]
        spans = [
            np.arange(start, start + grid.regular_size) for start, grid in zip(starts, grids, strict=True)
        ]
        positions = np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)
        lengths = np.asarray([grid.regular_size for grid in grids], dtype=np.int64)
        return FineCells(positions, lengths, self.counts[positions].astype(np.float64))

    def reference_deviation(self, name: str) -> float:
        """The reference's standard deviation of a number; 0 where it is not known."""
        moments = self.moments.get(name)
        grid = next(subject.grid for subject in self.subjects if subject.name == name)
        if moments is None or moments.reason is not None or not isinstance(grid, NumericGrid):
            return 0.0
        return math.sqrt(moments.variance) * grid.scale if moments.variance > 0 else 0.0

    def tabulate_counts(self, index: Ints, value: Counts) -> Floats:
        """Counts, sparse or dense, in the cells of the index: shape (subjects, width)."""
        size = len(self.subjects) * self.slots_per_row
        flat = np.bincount(self.slot_by_cell[index], weights=value, minlength=size + 1)
        shape = (len(self.subjects), self.slots_per_row)
        return flat[:size].reshape(shape).astype(np.float64, copy=False)

    def name_of(self, row: int, slot: int) -> str:
        """What a cell of the index holds: a range of numbers, a level, or what is none."""
        grid = self.subjects[row].grid
        regular = self._cell_count(grid) - EXTRA_CELLS
        if slot >= regular:
            return EXTRA[slot - regular]
        if isinstance(grid, NumericGrid):
            lower = grid.edges[grid.deciles[slot - 1]] if slot else -math.inf
            upper = grid.edges[grid.deciles[slot]] if slot < len(grid.deciles) else math.inf
            return range_words(lower, upper)
        return OTHER if slot == regular - 1 else grid.levels[int(self._level_order(row)[slot])]

    def _cell_count(self, grid: Grid) -> int:
        regular = (
            len(grid.deciles) + 1 if isinstance(grid, NumericGrid) else min(NAMED, grid.regular_size - 1) + 1
        )
        return regular + EXTRA_CELLS

    def _slots_of(self, subject: ShiftSubject) -> Ints:
        grid = subject.grid
        if isinstance(grid, NumericGrid):
            regular = np.searchsorted(np.asarray(grid.deciles, dtype=np.int64), np.arange(grid.regular_size))
        else:
            # All levels are *other* but those that are most frequent in the reference.
            regular = np.full(grid.regular_size, min(NAMED, grid.regular_size - 1))
            order = self._level_order(self.subjects.index(subject))[:NAMED]
            regular[order] = np.arange(len(order))
        last = self._cell_count(grid) - EXTRA_CELLS
        return np.concatenate([regular, np.arange(last, last + EXTRA_CELLS)])

    def _level_order(self, row: int) -> Ints:
        """Levels of a row by falling frequency in the reference."""
        subject = self.subjects[row]
        levels = self.counts[subject.start : subject.start + subject.grid.regular_size - 1]
        return np.argsort(-levels, kind="stable")


@dataclass(frozen=True)
class FineCells:
    """Regular cells of the numbers, one subject behind the other."""

    positions: Ints  # in a vector of counts
    lengths: Ints  # cells of each subject
    counts: Floats  # float64, shape (sum of lengths,)

    def with_counts(self, dense: Counts) -> "FineCells":
        """Return the same cells of another vector."""
        return FineCells(self.positions, self.lengths, dense[self.positions].astype(np.float64))

    @cached_property
    def starts(self) -> Ints:
        """First cell of each subject."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def totals_by_subject(self) -> Floats:
        """Records of each subject that have a number."""
        return np.add.reduceat(self.counts, self.starts) if len(self.lengths) else np.empty(0)

    @cached_property
    def cumulative(self) -> Floats:
        """Counts up to and with each cell, within its subject."""
        total = np.cumsum(self.counts)
        # One sum over all subjects, less what had come together before each of them.
        return total - self.spread_over_cells(total[self.starts] - self.counts[self.starts])

    def spread_over_cells(self, values: Floats) -> Floats:
        """A value of each subject for each of its cells."""
        return np.repeat(values, self.lengths)

    def greatest_by_subject(self, values: Floats) -> Floats:
        """Largest value of each subject."""
        return np.maximum.reduceat(values, self.starts) if len(self.lengths) else np.empty(0)


@dataclass(frozen=True, slots=True)
class CumulativeSteps:
    """Both sides of the numbers in their regular cells, one subject behind the other."""

    now: FineCells
    # m, n: records of the reference and of the window that have a number, by subject.
    m: Floats
    n: Floats
    # q, p: shares of each cell; NaN where a side has none.
    q: Floats
    p: Floats
    difference: Floats  # cumulative share of the window less that of the reference, up to and with each cell

    @classmethod
    def from_counts(cls, expected: ExpectedCells, index: Ints, value: Counts) -> "CumulativeSteps":
        """Steps of counts at positions of a vector."""
        dense = np.zeros(len(expected.counts), dtype=np.int64)
        dense[index] = value
        then, now = expected.fine_reference, expected.fine_reference.with_counts(dense)
        m, n = then.totals_by_subject, now.totals_by_subject
        with np.errstate(divide="ignore", invalid="ignore"):
            q, p = then.counts / then.spread_over_cells(m), now.counts / now.spread_over_cells(n)
            difference = now.cumulative / now.spread_over_cells(n) - then.cumulative / then.spread_over_cells(
                m
            )
        return cls(now, m, n, q, p, difference)


@lru_cache(maxsize=64)  # of a reference again and again
def simulate_counts(size: int, shares: tuple[float, ...], side: str) -> Ints:
    """Counts of samples of so many records, shape (simulations, cells). Cost: 1,000 binomials a cell, once.

    Seeded by the arguments: a pure function of them.
    """
    shape = np.asarray(shares) / math.fsum(shares)
    return seeded_generator(size, shares, side).multinomial(size, shape, size=SIMULATIONS)


def seeded_generator(*key: object) -> np.random.Generator:
    """Random numbers that are the same for the same key."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest))


def round_to_two_digits(number: float) -> int:
    """Size that windows of about as many records share, so that they share one simulation."""
    return int(float(f"{number:.2g}"))


@dataclass(frozen=True, slots=True)
class ReferenceMixture:
    """Records parts of references, and the share w of a window's records that each is compared with.

    The expected shares are q = Σ w·q_r, and their uncertainty is that of m records: 1/m = Σ w²/m_r, the
    variance of a sum of independent shares.
    """

    # (share, counters) of distinct references on one layout; the shares add up to 1.
    parts: tuple[tuple[float, Counters], ...]

    def dense_counts(self) -> Floats:
        """Expected counters m·q of all blocks; a block that a reference did not count is empty."""
        layout = self.parts[0][1].layout
        shares = np.asarray([share for share, _ in self.parts])
        counted = np.stack([counters.dense_counts() for _, counters in self.parts])
        expected = np.zeros(layout.size)
        for block in layout.blocks:
            expected[layout.block_slice(block.name)] = mix_expected_cells(
                shares, counted[:, layout.block_slice(block.name)]
            )
        return expected


def mix_expected_cells(shares: Floats, cells: Counts) -> Floats:
    """Expected counts m·q of one block's cells, shape (references, cells); 0 where a reference has none."""
    records = cells.sum(axis=1)
    if not (records > 0).all():
        return np.zeros(cells.shape[1])
    worth = 1 / (shares**2 / records).sum()
    mixed: Floats = worth * ((shares / records)[:, None] * cells).sum(axis=0)
    return mixed
