"""Integers as bytes: seven bits a byte, least significant first, the eighth bit set where more follow.

Signed integers are zigzagged first (0, -1, 1, -2, … become 0, 1, 2, 3, …), so that small ones stay short.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from monitor.core.errors import CodecError
from monitor.core.typing import Ints

_MORE = 0x80
_LONGEST = 10  # bytes of a 64-bit integer
_SHIFTS = np.arange(_LONGEST, dtype=np.uint64) * np.uint64(7)


def pack(values: Ints) -> bytes:
    """Bytes of any int64."""
    return pack_many(values, [len(values)])[0]


def pack_many(values: Ints, lengths: Sequence[int]) -> list[bytes]:
    """Bytes of consecutive runs of int64, each of its own length; cheaper than one by one."""
    packed, ends = _packed(values)
    stops = np.concatenate([[0], ends])[np.cumsum([0, *lengths])].tolist()
    whole = packed.tobytes()
    return [whole[start:stop] for start, stop in pairwise(stops)]


def _packed(values: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """Bytes of the values, and where each ends."""
    rest = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths, at = np.ones(len(values), dtype=np.int64), np.arange(len(values))
    rounds = [(at, rest)]  # of values that have a first byte, a second one, …
    while len(more := np.flatnonzero(rest >= _MORE)):
        at, rest = at[more], rest[more] >> np.uint64(7)
        lengths[at] += 1
        rounds.append((at, rest))
    ends = np.cumsum(lengths)
    packed = np.empty(lengths.sum(), dtype=np.uint8)
    for place, (at, rest) in enumerate(rounds):
        packed[ends[at] - lengths[at] + place] = rest.astype(np.uint8) | np.uint8(_MORE)
    packed[ends - 1] &= _MORE - 1
    return packed, ends


def unpack(packed: NDArray[np.uint8], count: int) -> Ints:
    """The `count` integers that `pack` made these bytes of.

    Raises
    ------
    CodecError
        if the bytes hold another number of integers, or one of more than 64 bits.
    """
    ends = np.flatnonzero(packed < _MORE)
    if len(ends) != count or (len(packed) and (count == 0 or ends[-1] != len(packed) - 1)):
        raise CodecError(f"{count} integers expected: got {len(ends)} in {len(packed)} bytes")
    zigzag = packed.astype(np.uint64) if len(packed) == count else _join(packed, ends)
    return (zigzag >> np.uint64(1)).view(np.int64) ^ -(zigzag & np.uint64(1)).view(np.int64)


def _join(packed: NDArray[np.uint8], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    starts = np.empty(len(ends), dtype=np.int64)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    place = np.arange(len(packed)) - np.repeat(starts, ends - starts + 1)
    if place.max() >= _LONGEST:
        raise CodecError(f"an integer has at most {_LONGEST} bytes: got {place.max() + 1}")
    joined: NDArray[np.uint64] = np.bitwise_or.reduceat(
        (packed & np.uint8(_MORE - 1)).astype(np.uint64) << _SHIFTS[place], starts
    )
    return joined
