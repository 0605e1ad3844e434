"""Which row counts: one prediction for an id, one label for a prediction."""

from collections.abc import Callable

import numpy as np

from monitor.core.array_types import Bools, Ints

TieKeys = Callable[[Ints], list[Ints]]
_MOST = np.iinfo(np.int64).max


def find_smallest_rows(group: Ints, keys: list[Ints], ties: TieKeys | None = None) -> tuple[Ints, Ints]:
    """Row of each group with the smallest keys, compared in order.

    Parameters
    ----------
    group
        int64, shape (rows,): rows of one group have one number.
    keys
        int64 arrays of the same shape, the first is compared first.
    ties
        further keys of the given rows, asked for only where rows of a group are still equal.

    Returns
    -------
    rows, counts
        row number and number of rows of each group, by ascending group.
    """
    if len(group) and (np.diff(group) > 0).all():
        return np.arange(len(group)), np.ones(len(group), dtype=np.int64)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(_changes_in_order(group[order]))
    counts = np.diff(np.append(starts, len(order)))
    several = np.repeat(counts > 1, counts)  # no other group has anything to compare
    among = order[several]
    order[several] = among[np.lexsort((*(key[among] for key in reversed(keys)), group[among]))]
    rows = order[starts]
    if ties is None or len(rows) == len(order):
        return rows, counts
    winner = np.repeat(rows, counts)
    tied = np.logical_and.reduce([key[order] == key[winner] for key in keys])
    tied &= np.repeat(np.add.reduceat(tied, starts, dtype=np.int64) > 1, counts)
    candidates = order[tied]
    if len(candidates):
        again, _ = find_smallest_rows(group[candidates], ties(candidates))
        winners = candidates[again]
        rows[np.searchsorted(group[rows], group[winners])] = winners
    return rows, counts


def count_distinct(group: Ints, keys: list[Ints], groups: int) -> Ints:
    """How many different keys each of the groups 0 … groups - 1 has."""
    rows = np.bincount(group, minlength=groups)
    several = rows[group] > 1
    if not several.any():
        return rows
    group, keys = group[several], [key[several] for key in keys]
    order = np.lexsort((*reversed(keys), group))
    new = np.logical_or.reduce([_changes_in_order(column[order]) for column in (group, *keys)])
    return np.where(rows > 1, np.bincount(group[order][new], minlength=groups), rows)


def combine_codes(codes: list[Ints]) -> Ints:
    """One number for each distinct tuple of non-negative codes, in the order of the tuples."""
    combined = codes[0]
    for code in codes[1:]:
        pair = combined, code
        if (int(combined.max(initial=0)) + 1) * (int(code.max(initial=0)) + 1) > _MOST:
            pair = dense_ranks(combined), dense_ranks(code)
        combined = pair[0] * (int(pair[1].max(initial=0)) + 1) + pair[1]
    return combined


def compact_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Small non-negative codes that occur, ascending, and the position of each one among them."""
    there = np.bincount(codes) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def dense_ranks(codes: Ints) -> Ints:
    """Rank of each code among the distinct ones."""
    if (np.diff(codes) > 0).all():  # as in a log that is read in the order of its times
        return np.arange(len(codes))
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _changes_in_order(ordered: Ints) -> Bools:
    changes = np.ones(len(ordered), dtype=bool)
    changes[1:] = ordered[1:] != ordered[:-1]
    return changes
