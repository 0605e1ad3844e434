"""Which files of a table may hold the rows that are wanted, by the bounds of their columns.

Arrow asks each file of a table about each statement, 0.1 ms a file: files are chosen here, all at once.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyarrow import fs as pafs

from monitor.core.clock import DAY, SECOND
from monitor.sources.sql.time_ranges import FACTORS, TimesOfRows, local_ranges, partition_days
from monitor.specs.protocols import Range

_REACHED = 9 * 10**15  # microseconds beyond which nanoseconds do not fit into an integer
_UNITS = {"s": SECOND, "ms": 1_000}  # of timestamps: microseconds that they cannot tell apart


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Between which values a column lies in all rows of a file; `nulls`: or is missing.

    Without ends it is missing in all of them.
    """

    least: pa.Scalar | None
    most: pa.Scalar | None
    nulls: bool

    def condition(self, name: str) -> pc.Expression:
        """What all rows fulfil."""
        column = pads.field(name)
        if self.least is None:
            return column.is_null()
        between = (column >= self.least) & (column <= self.most)
        return between | column.is_null() if self.nulls else between


@dataclass(frozen=True, slots=True)
class BoundedFile:
    """A file, and the bounds of its columns as far as they are known."""

    fragment: pads.Fragment
    bounds: Mapping[str, ColumnBounds]

    @classmethod
    def make_parquet(
        cls,
        parquet: pads.ParquetFileFormat,
        at: tuple[str, pafs.FileSystem, int | None] | pa.Buffer,
        folder: Mapping[str, pa.Scalar],
        bounds: Mapping[str, ColumnBounds],
    ) -> "BoundedFile":
        """A file of Parquet.

        Parameters
        ----------
        at
            its path, where that is, and its size; or what it holds.
        folder
            values of columns, by its folder: they need not stand in it.
        """
        known = [_value_condition(name, value) for name, value in folder.items()]
        known += [one.condition(name) for name, one in bounds.items()]
        # behind the others: a column of a folder may stand in the file, too
        bounds = {**bounds, **{name: _value_bounds(value) for name, value in folder.items()}}
        holds = reduce(and_, known) if known else None
        if isinstance(at, pa.Buffer):
            return cls(parquet.make_fragment(at, partition_expression=holds), bounds)
        path, files, size = at
        return cls(parquet.make_fragment(path, files, partition_expression=holds, file_size=size), bounds)


@dataclass(slots=True)
class BoundedFiles:
    """Files of a table, as it was opened."""

    files: Sequence[BoundedFile]
    schema: pa.Schema
    format: pads.ParquetFileFormat
    place: pafs.FileSystem
    _ends: dict[str, pa.Table] = field(default_factory=dict)

    def choose_files(self, times: TimesOfRows | None) -> list[pads.Fragment]:
        """Those that may hold rows of some times; None: all of them."""
        if times is None:
            return [file.fragment for file in self.files]
        ends = [pads.field(name) for name in ("least", "most", "nulls")]
        wanted = times_condition(self.schema.field(times.column).type, times, *ends)
        chosen = self._find_files(times.column, wanted)
        if times.partition is not None:
            column = times.partition[0]
            chosen &= self._find_files(column, days_condition(self.schema.field(column).type, times, *ends))
        return [self.files[at].fragment for at in sorted(chosen)]

    def _find_files(self, column: str, wanted: pc.Expression | None) -> set[int]:
        """Files whose bounds of a column fulfil a condition, or are not known; None: all of them."""
        if wanted is None:
            return set(range(len(self.files)))
        if column not in self._ends:
            self._ends[column] = self._list_ends(column, self.schema.field(column).type)
        return {*self._ends[column].filter(wanted | pads.field("unknown"))["at"].to_pylist()}

    def dataset(self, times: TimesOfRows | None = None) -> pads.Dataset:
        """Rows of some times, and some more; None: all of them."""
        found = pads.FileSystemDataset(self.choose_files(times), self.schema, self.format, self.place)
        if times is None:
            return found
        column = pads.field(times.column)
        kind = self.schema.field(times.column).type
        wanted = times_condition(kind, times, column, column, column.is_null())
        return found if wanted is None else found.filter(wanted)

    def _list_ends(self, column: str, kind: pa.DataType) -> pa.Table:
        """Bounds of a column, a row a file."""
        found = [file.bounds.get(column) for file in self.files]
        ends = [(None, None) if one is None else _ends_as(one, kind) for one in found]
        return pa.table(
            {
                "at": pa.array(range(len(found)), pa.int64()),
                "least": pa.array([least for least, _ in ends], kind),
                "most": pa.array([most for _, most in ends], kind),
                "nulls": pa.array([one is not None and one.nulls for one in found], pa.bool_()),
                "unknown": pa.array(
                    [
                        one is None or (one.least is not None and least is None)
                        for one, (least, _) in zip(found, ends, strict=True)
                    ],
                    pa.bool_(),
                ),
            }
        )


def _ends_as(bounds: ColumnBounds, kind: pa.DataType) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    """Both ends in the type that the column has in all files; None: they do not fit into it."""
    if bounds.least is None or bounds.most is None or bounds.least.type == kind:
        return bounds.least, bounds.most
    with suppress(pa.ArrowException):
        return bounds.least.cast(kind), bounds.most.cast(kind)
    return None, None


def _value_condition(name: str, value: pa.Scalar) -> pc.Expression:
    return pads.field(name) == value if value.is_valid else pads.field(name).is_null()


def _value_bounds(value: pa.Scalar) -> ColumnBounds:
    return ColumnBounds(value, value, nulls=False) if value.is_valid else ColumnBounds(None, None, nulls=True)


def is_ordered(kind: pa.DataType) -> bool:
    """Whether bounds of a column of this type say which rows it holds: times, days, whole numbers."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind))


def times_condition(
    kind: pa.DataType, times: TimesOfRows, least: pc.Expression, most: pc.Expression, missing: pc.Expression
) -> pc.Expression | None:
    """Condition that what lies between two ends may be of some times; None: the type has no such order.

    Of rows both ends are the column itself; of files, the bounds of it.
    """
    if pa.types.is_integer(kind):
        unit = FACTORS.get(times.unit or "", 0)
    elif pa.types.is_date(kind):
        unit = DAY
    else:
        unit = _UNITS.get(kind.unit, 1) if pa.types.is_timestamp(kind) else 0
    if not unit:
        return None
    ranges: Sequence[Range] = times.ranges
    if not pa.types.is_integer(kind) and not getattr(kind, "tz", None):
        ranges = local_ranges(ranges, times.zone)
    parts = [_within(span, kind, unit, least, most) for span in ranges]
    parts += [missing] if times.undated else []
    return reduce(or_, parts) if parts else pads.scalar(value=False)


def days_condition(
    kind: pa.DataType, times: TimesOfRows, least: pc.Expression, most: pc.Expression, missing: pc.Expression
) -> pc.Expression | None:
    """Condition that what lies between two ends may be the day of some times; None: the type holds none."""
    if not (pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind)):
        return None
    spans = [[_day_scalar(day, kind) for day in partition_days(*span)] for span in times.ranges]
    parts = [(most >= first) & (least <= last) for first, last in spans]
    parts += [missing] if times.undated else []
    return reduce(or_, parts) if parts else pads.scalar(value=False)


def _day_scalar(day: date, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_date(kind):
        return pa.scalar(day, kind)
    return pa.scalar(day.isoformat() if pa.types.is_string(kind) else int(f"{day:%Y%m%d}"), kind)


def _within(
    span: Range, kind: pa.DataType, unit: int, least: pc.Expression, most: pc.Expression
) -> pc.Expression:
    """Whether ends lie around a moment of a range; a bound that the type does not reach is left out.

    What holds whole units lies before a moment if it lies before the first unit that does not.
    """
    conditions = [least.is_valid()]
    edges = [_edge_scalar(edge, kind, unit) for edge in span]
    if edges[0] is not None:
        conditions.append(most >= edges[0])
    if edges[1] is not None:
        conditions.append(least < edges[1])
    return reduce(and_, conditions)


def _edge_scalar(edge: int, kind: pa.DataType, unit: int) -> pa.Scalar | None:
    units = -(-edge // unit)
    if abs(edge) < _REACHED:
        with suppress(pa.ArrowInvalid, OverflowError):
            whole = pa.types.is_integer(kind)
            least = pa.scalar(units, pa.int64()) if whole else pa.scalar(units * unit, pa.timestamp("us"))
            return least.cast(kind, safe=False)
    return None
