"""A checksum of labels: which record has which label, in one number that adds up.

Each labelled record gives 63 mixed bits of its id, its event time and its label, of how many other labels it
had and when the first was reported; a pane's checksum is their sum modulo 2^63. So order, batches and engines
cannot change it, panes add up to windows, and labels that change, or change places, go unseen with a chance
of 2^-63. A sum of the labels themselves would miss small changes, and changes that cancel.

References
----------
.. [1] Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 16
   (the finalizer `mix64` with Stafford's variant 13, known as SplitMix64).
"""

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from monitor.core.array_types import Floats, Ints

Bits: TypeAlias = NDArray[np.uint64]

ID_BYTES = 64  # of an id; records whose ids differ only further on are told apart by their times
_KEPT = np.int64(2**63 - 1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def mix_bits(bits: Bits) -> Bits:
    """SplitMix64's output for each state.

    >>> [hex(value) for value in mix_bits(np.asarray([0, 1], np.uint64)).tolist()]
    ['0xe220a8397b1dcdaf', '0x910a2dec89025cc1']
    """
    mixed = bits + _STEP
    for shift, factor in _ROUNDS:
        mixed ^= mixed >> shift
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
    return mixed


def bits_of_numbers(values: Floats) -> Bits:
    """Bits of doubles; zero has no sign."""
    return (values + 0.0).view(np.uint64)


def bits_of_texts(column: pa.ChunkedArray) -> Bits:
    """Mixed bits of the first 64 bytes of each text, none of which is null."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    first = pc.binary_slice(array.cast(pa.string()).cast(pa.binary()), 0, ID_BYTES)
    padded = pc.ascii_rpad(first.view(pa.string()), ID_BYTES, padding="\0")
    flat = b"" if len(padded) == 0 else padded.buffers()[2]
    words = np.frombuffer(flat, dtype="<u8", count=len(padded) * ID_BYTES // 8).reshape(-1, ID_BYTES // 8)
    mixed = np.zeros(len(padded), dtype=np.uint64)
    for at in range(words.shape[1]):
        mixed = mix_bits(mixed ^ words[:, at])
    return mixed


def pane_checksums(members: Bits, values: Bits, times: Ints, pane: Ints, panes: int) -> Ints:
    """Sum modulo 2^63 over the records of each pane.

    Parameters
    ----------
    members, values
        bits of each record's id and of its label.
    times
        its event time.
    pane
        its pane, 0 … panes - 1.
    """
    mixed = mix_bits(mix_bits(members + mix_bits(times.view(np.uint64))) ^ values)
    sums = np.zeros(panes, dtype=np.uint64)
    np.add.at(sums, pane, mixed)
    return wrap_sums(sums.view(np.int64))


def checksum_of_moments(event: Ints, seen: Ints, pane: Ints, panes: int) -> Ints:
    """Sum modulo 2^63 over the rows of each pane: at which moments they were, and became visible."""
    return pane_checksums(np.zeros(len(event), np.uint64), seen.view(np.uint64), event, pane, panes)


def wrap_sums(sums: Ints) -> Ints:
    """Sums modulo 2^63, as they are stored: never negative."""
    return sums & _KEPT
