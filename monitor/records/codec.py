"""Blobs: counters by stratum as compact bytes. Versioned; no pickle.

Format 1: the byte 1, then zlib of: the length of the names (4 bytes, little-endian), the names (JSON:
[[version, segment, number of counters], …]), then integers (see `varints`): the steps from each
position to the next through all strata, and the counts in the same order. About 3 bytes a counter.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from monitor.core.errors import DAMAGE, CodecError
from monitor.records.pane import PanePart
from monitor.records.varints import pack_many, unpack
from monitor.states.counters import Counters, Layout
from monitor.states.strata import Strata, Stratum

VERSION = 1
_FAST = 1  # zlib level: denser ones cost more time than they save bytes
_HEAD = 4


def encode(parts: Sequence[PanePart]) -> list[bytes]:
    """Blobs of the counters of pane parts; their integers are packed at once."""
    none = np.empty(0, dtype=np.int64)
    held = [counters for part in parts for counters in part.strata.values()]
    index = np.concatenate([none, *(counters.index for counters in held)])
    value = np.concatenate([none, *(counters.value for counters in held)])
    lengths = [sum(len(counters.index) for counters in part.strata.values()) for part in parts]
    steps = np.diff(index, prepend=0)
    first = np.cumsum([0, *lengths])[:-1][np.asarray(lengths, dtype=np.int64) > 0]
    steps[first] = index[first]
    packed = zip(parts, pack_many(steps, lengths), pack_many(value, lengths), strict=True)
    return [_blob(part.strata, steps_of_part + values) for part, steps_of_part, values in packed]


def _blob(strata: Strata, body: bytes) -> bytes:
    named = [[*stratum, len(counters.index)] for stratum, counters in strata.items()]
    names = json.dumps(named, separators=(",", ":")).encode()
    return bytes([VERSION]) + zlib.compress(len(names).to_bytes(_HEAD, "little") + names + body, _FAST)


def decode(blob: bytes, layout: Layout) -> Strata:
    """Counters by stratum. Exact: equal to what was encoded.

    Parameters
    ----------
    blob
        made by `encode`.
    layout
        on which the counters were counted.

    Raises
    ------
    CodecError
        if the version is not known, the bytes are damaged, or a position lies outside the layout.
    """
    named, packed = _open(blob)
    counts = [entry[2] for entry in named]
    total = sum(counts)
    integers = unpack(np.frombuffer(packed, dtype=np.uint8), 2 * total)
    index = np.cumsum(integers[:total])
    value = integers[total:]
    if total and (index.min() < 0 or index.max() >= layout.size):
        raise CodecError(f"positions below {layout.size} expected: got {index.min()} to {index.max()}")
    strata, first = {}, 0
    for version, segment, count in named:
        last = first + count
        strata[Stratum(version, segment)] = Counters(layout, index[first:last], value[first:last])
        first = last
    return strata


def encode_strata(strata: Strata) -> bytes:
    """Blob of counters by stratum, all of one layout."""
    return encode([PanePart(start=0, strata=strata)])[0]


def _open(blob: bytes) -> tuple[list[tuple[str | None, str | None, int]], memoryview]:
    if not blob or blob[0] != VERSION:
        raise CodecError(f"format {VERSION} expected: got {blob[0] if blob else 'an empty blob'}")
    try:
        plain = memoryview(zlib.decompress(memoryview(blob)[1:]))
        end = _HEAD + int.from_bytes(plain[:_HEAD], "little")
        named: list[Any] = json.loads(bytes(plain[_HEAD:end]))
        return [_named(*one) for one in named], plain[end:]
    except (zlib.error, *DAMAGE) as error:
        raise CodecError(f"damaged blob: {error}") from error


def _named(version: Any, segment: Any, count: Any) -> tuple[str | None, str | None, int]:
    if not (isinstance(version, str | None) and isinstance(segment, str | None) and int(count) >= 0):
        raise ValueError("a stratum is a version, a segment and the number of its counters")
    return version, segment, int(count)
