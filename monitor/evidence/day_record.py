"""Days: what was counted, learned and judged of each, as compact bytes. All that is remembered."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from monitor.core.array_types import Floats, Singles
from monitor.core.errors import CodecError
from monitor.evidence.watch import Watch
from monitor.measures.catalogue.daily_measures import REMEMBERED_DAYS

NO_CHANGE = 0  # of days that are counted from 1970: no change stands
Days32: TypeAlias = NDArray[np.int32]
_FORMAT, _WITHOUT_DEVIATION = 2, 1  # a row of format 1 has no deviations


@dataclass(frozen=True, slots=True, eq=False)
class DayValues:
    """What was counted of one day: numbers that are rounded to single precision, as they are kept."""

    day: int  # days since 1970-01-01 of the day's date in the model's time zone
    values: Singles  # shape (series,); NaN: it has none
    samples: Singles  # shape (samples,): effective sample sizes; the sampling variance of a value is 1/n
    # hits, trials: shape (faults,): k records of n.
    hits: Days32
    trials: Days32


@dataclass(frozen=True, slots=True, eq=False)
class DayRecord:
    """One day, judged. All judgements of later days follow from the rows of 56 days."""

    # day, values, samples, hits, trials: as in `DayValues`.
    day: int
    values: Singles
    samples: Singles
    hits: Days32
    trials: Days32
    # shape (series,): values within 4 standard deviations of what was expected; NaN: not learned from.
    learned: Singles
    away: Singles  # shape (series,): value less what was expected; NaN: not judged
    surprise: Singles  # shape (series,): standard normal if nothing changed; NaN: not judged
    # shape (series,): standard deviation that was expected; NaN: not judged, or a row of format 1.
    deviation: Singles
    since: Days32  # shape (subjects,): first day of the change that stands; 0: none does
    # shape (subjects,): by which series it was found; series + fault: by which fault; -1: none stands.
    found_by: Days32
    size: Singles  # shape (subjects,): how far that series was away, or which share the fault had
    evidence: Singles  # shape (subjects,): with which evidence it was found, as a multiple of what is needed
    evidence_from: Days32  # shape (subjects,): evidence is gathered from the days after this one
    learned_from: Days32  # shape (subjects,): the first day that is learned from

    @property
    def level(self) -> Floats:
        """What was expected of each series: shape (series,); NaN: not judged."""
        return self.values.astype(np.float64) - self.away

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DayRecord) and pack_day(self) == pack_day(other)

    def __hash__(self) -> int:
        return hash(pack_day(self))


DayHistory: TypeAlias = Sequence[DayRecord]
"""Rows of one watch, oldest first: at most one a day. Days may lack."""


def select_days_before(history: DayHistory, day: int) -> list[DayRecord]:
    """Rows of the 56 days before a day."""
    return [row for row in history if day - REMEMBERED_DAYS <= row.day < day]


def pack_day(row: DayRecord) -> bytes:
    """Bytes of a row: the format, the day, and the arrays, compressed. What was learned as it was is 0."""
    arrays = []
    for name in _ARRAYS:
        array = getattr(row, name)
        bits = array.view(np.int32)
        arrays.append(bits ^ row.values.view(np.int32) if name == "learned" else bits)
    head = np.asarray([_FORMAT, row.day], dtype="<i4").tobytes()
    # Byte by byte: bytes of one place lie together and are much alike, so that they pack smaller.
    numbers = np.concatenate(arrays).astype("<i4")
    body = numbers.view(np.uint8).reshape(-1, 4).T.tobytes()
    return head + zlib.compress(body, 1)


def unpack_day(blob: bytes, watch: Watch) -> DayRecord:
    """Row of its bytes. Exact.

    Raises
    ------
    CodecError
        if the bytes are damaged, of another format, or of another watch.
    """
    series, faults, subjects = len(watch.series), len(watch.faults), len(watch.subjects)
    try:
        form, day = np.frombuffer(blob[:8], dtype="<i4").tolist()
        names = [name for name in _ARRAYS if form != _WITHOUT_DEVIATION or name != "deviation"]
        lengths = [_array_length(name, series, watch.sample_count, faults, subjects) for name in names]
        body = np.frombuffer(zlib.decompress(blob[8:]), dtype=np.uint8)
        bits = np.ascontiguousarray(body.reshape(4, -1).T).view("<i4").ravel().astype(np.int32)
    except (zlib.error, ValueError) as error:
        raise CodecError(f"damaged row of a day: {error}") from error
    if form not in (_FORMAT, _WITHOUT_DEVIATION) or len(bits) != sum(lengths):
        raise CodecError(
            f"a row of format {_FORMAT} with {sum(lengths)} numbers expected: got {form} and {len(bits)}"
        )
    parts = dict(zip(names, np.split(bits, np.cumsum(lengths)[:-1]), strict=True))
    parts.setdefault("deviation", np.full(series, np.nan, np.float32).view(np.int32))
    parts["learned"] = parts["learned"] ^ parts["values"]
    arrays: dict[str, Any] = {
        name: part.view(np.float32) if name in _SINGLES else part for name, part in parts.items()
    }
    return DayRecord(day, **arrays)


_ARRAYS = tuple(field.name for field in fields(DayRecord) if field.name != "day")
_SINGLES = {"values", "samples", "learned", "away", "surprise", "deviation", "size", "evidence"}


def _array_length(name: str, series: int, samples: int, faults: int, subjects: int) -> int:
    match name:
        case "values" | "learned" | "away" | "surprise" | "deviation":
            return series
        case "samples":
            return samples
        case "hits" | "trials":
            return faults
        case _:
            return subjects
