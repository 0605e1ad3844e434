"""Times: one parser for every engine. Integers, timestamps and ISO-8601 text to UTC microseconds."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.errors import SourceError
from monitor.core.typing import Bools, Ints

_FACTOR = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LONG = r"(0[13578]|1[02])-(0[1-9]|[12]\d|3[01])"
_SHORT = r"(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8])"
_LEAP = r"(\d\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
_ZONE = r"(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)"
_TIME = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"
_ISO = rf"^(\d{{4}}-({_LONG}|{_SHORT})|{_LEAP})([T ]{_TIME}{_ZONE}?)?$"
_SHAPE = r"^0000-00-00([T ]00:00(:00)?(Z|±00(:?00)?)?)?$"  # of an ISO time: digits as 0, no fraction
_PLAIN = r"0000-00-00[T ]00:00:00(Z|\+00:00)?"
_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
_LISTED = 4  # shapes that a message names


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
    formats
        of texts: how many have each format, as with `refuse_mixed_formats`.
    """

    us: Ints
    known: Bools
    invalid: int
    adjusted: Bools
    formats: Counter[str] = field(default_factory=Counter)


def parse_times(column: pa.ChunkedArray, *, name: str, zone: str, unit: str | None) -> Times:
    """Parse a column of times.

    Parameters
    ----------
    column
        numbers since 1970-01-01 UTC (`unit` tells of what), timestamps, dates, or ISO-8601 text.
    name
        the user's name of the column, for messages.
    zone
        IANA name, of naive times.

    Raises
    ------
    SourceError
        if the column mixes formats (other than by a fraction of seconds or the sign of a zone's offset),
        or holds integers and no unit is configured.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(array.type):
        return Times(np.zeros(len(array), np.int64), _none(array), 0, _none(array))
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return _epochs(array, name, unit)
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _instants(array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False), zone, 0)
    if unit is not None:
        numbers = pc.if_else(pc.match_substring_regex(array, r"^-?\d{1,18}$"), array, None).cast(pa.int64())
        times = _epochs(numbers, name, unit)
        unreadable = int(numbers.null_count - array.null_count)
        return Times(times.us, times.known, times.invalid + unreadable, times.adjusted)
    return _text(array, name, zone)


def _epochs(array: pa.Array, name: str, unit: str | None) -> Times:
    if unit is None:
        raise SourceError(f'column "{name}" holds numbers: configure their unit, "s", "ms" or "us"')
    there, factor = np.asarray(array.is_valid()), _FACTOR[unit]
    limit = np.iinfo(np.int64).max // factor
    if pa.types.is_floating(array.type):
        numbers = np.asarray(array.cast(pa.float64()).fill_null(0.0))
        fits = np.abs(numbers) < limit
        us = np.rint(np.where(fits, numbers, 0.0) * factor).astype(np.int64)
    else:
        numbers = np.asarray(array.cast(pa.int64(), safe=False).fill_null(0))
        fits = (numbers >= -limit) & (numbers <= limit)
        us = (numbers if fits.all() else np.where(fits, numbers, 0)) * factor
    return Times(us, there & fits, int((there & ~fits).sum()), _none(array))


def _instants(array: pa.Array, zone: str, invalid: int) -> Times:
    known = np.asarray(array.is_valid())
    adjusted = _none(array)
    if array.type.tz is None and zone != "UTC":
        earliest = pc.assume_timezone(array, zone, ambiguous="earliest", nonexistent="latest")
        latest = pc.assume_timezone(array, zone, ambiguous="latest", nonexistent="earliest")
        adjusted = np.asarray(pc.not_equal(earliest, latest).fill_null(fill_value=False))
        array = earliest
    return Times(np.asarray(array.cast(pa.int64()).fill_null(0)), known, invalid, adjusted)


def _none(array: pa.Array) -> Bools:
    return np.zeros(len(array), dtype=bool)


def _text(array: pa.Array, name: str, zone: str) -> Times:
    shape = _shared_shape(array)
    if shape is not None and re.fullmatch(_PLAIN, shape):
        try:
            times = _instants(array.cast(pa.timestamp("us", "UTC" if shape[19:] else None)), zone, 0)
            return replace(times, formats=Counter({_unsigned(shape): len(array) - array.null_count}))
        except pa.ArrowInvalid:
            pass  # a month 13: value by value, below
    formats = _formats(array)
    refuse_mixed_formats(formats, name)
    times = pc.if_else(pc.match_substring_regex(array, _ISO), array, None)
    zoned = bool(pc.any(pc.match_substring_regex(times, rf":\d\d(\.\d+)?{_ZONE}$")).as_py())
    trimmed = pc.replace_substring_regex(times, r"(\.\d{6})\d+", r"\1")
    instants = trimmed.cast(pa.timestamp("us", "UTC" if zoned else None))
    found = _instants(instants, zone, int(times.null_count - array.null_count))
    return replace(found, formats=formats)


def _shared_shape(array: pa.Array) -> str | None:
    """Shape of texts that all have the same one, digits as 0: ten times faster than patterns."""
    array = array.drop_null()
    if len(array) == 0:
        return None
    _, offsets, data = array.cast(pa.string()).buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(ends)
    if data is None or lengths[0] == 0 or (lengths != lengths[0]).any():
        return None
    shapes, length = data[int(ends[0]) : int(ends[-1])].to_pybytes().translate(_AS_ZERO), int(lengths[0])
    return shapes[:length].decode("utf-8", "replace") if shapes == shapes[:length] * len(array) else None


def refuse_mixed_formats(formats: Counter[str], name: str) -> None:
    """Refuse two formats: shapes of ISO times, other shapes with digits that are there more than once.

    A column that is parsed part by part is judged by the sum of its parts' formats.

    Raises
    ------
    SourceError
        naming the column and its formats.
    """
    listed = sorted((-count, shape) for shape, count in formats.items() if _is_format(shape, count))
    if len(listed) > 1:
        named = ", ".join(f'"{shape}" {-count} times' for count, shape in listed[:_LISTED])
        more = f", and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
        raise SourceError(f'column "{name}" mixes formats of time: {named}{more}')


def _formats(array: pa.Array) -> Counter[str]:
    """Shapes of the texts, those without digits left out."""
    counted = pc.value_counts(_shapes(array).drop_null()).to_pylist()
    return Counter({row["values"]: row["counts"] for row in counted if "0" in row["values"]})


def _unsigned(shape: str) -> str:
    return shape.replace("+", "±")


def _shapes(array: pa.Array) -> pa.Array:
    """Texts with their digits as 0, without fractions of seconds and signs of offsets."""
    whole = pc.replace_substring_regex(array, r"(:\d\d)\.\d+", r"\1")
    unsigned = pc.replace_substring_regex(whole, r"(:\d\d)[+-](\d\d(:?\d\d)?)$", r"\1±\2")
    return pc.replace_substring_regex(unsigned, r"\d", "0")


def _is_format(shape: str, count: int) -> bool:
    return bool(re.match(_SHAPE, shape)) or count > 1
