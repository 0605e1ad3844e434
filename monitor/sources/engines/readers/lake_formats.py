"""Formats of a table of files: which files it has now, and what their statistics say of their columns.

A file is looked at once: what its footer, or a log, says of times and whole numbers is kept. By these bounds
files in which no row can match are left out, without a byte read of them.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Protocol
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
from pyarrow import fs as pafs
from pyarrow import parquet as pq

from monitor.core.errors import SourceError
from monitor.core.text import content_hash
from monitor.core.version import install_command
from monitor.sources.engines.readers.file_bounds import BoundedFile, BoundedFiles, ColumnBounds, is_ordered

DELTA_LOG = "_delta_log"
MOST_HELD = 2 * 10**9  # bytes of files that are held in memory as they read
_DELTA_FEATURES = {"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
_TRUNCATED = 999  # microseconds that a log's largest time may lie below the file's
HIDDEN = ("_", ".")  # first signs of the names of what is no file of a table
_PARTITION = "partition."  # what stands before the name of a folder's column in the log's table
_FOOTERS = 8  # that are read at once: each waits for a store far away


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Files that a table has no longer, and those that it has in their place, since a position.

    What was merely added is in `came`, with `gone` None. `lost` says why neither can be told.
    """

    gone: BoundedFiles | None = None
    came: BoundedFiles | None = None
    lost: str = ""


class LakeTable(Protocol):
    """A table of files.

    Parameters
    ----------
    title
        its format, as messages call it.
    """

    title: ClassVar[str]

    def partitions(self) -> tuple[str, ...]:
        """Columns by which the table that was opened is laid out in folders."""
        ...

    def open_files(self) -> BoundedFiles:
        """The files that it has now.

        Raises
        ------
        SourceError
            if it cannot be read.
        """
        ...

    def position(self) -> str:
        """Where it stands: a text of the files that were opened last."""
        ...

    def find_changed_files(self, position: str) -> ChangedFiles:
        """What became of its files since a position, where that is not merely that rows were added."""
        ...


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file whose footer was read."""

    size: int
    changed: int | None  # ns since 1970
    file: BoundedFile
    schema: pa.Schema


@dataclass(slots=True)
class ParquetFolder:
    """Parquet files of a folder, or one file; folders named column=value are columns, too."""

    title: ClassVar[str] = "Parquet"
    files: pafs.FileSystem
    path: str
    is_file: bool
    _known: dict[str, KnownFile] = field(default_factory=dict)
    _folders: tuple[str, ...] = ()
    _opened: BoundedFiles | None = None  # all of them
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def partitions(self) -> tuple[str, ...]:
        """Columns of its folders' names."""
        return self._folders

    def open_files(self) -> BoundedFiles:
        """All files that are there now."""
        with self._lock:
            listed = {info.path: info for info in self._list_files()}
            others = [path for path, known in self._known.items() if not _is_same(known, listed.get(path))]
            for path in others:
                del self._known[path]
            new = [info for path, info in listed.items() if path not in self._known]
            self._look_at_files(new)
            if self._opened is None or others or new:
                self._opened = self._gather_files()
            return self._opened

    def _gather_files(self) -> BoundedFiles:
        known = [self._known[path] for path in sorted(self._known)]
        if not known:
            raise SourceError(f"there is no Parquet file in {self.path}")
        # A column that came later, or became wider, is one of all files.
        schema = self._unify_schemas()
        return BoundedFiles(
            [one.file for one in known], schema, parquet_format(schema, self.files), self.files
        )

    def _unify_schemas(self) -> pa.Schema:
        """Schema of all files; a column whose types do not go together is named with a file of either."""
        schemas = {path: self._known[path].schema for path in sorted(self._known)}
        try:
            return pa.unify_schemas([*schemas.values()], promote_options="permissive")
        except pa.ArrowException:
            first: dict[str, tuple[str, pa.Field]] = {}
            for path, column in ((path, column) for path, schema in schemas.items() for column in schema):
                other, known = first.setdefault(column.name, (path, column))
                try:
                    pa.unify_schemas([pa.schema([known]), pa.schema([column])], promote_options="permissive")
                except pa.ArrowException:
                    raise SourceError(
                        f'column "{column.name}" is {known.type} in {other}, and {column.type} in {path}: '
                        "write the files of one of them with the other type"
                    ) from None
            raise

    def position(self) -> str:
        """When the newest file was written, and a digest of them all."""
        with self._lock:
            newest = max((known.changed or 0 for known in self._known.values()), default=0)
            return f"{newest}:{self._digest(newest)}"

    def find_changed_files(self, position: str) -> ChangedFiles:
        """Whether files are still those of a position, but for newer ones; what is gone cannot be read."""
        newest, _, digest = position.partition(":")
        with self._lock:
            if self._digest(int(newest)) == digest:
                return ChangedFiles()
        return ChangedFiles(lost="files were rewritten, or taken away")

    def _digest(self, newest: int) -> str:
        """Digest of the files that were written until then."""
        return content_hash(
            sorted(
                (path, one.size, one.changed)
                for path, one in self._known.items()
                if (one.changed or 0) <= newest
            )
        )[:16]

    def _list_files(self) -> list[pafs.FileInfo]:
        if self.is_file:
            return list(self.files.get_file_info([self.path]))
        entries = self.files.get_file_info(pafs.FileSelector(self.path, recursive=True))
        return [info for info in entries if info.type is pafs.FileType.File and self._is_shown(info.path)]

    def _is_shown(self, path: str) -> bool:
        parts = path.removeprefix(self.path).strip("/").split("/")
        return not any(part.startswith(HIDDEN) for part in parts)

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
        try:
            found = factory.finish(factory.inspect(fragments=1))
        except pa.ArrowInvalid:
            raise _no_parquet_error(new[0]) from None
        by_path = {fragment.path: fragment for fragment in found.get_fragments()}
        folders = [
            name
            for name in found.schema.names
            if name in (found.partitioning.schema.names if found.partitioning else [])
        ]
        self._folders = tuple(dict.fromkeys([*self._folders, *folders]))
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
        try:
            own, footer = plain_schema(fragment.physical_schema), fragment.metadata
        except pa.ArrowInvalid:
            raise _no_parquet_error(info) from None
        made = BoundedFile.make_parquet(
            parquet_format(own, self.files),
            (info.path, self.files, info.size),
            {
                name: pa.scalar(value, schema.field(name).type)
                for name, value in pads.get_partition_keys(fragment.partition_expression).items()
            },
            dict(_footer_bounds(footer, own)),
        )
        for name in folders:
            if name not in own.names:
                own = own.append(schema.field(name))
        return KnownFile(info.size, info.mtime_ns, made, own)


@dataclass(frozen=True, slots=True)
class LeftRows:
    """Which rows of a file no vector deletes, those behind the last one apart, and a digest of it."""

    mask: np.ndarray[Any, np.dtype[np.bool_]]
    digest: str


@dataclass(slots=True)
class DeltaFolder:
    """A Delta table: its log says which files it has, and what is in them.

    Files of which rows were deleted by a vector are read once, and held in memory as Parquet without these.
    """

    title: ClassVar[str] = "Delta"
    files: pafs.FileSystem
    path: str
    url: str
    options: dict[str, str] = field(repr=False)
    _table: Any = None
    _opened: tuple[int, BoundedFiles] | None = None
    # by path, and the digest of which rows are left; None: none was deleted
    _known: dict[tuple[str, str | None], BoundedFile] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_files(self) -> BoundedFiles:
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
                    self._opened = version, self._gather_files()
            except DeltaError as error:
                raise SourceError(f"{self.url} cannot be read: {error}") from error
            return self._opened[1]

    def partitions(self) -> tuple[str, ...]:
        """Columns by which its log says that it is laid out."""
        return tuple(self._table.metadata().partition_columns)

    def _gather_files(self) -> BoundedFiles:
        """Files of the version that was loaded; one that was known before is not looked at again."""
        features = {*(self._table.protocol().reader_features or ())}
        if unread := features - _DELTA_FEATURES:
            raise SourceError(
                f"{self.url} needs what is not read of Delta: {', '.join(sorted(unread))}: "
                "read it by Spark, or write it anew without"
            )
        schema = plain_schema(pa.schema(self._table.schema().to_arrow()))
        parquet = parquet_format(schema, self.files)
        left = self._read_vectors() if "deletionVectors" in features else {}
        actions = pa.table(self._table.get_add_actions(flatten=True))
        paths = [unquote(path) for path in actions["path"].to_pylist()]
        keys = [(path, left[path].digest if path in left else None) for path in paths]
        sizes = dict(zip(keys, actions["size_bytes"].to_pylist(), strict=True))
        held = sum(sizes[path, digest] for path, digest in keys if digest is not None)
        if held > MOST_HELD:
            raise SourceError(
                f"{self.url}: files of {held / 1e9:,.1f} GB have rows that a vector deletes, which are held "
                "in memory: rewrite them, as by REORG TABLE … APPLY (PURGE)"
            )
        new = [at for at, key in enumerate(keys) if key not in self._known]
        for at, action in zip(new, actions.take(pa.array(new, pa.int64())).to_pylist(), strict=True):
            path = paths[at]
            self._known[keys[at]] = BoundedFile.make_parquet(
                parquet,
                self._hold_rows(path, left[path])
                if path in left
                else (f"{self.path}/{path}", self.files, sizes[keys[at]]),
                _folder_values(_partition_values(action), schema),
                dict(_delta_bounds(action, schema)),
            )
        self._known = {key: self._known[key] for key in keys}
        return BoundedFiles([*self._known.values()], schema, parquet, self.files)

    def _read_vectors(self) -> dict[str, LeftRows]:
        """Which rows are left of files of which some were deleted, by path."""
        vectors = pa.table(self._table.deletion_vectors())
        root = self._table.table_uri.rstrip("/") + "/"
        names = [unquote(name.removeprefix(root)) for name in vectors["filepath"].to_pylist()]
        masks = [np.asarray(mask.values) for mask in vectors["selection_vector"]]
        left = [LeftRows(mask, content_hash(mask.tobytes().hex())) for mask in masks]
        return dict(zip(names, left, strict=True))

    def _hold_rows(self, path: str, left: LeftRows) -> pa.Buffer:
        """A file without the rows that its vector deletes, in memory."""
        with self.files.open_input_file(f"{self.path}/{path}") as file:
            rows = pq.read_table(file)
        mask = np.ones(rows.num_rows, dtype=bool)
        mask[: len(left.mask)] = left.mask
        sink = pa.BufferOutputStream()
        pq.write_table(rows.filter(pa.array(mask)), sink)
        return sink.getvalue()

    def position(self) -> str:
        """Version, and which table it is of."""
        return f"{0 if self._opened is None else self._opened[0]}:{self._table.metadata().id}"

    def find_changed_files(self, position: str) -> ChangedFiles:
        """Files that the log added and removed since a version, with other rows."""
        assert self._opened is not None
        version, _, table = position.partition(":")
        if table != self._table.metadata().id or int(version) > self._opened[0]:
            return ChangedFiles(lost="it is another table than before")
        log = DeltaChanges()
        for number in range(int(version) + 1, self._opened[0] + 1):
            try:
                with self.files.open_input_stream(f"{self.path}/{DELTA_LOG}/{number:020}.json") as stream:
                    log.read_actions(stream.read().decode())
            except FileNotFoundError:
                return ChangedFiles(lost=f"version {number} is in its log no longer")
        for gone, came in log.compared_files():
            try:
                return ChangedFiles(self._files_of(gone), self._files_of(came, with_vectors=True))
            except FileNotFoundError:
                continue
        return ChangedFiles(lost="files that it had are no longer there")

    def _files_of(
        self, actions: Sequence[Mapping[str, Any]], *, with_vectors: bool = False
    ) -> BoundedFiles | None:
        """Files of some actions of the log, with the columns that the table has now.

        `with_vectors`: without the rows that these delete. Which a vector deleted of a file that went is not
        asked: with all of its rows no pane is missed.

        Raises
        ------
        FileNotFoundError
            if one of them is no longer there.
        """
        if not actions:
            return None
        assert self._opened is not None
        schema = self._opened[1].schema
        parquet, found = parquet_format(schema, self.files), []
        for action in actions:
            name = unquote(action["path"])
            path = f"{self.path}/{name}"
            if with_vectors and action.get("deletionVector"):
                held = [
                    one
                    for (known, digest), one in self._known.items()
                    if known == name and digest is not None
                ]
                if not held:
                    raise FileNotFoundError(path)
                found += held
                continue
            if self.files.get_file_info(path).type is pafs.FileType.NotFound:
                raise FileNotFoundError(path)
            folder = _folder_values(action.get("partitionValues") or {}, schema)
            at = (path, self.files, action.get("size"))
            found.append(BoundedFile.make_parquet(parquet, at, folder, {}))
        return BoundedFiles(found, schema, parquet, self.files)


@dataclass(slots=True)
class DeltaChanges:
    """Files that versions of a log added and removed."""

    _files: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # by file, how much more often it was added than removed: by what changed rows, and by all
    _changed: Counter[str] = field(default_factory=Counter)
    _moved: Counter[str] = field(default_factory=Counter)

    def read_actions(self, text: str) -> None:
        """Take in a version."""
        for line in filter(None, text.splitlines()):
            action = json.loads(line)
            for kind, more in (("add", 1), ("remove", -1)):
                if (file := action.get(kind)) is not None:
                    # a file is another one with other rows deleted
                    key = json.dumps([file["path"], file.get("deletionVector")])
                    self._files[key] = file
                    self._moved[key] += more
                    self._changed[key] += more * bool(file.get("dataChange", True))

    def compared_files(self) -> Iterator[tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]]:
        """Files that went and files that came, whose rows differ by what changed; the first that are there.

        What was merely laid out anew left no other rows: files of changes alone are compared, and should some
        of them have been laid out anew and be gone, all that the table lost with all that it got.
        """
        for net in (self._changed, self._moved):
            gone, came = ([self._files[key] for key in net if net[key] * sign > 0] for sign in (-1, 1))
            yield gone, came


def parquet_format(schema: pa.Schema, files: pafs.FileSystem) -> pads.ParquetFileFormat:
    """How Parquet is read: texts by a dictionary; from a disk without a buffer of what comes next.

    Some writers note a type of texts that Arrow compares with no other; a dictionary's values are plain.
    Over a network few large requests are worth the memory, on a disk they are not.
    """
    texts = [column.name for column in schema if pa.types.is_string(column.type)]
    return pads.ParquetFileFormat(
        read_options=pads.ParquetReadOptions(dictionary_columns=texts),
        default_fragment_scan_options=pads.ParquetFragmentScanOptions(pre_buffer=files.type_name != "local"),
    )


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Columns by the types that they have whoever wrote them."""
    plain = {
        pa.string_view(): pa.string(),
        pa.large_string(): pa.string(),
        pa.binary_view(): pa.binary(),
        pa.large_binary(): pa.binary(),
        pa.float16(): pa.float32(),  # which DuckDB does not know
    }
    types = [
        column.type.value_type if pa.types.is_dictionary(column.type) else column.type for column in schema
    ]
    return pa.schema(
        [
            (name, pa.float64() if pa.types.is_decimal256(kind) else plain.get(kind, kind))
            for name, kind in zip(schema.names, types, strict=True)
        ]
    )


def _partition_values(action: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a file's folder, by their columns."""
    return {
        name.removeprefix(_PARTITION): value for name, value in action.items() if name.startswith(_PARTITION)
    }


def _folder_values(values: Mapping[str, Any], schema: pa.Schema) -> dict[str, pa.Scalar]:
    """Values of a file's folder, in the types that their columns have."""
    return {name: pa.scalar(value).cast(schema.field(name).type) for name, value in values.items()}


def _delta_bounds(action: Mapping[str, Any], schema: pa.Schema) -> Iterator[tuple[str, ColumnBounds]]:
    """What the log says of a file's columns."""
    for column in schema:
        name, kind = column.name, column.type
        if is_ordered(kind):
            least, most = (action.get(f"{end}.{name}") for end in ("min", "max"))
            if least is not None and most is not None:
                if pa.types.is_timestamp(kind):
                    most += timedelta(microseconds=_TRUNCATED)
                # what is not counted may be missing
                nulls = action.get(f"null_count.{name}") != 0
                yield name, ColumnBounds(pa.scalar(least, kind), pa.scalar(most, kind), nulls)


def _no_parquet_error(info: pafs.FileInfo) -> SourceError:
    what = "it is empty" if not info.size else "it was cut off, is being written, or is of another format"
    return SourceError(
        f"{info.path} is no Parquet file: {what}. Take it away, or give it a name that begins with _ or a dot"
    )


def _is_same(known: KnownFile, info: pafs.FileInfo | None) -> bool:
    return info is not None and (known.size, known.changed) == (info.size, info.mtime_ns)


def _footer_bounds(footer: pq.FileMetaData, schema: pa.Schema) -> Iterator[tuple[str, ColumnBounds]]:
    """The least and the largest value of each of a file's columns."""
    columns = {footer.schema.column(at).path: at for at in range(footer.num_columns)}
    for found in schema:
        if found.name in columns and is_ordered(found.type):
            statistics = [
                footer.row_group(at).column(columns[found.name]).statistics
                for at in range(footer.num_row_groups)
            ]
            bounds = _bounds_of(statistics, found.type)
            if bounds is not None:
                yield found.name, bounds


def _bounds_of(known: Sequence[Any], kind: pa.DataType) -> ColumnBounds | None:
    """Bounds of a column by the statistics of its parts; None: they do not tell."""
    if not known or any(part is None or not part.has_null_count for part in known):
        return None
    filled = [part for part in known if part.has_min_max]
    if any(not part.has_min_max and part.num_values for part in known):
        return None
    nulls = sum(part.null_count for part in known)
    if not filled:
        return ColumnBounds(None, None, nulls=True) if nulls else None
    least = pa.scalar(min(part.min for part in filled), kind)
    most = pa.scalar(max(part.max for part in filled), kind)
    return ColumnBounds(least, most, nulls=nulls > 0)
