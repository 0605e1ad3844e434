"""Times of frames: which rows are the reference, and where the windows of lines over time begin."""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.core.array_types import Ints
from monitor.core.clock import DAY, HOUR, format_duration, from_datetime, parse_duration, to_iso
from monitor.core.errors import ConfigurationError, SourceError
from monitor.notebook.arrow_frames import to_arrow
from monitor.notebook.frame_columns import require_column
from monitor.notebook.model_keys import NO_TIME
from monitor.records.parsed_times import ParsedTimes, parse_times
from monitor.specs.fault_words import quote_names
from monitor.specs.model_spec import ModelSpec
from monitor.windows.window_ends import LONGEST, Window, floor_to_unit, longest_unit_length

MOST_WINDOWS = 2_000  # lines of more points say nothing, and each point costs
_EXAMPLES = 3  # values that a message names
_WANTED = 'reference: must be a data frame, a share above 0 and below 1 as 0.25, or a time as "2024-03-01"'


def merge_time_key(model: Mapping[str, Any], time_column: str | None, every: str | None) -> dict[str, Any]:
    """Keys of a call, its column of times under the name that the configuration has for it.

    Raises
    ------
    ConfigurationError
        if two columns are named, or windows are asked for without one.
    """
    known = model.get("event_time")
    if time_column is not None and known not in (None, time_column):
        raise ConfigurationError(
            [f'time: is the same as event_time: got "{time_column}" and "{known}", give one']
        )
    named = time_column or known
    if every is not None and named is None:
        raise ConfigurationError(["time: required where there is every: name the column of the times"])
    return {**model, **({} if named is None else {"event_time": named})}


def parse_every(every: str, zone: str) -> Window:
    """Window of each point: a duration, or a unit of the calendar.

    Raises
    ------
    ConfigurationError
        if it is neither, or neither whole days nor a part of one.

    >>> parse_every("7d", "UTC").length // DAY, parse_every("month", "UTC").is_calendar
    (7, True)
    """
    if every in LONGEST:
        return Window(every, longest_unit_length(every, zone), 0, zone)
    try:
        length = parse_duration(str(every))
    except ValueError:
        length = 0
    if not length or (length % DAY and DAY % length):
        kinds = f'a duration of whole days, or a part of one, as "7d" or "6h", or {quote_names(LONGEST)}'
        raise ConfigurationError([f'every: must be {kinds}: got "{every}"'])
    return Window(every, length, length, zone)


def window_bounds(window: Window, first: int, last: int, before: int | None = None) -> Ints:
    """Starts of the windows that hold two moments and all between, and the end of the last one.

    The first begins with the day of the first moment, or with its unit of the calendar; of parts of a day
    it is the one that holds that moment.

    Parameters
    ----------
    before
        where other windows begin; if the last moment lies before it, windows end there.
    """
    if window.is_calendar:
        starts = [window.newest_end(last)]
        while starts[-1] > first:
            starts.append(window.start_of(starts[-1]))
        return np.asarray([*reversed(starts), window.newest_end(starts[0] + window.length)], np.int64)
    start, end = floor_to_unit("day", window.zone, first), last + window.length + 2 * HOUR
    if window.length < DAY:
        start += (first - start) // window.length * window.length
    if before is not None and last < before:
        start, end = before - -(-(before - start) // window.length) * window.length, before + 1
    bounds = np.arange(start, end, window.length, dtype=np.int64)
    if window.length >= DAY and window.zone != "UTC":  # days of which one has 23 or 25 hours
        bounds = np.asarray([floor_to_unit("day", window.zone, at + DAY // 2) for at in bounds.tolist()])
    return bounds[: int(np.searchsorted(bounds, last, side="right")) + 1]


def require_windows(window: Window, first: int, last: int) -> Ints:
    """Bounds of the windows of a frame.

    Raises
    ------
    ConfigurationError
        if there are fewer than two windows, or too many.
    """
    if (last - first) // window.length > MOST_WINDOWS:
        many = (last - first) // window.length
        raise ConfigurationError(
            [f'every: "{window.name}" makes {many:,} windows, at most {MOST_WINDOWS:,}: give a longer one']
        )
    bounds = window_bounds(window, first, last)
    if len(bounds) < 3:
        span = format_duration(-(-(last - first + 1) // HOUR) * HOUR)
        one = f'one of "{window.name}" holds all rows, which span {span}'
        raise ConfigurationError([f"every: a line needs two windows, but {one}: give a shorter one"])
    return bounds


def parse_frame_times(
    frame: pa.Table, name: str, *, zone: str, unit: str | None, title: str = "frame"
) -> ParsedTimes:
    """Times of a column of a frame.

    Raises
    ------
    ConfigurationError
        if there is no such column, or it holds numbers of an unknown unit.
    SourceError
        if no value is a time.
    """
    require_column(frame, "time", name, title)
    column = frame[name]
    numbers = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if numbers and unit is None:
        raise ConfigurationError(
            [f'event_time_unit: column "{name}" holds numbers: say of what, as event_time_unit="s"']
        )
    times = _parse_column(column, name, zone, unit)
    if times is None or (times.invalid and not times.known.any()):
        values = pc.unique(column).drop_null().slice(0, _EXAMPLES).to_pylist()
        raise SourceError(
            f'time: column "{name}" of the {title} holds no times: got {quote_names(map(str, values))}'
        )
    return times


def _parse_column(column: pa.ChunkedArray, name: str, zone: str, unit: str | None) -> ParsedTimes | None:
    try:
        return parse_times(column, name=name, zone=zone, unit=unit)
    except pa.ArrowException:  # neither times nor texts nor numbers
        return None


def require_one_clock(frame: Any, name: str | None, title: str) -> None:
    """Refuse a column of Python's own times of which some have a zone: Arrow would take the others as UTC.

    Cost: one pass over such a column; others say in their type whether they have a zone.
    """
    there = frame if isinstance(frame, dict) else getattr(frame, "columns", ())
    column = frame[name] if name in there else ()
    if isinstance(column, list | tuple) or getattr(column, "dtype", None) == np.dtype(object):
        # NaT is a datetime, and not equal to itself.
        moments = (one for one in column if isinstance(one, datetime) and one == one)  # noqa: PLR0124
        if len({moment.tzinfo is None for moment in moments}) > 1:
            raise ConfigurationError(
                [f'time: column "{name}" of the {title} mixes times with a zone and times without one']
            )


def require_same_clock(predictions: pa.Table, reference: pa.Table, name: str) -> None:
    """Refuse times of which one frame's have a zone and the other's have none."""
    there = [frame[name] for frame in (predictions, reference) if name in frame.column_names]
    kinds = [column.type for column in there if column.null_count < len(column)]
    if len(kinds) < 2 or not all(map(pa.types.is_timestamp, kinds)):
        return
    with_zone = [kind.tz is not None for kind in kinds]
    if with_zone[0] != with_zone[1]:
        bare = "reference" if with_zone[0] else "predictions"
        remedy = 'give both one, as .dt.tz_localize("UTC")'
        raise ConfigurationError([f'time: column "{name}" has no zone in the {bare} alone: {remedy}'])


def require_share(reference: Any) -> None:
    """Refuse a number that is no share of rows."""
    given = reference.item() if isinstance(reference, np.generic) else reference
    if isinstance(given, int | float) and (isinstance(given, bool) or not 0 < given < 1):
        raise ConfigurationError([f"{_WANTED}: got {given}"])


def is_reference_rule(reference: Any) -> bool:
    """Whether a reference is a share or a moment up to which rows are the reference, and no frame."""
    return isinstance(reference, int | float | str | date | np.generic)


def split_by_time(spec: ModelSpec, predictions: pa.Table, reference: Any) -> tuple[pa.Table, pa.Table | None]:
    """Predictions and reference, whose times were looked at; see `_split_reference` where both are one frame.

    Parameters
    ----------
    reference
        a frame, a share, a moment, or None.
    """
    require_share(reference)
    name, zone, unit = (
        spec.predictions.column_of("event_time"),
        spec.reading.zone,
        spec.reading.unit_of("event_time"),
    )
    if name in (None, NO_TIME):
        raise ConfigurationError(
            ["time: required where the reference is a part of the frame: name the column of the times"]
        )
    times = parse_frame_times(predictions, name, zone=zone, unit=unit)
    if is_reference_rule(reference):
        return _split_reference(predictions, reference, times, spec.keys.timezone)
    if reference is None:
        return predictions, None
    rows = to_arrow(reference, "reference")
    require_same_clock(predictions, rows, name)
    return predictions, rows


def _split_reference(
    predictions: pa.Table, reference: Any, times: ParsedTimes, zone: str
) -> tuple[pa.Table, pa.Table]:
    """Predictions and reference of one frame: the reference is its first part by time.

    Parameters
    ----------
    reference
        share of the rows, above 0 and below 1, cut where a day begins; or the moment from which on rows are
        no longer of the reference: ISO text, a date, a datetime; without a zone it is of `zone`.

    Raises
    ------
    ConfigurationError
        if it is none of these, or one part is empty.
    SourceError
        if no row has a time.
    """
    if not times.known.any():
        raise SourceError("time: all values are missing")
    known = np.sort(times.us[times.known])
    cut = _reference_end(reference, known, zone)
    before = times.known & (times.us < cut)
    rows = int(before.sum())
    if not 0 < rows < len(known):
        where = f"at {to_iso(cut)} or later" if rows else f"before {to_iso(cut)}"
        span = f"from {to_iso(int(known[0]))} to {to_iso(int(known[-1]))}"
        raise ConfigurationError([f"reference: no row lies {where}: the frame goes {span}"])
    return predictions.filter(pa.array(~before)), predictions.filter(pa.array(before))


def _reference_end(reference: Any, known: Ints, zone: str) -> int:
    given = reference.item() if isinstance(reference, np.generic) else reference
    if isinstance(given, int | float):
        at = int(known[int(given * len(known))])
        day = floor_to_unit("day", zone, at)
        return day if day > known[0] else at
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError as error:
            raise ConfigurationError([f'{_WANTED}: got "{given}"']) from error
    if not isinstance(given, datetime):
        given = datetime.combine(given, time())
    return from_datetime(given if given.tzinfo is not None else given.replace(tzinfo=ZoneInfo(zone)))
