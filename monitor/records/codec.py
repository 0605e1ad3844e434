"""What is stored, or shipped: counters as compact bytes, how a model is counted as JSON. No pickle.

Format 1 of counters: the byte 1, then zlib of: the length of the names (4 bytes, little-endian), the names
(JSON: [[version, segment, number of counters], …]), then integers: the steps from each position to the next
through all strata, and the counts in the same order. About 3 bytes a counter.

An integer has seven bits a byte, least significant first, the eighth bit set where more follow. It is
zigzagged first (0, -1, 1, -2, … become 0, 1, 2, 3, …), so that small ones stay short.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Ints
from monitor.core.errors import DAMAGE, CodecError
from monitor.records.counting import Counting
from monitor.records.labels.label_differences import LabelDifferences
from monitor.records.pane import PanePart
from monitor.records.reading import ChallengerOutput, ComparedArms, ModelTask, ReadingOptions, ServingRule
from monitor.states import grids
from monitor.states.counters import CounterLayout, Counters
from monitor.states.grids import Grid, NumericGrid
from monitor.states.strata import Strata, Stratum

VERSION = 1
COUNTING_FORMAT = 1
_DEFLATE = 1, zlib.DEFLATED, zlib.MAX_WBITS, 5, zlib.Z_RLE  # runs alone: quicker, and fewer bytes here
_HEAD = 4
_AT_ONCE = 16  # parts: their integers stay in the processor's cache
_TOGETHER = 16_000  # bytes of blobs, for the same reason
_MORE = 0x80  # of a byte: the integer goes on
_LONGEST = 10  # bytes of a 64-bit integer
_SHIFTS = np.arange(_LONGEST, dtype=np.uint64) * np.uint64(7)
_BITS = np.uint64(127)


def encode_parts(parts: Sequence[PanePart]) -> list[bytes]:
    """Blobs of the counters of pane parts; the integers of some are packed at once."""
    return [
        blob
        for first in range(0, len(parts), _AT_ONCE)
        for blob in _encode_batch(parts[first : first + _AT_ONCE])
    ]


def _encode_batch(parts: Sequence[PanePart]) -> list[bytes]:
    none = np.empty(0, dtype=np.int64)
    held = [counters for part in parts for counters in part.strata.values()]
    index = np.concatenate([none, *(counters.index for counters in held)])
    value = np.concatenate([none, *(counters.value for counters in held)])
    lengths = [sum(len(counters.index) for counters in part.strata.values()) for part in parts]
    steps = np.diff(index, prepend=0)
    first = np.cumsum([0, *lengths])[:-1][np.asarray(lengths, dtype=np.int64) > 0]
    # Steps begin anew with each part: a blob must be readable without those before it.
    steps[first] = index[first]
    packed = zip(parts, pack_many(steps, lengths), pack_many(value, lengths), strict=True)
    return [_strata_blob(part.strata, steps_of_part + values) for part, steps_of_part, values in packed]


def _strata_blob(strata: Strata, body: bytes) -> bytes:
    named = [[*stratum, len(counters.index)] for stratum, counters in strata.items()]
    names = json.dumps(named, separators=(",", ":")).encode()
    deflate = zlib.compressobj(*_DEFLATE)
    packed = deflate.compress(len(names).to_bytes(_HEAD, "little") + names + body)
    return bytes([VERSION]) + packed + deflate.flush()


def decode_strata(blob: bytes, layout: CounterLayout) -> Strata:
    """Counters by stratum. Exact: equal to what was encoded.

    Parameters
    ----------
    blob
        made by `encode_parts`.
    layout
        on which the counters were counted.

    Raises
    ------
    CodecError
        if the version is not known, the bytes are damaged, or a position lies outside the layout.
    """
    return _decode_blobs([blob], layout)[0]


def decode_many(blobs: Sequence[bytes], layout: CounterLayout) -> list[Strata]:
    """What `decode_strata` makes of each of them; the integers of small ones are unpacked together."""
    size = sum(map(len, blobs)) // max(len(blobs), 1)
    # As many as fit into the processor's cache together.
    each = max(_TOGETHER // max(size, 1), 1)
    return [
        strata
        for first in range(0, len(blobs), each)
        for strata in _decode_blobs(blobs[first : first + each], layout)
    ]


def _decode_blobs(blobs: Sequence[bytes], layout: CounterLayout) -> list[Strata]:
    opened = [_unpack_blob(blob) for blob in blobs]
    named = [_checked_entries(entries) for entries, _ in opened]
    counts = [2 * sum(count for *_, count in each) for each in named]
    integers = unpack_many([packed for _, packed in opened], counts)
    return [_unpack_strata(each, of, layout) for each, of in zip(named, integers, strict=True)]


def _unpack_strata(
    named: Sequence[tuple[str | None, str | None, int]], integers: Ints, layout: CounterLayout
) -> Strata:
    total = len(integers) // 2
    index = np.cumsum(integers[:total])
    # A view would keep the steps in memory too.
    value = integers[total:].copy()
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
    return encode_parts([PanePart(start=0, strata=strata)])[0]


def encode_differences(differences: LabelDifferences) -> bytes:
    """Blob of what labels have added to panes; the head is JSON, then integers as in format 1."""
    panes, counters = len(differences.start), len(differences.key)
    head = [differences.size, differences.names, panes, counters]
    text = json.dumps(head, separators=(",", ":")).encode()
    steps = np.diff(differences.key, prepend=0)
    integers = np.concatenate([differences.panes.ravel(), steps, differences.value])
    (body,) = pack_many(integers, [len(integers)])
    return bytes([VERSION]) + zlib.compress(len(text).to_bytes(_HEAD, "little") + text + body, 1)


def decode_differences(blob: bytes, as_of: int) -> LabelDifferences:
    """Return what `encode_differences` made a blob of, equal.

    Raises
    ------
    CodecError
        if the bytes are damaged.
    """
    (size, names, panes, counters), packed = _unpack_blob(blob)
    (integers,) = unpack_many([packed], [4 * panes + 2 * counters])
    facts, steps, value = np.split(integers, [4 * panes, 4 * panes + counters])
    strata = tuple(Stratum(*name) for name in names)
    return LabelDifferences(as_of, size, strata, facts.reshape(4, panes), np.cumsum(steps), value)


def _unpack_blob(blob: bytes) -> tuple[list[Any], memoryview]:
    if not blob or blob[0] != VERSION:
        raise CodecError(f"format {VERSION} expected: got {blob[0] if blob else 'an empty blob'}")
    try:
        plain = memoryview(zlib.decompress(memoryview(blob)[1:]))
        end = _HEAD + int.from_bytes(plain[:_HEAD], "little")
        head: list[Any] = json.loads(bytes(plain[_HEAD:end]))
    except (zlib.error, *DAMAGE) as error:
        raise CodecError(f"damaged blob: {error}") from error
    else:
        return head, plain[end:]


def _checked_entries(entries: list[Any]) -> list[tuple[str | None, str | None, int]]:
    try:
        return [_checked_entry(*entry) for entry in entries]
    except DAMAGE as error:
        raise CodecError(f"damaged blob: {error}") from error


def _checked_entry(version: Any, segment: Any, count: Any) -> tuple[str | None, str | None, int]:
    if not (isinstance(version, str | None) and isinstance(segment, str | None) and int(count) >= 0):
        raise ValueError("a stratum is a version, a segment and the number of its counters")
    return version, segment, int(count)


def pack_many(values: Ints, lengths: Sequence[int]) -> list[bytes]:
    """Bytes of consecutive runs of any int64, each of its own length; cheaper than one by one."""
    packed, ends = _pack_integers(values)
    stops = np.concatenate([[0], ends])[np.cumsum([0, *lengths])].tolist()
    whole = packed.tobytes()
    return [whole[start:stop] for start, stop in pairwise(stops)]


def _pack_integers(values: Ints) -> tuple[NDArray[np.uint8], Ints]:
    """Bytes of the values, and where each ends."""
    # Zigzag: 0, -1, 1, -2, … become 0, 1, 2, 3, …, so that small numbers of either sign take one byte; then
    # seven bits a byte, the highest bit says that more follow.
    whole = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(len(values), dtype=np.int64)
    at, rest, rounds = np.arange(len(values)), whole, []
    # Each round looks only at the integers that go on: nearly all end with their first byte.
    while len(more := np.flatnonzero(rest >= _MORE)):
        at, rest = at[more], rest[more] >> np.uint64(7)
        lengths[at] += 1
        rounds.append((at, rest))  # of values that have a second byte, a third one, …
    ends = np.cumsum(lengths)
    starts = ends - lengths
    packed = np.empty(lengths.sum(), dtype=np.uint8)
    packed[starts] = whole.astype(np.uint8) | np.uint8(_MORE)
    for place, (at, rest) in enumerate(rounds, 1):
        packed[starts[at] + place] = rest.astype(np.uint8) | np.uint8(_MORE)
    packed[ends - 1] &= _MORE - 1
    return packed, ends


def unpack_many(packed: Sequence[bytes | memoryview], counts: Sequence[int]) -> list[Ints]:
    """The integers, so many of each, that `pack_many` made these bytes of.

    Raises
    ------
    CodecError
        if some bytes hold another number of integers, or one of more than 64 bits.
    """
    whole = np.frombuffer(b"".join(packed), dtype=np.uint8)
    further = np.flatnonzero(whole >= _MORE)  # bytes that are not the last of an integer: few
    bounds = np.array([0, *accumulate(map(len, packed))])
    # An integer ends with each byte that is not a further one: so many ended before each bound.
    before = (bounds - further.searchsorted(bounds)).tolist()
    for each, count, (first, last) in zip(packed, counts, pairwise(before), strict=True):
        if last - first != count or (len(each) and each[-1] >= _MORE):
            raise CodecError(f"{count} integers expected: got {last - first} in {len(each)} bytes")
    zigzag = _join_bytes(whole, further)
    integers = (zigzag >> np.uint64(1)).view(np.int64)
    integers ^= -(zigzag & np.uint64(1)).view(np.int64)
    return [integers[first:last] for first, last in pairwise(before)]


def _join_bytes(packed: NDArray[np.uint8], further: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Integers of their bytes, seven bits each, the lowest first."""
    joined: NDArray[np.uint64] = packed[packed < _MORE].astype(np.uint64)  # the last byte of each
    if not len(further):
        return joined
    of = further - np.arange(len(further))  # the integer that each of the other bytes belongs to
    several, first, lengths = np.unique(of, return_index=True, return_counts=True)
    if lengths.max() >= _LONGEST:
        raise CodecError(f"an integer has at most {_LONGEST} bytes: got {lengths.max() + 1}")
    joined[several] <<= _SHIFTS[lengths]
    for place in range(lengths.max()):
        longer = lengths > place
        joined[several[longer]] |= (packed[further[first[longer] + place]] & _BITS) << _SHIFTS[place]
    return joined


def counting_text(counting: Counting) -> str:
    """JSON of grids and reading options; `parse_counting` reads it back, equal."""
    bounds = [float(bound) if np.isfinite(bound) else None for bound in counting.reading.score_range]
    plain = {
        "format": COUNTING_FORMAT,
        "reading": asdict(counting.reading) | {"score_range": bounds},
        "features": [[name, grids.to_json(grid)] for name, grid in counting.features],
        "score": None if counting.score is None else grids.to_json(counting.score),
        "prediction": grids.to_json(counting.prediction),
        "label": None if counting.label is None else grids.to_json(counting.label),
        "scale": float(counting.scale),
        "segments": counting.segments,
    }
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def parse_counting(text: str) -> Counting:
    """Grids and reading options of their JSON.

    Raises
    ------
    CodecError
        if the format is not known or a part is missing.
    """
    try:
        plain = json.loads(text)
        if plain["format"] != COUNTING_FORMAT:
            raise CodecError(f"reference: format {COUNTING_FORMAT} expected: got {plain['format']}")
        return Counting(
            reading=_parse_reading(plain["reading"]),
            features=tuple((name, grids.from_json(grid)) for name, grid in plain["features"]),
            score=_parse_score_grid(plain["score"]),
            prediction=grids.from_json(plain["prediction"]),
            label=None if plain["label"] is None else grids.from_json(plain["label"]),
            scale=plain["scale"],
            segments=_as_tuples(plain.get("segments", [])),
        )
    except DAMAGE as error:
        raise CodecError(f"reference: damaged: {type(error).__name__}") from error


def _parse_score_grid(plain: dict[str, object] | None) -> NumericGrid | None:
    grid: Grid | None = None if plain is None else grids.from_json(plain)
    if grid is not None and not isinstance(grid, NumericGrid):
        raise CodecError("reference: a score's grid is numeric: got a category grid")
    return grid


def _parse_reading(plain: dict[str, Any]) -> ReadingOptions:
    lower, upper = plain["score_range"]
    serving = plain.get("serving")
    options = {name: _as_tuples(value) for name, value in plain.items()}
    special = {
        "task": ModelTask(plain["task"]),
        "score_range": (-np.inf if lower is None else lower, np.inf if upper is None else upper),
        "arms": None if plain["arms"] is None else ComparedArms(**plain["arms"]),
        "serving": None
        if serving is None
        else ServingRule(column=serving["column"], values=tuple(serving["values"])),
        "challenger": None if plain.get("challenger") is None else ChallengerOutput(**plain["challenger"]),
    }
    return ReadingOptions(**(options | special))


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(part) for part in value) if isinstance(value, list) else value
