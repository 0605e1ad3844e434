"""Counters: the one state. A sparse vector of int64 counts over a layout of named blocks.

Counters merge by addition of integers, in any order and grouping, with equal results; what was added can be
taken away again. Every view that a measure reads (histogram, confusion, score table, sums) is a block.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from monitor.core.array_types import Bools, Ints
from monitor.core.errors import GridMismatch
from monitor.core.text import content_hash
from monitor.states import sums

_AT_ONCE = 128  # moves: their counters stay in the processor's cache
_FILLED = 0.06  # share of a layout from which on dense vectors are cheaper


@dataclass(frozen=True, slots=True)
class CounterBlock:
    """A named part of a layout."""

    name: str  # as in "score", "feature:temp_f"
    shape: tuple[int, ...]  # of the dense array
    grid: str  # hash of what the cells mean; blocks of different grids never merge
    # the shape is (4, terms): n, out of range, hi and lo halves of exact sums (see `sums`).
    sums: bool = False

    @property
    def size(self) -> int:
        """Number of counters."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class CounterLayout:
    """Blocks, one behind the other. State size: at most 16 bytes a non-zero counter."""

    blocks: tuple[CounterBlock, ...]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """First position of each block, by name."""
        ends = np.cumsum([0] + [block.size for block in self.blocks]).tolist()
        return {block.name: end for block, end in zip(self.blocks, ends, strict=False)}

    @cached_property
    def size(self) -> int:
        """Number of counters."""
        return sum(block.size for block in self.blocks)

    @cached_property
    def hash(self) -> str:
        """Content hash."""
        return content_hash([[b.name, list(b.shape), b.grid, b.sums] for b in self.blocks])

    @cached_property
    def blocks_by_name(self) -> dict[str, CounterBlock]:
        """Blocks by name."""
        return {block.name: block for block in self.blocks}

    @cached_property
    def high_positions(self) -> Ints:
        """Positions of the high halves of sums; the low halves lie `width` further on, see `lo`."""
        return self._sum_half_positions(2)

    @cached_property
    def low_positions(self) -> Ints:
        """Positions of the low halves of sums, in the order of `hi`."""
        return self._sum_half_positions(3)

    def _sum_half_positions(self, row: int) -> Ints:
        parts = [np.empty(0, dtype=np.int64)]
        for block in self.blocks:
            if block.sums:
                start = self.offsets[block.name] + row * block.shape[1]
                parts.append(np.arange(start, start + block.shape[1]))
        return np.concatenate(parts)

    def block_slice(self, name: str) -> slice:
        """Positions of a block."""
        start = self.offsets[name]
        return slice(start, start + self.blocks_by_name[name].size)


@dataclass(frozen=True, slots=True, eq=False)
class Counters:
    """Non-zero counts. Exact: merging loses nothing."""

    layout: CounterLayout  # what the positions mean
    index: Ints  # int64, ascending, distinct positions
    value: Ints  # int64, non-zero; low halves of sums in [0, 2^40)

    @classmethod
    def make_empty(cls, layout: CounterLayout) -> "Counters":
        """Return the identity of `merge`."""
        return cls(layout, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    @classmethod
    def from_dense(cls, layout: CounterLayout, dense: Ints) -> "Counters":
        """Counters of a dense vector of `layout.size` integers."""
        if dense.shape != (layout.size,):
            raise GridMismatch(f"a vector of {layout.size} counters is needed: got {dense.shape}")
        canonical = dense.astype(np.int64)
        hi, lo = sums.normalise_halves(canonical[layout.high_positions], canonical[layout.low_positions])
        canonical[layout.high_positions], canonical[layout.low_positions] = hi, lo
        index = np.flatnonzero(canonical != 0)  # of booleans: twice as fast
        return cls(layout, index, canonical[index])

    @classmethod
    def merge_all(cls, layout: CounterLayout, many: Iterable["Counters"]) -> "Counters":
        """Sum of any number of counters of one layout. Exact. Cost: their non-zero counts.

        Raises
        ------
        GridMismatch
            if their layouts differ.
        """
        parts = list(many)
        # By identity first: nearly all are of the very same layout, and comparing layouts block by block
        # costs.
        layouts = {id(part.layout): part.layout for part in parts}
        if any(other != layout for other in layouts.values()):
            raise GridMismatch("counters of different layouts do not merge")
        dense = np.zeros(layout.size, dtype=np.int64)
        if parts:
            np.add.at(
                dense,
                np.concatenate([part.index for part in parts]),
                np.concatenate([part.value for part in parts]),
            )
        return cls.from_dense(layout, dense)

    def dense_counts(self) -> Ints:
        """All counters."""
        full = np.zeros(self.layout.size, dtype=np.int64)
        full[self.index] = self.value
        return full

    def dense_block(self, name: str) -> Ints:
        """Dense array of one block."""
        where = self.layout.block_slice(name)
        first, last = np.searchsorted(self.index, [where.start, where.stop])
        flat = np.zeros(where.stop - where.start, dtype=np.int64)
        flat[self.index[first:last] - where.start] = self.value[first:last]
        return flat.reshape(self.layout.blocks_by_name[name].shape)

    def make_dense(self) -> "DenseCounters":
        """All counters, for many blocks to be read."""
        return DenseCounters(self.layout, self.dense_counts())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counters)
            and self.layout == other.layout
            and np.array_equal(self.index, other.index)
            and np.array_equal(self.value, other.value)
        )

    def __hash__(self) -> int:
        return hash((self.layout.hash, self.index.tobytes(), self.value.tobytes()))


CounterMove: TypeAlias = tuple[Counters, Sequence[Counters], Sequence[Counters]]
"""Counters, what is to be taken away from them, what is to be added."""


def apply_moves(layout: CounterLayout, moves: Sequence[CounterMove]) -> list[Counters | None]:
    """The counters after each move, exactly; None: a count would fall below 0.

    Cost: that of the non-zero counters, some moves at once; where they fill the layout, its size a move.
    """
    if sum(map(_move_size, moves)) > _FILLED * len(moves) * layout.size:
        return [_apply_move_densely(layout, move) for move in moves]
    some = (moves[first : first + _AT_ONCE] for first in range(0, len(moves), _AT_ONCE))
    return [counters for each in some for counters in _apply_move_batch(layout, each)]


def _move_size(move: CounterMove) -> int:
    counters, taken, added = move
    return len(counters.index) + sum(len(each.index) for each in (*taken, *added))


def _apply_move_densely(layout: CounterLayout, move: CounterMove) -> Counters | None:
    counters, taken, added = move
    dense = counters.dense_counts()
    for each in added:
        dense[each.index] += each.value
    for each in taken:
        dense[each.index] -= each.value
    now = Counters.from_dense(layout, dense)
    # High halves of sums may well be negative. Anything else below 0 was never counted: the move is wrong.
    low = now.index[now.value < 0]
    return now if not len(low) or np.isin(low, layout.high_positions).all() else None


def _apply_move_batch(layout: CounterLayout, moves: Sequence[CounterMove]) -> list[Counters | None]:
    stood, value = _key_counters([(counters,) for counters, _, _ in moves])
    taken, added = (
        _key_counters([side for _, side, _ in moves]),
        _key_counters([side for _, _, side in moves]),
    )
    # All changes of a counter are summed before they meet its value: in between it might fall below 0.
    key, change = sum_by_key(np.concatenate([added[0], taken[0]]), np.concatenate([added[1], -taken[1]]))
    position = key % layout.size
    at = np.minimum(np.searchsorted(layout.low_positions, position), max(len(layout.low_positions) - 1, 0))
    is_lo = layout.low_positions[at] == position if len(layout.low_positions) else np.zeros(len(at), bool)
    if is_lo.any():
        # Low halves stay within [0, 2^40), the one form in which equal sums are equal: what lies beyond is
        # carried to the high half of the same sum, as a further change there.
        carry = (_find_keys(stood, value, key[is_lo])[2] + change[is_lo]) >> sums.BITS
        change[is_lo] -= carry << sums.BITS
        hi = key[is_lo] - position[is_lo] + layout.high_positions[at[is_lo]]
        key, change = sum_by_key(np.concatenate([key, hi]), np.concatenate([change, carry]))
    place, there, before = _find_keys(stood, value, key)
    total = before + change
    low = key[total < 0]
    refused = set((low[~np.isin(low % layout.size, layout.high_positions)] // layout.size).tolist())
    # Counters that were there are set, new ones are put in their place, and what became 0 goes.
    value[place[there]] = total[there]
    new = np.searchsorted(stood, key[~there])
    stood, value = np.insert(stood, new, key[~there]), np.insert(value, new, total[~there])
    stood, value = stood[value != 0], value[value != 0]
    bounds = np.searchsorted(stood, np.arange(len(moves) + 1) * layout.size).tolist()
    return [
        None
        if number in refused
        else Counters(layout, stood[first:last] - number * layout.size, value[first:last].copy())
        for number, (first, last) in enumerate(pairwise(bounds))
    ]


_KeyedCounts: TypeAlias = tuple[Ints, Ints]  # number x size of the layout + position, ascending; value


def _key_counters(many: Sequence[Sequence[Counters]]) -> _KeyedCounts:
    none = np.empty(0, dtype=np.int64)
    flat = [(number, counters) for number, each in enumerate(many) for counters in each]
    keys = [counters.index + number * counters.layout.size for number, counters in flat]
    return np.concatenate([none, *keys]), np.concatenate([none, *(counters.value for _, counters in flat)])


def sum_by_key(key: Ints, value: Ints) -> _KeyedCounts:
    """Distinct keys, ascending, and the sums of their values; none whose sum is 0."""
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    first = np.flatnonzero(np.diff(key, prepend=key[:1] - 1))
    total = np.add.reduceat(value, first) if len(first) else value
    kept = total != 0
    return key[first[kept]], total[kept]


def _find_keys(among: Ints, value: Ints, key: Ints) -> tuple[Ints, Bools, Ints]:
    """Place of each key among ascending ones, whether it is there, and its value, else 0."""
    if not len(among):
        return np.zeros_like(key), np.zeros(len(key), dtype=bool), np.zeros_like(key)
    place = np.minimum(np.searchsorted(among, key), len(among) - 1)
    there = among[place] == key
    return place, there, np.where(there, value[place], 0)


@dataclass(frozen=True, slots=True, eq=False)
class DenseCounters:
    """Counters made dense once, whose blocks cost nothing to read."""

    layout: CounterLayout  # what the positions mean
    dense: Ints  # int64, shape (layout.size,)

    def dense_block(self, name: str) -> Ints:
        """Dense array of one block."""
        return self.dense[self.layout.block_slice(name)].reshape(self.layout.blocks_by_name[name].shape)
