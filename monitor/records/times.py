"""Times: one parser for every engine. Integers, timestamps and ISO-8601 text to UTC microseconds."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.errors import SourceError
from monitor.core.typing import Bools, Ints

_FACTOR = {"s": 1_000_000, "ms": 1_000, "us": 1}
_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
_ZONED = r"(Z|[+-]\d\d(:?\d\d)?)$"


@dataclass(frozen=True, slots=True)
class Times:
    """Parsed times.

    Parameters
    ----------
    us
        int64 microseconds UTC; 0 where `known` is false.
    known
        false where the time was NULL or could not be parsed.
    invalid
        values that are there but are not times.
    adjusted
        bool: naive times that a change of clocks makes ambiguous (the first instant is taken) or
        non-existent (moved forward).
    """

    us: Ints
    known: Bools
    invalid: int
    adjusted: Bools


def parse_times(column: pa.ChunkedArray, *, name: str, zone: str, unit: str | None) -> Times:
    """Parse a column of times.

    Parameters
    ----------
    column
        int64 epochs (`unit` tells of what), timestamps, or strings.
    name
        the user's name of the column, for messages.
    zone
        IANA name, of naive times.

    Raises
    ------
    SourceError
        if the column mixes formats, or holds integers and no unit is configured.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return _epochs(array, name, unit)
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _instants(array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False), zone, 0)
    if pa.types.is_null(array.type):
        return Times(np.zeros(len(array), np.int64), np.zeros(len(array), bool), 0, _none(array))
    if unit is not None:
        numbers = pc.if_else(pc.match_substring_regex(array, r"^-?\d{1,18}$"), array, None).cast(pa.int64())
        times = _epochs(numbers, name, unit)
        return Times(times.us, times.known, int(numbers.null_count - array.null_count), times.adjusted)
    return _text(array, name, zone)


def _epochs(array: pa.Array, name: str, unit: str | None) -> Times:
    if unit is None:
        raise SourceError(f'column "{name}" holds integers: say their unit, as in {name}_unit = "ms"')
    known = np.asarray(array.is_valid())
    numbers = np.asarray(array.cast(pa.int64(), safe=False).fill_null(0))
    limit = np.iinfo(np.int64).max // _FACTOR[unit]
    fits = np.abs(numbers) <= limit
    us = np.where(fits & known, numbers, 0) * _FACTOR[unit]
    return Times(us.astype(np.int64), known & fits, int((known & ~fits).sum()), _none(array))


def _instants(array: pa.Array, zone: str, invalid: int) -> Times:
    known = np.asarray(array.is_valid())
    adjusted = _none(array)
    if array.type.tz is None and zone != "UTC":
        earliest = pc.assume_timezone(array, zone, ambiguous="earliest", nonexistent="latest")
        latest = pc.assume_timezone(array, zone, ambiguous="latest", nonexistent="earliest")
        adjusted = np.asarray(pc.not_equal(earliest, latest).fill_null(value=False))
        array = earliest
    return Times(np.asarray(array.cast(pa.int64()).fill_null(0)), known, invalid, adjusted)


def _none(array: pa.Array) -> Bools:
    return np.zeros(len(array), dtype=bool)


def _text(array: pa.Array, name: str, zone: str) -> Times:
    _refuse_mixed_formats(array, name)
    is_time = pc.match_substring_regex(array, _ISO)
    invalid = len(array) - array.null_count - int(pc.sum(is_time).as_py() or 0)
    parsable = pc.if_else(is_time, array, None)
    zoned = int(pc.sum(pc.match_substring_regex(parsable.slice(0), r"[T ].*" + _ZONED)).as_py() or 0) > 0
    trimmed = pc.replace_substring_regex(parsable, r"(\.\d{6})\d+", r"\1")
    try:
        instants = trimmed.cast(pa.timestamp("us", "UTC" if zoned else None))
    except pa.ArrowInvalid:  # a shape that fits, as in month 13: value by value
        instants, bad = _one_by_one(trimmed, zoned=zoned)
        invalid += bad
    return _instants(instants, zone, invalid)


def _one_by_one(array: pa.Array, *, zoned: bool) -> tuple[pa.Array, int]:
    kind = pa.timestamp("us", "UTC" if zoned else None)
    distinct = array.dictionary_encode()
    parsed: list[object] = []
    for text in distinct.dictionary:
        try:
            parsed.append(pa.scalar(text.as_py()).cast(kind).as_py())
        except pa.ArrowInvalid:
            parsed.append(None)
    instants = pa.array(parsed, type=kind).take(distinct.indices)
    return instants, int(instants.null_count - array.null_count)


def _refuse_mixed_formats(array: pa.Array, name: str) -> None:
    shapes = pc.replace_substring_regex(pc.replace_substring_regex(array, r"\.\d+", ""), r"\d", "0")
    counted = {row["values"]: row["counts"] for row in pc.value_counts(shapes.drop_null()).to_pylist()}
    real = {shape: count for shape, count in counted.items() if count > 1 or _is_time_shape(shape)}
    if len(real) > 1:
        listed = ", ".join(f'"{shape}" {count} times' for shape, count in sorted(real.items()))
        raise SourceError(f'column "{name}" mixes formats of time: {listed}')


def _is_time_shape(shape: str) -> bool:
    return bool(pc.match_substring_regex(pa.array([shape]), _ISO)[0].as_py())
