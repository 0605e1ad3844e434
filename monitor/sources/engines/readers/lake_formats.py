"""Formats of a table of files: which files it has now, and what their statistics say of their columns.

A file is looked at once: what its footer says of times and whole numbers is kept as a condition that all of
its rows fulfil. By it Arrow leaves out the files in which no row can match, without a byte read of them.
"""

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, ge, le, or_
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyarrow import fs as pafs
from pyarrow import parquet as pq

from monitor.core.clock import DAY
from monitor.core.errors import SourceError
from monitor.core.version import install_command
from monitor.sources.sql.time_ranges import FACTORS, TimesOfRows

DELTA_LOG = "_delta_log"
_HIDDEN = ("_", ".")  # first signs of the names of what is no file of a table
_REACHED = 9 * 10**15  # microseconds beyond which nanoseconds do not fit into an integer
_FOOTERS = 8  # that are read at once: each waits for a store far away


class LakeTable(Protocol):
    """A table of files."""

    def open_dataset(self) -> pads.Dataset:
        """The files that it has now.

        Raises
        ------
        SourceError
            if it cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file whose footer was read."""

    size: int
    changed: int | None  # ns since 1970
    fragment: pads.Fragment
    schema: pa.Schema


@dataclass(slots=True)
class ParquetFolder:
    """Parquet files of a folder, or one file; folders named column=value are columns, too."""

    files: pafs.FileSystem
    path: str
    is_file: bool
    _known: dict[str, KnownFile] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_dataset(self) -> pads.Dataset:
        """All files that are there now."""
        with self._lock:
            listed = {info.path: info for info in self._list_files()}
            for path in [
                path for path, known in self._known.items() if not _is_same(known, listed.get(path))
            ]:
                del self._known[path]
            self._look_at_files([info for path, info in listed.items() if path not in self._known])
            known = [self._known[path] for path in sorted(self._known)]
        if not known:
            raise SourceError(f"there is no Parquet file in {self.path}")
        # A column that came later, or became wider, is one of all files.
        schema = pa.unify_schemas([one.schema for one in known], promote_options="permissive")
        return pads.FileSystemDataset(
            [one.fragment for one in known], schema, pads.ParquetFileFormat(), self.files
        )

    def _list_files(self) -> list[pafs.FileInfo]:
        if self.is_file:
            return list(self.files.get_file_info([self.path]))
        entries = self.files.get_file_info(pafs.FileSelector(self.path, recursive=True))
        return [info for info in entries if info.type is pafs.FileType.File and self._is_shown(info.path)]

    def _is_shown(self, path: str) -> bool:
        parts = path.removeprefix(self.path).strip("/").split("/")
        return not any(part.startswith(_HIDDEN) for part in parts)

    def _look_at_files(self, new: list[pafs.FileInfo]) -> None:
        if not new:
            return
        options = pads.FileSystemFactoryOptions(
            partition_base_dir=self.path, partitioning=pads.HivePartitioning.discover()
        )
        factory = pads.FileSystemDatasetFactory(
            self.files, [info.path for info in new], pads.ParquetFileFormat(), options
        )
        # The first file tells what folders' names mean; of the others the footers are read once, below.
        found = factory.finish(factory.inspect(fragments=1))
        by_path = {fragment.path: fragment for fragment in found.get_fragments()}
        folders = [
            name
            for name in found.schema.names
            if name in (found.partitioning.schema.names if found.partitioning else [])
        ]
        with ThreadPoolExecutor(_FOOTERS) as pool:
            for info, known in zip(
                new,
                pool.map(lambda info: self._look_at(info, by_path[info.path], found.schema, folders), new),
                strict=True,
            ):
                self._known[info.path] = known

    def _look_at(
        self, info: pafs.FileInfo, fragment: pads.Fragment, schema: pa.Schema, folders: list[str]
    ) -> KnownFile:
        own = fragment.physical_schema
        holds = fragment.partition_expression
        for condition in _footer_conditions(fragment.metadata, own):
            holds = holds & condition
        made = pads.ParquetFileFormat().make_fragment(
            info.path, self.files, partition_expression=holds, file_size=info.size
        )
        for name in folders:
            if name not in own.names:
                own = own.append(schema.field(name))
        return KnownFile(info.size, info.mtime_ns, made, own)


@dataclass(slots=True)
class DeltaFolder:
    """A Delta table: its log says which files it has, and what is in them."""

    files: pafs.FileSystem
    path: str
    url: str
    options: dict[str, str] = field(repr=False)
    _table: Any = None
    _opened: tuple[int, pads.Dataset] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_dataset(self) -> pads.Dataset:
        """The files of the newest version."""
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import DeltaError
        except ImportError as error:
            raise SourceError(f"{self.url} is a Delta table: {install_command('delta')}") from error
        with self._lock:
            try:
                if self._table is None:
                    self._table = DeltaTable(self.url, storage_options=self.options or None)
                else:
                    self._table.update_incremental()
                version = self._table.version()
                if self._opened is None or self._opened[0] != version:
                    below = pafs.SubTreeFileSystem(self.path, self.files)
                    self._opened = (version, self._table.to_pyarrow_dataset(filesystem=below))
            except DeltaError as error:
                raise SourceError(f"{self.url} cannot be read: {error}") from error
            return self._opened[1]


def _is_same(known: KnownFile, info: pafs.FileInfo | None) -> bool:
    return info is not None and (known.size, known.changed) == (info.size, info.mtime_ns)


def _footer_conditions(footer: pq.FileMetaData, schema: pa.Schema) -> Iterator[pc.Expression]:
    """What all rows of a file fulfil, by the least and the largest value of each of its columns."""
    columns = {footer.schema.column(at).path: at for at in range(footer.num_columns)}
    for found in schema:
        if found.name in columns and _is_ordered(found.type):
            condition = _range_condition(
                found.name,
                [
                    footer.row_group(at).column(columns[found.name]).statistics
                    for at in range(footer.num_row_groups)
                ],
                found.type,
            )
            if condition is not None:
                yield condition


def _is_ordered(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind)


def _range_condition(name: str, parts: Iterable[Any], kind: pa.DataType) -> pc.Expression | None:
    """Between which values a column lies, or that it is missing; None: its statistics do not tell."""
    known = [part for part in parts if part is not None]
    if not known or any(not part.has_null_count for part in known):
        return None
    filled = [part for part in known if part.has_min_max]
    if any(not part.has_min_max and part.num_values for part in known):
        return None
    column, nulls = pads.field(name), sum(part.null_count for part in known)
    if not filled:
        return column.is_null() if nulls else None
    least = pa.scalar(min(part.min for part in filled), kind)
    most = pa.scalar(max(part.max for part in filled), kind)
    between = (column >= least) & (column <= most)
    return between | column.is_null() if nulls else between


def rows_condition(schema: pa.Schema, times: TimesOfRows) -> pc.Expression | None:
    """Condition that all rows of some times fulfil, and some more may; None: the column has no such order.

    Times without a zone may be those of any: a day is added on both sides.
    """
    kind = schema.field(times.column).type
    if pa.types.is_integer(kind):
        scale, wider = FACTORS.get(times.unit or "", 0), 0
    else:
        scale = int(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
        wider = 0 if getattr(kind, "tz", None) else DAY
    if not scale:
        return None
    column = pads.field(times.column)
    parts = [_within(column, kind, (lo - wider) // scale, (hi + wider) // scale) for lo, hi in times.ranges]
    parts += [column.is_null()] if times.undated else []
    return reduce(or_, parts) if parts else pads.scalar(value=False)


def _within(column: pc.Expression, kind: pa.DataType, lo: int, hi: int) -> pc.Expression:
    """Between two moments; a bound that the type does not reach is left out."""
    conditions = [column.is_valid()]
    for edge, compare in ((lo, ge), (hi, le)):
        if abs(edge) < _REACHED:
            with suppress(pa.ArrowInvalid, OverflowError):
                of_edge = pa.int64() if pa.types.is_integer(kind) else pa.timestamp("us")
                conditions.append(compare(column, pa.scalar(edge, of_edge).cast(kind, safe=False)))
    return reduce(and_, conditions)
