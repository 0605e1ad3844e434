"""Times: one parser for every engine. Integers, timestamps and ISO-8601 text to UTC microseconds."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Bools, Ints
from monitor.core.errors import SourceError

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
_ENOUGH, _MAIN = 100, 0.9  # texts from which on a column must have a main format, and how many have it
_OTHER = "?"  # before a text that is no time, since its column's times are written otherwise


@dataclass(frozen=True, slots=True)
class ParsedTimes:
    """Parsed times."""

    us: Ints  # int64 microseconds UTC; 0 where `known` is false
    known: Bools  # false where the time was NULL or could not be parsed
    invalid: int  # values that are there but are not times
    # bool: naive times that a change of clocks makes ambiguous (the first instant is taken) or non-existent
    # (moved forward).
    adjusted: Bools
    # of texts: how many have each format, see `main_format`.
    formats: Counter[str] = field(default_factory=Counter)


def parse_times(column: pa.ChunkedArray, *, name: str, zone: str, unit: str | None) -> ParsedTimes:
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
        if 100 texts and more have no main format, or if the column holds integers and no unit is configured.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(array.type):
        return ParsedTimes(np.zeros(len(array), np.int64), _all_false(array), 0, _all_false(array))
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return _parse_epochs(array, name, unit)
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _parse_instants(
            array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False), zone, 0
        )
    if unit is not None:
        numbers = pc.if_else(pc.match_substring_regex(array, r"^-?\d{1,18}$"), array, None).cast(pa.int64())
        times = _parse_epochs(numbers, name, unit)
        unreadable = int(numbers.null_count - array.null_count)
        return ParsedTimes(times.us, times.known, times.invalid + unreadable, times.adjusted)
    return _parse_text_times(array, name, zone)


def _parse_epochs(array: pa.Array, name: str, unit: str | None) -> ParsedTimes:
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
    return ParsedTimes(us, there & fits, int((there & ~fits).sum()), _all_false(array))


def _parse_instants(array: pa.Array, zone: str, invalid: int) -> ParsedTimes:
    known = np.asarray(array.is_valid())
    adjusted = _all_false(array)
    if array.type.tz is None and zone != "UTC":
        # Where both readings agree there is one instant. An hour that clocks show twice is taken as its
        # first, one that they skip is moved forward; both are told as adjusted.
        earliest = pc.assume_timezone(array, zone, ambiguous="earliest", nonexistent="latest")
        latest = pc.assume_timezone(array, zone, ambiguous="latest", nonexistent="earliest")
        adjusted = np.asarray(pc.not_equal(earliest, latest).fill_null(fill_value=False))
        array = earliest
    return ParsedTimes(np.asarray(array.cast(pa.int64()).fill_null(0)), known, invalid, adjusted)


def _all_false(array: pa.Array) -> Bools:
    return np.zeros(len(array), dtype=bool)


def _parse_text_times(array: pa.Array, name: str, zone: str) -> ParsedTimes:
    # Nearly all columns are written in one way: Arrow parses these at once, without a pattern.
    shape = _shared_shape(array)
    if shape is not None and re.fullmatch(_PLAIN, shape):
        try:
            times = _parse_instants(array.cast(pa.timestamp("us", "UTC" if shape[19:] else None)), zone, 0)
            return replace(times, formats=Counter({shape.replace("+", "±"): len(array) - array.null_count}))
        except pa.ArrowInvalid:
            pass  # a month 13: value by value, below
    formats = count_formats(array)
    require_main_format(formats, name)
    of_format = array if len(formats) < 2 else mark_other_texts(array, _most_frequent(formats))
    times = pc.if_else(pc.match_substring_regex(of_format, _ISO), of_format, None)
    zoned = bool(pc.any(pc.match_substring_regex(times, rf":\d\d(\.\d+)?{_ZONE}$")).as_py())
    # Arrow refuses more than six places: what lies below a microsecond is cut off.
    trimmed = pc.replace_substring_regex(times, r"(\.\d{6})\d+", r"\1")
    instants = trimmed.cast(pa.timestamp("us", "UTC" if zoned else None))
    parsed = _parse_instants(instants, zone, int(times.null_count - array.null_count))
    return replace(parsed, formats=formats)


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


def main_format(formats: Counter[str]) -> str | None:
    """Format that the times of a column of texts have: what is written otherwise is no time.

    It is the format of more than half of the texts, and of nine tenths of 100 and more. Formats differ by
    more than a fraction of seconds or the sign of a zone's offset.

    Parameters
    ----------
    formats
        of a column, or of parts of it added up.
    """
    main = _most_frequent(formats)
    texts = formats.total()
    share = _MAIN if texts >= _ENOUGH else 0.5
    return main if main is not None and formats[main] > share * texts else None


def require_main_format(formats: Counter[str], name: str) -> None:
    """Refuse 100 texts and more that have no main format; fewer may be an odd part of a column that has one.

    Parameters
    ----------
    formats
        of a column, or of parts of it added up.
    name
        the user's name of the column.

    Raises
    ------
    SourceError
        naming the column and its formats.
    """
    if formats.total() < _ENOUGH or main_format(formats) is not None:
        return
    listed = sorted((-count, shape) for shape, count in formats.items())
    full_name = ", ".join(f'"{shape}" {-count} times' for count, shape in listed[:_LISTED])
    more = f", and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    raise SourceError(f'column "{name}" mixes formats of time: {full_name}{more}')


def filter_main_format(texts: list[str]) -> list[str]:
    """Texts that have the format that most of them have."""
    array = pa.array(texts, pa.string())
    if _shared_format(array) is not None:
        return texts
    main, shapes = _most_frequent(count_formats(array)), _text_shapes(array).to_pylist()
    return [text for text, shape in zip(texts, shapes, strict=True) if main in (None, shape)]


def _most_frequent(formats: Counter[str]) -> str | None:
    """Of equally frequent formats that of an ISO time, then the first by name."""
    ordered = sorted(formats, key=lambda shape: (-formats[shape], not re.match(_SHAPE, shape), shape))
    return ordered[0] if ordered else None


def mark_other_texts(array: pa.Array, form: str | None) -> pa.Array:
    """Texts of a format; others bear a mark, by which they are no times."""
    if form is None or _shared_format(array) == form or array.null_count == len(array):
        return array
    there = pc.or_kleene(pc.equal(_text_shapes(array), form), pc.starts_with(array, _OTHER))
    return pc.if_else(there, array, pc.binary_join_element_wise(_OTHER, array, ""))


def count_formats(array: pa.Array) -> Counter[str]:
    """Formats of texts and how many have each; those without digits, and those that are marked, have none."""
    if (shared := _shared_format(array)) is not None:
        counts = {shared: len(array) - array.null_count} if "0" in shared else {}
    else:
        counted = pc.value_counts(_text_shapes(array).drop_null()).to_pylist()
        counts = {row["values"]: row["counts"] for row in counted if "0" in row["values"]}
    return Counter({shape: count for shape, count in counts.items() if not shape.startswith(_OTHER)})


def _shared_format(array: pa.Array) -> str | None:
    """Format of texts that all have the same shape, to the digits of a fraction."""
    shape = _shared_shape(array)
    return None if shape is None else _format_of(shape)


@lru_cache(maxsize=256)
def _format_of(shape: str) -> str:
    form: str = _text_shapes(pa.array([shape]))[0].as_py()
    return form


def _text_shapes(array: pa.Array) -> pa.Array:
    """Texts with their digits as 0, without fractions of seconds and signs of offsets."""
    whole = pc.replace_substring_regex(array, r"(:\d\d)\.\d+", r"\1")
    unsigned = pc.replace_substring_regex(whole, r"(:\d\d)[+-](\d\d(:?\d\d)?)$", r"\1±\2")
    return pc.replace_substring_regex(unsigned, r"\d", "0")
