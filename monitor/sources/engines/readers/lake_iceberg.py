"""Iceberg tables: by a catalogue, or by the newest metadata of a folder.

Which files a table has, and between which values their columns lie, its manifests say: no footer is read.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
from pyarrow import fs as pafs
from pyarrow import parquet as pq

from monitor.core.errors import SourceError, SourceUnavailable, without_quotes
from monitor.core.secrets import hide_secrets
from monitor.core.version import install_command
from monitor.sources.engines.readers.file_bounds import BoundedFile, BoundedFiles, ColumnBounds, is_ordered
from monitor.sources.engines.readers.lake_formats import (
    MOST_HELD,
    ChangedFiles,
    parquet_format,
    plain_schema,
)
from monitor.specs.urls import sqlite_file

METADATA = "metadata"  # folder of a table
CONNECT = 10.0  # seconds
_METADATA_FILE = re.compile(r"v?(\d+)(?:[-.].+)?\.metadata\.json")
_FILE_IO = "monitor.sources.engines.readers.lake_iceberg_io.PlaceFileIO"  # as its reader asks for it
_NO_SNAPSHOT = -1  # the snapshot of a table that was never written to
_AS_WRITTEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # names that writers put into files as they are
_FIELD_ID = b"PARQUET:field_id"
_REST = ("http", "https")
_COMPACT = "compact it, as by rewrite_data_files"


@dataclass(slots=True)
class IcebergTable:
    """A table of Iceberg.

    Files that Arrow would misread by itself are read once by Iceberg's own reader, and held in memory as
    Parquet: those of which rows were deleted, and those that were written when columns had other names.

    Parameters
    ----------
    shown
        what messages call it.
    load
        its metadata as they are now; its position in what catches their errors.
    """

    title: ClassVar[str] = "Iceberg"
    shown: str
    load: Callable[[], Any] = field(repr=False)
    _table: Any = None
    # what was opened last: its metadata, and by which properties its files are read; a service may lend these
    # for an hour.
    _opened: tuple[tuple[Any, ...], BoundedFiles] | None = None
    _manifests: dict[str, list[Any]] = field(
        default_factory=dict
    )  # entries by path: no manifest ever changes
    _known: dict[tuple[Any, ...], BoundedFile] = field(default_factory=dict)
    _as_today: dict[tuple[str, int], bool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_files(self) -> BoundedFiles:
        """The files of the current snapshot."""
        with self._lock, read_by_iceberg(self.shown):
            table = self.load()
            now = table.metadata_location, dict(table.io.properties)
            if self._opened is None or self._opened[0] != now:
                if self._opened is None or self._opened[0][1] != now[1]:
                    # others are read by what was lent before
                    self._known = {
                        key: one for key, one in self._known.items() if one.fragment.buffer is not None
                    }
                self._table, self._opened = table, None
                tasks = self._plan_files(table.current_snapshot())
                self._opened = now, self._gather_files(tasks)
                self._forget_others(tasks)
            return self._opened[1]

    def partitions(self) -> tuple[str, ...]:
        """Columns by whose own values it is laid out."""
        names = _names_by_id(self._table.schema())
        fields = (one for one in self._table.spec().fields if str(one.transform) == "identity")
        return tuple(names[one.source_id] for one in fields if one.source_id in names)

    def position(self) -> str:
        """Snapshot, and which table it is of."""
        snapshot = self._table.current_snapshot()
        return (
            f"{_NO_SNAPSHOT if snapshot is None else snapshot.snapshot_id}:{self._table.metadata.table_uuid}"
        )

    def find_changed_files(self, position: str) -> ChangedFiles:
        """Files of the snapshots since then; one that replaces files by others alike holds no news."""
        snapshot, _, table = position.partition(":")
        if table != str(self._table.metadata.table_uuid):
            return ChangedFiles(lost="it is another table than before")
        current = self._table.current_snapshot()
        if current is None or current.snapshot_id == int(snapshot):
            return ChangedFiles()
        old = self._table.snapshot_by_id(int(snapshot))
        if old is None and int(snapshot) != _NO_SNAPSHOT:
            return ChangedFiles(lost=f"snapshot {snapshot} is in its history no longer")
        operations = self._operations_since(int(snapshot))
        if operations == {"replace"}:
            return ChangedFiles()
        with self._lock, read_by_iceberg(self.shown):
            before, now = (
                {self._key_of(task): task for task in self._plan_files(one)} for one in (old, current)
            )
            gone = [task for key, task in before.items() if key not in now]
            came = [task for key, task in now.items() if key not in before]
            if any(self._is_lost(task) for task in gone):
                return ChangedFiles(lost="files that it had are no longer there")
            files = [self._gather_files(tasks) if tasks else None for tasks in (gone, came)]
            self._forget_others(now.values())
            return ChangedFiles(gone=files[0], came=files[1])

    def _plan_files(self, snapshot: Any) -> list[Any]:
        """Data files of a snapshot, each with the files that say what is deleted of it.

        Iceberg's own plan would read all manifests anew each time.
        """
        from pyiceberg.manifest import DataFileContent
        from pyiceberg.table import FileScanTask
        from pyiceberg.table.delete_file_index import DeleteFileIndex

        found, deletes, read = [], DeleteFileIndex(), {}
        for manifest in [] if snapshot is None else snapshot.manifests(self._table.io):
            path = manifest.manifest_path
            read[path] = self._manifests.get(path) or manifest.fetch_manifest_entry(self._table.io)
            for entry in read[path]:
                if entry.data_file.content == DataFileContent.DATA:
                    found.append(entry)
                elif entry.data_file.content == DataFileContent.POSITION_DELETES:
                    deletes.add_delete_file(entry, partition_key=entry.data_file.partition)
                else:
                    raise SourceError(f"{self.shown}: rows deleted by equality are not read: {_COMPACT}")
        if snapshot == self._table.current_snapshot():
            self._manifests = read
        return [
            FileScanTask(
                one.data_file,
                deletes.for_data_file(one.sequence_number or 0, one.data_file, one.data_file.partition),
            )
            for one in found
        ]

    def _forget_others(self, tasks: Iterable[Any]) -> None:
        """Know none but these files."""
        keys = {self._key_of(task) for task in tasks}
        self._known = {key: one for key, one in self._known.items() if key in keys}

    def _operations_since(self, snapshot: int) -> set[str]:
        """What the snapshots after one did; empty: it is no ancestor of today's."""
        found: set[str] = set()
        one = self._table.current_snapshot()
        while one is not None and one.snapshot_id != snapshot:
            found.add(one.summary.operation.value if one.summary else "overwrite")
            one = (
                None if one.parent_snapshot_id is None else self._table.snapshot_by_id(one.parent_snapshot_id)
            )
        return set() if one is None else found

    def _key_of(self, task: Any) -> tuple[Any, ...]:
        """A file as it reads: with what is deleted of it, by today's columns."""
        deletes = tuple(sorted(one.file_path for one in task.delete_files))
        return task.file.file_path, deletes, self._table.metadata.current_schema_id

    def _gather_files(self, tasks: Sequence[Any]) -> BoundedFiles:
        """Files by the names and types that columns have today."""
        schema = _arrow_schema(self.shown, self._table.schema())
        place = self._place_of(tasks[0].file.file_path)[0] if tasks else pafs.LocalFileSystem()
        parquet = parquet_format(schema, place)
        doubtful = _has_other_names(self._table)
        new = [task for task in tasks if self._key_of(task) not in self._known]
        misread = {self._key_of(task) for task in new if not self._reads_as_is(task, doubtful=doubtful)}
        held = misread | {key for key, known in self._known.items() if known.fragment.buffer is not None}
        if (
            size := sum(one.file.file_size_in_bytes for one in tasks if self._key_of(one) in held)
        ) > MOST_HELD:
            raise SourceError(
                f"{self.shown}: files of {size / 1e9:,.1f} GB have deleted rows, or columns by earlier "
                f"names, which are held in memory: {_COMPACT}"
            )
        for task in new:
            key, file = self._key_of(task), task.file
            self._known[key] = BoundedFile.make_parquet(
                parquet,
                self._hold_file(task, schema) if key in misread else self._find_file(file),
                dict(_partition_texts(file, self._table.specs().get(file.spec_id), self._table.schema())),
                dict(_column_bounds(file, self._table.schema(), schema)),
            )
        return BoundedFiles([self._known[self._key_of(task)] for task in tasks], schema, parquet, place)

    def _find_file(self, file: Any) -> tuple[str, pafs.FileSystem, int]:
        """Path, place and size of a data file."""
        files, path = self._place_of(file.file_path)
        return path, files, file.file_size_in_bytes

    def _hold_file(self, task: Any, schema: pa.Schema) -> pa.Buffer:
        """What Iceberg's own reader reads of a file, in memory."""
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        scan = ArrowScan(self._table.metadata, self._table.io, self._table.schema(), AlwaysTrue())
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, schema) as writer:
            for batch in scan.to_record_batches([task]):
                writer.write_table(pa.Table.from_batches([batch]).select(schema.names).cast(schema))
        return sink.getvalue()

    def _reads_as_is(self, task: Any, *, doubtful: bool) -> bool:
        """Whether Arrow reads a file as Iceberg means it."""
        if (
            task.delete_files
            or str(getattr(task.file.file_format, "value", task.file.file_format)) != "PARQUET"
        ):
            return False
        if not _holds_own_values(task.file, self._table):
            return False
        key = (task.file.file_path, self._table.metadata.current_schema_id)
        if doubtful and key not in self._as_today:
            files, path = self._place_of(task.file.file_path)
            self._as_today[key] = _has_names_of(pq.read_schema(path, filesystem=files), self._table.schema())
        return not doubtful or self._as_today[key]

    def _place_of(self, location: str) -> tuple[pafs.FileSystem, str]:
        """File system and path there of a file's address."""
        scheme, netloc, path = self._table.io.parse_location(location, self._table.io.properties)
        return self._table.io.fs_by_scheme(scheme, netloc), path

    def _is_lost(self, task: Any) -> bool:
        files, path = self._place_of(task.file.file_path)
        return bool(files.get_file_info(path).type is pafs.FileType.NotFound)


@dataclass(slots=True)
class IcebergCatalog:
    """A catalogue by its URL: of a database, or of a REST service, whose query holds its properties.

    Parameters
    ----------
    url
        secrets filled in. Its query holds `catalog`, the name of the catalogue, if it is not "default", and
        `namespace`, whose tables are then meant by their names alone.
    shown
        what messages call it.
    properties
        of the place of its files.
    limit
        seconds that an answer may take.
    """

    url: str = field(repr=False)
    shown: str
    properties: Mapping[str, str] = field(repr=False)
    limit: float
    _opened: tuple[Any, tuple[str, ...]] | None = None

    def list_tables(self) -> list[str]:
        """Names of the tables of the namespace; of all, with their namespaces, where none is given."""
        with read_by_iceberg(self.shown):
            catalog, namespace = self._open()
            if namespace:
                return sorted(table[-1] for table in catalog.list_tables(namespace))
            spaces = _namespaces_below(catalog, ())
            if found := sorted(".".join(table) for space in spaces for table in catalog.list_tables(space)):
                return found
            raise SourceError(
                f'{self.shown}: the catalogue "{catalog.name}" has no tables: catalog=NAME behind ? in '
                "its URL says which one of the database is meant"
            )

    def find_table(self, name: str) -> IcebergTable | None:
        """Table of a name; None: there is none."""
        with read_by_iceberg(self.shown):
            from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

            catalog, namespace = self._open()
            table = (*namespace, name) if namespace else tuple(name.split("."))
            if len(table) < 2:
                return None
            with suppress(NoSuchTableError, NoSuchNamespaceError):
                catalog.load_table(table)
                return IcebergTable(f"{self.shown}: {name}", partial(catalog.load_table, table))
        return None

    def close(self) -> None:
        """End its connections."""
        if self._opened is not None:
            self._opened[0].close()

    def _open(self) -> tuple[Any, tuple[str, ...]]:
        """The catalogue, and the parts of its namespace."""
        if self._opened is None:
            given, own = dict(parse_qsl(urlsplit(self.url).query)), ("catalog", "namespace")
            name, namespace = given.get("catalog", "default"), given.get("namespace", "")
            rest = {key: value for key, value in given.items() if key not in own}
            io = {**self.properties, "py-io-impl": _FILE_IO}
            if urlsplit(self.url).scheme in _REST:
                given_to_it = {**io, **rest, "uri": self.url.partition("?")[0]}
                found = _open_service(name, given_to_it, self.limit)
            else:
                found = _open_database(name, self.url, own, io)
            self._opened = found, tuple(filter(None, namespace.split(".")))
        return self._opened


def _open_service(name: str, properties: Mapping[str, str], limit: float) -> Any:
    """A REST catalogue whose every request has an end: Iceberg's own would wait for ever."""
    from pyiceberg.catalog.rest import RestCatalog

    def create_session(catalog: Any) -> Any:
        session = RestCatalog._create_session(catalog)  # noqa: SLF001 -- it has no option for this
        session.request = partial(session.request, timeout=(CONNECT, limit))
        return session

    timed = type("TimedCatalog", (RestCatalog,), {"_create_session": create_session})
    return timed(name, **properties)


def _open_database(name: str, url: str, own: Sequence[str], properties: Mapping[str, str]) -> Any:
    """A catalogue in a database. Nothing is made there: it is read alone."""
    import sqlalchemy as sa
    from pyiceberg.catalog.sql import SqlCatalog

    at = sa.make_url(url).difference_update_query(own)
    if at.get_backend_name() == "postgresql" and "connect_timeout" not in at.query:
        at = at.update_query_dict({"connect_timeout": f"{CONNECT:.0f}"})
    if at.get_backend_name() == "sqlite" and not sqlite_file(at.database or "").is_file():
        # SQLite would make it.
        raise SourceError(f"there is no catalogue: no file {at.database}")
    uri = at.render_as_string(hide_password=False)
    return SqlCatalog(name, **{**properties, "uri": uri, "init_catalog_tables": "false"})


def has_metadata(files: pafs.FileSystem, folder: str) -> bool:
    """Whether a folder holds metadata of an Iceberg table."""
    return bool(_metadata_files(files, folder))


def _metadata_files(files: pafs.FileSystem, folder: str) -> list[tuple[int, int, str]]:
    """(Number, when written, name), of which the largest is the newest."""
    return [
        (int(match[1]), info.mtime_ns or 0, info.base_name)
        for info in files.get_file_info(pafs.FileSelector(folder))
        if (match := _METADATA_FILE.fullmatch(info.base_name))
    ]


def open_iceberg_folder(
    files: pafs.FileSystem, path: str, address: str, properties: Mapping[str, str]
) -> IcebergTable:
    """Table of a folder, by the newest of its metadata.

    Parameters
    ----------
    address
        its URL without options, by which Iceberg reads it.
    """

    def load() -> Any:
        from pyiceberg.table import StaticTable

        newest = max(_metadata_files(files, f"{path}/{METADATA}"), default=None)
        if newest is None:
            raise SourceError(f"{address}: its metadata are no longer there")
        io = {**properties, "py-io-impl": _FILE_IO}
        return StaticTable.from_metadata(f"{address}/{METADATA}/{newest[2]}", io)

    return IcebergTable(address, load)


def iceberg_properties(scheme: str, options: Mapping[str, str], limit: float) -> dict[str, str]:
    """Options of a place as Iceberg's reader calls them.

    Parameters
    ----------
    limit
        seconds that an answer may take.
    """
    known = _PROPERTIES.get(scheme, {})
    found = {known[name]: value for name, value in options.items() if name in known}
    if scheme == "s3":
        found |= {"s3.connect-timeout": str(CONNECT), "s3.request-timeout": str(limit)}
        if "s3.endpoint" in found:
            found.setdefault("s3.region", "us-east-1")  # else it would ask Amazon
    if scheme == "az" and "endpoint" in options:
        at = urlsplit(options["endpoint"])
        for service in ("blob", "dfs"):
            found[f"adls.{service}-storage-scheme"] = at.scheme
            found[f"adls.{service}-storage-authority"] = at.netloc
    return found


_PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "s3": {
        "region": "s3.region",
        "endpoint": "s3.endpoint",
        "access_key": "s3.access-key-id",
        "secret_key": "s3.secret-access-key",  # nosec B105 -- a name
        "session_token": "s3.session-token",  # nosec B105 -- a name
        "anonymous": "s3.anonymous",
    },
    "gs": {"endpoint": "gcs.service.host", "anonymous": "gcs.anonymous"},
    "az": {"account": "adls.account-name", "account_key": "adls.account-key"},
}


@contextmanager
def read_by_iceberg(shown: str) -> Iterator[None]:
    """Name what Iceberg's reader, a database or a service of its catalogue refuses.

    Raises
    ------
    SourceError
        if a table cannot be read, or the reader is not installed.
    SourceUnavailable
        if the catalogue does not answer.
    """
    try:
        yield
    except ImportError as error:
        raise SourceError(f"{shown} is Iceberg: {install_command('iceberg')}: {error}") from error
    except (SourceError, OSError, pa.ArrowException):
        raise
    except Exception as error:
        reason = _reason_of(error)
        if type(error).__module__.startswith("sqlalchemy") or type(error).__name__.startswith(_AWAY):
            raise SourceUnavailable(f"{shown} does not answer: {reason}") from error
        raise SourceError(f"{shown} cannot be read: {reason}") from error


def _reason_of(error: Exception) -> str:
    """What an error says, in a line; metadata that do not fit are refused with a list of faults."""
    cause: Any = error.__cause__
    said = str(error)
    if type(cause).__name__ == "ValidationError":
        said = str(cause.errors()[0]["msg"]).replace("'", "")  # a name of the format, no value of a row
    return without_quotes(next(iter(hide_secrets(said).strip().splitlines()), type(error).__name__))


_AWAY = ("ServiceUnavailable", "ServerError", "OAuth", "Unauthorized", "AuthorizationExpired")


def _namespaces_below(catalog: Any, space: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for one in catalog.list_namespaces(space):
        if len(one) > len(space):
            yield one
            yield from _namespaces_below(catalog, one)


def _arrow_schema(shown: str, schema: Any) -> pa.Schema:
    """Columns as Arrow has them."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow
    from pyiceberg.schema import Schema

    found = []
    for one in schema.fields:
        try:
            found.append(schema_to_pyarrow(Schema(one), include_field_ids=False).field(0))
        except (ValueError, TypeError, NotImplementedError) as error:
            raise SourceError(
                f"{shown}: column {one.name} is of a type that cannot be read: {one.field_type}"
            ) from error
    return plain_schema(pa.schema([pa.field(one.name, one.type) for one in found]))


def _has_other_names(table: Any) -> bool:
    """Whether files may hold columns by other names than today's, or other columns by these."""
    now = _names_by_id(table.schema())
    ever = {pair for schema in table.schemas().values() for pair in _names_by_id(schema).items()}
    names = set(now.values())
    return (
        any((key in now or name in names) and now.get(key) != name for key, name in ever)
        or not all(_AS_WRITTEN.fullmatch(part) for name in names for part in name.split("."))
        or table.name_mapping() is not None
    )


def _names_by_id(schema: Any) -> dict[int, str]:
    return {key: str(schema.find_column_name(key)) for key in schema.field_ids}


def _has_names_of(written: pa.Schema, schema: Any) -> bool:
    """Whether the columns of a file have the names that they have in a schema."""
    ids = {name: (written.field(name).metadata or {}).get(_FIELD_ID) for name in written.names}
    if any(key is None for key in ids.values()):
        return False
    names = {one.field_id: one.name for one in schema.fields}
    theirs = {int(key): name for name, key in ids.items() if key is not None}
    used = {name: key for key, name in names.items()}
    return all(
        names.get(key, name) == name and used.get(name, key) == key for key, name in theirs.items()
    ) and not any(pa.types.is_nested(one.type) for one in written)


def _holds_own_values(file: Any, table: Any) -> bool:
    """Whether no column's values stand outside of a file: in its partition, or as a default."""
    counted = file.value_counts or {}
    spec = table.specs().get(file.spec_id)
    outside = {one.field_id for one in table.schema().fields if one.initial_default is not None}
    outside |= {one.source_id for one in spec.fields if str(one.transform) == "identity"} if spec else set()
    return all(key in counted for key in outside)


def _partition_texts(file: Any, spec: Any, schema: Any) -> Iterator[tuple[str, pa.Scalar]]:
    """Texts of a file's partition, by their columns."""
    names = _names_by_id(schema)
    for at, one in enumerate(spec.fields if spec else ()):
        value, name = file.partition[at], names.get(one.source_id)
        if name is not None and str(one.transform) == "identity" and isinstance(value, str):
            yield name, pa.scalar(value)


def _column_bounds(file: Any, schema: Any, types: pa.Schema) -> Iterator[tuple[str, ColumnBounds]]:
    """What a manifest says of a file's columns."""
    lower, upper, nulls = file.lower_bounds or {}, file.upper_bounds or {}, file.null_value_counts or {}
    for one in schema.fields:
        kind = types.field(one.name).type
        if not is_ordered(kind):
            continue
        key = one.field_id
        least, most = (_whole_number(bounds.get(key), kind) for bounds in (lower, upper))
        if least is not None and most is not None:
            # what is not counted may be missing
            yield one.name, ColumnBounds(least, most, nulls.get(key, 1) > 0)
        elif key in nulls and nulls[key] == file.record_count:
            yield one.name, ColumnBounds(None, None, nulls=True)


def _whole_number(bound: bytes | None, kind: pa.DataType) -> pa.Scalar | None:
    """A bound by its bytes; None: it is of a narrower kind of time than the column has now."""
    if bound is None or (pa.types.is_timestamp(kind) and len(bound) != 8):
        return None
    with suppress(pa.ArrowException, OverflowError):
        value = int.from_bytes(bound, "little", signed=True)
        return pa.scalar(value, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    return None
